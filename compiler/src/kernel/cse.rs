//! Common subexpression elimination for integers: a value that is computed twice is kept in a register, until the end
//! of the block that computes it first.
//!
//! ```text
//! let %a: f32 = x[add(mul(%i, n_x), %j)]          let %common0: i64 = add(mul(%i, n_x), %j)
//! let %b: f32 = y[add(mul(%i, n_x), %j)]    ->    let %a: f32 = x[%common0]
//!                                                 let %b: f32 = y[%common0]
//! ```
//!
//! The method is scoped value numbering: equal operations on equal operands have one number, and a number has a
//! register from the statement that first computes it up to the end of that statement's block. Left alone are:
//! operations on floats, because lowering already binds shared values of these to registers; variables and loads,
//! whose values change; and sums with a constant, which an address adds at no cost ([`super::index`]). The pass runs
//! before divisions are expanded, each to about twenty statements.

use super::index::split;
use super::parts::find_variables;
use super::{Expr, Kernel, Mem, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};
use rustc_hash::FxHashMap;

/// Runs the pass on `main`.
pub fn run(k: &mut Kernel) {
    k.rewrite_main(|k, body| {
        let mut changing = vec![false; k.regs.len()];
        find_variables(body, &mut changing);
        let mut pass = CommonSubexpressions {
            of_register: vec![None; changing.len()],
            copied: vec![None; changing.len()],
            changing,
            numbers: FxHashMap::default(),
            first: Vec::new(),
            undo: Vec::new(),
            uses: Vec::new(),
            computations: 0,
            nodes: Vec::new(),
            repeats: false,
            rewrites: false,
            strided: k.arrays.iter().any(|a| a.strided),
            k,
        };
        pass.block(body);
        if pass.repeats {
            (pass.rewrites, pass.computations) = (true, 0);
            pass.block(body);
        }
    });
}

/// An operation with the numbers of its operands: operations with equal keys have equal values.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Lit(Lit),
    Reg(Reg),
    In(u32),
    Place(u8),
    Unary(UnaryOp, u32),
    Binary(BinaryOp, u32, u32),
    MulAdd(u32, u32, u32),
    Select(u32, u32, u32),
    Cast(Ty, u32),
}

/// The first computation of a number in the blocks that enclose the current statement (the open blocks).
#[derive(Clone, Copy)]
struct First {
    /// The position of this computation among all of the kernel; both walks meet them in the same order.
    computation: usize,
    /// The register that holds the value, if there is one.
    register: Option<Reg>,
}

/// A node of the current expression.
#[derive(Clone, Copy)]
struct Node {
    number: Option<u32>,
    /// Whether its value is worth a register.
    named: bool,
    /// The number of nodes below it, itself included.
    size: usize,
}

/// The state of two identical walks over the kernel: the first one counts the uses of each computation, the second
/// one rewrites.
struct CommonSubexpressions<'a> {
    k: &'a mut Kernel,
    /// Whether any array has a stride.
    strided: bool,
    /// For each register, whether it is a variable, whose value changes.
    changing: Vec<bool>,
    numbers: FxHashMap<Key, u32>,
    /// For each register that `let` defines, the number of its value.
    of_register: Vec<Option<u32>>,
    /// For each register, the register that it is a copy of.
    copied: Vec<Option<Reg>>,
    /// The first computation of each number.
    first: Vec<Option<First>>,
    /// The numbers that were first computed in an open block, in order.
    undo: Vec<u32>,
    /// How often each computation is used.
    uses: Vec<u32>,
    /// How many computations the current walk has met.
    computations: usize,
    /// The nodes of the current expression in preorder.
    nodes: Vec<Node>,
    /// Whether anything is computed twice; if not, there is no second walk.
    repeats: bool,
    rewrites: bool,
}

