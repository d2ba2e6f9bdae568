//! The reference interpreter: `docs/semantics.md` as code. It is slow and simple, and all tests
//! compare with it.
//!
//! It evaluates core IR at any stage of the pipeline. `select` is lazy and every value is computed
//! once for each binding of its variables, so a record is left exactly when the program's meaning
//! asks for it.

mod call;
mod element_loop;
mod env;
mod iteration;
mod machine;
mod moments;
mod values;
mod watch;

use super::{Function, NodeId, Op, Type};
use crate::error::{Error, Result};
use crate::scalar::{Lit, Ty};
use env::Env;
use machine::Machine;
use std::rc::Rc;
pub use values::Value;
use values::{Array, Val};
pub use watch::Watch;

/// The outcome of a call.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// The results, NaN canonical.
    pub results: Vec<Value>,
    /// Whether an error record was left (semantics section 6).
    pub recorded: bool,
}

/// Bytes of stack for the recursion over deep programs.
const STACK: usize = 512 << 20;

/// Calls a function. A shape rule that does not hold is an error that contains the rule's sizes.
pub fn run(f: &Function, args: &[Value]) -> Result<Outcome> {
    stacker::grow(STACK, || run_here(f, args, None))
}

/// [`run`] for a caller who watches the values that have names, and the place of the first error record.
pub fn run_watched(f: &Function, args: &[Value], watch: &Watch) -> Result<Outcome> {
    stacker::grow(STACK, || run_here(f, args, Some(watch)))
}

/// Returns the number of elements of the largest array of a call, among those whose lengths do not
/// depend on an element. Only lengths are computed, so callers can reject programs that would take
/// too long.
pub fn largest(f: &Function, args: &[Value]) -> Result<u64> {
    let args = values(f, args)?;
    let (mut m, env) = (Machine::checked(f, args)?, Env::default());
    let g = &f.graph;
    let arrays = g.reachable(f.results.iter().map(|r| r.value));
    let has_known_lengths = |n: NodeId| match g.op(n) {
        Op::Generate(extents, _) => extents.iter().all(|e| g.is_closed(*e)),
        Op::Fill(count, _) => g.is_closed(*count),
        _ => g.is_closed(n),
    };
    let arrays = arrays.into_iter().filter(|n| !g.ty(*n).is_scalar() && has_known_lengths(*n));
    let sizes = arrays.map(|n| m.extents(n, &env).iter().fold(1u64, |a, n| a.saturating_mul(*n as u64)));
    Ok(sizes.max().unwrap_or(0))
}

fn run_here(f: &Function, args: &[Value], watch: Option<&Watch>) -> Result<Outcome> {
    let args = values(f, args)?;
    if !f.steps.is_empty() {
        check_steps(f, args.clone())?;
    }
    let (results, recorded) = Machine::call(f, args, 0, watch)?;
    Ok(Outcome { results: results.into_iter().map(Value::of).collect(), recorded })
}

/// Converts the arguments to values of the parameters.
fn values(f: &Function, args: &[Value]) -> Result<Vec<Val>> {
    check_arguments(f, args)?;
    // a byte other than 0 counts as true
    let read = |l: &Lit| if l.ty == Ty::Bool { Lit::bool(l.as_bool()) } else { *l };
    let all = |v: &[Lit]| v.iter().map(read).collect();
    let args = args.iter().map(|a| match a {
        Value::Scalar(l) => Val::Scalar(read(l)),
        Value::Vector(v) => Val::Array(Rc::new(Array::vector(all(v)))),
        Value::Array(extents, v) => Val::Array(Rc::new(Array { extents: extents.clone(), elements: all(v) })),
    });
    Ok(args.collect())
}

/// Checks the shape rules of steps, which are rules of the call, whether or not a result needs the
/// states (semantics 5.11). They depend on lengths and host scalars only, so no element is
/// computed.
fn check_steps(f: &Function, args: Vec<Val>) -> Result<()> {
    let (mut m, env) = (Machine::checked(f, args)?, Env::default());
    for n in f.graph.reachable(f.results.iter().map(|r| r.value)) {
        let Op::Iterate { step, form, args, .. } = f.graph.op(n) else { continue };
        if f.graph.is_closed(n) {
            let begin = args.iter().map(|a| match f.graph.ty(*a).is_scalar() {
                true => Val::Scalar(m.host(*a, &env)),
                false => Val::Array(Rc::new(Array { extents: m.extents(*a, &env), elements: Vec::new() })),
            });
            let mut begin: Vec<Val> = begin.collect();
            let step = &f.steps[*step as usize];
            begin.truncate(step.params.len());
            if let Some(other) = form.function() {
                check_steps(&f.steps[other as usize], begin.clone())?;
            }
            check_steps(step, begin)?;
        }
    }
    Ok(())
}

fn check_arguments(f: &Function, args: &[Value]) -> Result<()> {
    let fits = |ty: Type, a: &Value| match a {
        Value::Scalar(l) => ty == Type::scalar(l.ty),
        Value::Vector(v) => ty.rank == 1 && v.iter().all(|l| l.ty == ty.elem),
        Value::Array(extents, v) => {
            extents.len() == usize::from(ty.rank)
                && values::count(extents) == Some(v.len() as i64)
                && v.iter().all(|l| l.ty == ty.elem)
        }
    };
    if args.len() != f.params.len() || !f.params.iter().zip(args).all(|(p, a)| fits(p.ty, a)) {
        return Err(Error::user("E0303", format!("{}: the arguments do not fit the parameters", f.name)));
    }
    Ok(())
}
