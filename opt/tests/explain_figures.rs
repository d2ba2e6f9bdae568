//! The figures of `--explain`: least bytes, parts of arrays, operations beside the program's own, what storing an
//! array would save, and a line a launch.

use arraygpu_opt::{Arguments, run};
use serde_json::Value;

/// Three planes of an array; the diagonal of a matrix; a vector of sums that another vector's sums
/// read; sums of elements at many distances.
const PROGRAM: &str = "func @grey(%u: [[[f32]]]) -> (r: [[f32]]) {
  %n = len %u axis 1
  %m = len %u axis 2
  %0 = generate %n, %m (%i: i64, %j: i64) {
    %a = at %u, 0i64, %i, %j
    %b = at %u, 1i64, %i, %j
    %c = at %u, 2i64, %i, %j
    %d = add %a, %b
    %e = add %d, %c
    yield %e
  }
  return %0
}
func @trace(%a: [[f32]]) -> (r: f32) {
  %n = len %a
  %0 = generate %n (%i: i64) {
    %x = at %a, %i, %i
    yield %x
  }
  %1 = reduce (%x: f32, %y: f32) from 0f32 over %0 {
    %s = add %x, %y
    yield %s
  }
  return %1
}
func @twice(%x: [f32]) -> (r: [f32]) {
  %n = len %x
  %w = generate %n (%i: i64) {
    %0 = at %x, %i
    %1 = exp %0
    yield %1
  } !author.rs:3:4
  %r = generate %n (%i: i64) {
    %0 = at %x, %i
    %p = generate %n (%j: i64) {
      %1 = at %w, %j
      %2 = mul %0, %1
      yield %2
    }
    %3 = reduce (%a: f32, %b: f32) from 0f32 over %p {
      %4 = max %a, %b
      yield %4
    } !author.rs:5:6
    yield %3
  }
  return %r
}
";

fn explained(options: &[&str]) -> String {
    let arguments = Arguments::of_options(options.iter().copied()).expect("options");
    run(PROGRAM, &arguments).unwrap_or_else(|e| panic!("{options:?}: {e}"))
}

fn functions(options: &[&str]) -> Vec<Value> {
    let all = [&["--explain=json"], options].concat();
    let report: Value = serde_json::from_str(&explained(&all)).expect("JSON");
    report["functions"].as_array().expect("a list").clone()
}

#[test]
fn parts_that_are_apart_count_each() {
    let all = functions(&["--extent", "u=5x10x20", "--extent", "a=30x30"]);
    let read = |f: &Value, name: &str| {
        let arrays = f["kernels"][0]["arrays"].as_array().expect("a list").clone();
        arrays.into_iter().find(|a| a["name"] == name).expect("the array")["bytes"]["value"].clone()
    };
    assert_eq!(read(&all[0], "u"), 3 * 4 * 200);
    assert_eq!(all[0]["bytes"]["value"], 4 * 4 * 200);
    assert_eq!(read(&all[1], "a"), 4 * 30);
    assert_eq!(all[1]["least_bytes"], all[1]["bytes"]);
}

#[test]
fn operations_and_hints() {
    // without sizes there are none
    let unknown = &functions(&[])[2];
    assert_eq!((&unknown["operations"], &unknown["hints"]), (&Value::Null, &Value::Array(vec![])));
    let twice = &functions(&["--extent", "x=1000"])[2];
    let number = |v: &Value| v.as_u64().expect("a number");
    let (made, asked) = (number(&twice["operations"]["made"]), number(&twice["operations"]["asked"]));
    // the product and the maximum of each pair, and an exponential of each element, which the compiler stores
    assert!((2_000_000..2_100_000).contains(&asked), "{asked}");
    assert!(made as f64 <= 1.2 * asked as f64, "{made}");
    assert_eq!(twice["hints"], Value::Array(vec![]));
    assert_eq!(twice["temporaries"].as_array().expect("a list").len(), 1);
}

/// Two levels of a pyramid, of which the compiler computes the first one again for the second.
const PYRAMID: &str = include_str!("../../compiler/tests/files/hint.core");

