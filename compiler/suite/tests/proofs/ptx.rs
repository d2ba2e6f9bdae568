//! The PTX of every operator and cast on every type means what the operator means: the text that the backend prints is read back, as the PTX ISA defines its instructions.
//!
//! What the ISA leaves open is anything: a division by zero, and of the least integer by -1. Integers of 8 and 16 bits live in 32, extended as their sign says; that the
//! result is, too, is part of the claim.

use super::cases::{Case, cases, input};
use super::claim::Claim;
use super::divisions;
use super::smt::{Script, Value, bits, literal};
use arraygpu_compiler::backend::ptx;
use arraygpu_compiler::kernel::{Array, Expr, Kernel, Mem, Stmt};
use arraygpu_compiler::scalar::{BinaryOp, Lit, Ty, UnaryOp};
use std::collections::HashMap;

/// Of all operators, and of constants where the backend looks at them.
pub fn claims() -> Vec<Claim> {
    cases().into_iter().map(claim).chain(packed()).collect()
}

/// Stores of neighbours of one and two bytes: each lies where it belongs, whichever byte of a register it was.
fn packed() -> Vec<Claim> {
    let byte = |i: u32, by: u32| {
        let whole = Expr::In(i);
        if by == 0 { whole } else { Expr::binary(BinaryOp::Shr, whole, Expr::Lit(Lit::u32(by))) }
    };
    type Elements = &'static [(u32, u32)];
    let cases: [(&str, Ty, Elements); 6] = [
        ("low bytes", Ty::U8, &[(0, 0), (1, 0), (2, 0), (0, 0)]),
        ("any bytes", Ty::U8, &[(0, 16), (1, 0), (2, 8), (0, 24)]),
        ("the same byte", Ty::I8, &[(0, 16), (1, 16), (2, 16), (1, 16)]),
        ("two bytes", Ty::U8, &[(0, 8), (1, 24)]),
        ("low halves", Ty::I16, &[(0, 0), (1, 0)]),
        ("any halves", Ty::U16, &[(0, 16), (1, 8)]),
    ];
    let claim = |(case, ty, elements): (&str, Ty, Elements)| {
        let mut k = Kernel { name: "k".into(), threads: 128, ..Kernel::default() };
        k.ins = ["a", "b", "c"].map(|n| (n.to_string(), Ty::U32)).into();
        k.arrays.push(Array {
            name: "out".into(),
            ty,
            write: true,
            strided: false,
            noalias: true,
            aligned: true,
        });
        let values: Vec<Expr> =
            elements.iter().map(|(i, by)| Expr::Cast(ty, Box::new(byte(*i, *by)))).collect();
        k.main = Some(vec![Stmt::StoreVec(Mem::Array(0), Expr::int(0), values.clone())]);
        let mut script = Script::default();
        let inputs = ["a", "b", "c"].map(|n| script.any(Ty::U32, n)).to_vec();
        let mut meant = Vec::new();
        for e in values.iter().rev() {
            let value = super::kernels::expr(&mut script, e, &|e| match e {
                Expr::In(i) => Some(inputs[*i as usize].clone()),
                _ => None,
            });
            meant.push(value.term);
        }
        let mut machine = Machine { script, regs: HashMap::new(), stored: None, inputs, code: vec![] };
        machine.read(&ptx::emit(&k));
        let stored = machine.stored.expect("the word is stored").term;
        let width = 8 * ty.size() * values.len();
        let claim = format!("(= ((_ extract {} 0) {stored}) (concat {}))", width - 1, meant.join(" "));
        let code = machine.code.join(" ");
        Claim::solved("ptx pack", &format!("{case} {ty}"), &code, machine.script.prove(&claim))
            .at("compiler/src/backend/ptx/memory.rs")
    };
    cases.map(claim).into()
}

