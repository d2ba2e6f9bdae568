//! The places of a function that may leave an error record, and their labels.
//!
//! A value that is stored without its records has a number beside it: 0, or the label of the place whose record
//! computing it leaves (`kept_records.rs`). Of several records of one element the first place in the author's program
//! counts (semantics 6), and that place has the greatest label: so the label of an element is the greatest one of all
//! that it needs, whichever launches have found them, and an array that reads others hands their labels on.

use super::graph::marks::Visited;
use super::records::{WORDS_OF_READ, words_of};
use super::{Graph, NodeId, Op, Var};
use crate::loc::Loc;
use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap as HashMap};
use std::sync::Arc;

/// What an error record says.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Says {
    /// A read of a parameter is out of range, by its position.
    Param(u32),
    /// A read of a computed array is out of range.
    Read,
    /// An integer is divided by zero.
    Division,
    /// Something else, in these words.
    Words(Arc<str>),
}

/// A place: operations of one line that leave the same record are one.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RecordPlace {
    /// What its record says.
    pub says: Says,
    /// Its line.
    pub loc: Option<Loc>,
}

impl RecordPlace {
    /// Returns the place of an operation that may leave a record.
    pub fn of(g: &Graph, n: NodeId) -> RecordPlace {
        let says = match *g.op(n) {
            Op::Binary(..) => Says::Division,
            Op::At(x, _) if let Op::Param(i) = *g.op(x) => Says::Param(i),
            _ => match words_of(g, n) {
                WORDS_OF_READ => Says::Read,
                words => Says::Words(words.into()),
            },
        };
        RecordPlace { says, loc: g.node(n).loc.first().cloned() }
    }
}

/// The labels of a function's places. They begin with those in the order of the author's program; what passes add to
/// it stands before these.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    places: HashMap<u32, RecordPlace>,
    labels: HashMap<RecordPlace, u32>,
    /// The greatest label.
    last: u32,
}

impl Labels {
    /// The most labels that a text may have: a set has a bit for each.
    pub const MOST: u32 = 1 << 20;

    /// Gives labels to the places that these nodes need.
    pub fn of(g: &Graph, roots: impl IntoIterator<Item = NodeId>) -> Labels {
        let mut labels = Labels::default();
        if g.has_records() {
            for (place, label) in InOrder::default().places(g, roots).into_iter().rev().zip(1..) {
                labels.set(label, place);
            }
        }
        labels
    }

    /// Gives a place a label.
    pub fn set(&mut self, label: u32, place: RecordPlace) {
        self.last = self.last.max(label);
        self.places.insert(label, place.clone());
        self.labels.insert(place, label);
    }

    /// Returns the place with a label.
    pub fn place(&self, label: u32) -> Option<&RecordPlace> {
        self.places.get(&label)
    }

    /// Returns the label of a place, if it has one.
    pub fn label(&self, place: &RecordPlace) -> Option<u32> {
        self.labels.get(place).copied()
    }

    /// Returns the label that a further place gets.
    pub fn next(&self) -> u32 {
        self.last + 1
    }
}

/// A set of labels.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LabelSet(Arc<[u64]>);

/// The labels of a word of a set.
const WORD: u32 = u64::BITS;

impl LabelSet {
    /// Returns the set of one label.
    pub fn one(label: u32) -> LabelSet {
        let mut words = vec![0; (label / WORD) as usize];
        words.push(1 << (label % WORD));
        LabelSet(words.into())
    }

    /// Returns the labels that are in either set.
    pub fn union(&self, other: &LabelSet) -> LabelSet {
        let (long, short) = if self.0.len() < other.0.len() { (other, self) } else { (self, other) };
        let word = |w: usize| short.0.get(w).copied().unwrap_or_default();
        if (0..short.0.len()).all(|w| word(w) & !long.0[w] == 0) {
            return long.clone();
        }
        LabelSet(long.0.iter().zip(0..).map(|(of, w)| of | word(w)).collect())
    }

    /// Returns the labels, the greatest one first: that of the first place.
    pub fn labels(&self) -> impl Iterator<Item = u32> {
        let bits = |(of, w): (&u64, u32)| {
            let of = *of;
            (0..WORD).rev().filter(move |bit| of >> bit & 1 == 1).map(move |bit| w * WORD + bit)
        };
        let words = self.0.iter().zip(0..).collect::<Vec<_>>();
        words.into_iter().rev().flat_map(bits)
    }

    /// Whether there is one label.
    pub fn is_one(&self) -> bool {
        self.0.iter().map(|of| of.count_ones()).sum::<u32>() == 1
    }

