//! Bits, shifts, comparisons of integers, and the bits of floats.

use super::rule::{BITS, BITS_ARE, BITS_OF, INTEGERS, Rule, pat, rules};

pub const NOT: &[Rule] = rules! {
    /// !!x = x
    not_not: BITS, (Not (Not x)) => x;
};

pub const AND: &[Rule] = rules! {
    /// 0 & x = 0
    zero_and: BITS, (And 0 x) => 0;
    /// x & 11..1 = x
    and_all: BITS, (And x all) => x;
    /// x & 0 = 0
    and_zero: BITS, (And x 0) => 0;
    /// 11..1 & x = x
    all_and: BITS, (And all x) => x;
    /// x & x = x
    and_self: BITS, (And x x) => x;
};

pub const OR: &[Rule] = rules! {
    /// x | 0 = x
    or_zero: BITS, (Or x 0) => x;
    /// 0 | x = x
    zero_or: BITS, (Or 0 x) => x;
    /// 11..1 | x = 11..1
    all_or: BITS, (Or all x) => all;
    /// x | 11..1 = 11..1
    or_all: BITS, (Or x all) => all;
    /// x | x = x
    or_self: BITS, (Or x x) => x;
};

pub const XOR: &[Rule] = rules! {
    /// x ^ 0 = x
    xor_zero: BITS, (Xor x 0) => x;
    /// 0 ^ x = x
    zero_xor: BITS, (Xor 0 x) => x;
    /// x ^ x = 0
    xor_self: BITS, (Xor x x) => 0;
};

pub const SHL: &[Rule] = rules! {
    /// x << 0 = x
    shl_zero: INTEGERS, (Shl x 0) => x;
};

pub const SHR: &[Rule] = rules! {
    /// x >> 0 = x
    shr_zero: INTEGERS, (Shr x 0) => x;
};

// none of floats: a NaN is not equal to itself

pub const EQ: &[Rule] = rules! {
    /// x == x
    eq_self: BITS, (Eq x x) => true;
};

pub const LE: &[Rule] = rules! {
    /// x <= x
    le_self: INTEGERS, (Le x x) => true;
};

pub const GE: &[Rule] = rules! {
    /// x >= x
    ge_self: INTEGERS, (Ge x x) => true;
};

pub const NE: &[Rule] = rules! {
    /// not x != x
    ne_self: BITS, (Ne x x) => false;
};

pub const LT: &[Rule] = rules! {
    /// not x < x
    lt_self: INTEGERS, (Lt x x) => false;
};

pub const GT: &[Rule] = rules! {
    /// not x > x
    gt_self: INTEGERS, (Gt x x) => false;
};

pub const TO_BITS: &[Rule] = rules! {
    /// the bits of what has the bits x are x; of a NaN any NaN's are
    to_bits_from_bits: BITS_OF, (ToBits (FromBits x)) => x;
};

pub const FROM_BITS: &[Rule] = rules! {
    /// what has the bits of x is x
    from_bits_to_bits: BITS_ARE, (FromBits (ToBits x)) => x;
};
