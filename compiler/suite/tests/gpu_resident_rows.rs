//! Rows that stay in registers on a simulated GPU, at the edges of lanes, tiles and blocks: all bits
//! are the interpreter's.

use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::driver::{Compiled, GpuCode};
use arraygpu_compiler::kernel::interp::{FaultKind, Order};
use arraygpu_compiler::plan::gpu::Grid;
use arraygpu_compiler::scalar::{Lit, Ty};
use arraygpu_suite::gpu::{Failure, How, Layout, Runs, call};
use arraygpu_suite::mutants;
use arraygpu_suite::reference;
use arraygpu_suite::rng::Rng;
use arraygpu_suite::row_chains;
use arraygpu_suite::row_chains::Of;
use arraygpu_suite::softmax::SOFTMAX;
use arraygpu_suite::today;
use arraygpu_suite::typed::{compiled, numbers};

/// The lengths of rows: around those of each variant, and beyond what a block keeps.
const LENGTHS: [usize; 18] =
    [0, 1, 3, 4, 31, 32, 64, 68, 128, 1025, 512, 1020, 1024, 2048, 4096, 8192, 8196, 16_388];

/// Rows without their mean and with another scale, with weights of the columns and of the rows; the
/// sums are a result, too.
const SCALED: &str = "func @f(%m: [[T]], %w: [T], %u: [T]) -> (r: [[T]], s: [T], q: [[T]]) {
  %n = len %m
  %k = len %m axis 1
  %0 = len %w
  require same %k, %0 \"columns: m, w\"
  %1 = len %u
  require same %n, %1 \"rows: m, u\"
  %s = generate %n (%i: i64) {
    %row = pick %m at %i
    %x = elem %u, %i
    %2 = reduce (%x: T, %y: T) from %x over %row { %z = add %x, %y yield %z }
    yield %2
  }
  %squares = generate %n (%i: i64) {
    %row = pick %m at %i
    %x = elem %s, %i
    %d = map (%y: T) over %row { %z = sub %y, %x yield %z }
    %3 = dot from 1T over %d, %d
    %4 = dot from 0T over %row, %w
    %5 = add %3, %4
    yield %5
  }
  %r = generate %n, %k (%i: i64, %j: i64) {
    %x = elem %m, %i, %j
    %y = elem %squares, %i
    %z = elem %w, %j
    %p = mul %x, %y
    %q = add %p, %z
    yield %q
  }
  %q = generate %n, %k (%i: i64, %j: i64) {
    %x = elem %m, %i, %j
    %y = elem %s, %i
    %z = sub %x, %y
    yield %z
  }
  return %r, %s, %q
}";

/// Rows of an array of three dimensions.
const VOLUME: &str = "func @f(%t: [[[T]]]) -> (r: [[[T]]], l: [[T]]) {
  %p = len %t
  %n = len %t axis 1
  %k = len %t axis 2
  %l = generate %p, %n (%h: i64, %i: i64) {
    %row = generate %k (%j: i64) { %x = elem %t, %h, %i, %j yield %x }
    %0 = reduce (%x: T, %y: T) from 9T over %row { %z = min %x, %y yield %z }
    yield %0
  }
  %r = generate %p, %n, %k (%h: i64, %i: i64, %j: i64) {
    %x = elem %t, %h, %i, %j
    %y = elem %l, %h, %i
    %z = sub %x, %y
    yield %z
  }
  return %r, %l
}";

