//! The list of passes, and the runner that verifies after each; in release builds after the last.

use super::{
    bounds, dce, elementary, fast, fuse, guard, half, hoist, lengths, panels, prove, shapes, simplify, split,
    stages, steps, unroll,
};
use crate::core::{Function, verify};
use crate::error::{Error, Result};
use crate::interrupt;
use std::sync::Arc;

/// A pass: its name on the command line, and what it does.
pub struct Pass {
    /// `--dump-after NAME`
    pub name: &'static str,
    /// Same meaning in, same meaning out; an error when the author's program can never work.
    pub run: fn(Function) -> Result<Function>,
}

/// The pipeline, in order. After it the function is in fused form (`verify::is_fused`).
pub const PASSES: &[Pass] = &[
    // what iterations ask for, whether or not their states are needed
    Pass { name: "steps", run: steps::run },
    // what nobody specialised
    Pass { name: "stages", run: stages::run },
    // lengths and other bounds leave no record, wherever they stand
    Pass { name: "bounds", run: bounds::run },
    // constants, algebra and lengths first, so that equal sizes look equal
    Pass { name: "simplify", run: simplify::run },
    // shape rules that can never hold are errors here
    Pass { name: "shapes", run: shapes::run },
    // what is too much for one kernel
    Pass { name: "split", run: split::run },
    // every array expression becomes an index function of parameters
    Pass { name: "fuse", run: fuse::run },
    // nested operations that depend on few of the indices around them are stored
    Pass { name: "hoist", run: hoist::run },
    // now that every length is one of a parameter, equal ones get one name; and what was composed
    // is simplified
    Pass { name: "lengths", run: lengths::run },
    // short loops inside of elements, whose reads then may turn out to be inside
    Pass { name: "unroll", run: unroll::run },
    Pass { name: "prove", run: prove::run },
    // inner products that turned out to be no part of an element
    Pass { name: "panels", run: panels::run },
    // what turned out not to depend on an element leaves its records only if the element would have
    Pass { name: "guard", run: guard::run },
    // f16 and bf16 are computed in f32
    Pass { name: "half", run: half::run },
    Pass { name: "dce", run: dce::run },
    // what `fast_math` allows
    Pass { name: "fast", run: fast::run },
    // last, because what they are made of is long; with common subexpressions
    Pass { name: "elementary", run: elementary::run },
];

/// Runs all passes; `seen` gets the function after each, for dumps.
pub fn run(f: &Function, seen: &mut dyn FnMut(&str, &Function)) -> Result<Function> {
    verify::verify(f)?;
    let mut f = f.clone();
    // what iterations call are functions like any other
    for step in &mut f.steps {
        let named = |e: Error| e.renamed(&step.name, &format!("{}, a step of its iteration", f.name));
        *step = Arc::new(run(step, seen).map_err(named)?);
    }
    guard::mark(&mut f);
    for (i, pass) in PASSES.iter().enumerate() {
        interrupt::check()?;
        f = (pass.run)(f)?;
        // a check takes as long as a pass: where functions are compiled while a program runs, only
        // the last is made
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
