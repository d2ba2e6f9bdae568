//! A function of the author's program: parameters, results, shape rules, and the graph of its
//! nodes.

use super::{Graph, NodeId, StencilHint, Type};
use crate::counted;
use crate::loc::{Loc, LocStack};
use std::sync::Arc;

/// A shape rule that the host checks before anything runs (semantics 4.1). Both operands are host
/// scalars (i64).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Rule {
    /// The two lengths are equal.
    Same,
    /// 0 (first) <= start (second).
    Start,
    /// start <= stop.
    Order,
    /// stop <= length.
    Stop,
    /// 1 (first) <= stride (second).
    Stride,
    /// 0 (first) <= index of a row or column (second).
    Index,
    /// index + 1 (first) <= length (second).
    Inside,
    /// 0 (first) <= a length to be made (second).
    Extent,
    /// The elements that a margin reads (first) <= length (second).
    Margin,
    /// 0 (first) <= a number of steps (second).
    Count,
    /// 1 (first) <= the length of a part that replaces another (second).
    Part,
}

impl Rule {
    /// Whether the parts of an array are windows, which the subject of their rules says.
    pub(crate) fn is_of_windows(subject: &str) -> bool {
        ["windows", "weighted_sum"].iter().any(|construct| subject.starts_with(construct))
    }

    /// Whether a rule is one of the number of elements that an author promises, which its subject says.
    fn is_of_number(subject: &str) -> bool {
        subject.starts_with("with_len")
    }

    /// What a construct takes of an array, or puts in place of it.
    pub(crate) fn taken(subject: &str) -> &'static str {
        if subject.starts_with("slice") { "the slice" } else { "the part" }
    }

    /// Whether a rule is one of offsets of segments, which its subject says.
    pub(crate) fn is_of_segments(subject: &str) -> bool {
        subject.starts_with("segmented_")
    }

    /// Every rule with its name in the text IRs.
    pub const ALL: [(Rule, &'static str); 11] = [
        (Rule::Same, "same"),
        (Rule::Start, "start"),
        (Rule::Order, "order"),
        (Rule::Stop, "stop"),
        (Rule::Stride, "stride"),
        (Rule::Index, "index"),
        (Rule::Inside, "inside"),
        (Rule::Extent, "extent"),
        (Rule::Margin, "margin"),
        (Rule::Count, "count"),
        (Rule::Part, "part"),
    ];

    /// The name in the text IRs.
    pub fn name(self) -> &'static str {
        Rule::ALL.iter().find(|(r, _)| *r == self).map_or("", |(_, n)| n)
    }

    /// Returns whether the rule holds for these values.
    pub fn holds(self, a: i64, b: i64) -> bool {
        match self {
            Rule::Same => a == b,
            // index + 1 may have wrapped
            Rule::Inside => a.wrapping_sub(1) < b,
            _ => a <= b,
        }
    }

    /// Returns the message for a violated rule of this subject, with the sizes: "lengths 3 and 4 differ".
    pub fn violation(self, subject: &str, a: i64, b: i64) -> String {
        match self {
            // the first of k elements stops at length - (k - 1), which is below 0
            Rule::Order if Rule::is_of_windows(subject) => {
                format!("the window is wider than the array by {}", a.wrapping_sub(b).wrapping_add(1))
            }
            // the slice of the first n elements
            Rule::Order if Rule::is_of_number(subject) => format!("the number of elements is {b}, below 0"),
            Rule::Stop if Rule::is_of_number(subject) => {
                format!("{} cannot be kept of {b}", counted(a, "element"))
            }
            // of the slice without the first or the last offset
            Rule::Order if Rule::is_of_segments(subject) => {
                let offsets = counted(b.wrapping_sub(a).wrapping_add(1), "offset");
                format!("there are {offsets}: k segments have k + 1 of them, so that there is at least 1")
            }
            Rule::Same => format!("the lengths {a} and {b} differ"),
            Rule::Start => format!("{} starts at {b}, below 0", Rule::taken(subject)),
            Rule::Order => format!("{} stops at {b}, before its start {a}", Rule::taken(subject)),
            Rule::Stop => format!("{} stops at {a}, past the length {b}", Rule::taken(subject)),
            Rule::Stride => format!("the stride is {b}, it must be 1 or more"),
            // lengths that fit into memory do not wrap by margins that do
            Rule::Extent if subject.starts_with("padded") && b >= i64::MIN / 2 => {
                format!("the margin {b} is negative")
            }
            Rule::Extent if subject.starts_with("padded") => {
                "no array is as long as that with its margins".into()
            }
            Rule::Index => format!("the index {b} is negative"),
            Rule::Inside => format!("the index {} is outside of the length {b}", a.wrapping_sub(1)),
            Rule::Extent => format!("the length {b} is negative"),
            Rule::Margin => format!("the margin needs {a} or more elements, the length is {b}"),
            Rule::Count => format!("the number of steps is {b}, it must be 0 or more"),
            Rule::Part => format!("the part has the length {b}, it must have {a} element or more"),
        }
    }
}

