//! Reductions into more bins than shared memory holds, on a simulated GPU: all bits are the interpreter's, in every
//! version and layout, where few bins have most of the elements, where bins share a slot, and where all are spread.

use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::scalar::{Lit, Ty, eval};
use arraygpu_suite::mutants;
use arraygpu_suite::rng::Rng;
use arraygpu_suite::versions::{check, compiled};

/// The number of bins, which is that of the accumulators of a block many times over.
const BINS: i64 = 20_000;

/// The destination of an element.
type Destination = fn(usize, &mut Rng) -> i64;

/// Bins of two parts; elements that go to none of the bins are left out.
const TEXT: &str = "func @f(%x: [T], %i: [i64], %n: i64) -> (r: [[T]]) {
  %l = len %i
  %m = len %x
  require same %l, %m \"scatter_reduce: i, x\"
  require extent 0i64, %n \"n\"
  %y = map (%a: T) over %x {
    yield VALUE
  }
  %b = bins OP of 2i64, %n over %y at %i
  %r = materialize %b
  return %r
}";

fn program(op: &str, ty: Ty, value: &str) -> String {
    TEXT.replace("OP", op).replace("VALUE", value).replace('T', &ty.to_string())
}

/// Returns elements and their destinations.
fn arguments(ty: Ty, n: usize, to: impl Fn(usize, &mut Rng) -> i64) -> [Value; 3] {
    let mut rng = Rng::new(n as u64);
    // their sums carry into the upper half of 64 bits
    let element = |k: usize| eval::eval_cast(ty, Lit::i64(k as i64 * 0x7654_3210 - 0x3000_0000_0000));
    let x = (0..n).map(element).collect();
    let i = (0..n).map(|k| Lit::i64(to(k, &mut rng))).collect();
    [Value::Vector(x), Value::Vector(i), Value::Scalar(Lit::i64(BINS))]
}

#[test]
fn frequent_bins_and_others() {
    // one bin; bins of one slot; a few frequent ones among many; bins that exist and others; all spread
    let destinations: [(&str, Destination); 5] = [
        ("one", |_, _| 7),
        ("of one slot", |_, rng| 3 + 1024 * rng.below(15) as i64),
        (
            "frequent",
            |k, rng| if k % 4 > 0 { [5, BINS - 1, 12_300][k % 3] } else { rng.below(BINS as usize) as i64 },
        ),
        ("outside", |k, _| [-1, 0, BINS, BINS - 1, i64::MIN, i64::MAX, 1 << 40][k % 7]),
        ("spread", |k, _| (k as i64 * 7919) % BINS),
    ];
    let programs = [
        ("max", Ty::I32, "%a"),
        ("min", Ty::I64, "%a"),
        ("add", Ty::I64, "%a"),
        ("add", Ty::U32, "%a"),
        ("xor", Ty::U64, "%a"),
        // counts
        ("add", Ty::I64, "1i64"),
    ];
    for (op, ty, value) in programs {
        let c = compiled(&program(op, ty, value), None);
        for (what, to) in destinations {
            for n in [0, 1, 255, 9000] {
                let ran = check(&c, &arguments(ty, n, to), &format!("{op}, {ty}, {n} elements, {what}"));
                assert!(ran.iter().any(|entry| entry == "f_0"), "{ran:?}");
            }
        }
    }
}

/// Accumulators begin before the sample, tags are there before the first element, and all elements before the end.
#[test]
fn accumulators_need_their_barriers() {
    let mut compiled = compiled(&program("max", Ty::I32, "%a"), None);
    let args = arguments(Ty::I32, 9000, |_, rng| 3 + 1024 * rng.below(3) as i64);
    let at = compiled.kernels[0].gpu_variants().iter().position(|v| v.launch.entry == "f_0").expect("f_0");
    let filled = at - 1;
    let first = compiled.kernels[0].gpu_variants()[at].kernel.clone();
    let mutants = mutants::of(&first);
    assert_eq!(mutants.len(), 3);
    for (what, kernel) in mutants {
        compiled.kernels[0].gpu.as_mut().expect("code for GPUs").variants[at].kernel = kernel;
        assert!(mutants::races(&compiled, &args, filled, &what).contains(&true), "{what}");
    }
}
