//! Sorts whose order nobody reads by itself: the program needs the sorted elements, and those of other vectors in
//! that order. All of them move with the keys, so that there are no indices, and nothing is gathered.
//!
//! ```text
//! %order = argsort %x
//! %sorted = map (%i) over %order { elem %x, %i }
//! %moved = map (%i) over %order { elem %v, %i }
//!   ->
//! %sorted = iterate @digits 0 by %digits or @merged from (%x, or its keys), %v, %m
//! %moved = iterate @digits 1 by %digits or @merged from (%x, or its keys), %v, %m
//!
//! @merged(%keys, %v, %m): merges runs of %m elements, and gathers %v by the order
//! ```
//!
//! If digits order the vector, %m is at most 1, so that the temporaries of @merged take no memory. Otherwise %digits
//! is 0, and %m the number of all elements.

use crate::core::arithmetic::{binary, with_number};
use crate::core::digits;
use crate::core::equations::Equations;
use crate::core::linear::Linear;
use crate::core::merges::{merge, merges};
use crate::core::records::loses_record;
use crate::core::rewrite::rewrite_from;
use crate::core::simplify::{extent, simplify};
use crate::core::sort_keys::{elements, key, key_type, negation, sorted_type, value};
use crate::core::{Form, Function, Graph, NodeId, Op, Output, Param, Type};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};
use rustc_hash::FxHashMap as HashMap;
use std::sync::Arc;

/// The maximum number of vectors that move with the keys: each has two temporaries.
const MOST_VALUES: usize = 4;

/// Writes the sorts of a function whose order is not needed. Returns `None` if there are none.
pub fn run(f: &Function) -> Option<Function> {
    if !f.needs(|n| matches!(f.graph.op(n), Op::Argsort(_))) {
        return None;
    }
    let sorts = sorts(f);
    if sorts.is_empty() {
        return None;
    }
    let mut whole = f.clone();
    let mut replacements: HashMap<NodeId, NodeId> = HashMap::default();
    let mut steps: HashMap<(Ty, Vec<Ty>), u32> = HashMap::default();
    for sort in &sorts {
        replacements.extend(sort.sorted(&mut whole, &mut steps));
    }
    // what replaces a gather is rebuilt before the gather, because it is computed for a result before others; a sort
    // may sort what an earlier one has sorted
    let count = f.results.len();
    let first = sorts.iter().flat_map(|sort| &sort.gathers);
    let first = first.map(|(gather, _)| Output { name: String::new(), value: replacements[gather] });
    whole.results = first.chain(whole.results.clone()).collect();
    let mut made: HashMap<NodeId, NodeId> = HashMap::default();
    let mut new = rewrite_from(&whole, true, &mut |g, op, old| {
        let known = replacements.get(&old).and_then(|sorted| made.get(sorted));
        let new = known.copied().unwrap_or_else(|| g.add(op));
        made.insert(old, new);
        new
    });
    new.results.drain(..new.results.len() - count);
    Some(new)
}

/// A sort whose order is not needed.
struct Sort {
    /// The sorted vector.
    x: NodeId,
    /// The vectors that move with it.
    values: Vec<NodeId>,
    /// The gathers by its order.
    gathers: Vec<(NodeId, Gathered)>,
}

/// What a gather gathers.
#[derive(Clone, Copy)]
enum Gathered {
    /// The sorted vector itself, or the vector that this operation turns into the sorted one.
    Own(Option<UnaryOp>),
    /// A vector that moves with it.
    Value(usize),
}

/// Returns the sorts of a function whose order is not needed, in the order of the program.
fn sorts(f: &Function) -> Vec<Sort> {
    let g = &f.graph;
    let nodes = g.reachable(f.roots());
    let mut users: HashMap<NodeId, Vec<NodeId>> = HashMap::default();
    for n in &nodes {
        for order in g.op(*n).operands().filter(|o| matches!(g.op(*o), Op::Argsort(_))) {
            users.entry(order).or_default().push(*n);
        }
    }
    let mut lengths = Lengths { g: g.clone(), equations: Equations::of(f) };
    let is_root = |n: NodeId| f.roots().any(|root| root == n);
    let orders = nodes.iter().filter(|n| users.contains_key(n) && g.is_closed(**n) && !is_root(**n));
    orders.filter_map(|order| sort(g, *order, &users[order], &mut lengths)).collect()
}

