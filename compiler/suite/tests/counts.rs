//! Operations, loads and bytes: what programs ask for, and what their launches make.

use arraygpu_compiler::core::{Function, parse};
use arraygpu_compiler::counts::{Counts, Size, asked, ideal, launched, law, structure};
use arraygpu_compiler::driver;
use arraygpu_compiler::scalar::Lit;

fn function(text: &str) -> Function {
    parse::parse(text).unwrap_or_else(|e| panic!("{e}")).remove(0)
}

fn of_program(text: &str, sizes: &[Size]) -> Counts {
    asked(&function(text), sizes).unwrap_or_else(|e| panic!("{e}"))
}

fn of_launches(text: &str, sizes: &[Size]) -> Counts {
    let fused = driver::fuse(&function(text)).unwrap_or_else(|e| panic!("{e}"));
    launched(&fused, sizes).unwrap_or_else(|e| panic!("{e}"))
}

fn vector(n: i64) -> Size {
    Size::Extents(vec![n])
}

#[test]
fn a_chain_of_maps_is_the_same() {
    let text = "func @f(%x: [f32]) -> (r: [f32]) {
  %0 = map (%a: f32) over %x {
    %1 = mul %a, %a
    yield %1
  }
  %2 = map (%a: f32) over %0 {
    %3 = add %a, 1f32
    yield %3
  }
  return %2
}
";
    let expected = Counts { operations: 2000.0, loads: 1000.0, bytes: 8000.0 };
    assert_eq!(of_program(text, &[vector(1000)]), expected);
    // the plan knows the bytes
    assert_eq!(of_launches(text, &[vector(1000)]), Counts { bytes: 0.0, ..expected });
}

#[test]
fn a_product_reads_each_matrix_once() {
    let text = "func @f(%a: [[f32]], %b: [[f32]]) -> (r: [[f32]]) {
  %n = len %a
  %m = len %b axis 1
  %0 = generate %n, %m (%i: i64, %j: i64) {
    %1 = pick %a axis 0 at %i
    %2 = pick %b axis 1 at %j
    %3 = panel_dot from 0f32 over %1, %2
    yield %3
  }
  return %0
}
";
    let sizes = [Size::Extents(vec![10, 20]), Size::Extents(vec![20, 30])];
    let counts = of_program(text, &sizes);
    let products = 10.0 * 20.0 * 30.0;
    assert_eq!(counts.operations, 2.0 * products);
    assert_eq!(counts.bytes, 4.0 * (200.0 + 600.0 + 300.0));
    assert_eq!(of_launches(text, &sizes).operations, 2.0 * products);
}

/// A value of the inner index alone: asked for once, made for each outer index.
#[test]
fn a_value_of_fewer_indices() {
    let text = "func @f(%x: [f32]) -> (r: [f32]) {
  %n = len %x
  %0 = generate %n (%i: i64) {
    %1 = at %x, %i
    %2 = generate %n (%j: i64) {
      %3 = at %x, %j
      %4 = sqrt %3
      %5 = mul %1, %4
      yield %5
    }
    %6 = reduce (%a: f32, %b: f32) from 0f32 over %2 {
      %7 = max %a, %b
      yield %7
    }
    yield %6
  }
  return %0
}
";
    let n = 100.0;
    assert_eq!(of_program(text, &[vector(100)]).operations, n + 2.0 * n * n);
    assert_eq!(of_launches(text, &[vector(100)]).operations, 3.0 * n * n);
}

/// An element that several places read is asked for once, and only where it is read.
#[test]
fn only_what_is_read() {
    let text = "func @f(%x: [f32]) -> (r: [f32]) {
  %0 = map (%a: f32) over %x {
    %1 = sqrt %a
    yield %1
  }
  %2 = generate 10i64 (%i: i64) {
    %3 = at %0, %i
    %4 = add %i, 1i64
    %5 = at %0, %4
    %6 = add %3, %5
    yield %6
  }
  return %2
}
";
    let counts = of_program(text, &[vector(1000)]);
    // of the map at most the 20 elements that are read
    assert_eq!(counts.operations, 20.0 + 10.0);
    assert_eq!(counts.bytes, 4.0 * (20.0 + 10.0));
    assert_eq!(of_program(text, &[vector(11)]).operations, 11.0 + 10.0);
}

