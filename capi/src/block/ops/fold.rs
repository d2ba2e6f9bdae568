//! Reductions of an array: in order into a scalar, row by row into 128 columns, and the tree that
//! joins those columns.

use super::shapes::{Binary, Ternary, get, put};
use super::{Code, Kind, Op, at, float, integer};
use crate::level::Level;
use arraygpu_compiler::core::COLUMNS;
use arraygpu_compiler::scalar::{BinaryOp, Ty};
use std::marker::PhantomData;

const WIDTH: usize = COLUMNS as usize;

/// How a reduction takes the i-th element of one or two arrays into its value.
trait Go {
    type T: Copy;
    /// # Safety
    /// The arrays have an i-th element.
    unsafe fn on(x: Self::T, a: *const u8, b: *const u8, i: usize) -> Self::T;
}

/// The value is joined with the element itself.
struct Element<K>(PhantomData<K>);
/// The product of two elements is added to the value.
struct Product<K>(PhantomData<K>);

impl<T: Copy, K: Binary<In = T, Out = T>> Go for Element<K> {
    type T = T;
    #[inline(always)]
    unsafe fn on(x: T, a: *const u8, _: *const u8, i: usize) -> T {
        // SAFETY: the caller promises it.
        K::of(x, unsafe { get(a, i) })
    }
}

impl<T: Copy, K: Ternary<First = T, In = T, Out = T>> Go for Product<K> {
    type T = T;
    #[inline(always)]
    unsafe fn on(x: T, a: *const u8, b: *const u8, i: usize) -> T {
        // SAFETY: the caller promises it.
        unsafe { K::of(get(a, i), get(b, i), x) }
    }
}

/// Joins the scalar `d` with each element in order.
struct InOrder<G>(PhantomData<G>);

impl<G: Go> Code for InOrder<G> {
    #[inline(always)]
    unsafe fn run(d: *mut u8, a: *const u8, b: *const u8, _: *const u8, n: usize) {
        // SAFETY: the caller promises `n` elements of the operands, and one of `d`.
        unsafe { put(d, 0, (0..n).fold(get::<G::T>(d, 0), |x, i| G::on(x, a, b, i))) }
    }
}

/// Joins each of the 128 columns of `d` with its elements: column i with the elements i, i + 128,
/// and so on.
struct Rows<G>(PhantomData<G>);

impl<G: Go> Code for Rows<G> {
    #[inline(always)]
    unsafe fn run(d: *mut u8, a: *const u8, b: *const u8, _: *const u8, n: usize) {
        // SAFETY: the caller promises `n` elements of the operands, and 128 of `d` (or `n`, if that
        // is less: no others are accessed).
        unsafe {
            let full = n / WIDTH;
            if full > 0 {
                let mut columns: [G::T; WIDTH] = d.cast::<[G::T; WIDTH]>().read();
                for row in 0..full {
                    for (c, x) in columns.iter_mut().enumerate() {
                        *x = G::on(*x, a, b, row * WIDTH + c);
                    }
                }
                d.cast::<[G::T; WIDTH]>().write(columns);
            }
            for c in 0..n % WIDTH {
                put(d, c, G::on(get(d, c), a, b, full * WIDTH + c));
            }
        }
    }
}

/// Joins 128 columns into the scalar `d`, as a tree of neighbours.
struct Tree<K>(PhantomData<K>);

impl<T: Copy, K: Binary<In = T, Out = T>> Code for Tree<K> {
    #[inline(always)]
    unsafe fn run(d: *mut u8, a: *const u8, _: *const u8, _: *const u8, _: usize) {
        // SAFETY: the caller promises 128 elements of `a`, and one of `d`.
        unsafe {
            let columns: [T; WIDTH] = a.cast::<[T; WIDTH]>().read();
            let x64: [T; 64] = std::array::from_fn(|k| K::of(columns[2 * k], columns[2 * k + 1]));
            let x32: [T; 32] = std::array::from_fn(|k| K::of(x64[2 * k], x64[2 * k + 1]));
            let x16: [T; 16] = std::array::from_fn(|k| K::of(x32[2 * k], x32[2 * k + 1]));
            let x8: [T; 8] = std::array::from_fn(|k| K::of(x16[2 * k], x16[2 * k + 1]));
            let x4: [T; 4] = std::array::from_fn(|k| K::of(x8[2 * k], x8[2 * k + 1]));
            put(d, 0, K::of(K::of(x4[0], x4[1]), K::of(x4[2], x4[3])));
        }
    }
}

/// The kinds of reductions.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Fold {
    /// Joins the scalar `d` with the elements of `a` (and `b`) in order.
    InOrder,
    /// Joins the 128 columns of `d` with the elements, row by row; a block begins at the first
    /// column of a row.
    Rows,
    /// Sets the scalar `d` to the tree of the 128 columns of `a`.
    Tree,
}

/// Returns the code of a reduction. The types of `kind` are those of the value and the element, or
/// those of the two factors and the value, for which there is no tree.
pub fn fold(fold: Fold, kind: Kind, level: Level) -> Option<Op> {
    macro_rules! of {
        ($op:ty) => {
            Some(match fold {
                Fold::InOrder => at::<InOrder<Element<$op>>>(level),
                Fold::Rows => at::<Rows<Element<$op>>>(level),
                Fold::Tree => at::<Tree<$op>>(level),
            })
        };
    }
    macro_rules! product {
        ($op:ty) => {
            match fold {
                Fold::InOrder => Some(at::<InOrder<Product<$op>>>(level)),
                Fold::Rows => Some(at::<Rows<Product<$op>>>(level)),
                Fold::Tree => None,
            }
        };
    }
    macro_rules! floats {
        ($to:ident, $op:ident, $ty:expr) => {
            if $ty == Ty::F32 { $to!(float::$op<f32>) } else { $to!(float::$op<f64>) }
        };
    }
    macro_rules! sizes {
        ($op:ident, $ty:expr) => {
            match $ty.size() {
                4 => of!(integer::$op<u32>),
                8 => of!(integer::$op<u64>),
                _ => None,
            }
        };
    }
    macro_rules! signs {
        ($op:ident, $ty:expr) => {
            match $ty {
                Ty::I32 => of!(integer::$op<i32>),
                Ty::I64 => of!(integer::$op<i64>),
                _ => sizes!($op, $ty),
            }
        };
    }
    match kind {
        Kind::MulAdd(ty) if ty.is_float() => floats!(product, MulAdd, ty),
        Kind::Added(ty) => floats!(product, Added, ty),
        Kind::Binary(op, ty) if ty.is_float() => match op {
            BinaryOp::Add => floats!(of, Add, ty),
            BinaryOp::Mul => floats!(of, Mul, ty),
            BinaryOp::Min => floats!(of, Min, ty),
            BinaryOp::Max => floats!(of, Max, ty),
            _ => None,
        },
        Kind::Binary(op, ty) => match op {
            BinaryOp::Add => sizes!(Add, ty),
            BinaryOp::Mul => sizes!(Mul, ty),
            BinaryOp::And => sizes!(And, ty),
            BinaryOp::Or => sizes!(Or, ty),
            BinaryOp::Xor => sizes!(Xor, ty),
            BinaryOp::Min => signs!(Min, ty),
            BinaryOp::Max => signs!(Max, ty),
            _ => None,
        },
        _ => None,
    }
}
