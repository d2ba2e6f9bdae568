//! The step that orders keys by one more digit, from the lowest to the highest (radix sort: least significant digit
//! first). Elements with equal digits keep their order.
//!
//! ```text
//! step @digits(%keys, %order) -> (next, order):
//!   %totals = scan_totals (+) of each key's counter        how often each digit occurs in a tile
//!   %ends = scan (+) over %totals, digit by digit          how many keys stand before each tile's, by digit
//!   next, order = place %keys, %order at %ends + scan_tiles (+) of each key's counter
//! ```
//!
//! The counters of a tile, 16 bits for each digit, lie in one word, so that one scan counts all digits: a tile has
//! less than 2^16 elements.

use super::arithmetic::{binary, binary_digits, with_number as with};
use super::scan_stages::tiles;
use super::simplify::simplify;
use super::verify::is_host;
use super::{Function, Graph, Lambda, NodeId, Op, Output, Param, SCAN_TILE, ScanPart, Type};
use crate::scalar::{BinaryOp, Lit, Ty};

/// The bits of a digit.
const BITS: i64 = 2;
const DIGITS: i64 = 1 << BITS;
/// The bits of a counter.
const WIDTH: i64 = 64 / DIGITS;

/// More digits than that are never faster: no vector in memory has so many elements.
const MOST: i64 = 30;

/// The number of digits of the keys of a vector, if they may be faster than merges. Where an i64 is clamped to 0 .. m,
/// and the host knows m, it has as many as m.
pub fn count(g: &mut Graph, x: NodeId, key: Ty) -> Option<NodeId> {
    let bits = 8 * key.size() as i64;
    if bits > MOST * BITS && greatest(g, x).is_none() {
        return None;
    }
    let bits = g.lit(Lit::i64(bits));
    let bits = match greatest(g, x) {
        Some(greatest) => {
            let own = binary_digits(g, greatest);
            binary(g, BinaryOp::Min, own, bits)
        }
        None => bits,
    };
    let up = with(g, BinaryOp::Add, bits, BITS - 1);
    Some(with(g, BinaryOp::Div, up, BITS))
}

/// The number to which the elements of a vector are clamped from above, if they are clamped from below to 0.
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

/// Whether so many digits are ordered faster than runs are merged `merges` times: a digit takes six launches, a merge
/// two, which is what counts for short vectors (`bench/NOTES.md`, "Places").
pub fn are_faster(g: &mut Graph, digits: NodeId, merges: NodeId) -> NodeId {
    let most = with(g, BinaryOp::Sub, merges, 10);
    binary(g, BinaryOp::Le, digits, most)
}

/// The step of the digit that has the number of the step.
pub fn step(f: &Function, key: Ty) -> Function {
    let param = |name: &str, ty| Param { name: name.into(), ty: Type::vector(ty) };
    let name = format!("{}__digits_{key}", f.name);
    let mut step = Function::new(&name, vec![param("keys", key), param("order", Ty::I64)]);
    step.loc.clone_from(&f.loc);
    step.is_step = true;
    let g = &mut step.graph;
    let [keys, order] = [0, 1].map(NodeId);
    let places = places(g, keys);
    let mut placed = |name: &str, src: NodeId| {
        let placed = g.add(Op::Place { at: places, src });
        Output { name: name.into(), value: g.add(Op::Materialize(placed)) }
    };
    let next = placed("keys", keys);
    step.results = vec![next, placed("order", order)];
    step
}

/// Where each key goes.
fn places(g: &mut Graph, keys: NodeId) -> NodeId {
    use BinaryOp::{Add, Div, Max, Mul, Sub};
    let n = g.add(Op::Len(keys, 0));
    let tiles = tiles(g, keys);
    let totals = totals(g, (keys, n), tiles);
    let counts = {
        let divisor = with(g, Max, tiles, 1);
        let count = with(g, Mul, tiles, DIGITS);
        let lambda = g.lambda(&[Ty::I64], |g, i| {
            let digit = binary(g, Div, i[0], divisor);
            let tile = binary(g, BinaryOp::Rem, i[0], divisor);
            let word = g.add(Op::Elem(totals, vec![tile]));
            counter(g, word, digit)
        });
        g.add(Op::Generate(vec![count], lambda))
    };
    let zero = g.lit(Lit::i64(0));
    let join = g.lambda(&[Ty::I64; 2], |g, v| g.add(Op::Binary(Add, v[0], v[1])));
    let ends = Op::Scan { part: ScanPart::Whole, join, init: zero, src: counts, which: 0 };
    let ends = g.add(ends);
    let inside = in_tiles(g, keys, tiles);
    let lambda = g.lambda(&[Ty::I64], |g, i| {
        let key = g.add(Op::Elem(keys, vec![i[0]]));
        let digit = digit(g, key);
        let word = g.add(Op::Elem(inside, vec![i[0]]));
        let tile = with(g, Div, i[0], SCAN_TILE);
        let own = {
            let of_digit = binary(g, Mul, digit, tiles);
            binary(g, Add, of_digit, tile)
        };
        let is_first = with(g, BinaryOp::Eq, own, 0);
        let before = with(g, Sub, own, 1);
        let before = with(g, Max, before, 0);
        let before = g.add(Op::Elem(ends, vec![before]));
        let before = simplify(g, Op::Select(is_first, zero, before));
        // the scan counts the key itself
        let up_to = counter(g, word, digit);
        let place = binary(g, Add, before, up_to);
        with(g, Sub, place, 1)
    });
    g.add(Op::Generate(vec![n], lambda))
}

