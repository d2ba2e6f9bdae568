//! Classifies the loops inside of an item's elements, to decide with which other items the item may share a fused
//! group: a group has one strategy, which must suit the loops of all its elements.
//!
//! ```text
//! q = x * wq, k = x * wk           two groups: a launch by tiles has one product
//! x * w, relu (x * w)              one group: the loops are the same
//! sums and maxima of a's rows      one group: the rows are read once
//! sums of a's rows, and of b's     two groups, if b has other columns: a segmented reduction has one length
//! ```
//!
//! All of this depends on the graph alone, and is decided before any lambda is opened for a launch. The tests here
//! are the first tests of the strategies (`products.rs`, `segments.rs`, `cuda/contraction/find.rs`,
//! `cuda/cooperative_nest.rs`). If a strategy then refuses the group by a later test, the separation of the group was
//! in vain, and costs one more launch.

use super::items::{self, Item, is_store};
use crate::core::graph::marks::Visited;
use crate::core::linear::Linear;
use crate::core::{Graph, NodeId, Op, Var};
use crate::schedule::element::unlikely::is_unlikely;
use crate::schedule::facts::along::Along;
use crate::schedule::identity;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// The maximum number of words of accumulators for which reductions over pairs of rows and columns share a loop:
/// those of the smallest register tile of a contraction.
const MAX_WORDS: usize = 4;

/// The loops of the items that have been examined.
#[derive(Default)]
pub struct KnownLoops(HashMap<NodeId, ItemLoops>);

impl KnownLoops {
    /// Whether the loops of elements allow `it` to join a group of these items. `is_nested` says that `it` is a
    /// stored array whose elements have loops.
    pub fn fit(&mut self, g: &Graph, items: &[Item], it: &Item, is_nested: bool) -> bool {
        // a loop that an element ends is part of the element's code in any strategy
        let is_nested = is_nested && items::has_reductions(g, it);
        let has_loops = |other: &&Item| is_nested || items::has_reductions(g, other);
        let (stored, reduced): (Vec<&Item>, Vec<&Item>) = items.iter().partition(|other| is_store(g, other));
        // a reduction over the group's elements and a loop inside of an element have different strategies
        if !is_store(g, it) {
            return !stored.iter().any(has_loops);
        }
        let others: Vec<&Item> = stored.into_iter().filter(has_loops).collect();
        if is_nested && !reduced.is_empty() {
            return false;
        }
        if others.is_empty() {
            return true;
        }
        for it in others.iter().copied().chain([it]) {
            self.0.entry(it.node).or_insert_with(|| ItemLoops::of(g, it));
        }
        others.iter().all(|other| self.0[&it.node].fit(&self.0[&other.node]))
    }
}

/// The loops of an item's elements.
pub struct ItemLoops {
    /// The outermost reductions and folds of an element; none if elements have no loops.
    nested: Vec<NodeId>,
    kind: Kind,
    /// Whether an element may leave an error record.
    may_record: bool,
}

#[derive(PartialEq)]
enum Kind {
    /// No loops.
    Plain,
    /// One product by tiles.
    Product,
    /// Reductions over values of an element's row and values of its column.
    Pairs {
        length: NodeId,
        /// What is computed for a pair, and the number of words of the accumulators.
        work: HashSet<NodeId>,
        words: usize,
    },
    /// Reductions of one length, and the direction in which their elements are contiguous.
    Segments(NodeId, Along),
    /// Loops over values that all elements read.
    Nest,
    /// Any others.
    Other,
}

impl ItemLoops {
    /// Returns the loops of an item that is a stored array.
    pub fn of(g: &Graph, it: &Item) -> ItemLoops {
        let array = items::array(g, it);
        let plain = ItemLoops { nested: Vec::new(), kind: Kind::Plain, may_record: false };
        let (true, Op::Generate(_, lambda)) = (is_store(g, it), g.op(array)) else { return plain };
        let vars: Vec<Var> = lambda.params.iter().map(|p| p.0).collect();
        let is_known = |n: NodeId| g.op(n).needs_launch() && g.is_closed(n);
        let computed = g.reachable_until([lambda.body], is_known);
        let may_record = computed.into_iter().any(|n| g.op(n).may_record(g));
        let nested = outermost(g, lambda.body);
        let kind = kind(g, &vars, &nested, may_record);
        ItemLoops { nested, kind, may_record }
    }

