//! The step that merges pairs of runs of a vector that is being sorted.
//!
//! A step is a merge path: element i of a merged pair is found by itself, by a binary search for the number of
//! elements of the first run among the i elements that come before it in the merged run. The rest of these i elements
//! is of the second run, so this number says which two elements compete for place i. The same search for every 64th i
//! comes first and bounds the searches in between.
//!
//! ```text
//! runs 1 4 6 and 2 3 9, i = 3: before it come 1 2 3, one of the first run and two of the second, so 4 and 9 compete
//! ```
//!
//! An element of a step reads only elements of the step before, so that its launch needs neither shared counters nor
//! an order of its blocks. The keys are moved together with the indices, so that a search reads neighbouring keys.

use super::arithmetic::{binary, binary_digits, with_number};
use super::simplify::simplify;
use super::{Function, Graph, NodeId, Op, Output, Param, Type};
use crate::scalar::{BinaryOp, Lit, Ty};

/// The number of neighbouring results of a step that share the bounds of their searches.
const BLOCK: i64 = 64;

/// Returns the number of steps after which one run is left: the number of binary digits of the last index.
pub fn merges(g: &mut Graph, n: NodeId) -> NodeId {
    let last = with_number(g, BinaryOp::Sub, n, 1);
    binary_digits(g, last)
}

/// Returns the step that merges pairs of runs.
pub fn merge(f: &Function, key: Ty) -> Function {
    let param = |name: &str, ty| Param { name: name.into(), ty: Type::vector(ty) };
    let name = format!("{}__merge_{key}", f.name);
    let mut step = Function::new(&name, vec![param("keys", key), param("order", Ty::I64)]);
    step.loc.clone_from(&f.loc);
    step.is_step = true;
    let g = &mut step.graph;
    let [keys, order] = [0, 1].map(NodeId);
    // made once, before the elements of both results: equal nodes make them share one search
    let runs = Runs::of(g, keys);
    let bounds = runs.bounds(g);
    let mut moved = |array: NodeId| {
        let lambda = g.lambda(&[Ty::I64], |g, i| {
            let from = Pair::of(g, &runs, i[0]).source(g, bounds);
            g.add(Op::Elem(array, vec![from]))
        });
        g.add(Op::Generate(vec![runs.n], lambda))
    };
    let next =
        [("keys", keys), ("order", order)].map(|(name, x)| Output { name: name.into(), value: moved(x) });
    step.results = next.into();
    step
}

/// What all elements of a step need.
struct Runs {
    keys: NodeId,
    n: NodeId,
    /// The number of elements of a run, and of a pair of runs.
    length: NodeId,
    both: NodeId,
    /// `both` - 1: an index and this mask give the place in the pair of runs.
    mask: NodeId,
    /// The index of the vector's last element.
    last: NodeId,
    /// An upper bound of the steps of a search.
    steps: NodeId,
}

impl Runs {
    fn of(g: &mut Graph, keys: NodeId) -> Runs {
        let n = g.add(Op::Len(keys, 0));
        let turn = g.add(Op::Turn);
        let [length, both] = [1, 2].map(|runs| {
            let runs = g.lit(Lit::i64(runs));
            binary(g, BinaryOp::Shl, runs, turn)
        });
        let mask = with_number(g, BinaryOp::Sub, both, 1);
        let last = with_number(g, BinaryOp::Sub, n, 1);
        let steps = with_number(g, BinaryOp::Add, turn, 1);
        Runs { keys, n, length, both, mask, last, steps }
    }

    /// Returns the array of the results of [`Pair::search`] for the first element of each block, and for the end of
    /// the last block. They ascend within a pair of runs, so those of a block and of the next one bound the searches
    /// of the block's elements.
    fn bounds(&self, g: &mut Graph) -> NodeId {
        let count = with_number(g, BinaryOp::Add, self.n, 2 * BLOCK - 1);
        let count = with_number(g, BinaryOp::Div, count, BLOCK);
        let lambda = g.lambda(&[Ty::I64], |g, block| {
            let i = with_number(g, BinaryOp::Mul, block[0], BLOCK);
            let pair = Pair::of(g, self, i);
            let (least, most) = pair.range(g);
            pair.search(g, (least, most))
        });
        let bounds = g.add(Op::Generate(vec![count], lambda));
        g.add(Op::Materialize(bounds))
    }
}

/// The pair of runs to which result `i` belongs. The first run is `first .. second`, the second one `second .. end`.
struct Pair<'r> {
    runs: &'r Runs,
    i: NodeId,
    first: NodeId,
    second: NodeId,
    end: NodeId,
}

