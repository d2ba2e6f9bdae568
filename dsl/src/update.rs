//! Arrays with a part replaced: `x[1:n-1] = v` as an expression.

use crate::handle::{IntoScalar, MExp, TExp, VExp};
use crate::item::Item;
use crate::node::{NodeRef, Op, make};
use crate::results::{Results, nodes_of, of_nodes};
use crate::scope::Place;
use std::panic::Location;

impl<T: Item> VExp<T> {
    /// The vector with the elements of `part` in place of those from `start` on. All of the part
    /// lies inside, and it has an element: both are checked before the function runs.
    ///
    /// `x.with_slice(1, x.weighted_sum(&[0.25, 0.5, 0.25]))` is as long as `x` and keeps its ends.
    ///
    /// Cost: fused; a choice between the two for each element. Nothing is copied.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<f32>, part: VExp<f32>| x.with_slice(1, part);
    /// let (x, part) = (vector(&[1.0f32, 2.0, 3.0]), vector(&[7.0f32]));
    /// assert_eq!(call(f, [x, part]), [vector(&[1.0f32, 7.0, 3.0])]);
    /// ```
    #[track_caller]
    pub fn with_slice(self, start: impl IntoScalar<i64>, part: VExp<T>) -> VExp<T> {
        let at = Location::caller();
        replaced(at, "with_slice", self, part, &[start.scalar_at(at)])
    }
}

impl<T: Item> MExp<T> {
    /// The matrix with the elements of `part` in place of those from this row and column on. All of
    /// the part lies inside, and it has an element: both are checked before the function runs.
    ///
    /// `a.with_block(1, 1, a.weighted_sum2(&weights))` keeps the border of `a`.
    ///
    /// Cost: fused; a choice between the two for each element. Nothing is copied.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: MExp<f32>, part: MExp<f32>| x.with_block(0, 1, part);
    /// let (x, part) = (matrix(&[[1.0f32, 2.0], [3.0, 4.0]]), matrix(&[[7.0f32], [8.0]]));
    /// assert_eq!(call(f, [x, part]), [matrix(&[[1.0f32, 7.0], [3.0, 8.0]])]);
    /// ```
    #[track_caller]
    pub fn with_block(self, row: impl IntoScalar<i64>, col: impl IntoScalar<i64>, part: MExp<T>) -> MExp<T> {
        let at = Location::caller();
        let start = [row.scalar_at(at), col.scalar_at(at)];
        replaced(at, "with_block", self, part, &start)
    }
}

impl<T: Item> TExp<T> {
    /// The volume with the elements of `part` in place of those from this plane, row and column on.
    /// All of the part lies inside, and it has an element: both are checked before the function runs.
    ///
    /// `u.with_block(1, 1, 1, u.weighted_sum3(&weights))` keeps the border of `u`.
    ///
    /// Cost: fused; a choice between the two for each element. Nothing is copied.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: TExp<f32>, part: TExp<f32>| x.with_block(1, 0, 1, part);
    /// let (x, part) = (tensor(&[[[1.0f32, 2.0]], [[3.0, 4.0]]]), tensor(&[[[7.0f32]]]));
    /// assert_eq!(call(f, [x, part]), [tensor(&[[[1.0f32, 2.0]], [[3.0, 7.0]]])]);
    /// ```
    #[track_caller]
    pub fn with_block(
        self,
        plane: impl IntoScalar<i64>,
        row: impl IntoScalar<i64>,
        col: impl IntoScalar<i64>,
        part: TExp<T>,
    ) -> TExp<T> {
        let at = Location::caller();
        let start = [plane.scalar_at(at), row.scalar_at(at), col.scalar_at(at)];
        replaced(at, "with_block", self, part, &start)
    }
}

/// An array with a part replaced, leaf by leaf.
fn replaced<A: Results>(at: Place, construct: &'static str, array: A, part: A, start: &[NodeRef]) -> A {
    let replace = |(src, part): (NodeRef, NodeRef)| {
        make(at, src.ty, Op::Replace { construct, src, part, start: start.to_vec() })
    };
    of_nodes(&nodes_of(array).into_iter().zip(nodes_of(part)).map(replace).collect::<Vec<_>>())
}
