//! Rust values as arguments and results of functions that `eval` runs.

use crate::handle::{MExp, SExp, TExp, VExp};
use crate::item::{Item, leaves_of_item};
use crate::kernel_fn::Outputs;
use crate::results::each_tuple;
use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::counted;
use std::ops::{Index, IndexMut};

/// A matrix of Rust numbers, row by row.
///
/// ```
/// # use arraygpu_dsl::Matrix;
/// let m = Matrix::from([[1.0f32, 2.0], [3.0, 4.0]]);
/// assert_eq!((m.rows(), m.cols(), m[[1, 0]]), (2, 2, 3.0));
/// assert_eq!(m, [[1.0, 2.0], [3.0, 4.0]]);
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Matrix<T> {
    extents: [usize; 2],
    elements: Vec<T>,
}

/// An array of three dimensions of Rust numbers, plane by plane and row by row.
///
/// ```
/// # use arraygpu_dsl::Volume;
/// let v = Volume::from([[[1.0f32, 2.0]], [[3.0, 4.0]]]);
/// assert_eq!((v.extents(), v[[1, 0, 1]]), ([2, 1, 2], 4.0));
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Volume<T> {
    extents: [usize; 3],
    elements: Vec<T>,
}

macro_rules! arrays {
    ($($name:ident $rank:literal)*) => { $(
        impl<T> $name<T> {
            /// The array with these extents, outermost first, and these elements in row-major order.
            ///
            /// Cost: none in generated code.
            ///
            /// # Panics
            ///
            /// If there are not as many elements.
            ///
            /// ```
            /// # use arraygpu_dsl::Matrix;
            /// assert_eq!(Matrix::new([1, 2], vec![1.0, 2.0]), [[1.0, 2.0]]);
            /// ```
            #[track_caller]
            pub fn new(extents: [usize; $rank], elements: Vec<T>) -> Self {
                let count: usize = extents.iter().product();
                assert!(elements.len() == count, "{} for the extents {extents:?}", counted(elements.len(), "element"));
                $name { extents, elements }
            }

            /// The array whose elements are the function of their indices.
            ///
            /// Cost: none in generated code.
            ///
            /// ```
            /// # use arraygpu_dsl::Matrix;
            /// assert_eq!(Matrix::from_fn([2, 2], |[i, j]| 10 * i + j), [[0, 1], [10, 11]]);
            /// ```
            pub fn from_fn(extents: [usize; $rank], mut f: impl FnMut([usize; $rank]) -> T) -> Self {
                let index = |mut k: usize| {
                    let mut index = [0; $rank];
                    for (i, n) in index.iter_mut().zip(extents).rev() {
                        (*i, k) = (k % n, k / n);
                    }
                    index
                };
                let count: usize = extents.iter().product();
                $name { extents, elements: (0..count).map(|k| f(index(k))).collect() }
            }

            /// The extents, outermost first.
            ///
            /// Cost: none in generated code.
            ///
            /// ```
            /// # use arraygpu_dsl::Matrix;
            /// assert_eq!(Matrix::from([[1, 2, 3]]).extents(), [1, 3]);
            /// ```
            pub fn extents(&self) -> [usize; $rank] {
                self.extents
            }

            /// All elements in row-major order.
            ///
            /// Cost: none in generated code.
            ///
            /// ```
            /// # use arraygpu_dsl::Matrix;
            /// assert_eq!(Matrix::from([[1, 2], [3, 4]]).elements(), [1, 2, 3, 4]);
            /// ```
            pub fn elements(&self) -> &[T] {
                &self.elements
            }

            fn position(&self, index: [usize; $rank]) -> usize {
                assert!(
                    index.iter().zip(self.extents).all(|(i, n)| *i < n),
                    "the index {index:?} is outside of the extents {:?}",
                    self.extents
                );
                index.iter().zip(self.extents).fold(0, |at, (i, n)| at * n + i)
            }
        }

        impl<T> Index<[usize; $rank]> for $name<T> {
            type Output = T;
            #[track_caller]
            fn index(&self, index: [usize; $rank]) -> &T {
                &self.elements[self.position(index)]
            }
        }

        impl<T> IndexMut<[usize; $rank]> for $name<T> {
            #[track_caller]
            fn index_mut(&mut self, index: [usize; $rank]) -> &mut T {
                let at = self.position(index);
                &mut self.elements[at]
            }
        }
    )* };
}
arrays!(Matrix 2 Volume 3);

impl<T> Matrix<T> {
    /// The number of rows.
    ///
    /// Cost: none in generated code.
    ///
    /// ```
    /// # use arraygpu_dsl::Matrix;
    /// assert_eq!(Matrix::from([[1, 2, 3]]).rows(), 1);
    /// ```
    pub fn rows(&self) -> usize {
        self.extents[0]
    }

    /// The number of columns.
    ///
    /// Cost: none in generated code.
    ///
    /// ```
    /// # use arraygpu_dsl::Matrix;
    /// assert_eq!(Matrix::from([[1, 2, 3]]).cols(), 3);
    /// ```
    pub fn cols(&self) -> usize {
        self.extents[1]
    }
}

