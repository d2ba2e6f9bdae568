//! Iterations: the plan of the step function becomes a part of the plan of the function that
//! repeats it.
//!
//! ```text
//! iterate @step 0 by %k from %x, %c     repeat %k { state: current, next, from x, into the result, spare }
//!                                           the step's launches: its parameter is `current`, its result `next`,
//!                                           its other parameters what %c is
//! ```
//!
//! Host scalars of the step become host scalars of the calling function: they depend on lengths and scalar arguments,
//! or on the number of the step (`HostOp::Turn`), and the latter are computed again before each step. The pass
//! `passes/steps.rs` has made the step's shape rules rules of the calling function; they are checked before anything
//! runs.

use super::groups::{FusedGroup, Iteration};
use super::host::OWN_TURN;
use super::scheduler::Scheduler;
use super::{Role, Scheduled, scheduled};
use crate::core::length::Length;
use crate::core::{Form, Function, NodeId, Op, Output, Type};
use crate::error::Result;
use crate::plan::{Check, HostId, HostOp, Launch, Place, Plan, Repeat, ScalarArg, Slot, State, Step};
use crate::scalar::Ty;

/// Maps the numbers of the step's plan to the host scalars and places of the calling plan.
struct Names {
    host: Vec<HostId>,
    params: Vec<Option<Place>>,
    results: Vec<Place>,
    temps: Vec<u32>,
}

impl Names {
    fn place(&self, p: Place) -> Place {
        match p {
            // a scalar parameter has no place, because kernels get it by value
            Place::Param(i) => self.params[i as usize].unwrap_or(p),
            Place::Result(i) => self.results[i as usize],
            Place::Temp(i) => Place::Temp(self.temps[i as usize]),
        }
    }

    fn host(&self, h: HostId) -> HostId {
        self.host[h.0 as usize]
    }

    fn repeat(&self, r: Repeat) -> Repeat {
        let temp = |t: u32| self.temps[t as usize];
        let state = |s: &State| State {
            from: self.place(s.from),
            to: self.place(s.to),
            spare: temp(s.spare),
            current: temp(s.current),
            next: temp(s.next),
        };
        let turn = r.turn.map(|h| self.host(h));
        let check = r.check.map(|c| Check { number: self.place(c.number), ..c });
        Repeat { count: self.host(r.count), turn, check, states: r.states.iter().map(state).collect(), ..r }
    }

    fn launch(&self, l: Launch) -> Launch {
        let scalar = |s: ScalarArg| match s {
            ScalarArg::Host(h) => ScalarArg::Host(self.host(h)),
            stride => stride,
        };
        Launch {
            domain: l.domain.into_iter().map(|h| self.host(h)).collect(),
            segment: l.segment.map(|h| self.host(h)),
            arrays: l.arrays.into_iter().map(|(p, access)| (self.place(p), access)).collect(),
            scalars: l.scalars.into_iter().map(scalar).collect(),
            computes: l.computes.into_iter().map(|(p, loc)| (self.place(p), loc)).collect(),
            slots: l.slots.into_iter().map(|p| self.place(p)).collect(),
            ..l
        }
    }
}

/// Returns a function that copies the step's states. It runs if the count is 0.
fn copy_of(step: &Function) -> Function {
    let states = step.results.len();
    let mut f = Function::new(&format!("{}_copy", step.name), step.params[..states].to_vec());
    for (r, i) in step.results.iter().zip(0..) {
        let (state, rank) = (f.graph.add(Op::Param(i)), step.params[i as usize].ty.rank);
        let extents = (0..rank).map(|axis| f.graph.add(Op::Len(state, axis))).collect();
        let element = f.graph.lambda(&vec![Ty::I64; rank.into()], |g, k| g.add(Op::Elem(state, k.to_vec())));
        let value = f.graph.add(Op::Generate(extents, element));
        f.results.push(Output { name: r.name.clone(), value });
    }
    f
}

