//! Every PTX of the file tests assembles for sm_80, sm_90 and the newest architecture that ptxas knows, and a
//! sample of them, another one each day, for sm_100 and sm_120: without a warning, a spill or a stack.
//!
//! PTX is for sm_80 and up (`.target sm_80`), but for variants that use what later architectures have, which
//! name their own target and are not assembled for earlier ones (the record has zeros there). Such a variant
//! comes with a test that others run elsewhere: clusters, of sm_90, in `gpu_clusters.rs`.
//!
//! `ptxas_files.txt` keeps what each kernel needs beside a hash of its text. Only kernels whose text is another
//! one are assembled again.

use arraygpu_compiler::core::{Function, parse};
use arraygpu_compiler::driver::{Targets, compile_for};
use arraygpu_suite::ptxas::{Module, Record, architectures, assemble, check_sample, find, refuse_spills};
use arraygpu_suite::tests_folder;

/// The PTX of functions; none if they do not compile (some file tests are about errors).
fn modules(name: &str, functions: Vec<Function>) -> Vec<Module> {
    let Ok(compiled) = compile_for("m", functions, Targets { cpu: false, cuda: true }) else { return vec![] };
    let code = compiled.kernels.into_iter().filter_map(|k| Some(k.gpu?.variants)).flatten();
    code.map(|c| Module { name: format!("{name}: {}", c.kernel.name), ptx: c.ptx, is_dependent: true })
        .collect()
}

#[test]
fn file_tests() {
    let folder = tests_folder().join("files");
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the file tests") {
        let path = entry.expect("a file").path();
        let text = std::fs::read_to_string(&path).expect("a text");
        if let Ok(functions) = parse::parse(&text) {
            all.extend(modules(&path.file_name().unwrap_or_default().to_string_lossy(), functions));
        }
    }
    assert!(all.len() > 40, "{} kernels", all.len());
    check("files", all);
}

/// Against `ptxas_NAME.txt`.
fn check(name: &str, mut all: Vec<Module>) {
    all.sort_by(|a, b| a.name.cmp(&b.name));
    let ptxas = find();
    let path = tests_folder().join(format!("ptxas_{name}.txt"));
    let usage = Record::read(&path, &ptxas).usage(&ptxas, &all);
    refuse_spills(&ptxas, all.iter().zip(usage));
    check_sample(&ptxas, &all);
}

/// A sum of vectors of f32, chosen by a truth value or else a half: more parameters than are declared one by one.
fn many_parameters(vectors: usize) -> String {
    let others = (1..vectors).map(|k| format!("x{k}")).chain(["b".into(), "h".into()]);
    let params: String = (0..vectors).map(|k| format!("%x{k}: [f32], ")).collect();
    let rules: String =
        others.map(|x| format!("%n_{x} = len %{x} require same %n, %n_{x} \"zip_with\"\n")).collect();
    let sums: String = (1..vectors)
        .map(|k| {
            let before = if k == 1 { "x0".into() } else { format!("s{}", k - 1) };
            format!("%s{k} = map (%a: f32, %c: f32) over %{before}, %x{k} {{ %d = add %a, %c yield %d }}\n")
        })
        .collect();
    let last = format!("%s{}, %b, %h", vectors - 1);
    format!(
        "func @many({params}%b: [bool], %h: [f16]) -> (r: [f32]) {{ %n = len %x0\n{rules}{sums}
        %r = map (%a: f32, %c: bool, %e: f16) over {last} {{ %f = cast f32 %e %g = select %c, %a, %f yield %g }}
        return %r }}"
    )
}

#[test]
fn many_parameters_are_one_array() {
    let ptxas = find();
    let all = modules("many", parse::parse(&many_parameters(70)).expect("a function"));
    assert!(!all.is_empty() && all.iter().all(|m| m.ptx.contains(".param .align 8 .b8 args[")));
    let few = modules("few", parse::parse(&many_parameters(20)).expect("a function"));
    assert!(!few.is_empty() && few.iter().all(|m| !m.ptx.contains("args[")));
    let jobs: Vec<_> = all.iter().flat_map(|m| architectures(&ptxas).map(|arch| (m, arch))).collect();
    assert_eq!(assemble(&ptxas, &jobs).len(), jobs.len());
}