/// A shape rule of one function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Require {
    /// What must hold of `a` and `b`.
    pub rule: Rule,
    /// First operand.
    pub a: NodeId,
    /// Second operand.
    pub b: NodeId,
    /// The construct and the parameters to which it applies: `zip_with: x, y`.
    pub subject: String,
    /// Where the author wrote it.
    pub loc: LocStack,
}

/// A parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
}

/// A result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Output {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: NodeId,
}

/// A function of the author's program.
#[derive(Clone, Debug)]
pub struct Function {
    /// The name under which it is exported.
    pub name: String,
    /// Documentation for the generated headers; may be empty.
    pub doc: String,
    /// `fast_math`: GPUs may approximate, contract and flush subnormals (`passes/fast.rs`).
    pub fast: bool,
    /// `tensor_cores`: GPUs may compute matrix products with tensor cores (semantics 8).
    pub tensor_cores: bool,
    /// How GPU kernels hold the arrays of stencils; `None` leaves the choice to the cost model.
    pub stencil: Option<StencilHint>,
    /// Where it was registered.
    pub loc: Option<Loc>,
    /// Parameters, in order.
    pub params: Vec<Param>,
    /// Results, in order; at least one.
    pub results: Vec<Output>,
    /// Shape rules, in the order of the program.
    pub requires: Vec<Require>,
    /// The steps of its iterations: functions from states, and other arguments, to the next
    /// states.
    pub steps: Vec<Arc<Function>>,
    /// Whether it is the step of an iteration.
    pub is_step: bool,
    /// Whether the only arrays that fusion stores are stages of chains of stencils, which their readers could also
    /// compute again ([`super::recompute`]).
    pub has_stages: bool,
    /// Whether fusion left elements of an array to be computed again at several reads, such as those of a halo. Only
    /// debug builds set this.
    pub repeats: bool,
    /// In fused form: the values of the results in the form in which such arrays are stored, while `results` compute
    /// them again. Empty if there are no such arrays (`passes/chains.rs`).
    pub by_stages: Vec<NodeId>,
    /// All nodes.
    pub graph: Graph,
}

impl Function {
    /// A function without results yet; its parameters are nodes already.
    pub fn new(name: &str, params: Vec<Param>) -> Function {
        let mut graph = Graph::default();
        graph.declare_params(params.iter().map(|p| p.ty));
        Function {
            name: name.into(),
            doc: String::new(),
            fast: false,
            tensor_cores: false,
            stencil: None,
            loc: None,
            params,
            results: Vec::new(),
            requires: Vec::new(),
            steps: Vec::new(),
            is_step: false,
            has_stages: false,
            repeats: false,
            by_stages: Vec::new(),
            graph,
        }
    }

    /// Returns the nodes that must be computed: the operands of the shape rules, and the results.
    pub fn roots(&self) -> impl Iterator<Item = NodeId> {
        let rules = self.requires.iter().flat_map(|r| [r.a, r.b]);
        rules.chain(self.results.iter().map(|r| r.value))
    }

    /// Returns whether `is` holds for any node that is needed. The nodes are first searched whether
    /// needed or not, because usually it holds for none.
    pub fn needs(&self, is: impl Fn(NodeId) -> bool) -> bool {
        (0..self.graph.len() as u32).any(|n| is(NodeId(n)))
            && self.graph.reachable(self.roots()).into_iter().any(is)
    }
}