/// Arrays that are stored before their rows are reduced: the sums of the first, the first again, and
/// the maxima and sums of the second.
const STORED: &str = "func @f(%m: [[T]], %w: [T]) -> (a: [[T]], s: [T], b: [[T]], t: [T], u: [T]) {
  %n = len %m
  %k = len %m axis 1
  %0 = len %w
  require same %k, %0 \"columns: m, w\"
  %a = generate %n, %k (%i: i64, %j: i64) {
    %x = elem %m, %i, %j
    %y = elem %w, %j
    EXPENSIVE
    yield %z
  }
  %s = generate %n (%i: i64) {
    %row = pick %a at %i
    %1 = reduce (%x: T, %y: T) from 1T over %row { %z = add %x, %y yield %z }
    yield %1
  }
  %b = generate %n, %k (%i: i64, %j: i64) {
    %x = elem %a, %i, %j
    %y = elem %s, %i
    %v = sub %x, %y
    EXPENSIVE
    yield %z
  }
  %t = generate %n (%i: i64) {
    %row = pick %b at %i
    %2 = reduce (%x: T, %y: T) from 1T over %row { %z = max %x, %y yield %z }
    yield %2
  }
  %u = generate %n (%i: i64) {
    %row = pick %b at %i
    %y = elem %t, %i
    %d = map (%x: T) over %row { %z = sub %x, %y yield %z }
    %3 = reduce (%x: T, %y: T) from 0T over %d { %z = add %x, %y yield %z }
    yield %3
  }
  return %a, %s, %b, %t, %u
}";

/// A vector that is divided by its sum, what is left is stored and summed, and a last array reads both.
const VECTOR: &str = "func @f(%x: [T], %w: [T]) -> (a: [T], b: [T]) {
  %0 = len %x
  %1 = len %w
  require same %0, %1 \"lengths\"
  %s = dot from 9T over %x, %w
  %half = add %s, 1T
  %a = generate %0 (%i: i64) {
    %y = elem %x, %i
    %u = elem %w, %i
    %2 = mul %y, %u
    %3 = div %2, %half
    %4 = add %3, %y
    %5 = div %4, %s
    %6 = div %5, %y
    %z = add %6, %u
    yield %z
  }
  %t = reduce (%y: T, %z: T) from %half over %a { %p = max %y, %z yield %p }
  %q = mul %t, %s
  %b = generate %0 (%i: i64) {
    %y = elem %a, %i
    %z = mul %y, %q
    yield %z
  }
  return %a, %b
}";

/// Whether a variant has its rows in shared memory.
fn is_staged(v: &GpuCode) -> bool {
    v.launch.entry.ends_with("_staged")
}

/// The variants of the first kernel that have rows in the registers of a block, and those that it replaces;
/// `gpu_clusters.rs` has those of clusters.
fn variants(c: &Compiled) -> Vec<usize> {
    let of_block = |v: &GpuCode| !is_staged(v) && !matches!(v.launch.grid, Grid::Clusters { .. });
    let all = c.kernels[0].gpu_variants().iter().zip(0..);
    all.filter(|(v, _)| of_block(v)).map(|(_, number)| number).collect()
}

/// Calls the function by every variant that fits, in several layouts. Returns the entries that kept rows.
fn check(c: &Compiled, args: &[Value], length: usize, what: &str) -> Vec<String> {
    let wanted =
        reference::run(&c.functions[0].fused, args).unwrap_or_else(|e| panic!("{what}: {e}")).results;
    let variants = variants(c);
    // long rows take the interpreter long
    let is_long = length > 600;
    let (mut kept, mut runs) = (Vec::new(), Runs::default());
    let few = if is_long { variants.len() - 1 } else { 0 };
    for version in variants[few..].iter().copied().map(Some).chain([None]) {
        for layout in Layout::ALL {
            let is_usual = [Layout::Contiguous, Layout::InPlace, Layout::Strided].contains(&layout);
            if !is_usual && (is_long || version.is_some()) {
                continue;
            }
            let how = How { layout, version, span: 1, order: Order::Random(7) };
            if !runs.is_new(c, 0, args, how) {
                continue;
            }
            let found = call(c, 0, args, how).unwrap_or_else(|e| panic!("{what}, {how:?}: {e}"));
            assert!(found.results == wanted, "{what}, {how:?}, {:?}", found.entries);
            kept.extend(found.entries.into_iter().filter(|e| e.contains("_rows")));
        }
    }
    kept.sort();
    kept.dedup();
    kept
}

