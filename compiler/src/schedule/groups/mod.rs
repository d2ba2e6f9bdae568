//! Finds the items that launches must compute (stored arrays, reductions, folds, iterations), and fuses items over
//! one index space into fused groups.
//!
//! The *level* of an item is the number of launches that must run before it: 0 for one that needs no other item, and
//! else one more than the greatest level of the items that it needs. Items of the same level and index space share a
//! group if one strategy serves them ([`item_loops`], [`items::may_share`]) and the group has room for them.
//!
//! ```text
//! s = sum x, m = max x, y[i] = x[i] / s       level 0: {s, m} over n elements    level 1: {y} over n elements
//! ```

pub mod item_loops;
pub mod items;
pub(super) mod order;

use super::facts::placed::Placed;
use super::facts::put::Put;
use super::facts::scans::Scan;
use crate::core::deviations::MOMENTS;
use crate::core::graph::marks::{self, Visited};
use crate::core::records::may_record_here;
use crate::core::{Form, Function, Graph, NodeId, Op, ScanPart, tuples};
use crate::error::{Error, Result};
use item_loops::KnownLoops;
pub use items::{Item, is_nested, is_store, may_share};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// The maximum number of items in a fused group; an item with several accumulators counts as that many. It limits the
/// number of registers that a kernel needs and the time that the C compiler takes for it.
pub const MAX_ITEMS: usize = 8;
/// The maximum number of items in a group of nothing but stored arrays whose elements have no loops. It is greater
/// than [`MAX_ITEMS`], because such a group needs no registers for accumulators.
pub const MAX_STORES: usize = 12;
/// The maximum number of core IR nodes that the items of a group need together: the values of a larger group would
/// not stay in registers. An item that needs more is a group by itself.
pub const MAX_NODES: usize = 1500;
/// The maximum number of stored arrays that the items of a group access together: a GPU kernel takes 4096 bytes of
/// parameters, among them the arrays' addresses and strides. An item that accesses more is a group by itself.
pub const MAX_ARRAYS: usize = 64;

/// What all states of one iteration have in common: the number of the step function, the form, the count, the
/// arguments.
pub type Iteration = (u32, Form, NodeId, Vec<NodeId>);

/// Returns the iteration of which an item is a state.
pub fn iteration(g: &Graph, n: NodeId) -> Option<Iteration> {
    match g.op(n) {
        Op::Iterate { step, form, count, args, .. } => Some((*step, *form, *count, args.clone())),
        _ => None,
    }
}

/// Whether a fused group has a reduction over its index space. Folds do not count.
pub fn has_reduction(g: &Graph, fused: &FusedGroup) -> bool {
    let is_reduction =
        |op: &Op| matches!(op, Op::Reduce { .. } | Op::Dot { .. } | Op::SquaredDeviations { .. });
    fused.items.iter().any(|it| is_reduction(g.op(it.node)))
}

/// What one launch computes: items over one index space. A group may also be an iteration, which becomes several
/// launches.
#[derive(Clone, Debug)]
pub struct FusedGroup {
    /// The extents of the index space, outermost first; empty for a kernel that has only a `finish`
    /// part.
    pub domain: Vec<NodeId>,
    /// Whether one thread visits the elements in order, as for folds and for the prefixes of a scan's tiles.
    pub sequential: bool,
    /// The iteration whose states the items are. Such a group is not a loop over an index space, but repeats a
    /// function.
    pub iteration: Option<Iteration>,
    /// The items.
    pub items: Vec<Item>,
}

