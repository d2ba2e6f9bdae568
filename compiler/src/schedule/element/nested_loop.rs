//! Nested operations: a reduction or fold that depends on the element it is part of, lowered as
//! loops inside of that element's code.
//!
//! Values that do not depend on the loop's index are computed before the loop. A fold is one loop. A reduction
//! follows the tree of semantics 5.1: it visits the 128 columns of a tile one after another, each from its first row
//! to its last, and the tiles of a group in the same way; pairwise accumulation joins the columns (`counter.rs`).
//! Three levels serve sequences of up to 2^33 elements. An operator with loops of its own is emitted once for all
//! levels (`slots.rs`). CPUs compute whole tiles by vectors instead ([`crate::schedule::cpu::nested`]).

pub mod batches;
mod lanes;
mod needed;
mod steps;
mod tree;
mod versions;

use super::element;
use super::folds::Fold;
use super::lower::Surroundings;
use super::lower::{LaunchContext, Lower, Region, UnlikelyArms, bind};
use super::reduction::Reduction;
use super::{error_records, slots};
use crate::core::index_space::exists_inside_only;
use crate::core::{COLUMNS, Graph, NodeId, Op, PANEL, TILE, Var, linear, tuples};
use crate::error::Result;
use crate::kernel::{Expr, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::cpu;
use crate::schedule::facts::{needed_range, order_free};
pub use lanes::{Join, Lanes, assign, joining, read};
pub use needed::Needed;
use rustc_hash::FxHashSet as HashSet;
pub use tree::{Step, Tile, column, rows, rows_of, tree};
use tree::{columns, level};
use versions::{Computed, in_branch, parts, versions};

/// Emits a nested reduction or fold, and returns its value.
pub(in crate::schedule) fn value(l: &mut Lower, n: NodeId, r: &mut Region) -> Result<Expr> {
    if l.k.is_gpu() && l.launch.g.op(n).is_reduction() {
        l.launch.warn_of_loop(n);
    }
    r.computing.push(n);
    let (nodes, which) = needed_components(l.launch, n, r);
    let (mut values, mut out) = versions(l, &nodes, r, loops)?;
    if let Some(condition) = r.condition(n).filter(|_| error_records::any(&out)) {
        // if the condition depends on a value that is still being computed, the records are emitted
        // later
        if l.launch.g.reachable([condition]).iter().any(|m| r.computing.contains(m)) {
            error_records::remove(&mut out);
            r.recorded_later.push(n);
        } else {
            let needed = l.value(condition, r)?.0;
            error_records::guard(&mut out, &needed);
        }
    }
    r.computing.pop();
    r.out.append(&mut out);
    let value = values[which].clone();
    for (other, value) in nodes.into_iter().zip(values.drain(..)).filter(|(other, _)| *other != n) {
        r.memo.insert(other, (value, 0));
    }
    Ok(value)
}

/// Returns the components of a tuple that one loop computes, and which of them is `n`. These are the components that
/// the region uses, except those that may leave error records under conditions of their own.
fn needed_components(l: &mut LaunchContext, n: NodeId, r: &Region) -> (Vec<NodeId>, usize) {
    let mut nodes = Vec::new();
    if let Op::Reduce { init, .. } | Op::Fold { init, .. } = *l.g.op(n)
        && !l.may_record(n)
    {
        let components = tuples::components(&l.g, init).len() as u32;
        for at in 0..components {
            let op = tuples::component(l.g.op(n), at);
            let used = |m: &NodeId| *m == n || r.uses.of(*m) > 0 && !r.memo.contains_key(m);
            nodes.extend(l.g.find(&op).filter(used));
        }
    }
    match nodes.iter().position(|m| *m == n) {
        Some(which) => (nodes, which),
        None => (vec![n], 0),
    }
}

impl Lower<'_, '_, '_> {
    /// Emits the error records of a nested operation whose condition depends on the operation's own
    /// value: the loops run once more, for the records alone.
    pub(in crate::schedule) fn record_nested(&mut self, n: NodeId, r: &mut Region) -> Result<()> {
        let Some(condition) = r.condition(n) else { return Ok(()) };
        let needed = self.value(condition, r)?.0;
        let mut out = loops(self, &[n], r)?.1;
        error_records::guard(&mut out, &needed);
        r.out.append(&mut out);
        Ok(())
    }
}

