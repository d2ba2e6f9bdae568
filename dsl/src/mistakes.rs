//! What newcomers write, and what they find instead: names that Rust would otherwise explain as methods of iterators,
//! indices in brackets, and comparisons as conditions of `if`. Nothing here can be called.

use crate::elem::Elem;
use crate::handle::{MExp, SExp, TExp, VExp};
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
        "elements of several arrays are joined by `zip_with`, `zip3` .. `zip6`, and reduced together by `(x, y).reduce(init, f)`";
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
}

/// Scans of what is no vector.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "only vectors have a `scan`",
    label = "scan a row or a column: `m.row(i).scan(init, f)`",
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