/// Returns the sort by an order, if all users of the order gather vectors that can move with the keys.
fn sort(g: &Graph, order: NodeId, users: &[NodeId], lengths: &mut Lengths) -> Option<Sort> {
    let Op::Argsort(x) = *g.op(order) else { return None };
    let mut sort = Sort { x, values: Vec::new(), gathers: Vec::new() };
    if g.ty(x).elem == Ty::Bool {
        return None;
    }
    for user in users.iter().filter(|user| !matches!(g.op(**user), Op::Len(..))) {
        let source = gathered(g, *user, order)?;
        let gathered = match negation(g, x, source) {
            _ if source == x => Gathered::Own(None),
            Some(negation) => Gathered::Own(Some(negation)),
            None if is_movable(g, source) && lengths.are_equal(source, x) => {
                let known = sort.values.iter().position(|v| *v == source);
                Gathered::Value(known.unwrap_or_else(|| {
                    sort.values.push(source);
                    sort.values.len() - 1
                }))
            }
            None => return None,
        };
        sort.gathers.push((*user, gathered));
    }
    (!sort.gathers.is_empty() && sort.values.len() <= MOST_VALUES).then_some(sort)
}

/// Returns the vector that a node gathers by an order.
fn gathered(g: &Graph, n: NodeId, order: NodeId) -> Option<NodeId> {
    let Op::Map(lambda, srcs) = g.op(n) else { return None };
    let Op::Elem(source, at) = g.op(lambda.body) else { return None };
    let Op::Var(at, _) = *g.op(*at.first()?) else { return None };
    // the elements of further vectors are not used, but they have as many
    let is_by_order = srcs[0] == order && !srcs[1..].contains(&order) && at == lambda.params[0].0;
    (is_by_order && g.ty(*source).rank == 1).then_some(*source)
}

/// Whether a vector can move with keys: it can be stored before the sort, and none of its elements leaves a record
/// for the place that reads it.
fn is_movable(g: &Graph, source: NodeId) -> bool {
    let ty = g.ty(source).elem;
    let is_quiet = g.is_stored(source) || !loses_record(g, source);
    let is_order = |n: NodeId| matches!(g.op(n), Op::Argsort(_));
    (ty.is_int() || matches!(ty, Ty::F32 | Ty::F64))
        && is_quiet
        && g.is_closed(source)
        && !g.reachable([source]).into_iter().any(is_order)
}

/// Decides which vectors of a function have equal lengths.
struct Lengths {
    g: Graph,
    equations: Equations,
}

impl Lengths {
    fn are_equal(&mut self, a: NodeId, b: NodeId) -> bool {
        let [a, b] = [a, b].map(|v| {
            let length = extent(&mut self.g, v, 0);
            self.equations.resolve(&Linear::of(&self.g, length))
        });
        a == b
    }
}