/// Returns all fused groups of a function, in an order in which they can run.
pub fn fused_groups(f: &Function) -> Result<Vec<FusedGroup>> {
    let g = &f.graph;
    let items = items(f)?;
    let mut levels: HashMap<NodeId, u32> = HashMap::default();
    let mut fused_groups: Vec<(u32, FusedGroup, Option<Size>)> = Vec::new();
    // the groups with room for another item, by what their items have in common
    let mut open: HashMap<Common, Vec<usize>> = HashMap::default();
    let mut loops = KnownLoops::default();
    for it in items {
        let needs = needs_of_item(g, &it);
        let level = needs.iter().map(|n| levels.get(n).map_or(0, |l| l + 1)).max().unwrap_or(0);
        if !matches!(g.op(it.node), Op::Generate(..)) {
            levels.insert(it.node, level);
        }
        let domain = domain(g, it.node);
        let scan = Scan::of_item(g, &it);
        let sequential = matches!(g.op(it.node), Op::Fold { .. })
            || scan.is_some_and(|scan| scan.part == ScanPart::Before);
        let iteration = iteration(g, it.node);
        let with = open.entry((level, domain.clone(), sequential, iteration.clone())).or_default();
        let is_nested = is_store(g, &it) && is_nested(g, &it);
        let own_weight = weight(g, std::slice::from_ref(&it));
        // the item's size, computed only if some group has room for it otherwise
        let mut own: Option<Size> = None;
        let mut fits = |i: &usize| {
            let p = &mut fused_groups[*i];
            if !may_share(g, &p.1.items[0], &it) {
                return false;
            }
            if iteration.is_none() && !loops.fit(g, &p.1.items, &it, is_nested) {
                return false;
            }
            // a further component of a tuple costs no accumulator
            let is_component = p.1.items.iter().any(|other| tuples::are_components(g, other.node, it.node));
            let all = weight(g, &p.1.items) + own_weight;
            let is_plain =
                |all| all <= MAX_STORES && is_store(g, &it) && !is_nested && are_plain(g, &p.1.items);
            if iteration.is_none() && !is_component && all > MAX_ITEMS && !is_plain(all) {
                return false;
            }
            // one plan computes the states of an iteration, however many they are
            iteration.is_some() || {
                let own = own.get_or_insert_with(|| Size::of(g, &it));
                p.2.get_or_insert_with(|| Size::of(g, &p.1.items[0])).has_room_for(own)
            }
        };
        match with.iter().position(&mut fits) {
            Some(at) => {
                let p = &mut fused_groups[with[at]];
                p.1.items.push(it);
                p.2.iter_mut().zip(own).for_each(|(all, own)| all.add(own));
                let has_tuples = |it: &Item| accumulators(g, it.node) > 1;
                let all = weight(g, &p.1.items);
                if iteration.is_none()
                    && all >= MAX_ITEMS
                    && (all >= MAX_STORES || !are_plain(g, &p.1.items))
                    && !p.1.items.iter().any(has_tuples)
                {
                    with.remove(at);
                }
            }
            None => {
                with.push(fused_groups.len());
                fused_groups.push((level, FusedGroup { domain, sequential, iteration, items: vec![it] }, own))
            }
        }
    }
    fused_groups.sort_by_key(|p| p.0);
    let levels: Vec<u32> = fused_groups.iter().map(|p| p.0).collect();
    let ordered = in_order(g, columns_first(g, fused_groups.into_iter().map(|p| p.1).collect(), &levels));
    Ok(ordered.into_iter().flat_map(|fused| replaced(g, &fused).into_iter().chain([fused])).collect())
}

/// If the elements of a group are stored at destinations (a put), returns the group that runs before it and fills the
/// result with the elements that the put will replace.
fn replaced(g: &Graph, fused: &FusedGroup) -> Option<FusedGroup> {
    let (base, items) = Put::base(g, &fused.items)?;
    Some(FusedGroup { domain: domain(g, base), sequential: false, iteration: None, items })
}

/// Whether all items are stored arrays whose elements have no loops.
fn are_plain(g: &Graph, items: &[Item]) -> bool {
    items.iter().all(|it| is_store(g, it) && !is_nested(g, it))
}

/// Moves each group that may reduce columns before the first group of its level that stores matrices with such
/// columns. A matrix may then be stored in the place of the one whose columns are reduced, and both groups may share
/// a launch ([`super::alternatives::stored_columns`]). Groups that may leave records stay where they are.
fn columns_first(g: &Graph, all: Vec<FusedGroup>, levels: &[u32]) -> Vec<FusedGroup> {
    let mut first: HashMap<(u32, NodeId), usize> = HashMap::default();
    let mut keyed: Vec<(usize, bool, FusedGroup)> = Vec::new();
    for (at, (fused, level)) in all.into_iter().zip(levels).enumerate() {
        let are_nested = fused.items.iter().all(|it| is_store(g, it) && is_nested(g, it));
        let before = match fused.domain[..] {
            [n] if are_nested && !may_record(g, &fused) => first.get(&(*level, n)).copied(),
            [_, n] if fused.items.iter().all(|it| is_store(g, it) && !is_nested(g, it)) => {
                first.entry((*level, n)).or_insert(at);
                None
            }
            _ => None,
        };
        keyed.push((before.unwrap_or(at), before.is_none(), fused));
    }
    keyed.sort_by_key(|(at, is_own, _)| (*at, *is_own));
    keyed.into_iter().map(|k| k.2).collect()
}

