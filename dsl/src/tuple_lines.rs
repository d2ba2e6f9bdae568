//! Reductions and scans of tuples in each row, column or plane: of the elements of several arrays, with several
//! accumulators (semantics 5.14, 5.18).

use crate::axis::over_parts_of;
use crate::joined::Order;
use crate::matrix;
use crate::node::{self, NodeRef};
use crate::rank::{Rank2, Rank3};
use crate::results::{Results, Scalars, each_tuple, of_nodes};
use crate::scope::Place;
use crate::tuples::{Arrays, Elements, IntoScalars, arrays_of, reduce, scan};
use arraygpu_compiler::build::Composite;
use std::panic::Location;

/// The function of the parts of arrays of one shape: of each combination of indices of these axes.
fn over_parts(
    at: Place,
    construct: &'static str,
    axes: &[u8],
    arrays: &[NodeRef],
    f: impl FnOnce(&[NodeRef]) -> Vec<NodeRef>,
) -> Vec<NodeRef> {
    // a map of all arrays says that they have one shape
    let all = match arrays {
        [_] => arrays.to_vec(),
        _ => node::map(at, construct, arrays, |v| v.to_vec()),
    };
    over_parts_of(at, construct, &all, axes, f)
}

/// Ranks of arrays that have rows and columns.
pub trait Planar {
    /// A tuple of what has an element for each row: vectors of matrices, matrices of arrays of three dimensions.
    type Lines<S: Scalars>: Results;
    /// A tuple of arrays of this rank.
    type Arrays<S: Scalars>: Results;
    #[doc(hidden)]
    const ROWS: &'static [u8];
    #[doc(hidden)]
    const COLS: &'static [u8];
}

impl Planar for Rank2 {
    type Lines<S: Scalars> = S::Vectors;
    type Arrays<S: Scalars> = S::Matrices;
    const ROWS: &'static [u8] = &[matrix::ROWS];
    const COLS: &'static [u8] = &[matrix::COLS];
}

impl Planar for Rank3 {
    type Lines<S: Scalars> = S::Matrices;
    type Arrays<S: Scalars> = S::Tensors;
    const ROWS: &'static [u8] = &[matrix::PLANES, 1];
    const COLS: &'static [u8] = &[matrix::PLANES, 2];
}

/// What has an element for each row of these arrays.
pub type Lines<A> = <<A as Arrays>::Rank as Planar>::Lines<Elements<A>>;

/// Arrays of the shape of these, in the same tuples.
pub type Alike<A> = <<A as Arrays>::Rank as Planar>::Arrays<Elements<A>>;

macro_rules! scans {
    ($($name:ident $which:ident $what:literal;)*) => { $(
        #[doc = concat!("The partial results of each ", $what, " by itself, of the tuples of the elements: an array for each")]
        /// component. Arrays of different shapes are an error of the call.
        ///
        /// Cost: that of a scan of one array for each component that a result needs; all are computed together.
        ///
        /// ```
        /// # use arraygpu_dsl::{example::*, prelude::*};
        #[doc = concat!("let f = |x: MExp<i64>| (x, -x).", stringify!($name), "((0, 5), |(a, b), (c, d)| (a + c, b.min(d))).0;")]
        #[doc = concat!("let g = |x: MExp<i64>| x.", stringify!($name), "(0, |a, b| a + b);")]
        /// let x = matrix(&[[1i64, 2], [4, 8]]);
        /// assert_eq!(call(f, [x.clone()]), call(g, [x]));
        /// ```
        #[track_caller]
        fn $name(
            self,
            init: impl IntoScalars<Elements<Self>>,
            f: impl FnOnce(Elements<Self>, Elements<Self>) -> Elements<Self>,
        ) -> Alike<Self>
        where
            Self: Arrays<Rank: Planar>,
        {
            scan(Location::caller(), Composite::$which, (self, init), f)
        }
    )* };
}

/// Reductions and scans of tuples in each row, column or plane (all elements of it) of several arrays. Tuples have up
/// to 12 components and may be nested.
pub trait TupleLines: Sized {
    /// [`TupleReductions::reduce`] of each row of matrices: vectors with one element for each row; of arrays of three
    /// dimensions of each row of each plane: matrices of `planes` x `rows` elements. Arrays of different shapes are
    /// an error of the call.
    ///
    /// Cost: a segmented reduction: one evaluation of each element.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: MExp<f32>, w: MExp<f32>| {
    ///     let (sum, weight) = (x, w).reduce_rows((0.0, 0.0), |(s, a), (t, b)| (s + t, a + b));
    ///     sum / weight
    /// };
    /// let args = [matrix(&[[1.0f32, 2.0], [5.0, 4.0]]), matrix(&[[1.0f32, 1.0], [1.0, 2.0]])];
    /// assert_eq!(call(f, args), [vector(&[1.5f32, 3.0])]);
    /// ```
    #[track_caller]
    fn reduce_rows(
        self,
        init: impl IntoScalars<Elements<Self>>,
        f: impl FnOnce(Elements<Self>, Elements<Self>) -> Elements<Self>,
    ) -> Lines<Self>
    where
        Self: Arrays<Rank: Planar>,
    {
        let at = Location::caller();
        let line = |rows: &[NodeRef]| reduce::<Self>(at, "reduce_rows", Order::Reduce, init, rows, f);
        of_nodes(&over_parts(at, "reduce_rows", Self::Rank::ROWS, &arrays_of(self), line))
    }

