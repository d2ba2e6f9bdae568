//! The compiler passes over core IR. Each pass is one file, whose head shows the IR before and
//! after. Compiler passes do not call one another: [`pipeline`] contains the only list.

pub mod arms;
pub mod behind;
pub mod bounds;
pub mod chains;
pub mod closed_loops;
pub mod dce;
pub mod elementary;
pub mod fast;
pub mod flatten;
pub mod fuse;
pub mod guard;
pub mod half;
pub mod hoist;
pub mod lengths;
pub mod loops;
pub mod moved;
pub mod ordered;
mod panels;
pub mod pipeline;
pub mod pointwise;
pub mod prove;
pub mod scans;
pub mod shapes;
pub mod simplify;
pub mod sorted_values;
pub mod sorts;
pub mod split;
pub mod stages;
pub mod states;
pub mod steps;
pub mod tables;
pub mod totals;
pub mod tuples;
pub mod unroll;
