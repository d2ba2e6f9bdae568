//! Which elements of which arrays must be computed for one element. The search ends at arrays that are in memory.
//!
//! The element of an array is evaluated symbolically: an index is an expression in a graph of its own, in normal
//! form, so that equal indices are the same node. Values of elements are not computed. Each *place*, which is a pair
//! of an array and indices, is evaluated once.
//!
//! ```text
//! %1 = map (%a) over %x { exp %a }               (%2, [i]) needs (%1, [i]) and (%1, [i + 1]),
//! %2 = generate n (%i) { %1[%i] + %1[%i + 1] }   and these need %x at [i] and at [i + 1]
//! ```

mod evaluate;
mod found;
mod places;
mod work;

use super::{cost, reuse};
use crate::budget;
use crate::core::equations::Equations;
use crate::core::graph::marks::Visited;
use crate::core::linear::{self, Linear};
use crate::core::simplify::extents;
use crate::core::{COLUMNS, Function, Graph, NodeId, Op, Rule, Var};
use crate::scalar::{BinaryOp, Lit, Ty};
use indexmap::IndexSet;
pub use places::{Index, Places};
use places::{Needs, Place, Scope};
use rustc_hash::{FxBuildHasher, FxHashMap as HashMap, FxHashSet as HashSet};
use std::cell::RefCell;

/// The elements that the arrays of one function need.
pub struct Demand {
    /// The function's graph, and the extents of its arrays.
    g: Graph,
    /// The graph of the indices; a *symbol* is a node of it. Each array, and each scalar that is known only after a
    /// launch, is a parameter of this graph.
    symbols: Graph,
    /// For each of these arrays and scalars, as a node of `g`, its parameter in `symbols`.
    leaves: HashMap<NodeId, NodeId>,
    /// The symbols of all nodes that do not depend on an element, including those of `leaves`.
    closed: HashMap<NodeId, NodeId>,
    /// The variables of indices: the first [`OF_ELEMENT`] are the indices of the element for which needs are asked,
    /// the others are indices of loops inside of elements.
    index: Vec<Option<(Var, NodeId)>>,
    /// The elements that were examined; each is known by its number in this set.
    elements: IndexSet<Place, FxBuildHasher>,
    /// What each of these elements needs, if it was found in the present round. When an array is stored, elements
    /// that need its elements must be evaluated again.
    needs: Vec<Needs>,
    /// The number of the round. A new round begins when all elements must be evaluated again.
    round: u32,
    /// The lists of needed elements, one list after another: [`Needs`] has the ends of each. An entry is the number
    /// of an element of a computed array, and how often that element is computed again because the loops around the
    /// read have more indices than the array.
    needed: Vec<(u32, f64)>,
    /// For each array, the elements that need one of its elements.
    readers: HashMap<NodeId, Vec<u32>>,
    /// Buffers for evaluating an element: the loops around a node, and what was found so far.
    room: (Scope, Vec<(u32, f64)>),
    /// Whether some element was evaluated by a rule that asks for the [`Content`] of an array. Storing any array may
    /// change contents, so a new round must then begin.
    needs_contents: bool,
    /// The arrays that are stored because this module decided it.
    pub stored: HashSet<NodeId>,
    /// Operations and loads of one element of an array, with all that is computed for it.
    costs: HashMap<NodeId, f64>,
    contents: HashMap<NodeId, Content>,
    bodies: HashMap<NodeId, Body>,
    /// Whether an element of the array needs, directly or through other arrays, an element at other indices than its
    /// own.
    shifts: HashMap<NodeId, bool>,
    /// For stored arrays and reductions, the number of launches that it takes to compute them.
    ready: HashMap<NodeId, u32>,
    equations: Equations,
    /// Extents of which a shape rule says that they are not negative.
    lengths: HashSet<NodeId>,
    /// The linear forms of indices.
    forms: RefCell<reuse::Forms>,
    /// A cache of the normal forms of sums and products of indices. Most of them occur in every array.
    normals: HashMap<NodeId, NodeId>,
    /// A cache of the simplest forms of operations on symbols.
    simplified: HashMap<Op, NodeId>,
}