/// The counters of each tile. The last tile is filled up with elements that count nothing.
fn totals(g: &mut Graph, (keys, n): (NodeId, NodeId), tiles: NodeId) -> NodeId {
    let filled = with(g, BinaryOp::Mul, tiles, SCAN_TILE);
    let last = with(g, BinaryOp::Sub, n, 1);
    let lambda = g.lambda(&[Ty::I64], |g, i| {
        let is_inside = binary(g, BinaryOp::Lt, i[0], n);
        let inside = binary(g, BinaryOp::Min, i[0], last);
        let key = g.add(Op::Elem(keys, vec![inside]));
        let word = counted(g, key);
        let zero = g.lit(Lit::zero(Ty::U64));
        simplify(g, Op::Select(is_inside, word, zero))
    });
    let src = g.add(Op::Generate(vec![filled], lambda));
    let join = join(g);
    let part = g.add(Op::Scan { part: ScanPart::Totals, join, init: tiles, src, which: 0 });
    g.add(Op::Materialize(part))
}

/// The counters of the keys of a tile up to each key.
fn in_tiles(g: &mut Graph, keys: NodeId, tiles: NodeId) -> NodeId {
    let ty = g.ty(keys).elem;
    let lambda = g.lambda(&[ty], |g, key| counted(g, key[0]));
    let src = g.add(Op::Map(lambda, vec![keys]));
    let zero = g.lit(Lit::zero(Ty::U64));
    let init = g.add(Op::Fill(tiles, zero));
    let join = join(g);
    g.add(Op::Scan { part: ScanPart::Tiles, join, init, src, which: 0 })
}

/// The sums of the counters of two parts.
fn join(g: &mut Graph) -> Lambda {
    g.lambda(&[Ty::U64; 2], |g, v| g.add(Op::Binary(BinaryOp::Add, v[0], v[1])))
}

/// The digit of a key that has the number of the step, i64. Of signed keys the sign is reversed, so that negative
/// ones come first.
fn digit(g: &mut Graph, key: NodeId) -> NodeId {
    use BinaryOp::{And, Mul, Shr, Xor};
    let ty = g.ty(key).elem;
    let width = 8 * ty.size() as u32;
    let word = |g: &mut Graph, bits: u64| g.lit(Lit::from_word(Ty::U64, bits));
    let mut bits = simplify(g, Op::Cast(Ty::U64, key));
    if ty.is_signed() {
        let sign = word(g, 1 << (width - 1));
        bits = binary(g, Xor, bits, sign);
        let all = word(g, u64::MAX >> (64 - width));
        bits = binary(g, And, bits, all);
    }
    let turn = g.add(Op::Turn);
    let shift = with(g, Mul, turn, BITS);
    let shift = simplify(g, Op::Cast(Ty::U64, shift));
    let shifted = binary(g, Shr, bits, shift);
    let most = word(g, DIGITS as u64 - 1);
    let digit = binary(g, And, shifted, most);
    simplify(g, Op::Cast(Ty::I64, digit))
}

/// The counters of one key.
fn counted(g: &mut Graph, key: NodeId) -> NodeId {
    let digit = digit(g, key);
    let shift = shift(g, digit);
    let one = g.lit(Lit::from_word(Ty::U64, 1));
    binary(g, BinaryOp::Shl, one, shift)
}

/// The counter of a digit, i64.
fn counter(g: &mut Graph, word: NodeId, digit: NodeId) -> NodeId {
    let shift = shift(g, digit);
    let shifted = binary(g, BinaryOp::Shr, word, shift);
    let most = g.lit(Lit::from_word(Ty::U64, (1 << WIDTH) - 1));
    let count = binary(g, BinaryOp::And, shifted, most);
    simplify(g, Op::Cast(Ty::I64, count))
}

/// Where the counter of a digit begins in the word.
fn shift(g: &mut Graph, digit: NodeId) -> NodeId {
    let shift = with(g, BinaryOp::Mul, digit, WIDTH);
    simplify(g, Op::Cast(Ty::U64, shift))
}

#[cfg(test)]
mod tests {
    use super::{BITS, step};
    use crate::core::interp::{Value, run};
    use crate::core::{Form, Function, Op, Output, Param, Type};
    use crate::scalar::{Lit, Ty};
    use std::sync::Arc;

    /// The order of keys by all of their digits, whatever their number is.
    fn ordered(ty: Ty, keys: &[Lit]) -> Vec<i64> {
        let mut f = Function::new("f", vec![Param { name: "x".into(), ty: Type::vector(ty) }]);
        f.steps = vec![Arc::new(step(&f, ty))];
        let g = &mut f.graph;
        let x = g.add(Op::Param(0));
        let n = g.add(Op::Len(x, 0));
        let indices = g.add(Op::Iota(n));
        let count = g.lit(Lit::i64((8 * ty.size() as u64).div_ceil(BITS as u64) as i64));
        let args = vec![x, indices];
        let value = g.add(Op::Iterate { step: 0, which: 1, form: Form::Last, count, args });
        f.results = vec![Output { name: "order".into(), value }];
        let found = run(&f, &[Value::Vector(keys.to_vec())]).expect("it runs").results.remove(0);
        let Value::Vector(order) = found else { panic!("a vector") };
        order.into_iter().map(Lit::as_i64).collect()
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
