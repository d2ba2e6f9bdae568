//! Tuples: the operands of reductions and folds that have several components.

use super::{Env, Machine, Tuple};
use crate::core::interp::values::for_each_index;
use crate::core::{Lambda, NodeId, Op, tuples};
use crate::scalar::Lit;

impl Machine<'_> {
    /// Applies an operator to tuples.
    pub(super) fn apply_to(&mut self, l: &Lambda, a: &[Lit], b: &[Lit], env: &Env) -> Tuple {
        self.applied(l, &[a, b].concat(), env, |m, inner| m.tuple(l.body, inner))
    }

    /// Returns the components of a tuple; a scalar is one of a single component.
    pub(super) fn tuple(&mut self, n: NodeId, env: &Env) -> Tuple {
        tuples::components(self.g, n).into_iter().map(|c| self.scalar(c, env)).collect()
    }

    /// Returns the elements of an array, which may be tuples.
    pub(super) fn tuples(&mut self, src: NodeId, env: &Env) -> Vec<Tuple> {
        if !tuples::has_tuples(self.g, src) {
            return self.array(src, env).elements.iter().map(|x| Tuple::from([*x])).collect();
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
