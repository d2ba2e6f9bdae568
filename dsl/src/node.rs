//! Nodes: what the typed handles point to.
//!
//! An expression is a graph of nodes in a per-thread arena that is never freed (a generator makes
//! some thousands of nodes and ends). So a handle is one pointer, `Copy` and without a lifetime,
//! and a handle used twice is one node. A node knows its type, the scopes it depends on
//! ([`crate::scope`]), the author's line, and its number in the order of the program. All of the
//! untyped building is here; the typed layer above calls it and cannot make an ill-typed node.

use crate::scope::{Open, Owner, Place, ScopeRef, ScopeSet, authors_place, next_number};
use arraygpu_compiler::Error;
use arraygpu_compiler::build::{Boundary, Composite};
use arraygpu_compiler::core::{Tested, Type};
use arraygpu_compiler::scalar::{BinaryOp, Lit, Ty, UnaryOp};
use std::any::Any;
use std::cell::OnceCell;
use std::rc::Rc;
use std::sync::Arc;
use typed_arena::Arena;

/// A node.
#[derive(Debug)]
pub struct Node {
    pub(crate) op: Op,
    pub(crate) ty: Type,
    /// The scopes it depends on.
    pub(crate) scopes: ScopeSet,
    /// Where the author wrote it.
    pub(crate) at: Place,
    /// The position in the order in which the program made the nodes of a thread.
    pub(crate) number: u64,
}

/// A reference to a node. Nodes are shared and never freed.
pub type NodeRef = &'static Node;

/// A closure of the author, called once on variables.
#[derive(Clone, Debug)]
pub(crate) struct Lambda {
    pub scope: ScopeRef,
    pub vars: Vec<NodeRef>,
    pub body: NodeRef,
}

/// An iteration. All states that it gives share it.
#[derive(Debug)]
pub(crate) struct Iteration {
    /// The variables that stand for the states in the step.
    pub states: Vec<NodeRef>,
    /// The variable that stands for the number of the step, if the step gets it.
    pub number: Option<NodeRef>,
    /// The states after a step.
    pub bodies: Vec<NodeRef>,
    /// The number of steps.
    pub count: NodeRef,
    /// The states before the first step.
    pub inits: Vec<NodeRef>,
    /// Nodes from outside that the step mentions.
    pub captured: Vec<NodeRef>,
    pub ends: Ends,
}

/// What an iteration gives.
#[derive(Debug)]
pub(crate) enum Ends {
    /// The states after the last step.
    Last,
    /// The states after each step, along a new axis.
    Each,
    /// The first checked states for which the condition, a bool, does not hold, and behind the states the number of
    /// steps in a vector of one element.
    While { condition: NodeRef, every: u32 },
}

impl Iteration {
    /// The author's word.
    pub(crate) fn word(&self) -> &'static str {
        match (&self.ends, self.number.is_some()) {
            (Ends::Last, false) => "iterate",
            (Ends::Last, true) => "iterate_indexed",
            (Ends::Each, false) => "iterate_collect",
            (Ends::Each, true) => "iterate_collect_indexed",
            (Ends::While { .. }, _) => "iterate_while",
        }
    }

    /// The nodes that the iteration depends on.
    pub(crate) fn operands(&self) -> Vec<NodeRef> {
        [&[self.count], &self.inits[..], &self.captured].concat()
    }
}

/// The leaves of a record, and the struct of its fields as handles.
#[derive(Debug)]
pub(crate) struct Bundle {
    pub parts: Vec<NodeRef>,
    /// Made when a field is first asked for. Its type follows from that of the handle.
    fields: OnceCell<Box<dyn Any>>,
}

impl Bundle {
    /// The bundle of these leaves.
    pub(crate) fn of(parts: Vec<NodeRef>) -> Bundle {
        Bundle { parts, fields: OnceCell::new() }
    }

