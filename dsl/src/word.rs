//! Words: constructs that the compiler makes of others, by name ([`Word`]).

use crate::node::{self, Lambda, NodeRef, Op, make};
use crate::scope::Place;
use arraygpu_compiler::build::Word;
use arraygpu_compiler::core::Type;
use arraygpu_compiler::scalar::Ty;
use std::rc::Rc;

/// A word with its operands. All values that it gives share it.
#[derive(Debug)]
pub(crate) struct Worded {
    pub word: Word,
    pub operands: Vec<NodeRef>,
    /// The operator of a reduction.
    pub operator: Option<Lambda>,
}

/// The values of a word, which have these types.
pub(crate) fn word(
    at: Place,
    word: Word,
    operands: Vec<NodeRef>,
    operator: Option<Lambda>,
    types: &[Type],
) -> Vec<NodeRef> {
    let all = Rc::new(Worded { word, operands, operator });
    (0..).zip(types).map(|(which, ty)| make(at, *ty, Op::Word(all.clone(), which))).collect()
}

/// Vectors of an operator's components: of the vectors and the initial values, and of what else the word takes.
pub(crate) fn joined(
    at: Place,
    name: Word,
    (srcs, init): (&[NodeRef], &[NodeRef]),
    more: &[NodeRef],
    f: impl FnOnce(&[NodeRef], &[NodeRef]) -> Vec<NodeRef>,
) -> Vec<NodeRef> {
    let elements: Vec<Ty> = init.iter().map(|n| n.ty.elem).collect();
    let operator = node::bind_one(at, name.name(), &elements.repeat(2), |v| {
        let (left, right) = v.split_at(init.len());
        node::tuple(at, &f(left, right))
    });
    let types: Vec<Type> = elements.into_iter().map(Type::vector).collect();
    word(at, name, [srcs, init, more].concat(), Some(operator), &types)
}

/// The vectors of a word that keeps the types of its operands.
pub(crate) fn alike(at: Place, name: Word, operands: Vec<NodeRef>) -> Vec<NodeRef> {
    let types: Vec<Type> = operands.iter().map(|n| n.ty).collect();
    word(at, name, operands, None, &types)
}
