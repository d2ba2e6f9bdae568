//! Builds functions: nodes of core IR together with the shape rules that they need.
//!
//! Nodes are added in the order of the author's program, operands before users, and so are the
//! rules (`build/rules.rs`). Extents are resolved at the same time: the length of an array expression
//! becomes an expression over the lengths of parameters and over scalar parameters, so that rules
//! never mention an array that is not a parameter. The embedded language and the C ABI both use
//! this builder.

mod composite;
mod facts;
mod outside;
mod pad;
mod replace;
mod rules;
mod steps;

pub use composite::Composite;
pub use composite::Operands;
pub use outside::Outside;
pub use pad::Boundary;

use crate::core::bins::Bins;
use crate::core::bounds::Bounds;
use crate::core::equations::Equations;
use crate::core::length::Length;
use crate::core::simplify;
use crate::core::verify::{self, Apart};
use crate::core::{Function, Graph, Lambda, NodeId, Op, ScanPart, Type};
use crate::loc::LocStack;
use crate::scalar::{Lit, Ty};
use crate::{Error, Result};
use facts::{Fact, Key};
use indexmap::IndexSet;
use outside::Begun;
use rustc_hash::{FxBuildHasher, FxHashMap as HashMap};
use std::sync::Arc;

/// A function under construction.
#[derive(Debug)]
pub struct Builder {
    /// The function so far.
    pub function: Function,
    /// The extents of each array, outermost first.
    extents: HashMap<NodeId, Vec<NodeId>>,
    /// The nodes that are the extent of some array, and so are not negative.
    lengths: IndexSet<NodeId, FxBuildHasher>,
    /// What rules need to know about each node of the graph.
    facts: Vec<Fact>,
    /// The keys of the rules that exist already.
    seen: IndexSet<Key, FxBuildHasher>,
    /// What the first rules say about lengths, and how many rules these are.
    equations: (usize, Equations),
    begun: Option<Begun>,
    /// The bounds so far, which leave no error record; `None` if they stay as they are.
    bounds: Option<Bounds>,
    /// The source location of the nodes that are being added.
    loc: LocStack,
    /// The author's word for what is being added, if it differs from the names of the constructs.
    word: Option<Arc<str>>,
}

/// A state of the builder.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    nodes: usize,
    rules: usize,
    lengths: usize,
    seen: usize,
}

impl Builder {
    /// Continues a function whose parameters are declared and which has no other nodes.
    pub fn new(function: Function) -> Builder {
        let mut builder = Builder {
            function,
            extents: HashMap::default(),
            lengths: IndexSet::default(),
            facts: Vec::new(),
            seen: IndexSet::default(),
            equations: (0, Equations::default()),
            begun: None,
            bounds: Some(Bounds::default()),
            loc: LocStack::default(),
            word: None,
        };
        for i in 0..builder.function.params.len() {
            builder.measure(NodeId(i as u32));
        }
        builder
    }

    /// Leaves bounds as they are: divisions by zero in them are left to the pass `bounds`, as in a text of core IR.
    pub fn with_bounds_as_written(self) -> Builder {
        Builder { bounds: None, ..self }
    }

    /// Returns the current state, for [`Builder::undo`].
    pub fn mark(&self) -> Mark {
        let (nodes, rules) = (self.function.graph.len(), self.function.requires.len());
        Mark { nodes, rules, lengths: self.lengths.len(), seen: self.seen.len() }
    }

    /// Removes all nodes and rules that were added since the mark, and what is known about them,
    /// after a construct that failed half-way.
    pub fn undo(&mut self, mark: Mark) {
        for n in mark.nodes..self.function.graph.len() {
            self.extents.remove(&NodeId(n as u32));
        }
        self.function.graph.truncate(mark.nodes);
        self.function.requires.truncate(mark.rules);
        self.lengths.truncate(mark.lengths);
        self.facts.truncate(mark.nodes);
        self.seen.truncate(mark.seen);
        self.begun = None;
        self.bounds = self.bounds.take().map(|_| Bounds::default());
        if self.equations.0 > mark.rules {
            self.equations = (0, Equations::default());
        }
    }

    /// Returns the graph of the function.
    pub fn graph(&mut self) -> &mut Graph {
        &mut self.function.graph
    }

    /// Sets the source location of the nodes and rules that follow.
    pub fn at(&mut self, loc: LocStack) {
        self.function.graph.set_loc(loc.clone());
        self.loc = loc;
    }

