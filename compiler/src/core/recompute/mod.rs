//! Decides which arrays are cheaper to store than to compute again at each read. Fusion (`passes/fuse.rs`) stores the
//! arrays that [`stored`] returns, and no others that the author did not ask to store.
//!
//! The function is read once, operands before users. A *context* is what can share a launch: the items over one index
//! space that wait for the same number of launches. [`demand`] says which elements of which arrays one element of the
//! context needs; the search ends at stored arrays. So it is known how often an element of each array is computed in
//! the context. As soon as computing an array again costs more than storing it, the array is stored, and only what
//! was found about its readers is evaluated again. So the time is linear in the size of the program.
//!
//! ```text
//! a = map exp x, b[i] = a[i - 1] + a[i] + a[i + 1], c[i] = b[i - 1] + b[i + 1]
//! an element of c needs 2 elements of b and 5 of a; a thread that computes 8 neighbours needs 12 of a: 1.5 times
//! ```
//!
//! *The costs.* Storing an array is a round trip through memory: 8 bytes for each element, in which time an H200
//! makes about [`ROUND_TRIP`] operations (2026-11-21: 0.128 ms for 2^26 elements of 4 bytes, at 30 TFLOP/s of
//! multiply-adds). A result is stored in any case, so only reading it counts ([`READ_AGAIN`]). [`reuse`] says how
//! often the neighbours that a stencil reads are computed. So small stencils of stencils are fused, such as 3 x 3 of
//! 3 x 3, but 5 x 5 of 5 x 5 is not.
//!
//! If an array has fewer indices than the loops around a read, its element is computed again for each value of the
//! missing indices: in `sum over k of f(x[k]) * y[i]`, f(x[k]) is computed for each i. The loads of these loops hide
//! cheap operations. The tiles of a product divide the repetitions by about 64, which hides cheap elements, but not
//! an elementary function. An element that contains a reduction is stored if it is needed at two or more places.

mod cost;
mod demand;
mod reuse;
mod stages;

use super::{Function, NodeId, Op};
use crate::budget;
use demand::{Demand, Places};
use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashMap as HashMap, FxHashSet as HashSet};
use std::rc::Rc;

/// The number of operations that take as long as one round trip of an element through memory.
const ROUND_TRIP: f64 = 60.0;
/// The same for an array that is a result, or is stored for other readers: it is only read once more.
const READ_AGAIN: f64 = 15.0;
/// The maximum number of elements of other arrays that one element may need. Beyond this, the array that costs most
/// is stored, whatever that costs.
const MAX_ELEMENTS: usize = 2_000;
/// The maximum number of arrays that are compared before one of them is stored.
const MAX_CANDIDATES: usize = 16;

/// The arrays that are stored.
#[derive(Default)]
pub struct Stored {
    /// The arrays. The flag says that the array is a result, or that the author stores it elsewhere, so that it
    /// leaves its error records in any case.
    pub arrays: HashMap<NodeId, bool>,
    /// Whether all of them are stages of chains of stencils, which could be computed again.
    pub has_stages: bool,
    /// Whether elements of other arrays are computed again at several reads, because that costs less. Only debug
    /// builds set this, for the checks of the laws.
    pub repeats: bool,
}

/// Returns the arrays of a function that are to be stored.
pub fn stored(f: &Function) -> Stored {
    if !may_repeat(f) {
        return Stored::default();
    }
    let mut decide = Decide {
        demand: Demand::new(f),
        kept_anyway: kept_anyway(f),
        contexts: IndexMap::default(),
        of_array: HashMap::default(),
        changed: Vec::new(),
        may_have_stages: false,
        stages: HashSet::default(),
    };
    decide.run(f);
    let repeats = cfg!(debug_assertions) && decide.repeats();
    let stored = &decide.demand.stored;
    Stored {
        arrays: stored.iter().map(|x| (*x, decide.kept_anyway.contains(x))).collect(),
        has_stages: !stored.is_empty() && *stored == decide.stages,
        repeats,
    }
}

