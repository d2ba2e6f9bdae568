//! What iterations change: arrays and scalars, and tuples, arrays and lists of them.

use crate::axis::pick;
use crate::handle::{MExp, SExp, TExp, VExp};
use crate::item::Item;
use crate::node::{NodeRef, Op, constant, make};
use crate::results::{self, Results, each_tuple};
use crate::scope::Place;
use arraygpu_compiler::core::Type;
use arraygpu_compiler::scalar::Lit;

/// What an iteration may change: an array, a scalar, or a tuple of up to 16 of them; `[VExp<T>; N]` and
/// `Vec<VExp<T>>`, of as many in each step. These nest as one likes. A scalar is kept as an array of one element.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the state of an iteration",
    label = "expected an array, a scalar, or a tuple of them",
    note = "a constant becomes a scalar by `lit(x)`"
)]
pub trait States {
    #[doc(hidden)]
    fn arrays(&self, at: Place, out: &mut Vec<NodeRef>);
    /// The same with other arrays.
    #[doc(hidden)]
    fn like(&self, at: Place, arrays: &mut dyn Iterator<Item = NodeRef>) -> Self;
}

/// States that can be collected: those with room for one more axis.
#[diagnostic::on_unimplemented(
    message = "the states of type `{Self}` cannot be collected",
    label = "expected scalars, vectors or matrices",
    note = "arrays have at most three axes, and the steps are one more"
)]
pub trait Collected: States {
    /// The states after each step: `VExp` of `SExp`, `MExp` of `VExp`, `TExp` of `MExp`.
    type All;
    #[doc(hidden)]
    fn all(&self, at: Place, arrays: &mut dyn Iterator<Item = NodeRef>) -> Self::All;
}

/// The nodes of states, in order.
pub(crate) fn nodes_of(states: &impl States, at: Place) -> Vec<NodeRef> {
    let mut nodes = Vec::new();
    states.arrays(at, &mut nodes);
    nodes
}

/// States with other nodes.
pub(crate) fn like<S: States>(states: &S, at: Place, nodes: &[NodeRef]) -> S {
    states.like(at, &mut nodes.iter().copied())
}

macro_rules! arrays {
    ($($handle:ident)*) => { $(
        impl<T: Item> States for $handle<T> {
            fn arrays(&self, _: Place, out: &mut Vec<NodeRef>) {
                (*self).nodes(out);
            }
            fn like(&self, _: Place, arrays: &mut dyn Iterator<Item = NodeRef>) -> Self {
                $handle::from_nodes(arrays)
            }
        }
    )* };
}
arrays!(VExp MExp TExp);

impl<T: Item> States for SExp<T> {
    fn arrays(&self, at: Place, out: &mut Vec<NodeRef>) {
        let one = constant(at, Lit::i64(1));
        let alone = |n: NodeRef| make(at, Type::vector(n.ty.elem), Op::Fill(one, n));
        out.extend(results::nodes_of(*self).into_iter().map(alone));
    }
    fn like(&self, at: Place, arrays: &mut dyn Iterator<Item = NodeRef>) -> Self {
        let zero = constant(at, Lit::i64(0));
        let first = |n: NodeRef| make(at, Type::scalar(n.ty.elem), Op::At(n, vec![zero]));
        SExp::from_nodes(&mut arrays.map(first))
    }
}

impl<T: Item> Collected for SExp<T> {
    type All = VExp<T>;
    fn all(&self, at: Place, arrays: &mut dyn Iterator<Item = NodeRef>) -> VExp<T> {
        let zero = constant(at, Lit::i64(0));
        VExp::from_nodes(&mut arrays.map(|n| pick(at, "iterate_collect", (n, 1), zero, true)))
    }
}

impl<T: Item> Collected for VExp<T> {
    type All = MExp<T>;
    fn all(&self, _: Place, arrays: &mut dyn Iterator<Item = NodeRef>) -> MExp<T> {
        MExp::from_nodes(arrays)
    }
}

impl<T: Item> Collected for MExp<T> {
    type All = TExp<T>;
    fn all(&self, _: Place, arrays: &mut dyn Iterator<Item = NodeRef>) -> TExp<T> {
        TExp::from_nodes(arrays)
    }
}

macro_rules! tuples {
    ($($name:ident)+) => {
        impl<$($name: States),+> States for ($($name,)+) {
            #[allow(non_snake_case)]
            fn arrays(&self, at: Place, out: &mut Vec<NodeRef>) {
                let ($($name,)+) = self;
                $($name.arrays(at, out);)+
            }
            #[allow(non_snake_case)]
            fn like(&self, at: Place, arrays: &mut dyn Iterator<Item = NodeRef>) -> Self {
                let ($($name,)+) = self;
                ($($name.like(at, arrays),)+)
            }
        }
        impl<$($name: Collected),+> Collected for ($($name,)+) {
            type All = ($($name::All,)+);
            #[allow(non_snake_case)]
            fn all(&self, at: Place, arrays: &mut dyn Iterator<Item = NodeRef>) -> Self::All {
                let ($($name,)+) = self;
                ($($name.all(at, arrays),)+)
            }
        }
    };
}
each_tuple!(tuples);

impl<S: States, const N: usize> States for [S; N] {
    fn arrays(&self, at: Place, out: &mut Vec<NodeRef>) {
        self.iter().for_each(|s| s.arrays(at, out));
    }
    fn like(&self, at: Place, arrays: &mut dyn Iterator<Item = NodeRef>) -> Self {
        std::array::from_fn(|i| self[i].like(at, arrays))
    }
}

impl<S: Collected, const N: usize> Collected for [S; N] {
    type All = [S::All; N];
    fn all(&self, at: Place, arrays: &mut dyn Iterator<Item = NodeRef>) -> Self::All {
        std::array::from_fn(|i| self[i].all(at, arrays))
    }
}

impl<S: States> States for Vec<S> {
    fn arrays(&self, at: Place, out: &mut Vec<NodeRef>) {
        self.iter().for_each(|s| s.arrays(at, out));
    }
    fn like(&self, at: Place, arrays: &mut dyn Iterator<Item = NodeRef>) -> Self {
        self.iter().map(|s| s.like(at, arrays)).collect()
    }
}

impl<S: Collected> Collected for Vec<S> {
    type All = Vec<S::All>;
    fn all(&self, at: Place, arrays: &mut dyn Iterator<Item = NodeRef>) -> Self::All {
        self.iter().map(|s| s.all(at, arrays)).collect()
    }
}
