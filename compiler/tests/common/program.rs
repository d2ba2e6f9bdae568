//! Random functions; [`super::values`] has arguments for them.
//!
//! Of vectors: `x`, `y` of one length and one type, a vector `w` of another length, `k: [i64]` as long as x, and scalars `a` and `m: i64`. Of matrices: `a`, `b` of
//! one shape, `c` of another, a vector `v` as long as a's rows, `t` with planes of a's shape, and scalars `s` and `m: i64`.
//! Programs are typed by construction; operators of reductions need not be associative, because the order of semantics 5.1 is fixed anyway.

#[allow(dead_code)] // not every user of these programs asks for windows
mod windows;

use super::rng::Rng;
pub use super::values::*;
use arraygpu_compiler::core::{Function, MAX_RANK, NodeId, Op, Output, Param, Require, Rule, Type};
use arraygpu_compiler::loc::{Loc, LocStack};
use arraygpu_compiler::scalar::{BinaryOp, Lit, Ty, UnaryOp};

#[allow(unused_imports, reason = "not every test asks for it")]
pub use windows::window_function;

/// An array with the classes of its lengths, outermost first: arrays of the same classes have one shape.
#[derive(Clone)]
struct Array {
    node: NodeId,
    shape: Vec<usize>,
}

struct Gen<'r> {
    rng: &'r mut Rng,
    f: Function,
    ty: Ty,
    arrays: Vec<Array>,
    classes: usize,
    scalars: Vec<NodeId>,
    /// The scalar parameter of type i64.
    m: NodeId,
    line: u32,
}

/// A random function of vectors of element type `ty`.
#[allow(dead_code, reason = "not every test asks for it")]
pub fn function(name: &str, ty: Ty, rng: &mut Rng) -> Function {
    let arrays: [(&str, Ty, &[usize]); 4] =
        [("x", ty, &[0]), ("y", ty, &[0]), ("w", ty, &[1]), ("k", Ty::I64, &[0])];
    Gen::new(name, ty, &arrays, rng).function(&mut Gen::of_vectors)
}

/// A random function of matrices of element type `ty`.
#[allow(dead_code, reason = "not every test asks for it")]
pub fn matrix_function(name: &str, ty: Ty, rng: &mut Rng) -> Function {
    let arrays: [(&str, Ty, &[usize]); 5] =
        [("a", ty, &[0, 1]), ("b", ty, &[0, 1]), ("c", ty, &[2, 3]), ("v", ty, &[1]), ("t", ty, &[4, 0, 1])];
    Gen::new(name, ty, &arrays, rng).function(&mut Gen::of_matrices)
}

