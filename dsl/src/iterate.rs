//! Iterations: a step that is applied again and again.
//!
//! The closure is called once, on arrays that stand for the states. What it mentions from outside
//! is found here ([`captured`]): the compiler makes a function of its own from the step, which gets
//! those values as parameters.

use crate::handle::{IntoScalar, MExp, SExp, TExp, VExp};
use crate::item::Item;
use crate::node::{Ends, Iteration, Node, NodeRef, Op, invalid, make, make_in};
use crate::scope::{Open, Owner, Place, ScopeRef};
use crate::states::{States, like, nodes_of};
use arraygpu_compiler::Error;
use arraygpu_compiler::core::Type;
use arraygpu_compiler::loc::Loc;
use arraygpu_compiler::scalar::Ty;
use std::collections::HashSet;
use std::panic::Location;
use std::rc::Rc;

/// The state after `k` steps, `f(f(.. f(init)))`; it is `init` if `k` is 0. A step may change
/// several arrays: then `init` is a tuple, and so is what `f` gives.
///
/// `k` is made of lengths, constants and scalar parameters (others are refused, E0209), and is 0 or more. Every state
/// keeps its shape. Both are checked before the function runs, and are an error of the call otherwise. `f` is called
/// once, when the function is registered.
///
/// Cost: for each step the launches of `f`, one write of each state and the reads of `f`; two
/// arrays for each state, which take turns. What `f` computes without its argument is computed
/// once, before the first step. On GPUs a stencil of one matrix makes several steps in a launch,
/// which moves fewer bytes.
///
/// ```
/// # use arraygpu_dsl::{example::*, prelude::*};
/// let f = |k: SExp<i64>, u: VExp<f32>, v: VExp<f32>| iterate(k, (u, v), |(u, v)| (v, u + v));
/// let args = [scalar(3i64), vector(&[0.0f32]), vector(&[1.0f32])];
/// assert_eq!(call(f, args), [vector(&[2.0f32]), vector(&[3.0f32])]);
/// ```
#[track_caller]
pub fn iterate<S: States>(k: impl IntoScalar<i64>, init: S, f: impl FnOnce(S) -> S) -> S {
    let at = Location::caller();
    let after = iterated(at, k.scalar_at(at), &init, last(f));
    like(&init, at, &after)
}

/// [`iterate`] with a step that gets its number: `f(k - 1, .. f(1, f(0, init)))`.
///
/// The number is an i64 that is 0 in the first step. It may be computed with like any scalar, also as an
/// index (`weights.at(t)`, `m.row(t)`, which leaves a record outside). Lengths, bounds of slices and staged
/// values do not follow from it: they are the same in every step.
///
/// Cost: that of [`iterate`], but each launch makes one step where its elements need the number. What follows
/// from the number alone is computed once for each step, by the host.
///
/// ```
/// # use arraygpu_dsl::{example::*, prelude::*};
/// // Horner's scheme
/// let f = |x: VExp<f32>, w: VExp<f32>| iterate_indexed(w.len(), x, |t, x| x * w.at(t) + 1);
/// assert_eq!(call(f, [vector(&[1.0f32, 2.0]), vector(&[2.0f32, 3.0])]), [vector(&[10.0f32, 16.0])]);
/// ```
#[track_caller]
pub fn iterate_indexed<S: States>(k: impl IntoScalar<i64>, init: S, f: impl FnOnce(SExp<i64>, S) -> S) -> S {
    let at = Location::caller();
    let after = iterated(at, k.scalar_at(at), &init, Step { f, is_numbered: true, ends: |_: &S| Ends::Last });
    like(&init, at, &after)
}

macro_rules! methods {
    ($($handle:ident $example:literal;)*) => { $(
        impl<T: Item> $handle<T> {
            /// The array after `k` steps: [`iterate`](crate::iterate) of one state.
            ///
            /// Cost: that of [`iterate`](crate::iterate).
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let x = ", $example, ";")]
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.iterate(3, |x| x * 2);")]
            #[doc = concat!("assert_eq!(call(f, [x.clone()]), call(|x: ", stringify!($handle), "<f32>| x * 8, [x]));")]
            /// ```
            #[track_caller]
            pub fn iterate(self, k: impl IntoScalar<i64>, f: impl FnOnce(Self) -> Self) -> Self {
                iterate(k, self, f)
            }

            /// The array after `k` steps that get their numbers: [`iterate_indexed`](crate::iterate_indexed) of
            /// one state.
            ///
            /// Cost: that of [`iterate_indexed`](crate::iterate_indexed).
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let x = ", $example, ";")]
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.iterate_indexed(3, |t, x| x * (t + 1).cast::<f32>());")]
            #[doc = concat!("assert_eq!(call(f, [x.clone()]), call(|x: ", stringify!($handle), "<f32>| x * 6, [x]));")]
            /// ```
            #[track_caller]
            pub fn iterate_indexed(
                self,
                k: impl IntoScalar<i64>,
                f: impl FnOnce(SExp<i64>, Self) -> Self,
            ) -> Self {
                iterate_indexed(k, self, f)
            }
        }
    )* };
}

