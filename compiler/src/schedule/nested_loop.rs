//! Nested operations: a reduction or fold that depends on the element it is part of, lowered as
//! loops inside of that element's code.
//!
//! Values that do not depend on the loop's index are computed before the loop. A fold is one loop.
//! A reduction follows the tree of semantics 5.1: it visits the 128 columns of a tile one after
//! another, each from its first row to its last, and the tiles of a group in the same way; columns
//! join by pairwise accumulation (`counter.rs`). Three levels serve sequences of up to 2^33
//! elements. An operator with loops of its own is emitted once for all levels (`slots.rs`).
//! CPUs compute whole tiles by vectors instead ([`super::cpu::nested`]).

mod lanes;
mod tree;

use super::element::element;
use super::lower::Surroundings;
use super::lower::{Lower, Region, named};
use super::reduction::Reduction;
use super::{cpu, error_records, in_bounds, slots};
use crate::core::index_space::exists_inside_only;
use crate::core::{Graph, NodeId, Op, PANEL, TILE, Var};
use crate::error::Result;
use crate::kernel::{Expr, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
pub use lanes::{Join, Lanes, assign, joining, read};
use rustc_hash::FxHashSet as HashSet;
pub use tree::{Step, Tile, column, rows, rows_of, tree};
use tree::{columns, level};

/// Emits a nested reduction or fold, and returns its value.
pub(super) fn value(l: &mut Lower, n: NodeId, r: &mut Region) -> Result<Expr> {
    if l.k.is_gpu() && l.launch.g.op(n).is_reduction() {
        l.launch.warn_of_loop(n);
    }
    r.computing.push(n);
    let (value, mut out) = versions(l, n, r)?;
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
    Ok(value)
}

impl Lower<'_, '_, '_> {
    /// Emits the error records of a nested operation whose condition depends on the operation's own
    /// value: the loops run once more, for the records alone.
    pub(super) fn record_nested(&mut self, n: NodeId, r: &mut Region) -> Result<()> {
        let Some(condition) = r.condition(n) else { return Ok(()) };
        let needed = self.value(condition, r)?.0;
        let mut out = loops(self, n, r)?.1;
        error_records::guard(&mut out, &needed);
        r.out.append(&mut out);
        Ok(())
    }
}

/// Returns the operation's value, and the loops that compute it. On a CPU there is a second version
/// for total reads that are all in bounds, which vectorises.
fn versions(l: &mut Lower, n: NodeId, r: &mut Region) -> Result<(Expr, Vec<Stmt>)> {
    let is_own = matches!(l.launch.g.op(n), Op::Loop { .. });
    let version = if is_own || l.k.is_gpu() { None } else { in_bounds::of(l.launch, &[n], &[]) };
    let Some(version) = version else { return loops(l, n, r) };
    // the initial value is computed before both, and leaves its records there
    let (mut plain, init) = (l.launch.g.op(version.roots[0]).clone(), parts(l.launch.g.op(n)).0);
    l.value(init, r)?;
    match &mut plain {
        Op::Reduce { init: own, .. }
        | Op::Fold { init: own, .. }
        | Op::SquaredDeviations { init: own, .. } => *own = init,
        Op::Dot { init: own, .. } | Op::PanelDot { init: own, .. } => *own = init,
        op => unreachable!("{op:?} is no reduction"),
    }
    let plain = l.launch.g.add(plain);
    if plain == n {
        return loops(l, n, r);
    }
    // the reads of the condition leave no records
    let (known, mut before) = (r.known(), Vec::new());
    let condition = l.conditions(&known, &[version.condition], &mut before)?.remove(0);
    r.out.append(&mut before);
    let value = l.k.reg("value", l.launch.g.ty(n).elem);
    let mut branch = |l: &mut Lower, n: NodeId| in_branch(l, r, value, |l, r| loops(l, n, r));
    let (fast, slow) = (branch(l, plain)?, branch(l, n)?);
    let zero = Expr::Lit(Lit::zero(l.launch.g.ty(n).elem));
    Ok((Expr::Reg(value), vec![Stmt::Var(value, zero), Stmt::If(condition, fast, slow)]))
}

/// Returns the initial value of a reduction or fold, and its sequence.
fn parts(op: &Op) -> (NodeId, NodeId) {
    match *op {
        Op::Reduce { init, src, .. } | Op::Fold { init, src, .. } | Op::SquaredDeviations { init, src } => {
            (init, src)
        }
        Op::Dot { init, a, .. } | Op::PanelDot { init, a, .. } => (init, a),
        ref op => unreachable!("{op:?} is no reduction"),
    }
}

/// Returns a branch in which `value` gets what `code` computes. What is computed there is not available
/// behind it.
fn in_branch(
    l: &mut Lower,
    r: &mut Region,
    value: Reg,
    code: impl FnOnce(&mut Lower, &mut Region) -> Result<(Expr, Vec<Stmt>)>,
) -> Result<Vec<Stmt>> {
    let (mark, before) = (r.memo.enter_branch(), std::mem::take(&mut r.out));
    let made = l.in_block(|l| code(l, r));
    r.memo.leave_branch(mark);
    let mut out = std::mem::replace(&mut r.out, before);
    let (e, mut rest) = made?;
    out.append(&mut rest);
    out.push(Stmt::Assign(value, e));
    Ok(out)
}

