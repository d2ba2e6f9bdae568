//! Ranks as types: what stands for a field of a record, and which arrays are joined together.

use crate::handle::{MExp, SExp, TExp, VExp};
use crate::item::Item;
use crate::results::Results;
use std::fmt::Debug;

/// A rank: that of scalars, vectors, matrices, or arrays of three dimensions.
pub trait Rank: Copy + Debug + 'static {
    /// The expressions of this rank: `SExp<T>`, `VExp<T>`, `MExp<T>` or `TExp<T>`.
    type Handle<T: Item>: Results + Debug;
}

macro_rules! ranks {
    ($($(#[$doc:meta])* $rank:ident $handle:ident;)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub enum $rank {}

        impl Rank for $rank {
            type Handle<T: Item> = $handle<T>;
        }
    )* };
}

ranks! {
    /// The rank of scalars.
    Rank0 SExp;
    /// The rank of vectors.
    Rank1 VExp;
    /// The rank of matrices.
    Rank2 MExp;
    /// The rank of arrays of three dimensions.
    Rank3 TExp;
}
