//! From nodes to core IR.
//!
//! Nodes are numbered in the order of the author's program, operands before users, so lowering is
//! one loop over the nodes that the results need, in that order: no recursion, however deep the
//! expression, and the shape rules come out in the order of the program. Variables become fresh
//! variables of core IR; a combinator's body is complete when the combinator comes, and is closed
//! then.
//!
//! `arraygpu_compiler::build::Builder` makes core IR, extents and shape rules.

mod iterate;
mod state;

use crate::item::Described;
use crate::node::{Composed, Lambda, Node, NodeRef, Op, SameShape};
use crate::scope::Place;
use arraygpu_compiler::build::{Boundary, Operands};
use arraygpu_compiler::core::{self, Function, NodeId, Output, Param, Rule, StencilHint};
use arraygpu_compiler::loc::{Loc, LocStack};
use arraygpu_compiler::{Error, Result};
use state::{Lowering, needed};
use std::collections::HashSet;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

/// A function as the author registered it.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    pub name: String,
    pub doc: String,
    pub fast: bool,
    pub tensor_cores: bool,
    pub stencil: Option<StencilHint>,
    pub at: Place,
    pub params: Vec<Param>,
    pub records: Vec<RecordParam>,
    /// Whether callers pass records as structs.
    pub structs: bool,
    /// What each named parameter is, and each named result.
    pub interface: [Vec<(String, Described)>; 2],
    pub result_names: Vec<String>,
    pub results: Vec<NodeRef>,
}

/// A parameter that is an array of records: the parameters that stand for its leaves.
#[derive(Clone, Debug)]
pub(crate) struct RecordParam {
    pub name: String,
    pub leaves: Range<u32>,
}

/// Lowers a function.
pub(crate) fn lower(definition: &Definition) -> Result<Function> {
    lowered(definition, false)
}

/// Lowers a function for the reference interpreter, with the names of values that it is to show.
pub(crate) fn lower_named(definition: &Definition) -> Result<Function> {
    lowered(definition, true)
}

fn lowered(definition: &Definition, keeps_names: bool) -> Result<Function> {
    let place = Loc::caller(definition.at);
    let mut function = Function::new(&definition.name, definition.params.clone());
    function.doc.clone_from(&definition.doc);
    (function.fast, function.tensor_cores, function.stencil) =
        (definition.fast, definition.tensor_cores, definition.stencil);
    function.loc = Some(place.clone());
    let mut lowering = Lowering::of(function, keeps_names);
    for record in &definition.records {
        lowering.one_shape(record).map_err(|e| e.at(Some(&place)))?;
    }
    for node in needed(&definition.results, &HashSet::new()) {
        lowering.node(node).map_err(|e| e.at(Some(&place)))?;
    }
    let mut function = lowering.b.function;
    let value = |node: &NodeRef| lowering.ids[&std::ptr::from_ref::<Node>(node)];
    let outputs = definition.result_names.iter().zip(&definition.results);
    function.results =
        outputs.map(|(name, node)| Output { name: name.clone(), value: value(node) }).collect();
    Ok(function)
}

impl Lowering {
    /// The rule that the leaves of a record have one shape.
    fn one_shape(&mut self, record: &RecordParam) -> Result<()> {
        let leaves = record.leaves.clone().map(|i| self.b.node(core::Op::Param(i)));
        let leaves: Vec<NodeId> = leaves.collect::<Result<_>>()?;
        let first = self.b.extents(leaves[0]).to_vec();
        for leaf in &leaves[1..] {
            for (a, b) in first.iter().zip(self.b.extents(*leaf).to_vec()) {
                let subject = self.b.subject(&format!("record {}", record.name), "", &[leaves[0], *leaf]);
                self.b.require(&subject, Rule::Same, *a, b)?;
            }
        }
        Ok(())
    }

    fn node(&mut self, node: NodeRef) -> Result<()> {
        // a parameter has no line in the function
        let place = if let Op::Param(_) = node.op { LocStack::default() } else { self.place(node.at) };
        self.b.at(place);
        let id = self.operation(node)?;
        self.ids.insert(std::ptr::from_ref(node), id);
        Ok(())
    }

    /// Binds the variables of a closure whose body is complete.
    fn close(&mut self, lambda: &Lambda) -> core::Lambda {
        let var = |v: &NodeRef| match *self.b.function.graph.op(self.id(v)) {
            core::Op::Var(var, ty) => (var, ty),
            ref op => unreachable!("a variable became {op:?}"),
        };
        let vars: Vec<_> = lambda.vars.iter().map(var).collect();
        let body = self.id(lambda.body);
        self.b.graph().close(&vars, body)
    }

    /// A value that has a name, if names are kept. A scalar gets a node of its own, because a variable has none that
    /// is its alone.
    fn named(&mut self, value: NodeId, name: &Arc<str>) -> Result<NodeId> {
        if !self.keeps_names {
            return Ok(value);
        }
        let ty = self.b.function.graph.ty(value);
        let value = if ty.is_scalar() { self.b.node(core::Op::Cast(ty.elem, value))? } else { value };
        self.b.graph().name(value, name);
        Ok(value)
    }

    /// A value of a composite, which is made once for all of its values.
    fn composite(&mut self, all: &Rc<Composed>, which: u32) -> Result<NodeId> {
        let key = Rc::as_ptr(all);
        if !self.composites.contains_key(&key) {
            let operands: Vec<NodeId> = all.operands.iter().map(|n| self.id(n)).collect();
            let operator = all.operator.as_ref().map(|f| self.close(f));
            let of = Operands { values: &operands, operator: operator.as_ref() };
            self.b.set_word(Some(all.word.into()));
            let values = self.b.composite(all.which, of);
            self.b.set_word(None);
            self.composites.insert(key, values?);
        }
        Ok(self.composites[&key][which as usize])
    }

