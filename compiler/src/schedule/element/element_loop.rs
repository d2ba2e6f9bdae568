//! Loops of one element (`Op::Loop`, semantics 5.16): a loop that ends when the element decides.
//!
//! All values of a loop have the same operands, so the first one that is needed emits the loop, and the others read
//! its registers. What does not depend on a step is computed before the loop. Short steps of counted loops on a GPU
//! are unrolled (`nested_loop/batches.rs`), and nothing else is. If the condition takes no statements and reads
//! nothing in each step, it is the loop's own condition; otherwise a flag says whether the loop goes on. Values of the
//! states that both the condition and the step need are computed once, with the condition of the next step, and kept
//! in registers (loop inversion), because assemblers would compute them again after the branch.

use super::lower::{Lower, Region, Surroundings, UnlikelyArms, bind};
use super::nested_loop::{assign, batches, invariant_nodes, reads};
use crate::core::index_space::exists_inside_only;
use crate::core::{Lambda, NodeId, Op, element_loops};
use crate::error::Result;
use crate::kernel::{Expr, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty, eval_binary, eval_cast};
use rustc_hash::FxHashSet as HashSet;

/// From this number of states on, each next state is put into a register before the next one is computed: otherwise
/// the operands of the last operations of all of them would not fit into registers.
const MANY: usize = 12;

impl Lower<'_, '_, '_> {
    /// Returns a value of a loop, and the statements that compute it.
    pub(in crate::schedule) fn element_loop(
        &mut self,
        n: NodeId,
        r: &mut Region,
    ) -> Result<(Expr, Vec<Stmt>)> {
        emit(self, n, r)
    }
}

