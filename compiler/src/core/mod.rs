//! Core IR: pure expressions over scalars and arrays, with lambdas.
//!
//! A [`Function`] is a [`Graph`] of hash-consed nodes (equal nodes are one node, so common
//! subexpressions are shared by construction), its results, and its shape rules. Sizes are scalar
//! nodes like any other (`len %x`, `sub %n, 14i64`). Bound variables are canonical (see [`graph`]),
//! so equal lambdas are equal nodes. Text form: `docs/ir.md`. Well-formedness: [`verify`].

pub mod arithmetic;
pub mod begins;
pub mod bins;
pub mod bounds;
pub mod byte_tables;
pub mod calls;
pub mod destinations;
pub mod deviations;
pub mod digits;
pub mod element_loops;
pub mod elementary;
pub mod encode;
pub mod equations;
mod form;
mod function;
pub mod graph;
pub mod guarded;
pub mod host;
pub mod identity;
pub mod index_space;
pub mod infer;
pub mod interp;
pub mod kept_records;
mod label_order;
pub mod labels;
pub mod length;
pub mod linear;
pub mod merges;
mod operands;
pub mod order_of_bits;
pub mod orders;
pub mod panels;
pub mod parse;
pub mod postponed;
pub mod print;
pub mod prove;
pub mod recompute;
pub mod records;
pub mod rewrite;
pub mod rules;
pub mod scan_lines;
pub mod scan_part;
pub mod scan_stages;
pub mod scan_totals;
pub mod segments;
pub mod sequence;
pub mod simplify;
pub mod sort_keys;
mod stencil_hint;
pub mod term;
mod tested;
pub mod total_reads;
pub mod tuples;
pub mod unrolled;
pub mod verify;

pub use form::{Check, Form};
pub use function::{Function, Output, Param, Require, Rule};
pub use graph::{Graph, Node};
pub use labels::LabelSet;
pub use operands::Operands;
pub use scan_part::{SCAN_CHUNK, SCAN_GROUP, SCAN_ROW, SCAN_TILE, ScanPart};
pub use stencil_hint::StencilHint;
pub use tested::Tested;

use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};
use std::fmt;

/// The maximum rank of an array; `agpu_view` has room for no more.
pub const MAX_RANK: usize = 3;
/// The number of elements of a tile of the fixed tree (semantics 5.1). Kernels and launches are cut at tiles, too.
pub const TILE: i64 = 2048;
/// The number of elements of a panel of a `panel_dot` (semantics 5.7).
pub const PANEL: i64 = 512;
/// The number of columns of a tile.
pub const COLUMNS: i64 = 128;

/// A node of one graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.0)
    }
}

/// A bound variable. In a finished lambda its number is canonical: it is above every binder in the
/// lambda's body.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Var(pub u32);

/// The type of a node: element type and rank (0 scalar, 1 vector, 2 matrix ..).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Type {
    /// Element type.
    pub elem: Ty,
    /// Number of dimensions.
    pub rank: u8,
}

impl Type {
    /// A scalar type.
    pub fn scalar(elem: Ty) -> Type {
        Type { elem, rank: 0 }
    }
    /// A vector type.
    pub fn vector(elem: Ty) -> Type {
        Type { elem, rank: 1 }
    }
    /// An array of that rank.
    pub fn array(elem: Ty, rank: usize) -> Type {
        Type { elem, rank: rank as u8 }
    }
    /// Returns whether the rank is 0.
    pub fn is_scalar(self) -> bool {
        self.rank == 0
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let r = self.rank.into();
        write!(f, "{}{}{}", "[".repeat(r), self.elem, "]".repeat(r))
    }
}

/// A function from scalars to one scalar.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Lambda {
    /// Bound variables, in order, with their types.
    pub params: Vec<(Var, Ty)>,
    /// The result.
    pub body: NodeId,
}

