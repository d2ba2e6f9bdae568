//! `arraygpu-tune` from end to end, on the fake driver of capi's tests: each launch takes it eight milliseconds of
//! the host's time, so a product by two launches is slower than by one.

mod common;

use common::{Ran, Tree};
use std::path::Path;
use std::process::Command;

const CALL: [&str; 4] = ["libproducts.so", "reversed_product", "a=random:1:64x4096", "b=random:2:64x4096"];

/// Builds the fake driver into the tree's `lib`; false without a C compiler.
fn fake(tree: &Tree) -> bool {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../capi/tests/fake_cuda/fake_cuda.c");
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-O1", "-pthread", "-o"]).arg(tree.path("lib/libcuda.so.1")).arg(source);
    let Ok(output) = cc.output() else { return false };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    true
}

/// The variants that a profiled call runs.
fn variants(tree: &Tree, variables: &[(&str, &str)]) -> (Vec<String>, serde_json::Value) {
    let ran = on_fake(tree, "arraygpu-run", &[&CALL[..], &["--profile", "--json"]].concat(), variables);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let names = json["launches"].as_array().unwrap().iter().map(|l| l["variant"].as_str().unwrap().into());
    (names.collect(), json)
}

fn on_fake(tree: &Tree, program: &str, words: &[&str], variables: &[(&str, &str)]) -> Ran {
    let fixed = [("ARRAYGPU_DEVICE", "cuda"), ("FAKE_CUDA", "pause=8,eager=1"), ("ARRAYGPU_CACHE", "off")];
    tree.run_program(program, words, &[&fixed[..], variables].concat())
}

#[test]
fn tuning_from_the_command_line() {
    let tree = Tree::new();
    tree.add_package("products", include_str!("product.core"));
    problems(&tree);
    if !fake(&tree) {
        return;
    }
    let (before, json) = variants(&tree, &[]);
    assert_eq!((before.len(), &json["tuning_problem"]), (2, &serde_json::Value::Null), "{before:?}");
    let tune = |more: &[&str]| {
        let ran = on_fake(&tree, "arraygpu-tune", &[&CALL[..], &["--repetitions", "3"], more].concat(), &[]);
        assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
        assert!(ran.out.contains("the policy's choice") && ran.out.contains("chosen"), "{}", ran.out);
        assert!(ran.out.contains(", tuned ") && ran.out.contains("products.tuning: 1 lines"), "{}", ran.out);
    };
    tune(&[]);
    // the file lies beside the library, and the runtime finds it
    let text = std::fs::read_to_string(tree.path("products.tuning")).unwrap();
    assert!(text.starts_with("arraygpu tuning 1\ndevice Fake GPU 0\npackage products "), "{text}");
    assert!(text.contains("\nreversed_product_0 over 2^6x2^6 of 2^12 runs reversed_product_0"), "{text}");
    assert!(!tree.path("products.tuning.part").exists());
    let (after, json) = variants(&tree, &[]);
    assert_eq!(after.len(), 1, "{after:?}");
    assert!(!before.contains(&after[0]) && json["tuning_problem"].is_null(), "{after:?}");
    // measured once more, there is one line again; which of those with one launch is the fastest is chance
    tune(&[]);
    let after = variants(&tree, &[]).0;
    // one of another device is ignored, and so is the one beside the library if the environment names none that is
    std::fs::write(tree.path("other.tuning"), text.replace("Fake GPU 0", "Fake GPU 7")).unwrap();
    let other = [("ARRAYGPU_TUNING", "other.tuning")];
    assert_eq!(variants(&tree, &other).0, after);
    std::fs::remove_file(tree.path("products.tuning")).unwrap();
    let (names, json) = variants(&tree, &other);
    assert_eq!(names, before);
    let said = json["tuning_problem"].as_str().unwrap();
    assert_eq!(
        said,
        "the tuning file other.tuning is ignored: it was measured on Fake GPU 7, not on Fake GPU 0"
    );
    // several calls; those that fail say why, and other sections of the file stay
    std::fs::write(
        tree.path("calls.txt"),
        format!("# two\n{}\n{} a=zero:1 b=zero:1\n", CALL[1..].join(" "), CALL[1]),
    )
    .unwrap();
    let words = ["libproducts.so", "--calls", "calls.txt", "-o", "other.tuning", "--repetitions", "3"];
    let ran = on_fake(&tree, "arraygpu-tune", &words, &[]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("not measured: a=zero:1: 1 has 1 extents, not 2"), "{}", ran.out);
    let text = std::fs::read_to_string(tree.path("other.tuning")).unwrap();
    assert!(text.contains("device Fake GPU 7") && text.contains("device Fake GPU 0"), "{text}");
    assert_eq!(variants(&tree, &other).0.len(), 1);
    // all functions
    let words = ["libproducts.so", "--size", "2^16", "-o", "all.tuning", "--repetitions", "1"];
    let ran = on_fake(&tree, "arraygpu-tune", &words, &[]);
    assert!(ran.out.contains("reversed_product a=random:1:256x256 b=random:2:256x256\n"), "{}", ran.out);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}

fn problems(tree: &Tree) {
    let problem = |code: i32, words: &[&str], text: &str| {
        let ran = tree.run_program("arraygpu-tune", words, &[("ARRAYGPU_DEVICE", "cpu")]);
        assert_eq!(ran.code, Some(code), "{words:?}: {}", ran.err);
        assert!(ran.err.contains(text), "{words:?}: {}", ran.err);
    };
    problem(1, &CALL, "has nothing to tune: which variant of a kernel runs on a CPU follows from the arrays");
    problem(2, &["libproducts.so"], "which calls? FUNCTION NAME=VALUE .., --calls FILE or --size N says it");
    problem(2, &["libproducts.so", "product"], "no function of products `product`");
    problem(2, &["libproducts.so", "--size", "big"], "--size big: a number such as 1000000 or 2^20");
    problem(1, &["libproducts.so", "--calls", "no.txt"], "no.txt: cannot be read");
    std::fs::write(tree.path("bad.tuning"), "arraygpu tuning 1\nnothing\n").unwrap();
    let bad = [&CALL[..], &["-o", "bad.tuning"]].concat();
    problem(1, &bad, "bad.tuning: line 2: expected `device NAME`; it would be overwritten");
}