#[test]
fn softmaxes() {
    let mut rng = Rng::new(1);
    let c = compiled(SOFTMAX, Ty::F32);
    let mut kept = Vec::new();
    for k in LENGTHS {
        let rows: &[usize] = if k > 600 { &[1] } else { &[1, if k < 100 { 67 } else { 5 }] };
        for n in rows {
            let args = [numbers(Ty::F32, &[*n, k], &mut rng)];
            kept.extend(check(&c, &args, k, &format!("{n} rows of {k}")));
        }
    }
    kept.sort();
    kept.dedup();
    let vectors = [32, 64, 256, 1024, 2048, 4096, 8192, 16384, 32768].map(|k| format!("f_0_rows_{k}"));
    let single = [64, 256, 512, 1024, 2048, 4096, 8192].map(|k| format!("f_0_rows_{k}_any"));
    let mut all: Vec<String> = vectors.into_iter().chain(single).collect();
    all.sort();
    assert_eq!(kept, all);
}

#[test]
fn other_shapes_and_types() {
    let mut rng = Rng::new(2);
    for ty in [Ty::F64, Ty::I32, Ty::U8] {
        let c = compiled(SCALED, ty);
        for (n, k) in [(3, 0), (4, 8), (5, 64), (2, 132), (1, 2052)] {
            let args =
                [numbers(ty, &[n, k], &mut rng), numbers(ty, &[k], &mut rng), numbers(ty, &[n], &mut rng)];
            let kept = check(&c, &args, k, &format!("{n} rows of {k} of {ty}"));
            assert_eq!(kept.is_empty(), k == 0, "{n} rows of {k} of {ty}");
        }
        let c = compiled(VOLUME, ty);
        for extents in [[2, 3, 16], [3, 1, 33], [1, 4, 200], [0, 3, 4]] {
            let args = [numbers(ty, &extents, &mut rng)];
            check(&c, &args, extents[2], &format!("{extents:?} of {ty}"));
        }
    }
}

/// Rows in shared memory begin at any distance from a multiple of 16 bytes, and have whole units and parts of units;
/// what later stages need takes the place of elements, and results do.
#[test]
fn rows_in_shared_memory() {
    let mut rng = Rng::new(6);
    let stored = STORED.replace("EXPENSIVE", "%p = mul %x, %y %q = exp %p %z = exp %q");
    let stored_bytes = STORED.replace("EXPENSIVE", "%p = mul %x, %y %z = add %p, %x");
    let cases = [
        (SOFTMAX, Ty::F32, 1),
        (SOFTMAX, Ty::F64, 1),
        (&stored, Ty::F32, 2),
        (&stored_bytes, Ty::U8, 2),
        (SCALED, Ty::F64, 3),
    ];
    for (text, ty, arguments) in cases {
        let c = compiled(text, ty);
        let all = c.kernels[0].gpu_variants().iter().zip(0..);
        let staged: Vec<usize> = all.filter(|(v, _)| is_staged(v)).map(|(_, number)| number).collect();
        let (first, last) = (staged[0], staged[staged.len() - 1]);
        for (n, k, version) in
            [(3, 0, first), (7, 1, first), (5, 7, last), (5, 67, first), (2, 2182, first), (1, 4129, last)]
        {
            let extents: [&[usize]; 3] = [&[n, k], &[k], &[n]];
            let args: Vec<Value> =
                extents[..arguments].iter().map(|extents| numbers(ty, extents, &mut rng)).collect();
            let wanted = reference::run(&c.functions[0].fused, &args).unwrap().results;
            for layout in [Layout::Contiguous, Layout::InPlace] {
                let how = How { layout, version: Some(version), span: 1, order: Order::Random(7) };
                let what = format!("{n} rows of {k} of {ty}, {how:?}");
                let found = call(&c, 0, &args, how).unwrap_or_else(|e| panic!("{what}: {e}"));
                assert!(found.results == wanted, "{what}, {:?}", found.entries);
                assert!(k == 0 || found.entries[0].ends_with("_staged"), "{what}, {:?}", found.entries);
            }
        }
    }
}

