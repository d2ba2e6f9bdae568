//! Relates the launches of a plan to the fused groups of the function, and of the steps that its
//! iterations call.

use super::formula::{Formulas, Sum};
use super::model::Amount;
use crate::core::{Form, Function, NodeId, Op};
use crate::driver::{Compiled, CompiledFunction};
use crate::error::Result;
use crate::plan::{Access, Check, Launch, Place, Plan, Repeat, Slot, Step};
use crate::schedule::groups::{self, FusedGroup};
use rustc_hash::FxHashMap as HashMap;
use std::ops::Range;
use std::sync::Arc;

/// A function, or the step of an iteration, in terms of the function.
pub struct Scope<'a> {
    pub f: Arc<Function>,
    pub fused_groups: Vec<FusedGroup>,
    /// The first fused group of each item.
    group_of: HashMap<NodeId, usize>,
    /// The launch of each fused group.
    pub launches: Vec<Option<&'a Launch>>,
    pub formulas: Formulas,
    /// The node whose value is stored at each place.
    pub stored: HashMap<Place, NodeId>,
    /// How often the launches of this scope run.
    pub times: Vec<Amount>,
    /// Number of steps of an iteration that one launch makes on a GPU.
    pub at_once: u64,
}

/// A launch with its scope and fused group.
pub struct Unit<'a> {
    pub launch: &'a Launch,
    /// Index into [`Units::scopes`].
    pub scope: usize,
    /// Index into the fused groups of the scope, or None if the launch has no loop over data or is
    /// a copy.
    pub fused: Option<usize>,
    /// If the launch copies states of an iteration that has no steps: when, and how much.
    pub copies: Option<Copies>,
}

/// The copies that run if an iteration has no steps.
#[derive(Clone)]
pub struct Copies {
    /// The condition under which the copies run, as a formula that is 1 or 0.
    pub when: Amount,
    /// The extents of the states.
    pub extents: Vec<NodeId>,
}

/// An alternative: a launch that runs instead of others.
pub struct Instead<'a> {
    pub launch: &'a Launch,
    /// Index into [`Units::scopes`].
    pub scope: usize,
    /// The launches that it replaces, in [`Units::list`].
    pub others: Range<usize>,
}

/// All launches of a function's plan.
pub struct Units<'a> {
    compiled: &'a Compiled,
    /// For launches that form no chain of stencils with the launch before: the reason, by name.
    pub refused_chains: HashMap<&'a str, &'a str>,
    pub plan: &'a Plan,
    /// The names of the states of iterations.
    names: HashMap<Place, String>,
    /// The scopes; the first one is the function.
    pub scopes: Vec<Scope<'a>>,
    pub list: Vec<Unit<'a>>,
    /// The alternatives. One that replaces another one comes before it.
    pub alternatives: Vec<Instead<'a>>,
}

