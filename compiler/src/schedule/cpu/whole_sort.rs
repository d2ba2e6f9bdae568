//! A whole radix sort on one thread: from the lowest digit to the highest, all elements are counted by their digit
//! and then moved in order. No tiles, so no matrix of counts.
//!
//! The digits are not those of the program's steps. Only the bits in which keys differ count, which a loop over
//! vectors finds first: small numbers, and numbers of a small range, have few. These bits are cut into as few digits
//! of at most 8 bits as possible, of equal width.
//!
//! The places of a block of elements are counted before its elements are moved: between loads of the counters, stores
//! to all over memory would hold these up.
//!
//! Keys most of which are near their neighbours, such as those of the sorted edges of a graph, are one digit, if
//! there is room for its counters in the memory for keys between two digits: what they count, and where they are
//! stored, is then near, too.
//!
//! ```text
//! 1 digit:     begin -> last
//! 2 digits:    begin -> spare    spare -> last
//! 3 digits:    begin -> last     last -> spare    spare -> last
//! ```

use crate::core::digits::{sign, word};
use crate::error::Result;
use crate::kernel::{Expr, Mem, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};
use crate::schedule::element::canonical;
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::facts::whole_sort::WholeSort;

/// The greatest number of bits of a digit. With 11 bits, which are fewer digits, elements are stored to so many pages
/// of memory in turn that each takes twice as long (measured: `bench/NOTES.md`, "Sorts by one thread").
const WIDEST: i64 = 8;
/// The number of elements whose places are counted before they are moved.
const BLOCK: i64 = 256;
/// Keys are near each other if they differ by less than this number.
const NEAR: u64 = 256;

pub(super) fn main(l: &mut Lower, sort: &WholeSort) -> Result<Vec<Stmt>> {
    let key = l.launch.g.ty(sort.arrays[0].from).elem;
    let n = l.launch.count();
    let begin = sort.arrays.iter().map(|x| l.launch.input(x.from)).collect();
    let [last, spare] = [true, false].map(|last| {
        let all = sort.arrays.iter();
        all.map(|x| l.launch.reordered(if last { x.to } else { x.spare }, x.from)).collect()
    });
    let types = sort.arrays.iter().map(|x| l.launch.g.ty(x.from).elem).collect();
    let mut out = Vec::new();
    let local = l.k.local("next", Ty::I64, 1 << WIDEST, &mut out);
    let places = l.k.local("places", Ty::I64, BLOCK as u32, &mut out);
    let digits = sort.digits.map(|n| l.launch.host(n));
    let mask = Expr::Lit(Lit::zero(word(key)));
    let mut code = Code { key, types, n, begin, last, spare, places, mask };
    let (differs, near) = code.differences(l, digits, &mut out);
    let [low, high] = code.range(l, &differs, &mut out);
    let bits = bind(l, "bits", high.minus(low.clone()), &mut out);
    let passes = bind(l, "passes", ceil_div(bits.clone(), Expr::int(WIDEST)), &mut out);
    let local = Counters { from: local, to: local, ty: Ty::I64 };
    let several = code.passes(l, &local, &low, (&bits, &passes));
    let several = match code.one_digit(l, near, (&low, &bits)) {
        Some((is_one, one)) => vec![Stmt::If(is_one, one, several)],
        None => several,
    };
    let (i, mut copies) = (l.k.reg("i", Ty::I64), Vec::new());
    code.moved(l, (&code.begin, &to(&code.last)), (&Expr::Reg(i), &Expr::Reg(i)), &mut copies);
    let copies = vec![Stmt::For(i, Expr::int(0), code.n.clone(), copies)];
    out.push(Stmt::If(Expr::binary(BinaryOp::Eq, passes, Expr::int(0)), copies, several));
    Ok(out)
}

fn ceil_div(a: Expr, b: Expr) -> Expr {
    Expr::binary(BinaryOp::Div, a.plus(b.clone()).minus(Expr::int(1)), b)
}

