//! Selections, and casts that change nothing.

use super::rule::{ALL, Rule, pat, rules};

pub const SELECT: &[Rule] = rules! {
    /// x where true, else y, is x
    select_true: ALL, (Select true x y) => x;
    /// x where false, else y, is y
    select_false: ALL, (Select false x y) => y;
    /// x where z, else x, is x
    select_same: ALL, (Select z x x) => x;
    /// x where not z, else y, is y where z, else x
    select_not: ALL, (Select (Not z) x y) => (Select z y x);
};

pub const CAST: &[Rule] = rules! {
    /// x as its own type is x
    cast_same: ALL, (Cast x) => x;
};