/// What computing an element of an array includes, along with the elements of other arrays that are computed for it.
#[derive(Clone, Copy, Default)]
pub struct Content {
    /// Whether it may leave an error record.
    pub records: bool,
    /// Whether there is a loop in it.
    pub loops: bool,
}

/// What is known of the function of an array, which computes an element from its indices or operands.
#[derive(Clone, Copy, Default)]
struct Body {
    /// The operations of one evaluation, without those of the arrays that it reads.
    cost: f64,
    /// Whether the function has reads of arrays in it, beside the operands of a map.
    reads: bool,
    /// Whether it may leave an error record itself.
    records: bool,
    /// The number of launches that must run before: those that compute scalars which the function needs.
    ready: u32,
}

/// The maximum number of elements of a table along each axis.
const MAX_OF_TABLE: i64 = COLUMNS;
/// The number of index variables that are set aside for an element: the maximum rank.
const OF_ELEMENT: usize = 3;

impl Demand {
    pub fn new(f: &Function) -> Demand {
        let g = f.graph.clone();
        let is_leaf = |n: &NodeId| {
            g.is_closed(*n) && (!g.ty(*n).is_scalar() || g.op(*n).needs_launch()) || is_param(&g, *n)
        };
        let leaves: Vec<NodeId> = (0..g.len() as u32).map(NodeId).filter(is_leaf).collect();
        let mut symbols = Graph::default();
        symbols.declare_params(leaves.iter().map(|n| g.ty(*n)));
        let leaves: HashMap<NodeId, NodeId> = leaves.into_iter().zip((0..).map(NodeId)).collect();
        let mut demand = Demand {
            g,
            symbols,
            closed: leaves.clone(),
            leaves,
            index: Vec::new(),
            elements: IndexSet::default(),
            needs: Vec::new(),
            round: 1,
            needed: Vec::new(),
            readers: HashMap::default(),
            room: Default::default(),
            needs_contents: false,
            stored: HashSet::default(),
            costs: HashMap::default(),
            contents: HashMap::default(),
            bodies: HashMap::default(),
            shifts: HashMap::default(),
            ready: HashMap::default(),
            equations: Equations::default(),
            lengths: HashSet::default(),
            forms: RefCell::default(),
            normals: HashMap::default(),
            simplified: HashMap::default(),
        };
        for r in f.requires.iter().filter(|r| r.rule == Rule::Same) {
            let [a, b] = [r.a, r.b].map(|n| demand.closed_scalar(n));
            demand.equations.add(&demand.symbols, a, b);
        }
        // these hold: 0 <= extent of a generated array; start <= stop of a slice
        for r in f.requires.iter().filter(|r| matches!(r.rule, Rule::Extent | Rule::Order)) {
            let [a, b] = [r.a, r.b].map(|n| demand.closed_scalar(n));
            let n = linear::sub(&mut demand.symbols, b, a);
            let n = demand.normal(n);
            demand.lengths.insert(n);
        }
        demand
    }

    /// Returns whether an array is in memory when it is read.
    pub fn is_leaf(&self, n: NodeId) -> bool {
        self.g.is_stored(n) || self.stored.contains(&n)
    }

    pub fn rank(&self, array: NodeId) -> usize {
        self.g.ty(array).rank.into()
    }

    /// Stores an array from now on, and forgets what was found about the elements that need its elements. Returns the
    /// number of launches that must run before the array can be computed.
    pub fn store(&mut self, array: NodeId) -> u32 {
        let ready = self.places(&[array]).ready;
        self.stored.insert(array);
        self.launch(array, ready + 1);
        if std::mem::take(&mut self.needs_contents) {
            self.round += 1;
            self.needed.clear();
            self.readers.clear();
        }
        for reader in self.readers.remove(&array).unwrap_or_default() {
            self.needs[reader as usize] = Needs::default();
        }
        self.costs.clear();
        self.contents.clear();
        self.shifts.clear();
        ready
    }

    /// Returns the extents of an array, in normal form.
    pub fn extents(&mut self, array: NodeId) -> Vec<NodeId> {
        let all = extents(&mut self.g, array);
        let all: Vec<NodeId> = all.into_iter().map(|n| self.closed_scalar(n)).collect();
        all.into_iter().map(|n| self.normal(n)).collect()
    }

