//! Chains of stencils on a CPU: each stage but the last has, in a band of rows, a rolling buffer of the rows that
//! later stages still read. So an element of a stage is computed once for each band, and read from a cache ("line
//! buffering", Hegarty et al. 2014).
//!
//! ```text
//! for each strip of columns:
//!     for each row of the band, and as many before it as the first row needs:
//!         for each stage but the last: its next row, as far beyond the strip as later stages read -> its buffer
//!         the last stage's row, from the buffers -> the results
//! ```
//!
//! A unit of work is a range of elements, as for other maps; a band is all rows of the units that a thread takes at
//! once. Neighbouring bands or strips both compute the rows and columns that they share. In the interior of a stage a
//! row is one loop, which the C compiler vectorises. What lies outside is computed from arrays in memory alone;
//! beyond the edges the buffers hold what their readers take there ([`crate::schedule::boundary::halo`]).

mod buffers;
mod code;

pub use buffers::{Buffers, StageRows};
pub(super) use code::main;
