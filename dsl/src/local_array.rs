//! Small arrays of an element, `[S; N]`, at indices that only the element knows.

use crate::handle::IntoScalar;
use crate::node::{self, NodeRef, Op, constant, make};
use crate::results::{Scalars, nodes_of, of_nodes};
use crate::scope::Place;
use crate::tuples::IntoScalars;
use arraygpu_compiler::core::{Tested, Type};
use arraygpu_compiler::scalar::{BinaryOp, Lit, Ty};
use std::panic::Location;

/// An array of Rust, of scalars or of tuples or records of them, that an element has: the state of a loop, or what a
/// closure makes. Indices that the generator knows are Rust's own, `a[2]`; these methods take an index that only the
/// element knows.
pub trait LocalArray<S: Scalars>: Sized {
    /// The element at an index. An index outside of the array gives 0 (or false), and leaves an error record.
    ///
    /// Cost: the elements are registers, of which one is selected: an operation for each element of the array and
    /// each component that a result needs. For longer tables an array of the function is better, `table.at(i)`.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: SExp<f32>, i: SExp<i64>| [x, x * x, x * x * x].at(i);
    /// assert_eq!(call(f, [scalar(3.0f32), scalar(1i64)]), [scalar(9.0f32)]);
    /// ```
    #[track_caller]
    fn at(self, i: impl IntoScalar<i64>) -> S;

    /// The array with another element at an index. An index outside of the array changes nothing, and leaves an error
    /// record.
    ///
    /// Cost: two operations for each element of the array, and one for each of its components that a result needs.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// // how many of the numbers 0, 1, .. n - 1 have each remainder
    /// let f = |n: SExp<i64>| {
    ///     let [a, b, c] = loop_for(n, [0i64; 3], |i, counts| counts.with_at(i % 3, counts.at(i % 3) + 1));
    ///     100 * a + 10 * b + c
    /// };
    /// assert_eq!(call(f, [scalar(8i64)]), [scalar(332i64)]);
    /// ```
    #[track_caller]
    fn with_at(self, i: impl IntoScalar<i64>, value: impl IntoScalars<S>) -> Self;
}

impl<S: Scalars, const N: usize> LocalArray<S> for [S; N] {
    #[track_caller]
    fn at(self, i: impl IntoScalar<i64>) -> S {
        const { assert!(N > 0, "an array without elements has none to read") };
        let at = Location::caller();
        let (i, elements) = (i.scalar_at(at), self.map(nodes_of));
        let inside = within(at, i, N, Tested::SmallRead);
        let (last, others) = (&elements[N - 1], &elements[..N - 1]);
        let component = |(which, last): (usize, &NodeRef)| {
            let chosen = others
                .iter()
                .zip(0..)
                .fold(*last, |rest, (element, k)| select(at, is(at, i, k), element[which], rest));
            select(at, inside, chosen, constant(at, Lit::zero(last.ty.elem)))
        };
        of_nodes(&last.iter().enumerate().map(component).collect::<Vec<_>>())
    }

    #[track_caller]
    fn with_at(self, i: impl IntoScalar<i64>, value: impl IntoScalars<S>) -> Self {
        let at = Location::caller();
        let (i, mut new) = (i.scalar_at(at), Vec::new());
        value.scalars_at(at, &mut new);
        let (inside, mut k) = (within(at, i, N, Tested::SmallUpdate), 0);
        self.map(|element| {
            let here = node::binary(at, BinaryOp::And, inside, is(at, i, k));
            k += 1;
            let changed =
                nodes_of(element).into_iter().zip(&new).map(|(old, new)| select(at, here, new, old));
            of_nodes(&changed.collect::<Vec<_>>())
        })
    }
}

fn within(at: Place, i: NodeRef, n: usize, tested: Tested) -> NodeRef {
    node::tested(at, i, constant(at, Lit::i64(n as i64)), tested)
}

fn is(at: Place, i: NodeRef, k: i64) -> NodeRef {
    make(at, Type::scalar(Ty::Bool), Op::Binary(BinaryOp::Eq, i, constant(at, Lit::i64(k))))
}

fn select(at: Place, condition: NodeRef, a: NodeRef, b: NodeRef) -> NodeRef {
    make(at, a.ty, Op::Select(condition, a, b))
}
