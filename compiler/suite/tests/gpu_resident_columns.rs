//! Columns that stay in registers on a simulated GPU, at the edges of lanes, strips, tiles and blocks: all
//! bits are the interpreter's.

use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::driver::Compiled;
use arraygpu_compiler::kernel::interp::{FaultKind, Order};
use arraygpu_compiler::plan::gpu::Grid;
use arraygpu_compiler::scalar::{Lit, Ty};
use arraygpu_suite::gpu::{Failure, How, Layout, Runs, call, call_on};
use arraygpu_suite::mutants;
use arraygpu_suite::reference;
use arraygpu_suite::rng::Rng;
use arraygpu_suite::row_chains;
use arraygpu_suite::row_chains::Of;
use arraygpu_suite::strips::Through;
use arraygpu_suite::today;
use arraygpu_suite::typed::{compiled, numbers};

/// The rows and columns of matrices: around those of each variant, and beyond what is kept.
const SHAPES: [(usize, usize); 18] = [
    (0, 4),
    (3, 0),
    (1, 1),
    (2, 4),
    (127, 8),
    (128, 12),
    (130, 20),
    (256, 3),
    (257, 4),
    (1023, 8),
    (1024, 2),
    (1025, 4),
    (2047, 4),
    (2049, 8),
    (4096, 4),
    (4097, 4),
    (2050, 3),
    (8193, 1),
];

/// A softmax of columns.
const SOFTMAX: &str = "func @f(%m: [[T]]) -> (r: [[T]]) {
  %n = len %m
  %k = len %m axis 1
  %top = generate %k (%j: i64) {
    %c = pick %m axis 1 at %j
    %0 = reduce (%x: T, %y: T) from LEAST over %c { %z = max %x, %y yield %z }
    yield %0
  }
  %e = generate %n, %k (%i: i64, %j: i64) {
    %x = elem %m, %i, %j
    %y = elem %top, %j
    %d = sub %x, %y
    %z = exp %d
    yield %z
  }
  %sum = generate %k (%j: i64) {
    %c = pick %e axis 1 at %j
    %0 = reduce (%x: T, %y: T) from 0T over %c { %z = add %x, %y yield %z }
    yield %0
  }
  %r = generate %n, %k (%i: i64, %j: i64) {
    %x = elem %e, %i, %j
    %y = elem %sum, %j
    %z = div %x, %y
    yield %z
  }
  return %r
}";

/// Columns without their mean, divided by their standard deviation, which is a result as well.
const STANDARDISED: &str = "func @f(%m: [[T]]) -> (r: [[T]], s: [T]) {
  %n = len %m
  %k = len %m axis 1
  %count = cast T %n
  %mean = generate %k (%j: i64) {
    %c = pick %m axis 1 at %j
    %0 = reduce (%x: T, %y: T) from 0T over %c { %z = add %x, %y yield %z }
    %1 = div %0, %count
    yield %1
  }
  %s = generate %k (%j: i64) {
    %c = pick %m axis 1 at %j
    %0 = squared_deviations from 0T over %c
    %1 = div %0, %count
    %2 = sqrt %1
    yield %2
  }
  %r = generate %n, %k (%i: i64, %j: i64) {
    %x = elem %m, %i, %j
    %y = elem %mean, %j
    %z = elem %s, %j
    %d = sub %x, %y
    %q = div %d, %z
    yield %q
  }
  return %r, %s
}";

