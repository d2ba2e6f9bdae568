//! The laws of well-formed functions. The pipeline checks them after every compiler pass, and in
//! release builds after the last one only.
//!
//! 1. Every node is typed (`infer.rs`; [`super::Graph::add`] ensures it).
//! 2. Results and the operands of shape rules have no free variables; there is at least one result.
//! 3. Operands of shape rules are host scalars: they depend on constants, lengths and scalar parameters only.
//! 4. Lambdas are canonical: their variables are numbered from one above the binders of their body.
//!    No fresh variable is left.
//! 5. In *fused* form ([`is_fused`]) the only arrays are parameters, `generate`, `materialize` of a `generate`, and
//!    `iterate`. Reductions take `generate` only, and array results are `generate`, `iterate`, or a `materialize`
//!    that other elements read, too. Reads and the states of iterations take stored arrays only. A `panel_dot` is
//!    part of an element.
//! 6. The operand of `stage` is a scalar that the host computes; anything else is an error of the
//!    author's program.
//! 7. A scan, an order and bins mention no variable of a closure; anything else is an error of the author's
//!    program, too.
//! 8. The steps of iterations are well-formed functions from states, and other arguments, to
//!    states; their scalars are host scalars. Only steps have the number of a step.

use super::graph::FRESH;
use super::host::HostScalars;
use super::scan_stages::scan_of_places;
use super::{Form, Function, Graph, NodeId, Op, ScanPart, Type, tuples};
use crate::error::{Error, Result};
use crate::scalar::Ty;
use rustc_hash::FxHashSet as HashSet;

/// Checks laws 1 to 4 and 6 to 8.
pub fn verify(f: &Function) -> Result<()> {
    well_formed(f, f.is_step)
}

/// Refuses a function that stores at computed places before any pass: passes rely on it that no two elements go to
/// the same place, and nothing checks that for a text.
pub fn has_no_places(f: &Function) -> Result<()> {
    let is_place = |op: &Op| matches!(op, Op::Place { .. }) || op.is_step_of_sort();
    let place = f.graph.reachable(f.roots()).into_iter().find(|n| is_place(f.graph.op(*n)));
    if let Some(n) = place {
        let what = match f.graph.op(n) {
            Op::Place { .. } => "a `place`",
            _ => "a step of a sort",
        };
        let message = format!("@{}: {n:?} is {what}, which only passes make", f.name);
        return Err(Error::bug("E0301", message));
    }
    f.steps.iter().try_for_each(|step| has_no_places(step))
}

fn well_formed(f: &Function, is_step: bool) -> Result<()> {
    let bad = |message: String| Err(Error::bug("E0301", format!("@{}: {message}", f.name)));
    let g = &f.graph;
    if f.results.is_empty() {
        return bad("no result".into());
    }
    for r in &f.results {
        if matches!(g.op(r.value), Op::Tuple(_)) || tuples::has_tuples(g, r.value) {
            return bad(format!("result {} is a tuple", r.name));
        }
        if is_part(g, r.value) {
            return bad(format!(
                "result {} is {} that is not stored: `materialize` it",
                r.name,
                part_name(g, r.value)
            ));
        }
        if !g.is_closed(r.value) {
            return bad(format!("result {} has free variables", r.name));
        }
    }
    let mut hosts = HostScalars::default();
    for r in &f.requires {
        for n in [r.a, r.b] {
            if !hosts.is_host(g, n) {
                return bad(format!(
                    "the rule `{}` is about {n:?}, which the host cannot compute",
                    r.subject
                ));
            }
        }
    }
    for step in &f.steps {
        well_formed(step, true)?;
    }
    // the launch that scans tiles stores the places that depend on them, or the elements at their own places
    let apart: HashSet<NodeId> =
        g.reachable_until(f.roots(), |n| matches!(g.op(n), Op::Place { .. })).into_iter().collect();
    for n in g.reachable(f.roots()) {
        let op = g.op(n);
        if matches!(op, Op::Turn) && !is_step {
            return bad(format!("{n:?} is the number of a step outside of the step of an iteration"));
        }
        if let Op::Stage(x) = op {
            staged(f, n, *x, &mut hosts)?;
        }
        if let Op::Iterate { step, which, form, args, .. } = op {
            if !is_fitting(f, *step, *which, *form, args) {
                return bad(format!("{n:?} has a step that does not fit its states"));
            }
            let scalars = || args.iter().filter(|a| g.ty(**a).is_scalar());
            if g.is_closed(n)
                && !g.op(n).operands().take(1).chain(scalars().copied()).all(|s| hosts.is_host(g, s))
            {
                return bad(format!("{n:?} gets a scalar that the host cannot compute"));
            }
        }
        if let Some(length) = lengths(op).into_iter().find(|l| g.is_closed(*l) && !hosts.is_host(g, *l)) {
            return bad(format!("{n:?} has a bound or length, {length:?}, that the host cannot compute"));
        }
        if let Op::Var(v, _) = op
            && v.0 >= FRESH
        {
            return bad(format!("{n:?} is a fresh variable outside any lambda"));
        }
        if op.is_stored_apart() || matches!(op, Op::Argsort(_)) {
            is_outside(g, n)?;
        }
        let stores = matches!(op, Op::Materialize(_)) || matches!(op, Op::Elem(..)) && !apart.contains(&n);
        if !stores && let Some(part) = op.operands().find(|o| is_part(g, *o)) {
            return bad(format!(
                "{n:?} needs {part:?}, {} that is not stored: `materialize` it",
                part_name(g, part)
            ));
        }
        if let Some(what) = misplaced_tuple(g, n) {
            return bad(format!("{n:?} has a tuple as {what}"));
        }
        if let Some(l) = op.lambda() {
            let base = g.node(l.body).height + 1;
            if l.params.iter().zip(base..).any(|(p, i)| p.0.0 != i) {
                return bad(format!("the lambda of {n:?} is not canonical"));
            }
        }
    }
    Ok(())
}