    fn operation(&mut self, node: NodeRef) -> Result<NodeId> {
        let id = |n: &NodeRef| self.id(n);
        let ids = |nodes: &[NodeRef]| nodes.iter().map(id).collect::<Vec<_>>();
        let op = match &node.op {
            Op::Const(value) => core::Op::Const(*value),
            Op::Param(i) => core::Op::Param(*i),
            Op::Var => return Ok(self.b.graph().fresh_var(node.ty.elem).1),
            Op::Unary(op, a) => core::Op::Unary(*op, id(a)),
            Op::Binary(op, a, b) => core::Op::Binary(*op, id(a), id(b)),
            Op::MulAdd(a, b, c) => core::Op::MulAdd(id(a), id(b), id(c)),
            Op::Select(c, a, b) => core::Op::Select(id(c), id(a), id(b)),
            Op::Cast(ty, a) => core::Op::Cast(*ty, id(a)),
            Op::Stage(a) => {
                let a = id(a);
                return self.b.stage(a);
            }
            Op::Bound(a) => {
                let value = id(a);
                return Ok(self.b.bind(value));
            }
            Op::Trace(a, name) => {
                let a = id(a);
                return self.named(a, name);
            }
            Op::Len(x, axis) => return Ok(self.b.extents(id(x))[usize::from(*axis)]),
            Op::At(x, index) => core::Op::At(id(x), ids(index)),
            Op::Elem(x, index) => core::Op::Elem(id(x), ids(index)),
            Op::Map { same_shape, lambda, srcs } => {
                let (srcs, lambda) = (ids(srcs), self.close(lambda));
                return match same_shape {
                    SameShape::Rule(construct) => self.b.map(construct, lambda, srcs),
                    SameShape::Bounds => self.b.node(core::Op::Map(lambda, srcs)),
                };
            }
            Op::Generate { construct, extents, lambda } => {
                let (extents, lambda) = (ids(extents), self.close(lambda));
                return self.b.generate(construct, extents, lambda);
            }
            Op::Slice { construct, src, axis, start, stop, stride } => {
                let (src, bounds) = (id(src), [start, stop, stride].map(id));
                return self.b.slice(construct, src, *axis, bounds);
            }
            Op::Reverse(x, axis) => core::Op::Reverse(id(x), *axis),
            Op::Permute(x, axes) => core::Op::Permute(id(x), axes.clone()),
            Op::Pick { construct, src, axis, index, inside } => {
                let (src, index) = (id(src), id(index));
                return self.b.pick(construct, src, *axis, index, *inside);
            }
            Op::Spread { construct, src, axis, n } => {
                let (src, n) = (id(src), id(n));
                return self.b.spread(construct, src, *axis, n);
            }
            Op::Pad { src, axis, margins, boundary } => {
                let (src, margins) = (id(src), margins.map(|n| id(&n)));
                let boundary = match boundary {
                    Boundary::Clamp => Boundary::Clamp,
                    Boundary::Mirror => Boundary::Mirror,
                    Boundary::Wrap => Boundary::Wrap,
                    Boundary::Constant(c) => Boundary::Constant(id(c)),
                };
                return self.b.pad(src, *axis, margins, &boundary);
            }
            Op::Iota(n) => {
                let n = id(n);
                return self.b.iota(n);
            }
            Op::Fill(n, x) => {
                let (n, x) = (id(n), id(x));
                return self.b.fill(n, x);
            }
            Op::Materialize(x) => core::Op::Materialize(id(x)),
            Op::Tuple(all) => core::Op::Tuple(ids(all)),
            Op::Within(i, n, tested) => core::Op::Within(id(i), id(n), *tested),
            Op::Loop { lambda, count, init, which } => {
                let (count, init) = (id(count), ids(init));
                core::Op::Loop { step: self.close(lambda), which: *which, count, init }
            }
            Op::Reduce { ordered, lambda, init, src, which } => {
                let (init, src, which) = (id(init), id(src), *which);
                let join = self.close(lambda);
                match ordered {
                    true => core::Op::ReduceOrdered { join, init, src, which },
                    false => core::Op::Reduce { join, init, src, which },
                }
            }
            Op::Composite(all, which) => return self.composite(all, *which),
            Op::Fold { lambda, init, src, which } => {
                let (init, src) = (id(init), id(src));
                core::Op::Fold { step: self.close(lambda), init, src, which: *which }
            }
            Op::PanelDot(a, b) => {
                let (a, b) = (id(a), id(b));
                return self.b.panel_dot(a, b);
            }
            Op::Dot(a, b) => {
                let (a, b) = (id(a), id(b));
                return self.b.dot(a, b);
            }
            Op::SquaredDeviations(x) => {
                let x = id(x);
                return self.b.squared_deviations(x);
            }
            Op::Replace { construct, src, part, start } => {
                let (src, part, start) = (id(src), id(part), ids(start));
                return self.b.replace(construct, src, part, &start);
            }
            Op::Iterate(all, which) => return self.iterate(node, all, *which),
            Op::Bundle(_) => unreachable!("a record is taken apart before it is used"),
            Op::Invalid(error) => return Err(Error::clone(error)),
        };
        self.b.node(op)
    }
}
