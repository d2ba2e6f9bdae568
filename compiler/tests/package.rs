//! Packages: their files, their determinism, and what happens when they cannot be written.
//!
//! The compiled program is made by hand, so that these tests say something about packages only.

use arraygpu_compiler::core::{Function, NodeId, Op, Output, Param, Rule, Type};
use arraygpu_compiler::driver::{Compiled, compile};
use arraygpu_compiler::package::{Options, write};
use arraygpu_compiler::plan::{Access, HostId, HostOp, HostRule, Launch, Place, Plan, Slot, Step};
use arraygpu_compiler::scalar::{Lit, Ty};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const KERNELS: &str = r#"#include <stdint.h>

typedef struct agpu_kernel_args {
    void *const *arrays; const int64_t *strides; const uint64_t *scalars;
    void *const *slots; void *const *scratch; int64_t *records;
} agpu_kernel_args;
typedef void (*agpu_kernel_fn)(const agpu_kernel_args *args, int64_t tile_begin, int64_t tile_end);
typedef struct agpu_cpu_kernel { agpu_kernel_fn contiguous, in_place, strided, finish; } agpu_cpu_kernel;
#define PASTE2(a, b) a##b
#define PASTE(a, b) PASTE2(a, b)

/* saxpy: result[i] = a * x[i] + y[i] */
static void saxpy(const agpu_kernel_args *k, int64_t tile_begin, int64_t tile_end)
{
    union { uint32_t u; float f; } a = { .u = (uint32_t)k->scalars[1] };
    const float *x = k->arrays[0], *y = k->arrays[1];
    float *result = k->arrays[2];
    int64_t n = (int64_t)k->scalars[0], end = tile_end * 2048 < n ? tile_end * 2048 : n;
    for (int64_t i = tile_begin * 2048; i < end; i++)
        result[i * k->strides[2]] = a.f * x[i * k->strides[0]] + y[i * k->strides[1]];
}
const agpu_cpu_kernel PASTE(tiny_cpu_, AGPU_LEVEL)[];
const agpu_cpu_kernel PASTE(tiny_cpu_, AGPU_LEVEL)[] = { { saxpy, saxpy, saxpy, 0 } };
"#;

fn slot(name: &str, ty: Type) -> Slot {
    Slot { name: name.into(), ty, extent: None }
}

/// saxpy, and "both" with a scalar and a vector result (its plan does not matter here).
fn program() -> Compiled {
    let (f, v) = (Type::scalar(Ty::F32), Type::vector(Ty::F32));
    let param = |name: &str, ty| Param { name: name.into(), ty };
    let params = [("a", f), ("x", v), ("y", v)];
    let mut saxpy = Function::new("saxpy", params.iter().map(|(n, t)| param(n, *t)).collect());
    saxpy.doc = "a x + y; holds /* and */ and ends with \\".into();
    let value = saxpy.graph.add(Op::Materialize(NodeId(1)));
    saxpy.results = vec![Output { name: "result".into(), value }];
    let launch = Launch {
        kernel: 0,
        name: "saxpy".into(),
        domain: Some(HostId(0)),
        sequential: false,
        cost: 4,
        arrays: vec![
            (Place::Param(1), Access::Pointwise),
            (Place::Param(2), Access::Pointwise),
            (Place::Result(0), Access::Write),
        ],
        scalars: vec![HostId(0), HostId(2)],
        slots: vec![],
        scratch: vec![],
        sites: vec![],
        finish: false,
    };
    let plan = Plan {
        name: "saxpy".into(),
        params: params.iter().map(|(n, t)| slot(n, *t)).collect(),
        results: vec![Slot { extent: Some(HostId(0)), ..slot("result", v) }],
        temps: vec![],
        host: vec![(Ty::I64, HostOp::Len(1)), (Ty::I64, HostOp::Len(2)), (Ty::F32, HostOp::Arg(0))],
        rules: vec![HostRule {
            rule: Rule::Same,
            a: HostId(0),
            b: HostId(1),
            subject: "zip_with: \"x\", y".into(),
            loc: "tiny.rs:1:1".into(),
        }],
        steps: vec![Step::Launch(launch)],
    };
    let mut both = Function::new("both", vec![param("call", v), param("options", Type::scalar(Ty::Bool))]);
    both.results = vec![
        Output { name: "args".into(), value: both.graph.add(Op::Len(NodeId(0))) },
        Output { name: "half".into(), value: NodeId(0) },
    ];
    let both_plan = Plan {
        name: "both".into(),
        params: vec![slot("call", v), slot("options", Type::scalar(Ty::Bool))],
        results: vec![
            slot("args", Type::scalar(Ty::I64)),
            Slot { extent: Some(HostId(0)), ..slot("half", v) },
        ],
        host: vec![(Ty::I64, HostOp::Const(Lit::i64(7)))],
        ..Plan::default()
    };
    Compiled {
        name: "tiny".into(),
        functions: vec![saxpy, both],
        plans: vec![plan, both_plan],
        kernels: vec!["saxpy".into()],
        c_source: KERNELS.into(),
        ..compile("tiny", vec![]).expect("an empty program")
    }
}

