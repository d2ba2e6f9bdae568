//! Chains of stencils: fused groups store matrices which only the groups after them read, around their own indices.
//! One launch computes all of them, and keeps these matrices in shared memory.
//!
//! ```text
//! for all i, j: t[i, j] = sum over k of a[i, j + k] * u[k]      for all blocks of y:
//! for all i, j: y[i, j] = sum over k of t[i + k, j] * v[k]  ->    t of the block's rows and columns, and around them
//!                                                                 y of the block
//! ```
//!
//! If fusion would store such a matrix, the launch is an alternative like that of [`super::resident_segments`]. If
//! fusion would compute it again ([`Function::by_stages`]), it is a variant of the launch that does so.
//!
//! On a GPU a block has tiles, on a CPU a band of rows has rolling buffers ([`crate::schedule::cpu::stencil_chain`]).
//! Neighbouring blocks both compute what both of them read of such a matrix, so that it never goes through memory.
//! Beyond its edges the tile holds what its readers take there ([`crate::schedule::boundary::halo`]), so that their
//! interior code is right everywhere.

use super::resident_segments::{MAX_GROUPS, may_share, recomputed};
use crate::core::linear::Linear;
use crate::core::{Function, Graph, NodeId, Op};
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::boundary::halo::Halo;
use crate::schedule::boundary::interior::Interior;
use crate::schedule::cpu::stencil_chain::{Buffers, StageRows};
use crate::schedule::cuda::stencil_chain::ChainTiles;
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::element::lower::{Loaded, Lower};
use crate::schedule::element::opened;
use crate::schedule::facts::stencil;
use crate::schedule::facts::work;
use crate::schedule::facts::{Accesses, BeyondEdges, ChainStage, StencilChain};
use crate::schedule::groups::{self, FusedGroup, is_store};
use crate::schedule::scheduler::Refusal;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::rc::Rc;

/// The maximum number of operations of an element beyond an edge, which is computed from arrays in memory alone. They
/// are counted before the element is made: each stage multiplies them by its reads.
const MAX_BEYOND: u32 = 2000;

/// Returns the number of groups from the first one on, at least 2, that store matrices element by element.
pub fn chain(g: &Graph, all: &[FusedGroup], scalars: &[Vec<u32>]) -> Option<usize> {
    let stores = |fused: &FusedGroup| {
        fused.domain.len() == 2 && fused.items.iter().all(|it| is_store(g, it) && !groups::is_nested(g, it))
    };
    let belongs = |of: &(&FusedGroup, &Vec<u32>)| may_share(of.0, of.1) && stores(of.0);
    let count = all.iter().zip(scalars).take(MAX_GROUPS).take_while(belongs).count();
    (count > 1).then_some(count)
}

/// Returns the group of a launch that computes all groups of a chain: the last one. Refuses the chain if another
/// array that they store is a result, or is `needed` later.
pub fn joined(
    g: &Graph,
    chain: &[FusedGroup],
    needed: &HashSet<NodeId>,
) -> std::result::Result<FusedGroup, Refusal> {
    let (last, before) = chain.split_last().expect("a chain has groups");
    for it in before.iter().flat_map(|fused| &fused.items) {
        if it.result.is_some() {
            return Err(format!("the array{} is a result", of_line(g, it.node)));
        }
        if needed.contains(&it.node) {
            return Err(format!("a later launch reads the array{}, too", of_line(g, it.node)));
        }
    }
    Ok(last.clone())
}

/// Returns the author's line of a node, for messages; an empty string if it has none.
fn of_line(g: &Graph, n: NodeId) -> String {
    g.node(n).loc.first().map(|l| format!(" of {}", l.short())).unwrap_or_default()
}

/// Returns the fused groups of a function in its form by stages of chains; none if it has no such form.
pub fn by_stages(f: &Function) -> Result<Vec<FusedGroup>> {
    if f.by_stages.is_empty() {
        return Ok(Vec::new());
    }
    let mut staged = f.clone();
    for (r, value) in staged.results.iter_mut().zip(&f.by_stages) {
        r.value = *value;
    }
    groups::fused_groups(&staged)
}

