//! Makes iterations of pointwise steps loops of elements (`Op::Loop`). A step is pointwise if an element of its
//! results needs no other element of the states. Then no element waits for another one, so one launch makes all steps
//! of an element, and loads and stores each state once instead of once for each step.
//!
//! ```text
//! step @s(%x: [f32], %a: [f32]) -> (next0: [f32]) {
//!   %0 = map (%1: f32, %2: f32) over %x, %a { .. %3 = mul %1, %2  yield %3 } .. }
//! %r = iterate @s 0 by %k from %x, %a
//!   ->
//! %r = generate (len %x) (%i) {
//!   %v = loop 0 (%t: i64, %s: f32) by %k from (elem %x, %i) { %n = mul %s, (elem %a, %i)  .. }  yield %v }
//! ```
//!
//! States that need each other become the states of one loop. Steps that may leave error records stay as they are:
//! which record is reported depends on where it is left. So do steps with reductions, whose launches all elements
//! share. A few short steps are written one after the other. The pass comes before the steps are compiled by
//! themselves. To see what elements read, it runs the passes up to `prove` on a copy of the step.

use crate::core::bounds::Bounds;
use crate::core::calls::{add_rules, rules_of_call, without_unused};
use crate::core::element_loops::looped;
use crate::core::equations::Equations;
use crate::core::graph::replace::{Found, replaced_by};
use crate::core::linear::Linear;
use crate::core::records::{loses_record, may_record};
use crate::core::rewrite::{lambda_of, rewrite_from};
use crate::core::simplify::{extent, extents, simplify as simplified};
use crate::core::{Form, Function, Graph, Lambda, NodeId, Op};
use crate::error::Result;
use crate::loc::LocStack;
use crate::scalar::{Lit, Ty};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::sync::Arc;

/// The maximum number of operations of all steps that are written one after the other.
const FEW_OPERATIONS: i64 = 256;
/// The number of operations that an elementary function counts as.
const OF_ELEMENTARY: i64 = 32;

/// Returns a step after the passes up to `prove`.
type Proven<'p> = dyn Fn(&Function) -> Result<Function> + 'p;

/// Runs the pass, in the steps of iterations as well.
pub fn run(mut f: Function, proven: &Proven) -> Result<Function> {
    if f.steps.is_empty() {
        return Ok(f);
    }
    for step in &mut f.steps {
        if !step.steps.is_empty() {
            *step = Arc::new(run(Function::clone(step), proven)?);
        }
    }
    let mut known: HashMap<u32, Vec<PointwiseStates>> = HashMap::default();
    let (mut rules, mut bounds) = (Vec::new(), Bounds::default());
    // all states of an iteration are one call
    let mut called = HashSet::default();
    let mut made = rewrite_from(&f, false, &mut |g, mut op, old| {
        if !matches!(op, Op::Iterate { form: Form::Last, .. }) {
            return g.add(op);
        }
        // the number of steps of an iteration leaves no record, that of a loop does
        bounds.of(g, &mut op);
        let Op::Iterate { step, which, count, args, .. } = &op else { unreachable!("matched") };
        let groups = known.entry(*step).or_insert_with(|| groups(&f.steps[*step as usize], proven));
        // a scalar leaves its records once, also where there are no elements
        let records = args.iter().chain([count]).any(|a| g.ty(*a).is_scalar() && loses_record(g, *a));
        match groups.iter().find(|states| states.members.contains(which)) {
            Some(states) if !records && f.graph.is_closed(old) && states.have_elements(g, *count, args) => {
                if called.insert((*step, args.clone())) {
                    rules.extend(rules_of_call(&f.steps[*step as usize], args, g));
                }
                states.element_loop(g, *which, *count, args)
            }
            _ => g.add(op),
        }
    });
    add_rules(&mut made, rules);
    Ok(without_unused(made))
}

/// States of an iteration that need each other and no other states, and whose step is pointwise.
struct PointwiseStates {
    /// Their numbers, in ascending order.
    members: Vec<u32>,
    /// Which of them are vectors of one element. The step of these needs none of the others.
    is_single: Vec<bool>,
    /// The rank of the others.
    rank: usize,
    /// The step's graph.
    graph: Graph,
    /// The arrays, parameters of the step, that are read at its number, with the axes.
    read_by_turn: Vec<(NodeId, u8)>,
    /// From the indices of an element, the number of the step, and the element of each member, to a tuple of the next
    /// elements. What the step gets beside its states are parameters.
    next: Lambda,
}