impl Scheduler<'_> {
    /// Returns the extents of a stored array.
    pub(super) fn extents(&mut self, array: NodeId) -> Vec<HostId> {
        (0..self.f.graph.ty(array).rank).map(|axis| self.extent(array, axis)).collect()
    }

    fn extent(&mut self, array: NodeId, axis: u8) -> HostId {
        let g = &self.f.graph;
        match (Length::of(g.op(array), axis), g.op(array)) {
            (Length::Of(x, axis), _) => self.extent(x, axis),
            (Length::Is(n), _) => self.host.of(g, n),
            (_, Op::Param(p)) => self.host.add(HostOp::Len(*p, axis), Ty::I64),
            (_, op) => unreachable!("{op:?} is no stored array"),
        }
    }

    /// Adds the steps of an iteration to the plan. `kernel` is the number of its first kernel.
    pub(super) fn repeat(
        &mut self,
        fused: &FusedGroup,
        (step, form, count, args): &Iteration,
        kernel: u32,
    ) -> Result<()> {
        self.previous_arrays = Vec::new();
        let before = self.kernels.len() as u32;
        let step = self.f.steps[*step as usize].clone();
        // the number makes names differ if a function is the step of several iterations
        let name = format!("{}__step{}", self.name, self.steps);
        self.steps += 1;
        // the copies run once the host knows how the iteration ended
        let copies = Role { repeated: false, guarded: self.guarded };
        let role = match form {
            Form::Last | Form::Or(_) => Role { repeated: true, ..copies },
            Form::Each => copies,
            // the steps from one check to the next one are an iteration
            Form::Until(check) => Role { repeated: check.every > 1, guarded: true },
        };
        let body = self.called(&step, name.clone(), kernel, role)?;
        let next = |s: &Self| kernel + s.kernels.len() as u32 - before;
        let otherwise = match form {
            Form::Each => Plan::default(),
            Form::Or(other) => {
                let other = self.f.steps[*other as usize].clone();
                self.called(&other, format!("{name}_or"), next(self), copies)?
            }
            Form::Last | Form::Until(_) => {
                self.called(&copy_of(&step), format!("{name}_copy"), next(self), copies)?
            }
        };
        let check = match form {
            Form::Until(check) => {
                let stops = self.f.steps[check.step as usize].clone();
                let role = Role { repeated: false, guarded: true };
                Some((*check, self.called(&stops, format!("{name}_check"), next(self), role)?))
            }
            Form::Last | Form::Or(_) | Form::Each => None,
        };
        let states = self.states(fused, args, step.results.len(), *form);
        for s in &states {
            let to = if let Place::Temp(t) = s.to { Some(t) } else { None };
            let spare = (*form != Form::Each).then_some(s.spare);
            self.plan.steps.extend(to.into_iter().chain(spare).map(Step::Alloc));
        }
        // all of them get the number of the step from one host scalar
        let counts = |p: &Plan| p.host.iter().any(|(_, op)| *op == HostOp::Turn(OWN_TURN));
        let is_counted =
            counts(&body) || counts(&otherwise) || check.as_ref().is_some_and(|(_, plan)| counts(plan));
        let turn = is_counted.then(|| self.host.turn());
        let names = self.names(&body, args, &states, turn);
        let body = self.inlined(body.steps, &names);
        let names = self.names(&otherwise, args, &states, turn);
        let otherwise = self.inlined(otherwise.steps, &names);
        let (check, stops) = match check {
            Some((check, plan)) => {
                let (which, from) = (args.len() as u32 - 1, args[args.len() - 1]);
                let number = self.destination_of(fused, which, from, Form::Last);
                if let Place::Temp(t) = number {
                    self.plan.steps.push(Step::Alloc(t));
                }
                let names = Names { results: vec![number], ..self.names(&plan, args, &states, turn) };
                let stops = self.inlined(plan.steps, &names);
                (Some(Check { steps: stops.len() as u32, every: check.every, number }), stops)
            }
            None => (None, Vec::new()),
        };
        let (count_node, count) = (count, self.host.of(&self.f.graph, *count));
        let [body_steps, copies] = [&body, &otherwise].map(|steps| steps.len() as u32);
        let each = *form == Form::Each;
        let sort = self.whole_sort((fused, &step), (*form, args, *count_node), &states, next(self))?;
        let repeat = Repeat { count, turn, each, check, body: body_steps, otherwise: copies, states };
        if let Some((launch, variants)) = sort {
            self.plan.steps.extend([Step::Instead(1 + repeat.inside() as u32), Step::Launch(launch)]);
            self.kernels.push(variants);
        }
        self.plan.steps.push(Step::Repeat(repeat));
        self.plan.steps.extend(stops.into_iter().chain(body).chain(otherwise));
        Ok(())
    }

    /// Returns the plan of a function that this function's plan repeats, and adds its kernels to
    /// this function's kernels.
    fn called(&mut self, f: &Function, name: String, kernel: u32, role: Role) -> Result<Plan> {
        let Scheduled { plan, kernels, warnings, refused_chains } =
            scheduled(f, name, kernel, self.scope, role)?;
        self.kernels.extend(kernels);
        self.refused_chains.extend(refused_chains);
        let called = format!("{}, a step of its iteration", self.f.name);
        self.warnings.extend(warnings.into_iter().map(|w| w.replace(&f.name, &called)));
        Ok(plan)
    }

    /// Returns `steps` with the numbers of the calling plan. Temporaries of the steps are allocated
    /// once, before the first repetition.
    fn inlined(&mut self, steps: Vec<Step>, names: &Names) -> Vec<Step> {
        let is_kept = |s: &&Step| !matches!(s, Step::Alloc(_) | Step::Free(_));
        let kept = |steps: &[Step]| steps.iter().filter(is_kept).count() as u32;
        let others: Vec<u32> = steps
            .iter()
            .enumerate()
            .map(|(at, s)| match s {
                Step::Instead(n) => kept(&steps[at + 2..][..*n as usize]),
                _ => 0,
            })
            .collect();
        let mut inlined = Vec::new();
        for (s, others) in steps.into_iter().zip(others) {
            match s {
                Step::Instead(_) => inlined.push(Step::Instead(others)),
                Step::Alloc(t) => self.plan.steps.push(Step::Alloc(names.temps[t as usize])),
                Step::Free(_) => {}
                Step::Launch(l) => inlined.push(Step::Launch(names.launch(l))),
                Step::Repeat(r) => inlined.push(Step::Repeat(names.repeat(r))),
            }
        }
        inlined
    }

    /// Returns, for each state, its places before and after the iteration, and its temporaries in
    /// between.
    fn states(&mut self, fused: &FusedGroup, args: &[NodeId], count: usize, form: Form) -> Vec<State> {
        let mut states = Vec::new();
        for (which, from) in (0..).zip(&args[..count]) {
            let (ty, extents) = (self.f.graph.ty(*from), self.extents(*from));
            let to = self.destination_of(fused, which, *from, form);
            let from = self.places[from];
            let state = match form {
                // each state's place is where it is collected
                Form::Each => {
                    let [current, next] = ["current", "next"].map(|what| self.view(what, ty, &extents));
                    State { from, to, spare: next, current, next }
                }
                Form::Last | Form::Or(_) | Form::Until(_) => {
                    let all = ["spare", "current", "next"];
                    let [spare, current, next] = all.map(|what| self.view(what, ty, &extents));
                    State { from, to, spare, current, next }
                }
            };
            states.push(state);
        }
        states
    }

    /// Returns the place of a value of an iteration: that of the result that stores it, or a temporary.
    fn destination_of(&mut self, fused: &FusedGroup, which: u32, from: NodeId, form: Form) -> Place {
        let is_this = |n: NodeId| matches!(self.f.graph.op(n), Op::Iterate { which: w, .. } if *w == which);
        let item = fused.items.iter().find(|it| is_this(it.node)).cloned();
        let to = match item.as_ref().and_then(|it| it.result) {
            Some(r) => Place::Result(r),
            None => {
                let (mut ty, mut extents) = (self.f.graph.ty(from), self.extents(from));
                if let (Form::Each, Some((_, _, count, _))) = (form, &fused.iteration) {
                    ty.rank += 1;
                    extents.insert(0, self.host.of(&self.f.graph, *count));
                }
                Place::Temp(self.view("state", ty, &extents))
            }
        };
        if let Some(it) = item {
            self.places.insert(it.node, to);
        }
        to
    }

    fn view(&mut self, what: &str, ty: Type, extents: &[HostId]) -> u32 {
        let name = format!("{what}{}", self.plan.temps.len());
        self.plan.temps.push(Slot { name, ty, extents: extents.to_vec() });
        self.plan.temps.len() as u32 - 1
    }

    /// Adds the step's host scalars and temporaries to the plan, and returns the map to their
    /// numbers.
    fn names(&mut self, step: &Plan, args: &[NodeId], states: &[State], turn: Option<HostId>) -> Names {
        let mut host: Vec<HostId> = Vec::new();
        for (ty, op) in &step.host {
            let of = |h: HostId| host[h.0 as usize];
            let op = match *op {
                HostOp::Const(_) | HostOp::Checked => *op,
                HostOp::Turn(i) => {
                    // others belong to iterations inside of the step
                    let own = turn.filter(|_| i == OWN_TURN);
                    host.push(own.unwrap_or_else(|| self.host.turn()));
                    continue;
                }
                HostOp::Len(p, axis) => {
                    let extents = self.extents(args[p as usize]);
                    host.push(extents[usize::from(axis)]);
                    continue;
                }
                HostOp::Arg(p) => {
                    host.push(self.host.of(&self.f.graph, args[p as usize]));
                    continue;
                }
                HostOp::Unary(op, a) => HostOp::Unary(op, of(a)),
                HostOp::Binary(op, a, b) => HostOp::Binary(op, of(a), of(b)),
                HostOp::MulAdd(a, b, c) => HostOp::MulAdd(of(a), of(b), of(c)),
                HostOp::Select(a, b, c) => HostOp::Select(of(a), of(b), of(c)),
                HostOp::Cast(ty, a) => HostOp::Cast(ty, of(a)),
            };
            host.push(self.host.add(op, *ty));
        }
        let mut params: Vec<Option<Place>> = states.iter().map(|s| Some(Place::Temp(s.current))).collect();
        params.extend(args[states.len()..].iter().map(|a| self.places.get(a).copied()));
        let results = states.iter().map(|s| Place::Temp(s.next)).collect();
        let mut temps = Vec::new();
        for t in &step.temps {
            let extents: Vec<HostId> = t.extents.iter().map(|h| host[h.0 as usize]).collect();
            temps.push(self.view(t.name.trim_end_matches(|c: char| c.is_ascii_digit()), t.ty, &extents));
        }
        Names { host, params, results, temps }
    }
}
