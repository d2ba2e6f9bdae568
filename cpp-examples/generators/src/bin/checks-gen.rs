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
        .function("scaled_half", ["x", "a"], ["scaled", "sum"], checks::scaled_half)
        .doc("a * x, element by element, and the sum of x.")
        .function("scaled_bfloat16", ["x", "a"], ["scaled", "sum"], checks::scaled_bfloat16)
        .doc("a * x, element by element, and the sum of x.")
        .function("wrapped", ["a", "b", "c", "d"], ["a1", "b1", "c1", "d1", "sum"], checks::wrapped)
        .doc("a + 1, b + 1, c - 1, d - 1, and the sum of d: all wrap.")
        .run()
}
