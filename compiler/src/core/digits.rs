//! The step that orders keys by one more digit of 8 bits, from the lowest to the highest (radix sort: least
//! significant digit first). Elements with equal digits keep their order.
//!
//! ```text
//! step @digits(%keys, %values) -> (next keys, next values):
//!   %digits = map %keys                                     digit number `turn` of each key
//!   %counts = digit_counts (256 %tiles) of %tiles by %digits     how often each digit occurs in each tile
//!   %ends = digit_ends 256 of %tiles over %counts           how often it occurs up to the end of each tile
//!   next = by_digit %keys, %values of %tiles by %digits at %ends
//! ```
//!
//! A step has three launches: the counts, their sums, and the moves. Counts and sums are matrices of digits and
//! tiles. Before the elements of digit d of tile t come all of smaller digits, whose numbers are the last sums of
//! their rows, and those of the same digit in the tiles before, whose number is the sum at tile t - 1. A tile orders
//! its own elements (`schedule/facts/radix.rs`), and no tile waits for another one (S. Zagha, G. Blelloch, "Radix
//! sort for vector multiprocessors", 1991; D. Merrill, A. Grimshaw, "Revisiting sorting for GPGPU stream
//! architectures", 2010).

use super::arithmetic::{binary, binary_digits, ceil_div, with_number as with};
use super::simplify::{extent, simplify};
use super::verify::is_host;
use super::{Function, Graph, NodeId, Op, Output, Param, Type};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};

/// The number of bits of a digit.
pub const BITS: i64 = 8;
/// The number of values of a digit.
pub const DIGITS: i64 = 1 << BITS;
/// The type of the indices that move with keys.
pub const INDEX: Ty = Ty::U32;
/// The number of launches of a digit, and of a merge.
const LAUNCHES: i64 = 3;
const LAUNCHES_OF_MERGE: i64 = 2;
/// The number of elements of a tile.
pub const DIGIT_TILE: i64 = 8192;

/// Returns the number of digits of the keys of a vector. If i64 are clamped to 0 .. m, and the host knows m, they
/// have as many digits as m.
pub fn count(g: &mut Graph, x: NodeId, key: Ty) -> NodeId {
    let bits = g.lit(Lit::i64(8 * key.size() as i64));
    let bits = match greatest(g, x) {
        Some(greatest) => {
            let own = binary_digits(g, greatest);
            binary(g, BinaryOp::Min, own, bits)
        }
        None => bits,
    };
    ceil_div(g, bits, BITS)
}

/// Returns the number to which the elements of a vector are clamped from above, if they are clamped from below to 0.
fn greatest(g: &Graph, x: NodeId) -> Option<NodeId> {
    let body = match g.op(x) {
        Op::Materialize(x) => return greatest(g, *x),
        Op::Map(l, _) | Op::Generate(_, l) => l.body,
        _ => return None,
    };
    let Op::Binary(BinaryOp::Max, inner, zero) = *g.op(body) else { return None };
    let Op::Binary(BinaryOp::Min, _, most) = *g.op(inner) else { return None };
    let is_clamped = g.as_lit(zero).is_some_and(|l| l.ty == Ty::I64 && l.bits == 0);
    (is_clamped && g.is_closed(most) && is_host(g, most)).then_some(most)
}

/// Whether ordering by `digits` digits is faster than merging runs of `n` elements `merges` times, and 32-bit indices
/// suffice. A digit takes three launches, and a merge two, which is what counts for short vectors (`bench/NOTES.md`,
/// "Radix sort").
pub fn are_faster(g: &mut Graph, n: NodeId, digits: NodeId, merges: NodeId) -> NodeId {
    let launches = with(g, BinaryOp::Mul, digits, LAUNCHES);
    let most = with(g, BinaryOp::Mul, merges, LAUNCHES_OF_MERGE);
    let are_fewer = binary(g, BinaryOp::Lt, launches, most);
    let have_room = with(g, BinaryOp::Le, n, 1 << (8 * INDEX.size()));
    binary(g, BinaryOp::And, are_fewer, have_room)
}

/// Whether this many digits have fewer launches than this many merges.
pub fn have_fewer_launches(digits: i64, merges: i64) -> bool {
    digits * LAUNCHES < merges * LAUNCHES_OF_MERGE
}