fn emit(l: &mut Lower, n: NodeId, r: &mut Region) -> Result<(Expr, Vec<Stmt>)> {
    let op = l.launch.g.op(n).clone();
    let Op::Loop { step, which, count, init } = &op else { unreachable!("a loop") };
    let count = l.value(*count, r)?.0;
    let mut out = Vec::new();
    let count = if let Expr::Lit(_) = count { count } else { bind(l, "count", count, &mut out) };
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
        // unlikely arms are computed, too, as in the loop itself
        l.on_path(UnlikelyArms::default(), |l| before.iter().try_for_each(|n| l.value(*n, r).map(drop))).0?;
        let (vars, at) = (r.known(), r.at.clone());
        let place = Surroundings { vars: &vars, at: &at };
        l.in_loop(|l| steps(l, step, number.as_ref(), &states, &before, &place))
    };
    // a read before the loop may be in bounds only if the loop has a step
    let is_run = matches!(&count, Expr::Lit(l) if l.as_i64() > 0);
    if is_run || !before.iter().any(|n| reads(&l.launch.g, *n, &[])) {
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

/// Whether a loop counts its steps. It need not if nothing needs their number and its condition ends it in any case.
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
    /// Makes the register. 32 bits take half the instructions, and are enough for a count that is a small constant,
    /// as the limits of loops are.
    fn of(l: &mut Lower, count: &Expr) -> Number {
        let (ty, end) = match count {
            Expr::Lit(n) if (0..=i64::from(i32::MAX)).contains(&n.as_i64()) => {
                (Ty::I32, Expr::Lit(eval_cast(Ty::I32, *n)))
            }
            count => (Ty::I64, count.clone()),
        };
        Number { reg: l.k.reg("step", ty), ty, end }
    }

    /// Returns the condition that the loop has not reached its count.
    fn is_below(&self) -> Expr {
        Expr::binary(BinaryOp::Lt, Expr::Reg(self.reg), self.end.clone())
    }

    /// Returns the condition that a whole batch of steps is left. The number from which on there is none is computed
    /// before the loop: the count less the other steps of a batch, or 0, because the count may be the least integer.
    fn is_followed(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Expr {
        let others = eval_cast(self.ty, Lit::i64(batches::BATCH - 1));
        let end = match self.end {
            Expr::Lit(end) => {
                let end = eval_binary(BinaryOp::Max, end, others).0;
                Expr::Lit(eval_binary(BinaryOp::Sub, end, others).0)
            }
            _ => {
                let end = Expr::binary(BinaryOp::Max, self.end.clone(), Expr::Lit(others));
                bind(l, "batches", end.minus(Expr::Lit(others)), out)
            }
        };
        Expr::binary(BinaryOp::Lt, Expr::Reg(self.reg), end)
    }

    /// Returns the number of a step that comes so many steps later, as the program's.
    fn further(&self, steps: i64) -> Expr {
        if steps == 0 { self.value() } else { self.value().plus(Expr::int(steps)) }
    }

    /// Returns the number as the program's, i64.
    fn value(&self) -> Expr {
        match self.ty {
            Ty::I64 => Expr::Reg(self.reg),
            _ => Expr::Cast(Ty::I64, Box::new(Expr::Reg(self.reg))),
        }
    }
}

/// Remembers the other values of the loop. If these are needed on other paths and the loop may leave error records,
/// it does not.
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

/// Emits the steps; `before` was computed before them.
fn steps(
    l: &mut Lower,
    step: &Lambda,
    number: Option<&Number>,
    states: &[Reg],
    before: &[NodeId],
    place: &Surroundings,
) -> Result<Vec<Stmt>> {
    let types: Vec<Ty> = step.params.iter().map(|p| p.1).collect();
    let nodes: Vec<NodeId> = types.into_iter().map(|ty| l.launch.g.fresh_var(ty).1).collect();
    let body = l.launch.g.open(step, &nodes);
    let parts: Vec<NodeId> = l.launch.g.op(body).operands().collect();
    let (condition, next) = parts.split_first().expect("a condition and the next states");
    let shared = shared(l, *condition, next, (&nodes, before));
    if !shared.is_empty() {
        return inverted(
            l,
            Step { nodes: &nodes, condition: *condition, next, shared },
            number,
            states,
            place,
        );
    }
    let mut known = place.vars.to_vec();
    known.extend(number.map(|number| (nodes[0], number.value())));
    known.extend(nodes[1..].iter().copied().zip(states.iter().map(|r| Expr::Reg(*r))));
    let mut test = Vec::new();
    let goes_on = place.values(l, &known, &[*condition], &mut test)?.remove(0);
    let mut code = Vec::new();
    let values = match next.len() {
        ..MANY => place.values(l, &known, next, &mut code)?,
        _ => place.values_in_turn(l, &known, next, &mut code)?,
    };
    go_on(l, states, values, number, &mut code);
    let always = matches!(&goes_on, Expr::Lit(l) if l.as_bool());
    let is_straight = always && test.is_empty();
    if let Some(number) = number
        && is_straight
        && batches::pay(l, batches::OF_ELEMENT_LOOP, |_| next.to_vec())
    {
        l.k.batches = true;
        let (mut batch, mut each) = (Vec::new(), Vec::new());
        let reads = batches::reads_ahead(l, next, &nodes[1..], before);
        for further in 0..batches::BATCH {
            let known = [place.vars, &[(nodes[0], number.further(further))]].concat();
            each.push(batches::read_ahead(l, place, (&reads, &known), &mut batch)?);
        }
        for ahead in each {
            let known = [known.as_slice(), &ahead].concat();
            let values = l.in_block(|l| place.values(l, &known, next, &mut batch))?;
            go_on(l, states, values, Some(number), &mut batch);
        }
        let mut out = Vec::new();
        let is_followed = number.is_followed(l, &mut out);
        out.extend([Stmt::While(is_followed, batch), Stmt::While(number.is_below(), code)]);
        return Ok(out);
    }
    let is_below = number.map_or(Expr::Lit(Lit::bool(true)), Number::is_below);
    // what the condition reads in each step may exist only if there is one more step
    let is_apart = number.is_some() && reads(&l.launch.g, *condition, before);
    if test.is_empty() && !is_apart {
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

/// Emits the change of the states and of the number of the step. All next states are computed before any state
/// changes.
fn go_on(l: &mut Lower, states: &[Reg], next: Vec<Expr>, number: Option<&Number>, out: &mut Vec<Stmt>) {
    assign(l, states, next, out);
    out.extend(
        number.map(|number| {
            Stmt::Assign(number.reg, Expr::Reg(number.reg).plus(Expr::Lit(Lit::one(number.ty))))
        }),
    );
}

/// A step of a loop whose condition shares values with the next states.
struct Step<'a> {
    /// The variables: the number of the step, and the states.
    nodes: &'a [NodeId],
    condition: NodeId,
    next: &'a [NodeId],
    shared: Vec<NodeId>,
}

/// Returns the largest values of the states that both the condition and the next states need; values in `known` were
/// computed before the steps. There are none if the condition reads in each step or has loops, because loop inversion
/// computes it once more, after the last step.
fn shared(
    l: &Lower,
    condition: NodeId,
    next: &[NodeId],
    (nodes, before): (&[NodeId], &[NodeId]),
) -> Vec<NodeId> {
    let g = &l.launch.g;
    let is_known = |n: NodeId| g.is_closed(n) || before.contains(&n);
    let of_condition: HashSet<NodeId> = g.reachable_until([condition], is_known).into_iter().collect();
    let is_plain = |n: &NodeId| {
        let op = g.op(*n);
        before.contains(n) || !op.is_loop() && !op.may_record(g) && !matches!(op, Op::Elem(..) | Op::At(..))
    };
    if !of_condition.iter().all(is_plain) {
        return Vec::new();
    }
    let is_computed = |n: NodeId| {
        let depends = |var: &NodeId| matches!(g.op(*var), Op::Var(v, _) if g.node(n).free.contains(v));
        !nodes.contains(&n) && nodes.iter().any(depends)
    };
    let (mut found, mut seen, mut stack) = (Vec::new(), HashSet::default(), next.to_vec());
    while let Some(n) = stack.pop() {
        if !is_computed(n) || !seen.insert(n) {
            continue;
        }
        match of_condition.contains(&n) {
            true => found.push(n),
            false => stack.extend(g.op(n).operands()),
        }
    }
    found
}

/// Emits the steps with the condition after each of them, and before the first.
fn inverted(
    l: &mut Lower,
    step: Step,
    number: Option<&Number>,
    states: &[Reg],
    place: &Surroundings,
) -> Result<Vec<Stmt>> {
    let mut known = place.vars.to_vec();
    known.extend(number.map(|number| (step.nodes[0], number.value())));
    known.extend(step.nodes[1..].iter().copied().zip(states.iter().map(|r| Expr::Reg(*r))));
    let wanted: Vec<NodeId> = step.shared.iter().copied().chain([step.condition]).collect();
    let test = |l: &mut Lower, out: &mut Vec<Stmt>| -> Result<Vec<Expr>> {
        let mut values = place.values(l, &known, &wanted, out)?;
        if let (Some(number), Some(goes_on)) = (number, values.last_mut()) {
            *goes_on = Expr::binary(BinaryOp::And, number.is_below(), goes_on.clone());
        }
        Ok(values)
    };
    let types: Vec<Ty> = wanted.iter().map(|n| l.launch.g.ty(*n).elem).collect();
    let kept: Vec<Reg> = types.into_iter().map(|ty| l.k.reg("kept", ty)).collect();
    let mut out = Vec::new();
    let first = test(l, &mut out)?;
    out.extend(kept.iter().zip(first).map(|(r, e)| Stmt::Var(*r, e)));
    let (mut body, mut of_step) = (Vec::new(), known.clone());
    of_step.extend(step.shared.iter().copied().zip(kept.iter().map(|r| Expr::Reg(*r))));
    let values = place.values(l, &of_step, step.next, &mut body)?;
    go_on(l, states, values, number, &mut body);
    let values = test(l, &mut body)?;
    assign(l, &kept, values, &mut body);
    let goes_on = Expr::Reg(*kept.last().expect("the condition"));
    out.push(Stmt::While(goes_on, body));
    Ok(out)
}