/// Returns the integer for a float.
fn float_word(key: &Expr, ty: Ty) -> Expr {
    let (wide, signed) = (word(ty), if ty.size() > 4 { Ty::I64 } else { Ty::I32 });
    let literal = |bits: u64| Expr::Lit(Lit::from_word(signed, bits));
    let bits = Expr::Unary(UnaryOp::ToBits, Box::new(key.clone()));
    let bits = Expr::Cast(signed, Box::new(bits));
    let is_below = Expr::binary(BinaryOp::Shr, bits.clone(), literal(8 * ty.size() as u64 - 1));
    let inverted = Expr::binary(BinaryOp::Or, is_below, literal(sign(ty)));
    let own = Expr::Cast(wide, Box::new(Expr::binary(BinaryOp::Xor, bits, inverted)));
    let is_number = Expr::binary(BinaryOp::Eq, key.clone(), key.clone());
    is_number.select(own, Expr::Lit(Lit::greatest(wide)))
}

/// For each digit the number of its elements, and later the place of its next element.
struct Counters {
    /// The memory as it is read and as it is written.
    from: Mem,
    to: Mem,
    ty: Ty,
}

impl Counters {
    fn get(&self, digit: &Expr) -> Expr {
        let own = Expr::load(self.from, digit.clone());
        if self.ty == Ty::I64 { own } else { Expr::Cast(Ty::I64, Box::new(own)) }
    }

    fn set(&self, digit: &Expr, value: Expr) -> Stmt {
        let value = if self.ty == Ty::I64 { value } else { Expr::Cast(self.ty, Box::new(value)) };
        Stmt::Store(self.to, digit.clone(), value)
    }
}

/// The bits of a digit.
struct Digit {
    /// The number of lower bits, and the mask of the digit's own ones.
    shift: Expr,
    most: Expr,
    /// The number of values.
    count: Expr,
}

/// Returns the arrays as they are read.
fn from(arrays: &[[Mem; 2]]) -> Vec<Mem> {
    arrays.iter().map(|x| x[0]).collect()
}

/// Returns the arrays as they are written.
fn to(arrays: &[[Mem; 2]]) -> Vec<Mem> {
    arrays.iter().map(|x| x[1]).collect()
}

/// What the functions that write the code share.
struct Code {
    /// The types of the keys, and of all arrays that are moved, of which the first one has the keys.
    key: Ty,
    types: Vec<Ty>,
    n: Expr,
    /// The arrays before the sort.
    begin: Vec<Mem>,
    /// The arrays after it, and those in between, each as it is read and as it is written.
    last: Vec<[Mem; 2]>,
    spare: Vec<[Mem; 2]>,
    /// The places of a block of elements.
    places: Mem,
    /// The bits of keys by which the program orders.
    mask: Expr,
}

impl Code {
    fn literal(&self, bits: u64) -> Expr {
        Expr::Lit(Lit::from_word(word(self.key), bits))
    }

    /// Returns an unsigned integer that is ordered as element `i` of some keys, as [`crate::core::digits`] defines it.
    fn word(&self, l: &mut Lower, (keys, i): (Mem, Expr), out: &mut Vec<Stmt>) -> Expr {
        let (wide, key) = (word(self.key), Expr::load(keys, i));
        if self.key.is_float() {
            let key = bind(l, "key", key, out);
            return float_word(&key, self.key);
        }
        let own = if self.key == wide { key } else { Expr::Cast(wide, Box::new(key)) };
        match sign(self.key) {
            0 => own,
            sign => Expr::binary(BinaryOp::Xor, own, self.literal(sign)),
        }
    }

