//! Removes the states of an iteration that are not needed: neither by a value of the iteration that is used, nor by
//! its condition, nor by the next value of another state that is needed. What the step gets from outside for removed
//! states only is removed as well.
//!
//! ```text
//! step @s(%x: [f32], %y: [f32]) -> (map %a over %x { mul .. }, map %a, %b over %x, %y { add .. })
//! %r = iterate @s 0 by %k from %v, %w
//!   ->
//! step @s(%x: [f32]) -> (map %a over %x { mul .. })
//! %r = iterate @s 0 by %k from %v
//! ```
//!
//! So a sort by merges whose order nobody reads moves no indices (`passes/sorted_values.rs`).
//!
//! A state is kept if removing it may lose an error record, and one state is always kept. The shape rules of the
//! whole step stay rules of the function. This is not in the list of passes, because the steps of iterations are
//! compiled before the first one.

use crate::core::calls::{with_rules_of_steps, without_unused};
use crate::core::records::loses_record;
use crate::core::rewrite::rewrite_from;
use crate::core::{Form, Function, Graph, NodeId, Op, Output};
use rustc_hash::FxHashMap as HashMap;
use std::sync::Arc;

/// Removes them from the iterations of a function, but not from those of its steps.
pub fn run(mut f: Function) -> Function {
    if f.steps.is_empty() {
        return f;
    }
    // repeated: a state that an iteration loses may have been the only use of a state of another one
    while let Some(short) = without_unneeded(&f) {
        f = short;
    }
    f
}

/// What an iteration keeps.
#[derive(Clone)]
struct Kept {
    /// The parameters of the step that are kept, states before others.
    params: Vec<u32>,
    /// The step without the other parameters.
    step: u32,
    form: Form,
}

/// Removes states that the present uses do not need. Returns `None` if there are none.
fn without_unneeded(f: &Function) -> Option<Function> {
    let iterations = iterations(f).into_iter().map(|values| (needed(f, &values), values));
    let is_short = |(params, values): &(Vec<u32>, Vec<NodeId>)| match f.graph.op(values[0]) {
        Op::Iterate { step, .. } => params.len() < f.steps[*step as usize].params.len(),
        _ => false,
    };
    let short: Vec<(Vec<u32>, Vec<NodeId>)> = iterations.filter(is_short).collect();
    if short.is_empty() {
        return None;
    }
    let mut new = Function { steps: f.steps.clone(), ..with_all_rules(f) };
    let mut kept: HashMap<NodeId, Kept> = HashMap::default();
    let mut made: HashMap<(u32, Vec<u32>), u32> = HashMap::default();
    for (params, values) in short {
        let Op::Iterate { step, form, .. } = f.graph.op(values[0]) else { continue };
        let whole = &f.steps[*step as usize];
        let only_states = |results: &[Output]| -> Vec<Output> {
            params.iter().filter_map(|p| results.get(*p as usize)).cloned().collect()
        };
        let mut shortened = |step: u32, results: Vec<Output>| {
            *made.entry((step, params.clone())).or_insert_with(|| {
                new.steps.push(Arc::new(only(&f.steps[step as usize], &params, results)));
                new.steps.len() as u32 - 1
            })
        };
        let step = shortened(*step, only_states(&whole.results));
        let form = match *form {
            Form::Or(other) => {
                let results = &f.steps[other as usize].results;
                form.with_function(shortened(other, only_states(results)))
            }
            Form::Until(check) => {
                let results = f.steps[check.step as usize].results.clone();
                form.with_function(shortened(check.step, results))
            }
            Form::Last | Form::Each => *form,
        };
        kept.extend(values.iter().map(|n| (*n, Kept { params: params.clone(), step, form })));
    }
    let new = rewrite_from(&new, true, &mut |g, op, n| match kept.get(&n) {
        Some(kept) => g.add(kept.value(op)),
        None => g.add(op),
    });
    let mut new = without_unused(new);
    // a step and its short form may both be needed
    for at in 1..new.steps.len() {
        let (before, own) = new.steps.split_at_mut(at);
        let is_taken = |name: &str| before.iter().any(|s| s.name == name);
        if is_taken(&own[0].name) {
            let names = (2..).map(|k| format!("{}_{k}", own[0].name));
            let name = names.into_iter().find(|name| !is_taken(name)).unwrap_or_default();
            Arc::make_mut(&mut own[0]).name = name;
        }
    }
    Some(new)
}

impl Kept {
    /// Returns the value of the iteration that has the kept states only.
    fn value(&self, op: Op) -> Op {
        let Op::Iterate { which, count, mut args, .. } = op else { return op };
        // the number of steps is behind the states and what the step gets from outside
        let number = if let Form::Until(_) = self.form { args.pop() } else { None };
        let at = self.params.iter().position(|p| *p == which).unwrap_or(self.params.len());
        let args = self.params.iter().map(|p| args[*p as usize]).chain(number).collect();
        Op::Iterate { step: self.step, which: at as u32, form: self.form, count, args }
    }
}

