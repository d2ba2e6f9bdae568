//! Elements with loops of their own on CPUs: neighbours go through them in lockstep, and the elements behind the last
//! whole strip one by one. The block interpreter and C through the runtime, against the interpreter of core IR.

#[path = "common/mod.rs"]
mod runtime;

use arraygpu::prelude::*;
use arraygpu_capi::abi::AgpuStatus;
use arraygpu_compiler::core::interp::{self, Value};
use arraygpu_compiler::driver::{Compiled, Targets, compile_for};
use arraygpu_compiler::scalar::{Lit, Ty};
use arraygpu_suite::rng::Rng;
use arraygpu_suite::typed::{compiled_for, numbers};
use runtime::{Layout, context, load_blocks, load_highest, shapes};

/// Calls the program in each layout, with and without a C compiler, and compares values and records.
fn check(text: &str, ty: Ty, calls: &[Vec<Value>]) {
    let c = compiled_for(text, ty, Targets { cpu: true, cuda: false });
    let calls: Vec<_> = calls.iter().map(|args| (args.clone(), "")).collect();
    check_compiled(&c, &calls);
}

/// Calls a compiled program as [`check`] does. Each call has the words that the message of its error record must contain.
fn check_compiled(c: &Compiled, calls: &[(Vec<Value>, &str)]) {
    let text = &c.functions[0].source;
    assert!(c.emit("kernel").unwrap().contains("for %q"), "nothing is in lockstep\n{text}");
    for loaded in [load_highest(c), load_blocks(c)] {
        for ((args, says), layout) in calls.iter().flat_map(|call| Layout::ALL.map(|layout| (call, layout))) {
            let wanted = interp::run(text, args).unwrap();
            let called = loaded.call(0, context(2), args, &shapes(&wanted.results), layout);
            let what = format!("{:?}, {layout:?}\n{text}\n{}", shapes(args), called.message);
            let is_recorded = matches!(called.status, AgpuStatus::AgpuErrorRecord);
            assert!(is_recorded || matches!(called.status, AgpuStatus::AgpuOk), "{what}");
            assert_eq!(is_recorded, wanted.recorded, "{what}");
            assert!(is_recorded || says.is_empty(), "no record `{says}`: {what}");
            assert!(!is_recorded || called.message.contains(says), "no `{says}`: {what}");
            assert!(is_recorded || called.results == wanted.results, "{what}");
        }
    }
}

/// Compiles functions of the language for CPUs.
fn compiled(package: &Package) -> Compiled {
    compile_for("t", package.functions().unwrap(), Targets { cpu: true, cuda: false }).unwrap()
}

/// Each element leaves its loop by itself, the last ones of a strip long after the first.
#[test]
fn ends_of_elements() {
    let text = "func @f(%x: [T]) -> (r: [T], steps: [i64]) {
  %r = map (%c: T) over %x {
    %a = loop 0 (%i: i64, %a: T, %k: i32) by 60i64 from 0T, 0i32 { STEP }
    yield %a
  }
  %s = map (%c: T) over %x {
    %a = loop 2 (%i: i64, %a: T, %k: i32) by 60i64 from 0T, 0i32 { STEP }
    yield %a
  }
  return %r, %s
}"
    .replace("STEP", "%s = mul %a, %a %u = lt %s, 9T %v = lt %k, 50i32 %m = and %u, %v %n = add %s, %c %l = add %k, 1i32 %t = tuple %m, %n, %l yield %t");
    let mut rng = Rng::new(1);
    for ty in [Ty::F32, Ty::F64, Ty::I32, Ty::I16, Ty::U8, Ty::F16, Ty::Bf16] {
        let calls: Vec<_> = [0, 1, 31, 32, 33, 100].map(|n| vec![numbers(ty, &[n], &mut rng)]).into();
        check(&text, ty, &calls);
    }
}

/// All elements make as many steps, of which each reads neighbours, and a value that is the same for all of them:
/// where it is not there, the first element leaves a record.
#[test]
fn counted_steps() {
    let text = "func @f(%z: [[T]], %s: [T]) -> (r: [T]) {
  %rows = len %z
  %cols = len %z axis 1
  %r = generate %cols (%p: i64) {
    %a = loop 0 (%i: i64, %a: T, %b: T) by %rows from 1T, 0T {
      %e = elem %z, %i, %p
      %w = at %s, %i
      %m = mul %a, %w
      %n = add %m, %e
      %c = sub %e, %b
      %t = tuple true, %n, %c
      yield %t
    }
    yield %a
  }
  return %r
}";
    let mut rng = Rng::new(2);
    for ty in [Ty::F32, Ty::I64] {
        let mut call = |rows: usize, cols: usize, there: usize| {
            vec![numbers(ty, &[rows, cols], &mut rng), numbers(ty, &[there], &mut rng)]
        };
        check(text, ty, &[call(5, 70, 5), call(0, 40, 0), call(3, 64, 2), call(9, 33, 12), call(4, 0, 1)]);
    }
}