/// Two results of one loop share what they have in common.
#[test]
fn results_over_one_index_space_share() {
    let text = "func @f(%x: [f32]) -> (p: [f32], q: [f32]) {
  %0 = map (%a: f32) over %x {
    %1 = sqrt %a
    %2 = add %1, 1f32
    yield %2
  }
  %3 = map (%a: f32) over %x {
    %4 = sqrt %a
    %5 = mul %4, 2f32
    yield %5
  }
  return %0, %3
}
";
    assert_eq!(of_program(text, &[vector(100)]).operations, 300.0);
    assert_eq!(of_launches(text, &[vector(100)]).operations, 300.0);
}

/// A choice by an index is made by the loops, as is the test of an edge.
#[test]
fn choices_by_indices_are_free() {
    let text = "func @f(%x: [f32]) -> (r: [f32]) {
  %n = len %x
  %0 = generate %n (%i: i64) {
    %1 = gt %i, 3i64
    %2 = at %x, %i
    %3 = add %2, 1f32
    %4 = select %1, %3, %2
    yield %4
  }
  return %0
}
";
    assert_eq!(of_program(text, &[vector(100)]).operations, 100.0);
    assert_eq!(of_launches(text, &[vector(100)]).operations, 100.0);
}

const LOOP: &str = "func @f(%x: [f32], %k: i64) -> (r: [f32]) {
  %0 = map (%a: f32) over %x {
    %s = loop 0 (%i: i64, %s: f32) by COUNT from %a {
      %t = mul %s, %s
      %u = sub %t, %a
MORE      yield %v
    }
    yield %s
  }
  return %0
}
";

#[test]
fn loops_of_elements_make_as_many_steps_as_they_say() {
    let always = "      %v = tuple true, %u\n";
    let while_less = "      %more = lt %s, 4f32\n      %v = tuple %more, %u\n";
    let of = |count: &str, more: &str, expected: f64| {
        let text = LOOP.replace("COUNT", count).replace("MORE", more);
        let sizes = [vector(1000), Size::Value(Some(Lit::i64(7)))];
        assert_eq!(of_program(&text, &sizes).operations, expected, "{text}");
        assert_eq!(of_launches(&text, &sizes).operations, expected, "{text}");
    };
    of("10i64", always, 20_000.0);
    of("%k", always, 14_000.0);
    // where data end a loop, 64 steps are assumed, but no more than its limit
    of("1000i64", while_less, 3.0 * 64_000.0);
    of("10i64", while_less, 30_000.0);
}

/// A sort is charged what its merges do, so that a sum over all elements for each of them is seen beside one.
#[test]
fn a_sort_is_charged_what_it_does() {
    let sort = "func @f(%x: [f32]) -> (order: [i64], r: [f32]) {
  %0 = argsort %x
  %n = len %x
  %1 = generate %n (%i: i64) {
    %a = at %x, %i
    VALUE
    yield %r
  }
  return %0, %1
}
";
    let plain = sort.replace("VALUE", "%r = mul %a, 2f32");
    for n in [100, 3000, 1 << 20] {
        let (asked, launched) =
            (of_program(&plain, &[vector(n)]).operations, of_launches(&plain, &[vector(n)]).operations);
        assert!((0.8..1.25).contains(&(launched / asked)), "{n}: {launched} launched, {asked} asked for");
    }
    let sums = sort.replace(
        "VALUE",
        "%2 = generate %n (%j: i64) {
      %b = at %x, %j
      %3 = mul %a, %b
      yield %3
    }
    %r = reduce (%p: f32, %q: f32) from 0f32 over %2 {
      %s = add %p, %q
      yield %s
    }",
    );
    let of = |text: &str| driver::fuse(&function(text)).unwrap_or_else(|e| panic!("{e}"));
    let found = law::excess(&function(&plain), &of(&sums)).unwrap();
    assert!(found.is_some_and(|text| text.contains("extents of 1")));
    assert_eq!(law::excess(&function(&plain), &of(&plain)).unwrap(), None);
}

