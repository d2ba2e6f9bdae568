//! Computes integers of 8 and 16 bits in 32 bits, and cuts a value to its type only where its upper bits matter and
//! are not known.
//!
//! ```text
//! let %s: u16 = add(add(cast u16(%a), cast u16(%b)), 7u16)
//! out[%i] = cast u8(div(%s, 3u16))
//!   ->
//! let %wide: i32 = add(add(cast i32(%a), cast i32(%b)), 7i32)
//! out[%i] = cast u8(shr(mul(cast u32(%wide), 43691u32), 17u32))
//! ```
//!
//! A GPU computes narrow integers in 32-bit registers anyway, and cutting each result to its type would take one more
//! instruction. The low bits of sums, differences, products and bitwise operations depend only on the low bits of the
//! operands, so the results need no cut. Comparisons, quotients, right shifts and casts to wider types need all bits
//! of their operands; ranges (`range.rs`) often show that these are right already: above, no sum of two bytes
//! and 7 wraps in 16 bits. A store takes the low bits.
//!
//! If the range of a value is known, be it narrow or of 32 bits, its quotient by a constant becomes a product and a
//! shift in 32 bits (Granlund and Montgomery 1994). The assembler knows no ranges, and multiplies in 64 bits.

use super::{Expr, Kernel, Reg, Stmt};
use crate::scalar::range::Range;
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};
use rustc_hash::FxHashMap;

/// Runs the pass on `main`.
pub fn run(k: &mut Kernel) {
    if !has_work(k) {
        return;
    }
    k.rewrite_main(|k, body| {
        let mut pass = Widen { k, wide: FxHashMap::default(), ranges: FxHashMap::default() };
        pass.block(body);
    });
}

/// Whether anything is computed that the pass may change: integers of 8 and 16 bits, and quotients.
fn has_work(k: &Kernel) -> bool {
    let types = k.arrays.iter().map(|a| a.ty).chain(k.slots.iter().map(|s| s.ty));
    let types = types.chain(k.ins.iter().chain(&k.scratch).map(|x| x.1)).chain(k.regs.iter().map(|r| r.1));
    let mut types = types.chain(k.locals.iter().chain(&k.shared).map(|x| x.1));
    types.any(is_narrow) || k.main.iter().flatten().any(changes)
}

fn changes(s: &Stmt) -> bool {
    let mut found = false;
    s.expressions(&mut |e| found = found || changes_value(e));
    found || s.blocks().into_iter().flatten().any(changes)
}

fn changes_value(e: &Expr) -> bool {
    let mut found = match e {
        Expr::Lit(l) => is_narrow(l.ty),
        Expr::Cast(ty, _) => is_narrow(*ty),
        Expr::Binary(op, ..) => matches!(op, BinaryOp::Div | BinaryOp::Rem),
        _ => false,
    };
    e.children(|child| found = found || changes_value(child));
    found
}

struct Widen<'a> {
    k: &'a mut Kernel,
    /// For each register of a narrow type that `let` defines: the 32-bit register that replaces it, and its range.
    wide: FxHashMap<Reg, (Reg, Range)>,
    /// The ranges of other registers that `let` defines, where they are smaller than the type.
    ranges: FxHashMap<Reg, Range>,
}

/// The value of an expression after the pass.
struct Value {
    e: Expr,
    /// The type before the pass.
    ty: Ty,
    /// Whether `e` is an i32 instead. Then its low bits are those of the value.
    is_wide: bool,
    /// The range of `e`; all integers for types that have none.
    range: Range,
}

impl Value {
    fn plain(e: Expr, ty: Ty, range: Range) -> Value {
        Value { e, ty, is_wide: false, range }
    }

    fn wide(e: Expr, ty: Ty, range: Option<Range>) -> Value {
        let range = range.map_or(Range::of(Ty::I32), |r| r.wrapped(Ty::I32));
        Value { e, ty, is_wide: true, range }
    }

    /// Returns the value in its type.
    fn in_type(self) -> Expr {
        if self.is_wide { cast(self.ty, self.e) } else { self.e }
    }

    /// Returns an i32 whose low bits are those of the value, with its range.
    fn low_bits(self) -> (Expr, Range) {
        if self.is_wide { (self.e, self.range) } else { self.exact() }
    }