/// A record names the lowest element of all that leave it, and its place: here that of the first row that asks for
/// more than there is.
#[test]
fn records_of_rows() {
    let text = "func @f(%z: [[T]], %s: [T], %k: i64) -> (r: [[T]]) {
  %rows = len %z
  %cols = len %z axis 1
  %r = generate %rows, %cols (%p: i64, %q: i64) {
    %e = elem %z, %p, %q
    %a = loop 0 (%i: i64, %a: T) by %k from 1T {
      %at = add %p, %i
      %w = at %s, %at
      %m = mul %a, %w
      %n = add %m, %e
      %t = tuple true, %n
      yield %t
    }
    yield %a
  }
  return %r
}";
    let mut rng = Rng::new(5);
    for ty in [Ty::F32, Ty::I16] {
        let mut call = |rows: usize, cols: usize, there: usize, k: i64, says| {
            let args = vec![
                numbers(ty, &[rows, cols], &mut rng),
                numbers(ty, &[there], &mut rng),
                Value::Scalar(Lit::i64(k)),
            ];
            (args, says)
        };
        let calls = [
            call(5, 70, 8, 3, ""),
            call(5, 70, 6, 3, "first at element 280"),
            call(5, 33, 4, 3, "first at element 66"),
            call(9, 40, 0, 1, "first at element 0"),
            call(9, 40, 0, 0, ""),
        ];
        check_compiled(&compiled_for(text, ty, Targets { cpu: true, cuda: false }), &calls);
    }
}

/// A limit that is data, and a condition that reads the element: what does not end leaves a record of the first such
/// element.
#[test]
fn limits() {
    let below = |x: VExp<f32>, limit: SExp<i64>| {
        generate(x.len(), |i| {
            loop_while_at_most(limit, 0.0f32, |a: SExp<f32>| a.lt(x.at(i)), |a| a * 0.5 + 1.0)
        })
    };
    let c = compiled(&Package::new("t").function("f", ["x", "limit"], "r", below));
    let call = |n: usize, endless: &[usize], limit: i64| {
        let x = (0..n).map(|i| Lit::f32(if endless.contains(&i) { 3.0 } else { (i % 16) as f32 / 8.0 }));
        vec![Value::Vector(x.collect()), Value::Scalar(Lit::i64(limit))]
    };
    let calls = [
        (call(100, &[], 20), ""),
        (call(100, &[99], 20), "first at element 99"),
        (call(100, &[47, 60, 3], 20), "first at element 3"),
        (call(70, &[64, 40], 9), "first at element 40"),
        (call(33, &[], 1), "first at element 9"),
        (call(31, &[], 0), "first at element 1"),
        (call(0, &[], 0), ""),
    ];
    check_compiled(&c, &calls);
}

/// Short rows are straight code in a loop around them.
#[test]
fn nearest_rows() {
    let text = include_str!("../compiler/tests/strategies/cpu_thread_rows.core");
    let mut rng = Rng::new(3);
    let shapes = [[70, 5, 16], [33, 9, 3], [64, 1, 4], [40, 0, 8], [35, 3, 32], [50, 4, 17], [0, 3, 4]];
    let calls = shapes.map(|[m, n, length]| {
        let mut rows = |n: usize| match numbers(Ty::F32, &[n, length], &mut rng) {
            Value::Array(extents, mut all) => {
                // the nearest of rows with a NaN, and of equal ones
                if let Some(x) = all.get_mut(length) {
                    *x = Lit::f32(f32::NAN);
                }
                Value::Array(extents, all)
            }
            other => other,
        };
        vec![rows(m), rows(n)]
    });
    check(text, Ty::F32, &calls);
}