/// Weights of rows and of columns, initial values that columns have of their own, reductions of one stage and
/// of two, and a matrix that is stored before it is reduced.
const SCALED: &str = "func @f(%m: [[T]], %w: [T], %u: [T]) -> (r: [[T]], s: [T], q: [[T]], a: [[T]]) {
  %n = len %m
  %k = len %m axis 1
  %0 = len %w
  require same %k, %0 \"columns: m, w\"
  %1 = len %u
  require same %n, %1 \"rows: m, u\"
  %a = generate %n, %k (%i: i64, %j: i64) {
    %x = elem %m, %i, %j
    %y = elem %u, %i
    %p = mul %x, %y
    %q = mul %p, %y
    %z = div %q, %x
    yield %z
  }
  %s = generate %k (%j: i64) {
    %c = pick %a axis 1 at %j
    %x = elem %w, %j
    %2 = reduce (%x: T, %y: T) from %x over %c { %z = add %x, %y yield %z }
    yield %2
  }
  %top = generate %k (%j: i64) {
    %c = pick %m axis 1 at %j
    %2 = reduce (%x: T, %y: T) from 9T over %c { %z = max %x, %y yield %z }
    yield %2
  }
  %squares = generate %k (%j: i64) {
    %c = pick %a axis 1 at %j
    %x = elem %s, %j
    %d = map (%y: T) over %c { %z = sub %y, %x yield %z }
    %3 = dot from 1T over %d, %d
    %4 = dot from 0T over %c, %u
    %5 = add %3, %4
    yield %5
  }
  %r = generate %n, %k (%i: i64, %j: i64) {
    %x = elem %a, %i, %j
    %y = elem %squares, %j
    %z = elem %u, %i
    %t = elem %w, %j
    %p = mul %x, %y
    %q = add %p, %z
    %v = sub %q, %t
    yield %v
  }
  %q = generate %n, %k (%i: i64, %j: i64) {
    %x = elem %m, %i, %j
    %y = elem %top, %j
    %z = sub %x, %y
    yield %z
  }
  return %r, %s, %q, %a
}";

/// Calls the function by every variant that fits, in several layouts. Returns the entries that kept columns.
fn check(c: &Compiled, args: &[Value], (n, k): (usize, usize), what: &str) -> Vec<String> {
    let is_long = n * k > 2000;
    let wanted =
        reference::run(&c.functions[0].fused, args).unwrap_or_else(|e| panic!("{what}: {e}")).results;
    let all = c.kernels[0].gpu_variants().iter().zip(0..).filter(|(v, _)| v.launch.guards.allows(n as u64));
    let mut versions: Vec<usize> = all.map(|(_, number)| number).collect();
    if is_long {
        // the shortest that serves the call, with vector accesses and without
        versions.dedup_by_key(|at| c.kernels[0].gpu_variants()[*at].launch.guards.neighbours.is_some());
    }
    let mut kept = Vec::new();
    let mut runs = Runs::default();
    for version in versions.into_iter().map(Some).chain([None]) {
        for layout in Layout::ALL {
            let is_usual = [Layout::Contiguous, Layout::InPlace].contains(&layout);
            if !is_usual && (is_long || version.is_some()) {
                continue;
            }
            let how = How { layout, version, span: 1, order: Order::Random(7) };
            if !runs.is_new(c, 0, args, how) {
                continue;
            }
            let found = call(c, 0, args, how).unwrap_or_else(|e| panic!("{what}, {how:?}: {e}"));
            assert!(found.results == wanted, "{what}, {how:?}, {:?}", found.entries);
            kept.extend(found.entries.into_iter().filter(|e| e.contains("_strips")));
        }
    }
    kept.sort();
    kept.dedup();
    kept
}

/// The variants of the first kernel that are wanted.
fn entries(c: &Compiled, is_wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let all = c.kernels[0].gpu_variants().iter().map(|v| v.launch.entry.clone());
    let mut all: Vec<String> = all.filter(|entry| is_wanted(entry)).collect();
    all.sort();
    all
}

#[test]
fn softmaxes() {
    let mut rng = Rng::new(1);
    let c = compiled(SOFTMAX, Ty::F32);
    assert!(c.functions[0].plan.may_be_in_place(0, 0));
    let mut kept = Vec::new();
    for (n, k) in SHAPES {
        let args = [numbers(Ty::F32, &[n, k], &mut rng)];
        kept.extend(check(&c, &args, (n, k), &format!("{n} by {k}")));
    }
    kept.sort();
    kept.dedup();
    assert_eq!(
        kept,
        entries(&c, |entry| !["16384_cluster", "32768_cluster"].iter().any(|e| entry.ends_with(e)))
    );
}