fn strict(out: &Path) -> Options {
    Options { strict: true, ..Options::new(out) }
}

fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(f) = folders.pop() {
        for path in fs::read_dir(f).expect("a folder").map(|e| e.expect("an entry").path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = fs::read(&path).expect("a file");
                found.insert(path.strip_prefix(folder).expect("inside").to_path_buf(), bytes);
            }
        }
    }
    found
}

fn temp() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn output(command: &mut Command) -> String {
    let out = command.output().expect("the program runs");
    assert!(
        out.status.success(),
        "{}{}",
        String::from_utf8_lossy(&out.stdout),
        String::from_utf8_lossy(&out.stderr)
    );
    String::from_utf8_lossy(&out.stdout).into_owned()
}

#[test]
fn every_file_is_there_and_nothing_else() {
    let dir = temp();
    let out = dir.path().join("deep/tiny");
    write(&program(), &strict(&out)).expect("a package");
    let names: Vec<String> = files(&out).keys().map(|p| p.display().to_string()).collect();
    assert_eq!(
        names,
        [
            "include/tiny.h",
            "include/tiny.hpp",
            "lib/cmake/tiny/tiny-config-version.cmake",
            "lib/cmake/tiny/tiny-config.cmake",
            "lib/libtiny.a",
            "lib/libtiny.so",
            "lib/pkgconfig/tiny.pc",
            "share/tiny/manifest.json",
            "share/tiny/tiny_cpu.c",
        ]
    );
    let beside: Vec<_> = fs::read_dir(dir.path().join("deep")).expect("a folder").collect();
    assert_eq!(beside.len(), 1, "nothing is left beside the package: {beside:?}");
}

#[test]
fn the_same_program_gives_the_same_bytes_anywhere() {
    let dir = temp();
    let (a, b) = (dir.path().join("a"), dir.path().join("somewhere/else/b"));
    write(&program(), &strict(&a)).expect("a package");
    write(&program(), &strict(&b)).expect("a package");
    let (a, b) = (files(&a), files(&b));
    assert_eq!(a.len(), b.len());
    for (name, bytes) in &a {
        assert!(b[name] == *bytes, "{} differs", name.display());
        let path = dir.path().display().to_string();
        assert!(!bytes.windows(path.len()).any(|w| w == path.as_bytes()), "{} holds a path", name.display());
    }
}

#[test]
fn headers() {
    let dir = temp();
    write(&program(), &strict(dir.path())).expect("a package");
    let read = |name: &str| fs::read_to_string(dir.path().join(name)).expect("a text");
    let (c, cpp) = (read("include/tiny.h"), read("include/tiny.hpp"));
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    for (name, text) in
        [("tiny.h", &c), ("tiny.hpp", &cpp), ("manifest.json", &read("share/tiny/manifest.json"))]
    {
        // its flags and levels are the machine's
        if name == "manifest.json" && !cfg!(target_arch = "x86_64") {
            continue;
        }
        // the C compiler's own version is the machine's
        let text: String =
            text.lines().filter(|l| !l.contains("\"compiler\"")).map(|l| format!("{l}\n")).collect();
        let path = golden.join(name);
        if std::env::var_os("BLESS").is_some() {
            fs::create_dir_all(&golden).expect("a folder");
            fs::write(&path, &text).expect("written");
        }
        let want = fs::read_to_string(&path).unwrap_or_default();
        assert!(want == text, "{name} is not as tests/golden/{name}; BLESS=1 accepts it:\n{text}");
    }
}

#[test]
fn libraries_export_the_functions_only_and_need_the_runtime() {
    let dir = temp();
    write(&program(), &strict(dir.path())).expect("a package");
    let lib = dir.path().join("lib/libtiny.so");
    let nm = output(Command::new("nm").args(["-D", "--defined-only", "--format=posix"]).arg(&lib));
    let mut symbols: Vec<&str> = nm.lines().filter_map(|l| l.split_whitespace().next()).collect();
    symbols.sort_unstable();
    assert_eq!(symbols, ["tiny_both", "tiny_both_new", "tiny_module", "tiny_saxpy", "tiny_saxpy_new"]);
    let dynamic = output(Command::new("readelf").arg("-d").arg(&lib));
    for wanted in ["Shared library: [libarraygpu.so.0]", "Library soname: [libtiny.so]"] {
        assert!(dynamic.contains(wanted), "{wanted} is missing in\n{dynamic}");
    }
}

