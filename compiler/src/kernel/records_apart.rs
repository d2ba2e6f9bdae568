//! Loop versioning for error records that depend on data, such as the bounds checks of gathers: a first loop tests
//! whether any element would leave a record; if none would, a copy of the loop without records computes the elements.
//! These two loops have neither the running minimum of a record nor predicated loads, so both are vectorised.
//!
//! ```text
//! for %i { let %k = ids[%i]  let %inside = lt(%k, %n)  record 0 if not(%inside) at %i
//!          out[%i] = load_if(table[%k], %inside) }
//! ->
//! var %bad = 0u32    for %i { let %k = ids[%i]  %bad = or(%bad, cast u32(not(lt(%k, %n)))) }
//! if ne(%bad, 0u32) { the loop as it is } else { for %i { out[%i] = table[ids[%i]] } }
//! ```
//!
//! The check computes indices a second time; vectorisation more than makes up for that. If the conditions depend on
//! the loop's counter alone, the schedule has made such versions already (`schedule/element/in_bounds.rs`). It knows
//! nothing of rows, into which loops have been cut since (`split_rows`): conditions that ask for a row and a column
//! are tested apart as well.

use super::clone_body::copied;
use super::parts::{find_variables, operations};
use super::{Expr, Kernel, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};
use rustc_hash::FxHashSet as HashSet;

/// The maximum number of operations of a body. Longer loops stay as they are: C compilers do not vectorise them, and
/// a copy would double their code.
const LONGEST: usize = 400;

/// Runs the pass on `main`.
pub fn run(k: &mut Kernel) {
    k.rewrite_main(|k, body| {
        let mut variables = vec![false; k.regs.len()];
        find_variables(body, &mut variables);
        block(k, body, &variables);
    });
}

/// Rewrites the loops of a block. `variables` tells which of the kernel's registers are assigned.
fn block(k: &mut Kernel, body: &mut Vec<Stmt>, variables: &[bool]) {
    for mut s in std::mem::take(body) {
        s.blocks_mut().for_each(|b| block(k, b, variables));
        let check = match &s {
            Stmt::For(c, _, _, inner) => Check::of(k, *c, inner, variables),
            _ => None,
        };
        match check {
            Some(check) => body.append(&mut apart(k, s, check)),
            None => body.push(s),
        }
    }
}

/// Returns the check, and the loop in both versions.
fn apart(k: &mut Kernel, whole: Stmt, check: Check) -> Vec<Stmt> {
    let Stmt::For(c, lo, hi, body) = &whole else { return vec![whole] };
    let bad = k.reg("bad", Ty::U32);
    let zero = Expr::Lit(Lit::zero(Ty::U32));
    let is_bad = Expr::binary(BinaryOp::Ne, Expr::Reg(bad), zero.clone());
    let mut steps = check.steps;
    for condition in check.conditions {
        let bit = Expr::Cast(Ty::U32, Box::new(condition));
        steps.push(Stmt::Assign(bad, Expr::binary(BinaryOp::Or, Expr::Reg(bad), bit)));
    }
    let copy = |k: &mut Kernel, body: Vec<Stmt>| copied(k, &[Stmt::For(*c, lo.clone(), hi.clone(), body)]);
    let mut out = vec![Stmt::Var(bad, zero)];
    out.append(&mut copy(k, steps));
    let without = copy(k, without_records(body));
    out.push(Stmt::If(is_bad, vec![whole], without));
    out
}

/// The check whether any element would leave an error record.
struct Check {
    /// The statements that the conditions need.
    steps: Vec<Stmt>,
    conditions: Vec<Expr>,
}