methods! {
    VExp "vector(&[1.0f32, 2.0])";
    MExp "matrix(&[[1.0f32, 2.0]])";
    TExp "tensor(&[[[1.0f32, 2.0]]])";
}

/// What an iteration repeats.
pub(crate) struct Step<F, E> {
    /// The next states, from the number of the step and the states.
    pub f: F,
    /// Whether the step needs its number.
    pub is_numbered: bool,
    /// What the iteration gives, given its states.
    pub ends: E,
}

fn last<S, F: FnOnce(S) -> S>(f: F) -> Step<impl FnOnce(SExp<i64>, S) -> S, impl FnOnce(&S) -> Ends> {
    Step { f: |_, states| f(states), is_numbered: false, ends: |_: &S| Ends::Last }
}

/// The values of an iteration.
pub(crate) fn iterated<S: States>(
    at: Place,
    count: NodeRef,
    init: &S,
    step: Step<impl FnOnce(SExp<i64>, S) -> S, impl FnOnce(&S) -> Ends>,
) -> Vec<NodeRef> {
    let inits = nodes_of(init, at);
    let open = Open::new(Owner::Closure("iterate"), at);
    let states: Vec<NodeRef> = inits.iter().map(|init| make_in(at, init.ty, Op::Var, open.0)).collect();
    let before = like(init, at, &states);
    let variable = make_in(at, Type::scalar(Ty::I64), Op::Var, open.0);
    let ends = (step.ends)(&before);
    let mut bodies = nodes_of(&(step.f)(SExp::of(variable), before), at);
    if bodies.len() != inits.len() {
        let message = format!(
            "iterate: the step gives another number of states, {}, than there are: {}",
            bodies.len(),
            inits.len()
        );
        let error = Error::user("E0208", message).at(Some(&Loc::caller(at)));
        bodies = inits.iter().map(|init| invalid(at, init.ty, error.clone())).collect();
    }
    let condition = if let Ends::While { condition, .. } = ends { Some(condition) } else { None };
    let mentioned: Vec<NodeRef> = bodies.iter().copied().chain(condition).collect();
    for body in &mentioned {
        body.scopes.check_open(body.at, at);
    }
    let number = step.is_numbered.then_some(variable);
    let captured = captured(open.0, &[&states[..], &[variable]].concat(), &mentioned);
    let mut types: Vec<Type> = inits.iter().map(|init| init.ty).collect();
    match ends {
        Ends::Last => {}
        Ends::Each => types.iter_mut().for_each(|ty| ty.rank += 1),
        Ends::While { .. } => types.push(Type::vector(Ty::I64)),
    }
    let all = Rc::new(Iteration { states, number, bodies, count, inits, captured, ends });
    let value = |(which, ty)| make(at, ty, Op::Iterate(all.clone(), which));
    (0..).zip(types).map(value).collect()
}

/// Nodes that the bodies mention and that do not depend on the states: they are computed before the
/// first step. Constants, operations that only move elements, and tuples, which are no values, belong to the step
/// instead.
fn captured(scope: ScopeRef, states: &[NodeRef], bodies: &[NodeRef]) -> Vec<NodeRef> {
    let mut seen: HashSet<*const Node> = states.iter().map(|s| std::ptr::from_ref(*s)).collect();
    let (mut out, mut stack) = (Vec::new(), bodies.to_vec());
    while let Some(n) = stack.pop() {
        if !seen.insert(std::ptr::from_ref(n)) || matches!(n.op, Op::Const(_)) {
            continue;
        }
        if n.scopes.is_before(scope) && !moves(&n.op) && !is_tuple(n) {
            out.push(n);
            continue;
        }
        stack.extend(n.op.operands());
        stack.extend(n.op.lambda().map(|l| l.body));
        stack.extend(
            n.op.lambda().into_iter().flat_map(|l| &l.vars).filter(|v| seen.insert(std::ptr::from_ref(**v))),
        );
    }
    out.sort_unstable_by_key(|n| n.number);
    out
}

/// Whether a node is a tuple, or an array of tuples: the operand of a reduction or fold.
fn is_tuple(n: &Node) -> bool {
    match &n.op {
        Op::Tuple(_) => true,
        Op::Map { lambda, .. } | Op::Generate { lambda, .. } => matches!(lambda.body.op, Op::Tuple(_)),
        _ => false,
    }
}

/// Whether an array's elements are those of another array in other places, or follow from their
/// indices. Storing such an array would only cost memory.
pub(crate) fn moves(op: &Op) -> bool {
    matches!(
        op,
        Op::Slice { .. }
            | Op::Reverse(..)
            | Op::Permute(..)
            | Op::Pick { .. }
            | Op::Spread { .. }
            | Op::Pad { .. }
            | Op::Iota(_)
            | Op::Fill(..)
    )
}
