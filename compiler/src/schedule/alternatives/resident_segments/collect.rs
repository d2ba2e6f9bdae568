//! What a launch that keeps the rows of a chain of groups computes of a row, collected group by group.

use crate::core::graph::replace::{Found, replaced_by};
use crate::core::index_space::indices;
use crate::core::{Graph, NodeId, Op};
use crate::plan::GUESSED_LENGTH;
use crate::scalar::Ty;
use crate::schedule::cpu::resident_columns;
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::element::opened;
use crate::schedule::facts::along::Along;
use crate::schedule::facts::{Accesses, ResidentSegments, RowArray, RowValue, Stage};
use crate::schedule::facts::{needed_reductions, segments, work};
use crate::schedule::groups::{FusedGroup, Item};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// The chain, and what its groups so far need. "Row" stands for columns, too.
pub(super) struct Collected<'a> {
    along: Along,
    chain: &'a [FusedGroup],
    items: &'a [Item],
    needed: &'a HashSet<NodeId>,
    /// The index space of the rows.
    domain: Vec<NodeId>,
    segment: NodeId,
    element: NodeId,
    /// The indices of a row, and of one of its elements.
    outer: Vec<NodeId>,
    index: Vec<NodeId>,
    stages: Vec<Stage>,
    stores: Vec<RowArray>,
    in_memory: Vec<Stage>,
    length: Option<NodeId>,
    cost: u32,
    /// The reads of values that earlier groups compute of the row.
    known: HashSet<NodeId>,
    /// The arrays of elements that earlier groups compute, and for each a form that reads none of these arrays.
    written: HashMap<NodeId, NodeId>,
    accesses: Accesses,
    /// The arrays that are read at the element's own index, and whether two groups read one of them.
    read: HashSet<NodeId>,
    shares: bool,
    /// The stage that may leave error records.
    recording: Option<usize>,
}