    /// Returns a length in normal form. Lengths that are equal by the shape rules get the same form.
    fn normal(&mut self, n: NodeId) -> NodeId {
        self.equations.resolve(&Linear::of(&self.symbols, n)).node(&mut self.symbols)
    }

    /// Returns a sum, difference or product of indices in normal form.
    fn index_op(&mut self, op: BinaryOp, a: NodeId, b: NodeId) -> NodeId {
        let n = self.symbols.add(Op::Binary(op, a, b));
        self.linear(n)
    }

    /// Returns an index in normal form.
    fn linear(&mut self, n: NodeId) -> NodeId {
        let symbols = &mut self.symbols;
        *self.normals.entry(n).or_insert_with(|| Linear::of(symbols, n).node(symbols))
    }

    /// Whether an extent is known not to be negative. Some are: those of arrays that only loops without steps read.
    fn is_length(&self, n: NodeId) -> bool {
        Linear::of(&self.symbols, n).at_least(&self.symbols, 0) || self.lengths.contains(&n)
    }

    /// Notes that a node is known after `ready` launches, its own included.
    pub fn launch(&mut self, n: NodeId, ready: u32) {
        self.ready.insert(n, ready);
    }

    /// Returns the number of launches that must run before a scalar, or a function's body, can be computed.
    pub fn ready_scalar(&self, n: NodeId) -> u32 {
        let (mut seen, mut stack, mut ready) = (Visited::begin(), vec![n], 0);
        while let Some(n) = stack.pop() {
            match self.ready.get(&n) {
                Some(own) => ready = ready.max(*own),
                None if self.g.ty(n).is_scalar() && seen.insert(n.0) => stack.extend(self.g.op(n).operands()),
                None => {}
            }
        }
        ready
    }

    /// Returns whether the array is one that may be stored: it is computed, is not stored yet, depends on no element,
    /// and its length is not negative. A short table that reads nothing is left to unrolling, which turns it into
    /// constants.
    pub fn may_be_stored(&mut self, n: NodeId) -> bool {
        let is_table = match self.g.op(n) {
            Op::Generate(extents, _) => {
                let few =
                    |n: &NodeId| self.g.as_lit(*n).and_then(Lit::as_int).is_some_and(|n| n <= MAX_OF_TABLE);
                extents.iter().all(few)
            }
            Op::Map(..) => false,
            _ => return false,
        };
        self.g.is_closed(n)
            && !self.is_leaf(n)
            && (!is_table || self.body(n).reads)
            && self.extents(n).into_iter().all(|n| self.is_length(n))
    }

    /// Returns whether an element of this array may need several elements of another array although each array that
    /// it reads needs only one: it reads an array at several places, or it reads several arrays that may lead to
    /// different elements of the same one. Only then is there something to decide for this array alone.
    ///
    /// ```text
    /// b[i] = a[i] + a[i + 1]    true: it needs a at two places
    /// c[i] = p[i] * q[i]        true if p and q both read at shifted indices, because both may read a
    /// ```
    pub fn joins_places(&mut self, array: NodeId) -> bool {
        if self.is_leaf(array) {
            return false;
        }
        let place = self.own_place(array);
        let needed = self.needed(place);
        let mut shifted = 0;
        let mut others = 0;
        let mut repeated = false;
        for ((x, index), times) in &needed {
            repeated |= *times > 0.0;
            let own = index[..] == place.1[..];
            shifted += usize::from(!own || self.shifts.get(x).copied().unwrap_or(false));
            others += usize::from(!own);
        }
        self.shifts.insert(array, shifted > 0);
        repeated || needed.len() > 1 && (others > 0 || shifted > 1)
    }

    /// Returns all elements that must be computed for one element of each of these arrays, including these.
    pub fn places(&mut self, roots: &[NodeId]) -> Places {
        let roots: Vec<Place> = roots.iter().map(|root| self.own_place(*root)).collect();
        self.places_from(&roots, None)
    }

