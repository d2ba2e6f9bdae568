//! Mistakes that the types cannot catch: error values with a code and the author's line, and nothing written.

use arraygpu_dsl::prelude::*;

fn one(x: SExp<f32>) -> SExp<f32> {
    x + 1.0
}

/// Checks code, words and line of a package's error, and that `run` writes nothing.
#[track_caller]
fn wrong(package: Package, code: &str, words: &[&str], line: u32) {
    let error = package.functions().expect_err("a mistake");
    let text = error.to_string();
    assert_eq!(error.code(), Some(code), "{text}");
    for word in words {
        assert!(text.contains(word), "no {word:?} in: {text}");
    }
    assert!(
        text.ends_with(&format!("\n  --> {}:{line}:{}", file!(), column_of(&text))),
        "not line {line}: {text}"
    );
    assert_eq!(format!("{error:?}"), text, "what `main` prints is meant for people");
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("package");
    let arguments = ["--out".into(), out.clone().into_os_string()];
    assert_eq!(package.run_with(arguments).expect_err("the same mistake").to_string(), text);
    assert!(!out.exists() && folder.path().read_dir().expect("it is there").next().is_none());
}

fn column_of(text: &str) -> &str {
    text.rsplit(':').next().unwrap_or("")
}

#[test]
fn counts_of_result_names() {
    let line = line!() + 1;
    let package = Package::new("p").function("pair", ["x"], "result", |x: SExp<f32>| (x, x));
    wrong(package, "E0201", &["pair returns 2 values, but there is 1 name", "[\"lo\", \"hi\"]"], line);
    let line = line!() + 1;
    let package = Package::new("p").function("f", ["x"], ["a", "b"], one);
    wrong(package, "E0201", &["f returns 1 value, but there are 2 names", "\"result\""], line);
}

#[test]
fn documentation_of_nothing() {
    let line = line!() + 1;
    let package = Package::new("p").doc("of what?").function("f", ["x"], "result", one);
    wrong(package, "E0202", &["`.doc(..)` documents the function before it"], line);
}

#[test]
fn packages_without_functions() {
    let line = line!() + 1;
    let package = Package::new("nothing");
    wrong(package, "E0203", &["the package `nothing` has no functions"], line);
}

#[test]
fn names_that_c_cannot_use() {
    for name in ["", "2x", "a-b", "größe", "class", "int", "restrict", "co_await", "a__b", "_Bool", "NULL"]
    {
        let line = line!() + 1;
        let package = Package::new("p").function(name, ["x"], "result", one);
        wrong(package, "E0501", &["function", &format!("{name:?}")], line);
        let line = line!() + 1;
        let package = Package::new("p").function("f", [name], "result", one);
        wrong(package, "E0501", &["parameter of f", &format!("{name:?}")], line);
        let line = line!() + 1;
        let package = Package::new("p").function("f", ["x"], name, one);
        wrong(package, "E0501", &["result of f", &format!("{name:?}")], line);
        let line = line!() + 1;
        let package = Package::new(name).function("f", ["x"], "result", one);
        wrong(package, "E0501", &["package", &format!("{name:?}")], line);
    }
    for name in ["std", "arraygpu", "agpu"] {
        let line = line!() + 1;
        let package = Package::new(name).function("f", ["x"], "result", one);
        wrong(package, "E0501", &[name], line);
    }
}

#[test]
fn names_given_twice() {
    let package = Package::new("p").function("f", ["x"], "result", one);
    let line = line!() + 1;
    let package = package.function("f", ["x"], "result", one);
    wrong(package, "E0502", &["two functions are named \"f\""], line);
    let line = line!() + 1;
    let package = Package::new("p").function("f", ["x", "x"], "result", |x: SExp<f32>, y: SExp<f32>| x + y);
    wrong(package, "E0502", &["two values are named \"x\""], line);
    let line = line!() + 1;
    let package = Package::new("p").function("f", ["x"], ["y", "y"], |x: SExp<f32>| (x, x));
    wrong(package, "E0502", &["two values are named \"y\""], line);
    let line = line!() + 1;
    let package = Package::new("p").function("f", ["x"], "x", one);
    wrong(package, "E0502", &["a parameter and a result"], line);
}