impl Sort {
    /// Adds the iteration to a function, and returns what replaces each gather. `steps` are the steps that exist, by
    /// the types of keys and values.
    fn sorted(&self, f: &mut Function, steps: &mut HashMap<(Ty, Vec<Ty>), u32>) -> Vec<(NodeId, NodeId)> {
        let (key, types) = {
            let of = |v: &NodeId| f.graph.ty(*v).elem;
            (sorted_type(of(&self.x)), self.values.iter().map(of).collect::<Vec<Ty>>())
        };
        let step = *steps.entry((key, types.clone())).or_insert_with(|| {
            let functions = [digits::step(f, key, &types, &["length"]), merged(f, key, &types)];
            f.steps.extend(functions.map(Arc::new));
            f.steps.len() as u32 - 2
        });
        let g = &mut f.graph;
        let (n, ty) = (g.add(Op::Len(self.x, 0)), g.ty(self.x).elem);
        let (merges, digits) = (merges(g, n), digits::count(g, self.x, key));
        let is_long = digits::are_faster(g, n, digits, merges);
        let [zero, one] = [0, 1].map(|n| g.lit(Lit::i64(n)));
        let few = binary(g, BinaryOp::Min, n, one);
        // keys that are clamped to 0 have no digits; an iteration without steps would call @merged for one element
        let digits = with_number(g, BinaryOp::Max, digits, 1);
        let count = simplify(g, Op::Select(is_long, digits, zero));
        let length = simplify(g, Op::Select(is_long, few, n));
        let mut args = vec![self.keys(g, n)];
        for v in &self.values {
            args.push(if g.is_stored(*v) { *v } else { g.add(Op::Materialize(*v)) });
        }
        args.push(length);
        let state = |g: &mut Graph, which: usize| {
            let (which, form) = (which as u32, Form::Or(step + 1));
            g.add(Op::Iterate { step, which, form, count, args: args.clone() })
        };
        let sorted = self.gathers.iter().map(|(gather, gathered)| {
            let sorted = match *gathered {
                Gathered::Value(which) => state(g, 1 + which),
                Gathered::Own(negation) => {
                    let sorted = state(g, 0);
                    elements(g, sorted, ty, negation)
                }
            };
            (*gather, sorted)
        });
        sorted.collect()
    }

    /// Returns the vector that is sorted, or its keys, as a stored array.
    fn keys(&self, g: &mut Graph, n: NodeId) -> NodeId {
        let ty = g.ty(self.x).elem;
        if sorted_type(ty) == ty {
            return if g.is_stored(self.x) { self.x } else { g.add(Op::Materialize(self.x)) };
        }
        let lambda = g.lambda(&[Ty::I64], |g, i| {
            let x = g.add(Op::Elem(self.x, vec![i[0]]));
            key(g, x, ty)
        });
        let keys = g.add(Op::Generate(vec![n], lambda));
        g.add(Op::Materialize(keys))
    }
}

/// Returns the function that sorts a vector, and values of these types with it, by merging runs.
fn merged(f: &Function, ty: Ty, values: &[Ty]) -> Function {
    let mut params = vec![Param { name: "keys".into(), ty: Type::vector(ty) }];
    params.extend(digits::values(values));
    params.push(Param { name: "length".into(), ty: Type::scalar(Ty::I64) });
    let mut merged = Function::new(&format!("{}__merged{}_{ty}", f.name, f.steps.len()), params);
    merged.loc.clone_from(&f.loc);
    merged.steps = vec![Arc::new(merge(f, key_type(ty)))];
    let g = &mut merged.graph;
    let (keys, length) = (NodeId(0), NodeId(1 + values.len() as u32));
    let run = |g: &mut Graph, element: &dyn Fn(&mut Graph, NodeId) -> NodeId| {
        let lambda = g.lambda(&[Ty::I64], |g, i| element(g, i[0]));
        let run = g.add(Op::Generate(vec![length], lambda));
        g.add(Op::Materialize(run))
    };
    let keys_of_run = run(g, &|g, i| {
        let own = g.add(Op::Elem(keys, vec![i]));
        key(g, own, ty)
    });
    let args = vec![keys_of_run, run(g, &|_, i| i)];
    let count = merges(g, length);
    let states = [0, 1].map(|which| {
        let args = args.clone();
        g.add(Op::Iterate { step: 0, which, form: Form::Last, count, args })
    });
    let last = with_number(g, BinaryOp::Sub, length, 1);
    for (which, own) in (0..).zip([ty].iter().chain(values)) {
        let array = NodeId(which);
        let n = extent(g, array, 0);
        let lambda = g.lambda(&[Ty::I64], |g, i| {
            let i = binary(g, BinaryOp::Min, i[0], last);
            let [key, source] = states.map(|state| g.add(Op::Elem(state, vec![i])));
            if which == 0 { value(g, key, ty) } else { g.add(Op::Elem(array, vec![source])) }
        });
        debug_assert_eq!(g.ty(lambda.body).elem, *own);
        let value = g.add(Op::Generate(vec![n], lambda));
        merged.results.push(Output { name: format!("sorted{which}"), value });
    }
    merged
}