/// Returns the states of a step that become loops of elements: all of them, or none.
fn groups(step: &Function, proven: &Proven) -> Vec<PointwiseStates> {
    if !may_be_pointwise(step) {
        return Vec::new();
    }
    // an error of the author's program is reported by the passes that compile the step
    let Ok(fused) = proven(step) else { return Vec::new() };
    // the launches of the step that is left would make all states, those with loops a second time
    let all: Option<Vec<_>> =
        connected(&fused).into_iter().map(|members| pointwise(&fused, members)).collect();
    all.unwrap_or_default()
}

/// Returns whether a step has neither reductions nor parts of its states, which takes less time than to fuse it.
fn may_be_pointwise(step: &Function) -> bool {
    let states = step.results.len() as u32;
    let is_outside = |n: NodeId| matches!(step.graph.op(n), Op::Param(p) if *p >= states);
    let is_plain = |n: NodeId| match step.graph.op(n) {
        Op::Slice { src, .. } | Op::Reverse(src, _) | Op::Permute(src, _) | Op::Pick { src, .. } => {
            is_outside(*src)
        }
        Op::Materialize(_) | Op::Iterate { .. } | Op::Argsort(_) => false,
        op => !op.is_reduction() && !op.is_stored_apart(),
    };
    !step.needs(|n| !is_plain(n))
}

/// Returns the element of a result at these indices, if the result is an array.
fn element(f: &mut Function, which: u32, at: &[NodeId]) -> Option<NodeId> {
    let value = f.results[which as usize].value;
    match f.graph.op(value).clone() {
        Op::Generate(_, lambda) => Some(f.graph.open(&lambda, at)),
        Op::Param(_) if f.graph.ty(value).rank > 0 => Some(f.graph.add(Op::Elem(value, at.to_vec()))),
        _ => None,
    }
}

/// Returns the sets of states that need each other's elements, directly or through other states.
fn connected(f: &Function) -> Vec<Vec<u32>> {
    let count = f.results.len() as u32;
    let mut set_of: Vec<u32> = (0..count).collect();
    for which in 0..count {
        let value = f.results[which as usize].value;
        for n in f.graph.reachable([value]) {
            if let Op::Param(p) = *f.graph.op(n)
                && p < count
            {
                let [from, to] = [p, which].map(|s| set_of[s as usize]);
                set_of.iter_mut().filter(|s| **s == from).for_each(|s| *s = to);
            }
        }
    }
    let of = |set: u32| (0..count).filter(|s| set_of[*s as usize] == set).collect::<Vec<u32>>();
    (0..count).map(of).filter(|members| !members.is_empty()).collect()
}

/// Returns these states with their step, if it is pointwise and all of them have the same extents, but for arrays of
/// one element.
fn pointwise(f: &Function, members: Vec<u32>) -> Option<PointwiseStates> {
    let mut f = f.clone();
    let is_single: Vec<bool> = members.iter().map(|which| is_single(&f, *which)).collect();
    let equations = Equations::of(&f);
    let (domain, count) = (domain(&mut f, &equations, &members, &is_single)?, f.results.len() as u32);
    let rank = domain.as_ref().map_or(1, Vec::len);
    let types = members.iter().map(|s| f.params[*s as usize].ty.elem);
    let types: Vec<Ty> = vec![Ty::I64; rank + 1].into_iter().chain(types).collect();
    let vars: Vec<_> = types.iter().map(|ty| (f.graph.fresh_var(*ty), *ty)).collect();
    let nodes: Vec<NodeId> = vars.iter().map(|v| v.0.1).collect();
    let (at, turn, states) = (&nodes[..rank], nodes[rank], &nodes[rank + 1..]);
    let first = [f.graph.lit(Lit::i64(0))];
    let own_index = |single: bool| if single { &first[..] } else { at };
    let mut replacements: HashMap<NodeId, NodeId> = HashMap::default();
    for ((which, single), state) in members.iter().zip(&is_single).zip(states) {
        let array = f.graph.add(Op::Param(*which));
        replacements.insert(f.graph.add(Op::Elem(array, own_index(*single).to_vec())), *state);
    }
    replacements.insert(f.graph.add(Op::Turn), turn);
    let mut read_by_turn = Vec::new();
    let mut find = |g: &mut Graph, n: NodeId| match replacements.get(&n) {
        Some(new) => Found::By(*new),
        None => match by_turn(g, n, count, &|g, index, of| {
            let axis = at.iter().position(|own| *own == index)?;
            let length = extent(g, of.0, of.1);
            let length = Linear::of(g, length);
            (domain.as_ref()?.get(axis) == Some(&equations.resolve(&length))).then_some(())
        }) {
            Some((array, index, axes)) => {
                read_by_turn.extend(axes.into_iter().map(|axis| (array, axis)));
                let number = |i: NodeId| replacements.get(&i).copied().unwrap_or(i);
                Found::By(g.add(Op::Elem(array, index.into_iter().map(number).collect())))
            }
            None => Found::Inside,
        },
    };
    let (mut next, mut memo) = (Vec::new(), HashMap::default());
    for (which, single) in members.iter().zip(&is_single) {
        let own = element(&mut f, *which, own_index(*single))?;
        next.push(replaced_by(&mut f.graph, own, &mut find, &mut |g, op| g.add(op), &mut memo));
    }
    let g = &mut f.graph;
    let body = g.add(Op::Tuple(next));
    if !reads_only_own(g, body, count) {
        return None;
    }
    let vars: Vec<_> = vars.into_iter().map(|((var, _), ty)| (var, ty)).collect();
    let next = g.close(&vars, body);
    read_by_turn.sort_unstable();
    read_by_turn.dedup();
    Some(PointwiseStates { members, is_single, rank, read_by_turn, next, graph: f.graph })
}

