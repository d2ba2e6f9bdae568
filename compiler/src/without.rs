//! Optimisations that a compilation leaves out, so that a person can measure what each one does.
//! `docs/optimisations.md` says which pass or file each is. No bit of a result depends on them.

use crate::error::{Error, Result};
use std::cell::Cell;
use std::str::FromStr;

/// An optimisation that may be left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Optimisation {
    /// Short loops inside of elements become straight-line code (`passes/unroll.rs`).
    Unroll,
    /// Short branches become selections (`kernel/if_conversion.rs`).
    IfConversion,
    /// Indices are computed in 32 bits (`kernel/narrow.rs`).
    Narrow,
    /// Integers that are computed twice are computed once (`kernel/cse.rs`).
    Cse,
    /// Divisions of 64 bits have a path of 32 bits (`kernel/divide.rs`).
    ShortDivisions,
    /// Accesses that differ in a constant share an address (`backend/ptx/address.rs`).
    Offsets,
    /// Loads say that nothing overwrites what they read (`backend/ptx/memory.rs`).
    ReadOnly,
    /// Accesses name their state space (`backend/ptx/memory.rs`).
    Spaces,
}

impl Optimisation {
    /// All of them.
    pub const ALL: [Optimisation; 8] = [
        Optimisation::Unroll,
        Optimisation::IfConversion,
        Optimisation::Narrow,
        Optimisation::Cse,
        Optimisation::ShortDivisions,
        Optimisation::Offsets,
        Optimisation::ReadOnly,
        Optimisation::Spaces,
    ];

    /// Returns its name on the command line. That of a pass is the pass's name.
    pub const fn name(self) -> &'static str {
        match self {
            Optimisation::Unroll => "unroll",
            Optimisation::IfConversion => "if_conversion",
            Optimisation::Narrow => "narrow",
            Optimisation::Cse => "cse",
            Optimisation::ShortDivisions => "short_divisions",
            Optimisation::Offsets => "offsets",
            Optimisation::ReadOnly => "read_only",
            Optimisation::Spaces => "spaces",
        }
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl FromStr for Optimisation {
    type Err = Error;

    fn from_str(text: &str) -> Result<Optimisation> {
        Self::ALL.into_iter().find(|o| o.name() == text).ok_or_else(|| {
            let names = Self::ALL.map(Optimisation::name).join(", ");
            Error::user("E0104", format!("there is no optimisation `{text}` to leave out; there are {names}"))
        })
    }
}

thread_local! {
    /// What this thread's compilation leaves out, a bit each.
    static LEFT_OUT: Cell<u8> = const { Cell::new(0) };
}

/// Compiles without these optimisations, and without those of a compilation around this one.
pub fn compiled<T>(without: &[Optimisation], compile: impl FnOnce() -> T) -> T {
    /// Ends it, also if it panics.
    struct Before(u8);
    impl Drop for Before {
        fn drop(&mut self) {
            LEFT_OUT.set(self.0);
        }
    }
    let before = Before(LEFT_OUT.get());
    LEFT_OUT.set(without.iter().fold(before.0, |all, o| all | o.bit()));
    compile()
}

/// Whether this thread's compilation leaves it out.
pub fn is_left_out(optimisation: Optimisation) -> bool {
    LEFT_OUT.get() & optimisation.bit() != 0
}

/// Whether this thread's compilation leaves out the pass of this name.
pub fn is_pass_left_out(name: &str) -> bool {
    LEFT_OUT.get() != 0 && Optimisation::ALL.into_iter().any(|o| is_left_out(o) && o.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_with_the_compilation() {
        let [a, b] = [Optimisation::Cse, Optimisation::Spaces];
        let inside = compiled(&[a], || {
            let both = compiled(&[b], || (is_left_out(a), is_left_out(b)));
            (both, is_left_out(b), is_pass_left_out("cse"), is_pass_left_out("narrow"))
        });
        assert_eq!(inside, ((true, true), false, true, false));
        assert!(!is_left_out(a));
    }

    #[test]
    fn names_are_parsed_and_unknown_ones_refused() {
        for o in Optimisation::ALL {
            assert_eq!(o.name().parse::<Optimisation>().unwrap(), o);
        }
        let e = "dce".parse::<Optimisation>().unwrap_err();
        assert!(e.message.contains("`dce`") && e.message.contains("if_conversion"), "{}", e.message);
    }
}
