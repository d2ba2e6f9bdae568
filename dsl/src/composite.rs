//! Composites: constructs that the compiler makes of others, by name ([`Composite`]).

use crate::handle::SExp;
use crate::item::Item;
use crate::node::{self, Composed, Lambda, NodeRef, Op, make};
use crate::results::{Results, nodes_of, of_nodes};
use crate::scope::Place;
use arraygpu_compiler::build::Composite;
use arraygpu_compiler::core::Type;
use arraygpu_compiler::scalar::Ty;
use std::rc::Rc;

/// The values of a composite, which have these types.
pub(crate) fn composite(
    at: Place,
    which: Composite,
    operands: Vec<NodeRef>,
    operator: Option<Lambda>,
    types: &[Type],
) -> Vec<NodeRef> {
    named(at, (which, which.word()), operands, operator, types)
}

/// The values of a composite for which authors have this word.
fn named(
    at: Place,
    (which, word): (Composite, &'static str),
    operands: Vec<NodeRef>,
    operator: Option<Lambda>,
    types: &[Type],
) -> Vec<NodeRef> {
    let all = Rc::new(Composed { which, word, operands, operator });
    (0..).zip(types).map(|(value, ty)| make(at, *ty, Op::Composite(all.clone(), value))).collect()
}

/// Arrays of an operator's components, each of the shape of its array: of the arrays and the initial values, and of
/// what else it takes.
pub(crate) fn joined(
    at: Place,
    which: Composite,
    (srcs, init): (&[NodeRef], &[NodeRef]),
    more: &[NodeRef],
    f: impl FnOnce(&[NodeRef], &[NodeRef]) -> Vec<NodeRef>,
) -> Vec<NodeRef> {
    let elements: Vec<Ty> = init.iter().map(|n| n.ty.elem).collect();
    let operator = node::bind_one(at, which.name(), &elements.repeat(2), |v| {
        let (left, right) = v.split_at(init.len());
        node::tuple(at, &f(left, right))
    });
    let types: Vec<Type> = srcs.iter().zip(elements).map(|(x, elem)| Type { elem, ..x.ty }).collect();
    composite(at, which, [srcs, init, more].concat(), Some(operator), &types)
}

/// The arrays of a composite whose operator joins two items: of the items' arrays, which it keeps the shapes of, of
/// the initial value, and of what else it takes.
pub(crate) fn joined_items<T: Item, A: Results>(
    at: Place,
    which: Composite,
    (x, init): (A, NodeRef),
    more: &[NodeRef],
    f: impl FnOnce(SExp<T>, SExp<T>) -> SExp<T>,
) -> A {
    let join = |a: &[_], b: &[_]| nodes_of(f(of_nodes(a), of_nodes(b)));
    of_nodes(&joined(at, which, (&nodes_of(x), T::split(&init)), more, join))
}

/// The vectors of a composite that keeps the types of its operands, by the author's word.
pub(crate) fn alike(at: Place, which: (Composite, &'static str), operands: Vec<NodeRef>) -> Vec<NodeRef> {
    let types: Vec<Type> = operands.iter().map(|n| n.ty).collect();
    named(at, which, operands, None, &types)
}
