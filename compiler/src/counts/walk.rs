//! Goes through the nodes of a function, users before what they need, and counts how often each is
//! computed.

use super::model::{Counts, Kind, MERGED, MOVED_BY_DIGIT, ORDERED_FLOAT, SEARCH_STEP, Size, weight};
use crate::core::{Function, Graph, NodeId, Op, Var, digits};
use crate::scalar::{Lit, Ty};
use crate::schedule::groups;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// The elements of a map that a thread computes.
const OF_THREAD: f64 = 4.0;

/// Indices of a loop, and the axes that values in it depend on.
pub type Indices = (Vec<NodeId>, Vec<u32>);

/// The state of a count.
pub struct Walk<'a> {
    pub f: &'a Function,
    /// The function's graph, which grows by the bodies of lambdas, opened with variables of their
    /// own: each variable belongs to one loop.
    pub g: Graph,
    pub sizes_of_params: &'a [Size],
    /// Whether the function is in fused form, and one group of it is counted.
    pub fused: bool,
    /// Whether an order is made at once, and nothing but results is stored.
    is_ideal: bool,
    /// The number of the step, if the function is one.
    pub turn: Option<Lit>,
    /// The items of the group.
    pub own: HashSet<NodeId>,
    /// The threads of a map over the group's index space.
    pub threads: f64,
    /// The lengths of all axes of all loops.
    lengths: Vec<f64>,
    /// The axes that a variable depends on.
    of_var: HashMap<Var, Vec<u32>>,
    /// The axis of an index.
    pub of_index: HashMap<Var, u32>,
    /// Whether a value follows from indices and sizes alone.
    of_indices: HashMap<NodeId, bool>,
    /// Bodies of lambdas: by the node that goes over the array, and the array.
    pub opened: HashMap<(NodeId, NodeId), NodeId>,
    /// The loops of a fused group, by the axes around them and their extents.
    pub loops: HashMap<(Vec<u32>, Vec<NodeId>), Indices>,
    /// The variables of what an author's function goes over: those of loops over these extents, or
    /// of maps of these arrays. Elements at the same indices are the same values, whichever array
    /// asks for them.
    pub shared: HashMap<(bool, Vec<NodeId>), Vec<Indices>>,
    pub values: HashMap<NodeId, Option<Lit>>,
    /// All nodes that are needed, users first.
    pub order: Vec<NodeId>,
    /// How often an array is read for each of its elements.
    reads: Vec<(NodeId, f64)>,
}

/// How often a node is needed.
#[derive(Clone, Copy, Default)]
struct Demand {
    /// By all users together.
    all: f64,
    /// By the user that needs it most often.
    most: f64,
    /// Whether its operations count.
    counts: bool,
    /// By users other than iterations that begin with it.
    read: f64,
    /// By users in other launches, where it is an array that is stored.
    apart: f64,
}

/// Whether a launch of its own stores an array, so that users in other launches load its elements. A construct that
/// an author stores counts the loads itself.
fn is_stored(op: &Op) -> bool {
    op.is_stored_apart() || matches!(op, Op::Argsort(_) | Op::Iterate { .. })
}

/// Whether the elements of an array are those of its operands, or functions of them: who reads it in another launch
/// reads these, or what is stored in their place.
fn passes_on(op: &Op) -> bool {
    matches!(
        op,
        Op::Map(..)
            | Op::Slice { .. }
            | Op::Reverse(..)
            | Op::Permute(..)
            | Op::Pick { .. }
            | Op::Spread { .. }
    )
}