#[test]
fn values_that_cannot_be() {
    let line = line!() + 1;
    let package = Package::new("p").function("f", ["x"], "result", |x: SExp<f32>| x * 16_777_217);
    wrong(package, "E0206", &["16777217 is not exactly a value of f32", "16777217.0"], line);
    let line = line!() + 1;
    let package = Package::new("p").function("f", ["x"], "result", |x: VExp<f32>| x.weighted_sum(&[]));
    wrong(package, "E0207", &["weighted_sum needs a weight"], line);
    let line = line!() + 1;
    let package = Package::new("p").function("f", ["x"], "result", |x: VExp<f32>| x.windows(0)[0]);
    wrong(package, "E0207", &["windows of no elements"], line);
    let line = line!() + 1;
    let package = Package::new("p").function("f", ["a"], "result", |a: MExp<f32>| a.windows2(2, 0)[1][0]);
    wrong(package, "E0207", &["windows2 of no elements"], line);
    fn ragged(a: MExp<f32>) -> MExp<f32> {
        a.weighted_sum2(&[vec![1.0, 2.0], vec![1.0]])
    }
    let line = line!() - 2;
    let package = Package::new("p").function("f", ["a"], "result", ragged);
    wrong(package, "E0207", &["weighted_sum2: the rows of weights have 2 and 1 of them"], line);
    let nothing = |u: TExp<f32>| u.windows3(2, 0, 1)[1][0][0];
    let line = line!() - 1;
    let package = Package::new("p").function("f", ["u"], "result", nothing);
    wrong(package, "E0207", &["windows3 of no elements"], line);
    let nothing = |u: TExp<f32>| u.weighted_sum3(&[[[]]]);
    let line = line!() - 1;
    let package = Package::new("p").function("f", ["u"], "result", nothing);
    wrong(package, "E0207", &["weighted_sum3 needs a weight"], line);
    fn ragged_rows(u: TExp<f32>) -> TExp<f32> {
        u.weighted_sum3(&[[vec![1.0, 2.0], vec![1.0, 2.0]], [vec![1.0, 2.0], vec![1.0]]])
    }
    let line = line!() - 2;
    let package = Package::new("p").function("f", ["u"], "result", ragged_rows);
    wrong(package, "E0207", &["weighted_sum3: the rows of weights have 2 and 1 of them"], line);
    fn ragged_planes(u: TExp<f32>) -> TExp<f32> {
        u.weighted_sum3(&[vec![[1.0], [2.0]], vec![[1.0]]])
    }
    let line = line!() - 2;
    let package = Package::new("p").function("f", ["u"], "result", ragged_planes);
    wrong(package, "E0207", &["weighted_sum3: the planes of weights have 2 and 1 rows"], line);
    fn turned(t: TExp<f32>) -> TExp<f32> {
        t.permute([0, 2, 2])
    }
    let line = line!() - 2;
    let package = Package::new("p").function("f", ["t"], "result", turned);
    wrong(package, "E0207", &["permute: [0, 2, 2] is no order of the axes"], line);
    fn none(_: VExp<f32>) -> VExp<f32> {
        std::iter::empty::<VExp<f32>>().sum()
    }
    let line = line!() + 1;
    let package = Package::new("p").function("f", ["x"], "result", none);
    wrong(package, "E0208", &["the sum of no vectors has no length"], line);
}

#[test]
fn shapes_that_can_never_fit() {
    let line = line!() + 1;
    let package = Package::new("p").function("f", ["x"], "result", |x: VExp<f32>| x.slice(0, x.len() + 1));
    let text = package.run_with(["--emit", "core"]).expect_err("never fits").to_string();
    assert!(text.contains("f: slice of x: ") && text.contains(&format!("{}:{line}:", file!())), "{text}");
    // a state that loses an element
    let line = line!() + 1;
    let shorter = |s: SExp<f32>| fill(4, s).iterate(2, |y| y.slice(0, 3));
    let package = Package::new("p").function("f", ["s"], "result", shorter);
    let error = package.run_with(["--emit", "core"]).expect_err("no step fits the one before");
    let text = error.to_string();
    assert!(error.code() == Some("E0310") && text.contains(&format!("{}:{line}:", file!())), "{text}");
    assert!(text.contains("the lengths 4 and 3 differ"), "{text}");
}