#[test]
fn a_hint_is_what_storing_the_array_makes() {
    let of = |program: &str| {
        let options = Arguments::of_options(["--explain=json", "--extent", "u=1024x1024"]).expect("options");
        let report: Value =
            serde_json::from_str(&run(program, &options).expect("compiled")).expect("a report");
        report["functions"][0].clone()
    };
    let now = of(PYRAMID);
    let hints = now["hints"].as_array().expect("a list").clone();
    assert_eq!(hints.len(), 1, "{hints:?}");
    assert_eq!((&hints[0]["place"]["file"], &hints[0]["place"]["line"]), (&"author.rs".into(), &3.into()));
    let stored = PYRAMID
        .replace("  %n4 = ", "  %a1 = materialize %a\n  %n4 = ")
        .replace("at %a,", "at %a1,")
        .replace("return %a,", "return %a1,");
    let after = of(&stored);
    assert_eq!(hints[0]["operations"], after["operations"]["made"]);
    assert_eq!(hints[0]["bytes"], after["bytes"]["value"]);
    assert_eq!(after["hints"], Value::Array(vec![]));
    // bytes decide
    let bytes = [&now, &after].map(|f| f["bytes"]["value"].as_f64().expect("a number"));
    let saves = hints[0]["saves"].as_f64().expect("a number");
    assert!((saves - (1.0 - bytes[1] / bytes[0])).abs() < 1e-3, "{saves}");
    assert!(saves > 0.2);
}

#[test]
fn a_share_of_a_copy() {
    let grey = &functions(&["--bandwidth", "1000", "--extent", "u=3x1000x1000"])[0];
    // 16 us of the bytes, and 2.7 us of the launch
    assert_eq!(grey["share_of_copy"], 0.856);
    let text = explained(&["--explain", "--bandwidth", "1000", "--extent", "u=3x1000x1000"]);
    assert!(text.contains("at most 86% of the device's copy speed"), "{text}");
    assert_eq!(functions(&[])[0]["share_of_copy"], Value::Null);
}

#[test]
fn a_line_a_launch() {
    let text = explained(&["--explain=short", "--bandwidth", "1000", "--extent", "u=3x1000x1000"]);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("grey: 1 launch, no temporaries, "), "{text}");
    assert!(lines[1].starts_with("  grey_0: map over "), "{text}");
    assert!(lines[1].ends_with(", 2 operations an element, 18.7 us"), "{text}");
    let all = functions(&[]);
    let launches: usize = all.iter().map(|f| f["kernels"].as_array().expect("a list").len()).sum();
    assert_eq!(lines.len(), launches + all.len());
}

#[test]
fn an_elements_cost_with_an_extent_is_a_warning() {
    let program = include_str!("../../compiler/tests/files/hoisted_rows.core");
    let none = run(program, &Arguments::of_options(["--explain"]).expect("options")).expect("compiled");
    assert!(!none.contains("an element's cost contains an extent"), "{none}");
    let nested = "func @sums(%x: [f32]) -> (r: [f32]) {
  %n = len %x
  %r = generate %n (%i: i64) {
    %p = generate %n (%j: i64) {
      %q = generate %n (%k: i64) {
        %1 = sub %j, %k
        %2 = rem %1, %n
        %3 = max %2, 0i64
        %4 = at %x, %3
        %5 = max %i, %3
        %6 = cast f32 %5
        %7 = mul %4, %6
        yield %7
      }
      %8 = reduce (%a: f32, %b: f32) from 0f32 over %q {
        %9 = max %a, %b
        yield %9
      }
      yield %8
    }
    %10 = reduce (%a: f32, %b: f32) from 0f32 over %p {
      %11 = add %a, %b
      yield %11
    }
    yield %10
  }
  return %r
}
";
    let text = run(nested, &Arguments::of_options(["--explain"]).expect("options")).expect("compiled");
    let warning =
        "warning: sums_0: an element's cost contains an extent, and each thread of a GPU computes it alone";
    assert!(text.contains(warning), "{text}");
}

