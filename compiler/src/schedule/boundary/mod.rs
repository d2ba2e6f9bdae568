//! What happens at the edges of arrays (README.md has a picture): the element's code in the
//! interior, the code that is right everywhere, and what stands in the halo.

pub mod decisions;
pub mod halo;
pub mod interior;
pub mod predicated;