    /// The struct of the fields, which `make` makes of the leaves.
    pub(crate) fn fields<F: 'static>(&self, make: impl FnOnce(&[NodeRef]) -> F) -> &F {
        let fields = self.fields.get_or_init(|| Box::new(make(&self.parts)));
        fields.downcast_ref().expect("handles of one node have one type")
    }
}

/// A composite with its operands. All values that it gives share it.
#[derive(Debug)]
pub(crate) struct Composed {
    pub which: Composite,
    /// The author's word.
    pub word: &'static str,
    pub operands: Vec<NodeRef>,
    /// The operator of a reduction.
    pub operator: Option<Lambda>,
}

/// Why the arrays of an elementwise function have one shape.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SameShape {
    /// A shape rule says so, which is checked before the function runs and names the construct.
    Rule(&'static str),
    /// They are slices whose bounds say so.
    Bounds,
}

/// Operations: those of core IR, with the name of the construct where shape rules will need it.
#[derive(Debug)]
pub(crate) enum Op {
    Const(Lit),
    Param(u32),
    /// A closure's variable. The node is its identity.
    Var,
    Unary(UnaryOp, NodeRef),
    Binary(BinaryOp, NodeRef, NodeRef),
    MulAdd(NodeRef, NodeRef, NodeRef),
    Select(NodeRef, NodeRef, NodeRef),
    Cast(Ty, NodeRef),
    /// The operand's value may be embedded as a constant.
    Stage(NodeRef),
    /// The operand, which `eval` prints under a name.
    Trace(NodeRef, Arc<str>),
    /// `slet`: the operand, which gets a variable in the generated code.
    Bound(NodeRef),
    /// The length of the operand along an axis.
    Len(NodeRef, u8),
    /// The element at these indices, one for each axis.
    At(NodeRef, Vec<NodeRef>),
    /// The same where the construct knows that the indices are inside.
    Elem(NodeRef, Vec<NodeRef>),
    Map {
        same_shape: SameShape,
        lambda: Lambda,
        srcs: Vec<NodeRef>,
    },
    /// The extents, outermost first.
    Generate {
        construct: &'static str,
        extents: Vec<NodeRef>,
        lambda: Lambda,
    },
    Slice {
        construct: &'static str,
        src: NodeRef,
        axis: u8,
        start: NodeRef,
        stop: NodeRef,
        stride: NodeRef,
    },
    Reverse(NodeRef, u8),
    /// Axis k of the result is axis `[k]` of the operand.
    Permute(NodeRef, Vec<u8>),
    /// The part at an index of one axis. `inside`: the index runs over that axis, no rule is
    /// needed.
    Pick {
        construct: &'static str,
        src: NodeRef,
        axis: u8,
        index: NodeRef,
        inside: bool,
    },
    /// The operand repeated n times along a new axis.
    Spread {
        construct: &'static str,
        src: NodeRef,
        axis: u8,
        n: NodeRef,
    },
    /// The operand with margins before and after the elements of an axis.
    Pad {
        src: NodeRef,
        axis: u8,
        margins: [NodeRef; 2],
        boundary: Boundary<NodeRef>,
    },
    /// `src` with `part` in place of the elements from `start` on, which has one index for each
    /// axis.
    Replace {
        construct: &'static str,
        src: NodeRef,
        part: NodeRef,
        start: Vec<NodeRef>,
    },
    Iota(NodeRef),
    Fill(NodeRef, NodeRef),
    Materialize(NodeRef),
    /// Elements, initial values and results of operators that have several components, and what the function of a
    /// loop gives.
    Tuple(Vec<NodeRef>),
    /// Whether 0 <= index < n; leaves an error record if not.
    Within(NodeRef, NodeRef, Tested),
    /// A loop of an element; the state `which`, or behind the last one the number of steps.
    Loop {
        lambda: Lambda,
        count: NodeRef,
        init: Vec<NodeRef>,
        which: u32,
    },
    /// The component `which` of a reduction.
    Reduce {
        /// Whether the operator is not commutative: semantics 5.17.
        ordered: bool,
        lambda: Lambda,
        init: NodeRef,
        src: NodeRef,
        which: u32,
    },
    /// A value of a composite, by its number.
    Composite(Rc<Composed>, u32),
    /// The component `which` of a fold.
    Fold {
        lambda: Lambda,
        init: NodeRef,
        src: NodeRef,
        which: u32,
    },
    Dot(NodeRef, NodeRef),
    /// An element of a product: semantics 5.7.
    PanelDot(NodeRef, NodeRef),
    /// The sum of squared deviations from the mean: semantics 5.12.
    SquaredDeviations(NodeRef),
    /// The state of that number after an iteration.
    Iterate(Rc<Iteration>, u32),
    /// The leaves of a record ([`crate::item`]). It is taken apart before anything is made of it.
    Bundle(Bundle),
    /// A mistake that the types could not catch, reported if the function needs the value.
    Invalid(Box<Error>),
}