/// Returns the values that are used of each iteration that is computed once for the call.
fn iterations(f: &Function) -> Vec<Vec<NodeId>> {
    let mut all: Vec<Vec<NodeId>> = Vec::new();
    let mut known: HashMap<Op, usize> = HashMap::default();
    for n in f.graph.reachable(f.roots()) {
        if !matches!(f.graph.op(n), Op::Iterate { .. }) {
            continue;
        }
        let mut op = f.graph.op(n).clone();
        if let Op::Iterate { which, .. } = &mut op {
            *which = 0;
        }
        if f.graph.is_closed(n) {
            let at = *known.entry(op).or_insert(all.len());
            match all.get_mut(at) {
                Some(values) => values.push(n),
                None => all.push(vec![n]),
            }
        }
    }
    all
}

/// Returns the parameters of an iteration's step that these values need.
fn needed(f: &Function, values: &[NodeId]) -> Vec<u32> {
    let Op::Iterate { step, form, args, .. } = f.graph.op(values[0]) else { return Vec::new() };
    let step = &f.steps[*step as usize];
    let (states, count) = (step.results.len(), step.params.len());
    let mut is_needed = vec![false; count];
    let mut needs: Vec<usize> = Vec::new();
    for n in values {
        // the number of steps is none of the step's parameters
        if let Op::Iterate { which, .. } = f.graph.op(*n) {
            needs.extend(Some(*which as usize).filter(|which| *which < count));
        }
    }
    if let Form::Until(check) = form {
        let check = &f.steps[check.step as usize];
        needs.extend(params(&check.graph, check.results.iter().map(|r| r.value)));
    }
    let mut functions: Vec<&Function> = vec![step];
    if let Form::Or(other) = form {
        functions.push(&f.steps[*other as usize]);
    }
    let is_recorded = |p: usize| {
        let of = |f: &&Function| p < states && loses(f, f.results[p].value);
        loses(f, args[p]) || functions.iter().any(of)
    };
    needs.extend((0..count).filter(|p| is_recorded(*p)));
    loop {
        while let Some(p) = needs.pop() {
            if !std::mem::replace(&mut is_needed[p], true) && p < states {
                needs.extend(functions.iter().flat_map(|f| params(&f.graph, [f.results[p].value])));
            }
        }
        if is_needed[..states].contains(&true) {
            break;
        }
        // only the number of steps is used, and the condition reads no state: a step has a result all the same
        needs.push(0);
    }
    (0..count as u32).filter(|p| is_needed[*p as usize]).collect()
}

/// Whether removing a value of a function may lose an error record, also one of the steps of iterations.
fn loses(f: &Function, n: NodeId) -> bool {
    let is_iteration = |n: NodeId| matches!(f.graph.op(n), Op::Iterate { .. });
    loses_record(&f.graph, n) || steps_record(f) && f.graph.reachable([n]).into_iter().any(is_iteration)
}

/// Whether the step of an iteration may leave an error record.
fn steps_record(f: &Function) -> bool {
    f.steps.iter().any(|s| s.graph.has_records() || steps_record(s))
}

/// Returns the parameters from which values are computed.
fn params(g: &Graph, values: impl IntoIterator<Item = NodeId>) -> Vec<usize> {
    let number = |n: NodeId| if let Op::Param(p) = g.op(n) { Some(*p as usize) } else { None };
    g.reachable(values).into_iter().filter_map(number).collect()
}

/// Returns the step, or its check, with these parameters and results only.
fn only(step: &Function, kept: &[u32], results: Vec<Output>) -> Function {
    let is_kept = |p: usize| kept.contains(&(p as u32));
    let own = kept.iter().map(|p| step.params[*p as usize].clone()).collect();
    let mut short = Function { params: own, results, ..step.clone() };
    short.requires.retain(|r| params(&step.graph, [r.a, r.b]).into_iter().all(is_kept));
    rewrite_from(&short, true, &mut |g, op, _| match op {
        Op::Param(p) => {
            let at = kept.iter().position(|own| *own == p).expect("a kept parameter");
            g.add(Op::Param(at as u32))
        }
        op => g.add(op),
    })
}

/// Returns a function with the rules of the iterations inside it, and of those inside of their steps.
fn with_all_rules(f: &Function) -> Function {
    let mut f = f.clone();
    for step in &mut f.steps {
        *step = Arc::new(with_all_rules(step));
    }
    with_rules_of_steps(f)
}
