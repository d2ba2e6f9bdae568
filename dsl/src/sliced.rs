//! Parts of arrays as ranges: `x.sliced(s![1..n])`, `m.sliced(s![.., -3..])`, `m.sliced(s![i, ..; 2])`.
//!
//! The macro only splits tokens: each axis becomes a [`Range`] or an [`Index`], and `sliced` makes the same nodes
//! as `slice_by`, `row` and `at` do.

use crate::axis::{len, pick, read, slice};
use crate::handle::{IntoScalar, MExp, SExp, TExp, VExp};
use crate::item::Item;
use crate::node::{self, NodeRef, Op, make};
use crate::results::{Results, leafwise};
use crate::scope::Place;
use arraygpu_compiler::scalar::{BinaryOp, Lit};
use std::panic::Location;

/// A range of an axis, as [`s!`](crate::s) makes it.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    at: Place,
    start: Option<NodeRef>,
    stop: Option<NodeRef>,
    /// Whether the element at `stop` belongs to the range.
    inclusive: bool,
    step: Option<NodeRef>,
}

/// An index of an axis, as [`s!`](crate::s) makes it: the axis goes away.
#[derive(Clone, Copy, Debug)]
pub struct Index {
    at: Place,
    index: NodeRef,
}

impl Range {
    /// All of the axis.
    #[doc(hidden)]
    #[track_caller]
    pub fn all() -> Range {
        Range { at: Location::caller(), start: None, stop: None, inclusive: false, step: None }
    }

    #[doc(hidden)]
    #[track_caller]
    pub fn from(mut self, start: impl IntoScalar<i64>) -> Range {
        self.start = Some(start.scalar_at(Location::caller()));
        self
    }

    #[doc(hidden)]
    #[track_caller]
    pub fn to(mut self, stop: impl IntoScalar<i64>) -> Range {
        self.stop = Some(stop.scalar_at(Location::caller()));
        self
    }

    #[doc(hidden)]
    #[track_caller]
    pub fn through(mut self, last: impl IntoScalar<i64>) -> Range {
        self.inclusive = true;
        self.to(last)
    }

    #[doc(hidden)]
    #[track_caller]
    pub fn by(mut self, step: impl IntoScalar<i64>) -> Range {
        self.step = Some(step.scalar_at(Location::caller()));
        self
    }
}

impl Index {
    #[doc(hidden)]
    #[track_caller]
    pub fn of(index: impl IntoScalar<i64>) -> Index {
        let at = Location::caller();
        Index { at, index: index.scalar_at(at) }
    }
}