impl Op {
    /// The operands, without a closure's body.
    pub(crate) fn operands(&self) -> Vec<NodeRef> {
        match self {
            Op::Const(_) | Op::Param(_) | Op::Var | Op::Invalid(_) => vec![],
            Op::Unary(_, a)
            | Op::Cast(_, a)
            | Op::Stage(a)
            | Op::Bound(a)
            | Op::Len(a, _)
            | Op::Trace(a, _) => vec![a],
            Op::Reverse(a, _) | Op::Permute(a, _) | Op::Iota(a) | Op::Materialize(a) => vec![a],
            Op::SquaredDeviations(a) => vec![a],
            Op::Generate { extents, .. } => extents.clone(),
            Op::At(a, index) | Op::Elem(a, index) => [&[*a], &index[..]].concat(),
            Op::Pad { src, margins: [a, b], boundary: Boundary::Constant(c), .. } => vec![src, a, b, c],
            Op::Pad { src, margins: [a, b], .. } => vec![src, a, b],
            Op::Pick { src, index: n, .. } | Op::Spread { src, n, .. } => vec![src, n],
            Op::Binary(_, a, b) | Op::Fill(a, b) | Op::Within(a, b, _) => vec![a, b],
            Op::Dot(a, b) | Op::PanelDot(a, b) => vec![a, b],
            Op::MulAdd(a, b, c) | Op::Select(a, b, c) => vec![a, b, c],
            Op::Map { srcs, .. } | Op::Tuple(srcs) => srcs.clone(),
            Op::Bundle(bundle) => bundle.parts.clone(),
            Op::Loop { count, init, .. } => [&[*count], &init[..]].concat(),
            Op::Slice { src, start, stop, stride, .. } => vec![src, start, stop, stride],
            Op::Reduce { init, src, .. } | Op::Fold { init, src, .. } => vec![init, src],
            Op::Composite(all, _) => all.operands.clone(),
            Op::Iterate(all, _) => all.operands(),
            Op::Replace { src, part, start, .. } => [&[*src, *part], &start[..]].concat(),
        }
    }

    /// The closure of a combinator.
    pub(crate) fn lambda(&self) -> Option<&Lambda> {
        match self {
            Op::Map { lambda, .. } | Op::Generate { lambda, .. } => Some(lambda),
            Op::Composite(all, _) => all.operator.as_ref(),
            Op::Reduce { lambda, .. } | Op::Fold { lambda, .. } | Op::Loop { lambda, .. } => Some(lambda),
            _ => None,
        }
    }
}

thread_local! {
    static NODES: &'static Arena<Node> = Box::leak(Box::default());
}

fn alloc(at: Place, ty: Type, op: Op, scopes: ScopeSet) -> NodeRef {
    let node = Node { op, ty, scopes, at: authors_place(at), number: next_number() };
    NODES.with(|a| &*a.alloc(node))
}