#[test]
fn a_package_is_replaced_and_what_did_not_change_keeps_its_time() {
    let dir = temp();
    let out = dir.path().join("tiny");
    write(&program(), &strict(&out)).expect("a package");
    let time = |name: &str| fs::metadata(out.join(name)).and_then(|m| m.modified()).expect("a time");
    let (header, cpp) = (time("include/tiny.h"), time("include/tiny.hpp"));
    fs::write(out.join("lib/stale"), "").expect("written");
    let mut changed = program();
    changed.c_source = KERNELS.replace("a * x", "a times x");
    write(&changed, &strict(&out)).expect("a package");
    assert!(fs::read_to_string(out.join("share/tiny/tiny_cpu.c")).expect("a text").contains("a times x"));
    assert!(!out.join("lib/stale").exists());
    assert_eq!((header, cpp), (time("include/tiny.h"), time("include/tiny.hpp")));
}

#[test]
fn a_folder_of_somebody_else_is_left_alone() {
    let dir = temp();
    fs::create_dir_all(dir.path().join("mine/include")).expect("a folder");
    let out = dir.path().join("mine");
    // folders without a file are nothing to lose: CMake makes them before the package is there
    write(&program(), &strict(&out)).expect("a package");
    let other = dir.path().join("other");
    fs::create_dir_all(&other).expect("a folder");
    fs::write(other.join("thesis.txt"), "years").expect("written");
    let e = write(&program(), &strict(&other)).expect_err("refused");
    assert_eq!(e.code, "E0503");
    assert!(e.message.contains("other holds files"), "{e}");
    assert_eq!(files(&other).len(), 1);
    let e = write(&program(), &strict(&other.join("thesis.txt"))).expect_err("refused");
    assert!(e.message.contains("is a file"), "{e}");
}

#[test]
fn after_an_error_nothing_is_left_and_the_old_package_stays() {
    let dir = temp();
    let out = dir.path().join("tiny");
    let mut broken = program();
    broken.c_source = "int f( { }\n".into();
    let e = write(&broken, &strict(&out)).expect_err("wrong C");
    assert_eq!(e.code, "E0602");
    assert!(e.message.contains("tiny_cpu.c:1"), "the compiler's message is in the error: {e}");
    assert_eq!(fs::read_dir(dir.path()).expect("a folder").count(), 0);

    write(&program(), &strict(&out)).expect("a package");
    let before = files(&out);
    write(&broken, &strict(&out)).expect_err("wrong C");
    assert!(before == files(&out));

    let mut warns = program();
    warns.c_source += "static int unused;\n";
    assert_eq!(write(&warns, &strict(&out)).expect_err("a warning").code, "E0603");
    write(&warns, &Options { strict: false, ..Options::new(&out) })
        .expect("warnings are no errors for others");
}

#[test]
fn wrong_names_come_with_the_authors_line() {
    let dir = temp();
    let mut wrong = program();
    wrong.functions[1].name = "namespace".into();
    wrong.functions[1].loc =
        Some(arraygpu_compiler::loc::Loc { file: "src/main.rs".into(), line: 12, column: 9 });
    let e = write(&wrong, &strict(&dir.path().join("p"))).expect_err("a keyword");
    assert_eq!(e.code, "E0501");
    assert!(e.to_string().contains("src/main.rs:12:9"), "{e}");
    assert_eq!(fs::read_dir(dir.path()).expect("a folder").count(), 0);
}

#[test]
fn headers_compile_by_themselves_in_c_and_cpp() {
    let dir = temp();
    write(&program(), &strict(dir.path())).expect("a package");
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../include");
    for (language, header) in [("c", "tiny.h"), ("c++", "tiny.h"), ("c++", "tiny.hpp")] {
        let file = dir.path().join("main");
        fs::write(&file, format!("#include <{header}>\n#include <{header}>\n")).expect("written");
        let mut cc = Command::new("cc");
        cc.args(["-x", language, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I"]);
        cc.arg(dir.path().join("include")).arg("-I").arg(&include).arg(&file);
        output(if language == "c++" { cc.arg("-std=c++17") } else { cc.arg("-std=c11") });
    }
}

/// Not a test by itself: what the next one runs in a process of its own.
#[test]
fn child() {
    if let Some(out) = std::env::var_os("PACKAGE_TEST_OUT") {
        write(&program(), &strict(Path::new(&out))).expect("a package");
    }
}

#[test]
fn flags_of_the_environment_are_not_applied_and_it_says_so() {
    let dir = temp();
    let run = |name: &str, flags: &str| {
        let mut child = Command::new(std::env::current_exe().expect("this program"));
        child.args(["--exact", "child", "--nocapture"]).env("PACKAGE_TEST_OUT", dir.path().join(name));
        let out = child.env("CFLAGS", flags).env("LDFLAGS", flags).output().expect("runs");
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        (files(&dir.path().join(name)), String::from_utf8_lossy(&out.stderr).into_owned())
    };
    let (plain, silent) = run("a", "");
    let (flags, says) = run("b", "-O0 -ffast-math -nonsense");
    assert!(plain == flags);
    assert!(!silent.contains("CFLAGS"), "{silent}");
    assert!(says.contains("CFLAGS is set, but not applied"), "{says}");
}