/// An operation. Operands are nodes of the same graph.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Op {
    Const(Lit),
    /// Parameter of the function, by position.
    Param(u32),
    Var(Var, Ty),
    /// The number of the step of the innermost iteration, i64, which begins with 0. Only the step of an iteration has
    /// it. The host knows it at each launch, but not before the first one, so no length may depend on it.
    Turn,
    /// 1 if the call is checked for the author's promises, else 0, i64. Interpreters always check; the runtime checks
    /// if its user asks for it. It is a factor of the lengths of arrays that only leave records, so that these have
    /// no elements in other calls.
    Checked,

    Unary(UnaryOp, NodeId),
    Binary(BinaryOp, NodeId, NodeId),
    /// a * b + c, rounded once.
    MulAdd(NodeId, NodeId, NodeId),
    /// condition, then, else.
    Select(NodeId, NodeId, NodeId),
    Cast(Ty, NodeId),
    /// The operand, a host scalar whose value may be embedded as a constant (`crate::stage`).
    Stage(NodeId),

    /// Number of elements along an axis (0 is the outermost), i64.
    Len(NodeId, u8),
    /// A total read, with one index for each axis: outside it gives 0 and leaves an error record.
    At(NodeId, Vec<NodeId>),
    /// A read at indices that are proven to be in bounds. After `fuse` it reads a parameter or a
    /// materialized array only.
    Elem(NodeId, Vec<NodeId>),
    /// Whether 0 <= index < n; leaves an error record if not, which says what was tested. `fuse` makes it from
    /// `At` of a computed array.
    Within(NodeId, NodeId, Tested),
    /// Whether a label (`labels`), u32, is not 0; then it leaves the record of the place that has the label, one of
    /// these. `kept_records` makes it.
    Leave(NodeId, LabelSet),

    /// A function applied to the elements of arrays of one shape.
    Map(Lambda, Vec<NodeId>),
    /// An array from its extents, outermost first, and a function of the indices.
    Generate(Vec<NodeId>, Lambda),
    /// A range of one axis.
    Slice {
        src: NodeId,
        axis: u8,
        start: NodeId,
        stop: NodeId,
        stride: NodeId,
    },
    /// The reversal of an axis.
    Reverse(NodeId, u8),
    /// Axis k of the result is axis `[k]` of the operand.
    Permute(NodeId, Vec<u8>),
    /// The part at one index of an axis, such as a row or a column; the result lacks that axis. A
    /// shape rule says that the index is inside, or the index runs over that axis.
    Pick {
        src: NodeId,
        axis: u8,
        index: NodeId,
    },
    /// n copies of the operand along a new axis; the inverse of `pick`.
    Spread {
        src: NodeId,
        axis: u8,
        n: NodeId,
    },
    /// 0, 1, .. n-1 as i64.
    Iota(NodeId),
    /// n copies of the value.
    Fill(NodeId, NodeId),
    /// An array that must be stored.
    Materialize(NodeId),

    /// Several scalars (semantics 5.14). Only the elements, the initial value and the result of the operator of a
    /// reduction or fold, and the result of a loop's function, may be tuples. Its type is that of its first
    /// component.
    Tuple(Vec<NodeId>),

    /// A reduction (semantics 5.1). If its initial value is a tuple, so are the elements, and the
    /// operator takes the components of two tuples; the value is the component `which` of the result.
    /// All components have the same operands, so that one loop computes them.
    Reduce {
        join: Lambda,
        init: NodeId,
        src: NodeId,
        which: u32,
    },
    /// A reduction that keeps the order of the elements (semantics 5.17), otherwise as [`Op::Reduce`].
    ReduceOrdered {
        join: Lambda,
        init: NodeId,
        src: NodeId,
        which: u32,
    },
    /// The vector of the partial results of a reduction of a vector, each including its own element (semantics 5.18);
    /// otherwise as [`Op::Reduce`]. It depends on no variable. It may also be a part of a scan.
    Scan {
        part: ScanPart,
        join: Lambda,
        init: NodeId,
        src: NodeId,
        which: u32,
    },
    /// The indices of a vector's elements in ascending order of the elements, equal ones in the order of their
    /// indices (semantics 5.19). It depends on no variable.
    Argsort(NodeId),
    /// The elements of a vector at other places: element i of `src` is element `at[i]` of the result. The places,
    /// i64, are all indices of the vector in some order, and depend on a scan. Only passes make it, and it is stored
    /// (`materialize`).
    Place {
        at: NodeId,
        src: NodeId,
    },
    /// The partial results of a reduction into bins (semantics 5.21; [`bins`]), a matrix of `parts` rows and `count`
    /// columns: element (p, k) joins those elements of part p of `src` whose destination `at`, i64, is k, by an
    /// operator whose order is free, beginning with its identity. Elements with other destinations are left out. It
    /// depends on no variable, and is stored (`materialize`).
    Bins {
        op: BinaryOp,
        parts: NodeId,
        count: NodeId,
        at: NodeId,
        src: NodeId,
    },
    /// A vector in which the elements of another one are stored (semantics 5.21): element `at[i]`, i64, of the result
    /// is element i of `src`, and where there is no such i it is that of `base`. Elements with other destinations are
    /// left out. The author promises that no two have the same destination; if some do, any of them may be stored.
    /// `after` is a vector of truth values that is stored before, because it leaves the records of broken promises.
    /// It depends on no variable, and is stored (`materialize`).
    Put {
        at: NodeId,
        src: NodeId,
        base: NodeId,
        after: NodeId,
    },
    /// How often each digit occurs in each tile of a vector of digits, i32 from 0 to below
    /// [`DIGITS`](digits::DIGITS): digit d of tile t is counted by element `d * tiles + t`. There are `count`
    /// counters, i32, for `tiles` tiles of [`DIGIT_TILE`](digits::DIGIT_TILE) elements. Only passes make it, and it
    /// is stored (`materialize`).
    DigitCounts {
        count: NodeId,
        tiles: NodeId,
        digits: NodeId,
    },
    /// How many elements with a digit there are up to the end of a tile, i64, given the counts of all `digits` digits
    /// and all tiles: element `d * tiles + t` is the sum of the counts of digit d in the tiles 0 to t. Only passes
    /// make it, and it is stored (`materialize`).
    DigitEnds {
        digits: NodeId,
        tiles: NodeId,
        counts: NodeId,
    },
    /// The elements of a vector in ascending order of their digits, equal ones in the order of their indices. `ends`
    /// tells how many elements with a digit there are up to the end of a tile ([`Op::DigitEnds`]). Only passes make
    /// it, and it is stored (`materialize`).
    ByDigit {
        tiles: NodeId,
        digits: NodeId,
        ends: NodeId,
        src: NodeId,
    },
    /// An inner product (semantics 5.3).
    Dot {
        init: NodeId,
        a: NodeId,
        b: NodeId,
    },
    /// An inner product by panels (semantics 5.7).
    PanelDot {
        init: NodeId,
        a: NodeId,
        b: NodeId,
    },
    /// The sum of the squared deviations from the mean, in one pass (semantics 5.12).
    SquaredDeviations {
        init: NodeId,
        src: NodeId,
    },
    /// A sequential fold by step(accumulator, element) (semantics 5.5). Accumulator and elements may be tuples, like
    /// those of a reduction, but need not have the same components.
    Fold {
        step: Lambda,
        init: NodeId,
        src: NodeId,
        which: u32,
    },
    /// A loop of one element (semantics 5.16): while its number of steps is below `count` and the condition holds,
    /// `step` gives the next states. It takes that number, i64, and the states, and its body is a tuple of the
    /// condition and the next states. The value is the state `which`, or, if `which` is the number of states, the
    /// number of steps. All values of a loop have the same operands, so that one loop computes them.
    Loop {
        step: Lambda,
        which: u32,
        count: NodeId,
        init: Vec<NodeId>,
    },
    /// One of the states after `count` calls of a step of the function ([`Function::steps`], semantics 5.11), or
    /// another value that the form says. `args` are the initial states, followed by the other arguments that every
    /// call gets.
    Iterate {
        step: u32,
        which: u32,
        form: Form,
        count: NodeId,
        args: Vec<NodeId>,
    },
}

/// Returns the argument of an iteration that has a length of its value, and the axis; `None` if the value is the
/// number of steps.
pub fn axis_of_state(form: Form, state: NodeId, axis: u8) -> Option<(NodeId, u8)> {
    match form {
        Form::Each if axis == 0 => None,
        Form::Each => Some((state, axis - 1)),
        Form::Last | Form::Or(_) | Form::Until(_) => Some((state, axis)),
    }
}
