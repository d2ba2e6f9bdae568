//! Optimisations that are left out (`without.rs`): the code changes, no bit does, and the assembler takes it.

use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::driver::Compiled;
use arraygpu_compiler::scalar::{Lit, Ty};
use arraygpu_compiler::without::{self, Optimisation};
use arraygpu_suite::ptxas::{Module, architectures, assemble, find};
use arraygpu_suite::rng::Rng;
use arraygpu_suite::versions::{check, compiled, numbers};

/// Neighbours at clamped places, of which some have a value that few threads need; a short sum of each element, and a
/// quotient by a number that is not known.
const PROGRAM: &str = "func @f(%x: [[f32]], %w: [f32], %d: i64) -> (r: [[f32]], q: [i64], s: f32) {
  %m = len %x
  %n = len %x axis 1
  %most = sub %n, 1i64
  %r = generate %m, %n (%i: i64, %j: i64) {
    %left = sub %j, 1i64
    %l = max %left, 0i64
    %right = add %j, 1i64
    %k = min %right, %most
    %a = at %x, %i, %l
    %b = at %x, %i, %k
    %c = at %x, %i, %j
    %p = mul %a, %b
    %t = add %p, %c
    yield %t
  }
  %h = len %w
  %q = generate %h (%i: i64) {
    %e = mul %i, 12884901888i64
    %v = div %e, %d
    yield %v
  }
  %z = generate %h (%i: i64) {
    %four = generate 4i64 (%k: i64) {
      %a = at %w, %i
      %c = cast f32 %k
      %b = mul %a, %c
      yield %b
    }
    %t = fold (%x: f32, %y: f32) from 0f32 over %four { %z = add %x, %y yield %z }
    yield %t
  }
  %s = reduce (%x: f32, %y: f32) from 0f32 over %z { %z = add %x, %y yield %z }
  return %r, %q, %s
}";

fn texts(c: &Compiled) -> Vec<&str> {
    c.gpu_variants().map(|v| &*v.ptx).collect()
}

fn count(texts: &[&str], what: &str) -> usize {
    texts.iter().map(|t| t.matches(what).count()).sum()
}

fn of(o: Optimisation) -> Compiled {
    without::compiled(&[o], || compiled(PROGRAM, None))
}

#[test]
fn no_bit_changes() {
    let mut rng = Rng::new(5);
    for o in Optimisation::ALL {
        let c = of(o);
        for (rows, columns, d) in [(1, 1, 7), (5, 67, -3), (9, 260, 1 << 40), (3, 64, 0)] {
            let x = numbers(Ty::F32, rows, columns, &mut rng);
            let w = (0..rows * columns).map(|i| Lit::f32(i as f32 * 0.37 - 9.0)).collect();
            let w = Value::Array(vec![(rows * columns) as i64], w);
            let ran = check(&c, &[x, w, Value::Scalar(Lit::i64(d))], o.name());
            assert!(!ran.is_empty(), "{}", o.name());
        }
    }
}

#[test]
fn each_changes_what_it_says() {
    let all = compiled(PROGRAM, None);
    let all = texts(&all);
    let fewer = |o: Optimisation, what: &str| {
        let c = of(o);
        let (before, after) = (count(&all, what), count(&texts(&c), what));
        assert!(after < before, "{}: {what} {before} times, then {after}", o.name());
    };
    let more = |o: Optimisation, what: &str| {
        let c = of(o);
        let (before, after) = (count(&all, what), count(&texts(&c), what));
        assert!(after > before, "{}: {what} {before} times, then {after}", o.name());
    };
    fewer(Optimisation::ReadOnly, "ld.global.nc");
    fewer(Optimisation::Spaces, ".global");
    more(Optimisation::Spaces, "cvta.shared.u64");
    fewer(Optimisation::Narrow, "mad.wide.s32");
    more(Optimisation::Narrow, "mad.lo.s64");
    fewer(Optimisation::ShortDivisions, "div.u32");
    fewer(Optimisation::Offsets, "+4]");
    more(Optimisation::Offsets, "mad.wide.s32");
    fewer(Optimisation::IfConversion, "selp");
    let loops = |c: &Compiled| c.functions[0].fused.to_string().matches("= fold").count();
    assert!(loops(&of(Optimisation::Unroll)) > loops(&compiled(PROGRAM, None)));
    fewer(Optimisation::Cse, "common");
}

#[test]
fn what_is_left_out_assembles() {
    let ptxas = find();
    let arch = architectures(&ptxas)[1];
    let mut all = Vec::new();
    for o in Optimisation::ALL {
        let c = of(o);
        let texts = texts(&c);
        all.extend(texts.iter().map(|t| Module {
            name: o.name().into(),
            ptx: (*t).into(),
            is_dependent: true,
        }));
    }
    let jobs: Vec<_> = all.iter().map(|m| (m, arch)).collect();
    assert_eq!(assemble(&ptxas, &jobs).len(), all.len());
}
