//! Writes orders of vectors (semantics 5.19) as iterations that merge runs, whose length doubles in each step. Long
//! vectors are ordered by iterations over the digits of keys ([`crate::core::digits`]), truth values by one scan.
//!
//! ```text
//! %order = argsort %x
//!   ->
//! %keys = materialize (map %x to integers of the same order)
//! %order = iterate @merge 1 by (the steps after which one run is left) from %keys, (0, 1, .. n - 1)
//!
//! step @merge(%keys, %order) -> (next keys, next order): merges each pair of runs of 2^turn elements
//! ```
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
//!
//! If nobody reads the order itself, what is read in that order moves with the keys (`passes/sorts/values.rs`).
//!
//! This is not in the list of passes: steps of iterations are compiled before the functions that have them, so their
//! functions are made before the first pass.

mod values;

use crate::core::arithmetic::{binary, binary_digits, with_number};
use crate::core::digits;
use crate::core::order_of_bits::{order_of_bits, to_store};
use crate::core::rewrite::rewrite_from;
use crate::core::simplify::simplify;
use crate::core::{Form, Function, Graph, NodeId, Op, Output, Param, Type};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};
use std::sync::Arc;

/// The number of neighbouring results of a step that share the bounds of their searches.
const BLOCK: i64 = 64;

/// Writes the orders of a function, but not those of the steps of its iterations.
pub fn run(f: &Function) -> Option<Function> {
    let is_order = |f: &Function, n| matches!(f.graph.op(n), Op::Argsort(_));
    if !f.needs(|n| is_order(f, n)) {
        return None;
    }
    let moved = values::run(f);
    let f = moved.as_ref().unwrap_or(f);
    if !f.needs(|n| is_order(f, n)) {
        return moved;
    }
    let mut steps = Steps { f, made: Vec::new() };
    let mut orders: Vec<Order> = Vec::new();
    let stored = to_store(f);
    let mut new = rewrite_from(f, true, &mut |g, op, old| match op {
        op if stored.contains(&old) && !matches!(op, Op::Argsort(_)) && !f.graph.is_stored(old) => {
            let computed = g.add(op);
            g.add(Op::Materialize(computed))
        }
        Op::Argsort(x) if g.ty(x).elem == Ty::Bool => order_of_bits(g, x),
        Op::Argsort(x) => {
            let order = Order::of(g, x, &mut steps);
            orders.push(order);
            order.indices
        }
        op => match orders.iter().find_map(|order| order.sorted(g, &op)) {
            Some(sorted) => sorted,
            None => g.add(op),
        },
    });
    new.steps.extend(steps.made.into_iter().map(|(.., step)| Arc::new(step)));
    Some(new)
}

/// The steps that orders need, one for each type of keys, by merges and by digits.
struct Steps<'f> {
    f: &'f Function,
    made: Vec<(Ty, bool, Function)>,
}

impl Steps<'_> {
    /// Returns the number of a step among those of the function.
    fn number(&mut self, key: Ty, by_digits: bool) -> u32 {
        let known = self.made.iter().position(|(ty, digits, _)| (*ty, *digits) == (key, by_digits));
        let own = known.unwrap_or_else(|| {
            let step = match by_digits {
                true => digits::step(self.f, key, &[digits::INDEX], &[]),
                false => merge(self.f, key),
            };
            self.made.push((key, by_digits, step));
            self.made.len() - 1
        });
        (self.f.steps.len() + own) as u32
    }
}

/// Returns the type of the integers that stand for elements of a type.
fn key_type(ty: Ty) -> Ty {
    match ty {
        Ty::F64 => Ty::I64,
        ty if ty.is_float() => Ty::I32,
        ty => ty,
    }
}

/// The order of a vector.
#[derive(Clone, Copy)]
struct Order {
    x: NodeId,
    /// The indices of the elements, and the integers that stand for them, in ascending order.
    indices: NodeId,
    keys: NodeId,
}

impl Order {
    /// Orders a vector's elements by a radix sort if there are enough elements, and else by merges. The program has
    /// both iterations; which one works is known at the call, and the other one gets a vector of one element and no
    /// steps.
    ///
    /// The radix sort moves indices as u32, because twice as many then fit into a tile's shared memory.
    fn of(g: &mut Graph, x: NodeId, steps: &mut Steps) -> Order {
        let ty = g.ty(x).elem;
        let n = g.add(Op::Len(x, 0));
        let (merges, digits) = (merges(g, n), digits::count(g, x, key_type(ty)));
        let is_long = digits::are_faster(g, n, digits, merges);
        let [zero, one] = [0, 1].map(|n| g.lit(Lit::i64(n)));
        let few = binary(g, BinaryOp::Min, n, one);
        let mut iterate = |by_digits: bool, count: NodeId| {
            let of = |g: &mut Graph, all: NodeId, none: NodeId| {
                let (long, short) = if by_digits { (all, none) } else { (none, all) };
                simplify(g, Op::Select(is_long, long, short))
            };
            let (length, count) = (of(g, n, few), of(g, count, zero));
            let lambda = g.lambda(&[Ty::I64], |g, i| {
                let x = g.add(Op::Elem(x, vec![i[0]]));
                key(g, x, ty)
            });
            let keys = g.add(Op::Generate(vec![length], lambda));
            let index = if by_digits { digits::INDEX } else { Ty::I64 };
            let lambda = g.lambda(&[Ty::I64], |g, i| simplify(g, Op::Cast(index, i[0])));
            let indices = g.add(Op::Generate(vec![length], lambda));
            let args = [keys, indices].map(|x| g.add(Op::Materialize(x))).to_vec();
            let step = steps.number(key_type(ty), by_digits);
            let state = |which| Op::Iterate { step, which, form: Form::Last, count, args: args.clone() };
            (length, [0, 1].map(|which| g.add(state(which))))
        };
        let both = [iterate(true, digits), iterate(false, merges)];
        let mut chosen = |which: usize, ty: Ty| {
            let lambda = g.lambda(&[Ty::I64], |g, i| {
                let [long, short] = both.map(|(length, states)| {
                    let last = with_number(g, BinaryOp::Sub, length, 1);
                    let i = binary(g, BinaryOp::Min, i[0], last);
                    let own = g.add(Op::Elem(states[which], vec![i]));
                    simplify(g, Op::Cast(ty, own))
                });
                simplify(g, Op::Select(is_long, long, short))
            });
            g.add(Op::Generate(vec![n], lambda))
        };
        Order { x, keys: chosen(0, key_type(ty)), indices: chosen(1, Ty::I64) }
    }