impl<'a> Walk<'a> {
    pub fn new(f: &'a Function, sizes_of_params: &'a [Size], fused: bool) -> Walk<'a> {
        Walk {
            f,
            g: f.graph.clone(),
            sizes_of_params,
            fused,
            is_ideal: false,
            turn: None,
            own: HashSet::default(),
            threads: 1.0,
            lengths: Vec::new(),
            of_var: HashMap::default(),
            of_index: HashMap::default(),
            of_indices: HashMap::default(),
            opened: HashMap::default(),
            loops: HashMap::default(),
            shared: HashMap::default(),
            values: HashMap::default(),
            order: Vec::new(),
            reads: Vec::new(),
        }
    }

    /// The same, of a step with this number.
    pub fn in_step(self, turn: Option<Lit>) -> Walk<'a> {
        Walk { turn, ..self }
    }

    /// The same, with an order for as much as any comparison of keys takes, and without what is stored between.
    pub fn ideal(self, is_ideal: bool) -> Walk<'a> {
        Walk { is_ideal, ..self }
    }

    /// Makes an axis of this length.
    pub fn axis(&mut self, length: f64) -> u32 {
        self.lengths.push(length);
        self.lengths.len() as u32 - 1
    }

    /// Makes an axis for each of an array.
    pub fn new_axes(&mut self, array: NodeId) -> Vec<u32> {
        self.extents(array).into_iter().map(|n| self.axis(n as f64)).collect()
    }

    /// Makes a variable whose values depend on these axes.
    pub fn fresh(&mut self, ty: Ty, axes: &[u32]) -> (Var, NodeId) {
        let (var, node) = self.g.fresh_var(ty);
        self.of_var.insert(var, axes.to_vec());
        (var, node)
    }

    /// Returns the axes that a node depends on.
    pub fn axes(&self, n: NodeId) -> Vec<u32> {
        let free = self.g.node(n).free.iter().filter_map(|v| self.of_var.get(v));
        let mut axes: Vec<u32> = free.flatten().copied().collect();
        axes.sort_unstable();
        axes.dedup();
        axes
    }

    /// Returns the middle of an index's range.
    pub fn middle(&self, var: Var) -> Option<Lit> {
        let axis = self.of_index.get(&var)?;
        Some(Lit::i64((self.lengths[*axis as usize] / 2.0) as i64))
    }

    /// Returns whether a scalar follows from indices and sizes alone, as the conditions of edges do.
    pub fn is_of_indices(&mut self, n: NodeId) -> bool {
        if let Some(known) = self.of_indices.get(&n) {
            return *known;
        }
        let is = match self.g.op(n).clone() {
            Op::Const(_) | Op::Len(..) => true,
            Op::Param(_) => self.g.ty(n).is_scalar(),
            Op::Var(v, _) => self.of_index.contains_key(&v),
            op @ (Op::Unary(..) | Op::Binary(..) | Op::Select(..) | Op::Cast(..) | Op::Stage(_)) => {
                op.operands().all(|o| self.is_of_indices(o))
            }
            _ => false,
        };
        self.of_indices.insert(n, is);
        is
    }

    /// Returns whether another launch than that of a fused group has computed and stored a value.
    pub fn is_left(&self, op: &Op, n: NodeId) -> bool {
        self.fused && op.needs_launch() && self.g.is_closed(n) && !self.own.contains(&n)
    }

    /// Returns the number of different values that a node has at most.
    fn most(&mut self, n: NodeId) -> f64 {
        let values: f64 = self.axes(n).iter().map(|a| self.lengths[*a as usize]).product();
        if self.g.ty(n).is_scalar() { values } else { values * self.elements(n) }
    }

    /// Returns the arrays of the author's that are read more often than they have elements.
    pub fn repeated(self) -> Vec<NodeId> {
        let mut reads = self.reads;
        reads
            .retain(|(n, times)| (n.0 as usize) < self.f.graph.len() && self.g.is_closed(*n) && *times > 1.0);
        reads.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        reads.into_iter().map(|r| r.0).collect()
    }

    /// Returns the axes of the indices that a node itself depends on; [`Walk::axes`] has those of the loops around
    /// them as well. An accumulator or a state depends on all loops around it.
    pub fn own_axes(&self, n: NodeId) -> HashSet<u32> {
        let of = |v: &Var| match self.of_index.get(v) {
            Some(axis) => vec![*axis],
            None => self.of_var.get(v).cloned().unwrap_or_default(),
        };
        self.g.node(n).free.iter().flat_map(of).collect()
    }

    /// Returns the length of an axis.
    pub fn length_of(&self, axis: u32) -> f64 {
        self.lengths[axis as usize]
    }

    /// Counts a fused group.
    pub fn group(&mut self, items: &[NodeId]) -> Counts {
        self.begin(items);
        self.count_from(items)
    }

    /// Finds all nodes of a fused group.
    pub fn open_group(&mut self, items: &[NodeId]) {
        self.begin(items);
        self.find(items);
    }

    fn begin(&mut self, items: &[NodeId]) {
        self.own = items.iter().copied().collect();
        let domain = items.first().map(|n| groups::domain(&self.g, *n)).unwrap_or_default();
        let elements: f64 = domain.into_iter().map(|n| self.length(n) as f64).product();
        self.threads = (elements / OF_THREAD).max(1.0);
    }

    /// Counts everything that the results need.
    pub fn results(&mut self) -> Counts {
        let roots: Vec<NodeId> = self.f.results.iter().map(|r| r.value).collect();
        let mut counts = self.count_from(&roots);
        for n in roots {
            // the last step of an iteration writes its states, and what the author stores is counted where it is made
            let is_written = match self.g.op(n) {
                Op::Iterate { .. } => true,
                Op::Materialize(_) => !self.is_ideal,
                _ => false,
            };
            if !self.g.ty(n).is_scalar() && !is_written {
                counts.bytes += self.elements(n) * self.g.ty(n).elem.size() as f64;
            }
        }
        counts
    }

    /// Finds all nodes that `roots` need, users first.
    fn find(&mut self, roots: &[NodeId]) {
        let (mut seen, mut stack) = (HashSet::default(), Vec::new());
        stack.extend(roots.iter().map(|n| (*n, false)));
        while let Some((n, is_done)) = stack.pop() {
            if is_done {
                self.order.push(n);
                continue;
            }
            if !seen.insert(n) {
                continue;
            }
            stack.push((n, true));
            for e in self.edges(n) {
                if !seen.contains(&e.to) {
                    stack.push((e.to, false));
                }
            }
        }
        self.order.reverse();
    }

    fn count_from(&mut self, roots: &[NodeId]) -> Counts {
        self.find(roots);
        let mut demands: HashMap<NodeId, Demand> = HashMap::default();
        for n in roots {
            let all = self.most(*n);
            demands.insert(*n, Demand { all, most: all, counts: true, read: all, apart: 0.0 });
        }
        let mut counts = Counts::default();
        for n in self.order.clone() {
            let demand = demands.get(&n).copied().unwrap_or_default();
            let times = self.counted(n, &demand, &mut counts);
            let passes_on = passes_on(self.g.op(n));
            for e in self.edges(n) {
                let to = demands.entry(e.to).or_default();
                to.counts |= match e.kind {
                    Kind::Value => demand.counts,
                    Kind::Index => false,
                    Kind::Element | Kind::Apart | Kind::Begin => true,
                };
                let more = times * e.times;
                to.all += more;
                to.apart += match e.kind {
                    Kind::Apart => more,
                    Kind::Element if passes_on => demand.apart * e.times,
                    _ => 0.0,
                };
                to.most = to.most.max(more);
                if e.kind != Kind::Begin {
                    to.read += more;
                }
            }
        }
        counts
    }

    /// Counts one node, and returns how often it needs its operands.
    fn counted(&mut self, n: NodeId, demand: &Demand, counts: &mut Counts) -> f64 {
        let (op, size) = (self.g.op(n).clone(), self.g.ty(n).elem.size() as f64);
        let most = self.most(n);
        let times = if self.fused { most } else { demand.all.min(most) };
        if !self.fused && !self.is_ideal && is_stored(&op) {
            counts.loads += demand.apart;
        }
        match &op {
            // what another launch has left
            op if self.is_left(op, n) => {}
            Op::Param(_) if !self.g.ty(n).is_scalar() => {
                counts.loads += demand.read;
                counts.bytes += demand.read.min(most) * size;
            }
            Op::At(x, _) | Op::Elem(x, _) if self.fused => {
                counts.loads += if self.g.is_stored(*x) { most } else { 0.0 };
            }
            // users of one iteration share a read, but each iteration makes its own
            Op::At(..) | Op::Elem(..) => return if self.g.is_closed(n) { 1.0 } else { demand.most },
            Op::Materialize(_) if !self.fused => {
                counts.loads += demand.read;
                counts.bytes += if self.is_ideal { 0.0 } else { 2.0 * most * size };
                return most;
            }
            // as many comparisons as tell the orders of so many keys apart
            Op::Argsort(_) if self.is_ideal => {
                counts.operations += most * most.max(2.0).log2();
                counts.loads += most;
                return most;
            }
            // merges, in each of which every element searches for its place among those of its run, which in the
            // middle one is as long as the root of the number of all, and in which key and index move; or digits of
            // keys, each of which is counted, and by each of which key and index move
            Op::Argsort(x) => {
                let merges = most.max(1.0).log2().ceil();
                let digits = self.g.ty(*x).elem.size() as f64;
                if digits::have_fewer_launches(digits as i64, merges as i64) {
                    let is_float = matches!(self.g.ty(*x).elem, Ty::F32 | Ty::F64);
                    let each = MOVED_BY_DIGIT + if is_float { ORDERED_FLOAT } else { 0.0 };
                    counts.operations += most * digits * each;
                    counts.loads += most * digits * 3.0;
                    counts.bytes += most * digits * 4.0 * size;
                    return most;
                }
                let steps = (merges / 2.0).floor() + 1.0;
                counts.operations += most * merges * (SEARCH_STEP * steps + MERGED);
                counts.loads += most * merges * (2.0 * steps + 6.0);
                counts.bytes += most * merges * 4.0 * size;
                return most;
            }
            // each element is joined to a bin
            Op::Bins { src, .. } => {
                let elements = self.elements(*src);
                counts.operations += elements;
                return elements;
            }
            // each element is stored; there are other elements than places
            Op::Put { src, .. } => return self.elements(*src),
            // what stays of an array in a register serves one reader
            Op::Map(..) | Op::Generate(..) if !self.fused => {
                counts.loads += (demand.all - most).max(0.0);
                self.reads.push((n, demand.all / most.max(1.0)));
            }
            Op::Iterate { .. } => return most,
            // a choice by index is made by the loops
            Op::Select(c, ..) if self.is_of_indices(*c) => {}
            Op::Slice { .. } | Op::Reverse(..) | Op::Permute(..) | Op::Pick { .. } | Op::Spread { .. } => {
                return demand.all;
            }
            Op::Dot { a, .. } | Op::PanelDot { a, .. } => {
                counts.operations += 2.0 * times * self.elements(*a);
            }
            // two differences and two multiply-adds
            Op::SquaredDeviations { src, .. } => {
                counts.operations += 6.0 * times * self.elements(*src);
            }
            op if demand.counts => {
                counts.operations += weight(op) * times;
                // what was kept for several iterations is read again
                let is_kept = !self.fused && weight(op) > 0.0 && !self.g.is_closed(n);
                counts.loads += if is_kept { (demand.most - most).max(0.0) } else { 0.0 };
            }
            _ => {}
        }
        times
    }
}