/// Returns the operation's value, and the loops that compute it.
fn loops(l: &mut Lower, n: NodeId, r: &mut Region) -> Result<(Expr, Vec<Stmt>)> {
    let op = l.launch.g.op(n).clone();
    if let Op::Loop { .. } = op {
        return l.element_loop(n, r);
    }
    let (init, src) = parts(&op);
    let start = l.value(init, r)?.0;
    let Op::Generate(extents, _) = l.launch.g.op(src).clone() else { unreachable!("fused: a sequence") };
    let count = l.value(extents[0], r)?.0;
    let mut nodes = invariant_nodes(&mut l.launch.g, &op);
    nodes.retain(|n| !l.launch.may_record(*n) && !exists_inside_only(&l.launch.g, *n));
    let code = |l: &mut Lower, r: &mut Region| {
        for n in &nodes {
            l.value(*n, r)?;
        }
        let vars: Vec<(NodeId, Expr)> = r.known();
        let at = r.at.clone();
        let (place, mut out) = (Surroundings { vars: &vars, at: &at }, Vec::new());
        let (start, count) = (start.clone(), count.clone());
        let value = l.in_loop(|l| match op {
            Op::Fold { .. } => fold(l, n, start, count, &place, &mut out),
            Op::PanelDot { a, b, .. } => panels(l, [a, b], start, count, &place, &mut out),
            _ => reduce(l, n, start, count, &place, &mut out),
        })?;
        Ok((value, out))
    };
    // a read before the loop may be in bounds only because the loop has an element
    if !nodes.iter().any(|n| reads(&l.launch.g, *n)) {
        return code(l, r);
    }
    let value = l.k.reg("value", l.launch.g.ty(n).elem);
    let some = Expr::binary(BinaryOp::Gt, count.clone(), Expr::int(0));
    let code = in_branch(l, r, value, code)?;
    Ok((Expr::Reg(value), vec![Stmt::Var(value, start), Stmt::If(some, code, vec![])]))
}

/// Whether a value reads an array at indices that depend on the element.
pub(super) fn reads(g: &Graph, n: NodeId) -> bool {
    let is_read = |m: NodeId| matches!(g.op(m), Op::Elem(..)) && !g.is_closed(m);
    g.reachable_until([n], |m| g.is_closed(m)).into_iter().any(is_read)
}

/// Returns the scalars that a nested operation's elements and its function need and that depend on
/// none of their own variables.
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
            if g.node(n).free.iter().any(|v| vars.iter().any(|own| own.0 == *v)) {
                stack.extend(g.op(n).operands());
            } else if matches!(g.op(n), Op::Tuple(_)) {
                stack.extend(g.op(n).operands());
            } else if g.ty(n).is_scalar() && !matches!(g.op(n), Op::Var(..)) {
                list.push(n);
            }
        }
        list[begin..].sort_unstable();
    }
    list
}

