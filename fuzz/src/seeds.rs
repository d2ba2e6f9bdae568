//! Seeds: which program each one is, and which ones are the day's.

use crate::case::Case;
use crate::{dsl, generate};
use arraygpu_suite::today::day;
use std::ops::Range;

/// More seeds than a machine gets through in a day.
const OF_A_DAY: u64 = 10_000_000;

/// The program of a seed: of core IR, or of the language ([`dsl`]).
pub fn case(seed: u64, language: bool) -> Result<Case, String> {
    if language { dsl::program(seed).map(|p| p.1) } else { Ok(Case::of(&generate::program(seed))) }
}

/// Seeds that no other day has. Those of the language are chains, no pairs.
pub fn of_today() -> Range<u64> {
    day() * OF_A_DAY..(day() + 1) * OF_A_DAY
}