impl<'a> Units<'a> {
    /// Finds the launches of a function, whose sizes are known to the formulas.
    pub fn of(compiled: &'a Compiled, i: usize, formulas: Formulas) -> Result<Units<'a>> {
        let CompiledFunction { fused, plan, refused_chains, .. } = &compiled.functions[i];
        let f = Arc::new(fused.clone());
        let params = 0..f.params.len() as u32;
        let places = params.filter_map(|p| Some((Place::Param(p), f.graph.find(&Op::Param(p))?)));
        let stored = places.collect();
        let mut units = Units {
            compiled,
            refused_chains: refused_chains.iter().map(|(name, why)| (name.as_str(), why.as_str())).collect(),
            plan,
            names: HashMap::default(),
            scopes: Vec::new(),
            list: Vec::new(),
            alternatives: Vec::new(),
        };
        let fused_groups = groups::fused_groups(&f)?;
        let scope = Scope {
            group_of: first_groups(&fused_groups),
            fused_groups,
            launches: Vec::new(),
            f,
            formulas,
            stored,
            times: Vec::new(),
            at_once: 1,
        };
        units.walk(scope, &plan.steps)?;
        Ok(units)
    }

    /// Visits the fused groups of a scope and the steps of the plan that they became, in order.
    fn walk(&mut self, scope: Scope<'a>, steps: &'a [Step]) -> Result<()> {
        let at = self.scopes.len();
        self.scopes.push(scope);
        let (mut next, mut fused) = (0, 0);
        // the alternatives of which the step at hand is replaced, each with the first step that it does not replace
        let mut open: Vec<(usize, usize)> = Vec::new();
        while let Some(step) = steps.get(next) {
            self.close(&mut open, next);
            next += 1;
            let current = Some(fused).filter(|p| *p < self.scopes[at].fused_groups.len());
            match step {
                Step::Alloc(_) | Step::Free(_) => continue,
                // the launch has no fused group of its own: groups belong to the steps that it replaces
                Step::Instead(_) => {
                    if let Some(Step::Launch(launch)) = steps.get(next) {
                        open.push((next + step.inside(), self.alternatives.len()));
                        let others = self.list.len()..self.list.len();
                        self.alternatives.push(Instead { launch, scope: at, others });
                    }
                    next += 1;
                    continue;
                }
                Step::Launch(launch) => {
                    self.scopes[at].launched(launch, fused);
                    self.list.push(Unit { launch, scope: at, fused: current, copies: None });
                }
                Step::Repeat(r) => {
                    self.repeat(at, fused, r, r.parts(&steps[next..]))?;
                    next += r.inside();
                }
            }
            fused += 1;
        }
        self.close(&mut open, next);
        Ok(())
    }

    /// Notes that the alternatives whose replaced steps end before step `next` replace no more launches.
    fn close(&mut self, open: &mut Vec<(usize, usize)>, next: usize) {
        for (_, alternative) in open.extract_if(.., |(end, _)| *end <= next) {
            self.alternatives[alternative].others.end = self.list.len();
        }
    }

    /// Visits an iteration: the scope and the launches of its step, and the copies.
    fn repeat(
        &mut self,
        at: usize,
        fused: usize,
        r: &Repeat,
        [check, body, otherwise]: [&'a [Step]; 3],
    ) -> Result<()> {
        let outer = &mut self.scopes[at];
        outer.launches.push(None);
        let Some((step, form, count, args)) = outer.fused_groups.get(fused).and_then(|p| p.iteration.clone())
        else {
            return Ok(());
        };
        let f = outer.f.steps[step as usize].clone();
        let stops = match form {
            Form::Until(check) => Some((check, outer.f.steps[check.step as usize].clone())),
            Form::Last | Form::Or(_) | Form::Each => None,
        };
        let turns = outer.formulas.amount(count);
        for (s, which) in r.states.iter().zip(0..) {
            let state = Op::Iterate { step, which, form, count, args: args.clone() };
            outer.stored.extend(outer.formulas.g.find(&state).map(|n| (s.to, n)));
        }
        let mut when = Amount {
            formula: format!("{} == 0", turns.formula),
            value: turns.value.map(|n| u64::from(n == 0)),
        };
        if let (Some((every, stops)), Some(written)) = (stops, r.check) {
            let which = args.len() as u32 - 1;
            let number = Op::Iterate { step, which, form, count, args: args.clone() };
            outer.stored.extend(outer.formulas.g.find(&number).map(|n| (written.number, n)));
            let checks = Amount {
                formula: format!("ceil({} / {}) + 1", turns.formula, every.every),
                value: turns.value.map(|n| n.div_ceil(u64::from(every.every)) + 1),
            };
            self.called(at, r, stops, &args, check, (checks, 1))?;
        }
        let most = r.check.map(|c| u64::from(c.every));
        let between = turns.value.into_iter().chain(most).min();
        let at_once = self.steps_of(body, between);
        if let Some(check) = r.check {
            when = Amount { formula: elsewhere(check, &turns, at_once), value: None };
        }
        self.called(at, r, f, &args, body, (launches_of(turns, r.check, at_once), at_once))?;
        if let Form::Or(other) = form {
            let other = self.scopes[at].f.steps[other as usize].clone();
            return self.called(at, r, other, &args, otherwise, (when, 1));
        }
        for step in otherwise {
            let Step::Launch(launch) = step else { continue };
            let writes = |p: Place| launch.arrays.iter().any(|(place, _)| *place == p);
            let state = r.states.iter().position(|s| writes(Place::Temp(s.next)));
            let extents = state.map(|s| self.scopes[at].formulas.extents(args[s])).unwrap_or_default();
            let copies = Some(Copies { when: when.clone(), extents });
            self.list.push(Unit { launch, scope: at, fused: None, copies });
        }
        Ok(())
    }

    /// Visits the scope and the launches of a function that an iteration calls: `turns` times, with up to `at_once`
    /// steps each time.
    fn called(
        &mut self,
        at: usize,
        r: &Repeat,
        f: Arc<Function>,
        args: &[NodeId],
        steps: &'a [Step],
        (turns, at_once): (Amount, u64),
    ) -> Result<()> {
        let outer = &mut self.scopes[at];
        let formulas = Formulas::of_step(&f, &mut outer.formulas, args);
        let mut stored = HashMap::default();
        for (p, (arg, param)) in args.iter().zip(&f.params).enumerate() {
            let Some(node) = f.graph.find(&Op::Param(p as u32)) else { continue };
            match r.states.get(p) {
                Some(s) => {
                    stored.insert(Place::Temp(s.current), node);
                    self.names.insert(Place::Temp(s.current), param.name.clone());
                    self.names.insert(Place::Temp(s.next), next_of(&param.name));
                }
                None => stored
                    .extend(outer.stored.iter().filter(|(_, n)| *n == arg).map(|(place, _)| (*place, node))),
            }
        }
        let mut times = outer.times.clone();
        times.push(turns);
        let fused_groups = groups::fused_groups(&f)?;
        let (launches, group_of) = (Vec::new(), first_groups(&fused_groups));
        self.walk(Scope { f, fused_groups, group_of, launches, formulas, stored, times, at_once }, steps)
    }

    /// Returns the number of steps that one launch makes on a GPU in an iteration of `count` steps.
    fn steps_of(&self, body: &[Step], count: Option<u64>) -> u64 {
        let [Step::Launch(l)] = body else { return 1 };
        let count = count.and_then(|n| i64::try_from(n).ok()).unwrap_or(i64::MAX);
        let kernel = self.compiled.kernels.get(l.kernel as usize);
        kernel.and_then(|k| k.gpu_kernel()?.steps_at_once(count)).map_or(1, |n| n.unsigned_abs())
    }

    /// Returns the name of the array at a place, as reports write it.
    pub fn name(&self, place: &Place) -> String {
        self.names.get(place).cloned().unwrap_or_else(|| self.slot(place).name.clone())
    }

    /// Returns the bytes of the whole array that a scope has stored at a place.
    pub fn whole(&mut self, scope: usize, place: &Place) -> Option<Sum> {
        let size = self.slot(place).ty.elem.size() as u64;
        let scope = &mut self.scopes[scope];
        let node = scope.stored.get(place).copied()?;
        let (extents, mut bytes) = (scope.formulas.extents(node), Sum::default());
        bytes.add(&scope.formulas, size, &extents);
        Some(bytes)
    }

    /// Whether a place holds a result, or a state of an iteration.
    pub fn is_output(&self, place: &Place) -> bool {
        matches!(place, Place::Result(_)) || self.names.contains_key(place)
    }

    /// Returns the slot at a place, which is an array or a scalar.
    pub fn slot(&self, place: &Place) -> &'a Slot {
        self.plan.slot(*place)
    }
}

impl<'a> Scope<'a> {
    /// Returns the launch that computes a reduction or a stored array.
    pub fn launch_of(&self, n: NodeId) -> Option<&'a Launch> {
        self.launches.get(*self.group_of.get(&n)?).copied().flatten()
    }

