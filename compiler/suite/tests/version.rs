//! The version of the arithmetic (semantics section 9): no bit of any result changes within one.
//! `golden/arithmetic_1.txt` has a hash of every operator's and function's results on 2^15 inputs of each float type.
//!
//! A line that differs is version 2 of the arithmetic (`package::ARITH_VERSION`), not a golden to bless. `BLESS=1`
//! adds the lines of new functions and keeps all others.

use arraygpu_compiler::package::ARITH_VERSION;
use arraygpu_compiler::scalar::{BinaryOp, Lit, Ty, UnaryOp, eval_binary, eval_unary};
use arraygpu_suite::tests_folder;

const INPUTS: u64 = 1 << 15;

/// Bits of all sizes and signs, special values among them, and every second number of an ordinary size.
fn input(ty: Ty, i: u64) -> Lit {
    let mixed = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    match i % 4 {
        0 => Lit { ty, bits: mixed >> (64 - 8 * ty.size()) },
        1 => Lit::float(
            ty,
            [0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 0.5][(mixed >> 61) as usize],
        ),
        _ => Lit::float(ty, (mixed >> 11) as f64 / (1u64 << 48) as f64 - 16.0),
    }
}

/// FNV-1a.
fn hash(values: impl Iterator<Item = Lit>) -> u64 {
    let bytes = values.flat_map(|l| l.canonical().bits.to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

fn lines() -> Vec<String> {
    let mut all = Vec::new();
    for ty in [Ty::F32, Ty::F64, Ty::F16, Ty::Bf16] {
        let count = if ty.size() == 2 { INPUTS / 8 } else { INPUTS };
        let x = || (0..count).map(|i| input(ty, i));
        let y = || (0..count).map(|i| input(ty, i / 3 + INPUTS));
        // the bits of a NaN may be any
        for op in UnaryOp::ALL.iter().filter(|op| op.accepts(ty) && op.is_exact()) {
            all.push(format!("{op} {ty} {:016x}", hash(x().map(|x| eval_unary(*op, x)))));
        }
        for op in BinaryOp::ALL.iter().filter(|op| op.accepts(ty) && op.is_exact()) {
            all.push(format!("{op} {ty} {:016x}", hash(x().zip(y()).map(|(x, y)| eval_binary(*op, x, y).0))));
        }
    }
    all
}

#[test]
fn no_bit_has_changed() {
    assert_eq!(ARITH_VERSION, 1, "a golden file for each version");
    let path = tests_folder().join("golden/arithmetic_1.txt");
    let mut golden = std::fs::read_to_string(&path).unwrap_or_default();
    let known = |golden: &str, line: &str| {
        let name = &line[..line.len() - 16];
        golden.lines().find(|l| l.starts_with(name)).map(|l| l == line)
    };
    let (before, mut missing) = (golden.len(), Vec::new());
    for line in lines() {
        match known(&golden, &line) {
            Some(same) => assert!(same, "{line}: other bits than version {ARITH_VERSION} has"),
            None if std::env::var_os("BLESS").is_some_and(|v| v == "1") => golden += &format!("{line}\n"),
            None => missing.push(line),
        }
    }
    assert!(missing.is_empty(), "BLESS=1 adds {}", missing.join(", "));
    if golden.len() > before {
        std::fs::write(&path, golden).unwrap();
    }
}
