//! Random straight code: each pass over kernels must keep what a kernel stores, for all operands. The claims of
//! `kernels` name the forms that the passes know; these join the forms.

use super::claim::Claim;
use super::kernels::{State, kernel};
use super::smt::{Script, Value};
use arraygpu_compiler::kernel::{Kernel, Stmt, avoid_negated_min, cse, if_conversion, index, narrow};
use arraygpu_compiler::scalar::{Lit, Ty, eval_cast};
use arraygpu_suite::rng::Rng;

/// Kernels of each pass.
const KERNELS: usize = 40;

/// An operator of one operand: a product with a constant, -1 among them. Products of two operands take solvers
/// minutes; `kernels` has some.
const SCALED: &str = "scaled";

/// A pass, and what it is tried on.
struct Pass {
    name: &'static str,
    place: &'static str,
    run: fn(&mut Kernel),
    /// Types of the operands, each by turns.
    types: &'static [Ty],
    /// Operators of two operands.
    operators: &'static [&'static str],
    /// An index is claimed to be the same only where it is in bounds of 31 bits.
    in_bounds: bool,
}

const PASSES: [Pass; 4] = [
    Pass {
        name: "common code",
        place: "compiler/src/kernel/cse.rs",
        run: cse::run,
        types: &[Ty::I64],
        operators: &["add", "sub", "mul", "min", "max", "and", "rem", "div"],
        in_bounds: false,
    },
    Pass {
        name: "predicated code",
        place: "compiler/src/kernel/if_conversion.rs",
        run: if_conversion::run,
        types: &[Ty::I32, Ty::I64, Ty::U32],
        operators: &["add", "sub", "mul", "min", "or", "xor"],
        in_bounds: false,
    },
    Pass {
        name: "narrow code",
        place: "compiler/src/kernel/narrow.rs",
        run: narrow::run,
        types: &[Ty::I64],
        operators: &["add", "sub", "add", "sub", SCALED, "max", "shr"],
        in_bounds: true,
    },
    Pass {
        name: "compared code",
        place: "compiler/src/kernel/avoid_negated_min.rs",
        run: avoid_negated_min::run,
        types: &[Ty::I32, Ty::I8, Ty::U16, Ty::U32],
        operators: &["min", "max", "sub", "sub", "add", SCALED],
        in_bounds: false,
    },
];

/// Claims of every pass, and of the constants that addresses take out of indices.
pub fn claims() -> Vec<Claim> {
    PASSES.iter().flat_map(of_pass).chain(split_indices()).collect()
}

/// Only kernels that the pass changes.
fn of_pass(pass: &Pass) -> Vec<Claim> {
    let mut out = Vec::new();
    for seed in 1.. {
        let mut code = Code::new(pass, seed);
        let text = code.body();
        let before = kernel(&code.head(), &text);
        let mut after = before.clone();
        (pass.run)(&mut after);
        if before == after || after.main.as_deref().is_some_and(|m| m.is_empty()) {
            continue;
        }
        out.push(same(pass, seed, &text, [&before, &after]));
        if out.len() == KERNELS {
            break;
        }
    }
    out
}

/// Both kernels store the same values at the same indices, in the same order.
fn same(pass: &Pass, seed: usize, text: &str, [before, after]: [&Kernel; 2]) -> Claim {
    let mut s = Script::opaque();
    let ins: Vec<Value> = before.ins.clone().iter().map(|(name, ty)| s.any(*ty, name)).collect();
    let [before, after] = [before, after].map(|k| State::of(&mut s, k, &ins).stored);
    assert_eq!(before.len(), after.len(), "stores of {text}");
    let mut claim = Vec::new();
    for ([index, value], [index_after, value_after]) in before.iter().zip(&after) {
        let wide =
            if index_after.ty == index.ty { index_after.clone() } else { s.cast(index.ty, index_after) };
        let equal = format!("(= {} {})", index.term, wide.term);
        claim.push(match pass.in_bounds {
            true => format!("(=> (bvult {} (_ bv2147483648 64)) {equal})", index.term),
            false => equal,
        });
        claim.push(format!("(= {} {})", value.term, value_after.term));
    }
    let says = format!("the {} stores of straight code of {} lines stay", before.len(), text.lines().count());
    Claim::solved(pass.name, &format!("seed {seed}"), &says, s.prove(&format!("(and {})", claim.join(" "))))
        .at(pass.place)
}

/// Indices as addresses have them.
const INDICES: Pass = Pass {
    name: "index",
    place: "compiler/src/kernel/index.rs",
    run: |_| (),
    types: &[Ty::I64],
    operators: &["add", "sub", "add", "sub", "mul"],
    in_bounds: false,
};

