//! What newcomers write, and what they find instead: names that Rust would otherwise explain as methods of
//! iterators, words of vectors that matrices, tuples and what a filter keeps do not have, indices in brackets, and
//! comparisons as conditions of `if`. Nothing here can be called.

use crate::elem::Elem;
use crate::filtered::Filtered;
use crate::handle::{MExp, SExp, TExp, VExp};
use crate::results::each_tuple;
use crate::tuples::Arrays;
use std::cmp::Ordering;
use std::ops::Index;

/// Declares methods that arrays do not have, each with a trait that nothing implements and that carries the advice.
macro_rules! absent {
    ($($name:ident $method:ident($($arg:ident: $ty:ident),*) $message:literal $label:literal $note:literal;)*) => {
        $(
            #[doc(hidden)]
            #[diagnostic::on_unimplemented(message = $message, label = $label, note = $note)]
            pub trait $name {}
        )*
        absent!(@of VExp $([$name $method $($arg $ty)*])*);
        absent!(@of MExp $([$name $method $($arg $ty)*])*);
        absent!(@of TExp $([$name $method $($arg $ty)*])*);
    };
    (@of $handle:ident $([$name:ident $method:ident $($arg:ident $ty:ident)*])*) => {
        impl<T: Elem> $handle<T> { $(
            #[doc(hidden)]
            pub fn $method<$($ty),*>(self, $($arg: $ty),*) -> Self
            where
                Self: $name,
            {
                $(let _ = $arg;)*
                self
            }
        )* }
    };
}

absent! {
    HasZip zip(_other: A)
        "arrays have no `zip`" "write `x.zip_with(y, |a, b| ..)`"
        "elements of several arrays are joined by `zip_with`, `zip3` .. `zip12`, and reduced together by `(x, y).reduce(init, f)`";
    HasEnumerate enumerate()
        "arrays have no `enumerate`" "write `x.zip_with(iota(x.len()), |a, i| ..)`"
        "or compute from the index: `generate(x.len(), |i| .. x.at(i) ..)`";
    HasRev rev()
        "arrays have no `rev`" "write `x.reverse()`"
        "a matrix has `reverse_rows()` and `reverse_cols()`";
    HasTake take(_n: A)
        "arrays have no `take`" "write `x.sliced(s![..n])`"
        "or `x.slice(0, n)`";
    HasSkip skip(_n: A)
        "arrays have no `skip`" "write `x.sliced(s![n..])`"
        "or `x.slice(n, x.len())`";
    HasStepBy step_by(_n: A)
        "arrays have no `step_by`" "write `x.sliced(s![..; n])`"
        "or `x.slice_by(0, x.len(), n)`";
    HasCount count()
        "arrays have no `count`" "of truth values write `x.cast::<i64>().sum()`"
        "how many elements a vector has is `x.len()`";
    HasCumsum cumsum()
        "arrays have no `cumsum`" "write `x.scan(0.0, |a, b| a + b)`"
        "of a matrix `m.scan_rows(0.0, |a, b| a + b)`, and `scan_cols`";
    HasFlatten flatten()
        "arrays have no `flatten`" "write `generate(m.rows() * m.cols(), |k| m.at(k / m.cols(), k % m.cols()))`"
        "reductions of a matrix, `m.sum()` and its kin, are those of all elements, row by row";
    HasClamp clamp(_low: A, _high: B)
        "there is no `clamp`" "write `x.map(|a| a.max(low).min(high))`"
        "of a scalar `a.max(low).min(high)`; of indices that are destinations `i.clamped()`";
    HasPow pow(_y: A)
        "there is no `pow`" "write `x.powf(y)` of floats"
        "a whole power is a product: `x * x`";
    HasPowi powi(_n: A)
        "there is no `powi`" "write `x * x`, or `x.powf(n)` of floats"
        "a handle that is used twice is one value, computed once for each element";
}
absent!(@of SExp [HasClamp clamp _low A _high B] [HasPow pow _y A] [HasPowi powi _n A]);

/// Scans of what is no vector.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "only vectors have a `scan`",
    label = "write `m.scan_rows(init, f)`, `m.scan_cols(init, f)`, or `m.row(i).scan(init, f)`",
    note = "a running value of each row that is reduced or folded at the end is a tuple's: `m.map_rows(|r| (r,).fold((0.0f32, 0.0f32), |(best, sum), (a,)| ..).0)`"
)]
pub trait HasScan {}
absent!(@of MExp [HasScan scan _init A _f B]);
absent!(@of TExp [HasScan scan _init A _f B]);

/// Filters of what is no vector.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "only vectors have a `filter`: what is kept of a matrix is no matrix",
    label = "write `cond`, or a weight",
    note = "sum only some elements: `m.map(|a| cond(a.gt(0.0), a, 0.0)).sum()`; `m.row(i).filter(f)` and `m.col(i).filter(f)` are vectors"
)]
pub trait HasFilter {}
absent!(@of MExp [HasFilter filter _f A]);
absent!(@of TExp [HasFilter filter _f A]);

