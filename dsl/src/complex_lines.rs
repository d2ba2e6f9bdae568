//! Sums of complex numbers: of each row, column or plane.

use crate::axis::over_parts;
use crate::complex::{Complex, ComplexOf};
use crate::elem::Float;
use crate::handle::{MExp, VExp};
use crate::matrix::{COLS, PLANES, ROWS};
use crate::rank::{Rank2, Rank3};
use crate::reduce;
use crate::results::of_nodes;
use std::panic::Location;

macro_rules! sums {
    ($handle:ident $rank:ident $example:literal: $($axes:expr, $sum:ident $what:literal -> $out:ident;)*) => {
        impl<T: Float> ComplexOf<T, $rank> { $(
            #[doc = concat!("The sum of each ", $what, ": of the real and of the imaginary parts, as [`", stringify!($handle), "::", stringify!($sum), "`].")]
            ///
            /// Cost: a segmented reduction: one evaluation of each element.
            ///
            /// ```
            /// # use arraygpu_dsl::{example::*, prelude::*};
            #[doc = concat!("let f = |z: ", stringify!($handle), "<Complex<f32>>| z.", stringify!($sum), "().im;")]
            #[doc = concat!("let g = |z: ", stringify!($handle), "<Complex<f32>>| z.im.", stringify!($sum), "();")]
            #[doc = concat!("let z = [", $example, ", ", $example, "];")]
            /// assert_eq!(call_parts(f, z.clone()), call_parts(g, z));
            /// ```
            #[track_caller]
            pub fn $sum(self) -> $out<Complex<T>> {
                let at = Location::caller();
                let of = |x| over_parts(at, stringify!($sum), x, &$axes, |part| vec![reduce::sum(at, part)])[0];
                of_nodes(&[of(self.re.node()), of(self.im.node())])
            }
        )* }
    };
}

sums! { MExp Rank2 "matrix(&[[1.0f32, 2.0], [4.0, 8.0]])":
    [ROWS], sum_rows "row" -> VExp;
    [COLS], sum_cols "column" -> VExp;
}
sums! { TExp Rank3 "tensor(&[[[1.0f32, 2.0], [4.0, 8.0]]])":
    [PLANES, 1], sum_rows "row of each plane" -> MExp;
    [PLANES, 2], sum_cols "column of each plane" -> MExp;
    [PLANES], sum_planes "plane" -> VExp;
}
