//! Products in the order of the tree on CPUs, at the edges of block tiles, of the tree's tiles and of its columns:
//! all bits are the interpreter's, in every layout, by the C compiler's code and in the block interpreter.

#[path = "common/mod.rs"]
mod runtime;

use arraygpu_capi::abi::AgpuStatus;
use arraygpu_compiler::core::interp::{self, Value};
use arraygpu_compiler::driver::{Compiled, Targets};
use arraygpu_compiler::scalar::{Lit, Ty};
use arraygpu_compiler::schedule::strategy::Strategy;
use arraygpu_suite::rng::Rng;
use arraygpu_suite::typed::{compiled_for, numbers};
use runtime::{Layout, Loaded, context, load_blocks, load_highest, shapes};

/// A dot product of rows; distances with values of the row, of the column and of both, and an initial value of the
/// element; a product over another semiring; and two results, of which one may be an input.
const PROGRAMS: &str = "
func @dots(%a: [[T]], %b: [[T]], %y: [[T]]) -> (r: [[T]]) {
  RULES
  %r = generate %m, %n (%i: i64, %j: i64) {
    %p = pick %a at %i
    %q = pick %b at %j
    %s = dot from 1T over %p, %q
    yield %s
  }
  return %r
}
func @distances(%a: [[T]], %b: [[T]], %y: [[T]]) -> (r: [[T]]) {
  RULES
  %r = generate %m, %n (%i: i64, %j: i64) {
    %row = elem %a, %i, 0i64
    %column = elem %b, %j, 0i64
    %init = elem %y, %i, %j
    %d = generate %k (%l: i64) {
      %p = elem %a, %i, %l
      %q = elem %b, %j, %l
      %e = sub %p, %q
      %f = mul %e, %row
      %g = mul_add %e, %column, %f
      yield %g
    }
    %s = reduce (%p: T, %q: T) from %init over %d {
      %t = add %p, %q
      yield %t
    }
    yield %s
  }
  return %r
}
func @most(%a: [[T]], %b: [[T]], %y: [[T]]) -> (r: [[T]], u: [[T]]) {
  RULES
  %r = generate %m, %n (%i: i64, %j: i64) {
    %d = generate %k (%l: i64) {
      %p = elem %a, %i, %l
      %q = elem %b, %j, %l
      %e = add %p, %q
      yield %e
    }
    %s = reduce (%p: T, %q: T) from LEAST over %d {
      %t = max %p, %q
      yield %t
    }
    %z = elem %y, %i, %j
    %v = sub %s, %z
    yield %v
  }
  %u = generate %m, %n (%i: i64, %j: i64) {
    %z = elem %y, %i, %j
    %v = add %z, %z
    yield %v
  }
  return %r, %u
}
";

/// A batch of products, and a convolution of channels, whose weights are read from any index on.
const PLANES: &str = "
func @batch(%a: [[[T]]], %b: [[[T]]], %from: i64) -> (r: [[[T]]]) {
  %p = len %a
  %m = len %a axis 1
  %n = len %b axis 1
  %k = len %a axis 2
  %0 = len %b axis 2
  require same %k, %0 \"a, b\"
  %1 = len %b
  require same %p, %1 \"a, b\"
  %r = generate %p, %m, %n (%h: i64, %i: i64, %j: i64) {
    %d = generate %k (%l: i64) {
      %x = elem %a, %h, %i, %l
      %y = elem %b, %h, %j, %l
      %z = sub %x, %y
      yield %z
    }
    %s = reduce (%x: T, %y: T) from 0T over %d { %z = max %x, %y yield %z }
    yield %s
  }
  return %r
}
func @convolution(%x: [[[T]]], %w: [[[T]]], %from: i64) -> (r: [[[T]]]) {
  %c = len %x
  %h0 = len %x axis 1
  %v0 = len %x axis 2
  %h = sub %h0, 1i64
  %v = sub %v0, 1i64
  require extent 0i64, %h \"generate: x\"
  require extent 0i64, %v \"generate: x\"
  %o = len %w
  %n = mul %c, 4i64
  %r = generate %o, %h, %v (%p: i64, %i: i64, %j: i64) {
    %e = generate %n (%k: i64) {
      %d = div %k, 4i64
      %m = rem %k, 4i64
      %q = add %d, %from
      %t = at %w, %p, %q, %m
      %a = div %m, 2i64
      %b = rem %m, 2i64
      %ia = add %i, %a
      %jb = add %j, %b
      %y = at %x, %d, %ia, %jb
      %z = mul %t, %y
      yield %z
    }
    %s = reduce (%x: T, %y: T) from 0T over %e { %z = add %x, %y yield %z }
    %u = cast T %p
    %l = sub %s, %u
    yield %l
  }
  return %r
}
";

