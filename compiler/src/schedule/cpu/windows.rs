//! Joins of a window of neighbours, such as the sum of 3 x 3 elements, in rows of a CPU. Neighbouring windows share
//! whole columns, so a first loop joins each column of a piece of the row once and stores the result, and a second
//! loop joins the columns of each window.
//!
//! ```text
//! for j { a[j - 1] + b[j - 1] + c[j - 1] + a[j] + .. }    ->    for j { s[j] = a[j] + b[j] + c[j] }
//!                                                               for j { s[j - 1] + s[j] + s[j + 1] }
//! ```
//!
//! The order of operands changes no bit: integers wrap, and minima, maxima and operators on bits give the same in any
//! order. Sums of floats keep the program's order.

use super::boundary::Part;
use crate::core::graph::replace::{Found, replaced_by};
use crate::core::linear::Linear;
use crate::core::{Graph, NodeId, Op, Var};
use crate::error::Result;
use crate::kernel::{Expr, Mem, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::element::lower::{LaunchContext, Lower, bind};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::collections::BTreeMap;

/// The number of elements of a piece of a row. The joins of its columns stay in the first-level cache.
const PIECE: i64 = 1024;
/// The maximum distance between neighbours of a window.
const MAX_DISTANCE: i64 = 64;
/// The maximum number of windows of an element, and of nodes of a term.
const MAX_WINDOWS: usize = 4;
const MAX_NODES: usize = 64;
/// The minimum number of terms of a window for which there is anything to save: two terms of each of four neighbours.
const MIN_TERMS: usize = 8;

/// A join of the same value of several neighbours.
struct Window {
    /// The value of an element that is joined.
    value: NodeId,
    /// The neighbours' distances, each with the variable that stands for the neighbour's value.
    neighbours: Vec<(i64, NodeId)>,
}

/// The windows of a row's elements.
pub(super) struct Windows {
    list: Vec<Window>,
    /// The elements, which join values of neighbours.
    roots: Vec<NodeId>,
}

/// Values of neighbours of a piece of a row.
pub(super) struct Stored {
    /// For each variable the local array, and the place in it of the first element's neighbour.
    values: Vec<(NodeId, Mem, i64)>,
    /// The index of the first element.
    from: Expr,
}

impl Stored {
    /// Returns the values of the neighbours of element `j`.
    pub fn of(&self, l: &mut Lower, j: &Expr, out: &mut Vec<Stmt>) -> Vec<(NodeId, Expr)> {
        let at = j.clone().minus(self.from.clone());
        let value = |(n, m, offset): &(NodeId, Mem, i64)| {
            (*n, bind(l, "neighbour", Expr::load(*m, at.clone().plus(Expr::int(*offset))), out))
        };
        self.values.iter().map(value).collect()
    }
}

/// Emits the elements of a piece of a row, given the values of neighbours.
type Elements<'a> = dyn FnMut(&mut Lower, &Part, &Stored) -> Result<Vec<Stmt>> + 'a;

impl Windows {
    /// Returns the windows of the elements `roots`, whose index in the row is `own`, if there are any.
    pub fn of(l: &mut LaunchContext, roots: &[NodeId], own: NodeId) -> Option<Windows> {
        let Op::Var(var, _) = *l.g.op(own) else { return None };
        let nodes = l.g.reachable(roots.iter().copied());
        let inner = inner(&l.g, &nodes, roots);
        let outside = outside_of_lambdas(&l.g, roots);
        let (mut list, mut joined) = (Vec::new(), HashMap::default());
        for n in nodes.into_iter().filter(|n| !inner.contains(n) && outside.contains(n)) {
            if list.len() < MAX_WINDOWS
                && let Some(op) = operator(&l.g, n)
                && let Some(window) = Window::of(l, &terms(&l.g, n, &inner), (own, var), op)
            {
                let mut values = window.neighbours.iter().map(|(_, n)| *n);
                let first = values.next()?;
                let join = values.fold(first, |a, b| l.g.add(Op::Binary(op, a, b)));
                joined.insert(n, join);
                list.push(window);
            }
        }
        if list.is_empty() {
            return None;
        }
        let mut memo = HashMap::default();
        let find = &mut |g: &mut Graph, n| Found::of(g, n, joined.get(&n).copied());
        let mut rebuilt = |n: &NodeId| replaced_by(&mut l.g, *n, find, &mut |g, op| g.add(op), &mut memo);
        let roots = roots.iter().map(&mut rebuilt).collect();
        Some(Windows { list, roots })
    }

    /// Emits a part of a row in pieces. `known` are the values that are known of the row.
    pub fn pieces(
        &self,
        l: &mut Lower,
        (part, own): (&Part, NodeId),
        known: &[(NodeId, Expr)],
        elements: &mut Elements,
    ) -> Result<Vec<Stmt>> {
        let (begin, end) = part.range().expect("a part of several elements");
        let from = l.k.reg("from", Ty::I64);
        let (mut out, mut body) = (Vec::new(), Vec::new());
        let to = Expr::Reg(from).plus(Expr::int(PIECE)).min(end.clone());
        let to = bind(l, "to", to, &mut body);
        let mut stored = Stored { values: Vec::new(), from: Expr::Reg(from) };
        for w in &self.list {
            let (lowest, span) = w.span();
            let ty = l.launch.g.ty(w.value).elem;
            let mem = l.k.local("values", ty, (PIECE + span) as u32, &mut out);
            let (q, mut inside) = (l.k.reg("q", Ty::I64), Vec::new());
            let j = Expr::Reg(from).plus(Expr::int(lowest)).plus(Expr::Reg(q));
            let j = bind(l, "j", j, &mut inside);
            let vars: Vec<(NodeId, Expr)> = known.iter().cloned().chain([(own, j.clone())]).collect();
            let value = l.region(&vars, &[w.value], &j, &mut inside)?.remove(0);
            inside.push(Stmt::Store(mem, Expr::Reg(q), value));
            let count = to.clone().minus(Expr::Reg(from)).plus(Expr::int(span));
            body.push(Stmt::For(q, Expr::int(0), count, inside));
            stored.values.extend(w.neighbours.iter().map(|(d, n)| (*n, mem, d - lowest)));
        }
        let piece = part.piece((Expr::Reg(from), to.clone()), &self.roots);
        body.append(&mut elements(l, &piece, &stored)?);
        body.push(Stmt::Assign(from, to));
        out.push(Stmt::Var(from, begin.clone()));
        out.push(Stmt::While(Expr::binary(BinaryOp::Lt, Expr::Reg(from), end.clone()), body));
        Ok(out)
    }
}

impl Window {
    /// Returns the window that joins `terms`, if they are the same at each distance along the row, and if joining by
    /// columns takes fewer operations.
    fn of(l: &mut LaunchContext, terms: &[NodeId], own: (NodeId, Var), op: BinaryOp) -> Option<Window> {
        // cost without columns: a load and a join for each term. With columns: these for the terms of one column, a
        // store, and a load and a join for each column
        let pays = |each: usize, count: usize| each * count > each + count + 1;
        if terms.len() < MIN_TERMS {
            return None;
        }
        let mut of_distance: BTreeMap<i64, Vec<NodeId>> = BTreeMap::new();
        for n in terms {
            let (distance, value) = without_distance(l, *n, own)?;
            of_distance.entry(distance).or_default().push(value);
        }
        of_distance.values_mut().for_each(|values| values.sort_unstable());
        let (lowest, values) = of_distance.first_key_value()?;
        let (each, count) = (values.len(), of_distance.len());
        let is_near = of_distance.last_key_value()?.0 - lowest <= MAX_DISTANCE;
        if !is_near || !pays(each, count) || of_distance.values().any(|of| of != values) {
            return None;
        }
        let join = |a, b| l.g.add(Op::Binary(op, a, b));
        let value = values.iter().copied().reduce(join)?;
        let ty = l.g.ty(value).elem;
        let neighbours = of_distance.keys().map(|d| (*d, l.g.fresh_var(ty).1)).collect();
        Some(Window { value, neighbours })
    }

    /// Returns the minimum distance of a neighbour, and the greatest difference of the others from it.
    fn span(&self) -> (i64, i64) {
        let distances = || self.neighbours.iter().map(|(d, _)| *d);
        let lowest = distances().min().unwrap_or(0);
        (lowest, distances().max().unwrap_or(0) - lowest)
    }
}

/// Returns the operator of a node whose operands may be joined in any order.
fn operator(g: &Graph, n: NodeId) -> Option<BinaryOp> {
    use BinaryOp::{Add, And, Max, Min, Or, Xor};
    let (Op::Binary(op, ..), ty) = (g.op(n), g.ty(n).elem) else { return None };
    let is_free = match op {
        Add | And | Or | Xor => ty.is_int(),
        Min | Max => ty.is_int() || ty.is_float() && !ty.is_half(),
        _ => false,
    };
    is_free.then_some(*op)
}

/// Returns the nodes that are computed once for an element. Nodes of a loop's body are not: they may depend on its
/// step, and the loop may have no steps.
fn outside_of_lambdas(g: &Graph, roots: &[NodeId]) -> HashSet<NodeId> {
    let (mut found, mut stack) = (HashSet::default(), roots.to_vec());
    while let Some(n) = stack.pop() {
        if found.insert(n) {
            stack.extend(g.op(n).operands());
        }
    }
    found
}

/// Returns the nodes that only one other node needs, which has the same operator.
fn inner(g: &Graph, nodes: &[NodeId], roots: &[NodeId]) -> HashSet<NodeId> {
    let mut users: HashMap<NodeId, u32> = HashMap::default();
    let mut of_joins = Vec::new();
    for n in nodes {
        let own = operator(g, *n);
        for o in g.op(*n).operands().chain(g.op(*n).lambda().map(|l| l.body)) {
            *users.entry(o).or_default() += 1;
            if own.is_some() && operator(g, o) == own && !g.node(o).bound {
                of_joins.push(o);
            }
        }
    }
    roots.iter().for_each(|n| *users.entry(*n).or_default() += 1);
    of_joins.into_iter().filter(|n| users[n] == 1).collect()
}

/// Returns the terms of nested joins by one operator: a, b, c and d for (a + b) + (c + d).
fn terms(g: &Graph, n: NodeId, inner: &HashSet<NodeId>) -> Vec<NodeId> {
    let (mut terms, mut stack) = (Vec::new(), vec![n]);
    while let Some(m) = stack.pop() {
        if m == n || inner.contains(&m) { stack.extend(g.op(m).operands()) } else { terms.push(m) }
    }
    terms
}

/// Returns the minimum distance from element `own` at which a value reads, and the value with that distance removed,
/// which is that of the element itself. Returns `None` if the value needs the index for anything else, or may leave
/// an error record.
fn without_distance(l: &mut LaunchContext, n: NodeId, (own, var): (NodeId, Var)) -> Option<(i64, NodeId)> {
    let is_own = |g: &Graph, n: NodeId| g.node(n).free.contains(&var);
    if l.may_record(n) {
        return None;
    }
    let (mut stack, mut seen, mut reads) = (vec![n], HashSet::default(), Vec::new());
    while let Some(m) = stack.pop() {
        if l.g.is_closed(m) || !seen.insert(m) {
            continue;
        }
        if seen.len() > MAX_NODES {
            return None;
        }
        match l.g.op(m).clone() {
            op if op.lambda().is_some() || m == own => return None,
            Op::Elem(_, at) => {
                for index in at.into_iter().filter(|i| is_own(&l.g, *i)) {
                    let form = Linear::of(&l.g, index);
                    let is_moved =
                        |(t, k): (&NodeId, &i64)| if *t == own { *k == 1 } else { !is_own(&l.g, *t) };
                    if !form.terms.iter().all(is_moved) {
                        return None;
                    }
                    reads.push((index, form));
                }
            }
            op => stack.extend(op.operands()),
        }
    }
    let distance = reads.iter().map(|(_, form)| form.constant).min()?;
    let mut moved: HashMap<NodeId, NodeId> = HashMap::default();
    for (index, form) in reads {
        let form = Linear { constant: form.constant.checked_sub(distance)?, ..form };
        moved.insert(index, form.node(&mut l.g));
    }
    let find = &mut |g: &mut Graph, n| Found::of(g, n, moved.get(&n).copied());
    let value = replaced_by(&mut l.g, n, find, &mut |g, op| g.add(op), &mut HashMap::default());
    Some((distance, value))
}