/// What is stored is in a register where a later reduction of the row needs it, or read from the row in
/// memory; outputs may be inputs.
#[test]
fn stored_before_they_are_reduced() {
    let mut rng = Rng::new(3);
    let quotients = "%p = mul %x, %y %q = div %p, %y %z = div %q, %x".to_string();
    let exponentials = "%p = mul %x, %y %q = exp %p %z = exp %q".to_string();
    for (ty, element) in
        [(Ty::F32, &exponentials), (Ty::F64, &quotients), (Ty::I32, &quotients), (Ty::U8, &quotients)]
    {
        let c = compiled(&STORED.replace("EXPENSIVE", element), ty);
        // what may divide by zero where it is stored would do so where it is reduced
        let chains = if ty.is_float() { 1 } else { 2 };
        assert_eq!(c.kernels.iter().filter(|k| k.name.ends_with("_rows")).count(), chains, "{ty}");
        for (n, k) in [(3, 0), (4, 8), (5, 64), (2, 132), (1, 2052)] {
            let args = [numbers(ty, &[n, k], &mut rng), numbers(ty, &[k], &mut rng)];
            let kept = check(&c, &args, k, &format!("{n} rows of {k} of {ty}"));
            assert_eq!(kept.is_empty(), k == 0, "{n} rows of {k} of {ty}");
        }
    }
}

/// A vector that a block holds is read once, and a longer one that a cluster holds.
#[test]
fn whole_vectors() {
    let mut rng = Rng::new(4);
    for ty in [Ty::F32, Ty::F64] {
        let c = compiled(VECTOR, ty);
        for k in [0, 1, 3, 32, 68, 1020, 1025, 2048, 8192, 8193] {
            let args = [numbers(ty, &[k], &mut rng), numbers(ty, &[k], &mut rng)];
            let kept = check(&c, &args, k, &format!("{k} of {ty}"));
            assert_eq!(kept.is_empty(), k == 0, "{k} of {ty}: {kept:?}");
        }
    }
}

#[test]
fn random_chains() {
    let mut kept = [0; 2];
    for seed in today::seeds(24) {
        let mut rng = Rng::new(seed);
        let vector = seed % 2 == 1;
        let text = row_chains::program(&mut rng, if vector { Of::Vector } else { Of::Rows });
        let ty = rng.pick(&[Ty::F32, Ty::F64, Ty::I32, Ty::U8]);
        let c = compiled(&text, ty);
        for k in [0, 5, 32, 132, 1030] {
            let extents = if vector { vec![k] } else { vec![1 + rng.below(5), k] };
            let args = [numbers(ty, &extents, &mut rng), numbers(ty, &[k], &mut rng)];
            let what = format!("seed {seed}, {extents:?} of {ty}\n{text}");
            let wanted = reference::run(&c.functions[0].fused, &args).unwrap().results;
            for layout in [Layout::Contiguous, Layout::InPlace, Layout::Strided] {
                for version in variants(&c).into_iter().map(Some).chain([None]) {
                    let how = How { layout, version, span: 1, order: Order::Random(seed) };
                    let found = call(&c, 0, &args, how).unwrap_or_else(|e| panic!("{what}, {how:?}: {e}"));
                    assert!(found.results == wanted, "{what}, {how:?}, {:?}", found.entries);
                    kept[usize::from(vector)] +=
                        usize::from(found.entries.iter().any(|e| e.contains("_rows")));
                }
            }
        }
    }
    assert!(kept.iter().all(|n| *n > 20), "{kept:?}");
}

