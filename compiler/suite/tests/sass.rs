//! What NVIDIA's assembler makes of roundings: a product and a sum that are two roundings in the program are two
//! instructions in the machine code as well, of every type, and one where the author wrote `mul_add` or allowed it
//! by `fast_math`.

use arraygpu_compiler::core::parse;
use arraygpu_compiler::driver::{Targets, compile_for};
use arraygpu_compiler::package::ptxas::{Arch, Ptxas};
use arraygpu_suite::ptxas::{architectures, find};
use arraygpu_suite::sass::instructions;

/// Operations that round, by the low byte of an instruction; the bits above it say where operands lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Roundings {
    products: usize,
    sums: usize,
    both: usize,
}

fn roundings(cubin: &[u8], double: bool) -> Roundings {
    let code = instructions(cubin);
    assert!(code.len() > 8, "{} instructions", code.len());
    // FMUL, FADD, FFMA; DMUL, DADD, DFMA
    let [product, sum, both] = if double { [0x28, 0x29, 0x2b] } else { [0x20, 0x21, 0x23] };
    let count = |of: u16| code.iter().filter(|op| (0x200..0xf00).contains(*op) && **op & 0xff == of).count();
    Roundings { products: count(product), sums: count(sum), both: count(both) }
}

/// The machine code of the first version of the only kernel.
fn assembled(ptxas: &Ptxas, arch: Arch, body: &str, ty: &str, fast: bool) -> Vec<u8> {
    let text = format!(
        "func @f(%x: [{ty}], %y: [{ty}], %z: [{ty}]) -> (r: [{ty}]) {{
  %n = len %x
  %0 = len %y
  %1 = len %z
  require same %n, %0 \"y\"
  require same %n, %1 \"z\"
  %r = map (%a: {ty}, %b: {ty}, %c: {ty}) over %x, %y, %z {{
{body}
    yield %t
  }}
  return %r
}}"
    );
    let mut functions = parse::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    functions[0].fast = fast;
    let c = compile_for("t", functions, Targets { cpu: false, cuda: true }).expect("it compiles");
    let ptx = c.gpu_variants().next().expect("a version").ptx.clone();
    let folder = tempfile::tempdir().expect("a folder");
    let files = ("a.ptx", "a.cubin");
    ptxas.assemble(arch, &ptx, folder.path(), files).unwrap_or_else(|e| panic!("{e}"));
    std::fs::read(folder.path().join("a.cubin")).expect("a cubin")
}

const APART: [&str; 3] = [
    "    %p = mul %a, %b\n    %t = add %p, %c",
    "    %p = mul %a, %b\n    %t = sub %c, %p",
    // a product that two sums need, and a sum of two products
    "    %p = mul %a, %b\n    %q = mul %b, %c\n    %s = add %p, %q\n    %u = sub %p, %c\n    %t = add %s, %u",
];
const JOINED: &str = "    %t = mul_add %a, %b, %c";

#[test]
fn two_roundings_are_two_instructions() {
    let ptxas = find();
    for arch in architectures(&ptxas) {
        for ty in ["f32", "f64"] {
            let of = |body: &str| roundings(&assembled(&ptxas, arch, body, ty, false), ty == "f64");
            for body in APART {
                let found = of(body);
                let what = format!("{ty}, {arch}: {found:?} of\n{body}");
                assert_eq!(found.both, 0, "{what}");
                let written = |op: &str| body.lines().filter(|l| l.contains(&format!("= {op} "))).count();
                let (products, sums) = (written("mul"), written("add") + written("sub"));
                // a thread has several elements, and elements at the end have code of their own
                assert!(found.products > 0 && found.products * sums == found.sums * products, "{what}");
            }
            let found = of(JOINED);
            assert!(found.both > 0 && found.products == 0 && found.sums == 0, "{ty}, {arch}: {found:?}");
        }
    }
}

#[test]
fn what_may_be_contracted_is() {
    let ptxas = find();
    let found = roundings(&assembled(&ptxas, architectures(&ptxas)[1], APART[0], "f32", true), false);
    assert!(found.both > 0 && found.products == 0 && found.sums == 0, "{found:?}");
}
