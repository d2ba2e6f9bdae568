//! What resident rows (`resident_rows/`) and resident columns (`resident_columns/`) share: the registers and code
//! that an element needs (`demand.rs`), and which values a stage computes of an element (`stages.rs`).

mod demand;
mod stages;

pub use demand::{Demand, limit};
pub use stages::{Element, nodes, roots, together, values_of};