fn claim(case: Case) -> Claim {
    let names = ["a", "b", "c"];
    let mut k = Kernel { name: "k".into(), threads: 128, ..Kernel::default() };
    k.ins = names.iter().zip(&case.ins).map(|(n, ty)| (n.to_string(), *ty)).collect();
    let result = k.ty(&case.e);
    let out =
        Array { name: "out".into(), ty: result, write: true, strided: false, noalias: true, aligned: true };
    k.arrays.push(out);
    let r = k.reg("r", result);
    let value = Stmt::Let(r, case.e.clone(), Default::default());
    k.main = Some(vec![value, Stmt::Store(Mem::Array(0), Expr::int(0), Expr::Reg(r))]);
    let text = ptx::emit(&k);

    let mut script = if case.divides() { Script::opaque() } else { Script::default() };
    let inputs: Vec<Value> =
        case.ins.iter().zip(names).map(|(ty, name)| input(&mut script, *ty, name)).collect();
    let meant = super::kernels::expr(&mut script, &case.e, &|e| match e {
        Expr::In(i) => Some(inputs[*i as usize].clone()),
        _ => None,
    });
    if let (true, Expr::Binary(op, ..)) = (case.divides(), &case.e) {
        divisions::facts(&mut script, *op, &inputs[0], &inputs[1]);
    }
    let mut machine = Machine { script, regs: HashMap::new(), stored: None, inputs, code: vec![] };
    machine.read(&text);
    let stored = machine.stored.expect("the result is stored");
    let claim = match result {
        ty if ty.is_half() => {
            let low = format!("((_ extract 15 0) {})", stored.term);
            format!("(= ({} {low}) {})", super::smt::to_fp(ty), meant.term)
        }
        Ty::Bool => format!("(= {} (ite {} {} {}))", stored.term, meant.term, bits(32, 1), bits(32, 0)),
        ty if ty.is_int() => format!("(= {} {})", stored.term, extended(ty, &meant.term)),
        _ => format!("(= {} {})", stored.term, meant.term),
    };
    // the bits of a NaN are any NaN's
    let mut script = machine.script;
    let claim = match &case.e {
        Expr::Unary(UnaryOp::ToBits, _) => {
            let [a, b] = [stored.term, meant.term].map(|term| Value { ty: result, term });
            let [a, b] = [a, b].map(|v| script.unary(UnaryOp::FromBits, &v));
            format!("(= {} {})", a.term, b.term)
        }
        _ => claim,
    };
    let (name, of) = case.name.split_once(", ").expect("an operator and a type");
    Claim::solved(&format!("ptx {name}"), of, &machine.code.join(" "), script.prove(&claim))
        .at("compiler/src/backend/ptx")
}

/// An integer in its register.
pub fn extended(ty: Ty, term: &str) -> String {
    let extend = if ty.is_signed() { "sign_extend" } else { "zero_extend" };
    match 8 * ty.size() {
        64 | 32 => term.into(),
        width => format!("((_ {extend} {}) {term})", 32 - width),
    }
}

/// What registers hold: floats, predicates as bool, all else as unsigned integers of their class.
struct Machine {
    script: Script,
    regs: HashMap<String, Value>,
    stored: Option<Value>,
    inputs: Vec<Value>,
    code: Vec<String>,
}

/// The type whose values a register or an instruction's operand has.
fn class(name: &str) -> Option<Ty> {
    Some(match name {
        "pred" => Ty::Bool,
        "f32" => Ty::F32,
        "f64" => Ty::F64,
        "f16" => Ty::F16,
        "bf16" => Ty::Bf16,
        "b16" | "u16" => Ty::U16,
        "s16" => Ty::I16,
        "b32" | "u32" => Ty::U32,
        "s32" => Ty::I32,
        "b64" | "u64" => Ty::U64,
        "s64" => Ty::I64,
        "u8" => Ty::U8,
        "s8" => Ty::I8,
        _ => return None,
    })
}