/// Counts are the same for all columns; an absent tree column may only be the higher side of a join.
#[test]
fn standardised() {
    let mut rng = Rng::new(2);
    for ty in [Ty::F32, Ty::F64] {
        let c = compiled(STANDARDISED, ty);
        for (n, k) in SHAPES {
            if n * k > 5000 && ty == Ty::F64 {
                continue;
            }
            let args = [numbers(ty, &[n, k], &mut rng)];
            check(&c, &args, (n, k), &format!("{n} by {k} of {ty}"));
        }
    }
}

#[test]
fn other_shapes_and_types() {
    let mut rng = Rng::new(3);
    for ty in [Ty::F32, Ty::F64, Ty::I32, Ty::U8, Ty::I16] {
        let c = compiled(SCALED, ty);
        let mut kept = Vec::new();
        for (n, k) in SHAPES {
            if n * k > 5000 && ty != Ty::F32 {
                continue;
            }
            let args =
                [numbers(ty, &[n, k], &mut rng), numbers(ty, &[k], &mut rng), numbers(ty, &[n], &mut rng)];
            kept.extend(check(&c, &args, (n, k), &format!("{n} by {k} of {ty}")));
        }
        assert!(!kept.is_empty(), "{ty}");
    }
}

/// Columns that are longer than a block has, and shorter ones, for which blocks of the cluster have no rows.
/// Devices without clusters run the launches that are replaced.
#[test]
fn clusters() {
    let mut rng = Rng::new(4);
    for (text, ty) in [(SOFTMAX, Ty::F32), (STANDARDISED, Ty::F32), (STANDARDISED, Ty::F64)] {
        let c = compiled(text, ty);
        let all = c.kernels[0].gpu_variants().iter().zip(0..);
        let all = all.filter(|(v, _)| matches!(v.launch.grid, Grid::Clusters { .. }));
        let all: Vec<(usize, String)> = all.map(|(v, at)| (at, v.launch.entry.clone())).collect();
        // rows of any alignment have clusters only where no count takes registers
        let count = if text == SOFTMAX { 6 } else { 5 - ty.size() / 4 };
        assert_eq!(all.len(), count, "{all:?}");
        for (number, entry) in all {
            let longest = entry.split('_').find_map(|word| word.parse::<usize>().ok().filter(|n| *n > 0));
            for (n, k) in [(5, 4), (2100, 8), (longest.unwrap() - 200, 4)] {
                if n > 9000 && ty == Ty::F64 {
                    continue;
                }
                let args = [numbers(ty, &[n, k], &mut rng)];
                let wanted = reference::run(&c.functions[0].fused, &args).unwrap().results;
                let layout = if n % 8 == 0 { Layout::InPlace } else { Layout::Contiguous };
                let how = How { layout, version: Some(number), span: 1, order: Order::Random(3) };
                let found = call_on(90, &c, 0, &args, how).unwrap_or_else(|e| panic!("{entry}, {n}: {e}"));
                assert!(found.results == wanted, "{entry}, {n} by {k}");
                assert_eq!(found.entries, [&*entry], "{n} by {k}");
                let found = call_on(89, &c, 0, &args, how).unwrap_or_else(|e| panic!("{entry}, {n}: {e}"));
                assert!(found.results == wanted && !found.entries.contains(&entry), "{entry}, {n} by {k}");
            }
        }
    }
}