    /// Returns the bits in which keys differ, among those of the `digits` by which the program orders, and the number
    /// of elements that are near the one before.
    fn differences(&mut self, l: &mut Lower, digits: Option<Expr>, out: &mut Vec<Stmt>) -> (Expr, Expr) {
        let wide = word(self.key);
        // the sign of a narrow key fills the word
        self.mask = self.literal(u64::MAX >> (64 - 8 * self.key.size()));
        if let Some(digits) = digits {
            let bits = 8 * wide.size() as i64;
            let all = digits.times(Expr::int(8));
            let some = Expr::binary(BinaryOp::Lt, all.clone(), Expr::int(bits));
            // a shift by less than all bits, whatever the number of digits is
            let count = Expr::Cast(wide, Box::new(all.min(Expr::int(bits - 1))));
            let below = Expr::binary(BinaryOp::Shl, self.literal(1), count).minus(self.literal(1));
            let most = self.literal(Lit::greatest(wide).bits);
            self.mask = bind(l, "mask", some.select(below, most), out);
        }
        let first = self.word(l, (self.begin[0], Expr::int(0)), out);
        let first = bind(l, "first", first, out);
        let [differs, near] = [("differs", wide), ("near", Ty::I64)].map(|(name, ty)| l.k.reg(name, ty));
        let (i, mut body) = (l.k.reg("i", Ty::I64), Vec::new());
        let own = self.word(l, (self.begin[0], Expr::Reg(i)), &mut body);
        let own = bind(l, "own", own, &mut body);
        let before = self.word(l, (self.begin[0], Expr::Reg(i).minus(Expr::int(1))), &mut body);
        let distance = own.clone().minus(before).plus(self.literal(NEAR));
        let is_near = Expr::binary(BinaryOp::Lt, distance, self.literal(2 * NEAR));
        let other = Expr::binary(BinaryOp::Xor, own, first);
        let any = Expr::binary(BinaryOp::Or, Expr::Reg(differs), other);
        body.push(Stmt::Assign(differs, any));
        body.push(Stmt::Assign(near, Expr::Reg(near).plus(Expr::Cast(Ty::I64, Box::new(is_near)))));
        out.extend([Stmt::Var(differs, self.literal(0)), Stmt::Var(near, Expr::int(0))]);
        out.push(Stmt::For(i, Expr::int(1), self.n.clone(), body));
        let differs = Expr::binary(BinaryOp::And, Expr::Reg(differs), self.mask.clone());
        (bind(l, "differs", differs, out), Expr::Reg(near))
    }

    /// Returns the number of the lowest bit that is set, and the number after that of the highest one; the same
    /// number twice if there is none.
    fn range(&self, l: &mut Lower, differs: &Expr, out: &mut Vec<Stmt>) -> [Expr; 2] {
        let wide = word(self.key);
        let bits = 8 * wide.size() as i64;
        let [low, high] = ["low", "high"].map(|name| l.k.reg(name, Ty::I64));
        let (a, b, one) = (Expr::Reg(low), Expr::Reg(high), Expr::int(1));
        let is_unset = |n: Expr| {
            let bit = Expr::binary(BinaryOp::Shr, differs.clone(), Expr::Cast(wide, Box::new(n)));
            let bit = Expr::binary(BinaryOp::And, bit, self.literal(1));
            Expr::binary(BinaryOp::Eq, bit, self.literal(0))
        };
        let both = |from: Expr, to: Expr, n: Expr| {
            Expr::binary(BinaryOp::And, Expr::binary(BinaryOp::Lt, from, to), is_unset(n))
        };
        // the bit that is tested is always one of the word
        let lowest = both(a.clone(), Expr::int(bits), a.clone().min(Expr::int(bits - 1)));
        let last = b.clone().minus(one.clone());
        let highest = both(a.clone(), b.clone(), Expr::binary(BinaryOp::Max, last.clone(), Expr::int(0)));
        out.extend([
            Stmt::Var(low, Expr::int(0)),
            Stmt::While(lowest, vec![Stmt::Assign(low, a.clone().plus(one))]),
            Stmt::Var(high, Expr::int(bits)),
            Stmt::While(highest, vec![Stmt::Assign(high, last)]),
        ]);
        [a, b]
    }

    /// Returns the digit of `width` bits from bit `shift` on.
    fn digit(&self, l: &mut Lower, shift: Expr, width: &Expr, out: &mut Vec<Stmt>) -> Digit {
        let wide = word(self.key);
        let count = bind(l, "digits", Expr::binary(BinaryOp::Shl, Expr::int(1), width.clone()), out);
        let most = Expr::Cast(wide, Box::new(count.clone().minus(Expr::int(1))));
        let most = bind(l, "most", most, out);
        let shift = bind(l, "by", Expr::Cast(wide, Box::new(shift)), out);
        Digit { shift, most, count }
    }

