//! Packages with code for GPUs.

use crate::tiny::{files, golden, names, output, program, strict, symbols, temp};
use arraygpu_compiler::driver::{Compiled, CompiledGpuKernel, GpuCode, Targets};
use arraygpu_compiler::kernel;
use arraygpu_compiler::package::{Options, packed, write};
use arraygpu_compiler::plan::gpu::{GpuVariant, Grid, Guards, Profit};
use std::fs;
use std::path::Path;
use std::process::Command;

/// A kernel that counts its blocks, with 64 bytes of shared memory.
fn ptx(entry: &str) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n\
         .visible .entry {entry}(.param .u64 p)\n{{\n\
         \x20   .reg .b64 %d<3>;\n    .reg .b32 %r<3>;\n    .shared .align 4 .b8 s[64];\n\
         \x20   ld.param.u64 %d1, [p];\n    cvta.to.global.u64 %d2, %d1;\n\
         \x20   ld.global.u32 %r1, [%d2];\n    st.shared.u32 [s], %r1;\n    bar.sync 0;\n\
         \x20   ld.shared.u32 %r2, [s+4];\n    st.global.u32 [%d2], %r2;\n    ret;\n}}\n"
    )
}

fn with_gpu(targets: Targets) -> Compiled {
    let any = GpuVariant {
        entry: "saxpy_any".into(),
        threads: 256,
        shared: 0,
        grid: Grid::Elements(256),
        profit: Profit::default(),
        guards: Guards::strided(),
        flat: vec![],
        aligned: vec![],
        steps_per_launch: None,
        row_aligned: vec![],
    };
    let vector = GpuVariant {
        entry: "saxpy_vector".into(),
        grid: Grid::Tiles { min_span: 1, max_span: 8 },
        guards: Guards::contiguous().narrow().noalias(),
        aligned: vec![0, 2],
        ..any.clone()
    };
    let code = |v: GpuVariant| GpuCode {
        batches: false,
        strategy: Default::default(),
        kernel: kernel::parse::parse(&format!("kernel @{} {{ threads 256 }}", v.entry))
            .expect("kernel IR")
            .remove(0),
        ptx: ptx(&v.entry),
        is_merged: false,
        launch: v,
    };
    let mut program = program();
    program.targets = targets;
    program.kernels[0].gpu =
        Some(CompiledGpuKernel { variants: vec![code(vector), code(any)], ..CompiledGpuKernel::default() });
    program
}

fn code_of(program: &mut Compiled) -> &mut CompiledGpuKernel {
    program.kernels[0].gpu.as_mut().expect("code for GPUs")
}

const BOTH: Targets = Targets { cpu: true, cuda: true };
const CUDA: Targets = Targets { cpu: false, cuda: true };

fn with_machine_code(out: &Path, archs: &[&str]) -> Options {
    let arch = |a: &&str| a.parse().expect("an architecture");
    Options {
        ptxas: Some(arraygpu_suite::ptxas::find().program().to_path_buf()),
        cubin: archs.iter().map(arch).collect(),
        ..strict(out)
    }
}

/// A C program that prints what a module holds: `levels`, `gpu`, then for each image its place, architecture, sizes,
/// base and bytes.
const LOOK: &str = r#"#include "tiny.h"
#include <stdio.h>
#include <string.h>
extern const agpu_module tiny_module;
agpu_status agpu_invoke(const agpu_module *m, int32_t e, const agpu_call *c, const agpu_arg *a, int32_t n)
{ (void)m; (void)e; (void)c; (void)a; (void)n; return AGPU_OK; }
int main(void)
{
    const agpu_module *m = &tiny_module;
    printf("%s\n", m->cpu_v2 && m->cpu_v2[0].contiguous ? "cpu" : "no cpu");
    printf("%s\n", !m->gpu ? "no gpu" : strlen(m->gpu) == (size_t)m->gpu_length ? "gpu" : "wrong");
    for (int32_t i = 0; i < m->image_count; i++) {
        const agpu_image *p = &m->images[i];
        printf("%d.%d %d %d %d ", p->kernel, p->version, p->arch, (int)p->size, (int)p->base);
        for (int64_t b = 0; b < p->packed; b++) printf("%02x", ((const unsigned char *)p->data)[b]);
        printf("\n");
    }
    return 0;
}
"#;