    /// Returns the value, of a narrow type, as an i32, with its range.
    fn exact(self) -> (Expr, Range) {
        let Value { e, ty, is_wide, range } = self;
        match e {
            Expr::Lit(_) if !is_wide => (int32(range.least), range),
            e if !is_wide => (cast(Ty::I32, e), range),
            e if range.fits(ty) => (e, range),
            e if ty.is_signed() => (cast(Ty::I32, cast(ty, e)), Range::of(ty)),
            e => (Expr::binary(BinaryOp::And, e, int32(Range::of(ty).most)), Range::of(ty)),
        }
    }
}

fn cast(ty: Ty, e: Expr) -> Expr {
    Expr::Cast(ty, Box::new(e))
}

fn int32(x: i64) -> Expr {
    Expr::Lit(Lit::i32(x as i32))
}

fn is_narrow(ty: Ty) -> bool {
    ty.is_int() && ty.size() < 4
}

/// Whether ranges of the type are kept.
fn has_range(ty: Ty) -> bool {
    ty.is_int() && ty.size() <= 4
}

/// Returns the value of a constant of an integer type of up to 32 bits.
fn constant(v: &Value) -> Option<i64> {
    match v.e {
        Expr::Lit(l) if has_range(l.ty) => l.as_int(),
        _ => None,
    }
}

/// Returns a range if the type holds all of it; else, because operations wrap, the type's range.
fn known(ty: Ty, range: Option<Range>) -> Range {
    range.filter(|_| has_range(ty)).map_or(Range::of(ty), |r| r.wrapped(ty))
}

