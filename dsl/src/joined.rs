//! Reductions and folds with one or several components, of nodes.

use crate::node::{self, NodeRef, Op, make};
use crate::scope::Place;
use arraygpu_compiler::core::Type;
use arraygpu_compiler::scalar::Ty;

/// Whether something with several components is reduced or folded.
#[derive(Clone, Copy)]
pub(crate) enum Order {
    Reduce,
    ReduceOrdered,
    Fold,
}

/// A reduction or fold of tuples: a value for each component of the initial value.
fn joined(
    at: Place,
    construct: &'static str,
    order: Order,
    init: &[NodeRef],
    srcs: &[NodeRef],
    f: impl FnOnce(&[NodeRef], &[NodeRef]) -> Vec<NodeRef>,
) -> Vec<NodeRef> {
    let src = match srcs {
        [one] => one,
        // one array whose elements are tuples
        all => node::map_one(at, construct, all, |v| node::tuple(at, v)),
    };
    let types: Vec<Ty> = init.iter().chain(srcs).map(|n| n.ty.elem).collect();
    let lambda = node::bind_one(at, construct, &types, |v| {
        let (accumulator, element) = v.split_at(init.len());
        node::tuple(at, &f(accumulator, element))
    });
    let init_tuple = node::tuple(at, init);
    let component = |(which, of): (u32, &NodeRef)| {
        let (lambda, init) = (lambda.clone(), init_tuple);
        let op = match order {
            Order::Reduce => Op::Reduce { ordered: false, lambda, init, src, which },
            Order::ReduceOrdered => Op::Reduce { ordered: true, lambda, init, src, which },
            Order::Fold => Op::Fold { lambda, init, src, which },
        };
        make(at, Type::scalar(of.ty.elem), op)
    };
    (0..).zip(init).map(component).collect()
}

/// Reduces tuples of the elements of arrays by an operator of tuples, given as nodes.
pub(crate) fn reduce(
    at: Place,
    construct: &'static str,
    order: Order,
    init: &[NodeRef],
    srcs: &[NodeRef],
    f: impl FnOnce(&[NodeRef], &[NodeRef]) -> Vec<NodeRef>,
) -> Vec<NodeRef> {
    joined(at, construct, order, init, srcs, f)
}

/// Folds tuples of the elements of arrays, from the first to the last.
pub(crate) fn fold(
    at: Place,
    construct: &'static str,
    init: &[NodeRef],
    srcs: &[NodeRef],
    f: impl FnOnce(&[NodeRef], &[NodeRef]) -> Vec<NodeRef>,
) -> Vec<NodeRef> {
    joined(at, construct, Order::Fold, init, srcs, f)
}
