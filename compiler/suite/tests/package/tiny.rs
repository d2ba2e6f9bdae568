//! The program of these tests, and what looks at packages.

use arraygpu_compiler::backend::c::File;
use arraygpu_compiler::budget::Budget;
use arraygpu_compiler::core::{Function, NodeId, Op, Output, Param, Require, Rule, Type};
use arraygpu_compiler::driver::{Compiled, CompiledFunction, CompiledKernel, Targets};
use arraygpu_compiler::loc::LocStack;
use arraygpu_compiler::package::Options;
use arraygpu_compiler::plan::{
    ANY_LENGTH, Access, HostId, HostOp, HostRule, Launch, Place, Plan, ScalarArg, Slot, Step,
};
use arraygpu_compiler::scalar::{Lit, Ty};
use arraygpu_suite::tests_folder;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The kernels of saxpy, as the C backend would write them.
pub const KERNELS: &str = r#"#include <stdint.h>

typedef struct agpu_kernel_args {
    void *const *arrays; const int64_t *strides; const uint64_t *scalars;
    void *const *slots; void *const *scratch; int64_t *records; const void *reserved[2];
} agpu_kernel_args;
typedef void (*agpu_kernel_fn)(const agpu_kernel_args *args, int64_t tile_begin, int64_t tile_end);
typedef struct agpu_cpu_kernel { agpu_kernel_fn contiguous, in_place, strided, finish; const void *reserved[2]; } agpu_cpu_kernel;
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
const agpu_cpu_kernel PASTE(tiny_cpu_, AGPU_LEVEL)[] = { { saxpy, saxpy, saxpy, 0, { 0, 0 } } };
"#;

fn slot(name: &str, ty: Type) -> Slot {
    Slot { name: name.into(), ty, extents: vec![] }
}

/// saxpy, and "both" with a scalar and a vector result (its plan does not matter here).
pub fn program() -> Compiled {
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
        domain: vec![HostId(0)],
        flat: vec![],
        segment: None,
        sequential: false,
        cost: 4,
        grain: 2048,
        lengths: ANY_LENGTH,
        arrays: vec![
            (Place::Param(1), Access::Pointwise),
            (Place::Param(2), Access::Pointwise),
            (Place::Result(0), Access::Write),
        ],
        scalars: vec![ScalarArg::Host(HostId(0)), ScalarArg::Host(HostId(2))],
        slots: vec![],
        scratch: vec![],
        sites: vec![],
        computes: Vec::new(),
        finish: false,
        guarded: false,
    };
    let plan = Plan {
        name: "saxpy".into(),
        params: params.iter().map(|(n, t)| slot(n, *t)).collect(),
        results: vec![Slot { extents: vec![HostId(0)], ..slot("result", v) }],
        temps: vec![],
        host: vec![(Ty::I64, HostOp::Len(1, 0)), (Ty::I64, HostOp::Len(2, 0)), (Ty::F32, HostOp::Arg(0))],
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
        Output { name: "args".into(), value: both.graph.add(Op::Len(NodeId(0), 0)) },
        Output { name: "half".into(), value: NodeId(0) },
    ];
    let both_plan = Plan {
        name: "both".into(),
        params: vec![slot("call", v), slot("options", Type::scalar(Ty::Bool))],
        results: vec![
            slot("args", Type::scalar(Ty::I64)),
            Slot { extents: vec![HostId(0)], ..slot("half", v) },
        ],
        host: vec![(Ty::I64, HostOp::Const(Lit::i64(7)))],
        ..Plan::default()
    };
    Compiled {
        name: "tiny".into(),
        functions: vec![
            CompiledFunction {
                source: staging(&saxpy),
                fused: saxpy,
                plan,
                warnings: vec![],
                refused_chains: vec![],
            },
            CompiledFunction {
                source: both.clone(),
                fused: both,
                plan: both_plan,
                warnings: vec![],
                refused_chains: vec![],
            },
        ],
        kernels: vec![CompiledKernel { name: "saxpy".into(), cpu: None, gpu: None }],
        c_source: KERNELS.into(),
        c_files: vec![File { name: "tiny_cpu".into(), text: KERNELS.into(), is_strided: false, line: None }],
        targets: Targets { cpu: true, cuda: false },
        budget: Budget::default(),
    }
}

/// The program with another C file.
pub fn with_kernels(text: impl Into<String>) -> Compiled {
    let text = text.into();
    let files = vec![File { name: "tiny_cpu".into(), text: text.clone(), is_strided: false, line: None }];
    Compiled { c_source: text, c_files: files, ..program() }
}

/// The function, as its author might have written it: with a staged length.
fn staging(f: &Function) -> Function {
    let mut source = f.clone();
    let a = source.graph.add(Op::Len(NodeId(1), 0));
    let b = source.graph.add(Op::Stage(a));
    source.requires.push(Require {
        rule: Rule::Same,
        a,
        b,
        subject: "itself".into(),
        loc: LocStack::default(),
    });
    source
}

pub fn strict(out: &Path) -> Options {
    Options { strict: true, sources: true, ..Options::new(out) }
}

pub fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
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

pub fn temp() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

pub fn output(command: &mut Command) -> String {
    let out = command.output().expect("the program runs");
    assert!(
        out.status.success(),
        "{}{}",
        String::from_utf8_lossy(&out.stdout),
        String::from_utf8_lossy(&out.stderr)
    );
    String::from_utf8_lossy(&out.stdout).into_owned()
}

/// The files of a package, by name.
pub fn names(folder: &Path) -> Vec<String> {
    files(folder).keys().map(|p| p.display().to_string()).collect()
}

/// What a library exports.
pub fn symbols(lib: &Path) -> Vec<String> {
    let nm = output(Command::new("nm").args(["-D", "--defined-only", "--format=posix"]).arg(lib));
    let mut symbols: Vec<String> =
        nm.lines().filter_map(|l| l.split_whitespace().next()).map(String::from).collect();
    symbols.sort_unstable();
    symbols
}

/// Compares a text with `tests/golden`; the versions of the machine's tools are left out.
#[track_caller]
pub fn golden(name: &str, text: &str) {
    let tools = |l: &&str| !l.contains("\"compiler\"") && !l.contains("\"ptxas\"");
    let text: String = text.lines().filter(tools).map(|l| format!("{l}\n")).collect();
    let path = tests_folder().join("golden").join(name);
    if std::env::var_os("BLESS").is_some() {
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, &text).expect("written");
    }
    let want = fs::read_to_string(&path).unwrap_or_default();
    assert!(want == text, "{name} is not as tests/golden/{name}; BLESS=1 accepts it:\n{text}");
}
