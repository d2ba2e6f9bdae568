//! Closures that can be exported as functions: any number of parameters up to 16, each `SExp`,
//! `VExp`, `MExp` or `TExp`, or a list of these.
//!
//! A closure is called once, on parameter handles, when it is registered. What it returns is the
//! function.

use crate::handle::{MExp, SExp, TExp, VExp};
use crate::item::{Described, Item};
use crate::node::NodeRef;
use crate::results::{Results, each_tuple, of_nodes};

/// A type of parameters: `SExp<T>`, `VExp<T>`, `MExp<T>` or `TExp<T>`; also `[VExp<T>; N]`, whose parameters have the
/// names `w0`, `w1` .. if the name is `w`, and `Vec<VExp<T>>`, whose name says how many there are: `w[3]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a function",
    label = "expected `SExp<T>`, `VExp<T>`, `MExp<T>` or `TExp<T>`",
    note = "a value that the generator knows is captured, not passed: `let w = ..; move |x: VExp<f32>| x * w`"
)]
pub trait Argument: Sized {
    /// Makes it of parameters, each of which gets a name.
    #[doc(hidden)]
    fn make(name: &str, parameter: &mut dyn FnMut(&str, Parameter) -> Vec<NodeRef>) -> Self;
}

/// A parameter of a function: a scalar or an array for each leaf.
#[derive(Debug)]
pub struct Parameter {
    pub(crate) of: Described,
    pub(crate) rank: u8,
}

impl Parameter {
    fn of<A: Results>(rank: u8) -> Parameter {
        let mut all = Vec::new();
        A::described(&mut all);
        Parameter { of: all.pop().expect("a parameter is one value"), rank }
    }
}

/// What a function gave when it was called: the nodes of its results, and what each value that has a name is.
#[derive(Debug, Default)]
pub struct Called {
    pub(crate) nodes: Vec<NodeRef>,
    pub(crate) of: Vec<Described>,
}

/// What a function may return: a value, or a tuple, an array or a list of values.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the result of a function",
    label = "not an expression",
    note = "a function returns `SExp<T>`, `VExp<T>`, `MExp<T>`, `TExp<T>`, or a tuple of up to 16 of them, an array or a `Vec`",
    note = "a Rust number becomes an expression by `lit(x)`"
)]
pub trait Outputs {
    #[doc(hidden)]
    fn give(self, out: &mut Called);
}

macro_rules! arguments {
    ($($handle:ident $rank:literal)*) => { $(
        impl<T: Item> Argument for $handle<T> {
            fn make(name: &str, parameter: &mut dyn FnMut(&str, Parameter) -> Vec<NodeRef>) -> Self {
                of_nodes(&parameter(name, Parameter::of::<Self>($rank)))
            }
        }

        impl<T: Item> Outputs for $handle<T> {
            fn give(self, out: &mut Called) {
                Self::described(&mut out.of);
                self.nodes(&mut out.nodes);
            }
        }
    )* };
}
arguments!(SExp 0 VExp 1 MExp 2 TExp 3);

impl<A: Argument, const N: usize> Argument for [A; N] {
    fn make(name: &str, parameter: &mut dyn FnMut(&str, Parameter) -> Vec<NodeRef>) -> Self {
        std::array::from_fn(|i| A::make(&format!("{name}{i}"), parameter))
    }
}

impl<A: Argument> Argument for Vec<A> {
    fn make(name: &str, parameter: &mut dyn FnMut(&str, Parameter) -> Vec<NodeRef>) -> Self {
        let many = name.strip_suffix(']').and_then(|n| n.split_once('['));
        match many.and_then(|(name, many)| Some((name, many.parse::<u32>().ok()?))) {
            Some((name, many)) => (0..many).map(|i| A::make(&format!("{name}{i}"), parameter)).collect(),
            // the name says so if it is no name; else it is that of the only one
            None => vec![A::make(name, parameter)],
        }
    }
}

impl<O: Outputs, const N: usize> Outputs for [O; N] {
    fn give(self, out: &mut Called) {
        self.into_iter().for_each(|o| o.give(out));
    }
}

impl<O: Outputs> Outputs for Vec<O> {
    fn give(self, out: &mut Called) {
        self.into_iter().for_each(|o| o.give(out));
    }
}

