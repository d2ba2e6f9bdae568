//! Tuples: the operands of reductions and folds that have several components.

use super::Machine;
use crate::core::interp::env::Env;
use crate::core::interp::values::{Tuple, for_each_index};
use crate::core::{Lambda, NodeId, Op, tuples};
use crate::scalar::Lit;

impl Machine<'_> {
    /// Applies an operator to tuples.
    pub(super) fn apply_to(&mut self, l: &Lambda, a: &[Lit], b: &[Lit], env: &Env) -> Tuple {
        let of = |m: &mut Self, inner: &Env| m.tuple(l.body, inner);
        match (a, b) {
            ([a], [b]) => self.applied(l, &[*a, *b], env, of),
            _ => self.applied(l, &[a, b].concat(), env, of),
        }
    }

    /// Returns the components of a tuple; a scalar is one of a single component.
    pub(super) fn tuple(&mut self, n: NodeId, env: &Env) -> Tuple {
        match self.g.op(n) {
            Op::Tuple(all) => Tuple::Several(all.iter().map(|c| self.scalar(*c, env)).collect()),
            _ => Tuple::One(self.scalar(n, env)),
        }
    }

    /// Returns the elements of an array, which may be tuples.
    pub(super) fn tuples(&mut self, src: NodeId, env: &Env) -> Vec<Tuple> {
        if !tuples::has_tuples(self.g, src) {
            return self.array(src, env).elements.iter().map(|x| Tuple::One(*x)).collect();
        }
        match self.g.op(src) {
            Op::Map(l, srcs) => {
                let srcs: Vec<_> = srcs.iter().map(|s| self.array(*s, env)).collect();
                let row = |i: usize| srcs.iter().map(|s| s.elements[i]).collect::<Vec<_>>();
                let all = 0..srcs[0].elements.len();
                all.map(|i| self.applied(l, &row(i), env, |m, inner| m.tuple(l.body, inner))).collect()
            }
            Op::Generate(_, l) => {
                let (extents, mut all) = (self.extents(src, env), Vec::new());
                for_each_index(&extents, &mut |index| {
                    let index: Vec<Lit> = index.iter().map(|i| Lit::i64(*i)).collect();
                    all.push(self.applied(l, &index, env, |m, inner| m.tuple(l.body, inner)));
                });
                all
            }
            op => unreachable!("verified: {op:?} has no tuples"),
        }
    }
}
