//! Elements that go to destinations which are data: `scatter`, `scatter_reduce`, `histogram`.
//!
//! Where the order of an operator is free, elements are joined in bins, one for each destination; `scatter` joins their
//! indices so. Elsewhere a destination's elements are found by sorting the destinations; equal ones keep the order of the
//! elements.

use crate::axis::generate;
use crate::handle::{IntoScalar, SExp, VExp};
use crate::item::Item;
use crate::node::{self, NodeRef, Op};
use crate::reduce::FirstState;
use crate::results::{nodes_of, of_nodes};
use crate::scalar::{cond, lit};
use crate::scope::Place;
use crate::segments::{first_where, inside, reduced};
use crate::sort::ordered;
use crate::vector::iota;
use arraygpu_compiler::core::{Type, bins};
use arraygpu_compiler::scalar::{BinaryOp, Ty};
use std::panic::Location;

/// What happens to elements whose destination is outside of the result.
#[derive(Clone, Copy, Debug)]
enum Outside {
    Recorded,
    Ignored,
    Clamped,
}

/// Where elements go: indices of the result, and what happens to those outside of it.
#[derive(Clone, Copy, Debug)]
pub struct Destinations {
    indices: VExp<i64>,
    outside: Outside,
}

impl From<VExp<i64>> for Destinations {
    /// Each index outside of the result leaves an error record.
    fn from(indices: VExp<i64>) -> Destinations {
        Destinations { indices, outside: Outside::Recorded }
    }
}

impl VExp<i64> {
    /// These indices as destinations of `scatter` and its kin; what goes outside of the result is left out.
    ///
    /// Cost: none.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |i: VExp<i64>| i.ignored().histogram(2);
    /// assert_eq!(call(f, [vector(&[0i64, 5, 1, -1, 1])]), [vector(&[1i64, 2])]);
    /// ```
    pub fn ignored(self) -> Destinations {
        Destinations { indices: self, outside: Outside::Ignored }
    }

    /// These indices as destinations of `scatter` and its kin; what is below 0 goes to the first element of
    /// the result, what is past the end to the last one.
    ///
    /// Cost: none.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |i: VExp<i64>| i.clamped().histogram(2);
    /// assert_eq!(call(f, [vector(&[0i64, 5, 1, -1, 1])]), [vector(&[2i64, 3])]);
    /// ```
    pub fn clamped(self) -> Destinations {
        Destinations { indices: self, outside: Outside::Clamped }
    }

    /// How many of these indices are 0, 1, .. n - 1. An index outside of that leaves an error record; see
    /// [`VExp::ignored`] and [`VExp::clamped`].
    ///
    /// Cost: one launch that reads what the indices are computed from, and joins each to a bin of its part of the
    /// vector, in shared memory if there are up to 12288; and one that joins the parts, of which there are at most 1024.
    /// Together they have at most a sixteenth as many bins as the vector has elements, or those of one part.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |i: VExp<i64>| i.histogram(3);
    /// assert_eq!(call(f, [vector(&[0i64, 2, 2])]), [vector(&[1i64, 0, 2])]);
    /// ```
    #[track_caller]
    pub fn histogram(self, n: impl IntoScalar<i64>) -> VExp<i64> {
        Destinations::from(self).histogram(n)
    }
}

impl Destinations {
    /// How many of these indices are 0, 1, .. n - 1: [`VExp::histogram`].
    ///
    /// Cost: that of [`VExp::histogram`].
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<f32>| (x * 4.0).floor().cast::<i64>().clamped().histogram(4);
    /// assert_eq!(call(f, [vector(&[0.1f32, 0.3, 0.26, 1.0])]), [vector(&[1i64, 2, 0, 1])]);
    /// ```
    #[track_caller]
    pub fn histogram(self, n: impl IntoScalar<i64>) -> VExp<i64> {
        let at = Location::caller();
        let n = SExp::of(n.scalar_at(at));
        let ones = self.indices.map(|_| lit(1i64));
        let counts: VExp<i64> =
            VExp::of(self.joined(("histogram", BinaryOp::Add), n, ones.node(), lit(0i64).node()));
        counts.materialize()
    }