/// Returns groups in an order in which those over the same rows come one after another. The order of groups that may
/// leave error records stays, because it decides which record is reported.
fn in_order(g: &Graph, all: Vec<FusedGroup>) -> Vec<FusedGroup> {
    let owners = all.iter().zip(0..).flat_map(|(fused, i)| fused.items.iter().map(move |it| (it.node, i)));
    let owners: HashMap<NodeId, usize> = owners.collect();
    let needs_of = |fused: &FusedGroup| {
        let needs = fused.items.iter().flat_map(|it| needs_of_item(g, it));
        let mut needs: Vec<usize> = needs.filter_map(|n| owners.get(&n).copied()).collect();
        needs.sort_unstable();
        needs.dedup();
        needs
    };
    let needs: Vec<Vec<usize>> = all.iter().map(needs_of).collect();
    let mut groups: Vec<Option<FusedGroup>> = all.into_iter().map(Some).collect();
    let mut records: Vec<Option<bool>> = vec![None; groups.len()];
    let order = order::by_rows(&needs, |a, b, is_next| {
        let (Some(before), Some(fused)) = (&groups[a], &groups[b]) else { return false };
        share_rows(before, fused) && (is_next || !*records[b].get_or_insert_with(|| may_record(g, fused)))
    });
    order.into_iter().filter_map(|i| groups[i].take()).collect()
}

/// Whether two groups go over the same rows: over the elements of one index space, or one of them over the rows of
/// the other's.
fn share_rows(a: &FusedGroup, b: &FusedGroup) -> bool {
    let (short, long) = if a.domain.len() < b.domain.len() { (a, b) } else { (b, a) };
    let is_loop = |fused: &FusedGroup| !fused.sequential && fused.iteration.is_none();
    let rank = short.domain.len();
    let same = rank > 0 && long.domain.len() <= rank + 1 && long.domain.starts_with(&short.domain);
    is_loop(a) && is_loop(b) && same
}

/// Whether a group may leave an error record.
fn may_record(g: &Graph, fused: &FusedGroup) -> bool {
    let parts = |it: &Item| {
        let op = g.op(it.node);
        op.operands().chain(op.lambda().map(|l| l.body)).collect::<Vec<NodeId>>()
    };
    may_record_here(g, fused.items.iter().flat_map(parts))
}

/// Returns the number of items, where one with several accumulators counts as that many, and all components of a
/// tuple count as one.
fn weight(g: &Graph, items: &[Item]) -> usize {
    let is_first =
        |at: &usize| !items[..*at].iter().any(|it| tuples::are_components(g, it.node, items[*at].node));
    (0..items.len()).filter(is_first).map(|at| accumulators(g, items[at].node)).sum()
}

/// Returns the number of accumulators of an item.
fn accumulators(g: &Graph, n: NodeId) -> usize {
    match g.op(n) {
        Op::SquaredDeviations { .. } => MOMENTS,
        Op::Reduce { init, .. } | Op::Fold { init, .. } => tuples::components(g, *init).len(),
        _ => 1,
    }
}

/// What the items of a fused group have in common: level, domain, whether they are folds, iteration.
type Common = (u32, Vec<NodeId>, bool, Option<Iteration>);

/// The size of a fused group: the nodes that it needs, and which of them are stored arrays. The search for nodes ends
/// beyond [`MAX_NODES`], because such a group has no room anyway.
struct Size {
    nodes: HashSet<NodeId>,
    arrays: HashSet<NodeId>,
}

impl Size {
    fn of(g: &Graph, it: &Item) -> Size {
        let mut size = Size { nodes: HashSet::default(), arrays: HashSet::default() };
        let op = g.op(it.node);
        let mut stack: Vec<NodeId> = op.operands().chain(op.lambda().map(|l| l.body)).collect();
        while let Some(n) = stack.pop().filter(|_| size.nodes.len() <= MAX_NODES) {
            if !size.nodes.insert(n) {
                continue;
            }
            if g.is_stored(n) {
                size.arrays.insert(n);
                continue;
            }
            let op = g.op(n);
            if !op.needs_launch() || !g.is_closed(n) {
                op.for_operands(|o| stack.push(o));
                stack.extend(op.lambda().map(|l| l.body));
            }
        }
        size
    }

    /// Whether both sizes together stay below [`MAX_NODES`] and [`MAX_ARRAYS`].
    fn has_room_for(&self, other: &Size) -> bool {
        let fits = |a: &HashSet<NodeId>, b: &HashSet<NodeId>, most: usize| {
            let (less, more) = if a.len() < b.len() { (a, b) } else { (b, a) };
            more.len() <= most && more.len() + less.iter().filter(|n| !more.contains(n)).count() <= most
        };
        fits(&self.arrays, &other.arrays, MAX_ARRAYS) && fits(&self.nodes, &other.nodes, MAX_NODES)
    }