/// One part of a chain may leave records: the launch that keeps the rows reports what the others do.
#[test]
fn random_chains_that_gather() {
    let (mut kept, mut recorded) = (0, [0; 2]);
    for seed in today::seeds(24) {
        let mut rng = Rng::new(100 + seed);
        let text = row_chains::gathering(&mut rng);
        let ty = rng.pick(&[Ty::F32, Ty::F64, Ty::I32, Ty::U8]);
        let c = compiled(&text, ty);
        for k in [0, 5, 32, 132, 1030] {
            let extents = vec![1 + rng.below(5), k];
            let args = [numbers(ty, &extents, &mut rng), numbers(ty, &[k], &mut rng)];
            let what = format!("seed {seed}, {extents:?} of {ty}\n{text}");
            let wanted = reference::run(&c.functions[0].fused, &args).unwrap();
            let mut record = None;
            for layout in [Layout::Contiguous, Layout::InPlace, Layout::Strided] {
                for version in variants(&c).into_iter().map(Some).chain([None]) {
                    let how = How { layout, version, span: 1, order: Order::Random(seed) };
                    let found = call(&c, 0, &args, how).unwrap_or_else(|e| panic!("{what}, {how:?}: {e}"));
                    assert_eq!(
                        found.record.is_some(),
                        wanted.recorded,
                        "{what}, {how:?}, {:?}",
                        found.entries
                    );
                    let keeps = found.entries.iter().any(|e| e.contains("_rows"));
                    kept += usize::from(keeps);
                    match found.record {
                        Some(found) => {
                            recorded[usize::from(keeps)] += 1;
                            let found = (found.element, found.site);
                            assert_eq!(record.get_or_insert(found.clone()), &found, "{what}, {how:?}");
                        }
                        None => {
                            assert!(found.results == wanted.results, "{what}, {how:?}, {:?}", found.entries)
                        }
                    }
                }
            }
        }
    }
    assert!(kept > 20 && recorded.iter().all(|n| *n > 1), "{kept} kept, {recorded:?} recorded");
}

/// What other launches read is stored: the elements by a product, sums of columns and a map behind a
/// `materialize`; the values of the rows by a sum of all. Nothing of it is a result.
#[test]
fn read_by_other_launches() {
    let mut rng = Rng::new(8);
    let softmax = SOFTMAX.split_once('\n').unwrap().1.rsplit_once("  return").unwrap().0;
    let add = "{ %s = add %p, %q yield %s }";
    let readers = [
        (
            "[[T]]",
            "%o = generate %n, %n (%i: i64, %j: i64) {
               %p = pick %r at %i %q = pick %m at %j %z = panel_dot from 0T over %p, %q yield %z
             }"
            .to_string(),
        ),
        (
            "[T]",
            format!(
                "%o = generate %k (%j: i64) {{
                   %c = pick %r axis 1 at %j %z = reduce (%p: T, %q: T) from 0T over %c {add} yield %z
                 }}"
            ),
        ),
        (
            "[[T]]",
            "%a = materialize %r %b = reverse %a %o = map (%x: T) over %b { %z = add %x, 1T yield %z }"
                .into(),
        ),
        ("T", format!("%o = reduce (%p: T, %q: T) from 0T over %sum {add}")),
    ];
    for (ty, reader) in &readers {
        let text = format!("func @f(%m: [[T]]) -> (o: {ty}) {{\n{softmax}  {reader}\n  return %o\n}}");
        let c = compiled(&text, Ty::F32);
        for (n, k) in [(3, 0), (1, 1), (5, 8), (5, 33), (2, 132), (1, 2052)] {
            let kept =
                check(&c, &[numbers(Ty::F32, &[n, k], &mut rng)], k, &format!("{n} rows of {k}, {reader}"));
            assert_eq!(kept.is_empty(), k == 0, "{n} rows of {k}, {reader}");
        }
    }
}

