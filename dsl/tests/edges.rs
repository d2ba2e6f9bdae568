//! Programs at the edges of what rules and proofs allow: indices from outside, extents and margins of any size, and
//! scalars that only the device knows.

mod common;

use arraygpu_compiler::core::interp::{self, Value};
use arraygpu_compiler::core::{Function, Rule};
use arraygpu_compiler::driver::{self, Targets};
use arraygpu_compiler::kernel::interp::Order;
use arraygpu_compiler::passes::pipeline;
use arraygpu_dsl::prelude::*;
use common::{call, everywhere, gpu, lower, matrix, recorded, refused, scalar, vector};

/// The message of the rule that does not hold.
fn violated(f: &Function, args: &[Value]) -> String {
    interp::run(f, args).expect_err("a rule that does not hold").message
}

/// What is proven of a loop whose count is an index holds in the index space only: at another index, that of a read
/// from outside, the loop reads beyond the array.
#[test]
fn loops_as_long_as_an_index_says() {
    let sums = |x: VExp<f32>| generate(x.len(), move |n| loop_for(n, 0f32, |k, s| s + x.at(k)));
    let alone = lower(["x", "j"], ["r"], |x: VExp<f32>, j: SExp<i64>| sums(x).at(j));
    let beside = lower(["x", "j"], ["r", "all"], |x: VExp<f32>, j: SExp<i64>| (sums(x).at(j), sums(x)));
    let gathered = lower(["x", "j"], ["r"], |x: VExp<f32>, j: VExp<i64>| sums(x).gather(j));
    let nested = lower(["x", "j"], ["r"], |x: VExp<f32>, j: SExp<i64>| {
        let each = |n| loop_for(n, 0f32, |k, s| s + loop_for(k, 0f32, |l, t| t + x.at(l)));
        generate(x.len(), each).at(j)
    });
    let mapped = lower(["x", "j"], ["r"], |x: VExp<f32>, j: SExp<i64>| {
        let (y, indices) = (sums(x), iota(x.len()));
        indices.map(|i| y.at(i) + loop_for(i, 0f32, |k, s| s + x.at(k))).at(j)
    });
    let x = vector(&[1f32, 2., 4., 8., 16.]);
    assert_eq!(everywhere(&alone, &[x.clone(), scalar(3i64)]), [scalar(7f32)]);
    assert_eq!(everywhere(&beside, &[x.clone(), scalar(4i64)])[0], scalar(15f32));
    assert_eq!(everywhere(&nested, &[x.clone(), scalar(4i64)]), [scalar(11f32)]);
    assert_eq!(everywhere(&mapped, &[x.clone(), scalar(4i64)]), [scalar(30f32)]);
    assert_eq!(everywhere(&gathered, &[x.clone(), vector(&[0i64, 4, 2])]), [vector(&[0f32, 15., 3.])]);
    for j in [5i64, 6, 100, -1] {
        for f in [&alone, &beside, &nested, &mapped] {
            recorded(f, &[x.clone(), scalar(j)]);
        }
        assert!(recorded(&gathered, &[x.clone(), vector(&[1, j])]).starts_with("element 1"));
    }
}
