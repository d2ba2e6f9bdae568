//! The program from end to end: a package is made and its functions are called on the CPU.

mod common;

use common::Tree;

/// A page for users, with the commands that this test runs.
const PAGE: &str = include_str!("../../docs/runner.md");

#[test]
fn packages_from_the_command_line() {
    let tree = Tree::new();
    examples(&tree);
    values(&tree);
    files(&tree);
    problems(&tree);
    figures(&tree);
    launches(&tree);
}

/// Runs the page's commands, and looks for the lines that follow each of them. In a line `..`
/// stands for anything.
fn examples(tree: &Tree) {
    let mut commands = 0;
    for block in PAGE.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap();
        for example in block.split("$ arraygpu-run ").skip(1) {
            let (command, expected) = example.split_once('\n').unwrap();
            let words: Vec<&str> = command.split_whitespace().collect();
            let ran = tree.run(&words);
            let said = format!("{}{}", ran.out, ran.err);
            let mut lines = said.lines();
            for line in expected.lines() {
                assert!(lines.any(|l| matches(line, l)), "{command}: no line `{line}` in\n{said}");
            }
            commands += 1;
        }
    }
    assert!(commands > 8, "{commands} commands");
}

/// Whether a line is like a pattern with `..`.
fn matches(pattern: &str, line: &str) -> bool {
    let mut parts = pattern.split("..");
    let Some(mut rest) = line.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    for part in parts {
        match rest.split_once(part).filter(|_| !part.is_empty()) {
            Some((_, after)) => rest = after,
            None if part.is_empty() => return true,
            None => return false,
        }
    }
    rest.is_empty()
}

fn values(tree: &Tree) {
    let line = |words: &[&str], start: &str| -> String {
        let ran = tree.run(words);
        assert_eq!(ran.code, Some(0), "{words:?}: {}", ran.err);
        let found = ran.out.lines().find(|l| l.starts_with(start));
        found.unwrap_or_else(|| panic!("{words:?}: {}", ran.out)).to_string()
    };
    let rmse = |x: &str, y: &str| line(&["libstats.so", "rmse", x, y], "result");
    assert_eq!(rmse("x=fill:3:1000", "y=fill:1:1000"), "result = 2.0");
    assert_eq!(rmse("x=zero:0", "y=zero:0"), "result = NaN");
    // the number of threads changes no bit
    let checksum = |threads: &str| {
        let scaled = ["libstats.so", "scaled", "x=random:7:100000", "factor=0.1", "--threads", threads];
        line(&scaled, "least")
    };
    assert_eq!(checksum("1"), checksum("3"));
}

fn files(tree: &Tree) {
    let done = |words: &[&str]| {
        let ran = tree.run(words);
        assert_eq!(ran.code, Some(0), "{words:?}: {}", ran.err);
        ran.out
    };
    std::fs::write(tree.path("x.csv"), "1\n2\n4\n").unwrap();
    done(&["libstats.so", "scaled", "x=x.csv", "factor=0.5", "--output", "half.npy"]);
    done(&["libstats.so", "scaled", "x=half.npy", "factor=-2", "--output", "result=back.csv"]);
    assert_eq!(std::fs::read_to_string(tree.path("back.csv")).unwrap(), "-1.0\n-2.0\n-4.0\n");
    std::fs::write(tree.path("grey.pgm"), b"P5 3 2 255\n\x00\x01\x02\xfd\xfe\xff").unwrap();
    done(&["libstats.so", "negative", "picture=grey.pgm", "--output", "negative.png"]);
    done(&["libstats.so", "negative", "picture=negative.png", "--output", "again.pgm"]);
    let again = std::fs::read(tree.path("again.pgm")).unwrap();
    assert_eq!(again, b"P5\n3 2\n255\n\x00\x01\x02\xfd\xfe\xff");
    // other types only if asked
    let wrong = tree.run(&["libstats.so", "doubled", "a=half.npy"]);
    assert_eq!(wrong.code, Some(1));
    assert!(wrong.err.contains("it has 3 elements, `a` is: f64 matrix"), "{}", wrong.err);
    let wrong = tree.run(&["libstats.so", "doubled", "a=grey.pgm"]);
    assert!(wrong.err.contains("it is a u8 matrix, `a` is: f64 matrix"), "{}", wrong.err);
    assert!(wrong.err.contains("a=grey.pgm:as takes the same numbers, a=grey.pgm:scale 0 to 1"));
    let twice = ["libstats.so", "doubled", "a=grey.pgm:scale", "--output", "twice=light.png:scale"];
    assert!(done(&twice).contains("sum = 3.0\n"));
    assert!(tree.path("light.png").exists());
}