/// Returns the stages that compute a group whose launch would compute them again, given all groups of the form by
/// stages.
pub fn stages(g: &Graph, by_stages: &[FusedGroup], fused: &FusedGroup) -> Vec<FusedGroup> {
    let results = |fused: &FusedGroup| {
        let mut all: Vec<Option<u32>> = fused.items.iter().map(|it| it.result).collect();
        all.sort_unstable();
        all
    };
    let wanted = results(fused);
    let is_last = |other: &&FusedGroup| wanted.iter().all(Option::is_some) && results(other) == wanted;
    let Some(last) = by_stages.iter().find(is_last) else { return Vec::new() };
    let needs = |fused: &FusedGroup| fused.items.iter().flat_map(|it| groups::needs_of_item(g, it)).collect();
    let mut needed: HashSet<NodeId> = needs(last);
    let mut chain = vec![last.clone()];
    let before = by_stages.iter().take_while(|other| results(other) != wanted);
    for other in before.collect::<Vec<_>>().into_iter().rev() {
        if other.items.iter().any(|it| needed.contains(&it.node)) {
            needed.extend(needs(other));
            chain.insert(0, other.clone());
        }
    }
    let is_stage = |fused: &FusedGroup| fused.domain.len() == 2 && may_share(fused, &[]);
    if chain.len() <= MAX_GROUPS && chain.iter().all(is_stage) { chain } else { Vec::new() }
}

impl LaunchContext<'_, '_> {
    /// Finds the facts about a launch that computes the groups of a chain one after another. Refuses the chain if
    /// that is not possible, or would not be faster. `needs_tiles` says that it is for GPUs, too.
    pub(in crate::schedule) fn find_stencil_chain(
        &mut self,
        chain: &[FusedGroup],
        needs_tiles: bool,
    ) -> std::result::Result<(), Refusal> {
        let items = chain.iter().flat_map(|fused| &fused.items);
        let all: HashSet<NodeId> = items.map(|it| it.node).collect();
        let (mut stages, mut written) = (Vec::new(), HashMap::default());
        let (mut accesses, mut cost, mut overlaps) = (Accesses::default(), 0u32, false);
        let mut beyond: HashMap<NodeId, Beyond> = HashMap::default();
        let mut least = 1;
        let mut expanded: HashMap<NodeId, u32> = HashMap::default();
        for (at, fused) in chain.iter().enumerate() {
            if let Some(it) = fused.items.iter().find(|it| self.may_record_inside(it.node)) {
                return Err(format!("an element{} may leave an error record", of_line(&self.g, it.node)));
            }
            let inner = self.interior(fused);
            let stencils = stencil::stencils(&mut self.g, &fused.domain, &inner.arrays);
            self.reads_around(fused, &inner, &all)?;
            let mine = || stencils.iter().filter(|s| all.contains(&s.array));
            let others = || stencils.iter().filter(|s| !all.contains(&s.array));
            overlaps |= mine().any(|s| s.overlaps());
            let halo = if others().all(|s| s.is_pointwise()) { Halo::of(self, fused, &inner) } else { None };
            let values = halo.and_then(|halo| agreed(self, &halo, mine().map(|s| s.array), &beyond));
            let has_edges = values.is_none();
            for (array, value) in values.unwrap_or_default() {
                beyond.get_mut(&array).expect("an earlier stage").value = Some(value);
                let last = chain.last().expect("a chain has groups");
                least = least.max(self.least_extent(array, last).ok_or_else(|| {
                    format!(
                        "how much larger the result is than the array{} is not known",
                        of_line(&self.g, array)
                    )
                })?);
            }
            for n in
                self.g.reachable(inner.arrays.iter().copied().chain(fused.items.iter().map(|it| it.node)))
            {
                if let Op::Elem(x, _) = self.g.op(n)
                    && !all.contains(x)
                {
                    accesses.elsewhere.insert(*x);
                }
            }
            let own = work::of_element(&mut self.g, fused, &inner.arrays);
            cost = cost.saturating_add(own);
            let of_reads = mine().map(|s| expanded[&s.array].saturating_mul(s.taps.len() as u32));
            let operations = of_reads.fold(own, u32::saturating_add);
            // if tiles hold what is at the edges, the last stage computes nothing from memory
            let is_expanded = at + 1 < chain.len() || has_edges;
            if is_expanded && operations > MAX_BEYOND {
                return Err(too_many_beyond(&self.g, fused.items[0].node));
            }
            for it in fused.items.iter().filter(|_| is_expanded) {
                expanded.insert(it.node, operations);
                let whole = recomputed(&mut self.g, it.node, &written);
                written.insert(it.node, whole);
                beyond.insert(it.node, Beyond::of(self, it.node));
            }
            let beyond = Vec::new();
            stages.push(ChainStage { fused: fused.clone(), inner, stencils, cost: own, has_edges, beyond });
        }
        if !overlaps {
            return Err("elements read each other's arrays at their own indices only".into());
        }
        let last = stages.len() - 1;
        for (at, stage) in stages.iter_mut().enumerate() {
            // the last stage needs its elements at the edges only if tiles do not hold what these read
            if at == last && !stage.has_edges {
                break;
            }
            for it in &stage.fused.items {
                let Some(of) = beyond.remove(&it.node) else {
                    return Err(format!(
                        "the array{} is the value of two results",
                        of_line(&self.g, it.node)
                    ));
                };
                let whole = written[&it.node];
                let of = of.finished(self, it.node, whole);
                stage.beyond.push(of.ok_or_else(|| too_many_beyond(&self.g, it.node))?);
            }
        }
        self.facts.cost = cost;
        self.facts.accesses = accesses;
        let mut chain =
            StencilChain { stages, least, has_recomputing_variants: false, has_faster_gpu_tiles: false };
        chain.has_faster_gpu_tiles = ChainTiles::of(self, &chain).is_some();
        if !chain.has_faster_gpu_tiles && needs_tiles {
            return Err("on GPUs their tiles do not fit into shared memory, or take longer than launches of their own".into());
        }
        if !chain.has_faster_gpu_tiles && Buffers::of(self, &chain).is_none() {
            return Err("the rows that a core needs at once do not fit into its caches".into());
        }
        self.facts.stencil_chain = Some(Rc::new(chain));
        Ok(())
    }

