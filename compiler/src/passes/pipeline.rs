//! The list of compiler passes, and the runner, which verifies after each pass; in release builds
//! after the last one only.

use super::{
    arms, behind, bounds, chains, closed_loops, dce, elementary, fast, flatten, fuse, guard, half, hoist,
    lengths, loops, moved, ordered, panels, pointwise, prove, scans, shapes, simplify, sorted_values, sorts,
    split, stages, states, steps, tables, totals, tuples, unroll,
};
use crate::budget::{self, Budget};
use crate::core::{Function, verify};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::without;
use std::sync::Arc;

/// A compiler pass: its name on the command line and its function.
pub struct Pass {
    /// The name, as in `--dump-after NAME`.
    pub name: &'static str,
    /// Rewrites a function without changing its meaning. Returns an error if the author's program
    /// can never work.
    pub run: fn(Function) -> Result<Function>,
}

/// The compiler passes, in order. After the last one the function is in fused form
/// (`verify::is_fused`).
pub const PASSES: &[Pass] = &[
    // collects the shape rules of iterations before an unneeded state is dropped
    Pass { name: "steps", run: steps::run },
    // removes the stages for which the function was not specialised
    Pass { name: "stages", run: stages::run },
    // makes lengths and other bounds leave no error record
    Pass { name: "bounds", run: bounds::run },
    // leaves out components of tuples, which tiles of reductions in order would store
    Pass { name: "tuples", run: tuples::run },
    // comes before everything that knows reductions: writes those in order as reductions of tiles
    Pass { name: "ordered", run: ordered::run },
    // comes before everything that knows arrays: writes scans as parts that are stored, or as arrays of
    // partial results
    Pass { name: "scans", run: scans::run },
    // comes early, so that equal sizes become equal nodes
    Pass { name: "simplify", run: simplify::run },
    // leaves out components of the tuples of scans, so that later passes see fewer
    Pass { name: "tuples", run: tuples::run },
    // the same for the states of loops of elements
    Pass { name: "loops", run: loops::run },
    // reports shape rules that can never hold
    Pass { name: "shapes", run: shapes::run },
    // stores arrays in the middle of what is too large for one kernel
    Pass { name: "split", run: split::run },
    // rewrites every array expression as an index function of parameters
    Pass { name: "fuse", run: fuse::run },
    // comes before passes that store loops, and after arms have their loops
    Pass { name: "arms", run: arms::run },
    // stores nested operations that depend on few of the indices around them
    Pass { name: "hoist", run: hoist::run },
    // comes after `fuse`, which composes into elements what the author wrote outside: stores loops that depend on no
    // index
    Pass { name: "closed_loops", run: closed_loops::run },
    // every length is now one of a parameter: gives equal lengths one name, and simplifies what fusion composed
    Pass { name: "lengths", run: lengths::run },
    // comes after `lengths`, which makes equal vectors equal nodes: sums integers of scanned vectors by their totals
    Pass { name: "totals", run: totals::run },
    // comes after `lengths`, which makes the lengths of orders equal nodes
    Pass { name: "moved", run: moved::run },
    // unrolls short loops inside of elements, after which their reads may be provably inside
    Pass { name: "unroll", run: unroll::run },
    Pass { name: "prove", run: prove::run },
    // comes after `prove`, so that fewer elements may leave records: computes elements where a scan is stored
    Pass { name: "behind", run: behind::run },
    // comes after short loops are unrolled: stores reductions inside of reductions
    Pass { name: "flatten", run: flatten::run },
    // comes after the passes that may make an inner product independent of an element
    Pass { name: "panels", run: panels::run },
    // comes after the passes that may make a reduction independent of an element
    Pass { name: "guard", run: guard::run },
    // comes after the passes that prove reads: stores costly functions of bytes
    Pass { name: "tables", run: tables::run },
    // computes f16 and bf16 in f32
    Pass { name: "half", run: half::run },
    Pass { name: "dce", run: dce::run },
    // comes before `elementary`, so that it finds whole functions
    Pass { name: "fast", run: fast::run },
    // comes late, because the expansions are long; also shares common subexpressions
    Pass { name: "elementary", run: elementary::run },
    // keeps both forms of a chain of stencils, so no later pass may rebuild the function
    Pass { name: "chains", run: chains::run },
];

/// Runs all passes. `seen` is called with the function after each, for dumps.
pub fn run(f: &Function, seen: &mut dyn FnMut(&str, &Function)) -> Result<Function> {
    budget::within(Budget::default(), || run_all(f, seen))
}

fn run_all(f: &Function, seen: &mut dyn FnMut(&str, &Function)) -> Result<Function> {
    verify::verify(f)?;
    // comes first, because steps that it leaves out need not be compiled, and because those of sorts are not
    // pointwise
    let f = &pointwise::run(f.clone(), &with_proven_reads)?;
    // both make steps of iterations, so they come before these are compiled; the first one leaves the orders that are
    // read by themselves
    let f = sorted_values::run(f).unwrap_or_else(|| f.clone());
    let f = sorts::run(&f).unwrap_or(f);
    // comes after orders are iterations, and before steps are compiled
    let mut f = states::run(f);
    // the steps of iterations are compiled as separate functions
    for step in &mut f.steps {
        let named = |e: Error| e.renamed(&step.name, &format!("{}, a step of its iteration", f.name));
        let own = Function { is_step: true, ..(**step).clone() };
        *step = Arc::new(run(&own, seen).map_err(named)?);
    }
    guard::mark(&mut f);
    f.graph.approximates = f.fast;
    f.graph.steps_record = f.steps.iter().any(|s| s.graph.has_records() || s.graph.steps_record);
    for (i, pass) in PASSES.iter().enumerate() {
        interrupt::check()?;
        if !without::is_pass_left_out(pass.name) {
            f = (pass.run)(f)?;
        }
        budget::check()?;
        // a check takes as long as a pass, so release builds, which also compile while a program runs, check only
        // after the last one
        if cfg!(debug_assertions) || i + 1 == PASSES.len() {
            verify::verify(&f)
                .map_err(|e| Error { message: format!("after {}: {}", pass.name, e.message), ..e })?;
        }
        seen(pass.name, &f);
    }
    if !verify::is_fused(&f) {
        return Err(Error::bug("E0304", format!("@{} is not in fused form after the passes", f.name)));
    }
    Ok(f)
}

/// Returns the step of an iteration, in which arrays are functions of indices, and reads are proven where they can
/// be. Runs the passes up to `prove`.
fn with_proven_reads(step: &Function) -> Result<Function> {
    let mut f = Function { is_step: true, ..step.clone() };
    for pass in PASSES.iter().take_while(|pass| pass.name != "behind") {
        f = (pass.run)(f)?;
    }
    Ok(f)
}
