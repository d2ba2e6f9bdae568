//! Closures that can be exported as functions: any number of parameters up to 16, each `SExp`,
//! `VExp`, `MExp` or `TExp`.
//!
//! A closure is called once, on parameter handles, when it is registered. What it returns is the
//! function.

use crate::elem::Elem;
use crate::handle::{MExp, SExp, TExp, VExp};
use crate::node::NodeRef;
use crate::results::{Results, nodes_of};
use arraygpu_compiler::core::Type;

/// A type of parameters: `SExp<T>`, `VExp<T>`, `MExp<T>` or `TExp<T>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a function",
    label = "expected `SExp<T>`, `VExp<T>`, `MExp<T>` or `TExp<T>`",
    note = "a value that the generator knows is captured, not passed: `let w = ..; move |x: VExp<f32>| x * w`"
)]
pub trait Argument: Copy {
    #[doc(hidden)]
    const TYPE: Type;
    #[doc(hidden)]
    fn from_node(node: NodeRef) -> Self;
}

macro_rules! arguments {
    ($($handle:ident $rank:literal)*) => { $(
        impl<T: Elem> Argument for $handle<T> {
            const TYPE: Type = Type { elem: T::TY, rank: $rank };
            fn from_node(node: NodeRef) -> Self {
                $handle::of(node)
            }
        }
    )* };
}
arguments!(SExp 0 VExp 1 MExp 2 TExp 3);

/// A closure or `fn` of `K` parameters that can be exported.
#[diagnostic::on_unimplemented(
    message = "this cannot be exported as a function with {K} named parameters",
    label = "not a function of {K} expressions",
    note = "give a closure or `fn` of `SExp`, `VExp` and `MExp` parameters, at most 16, and one name for each of them: \
            `.function(\"saxpy\", [\"a\", \"x\", \"y\"], \"result\", |a: SExp<f32>, x: VExp<f32>, y: VExp<f32>| a * x + y)`"
)]
pub trait KernelFn<const K: usize, A> {
    /// Calls it once; `parameter` makes the next parameter.
    #[doc(hidden)]
    fn call(self, parameter: &mut dyn FnMut(Type) -> NodeRef) -> Vec<NodeRef>;
}

macro_rules! kernel_fn {
    ($k:literal $($arg:ident)*) => {
        impl<Func, Out, $($arg),*> KernelFn<$k, ($($arg,)*)> for Func
        where
            Func: FnOnce($($arg),*) -> Out,
            Out: Results,
            $($arg: Argument,)*
        {
            fn call(self, _parameter: &mut dyn FnMut(Type) -> NodeRef) -> Vec<NodeRef> {
                nodes_of(self($($arg::from_node(_parameter($arg::TYPE))),*))
            }
        }
    };
}

kernel_fn!(0);
kernel_fn!(1 A);
kernel_fn!(2 A B);
kernel_fn!(3 A B C);
kernel_fn!(4 A B C D);
kernel_fn!(5 A B C D E);
kernel_fn!(6 A B C D E F);
kernel_fn!(7 A B C D E F G);
kernel_fn!(8 A B C D E F G H);
kernel_fn!(9 A B C D E F G H I);
kernel_fn!(10 A B C D E F G H I J);
kernel_fn!(11 A B C D E F G H I J K);
kernel_fn!(12 A B C D E F G H I J K L);
kernel_fn!(13 A B C D E F G H I J K L M);
kernel_fn!(14 A B C D E F G H I J K L M N);
kernel_fn!(15 A B C D E F G H I J K L M N O);
kernel_fn!(16 A B C D E F G H I J K L M N O P);