    /// Returns the simpler form of an operation that gathers elements by the order: `x[order[i]]`, where x is the
    /// ordered vector or its negation. The sorted keys are turned back into elements, so nothing is gathered.
    fn sorted(&self, g: &mut Graph, op: &Op) -> Option<NodeId> {
        let Op::Map(lambda, srcs) = op else { return None };
        let Op::Elem(x, at) = g.op(lambda.body) else { return None };
        let Op::Var(at, _) = *g.op(*at.first()?) else { return None };
        let (x, ty) = (*x, g.ty(self.x).elem);
        let is_own = srcs.first() == Some(&self.indices) && at == lambda.params[0].0;
        let negation = if x == self.x { None } else { Some(Order::negation(g, self.x, x)?) };
        is_own.then(|| values::elements(g, self.keys, ty, negation))
    }

    /// If the ordered vector is the negation of `other`, returns the operation. It is its own inverse, so it also
    /// turns ordered elements into elements of `other`.
    fn negation(g: &Graph, ordered: NodeId, other: NodeId) -> Option<UnaryOp> {
        let Op::Map(lambda, srcs) = g.op(ordered) else { return None };
        let Op::Unary(op @ (UnaryOp::Neg | UnaryOp::Not), own) = *g.op(lambda.body) else { return None };
        let Op::Var(own, _) = *g.op(own) else { return None };
        let fits = g.ty(other).elem.is_float() == (op == UnaryOp::Neg);
        (fits && srcs[..] == [other] && own == lambda.params[0].0).then_some(op)
    }
}

/// Returns the number of steps after which one run is left: the number of binary digits of the last index.
fn merges(g: &mut Graph, n: NodeId) -> NodeId {
    let last = with_number(g, BinaryOp::Sub, n, 1);
    binary_digits(g, last)
}

/// Returns the key of a value: an integer, so that keys are ordered as values are. For a float it is made of its bits
/// as a signed integer; for negative floats all bits but the sign are inverted, because among these a greater
/// magnitude is less. A NaN has the greatest key.
fn key(g: &mut Graph, x: NodeId, ty: Ty) -> NodeId {
    let to = key_type(ty);
    if !ty.is_float() {
        return simplify(g, Op::Cast(to, x));
    }
    let wide = if to == Ty::I64 { Ty::F64 } else { Ty::F32 };
    let x = simplify(g, Op::Cast(wide, x));
    let bits = g.add(Op::Unary(UnaryOp::ToBits, x));
    let bits = g.add(Op::Cast(to, bits));
    let number = |g: &mut Graph, n: i64| g.lit(Lit { ty: to, bits: Lit::from_word(to, n as u64).bits });
    let zero = number(g, 0);
    let greatest = g.lit(Lit::greatest(to));
    let is_below = g.add(Op::Binary(BinaryOp::Lt, bits, zero));
    let reversed = g.add(Op::Binary(BinaryOp::Xor, bits, greatest));
    let ordered = g.add(Op::Select(is_below, reversed, bits));
    let is_number = g.add(Op::Binary(BinaryOp::Eq, x, x));
    g.add(Op::Select(is_number, ordered, greatest))
}

/// Returns the value of a key, the inverse of [`key`]. The key of NaNs gives one of them, which no result can tell
/// from another one (semantics 2.4).
fn value(g: &mut Graph, key: NodeId, ty: Ty) -> NodeId {
    let of = key_type(ty);
    if !ty.is_float() {
        return key;
    }
    let word = if of == Ty::I64 { Ty::U64 } else { Ty::U32 };
    let zero = g.lit(Lit::zero(of));
    let greatest = g.lit(Lit::greatest(of));
    let is_below = g.add(Op::Binary(BinaryOp::Lt, key, zero));
    let reversed = g.add(Op::Binary(BinaryOp::Xor, key, greatest));
    let bits = g.add(Op::Select(is_below, reversed, key));
    let bits = g.add(Op::Cast(word, bits));
    let value = g.add(Op::Unary(UnaryOp::FromBits, bits));
    simplify(g, Op::Cast(ty, value))
}

/// Returns the step that merges pairs of runs.
fn merge(f: &Function, key: Ty) -> Function {
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