/// An index is its part that is not constant plus the constant.
fn split_indices() -> Vec<Claim> {
    let mut out = Vec::new();
    for seed in 1.. {
        let mut code = Code::new(&INDICES, seed);
        let text = code.value(3);
        let k = kernel(&code.head(), &format!("out[{text}] = a"));
        let Some([Stmt::Store(_, i, _)]) = k.main.as_deref() else { panic!("one store") };
        let (Some(part), constant) = index::split(i) else { continue };
        if constant == 0 {
            continue;
        }
        let mut s = Script::opaque();
        let ins: Vec<Value> = k.ins.clone().iter().map(|(name, ty)| s.any(*ty, name)).collect();
        let state = State::with(&ins);
        let [whole, part] = [i, &*part].map(|e| state.value(&mut s, e).term);
        let claim = s.prove(&format!("(= {whole} (bvadd {part} (_ bv{} 64)))", constant as u64));
        out.push(Claim::solved(INDICES.name, &format!("seed {seed}"), &text, claim).at(INDICES.place));
        if out.len() == KERNELS {
            break;
        }
    }
    out
}

/// Makes the text of a kernel.
struct Code<'a> {
    rng: Rng,
    ty: Ty,
    pass: &'a Pass,
    /// What an expression may name.
    values: Vec<String>,
    /// What may be assigned.
    variables: Vec<String>,
    /// Names so far.
    made: usize,
}

impl<'a> Code<'a> {
    fn new(pass: &'a Pass, seed: usize) -> Code<'a> {
        let ty = pass.types[seed % pass.types.len()];
        let values = ["a", "b", "c"].map(String::from).into();
        Code { rng: Rng::new(seed as u64), ty, pass, values, variables: Vec::new(), made: 0 }
    }

    fn head(&self) -> String {
        let ty = self.ty;
        format!("{ty} in a: {ty} in b: {ty} in c: {ty} threads 128")
    }

    fn body(&mut self) -> String {
        let mut out = self.statement(0);
        for _ in 0..3 + self.rng.below(4) {
            out += &self.statement(0);
        }
        let stored = self.store();
        out + &stored
    }

    fn name(&mut self) -> String {
        self.made += 1;
        format!("%r{}", self.made)
    }

    fn statement(&mut self, depth: usize) -> String {
        match self.rng.below(8) {
            0 | 1 => {
                let (value, name) = (self.value(3), self.name());
                self.values.push(name.clone());
                format!("let {name}: {} = {value}\n", self.ty)
            }
            2 | 3 => {
                let (value, name) = (self.value(2), self.name());
                self.values.push(name.clone());
                self.variables.push(name.clone());
                format!("var {name}: {} = {value}\n", self.ty)
            }
            4 if !self.variables.is_empty() => {
                let i = self.rng.below(self.variables.len());
                let name = self.variables[i].clone();
                format!("{name} = {}\n", self.value(2))
            }
            5 | 6 if depth < 2 => self.branch(depth),
            _ => self.store(),
        }
    }

    /// What a branch declares is not seen behind it.
    fn branch(&mut self, depth: usize) -> String {
        let condition = self.condition();
        let arm = |code: &mut Self| {
            let before = (code.values.len(), code.variables.len());
            let text: String = (0..1 + code.rng.below(2)).map(|_| code.statement(depth + 1)).collect();
            code.values.truncate(before.0);
            code.variables.truncate(before.1);
            text
        };
        let then = arm(self);
        let otherwise = if self.rng.one_in(3) { format!(" else {{\n{}}}", arm(self)) } else { String::new() };
        format!("if {condition} {{\n{then}}}{otherwise}\n")
    }

    fn store(&mut self) -> String {
        let index = if self.ty == Ty::I64 { self.value(3) } else { format!("cast i64({})", self.value(1)) };
        format!("out[{index}] = {}\n", self.value(2))
    }

    fn condition(&mut self) -> String {
        let compare = self.rng.pick(&["lt", "le", "eq", "ne"]);
        format!("{compare}({}, {})", self.value(1), self.value(1))
    }

    fn value(&mut self, depth: usize) -> String {
        let ty = self.ty;
        if depth == 0 || self.rng.one_in(5) {
            if self.rng.one_in(4) {
                let most = if ty.is_signed() { &[-1, 0, 1, 3, 7][..] } else { &[0, 1, 3, 7, 32] };
                return format!("{}{ty}", self.rng.pick(most));
            }
            let i = self.rng.below(self.values.len());
            return self.values[i].clone();
        }
        match self.rng.below(10) {
            0 => {
                format!("select({}, {}, {})", self.condition(), self.value(depth - 1), self.value(depth - 1))
            }
            1 => format!("neg({})", self.value(depth - 1)),
            2 if ty == Ty::I64 => format!("cast i64(cast i32({}))", self.value(depth - 1)),
            _ => {
                let op = self.rng.pick(self.pass.operators);
                if op == SCALED {
                    let minus_one = eval_cast(ty, Lit::i64(-1)).to_string();
                    let factor = self.rng.pick(&["3", "12", "100", &minus_one]);
                    let factor = factor.trim_end_matches(ty.name());
                    return format!("mul({}, {factor}{ty})", self.value(depth - 1));
                }
                format!("{op}({}, {})", self.value(depth - 1), self.value(depth - 1))
            }
        }
    }
}
