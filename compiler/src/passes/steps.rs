//! Adds the shape rules of an iteration's step to the function that contains the iteration, whether
//! or not a result needs its states.
//!
//! ```text
//! @step(%y: [f64]): require stop 3i64, (len %y) "slice"
//! %1 = iterate 2i64 @step (%x)            ->   require stop 3i64, (len %x) "slice"
//! ```
//!
//! This is the first pass, because later ones drop iterations whose states nobody reads, together
//! with their rules. The step's own passes ran before, so the rules of iterations inside it are
//! already among its rules.

use crate::core::calls::{add_rules, rules_of_call};
use crate::core::{Form, Function, Op};
use crate::error::Result;
use rustc_hash::FxHashSet as HashSet;

/// Runs the pass.
pub fn run(mut f: Function) -> Result<Function> {
    let (mut seen, mut rules) = (HashSet::default(), Vec::new());
    for n in f.graph.reachable(f.results.iter().map(|r| r.value)) {
        let Op::Iterate { step, form, args, .. } = f.graph.op(n).clone() else { continue };
        let check = if let Form::Until(check) = form { Some(check.step) } else { None };
        for step in [step].into_iter().chain(check) {
            if f.graph.is_closed(n) && seen.insert((step, args.clone())) {
                rules.extend(rules_of_call(&f.steps[step as usize], &args, &mut f.graph));
            }
        }
    }
    add_rules(&mut f, rules);
    Ok(f)
}