    /// Whether the loops of two items allow that a group has both.
    pub fn fit(&self, other: &ItemLoops) -> bool {
        if matches!(self.kind, Kind::Plain) || matches!(other.kind, Kind::Plain) {
            return self.leaves_loops(other) && other.leaves_loops(self);
        }
        // what both items need is computed once
        self.nested.iter().any(|n| other.nested.contains(n)) || self.kind.fits(&other.kind)
    }

    /// Whether the item `beside` keeps its strategy if this item joins its group: the strategies of products and
    /// nests allow no error records.
    fn leaves_loops(&self, beside: &ItemLoops) -> bool {
        !self.may_record || !matches!(beside.kind, Kind::Product | Kind::Nest)
    }
}

impl Kind {
    /// Whether a strategy exists for different loops of these two kinds together.
    fn fits(&self, other: &Kind) -> bool {
        match (self, other) {
            (Kind::Product, _) => false,
            (Kind::Pairs { length, work, words }, Kind::Pairs { length: l, work: w, words: more }) => {
                length == l && words + more <= MAX_WORDS && !work.is_disjoint(w)
            }
            _ => self == other,
        }
    }
}

/// Returns the outermost reductions and folds of an element.
fn outermost(g: &Graph, body: NodeId) -> Vec<NodeId> {
    let (mut seen, mut stack, mut found) = (Visited::begin(), vec![body], Vec::new());
    while let Some(n) = stack.pop() {
        if g.is_closed(n) || !seen.insert(n.0) {
            continue;
        }
        match g.op(n).needs_launch() {
            true => found.push(n),
            false => stack.extend(g.op(n).operands()),
        }
    }
    found
}

fn kind(g: &Graph, vars: &[Var], nested: &[NodeId], may_record: bool) -> Kind {
    if nested.is_empty() {
        return Kind::Plain;
    }
    let Some(loops) = nested.iter().map(|n| Loop::of(g, *n)).collect::<Option<Vec<_>>>() else {
        return Kind::Other;
    };
    let (first, rest) = loops.split_first().expect("some loop");
    let reads = Reads::of(g, &loops, vars);
    let is_unlikely = loops.iter().flat_map(|l| l.nodes(g)).any(|n| is_unlikely(g, n));
    let is_quiet = !may_record && !is_unlikely;
    let may_be_product = match g.op(first.node) {
        Op::PanelDot { .. } => vars.len() <= 2,
        Op::Fold { .. } => vars.len() == 2 && reads.are_pairs(),
        _ => false,
    };
    if is_quiet && may_be_product && rest.is_empty() {
        return Kind::Product;
    }
    if loops.iter().all(|l| l.length == first.length && identity::of(g, l.node).is_some())
        && let Some(along) = reads.along
    {
        return match reads.are_pairs() {
            true => Kind::Pairs {
                length: first.length,
                work: loops.iter().flat_map(|l| l.nodes(g)).filter(|n| is_of_pair(g, *n, vars)).collect(),
                words: nested.iter().map(|n| g.ty(*n).elem.size().div_ceil(4)).sum(),
            },
            false => Kind::Segments(first.length, along),
        };
    }
    let is_nest = is_quiet && reads.are_shared && !matches!(g.op(first.node), Op::PanelDot { .. });
    if is_nest { Kind::Nest } else { Kind::Other }
}

/// Whether a value depends on the element's row and on its column.
fn is_of_pair(g: &Graph, n: NodeId, vars: &[Var]) -> bool {
    vars.len() >= 2 && vars[vars.len() - 2..].iter().all(|v| g.node(n).free.contains(v))
}

