//! Random functions and random arguments for them.
//!
//! Every function takes vectors `x`, `y` of one length and one type, a vector `w` of another length, `k: [i64]` as long as x, and scalars `a` and `m: i64`.
//! Programs are typed by construction; operators of reductions need not be associative, because the order of semantics 5.1 is fixed anyway.

use super::rng::Rng;
use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::core::{Function, NodeId, Op, Output, Param, Require, Rule, Type};
use arraygpu_compiler::loc::{Loc, LocStack};
use arraygpu_compiler::scalar::{BinaryOp, Lit, Ty, UnaryOp};

/// A vector with the class of its length: vectors of one class may be zipped.
#[derive(Clone, Copy)]
struct Vector {
    node: NodeId,
    class: usize,
}

struct Gen<'r> {
    rng: &'r mut Rng,
    f: Function,
    ty: Ty,
    vectors: Vec<Vector>,
    classes: usize,
    scalars: Vec<NodeId>,
    line: u32,
}

/// A random function of element type `ty`.
#[allow(dead_code, reason = "not every test asks for it")]
pub fn function(name: &str, ty: Ty, rng: &mut Rng) -> Function {
    let vector = |name: &str, ty| Param { name: name.into(), ty: Type::vector(ty) };
    let scalar = |name: &str, ty| Param { name: name.into(), ty: Type::scalar(ty) };
    let params = vec![
        vector("x", ty),
        vector("y", ty),
        vector("w", ty),
        vector("k", Ty::I64),
        scalar("a", ty),
        scalar("m", Ty::I64),
    ];
    let mut f = Function::new(name, params);
    let [x, y, w, k] = [0, 1, 2, 3].map(NodeId);
    let lens = [x, y, k].map(|v| f.graph.add(Op::Len(v, 0)));
    for (v, other) in [("y", lens[1]), ("k", lens[2])] {
        let subject = format!("zip_with: x, {v}");
        f.requires.push(Require {
            rule: Rule::Same,
            a: lens[0],
            b: other,
            subject,
            loc: LocStack::default(),
        });
    }
    let vectors =
        vec![Vector { node: x, class: 0 }, Vector { node: y, class: 0 }, Vector { node: w, class: 1 }];
    let mut g = Gen { rng, f, ty, vectors, classes: 2, scalars: vec![NodeId(4)], line: 0 };
    for _ in 0..2 + g.rng.below(4) {
        g.vector();
    }
    for i in 0..1 + g.rng.below(3) {
        let value = if g.rng.one_in(2) { g.reduction() } else { g.pick().node };
        g.f.results.push(Output { name: format!("r{i}"), value });
    }
    g.f
}