#[test]
fn command_lines() {
    let package = || Package::new("p").function("f", ["x"], "result", one);
    let error = package().run_with(["--target", "rocm"]).expect_err("no such target");
    assert!(error.code().is_none() && error.to_string().contains("cpu, cuda"), "{error}");
    let error = package().run_with(["--emit", "llvm"]).expect_err("no such stage");
    assert!(
        error.code().is_none() && error.to_string().contains("core, fused, plan, kernel, c, ptx, cuda"),
        "{error}"
    );
    for (arch, says) in [("sm_75", "too old"), ("90", "one is sm_90")] {
        let error = package().run_with(["--cubin", arch]).expect_err("no such GPU");
        assert!(error.to_string().contains(says), "{error}");
    }
    let error = package().run_with(["--level", "v3,v5"]).expect_err("no such level");
    assert!(error.to_string().contains("`v5` is no level of the processor: v2"), "{error}");
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("p").display().to_string();
    let error =
        package().run_with(["--out", &out, "--target", "cpu", "--cubin", "sm_90"]).expect_err("no GPU");
    assert_eq!(error.code(), Some("E0608"));
    let error = package().run_with(["--out", &out, "--cubin", "sm_90", "--ptxas", "/nowhere/ptxas"]);
    assert!(error.expect_err("no ptxas").to_string().contains("/nowhere/ptxas"));
    assert!(package().run_with(["--bogus"]).is_err());
    let printed = |arguments: &[&str]| {
        let mut out = Vec::new();
        package()
            .doc("x, and one.")
            .run_to(arguments, &mut out)
            .unwrap_or_else(|e| panic!("{arguments:?}: {e}"));
        String::from_utf8(out).expect("text")
    };
    assert!(printed(&["--help"]).contains("Usage: p-generator [OPTIONS]"));
    assert_eq!(printed(&["--list"]), "// x, and one.\nvoid p::f(float x, float& result);\n");
    let mut of_matrices = Vec::new();
    let added = |a: MExp<f32>, t: TExp<i8>| (a + 1.0, t.plane(0));
    let matrices = Package::new("p").function("g", ["a", "t"], ["b", "c"], added);
    matrices.run_to(["--list"], &mut of_matrices).expect("a list");
    let form = "void p::g(gpu_matrix_view<const float> a, gpu_tensor3_view<const int8_t> t, gpu_matrix_view<float> b, \
                gpu_matrix_view<int8_t> c);\n";
    assert_eq!(String::from_utf8(of_matrices).expect("text"), form);
    assert!(printed(&["--explain"]).starts_with("f (mistakes.rs:"));
    assert!(
        printed(&["--explain=json", "--bandwidth", "4180", "--extent", "x=5"])
            .starts_with("{\n  \"version\": 3,")
    );
    for (arguments, says) in [
        (["--explain=yaml", "--quiet"], "`text`, `short` or `json`, not `yaml`"),
        (["--explain", "--bandwidth=fast"], "`fast` is no bandwidth"),
        (["--explain", "--extent=x"], "`x` is no extent"),
        (["--explain", "--extent=y=5"], "no function has a parameter `y` of 1 dimension; there are f.x"),
        (["--bandwidth=4180", "--quiet"], "--explain"),
    ] {
        let error = package().run_with(arguments).expect_err("wrong");
        assert!(error.to_string().contains(says), "{arguments:?}: {error}");
    }
    assert!(printed(&["--emit=core"]).starts_with("func @f(%x: f32) -> (result: f32) {\n"));
    let stages = printed(&["--emit=core,fused", "--emit=plan,kernel,c"]);
    for stage in ["; ---- core ----\nfunc @f", "; ---- fused ----\nfunc @f", "; ---- plan ----\nplan @f"] {
        assert!(stages.contains(stage), "no {stage:?} in: {stages}");
    }
    assert!(stages.contains("; ---- kernel ----\n") && stages.contains("// ---- c ----\n"));
    assert!(!std::path::Path::new("p").exists(), "printing writes no package");
}

#[test]
fn staging_what_only_the_device_knows() {
    let (mut line, mut found) = (0, Vec::new());
    let mut wrong_in = |f: fn(VExp<f32>, SExp<i64>, &mut u32) -> VExp<f32>, words: &'static str| {
        let package = Package::new("p").function("f", ["x", "k"], "r", |x: VExp<f32>, k| f(x, k, &mut line));
        found.push((package, words, line));
    };
    wrong_in(
        |x, _, line| {
            *line = line!() + 1;
            let top = stage(x.max());
            x / top
        },
        "stage: the value is computed by a reduction, so only the device knows it",
    );
    wrong_in(
        |x, k, line| {
            *line = line!() + 1;
            let first = stage(x.at(k));
            x / first
        },
        "stage: the value is read from a vector, so only the device knows it",
    );
    wrong_in(
        |x, _, line| {
            *line = line!() + 1;
            x.map(|a| stage(a * 2) + 1)
        },
        "stage: the value depends on the variable of a closure, so only the device knows it",
    );
    wrong_in(
        |x, k, line| {
            *line = line!() + 1;
            let each = stage(x.len() / k);
            x * each.cast::<f32>()
        },
        "stage: the value divides integers by what may be 0",
    );
    for (package, words, line) in found {
        wrong(package, "E0311", &[words], line);
    }
}

#[test]
fn iterations_name_their_own_line() {
    fn fewer(x: VExp<f32>) -> VExp<f32> {
        iterate(2, vec![x, x * 2.0], |all| vec![all[0] + all[1]])[0]
    }
    let line = line!() - 2;
    let package = Package::new("p").function("f", ["x"], "result", fewer);
    wrong(
        package,
        "E0208",
        &["iterate: the step gives another number of states, 1, than there are: 2"],
        line,
    );
    fn never(x: VExp<f32>) -> VExp<f32> {
        iterate_while(9, x, |x| x.max().lt(9.0), |x| x + 1.0).check_every(0).0
    }
    let line = line!() - 2;
    let package = Package::new("p").function("f", ["x"], "result", never);
    wrong(package, "E0208", &["check_every: a check is made every 1 or more steps"], line);
}
