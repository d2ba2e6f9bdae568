//! Operands on their way to shared memory through registers: values of any expressions, with zeros out of
//! bounds.

use super::TensorBlock;
use super::layout::PIECES;
use crate::core::{NodeId, linear};
use crate::error::Result;
use crate::kernel::{Expr, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};
use crate::schedule::cuda::expressions::{int32, to_i64};
use crate::schedule::cuda::product::load_vectors;
use crate::schedule::loop_nests::Env;
use crate::schedule::lower::{Lower, named as bind};

impl TensorBlock<'_> {
    /// Stores the thread's pieces of the step that begins at inner index `base` into the first stage.
    pub fn stage(&self, l: &mut Lower, side: usize, base: &Expr, out: &mut Vec<Stmt>) -> Result<()> {
        let s = self.sides[side];
        let (u, mut body) = (l.k.reg("piece", Ty::I32), Vec::new());
        let place = s.piece(Expr::Reg(u)).map(|e| bind(l, "piece", e, &mut body));
        let to = bind(l, "to", s.word(place[0].clone(), place[1].clone()), &mut body);
        let [own, k] = s.offsets(place).map(to_i64);
        let own = bind(l, "own", self.origin[side].clone().plus(own), &mut body);
        let k = bind(l, "k", base.clone().plus(k), &mut body);
        let zero = Expr::Lit(Lit::zero(self.ty));
        let values: Vec<Reg> = (0..s.of_piece()).map(|_| l.k.reg("x", self.ty)).collect();
        body.extend(values.iter().map(|r| Stmt::Var(*r, zero.clone())));
        let at = if s.along_k { &k } else { &own };
        let (end, other) = match s.along_k {
            true => (&self.length, (&own, &self.extents[side])),
            false => (&self.extents[side], (&k, &self.length)),
        };
        let below = |a: Expr, b: &Expr| Expr::binary(BinaryOp::Lt, a, b.clone());
        let (vars, envs) = self.neighbours(l, side, [&own, &k], s.of_piece());
        // all neighbours at once, or those that are inside
        let mut whole = Vec::new();
        self.values(l, side, &vars, &envs, &values, &mut whole)?;
        let mut some = Vec::new();
        for ((u, env), value) in (0..).zip(&envs).zip(&values) {
            let mut one = Vec::new();
            self.values(l, side, &vars, std::slice::from_ref(env), std::slice::from_ref(value), &mut one)?;
            some.push(Stmt::If(below(at.clone().plus(Expr::int(u)), end), one, vec![]));
        }
        let last = at.clone().plus(Expr::int(s.of_piece() - 1));
        let either = Stmt::If(below(last, end), whole, some);
        body.push(Stmt::If(below(other.0.clone(), other.1), vec![either], vec![]));
        let words: Vec<Expr> = values.chunks(4 / self.ty.size()).map(|v| word(l, v, &mut body)).collect();
        body.push(Stmt::StoreVec(self.words, to, words));
        out.push(Stmt::Seq(u, int32(0), int32(PIECES as i32), body));
        Ok(())
    }

    /// Makes variables for the first of some neighbours of a side. Returns their values, and for each
    /// neighbour the environment of its indices.
    fn neighbours(
        &self,
        l: &mut Lower,
        side: usize,
        [own_at, k_at]: [&Expr; 2],
        count: i64,
    ) -> (Vec<(NodeId, Expr)>, Vec<Env>) {
        let [own, k] = [(); 2].map(|()| l.launch.g.fresh_var(Ty::I64).1);
        let along_k = self.sides[side].along_k;
        let env = |u: i64| {
            let offset = l.launch.g.lit(Lit::i64(u));
            let (mut own, mut k) = (own, k);
            let moved = if along_k { &mut k } else { &mut own };
            *moved = linear::add(&mut l.launch.g, *moved, offset);
            Env::default().with(&l.launch.g, self.p.outer[side], own).with(&l.launch.g, self.p.k, k)
        };
        let envs = (0..count).map(env).collect();
        (vec![(own, own_at.clone()), (k, k_at.clone())], envs)
    }

    /// Assigns the values at some neighbours.
    fn values(
        &self,
        l: &mut Lower,
        side: usize,
        vars: &[(NodeId, Expr)],
        envs: &[Env],
        to: &[Reg],
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let mut vars = vars.to_vec();
        let along = if self.sides[side].along_k { self.p.k } else { self.p.outer[side] };
        if envs.len() > 1 && !self.strided {
            let indices = [along, self.p.k, self.p.outer[side]];
            let nodes = l.launch.g.reachable([self.values[side]]);
            load_vectors(l, nodes, indices, envs, &mut vars, out)?;
        }
        let roots: Vec<NodeId> = envs.iter().map(|env| env.of(&mut l.launch.g, self.values[side])).collect();
        let values = l.region(&vars, &roots, &Expr::int(0), out)?;
        out.extend(to.iter().zip(values).map(|(r, e)| Stmt::Assign(*r, e)));
        Ok(())
    }
}

/// Returns the word of one or two elements.
fn word(l: &mut Lower, elements: &[Reg], out: &mut Vec<Stmt>) -> Expr {
    if let [one] = elements {
        return Expr::Unary(UnaryOp::ToBits, Box::new(Expr::Reg(*one)));
    }
    let r = l.k.reg("word", Ty::U32);
    out.push(Stmt::Pack(r, elements.iter().map(|r| Expr::Reg(*r)).collect()));
    Expr::Reg(r)
}
