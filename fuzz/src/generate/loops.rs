//! Loops of an element.

use super::Gen;
use arraygpu_compiler::core::{NodeId, Op};
use arraygpu_compiler::scalar::{BinaryOp, Lit, Ty};

/// The most steps of a loop.
pub(super) const MOST_STEPS: i64 = 5;

impl Gen<'_> {
    /// A loop of a few steps, whose number often depends on the element, with a condition or without, that gives a
    /// scalar of that type.
    pub(super) fn element_loop(&mut self, ty: Ty) -> NodeId {
        let types: Vec<Ty> =
            (0..self.rng.pick(&[1, 1, 2, 3])).map(|at| if at == 0 { ty } else { self.some_type() }).collect();
        let init = types.iter().map(|ty| self.start(*ty)).collect();
        let most = self.rng.pick(&[0, 1, 2, 3, MOST_STEPS]);
        let most = self.add(Op::Const(Lit::i64(most)));
        let count = match self.rng.one_in(2) && !self.is_full() {
            true => {
                let of_element = self.scalar(Ty::I64, 2);
                self.add(Op::Binary(BinaryOp::Min, of_element, most))
            }
            false => most,
        };
        let takes = [&[Ty::I64], &types[..]].concat();
        let step = self.lambda(&takes, &[], |g, v| {
            let mut all = vec![match g.rng.one_in(2) && !g.is_full() {
                true => g.scalar(Ty::Bool, 2),
                false => g.add(Op::Const(Lit::bool(true))),
            }];
            for (ty, state) in types.iter().zip(&v[1..]) {
                all.push(match g.rng.one_in(2) && !g.is_full() {
                    true => g.scalar(*ty, 2),
                    false => *state,
                });
            }
            g.add(Op::Tuple(all))
        });
        let made = self.add(Op::Loop { step, which: 0, count, init });
        self.note("loop of an element");
        if self.affords(made) { made } else { self.scalar(ty, 0) }
    }
}