/// Returns the values of the operation's nodes, and the loops that compute them.
fn loops(l: &mut Lower, of: &[NodeId], r: &mut Region) -> Result<Computed> {
    let op = l.launch.g.op(of[0]).clone();
    if let Op::Loop { .. } = op {
        let (value, out) = l.element_loop(of[0], r)?;
        return Ok((vec![value], out));
    }
    let (init, src) = parts(&op);
    let inits = tuples::components(&l.launch.g, init);
    let start = inits.into_iter().map(|init| Ok(l.value(init, r)?.0)).collect::<Result<Vec<Expr>>>()?;
    let Op::Generate(extents, _) = l.launch.g.op(src).clone() else { unreachable!("fused: a sequence") };
    let mut count = l.value(extents[0], r)?.0;
    // steps that several elements take together have one count
    let range = if l.k.in_lockstep { None } else { needed_range::of(&mut l.launch.g, of[0]) };
    let mut bound = |n: NodeId| {
        let value = l.value(n, r)?.0;
        Ok(bind(l, "bound", value, &mut r.out))
    };
    let range = range.map(|range| Needed::of(&range, &mut bound)).transpose()?;
    if let Some(end) = range.as_ref().and_then(|range| range.end.clone()) {
        let some = Expr::binary(BinaryOp::Max, count.min(end), Expr::int(0));
        count = bind(l, "needed", some, &mut r.out);
    }
    let mut nodes = invariant_nodes(&mut l.launch.g, &op);
    nodes.retain(|n| !l.launch.may_record(*n) && !exists_inside_only(&l.launch.g, *n));
    let code = |l: &mut Lower, r: &mut Region| {
        // unlikely arms are computed, too: the conditions of a fast path are not those of a loop's values
        l.on_path(UnlikelyArms::default(), |l| nodes.iter().try_for_each(|n| l.value(*n, r).map(drop))).0?;
        let vars: Vec<(NodeId, Expr)> = r.known();
        let at = r.at.clone();
        let (place, mut out) = (Surroundings { vars: &vars, at: &at }, Vec::new());
        let (mut start, count) = (start.clone(), count.clone());
        let values = l.in_loop(|l| match op {
            Op::Fold { .. } => {
                let of_node = Fold::of(&l.launch.g, of[0]).expect("a fold");
                fold(l, &of_node, of, start, count, &place, &mut out)
            }
            Op::PanelDot { a, b, .. } => {
                Ok(vec![panels(l, [a, b], start.remove(0), count, &place, &mut out)?])
            }
            _ => reduce(l, of, start, (count, range.as_ref()), &place, &mut out),
        })?;
        Ok((values, out))
    };
    // a read before the loop may be in bounds only if the loop has an element
    if !nodes.iter().any(|n| reads(&l.launch.g, *n, &[])) {
        return code(l, r);
    }
    let values: Vec<Reg> = of.iter().map(|n| l.k.reg("value", l.launch.g.ty(*n).elem)).collect();
    let some = Expr::binary(BinaryOp::Gt, count.clone(), Expr::int(0));
    let begin = of.iter().map(|n| start[tuples::which(&l.launch.g, *n)].clone()).collect::<Vec<Expr>>();
    let code = in_branch(l, r, &values, code)?;
    let begin = values.iter().zip(begin).map(|(value, start)| Stmt::Var(*value, start));
    Ok((read(&values), begin.chain([Stmt::If(some, code, vec![])]).collect()))
}

/// Whether a value reads an array at indices that depend on the element. Values in `known` read nothing.
pub(in crate::schedule) fn reads(g: &Graph, n: NodeId, known: &[NodeId]) -> bool {
    let ends = |m: NodeId| g.is_closed(m) || known.contains(&m);
    let is_read = |m: NodeId| matches!(g.op(m), Op::Elem(..)) && !ends(m);
    g.reachable_until([n], ends).into_iter().any(is_read)
}

/// Returns the scalars that a nested operation's elements and its function need, and that do not depend on any of
/// their own variables.
pub fn invariant_nodes(g: &mut Graph, op: &Op) -> Vec<NodeId> {
    let mut list = Vec::new();
    let lambdas: Vec<_> =
        op.operands().filter_map(|o| g.op(o).lambda().cloned()).chain(op.lambda().cloned()).collect();
    for lambda in lambdas {
        let vars: Vec<(Var, NodeId)> = lambda.params.iter().map(|p| g.fresh_var(p.1)).collect();
        let nodes: Vec<NodeId> = vars.iter().map(|v| v.1).collect();
        let body = g.open(&lambda, &nodes);
        let (mut stack, mut seen, begin) = (vec![body], HashSet::default(), list.len());
        while let Some(n) = stack.pop() {
            if !seen.insert(n) || g.is_closed(n) {
                continue;
            }
            let depends = g.node(n).free.iter().any(|v| vars.iter().any(|own| own.0 == *v));
            if depends || matches!(g.op(n), Op::Tuple(_)) {
                stack.extend(g.op(n).operands());
            } else if g.ty(n).is_scalar() && !matches!(g.op(n), Op::Var(..)) {
                list.push(n);
            }
        }
        list[begin..].sort_unstable();
    }
    list
}

