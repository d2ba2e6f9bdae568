//! Dead code elimination: drops shape rules that always hold or follow from earlier ones. Nodes
//! that neither results nor shape rules reach are dropped by every compiler pass that rebuilds the
//! function.
//!
//! ```text
//! require start 0i64, 3i64 "slice of x"        ->   (gone)
//! ```

use crate::core::equations::Equations;
use crate::core::linear::Linear;
use crate::core::{Function, Rule};
use crate::error::Result;
use rustc_hash::FxHashSet as HashSet;

/// Runs the pass.
pub fn run(mut f: Function) -> Result<Function> {
    let mut kept: Vec<crate::core::Require> = Vec::new();
    let mut known: HashSet<(Rule, Linear)> = HashSet::default();
    let mut equations = Equations::default();
    for r in std::mem::take(&mut f.requires) {
        let g = &f.graph;
        let d = Linear::of(g, r.b).minus(&Linear::of(g, r.a));
        let always = if r.rule == Rule::Same { d.as_constant() == Some(0) } else { d.at_least(g, 0) };
        let always = always || r.rule == Rule::Same && !equations.add(g, r.a, r.b);
        // a rule depends on the difference only: 0 <= n - 14 and 3 <= n - 11 are the same rule
        if !always && known.insert((r.rule, d)) {
            kept.push(r);
        }
    }
    f.requires = kept;
    Ok(f)
}