fn problems(tree: &Tree) {
    let problem = |code: i32, words: &[&str], text: &str| {
        let ran = tree.run(words);
        assert_eq!(ran.code, Some(code), "{words:?}: {}", ran.err);
        assert!(ran.err.contains(text), "{words:?}: {}", ran.err);
    };
    let stats = "libstats.so";
    problem(2, &[stats, "rsme"], "did you mean `rmse`?\nthere are: rmse, scaled, negative, doubled");
    problem(2, &[stats, "x=zero:1"], "a function comes first");
    problem(2, &[stats, "rmse", "x=zero:2"], "rmse needs y: f32 vector\narrays are zero:EXTENTS");
    problem(2, &[stats, "rmse", "x=zero:2", "z=zero:2"], "no parameter of rmse `z`");
    problem(2, &[stats, "rmse", "x=zero:2", "y=zero:2x2"], "2x2 has 2 extents, not 1");
    problem(2, &[stats, "rmse", "--output", "r.jpg"], "the file is one of .npy");
    problem(2, &[stats, "doubled", "a=zero:1x1", "--output", "r.npy"], "has the results sum, twice");
    problem(2, &[stats, "doubled", "a=zero:1x1", "--output", "s=r.npy"], "no result of doubled `s`");
    problem(2, &[stats, "rmse", "--device", "gpu"], "cpu, cuda or cuda:N is expected");
    problem(2, &[stats, "--benchmark"], "FUNCTION");
    problem(2, &[stats, "rmse", "--no-such-option"], "--no-such-option");
    problem(1, &["none.so"], "none.so: no such file");
    problem(1, &["stats"], "a folder; a package's library");
    problem(1, &["bin/arraygpu-run"], "cannot be loaded");
    problem(1, &[stats, "rmse", "x=zero:2", "y=zero:3"], "the lengths 2 and 3 differ");
    problem(1, &[stats, "scaled", "x=zero:2^62", "factor=1"], "no memory for");
    problem(1, &[stats, "scaled", "x=zero:2", "factor=1", "--output", "no/such/r.npy"], "cannot be written");
    problem(1, &[stats, "--library", "none.so"], "--library FILE names it");
}

fn figures(tree: &Tree) {
    let words = ["libstats.so", "scaled", "x=random:1:2^16", "factor=2", "--benchmark", "--json"];
    let ran = tree.run(&[&words[..], &["--repetitions", "3"]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let benchmark = &json["benchmark"];
    let bytes = ["bytes_in", "bytes_out"].map(|b| benchmark[b].as_u64());
    assert_eq!(bytes, [Some(4 * 65536 + 4), Some(4 * 65536)]);
    assert_eq!((&benchmark["launches"], &benchmark["repetitions"]), (&1.0.into(), &3.into()));
    let times = ["least", "median", "most"].map(|t| benchmark["call_s"][t].as_f64().unwrap());
    assert!(0.0 < times[0] && times[0] <= times[1] && times[1] <= times[2], "{times:?}");
    assert!(benchmark["share_of_copy"].as_f64().unwrap() > 0.0);
    assert_eq!(json["results"][0]["extents"], serde_json::json!([65536]));
    assert_eq!(json["results"][0]["checksum"].as_str().map(str::len), Some(16));
}

fn launches(tree: &Tree) {
    let words = ["libstats.so", "doubled", "a=random:1:300x300", "--profile", "--json", "--trace", "t.json"];
    let ran = tree.run(&words);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let launches = json["launches"].as_array().unwrap();
    assert!(!launches.is_empty() && launches[0]["kernel"] == "doubled_0", "{launches:?}");
    assert!(launches.iter().all(|l| l["time_s"].as_f64().is_some_and(|t| t > 0.0)), "{launches:?}");
    let trace: serde_json::Value =
        serde_json::from_slice(&std::fs::read(tree.path("t.json")).unwrap()).unwrap();
    // the process, the thread, and each launch
    assert_eq!(trace["traceEvents"].as_array().map(Vec::len), Some(2 + launches.len()));
}
