//! The same error records: the first step, its lowest element and the first place there, on the CPU through the runtime and on a simulated GPU.

mod common;
#[path = "../compiler/tests/common/gpu.rs"]
#[allow(dead_code, reason = "this test uses a part")]
mod gpu;
#[path = "../compiler/tests/common/mod.rs"]
mod random;

use arraygpu_capi::abi::AgpuStatus;
use arraygpu_compiler::core::interp::{self, Value};
use arraygpu_compiler::driver;
use arraygpu_compiler::kernel::interp::Order;
use arraygpu_compiler::scalar::{Lit, Ty};
use common::{compile, context, load};
use gpu::{How, Layout};
use random::{program, rng::Rng};

const SIZES: [usize; 7] = [1, 3, 129, 300, 2048, 2049, 4500];

#[test]
fn records_name_the_same_element_and_place() {
    let make = |seed: u64| {
        let ty = Ty::ALL[seed as usize % Ty::ALL.len()];
        program::function(&format!("f{seed}"), ty, &mut Rng::new(seed))
    };
    let fits = |f: &arraygpu_compiler::core::Function| driver::compile("t", vec![f.clone()]).is_ok();
    let compiled = compile((3000..3024).map(make).filter(fits).collect());
    let loaded = load(&compiled);
    let (cpu, context) = (loaded.last().unwrap(), context(2));
    let mut records = 0;
    for (i, f) in compiled.functions.iter().enumerate() {
        let mut rng = Rng::new(i as u64 + 77);
        for round in 0..4 {
            let (n, n2) = (rng.pick(&SIZES), rng.pick(&SIZES));
            let args = program::arguments(f, n, n2, &mut rng);
            let Ok(outcome) = interp::run(f, &args) else { continue };
            let extents = common::shapes(&outcome.results);
            let called = cpu.call(i, context, &args, &extents, common::Layout::Contiguous);
            let order = Order::Random(round);
            let version = (round > 0).then(|| round as usize - 1);
            let how = How { layout: Layout::Contiguous, version, span: 2, order };
            let simulated = gpu::call(&compiled, i, &args, how).unwrap_or_else(|e| panic!("{e}\n{f}"));
            let case = || format!("{how:?}, n = {n}, {n2}: {}\n{f}", called.message);
            match (called.status, simulated.record) {
                (AgpuStatus::AgpuOk, None) => assert!(called.results == simulated.results, "{}", case()),
                (AgpuStatus::AgpuErrorRecord, Some(r)) => {
                    let says = format!("{}, first at element {}", r.site, r.element);
                    assert!(called.message.contains(&says), "{says}\n{}", case());
                    records += 1;
                }
                (_, record) => panic!("{record:?}\n{}", case()),
            }
        }
    }
    assert!(records > 10, "{records} records");
}

/// Of several steps of an iteration the lowest element counts, whichever step it is in.
#[test]
fn records_of_an_iteration() {
    let text = "func @f(%x: [i64], %k: i64) -> (r: [i64]) {
  step @f__step0(%x: [i64]) -> (next: [i64]) {
    %r = map (%e: i64) over %x {
      %d = sub %e, 4i64
      %q = div 12i64, %d
      %z = div %q, 100i64
      %s = add %e, %z
      %t = add %s, 1i64
      yield %t
    }
    return %r
  }
  require count 0i64, %k \"iterate: k\"
  %r = iterate @f__step0 0 by %k from %x
  return %r
}";
    let compiled = compile(arraygpu_compiler::core::parse::parse(text).unwrap());
    let (loaded, context) = (load(&compiled), context(2));
    let cpu = loaded.last().unwrap();
    // every element becomes the next number, and 4 leaves a record
    for (k, expected) in [(0, None), (1, Some(3)), (2, Some(1)), (3, Some(0))] {
        let elements = [2i64, 3, 0, 4].map(Lit::i64);
        let args = [Value::Vector(elements.to_vec()), Value::Scalar(Lit::i64(k))];
        let called = cpu.call(0, context, &args, &[vec![4]], common::Layout::Contiguous);
        let how = How { layout: Layout::Contiguous, version: None, span: 1, order: Order::Ascending };
        let simulated = gpu::call(&compiled, 0, &args, how).unwrap();
        let element = simulated.record.as_ref().map(|r| r.element);
        assert_eq!(element, expected, "{k} steps");
        if let Some(r) = simulated.record {
            let says = format!("{}, first at element {}", r.site, r.element);
            assert!(called.message.contains(&says), "{k} steps: {says}: {}", called.message);
        } else {
            assert!(matches!(called.status, AgpuStatus::AgpuOk));
        }
    }
}