/// The ideal of a sort has n log2 n operations, reads its keys once and writes what is asked of their order, however
/// many passes the launches make.
#[test]
fn an_ideal_sort_reads_and_writes_once() {
    let sort = function(
        "func @f(%x: [f32]) -> (order: [i64]) {
  %0 = argsort %x
  return %0
}
",
    );
    for n in [64, 1024, 1 << 20] {
        let (size, log) = (n as f64, (n as f64).log2());
        let counts = ideal(&sort, &[vector(n)]).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((counts.bytes, counts.operations), (12.0 * size, size * log));
        let asked = asked(&sort, &[vector(n)]).unwrap_or_else(|e| panic!("{e}"));
        assert!(asked.bytes > 5.0 * counts.bytes, "the passes move keys and indices: {asked:?}");
    }
}

/// What the author stores is no output.
#[test]
fn an_ideal_stores_results_alone() {
    let of = |result: &str| {
        let text = format!(
            "func @f(%x: [f32]) -> (r: [f32]) {{
  %0 = map (%a: f32) over %x {{
    %1 = mul %a, %a
    yield %1
  }}
  %s = materialize %0
  %2 = map (%a: f32) over %s {{
    %3 = add %a, 1f32
    yield %3
  }}
  return {result}
}}
"
        );
        ideal(&function(&text), &[vector(1000)]).unwrap_or_else(|e| panic!("{e}")).bytes
    };
    assert_eq!((of("%2"), of("%s")), (8000.0, 8000.0));
}

/// A reduction that another launch reads is the other launch's work no more.
#[test]
fn a_result_of_an_earlier_launch_is_no_work() {
    let text = "func @f(%x: [f32]) -> (r: [f32]) {
  %0 = dot from 0f32 over %x, %x
  %1 = map (%a: f32) over %x {
    %2 = mul %a, %0
    yield %2
  }
  return %1
}
";
    assert_eq!(of_launches(text, &[vector(1000)]).operations, 3000.0);
}

/// An element that needs a reduction of its row, and one inside of a reduction that needs another reduction of
/// the inner index alone.
const OF_ROW: &str = "func @f(%x: [[f32]]) -> (r: [[f32]]) {
  %n = len %x
  %m = len %x axis 1
  %0 = generate %n, %m (%i: i64, %j: i64) {
    %1 = generate %m (%k: i64) {
      %2 = at %x, ROW, %k
      yield %2
    }
    %3 = reduce (%a: f32, %b: f32) from 0f32 over %1 {
      %4 = max %a, %b
      yield %4
    }
    %5 = at %x, %i, %j
    %6 = sub %5, %3
    yield %6
  }
  return %0
}
";
const INSIDE: &str = "func @f(%x: [f32]) -> (r: [f32]) {
  %n = len %x
  %0 = generate %n (%i: i64) {
    %1 = generate %n (%j: i64) {
      %2 = generate %n (%k: i64) {
        %3 = at %x, %k
        %4 = at %x, INNER
        %5 = sub %3, %4
        yield %5
      }
      %6 = reduce (%a: f32, %b: f32) from 0f32 over %2 {
        %7 = max %a, %b
        yield %7
      }
      %8 = at %x, %i
      %9 = add %6, %8
      yield %9
    }
    %10 = reduce (%a: f32, %b: f32) from 0f32 over %1 {
      %11 = min %a, %b
      yield %11
    }
    yield %10
  }
  return %0
}
";
/// A loop in an element, of so many steps from a value.
const IN_ELEMENT: &str = "func @f(%x: [f32], %p: f32) -> (r: [f32]) {
  %n = len %x
  %0 = generate %n (%i: i64) {
    %a = at %x, %i
    %s = loop 0 (%k: i64, %s: f32) by STEPSi64 from START {
      %h = mul %s, 0.5f32
      %g = add %h, 1f32
      %r = tuple true, %g
      yield %r
    }
    %b = mul %a, %s
    yield %b
  }
  return %0
}
";