impl Widen<'_> {
    fn block(&mut self, body: &mut [Stmt]) {
        for s in body {
            match s {
                Stmt::Let(r, e, _) => {
                    let v = self.visit(std::mem::replace(e, Expr::TileBegin));
                    if v.is_wide {
                        let wide = self.k.reg("wide", Ty::I32);
                        self.wide.insert(*r, (wide, v.range));
                        *r = wide;
                    } else if has_range(v.ty) {
                        self.ranges.insert(*r, v.range);
                    }
                    *e = v.e;
                }
                s => {
                    s.expressions_mut(&mut |e| {
                        *e = self.visit(std::mem::replace(e, Expr::TileBegin)).in_type();
                    });
                    s.blocks_mut().for_each(|b| self.block(b));
                }
            }
        }
    }

    fn visit(&mut self, e: Expr) -> Value {
        match e {
            Expr::Lit(l) => Value::plain(e, l.ty, known(l.ty, Some(l.into()))),
            Expr::Reg(r) => {
                let ty = self.k.regs[r.0 as usize].1;
                match self.wide.get(&r) {
                    Some((wide, range)) => Value::wide(Expr::Reg(*wide), ty, Some(*range)),
                    None => Value::plain(e, ty, known(ty, self.ranges.get(&r).copied())),
                }
            }
            Expr::Unary(op, a) => self.unary(op, *a),
            Expr::Binary(op, a, b) => self.binary(op, *a, *b),
            Expr::MulAdd(a, b, c) => self.mul_add(*a, *b, *c),
            Expr::Select(c, a, b) => self.select(*c, *a, *b),
            Expr::Cast(to, a) => self.cast(to, *a),
            mut e => {
                e.children_mut(|child| {
                    *child = self.visit(std::mem::replace(child, Expr::TileBegin)).in_type();
                });
                let ty = self.k.ty(&e);
                Value::plain(e, ty, known(ty, None))
            }
        }
    }

    fn unary(&mut self, op: UnaryOp, a: Expr) -> Value {
        let a = self.visit(a);
        let of = |op, e| Expr::Unary(op, Box::new(e));
        let ty = a.ty;
        match op {
            UnaryOp::Neg | UnaryOp::Not if is_narrow(ty) => {
                let (e, range) = a.low_bits();
                // -x is !x + 1
                let by = i64::from(op == UnaryOp::Neg);
                let range = Range::new(!range.most + by, !range.least + by);
                Value::wide(of(op, e), ty, Some(range))
            }
            UnaryOp::Abs if is_narrow(ty) => {
                let (e, range) = a.exact();
                let most = range.most.max(-range.least);
                Value::wide(of(op, e), ty, Some(Range::new(0, most)))
            }
            _ => {
                let result = op.result(ty);
                Value::plain(of(op, a.in_type()), result, known(result, None))
            }
        }
    }

    fn binary(&mut self, op: BinaryOp, a: Expr, b: Expr) -> Value {
        use BinaryOp::{Add, And, Div, Max, Min, Mul, Or, Rem, Shl, Shr, Sub, Xor};
        let (a, b) = (self.visit(a), self.visit(b));
        let (ty, any_wide) = (a.ty, a.is_wide || b.is_wide);
        let is_shift = matches!(op, Shl | Shr);
        let count = constant(&b).filter(|_| is_shift).map(|n| n & (8 * ty.size() as i64 - 1));
        if matches!(op, Div | Rem) {
            return self.divided(op, a, b);
        }
        if !is_narrow(ty) || is_shift && count.is_none() {
            let by = if is_shift { count.map(|n| Range::new(n, n)) } else { Some(b.range) };
            let range = by.filter(|_| has_range(ty)).and_then(|by| Range::binary(op, a.range, by));
            let result = op.result(ty);
            return Value::plain(Expr::binary(op, a.in_type(), b.in_type()), result, known(result, range));
        }
        let ((x, of_x), (y, of_y)) = match (op, count) {
            (Add | Sub | Mul, _) => (a.low_bits(), b.low_bits()),
            (Shl, Some(n)) => (a.low_bits(), (int32(n), Range::new(n, n))),
            (Shr, Some(n)) if any_wide => (a.exact(), (int32(n), Range::new(n, n))),
            (And | Or | Xor, _) if any_wide => (a.low_bits(), b.low_bits()),
            (_, None) if any_wide => (a.exact(), b.exact()),
            // an operation whose result is not cut is the same in either width
            _ => {
                let by = count.map_or(b.range, |n| Range::new(n, n));
                let (result, range) = (op.result(ty), Range::binary(op, a.range, by));
                return Value::plain(Expr::binary(op, a.e, b.e), result, known(result, range));
            }
        };
        let e = Expr::binary(op, x, y);
        match op {
            Add | Sub | Mul | Shl | Shr | And | Or | Xor | Min | Max => {
                Value::wide(e, ty, Range::binary(op, of_x, of_y))
            }
            _ => Value::plain(e, Ty::Bool, Range::of(Ty::Bool)),
        }
    }

    /// A quotient or remainder.
    fn divided(&mut self, op: BinaryOp, a: Value, b: Value) -> Value {
        let ty = a.ty;
        let range = if a.is_wide && !a.range.fits(ty) { Range::of(ty) } else { a.range };
        let divisor = constant(&b).filter(|d| *d > 0 && range.least >= 0 && has_range(ty));
        let of_result = divisor.and_then(|d| Range::binary(op, range, Range::new(d, d)));
        let (Some(d), Some(of_result)) = (divisor, of_result) else {
            return Value::plain(Expr::binary(op, a.in_type(), b.in_type()), ty, Range::of(ty));
        };
        let x = if is_narrow(ty) { a.exact().0 } else { a.e };
        let unsigned = if ty == Ty::U32 { x.clone() } else { cast(Ty::U32, x.clone()) };
        let short = match op {
            BinaryOp::Div => quotient(unsigned, range.most, d as u64),
            _ => remainder(unsigned, range.most, d as u64),
        };
        match (short, ty) {
            (Some(e), Ty::U32) => Value::plain(e, ty, of_result),
            (Some(e), Ty::I32) => Value::plain(cast(ty, e), ty, of_result),
            (Some(e), ty) => Value::wide(cast(Ty::I32, e), ty, Some(of_result)),
            (None, ty) if is_narrow(ty) => Value::wide(Expr::binary(op, x, int32(d)), ty, Some(of_result)),
            (None, ty) => Value::plain(Expr::binary(op, x, b.e), ty, of_result),
        }
    }

    fn mul_add(&mut self, a: Expr, b: Expr, c: Expr) -> Value {
        let [a, b, c] = [a, b, c].map(|e| self.visit(e));
        let ty = a.ty;
        let of = |a, b, c| Expr::MulAdd(Box::new(a), Box::new(b), Box::new(c));
        if !is_narrow(ty) {
            return Value::plain(of(a.in_type(), b.in_type(), c.in_type()), ty, known(ty, None));
        }
        let [(a, of_a), (b, of_b), (c, of_c)] = [a, b, c].map(Value::low_bits);
        let product = Range::binary(BinaryOp::Mul, of_a, of_b);
        let range = product.and_then(|product| Range::binary(BinaryOp::Add, product, of_c));
        Value::wide(of(a, b, c), ty, range)
    }

    fn select(&mut self, c: Expr, a: Expr, b: Expr) -> Value {
        let [c, a, b] = [c, a, b].map(|e| self.visit(e));
        let (ty, c) = (a.ty, c.in_type());
        if a.is_wide || b.is_wide {
            let ((a, of_a), (b, of_b)) = (a.low_bits(), b.low_bits());
            return Value::wide(c.select(a, b), ty, Some(of_a.union(of_b)));
        }
        let range = a.range.union(b.range);
        Value::plain(c.select(a.e, b.e), ty, known(ty, Some(range)))
    }

    fn cast(&mut self, to: Ty, a: Expr) -> Value {
        let a = self.visit(a);
        let from = a.ty;
        if is_narrow(to) && from.is_int() {
            return narrowed(to, a);
        }
        if !a.is_wide || to.is_half() {
            let range = Some(a.range).filter(|r| has_range(from) && r.fits(to) || from == Ty::Bool);
            return Value::plain(cast(to, a.in_type()), to, known(to, range));
        }
        let (e, range) = a.exact();
        let range = Some(range).filter(|_| has_range(to)).filter(|r| r.fits(to));
        let e = if to == Ty::I32 { e } else { cast(to, e) };
        Value::plain(e, to, known(to, range))
    }
}