    /// Returns the digit of element `i` of the keys.
    fn of(&self, l: &mut Lower, digit: &Digit, (keys, i): (Mem, Reg), out: &mut Vec<Stmt>) -> Expr {
        let own = self.word(l, (keys, Expr::Reg(i)), out);
        let own = Expr::binary(BinaryOp::And, own, self.mask.clone());
        let own = Expr::binary(BinaryOp::Shr, own, digit.shift.clone());
        let own = Expr::binary(BinaryOp::And, own, digit.most.clone());
        bind(l, "own", Expr::Cast(Ty::I64, Box::new(own)), out)
    }

    /// Writes for each value of a digit the number of elements with lower ones to the counters.
    fn counted(&self, l: &mut Lower, counters: &Counters, digit: &Digit, out: &mut Vec<Stmt>) {
        let [value, i, begin] = ["digit", "i", "begin"].map(|name| l.k.reg(name, Ty::I64));
        let none = counters.set(&Expr::Reg(value), Expr::int(0));
        out.push(Stmt::For(value, Expr::int(0), digit.count.clone(), vec![none]));
        // how often each value occurs does not depend on the order
        let mut body = Vec::new();
        let own = self.of(l, digit, (self.begin[0], i), &mut body);
        body.push(counters.set(&own, counters.get(&own).plus(Expr::int(1))));
        out.push(Stmt::Seq(i, Expr::int(0), self.n.clone(), body));
        let (value, mut body) = (l.k.reg("digit", Ty::I64), Vec::new());
        let counted = bind(l, "counted", counters.get(&Expr::Reg(value)), &mut body);
        body.push(counters.set(&Expr::Reg(value), Expr::Reg(begin)));
        body.push(Stmt::Assign(begin, Expr::Reg(begin).plus(counted)));
        out.push(Stmt::Var(begin, Expr::int(0)));
        out.push(Stmt::Seq(value, Expr::int(0), digit.count.clone(), body));
    }

    /// Returns the place of element `i` of the keys, and counts it.
    fn place(
        &self,
        l: &mut Lower,
        (counters, digit): (&Counters, &Digit),
        (keys, i): (Mem, Reg),
        out: &mut Vec<Stmt>,
    ) -> Expr {
        let own = self.of(l, digit, (keys, i), out);
        let next = bind(l, "next", counters.get(&own), out);
        out.push(counters.set(&own, next.clone().plus(Expr::int(1))));
        next
    }

    /// Returns the loop that moves all elements to the places of their digits, one after the other.
    fn moves(&self, l: &mut Lower, of: (&Counters, &Digit), (from, to): (&[Mem], &[Mem])) -> Vec<Stmt> {
        let (i, mut body) = (l.k.reg("i", Ty::I64), Vec::new());
        let place = self.place(l, of, (from[0], i), &mut body);
        self.moved(l, (from, to), (&Expr::Reg(i), &place), &mut body);
        vec![Stmt::Seq(i, Expr::int(0), self.n.clone(), body)]
    }

    /// Returns the same for blocks of elements, whose places are counted first.
    fn moves_of_blocks(
        &self,
        l: &mut Lower,
        of: (&Counters, &Digit),
        (from, to): (&[Mem], &[Mem]),
    ) -> Vec<Stmt> {
        let [block, i, j] = ["block", "i", "i"].map(|name| l.k.reg(name, Ty::I64));
        let (mut out, mut counted, mut moved) = (Vec::new(), Vec::new(), Vec::new());
        let first = bind(l, "first", Expr::Reg(block).times(Expr::int(BLOCK)), &mut out);
        let last = bind(l, "last", first.clone().plus(Expr::int(BLOCK)).min(self.n.clone()), &mut out);
        let place = self.place(l, of, (from[0], i), &mut counted);
        counted.push(Stmt::Store(self.places, Expr::Reg(i).minus(first.clone()), place));
        let place = Expr::load(self.places, Expr::Reg(j).minus(first.clone()));
        let place = bind(l, "place", place, &mut moved);
        self.moved(l, (from, to), (&Expr::Reg(j), &place), &mut moved);
        out.push(Stmt::Seq(i, first.clone(), last.clone(), counted));
        out.push(Stmt::Seq(j, first, last, moved));
        let blocks = ceil_div(self.n.clone(), Expr::int(BLOCK));
        vec![Stmt::Seq(block, Expr::int(0), blocks, out)]
    }