    /// Finds the facts about a launch whose group computes the stages of a chain again, if it does.
    pub(in crate::schedule) fn find_stages(&mut self, fused: &FusedGroup, chain: &[FusedGroup]) {
        let is_found = chain.len() > 1 && self.find_stencil_chain(chain, false).is_ok();
        let chain = self.facts.stencil_chain.take().and_then(Rc::into_inner).filter(|_| is_found);
        self.find_facts(fused);
        let Some(mut chain) = chain else { return };
        let Some(needed) = StageRows::of_chain(&chain) else { return };
        let tiles = ChainTiles::of(self, &chain);
        chain.has_faster_gpu_tiles = tiles.is_some_and(|tiles| tiles.beats_whole(self, &chain, &needed));
        chain.has_recomputing_variants = true;
        // each target has its own limit: shared memory, or a core's caches
        if !chain.has_faster_gpu_tiles && Buffers::of(self, &chain).is_none() {
            return;
        }
        self.facts.stencil_chain = Some(Rc::new(chain));
    }

    /// Whether a CPU computes the launch, if it is a chain of stencils.
    pub(in crate::schedule) fn has_cpu_chain(&self) -> bool {
        let chain = self.facts.stencil_chain.as_ref();
        chain.is_none_or(|chain| chain.has_recomputing_variants || Buffers::of(self, chain).is_some())
    }

    /// Refuses a group that reads some of the arrays `all` at other than constant distances from an element in the
    /// interior.
    fn reads_around(
        &mut self,
        fused: &FusedGroup,
        inner: &Interior,
        all: &HashSet<NodeId>,
    ) -> std::result::Result<(), Refusal> {
        let index: Vec<NodeId> = self.g.sample_index(fused.domain.len()).iter().map(|v| v.1).collect();
        let own: Vec<NodeId> = fused.items.iter().map(|it| opened(&mut self.g, it.node, &index)).collect();
        let inside: Vec<NodeId> = inner.arrays.iter().map(|a| opened(&mut self.g, *a, &index)).collect();
        let is_read = |g: &Graph, n: NodeId| matches!(g.op(n), Op::Elem(x, _) if all.contains(x));
        // nor may elements at the edges read an element that is the same for all
        let closed = self.g.reachable(own).into_iter().find(|n| is_read(&self.g, *n) && self.g.is_closed(*n));
        if let Some(n) = closed {
            return Err(format!("the read{} is of one element for all", of_line(&self.g, n)));
        }
        for n in self.g.reachable(inside) {
            if let Op::Elem(x, at) = self.g.op(n).clone()
                && all.contains(&x)
            {
                let shift = stencil::tap(&mut self.g, &at, &index);
                if !shift.is_some_and(|(shift, _)| shift.iter().all(|s| self.g.as_lit(*s).is_some())) {
                    return Err(format!("the read{} is at no constant distance", of_line(&self.g, n)));
                }
            }
        }
        Ok(())
    }

    /// Returns the minimum extent of the last group's index space, along each axis, for which an array has elements;
    /// `None` if that is not known.
    fn least_extent(&mut self, array: NodeId, last: &FusedGroup) -> Option<i64> {
        let mut least = 1;
        for (axis, n) in last.domain.iter().enumerate() {
            let extent = self.extent(array, axis as u8);
            let longer = Linear::of(&self.g, *n).minus(&Linear::of(&self.g, extent)).as_constant()?;
            least = least.max(longer.checked_add(1)?);
        }
        Some(least)
    }
}

