//! Scans of vectors, and of the rows, columns and planes of arrays: the partial results of reductions (semantics
//! 5.18).

use crate::composite;
use crate::handle::{MExp, SExp, TExp, VExp};
use crate::item::Item;
use crate::reduce::FirstState;
use crate::scope::Place;
use arraygpu_compiler::build::Composite;
use std::panic::Location;

fn scan<T: Item>(
    at: Place,
    which: Composite,
    (x, init): (VExp<T>, impl FirstState<T>),
    f: impl FnOnce(SExp<T>, SExp<T>) -> SExp<T>,
) -> VExp<T> {
    composite::joined_items(at, which, (x, init.state_at(at)), &[], f)
}

/// Scans.
impl<T: Item> VExp<T> {
    /// The vector of the partial results of a reduction: element i joins `init` and the elements up to and with i
    /// by `f`, always a part of the vector with the part that follows it, in the fixed order of
    /// `docs/semantics.md` 5.18. `f` must be associative up to rounding, which is not checked; it need not be
    /// commutative. From the last element on it is `x.reverse().scan(init, f).reverse()`. A scan stands outside of
    /// closures.
    ///
    /// Cost: three launches, which compute each element twice, or store it first where that costs more, and
    /// store the result; on one thread of a CPU one launch, which computes each element once. If the operator
    /// or an element may leave an error record, up to twelve launches.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<f32>| x.scan(0.0, |a, b| a + b);
    /// assert_eq!(call(f, [vector(&[1.0f32, 2.0, 3.0])]), [vector(&[1.0f32, 3.0, 6.0])]);
    /// ```
    #[track_caller]
    pub fn scan(self, init: impl FirstState<T>, f: impl FnOnce(SExp<T>, SExp<T>) -> SExp<T>) -> VExp<T> {
        scan(Location::caller(), Composite::Scan, (self, init), f)
    }

    /// [`Self::scan`] without the element itself: the first element is `init`, element i is element i - 1 of the
    /// scan.
    ///
    /// Cost: that of the scan.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<i64>| x.scan_exclusive(0, |a, b| a + b);
    /// assert_eq!(call(f, [vector(&[1i64, 2, 3])]), [vector(&[0i64, 1, 3])]);
    /// ```
    #[track_caller]
    pub fn scan_exclusive(
        self,
        init: impl FirstState<T>,
        f: impl FnOnce(SExp<T>, SExp<T>) -> SExp<T>,
    ) -> VExp<T> {
        scan(Location::caller(), Composite::ScanExclusive, (self, init), f)
    }
}

macro_rules! scans {
    ($handle:ident $example:literal: $(
        $(#[$own:meta])*
        $name:ident $which:ident $what:literal $result:literal,
        $exclusive:ident $which_exclusive:ident $result_exclusive:literal;
    )*) => {
        /// Scans of rows, columns and planes.
        impl<T: Item> $handle<T> { $(
            #[doc = concat!("The partial results of each ", $what, " by itself: [`VExp::scan`] of it, to the bit.")]
            $(#[$own])*
            /// The result has the shape of the array. A scan stands outside of closures (E0312).
            ///
            /// Cost: twelve launches. One reads the array for the totals of chunks of 4 elements, which are stored;
            /// six join those of larger parts, and four what stands before parts, of which the last one stores as
            /// many values as there are chunks; the last launch reads the array and these, and stores the result. An
            /// array that is computed is computed twice, or stored first where that costs more. Maps and reductions
            /// behind it share the last launch, but behind a scan of planes, which is stored.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.", stringify!($name), "(0.0, |a, b| a + b);")]
            #[doc = concat!("assert_eq!(call(f, [", $example, "]), [", $result, "]);")]
            /// ```
            #[track_caller]
            pub fn $name(
                self,
                init: impl FirstState<T>,
                f: impl FnOnce(SExp<T>, SExp<T>) -> SExp<T>,
            ) -> $handle<T> {
                let (at, init) = (Location::caller(), init.state_at(Location::caller()));
                composite::joined_items(at, Composite::$which, (self, init), &[], f)
            }

            #[doc = concat!("[`Self::", stringify!($name), "`] without the element itself: the first element of each is `init`.")]
            ///
            #[doc = concat!("Cost: that of [`Self::", stringify!($name), "`].")]
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let f = |x: ", stringify!($handle), "<f32>| x.", stringify!($exclusive), "(0.5, |a, b| a + b);")]
            #[doc = concat!("assert_eq!(call(f, [", $example, "]), [", $result_exclusive, "]);")]
            /// ```
            #[track_caller]
            pub fn $exclusive(
                self,
                init: impl FirstState<T>,
                f: impl FnOnce(SExp<T>, SExp<T>) -> SExp<T>,
            ) -> $handle<T> {
                let (at, init) = (Location::caller(), init.state_at(Location::caller()));
                composite::joined_items(at, Composite::$which_exclusive, (self, init), &[], f)
            }
        )* }
    };
}
scans! { MExp "matrix(&[[1.0f32, 2.0], [4.0, 8.0]])":
    /// From the last element of each row on it is `x.reverse_cols().scan_rows(init, f).reverse_cols()`.
    scan_rows ScanRows "row" "matrix(&[[1.0f32, 3.0], [4.0, 12.0]])",
    scan_rows_exclusive ScanRowsExclusive "matrix(&[[0.5f32, 1.5], [0.5, 4.5]])";
    /// From the last element of each column on it is `x.reverse_rows().scan_cols(init, f).reverse_rows()`.
    scan_cols ScanCols "column" "matrix(&[[1.0f32, 2.0], [5.0, 10.0]])",
    scan_cols_exclusive ScanColsExclusive "matrix(&[[0.5f32, 0.5], [1.5, 2.5]])";
}
scans! { TExp "tensor(&[[[1.0f32, 2.0], [4.0, 8.0]]])":
    /// From the last element of each row on it is `x.reverse_cols().scan_rows(init, f).reverse_cols()`.
    scan_rows ScanRows "row of each plane" "tensor(&[[[1.0f32, 3.0], [4.0, 12.0]]])",
    scan_rows_exclusive ScanRowsExclusive "tensor(&[[[0.5f32, 1.5], [0.5, 4.5]]])";
    /// From the last element of each column on it is `x.reverse_rows().scan_cols(init, f).reverse_rows()`.
    scan_cols ScanCols "column of each plane" "tensor(&[[[1.0f32, 2.0], [5.0, 10.0]]])",
    scan_cols_exclusive ScanColsExclusive "tensor(&[[[0.5f32, 0.5], [1.5, 2.5]]])";
    /// A plane is the sequence of its elements, row by row. Elements at one place of all planes are scanned by
    /// `permute` and `scan_rows`.
    scan_planes ScanPlanes "plane" "tensor(&[[[1.0f32, 3.0], [7.0, 15.0]]])",
    scan_planes_exclusive ScanPlanesExclusive "tensor(&[[[0.5f32, 1.5], [3.5, 7.5]]])";
}