#[test]
fn random_chains() {
    let mut kept = 0;
    for seed in today::seeds(12) {
        let mut rng = Rng::new(seed);
        let text = row_chains::program(&mut rng, Of::Columns);
        let ty = rng.pick(&[Ty::F32, Ty::F64, Ty::I32, Ty::U8]);
        let c = compiled(&text, ty);
        for n in [0, 5, 130, 400] {
            let k = rng.pick(&[1, 4, 6, 8, 20]);
            let count = c.kernels[0].gpu_variants().len();
            let versions = [rng.below(count), rng.below(count)].map(Some).into_iter().chain([None]);
            let args = [numbers(ty, &[n, k], &mut rng), numbers(ty, &[n], &mut rng)];
            let what = format!("seed {seed}, {n} by {k} of {ty}\n{text}");
            let wanted = reference::run(&c.functions[0].fused, &args).unwrap().results;
            for layout in [Layout::Contiguous, Layout::InPlace, Layout::Strided] {
                for version in versions.clone() {
                    let how = How { layout, version, span: 1, order: Order::Random(seed) };
                    let found = call(&c, 0, &args, how).unwrap_or_else(|e| panic!("{what}, {how:?}: {e}"));
                    assert!(found.results == wanted, "{what}, {how:?}, {:?}", found.entries);
                    kept += usize::from(found.entries.iter().any(|e| e.contains("_strips")));
                }
            }
        }
    }
    assert!(kept > 10, "{kept}");
}

/// Columns of planes and through planes: strips that end in the middle of a plane, and such with columns of
/// several.
#[test]
fn three_dimensions() {
    let mut rng = Rng::new(6);
    for through in Through::ALL {
        for ty in [Ty::F32, Ty::F64, Ty::U8] {
            let mut all = vec![(through.scaled(), 3)];
            if ty.is_float() {
                all.extend([(through.softmax(), 1), (through.standardised(), 1)]);
            }
            for (text, args) in all {
                let c = compiled(&text, ty);
                let mut kept = Vec::new();
                for (a, n, k) in [(3, 0, 4), (2, 5, 8), (5, 130, 12), (3, 70, 7), (1, 300, 40), (2, 2050, 4)]
                {
                    if n > 300 && (ty != Ty::F32 || args == 3) {
                        continue;
                    }
                    let mut values = vec![numbers(ty, &through.extents(a, n, k), &mut rng)];
                    if args == 3 {
                        values.extend([numbers(ty, &[n], &mut rng), numbers(ty, &[a], &mut rng)]);
                    }
                    let what = format!("{through:?}, {a} by {n} by {k} of {ty}");
                    kept.extend(check(&c, &values, (n, a * k), &what));
                }
                let of = |is_wanted: &dyn Fn(&str) -> bool| kept.iter().any(|entry| is_wanted(entry));
                assert!(of(&|e| e.ends_with("_any")) || ty == Ty::F64, "{through:?} of {ty}: {kept:?}");
                assert!(of(&|e| !e.ends_with("_any")), "{through:?} of {ty}: {kept:?}");
            }
        }
    }
}

/// Special numbers are what the formula makes of them.
#[test]
fn special_numbers() {
    let c = compiled(SOFTMAX, Ty::F32);
    let special = [f32::NAN, 1.0, -0.0, f32::INFINITY, f32::MAX, 1e-45, f32::NEG_INFINITY, 200.0];
    let list = (0..140 * 8).map(|i: usize| Lit::f32(special[(i % 8 * (i / 8 % 3) + i / 64) % 8])).collect();
    let args = [Value::Array(vec![140, 8], list)];
    assert!(!check(&c, &args, (140, 8), "special numbers").is_empty());
}

/// Without a barrier a reduction is a race.
#[test]
fn barriers() {
    let mut c = compiled(SOFTMAX, Ty::F32);
    let mut rng = Rng::new(5);
    let args = [numbers(Ty::F32, &[200, 4], &mut rng)];
    let at = c.kernels[0].gpu_variants().iter().position(|v| v.kernel.name == "f_0_strips_256").unwrap();
    let mutants = mutants::of(&c.kernels[0].gpu_variants()[at].kernel);
    assert_eq!(mutants.len(), 4, "two for each reduction");
    for (what, kernel) in mutants {
        c.kernels[0].gpu.as_mut().expect("code for GPUs").variants[at].kernel = kernel;
        let how = How { layout: Layout::Contiguous, version: Some(at), span: 1, order: Order::Random(1) };
        match call(&c, 0, &args, how) {
            Err(Failure::Fault(f)) if f.kind == FaultKind::Race => {}
            Err(e) => panic!("{what}: {e}"),
            Ok(called) => panic!("{what}: {called:?}"),
        }
    }
}
