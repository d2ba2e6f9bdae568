//! Tuples: what a closure may give, what a function may return, and how results are named.

use crate::handle::{MExp, SExp, TExp, VExp};
use crate::item::{Described, Item, described};
use crate::node::NodeRef;

/// What a function may return: `SExp`, `VExp`, `MExp`, `TExp`, or a tuple of them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the result of a function",
    label = "not an expression",
    note = "a function returns `SExp<T>`, `VExp<T>`, `MExp<T>`, `TExp<T>`, or a tuple of up to 16 of them",
    note = "a Rust number becomes an expression by `lit(x)`"
)]
pub trait Results: Copy {
    #[doc(hidden)]
    fn nodes(self, out: &mut Vec<NodeRef>);
    #[doc(hidden)]
    fn from_nodes(nodes: &mut dyn Iterator<Item = NodeRef>) -> Self;
    /// What each value that has a name is.
    #[doc(hidden)]
    fn described(out: &mut Vec<Described>);
}

/// What the closure of `map`, `zip_with`, `generate` or `map_rows` may give: a scalar, or a tuple
/// of scalars (then the combinator gives a tuple of arrays).
#[diagnostic::on_unimplemented(
    message = "the closure must give a scalar expression or a tuple of them, not `{Self}`",
    label = "not a scalar expression",
    note = "a constant becomes an expression by `lit(x)`",
    note = "arrays do not nest: reduce the inner one first (`.sum()`, `.max()`), or compute all elements with `generate(n, |i| ..)` or `generate2(n, m, |i, j| ..)`"
)]
pub trait Scalars: Results {
    /// The same tuple with vectors in place of scalars.
    type Vectors: Results;
    /// The same tuple with matrices in place of scalars.
    type Matrices: Results;
    /// The same tuple with arrays of three dimensions in place of scalars.
    type Tensors: Results;
}

macro_rules! handle_results {
    ($($handle:ident)*) => { $(
        impl<T: Item> Results for $handle<T> {
            fn nodes(self, out: &mut Vec<NodeRef>) {
                out.extend_from_slice(T::split(&self.node()));
            }
            fn from_nodes(nodes: &mut dyn Iterator<Item = NodeRef>) -> Self {
                $handle::of(T::join(nodes))
            }
            fn described(out: &mut Vec<Described>) {
                out.push(described::<T>());
            }
        }
    )* };
}
handle_results!(SExp VExp MExp TExp);

impl<T: Item> Scalars for SExp<T> {
    type Vectors = VExp<T>;
    type Matrices = MExp<T>;
    type Tensors = TExp<T>;
}

/// Calls a macro with the names of the components of each tuple, of one to 16.
macro_rules! each_tuple {
    ($each:ident) => {
        $each!(A);
        $each!(A B);
        $each!(A B C);
        $each!(A B C D);
        $each!(A B C D E);
        $each!(A B C D E F);
        $each!(A B C D E F G);
        $each!(A B C D E F G H);
        $each!(A B C D E F G H I);
        $each!(A B C D E F G H I J);
        $each!(A B C D E F G H I J K);
        $each!(A B C D E F G H I J K L);
        $each!(A B C D E F G H I J K L M);
        $each!(A B C D E F G H I J K L M N);
        $each!(A B C D E F G H I J K L M N O);
        $each!(A B C D E F G H I J K L M N O P);
    };
}
pub(crate) use each_tuple;

macro_rules! tuple_results {
    ($($name:ident)+) => {
        impl<$($name: Results),+> Results for ($($name,)+) {
            #[allow(non_snake_case)]
            fn nodes(self, out: &mut Vec<NodeRef>) {
                let ($($name,)+) = self;
                $($name.nodes(out);)+
            }
            fn from_nodes(nodes: &mut dyn Iterator<Item = NodeRef>) -> Self {
                ($($name::from_nodes(nodes),)+)
            }
            fn described(out: &mut Vec<Described>) {
                $($name::described(out);)+
            }
        }
        impl<$($name: Scalars),+> Scalars for ($($name,)+) {
            type Vectors = ($($name::Vectors,)+);
            type Matrices = ($($name::Matrices,)+);
            type Tensors = ($($name::Tensors,)+);
        }
    };
}
each_tuple!(tuple_results);

// fields of records may be fixed arrays
impl<A: Results, const N: usize> Results for [A; N] {
    fn nodes(self, out: &mut Vec<NodeRef>) {
        self.into_iter().for_each(|a| a.nodes(out));
    }
    fn from_nodes(nodes: &mut dyn Iterator<Item = NodeRef>) -> Self {
        std::array::from_fn(|_| A::from_nodes(nodes))
    }
    fn described(out: &mut Vec<Described>) {
        (0..N).for_each(|_| A::described(out));
    }
}

impl<A: Scalars, const N: usize> Scalars for [A; N] {
    type Vectors = [A::Vectors; N];
    type Matrices = [A::Matrices; N];
    type Tensors = [A::Tensors; N];
}

/// The nodes of a tuple, in order.
pub(crate) fn nodes_of(results: impl Results) -> Vec<NodeRef> {
    let mut nodes = Vec::new();
    results.nodes(&mut nodes);
    nodes
}

/// The value whose nodes these are.
pub(crate) fn of_nodes<S: Results>(nodes: &[NodeRef]) -> S {
    S::from_nodes(&mut nodes.iter().copied())
}

/// A value with each of its leaves replaced by what `f` makes of it.
pub(crate) fn leafwise<S: Results>(value: impl Results, f: impl FnMut(NodeRef) -> NodeRef) -> S {
    of_nodes(&nodes_of(value).into_iter().map(f).collect::<Vec<_>>())
}

/// The names of a function's results: `"result"`, or `["lo", "hi"]` for a tuple.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not name the results of a function",
    label = "expected one name or an array of names",
    note = "write `\"result\"` for one result, `[\"lo\", \"hi\"]` for a tuple of two"
)]
pub trait ResultNames {
    #[doc(hidden)]
    fn names(self) -> Vec<String>;
}

impl ResultNames for &str {
    fn names(self) -> Vec<String> {
        vec![self.into()]
    }
}

impl ResultNames for String {
    fn names(self) -> Vec<String> {
        vec![self]
    }
}

impl<S: Into<String>, const K: usize> ResultNames for [S; K] {
    fn names(self) -> Vec<String> {
        self.into_iter().map(Into::into).collect()
    }
}

impl<S: Into<String>> ResultNames for Vec<S> {
    fn names(self) -> Vec<String> {
        self.into_iter().map(Into::into).collect()
    }
}

impl ResultNames for &[&str] {
    fn names(self) -> Vec<String> {
        self.iter().map(|s| s.to_string()).collect()
    }
}
