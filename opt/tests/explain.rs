//! `--explain` with sizes and a bandwidth, as JSON, and what is wrong with its options. The texts are in `files/` and
//! with the generators of the examples.

use arraygpu_opt::{Arguments, run};
use serde_json::Value;

const PROGRAM: &str = "func @dot(%x: [f32], %y: [f32]) -> (r: f32) {
  %p = len %x
  %q = len %y
  require same %p, %q \"dot: x, y\" !author.rs:1:2
  %0 = dot from 0f32 over %x, %y
  return %0
}
func @sums(%x: [[f32]]) -> (r: [f32]) {
  %n = len %x
  %m = len %x axis 1
  %0 = generate %n (%i: i64) {
    %1 = generate %m (%k: i64) {
      %2 = at %x, %i, %k
      yield %2
    }
    %3 = reduce (%a: f32, %b: f32) from 0f32 over %1 {
      %4 = add %a, %b
      yield %4
    } !author.rs:7:8
    yield %3
  }
  return %0
}
func @part(%x: [f32], %start: i64, %count: i64) -> (r: [f32]) {
  %0 = generate %count (%i: i64) {
    %1 = add %i, %start
    %2 = at %x, %1
    %3 = cast f32 %start
    %4 = mul %2, %3
    yield %4
  }
  return %0
}
";

fn explained(options: &[&str]) -> Result<String, String> {
    Arguments::of_options(options.iter().copied()).and_then(|a| run(PROGRAM, &a)).map_err(|e| e.to_string())
}

fn json(options: &[&str]) -> Value {
    let all = [&["--explain=json"], options].concat();
    serde_json::from_str(&explained(&all).unwrap_or_else(|e| panic!("{options:?}: {e}"))).expect("JSON")
}

/// The text of one function.
fn of<'a>(text: &'a str, name: &str) -> &'a str {
    text.split("\n\n").find(|t| t.starts_with(name)).expect("the function")
}

#[test]
fn bytes_and_times() {
    let text = explained(&["--explain", "--bandwidth", "1000", "--extent", "x=1000000"]).unwrap();
    let dot = of(&text, "dot");
    // y is as long as x
    assert!(dot.starts_with("dot: 1 launch, no temporaries, moves 8 * len(x) = 8000000 bytes\n"), "{dot}");
    assert!(dot.contains("\n  predicted: (8 * len(x)) / 1000 ns + 2.7 us = 10.7 us\n"), "{dot}");
    // of the matrix nothing is known: x was said to have one dimension
    let sums = of(&text, "sums");
    assert!(
        sums.starts_with("sums: 1 launch, no temporaries, moves 4 * rows(x) + 4 * rows(x) * cols(x) bytes\n")
    );
    assert!(
        sums.contains("\n  predicted: (4 * rows(x) + 4 * rows(x) * cols(x)) / 1000 ns + 2.7 us\n"),
        "{sums}"
    );
    // as the runtime would launch it: 489 tiles, two a block
    assert!(
        dot.contains("\n      with these sizes on 132 multiprocessors: dot_0, 245 blocks of 256 threads, span 1; 2048 bytes of scratch, 1 counter\n"),
        "{dot}"
    );
    assert!(!sums.contains("with these sizes"), "{sums}");
    let text = explained(&["--explain", "--extent", "sums.x=10x2000"]).unwrap();
    assert!(of(&text, "sums").contains("moves 4 * rows(x) + 4 * rows(x) * cols(x) = 80040 bytes\n"));
    assert!(of(&text, "sums").contains("computes cols(x) = 2000 operations an element\n"));
    assert!(of(&text, "dot").starts_with("dot: 1 launch, no temporaries, moves 8 * len(x) bytes\n"));
    assert!(!text.contains("predicted: "), "no bandwidth, no time");
}

/// Each array that is a part of a joined one is read once, whole, and not for each element of the joined one.
#[test]
fn joined_arrays() {
    let program = "func @joined(%x: [f32], %y: [f32], %m: [[f32]]) -> (r: [f32], s: [[f32]]) {
  %n = len %x
  %k = len %y
  %all = add %n, %k
  %0 = generate %all (%i: i64) {
    %c = lt %i, %n
    %a = at %x, %i
    %j = sub %i, %n
    %b = at %y, %j
    %v = select %c, %a, %b
    yield %v
  }
  %p = len %m
  %q = len %m axis 1
  %both = add %p, %p
  %1 = generate %both, %q (%i: i64, %l: i64) {
    %c = lt %i, %p
    %a = at %m, %i, %l
    %j = sub %i, %p
    %b = at %m, %j, %l
    %d = mul %b, 2f32
    %v = select %c, %a, %d
    yield %v
  }
  return %0, %1
}
";
    let arguments = Arguments::of_options(["--explain=json"]).expect("options");
    let report: Value = serde_json::from_str(&run(program, &arguments).expect("compiled")).expect("JSON");
    let bytes = |kernel: usize| report["functions"][0]["kernels"][kernel]["bytes"]["formula"].clone();
    // what is written, and each of the parts
    assert_eq!(bytes(0), "4 * (len(x) + len(y)) + 4 * len(x) + 4 * len(y)");
    assert_eq!(bytes(1), "12 * rows(m) * cols(m)");
}