/// Whether an index of an element is in bounds of an array along an axis.
type IsInside<'a> = dyn Fn(&mut Graph, NodeId, (NodeId, u8)) -> Option<()> + 'a;

/// If a node reads an array at the number of the step along some axes, and at indices that are inside along all
/// others, and if the array is a parameter behind the `states`, returns it with the indices and those axes. The read
/// is in bounds where there are no more steps than elements along these, which only the caller of the step knows.
fn by_turn(
    g: &mut Graph,
    n: NodeId,
    states: u32,
    is_inside: &IsInside,
) -> Option<(NodeId, Vec<NodeId>, Vec<u8>)> {
    let Op::At(array, at) = g.op(n).clone() else { return None };
    if !matches!(g.op(array), Op::Param(p) if *p >= states) {
        return None;
    }
    let mut axes = Vec::new();
    for (index, axis) in at.iter().zip(0..) {
        match g.op(*index) {
            Op::Turn => axes.push(axis),
            _ => is_inside(g, *index, (array, axis))?,
        }
    }
    Some((array, at, axes))
}

/// Returns whether a state is a vector of one element, such as a scalar state. Its element is the same for all
/// elements of other states.
fn is_single(f: &Function, which: u32) -> bool {
    match f.graph.op(f.results[which as usize].value) {
        Op::Generate(extents, _) => extents.len() == 1 && f.graph.as_lit(extents[0]) == Some(Lit::i64(1)),
        _ => false,
    }
}

/// Returns the common extents of those states that are not single, if there are any. It fails if they differ or may
/// differ.
fn domain(
    f: &mut Function,
    equations: &Equations,
    members: &[u32],
    is_single: &[bool],
) -> Option<Option<Vec<Linear>>> {
    let mut space = |n: NodeId| -> Vec<Linear> {
        let all = extents(&mut f.graph, n);
        all.iter().map(|n| equations.resolve(&Linear::of(&f.graph, *n))).collect()
    };
    let mut common: Option<Vec<Linear>> = None;
    for (which, _) in members.iter().zip(is_single).filter(|(_, single)| !**single) {
        // parameters are the first nodes of a graph
        for n in [NodeId(*which), f.results[*which as usize].value] {
            let own = space(n);
            if *common.get_or_insert(own.clone()) != own {
                return None;
            }
        }
    }
    Some(common)
}

/// Returns the number of steps, if it is a constant and all of them are short enough to be written one after the
/// other. Then neighbours are loaded and stored by vectors, as in any map.
fn few_steps(g: &Graph, step: &Lambda, count: NodeId) -> Option<i64> {
    let steps = g.as_lit(count)?.as_i64();
    let operations = |n: NodeId| if g.op(n).is_elementary() { OF_ELEMENTARY } else { 1 };
    let of_step: i64 = g.reachable([step.body]).into_iter().map(operations).sum();
    (steps.saturating_mul(of_step) <= FEW_OPERATIONS).then_some(steps)
}