/// Sorts and groups of what is no vector.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "only vectors are sorted and grouped",
    label = "all elements as a vector: `generate(m.rows() * m.cols(), |k| m.at(k / m.cols(), k % m.cols()))`",
    note = "`m.row(i)` and `m.col(i)` are vectors; this version sorts no rows or columns by themselves"
)]
pub trait HasSorts {}
absent!(@of MExp [HasSorts sort] [HasSorts argsort] [HasSorts unique] [HasSorts histogram _n A] [HasSorts sort_rows]
    [HasSorts sort_cols] [HasSorts argsort_rows] [HasSorts argsort_cols]);
absent!(@of TExp [HasSorts sort] [HasSorts argsort] [HasSorts unique] [HasSorts histogram _n A]);

/// Words of vectors of what a filter keeps, whose number only the device knows.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "what a filter keeps is no vector",
    label = "write `kept.reduce(init, f)`, `kept.map(f)`, `kept.scan(init, f)`, or `kept.len()` for their number",
    note = "`kept.filled(default)` is a vector with `default` behind the kept elements, `kept.with_len(n)` one of n elements where that number is known"
)]
pub trait IsVector {}
absent!(@of Filtered [IsVector sort] [IsVector argsort] [IsVector count] [IsVector gather _i A] [IsVector zip _other A]
    [IsVector enumerate]);

/// Words of vectors of tuples, which have only reductions, folds and scans.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "a tuple of arrays is no array of tuples",
    label = "a tuple has `reduce`, `fold` and `scan`; elsewhere write `x.zip_with(y, |a, b| ..)`, or make records",
    note = "arrays that are filtered or grouped together are the fields of a record: `#[derive(Record)]` of a struct `Pair` makes `PairVectors`, of which `.pack()` makes the array"
)]
pub trait IsArray {}

/// Methods that tuples of arrays do not have.
#[doc(hidden)]
pub trait TupleMistakes: Sized {
    fn map<F>(self, _f: F) -> Self
    where
        Self: IsArray,
    {
        self
    }
    fn filter<F>(self, _f: F) -> Self
    where
        Self: IsArray,
    {
        self
    }
    fn gather<I>(self, _indices: I) -> Self
    where
        Self: IsArray,
    {
        self
    }
    fn scatter<N, I, D>(self, _n: N, _destinations: I, _default: D) -> Self
    where
        Self: IsArray,
    {
        self
    }
    fn scatter_reduce<N, I, D, F>(self, _n: N, _destinations: I, _init: D, _f: F) -> Self
    where
        Self: IsArray,
    {
        self
    }
    fn segmented_reduce<O, D, F>(self, _offsets: O, _init: D, _f: F) -> Self
    where
        Self: IsArray,
    {
        self
    }
}

macro_rules! of_tuples {
    ($($name:ident)+) => {
        impl<$($name: Arrays),+> TupleMistakes for ($($name,)+) {}
    };
}
each_tuple!(of_tuples);

/// Indices in brackets.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "an expression is not indexed by brackets",
    label = "write `.at(i)` of a vector, `.at(i, j)` of a matrix",
    note = "a row is `m.row(i)`, a range `x.sliced(s![1..n])`; outside of the array an element is 0 and leaves an error record"
)]
pub trait Brackets<I> {}

macro_rules! brackets {
    ($($handle:ident)*) => { $(
        #[diagnostic::do_not_recommend]
        impl<T: Elem, I> Index<I> for $handle<T>
        where
            $handle<T>: Brackets<I>,
        {
            type Output = SExp<T>;
            fn index(&self, _: I) -> &SExp<T> {
                unreachable!("nothing has brackets")
            }
        }
    )* };
}
brackets!(VExp MExp TExp);

/// Comparisons by operators. rustc names this trait where somebody writes `if a > 0.0`: while the generator
/// runs there is no value yet, so that an `if` would have nothing to decide by.
#[doc(hidden)]
pub trait ComparesByGtLtEqInsideOfCondOrIfElse {}

#[diagnostic::do_not_recommend]
impl<T: Elem, R> PartialEq<R> for SExp<T>
where
    SExp<T>: ComparesByGtLtEqInsideOfCondOrIfElse,
{
    fn eq(&self, _: &R) -> bool {
        unreachable!("nothing is compared")
    }
}

#[diagnostic::do_not_recommend]
impl<T: Elem, R> PartialOrd<R> for SExp<T>
where
    SExp<T>: ComparesByGtLtEqInsideOfCondOrIfElse,
{
    fn partial_cmp(&self, _: &R) -> Option<Ordering> {
        unreachable!("nothing is compared")
    }
}