/// Searches read at places of their own, end one after the other, and leave records of elements behind the array.
#[test]
fn searches() {
    let text = "func @f(%x: [T], %ends: [i64]) -> (r: [i64], n: [i64]) {
  %r = map (%end: i64) over %ends { %l = loop 0 SEARCH yield %l }
  %n = map (%end: i64) over %ends { %l = loop 2 SEARCH yield %l }
  return %r, %n
}"
    .replace(
        "SEARCH",
        "(%k: i64, %low: i64, %high: i64, %steps: i64) by 9i64 from 0i64, %end, 0i64 {
  %more = lt %low, %high %both = add %low, %high %middle = div %both, 2i64 %after = add %middle, 1i64
  %v = at %x, %middle %less = lt %v, 9T
  %a = select %less, %after, %low %b = select %less, %high, %middle %n = add %steps, 1i64
  %t = tuple %more, %a, %b, %n yield %t }",
    );
    let mut rng = Rng::new(9);
    for (ty, lengths) in [(Ty::F32, [33, 300]), (Ty::I64, [64, 70]), (Ty::U8, [40, 31])] {
        let calls = lengths.map(|n: usize| {
            let ends = |most: i64| Value::Vector((0..n as i64).map(|i| Lit::i64(i * 37 % most)).collect());
            let x = numbers(ty, &[n], &mut rng);
            [vec![x.clone(), ends(n as i64)], vec![x, ends(5 * n as i64)]]
        });
        let c = compiled_for(&text, ty, Targets { cpu: true, cuda: false });
        if ty == Ty::U8 {
            assert!(!c.emit("kernel").unwrap().contains("for %q"), "bytes are gathered one by one");
        } else {
            check(&text, ty, &calls.concat());
        }
    }
}

/// Parts in index order whose join counts what is absent: all tiles of the last parts are there.
#[test]
fn absent_elements_that_count() {
    let text = "func @f(%x: [i32]) -> (r: [i32]) {
  %n = len %x
  %last = sub %n, 1i64
  %none = tuple false, 0i32
  %r = generate 3i64 (%u: i64) {
    %first = mul %u, 4096i64
    %all = generate 4096i64 (%p: i64) {
      %in = rem %p, 2048i64 %tile = sub %p, %in %column = rem %in, 128i64 %row = div %in, 128i64
      %at = mul %column, 16i64 %begin = add %first, %tile %inside = add %at, %row %i = add %begin, %inside
      %present = lt %i, %n %j = min %i, %last %e = elem %x, %j
      %t = tuple %present, %e yield %t
    }
    %v = reduce 1 (%f: bool, %a: i32, %g: bool, %b: i32) from %none over %all {
      %h = or %f, %g %c = select %g, %b, 7i32 %s = add %a, %c %t = tuple %h, %s yield %t
    }
    yield %v
  }
  return %r
}";
    let c = compiled_for(text, Ty::I32, Targets { cpu: true, cuda: false });
    assert!(c.emit("kernel").unwrap().contains("of_tiles"), "no tiles are in index order");
    let mut rng = Rng::new(6);
    for n in [1, 2049, 5000, 13000] {
        let args = [numbers(Ty::I32, &[n], &mut rng)];
        let wanted = interp::run(&c.functions[0].source, &args).unwrap().results;
        for loaded in [load_highest(&c), load_blocks(&c)] {
            let called = loaded.call(0, context(2), &args, &shapes(&wanted), Layout::Contiguous);
            assert!(called.results == wanted, "{n} elements: {}", called.message);
        }
    }
}

/// More than one group of tiles, a partial tile, and a group that has one element.
#[test]
fn index_order() {
    let text = "func @f(%x: [T], %y: [T]) -> (a: T, b: T) {
  %none = tuple 1T, 0T
  %z = map (%a: T, %b: T) over %x, %y { %t = tuple %a, %b yield %t }
  %r0 = reduce_ordered 0 JOIN
  %r1 = reduce_ordered 1 JOIN
  return %r0, %r1
}"
    .replace("JOIN", "(%a: T, %b: T, %c: T, %d: T) from %none over %z { %m = mul %a, %c %n = mul %a, %d %o = add %b, %n %t = tuple %m, %o yield %t }");
    let c = compiled_for(&text, Ty::I32, Targets { cpu: true, cuda: false });
    let (mut rng, both) = (Rng::new(4), [load_highest(&c), load_blocks(&c)]);
    for n in [0, 1, 17, 2047, 2048, 5000, (1 << 18) + 1] {
        let args = [(); 2].map(|()| numbers(Ty::I32, &[n], &mut rng));
        // compositions of affine functions: the order of joins does not matter, that of the functions does
        let elements = |v: &Value| match v {
            Value::Vector(all) => all.iter().map(|l| l.as_i32()).collect(),
            _ => Vec::new(),
        };
        let functions = elements(&args[0]).into_iter().zip(elements(&args[1]));
        let (a, b) = functions.fold((1i32, 0i32), |(a, b), (c, d): (i32, i32)| {
            (a.wrapping_mul(c), b.wrapping_add(a.wrapping_mul(d)))
        });
        let wanted = [a, b].map(|x| Value::Scalar(Lit::i32(x)));
        for loaded in &both {
            let called = loaded.call(0, context(2), &args, &shapes(&wanted), Layout::Contiguous);
            assert!(called.results == wanted, "{n} elements: {}", called.message);
        }
    }
}

