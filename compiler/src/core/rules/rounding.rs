//! Rounding a number that is already rounded to an integer.

use super::rule::{FLOATS, Rule, pat, rules};

/// The rules of one rounding operator: applied to the result of any of the five, it changes
/// nothing.
macro_rules! rounded {
    ($op:ident: $floor:ident $ceil:ident $trunc:ident $round:ident $even:ident) => {
        rules! {
            /// of floor(x) it is floor(x)
            $floor: FLOATS, ($op (Floor x)) => (Floor x);
            /// of ceil(x) it is ceil(x)
            $ceil: FLOATS, ($op (Ceil x)) => (Ceil x);
            /// of trunc(x) it is trunc(x)
            $trunc: FLOATS, ($op (Trunc x)) => (Trunc x);
            /// of round(x) it is round(x)
            $round: FLOATS, ($op (Round x)) => (Round x);
            /// of round_ties_even(x) it is round_ties_even(x)
            $even: FLOATS, ($op (RoundTiesEven x)) => (RoundTiesEven x);
        }
    };
}

pub const FLOOR: &[Rule] = rounded!(Floor: floor_floor floor_ceil floor_trunc floor_round floor_even);
pub const CEIL: &[Rule] = rounded!(Ceil: ceil_floor ceil_ceil ceil_trunc ceil_round ceil_even);
pub const TRUNC: &[Rule] = rounded!(Trunc: trunc_floor trunc_ceil trunc_trunc trunc_round trunc_even);
pub const ROUND: &[Rule] = rounded!(Round: round_floor round_ceil round_trunc round_round round_even);
pub const ROUND_TIES_EVEN: &[Rule] =
    rounded!(RoundTiesEven: even_floor even_ceil even_trunc even_round even_even);