/// Returns what a group reads beyond the edges of its arrays, for those where that matters. Returns `None` if a
/// group before it reads something else there.
fn agreed(
    l: &mut LaunchContext,
    halo: &Halo,
    arrays: impl Iterator<Item = NodeId>,
    beyond: &HashMap<NodeId, Beyond>,
) -> Option<Vec<(NodeId, NodeId)>> {
    let mut values = Vec::new();
    for x in arrays {
        let known = beyond.get(&x)?;
        if let Some(value) = halo.value(l, x, &known.at) {
            (known.value.unwrap_or(value) == value).then_some(())?;
            values.push((x, value));
        }
    }
    Some(values)
}

fn too_many_beyond(g: &Graph, n: NodeId) -> Refusal {
    let line = of_line(g, n);
    format!(
        "an element beyond the edges{line} takes more than {MAX_BEYOND} operations, from what is in memory"
    )
}

/// What is known of the values beyond the edges of an array, while its readers are examined.
struct Beyond {
    /// The variables of the indices.
    at: Vec<NodeId>,
    /// What readers take at these indices, if they take anything.
    value: Option<NodeId>,
}

impl Beyond {
    fn of(l: &mut LaunchContext, array: NodeId) -> Beyond {
        let rank = l.g.ty(array).rank;
        let at = (0..rank).map(|_| l.g.fresh_var(Ty::I64).1).collect();
        Beyond { at, value: None }
    }

    /// Returns the indices and the value at them, computed from arrays in memory. `whole` is the form of the array
    /// that reads these alone.
    fn finished(self, l: &mut LaunchContext, array: NodeId, whole: NodeId) -> Option<BeyondEdges> {
        let Beyond { at, value } = self;
        let is_plain = value.is_none();
        let value = match value {
            None => opened(&mut l.g, whole, &at),
            Some(value) => {
                let var = |n: &NodeId| match *l.g.op(*n) {
                    Op::Var(var, ty) => Some((var, ty)),
                    _ => None,
                };
                let binders: Vec<_> = at.iter().filter_map(var).collect();
                let lambda = l.g.close(&binders, value);
                let extents: Vec<NodeId> = (0..at.len() as u8).map(|axis| l.extent(array, axis)).collect();
                let made = l.g.add(Op::Generate(extents, lambda));
                let made = recomputed(&mut l.g, made, &[(array, whole)].into_iter().collect());
                opened(&mut l.g, made, &at)
            }
        };
        let operations: u32 = l.g.reachable([value]).iter().map(|n| work::of_node(l.g.op(*n))).sum();
        (operations <= MAX_BEYOND).then_some(BeyondEdges { at, value, operations, is_plain })
    }
}

impl BeyondEdges {
    /// Emits the value at these indices.
    pub(in crate::schedule) fn value_at(
        &self,
        l: &mut Lower,
        index: &[Expr; 2],
        out: &mut Vec<Stmt>,
    ) -> Result<Expr> {
        let vars: Vec<(NodeId, Expr)> = self.at.iter().copied().zip(index.iter().cloned()).collect();
        let known = |l: &mut Lower| l.region(&vars, &[self.value], &Expr::int(0), out);
        Ok(l.with_loaded(Loaded::default(), known)?.remove(0))
    }

    /// Emits the value at indices that may be beyond the edges of the index space of the group `fused`. If nothing
    /// needs the value there, it is 0.
    pub(in crate::schedule) fn guarded_value_at(
        &self,
        l: &mut Lower,
        fused: &FusedGroup,
        index: &[Expr; 2],
        out: &mut Vec<Stmt>,
    ) -> Result<Expr> {
        if !self.is_plain {
            return self.value_at(l, index, out);
        }
        let ty = l.launch.g.ty(self.value).elem;
        let result = l.k.reg("value", ty);
        out.push(Stmt::Var(result, Expr::Lit(Lit::zero(ty))));
        let mut inner = Vec::new();
        let e = self.value_at(l, index, &mut inner)?;
        inner.push(Stmt::Assign(result, e));
        let mut tests = Vec::new();
        for (i, n) in index.iter().zip(&fused.domain) {
            tests.push(Expr::binary(BinaryOp::Ge, i.clone(), Expr::int(0)));
            tests.push(Expr::binary(BinaryOp::Lt, i.clone(), l.launch.host(*n)));
        }
        let inside = tests.into_iter().reduce(|a, b| Expr::binary(BinaryOp::And, a, b));
        out.push(Stmt::If(inside.unwrap_or(Expr::Lit(Lit::bool(true))), inner, vec![]));
        Ok(Expr::Reg(result))
    }
}
