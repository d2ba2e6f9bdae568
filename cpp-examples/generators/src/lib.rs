//! DSL programs, one small module each, with where they come from. The generators in `bin/` put them into packages.

pub mod black_scholes;
pub mod checks;
pub mod double_arr;
pub mod expression_templates;
pub mod filters;
pub mod forward_difference;
pub mod jacobi;
pub mod loops;
pub mod matrices;
pub mod moving_average;
pub mod narrow;
pub mod nbody;
pub mod pictures;
pub mod products;
pub mod reaction;
pub mod rmse;
pub mod rof;
pub mod rows;
pub mod saxpy;
pub mod scans;
pub mod sdot;
pub mod settle;
pub mod staged;
pub mod standardise;
pub mod total;
pub mod volumes;