/// Returns the parameters of values of these types that move with keys.
pub fn values(types: &[Ty]) -> impl Iterator<Item = Param> {
    types.iter().zip(0..).map(|(ty, k)| Param { name: format!("value{k}"), ty: Type::vector(*ty) })
}

/// Returns the step function; each step orders keys, and values of some types with them, by the digit that has the
/// step's number. The names are those of further arguments, of i64.
pub fn step(f: &Function, key: Ty, types: &[Ty], further: &[&str]) -> Function {
    let mut params = vec![Param { name: "keys".into(), ty: Type::vector(key) }];
    params.extend(values(types));
    params.extend(further.iter().map(|name| Param { name: (*name).into(), ty: Type::scalar(Ty::I64) }));
    let mut step = Function::new(&format!("{}__digits{}_{key}", f.name, f.steps.len()), params);
    step.loc.clone_from(&f.loc);
    step.is_step = true;
    let g = &mut step.graph;
    let keys = NodeId(0);
    let lambda = g.lambda(&[key], |g, key| digit(g, key[0]));
    let digits = g.add(Op::Map(lambda, vec![keys]));
    let n = extent(g, keys, 0);
    let tiles = ceil_div(g, n, DIGIT_TILE);
    let ends = ends(g, digits, tiles);
    for which in 0..=types.len() as u32 {
        let moved = g.add(Op::ByDigit { tiles, digits, ends, src: NodeId(which) });
        let name = step.params[which as usize].name.clone();
        step.results.push(Output { name, value: g.add(Op::Materialize(moved)) });
    }
    step
}

/// Returns how many elements with each digit there are up to the end of each tile.
fn ends(g: &mut Graph, digits: NodeId, tiles: NodeId) -> NodeId {
    let count = with(g, BinaryOp::Mul, tiles, DIGITS);
    let counts = g.add(Op::DigitCounts { count, tiles, digits });
    let counts = g.add(Op::Materialize(counts));
    let digits = g.lit(Lit::i64(DIGITS));
    let ends = g.add(Op::DigitEnds { digits, tiles, counts });
    g.add(Op::Materialize(ends))
}

/// Returns the type of unsigned integers in which the digits of keys of a type are found.
pub fn word(key: Ty) -> Ty {
    if key.size() > 4 { Ty::U64 } else { Ty::U32 }
}

/// Returns the sign bit of the keys' type, which is inverted so that negative keys come first; 0 if keys have none.
pub fn sign(key: Ty) -> u64 {
    if key.is_signed() || key.is_float() { 1 << (8 * key.size() - 1) } else { 0 }
}

/// Returns an unsigned integer that is ordered as the key is. Of a signed key the sign bit is inverted, so that
/// negative ones come first; of a negative float all bits, because among these a greater magnitude is less. A NaN
/// has the greatest integer.
fn ordered(g: &mut Graph, key: NodeId) -> NodeId {
    use BinaryOp::{Or, Shr, Xor};
    let ty = g.ty(key).elem;
    let (wide, signed) = (word(ty), if ty.size() > 4 { Ty::I64 } else { Ty::I32 });
    if ty.is_float() {
        let bits = g.add(Op::Unary(UnaryOp::ToBits, key));
        let bits = g.add(Op::Cast(signed, bits));
        let places = g.lit(Lit::from_word(signed, 8 * ty.size() as u64 - 1));
        let is_below = binary(g, Shr, bits, places);
        let sign = g.lit(Lit::from_word(signed, sign(ty)));
        let inverted = binary(g, Or, is_below, sign);
        let own = binary(g, Xor, bits, inverted);
        let own = g.add(Op::Cast(wide, own));
        let is_number = g.add(Op::Binary(BinaryOp::Eq, key, key));
        let greatest = g.lit(Lit::greatest(wide));
        return g.add(Op::Select(is_number, own, greatest));
    }
    let bits = simplify(g, Op::Cast(wide, key));
    if sign(ty) == 0 {
        return bits;
    }
    let sign = g.lit(Lit::from_word(wide, sign(ty)));
    binary(g, Xor, bits, sign)
}