/// Casts an integer to a narrow type.
fn narrowed(to: Ty, a: Value) -> Value {
    let from = a.ty;
    if !a.is_wide && has_range(from) && Range::of(from).fits(to) {
        return Value::plain(cast(to, a.e), to, a.range);
    }
    let (e, range) = match (is_narrow(from), a.is_wide) {
        // the low bits are enough
        (true, _) if to.size() <= from.size() => a.low_bits(),
        (true, _) => a.exact(),
        _ if from == Ty::I32 => (a.e, a.range),
        _ => (cast(Ty::I32, a.e), if has_range(from) { a.range } else { Range::of(Ty::I32) }),
    };
    Value::wide(e, to, Some(range))
}

/// Returns the quotient of an unsigned value from 0 to `most` by a constant.
fn quotient(x: Expr, most: i64, d: u64) -> Option<Expr> {
    let lit = |n: u64| Expr::Lit(Lit::u32(n as u32));
    if (most as u64) < d {
        return Some(lit(0));
    }
    if d.is_power_of_two() {
        return Some(Expr::binary(BinaryOp::Shr, x, lit(d.trailing_zeros().into())));
    }
    let (factor, shift) = reciprocal(most as u64, d)?;
    Some(Expr::binary(BinaryOp::Shr, x.times(lit(factor)), lit(shift.into())))
}

/// Returns the remainder of an unsigned value by a constant, if the value is cheap enough to be computed twice.
fn remainder(x: Expr, most: i64, d: u64) -> Option<Expr> {
    if d.is_power_of_two() {
        return Some(Expr::binary(BinaryOp::And, x, Expr::Lit(Lit::u32(d as u32 - 1))));
    }
    let mut inner = &x;
    while let Expr::Cast(_, a) = inner {
        inner = a;
    }
    if !matches!(inner, Expr::Reg(_)) {
        return None;
    }
    let whole = quotient(x.clone(), most, d)?;
    Some(x.minus(whole.times(Expr::Lit(Lit::u32(d as u32)))))
}

/// Returns a factor and a shift such that `(x * factor) >> shift` is `x / d`, and the product fits
/// in 32 bits, for all x from 0 to `most`.
///
/// With `factor * d = 2^shift + error` the product is `x / d + x * error / (d * 2^shift)`, in units
/// of 2^shift. The second part moves no quotient to the next integer if it is less than 1 / d. Whole
/// bytes are tried first: a store takes them from the product without a shift.
pub fn reciprocal(most: u64, d: u64) -> Option<(u64, u32)> {
    let fits = |shift: u32| {
        let factor = (1_u64 << shift).div_ceil(d);
        let error = factor * d - (1 << shift);
        let product = factor.checked_mul(most)?;
        (error.checked_mul(most)? < 1 << shift && product < 1 << 32).then_some((factor, shift))
    };
    [8, 16, 24].into_iter().chain(0..32).find_map(fits)
}

#[cfg(test)]
mod tests;