/// Emits a strict left fold as one loop, and returns the values of its `nodes`.
fn fold(
    l: &mut Lower,
    fold: &Fold,
    nodes: &[NodeId],
    start: Vec<Expr>,
    count: Expr,
    place: &Surroundings,
    out: &mut Vec<Stmt>,
) -> Result<Vec<Expr>> {
    let accs: Vec<Reg> = fold.types.iter().map(|ty| l.k.reg("acc", *ty)).collect();
    let before: Vec<NodeId> = fold.types.iter().map(|ty| l.launch.g.fresh_var(*ty).1).collect();
    let (_, first) = l.launch.g.fresh_var(Ty::I64);
    let next = |l: &mut Lower, number: i64| {
        let number = l.launch.g.lit(Lit::i64(number));
        let index = linear::add(&mut l.launch.g, first, number);
        let e = fold.elements(&mut l.launch.g, index);
        fold.step(&mut l.launch.g, &before, &e)
    };
    out.extend(accs.iter().zip(start).map(|(acc, start)| Stmt::Var(*acc, start)));
    // a reduction has other variants for few elements, whose steps go on together; a fold has its steps alone
    let most = match l.launch.g.op(nodes[0]) {
        Op::Fold { .. } => batches::OF_ELEMENT_LOOP,
        _ => batches::OF_REDUCTION,
    };
    let pays = batches::pay(l, most, |l| next(l, 0));
    let reads: &mut batches::Reads = &mut |l, (k, number), out| {
        let known = [place.vars, &[(first, k)]].concat();
        let next = next(l, number);
        let known_already: Vec<NodeId> = place.vars.iter().map(|v| v.0).collect();
        let reads = batches::reads_ahead(l, &next, &before, &known_already);
        batches::read_ahead(l, place, (&reads, &known), out)
    };
    let go_on: &mut batches::Numbered = &mut |l, (k, number), ahead, out| {
        let mut vars = [place.vars, &[(first, k)], &ahead].concat();
        vars.extend(before.iter().copied().zip(read(&accs)));
        let next = next(l, number);
        let values = place.values(l, &vars, &next, out)?;
        assign(l, &accs, values, out);
        Ok(())
    };
    batches::steps(l, "k", (0, count), pays, out, (reads, go_on))?;
    Ok(nodes.iter().map(|n| Expr::Reg(accs[tuples::which(&l.launch.g, *n)])).collect())
}

/// Emits an inner product by panels (semantics 5.7), each of which is a chain of multiply-adds. A
/// chain begins with the identity of addition (-0 for floats), so that its first multiply-add gives
/// the rounded product.
fn panels(
    l: &mut Lower,
    factors: [NodeId; 2],
    start: Expr,
    count: Expr,
    place: &Surroundings,
    out: &mut Vec<Stmt>,
) -> Result<Expr> {
    let ty = l.launch.g.ty(factors[0]).elem;
    let nothing = Expr::Lit(Lit::no_sum(ty));
    let [sum, acc] = ["sum", "acc"].map(|name| l.k.reg(name, ty));
    let [first, k] = ["first", "k"].map(|name| l.k.reg(name, Ty::I64));
    let count = bind(l, "count", count, out);
    let (_, index) = l.launch.g.fresh_var(Ty::I64);
    let (_, before) = l.launch.g.fresh_var(ty);
    let [a, b] = factors.map(|f| element(&mut l.launch.g, f, index));
    let next = l.launch.g.add(Op::MulAdd(a, b, before));
    let mut vars = place.vars.to_vec();
    vars.extend([(index, Expr::Reg(k)), (before, Expr::Reg(acc))]);
    let mut inner = Vec::new();
    let value = place.values(l, &vars, &[next], &mut inner)?.remove(0);
    inner.push(Stmt::Assign(acc, value));
    let end = Expr::Reg(first).plus(Expr::int(PANEL)).min(count.clone());
    let body = vec![
        Stmt::Var(acc, nothing.clone()),
        Stmt::Seq(k, Expr::Reg(first), end, inner),
        Stmt::Assign(sum, Expr::Reg(sum).plus(Expr::Reg(acc))),
        Stmt::Assign(first, Expr::Reg(first).plus(Expr::int(PANEL))),
    ];
    out.push(Stmt::Var(sum, nothing));
    out.push(Stmt::Var(first, Expr::int(0)));
    out.push(Stmt::While(Expr::binary(BinaryOp::Lt, Expr::Reg(first), count), body));
    Ok(start.plus(Expr::Reg(sum)))
}