/// Whether a step gives states of the types that it gets, an iteration gives one of them, a check gets the same and
/// gives one number, and so does what an iteration without steps gives, with the states.
fn is_fitting(f: &Function, step: u32, which: u32, form: Form, args: &[NodeId]) -> bool {
    let types: Vec<Type> = args.iter().map(|a| f.graph.ty(*a)).collect();
    let number = Type::vector(Ty::I64);
    let given = match (form, types.split_last()) {
        (Form::Until(_), Some((last, given))) if *last == number => given,
        (Form::Until(_), _) => return false,
        (Form::Last | Form::Or(_) | Form::Each, _) => &types,
    };
    let gets = |s: &Function| s.params.iter().map(|p| p.ty).eq(given.iter().copied());
    let gives = |s: &Function| s.results.iter().map(|r| s.graph.ty(r.value)).collect::<Vec<Type>>();
    let (Some(step), true) = (f.steps.get(step as usize), which < args.len() as u32) else { return false };
    let states = gives(step);
    let is_state = (which as usize) < states.len();
    let checked = match form {
        Form::Until(check) => {
            let fits = |s: &Function| gets(s) && gives(s) == [number] && check.every > 0;
            f.steps.get(check.step as usize).is_some_and(|s| fits(s))
                && (is_state || which as usize == given.len())
        }
        Form::Or(function) => {
            is_state && f.steps.get(function as usize).is_some_and(|s| gets(s) && gives(s) == states)
        }
        Form::Last | Form::Each => is_state,
    };
    checked && gets(step) && given.starts_with(&states) && states.iter().all(|ty| !ty.is_scalar())
}

/// Whether a node is a part of a scan or a sort, bins, or a vector in which elements are stored. These have a launch
/// of their own, and so are stored wherever they are needed.
fn is_part(g: &Graph, n: NodeId) -> bool {
    match g.op(n) {
        Op::Scan { part, .. } => *part != ScanPart::Whole,
        op => op.is_step_of_sort() || matches!(op, Op::Bins { .. } | Op::Put { .. }),
    }
}

fn part_name(g: &Graph, n: NodeId) -> &'static str {
    match g.op(n) {
        Op::Bins { .. } => "an array of bins",
        Op::Put { .. } => "a vector in which elements are stored",
        _ => "a part of a scan",
    }
}

/// Returns the word for an operation's tuple that is not an element, an initial value or the result of an operator of
/// a reduction or fold, if it has such a tuple.
fn misplaced_tuple(g: &Graph, n: NodeId) -> Option<&'static str> {
    let is_tuple = |n: NodeId| matches!(g.op(n), Op::Tuple(_)) || tuples::has_tuples(g, n);
    match g.op(n) {
        Op::Reduce { .. } | Op::ReduceOrdered { .. } | Op::Scan { .. } | Op::Fold { .. } => None,
        op => op.operands().any(is_tuple).then_some("an operand"),
    }
}

/// Returns the operands, apart from other arrays, that determine the length of an operation's array.
fn lengths(op: &Op) -> Vec<NodeId> {
    match op {
        Op::Generate(extents, _) => extents.clone(),
        Op::Slice { start, stop, stride, .. } => vec![*start, *stop, *stride],
        Op::Spread { n, .. } | Op::Iota(n) | Op::Fill(n, _) => vec![*n],
        Op::Scan { part: ScanPart::Totals, init, .. } => vec![*init],
        Op::Bins { parts, count, .. } => vec![*parts, *count],
        Op::DigitCounts { count, tiles, .. } => vec![*count, *tiles],
        Op::DigitEnds { digits, tiles, .. } => vec![*digits, *tiles],
        Op::ByDigit { tiles, .. } => vec![*tiles],
        _ => Vec::new(),
    }
}

/// The constructs that must stand outside of closures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Apart {
    /// A scan, or a segmented reduction, which has scans.
    Scan,
    /// A sort, or a filter.
    Sort,
    /// A scatter, or a histogram.
    Scatter,
}

impl Apart {
    /// Returns the constructs that are made of an operation.
    pub fn of(op: &Op) -> Apart {
        match op {
            Op::Bins { .. } | Op::Put { .. } => Apart::Scatter,
            op if op.is_step_of_sort() || matches!(op, Op::Argsort(_) | Op::Place { .. }) => Apart::Sort,
            _ => Apart::Scan,
        }
    }
}