/// Whether an element of a computed array could be needed twice. If not, the analysis is left out, which saves time.
fn may_repeat(f: &Function) -> bool {
    let g = &f.graph;
    let is_made = |n: NodeId| matches!(g.op(n), Op::Map(..) | Op::Generate(..));
    let mut readers: HashMap<NodeId, u32> = HashMap::default();
    let (mut made, mut again) = (false, false);
    for n in g.reachable(f.results.iter().map(|r| r.value)) {
        let op = g.op(n);
        made |= is_made(n) && g.is_closed(n);
        again |= match op {
            Op::At(..) | Op::Elem(..) | Op::Spread { .. } => true,
            op => op.is_reduction() && !g.is_closed(n),
        };
        let mut count = |o: NodeId| {
            if !g.ty(o).is_scalar() && !g.is_stored(o) {
                let readers = readers.entry(o).or_default();
                *readers += 1;
                again |= *readers > 1;
            }
        };
        match op {
            Op::Len(..) => {}
            op => op.for_operands(&mut count),
        }
    }
    for r in &f.results {
        again |= readers.contains_key(&r.value);
    }
    made && again
}

/// Returns the arrays that are stored whatever is decided: results, and those that the author stores.
fn kept_anyway(f: &Function) -> HashSet<NodeId> {
    let g = &f.graph;
    let mut out: HashSet<NodeId> = f.results.iter().map(|r| r.value).collect();
    for n in g.reachable(f.results.iter().map(|r| r.value)) {
        match g.op(n) {
            Op::Materialize(x) => drop(out.insert(*x)),
            Op::Iterate { args, .. } => out.extend(args.iter().copied()),
            _ => {}
        }
    }
    out
}

/// What identifies a context: the extents of its index space, whether its elements are counted by one index in
/// row-major order (a reduction of a matrix), and the number of launches that come before.
type Key = (Vec<NodeId>, bool, u32);

/// Everything that can share a launch.
#[derive(Clone, Default)]
struct Context {
    /// The arrays whose elements are computed.
    roots: Vec<NodeId>,
    /// The elements that must be computed for one element of each root.
    places: Rc<Places>,
}

/// Whether a function may have stages (`stages.rs`). The step of an iteration has none, because a launch can make
/// several steps only if one launch has all work of a step. A function whose author stores arrays has none either.
fn may_have_stages(f: &Function) -> bool {
    !f.is_step && !f.needs(|n| matches!(f.graph.op(n), Op::Materialize(_) | Op::Iterate { .. }))
}

struct Decide {
    demand: Demand,
    kept_anyway: HashSet<NodeId>,
    contexts: IndexMap<Key, Context, FxBuildHasher>,
    /// The numbers of the contexts in which elements of an array are computed, in ascending order.
    of_array: HashMap<NodeId, Vec<usize>>,
    /// The contexts that must be examined again, because an array was stored or roots were added.
    changed: Vec<usize>,
    /// Whether arrays may be stored as stages of chains of stencils from now on.
    may_have_stages: bool,
    /// The arrays that are stored as stages.
    stages: HashSet<NodeId>,
}

impl Decide {
    fn run(&mut self, f: &Function) {
        let g = &f.graph;
        for n in g.reachable(f.results.iter().map(|r| r.value)) {
            if !g.is_closed(n) || budget::is_exceeded(&g.node(n).loc) {
                continue;
            }
            match g.op(n).clone() {
                Op::Reduce { src, init, .. }
                | Op::Fold { src, init, .. }
                | Op::SquaredDeviations { src, init } => self.launch(n, &[src], &[init], true),
                Op::Dot { a, b, init } | Op::PanelDot { a, b, init } => {
                    self.launch(n, &[a, b], &[init], true)
                }
                Op::Materialize(x) => match *g.op(x) {
                    Op::Scan { init, src, .. } if g.ty(init).is_scalar() => {
                        self.launch(n, &[src], &[init], true)
                    }
                    Op::Place { at, src } | Op::Bins { at, src, .. } => {
                        self.launch(n, &[at, src], &[], false);
                    }
                    Op::Put { at, src, base, after } => self.launch(n, &[at, src, base, after], &[], false),
                    Op::DigitCounts { digits: x, .. } | Op::DigitEnds { counts: x, .. } => {
                        self.launch(n, &[x], &[], false);
                    }
                    Op::ByDigit { digits: a, ends: b, src: c, .. } => self.launch(n, &[a, b, c], &[], false),
                    Op::Scan { init, src, .. } => {
                        let before = self.context(&[init], false);
                        let ready = self.context(&[src], true).max(before);
                        self.demand.launch(n, ready + 1);
                    }
                    _ => self.launch(n, &[x], &[], false),
                },
                // the `materialize` above has examined it
                ref op if op.is_stored_apart() => {}
                Op::Iterate { count, args, .. } => {
                    let is_scalar = |a: &NodeId| g.ty(*a).is_scalar();
                    let (mut scalars, arrays): (Vec<NodeId>, Vec<NodeId>) =
                        args.into_iter().partition(is_scalar);
                    scalars.push(count);
                    self.launch(n, &arrays, &scalars, false);
                }
                _ if g.ty(n).is_scalar() => {}
                _ => self.alone(n),
            }
        }
        for r in f.results.iter().filter(|r| !g.ty(r.value).is_scalar()) {
            self.context(&[r.value], false);
        }
        // all readers of each array are known now
        if may_have_stages(f) {
            self.may_have_stages = true;
            self.changed = self.by_key((0..self.contexts.len()).collect());
            self.settle();
        }
    }

