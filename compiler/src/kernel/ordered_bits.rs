//! Minima and maxima of f32 that feed each other, as in sorting networks, become minima and maxima of integers: one
//! instruction each, where IEEE's rules for NaN and signed zeros take three and five. The integer, called the *key*,
//! is the float's bits; in negative floats all bits but the sign are inverted, so that keys have the order of the
//! numbers. NaN are tested once, among the inputs of the network (its leaves).
//!
//! ```text
//! let %low: f32 = min(%a, %b)    let %high: f32 = max(%a, %b)    x[%i] = max(%c, min(%low, %d))
//! ->
//! let %key_a: i32 = xor(%bits_a, and(shr(%bits_a, 31i32), 2147483647i32)) ..
//! let %key_low: i32 = min(%key_a, %key_b) ..
//! x[%i] = select(any of %a, %b, %c, %d is NaN, nan, the float of max(%key_c, min(%key_low, %key_d)))
//! ```
//!
//! This pass is for CPUs only, and for loops whose bodies are straight-line code, if the network is large enough to
//! make up for computing keys.

use super::parts::find_variables;
use super::{Expr, Kernel, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// Numbers of operations: of a minimum and of a maximum by IEEE's rules; of computing the key of a value and testing
/// it for NaN; and of computing the number of a key.
const MIN: usize = 3;
const MAX: usize = 5;
const KEY: usize = 3;
const NUMBER: usize = 4;

/// Runs the pass on `main`.
pub fn run(k: &mut Kernel) {
    k.rewrite_main(|k, body| {
        let mut variables = vec![false; k.regs.len()];
        find_variables(body, &mut variables);
        block(k, body, &variables);
    });
}

fn block(k: &mut Kernel, body: &mut [Stmt], variables: &[bool]) {
    for s in body {
        s.blocks_mut().for_each(|b| block(k, b, variables));
        let Stmt::For(.., inner) = s else { continue };
        if inner.iter().any(|s| s.blocks().into_iter().any(|b| !b.is_empty())) {
            continue;
        }
        let network = Network::of(k, inner, variables);
        if network.pays() {
            let (keys, nans) = (HashMap::default(), HashMap::default());
            *inner = Rewriting { k, network, variables, keys, nans, out: vec![] }.body(inner);
        }
    }
}

/// Returns the operands of a minimum or maximum of f32.
fn compared<'e>(k: &Kernel, e: &'e Expr) -> Option<(BinaryOp, &'e Expr, &'e Expr)> {
    match e {
        Expr::Binary(op @ (BinaryOp::Min | BinaryOp::Max), a, b) if k.ty(a) == Ty::F32 => Some((*op, a, b)),
        _ => None,
    }
}

/// The minima and maxima of a loop's body, except those in the arms of selections, which may not be computed.
#[derive(Default)]
struct Network {
    /// The registers that are minima or maxima.
    inner: HashSet<Reg>,
    /// Those of `inner` that other operations need as numbers.
    numbers: HashSet<Reg>,
    /// The registers that are compared, but are not minima or maxima themselves.
    leaves: HashSet<Reg>,
    /// The number of operations by IEEE's rules.
    before: usize,
    /// The number of operations on integers, without those for the keys of `leaves` and for the numbers of `numbers`.
    after: usize,
    has_nan: bool,
}

impl Network {
    fn of(k: &Kernel, body: &[Stmt], variables: &[bool]) -> Network {
        let mut network = Network::default();
        for s in body {
            match s {
                Stmt::Let(r, e, _) if compared(k, e).is_some() => {
                    network.inner.insert(*r);
                    network.compare(k, e, variables);
                }
                s => s.expressions(&mut |e| network.other(k, e, variables)),
            }
        }
        network
    }

    fn pays(&self) -> bool {
        let after = self.after + KEY * self.leaves.len() + NUMBER * self.numbers.len();
        !self.has_nan && self.before > after
    }

    /// Adds an operand of a minimum or maximum.
    fn compare(&mut self, k: &Kernel, e: &Expr, variables: &[bool]) {
        if let Some((op, a, b)) = compared(k, e) {
            self.before += if op == BinaryOp::Min { MIN } else { MAX };
            self.after += 1;
            self.compare(k, a, variables);
            self.compare(k, b, variables);
            return;
        }
        match e {
            Expr::Reg(r) if self.inner.contains(r) => {}
            Expr::Reg(r) if !is_variable(variables, *r) => drop(self.leaves.insert(*r)),
            Expr::Lit(l) => self.has_nan |= l.as_f32().is_nan(),
            e => {
                self.after += KEY;
                self.other(k, e, variables);
            }
        }
    }

    /// Adds the minima and maxima inside of another expression.
    fn other(&mut self, k: &Kernel, e: &Expr, variables: &[bool]) {
        if compared(k, e).is_some() {
            self.after += NUMBER;
            return self.compare(k, e, variables);
        }
        match e {
            Expr::Reg(r) if self.inner.contains(r) => drop(self.numbers.insert(*r)),
            Expr::Select(..) | Expr::LoadIf(..) => self.apart(e),
            e => e.children(|child| self.other(k, child, variables)),
        }
    }

    /// Adds an expression that stays as it is, because parts of it are computed conditionally.
    fn apart(&mut self, e: &Expr) {
        if let Expr::Reg(r) = e
            && self.inner.contains(r)
        {
            self.numbers.insert(*r);
        }
        e.children(|child| self.apart(child));
    }
}

