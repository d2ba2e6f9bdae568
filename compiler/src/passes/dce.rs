//! Dead code elimination: drops shape rules that always hold or follow from earlier ones. Nodes
//! that neither results nor shape rules reach are dropped by every compiler pass that rebuilds the
//! function.
//!
//! ```text
//! require start 0i64, 3i64 "slice of x"        ->   (gone)
//! require order %k, (add %k, 3i64) "slice of x"    stays: the sum may wrap
//! ```

use crate::core::equations::Equations;
use crate::core::linear::Linear;
use crate::core::{Function, Rule};
use crate::error::Result;
use rustc_hash::FxHashSet as HashSet;

/// Runs the pass.
pub fn run(mut f: Function) -> Result<Function> {
    let mut kept: Vec<crate::core::Require> = Vec::new();
    let mut known: HashSet<(Rule, Linear, Linear)> = HashSet::default();
    let mut equations = Equations::default();
    for r in std::mem::take(&mut f.requires) {
        let g = &f.graph;
        let [a, b] = [r.a, r.b].map(|n| Linear::of(g, n));
        let (d, is_exact) = (b.minus(&a), a.cannot_wrap(g) && b.cannot_wrap(g));
        let always = match r.rule {
            Rule::Same => d.as_constant() == Some(0) || !equations.add(g, r.a, r.b),
            _ if is_exact => d.at_least(g, 0),
            _ => a == b,
        };
        // where sums cannot wrap, a rule depends on the difference only: 0 <= n - 14 and 3 <= n - 11 are the same
        // rule. An equation holds for wrapped sums as well
        let [a, b] = if is_exact || r.rule == Rule::Same { [Linear::default(), d] } else { [a, b] };
        if !always && known.insert((r.rule, a, b)) {
            kept.push(r);
        }
    }
    f.requires = kept;
    Ok(f)
}
