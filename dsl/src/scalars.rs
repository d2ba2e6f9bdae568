//! The states of loops: scalars, and tuples of them, nested as one likes.

use crate::handle::{IntoScalar, SExp};
use crate::item::Item;
use crate::node::NodeRef;
use crate::results::{Results, Scalars, each_tuple};
use crate::scope::Place;

/// What a loop, or the fold of a tuple, may begin with: a scalar expression, a constant with its type
/// (`0i64`, `1.0f32`), or a tuple of up to 16 of them, which may contain tuples.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the state of a loop or a fold",
    label = "not a scalar, and no tuple of scalars",
    note = "a state is a scalar expression, a constant with its type (`0i64`, `1.0f32`), or a tuple of up to 16 of them",
    note = "arrays are the states of `iterate`; a loop of an element reads them by `.at(i)`"
)]
pub trait LoopState: Copy {
    /// The same tuple with an expression in place of each constant.
    type Expressions: Scalars;
    #[doc(hidden)]
    fn states_at(self, at: Place, out: &mut Vec<NodeRef>);
}

#[diagnostic::do_not_recommend]
impl<T: Item> LoopState for SExp<T> {
    type Expressions = SExp<T>;
    fn states_at(self, _: Place, out: &mut Vec<NodeRef>) {
        self.nodes(out);
    }
}

#[diagnostic::do_not_recommend]
impl<T: Item + Copy> LoopState for T {
    type Expressions = SExp<T>;
    fn states_at(self, at: Place, out: &mut Vec<NodeRef>) {
        out.extend_from_slice(T::split(&IntoScalar::<T>::scalar_at(self, at)));
    }
}

#[diagnostic::do_not_recommend]
impl<S: LoopState, const N: usize> LoopState for [S; N] {
    type Expressions = [S::Expressions; N];
    fn states_at(self, at: Place, out: &mut Vec<NodeRef>) {
        self.into_iter().for_each(|s| s.states_at(at, out));
    }
}

macro_rules! tuple_states {
    ($($name:ident)+) => {
        #[diagnostic::do_not_recommend]
        impl<$($name: LoopState),+> LoopState for ($($name,)+) {
            type Expressions = ($($name::Expressions,)+);
            #[allow(non_snake_case)]
            fn states_at(self, at: Place, out: &mut Vec<NodeRef>) {
                let ($($name,)+) = self;
                $($name.states_at(at, out);)+
            }
        }
    };
}
each_tuple!(tuple_states);
