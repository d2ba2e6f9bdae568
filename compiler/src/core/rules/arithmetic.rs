//! Sums, products, quotients, extremes and signs.

use super::rule::{FLOATS, INTEGERS, Rule, SIGNED, UNSIGNED, pat, rules};

pub const NEG: &[Rule] = rules! {
    /// -(-x) = x
    neg_neg: FLOATS.with(INTEGERS), (Neg (Neg x)) => x;
};

pub const ABS: &[Rule] = rules! {
    /// |-x| = |x|; integers wrap alike: |-MIN| = |MIN| = MIN
    abs_neg: FLOATS.with(SIGNED), (Abs (Neg x)) => (Abs x);
    /// ||x|| = |x|
    abs_abs: FLOATS.with(SIGNED), (Abs (Abs x)) => (Abs x);
};

pub const ADD: &[Rule] = rules! {
    /// x + -0 = x; x + 0 is not x at x = -0
    add_minus_zero: FLOATS, (Add x minus_zero) => x;
    /// -0 + x = x
    minus_zero_add: FLOATS, (Add minus_zero x) => x;
    /// x + -y = x - y
    add_neg: FLOATS, (Add x (Neg y)) => (Sub x y);
    /// x + 0 = x
    add_zero: INTEGERS, (Add x 0) => x;
    /// 0 + x = x
    zero_add: INTEGERS, (Add 0 x) => x;
};

pub const SUB: &[Rule] = rules! {
    /// x - 0 = x, of floats too: -0 - 0 = -0
    sub_zero: FLOATS.with(INTEGERS), (Sub x 0) => x;
    /// x - -y = x + y
    sub_neg: FLOATS, (Sub x (Neg y)) => (Add x y);
    /// x - x = 0; not of floats: inf - inf is NaN
    sub_self: INTEGERS, (Sub x x) => 0;
};

pub const MUL: &[Rule] = rules! {
    /// x * 1 = x
    mul_one: FLOATS.with(INTEGERS), (Mul x 1) => x;
    /// 1 * x = x
    one_mul: FLOATS.with(INTEGERS), (Mul 1 x) => x;
    /// x * -1 = -x
    mul_minus_one: FLOATS, (Mul x minus_one) => (Neg x);
    /// -1 * x = -x
    minus_one_mul: FLOATS, (Mul minus_one x) => (Neg x);
};

pub const DIV: &[Rule] = rules! {
    /// x / 1 = x
    div_one: FLOATS.with(INTEGERS), (Div x 1) => x;
    /// x / -1 = -x
    div_minus_one: FLOATS, (Div x minus_one) => (Neg x);
    /// x / c = x * (1 / c) where 1 / c is exact: both round the same real number
    div_power_of_two: FLOATS, (Div x c) => (Mul x reciprocal_of_c) if ExactReciprocal;
};

pub const MIN: &[Rule] = rules! {
    /// min(x, x) = x
    min_self: FLOATS.with(SIGNED).with(UNSIGNED), (Min x x) => x;
};

pub const MAX: &[Rule] = rules! {
    /// max(x, x) = x
    max_self: FLOATS.with(SIGNED).with(UNSIGNED), (Max x x) => x;
};

pub const MUL_ADD: &[Rule] = rules! {
    /// x y + z of integers wraps, fused or not
    mul_add_wraps: INTEGERS, (MulAdd x y z) => (Add (Mul x y) z);
    /// fma(1, y, z) = y + z
    one_mul_add: FLOATS, (MulAdd 1 y z) => (Add y z);
    /// fma(x, 1, z) = x + z
    mul_one_add: FLOATS, (MulAdd x 1 z) => (Add x z);
    /// fma(x, y, -0) = x y
    mul_add_minus_zero: FLOATS, (MulAdd x y minus_zero) => (Mul x y);
};