/// Emits a strict left fold as one loop.
fn fold(
    l: &mut Lower,
    n: NodeId,
    start: Expr,
    count: Expr,
    place: &Surroundings,
    out: &mut Vec<Stmt>,
) -> Result<Expr> {
    let Op::Fold { step, src, .. } = l.launch.g.op(n).clone() else { unreachable!("a fold") };
    let ty = l.launch.g.ty(n).elem;
    let (acc, k) = (l.k.reg("acc", ty), l.k.reg("k", Ty::I64));
    let (_, index) = l.launch.g.fresh_var(Ty::I64);
    let (_, before) = l.launch.g.fresh_var(ty);
    let e = element(&mut l.launch.g, src, index);
    let next = l.launch.g.open(&step, &[before, e]);
    let mut vars = place.vars.to_vec();
    vars.extend([(index, Expr::Reg(k)), (before, Expr::Reg(acc))]);
    let mut body = Vec::new();
    let value = place.values(l, &vars, &[next], &mut body)?.remove(0);
    body.push(Stmt::Assign(acc, value));
    out.push(Stmt::Var(acc, start));
    out.push(Stmt::Seq(k, Expr::int(0), count, body));
    Ok(Expr::Reg(acc))
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
    let count = named(l, "count", count, out);
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

/// Emits the tree of semantics 5.1 for one thread.
fn reduce(
    l: &mut Lower,
    n: NodeId,
    start: Expr,
    count: Expr,
    place: &Surroundings,
    out: &mut Vec<Stmt>,
) -> Result<Expr> {
    let r = Reduction::nested(l.launch, n);
    if r.joins_by_loops(l.launch) {
        let element =
            &mut |l: &mut Lower, at: Expr, out: &mut Vec<Stmt>| Ok(r.values_at(l, place, at, out)?.remove(0));
        return slots::reduce(l, &r, start, count, place, element, out);
    }
    let result = l.k.reg("reduced", r.ty);
    out.push(Stmt::Var(result, start));
    let count = named(l, "count", count, out);
    let join = &mut joining(&r, place);
    let general = r.is_general(l.launch) || l.scope.depth > 1;
    let mut lanes = Lanes::of(&r, join, general);
    let mut body = Vec::new();
    // on a CPU most sequences fit in one tile, which gets code of its own; if elements have loops,
    // this would emit nested loops 2^depth times
    let by_loops = r.elements_have_loops(l.launch);
    let mut single = Vec::new();
    if !l.k.is_gpu() && !by_loops {
        let value = cpu::nested::tile(l, &r, place, Expr::int(0), count.clone(), &mut single)?;
        let joined = r.joined_initial(l, place, result, &value, &mut single)?;
        single.push(Stmt::Assign(result, joined));
    }
    let value = tree(l, &mut lanes, &count, &mut body, &mut |l, lanes, base, left, out| {
        if !l.k.is_gpu() {
            let tile = if by_loops { cpu::nested::tile_by_loops } else { cpu::nested::tile };
            return tile(l, &r, place, base, left, out);
        }
        if by_loops {
            return level(l, lanes, left, out, &mut |l, _, at, column, out| {
                let at = named(l, "i", base.clone().plus(at), out);
                let elements = r.values_at(l, place, at, out)?;
                let set = |at: usize, e| Stmt::Assign(column.acc[at], e);
                r.go_on(l, place, elements, &column.is_first, read(&column.acc), &set, out)
            });
        }
        columns(l, lanes, left, out, &mut |l, i, acc, out| {
            let at = base.clone().plus(i);
            let at = named(l, "i", at, out);
            let (_, index) = l.launch.g.fresh_var(Ty::I64);
            let mut vars = place.vars.to_vec();
            vars.push((index, at));
            let roots = match acc {
                None => r.first(l.launch, index),
                Some(acc) => {
                    let before = r.nodes(l.launch, acc, &mut vars);
                    r.step(l.launch, &before, index)
                }
            };
            place.values(l, &vars, &roots, out)
        })
    })?;
    let joined = r.joined_initial(l, place, result, &value, &mut body)?;
    body.push(Stmt::Assign(result, joined));
    if !single.is_empty() {
        let short = Expr::binary(BinaryOp::Le, count.clone(), Expr::int(TILE));
        body = vec![Stmt::If(short, single, body)];
    }
    out.push(Stmt::If(Expr::binary(BinaryOp::Gt, count, Expr::int(0)), body, vec![]));
    Ok(Expr::Reg(result))
}

impl Reduction {
    /// Emits the join of the initial value, which is in a register, with the value of all elements.
    fn joined_initial(
        &self,
        l: &mut Lower,
        place: &Surroundings,
        init: Reg,
        value: &[Expr],
        out: &mut Vec<Stmt>,
    ) -> Result<Expr> {
        let [a, b] = [(); 2].map(|()| l.launch.g.fresh_var(self.ty).1);
        let root = self.join_initial(l.launch, a, b);
        let mut vars = place.vars.to_vec();
        vars.push((a, Expr::Reg(init)));
        vars.extend(value.last().map(|e| (b, e.clone())));
        Ok(place.values(l, &vars, &[root], out)?.remove(0))
    }

    /// Emits the operands of the reduction at an index.
    pub fn values_at(
        &self,
        l: &mut Lower,
        place: &Surroundings,
        at: Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Expr>> {
        let (_, index) = l.launch.g.fresh_var(Ty::I64);
        let elements = self.elements(l.launch, index);
        let mut vars = place.vars.to_vec();
        vars.push((index, at));
        place.values(l, &vars, &elements, out)
    }

    /// Emits the step of a column: the column begins with `elements` if `is_first` holds, else goes
    /// on from `old`. The elements, which have loops, are emitted once for both cases.
    pub fn go_on(
        &self,
        l: &mut Lower,
        place: &Surroundings,
        elements: Vec<Expr>,
        is_first: &Expr,
        old: Vec<Expr>,
        set: &dyn Fn(usize, Expr) -> Stmt,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let mut known = place.vars.to_vec();
        let mut nodes = Vec::new();
        for e in elements {
            let (_, node) = l.launch.g.fresh_var(self.ty);
            known.push((node, named(l, "element", e, out)));
            nodes.push(node);
        }
        let (mut begins, mut goes_on) = (Vec::new(), Vec::new());
        let first = self.first_of(l.launch, &nodes);
        let values = place.values(l, &known, &first, &mut begins)?;
        begins.extend(values.into_iter().enumerate().map(|(at, e)| set(at, e)));
        let old: Vec<Expr> = old.into_iter().map(|e| named(l, "acc", e, &mut goes_on)).collect();
        let acc = self.nodes(l.launch, &old, &mut known);
        let next = self.step_of(l.launch, &acc, &nodes);
        let mut values = place.values(l, &known, &next, &mut goes_on)?;
        if values.len() > 1 {
            // all new values are computed before any accumulator changes
            values = values.into_iter().map(|e| named(l, "next", e, &mut goes_on)).collect();
        }
        goes_on.extend(values.into_iter().enumerate().map(|(at, e)| set(at, e)));
        out.push(Stmt::If(is_first.clone(), begins, goes_on));
        Ok(())
    }
}