/// One line of that program for an image, with the first bytes of the code in place of the compressed ones.
fn unpacked(line: &str, known: &mut Vec<Vec<u8>>) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let [place, arch, size, base, bytes] = words[..] else { return line.into() };
    let bytes: Vec<u8> = (0..bytes.len() / 2)
        .map(|i| u8::from_str_radix(&bytes[2 * i..2 * i + 2], 16).expect("hexadecimal"))
        .collect();
    let (size, base) = (size.parse().expect("a size"), base.parse::<usize>().expect("a number"));
    let base = base.checked_sub(1).map(|i| &known[i][..]);
    let mut code = packed::unpack(&bytes, size, base).expect("what was compressed");
    assert_eq!(code.pop(), Some(0));
    let first =
        if code.starts_with(b"\x7fELF") { "ELF" } else { std::str::from_utf8(&code[..8]).expect("PTX") };
    let line = format!("{place} {arch} {first} {}", if base.is_some() { "upon another" } else { "alone" });
    known.push(code);
    line
}

/// What the program sees in the package, linked with the static or the shared library.
fn look(package: &Path, shared: bool) -> Vec<String> {
    let dir = temp();
    let (source, program) = (dir.path().join("look.c"), dir.path().join("look"));
    fs::write(&source, LOOK).expect("written");
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include");
    let lib = package.join("lib").join(if shared { "libtiny.so" } else { "libtiny.a" });
    let mut cc = Command::new("cc");
    cc.args([
        "-std=c11",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-rdynamic",
        "-Wl,--unresolved-symbols=ignore-in-shared-libs",
    ]);
    cc.arg("-I")
        .arg(package.join("include"))
        .arg("-I")
        .arg(include)
        .arg(&source)
        .arg(lib)
        .arg("-o")
        .arg(&program);
    output(&mut cc);
    // the shared library needs a runtime to start with: any library will do
    let stub = dir.path().join("libarraygpu.so.5");
    output(Command::new("cc").args(["-shared", "-x", "c", "/dev/null", "-o"]).arg(&stub));
    let mut program = Command::new(program);
    program.env("LD_LIBRARY_PATH", format!("{}:{}", package.join("lib").display(), dir.path().display()));
    let mut known = Vec::new();
    output(&mut program).lines().map(|line| unpacked(line, &mut known)).collect()
}

#[test]
fn ptx_and_machine_code_are_in_both_libraries() {
    let dir = temp();
    let out = dir.path().join("tiny");
    write(&with_gpu(BOTH), &with_machine_code(&out, &["sm_90", "sm_80", "sm_90"])).expect("a package");
    let images = ["0 .version", "80 ELF", "90 ELF"];
    let of = |version: &'static str, how: &'static str| {
        images.iter().map(move |i| format!("0.{version} {i} {how}"))
    };
    let lines = of("0", "alone").chain(of("1", "upon another"));
    let expected: Vec<String> = ["cpu", "gpu"].map(String::from).into_iter().chain(lines).collect();
    assert_eq!(look(&out, false), expected);
    assert_eq!(look(&out, true), expected);
    let manifest = fs::read_to_string(out.join("share/tiny/manifest.json")).expect("a text");
    golden("manifest-cuda.json", &manifest[manifest.find("  \"cuda\": {").expect("a part for GPUs")..]);
    assert!(!symbols(&out.join("lib/libtiny.so")).iter().any(|s| s.contains("images")));
    assert_eq!(
        fs::read_to_string(out.join("share/tiny/ptx/saxpy_any.ptx")).expect("a text"),
        ptx("saxpy_any")
    );
    // nothing of ours asks for an executable stack
    let headers = output(Command::new("readelf").args(["-lW"]).arg(out.join("lib/libtiny.so")));
    let stack = headers.lines().find(|l| l.contains("GNU_STACK")).expect("a stack");
    assert!(!stack.contains("RWE"), "{stack}");
}

/// A variant for later devices has no machine code for earlier ones.
#[test]
fn machine_code_is_for_devices_that_run_a_variant() {
    let dir = temp();
    let out = dir.path().join("tiny");
    let mut program = with_gpu(CUDA);
    let first = &mut code_of(&mut program).variants[0];
    first.launch.guards.capability = Some(90);
    first.ptx = first.ptx.replace("sm_80", "sm_90");
    write(&program, &with_machine_code(&out, &["sm_80", "sm_90"])).expect("a package");
    let images = ["0.0 0 .version alone", "0.0 90 ELF alone", "0.1 0 .version upon another"];
    let wanted = [&["no cpu", "gpu"][..], &images, &["0.1 80 ELF alone", "0.1 90 ELF upon another"]].concat();
    assert_eq!(look(&out, false), wanted);
}

