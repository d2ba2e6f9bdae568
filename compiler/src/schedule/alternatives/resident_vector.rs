//! Resident vectors: groups over one vector, each of which needs a reduction of the vector that the one before
//! computes, in one launch. The vector is the only row of [`super::resident_segments`]: one block of a GPU holds it
//! in registers, so that `x / norm(x)` of up to 32768 elements is one launch in place of two.
//!
//! ```text
//! s = dot x, x                      row 0:  load x
//! r[i] = x[i] / sqrt s        ->            s = dot x, x, then x / sqrt s
//!                                           store r
//! ```
//!
//! A total is a variable of the row here. In the launches that this one replaces it is a scalar in memory, which is
//! read before the loop of the group that needs it.

use super::resident_segments::{MAX_GROUPS, may_share, recomputed};
use crate::core::graph::replace::{Found, replaced_by};
use crate::core::{Graph, NodeId, Op, tuples};
use crate::plan::GUESSED_LENGTH;
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::element::opened;
use crate::schedule::element::reduction::Reduction;
use crate::schedule::facts::along::Along;
use crate::schedule::facts::{Accesses, ResidentSegments, RowArray, RowValue, Stage};
use crate::schedule::facts::{segments, work};
use crate::schedule::groups::{FusedGroup, Item, is_store};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::rc::Rc;

/// Returns the number of groups from the first one on, at least 2, that may go over one vector; only their items are
/// looked at. `scalars` are the scalar results of each group.
pub fn chain(all: &[FusedGroup], scalars: &[Vec<u32>]) -> Option<usize> {
    let domain = &all.first()?.domain;
    let belongs = |of: &(&FusedGroup, &Vec<u32>)| may_share(of.0, of.1) && of.0.domain == *domain;
    let count = all.iter().zip(scalars).take(MAX_GROUPS).take_while(belongs).count();
    (domain.len() == 1 && count > 1).then_some(count)
}

/// Returns the group of a launch that computes all groups of a chain, over one row: its items are the stored arrays.
/// Returns `None` if a total is `needed` elsewhere, because it would not be in memory.
pub fn joined(g: &Graph, one: NodeId, chain: &[FusedGroup], needed: &HashSet<NodeId>) -> Option<FusedGroup> {
    let all = || chain.iter().flat_map(|fused| &fused.items);
    if all().any(|it| !is_store(g, it) && needed.contains(&it.node)) {
        return None;
    }
    let items: Vec<Item> = all().filter(|it| is_store(g, it)).cloned().collect();
    let reduces = all().count() > items.len();
    (reduces && !items.is_empty()).then(|| FusedGroup {
        domain: vec![one],
        sequential: false,
        iteration: None,
        items,
    })
}

/// The totals of the groups so far.
#[derive(Default)]
struct Totals {
    /// The variable for each total.
    of: HashMap<NodeId, NodeId>,
    /// For each node, whether it needs a total.
    needed: HashMap<NodeId, bool>,
}

impl Totals {
    /// Returns a node with variables in place of the totals. The arrays `written` stay as they are.
    fn replaced(&mut self, g: &mut Graph, n: NodeId, written: &HashMap<NodeId, NodeId>) -> NodeId {
        let Totals { of, needed } = self;
        let mut find = |g: &mut Graph, n: NodeId| match of.get(&n) {
            Some(total) => Found::By(*total),
            None if written.contains_key(&n) => Found::Nothing,
            None if is_needed(g, n, of, needed) => Found::Inside,
            None => Found::Nothing,
        };
        replaced_by(g, n, &mut find, &mut |g, op| g.add(op), &mut HashMap::default())
    }
}

/// Returns an array as `f` makes it, or a reduction of arrays as `f` makes these.
fn of_arrays(g: &mut Graph, n: NodeId, f: &mut dyn FnMut(&mut Graph, NodeId) -> NodeId) -> NodeId {
    let op = match *g.op(n) {
        Op::Reduce { ref join, init, src, which } => {
            let join = join.clone();
            Op::Reduce { join, init, src: f(g, src), which }
        }
        Op::SquaredDeviations { init, src } => Op::SquaredDeviations { init, src: f(g, src) },
        Op::Dot { init, a, b } => Op::Dot { init, a: f(g, a), b: f(g, b) },
        _ => return f(g, n),
    };
    g.add(op)
}

/// Returns a reduction that reads the elements of an array in `written`, where it reduces that array as it is. Any
/// other item stays the same.
fn read_by(g: &mut Graph, n: NodeId, written: &HashMap<NodeId, NodeId>) -> NodeId {
    of_arrays(g, n, &mut |g, x| match g.op(x) {
        Op::Generate(extents, _) if written.contains_key(&x) => {
            let extents = extents.clone();
            let lambda = g.lambda(&[Ty::I64], |g, i| g.add(Op::Elem(x, i.to_vec())));
            g.add(Op::Generate(extents, lambda))
        }
        _ => x,
    })
}

/// Whether a node needs one of the totals; each node is examined once. Nodes that another launch computes are not
/// entered.
fn is_needed(
    g: &Graph,
    n: NodeId,
    totals: &HashMap<NodeId, NodeId>,
    known: &mut HashMap<NodeId, bool>,
) -> bool {
    if let Some(known) = known.get(&n) {
        return *known;
    }
    let op = g.op(n);
    let found = op.operands().chain(op.lambda().map(|l| l.body)).any(|o| {
        let is_other = g.op(o).needs_launch() && g.is_closed(o);
        totals.contains_key(&o) || !is_other && is_needed(g, o, totals, known)
    });
    known.insert(n, found);
    found
}