const RULES: &str = "%m = len %a
  %n = len %b
  %k = len %a axis 1
  %0 = len %b axis 1
  require same %k, %0 \"a, b\"
  %1 = len %y
  require same %m, %1 \"a, y\"
  %2 = len %y axis 1
  require same %n, %2 \"b, y\"";

fn compiled(ty: Ty, cpu: bool) -> Compiled {
    let text = PROGRAMS.replace("RULES", RULES);
    let c = compiled_for(&text, ty, Targets { cpu, cuda: false });
    for k in &c.kernels {
        let cpu = k.cpu.as_ref().unwrap();
        assert!(cpu.all().iter().flatten().all(|v| v.strategy == Strategy::Contraction), "{}", k.name);
    }
    c
}

fn check(c: &Compiled, loaded: &Loaded, args: &[Value], what: &str) {
    for (i, f) in c.functions.iter().enumerate() {
        let wanted = interp::run(&f.fused, args).unwrap().results;
        for layout in Layout::ALL {
            let called = loaded.call(i, context(2), args, &shapes(&wanted), layout);
            let what = format!("{}, {what}, {layout:?}", f.fused.name);
            assert!(matches!(called.status, AgpuStatus::AgpuOk), "{what}: {}", called.message);
            assert!(called.results == wanted, "{what}");
        }
    }
}

/// Rows, columns and inner indices.
const SIZES: [[usize; 3]; 20] = [
    [4, 8, 1],
    [4, 8, 7],
    [5, 9, 8],
    [67, 65, 9],
    [3, 8, 40],
    [4, 7, 40],
    [64, 64, 17],
    [4, 8, 127],
    [5, 9, 128],
    [6, 8, 129],
    [7, 8, 135],
    [4, 8, 136],
    [4, 66, 300],
    [5, 8, 1023],
    [4, 8, 2047],
    [4, 8, 2048],
    [5, 8, 2049],
    [4, 9, 4100],
    [4, 8, 8192],
    [4, 8, 8193],
];

#[test]
fn edges() {
    let mut rng = Rng::new(1);
    for (ty, cpu) in [(Ty::F32, true), (Ty::F64, false), (Ty::I32, false), (Ty::U8, true)] {
        let c = compiled(ty, cpu);
        let loaded = if cpu { load_highest(&c) } else { load_blocks(&c) };
        // longer ones take the interpreter of blocks long
        for [m, n, k] in SIZES.into_iter().filter(|e| cpu || e[2] < 2050) {
            let args = [[m, k], [n, k], [m, n]].map(|e| numbers(ty, &e, &mut rng));
            check(&c, &loaded, &args, &format!("{m} x {n} x {k} of {ty}"));
        }
    }
}

/// Special numbers are what the formula makes of them, and columns that are absent change no sign of a zero.
#[test]
fn special_numbers() {
    let (c, special) =
        (compiled(Ty::F32, true), [f32::NAN, 1.0, -0.0, f32::INFINITY, f32::MAX, 1e-45, 0.0, -1.0]);
    let loaded = load_highest(&c);
    for k in [1, 3, 8, 20, 130, 2050] {
        let mut rng = Rng::new(k as u64);
        let mut matrix = |m: usize, n: usize, from: usize| {
            let list = (0..m * n).map(|_| Lit::f32(special[rng.pick(&[from, 2, 6, 6, 2])])).collect();
            Value::Array(vec![m as i64, n as i64], list)
        };
        for from in 0..special.len() {
            let args = [matrix(5, k, from), matrix(9, k, 6), matrix(5, 9, 2)];
            check(&c, &loaded, &args, &format!("{k} special numbers"));
        }
    }
}