impl Machine {
    fn read(&mut self, text: &str) {
        for line in text.lines().map(str::trim) {
            let is_code = line.ends_with(';') && !line.starts_with(['.', '/', '{']);
            if !is_code
                || line == "ret;"
                || line.contains("cvta")
                || line.contains("%tid.x")
                || line.contains("ctaid.x")
            {
                continue;
            }
            let (name, operands) = line.trim_end_matches(';').split_once(' ').expect("an instruction");
            let parts: Vec<&str> = name.split('.').collect();
            let operands: Vec<&str> = operands.split(", ").collect();
            match parts[0] {
                "ld" => self.parameter(parts[2], &operands),
                "st" => {
                    self.stored = Some(
                        self.operand(operands[1], unsigned(class(parts[parts.len() - 1]).expect("a type"))),
                    )
                }
                _ if operands[0].starts_with("%n") && parts[0] == "mov" => {}
                "mov" if line.contains('{') => {
                    self.code.push(line.into());
                    self.halves_of_64(&operands);
                }
                _ => {
                    self.code.push(line.into());
                    let value = self.instruction(&parts, &operands);
                    self.regs.insert(operands[0].into(), value);
                }
            }
        }
    }

    /// The array's address is nothing to know of; then the scalars.
    fn parameter(&mut self, ty: &str, operands: &[&str]) {
        let number: usize =
            operands[1].trim_matches(['[', ']']).trim_start_matches("arg").parse().expect("a number");
        let Some(value) = number.checked_sub(1).map(|i| self.inputs[i].clone()) else { return };
        let ty = class(ty).expect("a type");
        let held = match value.ty {
            Ty::Bool => self.script.cast(Ty::U32, &value),
            t if t.is_half() => {
                let bits = Value { ty: Ty::U16, term: format!("{}_bits", ["a", "b", "c"][number - 1]) };
                self.script.cast(Ty::U32, &bits)
            }
            t if t.is_float() => value,
            _ => {
                let read = Value { ty, term: value.term };
                self.script.cast(if ty.size() == 8 { Ty::U64 } else { Ty::U32 }, &read)
            }
        };
        self.regs.insert(operands[0].into(), held);
    }

    /// `mov.b64 {low, high}, x` and `mov.b64 x, {low, high}`.
    fn halves_of_64(&mut self, operands: &[&str]) {
        let names = [0, 1, 2].map(|i| operands[i].trim_matches(['{', '}']));
        if operands[0].starts_with('{') {
            let whole = self.operand(names[2], Ty::U64).term;
            for (name, bits) in [(names[0], "31 0"), (names[1], "63 32")] {
                let half = self.script.define(Ty::U32, &format!("((_ extract {bits}) {whole})"));
                self.regs.insert(name.into(), half);
            }
        } else {
            let [low, high] = [names[1], names[2]].map(|name| self.operand(name, Ty::U32).term);
            let whole = self.script.define(Ty::U64, &format!("(concat {high} {low})"));
            self.regs.insert(names[0].into(), whole);
        }
    }

    /// An operand, as an instruction of the type takes it.
    fn operand(&mut self, text: &str, ty: Ty) -> Value {
        let known = |l: Lit| literal(l);
        if let Some(value) = self.regs.get(text).cloned() {
            return match (value.ty.is_float(), ty.is_float()) {
                _ if value.ty == Ty::Bool => value,
                (true, true) => value,
                (false, true) => {
                    self.script.unary(UnaryOp::FromBits, &Value { ty: unsigned(value.ty), ..value })
                }
                (true, false) => self.script.unary(UnaryOp::ToBits, &value),
                // the same bits, read as signed or not
                (false, false) if value.ty.size() == ty.size() => Value { ty, ..value },
                // a narrow store takes what is in the register
                (false, false) => value,
            };
        }
        if let Some(hex) = text.strip_prefix("0f").or(text.strip_prefix("0d")) {
            let bits = u64::from_str_radix(hex, 16).expect("hexadecimal");
            return known(Lit { ty, bits });
        }
        let number = match text.strip_prefix("0x") {
            Some(hex) => i128::from_str_radix(hex, 16),
            None => text.parse(),
        };
        let number = number.unwrap_or_else(|_| panic!("{text} is not known"));
        let mask = if ty.size() == 8 { u64::MAX } else { (1 << (8 * ty.size())) - 1 };
        known(Lit { ty, bits: number as u64 & mask })
    }