#[test]
fn scalar_parameters() {
    let report = json(&["--extent", "count=100", "--extent", "start=7", "--extent", "part.x=1000"]);
    let part = &report["functions"][2];
    // reads by `at` of one region: as many elements as there are indices
    assert_eq!(part["bytes"]["formula"], "8 * count");
    assert_eq!(part["bytes"]["value"], 800);
    let kernel = &part["kernels"][0];
    assert_eq!(kernel["index_space"][0]["value"], 100);
    assert_eq!(kernel["bytes_per_element"], 8);
    let hoisted = kernel["hoisted"].as_array().expect("a list");
    assert_eq!(hoisted.len(), 1);
    assert_eq!((&hoisted[0]["to"], &hoisted[0]["of"]), (&"host".into(), &"f32(start)".into()));
}

#[test]
fn fields() {
    let report = json(&[]);
    assert_eq!((&report["version"], &report["bandwidth_gb_s"]), (&3.into(), &Value::Null));
    let names: Vec<_> = report["functions"].as_array().expect("a list").iter().map(|f| &f["name"]).collect();
    assert_eq!(names, ["dot", "sums", "part"]);
    let sums = &report["functions"][1]["kernels"][0];
    assert_eq!(sums["operations_per_element"]["formula"], "cols(x)");
    assert_eq!((&sums["bytes_per_element"], &sums["scratch_bytes_per_tile"]), (&Value::Null, &4.into()));
    let line = &sums["computes"][0]["lines"][0];
    assert_eq!(line["place"]["file"], "author.rs");
    assert_eq!((&line["place"]["line"], &line["operations"]["reduce"]), (&7.into(), &1.into()));
    let strategies = |target: &str| -> Vec<&Value> {
        sums[target]["versions"].as_array().expect("a list").iter().map(|v| &v["strategy"]).collect()
    };
    assert!(strategies("cpu").iter().all(|s| *s == "segmented-rows"));
    assert!(strategies("gpu").iter().all(|s| *s == "segmented-rows"));
    let check = &report["functions"][0]["checks"][0];
    assert_eq!(check["condition"], "len(x) == len(y)");
    assert_eq!((&check["rule"], &check["place"]["column"]), (&"same".into(), &2.into()));
}

/// What depends on a row only is said to be computed in the kernel before.
#[test]
fn hoisted_rows() {
    let arguments = Arguments::of_options(["--explain=json"]).expect("options");
    let text =
        run(include_str!("../../compiler/tests/files/hoisted_rows.core"), &arguments).expect("compiled");
    let report: Value = serde_json::from_str(&text).expect("JSON");
    let kernels = report["functions"][0]["kernels"].as_array().expect("a list");
    let hoisted: Vec<&Value> = kernels.iter().map(|k| &k["hoisted"]).collect();
    assert_eq!(*hoisted[0], Value::Array(vec![]));
    for list in &hoisted[1..] {
        assert_eq!((&list[0]["operation"], &list[0]["to"]), (&"sqrt".into(), &"normalised_0".into()));
    }
}

#[test]
fn mistakes() {
    for (options, says) in [
        (["--extent", "x=3x"], "error[E0107]: `x=3x` is no extent: it must be"),
        (["--extent", "x=-1"], "error[E0107]"),
        (
            ["--extent", "z=5"],
            "error[E0108]: --extent: no function has a parameter `z` of 1 dimension; there are dot.x, ",
        ),
        (["--extent", "x=1x2x3"], "a parameter `x` of 3 dimensions"),
        (["--extent", "mean.x=5"], "there is no function `mean` with a parameter `x`"),
        (["--bandwidth", "0"], "error[E0111]: `0` is no bandwidth"),
        (["--bandwidth", "inf"], "error[E0111]"),
    ] {
        let error = explained(&[&["--explain"], &options[..]].concat()).expect_err(says);
        assert!(error.contains(says), "{options:?}: {error}");
    }
    let error = explained(&["--explain", "--extent", "x=5", "--extent", "dot.y=6"]).expect_err("unequal");
    let expected = "error[E0109]: --extent: dot: dot: x, y: the lengths 5 and 6 differ\n  --> author.rs:1:2";
    assert_eq!(error, expected);
    assert!(explained(&["--explain=yaml"]).expect_err("no format").contains("error[E0110]"));
}

