//! The labels of the places that nodes need, in the order in which an element is computed.

use super::graph::marks::Visited;
use super::labels::{Labels, RecordPlace, Says};
use super::records::{WORDS_OF_READ, words_of};
use super::{Graph, NodeId, Op, Var};
use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap as HashMap};

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

impl Labels {
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
}

/// A walk through what nodes need, in the order in which an element is computed.
#[derive(Default)]
struct InOrder {
    places: IndexSet<RecordPlace, FxBuildHasher>,
    /// For the variables of each open function, the array whose elements they are.
    arrays: HashMap<Var, NodeId>,
}

/// A task of a walk.
enum Task {
    Visit(NodeId),
    /// Notes the place of an operation.
    Note(NodeId),
    /// Restores the arrays that variables had before.
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

    /// Adds the tasks of what computing a node needs, in order.
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
}
