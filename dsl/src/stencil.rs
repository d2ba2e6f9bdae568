//! What stencils are made of: shifted slices, and sums of them with weights.

use crate::axis::{len, slice};
use crate::elem::{Elem, Num};
use crate::handle::VExp;
use crate::node::{self, NodeRef, Op, make};
use crate::scope::Place;
use arraygpu_compiler::Error;
use arraygpu_compiler::core::Type;
use arraygpu_compiler::loc::Loc;
use arraygpu_compiler::scalar::{BinaryOp, Lit, eval_cast};
use std::panic::Location;

impl<T: Elem> VExp<T> {
    /// The `k` slices of length `len - (k - 1)`: the i-th begins at element i. What stencils are made of.
    #[track_caller]
    pub fn windows(self, k: usize) -> Vec<VExp<T>> {
        let at = Location::caller();
        if k == 0 {
            let error = Error::user("E0207", "windows of no elements").at(Some(&Loc::caller(at)));
            return vec![VExp::of(node::invalid(at, Type::vector(T::TY), error))];
        }
        windows(at, "windows", self.node(), k).into_iter().map(VExp::of).collect()
    }

    /// `result[i] = weights[0] * x[i] + weights[1] * x[i + 1] + ...`, the first product rounded, then a chain of multiply-adds. It is
    /// `weights.len() - 1` elements shorter than x.
    #[track_caller]
    pub fn weighted_sum(self, weights: &[T]) -> VExp<T>
    where
        T: Num,
    {
        let at = Location::caller();
        let Some((first, rest)) = weights.split_first() else {
            let error = Error::user("E0207", "weighted_sum needs a weight").at(Some(&Loc::caller(at)));
            return VExp::of(node::invalid(at, Type::vector(T::TY), error));
        };
        // of halves in f32, rounded once
        let ty = node::sum_type(T::TY);
        let slices = windows(at, "weighted_sum", self.node(), weights.len());
        VExp::of(node::map_one(at, "weighted_sum", &slices, |x| {
            let weight = |w: &T| node::constant(at, eval_cast(ty, w.lit()));
            let x: Vec<NodeRef> = x.iter().map(|x| node::as_type(at, ty, x)).collect();
            let product = node::binary(at, BinaryOp::Mul, weight(first), x[0]);
            let sum = rest
                .iter()
                .zip(&x[1..])
                .fold(product, |sum, (w, x)| make(at, Type::scalar(ty), Op::MulAdd(weight(w), x, sum)));
            node::as_type(at, T::TY, sum)
        }))
    }
}

fn windows(at: Place, construct: &'static str, src: NodeRef, k: usize) -> Vec<NodeRef> {
    let number = |n: usize| node::constant(at, Lit::i64(n as i64));
    let count = node::binary(at, BinaryOp::Sub, len(at, src, 0), number(k - 1));
    let window = |i: usize| {
        let start = number(i);
        slice(at, construct, (src, 0), [start, node::binary(at, BinaryOp::Add, count, start)], None)
    };
    (0..k).map(window).collect()
}