impl<T, const R: usize, const C: usize> From<[[T; C]; R]> for Matrix<T> {
    fn from(rows: [[T; C]; R]) -> Matrix<T> {
        Matrix { extents: [R, C], elements: rows.into_iter().flatten().collect() }
    }
}

impl<T, const P: usize, const R: usize, const C: usize> From<[[[T; C]; R]; P]> for Volume<T> {
    fn from(planes: [[[T; C]; R]; P]) -> Volume<T> {
        Volume { extents: [P, R, C], elements: planes.into_iter().flatten().flatten().collect() }
    }
}

impl<T: PartialEq, const R: usize, const C: usize> PartialEq<[[T; C]; R]> for Matrix<T> {
    fn eq(&self, rows: &[[T; C]; R]) -> bool {
        self.extents == [R, C] && self.elements == rows.as_flattened()
    }
}

impl<T: PartialEq, const P: usize, const R: usize, const C: usize> PartialEq<[[[T; C]; R]; P]> for Volume<T> {
    fn eq(&self, planes: &[[[T; C]; R]; P]) -> bool {
        self.extents == [P, R, C] && self.elements == planes.as_flattened().as_flattened()
    }
}

/// What may be given for a parameter of type `A`: a number for `SExp`, a vector, a slice or an array of numbers for
/// `VExp`, a [`Matrix`] or an array of arrays for `MExp`, a [`Volume`] for `TExp`. Of a parameter of a record the
/// elements are values of its struct.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a value for a parameter of type `{A}`",
    label = "no value of `{A}`",
    note = "give a number for `SExp<T>`, a `Vec<T>`, `&[T]` or `[T; N]` for `VExp<T>`, an `arraygpu::Matrix<T>` or `[[T; C]; R]` for `MExp<T>`, a `Volume<T>` for `TExp<T>`, each of the parameter's element type"
)]
pub trait ArgumentValue<A> {
    /// Adds the values: of a record one for each leaf.
    #[doc(hidden)]
    fn parts(&self, out: &mut Vec<Value>);
}

/// Adds the arrays of the leaves of elements in row-major order.
fn split<T: Item>(extents: &[usize], elements: &[T], out: &mut Vec<Value>) {
    let mut columns = vec![Vec::with_capacity(elements.len()); leaves_of_item::<T>().len()];
    let mut leaves = Vec::new();
    for x in elements {
        leaves.clear();
        x.literals(&mut leaves);
        columns.iter_mut().zip(&leaves).for_each(|(column, leaf)| column.push(*leaf));
    }
    out.extend(columns.into_iter().map(|column| match extents {
        [] => Value::Scalar(column[0]),
        [_] => Value::Vector(column),
        _ => Value::Array(extents.iter().map(|n| *n as i64).collect(), column),
    }));
}

impl<T: Item> ArgumentValue<SExp<T>> for T {
    fn parts(&self, out: &mut Vec<Value>) {
        split(&[], std::slice::from_ref(self), out);
    }
}

/// Values and references to them.
macro_rules! argument_values {
    ($([$($generics:tt)*] $ty:ty => $handle:ident: |$x:ident| $extents:expr, $elements:expr;)*) => { $(
        impl<$($generics)*> ArgumentValue<$handle<T>> for $ty {
            fn parts(&self, out: &mut Vec<Value>) {
                let $x = self;
                split(&$extents, $elements, out);
            }
        }
        impl<$($generics)*> ArgumentValue<$handle<T>> for &$ty {
            fn parts(&self, out: &mut Vec<Value>) {
                ArgumentValue::<$handle<T>>::parts(*self, out);
            }
        }
    )* };
}

argument_values! {
    [T: Item] Vec<T> => VExp: |x| [x.len()], x;
    [T: Item, const N: usize] [T; N] => VExp: |x| [N], x;
    [T: Item] Matrix<T> => MExp: |x| x.extents, &x.elements;
    [T: Item] Volume<T> => TExp: |x| x.extents, &x.elements;
    [T: Item, const R: usize, const C: usize] [[T; C]; R] => MExp: |x| [R, C], x.as_flattened();
    [T: Item, const P: usize, const R: usize, const C: usize] [[[T; C]; R]; P] => TExp:
        |x| [P, R, C], x.as_flattened().as_flattened();
}

impl<T: Item> ArgumentValue<VExp<T>> for &[T] {
    fn parts(&self, out: &mut Vec<Value>) {
        split(&[self.len()], self, out);
    }
}

impl<A, V: ArgumentValue<A>, const N: usize> ArgumentValue<[A; N]> for [V; N] {
    fn parts(&self, out: &mut Vec<Value>) {
        self.iter().for_each(|x| x.parts(out));
    }
}

/// The arguments of a call: a tuple with a value for each of the `K` parameters; of a single one `(x,)`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the arguments of this function",
    label = "expected a tuple of {K} values",
    note = "give a tuple with a value for each parameter: `(x, y)`, and `(x,)` for a single one"
)]
pub trait ArgumentValues<const K: usize, A> {
    #[doc(hidden)]
    fn values(&self) -> Vec<Value>;
}

