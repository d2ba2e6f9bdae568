//! What the shape rules say about lengths: linear equations, solved by elimination without
//! division.

use super::linear::Linear;
use super::{Function, Graph, NodeId, Op, Rule};
use rustc_hash::FxHashMap as HashMap;
use std::collections::BTreeMap;

/// The lengths of parameters (`len` nodes), each with what it equals in terms of the others.
#[derive(Clone, Debug, Default)]
pub struct Equations {
    /// The solved lengths, each with the form that it equals.
    pub solved: BTreeMap<NodeId, Linear>,
    /// For each length that is not solved, the solved ones whose form mentions it.
    mentioned: HashMap<NodeId, Vec<NodeId>>,
}

impl Equations {
    /// Returns what the shape rules of a function say.
    pub fn of(f: &Function) -> Equations {
        let mut equations = Equations::default();
        for r in f.requires.iter().filter(|r| r.rule == Rule::Same) {
            equations.add(&f.graph, r.a, r.b);
        }
        equations
    }

    /// Adds a = b. Returns whether the equation was new: false if it follows from the earlier ones.
    /// An equation that contains anything but lengths of parameters, or has no coefficient of 1 or
    /// -1, counts as new but is not used.
    pub fn add(&mut self, g: &Graph, a: NodeId, b: NodeId) -> bool {
        let zero = self.resolve(&Linear::of(g, a).minus(&Linear::of(g, b)));
        if zero.as_constant() == Some(0) {
            return false;
        }
        let usable = zero.terms.keys().all(|t| parameter(g, *t).is_some());
        let last =
            zero.terms.iter().filter(|(_, k)| matches!(k, 1 | -1)).max_by_key(|(t, _)| parameter(g, **t));
        if let (true, Some((&length, &k))) = (usable, last) {
            // k * length + rest = 0, so length = -k * rest
            let mut rest = zero.clone();
            rest.terms.remove(&length);
            let value = rest.scaled(-k);
            let mut users = self.mentioned.remove(&length).unwrap_or_default();
            let one = Equations { solved: [(length, value.clone())].into(), ..Equations::default() };
            for user in &users {
                if let Some(form) = self.solved.get_mut(user) {
                    *form = one.resolve(form);
                }
            }
            users.push(length);
            for term in value.terms.keys() {
                self.mentioned.entry(*term).or_default().extend(&users);
            }
            self.solved.insert(length, value);
        }
        true
    }

    /// Replaces solved lengths in a linear form.
    pub fn resolve(&self, l: &Linear) -> Linear {
        if !l.terms.keys().any(|t| self.solved.contains_key(t)) {
            return l.clone();
        }
        let mut out = Linear { constant: l.constant, ..Linear::default() };
        for (t, k) in l.terms.iter() {
            let one = Linear { constant: 0, terms: [(*t, 1)].into() };
            out = out.minus(&self.solved.get(t).unwrap_or(&one).scaled(k.wrapping_neg()));
        }
        out
    }
}

/// Returns the parameter whose length a node is.
fn parameter(g: &Graph, n: NodeId) -> Option<NodeId> {
    match g.op(n) {
        Op::Len(p, _) if matches!(g.op(*p), Op::Param(_)) => Some(*p),
        _ => None,
    }
}