/// Distances that two reductions need are stored, and computed once.
#[test]
fn nearest() {
    let mut rng = Rng::new(2);
    for (ty, cpu) in [(Ty::F32, true), (Ty::I32, false)] {
        let text = include_str!("../compiler/tests/compiled/flatten_shared.core");
        let text: String = text.lines().filter(|l| !l.starts_with(';')).map(|l| format!("{l}\n")).collect();
        let text = text.replace("inff32", &Lit::greatest(ty).to_string()).replace("f32", &ty.to_string());
        // reads that may leave records, and leave none
        let text = if cpu {
            text
        } else {
            text.replace("elem %c, %j, %l", "at %c, %j, %l")
                .replace("require same %d, %d1", "require same %d, %d")
        };
        let c = compiled_for(&text, ty, Targets { cpu, cuda: false });
        let loaded = if cpu { load_highest(&c) } else { load_blocks(&c) };
        for [n, k, d] in [[0, 3, 2], [3, 0, 2], [3, 4, 0], [1, 1, 1], [40, 9, 3], [70, 66, 17], [5, 130, 40]]
        {
            let args = [[n, d], [k, d]].map(|e| numbers(ty, &e, &mut rng));
            check(&c, &loaded, &args, &format!("{n} points, {k} centres in {d} dimensions of {ty}"));
        }
    }
}

/// Planes before rows, and rows before planes: the interpreter's bits, and records where it leaves some.
#[test]
fn planes() {
    let mut rng = Rng::new(3);
    for (ty, cpu) in [(Ty::F32, true), (Ty::I32, false)] {
        let c = compiled_for(PLANES, ty, Targets { cpu, cuda: false });
        for k in &c.kernels {
            let cpu = k.cpu.as_ref().unwrap();
            assert!(cpu.all().iter().flatten().all(|v| v.strategy == Strategy::Contraction), "{}", k.name);
        }
        let loaded = if cpu { load_highest(&c) } else { load_blocks(&c) };
        for ([o, channels, h, v], from) in [
            ([4, 1, 1, 8], 0),
            ([5, 3, 2, 9], 0),
            ([67, 2, 3, 65], 0),
            ([4, 33, 1, 70], 0),
            ([3, 2, 2, 9], 0),
            ([5, 3, 2, 9], 1),
            ([5, 3, 2, 9], -1),
            ([70, 0, 2, 9], 1),
        ] {
            let x = numbers(ty, &[channels, h + 1, v + 1], &mut rng);
            let w = numbers(ty, &[o, channels, 4], &mut rng);
            let convolution = [x, w, Value::Scalar(Lit::i64(from))];
            let batch = [&[h, o, channels * 4], &[h, v, channels * 4]].map(|e| numbers(ty, e, &mut rng));
            let [a, b] = batch;
            let batch = [a, b, Value::Scalar(Lit::i64(0))];
            for (i, (f, args)) in c.functions.iter().zip([batch, convolution]).enumerate() {
                let wanted = interp::run(&f.fused, &args).unwrap();
                for layout in Layout::ALL {
                    let called = loaded.call(i, context(2), &args, &shapes(&wanted.results), layout);
                    let what =
                        format!("{}, {o} of {channels}, {h} by {v}, from {from}, {layout:?}", f.fused.name);
                    assert_eq!(matches!(called.status, AgpuStatus::AgpuOk), !wanted.recorded, "{what}");
                    assert!(wanted.recorded || called.results == wanted.results, "{what}");
                }
            }
        }
    }
}
