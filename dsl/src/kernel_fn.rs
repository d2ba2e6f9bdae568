//! Closures that can be exported as functions: any number of parameters up to 16, each `SExp`,
//! `VExp`, `MExp` or `TExp`.
//!
//! A closure is called once, on parameter handles, when it is registered. What it returns is the
//! function.

use crate::handle::{MExp, SExp, TExp, VExp};
use crate::item::{Described, Item};
use crate::node::NodeRef;
use crate::results::{Results, nodes_of, of_nodes};

/// A type of parameters: `SExp<T>`, `VExp<T>`, `MExp<T>` or `TExp<T>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a function",
    label = "expected `SExp<T>`, `VExp<T>`, `MExp<T>` or `TExp<T>`",
    note = "a value that the generator knows is captured, not passed: `let w = ..; move |x: VExp<f32>| x * w`"
)]
pub trait Argument: Results {
    #[doc(hidden)]
    const RANK: u8;
}

/// A parameter of a function: a scalar or an array for each leaf.
#[derive(Debug)]
pub struct Parameter {
    pub(crate) of: Described,
    pub(crate) rank: u8,
}

impl Parameter {
    fn of<A: Argument>() -> Parameter {
        let of = described::<A>().pop().expect("a parameter is one value");
        Parameter { of, rank: A::RANK }
    }
}

/// What a function gave when it was called: the nodes of its results, and what each value that has a name is.
#[derive(Debug)]
pub struct Called {
    pub(crate) nodes: Vec<NodeRef>,
    pub(crate) of: Vec<Described>,
}

fn described<R: Results>() -> Vec<Described> {
    let mut all = Vec::new();
    R::described(&mut all);
    all
}

macro_rules! arguments {
    ($($handle:ident $rank:literal)*) => { $(
        impl<T: Item> Argument for $handle<T> {
            const RANK: u8 = $rank;
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
    /// Calls it once; `parameter` makes the nodes of the next parameter.
    #[doc(hidden)]
    fn call(self, parameter: &mut dyn FnMut(Parameter) -> Vec<NodeRef>) -> Called;
}

macro_rules! kernel_fn {
    ($k:literal $($arg:ident)*) => {
        impl<Func, Out, $($arg),*> KernelFn<$k, ($($arg,)*)> for Func
        where
            Func: FnOnce($($arg),*) -> Out,
            Out: Results,
            $($arg: Argument,)*
        {
            fn call(self, _parameter: &mut dyn FnMut(Parameter) -> Vec<NodeRef>) -> Called {
                let nodes = nodes_of(self($(of_nodes::<$arg>(&_parameter(Parameter::of::<$arg>()))),*));
                Called { nodes, of: described::<Out>() }
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