    /// Sets the word that shape rules name in place of the constructs of the nodes that follow: an author who writes
    /// a word that is made of slices and maps has written neither.
    pub fn set_word(&mut self, word: Option<Arc<str>>) {
        self.word = word;
    }

    /// Returns the author's word for a construct, unless the construct's name is that word with more said about it:
    /// `matmul of planes`.
    fn word_for<'a>(&'a self, construct: &'a str) -> &'a str {
        let says_more = |word: &str| construct.strip_prefix(word).is_some_and(|rest| rest.starts_with(' '));
        self.word.as_deref().filter(|word| !says_more(word)).unwrap_or(construct)
    }

    /// Returns the type of a node.
    pub fn ty(&self, n: NodeId) -> Type {
        self.function.graph.ty(n)
    }

    /// Returns the extents of an array, outermost first; a scalar has none.
    pub fn extents(&self, array: NodeId) -> &[NodeId] {
        self.extents.get(&array).map_or(&[], Vec::as_slice)
    }

    /// Adds a constant of type i64.
    pub fn number(&mut self, value: i64) -> NodeId {
        self.function.graph.lit(Lit::i64(value))
    }

    /// Returns a length, a margin or another bound without error records.
    fn bound(&mut self, n: NodeId) -> NodeId {
        self.bounds.as_mut().map_or(n, |bounds| bounds.total(&mut self.function.graph, n))
    }

    /// Adds a node that needs no rule.
    pub fn node(&mut self, mut op: Op) -> Result<NodeId> {
        if let Some(bounds) = &mut self.bounds {
            bounds.of(&mut self.function.graph, &mut op);
        }
        let node = self.function.graph.try_add(op);
        let node = node.map_err(|e| Error::user("E0208", e).at(self.loc.first()))?;
        self.measure(node);
        Ok(node)
    }

    /// Applies a function to the elements of arrays of one shape.
    pub fn map(&mut self, construct: &str, lambda: Lambda, arrays: Vec<NodeId>) -> Result<NodeId> {
        let node = self.node(Op::Map(lambda, arrays.clone()))?;
        self.same(construct, &arrays)?;
        Ok(node)
    }

    /// Refuses a construct inside of a closure, by the author's word for it.
    fn stands_outside(&self, n: NodeId, what: Apart) -> Result<()> {
        verify::stands_outside(&self.function.graph, n, what, self.word.as_deref())
    }

    /// Makes the vector of the partial results of a reduction, or of a component of them.
    pub fn scan(&mut self, join: Lambda, init: NodeId, src: NodeId, which: u32) -> Result<NodeId> {
        let node = self.node(Op::Scan { part: ScanPart::Whole, join, init, src, which })?;
        self.stands_outside(node, Apart::of(self.function.graph.op(node)))?;
        Ok(node)
    }

    /// Makes the indices of a vector's elements in ascending order of these.
    pub fn argsort(&mut self, src: NodeId) -> Result<NodeId> {
        let node = self.node(Op::Argsort(src))?;
        self.stands_outside(node, Apart::of(self.function.graph.op(node)))?;
        Ok(node)
    }

    /// Makes the vector of the reductions of elements into bins.
    pub fn bins(&mut self, construct: &str, bins: &Bins) -> Result<NodeId> {
        self.made(construct, bins.count)?;
        self.same(construct, &[bins.at, bins.src])?;
        let of_parts = bins.of_parts(&mut self.function.graph);
        self.stands_outside(of_parts, Apart::Scatter)?;
        let joined = bins.joined(&mut self.function.graph, of_parts);
        self.node(joined)
    }

    /// Makes an array as a function of its indices.
    pub fn generate(&mut self, construct: &str, extents: Vec<NodeId>, lambda: Lambda) -> Result<NodeId> {
        extents.iter().try_for_each(|n| self.made(construct, *n))?;
        self.node(Op::Generate(extents, lambda))
    }

    /// Makes the vector 0, 1, .. n-1.
    pub fn iota(&mut self, n: NodeId) -> Result<NodeId> {
        self.made("iota", n)?;
        self.node(Op::Iota(n))
    }

    /// Makes a vector of n equal values.
    pub fn fill(&mut self, n: NodeId, value: NodeId) -> Result<NodeId> {
        self.made("fill", n)?;
        self.node(Op::Fill(n, value))
    }

