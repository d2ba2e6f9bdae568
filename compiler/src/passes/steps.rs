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

use crate::core::simplify::{extent, simplify};
use crate::core::{Form, Function, Graph, NodeId, Op, Require};
use crate::error::Result;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// Runs the pass.
pub fn run(mut f: Function) -> Result<Function> {
    let mut seen = HashSet::default();
    let mut rules: HashSet<_> = f.requires.iter().map(|r| (r.rule, r.a, r.b)).collect();
    for n in f.graph.reachable(f.results.iter().map(|r| r.value)) {
        let Op::Iterate { step, form, args, .. } = f.graph.op(n).clone() else { continue };
        let check = if let Form::Until(check) = form { Some(check.step) } else { None };
        for step in [step].into_iter().chain(check) {
            if !f.graph.is_closed(n) || !seen.insert((step, args.clone())) {
                continue;
            }
            let step = f.steps[step as usize].clone();
            let mut memo = HashMap::default();
            for r in &step.requires {
                let [a, b] = [r.a, r.b].map(|n| called(&step, n, &args, &mut f.graph, &mut memo));
                let rule = Require { a, b, ..r.clone() };
                if rules.insert((rule.rule, rule.a, rule.b)) {
                    f.requires.push(rule);
                }
            }
        }
    }
    Ok(f)
}

/// Returns the host scalar of a step, expressed by the arguments of a call of the step.
fn called(
    step: &Function,
    n: NodeId,
    args: &[NodeId],
    g: &mut Graph,
    memo: &mut HashMap<NodeId, NodeId>,
) -> NodeId {
    if let Some(known) = memo.get(&n) {
        return *known;
    }
    let made = match step.graph.op(n) {
        Op::Param(p) => args[*p as usize],
        Op::Len(x, axis) => match step.graph.op(*x) {
            Op::Param(p) => extent(g, args[*p as usize], *axis),
            _ => {
                let mut own = step.graph.clone();
                let length = extent(&mut own, *x, *axis);
                let own = Function { graph: own, ..step.clone_head() };
                called(&own, length, args, g, &mut HashMap::default())
            }
        },
        op => {
            let operands: Vec<NodeId> = op.operands().map(|o| called(step, o, args, g, memo)).collect();
            simplify(g, op.with(&operands, None))
        }
    };
    memo.insert(n, made);
    made
}
