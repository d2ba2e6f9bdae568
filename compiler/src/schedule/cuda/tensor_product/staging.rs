//! Operands of any layout, which are brought to shared memory one element at a time, with zeros out of bounds.

use super::TensorBlock;
use super::pieces::word;
use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::cuda::expressions::{int32, to_i64};
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::facts::loop_nests::Env;

impl TensorBlock<'_> {
    /// Stores the thread's pieces of a step (i64) to the stage that begins at this word (i32).
    pub fn stage(
        &self,
        l: &mut Lower,
        side: usize,
        step: &Expr,
        stage: &Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let s = self.sides[side];
        let (u, mut body) = (l.k.reg("piece", Ty::I32), Vec::new());
        let place = s.piece(Expr::Reg(u)).map(|e| bind(l, "piece", e, &mut body));
        let to = s.word(place[0].clone(), place[1].clone()).plus(stage.clone());
        let to = bind(l, "to", to, &mut body);
        let [own, k] = s.offsets(place).map(to_i64);
        let own = bind(l, "own", self.origin[side].clone().plus(own), &mut body);
        let k = bind(l, "k", step.clone().times(Expr::int(s.depth())).plus(k), &mut body);
        let words = self.values_of_piece(l, side, [&own, &k], &mut body)?;
        body.push(Stmt::StoreVec(self.words, to, words));
        out.push(Stmt::Seq(u, int32(0), int32(self.shape.pieces(side) as i32), body));
        Ok(())
    }

    /// Returns the words of a piece whose first element has these indices, with zeros out of bounds.
    pub fn values_of_piece(
        &self,
        l: &mut Lower,
        side: usize,
        [own, k]: [&Expr; 2],
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Expr>> {
        let s = self.sides[side];
        let zero = Expr::Lit(Lit::zero(self.ty));
        let values: Vec<Reg> = (0..s.of_piece()).map(|_| l.k.reg("x", self.ty)).collect();
        out.extend(values.iter().map(|r| Stmt::Var(*r, zero.clone())));
        let (vars, envs) = self.elements(l, side, [own, k]);
        let [own, k] = [(own.clone(), &self.extents[side]), (k.clone(), &self.length)];
        let ((at, end), (other, other_end)) = if s.along_k { (k, own) } else { (own, k) };
        let below = |a: Expr, b: &Expr| Expr::binary(BinaryOp::Lt, a, b.clone());
        // all elements are computed at once if all are in bounds; otherwise only those that are
        let mut whole = Vec::new();
        let mut known = vars.clone();
        if !self.strided {
            self.load_neighbours(l, side, &envs, &mut known, &mut whole)?;
        }
        self.assign(l, side, &known, &envs, &values, &mut whole)?;
        let mut some = Vec::new();
        for ((u, env), value) in (0..).zip(envs.chunks(1)).zip(values.chunks(1)) {
            let mut one = Vec::new();
            self.assign(l, side, &vars, env, value, &mut one)?;
            some.push(Stmt::If(below(at.clone().plus(Expr::int(u)), end), one, vec![]));
        }
        let last = at.plus(Expr::int(s.of_piece() - 1));
        let either = Stmt::If(below(last, end), whole, some);
        out.push(Stmt::If(below(other, other_end), vec![either], vec![]));
        let values: Vec<Expr> = values.into_iter().map(Expr::Reg).collect();
        Ok(values.chunks(4 / self.ty.size()).map(|v| word(l, v, out)).collect())
    }

    /// Assigns the values of some elements of a piece.
    fn assign(
        &self,
        l: &mut Lower,
        side: usize,
        vars: &[(NodeId, Expr)],
        envs: &[Env],
        to: &[Reg],
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let value = self.values[side];
        let roots: Vec<NodeId> = envs.iter().map(|env| env.of(&mut l.launch.g, value)).collect();
        let values = l.region(vars, &roots, &Expr::int(0), out)?;
        out.extend(to.iter().zip(values).map(|(r, e)| Stmt::Assign(*r, e)));
        Ok(())
    }
}