    /// Adds the context of a node that needs a launch.
    fn launch(&mut self, n: NodeId, arrays: &[NodeId], scalars: &[NodeId], is_reduced: bool) {
        let ready = self.context(arrays, is_reduced);
        let ready = scalars.iter().map(|s| self.demand.ready_scalar(*s)).fold(ready, u32::max);
        self.demand.launch(n, ready + 1);
    }

    /// Stores the arrays whose elements one element of `array` would compute too often. This comes before contexts:
    /// each level of a chain of stencils needs a factor more elements, which would take too long to evaluate.
    fn alone(&mut self, array: NodeId) {
        while self.demand.joins_places(array) && !self.demand.is_exceeded(array) {
            let places = self.demand.places(&[array]);
            let is_full = places.len() > MAX_ELEMENTS || self.demand.is_too_much(array, &places);
            let more = |this: &mut Self, x: NodeId| match x == array {
                true => 0.0,
                false => this.demand.reuse_of(x, &places) - 1.0,
            };
            match self.worst((&[array], &places), is_full, more) {
                Some(x) => self.store(x),
                None => return,
            }
            self.settle();
        }
    }

    /// Adds arrays to the context to which they belong, and stores what is then computed too often. Returns the
    /// number of launches that must run before the context.
    fn context(&mut self, roots: &[NodeId], is_reduced: bool) -> u32 {
        let ready = self.demand.places(roots).ready;
        let roots: Vec<NodeId> = roots.iter().copied().filter(|x| !self.demand.is_leaf(*x)).collect();
        let Some(first) = roots.first() else { return ready };
        let extents = self.demand.extents(*first);
        let key = (extents, is_reduced && self.demand.rank(*first) > 1, ready);
        self.add(key, roots);
        self.settle();
        ready
    }

    /// Adds arrays to a context, which then counts as changed.
    fn add(&mut self, key: Key, roots: Vec<NodeId>) {
        let of = self.contexts.entry(key);
        self.changed.push(of.index());
        of.or_default().roots.extend(roots);
    }

    /// Sorts contexts by their keys, so that the order of decisions depends on the program alone.
    fn by_key(&self, mut contexts: Vec<usize>) -> Vec<usize> {
        contexts.sort_by_key(|i| self.contexts.get_index(*i).map(|of| of.0));
        contexts
    }

    /// Stores what is computed too often in the contexts that changed.
    fn settle(&mut self) {
        while let Some(i) = self.changed.pop() {
            if self.demand.is_exceeded(self.contexts[i].roots[0]) {
                return;
            }
            self.look(i);
            let Context { roots, places } = self.contexts[i].clone();
            let more = |this: &mut Self, x: NodeId| {
                let all = this.of_array.get(&x).into_iter().flatten();
                all.map(|i| this.demand.reuse_of(x, &this.contexts[*i].places)).sum::<f64>() - 1.0
            };
            if let Some(x) = self.worst((&roots, &places), false, more)
                && self.gains(x)
            {
                self.store(x);
            } else if let Some(x) = self.stage(i) {
                self.stages.insert(x);
                self.store(x);
            }
        }
    }

    /// Whether an array that is not stored is computed more than once.
    fn repeats(&self) -> bool {
        self.of_array.iter().any(|(x, contexts)| {
            let all = contexts.iter().map(|i| &self.contexts[*i].places);
            let times: f64 = all.clone().map(|places| self.demand.reuse_of(*x, places)).sum();
            let in_loops = |places: &Rc<Places>| places.arrays().any(|(of, again)| of == *x && again > 0.0);
            !self.demand.stored.contains(x) && (times > 1.0 || all.clone().any(in_loops))
        })
    }

