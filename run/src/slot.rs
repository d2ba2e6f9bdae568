//! A parameter or result of a function: its name, element type and rank.

use crate::kind::Kind;
use std::fmt;

/// A parameter or result.
#[derive(Clone, PartialEq, Debug)]
pub struct Slot {
    /// Its name.
    pub name: String,
    /// The type of the scalar or of the elements.
    pub kind: Kind,
    /// 0 for a scalar, else the number of dimensions.
    pub rank: usize,
}

impl Slot {
    /// Returns what it is: `f32`, `f32 vector`.
    pub fn describe(&self) -> String {
        described(self.kind, self.rank)
    }
}

/// Returns what a value of a type and rank is, in words.
pub fn described(kind: Kind, rank: usize) -> String {
    match rank {
        0 => kind.to_string(),
        1 => format!("{kind} vector"),
        2 => format!("{kind} matrix"),
        n => format!("{kind} array of {n} dimensions"),
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.describe())
    }
}