/// Refuses a scan, an order or bins inside of a closure: every element of the closure would have one of its own.
pub fn is_outside(g: &Graph, n: NodeId) -> Result<()> {
    let what = Apart::of(g.op(n));
    stands_outside(g, n, what, None)
}

/// Refuses a construct, or a value that contains some, if it mentions variables of a closure. The author's word for
/// the construct stands in the message, if it is known.
pub fn stands_outside(g: &Graph, n: NodeId, what: Apart, word: Option<&str>) -> Result<()> {
    if g.is_closed(n) {
        return Ok(());
    }
    let (any, reason) = match what {
        Apart::Scatter => (
            "a scatter or a histogram",
            "and this version has none of rows or segments; write it of the whole vector outside, and read that at an \
             index",
        ),
        Apart::Sort => (
            "a sort or a filter",
            "and this version does not sort or filter rows or segments; write it of the whole vector outside, and \
             read that at an index",
        ),
        Apart::Scan => (
            "a scan, or a reduction of segments or by key,",
            "and outside there are those of whole vectors, and scans of rows, columns and planes, which elements may \
             read at an index",
        ),
    };
    let word = word.unwrap_or(any);
    let message = format!("{word} inside of a closure: each element would have its own, {reason}");
    Err(Error::limit("E0312", message).at(g.node(n).loc.first()))
}

/// Checks the operand of `stage`: it is known before any launch, and leaves no error record.
fn staged(f: &Function, n: NodeId, x: NodeId, hosts: &mut HostScalars) -> Result<()> {
    if hosts.is_host(&f.graph, x) && hosts.runs_on_host(&f.graph, x) {
        return Ok(());
    }
    let message = format!(
        "{}: stage of a value that only the device knows; it must follow from lengths, constants and scalar parameters, and not divide \
         integers by what may be 0",
        f.name
    );
    Err(Error::user("E0311", message).at(f.graph.node(n).loc.first()))
}

/// Returns whether the host can compute a node before any launch ([`HostScalars::is_host`]).
pub fn is_host(g: &Graph, n: NodeId) -> bool {
    HostScalars::default().is_host(g, n)
}

/// Returns whether the host computes a node before a launch ([`HostScalars::runs_on_host`]).
pub fn runs_on_host(g: &Graph, n: NodeId) -> bool {
    HostScalars::default().runs_on_host(g, n)
}

/// Returns whether law 5 holds.
pub fn is_fused(f: &Function) -> bool {
    let g = &f.graph;
    let made = |n: NodeId| matches!(g.op(n), Op::Generate(..));
    let result = |n: NodeId| {
        g.ty(n).is_scalar() || made(n) || matches!(g.op(n), Op::Iterate { .. } | Op::Materialize(_))
    };
    f.results.iter().all(|r| result(r.value))
        && f.steps.iter().all(|s| is_fused(s))
        && g.reachable(f.results.iter().map(|r| r.value)).into_iter().all(|n| match g.op(n) {
            Op::Map(..) | Op::Slice { .. } | Op::Reverse(..) | Op::Iota(_) | Op::Fill(..) => false,
            Op::Permute(..) | Op::Pick { .. } | Op::Spread { .. } | Op::Stage(_) => false,
            Op::ReduceOrdered { .. } | Op::Scan { part: ScanPart::Whole, .. } | Op::Argsort(_) => false,
            Op::Bins { at, src, .. } => made(*at) && made(*src),
            Op::Place { at, src } => made(*at) && made(*src) && scan_of_places(g, *at, *src).is_some(),
            Op::Put { at, src, base, after } => {
                [at, src, base].into_iter().all(|x| made(*x)) && g.is_stored(*after)
            }
            Op::DigitCounts { digits, .. } => made(*digits),
            Op::DigitEnds { counts, .. } => made(*counts),
            Op::ByDigit { digits, ends, src, .. } => [digits, ends, src].into_iter().all(|x| made(*x)),
            Op::Scan { part, init, src, .. } => made(*src) && (*part != ScanPart::Tiles || made(*init)),
            Op::Materialize(x) => made(*x) || g.op(*x).is_stored_apart(),
            Op::Elem(x, i) if matches!(g.op(*x), Op::Scan { part: ScanPart::Tiles, .. }) => {
                i.iter().all(|i| matches!(g.op(*i), Op::Var(..)))
            }
            Op::At(x, _) | Op::Elem(x, _) => g.is_stored(*x),
            Op::Iterate { args, .. } => args.iter().all(|a| g.ty(*a).is_scalar() || g.is_stored(*a)),
            Op::Len(x, _) => matches!(g.op(*x), Op::Param(_)),
            Op::Reduce { src, .. } | Op::Fold { src, .. } | Op::SquaredDeviations { src, .. } => made(*src),
            Op::Dot { a, b, .. } => made(*a) && made(*b),
            Op::PanelDot { a, b, .. } => made(*a) && made(*b) && !g.is_closed(n),
            _ => true,
        })
}