    /// Returns all elements that must be computed for these ones, including these. The array `stored` counts as
    /// stored, except among the roots: its elements are in the result, but what they need is not.
    fn places_from(&mut self, roots: &[Place], stored: Option<NodeId>) -> Places {
        let (mut out, mut seen) = (Places::default(), Visited::begin());
        let mut stack: Vec<u32> = Vec::new();
        for place in roots.iter().rev() {
            let number = self.number(*place);
            if seen.insert(number) {
                out.insert(number, place.0, 0.0, true);
                stack.push(number);
            }
        }
        while let Some(number) = stack.pop() {
            let array = self.elements[number as usize].0;
            if self.is_exceeded(array) {
                break;
            }
            if stored == Some(array) && !roots.iter().any(|root| root.0 == array) {
                continue;
            }
            self.evaluate(number);
            let needs = self.needs_of(number);
            out.loads += needs.loads as usize;
            out.ready = out.ready.max(needs.ready);
            for (next, repeated) in self.needed[needs.elements()].iter().rev() {
                let is_new = seen.insert(*next);
                if is_new || *repeated > 0.0 {
                    out.insert(*next, self.elements[*next as usize].0, *repeated, is_new);
                }
                if is_new {
                    stack.push(*next);
                }
            }
        }
        out
    }

    /// Whether the budget of the compilation is exceeded, at the line of an array.
    pub fn is_exceeded(&self, array: NodeId) -> bool {
        budget::is_exceeded(&self.g.node(array).loc)
    }

    /// Returns the number of an element.
    fn number(&mut self, place: Place) -> u32 {
        let (number, is_new) = self.elements.insert_full(place);
        if is_new {
            self.needs.push(Needs::default());
        }
        number as u32
    }

    /// Returns the elements that an element reads directly, each with how often it is computed again.
    fn needed(&mut self, place: Place) -> Vec<(Place, f64)> {
        let number = self.number(place);
        self.evaluate(number);
        self.known_needs(number).iter().map(|(n, times)| (self.elements[*n as usize], *times)).collect()
    }

    /// Returns what computing an element of an array includes.
    pub fn content(&mut self, array: NodeId) -> Content {
        if let Some(known) = self.contents.get(&array) {
            return *known;
        }
        let Body { cost, records, .. } = self.body(array);
        let mut content = Content { records, loops: cost >= cost::NESTED };
        let place = self.own_place(array);
        for ((x, _), _) in self.needed(place).into_iter().filter(|of| of.0.0 != array) {
            let of = self.content(x);
            content = Content { records: content.records | of.records, loops: content.loops | of.loops };
        }
        self.contents.insert(array, content);
        content
    }

    /// Returns what is known of the function of an array.
    fn body(&mut self, array: NodeId) -> Body {
        if let Some(known) = self.bodies.get(&array) {
            return *known;
        }
        let body = match (self.g.op(array), self.g.op(array).lambda()) {
            (_, Some(l)) => {
                let (cost, reads) = cost::of_body(&self.g, l.body);
                let records = cost::records(&self.g, l.body);
                Body { cost, reads, records, ready: self.ready_scalar(l.body) }
            }
            (Op::Fill(_, value), _) => Body { ready: self.ready_scalar(*value), ..Body::default() },
            _ => Body::default(),
        };
        self.bodies.insert(array, body);
        body
    }

    /// Returns the place of an array's element at the first index variables.
    fn own_place(&mut self, array: NodeId) -> Place {
        let (mut index, rank) = ([NodeId(0); OF_ELEMENT], self.rank(array));
        index[..rank].iter_mut().enumerate().for_each(|(axis, i)| *i = self.index(axis).1);
        (array, Index::from(&index[..rank]))
    }

    /// Returns a variable of [`Demand::index`].
    fn index(&mut self, number: usize) -> (Var, NodeId) {
        if self.index.len() <= number {
            self.index.resize(number + 1, None);
        }
        let symbols = &mut self.symbols;
        *self.index[number].get_or_insert_with(|| symbols.fresh_var(Ty::I64))
    }
}

fn is_param(g: &Graph, n: NodeId) -> bool {
    matches!(g.op(n), Op::Param(_))
}