/// Returns the digit of a key that has the number of the step, i32.
pub fn digit(g: &mut Graph, key: NodeId) -> NodeId {
    let wide = word(g.ty(key).elem);
    let own = ordered(g, key);
    let turn = g.add(Op::Turn);
    let shift = with(g, BinaryOp::Mul, turn, BITS);
    let shift = simplify(g, Op::Cast(wide, shift));
    let shifted = binary(g, BinaryOp::Shr, own, shift);
    let most = g.lit(Lit::from_word(wide, DIGITS as u64 - 1));
    let digit = binary(g, BinaryOp::And, shifted, most);
    simplify(g, Op::Cast(Ty::I32, digit))
}

#[cfg(test)]
mod tests {
    use super::{BITS, INDEX, step};
    use crate::core::interp::{Value, run};
    use crate::core::{Form, Function, Op, Output, Param, Type};
    use crate::scalar::{Lit, Ty};
    use std::sync::Arc;

    /// Returns the order of keys by all of their digits, whatever their number is.
    fn ordered(ty: Ty, keys: &[Lit]) -> Vec<i64> {
        let mut f = Function::new("f", vec![Param { name: "x".into(), ty: Type::vector(ty) }]);
        f.steps = vec![Arc::new(step(&f, ty, &[INDEX], &[]))];
        let g = &mut f.graph;
        let x = g.add(Op::Param(0));
        let n = g.add(Op::Len(x, 0));
        let narrow = g.lambda(&[Ty::I64], |g, i| g.add(Op::Cast(INDEX, i[0])));
        let indices = g.add(Op::Generate(vec![n], narrow));
        let count = g.lit(Lit::i64((8 * ty.size() as u64).div_ceil(BITS as u64) as i64));
        let args = vec![x, indices];
        let value = g.add(Op::Iterate { step: 0, which: 1, form: Form::Last, count, args });
        f.results = vec![Output { name: "order".into(), value }];
        let found = run(&f, &[Value::Vector(keys.to_vec())]).expect("it runs").results.remove(0);
        let Value::Vector(order) = found else { panic!("a vector") };
        order.into_iter().map(|i| i.bits as i64).collect()
    }

    #[test]
    fn floats_are_ordered_as_they_are() {
        for ty in [Ty::F32, Ty::F64] {
            let numbers =
                [0.0, -0.0, 1.5, -1.5, f64::INFINITY, f64::NEG_INFINITY, 1e-320, -1e-320, 3e38, f64::NAN];
            let negative_nan = Lit::from_word(ty, u64::MAX >> (64 - 8 * ty.size() as u32));
            let mut keys: Vec<Lit> = numbers.map(|x| Lit::float(ty, x)).to_vec();
            keys.insert(0, negative_nan);
            let mut wanted: Vec<i64> = (0..keys.len() as i64).collect();
            let number = |i: &i64| keys[*i as usize].as_float().expect("a float");
            wanted.sort_by(|a, b| match (number(a), number(b)) {
                (a, b) if a.is_nan() || b.is_nan() => a.is_nan().cmp(&b.is_nan()),
                (a, b) => a.total_cmp(&b),
            });
            assert_eq!(ordered(ty, &keys), wanted, "{ty}");
        }
    }

    #[test]
    fn keys_of_every_type_and_sign_are_ordered() {
        for ty in [Ty::I8, Ty::U8, Ty::I16, Ty::U16, Ty::I32, Ty::U32, Ty::I64, Ty::U64] {
            let keys = (0..40u64).map(|i| i.wrapping_mul(0x1e37_79b9_7f4a_7c15).rotate_left(i as u32 * 7));
            let keys: Vec<Lit> = keys
                .chain([0, 1, u64::MAX, 1 << 63, (1 << 63) - 1, 0])
                .map(|w| Lit::from_word(ty, w & (u64::MAX >> (64 - 8 * ty.size() as u32))))
                .collect();
            let mut wanted: Vec<i64> = (0..keys.len() as i64).collect();
            wanted.sort_by_key(|i| {
                let key = keys[*i as usize];
                if ty.is_signed() { key.as_int().expect("signed").into() } else { i128::from(key.bits) }
            });
            assert_eq!(ordered(ty, &keys), wanted, "{ty}");
        }
    }
}