    /// Whether storing an array pays if each of several contexts computes it once (in all other cases it does). Its
    /// own launch then computes again what its elements share with those of the contexts, so it may save nothing.
    fn gains(&mut self, x: NodeId) -> bool {
        let numbers = self.of_array.get(&x).into_iter().flatten();
        let contexts: Vec<Context> = numbers.map(|i| self.contexts[*i].clone()).collect();
        let is_once = |c: &Context| {
            let repeated = c.places.arrays().find(|of| of.0 == x).map_or(0.0, |of| of.1);
            repeated == 0.0 && self.demand.reuse_of(x, &c.places) <= 1.0
        };
        if contexts.len() < 2 || !contexts.iter().all(is_once) {
            return true;
        }
        let mut gain = -self.demand.cost(x);
        for c in contexts {
            // if the array itself is reduced in the context, the reduction reads it once it is stored
            let others: Vec<NodeId> = c.roots.iter().copied().filter(|root| *root != x).collect();
            gain += self.demand.cost_until(&c.roots, None) - self.demand.cost_until(&others, Some(x));
        }
        gain > if self.kept_anyway.contains(&x) { READ_AGAIN } else { ROUND_TRIP }
    }

    /// Finds the elements that a context needs, and updates [`Decide::of_array`].
    fn look(&mut self, i: usize) {
        let context = &mut self.contexts[i];
        let places = Rc::new(self.demand.places(&context.roots));
        let before = std::mem::replace(&mut context.places, places.clone());
        for (x, _) in before.iter().filter(|of| !places.has(of.0)) {
            let of = self.of_array.entry(x).or_default();
            if let Ok(at) = of.binary_search(&i) {
                of.remove(at);
            }
        }
        for (x, _) in places.iter().filter(|of| !before.has(of.0)) {
            let of = self.of_array.entry(x).or_default();
            if let Err(at) = of.binary_search(&i) {
                of.insert(at, i);
            }
        }
    }

    /// Returns an array that costs more to compute again than to store: `more` (how often an element is computed
    /// beyond the first time) times its cost exceeds the cost of storing. Of several such arrays, it is the one whose
    /// storing makes the roots cheapest: others may be expensive only because they need this one. If `is_full`, every
    /// array that is computed again counts as too expensive.
    fn worst(
        &mut self,
        (roots, places): (&[NodeId], &Places),
        is_full: bool,
        more: impl Fn(&mut Self, NodeId) -> f64,
    ) -> Option<NodeId> {
        let mut found: Vec<(f64, NodeId)> = Vec::new();
        let arrays: Vec<(NodeId, f64)> = places.arrays().collect();
        let mut again: HashMap<NodeId, f64> = HashMap::default();
        for (x, repeated) in &arrays {
            let more = more(self, *x) + repeated;
            if more > 0.0 && self.demand.may_be_stored(*x) {
                again.insert(*x, more);
            }
        }
        if again.is_empty() {
            return None;
        }
        // of a chain of arrays that are all computed again as often, only the last one is a candidate
        let of = |x: &NodeId| again.get(x).copied().unwrap_or(0.0);
        let wanted: HashSet<NodeId> =
            self.demand.reads(places).filter(|(reader, x)| of(reader) < of(x)).map(|(_, x)| x).collect();
        for (x, _) in arrays {
            let Some(more) = again.get(&x).filter(|_| wanted.contains(&x) || roots.contains(&x)) else {
                continue;
            };
            let again = more * self.demand.cost_within(x, places);
            let limit = if self.kept_anyway.contains(&x) { READ_AGAIN } else { ROUND_TRIP };
            if is_full || again > limit {
                found.push((again, x));
            }
        }
        if found.len() > MAX_CANDIDATES {
            found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            found.truncate(MAX_CANDIDATES);
        }
        let left = |(_, x): (f64, NodeId)| {
            let own = self.demand.cost_within(x, places);
            (self.demand.cost_until(roots, Some(x)) + own, x)
        };
        found.into_iter().map(left).min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))).map(|(_, x)| x)
    }

    /// Stores an array. It becomes a context of its own, and the contexts that computed its elements now read them.
    fn store(&mut self, array: NodeId) {
        let ready = self.demand.store(array);
        let of = self.of_array.remove(&array).unwrap_or_default();
        let of = self.by_key(of);
        self.changed.extend(of);
        let extents = self.demand.extents(array);
        self.add((extents, false, ready), vec![array]);
    }
}
