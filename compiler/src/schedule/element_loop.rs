//! Loops of one element (`Op::Loop`, semantics 5.16): a loop that ends when the element decides.
//!
//! All values of a loop have the same operands, so the first one that is needed emits the loop, and the
//! others read its registers. What does not depend on a step is computed before the loop. Nothing is
//! unrolled. A condition that takes no statements is the loop's own; otherwise a flag says whether the loop
//! goes on.

use super::lower::{Lower, Region, Surroundings, named};
use super::nested_loop::{invariant_nodes, reads};
use crate::core::index_space::exists_inside_only;
use crate::core::{Lambda, NodeId, Op, element_loops};
use crate::error::Result;
use crate::kernel::{Expr, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty, eval_cast};

impl Lower<'_, '_, '_> {
    /// Returns a value of a loop, and the statements that compute it.
    pub(super) fn element_loop(&mut self, n: NodeId, r: &mut Region) -> Result<(Expr, Vec<Stmt>)> {
        emit(self, n, r)
    }
}

fn emit(l: &mut Lower, n: NodeId, r: &mut Region) -> Result<(Expr, Vec<Stmt>)> {
    let op = l.launch.g.op(n).clone();
    let Op::Loop { step, which, count, init } = &op else { unreachable!("a loop") };
    let count = l.value(*count, r)?.0;
    let mut out = Vec::new();
    let count = if let Expr::Lit(_) = count { count } else { named(l, "count", count, &mut out) };
    let mut states = Vec::new();
    for n in init {
        let start = l.value(*n, r)?.0;
        let state = l.k.reg("state", l.launch.g.ty(*n).elem);
        out.push(Stmt::Var(state, start));
        states.push(state);
    }
    let number = is_counted(l, &op, &count, n, r).then(|| Number::of(l, &count));
    out.extend(number.iter().map(|number| Stmt::Var(number.reg, Expr::Lit(Lit::zero(number.ty)))));
    let mut before = invariant_nodes(&mut l.launch.g, &op);
    before.retain(|n| !l.launch.may_record(*n) && !exists_inside_only(&l.launch.g, *n));
    let code = |l: &mut Lower, r: &mut Region| {
        for n in &before {
            l.value(*n, r)?;
        }
        let (vars, at) = (r.known(), r.at.clone());
        let place = Surroundings { vars: &vars, at: &at };
        l.in_loop(|l| steps(l, step, number.as_ref(), &states, &place))
    };
    // a read before the loop may be in bounds only because the loop has a step
    let is_run = matches!(&count, Expr::Lit(l) if l.as_i64() > 0);
    if is_run || !before.iter().any(|n| reads(&l.launch.g, *n)) {
        let mut made = code(l, r)?;
        out.append(&mut made);
    } else {
        let (mark, outside) = (r.memo.enter_branch(), std::mem::take(&mut r.out));
        let made = l.in_block(|l| code(l, r));
        r.memo.leave_branch(mark);
        let mut branch = std::mem::replace(&mut r.out, outside);
        branch.append(&mut made?);
        out.push(Stmt::If(Expr::binary(BinaryOp::Gt, count, Expr::int(0)), branch, vec![]));
    }
    let values: Vec<Expr> = states.into_iter().map(Expr::Reg).chain(number.map(|n| n.value())).collect();
    remember(l, &op, n, &values, r);
    Ok((values[*which as usize].clone(), out))
}

/// Whether a loop counts its steps: not if nobody asks for their number and its condition ends it in any case.
fn is_counted(l: &mut Lower, op: &Op, count: &Expr, n: NodeId, r: &Region) -> bool {
    let Op::Loop { step, init, .. } = op else { return true };
    let g = &mut l.launch.g;
    let steps = g.find(&element_loops::value(op, init.len() as u32));
    let is_asked = steps.is_some_and(|m| m == n || r.uses.of(m) > 0);
    let is_endless = matches!(count, Expr::Lit(n) if n.as_i64() == i64::MAX);
    let is_used = g.node(step.body).free.contains(&step.params[0].0);
    !is_endless || is_asked || is_used || element_loops::most_steps(g, step, init).is_none()
}

/// The number of steps so far.
struct Number {
    reg: Reg,
    ty: Ty,
    /// The count that it stays below.
    end: Expr,
}