/// Groups that may not share a launch, or only some of them: a stored row is read at another row, a stored
/// vector at one place, more results than a group has, and an output that may be an input of a reduction.
#[test]
fn what_is_read_elsewhere_is_stored_before() {
    let mut rng = Rng::new(6);
    let triple = "%n = len %x %m = len %y require same %n, %m \"lengths\" %a0 = map (%v: T) over %x { %w = add %v, 1T yield %w }";
    let sum = |name: &str, of: &str| {
        format!("%{name} = reduce (%p: T, %q: T) from 0T over %{of} {{ %s = add %p, %q yield %s }}")
    };
    let scaled = "%b = map (%v: T) over %y { %w = div %v, %t yield %w }";
    let many: String =
        (1..8).map(|i| format!("%a{i} = map (%v: T) over %x {{ %w = mul %v, %v yield %w }} ")).collect();
    let vectors = [
        format!(
            "(a: [T], b: [T]) {{ {triple} %a = materialize %a0 %r = reverse %a %d = dot from 0T over %a, %r %t = add %d, 9T {scaled} return %a, %b }}"
        ),
        format!("(a: [T], b: [T]) {{ {triple} {} {scaled} return %a0, %b }}", sum("t", "x")),
        format!(
            "(a: [T], a1: [T], b: [T]) {{ {triple} {many} {} {scaled} return %a0, %a7, %b }}",
            sum("t", "a0")
        ),
    ];
    for (text, count) in vectors.iter().zip(0..) {
        let c = compiled(&format!("func @f(%x: [T], %y: [T]) -> {text}"), Ty::F32);
        for k in [0, 1, 5, 132] {
            let args = [numbers(Ty::F32, &[k], &mut rng), numbers(Ty::F32, &[k], &mut rng)];
            check(&c, &args, k, &format!("vectors {count}, {k}"));
        }
    }
    let rows = "func @f(%m: [[T]]) -> (a: [[T]], s: [T]) {
      %n = len %m
      %k = len %m axis 1
      %a0 = generate %n, %k (%i: i64, %j: i64) { %x = elem %m, %i, %j %y = mul %x, %x yield %y }
      %a = materialize %a0
      %r = reverse %a
      %s = generate %n (%i: i64) {
        %p = pick %a at %i
        %q = pick %r at %i
        %t = dot from 0T over %p, %q
        yield %t
      }
      return %a, %s
    }";
    let c = compiled(rows, Ty::F64);
    assert!(c.kernels.iter().all(|k| !k.name.ends_with("_rows")), "a row of another launch's time is read");
    check(&c, &[numbers(Ty::F64, &[5, 12], &mut rng)], 12, "rows");
}

/// Special numbers are what the formula makes of them.
#[test]
fn special_numbers() {
    let c = compiled(SOFTMAX, Ty::F32);
    let f = |x: f32| Lit::f32(x);
    let rows = [
        [f(f32::NAN), f(1.0), f(2.0), f(3.0)],
        [f(f32::INFINITY), f(1.0), f(-0.0), f(0.0)],
        [f(f32::NEG_INFINITY); 4],
        [f(f32::MAX), f(f32::MIN), f(1e-45), f(200.0)],
    ];
    let args = [Value::Array(vec![4, 4], rows.concat())];
    assert!(!check(&c, &args, 4, "special numbers").is_empty());
}

/// Without its barrier a row of several warps is a race.
#[test]
fn barriers() {
    let mut c = compiled(SOFTMAX, Ty::F32);
    let mut rng = Rng::new(5);
    let args = [numbers(Ty::F32, &[1, 8000], &mut rng)];
    let at = c.kernels[0].gpu_variants().iter().position(|v| v.kernel.name == "f_0_rows_8192").unwrap();
    let mutants = mutants::of(&c.kernels[0].gpu_variants()[at].kernel);
    assert_eq!(mutants.len(), 2, "one for each reduction");
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