impl Check {
    /// Returns the check of a loop's body, if the body is straight-line code with error records that depend on data,
    /// or on a variable such as a row.
    fn of(k: &Kernel, counter: Reg, body: &[Stmt], variables: &[bool]) -> Option<Check> {
        let is_plain =
            |s: &Stmt| matches!(s, Stmt::Let(..) | Stmt::Store(..) | Stmt::Record(..) | Stmt::Note(_));
        // a long body may have thousands of conditions, which are compared with each other
        if !body.iter().all(is_plain) || operations(body) > LONGEST {
            return None;
        }
        let mut conditions = Vec::new();
        for s in body {
            if let Stmt::Record(_, condition, _) = s
                && !conditions.contains(condition)
            {
                conditions.push(condition.clone());
            }
        }
        if conditions.is_empty() {
            return None;
        }
        let mut needed = HashSet::default();
        conditions.iter().for_each(|e| add_registers(e, &mut needed));
        let (mut steps, mut first_store) = (Vec::new(), body.len());
        for (i, s) in body.iter().enumerate().rev() {
            match s {
                Stmt::Let(r, e, _) if needed.contains(r) => {
                    add_registers(e, &mut needed);
                    steps.push((i, s.clone()));
                }
                Stmt::Store(..) => first_store = i,
                _ => {}
            }
        }
        let is_of_row = needed.iter().any(|r| variables.get(r.0 as usize).is_some_and(|is| *is));
        // the check runs before all stores, so none of its loads may come after a store in the loop
        let is_before = steps.first().is_none_or(|(i, _)| *i < first_store);
        steps.reverse();
        let steps: Vec<Stmt> = steps.into_iter().map(|s| s.1).collect();
        let serves = is_before && (is_of_row || is_data(k, counter, &steps));
        serves.then_some(Check { steps, conditions })
    }
}

/// Returns whether conditions depend on data: the statements load elements that depend on the loop's counter, or cast
/// floats that do to integers. For such conditions the schedule has no bounds.
fn is_data(k: &Kernel, counter: Reg, steps: &[Stmt]) -> bool {
    fn of(k: &Kernel, e: &Expr, own: &HashSet<Reg>) -> bool {
        let mut found = false;
        let part = match e {
            Expr::Load(_, at) | Expr::LoadIf(_, at, _) => Some(at),
            Expr::Cast(_, x) if k.ty(x).is_float() => Some(x),
            _ => None,
        };
        if let Some(part) = part {
            let mut used = HashSet::default();
            add_registers(part, &mut used);
            found = !used.is_disjoint(own);
        }
        e.children(|child| found |= of(k, child, own));
        found
    }
    let mut own = HashSet::default();
    own.insert(counter);
    let mut found = false;
    for s in steps {
        s.expressions(&mut |e| found |= of(k, e, &own));
        if let Stmt::Let(r, ..) = s {
            own.insert(*r);
        }
    }
    found
}

fn add_registers(e: &Expr, out: &mut HashSet<Reg>) {
    if let Expr::Reg(r) = e {
        out.insert(*r);
    }
    e.children(|child| add_registers(child, out));
}

/// Returns the body without records, simplified by the knowledge that the records' conditions do not hold.
fn without_records(body: &[Stmt]) -> Vec<Stmt> {
    let mut holds: HashSet<Reg> = HashSet::default();
    for s in body {
        if let Stmt::Record(_, Expr::Unary(UnaryOp::Not, inside), _) = s
            && let Expr::Reg(r) = **inside
        {
            holds.insert(r);
        }
    }
    let value = |s: &Stmt, holds: &HashSet<Reg>| match s {
        Stmt::Let(r, e, _) if holds.contains(r) && !has_load(e) => Some(e.clone()),
        _ => None,
    };
    // other registers with equal values are true, too
    let known: Vec<Expr> = body.iter().filter_map(|s| value(s, &holds)).collect();
    holds.extend(body.iter().filter_map(|s| match s {
        Stmt::Let(r, e, _) if known.contains(e) => Some(*r),
        _ => None,
    }));
    let mut out: Vec<Stmt> = body.iter().filter(|s| !matches!(s, Stmt::Record(..))).cloned().collect();
    out.iter_mut().for_each(|s| s.expressions_mut(&mut |e| assume(e, &holds)));
    out
}

fn has_load(e: &Expr) -> bool {
    let mut found = matches!(e, Expr::Load(..) | Expr::LoadIf(..));
    e.children(|child| found |= has_load(child));
    found
}

/// Replaces the registers `holds` by true, and simplifies conjunctions and predicated loads.
fn assume(e: &mut Expr, holds: &HashSet<Reg>) {
    let yes = Expr::Lit(Lit::bool(true));
    e.children_mut(|child| assume(child, holds));
    match e {
        Expr::Reg(r) if holds.contains(r) => *e = yes,
        Expr::Binary(BinaryOp::And, a, b) if **a == yes => *e = (**b).clone(),
        Expr::Binary(BinaryOp::And, a, b) if **b == yes => *e = (**a).clone(),
        Expr::LoadIf(m, i, c) if **c == yes => *e = Expr::Load(*m, i.clone()),
        _ => {}
    }
}
