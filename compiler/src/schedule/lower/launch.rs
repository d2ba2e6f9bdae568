//! What belongs to a launch, and is shared by the variants of its kernel: the graph, what is known
//! of the fused group, and what the launch hands to a kernel.

use super::Signature;
use crate::core::linear::{self, Linear};
use crate::core::{Graph, NodeId, Op, StencilHint, TILE, verify};
use crate::plan::Place;
use crate::scalar::Lit;
use crate::schedule::accesses::Accesses;
use crate::schedule::boundary::interior::Interior;
use crate::schedule::cpu::segmented_columns;
use crate::schedule::groups::{self, FusedGroup, is_store};
use crate::schedule::segments::{self, Along, Segments};
use crate::schedule::strategy::Strategy;
use crate::schedule::{Scheduler, Scope, work};
use indexmap::IndexSet;
use rustc_hash::FxHashMap as HashMap;
use std::rc::Rc;

/// What is known of a fused group before any code is written.
pub struct Facts {
    /// Operations of one element ([`crate::schedule::work`]).
    pub cost: u32,
    /// What it reads.
    pub accesses: Accesses,
    /// Some element may leave an error record.
    pub may_record: bool,
    /// Elements have reductions or folds of their own.
    pub nested: bool,
    /// It is a segmented reduction.
    pub segments: Option<Rc<Segments>>,
    /// Elements of a CPU's unit of work.
    pub grain: u32,
    /// The launch before read an array that this one reads, too.
    pub follows: bool,
}

/// A launch that is being made.
pub struct LaunchContext<'s, 'a> {
    /// The function's graph, which grows by conditions and opened lambdas.
    pub g: Graph,
    pub(super) scheduler: &'s mut Scheduler<'a>,
    /// Which code is wanted.
    pub wanted: Scope,
    /// What is known of the fused group.
    pub facts: Facts,
    /// What the launch hands to its kernel: it grows with each variant.
    pub signature: Signature,
    /// What the author should know.
    pub warnings: IndexSet<String>,
    host_memo: HashMap<NodeId, bool>,
    record_memo: HashMap<NodeId, bool>,
    domain: Vec<NodeId>,
}

impl<'s, 'a> LaunchContext<'s, 'a> {
    /// For one fused group, of which nothing is known yet but whether elements have loops.
    pub fn new(scheduler: &'s mut Scheduler<'a>, fused: &FusedGroup) -> Self {
        let nested = fused.items.iter().any(|it| groups::is_nested(&scheduler.f.graph, it));
        // what is opened for an element, and for a look at it
        let g = scheduler.f.graph.with_room(2 * scheduler.f.graph.len());
        LaunchContext {
            g,
            wanted: scheduler.scope,
            scheduler,
            facts: Facts {
                cost: 0,
                accesses: Accesses::default(),
                may_record: false,
                nested,
                segments: None,
                grain: TILE as u32,
                follows: false,
            },
            signature: Signature::default(),
            warnings: IndexSet::new(),
            host_memo: HashMap::default(),
            record_memo: HashMap::default(),
            domain: fused.domain.clone(),
        }
    }

    /// Finds what is to be known of the fused group before code is written.
    pub fn find_facts(&mut self, fused: &FusedGroup) {
        let interior = Interior::of(&mut self.g, fused);
        self.facts.cost = work::of_element(&mut self.g, fused, &interior.arrays);
        self.facts.accesses = Accesses::of(self, fused, &interior.arrays);
        self.facts.may_record = fused.items.iter().any(|it| self.may_record_inside(it.node));
        if self.facts.nested && fused.items.iter().all(|it| is_store(&self.g, it)) {
            // an element is a loop
            self.facts.segments = segments::of(self, fused).map(Rc::new);
            let columns = self.facts.segments.as_ref().is_some_and(|s| segmented_columns::fits(s));
            self.facts.grain = if columns { segmented_columns::STRIP } else { 1 };
        }
    }

    /// The arrays that the launch reads and writes.
    pub fn arrays(&self, fused: &FusedGroup) -> Vec<Place> {
        let written =
            fused.items.iter().filter(|it| is_store(&self.g, it)).map(|it| self.scheduler.destination(it));
        self.facts.accesses.arrays().map(|x| self.scheduler.places[x]).chain(written).collect()
    }

    /// How the author wants stencils to be kept.
    pub fn hint(&self) -> Option<StencilHint> {
        self.scheduler.f.stencil
    }