/// Whether a register is assigned more than once. Registers that the pass makes are not.
fn is_variable(variables: &[bool], r: Reg) -> bool {
    variables.get(r.0 as usize).copied().unwrap_or(false)
}

struct Rewriting<'k> {
    k: &'k mut Kernel,
    network: Network,
    variables: &'k [bool],
    /// The keys of registers.
    keys: HashMap<Reg, Reg>,
    /// For each minimum or maximum, the leaves that it depends on, any of which may be NaN.
    nans: HashMap<Reg, Vec<Reg>>,
    out: Vec<Stmt>,
}

impl Rewriting<'_> {
    fn body(mut self, body: &[Stmt]) -> Vec<Stmt> {
        for s in body {
            if let Stmt::Let(r, e, loc) = s
                && self.network.inner.contains(r)
            {
                let mut of = Vec::new();
                let key = self.compare(e, &mut of);
                let key = self.named("key", Ty::I32, key);
                if self.network.numbers.contains(r) {
                    self.out.push(Stmt::Let(*r, number(key, &of), loc.clone()));
                }
                self.keys.insert(*r, key);
                self.nans.insert(*r, of);
                continue;
            }
            let mut s = s.clone();
            s.expressions_mut(&mut |e| self.other(e));
            self.out.push(s);
        }
        self.out
    }

    fn named(&mut self, name: &'static str, ty: Ty, e: Expr) -> Reg {
        let r = self.k.reg(name, ty);
        self.out.push(Stmt::Let(r, e, Default::default()));
        r
    }

    /// Returns the key of an operand of a minimum or maximum, and adds the leaves that it depends on to `of`.
    fn compare(&mut self, e: &Expr, of: &mut Vec<Reg>) -> Expr {
        if let Some((op, a, b)) = compared(self.k, e) {
            return Expr::binary(op, self.compare(a, of), self.compare(b, of));
        }
        let own = match e {
            Expr::Lit(l) => {
                let bits = l.as_f32().to_bits().cast_signed();
                return Expr::Lit(Lit::i32(bits ^ (bits >> 31 & i32::MAX)));
            }
            Expr::Reg(r) if !is_variable(self.variables, *r) => *r,
            e => {
                let mut e = e.clone();
                self.other(&mut e);
                self.named("compared", Ty::F32, e)
            }
        };
        let all = self.nans.get(&own).cloned().unwrap_or_else(|| vec![own]);
        all.into_iter().for_each(|r| {
            if !of.contains(&r) {
                of.push(r);
            }
        });
        if let Some(key) = self.keys.get(&own) {
            return Expr::Reg(*key);
        }
        let bits = Expr::Unary(UnaryOp::ToBits, Box::new(Expr::Reg(own)));
        let bits = self.named("bits", Ty::I32, Expr::Cast(Ty::I32, Box::new(bits)));
        let key = self.named("key", Ty::I32, swapped(bits));
        self.keys.insert(own, key);
        Expr::Reg(key)
    }

    /// Rewrites the minima and maxima inside of another expression.
    fn other(&mut self, e: &mut Expr) {
        if compared(self.k, e).is_some() {
            let mut of = Vec::new();
            let key = self.compare(e, &mut of);
            let key = self.named("key", Ty::I32, key);
            *e = number(key, &of);
            return;
        }
        if let Expr::Select(c, nan, value) = e
            && let (Expr::Binary(BinaryOp::Ne, a, b), Expr::Reg(r)) = (&**c, &**value)
            && a == b
            && *a == *value
            && **nan == Expr::Lit(Lit::f32(f32::NAN).canonical())
            && self.network.numbers.contains(r)
        {
            // the register holds no NaN but the canonical one, so a selection that makes NaN canonical is not needed
            *e = Expr::Reg(*r);
            return;
        }
        if !matches!(e, Expr::Select(..) | Expr::LoadIf(..)) {
            e.children_mut(|child| self.other(child));
        }
    }
}

/// Returns the key of a float's bits, or the bits of a key: the mapping is its own inverse.
fn swapped(bits: Reg) -> Expr {
    let sign = Expr::binary(BinaryOp::Shr, Expr::Reg(bits), Expr::Lit(Lit::i32(31)));
    let others = Expr::binary(BinaryOp::And, sign, Expr::Lit(Lit::i32(i32::MAX)));
    Expr::binary(BinaryOp::Xor, Expr::Reg(bits), others)
}

/// Returns the number of a key, or NaN if one of the leaves `of` is NaN.
fn number(key: Reg, of: &[Reg]) -> Expr {
    let bits = Expr::Cast(Ty::U32, Box::new(swapped(key)));
    let number = Expr::Unary(UnaryOp::FromBits, Box::new(bits));
    let is_nan = |r: &Reg| Expr::binary(BinaryOp::Ne, Expr::Reg(*r), Expr::Reg(*r));
    let any = of.iter().map(is_nan).reduce(|a, b| Expr::binary(BinaryOp::Or, a, b));
    let nan = Expr::Lit(Lit::f32(f32::NAN).canonical());
    match any {
        Some(any) => Expr::Select(Box::new(any), Box::new(nan), Box::new(number)),
        None => number,
    }
}