    /// Returns the code that orders by the bits from `low` on as one digit, and the condition that this is faster,
    /// and that the memory for keys between two digits holds as many counters.
    fn one_digit(&self, l: &mut Lower, near: Expr, (low, bits): (&Expr, &Expr)) -> Option<(Expr, Vec<Stmt>)> {
        // numbers of elements are below 2^31; the memory for floats holds no integers
        if self.key.size() < 4 || self.key.is_float() {
            return None;
        }
        let [from, to_spare] = self.spare[0];
        let counters = Counters { from, to: to_spare, ty: self.key };
        let mut out = Vec::new();
        let digit = self.digit(l, low.clone(), bits, &mut out);
        self.counted(l, &counters, &digit, &mut out);
        out.extend(self.moves(l, (&counters, &digit), (&self.begin, &to(&self.last))));
        let n = &self.n;
        let lt = |a: Expr, b: Expr| Expr::binary(BinaryOp::Lt, a, b);
        let values = Expr::binary(BinaryOp::Shl, Expr::int(1), bits.clone().min(Expr::int(31)));
        let conditions = [
            lt(Expr::int(WIDEST), bits.clone()),
            lt(bits.clone(), Expr::int(31)),
            lt(values, n.clone()),
            lt(n.clone(), Expr::int(1 << 31)),
            // at least 7 of 8 elements
            lt(n.clone().minus(near).times(Expr::int(8)), n.clone()),
        ];
        let all = conditions.into_iter().reduce(|a, b| Expr::binary(BinaryOp::And, a, b))?;
        Some((all, out))
    }

    /// Returns the code that orders by digits of equal width, from bit `low` on.
    fn passes(
        &self,
        l: &mut Lower,
        counters: &Counters,
        low: &Expr,
        (bits, passes): (&Expr, &Expr),
    ) -> Vec<Stmt> {
        let [left, shift] = ["left", "shift"].map(|name| l.k.reg(name, Ty::I64));
        let is_first = l.k.reg("fresh", Ty::Bool);
        let (mut out, mut body) = (Vec::new(), Vec::new());
        let width = bind(l, "width", ceil_div(bits.clone(), passes.clone()), &mut out);
        let digit = self.digit(l, Expr::Reg(shift), &width, &mut body);
        self.counted(l, counters, &digit, &mut body);
        let of = (counters, &digit);
        let arms = |l: &mut Lower, others: &[[Mem; 2]], end: &[[Mem; 2]]| {
            let [first, later] =
                [&self.begin, &from(others)].map(|from| self.moves_of_blocks(l, of, (from, &to(end))));
            vec![Stmt::If(Expr::Reg(is_first), first, later)]
        };
        let to_last = arms(l, &self.spare, &self.last);
        let to_spare = arms(l, &self.last, &self.spare);
        let is_odd = Expr::binary(BinaryOp::And, Expr::Reg(left), Expr::int(1));
        let is_odd = Expr::binary(BinaryOp::Eq, is_odd, Expr::int(1));
        body.extend([
            Stmt::If(is_odd, to_last, to_spare),
            Stmt::Assign(left, Expr::Reg(left).minus(Expr::int(1))),
            Stmt::Assign(shift, Expr::Reg(shift).plus(width)),
            Stmt::Assign(is_first, Expr::Lit(Lit::bool(false))),
        ]);
        out.extend([
            Stmt::Var(left, passes.clone()),
            Stmt::Var(shift, low.clone()),
            Stmt::Var(is_first, Expr::Lit(Lit::bool(true))),
            Stmt::While(Expr::binary(BinaryOp::Gt, Expr::Reg(left), Expr::int(0)), body),
        ]);
        out
    }

    /// Moves an element of all arrays.
    fn moved(
        &self,
        l: &mut Lower,
        (from, to): (&[Mem], &[Mem]),
        (i, at): (&Expr, &Expr),
        out: &mut Vec<Stmt>,
    ) {
        for ((from, to), ty) in from.iter().zip(to).zip(&self.types) {
            let e = bind(l, "value", Expr::load(*from, i.clone()), out);
            let e = canonical(e, *ty, &mut l.k.kernel, out);
            out.push(Stmt::Store(*to, at.clone(), e));
        }
    }
}
