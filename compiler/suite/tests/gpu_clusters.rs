//! Rows and vectors that the blocks of a cluster keep, on a simulated GPU: all bits are the interpreter's,
//! and devices without clusters run the launches that the plan has for them.

use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::driver::Compiled;
use arraygpu_compiler::kernel::interp::{FaultKind, Order};
use arraygpu_compiler::plan::gpu::Grid;
use arraygpu_compiler::scalar::{Lit, Ty};
use arraygpu_suite::gpu::{Failure, How, Layout, call, call_on};
use arraygpu_suite::mutants;
use arraygpu_suite::reference;
use arraygpu_suite::rng::Rng;
use arraygpu_suite::row_chains;
use arraygpu_suite::softmax::SOFTMAX;
use arraygpu_suite::typed::{compiled, numbers};

/// Rows without their mean, divided by the root of their squares, and both values of each row: results are
/// stored before a reduction that reads them, between reductions, and last.
const NORM: &str = "func @f(%m: [[T]], %w: [T]) -> (r: [[T]], s: [T], q: [[T]]) {
  %n = len %m
  %k = len %m axis 1
  %0 = len %w
  require same %k, %0 \"columns: m, w\"
  %s = generate %n (%i: i64) {
    %row = pick %m at %i
    %2 = reduce (%x: T, %y: T) from 9T over %row { %z = add %x, %y yield %z }
    yield %2
  }
  %q = generate %n, %k (%i: i64, %j: i64) {
    %x = elem %m, %i, %j
    %y = elem %s, %i
    %z = sub %x, %y
    yield %z
  }
  %squares = generate %n (%i: i64) {
    %row = pick %q at %i
    %3 = dot from 1T over %row, %row
    %4 = dot from 0T over %row, %w
    %5 = add %3, %4
    yield %5
  }
  %r = generate %n, %k (%i: i64, %j: i64) {
    %x = elem %q, %i, %j
    %y = elem %squares, %i
    %z = elem %w, %j
    %p = mul %x, %y
    %t = add %p, %z
    yield %t
  }
  return %r, %s, %q
}";

/// A row's squared deviations have three accumulators.
const DEVIATIONS: &str = "func @f(%m: [[T]]) -> (r: [[T]], v: [T]) {
  %n = len %m
  %k = len %m axis 1
  %v = generate %n (%i: i64) {
    %row = pick %m at %i
    %1 = squared_deviations from 0T over %row
    yield %1
  }
  %r = generate %n, %k (%i: i64, %j: i64) {
    %x = elem %m, %i, %j
    %y = elem %v, %i
    %z = div %x, %y
    yield %z
  }
  return %r, %v
}";

/// A vector that is divided by its norm.
const UNIT: &str = "func @f(%x: [T]) -> (r: [T]) {
  %s = dot from 0T over %x, %x
  %n = sqrt %s
  %r = map (%y: T) over %x { %z = div %y, %n yield %z }
  return %r
}";

/// Two vectors of which each element is needed twice.
const PAIR: &str = "func @f(%x: [T], %w: [T]) -> (r: [T]) {
  %0 = len %x
  %1 = len %w
  require same %0, %1 \"lengths\"
  %s = dot from 0T over %x, %w
  %r = map (%y: T, %z: T) over %x, %w {
    %2 = div %y, %s
    %3 = sub %2, %z
    yield %3
  }
  return %r
}";

fn how(layout: Layout, version: Option<usize>) -> How {
    How { layout, version, span: 1, order: Order::Random(7) }
}

/// The variants of the first kernel that run in clusters, with the names of their entries.
fn clusters(c: &Compiled) -> Vec<(usize, String)> {
    let all = c.kernels[0].gpu_variants().iter().zip(0..);
    let of_cluster = all.filter(|(v, _)| matches!(v.launch.grid, Grid::Clusters { .. }));
    of_cluster.map(|(v, number)| (number, v.launch.entry.clone())).collect()
}

/// Calls the function on a device of that compute capability. Returns the entries that ran.
fn check(c: &Compiled, args: &[Value], how: How, capability: u32) -> Vec<String> {
    let wanted =
        reference::run(&c.functions[0].fused, args).unwrap_or_else(|e| panic!("{how:?}: {e}")).results;
    let found = call_on(capability, c, 0, args, how).unwrap_or_else(|e| panic!("{how:?}: {e}"));
    assert!(found.results == wanted, "{how:?}, {:?}", found.entries);
    found.entries
}