impl LaunchContext<'_, '_> {
    /// Finds the facts about a launch that keeps the vector of a chain of groups. Returns `None` if such a launch is
    /// not possible.
    pub(in crate::schedule) fn find_resident_vector(
        &mut self,
        chain: &[FusedGroup],
        needed: &HashSet<NodeId>,
    ) -> Option<()> {
        let length = *chain.first()?.domain.first()?;
        let [row, element] = [(); 2].map(|()| self.g.fresh_var(Ty::I64).1);
        let (mut totals, mut written) = (Totals::default(), HashMap::default());
        let (mut stages, mut stores, mut in_memory) = (Vec::new(), Vec::new(), Vec::new());
        let (mut accesses, mut cost) = (Accesses::default(), 0u32);
        for fused in chain {
            let nodes: Vec<NodeId> = fused.items.iter().map(|it| it.node).collect();
            cost = cost.saturating_add(work::of_element(&mut self.g, fused, &nodes));
            let (mut reductions, mut values, mut found) = (Vec::new(), Vec::new(), Vec::new());
            let (mut of_registers, mut of_memory) = (Vec::new(), Vec::new());
            for it in &fused.items {
                let node = read_by(&mut self.g, it.node, &written);
                let node = totals.replaced(&mut self.g, node, &written);
                self.read_again(Along::Rows, &[node], &[], &written)?;
                let here = of_arrays(&mut self.g, node, &mut |g, x| recomputed(g, x, &written));
                if is_store(&self.g, it) {
                    of_registers.push(RowArray { computed: here, item: it.clone() });
                    of_memory.push(RowArray { computed: node, item: it.clone() });
                    continue;
                }
                let [here, node] = [here, node].map(|n| self.of_row(n, row));
                let total = self.g.fresh_var(self.g.ty(here?).elem).1;
                reductions.push(here?);
                values.push((total, here?, node?));
                found.push((it.node, total));
            }
            self.needs_of(&reductions, &of_registers, element, &mut accesses)?;
            let row_value = |read, value| RowValue { read, value, stored: None };
            let values_of = |at: fn(&(NodeId, NodeId, NodeId)) -> NodeId| {
                values.iter().map(|v| row_value(v.0, at(v))).collect::<Vec<RowValue>>()
            };
            // an output may be an input of a reduction of the same group
            in_memory.push(Stage::Reduce { reductions: vec![], values: values_of(|v| v.2) });
            in_memory.push(Stage::Store { arrays: of_memory });
            stages.push(Stage::Reduce { reductions, values: values_of(|v| v.1) });
            let items = fused.items.iter().filter(|it| is_store(&self.g, it));
            let made = items.map(|it| it.node).zip(of_registers.iter().map(|a| a.computed));
            // an array that nobody reads has no place
            written.extend(made.filter(|(x, _)| self.has_place(*x)));
            for a in of_registers {
                if a.item.result.is_some() || needed.contains(&a.item.node) {
                    stores.push(a);
                } else {
                    // CPUs need the memory; it is there whether or not code for them is wanted
                    self.output(&a.item);
                }
            }
            totals.of.extend(found);
            totals.needed.clear();
        }
        stages.push(Stage::Store { arrays: stores });
        self.facts.cost = cost.saturating_mul(GUESSED_LENGTH);
        self.facts.grain = 1;
        self.facts.accesses = accesses;
        let outer = Vec::new();
        let (along, segment, recording) = (Along::Rows, row, None);
        let vector =
            ResidentSegments { along, segment, outer, element, length, stages, in_memory, recording };
        self.facts.resident = Some(Rc::new(vector));
        Some(())
    }

    /// Returns a reduction as one of the row. It depends on the row's number, so that it is not computed before the
    /// row.
    fn of_row(&mut self, reduction: NodeId, row: NodeId) -> Option<NodeId> {
        let zero = self.g.lit(Lit::i64(0));
        let is_row = self.g.add(Op::Binary(BinaryOp::Ge, row, zero));
        let mut op = self.g.op(reduction).clone();
        let (Op::Reduce { init, .. } | Op::SquaredDeviations { init, .. } | Op::Dot { init, .. }) = &mut op
        else {
            return None;
        };
        *init = tuples::each(&mut self.g, *init, |g, init| g.add(Op::Select(is_row, init, init)));
        let made = self.g.add(op);
        Reduction::nested(self, made).has_identity(self).then_some(made)
    }

    /// Notes the arrays that one stage reads. Returns `None` if a value may leave a record, or needs anything but the
    /// vector's elements and totals.
    fn needs_of(
        &mut self,
        reductions: &[NodeId],
        arrays: &[RowArray],
        element: NodeId,
        accesses: &mut Accesses,
    ) -> Option<()> {
        let mut roots: Vec<NodeId> =
            arrays.iter().map(|a| opened(&mut self.g, a.computed, &[element])).collect();
        for n in reductions {
            let r = Reduction::nested(self, *n);
            roots.extend(r.init(self));
            roots.extend(r.elements(self, element));
        }
        if segments::nested(self, &roots).is_some() {
            return None;
        }
        let mut own = HashSet::default();
        let g = &self.g;
        for n in g.reachable_until(roots, |n| !g.ty(n).is_scalar()) {
            match g.op(n) {
                op if op.may_record(g) || op.is_reduction() => return None,
                Op::Elem(x, at) if at[..] == [element] => drop(own.insert(*x)),
                Op::Elem(x, _) => drop(accesses.elsewhere.insert(*x)),
                _ => {}
            }
        }
        let mut own: Vec<NodeId> = own.into_iter().collect();
        own.sort_unstable();
        accesses.own.extend(own);
        Some(())
    }
}