#[test]
fn elements_that_are_tuples_are_no_hint() {
    let text = "func @f(%a: [f32], %b: [f32]) -> (r: [f32]) {
  %t = tuple 1f32, 0f32
  %m = map (%x: f32, %y: f32) over %a, %b {
    %p = tuple %x, %y
    yield %p
  }
  %s = scan 0 (%x: f32, %y: f32, %u: f32, %v: f32) from %t over %m {
    %c = mul %x, %u
    %d = mul %y, %v
    %p = tuple %c, %d
    yield %p
  }
  %w = scan 1 (%x: f32, %y: f32, %u: f32, %v: f32) from %t over %m {
    %c = mul %x, %u
    %d = mul %y, %v
    %p = tuple %c, %d
    yield %p
  }
  %r = map (%x: f32, %y: f32) over %s, %w {
    %c = add %x, %y
    yield %c
  }
  return %r
}";
    let options =
        ["--explain=json", "--bandwidth", "4000", "--extent", "f.a=16777216", "--extent", "f.b=16777216"];
    let report = run(text, &Arguments::of_options(options).expect("options")).expect("a report");
    let report: Value = serde_json::from_str(&report).expect("JSON");
    assert!(report["functions"][0]["operations"]["made"].as_u64() > Some(1 << 24));
}

/// The figures are those of the launches that run: of an alternative where a variant serves the sizes, else of the
/// launches that it would replace.
#[test]
fn alternatives_that_run_count_instead_of_others() {
    let of = |program: &str, extents: &[&str]| {
        let sizes = extents.iter().flat_map(|e| ["--extent", e]);
        let options = ["--explain=json", "--bandwidth", "1000"].into_iter().chain(sizes);
        let text = run(program, &Arguments::of_options(options).expect("options")).expect("compiled");
        serde_json::from_str::<Value>(&text).expect("a report")["functions"].clone()
    };
    let softmax = |extents: &[&str]| {
        of(include_str!("../../compiler/tests/files/stored_exponentials.core"), extents)[0].clone()
    };
    let replaced = |f: &Value| -> Vec<Value> {
        f["kernels"].as_array().expect("a list").iter().map(|k| k["replaced_by"].clone()).collect()
    };

    let short = softmax(&["x=512x256"]);
    let rows = &short["alternatives"][0];
    assert_eq!((&rows["name"], &rows["runs"]), (&"softmax_0_rows".into(), &true.into()));
    assert_eq!((&short["launches"]["value"], &rows["launches"]["value"]), (&1.into(), &1.into()));
    assert_eq!((&short["bytes"]["value"], &rows["bytes"]["value"]), (&1_048_576.into(), &1_048_576.into()));
    assert_eq!(short["predicted"], rows["predicted"]);
    assert_eq!(replaced(&short), vec![Value::from("softmax_0_rows"); 4]);

    // no block can keep such a row
    let long = softmax(&["x=4x100000000"]);
    assert_eq!((&long["launches"]["value"], &long["alternatives"][0]["runs"]), (&4.into(), &false.into()));
    assert_eq!(replaced(&long), vec![Value::Null; 4]);
    // without sizes nothing is known
    let unknown = softmax(&[]);
    assert_eq!(
        (&unknown["launches"]["value"], &unknown["alternatives"][0]["runs"]),
        (&4.into(), &Value::Null)
    );
    assert_eq!(replaced(&unknown), vec![Value::Null; 4]);

    // an alternative among the launches that another one replaces runs where that does not
    let columns = include_str!("../../compiler/tests/files/resident_columns_stored.core");
    for (extents, runs) in [("a=200x300", [true, false]), ("a=100000x3000", [false, true])] {
        let all = of(columns, &[extents]);
        let again = all.as_array().expect("a list").iter().find(|f| f["name"] == "again").expect("again");
        let alternatives = again["alternatives"].as_array().expect("a list");
        assert_eq!(alternatives.iter().map(|a| &a["runs"]).collect::<Vec<_>>(), runs, "{extents}");
        let names: Vec<Value> = alternatives.iter().map(|a| a["name"].clone()).collect();
        let expected = if runs[0] { [&names[0]; 3] } else { [&names[1], &names[1], &Value::Null] };
        assert_eq!(replaced(again).iter().collect::<Vec<_>>(), expected, "{extents}");
    }
}
