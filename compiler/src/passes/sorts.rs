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
//! Orders whose elements only gather have no order any more (`passes/sorted_values.rs`).
//!
//! This is not in the list of passes: steps of iterations are compiled before the functions that have them, so their
//! functions are made before the first pass.

use crate::core::arithmetic::{binary, with_number};
use crate::core::digits;
use crate::core::merges::{merge, merges};
use crate::core::order_of_bits::{order_of_bits, to_store};
use crate::core::rewrite::rewrite_from;
use crate::core::simplify::simplify;
use crate::core::sort_keys::{elements, key, key_type, negation, sorted_type, value};
use crate::core::{Form, Function, Graph, NodeId, Op};
use crate::scalar::{BinaryOp, Lit, Ty};
use std::sync::Arc;

/// Writes the orders of a function, but not those of the steps of its iterations.
pub fn run(f: &Function) -> Option<Function> {
    let is_order = |f: &Function, n| matches!(f.graph.op(n), Op::Argsort(_));
    if !f.needs(|n| is_order(f, n)) {
        return None;
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

/// The order of a vector.
#[derive(Clone, Copy)]
struct Order {
    x: NodeId,
    /// The indices of the elements in ascending order, and the elements.
    indices: NodeId,
    sorted: NodeId,
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
        // digits are those of elements, if these can be moved in place of their keys
        let [moved, merged] = [sorted_type(ty), key_type(ty)];
        let mut iterate = |by_digits: bool, count: NodeId| {
            let of = |g: &mut Graph, all: NodeId, none: NodeId| {
                let (long, short) = if by_digits { (all, none) } else { (none, all) };
                simplify(g, Op::Select(is_long, long, short))
            };
            let (length, count) = (of(g, n, few), of(g, count, zero));
            let own = if by_digits { moved } else { merged };
            let lambda = g.lambda(&[Ty::I64], |g, i| {
                let x = g.add(Op::Elem(x, vec![i[0]]));
                if own == ty { x } else { key(g, x, ty) }
            });
            let keys = g.add(Op::Generate(vec![length], lambda));
            let index = if by_digits { digits::INDEX } else { Ty::I64 };
            let lambda = g.lambda(&[Ty::I64], |g, i| simplify(g, Op::Cast(index, i[0])));
            let indices = g.add(Op::Generate(vec![length], lambda));
            let args = [keys, indices].map(|x| g.add(Op::Materialize(x))).to_vec();
            let step = steps.number(own, by_digits);
            let state = |which| Op::Iterate { step, which, form: Form::Last, count, args: args.clone() };
            (own, length, [0, 1].map(|which| g.add(state(which))))
        };
        let both = [iterate(true, digits), iterate(false, merges)];
        let mut chosen = |which: usize| {
            let lambda = g.lambda(&[Ty::I64], |g, i| {
                let [long, short] = both.map(|(of, length, states)| {
                    let last = with_number(g, BinaryOp::Sub, length, 1);
                    let i = binary(g, BinaryOp::Min, i[0], last);
                    let own = g.add(Op::Elem(states[which], vec![i]));
                    match which {
                        0 if of == ty => own,
                        0 => value(g, own, ty),
                        _ => simplify(g, Op::Cast(Ty::I64, own)),
                    }
                });
                simplify(g, Op::Select(is_long, long, short))
            });
            g.add(Op::Generate(vec![n], lambda))
        };
        Order { x, sorted: chosen(0), indices: chosen(1) }
    }

    /// Returns the simpler form of an operation that gathers elements by the order: `x[order[i]]`, where x is the
    /// ordered vector or its negation. These are the sorted elements, so nothing is gathered.
    fn sorted(&self, g: &mut Graph, op: &Op) -> Option<NodeId> {
        let Op::Map(lambda, srcs) = op else { return None };
        let Op::Elem(x, at) = g.op(lambda.body) else { return None };
        let Op::Var(at, _) = *g.op(*at.first()?) else { return None };
        let (x, ty) = (*x, g.ty(self.x).elem);
        let is_own = srcs.first() == Some(&self.indices) && at == lambda.params[0].0;
        let negation = if x == self.x { None } else { Some(negation(g, self.x, x)?) };
        is_own.then(|| elements(g, self.sorted, ty, negation))
    }
}