    fn instruction(&mut self, parts: &[&str], operands: &[&str]) -> Value {
        let last = class(parts[parts.len() - 1]).expect("a type");
        let ops: Vec<Value> = match parts[0] {
            "selp" => vec![
                self.operand(operands[1], last),
                self.operand(operands[2], last),
                self.operand(operands[3], Ty::Bool),
            ],
            "setp" if operands.len() == 4 => vec![
                self.operand(operands[1], last),
                self.operand(operands[2], last),
                self.operand(operands[3], Ty::Bool),
            ],
            // the type of an operand depends on the conversion
            "cvt" => vec![],
            "shl" | "shr" => vec![self.operand(operands[1], last), self.operand(operands[2], Ty::U32)],
            _ => operands[1..].iter().map(|o| self.operand(o, last)).collect(),
        };
        let binary = |m: &mut Self, op| m.script.binary(op, &ops[0], &ops[1]);
        let value = match parts[0] {
            "mov" => ops[0].clone(),
            "add" => binary(self, BinaryOp::Add),
            "sub" => binary(self, BinaryOp::Sub),
            "mul" => binary(self, BinaryOp::Mul),
            "and" => binary(self, BinaryOp::And),
            "or" => binary(self, BinaryOp::Or),
            "xor" => binary(self, BinaryOp::Xor),
            "not" => self.script.unary(UnaryOp::Not, &ops[0]),
            "neg" => self.script.unary(UnaryOp::Neg, &ops[0]),
            "abs" => self.script.unary(UnaryOp::Abs, &ops[0]),
            "sqrt" => self.script.unary(UnaryOp::Sqrt, &ops[0]),
            "fma" | "mad" => self.script.mul_add(&ops[0], &ops[1], &ops[2]),
            "div" if last.is_float() => binary(self, BinaryOp::Div),
            "rcp" => {
                assert_eq!(parts[1..], ["rn", "f64"]);
                let one = self.operand("0d3FF0000000000000", last);
                self.script.binary(BinaryOp::Div, &one, &ops[0])
            }
            "div" => divisions::partial(&mut self.script, BinaryOp::Div, &ops[0], &ops[1]),
            "rem" => divisions::partial(&mut self.script, BinaryOp::Rem, &ops[0], &ops[1]),
            "min" if last.is_float() => self.extreme(parts, BinaryOp::Min, &ops),
            "max" if last.is_float() => self.extreme(parts, BinaryOp::Max, &ops),
            "min" => binary(self, BinaryOp::Min),
            "max" => binary(self, BinaryOp::Max),
            "shl" => self.shifted("bvshl", last, &ops),
            "shr" => self.shifted(if last.is_signed() { "bvashr" } else { "bvlshr" }, last, &ops),
            "selp" => self.script.select(&ops[2], &ops[0], &ops[1]),
            "setp" => self.compared(parts, &ops),
            "copysign" => {
                let size = self.script.unary(UnaryOp::Abs, &ops[1]).term;
                self.script
                    .define(last, &format!("(ite (fp.isNegative {}) (fp.neg {size}) {size})", ops[0].term))
            }
            "bfe" => {
                let width: u32 = operands[3].parse().expect("a width");
                assert_eq!((parts[1], operands[2]), ("s32", "0"));
                let low = format!("((_ extract {} 0) {})", width - 1, ops[0].term);
                self.script.define(Ty::U32, &format!("((_ sign_extend {}) {low})", 32 - width))
            }
            "bfi" => {
                let [at, width] = [3, 4].map(|i| operands[i].parse::<u32>().expect("a constant"));
                let low = format!("((_ extract {} 0) {})", width - 1, ops[0].term);
                let below = format!("((_ extract {} 0) {})", at - 1, ops[1].term);
                let above = match at + width {
                    32 => String::new(),
                    end => format!("((_ extract 31 {end}) {})", ops[1].term),
                };
                self.script.define(Ty::U32, &format!("(concat {above} {low} {below})"))
            }
            "prmt" => {
                let selector: u32 = operands[3].parse().expect("a constant");
                let byte = |i: u32| {
                    let n = selector >> (4 * i) & 15;
                    assert!(n < 8, "no sign is copied");
                    let from = 8 * (n % 4);
                    format!("((_ extract {} {from}) {})", from + 7, ops[n as usize / 4].term)
                };
                let bytes: Vec<String> = (0..4).rev().map(byte).collect();
                self.script.define(Ty::U32, &format!("(concat {})", bytes.join(" ")))
            }
            "cvt" => self.converted(&parts[1..], operands[1]),
            other => panic!("{other} is not known"),
        };
        Value { ty: unsigned(value.ty), ..value }
    }