    /// Notes the launch of a fused group, and the places at which it stores its items.
    fn launched(&mut self, launch: &'a Launch, fused: usize) {
        self.launches.push(Some(launch));
        let Some(fused) = self.fused_groups.get(fused) else { return };
        let items = fused.items.iter().filter(|it| groups::is_store(&self.f.graph, it));
        let written = launch.arrays.iter().filter(|(_, access)| *access == Access::Write);
        self.stored.extend(written.zip(items).map(|((place, _), it)| (*place, it.node)));
    }
}

/// Returns the first fused group of each item.
fn first_groups(fused_groups: &[FusedGroup]) -> HashMap<NodeId, usize> {
    let mut first = HashMap::default();
    for (i, fused) in fused_groups.iter().enumerate() {
        for it in &fused.items {
            first.entry(it.node).or_insert(i);
        }
    }
    first
}

/// Returns the name of a state after a step.
pub fn next_of(state: &str) -> String {
    format!("{state}_next")
}

/// Returns the number of launches that make `turns` steps, with `steps` steps per launch.
fn launches_of(turns: Amount, check: Option<Check>, steps: u64) -> Amount {
    match (steps, check) {
        (1, _) => turns,
        (n, Some(c)) if u64::from(c.every) % n != 0 => Amount {
            formula: format!("ceil({} / {}) * {}", turns.formula, c.every, u64::from(c.every).div_ceil(n)),
            value: turns.value.map(|k| c.runs(k as i64, n as i64).unsigned_abs()),
        },
        (n, _) => Amount {
            formula: format!("ceil({} / {n})", turns.formula),
            value: turns.value.map(|k| k.div_ceil(n)),
        },
    }
}

/// Returns the condition, as a formula, under which the states of an iteration that a check ended do not lie where
/// results belong, so that they are copied: buffers are written by turns, so it depends on whether the number of
/// steps is odd. `most` is the maximum number of steps.
fn elsewhere(check: Check, most: &Amount, at_once: u64) -> String {
    let what = if at_once == 1 { "steps" } else { "launches" };
    let each = at_once as i64;
    let between = match most.value {
        Some(n) => check.between(i64::try_from(n).unwrap_or(i64::MAX)),
        None if check.runs(check.every.into(), each) == 1 => 1,
        None => {
            let steps = format!("min({}, {})", most.formula, check.every);
            let between = if each == 1 { steps } else { format!("ceil({steps} / {each})") };
            return format!("{what} == 0 or odd({what} - {between})");
        }
    };
    match check.runs(between, each) % 2 {
        1 => format!("even({what})"),
        _ => format!("{what} == 0 or odd({what})"),
    }
}
