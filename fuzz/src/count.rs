//! What programs are made of.

use arraygpu_compiler::core::{Function, Op};
use std::collections::BTreeMap;

/// How often something occurs.
pub type Counts = BTreeMap<String, u64>;

/// What an operation does with arrays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// A leaf: a constant or a variable.
    Leaf,
    /// Computes a scalar from scalars.
    Scalar,
    /// Reads an array and gives a scalar.
    Reads,
    /// Makes an array without reading one.
    Makes,
    /// Makes an array of arrays.
    Both,
}

/// An operation of core IR by its name. Operators (`add`, `sqrt`, ..) are listed by their own
/// enums.
pub(crate) struct Operation {
    pub(crate) name: &'static str,
    pub(crate) role: Role,
}

/// One row for each operation gives both the list and the match that finds the name, so that the
/// two agree. A new operation does not compile before it has a row, and the tests then ask for
/// programs that contain it.
macro_rules! operations {
    ($($pattern:pat => $name:literal $role:ident,)*) => {
        /// Every operation but the operators of one or two scalars.
        pub(crate) const OPERATIONS: &[Operation] = &[$(Operation { name: $name, role: Role::$role }),*];

        /// The name of an operation or operator.
        pub fn name(op: &Op) -> &'static str {
            match op {
                Op::Unary(op, _) => op.name(),
                Op::Binary(op, ..) => op.name(),
                $($pattern => $name,)*
            }
        }
    };
}

operations! {
    Op::Const(_) => "const" Leaf,
    Op::Param(_) => "param" Makes,
    Op::Var(..) => "var" Leaf,
    Op::Turn => "turn" Leaf,
    Op::Checked => "checked" Leaf,
    Op::MulAdd(..) => "mul_add" Scalar,
    Op::Select(..) => "select" Scalar,
    Op::Tuple(_) => "tuple" Leaf,
    Op::Cast(..) => "cast" Scalar,
    Op::Loop { .. } => "loop" Scalar,
    Op::Stage(_) => "stage" Scalar,
    Op::Len(..) => "len" Reads,
    Op::At(..) => "at" Reads,
    Op::Elem(..) => "elem" Reads,
    // only passes leave what they have kept
    Op::Within(..) | Op::Leave(..) => "within" Scalar,
    Op::Map(..) => "map" Both,
    Op::Generate(..) => "generate" Makes,
    Op::Slice { .. } => "slice" Both,
    Op::Reverse(..) => "reverse" Both,
    Op::Permute(..) => "permute" Both,
    Op::Pick { .. } => "pick" Both,
    Op::Spread { .. } => "spread" Both,
    Op::Iota(_) => "iota" Makes,
    Op::Fill(..) => "fill" Makes,
    Op::Materialize(_) => "materialize" Both,
    Op::Reduce { .. } => "reduce" Reads,
    Op::Dot { .. } => "dot" Reads,
    Op::PanelDot { .. } => "panel_dot" Reads,
    Op::ReduceOrdered { .. } => "reduce_ordered" Reads,
    Op::Scan { .. } => "scan" Both,
    // the passes write orders by places and digits, and nobody else does
    Op::Argsort(_)
    | Op::Place { .. }
    | Op::DigitCounts { .. }
    | Op::DigitEnds { .. }
    | Op::ByDigit { .. } => "argsort" Both,
    // what makes it stores it, and reads it by columns
    Op::Bins { .. } => "bins" Leaf,
    Op::Put { .. } => "put" Leaf,
    Op::SquaredDeviations { .. } => "squared_deviations" Reads,
    Op::Fold { .. } => "fold" Reads,
    Op::Iterate { .. } => "iterate" Both,
}

/// Operations that make arrays.
pub(crate) fn makers() -> impl Iterator<Item = &'static str> {
    with(&[Role::Makes, Role::Both])
}

/// Operations that read arrays.
pub(crate) fn readers() -> impl Iterator<Item = &'static str> {
    with(&[Role::Reads, Role::Both])
}

/// Operations whose role is one of these.
pub(crate) fn with(roles: &[Role]) -> impl Iterator<Item = &'static str> {
    OPERATIONS.iter().filter(|o| roles.contains(&o.role)).map(|o| o.name)
}

/// Adds what the results of a function, and of its steps, need.
pub fn add(f: &Function, counts: &mut Counts) {
    for n in f.graph.reachable(f.roots()) {
        *counts.entry(name(f.graph.op(n)).into()).or_default() += 1;
    }
    f.steps.iter().for_each(|s| add(s, counts));
}
