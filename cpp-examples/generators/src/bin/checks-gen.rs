//! The package `checks`: functions for the bad-input tests.

use arraygpu::prelude::*;
use arraygpu_examples::checks;

fn main() -> arraygpu::Result<()> {
    Package::new("checks")
        .function("window", ["x", "start", "stop"], "result", checks::window)
        .doc("The elements of x from start up to, not including, stop.")
        .function("add", ["x", "y"], "result", checks::add)
        .doc("x + y, element by element.")
        .function("reductions", ["x"], ["sum", "product", "least", "greatest"], checks::reductions)
        .doc("Sum, product, least and greatest element.")
        .function("in_order", ["x"], "result", checks::in_order)
        .doc("Sum in index order.")
        .function("twice", ["x"], "result", checks::twice)
        .doc("x + x, element by element.")
        .function("reversed", ["x"], "result", checks::reversed)
        .doc("The elements of x from last to first.")
        .function("sum_and_difference", ["x", "y"], ["sum", "difference"], checks::sum_and_difference)
        .doc("x + y and x - y, element by element.")
        .function("pick", ["x", "indices"], "result", checks::pick)
        .doc("The elements of x at the indices.")
        .function("quotient", ["x", "y"], "result", checks::quotient)
        .doc("x / y, element by element, truncated.")
        .function("count_above", ["x", "limit"], ["count", "any"], checks::count_above)
        .doc("How many elements of x are above the limit, and whether any is.")
        .run()
}