impl Pair<'_> {
    fn of<'r>(g: &mut Graph, runs: &'r Runs, i: NodeId) -> Pair<'r> {
        use BinaryOp::{Add, And, Min, Sub};
        let place = binary(g, And, i, runs.mask);
        let first = binary(g, Sub, i, place);
        let [second, end] = [runs.length, runs.both].map(|size| {
            let end = binary(g, Add, first, size);
            binary(g, Min, end, runs.n)
        });
        Pair { runs, i, first, second, end }
    }

    /// Returns the index of the element that becomes result `i` when the runs are merged.
    ///
    /// If [`Pair::search`] gives `a`, the elements `first .. a` come before result `i`. With them come as many
    /// elements of the second run as are missing to i - first, so the next one of that run is `b` = `i + second - a`.
    /// Result `i` is the lesser one of `a` and `b`, or the one that exists.
    fn source(&self, g: &mut Graph, bounds: NodeId) -> NodeId {
        use BinaryOp::{Add, And, Ge, Lt, Max, Min, Or, Sub};
        let (least, most) = self.range(g);
        let block = with_number(g, BinaryOp::Div, self.i, BLOCK);
        let next = with_number(g, Add, block, 1);
        let [from, to] = [block, next].map(|block| g.add(Op::Elem(bounds, vec![block])));
        let (least, most) = (binary(g, Max, least, from), binary(g, Min, most, to));
        let a = self.search(g, (least, most));
        let both = binary(g, Add, self.i, self.second);
        let b = binary(g, Sub, both, a);
        let is_before = self.is_before(g, a, b);
        let [has_a, no_b] = [binary(g, Lt, a, self.second), binary(g, Ge, b, self.end)];
        let comes = binary(g, Or, no_b, is_before);
        let takes = binary(g, And, has_a, comes);
        let from = simplify(g, Op::Select(takes, a, b));
        binary(g, Min, from, self.runs.last)
    }

    /// Returns the least and the greatest possible result of [`Pair::search`]: all earlier results may be of the
    /// second run, as far as that has elements, or all may be of the first run.
    fn range(&self, g: &mut Graph) -> (NodeId, NodeId) {
        use BinaryOp::{Max, Min, Sub};
        let length = binary(g, Sub, self.end, self.second);
        let least = binary(g, Sub, self.i, length);
        (binary(g, Max, self.first, least), binary(g, Min, self.i, self.second))
    }

    /// Returns the first index of the first run whose element does not come before result `i`, by a binary search in
    /// `least .. most`. An element `a` comes before result `i` if it is not greater than the element `i + second - 1
    /// - a` of the second run, which would otherwise be among the earlier results.
    ///
    /// The loop adds no value that depends on the element to one that depends on the loop's step. The operands of a
    /// sum are ordered by the numbers of their nodes, so keys and indices might get sums in different orders, and
    /// would then not share the search.
    fn search(&self, g: &mut Graph, (least, most): (NodeId, NodeId)) -> NodeId {
        use BinaryOp::{Add, Lt, Shr, Sub};
        let both = binary(g, Add, self.i, self.second);
        let last = with_number(g, Sub, both, 1);
        let step = g.lambda(&[Ty::I64; 3], |g, v| {
            let (low, high) = (v[1], v[2]);
            let is_open = binary(g, Lt, low, high);
            let sum = binary(g, Add, low, high);
            let a = with_number(g, Shr, sum, 1);
            let b = binary(g, Sub, last, a);
            let is_before = self.is_before(g, a, b);
            let above = with_number(g, Add, a, 1);
            let low = simplify(g, Op::Select(is_before, above, low));
            let high = simplify(g, Op::Select(is_before, high, a));
            g.add(Op::Tuple(vec![is_open, low, high]))
        });
        g.add(Op::Loop { step, which: 0, count: self.runs.steps, init: vec![least, most] })
    }

    /// Whether element `a` of the first run comes before element `b` of the second one: equal elements keep their
    /// order. Both indices are clamped to the vector, because the answer is not needed where one of them is past its
    /// end.
    fn is_before(&self, g: &mut Graph, a: NodeId, b: NodeId) -> NodeId {
        let [a, b] = [a, b].map(|i| {
            let inside = binary(g, BinaryOp::Min, i, self.runs.last);
            g.add(Op::Elem(self.runs.keys, vec![inside]))
        });
        binary(g, BinaryOp::Le, a, b)
    }
}
