//! Iterations on a simulated GPU whose states are results, begin others and are read by reductions: all bits are the interpreter's.

#[allow(dead_code, reason = "random programs are not needed")]
mod common;
#[path = "common/gpu.rs"]
mod gpu;
#[allow(dead_code, reason = "no strategy is forced")]
#[path = "common/versions.rs"]
mod versions;

use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::scalar::{Lit, Ty};
use common::rng::Rng;
use versions::{check, compiled, numbers};

#[test]
fn what_is_a_result_and_read_again() {
    let c = compiled(include_str!("files/iterate_read.core"), None);
    let mut rng = Rng::new(1);
    for (n, k) in [(0, 3), (1, 0), (1, 2), (7, 1), (300, 0), (300, 1), (300, 4), (5000, 3)] {
        let Value::Array(_, elements) = numbers(Ty::F32, 1, n, &mut rng) else { unreachable!() };
        let a = Value::Array(vec![n as i64], elements);
        check(&c, &[a, Value::Scalar(Lit::i64(k))], &format!("{n} elements, {k} steps"));
    }
}

#[test]
fn three_states_that_read_each_other() {
    let c = compiled(include_str!("files/iterate_dual.core"), None);
    let mut rng = Rng::new(2);
    for (rows, columns, k) in [(1, 1, 2), (1, 9, 2), (9, 1, 3), (5, 17, 1), (40, 136, 2), (70, 259, 3)] {
        let mut args: Vec<Value> = (0..4).map(|_| numbers(Ty::F32, rows, columns, &mut rng)).collect();
        args.extend([20.0f32, 0.25, 0.5].map(|x| Value::Scalar(Lit::f32(x))));
        args.push(Value::Scalar(Lit::i64(k)));
        check(&c, &args, &format!("{rows} x {columns}, {k} steps"));
    }
}