impl Gen<'_> {
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

    fn pick(&mut self) -> Vector {
        let i = self.rng.below(self.vectors.len());
        self.vectors[i]
    }

    /// Adds a vector made of those there are.
    fn vector(&mut self) {
        let v = self.pick();
        let new = match self.rng.below(8) {
            0 => Vector { node: self.add(Op::Reverse(v.node, 0)), class: v.class },
            1 => self.slice(v),
            2 => self.generate(),
            3 => Vector { node: self.add(Op::Materialize(v.node)), class: v.class },
            4 if self.rng.one_in(2) => {
                let s = self.reduction();
                self.scalars.push(s);
                self.map(v)
            }
            _ => self.map(v),
        };
        self.vectors.push(new);
    }

    fn map(&mut self, v: Vector) -> Vector {
        let partner: Vec<NodeId> =
            self.vectors.iter().filter(|o| o.class == v.class).map(|o| o.node).collect();
        let other = self.rng.pick(&partner);
        let (va, a) = self.f.graph.fresh_var(self.ty);
        let (vb, b) = self.f.graph.fresh_var(self.ty);
        let body = self.scalar(self.ty, &[a, b], 4);
        if self.rng.one_in(3) {
            self.f.graph.mark_bound(body);
        }
        let lambda = self.f.graph.close(&[(va, self.ty), (vb, self.ty)], body);
        Vector { node: self.add(Op::Map(lambda, vec![v.node, other])), class: v.class }
    }

    fn slice(&mut self, v: Vector) -> Vector {
        let len = self.add(Op::Len(v.node, 0));
        let (start, cut) = (self.rng.below(4) as i64, self.rng.below(4) as i64);
        let stride = if self.rng.one_in(2) { 1 } else { 1 + self.rng.below(3) as i64 };
        let start = self.int(start);
        let cut = self.int(cut);
        let stop = self.add(Op::Binary(BinaryOp::Sub, len, cut));
        let stride = if self.rng.one_in(4) {
            // a stride that only the host knows: 1 + |m| % 3
            let m = self.add(Op::Unary(UnaryOp::Abs, NodeId(5)));
            let three = self.int(3);
            let rest = self.add(Op::Binary(BinaryOp::Rem, m, three));
            let one = self.int(1);
            self.add(Op::Binary(BinaryOp::Add, rest, one))
        } else {
            self.int(stride)
        };
        let (zero, one) = (self.int(0), self.int(1));
        let rules = [
            (Rule::Start, zero, start),
            (Rule::Order, start, stop),
            (Rule::Stop, stop, len),
            (Rule::Stride, one, stride),
        ];
        for (rule, a, b) in rules {
            self.f.requires.push(Require { rule, a, b, subject: "slice".into(), loc: LocStack::default() });
        }
        self.classes += 1;
        Vector {
            node: self.add(Op::Slice { src: v.node, axis: 0, start, stop, stride }),
            class: self.classes - 1,
        }
    }

    fn generate(&mut self) -> Vector {
        let v = self.pick();
        let n = self.add(Op::Len(v.node, 0));
        if self.rng.one_in(3) {
            let value = self.scalar(self.ty, &[], 2);
            return Vector { node: self.add(Op::Fill(n, value)), class: v.class };
        }
        let (var, i) = self.f.graph.fresh_var(Ty::I64);
        let offset = self.lit_small();
        let index = self.add(Op::Binary(BinaryOp::Add, i, offset));
        let read = self.add(Op::At(v.node, vec![index]));
        let body = self.scalar(self.ty, &[read, i], 3);
        let lambda = self.f.graph.close(&[(var, Ty::I64)], body);
        Vector { node: self.add(Op::Generate(vec![n], lambda)), class: v.class }
    }

    fn lit_small(&mut self) -> NodeId {
        let x = self.rng.below(5) as i64 - 2;
        self.int(x)
    }

    fn reduction(&mut self) -> NodeId {
        let v = self.pick();
        let init = self.lit(self.ty);
        if self.rng.one_in(5) && self.ty != Ty::Bool && !self.ty.is_half() {
            let partner: Vec<NodeId> =
                self.vectors.iter().filter(|o| o.class == v.class).map(|o| o.node).collect();
            let b = self.rng.pick(&partner);
            return self.add(Op::Dot { init, a: v.node, b });
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
            self.add(Op::Fold { step: lambda, init, src: v.node })
        } else {
            self.add(Op::Reduce { join: lambda, init, src: v.node })
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
                let v = self.pick();
                let i = self.scalar(Ty::I64, vars, d);
                self.add(Op::At(v.node, vec![i]))
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

/// A value that hits corners often.
pub fn literal(ty: Ty, rng: &mut Rng) -> Lit {
    let corner = rng.one_in(6);
    let (bits, small) = (rng.next(), rng.below(2000) as f64 / 100.0 - 10.0);
    match ty {
        Ty::F32 if corner => Lit::f32(rng.pick(&[
            0.0,
            -0.0,
            f32::NAN,
            f32::INFINITY,
            f32::NEG_INFINITY,
            1e-40,
            -1e38,
            1.0,
            f32::MAX,
        ])),
        Ty::F32 => Lit::f32(small as f32),
        Ty::F64 if corner => Lit::f64(rng.pick(&[
            0.0,
            -0.0,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            5e-320,
            -1e300,
            1.0,
            1e19,
        ])),
        Ty::F64 => Lit::f64(small),
        Ty::F16 | Ty::Bf16 if corner => {
            let corners = [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 6e-8, -1e-40, 1.0, 65504.0];
            Lit::float(ty, rng.pick(&corners))
        }
        Ty::F16 | Ty::Bf16 => Lit::float(ty, small),
        Ty::I32 if corner => Lit::i32(rng.pick(&[0, 1, -1, i32::MIN, i32::MAX])),
        Ty::I32 => Lit::i32(small as i32),
        Ty::I64 if corner => Lit::i64(rng.pick(&[0, 1, -1, i64::MIN, i64::MAX])),
        Ty::I64 => Lit::i64(small as i64),
        Ty::U32 if corner => Lit::u32(rng.pick(&[0, 1, u32::MAX, 1 << 31])),
        Ty::U32 => Lit::u32(bits as u32 % 100),
        Ty::U64 if corner => Lit::u64(rng.pick(&[0, 1, u64::MAX, 1 << 63])),
        Ty::U64 => Lit::u64(bits % 100),
        Ty::U8 => Lit::u8(bits as u8),
        Ty::I8 => Lit::i8(bits as i8),
        Ty::I16 if corner => Lit::i16(rng.pick(&[0, 1, -1, i16::MIN, i16::MAX])),
        Ty::I16 => Lit::i16(small as i16),
        Ty::U16 if corner => Lit::u16(rng.pick(&[0, 1, u16::MAX, 1 << 15])),
        Ty::U16 => Lit::u16(bits as u16 % 100),
        Ty::Bool => Lit::bool(bits & 1 == 1),
    }
}

/// Arguments for a random function: `n` elements in x, y and k, `n2` in w.
pub fn arguments(f: &Function, n: usize, n2: usize, rng: &mut Rng) -> Vec<Value> {
    f.params
        .iter()
        .map(|p| {
            let count = if p.name == "w" { n2 } else { n };
            match p.ty.rank {
                0 => Value::Scalar(literal(p.ty.elem, rng)),
                _ => Value::Vector((0..count).map(|_| literal(p.ty.elem, rng)).collect()),
            }
        })
        .collect()
}