/// Makes a node. Every operand passes the escape check here.
pub(crate) fn make(at: Place, ty: Type, op: Op) -> NodeRef {
    let mut scopes = ScopeSet::EMPTY;
    for operand in op.operands() {
        operand.scopes.check_open(operand.at, at);
        scopes = scopes.union(operand.scopes);
    }
    if let Some(lambda) = op.lambda() {
        scopes = scopes.union(lambda.body.scopes.without(lambda.scope));
    }
    alloc(at, ty, op, scopes)
}

/// A node that belongs to a scope: a variable or a parameter.
pub(crate) fn make_in(at: Place, ty: Type, op: Op, scope: ScopeRef) -> NodeRef {
    alloc(at, ty, op, ScopeSet::one(scope))
}

/// Calls an author's closure once, on fresh variables in a scope of its own. It may give several
/// values (a tuple); each becomes the body of one lambda over the same variables.
pub(crate) fn bind(
    at: Place,
    construct: &'static str,
    types: &[Ty],
    f: impl FnOnce(&[NodeRef]) -> Vec<NodeRef>,
) -> Vec<Lambda> {
    let open = Open::new(Owner::Closure(construct), at);
    let vars: Vec<NodeRef> = types.iter().map(|&ty| make_in(at, Type::scalar(ty), Op::Var, open.0)).collect();
    let bodies = f(&vars);
    for body in &bodies {
        body.scopes.check_open(body.at, at);
    }
    bodies.into_iter().map(|body| Lambda { scope: open.0, vars: vars.clone(), body }).collect()
}

/// [`bind`] for a closure that gives one value.
pub(crate) fn bind_one(
    at: Place,
    construct: &'static str,
    types: &[Ty],
    f: impl FnOnce(&[NodeRef]) -> NodeRef,
) -> Lambda {
    let mut lambdas = bind(at, construct, types, |vars| vec![f(vars)]);
    lambdas.pop().expect("one value was given")
}

/// A constant.
pub(crate) fn constant(at: Place, value: Lit) -> NodeRef {
    make(at, Type::scalar(value.ty), Op::Const(value))
}

/// A tuple of these components, or the only one.
pub(crate) fn tuple(at: Place, components: &[NodeRef]) -> NodeRef {
    match components {
        [one] => one,
        all => make(at, Type::scalar(all[0].ty.elem), Op::Tuple(all.to_vec())),
    }
}

/// Whether 0 <= i < n; leaves an error record if not.
pub(crate) fn within(at: Place, i: NodeRef, n: NodeRef) -> NodeRef {
    tested(at, i, n, Tested::Index)
}

/// [`within`], with what the record says.
pub(crate) fn tested(at: Place, i: NodeRef, n: NodeRef, tested: Tested) -> NodeRef {
    make(at, Type::scalar(Ty::Bool), Op::Within(i, n, tested))
}

/// A value that stands for a mistake.
pub(crate) fn invalid(at: Place, ty: Type, error: Error) -> NodeRef {
    make(at, ty, Op::Invalid(Box::new(error)))
}

/// `map` of one closure over arrays of one shape; one array for each value that the closure gives.
pub(crate) fn map(
    at: Place,
    construct: &'static str,
    srcs: &[NodeRef],
    f: impl FnOnce(&[NodeRef]) -> Vec<NodeRef>,
) -> Vec<NodeRef> {
    map_over(at, construct, SameShape::Rule(construct), srcs, f)
}

/// [`map`] over slices, whose bounds say that they have one shape.
pub(crate) fn map_slices(
    at: Place,
    construct: &'static str,
    srcs: &[NodeRef],
    f: impl FnOnce(&[NodeRef]) -> NodeRef,
) -> NodeRef {
    map_over(at, construct, SameShape::Bounds, srcs, |vars| vec![f(vars)])[0]
}