macro_rules! arguments {
    ($k:literal $($name:ident $of:ident)*) => {
        impl<$($name: ArgumentValue<$of>, $of),*> ArgumentValues<$k, ($($of,)*)> for ($($name,)*) {
            #[allow(non_snake_case)]
            fn values(&self) -> Vec<Value> {
                let ($($name,)*) = self;
                #[allow(unused_mut)]
                let mut out = Vec::new();
                $($name.parts(&mut out);)*
                out
            }
        }
    };
}
arguments!(0);
arguments!(1 V1 A1);
arguments!(2 V1 A1 V2 A2);
arguments!(3 V1 A1 V2 A2 V3 A3);
arguments!(4 V1 A1 V2 A2 V3 A3 V4 A4);
arguments!(5 V1 A1 V2 A2 V3 A3 V4 A4 V5 A5);
arguments!(6 V1 A1 V2 A2 V3 A3 V4 A4 V5 A5 V6 A6);
arguments!(7 V1 A1 V2 A2 V3 A3 V4 A4 V5 A5 V6 A6 V7 A7);
arguments!(8 V1 A1 V2 A2 V3 A3 V4 A4 V5 A5 V6 A6 V7 A7 V8 A8);
arguments!(9 V1 A1 V2 A2 V3 A3 V4 A4 V5 A5 V6 A6 V7 A7 V8 A8 V9 A9);
arguments!(10 V1 A1 V2 A2 V3 A3 V4 A4 V5 A5 V6 A6 V7 A7 V8 A8 V9 A9 V10 A10);
arguments!(11 V1 A1 V2 A2 V3 A3 V4 A4 V5 A5 V6 A6 V7 A7 V8 A8 V9 A9 V10 A10 V11 A11);
arguments!(12 V1 A1 V2 A2 V3 A3 V4 A4 V5 A5 V6 A6 V7 A7 V8 A8 V9 A9 V10 A10 V11 A11 V12 A12);

/// What a function's results become: a number for `SExp`, a vector for `VExp`, a [`Matrix`] for `MExp`, a [`Volume`]
/// for `TExp`, tuples and arrays of them; of records values of their structs.
pub trait ResultValues: Outputs {
    /// The Rust value.
    type Value;
    #[doc(hidden)]
    fn of_values(values: &mut dyn Iterator<Item = Value>) -> Self::Value;
}

/// The extents and the elements of the next results: of a record those of its leaves.
fn joined<T: Item, const R: usize>(values: &mut dyn Iterator<Item = Value>) -> ([usize; R], Vec<T>) {
    let mut extents = [0; R];
    let mut columns = Vec::new();
    for value in values.take(leaves_of_item::<T>().len()) {
        let (found, column) = match value {
            Value::Scalar(x) => (vec![], vec![x]),
            Value::Vector(v) => (vec![v.len() as i64], v),
            Value::Array(extents, v) => (extents, v),
        };
        extents.iter_mut().zip(found).for_each(|(n, extent)| *n = extent as usize);
        columns.push(column);
    }
    let elements = 0..columns[0].len();
    (extents, elements.map(|k| T::of_literals(&mut columns.iter().map(|column| column[k]))).collect())
}

impl<T: Item> ResultValues for SExp<T> {
    type Value = T;
    fn of_values(values: &mut dyn Iterator<Item = Value>) -> T {
        joined::<T, 0>(values).1.pop().expect("a scalar has a value")
    }
}

impl<T: Item> ResultValues for VExp<T> {
    type Value = Vec<T>;
    fn of_values(values: &mut dyn Iterator<Item = Value>) -> Vec<T> {
        joined::<T, 1>(values).1
    }
}

impl<T: Item> ResultValues for MExp<T> {
    type Value = Matrix<T>;
    fn of_values(values: &mut dyn Iterator<Item = Value>) -> Matrix<T> {
        let (extents, elements) = joined(values);
        Matrix { extents, elements }
    }
}

impl<T: Item> ResultValues for TExp<T> {
    type Value = Volume<T>;
    fn of_values(values: &mut dyn Iterator<Item = Value>) -> Volume<T> {
        let (extents, elements) = joined(values);
        Volume { extents, elements }
    }
}

impl<A: ResultValues, const N: usize> ResultValues for [A; N] {
    type Value = [A::Value; N];
    fn of_values(values: &mut dyn Iterator<Item = Value>) -> Self::Value {
        std::array::from_fn(|_| A::of_values(values))
    }
}

macro_rules! tuples {
    ($($name:ident)+) => {
        impl<$($name: ResultValues),+> ResultValues for ($($name,)+) {
            type Value = ($($name::Value,)+);
            fn of_values(values: &mut dyn Iterator<Item = Value>) -> Self::Value {
                ($($name::of_values(values),)+)
            }
        }
    };
}
each_tuple!(tuples);