    /// Repeats an array n times along a new axis.
    pub fn spread(&mut self, construct: &str, src: NodeId, axis: u8, n: NodeId) -> Result<NodeId> {
        self.made(construct, n)?;
        self.node(Op::Spread { src, axis, n })
    }

    /// Takes the elements start, start + stride .. below stop along one axis.
    pub fn slice(&mut self, construct: &str, src: NodeId, axis: u8, bounds: [NodeId; 3]) -> Result<NodeId> {
        let [start, stop, stride] = bounds;
        let node = self.node(Op::Slice { src, axis, start, stop, stride })?;
        self.bounds(construct, src, axis, bounds)?;
        Ok(node)
    }

    /// Takes a row or column. `inside` says that the index is below the axis's length by
    /// construction. If only the device knows the index, the elements are total reads.
    pub fn pick(
        &mut self,
        construct: &str,
        src: NodeId,
        axis: u8,
        index: NodeId,
        inside: bool,
    ) -> Result<NodeId> {
        if !inside && self.is_device(index) {
            return self.total_pick(src, axis, index);
        }
        let node = self.node(Op::Pick { src, axis, index })?;
        if !inside {
            self.one_index(construct, src, axis, index)?;
        }
        Ok(node)
    }

    /// Takes a row or column whose index only the device knows; each element is a total read.
    fn total_pick(&mut self, src: NodeId, axis: u8, at: NodeId) -> Result<NodeId> {
        // This node is only added to check that the axis exists.
        self.node(Op::Pick { src, axis, index: at })?;
        let mut extents = self.extents[&src].clone();
        extents.remove(axis.into());
        let types = vec![Ty::I64; extents.len()];
        let lambda = self.function.graph.lambda(&types, |g, i| {
            let mut index = i.to_vec();
            index.insert(axis.into(), at);
            g.add(Op::At(src, index))
        });
        self.node(Op::Generate(extents, lambda))
    }

    /// Adds a dot product (semantics 5.3).
    pub fn dot(&mut self, a: NodeId, b: NodeId) -> Result<NodeId> {
        let init = self.function.graph.lit(Lit::zero(self.ty(a).elem));
        let node = self.node(Op::Dot { init, a, b })?;
        self.same("dot", &[a, b])?;
        Ok(node)
    }

    /// Adds a dot product by panels (semantics 5.7).
    pub fn panel_dot(&mut self, a: NodeId, b: NodeId) -> Result<NodeId> {
        let init = self.function.graph.lit(Lit::zero(self.ty(a).elem));
        let node = self.node(Op::PanelDot { init, a, b })?;
        self.inner_lengths("matmul", a, b)?;
        Ok(node)
    }

    /// Adds the sum of the squared deviations from the mean (semantics 5.12).
    pub fn squared_deviations(&mut self, src: NodeId) -> Result<NodeId> {
        let init = self.function.graph.lit(Lit::zero(self.ty(src).elem));
        self.node(Op::SquaredDeviations { init, src })
    }

    /// Marks a value to be named in the generated code, unless it is a name already.
    pub fn bind(&mut self, value: NodeId) -> NodeId {
        if !matches!(
            self.function.graph.op(value),
            Op::Const(_) | Op::Param(_) | Op::Var(..) | Op::Turn | Op::Checked
        ) {
            self.function.graph.mark_bound(value);
        }
        value
    }

    /// Computes the extents of an array from those of its operands.
    pub fn measure(&mut self, array: NodeId) {
        let rank = self.ty(array).rank;
        if rank == 0 || self.extents.contains_key(&array) {
            return;
        }
        let extents: Vec<NodeId> = (0..rank).map(|axis| self.extent(array, axis)).collect();
        self.lengths.extend(&extents);
        self.extents.insert(array, extents);
    }

    fn extent(&mut self, array: NodeId, axis: u8) -> NodeId {
        // other extents are expressions over parameters, or over the operands of the node
        let (of, axis) = match Length::of(self.function.graph.op(array), axis) {
            Length::Of(of, axis) => (of, axis),
            Length::Is(n) => return n,
            _ => return simplify::extent(&mut self.function.graph, array, axis),
        };
        // what a composite adds to the graph by itself is measured when it is needed
        self.measure(of);
        self.extents[&of][usize::from(axis)]
    }
}