fn map_over(
    at: Place,
    construct: &'static str,
    same_shape: SameShape,
    srcs: &[NodeRef],
    f: impl FnOnce(&[NodeRef]) -> Vec<NodeRef>,
) -> Vec<NodeRef> {
    let types: Vec<Ty> = srcs.iter().map(|s| s.ty.elem).collect();
    let lambdas = bind(at, construct, &types, f);
    let rank = srcs[0].ty.rank;
    let array = |lambda: Lambda| {
        let ty = Type { elem: lambda.body.ty.elem, rank };
        make(at, ty, Op::Map { same_shape, lambda, srcs: srcs.to_vec() })
    };
    lambdas.into_iter().map(array).collect()
}

/// `map` of a closure that gives one value.
pub(crate) fn map_one(
    at: Place,
    construct: &'static str,
    srcs: &[NodeRef],
    f: impl FnOnce(&[NodeRef]) -> NodeRef,
) -> NodeRef {
    map(at, construct, srcs, |vars| vec![f(vars)])[0]
}

/// A unary operator; elementwise on an array.
pub(crate) fn unary(at: Place, op: UnaryOp, a: NodeRef) -> NodeRef {
    if a.ty.is_scalar() {
        return make(at, a.ty, Op::Unary(op, a));
    }
    map_one(at, op.name(), &[a], |v| unary(at, op, v[0]))
}

/// A cast; elementwise on an array.
pub(crate) fn cast(at: Place, to: Ty, a: NodeRef) -> NodeRef {
    if a.ty.is_scalar() {
        return make(at, Type::scalar(to), Op::Cast(to, a));
    }
    map_one(at, "cast", &[a], |v| cast(at, to, v[0]))
}

/// The type in which numbers of a type are summed, and halves computed: f32.
pub(crate) fn sum_type(ty: Ty) -> Ty {
    if ty.is_half() { Ty::F32 } else { ty }
}

/// A value cast to a type, if it has another one.
pub(crate) fn as_type(at: Place, ty: Ty, a: NodeRef) -> NodeRef {
    if a.ty.elem == ty { a } else { cast(at, ty, a) }
}

/// A binary operator; elementwise where an operand is an array, the other one being of its shape or
/// a scalar.
pub(crate) fn binary(at: Place, op: BinaryOp, a: NodeRef, b: NodeRef) -> NodeRef {
    // `%` of floats is a function of its own
    let op = if op == BinaryOp::Rem && a.ty.elem.is_float() { BinaryOp::Fmod } else { op };
    match (a.ty.is_scalar(), b.ty.is_scalar()) {
        (true, true) => make(at, Type::scalar(op.result(a.ty.elem)), Op::Binary(op, a, b)),
        (false, false) => map_one(at, symbol(op), &[a, b], |v| binary(at, op, v[0], v[1])),
        (false, true) => map_one(at, symbol(op), &[a], |v| binary(at, op, v[0], b)),
        (true, false) => map_one(at, symbol(op), &[b], |v| binary(at, op, a, v[0])),
    }
}

/// `a` times 2 to the power `n`, an i32. Exponents are clamped to a range beyond which every result
/// is 0 or infinity.
pub(crate) fn ldexp(at: Place, a: NodeRef, n: NodeRef) -> NodeRef {
    let [low, high] = [-5000, 5000].map(|k| constant(at, Lit::i32(k)));
    let n = binary(at, BinaryOp::Min, binary(at, BinaryOp::Max, n, low), high);
    // a half cannot hold every exponent of the range; f32 can, and the result is rounded to the
    // half at the end
    let ty = sum_type(a.ty.elem);
    let result = binary(at, BinaryOp::Ldexp, as_type(at, ty, a), cast(at, ty, n));
    as_type(at, a.ty.elem, result)
}

/// The operator as the author wrote it.
fn symbol(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::Rem => "%",
        BinaryOp::And => "&",
        BinaryOp::Or => "|",
        BinaryOp::Xor => "^",
        BinaryOp::Shl => "<<",
        BinaryOp::Shr => ">>",
        BinaryOp::Pow => "powf",
        op => op.name(),
    }
}