impl CommonSubexpressions<'_> {
    /// Walks a block. Values that are first computed in it are forgotten at its end.
    fn block(&mut self, body: &mut Vec<Stmt>) {
        let open = self.undo.len();
        if self.rewrites {
            let mut out = Vec::with_capacity(body.len());
            for mut s in std::mem::take(body) {
                self.stmt(&mut s, &mut out);
                out.push(s);
            }
            *body = out;
        } else {
            body.iter_mut().for_each(|s| self.stmt(s, &mut Vec::new()));
        }
        for number in self.undo.drain(open..) {
            self.first[number as usize] = None;
        }
    }

    fn stmt(&mut self, s: &mut Stmt, out: &mut Vec<Stmt>) {
        match s {
            // the condition stays as it is, because it is computed again before each iteration
            Stmt::While(_, body) => self.block(body),
            Stmt::Let(r, e, _) => self.bound(*r, e, out),
            Stmt::LoadVec(_, m, i) | Stmt::LoadMatrices { from: m, index: i, .. } => self.index(*m, i, out),
            Stmt::CopyAsync { to, at, from, index, given, .. } => {
                given.iter_mut().for_each(|e| self.expr(e, out));
                self.index(*to, at, out);
                self.index(*from, index, out);
            }
            Stmt::Store(m, i, e) | Stmt::Update(_, m, i, e) => {
                self.expr(e, out);
                self.index(*m, i, out);
            }
            Stmt::StoreTo(m, i, rank, e) => {
                self.expr(e, out);
                self.expr(rank, out);
                self.index(*m, i, out);
            }
            Stmt::StoreVec(m, i, values) => {
                values.iter_mut().for_each(|e| self.expr(e, out));
                self.index(*m, i, out);
            }
            // a branch with a single read becomes a predicated read, whose address is computed unconditionally: so it
            // is treated like a statement outside the branch
            Stmt::If(c, then, otherwise) if reads_only(then) && otherwise.is_empty() => {
                self.expr(c, out);
                then[0].expressions_mut(&mut |e| self.expr(e, out));
            }
            s => {
                s.expressions_mut(&mut |e| self.expr(e, out));
                s.blocks_mut().for_each(|b| self.block(b));
            }
        }
    }

    /// Walks a `let`. If its value is new, the register of the `let` holds it from here on; otherwise that register
    /// gets the number of the known value. Uses of a register that is a copy become uses of the register that it
    /// copies.
    fn bound(&mut self, r: Reg, e: &mut Expr, out: &mut Vec<Stmt>) {
        self.number(e);
        if let Expr::Reg(from) = e
            && !self.changing[from.0 as usize]
        {
            self.copied[r.0 as usize] = Some(*from);
        }
        let Node { number, named, .. } = self.nodes[0];
        match number.filter(|n| named && self.first[*n as usize].is_none()) {
            Some(number) => {
                let computation = self.computation();
                self.operands(e, 0, out);
                self.known(number, First { computation, register: Some(r) });
            }
            None => self.visit(e, 0, out),
        }
        self.of_register[r.0 as usize] = number.filter(|_| named);
        self.nodes.clear();
    }

    fn expr(&mut self, e: &mut Expr, out: &mut Vec<Stmt>) {
        self.number(e);
        self.visit(e, 0, out);
        self.nodes.clear();
    }

    /// Walks the index of an access. A constant summand stays at the top, where the address can add it at no cost.
    fn index(&mut self, m: Mem, i: &mut Expr, out: &mut Vec<Stmt>) {
        self.split(m, i);
        self.expr(i, out);
    }

    /// Writes an index as the sum of a part that is not constant and a constant.
    fn split(&self, m: Mem, i: &mut Expr) {
        let strided = matches!(m, Mem::Array(a) if self.k.arrays[a as usize].strided);
        if !strided
            && let (Some(part), c) = split(i)
            && c != 0
        {
            let narrow = self.k.ty(&part) == Ty::I32;
            let c = if narrow { Lit::i32(c as i32) } else { Lit::i64(c) };
            *i = part.into_owned().plus(Expr::Lit(c));
        }
    }

    /// Numbers an expression and the nodes below it, and splits the indices of its loads. Returns the expression's
    /// number and type.
    fn number(&mut self, e: &mut Expr) -> (Option<u32>, Ty) {
        let at = self.nodes.len();
        self.nodes.push(Node { number: None, named: false, size: 1 });
        if let Expr::Load(m, i) | Expr::LoadIf(m, i, _) = e {
            self.split(*m, i);
        }
        if let Expr::Reg(r) = e
            && let Some(from) = self.copied[r.0 as usize]
        {
            *r = from;
        }
        let (mut below, mut types, mut count) = ([None; 3], [Ty::Bool; 3], 0);
        e.children_mut(|child| {
            (below[count], types[count]) = self.number(child);
            count += 1;
        });
        let (key, ty) = match (&*e, below) {
            (Expr::Lit(l), _) => (Some(Key::Lit(*l)), l.ty),
            (Expr::Reg(r), _) => {
                let ty = self.k.regs[r.0 as usize].1;
                match self.of_register[r.0 as usize] {
                    Some(number) => {
                        self.nodes[at].number = Some(number);
                        return (Some(number), ty);
                    }
                    None => ((!self.changing[r.0 as usize]).then_some(Key::Reg(*r)), ty),
                }
            }
            (Expr::In(i), _) => (Some(Key::In(*i)), self.k.ins[*i as usize].1),
            (Expr::Place(g), _) => (Some(Key::Place(*g as u8)), Ty::I32),
            (Expr::Unary(op, _), [Some(a), ..]) => (Some(Key::Unary(*op, a)), op.result(types[0])),
            (Expr::Binary(op, ..), [Some(a), Some(b), _]) => {
                let swap = b < a && commutes(*op);
                let (a, b) = if swap { (b, a) } else { (a, b) };
                (Some(Key::Binary(*op, a, b)), op.result(types[0]))
            }
            (Expr::MulAdd(..), [Some(a), Some(b), Some(c)]) => (Some(Key::MulAdd(a, b, c)), types[0]),
            (Expr::Select(..), [Some(a), Some(b), Some(c)]) => (Some(Key::Select(a, b, c)), types[1]),
            (Expr::Cast(ty, _), [Some(a), ..]) => (Some(Key::Cast(*ty, a)), *ty),
            (e, _) => (None, self.k.ty(e)),
        };
        // operations on floats get no number
        let key = key.filter(|_| !ty.is_float());
        let number = key.map(|key| {
            let next = self.numbers.len() as u32;
            *self.numbers.entry(key).or_insert(next)
        });
        self.first.resize(self.numbers.len(), None);
        let size = self.nodes.len() - at;
        // a single cheap instruction is not worth a register; if arrays have strides, which occupy registers, only a
        // division is worth one
        let costs = match &*e {
            Expr::Binary(BinaryOp::Div | BinaryOp::Rem, ..) => true,
            Expr::Binary(BinaryOp::Mul, ..) => !self.strided,
            _ => !self.strided && size > 3,
        };
        self.nodes[at] = Node { number, named: costs && ty.is_int() && !adds_constant(e), size };
        (number, ty)
    }

    /// Counts or rewrites `e`, the node with the number `at`, and the nodes below it.
    fn visit(&mut self, e: &mut Expr, at: usize, out: &mut Vec<Stmt>) {
        let Node { number, named, size } = self.nodes[at];
        let Some(number) = number.filter(|_| named || size == 1) else {
            return self.operands(e, at, out);
        };
        match self.first[number as usize] {
            Some(First { register: Some(r), .. }) => {
                self.repeats |= named;
                if self.rewrites {
                    *e = Expr::Reg(r);
                }
            }
            Some(first) => {
                self.repeats = true;
                self.uses[first.computation] += 1;
            }
            None if size == 1 => {}
            None => {
                let computation = self.computation();
                self.operands(e, at, out);
                let mut register = None;
                if self.rewrites && self.uses[computation] > 1 {
                    let r = self.k.reg("common", self.k.ty(e));
                    self.changing.push(false);
                    self.copied.push(None);
                    self.of_register.push(Some(number));
                    out.push(Stmt::Let(r, std::mem::replace(e, Expr::Reg(r)), Default::default()));
                    register = Some(r);
                }
                self.known(number, First { computation, register });
            }
        }
    }

    /// Visits the operands of the node `at`.
    fn operands(&mut self, e: &mut Expr, at: usize, out: &mut Vec<Stmt>) {
        let mut below = at + 1;
        e.children_mut(|child| {
            let next = below + self.nodes[below].size;
            self.visit(child, below, out);
            below = next;
        });
    }

    /// Returns the position of the next first computation, and counts one use of it in the first walk.
    fn computation(&mut self) -> usize {
        if !self.rewrites {
            self.uses.push(1);
        }
        self.computations += 1;
        self.computations - 1
    }

    /// Notes the first computation of a number, which holds until the end of the current block.
    fn known(&mut self, number: u32, first: First) {
        self.first[number as usize] = Some(first);
        self.undo.push(number);
    }
}

/// Returns whether a branch consists of one read.
fn reads_only(body: &[Stmt]) -> bool {
    matches!(body, [Stmt::Assign(_, Expr::Load(..))])
}

fn commutes(op: BinaryOp) -> bool {
    use BinaryOp::{Add, And, Eq, Max, Min, Mul, Ne, Or, Xor};
    matches!(op, Add | And | Eq | Max | Min | Mul | Ne | Or | Xor)
}

/// Returns whether [`split`] takes a constant out of an index.
fn adds_constant(e: &Expr) -> bool {
    matches!(e, Expr::Binary(BinaryOp::Add | BinaryOp::Sub, ..)) && split(e).1 != 0
}

#[cfg(test)]
mod tests;