/// The variant that the length asks for, and where a device has no clusters the launches of the plan.
#[test]
fn softmaxes() {
    let c = compiled(SOFTMAX, Ty::F32);
    let mut rng = Rng::new(1);
    for (n, k, capability, wanted) in [
        (1, 100_000, 90, "f_0_rows_131072_cluster"),
        (2, 57_348, 90, "f_0_rows_65536_cluster"),
        (1, 65_536, 90, "f_0_rows_65536_cluster"),
        (1, 131_076, 120, "f_0_rows_262144_cluster"),
        (1, 60_001, 90, "f_0_rows_65536_cluster_any"),
        (3, 8193, 90, "f_0_rows_10240_staged"),
        (2, 57_344, 90, "f_0_rows_57344_staged"),
        (1, 16_384, 90, "f_0_rows_16384"),
        (1, 32_768, 90, "f_0_rows_32768"),
        (1, 100_000, 89, "f_0 f_1 f_2"),
        (1, 60_001, 80, "f_0 f_1 f_2"),
        (1, 262_148, 90, "f_0 f_1 f_2"),
    ] {
        let args = [numbers(Ty::F32, &[n, k], &mut rng)];
        let entries = check(&c, &args, how(Layout::Contiguous, None), capability);
        assert_eq!(entries.join(" "), wanted, "{n} rows of {k} on sm_{capability}");
    }
    // two columns are apart, or rows have gaps
    let args = [numbers(Ty::F32, &[2, 57_348], &mut rng)];
    for (layout, wanted) in [
        (Layout::InPlace, "f_0_rows_65536_cluster"),
        (Layout::Padded, "f_0_rows_65536_cluster"),
        (Layout::Offset, "f_0_rows_65536_cluster_any"),
        (Layout::Strided, "f_0_any f_1_any f_2_any"),
    ] {
        assert_eq!(check(&c, &args, how(layout, None), 90).join(" "), wanted, "{layout:?}");
    }
}

/// Every variant, also for rows that leave blocks of the cluster without elements, in place and not.
#[test]
fn forced_variants() {
    let mut rng = Rng::new(2);
    let c = compiled(SOFTMAX, Ty::F32);
    let all = clusters(&c);
    let names: Vec<&str> = all.iter().map(|v| &v.1["f_0_rows_".len()..]).collect();
    assert_eq!(
        names,
        [
            "65536_cluster",
            "131072_cluster",
            "262144_cluster",
            "32768_cluster_any",
            "65536_cluster_any",
            "131072_cluster_any"
        ]
    );
    for (number, entry) in all {
        for (n, k) in [(2, 4), (1, 2052), (1, 16_388)] {
            let args = [numbers(Ty::F32, &[n, k], &mut rng)];
            for layout in [Layout::Contiguous, Layout::InPlace] {
                assert_eq!(check(&c, &args, how(layout, Some(number)), 90), [&*entry], "{n} rows of {k}");
            }
        }
    }
}

#[test]
fn other_functions_and_types() {
    let mut rng = Rng::new(3);
    let kept = |entries: &[String]| entries.iter().any(|e| e.contains("_rows"));
    let in_clusters = |entries: &[String]| entries.iter().any(|e| e.contains("_cluster"));
    for (ty, lengths) in [
        (Ty::F32, [33_000, 17_001]),
        (Ty::F64, [33_000, 16_385]),
        (Ty::U8, [40_000, 9001]),
        (Ty::I16, [32_772, 8195]),
    ] {
        let c = compiled(NORM, ty);
        for k in lengths {
            let args = [numbers(ty, &[1, k], &mut rng), numbers(ty, &[k], &mut rng)];
            for layout in [Layout::Contiguous, Layout::InPlace] {
                let entries = check(&c, &args, how(layout, None), 90);
                assert!(kept(&entries), "{k} of {ty}: {entries:?}");
            }
            assert!(!in_clusters(&check(&c, &args, how(Layout::Contiguous, None), 80)), "{k} of {ty}");
        }
    }
    for ty in [Ty::F16, Ty::Bf16] {
        // halves are cast to f32, and the result is rounded once
        let cast = "%k = len %m axis 1
          %f = generate %n, %k (%i: i64, %j: i64) { %x = elem %m, %i, %j %y = cast f32 %x yield %y }";
        let text = SOFTMAX.replace("[[T]]", &format!("[[{ty}]]")).replace("%k = len %m axis 1", cast);
        let text = text.replace("pick %m", "pick %f").replacen(
            "%x = elem %m, %i, %j\n",
            "%x = elem %f, %i, %j\n",
            1,
        );
        let text = text.replace("%z = div %x, %y", &format!("%q = div %x, %y\n    %z = cast {ty} %q"));
        let c = compiled(&text, Ty::F32);
        for k in [33_000, 9001] {
            let entries = check(&c, &[numbers(ty, &[1, k], &mut rng)], how(Layout::Contiguous, None), 90);
            assert!(kept(&entries), "{k} of {ty}: {entries:?}");
        }
    }
    for ty in [Ty::F32, Ty::F64] {
        for (text, extents) in [(DEVIATIONS, vec![2, 33_000]), (UNIT, vec![40_000]), (UNIT, vec![20_001])] {
            let c = compiled(text, ty);
            let args = [numbers(ty, &extents, &mut rng)];
            let entries = check(&c, &args, how(Layout::InPlace, None), 90);
            assert!(kept(&entries), "{extents:?} of {ty}: {entries:?}");
        }
        let (c, k) = (compiled(PAIR, ty), 40_000);
        let args = [(); 2].map(|()| numbers(ty, &[k], &mut rng));
        assert!(kept(&check(&c, &args, how(Layout::InPlace, None), 90)), "two vectors of {ty}");
    }
}

