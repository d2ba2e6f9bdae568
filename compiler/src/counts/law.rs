//! The law of work by numbers: the launches of a function make at most [`MOST`] times the operations and the loads of
//! its author's program with every shared value computed once, whatever the sizes; [`ALLOWED`] is the list of what
//! may have more, with the reasons. Every compilation of a debug build checks it and warns, and so does a test for
//! random programs. Programs that are not checked at a size say why ([`Checked::skipped`]).

use super::sizes::sizes;
use super::walk::Walk;
use super::{Counts, Size, asked, launched, structure};
use crate::core::{Function, NodeId, Op, TILE, byte_tables};
use crate::error::Result;
use crate::scalar::{BinaryOp, Ty, UnaryOp};
use std::iter::once;

/// The sizes of all extents, in turn.
pub const EXTENTS: [i64; 3] = [64, 1024, 16384];
/// The greatest ratio of operations and of loads.
const MOST: f64 = 2.0;
/// The most nodes of a function that is checked: counting takes longer than linear time.
const MAX_NODES: usize = 2000;
/// What the ends of rows add.
const NEAR: f64 = 1.02;
/// The operations and loads that no launch is too short for.
const FEW: f64 = 1000.0;

/// What may make more operations or loads than the law has.
pub struct Allowed {
    /// What it is.
    pub what: &'static str,
    /// Whether a function has it: as its author wrote it, and in fused form.
    is: fn(&Function, &Function) -> bool,
    /// The greatest ratio of operations.
    operations: f64,
    /// The greatest ratio of loads.
    loads: f64,
    /// Why.
    pub reason: &'static str,
}

/// The exceptions to the law.
pub const ALLOWED: &[Allowed] = &[
    Allowed {
        what: "values that are computed again",
        is: |_, fused| fused.repeats,
        operations: 4.0,
        loads: 4.0,
        reason: "`core/recompute` takes computing them again, as a halo is, for cheaper than storing them",
    },
    Allowed {
        what: "chains of stencils",
        is: |_, fused| !fused.by_stages.is_empty(),
        operations: 5.0,
        loads: 5.0,
        reason: "a GPU's launch computes the stages again only where tiles of them are predicted to be slower",
    },
    Allowed {
        what: "reductions in order",
        is: |source, _| has(source, |op| matches!(op, Op::ReduceOrdered { .. })),
        operations: 13.0,
        loads: 4.0,
        reason: "elements carry a flag that says whether they are there: six more operations for every join",
    },
    Allowed {
        what: "records of stored values",
        is: |_, fused| fused.needs(|n| asks_label(fused, n)),
        operations: 7.0,
        loads: 4.0,
        reason: "labels beside the values say which record each of them leaves, and every reader asks for its label",
    },
    Allowed {
        what: "values of fewer indices",
        is: |_, fused| structure::has_values_of_fewer_indices(fused),
        operations: 4.0,
        loads: 4.0,
        reason: "what depends on some of an element's indices, and is no reduction and no elementary function, is \
                 computed for all of them: storing it takes a launch",
    },
    Allowed {
        what: "tables of bytes",
        is: |_, fused| fused.needs(|n| byte_tables::read(&fused.graph, n).is_some()),
        operations: 4.0,
        loads: MOST,
        reason: "a costly function of a byte is computed for all 256 bytes (`passes/tables`), of which 64 elements \
                 have a quarter",
    },
    Allowed {
        what: "scans",
        is: |source, _| has(source, |op| matches!(op, Op::Scan { .. })),
        operations: 4.0,
        loads: 4.0,
        reason: "a scan reads its elements twice, and joins each to those of its chunk and of its tile",
    },
];

/// Why the law was not asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Skipped {
    /// The function has too many nodes.
    Long,
    /// A shape rule refuses the size.
    Refused,
}

/// What the check of a function found.
#[derive(Default, Debug)]
pub struct Checked {
    /// The extents at which the law was asked for.
    pub extents: Vec<i64>,
    /// The others.
    pub skipped: Vec<(i64, Skipped)>,
    /// What breaks the law.
    pub excess: Option<String>,
}