/// The longest run of equal elements, and their number: the lengths of one element are constants, those of more are
/// not. Joins are so long that a column of 16 is folded in several batches.
#[test]
fn counts_in_index_order() {
    let text = "func @f(%x: [i64]) -> (best: i64, all: i64) {
  %none = tuple 0i64, 0i64, 0i64, 0i64, 0i64, 0i64
  %z = map (%a: i64) over %x { %t = tuple %a, %a, 1i64, 1i64, 1i64, 1i64 yield %t }
  %r0 = reduce_ordered 4 JOIN
  %r1 = reduce_ordered 5 JOIN
  return %r0, %r1
}"
    .replace("JOIN", "(%first: i64, %last: i64, %begin: i64, %end: i64, %best: i64, %n: i64, %other: i64, %final: i64, %start: i64, %rest: i64, %most: i64, %m: i64) from %none over %z {
  %equal = eq %last, %other %some = gt %n, 0i64 %meets = and %equal, %some
  %s = add %end, %start %across = select %meets, %s, 0i64
  %is_all = eq %begin, %n %longer = and %is_all, %meets %ns = add %n, %start %is_none = eq %n, 0i64
  %b = select %is_none, %start, %begin %begins = select %longer, %ns, %b
  %is_rest = eq %rest, %m %ends = and %is_rest, %meets %me = add %m, %end %e = select %ends, %me, %rest
  %f = select %is_none, %other, %first
  %p = max %best, %most %q = max %p, %across %total = add %n, %m
  %t = tuple %f, %final, %begins, %e, %q, %total yield %t }");
    let c = compiled_for(&text, Ty::I64, Targets { cpu: true, cuda: false });
    let both = [load_highest(&c), load_blocks(&c)];
    for (n, run) in [(1, 1), (2048, 2048), (2048, 300), (5000, 5000), (5000, 7), ((1 << 18) + 1, 3000)] {
        let args = [Value::Vector((0..n).map(|i| Lit::i64(i / run)).collect())];
        let wanted = [n.min(run), n].map(|x| Value::Scalar(Lit::i64(x)));
        for loaded in &both {
            let called = loaded.call(0, context(2), &args, &shapes(&wanted), Layout::Contiguous);
            assert!(
                called.results == wanted,
                "{n} elements, runs of {run}: {:?} {}",
                called.results,
                called.message
            );
        }
    }
}

/// Elements that reduce a few values which all of them read, in any order: in lockstep if there are many elements.
/// The values are read again at the place that was found, and one that is not there leaves a record.
#[test]
fn shared_values() {
    let nearest = |x: VExp<f32>, c: VExp<f32>, k: SExp<i64>| {
        x.map(|x| {
            let nearest = c.map(|c| (c - x).abs()).argmin();
            let lower: SExp<i32> = c.map(|c| cond(c.lt(x), lit(1i32), 0)).sum();
            c.at(nearest + k) + lower.cast::<f32>()
        })
    };
    let package = Package::new("t").function("f", ["x", "c", "k"], ["r"], nearest);
    let c = compiled(&package);
    let mut rng = Rng::new(9);
    let mut calls = Vec::new();
    for n in [1usize, 31, 127, 128, 161, 600] {
        for count in [1usize, 2, 17, 256, 257] {
            let [x, values] = [n, count].map(|n| numbers(Ty::F32, &[n], &mut rng));
            calls.push((vec![x.clone(), values.clone(), Value::Scalar(Lit::i64(0))], ""));
            calls.push((vec![x, values, Value::Scalar(Lit::i64(count as i64))], "out of range"));
        }
    }
    check_compiled(&c, &calls);
}