macro_rules! tuples {
    ($($name:ident)+) => {
        impl<$($name: Outputs),+> Outputs for ($($name,)+) {
            #[allow(non_snake_case)]
            fn give(self, out: &mut Called) {
                let ($($name,)+) = self;
                $($name.give(out);)+
            }
        }
    };
}
each_tuple!(tuples);

/// A closure or `fn` of `K` parameters, which are the components of the tuple `A`.
#[diagnostic::on_unimplemented(
    message = "this cannot be exported: it is not a function of expressions",
    label = "not a function",
    note = "give a closure or `fn` of `SExp`, `VExp` and `MExp` parameters, at most 16, and one name for each of them: \
            `.function(\"saxpy\", [\"a\", \"x\", \"y\"], \"result\", |a: SExp<f32>, x: VExp<f32>, y: VExp<f32>| a * x + y)`"
)]
pub trait Callable<const K: usize, A> {
    /// What it returns.
    #[doc(hidden)]
    type Out;
    #[doc(hidden)]
    fn called(self, args: A) -> Self::Out;
}

/// A tuple of parameters.
pub trait Parameters {
    /// The tuple; `parameter` makes the nodes of the next parameter, with its name. The names are those of the
    /// components.
    #[doc(hidden)]
    fn made(names: &[&str], parameter: &mut dyn FnMut(&str, Parameter) -> Vec<NodeRef>) -> Self;
}

/// As many names as a function has parameters.
#[diagnostic::on_unimplemented(
    message = "the function has {K} parameters, but these are not {K} names: `{Self}`",
    label = "expected one name for each of the {K} parameters",
    note = "every parameter has a name: `.function(\"saxpy\", [\"a\", \"x\", \"y\"], \"result\", |a: SExp<f32>, x: VExp<f32>, y: VExp<f32>| a * x + y)`"
)]
pub trait ParameterNames<const K: usize> {
    #[doc(hidden)]
    fn names(&self) -> &[&str];
}

// without a second one rustc would take the number of names for that of the parameters, and report the function
#[diagnostic::do_not_recommend]
impl<const N: usize> ParameterNames<{ usize::MAX }> for [&str; N] {
    fn names(&self) -> &[&str] {
        self
    }
}

/// A closure or `fn` of `K` parameters that can be exported.
pub trait KernelFn<const K: usize, A> {
    /// What it returns.
    #[doc(hidden)]
    type Output: Outputs;
    /// Calls it once; `parameter` makes the nodes of the next parameter, with its name. The names are those of the
    /// closure's.
    #[doc(hidden)]
    fn call(self, names: &[&str], parameter: &mut dyn FnMut(&str, Parameter) -> Vec<NodeRef>) -> Called;
}

impl<const K: usize, A: Parameters, F: Callable<K, A>> KernelFn<K, A> for F
where
    F::Out: Outputs,
{
    type Output = F::Out;
    fn call(self, names: &[&str], parameter: &mut dyn FnMut(&str, Parameter) -> Vec<NodeRef>) -> Called {
        let mut out = Called::default();
        self.called(A::made(names, parameter)).give(&mut out);
        out
    }
}

macro_rules! kernel_fn {
    ($k:literal $($arg:ident)*) => {
        #[diagnostic::do_not_recommend]
        impl<Func, Out, $($arg),*> Callable<$k, ($($arg,)*)> for Func
        where
            Func: FnOnce($($arg),*) -> Out,
        {
            type Out = Out;
            #[allow(non_snake_case)]
            fn called(self, ($($arg,)*): ($($arg,)*)) -> Out {
                self($($arg),*)
            }
        }

        #[diagnostic::do_not_recommend]
        impl ParameterNames<$k> for [&str; $k] {
            fn names(&self) -> &[&str] {
                self
            }
        }

        impl<$($arg: Argument),*> Parameters for ($($arg,)*) {
            #[allow(clippy::unused_unit)]
            fn made(names: &[&str], _parameter: &mut dyn FnMut(&str, Parameter) -> Vec<NodeRef>) -> Self {
                let mut _names = names.iter();
                ($($arg::make(_names.next().copied().unwrap_or_default(), _parameter),)*)
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