/// Emits the tree of semantics 5.1 for one thread, and returns the values of the reduction's `nodes`.
fn reduce(
    l: &mut Lower,
    nodes: &[NodeId],
    mut start: Vec<Expr>,
    (count, range): (Expr, Option<&Needed>),
    place: &Surroundings,
    out: &mut Vec<Stmt>,
) -> Result<Vec<Expr>> {
    let r = Reduction::all_nested(l.launch, nodes).remove(0);
    if r.joins_by_loops(l.launch) {
        let element =
            &mut |l: &mut Lower, at: Expr, out: &mut Vec<Stmt>| Ok(r.values_at(l, place, at, out)?.remove(0));
        return Ok(vec![slots::reduce(l, &r, start.remove(0), count, place, element, out)?]);
    }
    if (l.k.is_gpu() || l.k.in_lockstep) && order_free::is_order_free(&mut l.launch.g, nodes[0]) {
        let in_order =
            Fold::of_reduction(&mut l.launch.g, nodes[0]).expect("a reduction whose order is free");
        return fold(l, &in_order, nodes, start, count, place, out);
    }
    let mut result = Vec::new();
    for (start, ty) in start.into_iter().zip(r.totals(&r.types)) {
        let reg = l.k.reg("reduced", ty);
        out.push(Stmt::Var(reg, start));
        result.push(reg);
    }
    let needed: Vec<Reg> = nodes.iter().map(|n| result[tuples::which(&l.launch.g, *n)]).collect();
    let count = bind(l, "count", count, out);
    let join = &mut joining(&r, place);
    let general = r.is_general(l.launch) || l.scope.depth > 1;
    let mut lanes = Lanes::of(&r, join, general);
    let mut body = Vec::new();
    // on a CPU most sequences fit in one tile, which gets separate code; if elements have loops, this would emit
    // nested loops 2^depth times
    let by_loops = r.elements_have_loops(l.launch);
    let pays = batches::pay(l, batches::OF_REDUCTION, |l| {
        let (_, index) = l.launch.g.fresh_var(Ty::I64);
        r.first(l.launch, index)
    });
    let mut single = Vec::new();
    if !l.k.is_gpu() && !by_loops {
        let tile = cpu::nested::Tile { r: &r, place, base: Expr::int(0), count: count.clone() };
        let value = cpu::nested::tile(l, &tile, &mut single)?;
        let joined = r.joined_initial(l, place, &result, &value, &mut single)?;
        assign(l, &needed, joined, &mut single);
    }
    let value = tree(l, &mut lanes, &count, &mut body, &mut |l, lanes, base, left, out| {
        let tile = &mut |l: &mut Lower, lanes: &mut Lanes, base: Expr, left: Expr, out: &mut Vec<Stmt>| {
            if !l.k.is_gpu() {
                let reduced = if by_loops { cpu::nested::tile_by_loops } else { cpu::nested::tile };
                return reduced(l, &cpu::nested::Tile { r: &r, place, base, count: left }, out);
            }
            if by_loops {
                return level(l, lanes, left, out, &mut |l, _, at, column, out| {
                    let at = bind(l, "i", base.clone().plus(at), out);
                    let elements = r.values_at(l, place, at, out)?;
                    let set = |at: usize, e| Stmt::Assign(column.acc[at], e);
                    r.go_on(l, place, elements, &column.is_first, read(&column.acc), &set, out)
                });
            }
            columns(l, lanes, left, (pays, out), &mut |l, (start, rows), acc, out| {
                let at = bind(l, "i", base.clone().plus(start), out);
                let (_, first) = l.launch.g.fresh_var(Ty::I64);
                let mut vars = place.vars.to_vec();
                vars.push((first, at));
                let number = l.launch.g.lit(Lit::i64(rows * COLUMNS));
                let index = linear::add(&mut l.launch.g, first, number);
                let roots = match acc {
                    None => r.first(l.launch, index),
                    Some(acc) => {
                        let before = r.nodes(l.launch, &r.with_elements(acc.to_vec()), &mut vars);
                        r.step(l.launch, &before, index)
                    }
                };
                place.values(l, &vars, &roots, out)
            })
        };
        match range {
            Some(range) => range.tile(l, lanes, (base, left), out, tile),
            None => tile(l, lanes, base, left, out),
        }
    })?;
    let joined = r.joined_initial(l, place, &result, &value, &mut body)?;
    assign(l, &needed, joined, &mut body);
    if !single.is_empty() {
        let short = Expr::binary(BinaryOp::Le, count.clone(), Expr::int(TILE));
        body = vec![Stmt::If(short, single, body)];
    }
    out.push(Stmt::If(Expr::binary(BinaryOp::Gt, count, Expr::int(0)), body, vec![]));
    Ok(read(&needed))
}
