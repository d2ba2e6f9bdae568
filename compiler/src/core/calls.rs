//! Steps of iterations (`Op::Iterate`), which are functions of their own that an iteration calls.

use super::rewrite::rewrite_from;
use super::simplify::{extent, simplify};
use super::{Function, Graph, NodeId, Op, Require};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// Returns the shape rules of a step that is called with these arguments.
pub fn rules_of_call(step: &Function, args: &[NodeId], g: &mut Graph) -> Vec<Require> {
    let mut memo = HashMap::default();
    let mut of_call = |r: &Require| {
        let [a, b] = [r.a, r.b].map(|n| called(step, n, args, g, &mut memo));
        Require { a, b, ..r.clone() }
    };
    step.requires.iter().map(&mut of_call).collect()
}

/// Adds shape rules to a function that it does not have yet.
pub fn add_rules(f: &mut Function, rules: Vec<Require>) {
    let mut known: HashSet<_> = f.requires.iter().map(|r| (r.rule, r.a, r.b)).collect();
    f.requires.extend(rules.into_iter().filter(|r| known.insert((r.rule, r.a, r.b))));
}

/// Adds the shape rules of the steps of a function to the function's own, for each iteration.
pub fn with_rules_of_steps(mut f: Function) -> Function {
    let (mut seen, mut rules) = (HashSet::default(), Vec::new());
    for n in f.graph.reachable(f.results.iter().map(|r| r.value)) {
        let Op::Iterate { step, form, args, .. } = f.graph.op(n).clone() else { continue };
        for step in [step].into_iter().chain(form.function()) {
            if f.graph.is_closed(n) && seen.insert((step, args.clone())) {
                rules.extend(rules_of_call(&f.steps[step as usize], &args, &mut f.graph));
            }
        }
    }
    add_rules(&mut f, rules);
    f
}

/// Removes the steps that no iteration makes.
pub fn without_unused(mut f: Function) -> Function {
    let mut used: Vec<u32> = Vec::new();
    for n in f.graph.reachable(f.roots()) {
        if let Op::Iterate { step, form, .. } = f.graph.op(n) {
            used.push(*step);
            used.extend(form.function());
        }
    }
    used.sort_unstable();
    used.dedup();
    if used.len() == f.steps.len() {
        return f;
    }
    let number = |step: u32| used.binary_search(&step).expect("a used one") as u32;
    f = rewrite_from(&f, true, &mut |g, mut op, _| {
        if let Op::Iterate { step, form, .. } = &mut op {
            *step = number(*step);
            if let Some(other) = form.function() {
                *form = form.with_function(number(other));
            }
        }
        g.add(op)
    });
    f.steps = used.iter().map(|step| f.steps[*step as usize].clone()).collect();
    f
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