impl Number {
    /// Makes the register: 32 bits take half the instructions, and are enough for a count that is a small constant, as
    /// the limits of loops are.
    fn of(l: &mut Lower, count: &Expr) -> Number {
        let (ty, end) = match count {
            Expr::Lit(n) if (0..=i64::from(i32::MAX)).contains(&n.as_i64()) => {
                (Ty::I32, Expr::Lit(eval_cast(Ty::I32, *n)))
            }
            count => (Ty::I64, count.clone()),
        };
        Number { reg: l.k.reg("step", ty), ty, end }
    }

    /// Returns the number as the program's, i64.
    fn value(&self) -> Expr {
        match self.ty {
            Ty::I64 => Expr::Reg(self.reg),
            _ => Expr::Cast(Ty::I64, Box::new(Expr::Reg(self.reg))),
        }
    }
}

/// Remembers the other values of the loop, unless they are needed on other paths and the loop may leave error
/// records.
fn remember(l: &mut Lower, op: &Op, n: NodeId, values: &[Expr], r: &mut Region) {
    let records = op.lambda().is_some_and(|step| l.launch.may_record(step.body));
    let always = r.condition(n).and_then(|c| l.launch.g.as_lit(c)).is_some_and(Lit::as_bool);
    for (value, at) in values.iter().zip(0..) {
        let mut other = op.clone();
        if let Op::Loop { which, .. } = &mut other {
            *which = at;
        }
        let other = l.launch.g.add(other);
        let is_covered = !records || always || r.condition(other) == r.condition(n);
        if other != n && is_covered {
            r.memo.insert(other, (value.clone(), 1));
        }
    }
}

/// Emits the steps.
fn steps(
    l: &mut Lower,
    step: &Lambda,
    number: Option<&Number>,
    states: &[Reg],
    place: &Surroundings,
) -> Result<Vec<Stmt>> {
    let types: Vec<Ty> = step.params.iter().map(|p| p.1).collect();
    let nodes: Vec<NodeId> = types.into_iter().map(|ty| l.launch.g.fresh_var(ty).1).collect();
    let body = l.launch.g.open(step, &nodes);
    let parts: Vec<NodeId> = l.launch.g.op(body).operands().collect();
    let (condition, next) = parts.split_first().expect("a condition and the next states");
    let mut known = place.vars.to_vec();
    known.extend(number.map(|number| (nodes[0], number.value())));
    known.extend(nodes[1..].iter().copied().zip(states.iter().map(|r| Expr::Reg(*r))));
    let mut test = Vec::new();
    let goes_on = place.values(l, &known, &[*condition], &mut test)?.remove(0);
    let mut code = Vec::new();
    let values = place.values(l, &known, next, &mut code)?;
    // all next states are computed before any state changes
    let values: Vec<Expr> = match values.len() {
        1 => values,
        _ => values.into_iter().map(|e| named(l, "next", e, &mut code)).collect(),
    };
    code.extend(states.iter().zip(values).map(|(state, e)| Stmt::Assign(*state, e)));
    code.extend(
        number.map(|number| {
            Stmt::Assign(number.reg, Expr::Reg(number.reg).plus(Expr::Lit(Lit::one(number.ty))))
        }),
    );
    let is_below = match number {
        Some(number) => Expr::binary(BinaryOp::Lt, Expr::Reg(number.reg), number.end.clone()),
        None => Expr::Lit(Lit::bool(true)),
    };
    let always = matches!(&goes_on, Expr::Lit(l) if l.as_bool());
    if test.is_empty() {
        let while_ = match number {
            _ if always => is_below,
            Some(_) => Expr::binary(BinaryOp::And, is_below, goes_on),
            None => goes_on,
        };
        return Ok(vec![Stmt::While(while_, code)]);
    }
    let runs = l.k.reg("runs", Ty::Bool);
    code.push(Stmt::Assign(runs, is_below.clone()));
    let stop = vec![Stmt::Assign(runs, Expr::Lit(Lit::bool(false)))];
    test.push(Stmt::If(goes_on, code, stop));
    Ok(vec![Stmt::Var(runs, is_below), Stmt::While(Expr::Reg(runs), test)])
}