#[test]
fn the_same_program_gives_the_same_bytes_with_machine_code() {
    let dir = temp();
    let (a, b) = (dir.path().join("a"), dir.path().join("somewhere/else/b"));
    for out in [&a, &b] {
        write(&with_gpu(BOTH), &with_machine_code(out, &["sm_80", "sm_90"])).expect("a package");
    }
    let (a, b) = (files(&a), files(&b));
    assert_eq!(a.len(), b.len());
    a.iter().for_each(|(name, bytes)| assert!(b[name] == *bytes, "{} differs", name.display()));
}

#[test]
fn a_package_for_one_target_has_nothing_of_the_other() {
    let dir = temp();
    let (cuda, cpu) = (dir.path().join("cuda"), dir.path().join("cpu"));
    // without the target there is no C; none may be needed
    let program = Compiled { c_source: String::new(), c_files: Vec::new(), ..with_gpu(CUDA) };
    write(&program, &strict(&cuda)).expect("a package");
    assert_eq!(look(&cuda, false), ["no cpu", "gpu", "0.0 0 .version alone", "0.1 0 .version upon another"]);
    assert!(!names(&cuda).contains(&"share/tiny/tiny_cpu.c".to_string()));
    let manifest = fs::read_to_string(cuda.join("share/tiny/manifest.json")).expect("a text");
    assert!(manifest.contains("\"cuda\": {") && !manifest.contains("\"cpu\""), "{manifest}");

    write(&with_gpu(Targets { cpu: true, cuda: false }), &strict(&cpu)).expect("a package");
    assert_eq!(look(&cpu, true), ["cpu", "no gpu"]);
    assert!(!names(&cpu).iter().any(|n| n.ends_with(".ptx")));
}

#[test]
fn what_cannot_be_assembled_is_an_error_and_leaves_nothing() {
    let dir = temp();
    let out = dir.path().join("tiny");
    let error = |program: &Compiled, options: &Options| {
        let e = write(program, options).expect_err("no package");
        assert_eq!(fs::read_dir(dir.path()).expect("a folder").count(), 0);
        (e.code, e.message)
    };
    let missing = Options { ptxas: Some("/nowhere/ptxas".into()), ..with_machine_code(&out, &["sm_90"]) };
    let (code, message) = error(&with_gpu(BOTH), &missing);
    assert!(code == "E0605" && message.contains("/nowhere/ptxas"), "{message}");
    let (code, message) = error(&with_gpu(BOTH), &with_machine_code(&out, &["sm_999"]));
    assert!(code == "E0605" && message.contains("does not know sm_999; it knows sm_80, "), "{message}");
    let (code, _) = error(&program(), &with_machine_code(&out, &["sm_90"]));
    assert_eq!(code, "E0608");
    let mut wrong = with_gpu(BOTH);
    code_of(&mut wrong).variants[1].ptx = ptx("saxpy_any").replace("ld.param", "ld.parm");
    let (code, message) = error(&wrong, &with_machine_code(&out, &["sm_90"]));
    assert_eq!(code, "E0606");
    assert!(
        message.contains("saxpy_any") && message.contains("line 9"),
        "what ptxas says is in the error: {message}"
    );
    let mut fewer = with_gpu(BOTH);
    code_of(&mut fewer).variants.clear();
    assert_eq!(error(&fewer, &strict(&out)).0, "E0511");
}

#[test]
fn a_kernel_without_code_is_said_and_refused_where_it_could_never_run() {
    let dir = temp();
    let out = dir.path().join("tiny");
    let mut program = with_gpu(BOTH);
    *code_of(&mut program) =
        CompiledGpuKernel { absent: Some("`erf` has no code".into()), ..CompiledGpuKernel::default() };
    let (said, heard) = std::sync::mpsc::channel();
    let warn = Box::new(move |text: &str| said.send(text.to_string()).expect("heard"));
    write(&program, &Options { warn, ..with_machine_code(&out, &["sm_90"]) }).expect("a package");
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), ["note: saxpy runs on the CPU only: `erf` has no code"]);
    assert_eq!(look(&out, true), ["cpu", "gpu"]);
    let manifest = fs::read_to_string(out.join("share/tiny/manifest.json")).expect("a text");
    assert!(manifest.contains("\"absent\": \"`erf` has no code\""), "{manifest}");
    let e = write(&Compiled { targets: CUDA, ..program }, &strict(&out)).expect_err("nothing can run it");
    assert_eq!(e.code, "E0609");
}
