//! From nodes to core IR.
//!
//! Nodes are numbered in the order of the author's program, operands before users, so lowering is one loop over the nodes that
//! the results need, in that order: no recursion, however deep the expression, and the shape rules ([`rules`]) come out in the order of the
//! program. Variables become fresh variables of core IR; a combinator's body is complete when the combinator comes, and is closed then.
//!
//! Extents are resolved here: `len` of an array expression becomes an expression over those of parameters and scalar parameters, so
//! that rules never mention an array that is not a parameter.

mod iterate;
mod pad;
mod replace;
mod rules;

use crate::iterate::Iteration;
use crate::node::{Lambda, Node, NodeRef, Op};
use crate::scope::Place;
use arraygpu_compiler::core::{self, Function, NodeId, Output, Param, Strategy};
use arraygpu_compiler::loc::{Loc, LocStack};
use arraygpu_compiler::passes::simplify;
use arraygpu_compiler::scalar::{Lit, Ty};
use arraygpu_compiler::{Error, Result};
use std::collections::{HashMap, HashSet};

/// A function as the author registered it.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    pub name: String,
    pub doc: String,
    pub fast: bool,
    pub stencil: Option<Strategy>,
    pub at: Place,
    pub params: Vec<Param>,
    pub result_names: Vec<String>,
    pub results: Vec<NodeRef>,
}

/// Lowers a function.
pub(crate) fn lower(definition: &Definition) -> Result<Function> {
    let place = Loc::caller(definition.at);
    let mut function = Function::new(&definition.name, definition.params.clone());
    function.doc.clone_from(&definition.doc);
    (function.fast, function.stencil) = (definition.fast, definition.stencil);
    function.loc = Some(place.clone());
    let mut lowering = Lowering::of(function);
    for node in needed(&definition.results, &HashSet::new()) {
        lowering.node(node).map_err(|e| e.at(Some(&place)))?;
    }
    let mut function = lowering.f;
    let value = |node: &NodeRef| lowering.ids[&std::ptr::from_ref::<Node>(node)];
    let outputs = definition.result_names.iter().zip(&definition.results);
    function.results =
        outputs.map(|(name, node)| Output { name: name.clone(), value: value(node) }).collect();
    Ok(function)
}

/// The nodes that the results need beside those that are known, in the order of the program.
fn needed(results: &[NodeRef], known: &HashSet<*const Node>) -> Vec<NodeRef> {
    let mut seen = known.clone();
    let (mut stack, mut all) = (results.to_vec(), Vec::new());
    while let Some(node) = stack.pop() {
        if seen.insert(std::ptr::from_ref(node)) {
            all.push(node);
            stack.extend(node.op.operands());
            if let Some(lambda) = node.op.lambda() {
                stack.extend(&lambda.vars);
                stack.push(lambda.body);
            }
        }
    }
    all.sort_unstable_by_key(|n| n.number);
    all
}

struct Lowering {
    f: Function,
    /// What each node became.
    ids: HashMap<*const Node, NodeId>,
    /// The extents of each array, outermost first.
    extents: HashMap<NodeId, Vec<NodeId>>,
    /// Each place of the author's program once.
    places: HashMap<*const std::panic::Location<'static>, LocStack>,
    /// What rules must know of each node of the graph.
    facts: Vec<rules::Fact>,
    /// The rules that stand already.
    seen: HashSet<rules::Key>,
    /// The steps of iterations.
    iterations: HashMap<*const Iteration, iterate::Lowered>,
}

impl Lowering {
    fn of(f: Function) -> Lowering {
        Lowering {
            f,
            ids: HashMap::new(),
            extents: HashMap::new(),
            places: HashMap::new(),
            facts: Vec::new(),
            seen: HashSet::new(),
            iterations: HashMap::new(),
        }
    }

    fn node(&mut self, node: NodeRef) -> Result<()> {
        // a parameter, and its length, come from no line of the function
        let place = if let Op::Param(_) = node.op { LocStack::default() } else { self.place(node.at) };
        self.f.graph.set_loc(place);
        let id = self.operation(node)?;
        self.ids.insert(std::ptr::from_ref(node), id);
        if !node.ty.is_scalar() && !self.extents.contains_key(&id) {
            let extents = (0..node.ty.rank).map(|axis| self.extent(id, axis)).collect();
            self.extents.insert(id, extents);
        }
        self.rules(node)
    }

    fn place(&mut self, at: Place) -> LocStack {
        self.places.entry(at).or_insert_with(|| LocStack::one(Loc::caller(at))).clone()
    }

    /// What a node became that came before.
    fn id(&self, node: NodeRef) -> NodeId {
        self.ids[&std::ptr::from_ref(node)]
    }

    /// Binds the variables of a closure whose body is complete.
    fn close(&mut self, lambda: &Lambda) -> core::Lambda {
        let var = |v: &NodeRef| match *self.f.graph.op(self.id(v)) {
            core::Op::Var(var, ty) => (var, ty),
            ref op => unreachable!("a variable became {op:?}"),
        };
        let vars: Vec<_> = lambda.vars.iter().map(var).collect();
        let body = self.id(lambda.body);
        self.f.graph.close(&vars, body)
    }