/// The parts of an array that [`s!`](crate::s) names, one for each axis; a single one is a vector's.
///
/// - `a..b` are the elements from a up to, not including, b; `a..=b` with b; an end that is left out is that of the
///   axis. `0 <= a <= b <= length` is checked before the function runs: nothing is clipped.
/// - A constant below 0 counts from the end: `-3..` are the last three. A variable is never taken so.
/// - `a..b; k` are every k-th of them. With a constant k below 0 they come from last to first: `..; -1` reverses.
/// - A single index takes the axis away, as `row(i)`: `m.sliced(s![i, ..])` is a vector. All axes by index are an
///   element, as by `at`.
///
/// Bounds and steps are made of lengths, constants and scalar parameters, as those of `slice`.
///
/// ```
/// # use arraygpu_dsl::{example::*, prelude::*};
/// let f = |x: VExp<f32>| x.sliced(s![1..x.len() - 1]) - x.sliced(s![..-2]);
/// assert_eq!(call(f, [vector(&[1.0f32, 2.0, 4.0, 8.0])]), [vector(&[1.0f32, 2.0])]);
/// let g = |m: MExp<f32>| (m.sliced(s![-1, ..]), m.sliced(s![.., ..; -1]));
/// let m = matrix(&[[1.0f32, 2.0], [3.0, 4.0]]);
/// assert_eq!(call(g, [m]), [vector(&[3.0f32, 4.0]), matrix(&[[2.0f32, 1.0], [4.0, 3.0]])]);
/// ```
#[macro_export]
macro_rules! s {
    (@axis [$($done:expr,)*] [$($from:tt)*] .. $($rest:tt)*) => {
        $crate::s!(@end [$($done,)*] ($crate::s!(@from $($from)*)) to [] $($rest)*)
    };
    (@axis [$($done:expr,)*] [$($from:tt)*] ..= $($rest:tt)*) => {
        $crate::s!(@end [$($done,)*] ($crate::s!(@from $($from)*)) through [] $($rest)*)
    };
    (@axis [$($done:expr,)*] [$($index:tt)+] , $($rest:tt)*) => {
        $crate::s!(@axis [$($done,)* $crate::Index::of($($index)+),] [] $($rest)*)
    };
    (@axis [$($done:expr,)*] [$($index:tt)+]) => { ($($done,)* $crate::Index::of($($index)+),) };
    (@axis [$($done:expr,)*] []) => { ($($done,)*) };
    (@axis $done:tt [$($read:tt)*] $next:tt $($rest:tt)*) => { $crate::s!(@axis $done [$($read)* $next] $($rest)*) };

    (@end [$($done:expr,)*] $range:tt $to:ident [$($stop:tt)*] , $($rest:tt)*) => {
        $crate::s!(@axis [$($done,)* $crate::s!(@to $range $to $($stop)*),] [] $($rest)*)
    };
    (@end $done:tt $range:tt $to:ident [$($stop:tt)*] ; $($rest:tt)*) => {
        $crate::s!(@step $done ($crate::s!(@to $range $to $($stop)*)) [] $($rest)*)
    };
    (@end [$($done:expr,)*] $range:tt $to:ident [$($stop:tt)*]) => { ($($done,)* $crate::s!(@to $range $to $($stop)*),) };
    (@end $done:tt $range:tt $to:ident [$($read:tt)*] $next:tt $($rest:tt)*) => {
        $crate::s!(@end $done $range $to [$($read)* $next] $($rest)*)
    };

    (@step [$($done:expr,)*] ($($range:tt)*) [$($step:tt)+] , $($rest:tt)*) => {
        $crate::s!(@axis [$($done,)* $($range)*.by($($step)+),] [] $($rest)*)
    };
    (@step [$($done:expr,)*] ($($range:tt)*) [$($step:tt)+]) => { ($($done,)* $($range)*.by($($step)+),) };
    (@step $done:tt $range:tt [$($read:tt)*] $next:tt $($rest:tt)*) => {
        $crate::s!(@step $done $range [$($read)* $next] $($rest)*)
    };

    (@from) => { $crate::Range::all() };
    (@from $($from:tt)+) => { $crate::Range::all().from($($from)+) };
    (@to ($($range:tt)*) $to:ident) => { $($range)* };
    (@to ($($range:tt)*) $to:ident $($stop:tt)+) => { $($range)*.$to($($stop)+) };

    ($($axes:tt)+) => { $crate::s!(@axis [] [] $($axes)+) };
}

/// A scalar or an array, and what it is with one axis less. (A scalar, which has none, stays one.)
pub trait Shape: Results {
    #[doc(hidden)]
    type Less: Shape;
}

macro_rules! shapes {
    ($($handle:ident $less:ident)*) => { $(
        impl<T: Item> Shape for $handle<T> {
            type Less = $less<T>;
        }
    )* };
}
shapes!(SExp SExp VExp SExp MExp VExp TExp MExp);

/// What may be written for an axis: a range, or an index.
pub trait AxisPart: Copy {
    /// The array once this part of an axis of it is taken.
    #[doc(hidden)]
    type Of<A: Shape>: Shape;
    #[doc(hidden)]
    fn part(self) -> Part;
}

#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum Part {
    Range(Range),
    Index(Index),
}

impl AxisPart for Range {
    type Of<A: Shape> = A;
    fn part(self) -> Part {
        Part::Range(self)
    }
}

impl AxisPart for Index {
    type Of<A: Shape> = A::Less;
    fn part(self) -> Part {
        Part::Index(self)
    }
}

/// The parts that [`s!`](crate::s) names, as many as the array has axes.
#[diagnostic::on_unimplemented(
    message = "`{A}` is not sliced by `{Self}`",
    label = "not a part for each axis",
    note = "write one part for each axis: `x.sliced(s![1..n])` of a vector, `m.sliced(s![1..n, ..])` of a matrix"
)]
pub trait Parts<A> {
    /// What is left of the array.
    type Out: Results;
    #[doc(hidden)]
    fn parts(self) -> Vec<Part>;
}

impl<T: Item, A: AxisPart> Parts<VExp<T>> for (A,) {
    type Out = A::Of<VExp<T>>;
    fn parts(self) -> Vec<Part> {
        vec![self.0.part()]
    }
}