    /// `.NaN`: as ours. Without it a number is preferred to a NaN.
    fn extreme(&mut self, parts: &[&str], op: BinaryOp, ops: &[Value]) -> Value {
        let numbers = self.script.binary(op, &ops[0], &ops[1]);
        if parts[1] == "NaN" {
            return numbers;
        }
        let (a, b) = (&ops[0].term, &ops[1].term);
        let term = format!("(ite (fp.isNaN {a}) {b} (ite (fp.isNaN {b}) {a} {}))", numbers.term);
        self.script.define(ops[0].ty, &term)
    }

    /// More than the width shifts everything out.
    fn shifted(&mut self, how: &str, ty: Ty, ops: &[Value]) -> Value {
        let count = if ty.size() == 8 {
            format!("((_ zero_extend 32) {})", ops[1].term)
        } else {
            ops[1].term.clone()
        };
        self.script.define(ty, &format!("({how} {} {count})", ops[0].term))
    }

    fn compared(&mut self, parts: &[&str], ops: &[Value]) -> Value {
        let (a, b, float) = (&ops[0], &ops[1], ops[0].ty.is_float());
        let either = format!("(or (fp.isNaN {}) (fp.isNaN {}))", a.term, b.term);
        let value = match parts[1] {
            "nan" => self.script.define(Ty::Bool, &either),
            "neu" => self.script.binary(BinaryOp::Ne, a, b),
            "ne" if float => panic!("an ordered comparison"),
            name => self.script.binary(BinaryOp::parse(name).expect("a comparison"), a, b),
        };
        match ops.get(2) {
            Some(c) => self.script.binary(BinaryOp::parse(parts[2]).expect("a join"), &value, c),
            None => value,
        }
    }

    /// `cvt.[rounding.]to.from`
    fn converted(&mut self, parts: &[&str], operand: &str) -> Value {
        let [rounding @ .., to, from] = parts else { panic!("two types") };
        let (to, from) = (class(to).expect("a type"), class(from).expect("a type"));
        let half_bits = |m: &mut Self, ty| {
            let b = m.operand(operand, Ty::U16);
            m.script.define(ty, &format!("({} {})", super::smt::to_fp(ty), b.term))
        };
        let v = if from.is_half() { half_bits(self, from) } else { self.operand(operand, from) };
        match (from.is_float(), to.is_float()) {
            (true, true) if from == to => {
                let op = match rounding {
                    ["rmi"] => UnaryOp::Floor,
                    ["rpi"] => UnaryOp::Ceil,
                    ["rzi"] => UnaryOp::Trunc,
                    ["rni"] => UnaryOp::RoundTiesEven,
                    other => panic!("{other:?} is not known"),
                };
                self.script.unary(op, &v)
            }
            (true, true) if to.is_half() => {
                let rounded = self.script.cast(to, &v);
                let bits = self.script.fresh(Ty::U16);
                self.script.assume(&format!(
                    "(= ({} {}) {})",
                    super::smt::to_fp(to),
                    bits.term,
                    rounded.term
                ));
                bits
            }
            (true, false) => {
                assert_eq!(rounding, ["rzi"]);
                let cut = self.script.cast(to, &v);
                // of a NaN 0 between types of 32 bits, else the highest bit
                if from != Ty::F64 && to.size() < 8 {
                    return cut;
                }
                let high = bits(8 * to.size() as u32, 1 << (8 * to.size() - 1));
                self.script.define(to, &format!("(ite (fp.isNaN {}) {high} {})", v.term, cut.term))
            }
            _ => self.script.cast(to, &v),
        }
    }
}

fn unsigned(ty: Ty) -> Ty {
    match ty {
        Ty::I8 => Ty::U8,
        Ty::I16 => Ty::U16,
        Ty::I32 => Ty::U32,
        Ty::I64 => Ty::U64,
        ty => ty,
    }
}
