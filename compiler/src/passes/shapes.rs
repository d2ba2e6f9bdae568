//! Shape rules that can never hold, whatever the lengths are, are errors of the author's program, at the author's line.
//!
//! ```text
//! require stop (add (len %x), 1i64), (len %x) "slice of x"    ->   error: the slice always stops 1 or more past the end
//! ```
//!
//! The rules of an iteration's step are rules of the function that begins it, whether or not its states are needed.

use super::simplify::{extent, simplify};
use crate::core::linear::Linear;
use crate::core::{Function, Graph, NodeId, Op, Require, Rule};
use crate::error::{Error, Result};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// Runs the pass.
pub fn run(mut f: Function) -> Result<Function> {
    rules_of_steps(&mut f);
    for r in &f.requires {
        if let Some(why) = never_holds(&f.graph, r) {
            return Err(Error::user("E0310", format!("{}: {}: {why}", f.name, r.subject)).at(r.loc.first()));
        }
    }
    Ok(f)
}

/// Adds the rules of steps, of the states and values that they get.
fn rules_of_steps(f: &mut Function) {
    let mut seen = HashSet::default();
    for n in f.graph.reachable(f.results.iter().map(|r| r.value)) {
        let Op::Iterate { step, args, .. } = f.graph.op(n).clone() else { continue };
        if !f.graph.is_closed(n) || !seen.insert((step, args.clone())) {
            continue;
        }
        let step = f.steps[step as usize].clone();
        let mut memo = HashMap::default();
        for r in &step.requires {
            let [a, b] = [r.a, r.b].map(|n| called(&step, n, &args, &mut f.graph, &mut memo));
            let rule = Require { a, b, ..r.clone() };
            if !f.requires.iter().any(|r| r.rule == rule.rule && r.a == rule.a && r.b == rule.b) {
                f.requires.push(rule);
            }
        }
    }
}

/// What a host scalar of a step is where the step is called with these arguments.
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

/// Why a rule can never hold, whatever the lengths are.
fn never_holds(g: &Graph, r: &Require) -> Option<String> {
    let (a, b) = (Linear::of(g, r.a), Linear::of(g, r.b));
    let d = b.minus(&a);
    let never = if r.rule == Rule::Same { d.at_least(g, 1) || d.at_most(g, -1) } else { d.at_most(g, -1) };
    if !never {
        return None;
    }
    Some(match (a.as_constant(), b.as_constant()) {
        (Some(a), Some(b)) => r.rule.violation(a, b),
        _ => match r.rule {
            Rule::Same => format!("the lengths always differ (by {} or more)", d.constant.abs()),
            Rule::Stop => format!("the slice always stops {} or more past the end", -d.constant),
            Rule::Order => "the slice always stops before its start".into(),
            Rule::Start => "the slice always starts below 0".into(),
            Rule::Stride => "the stride is always below 1".into(),
            Rule::Index => "the index is always negative".into(),
            Rule::Inside => format!("the index is always {} or more past the end", -d.constant),
            Rule::Extent => "the length is always negative".into(),
            Rule::Margin => "the array is always shorter than the margin needs".into(),
            Rule::Count => "the number of steps is always negative".into(),
            Rule::Part => "the part is always empty".into(),
        },
    })
}
