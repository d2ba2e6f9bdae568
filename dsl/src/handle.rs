//! The typed handles, and what may stand where one is expected.

use crate::elem::{Elem, exact_float};
use crate::item::Item;
use crate::node::{self, NodeRef};
use crate::scope::Place;
use arraygpu_compiler::Error;
use arraygpu_compiler::core::Type;
use arraygpu_compiler::loc::Loc;
use arraygpu_compiler::scalar::{Lit, Ty};
use std::marker::PhantomData;
use std::panic::Location;

macro_rules! handle {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[must_use = "an expression does nothing unless a function's result uses it"]
        pub struct $name<T>(NodeRef, PhantomData<*const T>);

        impl<T> Clone for $name<T> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<T> Copy for $name<T> {}

        impl<T> $name<T> {
            pub(crate) fn of(node: NodeRef) -> Self {
                $name(node, PhantomData)
            }
            pub(crate) fn node(self) -> NodeRef {
                self.0
            }
        }

        impl<T: Item> std::fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let items: Vec<String> = T::split(&self.0).iter().map(|n| n.ty.elem.to_string()).collect();
                write!(f, "{}<{}> made at {}", stringify!($name), items.join(" "), self.0.at)
            }
        }
    };
}

handle! {
    /// A scalar expression.
    ///
    /// It is `Copy`, 8 bytes, without a lifetime. It stands for a value that the generated code
    /// will compute. Used twice it is one value, computed once for each element. It belongs to the
    /// closure or function whose variables it mentions: its use outside of there is a panic that
    /// names both source lines.
    ///
    /// Operators take handles and literals on either side; an operator costs one operation.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |a: SExp<f32>, b: SExp<f32>| 2 * a - b / 4.0;
    /// assert_eq!(call(f, [scalar(3.0f32), scalar(2.0f32)]), [scalar(5.5f32)]);
    /// ```
    SExp
}

handle! {
    /// A vector expression: a length and that many elements.
    ///
    /// Array expressions fuse into what uses them; a name stores nothing. [`SExp`] says what a
    /// handle is.
    ///
    /// Operators work element by element, on arrays of the same shape, scalars and literals; they
    /// are fused and cost one operation for each element.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |a: SExp<f32>, x: VExp<f32>, y: VExp<f32>| a * x + y;
    /// let args = [scalar(2.0f32), vector(&[1.0f32, 2.0]), vector(&[10.0f32, 20.0])];
    /// assert_eq!(call(f, args), [vector(&[12.0f32, 24.0])]);
    /// ```
    VExp
}

handle! {
    /// A matrix expression: a number of rows, a number of columns, and an element for each row and
    /// column. See [`VExp`].
    MExp
}

handle! {
    /// An expression of an array of three dimensions: planes, each a matrix of rows and columns.
    /// See [`VExp`].
    TExp
}

/// What may stand where a scalar expression of `T` is expected: `SExp<T>`, a `T` (also of a record), and an `i32`
/// literal beside floats.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be used as a scalar expression `SExp<{T}>`",
    label = "expected `SExp<{T}>` or a constant of type `{T}`",
    note = "element types never convert by themselves: write `.cast::<{T}>()` on an expression, and on a Rust number `as {T}`, or `f16::from_f32(0.5)`, `bf16::from_f32(0.5)` for a half",
    note = "to use an array here, reduce it (`.sum()`) or read one element (`.at(i)`, of a matrix `.at(i, j)`)"
)]
pub trait IntoScalar<T: Item>: Sized {
    #[doc(hidden)]
    fn scalar_at(self, at: Place) -> NodeRef;

    /// The scalar expression.
    ///
    /// Cost: none.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: SExp<f32>| x + IntoScalar::<f32>::into_scalar(1.0);
    /// assert_eq!(call(f, [scalar(2.0f32)]), [scalar(3.0f32)]);
    /// ```
    #[track_caller]
    fn into_scalar(self) -> SExp<T> {
        SExp::of(self.scalar_at(Location::caller()))
    }
}

#[diagnostic::do_not_recommend]
impl<T: Item> IntoScalar<T> for SExp<T> {
    fn scalar_at(self, _: Place) -> NodeRef {
        self.node()
    }
}

#[diagnostic::do_not_recommend]
impl<T: Item> IntoScalar<T> for T {
    fn scalar_at(self, at: Place) -> NodeRef {
        let mut literals = Vec::new();
        self.literals(&mut literals);
        T::join(&mut literals.into_iter().map(|x| node::constant(at, x)))
    }
}

macro_rules! integer_literals {
    ($($ty:ty)*) => { $(
        #[diagnostic::do_not_recommend]
        impl IntoScalar<$ty> for i32 {
            fn scalar_at(self, at: Place) -> NodeRef {
                float_literal::<$ty>(self, at)
            }
        }
    )* };
}
integer_literals!(f32 f64 half::f16 half::bf16);

/// `2` beside floats means `2.0`. A number that the float type cannot hold exactly is a mistake.
pub(crate) fn float_literal<T: Elem>(value: i32, at: Place) -> NodeRef {
    match exact_float(value, T::TY) {
        Some(lit) => node::constant(at, lit),
        None => {
            let message = format!(
                "{value} is not exactly a value of {ty}: write {how} to round it to {near:?}",
                ty = T::TY,
                how = match T::TY {
                    Ty::F16 | Ty::Bf16 => format!("{}::from_f32({value}.0)", T::TY),
                    _ => format!("{value}.0"),
                },
                near = Lit::float(T::TY, value.into()).as_float().unwrap_or(0.0) as f32
            );
            let error = Error::user("E0206", message).at(Some(&Loc::caller(at)));
            node::invalid(at, Type::scalar(T::TY), error)
        }
    }
}