/// A reduction or fold of an element, without loops inside.
struct Loop {
    node: NodeId,
    length: NodeId,
    /// The variable of the inner index, and the element there; two for the products of two sequences.
    elements: Vec<(Var, NodeId)>,
}

impl Loop {
    /// Returns `None` if there are loops inside, or if the length depends on the element.
    fn of(g: &Graph, node: NodeId) -> Option<Loop> {
        let sources = match *g.op(node) {
            Op::Reduce { src, .. } | Op::Fold { src, .. } | Op::SquaredDeviations { src, .. } => vec![src],
            Op::Dot { a, b, .. } | Op::PanelDot { a, b, .. } => vec![a, b],
            _ => return None,
        };
        let Op::Generate(extents, _) = g.op(sources[0]) else { return None };
        let length = *extents.first().filter(|n| g.is_closed(**n))?;
        let of_source = |src: &NodeId| g.op(*src).lambda().map(|l| (l.params[0].0, l.body));
        let elements = sources.iter().map(of_source).collect::<Option<_>>()?;
        let out = Loop { node, length, elements };
        let inside = g.op(node).operands().chain(g.op(node).lambda().map(|l| l.body));
        let has_loops = |n: NodeId| !g.is_closed(n) && g.op(n).needs_launch() && !sources.contains(&n);
        (!g.reachable_until(inside, |n| g.is_closed(n)).into_iter().any(has_loops)).then_some(out)
    }

    /// Returns what is computed for each inner index.
    fn nodes(&self, g: &Graph) -> Vec<NodeId> {
        let bodies =
            self.elements.iter().map(|(_, body)| *body).chain(g.op(self.node).lambda().map(|l| l.body));
        g.reachable_until(bodies, |n| g.is_closed(n)).into_iter().filter(|n| !g.is_closed(*n)).collect()
    }
}

/// The reads of a loop's elements.
struct Reads {
    /// The direction in which values that depend on both the element and the inner index are contiguous.
    along: Option<Along>,
    /// Whether some values depend on rows, some on columns, and some on both.
    of_rows: bool,
    of_columns: bool,
    of_both: bool,
    /// Whether there are reads, and none of them depends on both the element and the inner index.
    are_shared: bool,
}

impl Reads {
    fn of(g: &Graph, loops: &[Loop], vars: &[Var]) -> Reads {
        let (mut along, mut of_rows, mut of_columns, mut of_both) = (None, false, false, false);
        let mut of_k = false;
        for (k, body) in loops.iter().flat_map(|l| &l.elements) {
            let has = |n: NodeId, v: &Var| g.node(n).free.contains(v);
            let has_own = |n: NodeId| vars.iter().any(|v| has(n, v));
            for n in g.reachable_until([*body], |n| g.is_closed(n)) {
                let (Op::Elem(_, index) | Op::At(_, index)) = g.op(n) else { continue };
                let Some((last, outer)) = index.split_last() else { continue };
                of_k |= has(n, k);
                of_both |= is_of_pair(g, n, vars);
                if let [.., row, column] = vars {
                    of_rows |= has(n, k) && has(n, row) && !has(n, column);
                    of_columns |= has(n, k) && has(n, column) && !has(n, row);
                }
                let is_k = |n: &NodeId| matches!(g.op(*n), Op::Var(v, _) if v == k);
                let by_one = Linear::of(g, *last).terms.iter().any(|(n, by)| is_k(n) && *by == 1);
                if has(*last, k) && (by_one || !has_own(*last)) && outer.iter().any(|n| has_own(*n)) {
                    along = Some(Along::Rows);
                } else if has_own(*last) && outer.iter().any(|n| has(*n, k)) && along.is_none() {
                    along = Some(Along::Columns);
                }
            }
        }
        let are_shared = of_k && along.is_none();
        Reads { along, of_rows, of_columns, of_both, are_shared }
    }

    /// Whether rows and columns have values of their own, as in products.
    fn are_pairs(&self) -> bool {
        self.of_rows && self.of_columns && !self.of_both
    }
}