/// A sum of all elements of a matrix, each of which needs a reduction of its row: one index goes through the matrix.
/// The operator of that reduction may leave a record, so nothing can store it.
const OF_QUOTIENT: &str = "func @f(%x: [[f32]], %y: [f32]) -> (r: f32) {
  %n = len %x
  %m = len %x axis 1
  %all = mul %n, %m
  %w = max %m, 1i64
  %0 = generate %all (%k: i64) {
    %row = div %k, %w
    %1 = generate %m (%l: i64) {
      %2 = at %x, %row, %l
      yield %2
    }
    %3 = reduce (%a: f32, %b: f32) from 0f32 over %1 {
      %e = at %y, %row
      %4 = max %a, %e
      %5 = max %4, %b
      yield %5
    }
    %c = rem %k, %w
    %6 = at %x, %row, %c
    %7 = sub %6, %3
    yield %7
  }
  %8 = reduce (%a: f32, %b: f32) from 0f32 over %0 {
    %9 = max %a, %b
    yield %9
  }
  return %8
}
";

/// Returns what stands where it is repeated: in a function as it is, and behind the passes.
fn repeated(text: &str) -> [Vec<&'static str>; 2] {
    let f = function(text);
    let fused = driver::fuse(&f).unwrap_or_else(|e| panic!("{e}"));
    let of = |f: &Function| structure::repeated(f).unwrap().iter().map(|r| r.what).collect();
    [of(&f), of(&fused)]
}

/// What stands in a loop over an index that it does not depend on is found, and stored by the passes.
#[test]
fn nothing_stands_in_a_loop_that_it_does_not_depend_on() {
    let none = || Vec::<&str>::new();
    let reduction = || vec!["a reduction"];
    assert_eq!(repeated(&OF_ROW.replace("ROW", "%i")), [reduction(), none()]);
    assert_eq!(repeated(&INSIDE.replace("INNER", "%j")), [reduction(), none()]);
    assert_eq!(repeated(OF_QUOTIENT), [reduction(), none()]);
    let stored = OF_QUOTIENT.replace("%e = at %y, %row", "%e = add %a, %a");
    assert_eq!(repeated(&stored), [reduction(), none()]);
    let in_element = |steps: &str, start: &str| IN_ELEMENT.replace("STEPS", steps).replace("START", start);
    assert_eq!(repeated(&in_element("1000", "%p")), [vec!["a loop"], none()]);
    // every thread computes a few operations
    assert_eq!(repeated(&in_element("3", "%p")), [none(), none()]);
    // it depends on the element
    assert_eq!(repeated(&in_element("1000", "%a")), [none(), none()]);
    let message = structure::excess(&function(&in_element("1000", "%p"))).unwrap();
    assert!(message.is_some_and(|text| text.contains("a loop stands in a loop over an index")));
}

/// A loop in every thread counts once for each, and a thread has four elements.
#[test]
fn loops_that_depend_on_no_index_count_in_every_thread() {
    let text = IN_ELEMENT.replace("STEPS", "1000").replace("START", "%p");
    let sizes = [vector(500), Size::Value(None)];
    let as_it_is = launched(&function(&text), &sizes).unwrap();
    assert_eq!(as_it_is.operations, 500.0 + 125.0 * 2000.0);
    assert_eq!(of_program(&text, &sizes).operations, 500.0 + 2000.0);
    assert_eq!(of_launches(&text, &sizes).operations, 500.0 + 2000.0);
}

/// The law asks for loads as well, and for a reason of what has more.
#[test]
fn loads_are_asked_for_as_operations_are() {
    let reads = |more: &str| {
        let text = "func @f(%x: [f32], %y: [f32]) -> (r: [f32]) {
  %n = len %x
  %0 = generate %n (%i: i64) {
    %a = at %x, %i
MORE
    %s = add %a, %b
    yield %s
  }
  return %0
}
";
        function(&text.replace("MORE", more))
    };
    let one = reads("    %b = mul %a, 2f32");
    let far = (1..4).map(|k| format!("    %k{k} = add %i, {k}i64\n    %b{k} = at %y, %k{k}\n"));
    let sum = "    %c = add %b1, %b2\n    %b = add %c, %b3";
    let four = reads(&(far.collect::<String>() + sum));
    let found = law::check(&one, &driver::fuse(&four).unwrap()).unwrap();
    assert_eq!(found.extents, law::EXTENTS);
    assert!(found.excess.as_ref().is_some_and(|text| text.contains("loads")), "{found:?}");
    assert_eq!(law::excess(&four, &driver::fuse(&four).unwrap()).unwrap(), None);
}