    /// The reductions of elements into `n` bins, by an operator whose order is free.
    #[track_caller]
    fn joined(
        self,
        (construct, op): (&'static str, BinaryOp),
        n: SExp<i64>,
        src: NodeRef,
        init: NodeRef,
    ) -> NodeRef {
        let at = Location::caller();
        let bins = match self.outside {
            Outside::Recorded => {
                let inside = |i: SExp<i64>| SExp::of(node::within(at, i.node(), n.node()));
                self.indices.map(|i| cond(inside(i), i, -1))
            }
            Outside::Ignored => self.indices,
            Outside::Clamped => self.indices.map(|i| i.min(n - 1).max(0)),
        };
        let (count, bins) = (n.node(), bins.node());
        let ty = Type::vector(src.ty.elem);
        node::make(at, ty, Op::Bins { construct, op, count, at: bins, src, init })
    }

    /// The indices of the elements in the order of their destinations, those outside of the result behind all others,
    /// and how many elements have lower destinations than 0, 1, .. n.
    #[track_caller]
    fn sorted(self, n: SExp<i64>) -> (VExp<i64>, VExp<i64>) {
        let at = Location::caller();
        let keys = self.indices.map(|i| match self.outside {
            Outside::Recorded => cond(SExp::of(node::within(at, i.node(), n.node())), i, n),
            Outside::Ignored => cond(i.ge(0) & i.lt(n), i, n),
            Outside::Clamped => i.min(n - 1).max(0),
        });
        // they are all between 0 and n; where it is written so, the sort knows how many digits they have
        let keys = keys.map(|i| i.min(n).max(0)).materialize();
        let order = keys.argsort();
        let sorted = keys.gather(order).materialize();
        let firsts = generate(n + 1, |k| first_where(sorted.len(), |i| inside(sorted, i).ge(k)));
        (order, firsts.materialize())
    }
}

impl<T: Item> VExp<T> {
    /// A vector of n elements, of which `destinations[i]` is element i of this one, and the others are `default`: of
    /// several elements with one destination the last one counts. Both have one length, which is checked before the
    /// function runs. An index outside of the result leaves an error record; see [`VExp::ignored`] and
    /// [`VExp::clamped`].
    ///
    /// Cost: [`VExp::histogram`] of the destinations, where the highest index takes the place of the count, and a read of
    /// the elements that are there.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<f32>, i: VExp<i64>| x.scatter(4, i, -1.0);
    /// let (x, i) = (vector(&[1.0f32, 2.0, 3.0]), vector(&[2i64, 0, 2]));
    /// assert_eq!(call(f, [x, i]), [vector(&[2.0f32, -1.0, 3.0, -1.0])]);
    /// ```
    #[track_caller]
    pub fn scatter(
        self,
        n: impl IntoScalar<i64>,
        destinations: impl Into<Destinations>,
        default: impl FirstState<T>,
    ) -> VExp<T> {
        let at = Location::caller();
        let (n, default) = (SExp::of(n.scalar_at(at)), SExp::of(default.state_at(at)));
        let destinations = destinations.into();
        // the highest index of each destination, or -1
        let indices = iota(destinations.indices.len());
        let none = lit(-1i64);
        let last = destinations.joined(("scatter", BinaryOp::Max), n, indices.node(), none.node());
        let last = VExp::<i64>::of(last);
        // both have one length
        let both = [vec![destinations.indices.node()], nodes_of(self)].concat();
        let values: VExp<T> = of_nodes(&node::map(at, "scatter", &both, |v| v[1..].to_vec()));
        generate(n, |k| {
            let i = inside(last, k);
            cond(i.ge(0), values.at(i), default)
        })
    }

    /// A vector of n elements, of which element k is the reduction by `f` of the elements of this one whose
    /// destination is k, beginning with `init`: they are joined in the order of `docs/semantics.md` 5.1, of
    /// the sequence of their indices, so that group sums have the bits of [`VExp::reduce`] of each group
    /// alone. Both vectors have one length, which is checked before the function runs. An index outside of
    /// the result leaves an error record; see [`VExp::ignored`] and [`VExp::clamped`]. `f` must be
    /// associative and commutative up to rounding, and is called several times.
    ///
    /// Cost: that of [`VExp::histogram`] for each leaf, if `f` is `+` of integers, or `min`, `max`, `&`, `|` or `^`, whose
    /// order is free, and nothing else. Otherwise [`VExp::argsort`] of the destinations, a search for each element of the
    /// result, and [`VExp::segmented_reduce`] of the elements in that order.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<f32>, i: VExp<i64>| x.scatter_reduce(3, i, 0.0, |a, b| a + b);
    /// let (x, i) = (vector(&[1.0f32, 2.0, 3.0]), vector(&[2i64, 0, 2]));
    /// assert_eq!(call(f, [x, i]), [vector(&[2.0f32, 0.0, 4.0])]);
    /// ```
    #[track_caller]
    pub fn scatter_reduce(
        self,
        n: impl IntoScalar<i64>,
        destinations: impl Into<Destinations>,
        init: impl FirstState<T>,
        f: impl Fn(SExp<T>, SExp<T>) -> SExp<T>,
    ) -> VExp<T> {
        let at = Location::caller();
        let (n, init): (_, SExp<T>) = (SExp::of(n.scalar_at(at)), SExp::of(init.state_at(at)));
        let destinations = destinations.into();
        let srcs = nodes_of(self);
        if let Some(operators) = exact(at, &srcs, &f) {
            let leaves = srcs.into_iter().zip(nodes_of(init)).zip(operators);
            let all =
                leaves.map(|((src, init), op)| destinations.joined(("scatter_reduce", op), n, src, init));
            let all: VExp<T> = of_nodes(&all.collect::<Vec<_>>());
            return all.materialize();
        }
        let (order, firsts) = destinations.sorted(n);
        let values: VExp<T> = of_nodes(&ordered(at, "scatter_reduce", order.node(), &srcs));
        let begins = firsts.slice(0, n);
        let lengths = firsts.slice(1, n + 1) - begins;
        reduced(values, (begins, lengths), init, &f)
    }
}

/// The operator of each leaf, if the leaves do not depend on one another and the order of each is free.
fn exact<T: Item>(
    at: Place,
    srcs: &[NodeRef],
    f: &impl Fn(SExp<T>, SExp<T>) -> SExp<T>,
) -> Option<Vec<BinaryOp>> {
    let types: Vec<Ty> = srcs.iter().chain(srcs).map(|x| x.ty.elem).collect();
    let lambdas = node::bind(at, "scatter_reduce", &types, |v| {
        let (a, b) = v.split_at(srcs.len());
        nodes_of(f(of_nodes(a), of_nodes(b)))
    });
    let is = |a: NodeRef, b: NodeRef| std::ptr::eq(a, b);
    let operator = |(leaf, lambda): (usize, &node::Lambda)| {
        let [a, b] = [leaf, leaf + srcs.len()].map(|i| lambda.vars[i]);
        match lambda.body.op {
            Op::Binary(op, x, y) if is(x, a) && is(y, b) || is(x, b) && is(y, a) => {
                bins::is_exact(op, a.ty.elem).then_some(op)
            }
            _ => None,
        }
    };
    lambdas.iter().enumerate().map(operator).collect()
}