impl<T: Item, A: AxisPart, B: AxisPart> Parts<MExp<T>> for (A, B) {
    type Out = B::Of<A::Of<MExp<T>>>;
    fn parts(self) -> Vec<Part> {
        vec![self.0.part(), self.1.part()]
    }
}

impl<T: Item, A: AxisPart, B: AxisPart, C: AxisPart> Parts<TExp<T>> for (A, B, C) {
    type Out = C::Of<B::Of<A::Of<TExp<T>>>>;
    fn parts(self) -> Vec<Part> {
        vec![self.0.part(), self.1.part(), self.2.part()]
    }
}

/// The value of a constant that the generator knows.
fn known(n: NodeRef) -> Option<i64> {
    if let Op::Const(value) = n.op { Some(value.as_i64()) } else { None }
}

/// A bound; a constant below 0 counts from the end of the axis.
fn bound(at: Place, (src, axis): (NodeRef, u8), n: NodeRef) -> NodeRef {
    match known(n) {
        Some(k) if k < 0 => node::binary(at, BinaryOp::Add, len(at, src, axis), n),
        _ => n,
    }
}

/// The range of an axis.
fn ranged(range: Range, (src, axis): (NodeRef, u8)) -> NodeRef {
    let (at, number) = (range.at, |k| node::constant(range.at, Lit::i64(k)));
    let start = range.start.map_or_else(|| number(0), |n| bound(at, (src, axis), n));
    let stop = match range.stop {
        None => len(at, src, axis),
        Some(n) if range.inclusive => node::binary(at, BinaryOp::Add, bound(at, (src, axis), n), number(1)),
        Some(n) => bound(at, (src, axis), n),
    };
    let taken = |src, ends, step| slice(at, "sliced", (src, axis), ends, step);
    match range.step.and_then(known) {
        Some(step) if step < 0 => {
            let forwards = match (range.start, range.stop) {
                (None, None) => src,
                _ => taken(src, [start, stop], None),
            };
            let back = make(at, src.ty, Op::Reverse(forwards, axis));
            let ends = [number(0), len(at, back, axis)];
            if step == -1 { back } else { taken(back, ends, Some(number(step.wrapping_neg()))) }
        }
        _ if range.start.is_none() && range.stop.is_none() && range.step.is_none() => src,
        _ => taken(src, [start, stop], range.step),
    }
}

/// The parts of an array.
fn sliced(src: NodeRef, parts: &[Part]) -> NodeRef {
    let axes = (0..parts.len() as u8).zip(parts.iter().copied());
    let index = axes.clone().filter_map(|(axis, part)| match part {
        Part::Index(i) => Some((i.at, bound(i.at, (src, axis), i.index))),
        Part::Range(_) => None,
    });
    let index: Vec<(Place, NodeRef)> = index.collect();
    if let (Some((at, _)), true) = (index.first(), index.len() == parts.len()) {
        return read(at, src, index.iter().map(|i| i.1).collect());
    }
    // from the last axis on: picking an axis does not renumber those before it
    axes.rev().fold(src, |src, (axis, part)| match part {
        Part::Range(range) => ranged(range, (src, axis)),
        Part::Index(i) => pick(i.at, "sliced", (src, axis), bound(i.at, (src, axis), i.index), false),
    })
}

macro_rules! methods {
    ($($handle:ident $parts:literal $found:literal $example:literal;)*) => { $(
        impl<T: Item> $handle<T> {
            #[doc = concat!("The part that [`s!`](crate::s) names, with a range or an index for each axis: `s![", $parts, "]`.")]
            /// Ranges keep their axis, indices take it away. What the bounds must satisfy is checked before the
            /// function runs.
            ///
            /// Cost: none; it changes indices.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.sliced(s![", $parts, "]);")]
            #[doc = concat!("assert_eq!(call(f, [", $example, "]), [", $found, "]);")]
            /// ```
            #[track_caller]
            pub fn sliced<P: Parts<Self>>(self, parts: P) -> P::Out {
                let parts = parts.parts();
                leafwise(self, |x| sliced(x, &parts))
            }
        }
    )* };
}

methods! {
    VExp "1.." "vector(&[2.0f32, 3.0])" "vector(&[1.0f32, 2.0, 3.0])";
    MExp ".., -1" "vector(&[2.0f32, 4.0])" "matrix(&[[1.0f32, 2.0], [3.0, 4.0]])";
    TExp "0, .., ..; 2" "matrix(&[[1.0f32, 3.0]])" "tensor(&[[[1.0f32, 2.0, 3.0]]])";
}