    /// Returns the greatest label.
    pub fn greatest(&self) -> u32 {
        self.labels().next().unwrap_or_default()
    }
}

/// A walk through what nodes need, in the order in which an element is computed.
#[derive(Default)]
struct InOrder {
    places: IndexSet<RecordPlace, FxBuildHasher>,
    /// The arrays whose elements the variables of the open functions are.
    arrays: HashMap<Var, NodeId>,
}

/// What a walk has to do.
enum Task {
    Visit(NodeId),
    /// Notes the place of an operation.
    Note(NodeId),
    /// Gives variables the arrays that they had before.
    Close(Vec<(Var, Option<NodeId>)>),
}

impl InOrder {
    fn places(
        mut self,
        g: &Graph,
        roots: impl IntoIterator<Item = NodeId>,
    ) -> IndexSet<RecordPlace, FxBuildHasher> {
        let mut seen = Visited::begin();
        let mut tasks: Vec<Task> = roots.into_iter().map(Task::Visit).collect();
        tasks.reverse();
        while let Some(task) = tasks.pop() {
            match task {
                Task::Note(n) => {
                    self.places.insert(RecordPlace::of(g, n));
                }
                Task::Close(before) => {
                    for (var, array) in before {
                        self.set(var, array);
                    }
                }
                Task::Visit(n) => match *g.op(n) {
                    Op::Var(var, _) => tasks.extend(self.arrays.get(&var).copied().map(Task::Visit)),
                    _ if seen.insert(n.0) => {
                        let first = tasks.len();
                        self.parts(g, n, &mut tasks);
                        tasks[first..].reverse();
                    }
                    _ => {}
                },
            }
        }
        self.places
    }

    fn set(&mut self, var: Var, array: Option<NodeId>) -> Option<NodeId> {
        match array {
            Some(array) => self.arrays.insert(var, array),
            None => self.arrays.remove(&var),
        }
    }

    /// Adds what computing a node needs, in order.
    fn parts(&mut self, g: &Graph, n: NodeId, tasks: &mut Vec<Task>) {
        let op = g.op(n);
        let note = op.may_record(g).then_some(Task::Note(n));
        match op {
            // the indices come before the element
            Op::At(x, index) | Op::Elem(x, index) => {
                tasks.extend(index.iter().copied().map(Task::Visit));
                tasks.extend(note);
                tasks.push(Task::Visit(*x));
            }
            op => {
                let sources = if let Op::Map(_, sources) = op { &sources[..] } else { &[] };
                if sources.is_empty() {
                    op.for_operands(|o| tasks.push(Task::Visit(o)));
                }
                if let Some(lambda) = op.lambda() {
                    let params = lambda.params.iter().enumerate();
                    let before = params.map(|(i, p)| (p.0, self.set(p.0, sources.get(i).copied()))).collect();
                    tasks.extend([Task::Visit(lambda.body), Task::Close(before)]);
                }
                tasks.extend(sources.iter().copied().map(Task::Visit));
                tasks.extend(note);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::parse;

    #[test]
    fn places_are_in_the_order_in_which_an_element_is_computed() {
        let text = "func @f(%x: [i64], %p: [i64]) -> (r: [i64]) {
  %n = len %x
  %a = map (%e: i64) over %x {
    %d = div 7i64, %e !a.rs:1:1
    yield %d
  }
  %r = generate %n (%i: i64) {
    %q = sub %i, 1i64
    %k = at %p, %q !a.rs:2:1
    %v = at %a, %k !a.rs:3:1
    %w = rem %v, %i !a.rs:4:1
    yield %w
  }
  return %r
}";
        let f = parse::parse(text).unwrap().remove(0);
        let labels = Labels::of(&f.graph, f.results.iter().map(|r| r.value));
        let says = |label| labels.place(label).map(|p| (p.says.clone(), p.loc.as_ref().unwrap().line));
        let found: Vec<_> = (1..=labels.next()).rev().filter_map(says).collect();
        let expected = [(Says::Param(1), 2), (Says::Read, 3), (Says::Division, 1), (Says::Division, 4)]
            .map(|p| p.clone());
        assert_eq!(found, expected);
    }

    #[test]
    fn sets_of_labels() {
        let set = [3, 64, 130].map(LabelSet::one).iter().fold(LabelSet::one(1), |all, one| all.union(one));
        assert_eq!(set.labels().collect::<Vec<_>>(), [130, 64, 3, 1]);
        assert_eq!(set.greatest(), 130);
        assert_eq!(LabelSet::one(64).union(&set), set);
    }
}
