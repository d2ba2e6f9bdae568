//! The edges of arrays (README.md has a picture): an element's code in the interior, an element's
//! code that is right everywhere, and the values of the halo.

pub mod decided;
pub mod decisions;
pub mod halo;
pub mod interior;
pub mod predicated;
pub mod rebuilt;