    fn add(&mut self, other: Size) {
        self.nodes.extend(other.nodes);
        self.arrays.extend(other.arrays);
    }
}

/// Returns an error if an array that depends on an element would have to be stored: by `materialize`, or as a state
/// of an iteration. The iteration is reported first, because its initial states are a `materialize` that the author
/// did not write.
fn stored_in_an_element(f: &Function, all: &[NodeId]) -> Result<()> {
    let g = &f.graph;
    let find = |is: &dyn Fn(&Op) -> bool| all.iter().find(|n| is(g.op(**n)) && !g.is_closed(**n));
    let iterate = find(&|op| matches!(op, Op::Iterate { .. }));
    let (n, what, advice) = match (iterate, find(&|op| matches!(op, Op::Materialize(_)))) {
        (Some(n), _) => (n, "iterate", "iterate over whole arrays, outside of that operation"),
        (_, Some(n)) => {
            (n, "materialize", "leave it out: what does not depend on the element is stored by itself")
        }
        _ => return Ok(()),
    };
    let why = "of an array that depends on the element of an enclosing operation is not supported";
    Err(Error::limit("E0401", format!("{}: {what} {why}; {advice}", f.name)).at(g.node(*n).loc.first()))
}

/// Returns the items in dependency order.
fn items(f: &Function) -> Result<Vec<Item>> {
    let g = &f.graph;
    let mut out = Vec::new();
    let mut results: HashMap<NodeId, Vec<u32>> = HashMap::default();
    for (r, i) in f.results.iter().zip(0..) {
        results.entry(r.value).or_default().push(i);
    }
    let all = g.reachable(f.results.iter().map(|r| r.value));
    stored_in_an_element(f, &all)?;
    for n in all {
        let is_item = g.op(n).needs_launch();
        // an operation that depends on an element is part of that element's code
        let named = results.get(&n).filter(|_| !g.ty(n).is_scalar());
        if is_item && g.is_closed(n) && named.is_none() {
            out.push(Item { node: n, result: None, into: None });
        }
        if let Some(named) = named {
            // an array that is the value of two results is stored twice
            out.extend(named.iter().map(|i| Item { node: n, result: Some(*i), into: None }));
        }
    }
    Ok(out)
}

/// Returns the extents of the index space that an item runs over.
pub fn domain(g: &Graph, item: NodeId) -> Vec<NodeId> {
    match g.op(item) {
        Op::Generate(extents, _) => extents.clone(),
        Op::Iterate { .. } => Vec::new(),
        // the tiles
        Op::Scan { part: ScanPart::Totals, init: count, .. } => vec![*count],
        // the parts
        Op::Bins { parts, .. } => vec![*parts],
        Op::DigitCounts { tiles, .. } | Op::ByDigit { tiles, .. } => vec![*tiles],
        Op::DigitEnds { digits, .. } => vec![*digits],
        Op::Put { src, .. } => domain(g, *src),
        Op::Place { at, src } => domain(g, Placed::scan(g, *at, *src)),
        Op::Scan { part: ScanPart::Tiles, init: x, .. }
        | Op::Scan { src: x, .. }
        | Op::Materialize(x)
        | Op::Reduce { src: x, .. }
        | Op::Fold { src: x, .. }
        | Op::Dot { a: x, .. }
        | Op::SquaredDeviations { src: x, .. } => domain(g, *x),
        op => unreachable!("{op:?} is no item"),
    }
}

/// Returns the reductions and stored arrays that a value needs directly. Those that only another one needs are not
/// among them.
pub fn needs(g: &Graph, n: NodeId) -> Vec<NodeId> {
    needs_of(g, vec![n])
}

/// Returns the same as [`needs`] for several values.
fn needs_of(g: &Graph, mut stack: Vec<NodeId>) -> Vec<NodeId> {
    let (mut out, mut seen, mut visited) = (Vec::new(), Visited::begin(), 0);
    while let Some(n) = stack.pop() {
        if !seen.insert(n.0) {
            continue;
        }
        visited += 1;
        let op = g.op(n);
        if op.needs_launch() && g.is_closed(n) {
            out.push(n);
        } else {
            stack.extend(op.operands().chain(op.lambda().map(|l| l.body)));
        }
    }
    marks::count_visited(visited);
    out
}

/// Returns the nodes that must have been computed before an item can be.
pub fn needs_of_item(g: &Graph, it: &Item) -> Vec<NodeId> {
    let op = g.op(it.node);
    let mut out = needs_of(g, op.operands().chain(op.lambda().map(|l| l.body)).collect());
    out.sort_unstable();
    out
}