impl<'a> Collected<'a> {
    /// Begins for a chain whose rows have that index space. Some `items` of it are stored, and other launches need
    /// some (`needed`).
    pub fn new(
        l: &mut LaunchContext,
        along: Along,
        domain: &[NodeId],
        chain: &'a [FusedGroup],
        items: &'a [Item],
        needed: &'a HashSet<NodeId>,
    ) -> Collected<'a> {
        let [segment, element] = [(); 2].map(|()| l.g.fresh_var(Ty::I64).1);
        let outer = match (along, domain.len()) {
            (_, 1) => vec![segment],
            (Along::Rows, _) => indices(&mut l.g, segment, domain),
            (Along::Columns | Along::Planes, rank) => {
                let around = (1..rank).map(|_| l.g.fresh_var(Ty::I64).1);
                around.chain([segment]).collect()
            }
        };
        Collected {
            along,
            chain,
            items,
            needed,
            domain: domain.to_vec(),
            segment,
            element,
            index: along.index(&outer, element),
            outer,
            stages: Vec::new(),
            stores: Vec::new(),
            in_memory: Vec::new(),
            length: None,
            cost: 0,
            known: HashSet::default(),
            written: HashMap::default(),
            accesses: Accesses::default(),
            read: HashSet::default(),
            shares: false,
            recording: None,
        }
    }

    /// Adds a group. Returns `None` if it cannot be in the launch.
    pub fn group(&mut self, l: &mut LaunchContext, fused: &FusedGroup) -> Option<()> {
        let is_of_rows = fused.domain == self.domain;
        let nodes: Vec<NodeId> =
            fused.items.iter().map(|it| recomputed(&mut l.g, it.node, &self.written)).collect();
        let own: Vec<NodeId> = fused.items.iter().map(|it| it.node).collect();
        let at = if is_of_rows { &self.outer } else { &self.index };
        let bodies: Vec<NodeId> = own.iter().map(|n| opened(&mut l.g, *n, at)).collect();
        l.read_again(self.along, &bodies, &self.outer, &self.written)?;
        // an element that an earlier group computes is kept in a register
        let of_element = work::of_element(&mut l.g, fused, &own);
        let roots = if is_of_rows {
            self.cost = self.cost.saturating_add(of_element);
            self.values_of_rows(l, fused, &own, &nodes)?
        } else {
            self.cost = self.cost.saturating_add(of_element.saturating_mul(GUESSED_LENGTH));
            self.elements(l, fused, own, nodes)?
        };
        if l.leaves_records(&roots) {
            let stage = if is_of_rows { self.stages.len() - 1 } else { usize::MAX };
            // records of two groups would have no order in one launch
            if self.recording.replace(stage).is_some() {
                return None;
            }
        }
        self.reads(l, roots)
    }

    /// Adds the stage of a group that computes values of the row: `own`, or `nodes` without reads of what the chain
    /// stores. Returns what its elements need.
    fn values_of_rows(
        &mut self,
        l: &mut LaunchContext,
        fused: &FusedGroup,
        own: &[NodeId],
        nodes: &[NodeId],
    ) -> Option<Vec<NodeId>> {
        let bodies: Vec<NodeId> = nodes.iter().map(|n| opened(&mut l.g, *n, &self.outer)).collect();
        let reductions = segments::nested(l, &bodies).unwrap_or_default();
        // lanes compute a reduction, and leave its records, whatever the conditions are
        if !needed_reductions::are_always_needed(l, &bodies, &reductions) {
            return None;
        }
        let row = (self.segment, self.element);
        let of_reductions = l.kept_reductions(self.along, &reductions, row, &mut self.length)?;
        let computed = values(&mut l.g, fused, nodes, &self.outer, self.items);
        self.known.extend(computed.iter().map(|v| v.read));
        self.stages.push(Stage::Reduce { reductions, values: computed });
        let from_memory = values(&mut l.g, fused, own, &self.outer, self.items);
        self.in_memory.push(Stage::Reduce { reductions: Vec::new(), values: from_memory });
        Some(bodies.into_iter().chain(of_reductions).collect())
    }

    /// Adds a group of elements of the row, which are stored if they are results or other launches need them. Returns
    /// the nodes of these elements.
    fn elements(
        &mut self,
        l: &mut LaunchContext,
        fused: &FusedGroup,
        own: Vec<NodeId>,
        nodes: Vec<NodeId>,
    ) -> Option<Vec<NodeId>> {
        let extent = fused.domain[self.along.axis(self.domain.len())];
        if *self.length.get_or_insert(extent) != extent {
            return None;
        }
        let bodies: Vec<NodeId> = nodes.iter().map(|n| opened(&mut l.g, *n, &self.index)).collect();
        if segments::nested(l, &bodies).is_some() {
            return None;
        }
        for (it, node) in fused.items.iter().zip(&nodes) {
            if it.result.is_some() || self.needed.contains(&it.node) {
                self.stores.push(RowArray { computed: *node, item: it.clone() });
            } else {
                // CPUs need the memory; it is there whether or not code for them is wanted
                l.output(it);
            }
        }
        self.written.extend(own.into_iter().zip(nodes));
        let array = |it: &Item| RowArray { computed: it.node, item: it.clone() };
        self.in_memory.push(Stage::Store { arrays: fused.items.iter().map(array).collect() });
        Some(bodies)
    }

    /// Notes which arrays a group reads. Returns `None` if it reads a value of another row of the chain, which is not
    /// known.
    fn reads(&mut self, l: &LaunchContext, roots: Vec<NodeId>) -> Option<()> {
        let is_of_chain = |x: NodeId| self.chain.iter().flat_map(|f| &f.items).any(|it| it.node == x);
        let mut of_group = HashSet::default();
        let stops = |n: NodeId| self.known.contains(&n) || l.g.op(n).is_reduction();
        for n in l.g.reachable_until(roots, stops) {
            match l.g.op(n) {
                Op::Elem(x, _) | Op::At(x, _) if is_of_chain(*x) => return None,
                Op::Elem(x, at) if *at == self.index => drop(of_group.insert(*x)),
                Op::Elem(x, _) | Op::At(x, _) => drop(self.accesses.elsewhere.insert(*x)),
                _ => {}
            }
        }
        self.shares |= of_group.iter().any(|x| self.read.contains(x));
        self.read.extend(of_group);
        Some(())
    }

    /// Sets the launch's cost and accesses. Returns what it keeps, and whether it reads an array fewer times.
    pub fn finish(mut self, l: &mut LaunchContext) -> Option<(ResidentSegments, bool)> {
        if !self.stores.is_empty() {
            self.stages.push(Stage::Store { arrays: self.stores });
        }
        let mut own: Vec<NodeId> = self.read.into_iter().collect();
        own.sort_unstable();
        self.accesses.own.extend(own);
        l.facts.cost = self.cost;
        l.facts.grain = if self.along.has_strips() { resident_columns::STRIP } else { 1 };
        l.facts.accesses = self.accesses;
        let length = self.length?;
        // if a thread has elements of several columns, their records have another order
        if self.along.has_strips() && self.recording.is_some() {
            return None;
        }
        let recording = self.recording.map(|stage| stage.min(self.stages.len() - 1));
        let Collected { along, segment, outer, element, stages, in_memory, .. } = self;
        let kept = ResidentSegments { along, segment, outer, element, length, stages, in_memory, recording };
        Some((kept, self.shares))
    }
}

/// Returns a form of an array that does not read the arrays which the chain stores before, but computes their
/// elements. `written` are these arrays, with such a form of each.
pub fn recomputed(g: &mut Graph, array: NodeId, written: &HashMap<NodeId, NodeId>) -> NodeId {
    let (extents, lambda) = match g.op(array).clone() {
        Op::Generate(extents, lambda) if !written.is_empty() => (extents, lambda),
        Op::Materialize(x) => return recomputed(g, x, written),
        _ => return array,
    };
    let types: Vec<Ty> = lambda.params.iter().map(|p| p.1).collect();
    let lambda = g.lambda(&types, |g, index| {
        let body = g.open(&lambda, index);
        let element = &mut |g: &mut Graph, n| {
            let computed = match g.op(n).clone() {
                Op::Elem(x, at) => written.get(&x).map(|x| opened(g, *x, &at)),
                _ => None,
            };
            Found::of(g, n, computed)
        };
        replaced_by(g, body, element, &mut |g, op| g.add(op), &mut HashMap::default())
    });
    g.add(Op::Generate(extents, lambda))
}

/// Returns the values, at the row `outer`, of the items of a group, whose arrays are `nodes`. The items in `stored`
/// are stored.
fn values(
    g: &mut Graph,
    fused: &FusedGroup,
    nodes: &[NodeId],
    outer: &[NodeId],
    stored: &[Item],
) -> Vec<RowValue> {
    let of_item = |(it, node): (&Item, &NodeId)| RowValue {
        read: g.add(Op::Elem(it.node, outer.to_vec())),
        value: opened(g, *node, outer),
        stored: stored.contains(it).then(|| it.clone()),
    };
    fused.items.iter().zip(nodes).map(of_item).collect()
}