    fn operation(&mut self, node: NodeRef) -> Result<NodeId> {
        let id = |n: &NodeRef| self.id(n);
        let op = match &node.op {
            Op::Const(value) => core::Op::Const(*value),
            Op::Param(i) => core::Op::Param(*i),
            Op::Var => return Ok(self.f.graph.fresh_var(node.ty.elem).1),
            Op::Unary(op, a) => core::Op::Unary(*op, id(a)),
            Op::Binary(op, a, b) => core::Op::Binary(*op, id(a), id(b)),
            Op::MulAdd(a, b, c) => core::Op::MulAdd(id(a), id(b), id(c)),
            Op::Select(c, a, b) => core::Op::Select(id(c), id(a), id(b)),
            Op::Cast(ty, a) => core::Op::Cast(*ty, id(a)),
            Op::Bound(a) => return Ok(self.bound(a)),
            Op::Len(x, axis) => return Ok(self.extents[&id(x)][usize::from(*axis)]),
            Op::At(x, index) => core::Op::At(id(x), index.iter().map(id).collect()),
            Op::Map { lambda, srcs, .. } => {
                let srcs = srcs.iter().map(id).collect();
                core::Op::Map(self.close(lambda), srcs)
            }
            Op::Generate { extents, lambda, .. } => {
                let extents = extents.iter().map(id).collect();
                core::Op::Generate(extents, self.close(lambda))
            }
            Op::Slice { src, axis, start, stop, stride, .. } => core::Op::Slice {
                src: id(src),
                axis: *axis,
                start: id(start),
                stop: id(stop),
                stride: id(stride),
            },
            Op::Reverse(x, axis) => core::Op::Reverse(id(x), *axis),
            Op::Permute(x, axes) => core::Op::Permute(id(x), axes.clone()),
            Op::Pick { src, axis, index, inside, .. } => {
                let (src, index) = (id(src), id(index));
                if !inside && self.is_device(index) {
                    return Ok(self.total_pick(src, *axis, index));
                }
                core::Op::Pick { src, axis: *axis, index }
            }
            Op::Spread { src, axis, n, .. } => core::Op::Spread { src: id(src), axis: *axis, n: id(n) },
            Op::Pad { src, axis, margins, boundary } => {
                let margins = margins.map(|n| id(&n));
                return Ok(self.padded(id(src), *axis, margins, boundary));
            }
            Op::Iota(n) => core::Op::Iota(id(n)),
            Op::Fill(n, x) => core::Op::Fill(id(n), id(x)),
            Op::Materialize(x) => core::Op::Materialize(id(x)),
            Op::Reduce { lambda, init, src } => {
                let (init, src) = (id(init), id(src));
                core::Op::Reduce { join: self.close(lambda), init, src }
            }
            Op::Fold { lambda, init, src } => {
                let (init, src) = (id(init), id(src));
                core::Op::Fold { step: self.close(lambda), init, src }
            }
            Op::PanelDot(a, b) => {
                let (a, b) = (id(a), id(b));
                let init = self.f.graph.lit(Lit::zero(node.ty.elem));
                core::Op::PanelDot { init, a, b }
            }
            Op::Dot(a, b) => {
                let (a, b) = (id(a), id(b));
                let init = self.f.graph.lit(Lit::zero(node.ty.elem));
                core::Op::Dot { init, a, b }
            }
            Op::Replace { src, part, start, .. } => {
                let (src, part) = (id(src), id(part));
                let start: Vec<NodeId> = start.iter().map(id).collect();
                return Ok(self.replaced(src, part, &start));
            }
            Op::Iterate(all, which) => return self.iterate(node, all, *which),
            Op::Invalid(error) => return Err(Error::clone(error)),
        };
        Ok(self.f.graph.add(op))
    }

    /// `slet`: constants and variables have names already.
    fn bound(&mut self, value: NodeRef) -> NodeId {
        use core::Op::{Const, Param, Var};
        let id = self.id(value);
        if !matches!(self.f.graph.op(id), Const(_) | Param(_) | Var(..)) {
            self.f.graph.mark_bound(id);
        }
        id
    }

    /// The length of an array, whose operands have theirs, along an axis.
    fn extent(&mut self, array: NodeId, axis: u8) -> NodeId {
        let (of, axis) = match *self.f.graph.op(array) {
            core::Op::Map(_, ref srcs) => (srcs[0], axis),
            core::Op::Iterate { which, ref args, .. } => (args[which as usize], axis),
            core::Op::Reverse(x, _) | core::Op::Materialize(x) => (x, axis),
            core::Op::Permute(x, ref axes) => (x, axes[usize::from(axis)]),
            core::Op::Pick { src, axis: a, .. } => (src, axis + u8::from(axis >= a)),
            core::Op::Spread { src, axis: a, .. } if a != axis => (src, axis - u8::from(axis > a)),
            core::Op::Slice { src, axis: a, .. } if a != axis => (src, axis),
            // of parameters, and in terms of their own operands
            _ => return simplify::extent(&mut self.f.graph, array, axis),
        };
        self.extents[&of][usize::from(axis)]
    }

    /// A row or column whose number only the device knows: each element is a total read.
    fn total_pick(&mut self, src: NodeId, axis: u8, at: NodeId) -> NodeId {
        let mut extents = self.extents[&src].clone();
        extents.remove(axis.into());
        let types = vec![Ty::I64; extents.len()];
        let lambda = self.f.graph.lambda(&types, |g, i| {
            let mut index = i.to_vec();
            index.insert(axis.into(), at);
            g.add(core::Op::At(src, index))
        });
        self.f.graph.add(core::Op::Generate(extents, lambda))
    }

    /// A constant of type i64.
    fn number(&mut self, value: i64) -> NodeId {
        debug_assert_eq!(Lit::i64(value).ty, Ty::I64);
        self.f.graph.lit(Lit::i64(value))
    }
}