impl<'r> Gen<'r> {
    /// With a parameter for each array, and two scalars.
    fn new(name: &str, ty: Ty, arrays: &[(&str, Ty, &[usize])], rng: &'r mut Rng) -> Gen<'r> {
        let param = |name: &str, elem, rank| Param { name: name.into(), ty: Type::array(elem, rank) };
        let mut params: Vec<Param> = arrays.iter().map(|(n, ty, s)| param(n, *ty, s.len())).collect();
        params.extend([param("s", ty, 0), param("m", Ty::I64, 0)]);
        let mut f = Function::new(name, params);
        let (mut firsts, mut known) = (std::collections::BTreeMap::new(), Vec::new());
        for (node, (name, elem, shape)) in (0..).map(NodeId).zip(arrays) {
            for (axis, class) in (0..).zip(*shape) {
                let length = f.graph.add(Op::Len(node, axis));
                let first = *firsts.entry(*class).or_insert(length);
                if first != length {
                    let (subject, loc) = (format!("zip_with: {name}"), LocStack::default());
                    f.requires.push(Require { rule: Rule::Same, a: first, b: length, subject, loc });
                }
            }
            if *elem == ty {
                known.push(Array { node, shape: shape.to_vec() });
            }
        }
        let [s, m] = [0, 1].map(|k| NodeId(arrays.len() as u32 + k));
        Gen { rng, f, ty, arrays: known, classes: firsts.len(), scalars: vec![s], m, line: 0 }
    }

    /// A function of some new arrays, and of reductions.
    fn function(mut self, new: &mut dyn FnMut(&mut Self) -> Array) -> Function {
        for _ in 0..2 + self.rng.below(4) {
            let array = new(&mut self);
            self.arrays.push(array);
        }
        for i in 0..1 + self.rng.below(3) {
            let value = match self.rng.below(20) {
                // needs no pass
                0 => self.scalar(self.ty, &[], 2),
                1..=9 => self.reduction(),
                _ => self.pick().node,
            };
            self.f.results.push(Output { name: format!("r{i}"), value });
        }
        self.f
    }

    fn of_vectors(&mut self) -> Array {
        let x = self.pick();
        match self.rng.below(8) {
            0 => self.reverse(x),
            1 => self.slice(x),
            2 => self.generate(),
            3 => Array { node: self.add(Op::Materialize(x.node)), shape: x.shape },
            4 if self.rng.one_in(2) => {
                let s = self.reduction();
                self.scalars.push(s);
                self.map(x)
            }
            _ => self.map(x),
        }
    }

    fn of_matrices(&mut self) -> Array {
        let x = self.pick();
        match self.rng.below(8) {
            0 if x.shape.len() > 1 => self.permute(x),
            1 if x.shape.len() > 1 => self.part(x),
            2 if x.shape.len() < MAX_RANK => self.spread(x),
            3 if x.shape.len() > 1 => self.parts(x),
            _ => self.of_vectors(),
        }
    }

    fn add(&mut self, op: Op) -> NodeId {
        self.line += 1;
        let loc = Loc { file: "random.rs".into(), line: self.line, column: 1 };
        self.f.graph.set_loc(LocStack::one(loc));
        self.f.graph.add(op)
    }

    fn lit(&mut self, ty: Ty) -> NodeId {
        let l = literal(ty, self.rng);
        self.add(Op::Const(l))
    }

    fn int(&mut self, x: i64) -> NodeId {
        self.add(Op::Const(Lit::i64(x)))
    }

    fn require(&mut self, rule: Rule, a: NodeId, b: NodeId) {
        let (subject, loc) = (rule.name().into(), LocStack::default());
        self.f.requires.push(Require { rule, a, b, subject, loc });
    }

    fn pick(&mut self) -> Array {
        let i = self.rng.below(self.arrays.len());
        self.arrays[i].clone()
    }

    /// Another array of the same shape, or the same.
    fn partner(&mut self, x: &Array) -> NodeId {
        let fits = self.arrays.iter().filter(|o| o.shape == x.shape).map(|o| o.node);
        let partners: Vec<NodeId> = fits.chain([x.node]).collect();
        self.rng.pick(&partners)
    }

    fn axis(&mut self, x: &Array) -> u8 {
        self.rng.below(x.shape.len()) as u8
    }

    fn lengths(&mut self, x: &Array) -> Vec<NodeId> {
        (0..x.shape.len() as u8).map(|axis| self.add(Op::Len(x.node, axis))).collect()
    }

    fn reverse(&mut self, x: Array) -> Array {
        let axis = self.axis(&x);
        Array { node: self.add(Op::Reverse(x.node, axis)), shape: x.shape }
    }

    fn map(&mut self, x: Array) -> Array {
        let other = self.partner(&x);
        let (va, a) = self.f.graph.fresh_var(self.ty);
        let (vb, b) = self.f.graph.fresh_var(self.ty);
        let body = self.scalar(self.ty, &[a, b], 4);
        if self.rng.one_in(3) {
            self.f.graph.mark_bound(body);
        }
        let lambda = self.f.graph.close(&[(va, self.ty), (vb, self.ty)], body);
        Array { node: self.add(Op::Map(lambda, vec![x.node, other])), shape: x.shape }
    }

    fn slice(&mut self, x: Array) -> Array {
        let axis = self.axis(&x);
        let len = self.add(Op::Len(x.node, axis));
        let (start, cut) = (self.rng.below(4) as i64, self.rng.below(4) as i64);
        let stride = if self.rng.one_in(2) { 1 } else { 1 + self.rng.below(3) as i64 };
        let start = self.int(start);
        let cut = self.int(cut);
        let stop = self.add(Op::Binary(BinaryOp::Sub, len, cut));
        let stride = if self.rng.one_in(4) {
            // a stride that only the host knows: 1 + |m| % 3
            let m = self.add(Op::Unary(UnaryOp::Abs, self.m));
            let three = self.int(3);
            let rest = self.add(Op::Binary(BinaryOp::Rem, m, three));
            let one = self.int(1);
            self.add(Op::Binary(BinaryOp::Add, rest, one))
        } else {
            self.int(stride)
        };
        let (zero, one) = (self.int(0), self.int(1));
        self.require(Rule::Start, zero, start);
        self.require(Rule::Order, start, stop);
        self.require(Rule::Stop, stop, len);
        self.require(Rule::Stride, one, stride);
        let mut shape = x.shape;
        shape[usize::from(axis)] = self.classes;
        self.classes += 1;
        Array { node: self.add(Op::Slice { src: x.node, axis, start, stop, stride }), shape }
    }

    fn generate(&mut self) -> Array {
        let x = self.pick();
        let lengths = self.lengths(&x);
        if x.shape.len() == 1 && self.rng.one_in(3) {
            let value = self.scalar(self.ty, &[], 2);
            return Array { node: self.add(Op::Fill(lengths[0], value)), shape: x.shape };
        }
        let vars: Vec<_> = lengths.iter().map(|_| self.f.graph.fresh_var(Ty::I64)).collect();
        let index = vars.iter().map(|(_, i)| {
            let offset = self.rng.below(5) as i64 - 2;
            let offset = self.int(offset);
            self.add(Op::Binary(BinaryOp::Add, *i, offset))
        });
        let index = index.collect();
        let read = self.add(Op::At(x.node, index));
        let known: Vec<NodeId> = [read].into_iter().chain(vars.iter().map(|v| v.1)).collect();
        let body = self.scalar(self.ty, &known, 3);
        let vars: Vec<_> = vars.iter().map(|v| (v.0, Ty::I64)).collect();
        let lambda = self.f.graph.close(&vars, body);
        Array { node: self.add(Op::Generate(lengths, lambda)), shape: x.shape }
    }

    fn permute(&mut self, x: Array) -> Array {
        let mut axes: Vec<u8> = (0..x.shape.len() as u8).collect();
        for i in 1..axes.len() {
            axes.swap(i, self.rng.below(i + 1));
        }
        let shape = axes.iter().map(|a| x.shape[usize::from(*a)]).collect();
        Array { node: self.add(Op::Permute(x.node, axes)), shape }
    }

    /// A row or column, the first or the last, or one that only the host knows.
    fn part(&mut self, x: Array) -> Array {
        let axis = self.axis(&x);
        let length = self.add(Op::Len(x.node, axis));
        let one = self.int(1);
        let index = match self.rng.below(4) {
            0 => self.add(Op::Binary(BinaryOp::Sub, length, one)),
            1 => self.m,
            _ => self.int(0),
        };
        let (zero, next) = (self.int(0), self.add(Op::Binary(BinaryOp::Add, index, one)));
        self.require(Rule::Index, zero, index);
        self.require(Rule::Inside, next, length);
        let mut shape = x.shape;
        shape.remove(axis.into());
        Array { node: self.add(Op::Pick { src: x.node, axis, index }), shape }
    }

    /// Along a new axis, as long as an axis of another array.
    fn spread(&mut self, x: Array) -> Array {
        let other = self.pick();
        let of = self.axis(&other);
        let n = self.add(Op::Len(other.node, of));
        let axis = self.rng.below(x.shape.len() + 1);
        let mut shape = x.shape;
        shape.insert(axis, other.shape[usize::from(of)]);
        Array { node: self.add(Op::Spread { src: x.node, axis: axis as u8, n }), shape }
    }

    /// A reduction of each row, column or plane.
    fn parts(&mut self, x: Array) -> Array {
        let axis = self.axis(&x);
        let length = self.add(Op::Len(x.node, axis));
        let (var, index) = self.f.graph.fresh_var(Ty::I64);
        let part = self.add(Op::Pick { src: x.node, axis, index });
        let mut shape = x.shape;
        let class = shape.remove(axis.into());
        let part = Array { node: part, shape };
        let sum = self.reduction_of(&part);
        let body = if self.rng.one_in(2) { sum } else { self.scalar(self.ty, &[sum, index], 2) };
        let lambda = self.f.graph.close(&[(var, Ty::I64)], body);
        Array { node: self.add(Op::Generate(vec![length], lambda)), shape: vec![class] }
    }

    fn reduction(&mut self) -> NodeId {
        let x = self.pick();
        self.reduction_of(&x)
    }

    fn reduction_of(&mut self, x: &Array) -> NodeId {
        let init = self.lit(self.ty);
        if self.rng.one_in(5) && self.ty != Ty::Bool && !self.ty.is_half() {
            let b = self.partner(x);
            return self.add(Op::Dot { init, a: x.node, b });
        }
        let (va, a) = self.f.graph.fresh_var(self.ty);
        let (vb, b) = self.f.graph.fresh_var(self.ty);
        let simple: Vec<BinaryOp> = [
            BinaryOp::Add,
            BinaryOp::Mul,
            BinaryOp::Min,
            BinaryOp::Max,
            BinaryOp::And,
            BinaryOp::Or,
            BinaryOp::Xor,
        ]
        .into_iter()
        .filter(|op| op.accepts(self.ty))
        .collect();
        let body = if self.rng.one_in(4) {
            self.scalar(self.ty, &[a, b], 2)
        } else {
            let op = self.rng.pick(&simple);
            self.add(Op::Binary(op, a, b))
        };
        let lambda = self.f.graph.close(&[(va, self.ty), (vb, self.ty)], body);
        if self.rng.one_in(4) {
            self.add(Op::Fold { step: lambda, init, src: x.node })
        } else {
            self.add(Op::Reduce { join: lambda, init, src: x.node })
        }
    }

    /// A scalar expression of type `ty` over `vars` (of any type).
    fn scalar(&mut self, ty: Ty, vars: &[NodeId], depth: usize) -> NodeId {
        let known: Vec<NodeId> =
            vars.iter().chain(&self.scalars).copied().filter(|v| self.f.graph.ty(*v).elem == ty).collect();
        if depth == 0 || self.rng.one_in(6) {
            return if known.is_empty() || self.rng.one_in(4) { self.lit(ty) } else { self.rng.pick(&known) };
        }
        let d = depth - 1;
        match self.rng.below(12) {
            0 => {
                let c = self.scalar(Ty::Bool, vars, d);
                let (a, b) = (self.scalar(ty, vars, d), self.scalar(ty, vars, d));
                self.add(Op::Select(c, a, b))
            }
            1 => {
                let from = self.rng.pick(&Ty::ALL);
                let a = self.scalar(from, vars, d);
                self.add(Op::Cast(ty, a))
            }
            2 if ty != Ty::Bool => {
                let [a, b, c] = [(); 3].map(|()| self.scalar(ty, vars, d));
                self.add(Op::MulAdd(a, b, c))
            }
            3 | 4 => {
                // elementary functions are long: now and then
                let elementary = ty.is_float() && self.rng.one_in(4);
                let kind = |o: &UnaryOp| o.is_exact() && o.is_elementary() == elementary;
                let wanted = |o: &UnaryOp| o.accepts(ty) && o.result(ty) == ty && kind(o);
                let ops: Vec<UnaryOp> = UnaryOp::ALL.iter().copied().filter(wanted).collect();
                let op = self.rng.pick(&ops);
                let a = self.scalar(ty, vars, d);
                self.add(Op::Unary(op, a))
            }
            5 if ty == self.ty => {
                // an index from the data, often out of range
                let x = self.pick();
                let index = x.shape.iter().map(|_| self.scalar(Ty::I64, vars, d)).collect();
                self.add(Op::At(x.node, index))
            }
            6 if ty == Ty::Bool => {
                let from = self.rng.pick(&Ty::ALL);
                let ops: Vec<BinaryOp> =
                    BinaryOp::ALL.iter().copied().filter(|o| o.is_comparison() && o.accepts(from)).collect();
                let op = self.rng.pick(&ops);
                let (a, b) = (self.scalar(from, vars, d), self.scalar(from, vars, d));
                self.add(Op::Binary(op, a, b))
            }
            _ => {
                let elementary = ty.is_float() && self.rng.one_in(8);
                let kind = |o: &BinaryOp| o.is_exact() && o.is_elementary() == elementary;
                let wanted = |o: &BinaryOp| o.accepts(ty) && o.result(ty) == ty && kind(o);
                let ops: Vec<BinaryOp> = BinaryOp::ALL.iter().copied().filter(wanted).collect();
                let op = self.rng.pick(&ops);
                let (a, b) = (self.scalar(ty, vars, d), self.scalar(ty, vars, d));
                self.add(Op::Binary(op, a, b))
            }
        }
    }
}