/// Chains of stores and reductions of rows and of vectors, in place and not.
#[test]
fn random_chains() {
    let mut kept = 0;
    for seed in 0..12 {
        let mut rng = Rng::new(seed);
        let vector = seed % 2 == 1;
        let of = if vector { row_chains::Of::Vector } else { row_chains::Of::Rows };
        let text = row_chains::program(&mut rng, of);
        let ty = rng.pick(&[Ty::F32, Ty::F64, Ty::I32, Ty::U8]);
        let c = compiled(&text, ty);
        for k in [9001, 33_000] {
            let extents = if vector { vec![k] } else { vec![1, k] };
            let args = [numbers(ty, &extents, &mut rng), numbers(ty, &[k], &mut rng)];
            let layout = rng.pick(&[Layout::Contiguous, Layout::InPlace]);
            let entries = check(&c, &args, how(layout, None), 90);
            let of_clusters = clusters(&c);
            kept += usize::from(entries.iter().any(|e| of_clusters.iter().any(|c| c.1 == *e)));
        }
    }
    assert!(kept > 8, "{kept}");
}

/// A NaN or an infinity in the part of one block is in the total of all.
#[test]
fn special_numbers() {
    let c = compiled(SOFTMAX, Ty::F32);
    for special in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX] {
        let mut row = vec![Lit::f32(-0.0); 60_000];
        row[59_999] = Lit::f32(special);
        let args = [Value::Array(vec![1, 60_000], row)];
        assert_eq!(check(&c, &args, how(Layout::Contiguous, None), 90), ["f_0_rows_65536_cluster"]);
    }
}

/// Without any of its barriers a cluster has a race, or writes to a block that may not run.
#[test]
fn barriers() {
    let mut c = compiled(SOFTMAX, Ty::F32);
    let args = [numbers(Ty::F32, &[1, 40_000], &mut Rng::new(5))];
    let at = clusters(&c)[0].0;
    let mutants = mutants::of(&c.kernels[0].gpu_variants()[at].kernel);
    assert_eq!(mutants.len(), 5, "that all have begun, and two for each reduction");
    for (what, kernel) in mutants {
        c.kernels[0].gpu.as_mut().expect("code for GPUs").variants[at].kernel = kernel;
        match call(&c, 0, &args, how(Layout::Contiguous, Some(at))) {
            Err(Failure::Fault(f)) if matches!(f.kind, FaultKind::Race | FaultKind::Absent) => {}
            Err(e) => panic!("{what}: {e}"),
            Ok(called) => panic!("{what}: {called:?}"),
        }
    }
}

/// Reports say which rows are not kept, and why.
#[test]
fn limits() {
    let limit = |text: &str, ty| {
        let c = compiled(text, ty);
        c.kernels[0].gpu.as_ref().and_then(|gpu| gpu.limit.clone()).unwrap_or_default()
    };
    let of_cluster = "elements are not kept: the registers of a cluster of 8 blocks hold no more";
    assert_eq!(limit(SOFTMAX, Ty::F32), format!("more than 262144 {of_cluster}"));
    assert_eq!(limit(UNIT, Ty::F64), format!("more than 131072 {of_cluster}"));
    let of_elements = "elements are not kept: its elements take more registers than a multiprocessor has";
    assert_eq!(limit(PAIR, Ty::F64), format!("more than 65536 {of_elements}"));
}