/// Returns whether no shape rule refuses these sizes.
fn fits(f: &Function, sizes: &[Size]) -> bool {
    let mut walk = Walk::new(f, sizes, false);
    f.requires.iter().all(|r| {
        let values = walk.value(r.a).zip(walk.value(r.b));
        values.is_none_or(|(a, b)| r.rule.holds(a.as_i64(), b.as_i64()))
    })
}

/// Whether the function or a step of it has such an operation.
fn has(f: &Function, is: fn(&Op) -> bool) -> bool {
    f.needs(|n| is(f.graph.op(n))) || f.steps.iter().any(|step| has(step, is))
}

/// Whether a node asks whether a stored value has a record.
fn asks_label(f: &Function, n: NodeId) -> bool {
    let g = &f.graph;
    let Op::Unary(UnaryOp::Unlikely, asked) = *g.op(n) else { return false };
    let Op::Binary(BinaryOp::Ne, label, none) = *g.op(asked) else { return false };
    g.ty(label).elem == Ty::U32 && g.as_lit(none).is_some_and(|l| l.bits == 0)
}

/// Returns the greatest ratios of operations and of loads that a function may have, and why.
fn limits(source: &Function, fused: &Function) -> ([f64; 2], Vec<&'static Allowed>) {
    let in_any = |allowed: &Allowed| {
        once(fused).chain(fused.steps.iter().map(|s| &**s)).any(|f| (allowed.is)(source, f))
    };
    let found: Vec<&Allowed> = ALLOWED.iter().filter(|allowed| in_any(allowed)).collect();
    let most = |of: fn(&Allowed) -> f64| found.iter().map(|allowed| of(allowed)).fold(MOST, f64::max);
    ([most(|allowed| allowed.operations), most(|allowed| allowed.loads)], found)
}

/// Returns the ratios of operations and of loads at one size.
fn ratios(source: &Function, fused: &Function, n: i64) -> Result<([f64; 2], Counts)> {
    // a reduction in order computes whole tiles
    let is_ordered = has(source, |op| matches!(op, Op::ReduceOrdered { .. }));
    let whole = if is_ordered { n.max(TILE) } else { n };
    let (asked, launched) = (asked(source, &sizes(source, whole))?, launched(fused, &sizes(source, n))?);
    // a device has time for an operation for each element that it loads or stores
    let stored = elements_of_results(source, &sizes(source, n));
    let operations = launched.operations / asked.operations.max(asked.loads).max(stored).max(FEW);
    Ok(([operations, launched.loads / asked.loads.max(FEW)], launched))
}

/// Returns the number of elements that are stored in any case.
fn elements_of_results(f: &Function, sizes: &[Size]) -> f64 {
    let mut walk = Walk::new(f, sizes, false);
    f.results.iter().map(|r| walk.elements(r.value)).sum()
}

/// Checks the launches of `fused`.
pub fn check(source: &Function, fused: &Function) -> Result<Checked> {
    let mut out = Checked::default();
    if source.graph.len().max(fused.graph.len()) > MAX_NODES {
        out.skipped = EXTENTS.map(|n| (n, Skipped::Long)).to_vec();
        return Ok(out);
    }
    let mut known = None;
    for n in EXTENTS {
        if !fits(source, &sizes(source, n)) {
            out.skipped.push((n, Skipped::Refused));
            continue;
        }
        let (ratios, made) = ratios(source, fused, n)?;
        out.extents.push(n);
        for (i, (what, count)) in [("operations", made.operations), ("loads", made.loads)].iter().enumerate()
        {
            if ratios[i] <= MOST * NEAR || out.excess.is_some() {
                continue;
            }
            let (limits, allowed) = known.get_or_insert_with(|| limits(source, fused));
            if ratios[i] > limits[i] * NEAR {
                let because: String = allowed.iter().map(|a| format!(", for {}", a.what)).collect();
                out.excess = Some(format!(
                    "{}: the launches make {count:e} {what} with extents of {n}, {:.2} times what the program asks for; \
                     {} times are allowed{because}",
                    source.name, ratios[i], limits[i]
                ));
            }
        }
    }
    Ok(out)
}

/// Returns what breaks the law, if the launches of `fused` do.
pub fn excess(source: &Function, fused: &Function) -> Result<Option<String>> {
    Ok(check(source, fused)?.excess)
}