    /// [`TupleReductions::reduce`] of each column of matrices: vectors with one element for each column; of arrays of
    /// three dimensions of each column of each plane: matrices of `planes` x `cols` elements. Arrays of different
    /// shapes are an error of the call.
    ///
    /// Cost: a segmented reduction: one evaluation of each element.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: MExp<f32>| (x, x * x).reduce_cols((0.0, 0.0), |(s, a), (t, b)| (s + t, a + b));
    /// let expected = [vector(&[6.0f32, 6.0]), vector(&[26.0f32, 20.0])];
    /// assert_eq!(call(f, [matrix(&[[1.0f32, 2.0], [5.0, 4.0]])]), expected);
    /// ```
    #[track_caller]
    fn reduce_cols(
        self,
        init: impl IntoScalars<Elements<Self>>,
        f: impl FnOnce(Elements<Self>, Elements<Self>) -> Elements<Self>,
    ) -> Lines<Self>
    where
        Self: Arrays<Rank: Planar>,
    {
        let at = Location::caller();
        let line = |columns: &[NodeRef]| reduce::<Self>(at, "reduce_cols", Order::Reduce, init, columns, f);
        of_nodes(&over_parts(at, "reduce_cols", Self::Rank::COLS, &arrays_of(self), line))
    }

    /// [`TupleReductions::reduce`] of each plane of arrays of three dimensions: vectors with one element for each
    /// plane.
    ///
    /// Cost: a segmented reduction: one evaluation of each element.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: TExp<f32>| (x, x * x).reduce_planes((0.0, 0.0), |(s, a), (t, b)| (s + t, a + b));
    /// let expected = [vector(&[6.0f32]), vector(&[26.0f32])];
    /// assert_eq!(call(f, [tensor(&[[[1.0f32], [5.0]]])]), expected);
    /// ```
    #[track_caller]
    fn reduce_planes(
        self,
        init: impl IntoScalars<Elements<Self>>,
        f: impl FnOnce(Elements<Self>, Elements<Self>) -> Elements<Self>,
    ) -> <Elements<Self> as Scalars>::Vectors
    where
        Self: Arrays<Rank = Rank3>,
    {
        let at = Location::caller();
        let part = |planes: &[NodeRef]| reduce::<Self>(at, "reduce_planes", Order::Reduce, init, planes, f);
        of_nodes(&over_parts(at, "reduce_planes", &[matrix::PLANES], &arrays_of(self), part))
    }

    scans! {
        scan_rows ScanRows "row";
        scan_rows_exclusive ScanRowsExclusive "row, without the element itself,";
        scan_cols ScanCols "column";
        scan_cols_exclusive ScanColsExclusive "column, without the element itself,";
    }

    /// The partial results of each plane of arrays of three dimensions, the sequence of its elements row by row, of
    /// the tuples of the elements: an array for each component.
    ///
    /// Cost: that of [`TupleLines::scan_rows`].
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: TExp<i64>| (x, -x).scan_planes((0, 5), |(a, b), (c, d)| (a + c, b.min(d))).0;
    /// let g = |x: TExp<i64>| x.scan_planes(0, |a, b| a + b);
    /// let x = tensor(&[[[1i64, 2], [4, 8]]]);
    /// assert_eq!(call(f, [x.clone()]), call(g, [x]));
    /// ```
    #[track_caller]
    fn scan_planes(
        self,
        init: impl IntoScalars<Elements<Self>>,
        f: impl FnOnce(Elements<Self>, Elements<Self>) -> Elements<Self>,
    ) -> <Elements<Self> as Scalars>::Tensors
    where
        Self: Arrays<Rank = Rank3>,
    {
        scan(Location::caller(), Composite::ScanPlanes, (self, init), f)
    }

    /// [`TupleLines::scan_planes`] without the element itself.
    ///
    /// Cost: that of [`TupleLines::scan_rows`].
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: TExp<i64>| (x, -x).scan_planes_exclusive((0, 5), |(a, b), (c, d)| (a + c, b.min(d))).0;
    /// let g = |x: TExp<i64>| x.scan_planes_exclusive(0, |a, b| a + b);
    /// let x = tensor(&[[[1i64, 2], [4, 8]]]);
    /// assert_eq!(call(f, [x.clone()]), call(g, [x]));
    /// ```
    #[track_caller]
    fn scan_planes_exclusive(
        self,
        init: impl IntoScalars<Elements<Self>>,
        f: impl FnOnce(Elements<Self>, Elements<Self>) -> Elements<Self>,
    ) -> <Elements<Self> as Scalars>::Tensors
    where
        Self: Arrays<Rank = Rank3>,
    {
        scan(Location::caller(), Composite::ScanPlanesExclusive, (self, init), f)
    }
}

macro_rules! lines {
    ($($name:ident)+) => {
        // of any tuple, as those of TupleReductions
        impl<$($name),+> TupleLines for ($($name,)+) {}
    };
}
each_tuple!(lines);