/// Returns whether a step of an element needs no array of the `states`, but for its lengths, no launch, and leaves no
/// record.
fn reads_only_own(g: &Graph, body: NodeId, states: u32) -> bool {
    let is_state = |n: NodeId| matches!(g.op(n), Op::Param(p) if *p < states);
    let is_own = |n: NodeId| match g.op(n) {
        Op::Len(..) | Op::Param(_) => true,
        op => !op.needs_launch() && !op.operands().any(is_state),
    };
    !may_record(g, body) && g.reachable([body]).into_iter().all(is_own)
}

impl PointwiseStates {
    /// Returns whether all arrays that are read at the number of the step have an element for each step.
    fn have_elements(&self, g: &mut Graph, count: NodeId, args: &[NodeId]) -> bool {
        self.read_by_turn.iter().all(|(array, axis)| {
            let Op::Param(p) = *self.graph.op(*array) else { return false };
            let length = extent(g, args[p as usize], *axis);
            let beyond = Linear::of(g, length).minus(&Linear::of(g, count));
            beyond.as_constant().is_some_and(|n| n >= 0)
        })
    }

    /// Returns the state `which` after `count` steps, an array whose elements have loops.
    fn element_loop(&self, g: &mut Graph, which: u32, count: NodeId, args: &[NodeId]) -> NodeId {
        // an array that may leave records is stored, so that it leaves them whichever elements are needed
        let args: Vec<NodeId> = args
            .iter()
            .map(|a| match !g.ty(*a).is_scalar() && !g.is_stored(*a) && loses_record(g, *a) {
                true => g.add(Op::Materialize(*a)),
                false => *a,
            })
            .collect();
        let loc = g.set_loc(LocStack::default());
        let next = lambda_of(&self.graph, &self.next, g, &mut |g, op, _, _| match op {
            Op::Param(p) => args[p as usize],
            Op::Len(x, axis) => extent(g, x, axis),
            op => simplified(g, op),
        });
        g.set_loc(loc);
        let own = self.members.iter().position(|s| *s == which).expect("a member");
        let is_needed = |state: usize| self.is_single[state] || !self.is_single[own];
        let needed: Vec<usize> = (0..self.members.len()).filter(|state| is_needed(*state)).collect();
        let domain = self.domain(g, own, &args);
        let lambda = g.lambda(&vec![Ty::I64; domain.len()], |g, at| {
            let first = [g.lit(Lit::i64(0))];
            let read = |state: &usize| {
                let at = if self.is_single[*state] { &first[..] } else { at };
                g.add(Op::Elem(args[self.members[*state] as usize], at.to_vec()))
            };
            let states: Vec<NodeId> = needed.iter().map(read).collect();
            let step = |g: &mut Graph, turn: NodeId, states: &[NodeId]| {
                let at = (0..self.rank).map(|axis| at.get(axis).copied().unwrap_or(first[0]));
                let types = &next.params[self.rank + 1..];
                let mut all: Vec<NodeId> = types.iter().map(|(_, ty)| g.lit(Lit::zero(*ty))).collect();
                needed.iter().zip(states).for_each(|(state, value)| all[*state] = *value);
                let body = g.open(&next, &at.chain([turn]).chain(all).collect::<Vec<_>>());
                let Op::Tuple(next) = g.op(body) else { unreachable!("a tuple of the next states") };
                needed.iter().map(|state| next[*state]).collect::<Vec<_>>()
            };
            let after = match few_steps(g, &next, count) {
                Some(steps) => (0..steps).fold(states, |states, turn| {
                    let turn = g.lit(Lit::i64(turn));
                    step(g, turn, &states)
                }),
                None => looped(g, count, &states, |g, turn, states| {
                    (g.lit(Lit::bool(true)), step(g, turn, states))
                }),
            };
            after[needed.iter().position(|state| *state == own).expect("a needed one")]
        });
        g.add(Op::Generate(domain, lambda))
    }

    /// Returns the extents of a state.
    fn domain(&self, g: &mut Graph, state: usize, args: &[NodeId]) -> Vec<NodeId> {
        if self.is_single[state] {
            return vec![g.lit(Lit::i64(1))];
        }
        let first = self.is_single.iter().position(|single| !single).expect("the state itself");
        extents(g, args[self.members[first] as usize])
    }
}