/// What is read of an array where the indices are known: single elements, every second one, channels.
#[test]
fn parts_of_arrays() {
    let text = "func @scalar(%x: [f32]) -> (r: f32) {
  %0 = at %x, 0i64
  %1 = mul %0, 2f32
  return %1
}
func @channels(%x: [f32], %n: i64) -> (r: [f32], s: [f32]) {
  %0 = generate %n (%i: i64) {
    %1 = mul %i, 3i64
    %2 = elem %x, %1
    %3 = add %1, 1i64
    %4 = elem %x, %3
    %5 = add %1, 4i64
    %6 = elem %x, %5
    %7 = add %2, %4
    %8 = add %7, %6
    yield %8
  }
  return %0, %0
}
func @corner(%x: [[f32]], %n: i64) -> (r: [f32]) {
  %0 = generate %n (%i: i64) {
    %1 = at %x, %i, 0i64
    %2 = at %x, 0i64, %n
    %3 = sub %1, %2
    yield %3
  }
  return %0
}
func @two_steps(%x: [f32], %n: i64) -> (r: [f32]) {
  %0 = generate %n (%i: i64) {
    %1 = mul %i, 2i64
    %2 = elem %x, %1
    %3 = mul %i, 3i64
    %4 = elem %x, %3
    %5 = add %2, %4
    yield %5
  }
  return %0
}
";
    let report = |more: &[&str]| {
        let options = ["--explain=json"].iter().chain(more).copied();
        run(text, &Arguments::of_options(options).expect("options"))
    };
    let all: Value = serde_json::from_str(&report(&[]).expect("compiled")).expect("JSON");
    let read: Vec<&Value> =
        all["functions"].as_array().expect("a list").iter().map(|f| &f["bytes"]["formula"]).collect();
    // of two steps nothing is known but that both are of the array
    assert_eq!(read, ["4", "16 * n", "8 * n + 4", "4 * n + 4 * len(x)"]);
    let one: Value =
        serde_json::from_str(&report(&["--function", "corner"]).expect("compiled")).expect("JSON");
    assert_eq!(one["functions"].as_array().expect("a list").len(), 1);
    assert_eq!(one["functions"][0]["name"], "corner");
    let says = report(&["--function", "corners"]).expect_err("no such function").to_string();
    assert!(says.starts_with("error[E0108]: no function is called `corners`; there are scalar, "), "{says}");
}

/// A step that halves, until no element reaches 1; a check every third step.
const UNTIL: &str = "func @until(%a: [f32], %limit: i64) -> (r: [f32]) {
  step @until__step0(%a: [f32]) -> (next: [f32]) {
    %r = map (%x: f32) over %a {
      %y = mul %x, 0.5f32
      yield %y
    }
    return %r
  }
  step @until__check0(%a: [f32]) -> (steps: [i64]) {
    %m = reduce (%x: f32, %y: f32) from 0f32 over %a {
      %z = max %x, %y
      yield %z
    }
    %holds = ge %m, 1f32
    %t = turn
    %n = select %holds, -1i64, %t
    %r = fill 1i64, %n
    return %r
  }
  require count 0i64, %limit \"iterate_while: limit\"
  %none = fill 1i64, -1i64
  %r = iterate @until__step0 0 by LIMIT until @until__check0 every 3 from %a, %none
  return %r
}
";

/// The states are where they are wanted after the steps between two checks, or after all of them if the limit is
/// below that.
#[test]
fn when_the_states_of_an_iteration_are_copied() {
    let copied = |limit: &str| {
        let arguments = Arguments::of_options(["--explain=json"]).unwrap();
        let text = run(&UNTIL.replace("LIMIT", limit), &arguments).unwrap();
        let report: Value = serde_json::from_str(&text).unwrap();
        let kernels = report["functions"][0]["kernels"].as_array().unwrap();
        let copies = kernels.iter().find(|k| k["computes"][0]["what"] == "copies").unwrap();
        copies["launches"]["formula"].as_str().unwrap().to_string()
    };
    assert_eq!(copied("5i64"), "even(steps)");
    assert_eq!(copied("2i64"), "steps == 0 or odd(steps)");
    assert_eq!(copied("1i64"), "even(steps)");
    assert_eq!(copied("%limit"), "steps == 0 or odd(steps - min(limit, 3))");
}