    /// The state, if this is the only pass of the step of an iteration of one state.
    pub fn repeated(&self) -> Option<NodeId> {
        let f = self.scheduler.f;
        (self.scheduler.repeated && f.results.len() == 1).then_some(NodeId(0))
    }

    /// The function's results' values.
    pub fn result(&self, i: u32) -> NodeId {
        self.scheduler.f.results[i as usize].value
    }

    /// The strategy of elements that are computed one by one.
    pub fn strategy_of_elements(&self) -> Strategy {
        match &self.facts.segments {
            Some(s) if s.along == Along::Rows => Strategy::SegmentedRows,
            Some(_) => Strategy::SegmentedColumns,
            None if self.facts.nested => Strategy::ElementLoops,
            None => Strategy::Map,
        }
    }

    /// The number of elements of the index space, as a node.
    pub fn count_node(&mut self) -> NodeId {
        let extents = self.domain.clone();
        let n = extents.into_iter().reduce(|a, b| linear::mul(&mut self.g, a, b));
        n.unwrap_or_else(|| self.g.lit(Lit::i64(0)))
    }

    /// Notes that a nested operation is a loop of each thread.
    pub fn warn_of_loop(&mut self, n: NodeId) {
        let f = &self.scheduler.f.name;
        let place = self.g.node(n).loc.first().map(|l| format!(" ({})", l.short())).unwrap_or_default();
        let what = "a nested operation";
        self.warnings.insert(format!("{f}: {what}{place} is a sequential loop in each thread of a GPU"));
    }

    /// The index of an element, for each region to bind: always the same node, so that an element
    /// is opened once.
    pub fn index(&mut self) -> NodeId {
        self.g.sample_index(1)[0].1
    }

    /// Whether computing a value may leave a record.
    pub fn may_record(&mut self, n: NodeId) -> bool {
        let g = &self.g;
        let asked = || g.reachable([n]).into_iter().any(|m| g.op(m).may_record(g));
        *self.record_memo.entry(n).or_insert_with(asked)
    }

    /// Whether an element of an item, or a step of it, may leave a record.
    pub fn may_record_inside(&self, item: NodeId) -> bool {
        let g = &self.g;
        g.reachable([item]).into_iter().any(|n| !g.is_closed(n) && g.op(n).may_record(g))
    }

    pub(super) fn is_host(&mut self, n: NodeId) -> bool {
        if let Some(&h) = self.host_memo.get(&n) {
            return h;
        }
        let h = verify::runs_on_host(&self.g, n);
        self.host_memo.insert(n, h);
        h
    }

    /// Operations in the variants of the function's GPU kernels so far.
    pub fn variant_operations(&mut self) -> &mut usize {
        &mut self.scheduler.variant_operations
    }

    /// Operations in the variants of the function's matrix products so far.
    pub fn in_products(&mut self) -> &mut usize {
        &mut self.scheduler.in_products
    }

    /// Writes the indices of all proven reads in normal form, so that what neighbouring elements
    /// compute from one element is one node.
    pub fn shared(&mut self, roots: &[NodeId]) -> Vec<NodeId> {
        let mut memo: HashMap<NodeId, NodeId> = HashMap::default();
        for n in self.g.reachable(roots.iter().copied()) {
            let op = self.g.op(n).clone();
            let operands: Vec<NodeId> = op.operands().map(|o| memo.get(&o).copied().unwrap_or(o)).collect();
            let same =
                self.g.is_closed(n) || op.lambda().is_some() || op.operands().eq(operands.iter().copied());
            let made = match &op {
                Op::Elem(x, index) if !self.g.is_closed(n) => Op::Elem(*x, self.normal(index)),
                _ if same => op,
                _ => op.with(&operands, None),
            };
            let before = self.g.set_loc(self.g.node(n).loc.clone());
            let made = if made == *self.g.op(n) { n } else { self.g.add(made) };
            self.g.set_loc(before);
            if self.g.node(n).bound {
                self.g.mark_bound(made);
            }
            memo.insert(n, made);
        }
        roots.iter().map(|n| memo.get(n).copied().unwrap_or(*n)).collect()
    }

    /// Indices in linear normal form.
    pub fn normal(&mut self, index: &[NodeId]) -> Vec<NodeId> {
        index.iter().map(|i| Linear::of(&self.g, *i).node(&mut self.g)).collect()
    }
}
