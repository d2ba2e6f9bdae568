//! What resident rows (`resident_rows/`) and resident columns (`resident_columns/`) share: what an element
//! takes of a thread, and what the stages compute of it.

mod demand;
mod stages;

pub use demand::{Demand, limit};
pub use stages::{Element, nodes, roots, together, values_of};
