//! Random functions with short loops over neighbours inside of elements, and with staged scalars: their lengths, numbers of taps, and factors.

use super::Rng;
use super::{Array, Gen};
use arraygpu_compiler::core::{Function, Op};
use arraygpu_compiler::scalar::{BinaryOp, Ty};

/// A random function of vectors of element type `ty`, as [`super::function`]'s.
pub fn window_function(name: &str, ty: Ty, rng: &mut Rng) -> Function {
    let arrays: [(&str, Ty, &[usize]); 4] =
        [("x", ty, &[0]), ("y", ty, &[0]), ("w", ty, &[1]), ("k", Ty::I64, &[0])];
    let mut g = Gen::new(name, ty, &arrays, rng);
    let s = g.scalars[0];
    let staged = g.add(Op::Stage(s));
    g.scalars.push(staged);
    g.function(&mut |g| if g.rng.one_in(2) { g.windows() } else { g.of_vectors() })
}

impl Gen<'_> {
    /// As long as another array; each element made of some neighbours.
    fn windows(&mut self) -> Array {
        let x = self.pick();
        let mut n = self.add(Op::Len(x.node, 0));
        if self.rng.one_in(2) && matches!(self.f.graph.op(x.node), Op::Param(_)) {
            n = self.add(Op::Stage(n));
        }
        let (var, i) = self.f.graph.fresh_var(Ty::I64);
        let (tap, k) = self.f.graph.fresh_var(Ty::I64);
        let (factor, offset) = (self.rng.below(3) as i64 - 1, self.rng.below(4) as i64 - 1);
        let (factor, offset) = (self.int(factor), self.int(offset));
        let step = self.add(Op::Binary(BinaryOp::Mul, k, factor));
        let at = self.add(Op::Binary(BinaryOp::Add, i, step));
        let at = self.add(Op::Binary(BinaryOp::Add, at, offset));
        let read = self.add(Op::At(x.node, vec![at]));
        let body = self.scalar(self.ty, &[read, k], 2);
        let lambda = self.f.graph.close(&[(tap, Ty::I64)], body);
        let taps = self.taps();
        let window = self.add(Op::Generate(vec![taps], lambda));
        self.classes += 1;
        let window = Array { node: window, shape: vec![self.classes - 1] };
        let sum = self.reduction_of(&window);
        let body = if self.rng.one_in(2) { sum } else { self.scalar(self.ty, &[sum, i], 2) };
        let lambda = self.f.graph.close(&[(var, Ty::I64)], body);
        Array { node: self.add(Op::Generate(vec![n], lambda)), shape: x.shape }
    }

    /// How many: a constant, or what the call says, staged.
    fn taps(&mut self) -> arraygpu_compiler::core::NodeId {
        if self.rng.one_in(2) {
            let n = self.rng.below(7) as i64;
            return self.int(n);
        }
        let seven = self.int(7);
        let low = self.add(Op::Binary(BinaryOp::And, self.m, seven));
        self.add(Op::Stage(low))
    }
}
