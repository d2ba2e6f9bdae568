//! The steps of a radix sort. Each thread has tiles of its own. It counts the digits of a tile, or it moves the
//! tile's elements in order, with the place of each digit's next element in a local array.
//!
//! If all elements of a tile have the same digit, as the higher digits of small numbers do, nothing is counted, and
//! the elements are copied. A loop over vectors finds that out, which takes little time beside the others.

use crate::core::digits::{DIGIT_TILE, DIGITS};
use crate::error::Result;
use crate::kernel::{Expr, Mem, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::element::canonical;
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::facts::radix::RadixStep;
use crate::schedule::groups::FusedGroup;

pub(super) fn main(l: &mut Lower, fused: &FusedGroup, step: &RadixStep) -> Result<Vec<Stmt>> {
    let count = l.launch.count();
    let n = step.length(&mut l.launch.g);
    let n = l.launch.host(n);
    let t = l.k.reg("t", Ty::I64);
    let mut out = Vec::new();
    let begin = bind(l, "begin", Expr::Reg(t).times(Expr::int(DIGIT_TILE)), &mut out);
    let end = bind(l, "end", begin.clone().plus(Expr::int(DIGIT_TILE)).min(n), &mut out);
    let local = l.k.local("next", Ty::I64, DIGITS as u32, &mut out);
    let code = Tile { step, fused, count: &count, tile: Expr::Reg(t), local };
    let (first, is_uniform) = code.first_digit(l, (&begin, &end), &mut out)?;
    let (mut uniform, mut others) = (Vec::new(), Vec::new());
    if step.moves() {
        code.copied(l, first, (&begin, &end), &mut uniform)?;
        code.load_begins(l, &mut others)?;
        code.elements(l, (begin, end), &mut others)?;
        out.push(Stmt::If(is_uniform, uniform, others));
    } else {
        let digit = l.k.reg("digit", Ty::I64);
        let none = vec![Stmt::Store(local, Expr::Reg(digit), Expr::int(0))];
        out.push(Stmt::For(digit, Expr::int(0), Expr::int(DIGITS), none));
        uniform.push(Stmt::Store(local, first, end.clone().minus(begin.clone())));
        code.elements(l, (begin, end), &mut others)?;
        out.push(Stmt::If(is_uniform, uniform, others));
        code.store_counts(l, &mut out);
    }
    Ok(vec![Stmt::For(t, Expr::TileBegin, Expr::TileEnd.min(count), out)])
}

/// What the functions that write the code of a tile share.
struct Tile<'a> {
    step: &'a RadixStep,
    fused: &'a FusedGroup,
    /// The number of tiles, and the tile's own number.
    count: &'a Expr,
    tile: Expr,
    /// For each digit: how many elements of the tile have had it so far, or the place of the next element.
    local: Mem,
}

impl Tile<'_> {
    /// Returns the number of a digit's counter.
    fn counter(&self, digit: &Expr) -> Expr {
        digit.clone().times(self.count.clone()).plus(self.tile.clone())
    }

    /// Returns the digit of an element, i32.
    fn digit(&self, l: &mut Lower, i: &Expr, out: &mut Vec<Stmt>) -> Result<Expr> {
        let (_, var) = l.launch.g.fresh_var(Ty::I64);
        let root = self.step.digit(&mut l.launch.g, var);
        let mut values = l.in_block(|l| l.region(&[(var, i.clone())], &[root], i, out))?;
        Ok(values.pop().expect("the digit"))
    }

    /// Returns the digit of the first element, and whether all others have the same.
    fn first_digit(
        &self,
        l: &mut Lower,
        (begin, end): (&Expr, &Expr),
        out: &mut Vec<Stmt>,
    ) -> Result<(Expr, Expr)> {
        let first = self.digit(l, begin, out)?;
        let first = bind(l, "first", first, out);
        let [differs, i] = [("differs", Ty::U32), ("i", Ty::I64)].map(|(name, ty)| l.k.reg(name, ty));
        let mut body = Vec::new();
        let own = self.digit(l, &Expr::Reg(i), &mut body)?;
        let other = Expr::Cast(Ty::U32, Box::new(Expr::binary(BinaryOp::Xor, own, first.clone())));
        body.push(Stmt::Assign(differs, Expr::binary(BinaryOp::Or, Expr::Reg(differs), other)));
        let none = Expr::Lit(Lit::zero(Ty::U32));
        out.extend([Stmt::Var(differs, none.clone()), Stmt::For(i, begin.clone(), end.clone(), body)]);
        let first = bind(l, "only", Expr::Cast(Ty::I64, Box::new(first)), out);
        Ok((first, Expr::binary(BinaryOp::Eq, Expr::Reg(differs), none)))
    }

    /// Copies all elements of the tile to the places of their only digit.
    fn copied(
        &self,
        l: &mut Lower,
        digit: Expr,
        (begin, end): (&Expr, &Expr),
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let number = bind(l, "number", self.counter(&digit), out);
        let (_, var) = l.launch.g.fresh_var(Ty::I64);
        let roots: Vec<_> = self.step.begin(&mut l.launch.g, var).into_iter().collect();
        let mut to = l.in_block(|l| l.region(&[(var, number.clone())], &roots, &number, out))?;
        let to = bind(l, "to", to.pop().expect("where the digit begins").minus(begin.clone()), out);
        let i = l.k.reg("i", Ty::I64);
        let mut body = Vec::new();
        let roots = self.step.sample(&mut l.launch.g, &self.fused.items, var);
        let known = [(var, Expr::Reg(i))];
        let values = l.in_block(|l| l.region(&known, &roots[1..], &Expr::Reg(i), &mut body))?;
        self.store(l, values, &to.plus(Expr::Reg(i)), &mut body);
        out.push(Stmt::For(i, begin.clone(), end.clone(), body));
        Ok(())
    }

    /// Stores the values of an element at its place.
    fn store(&self, l: &mut Lower, values: Vec<Expr>, place: &Expr, out: &mut Vec<Stmt>) {
        let (g, items) = (&l.launch.g, &self.fused.items);
        let types: Vec<Ty> = items.iter().map(|it| g.ty(it.node).elem).collect();
        let values: Vec<Expr> = values.into_iter().map(|e| bind(l, "value", e, out)).collect();
        for ((it, ty), e) in items.iter().zip(types).zip(values) {
            let mem = l.launch.output(it);
            let e = canonical(e, ty, &mut l.k.kernel, out);
            out.push(Stmt::Store(mem, place.clone(), e));
        }
    }

    fn load_begins(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Result<()> {
        let digit = l.k.reg("digit", Ty::I64);
        let mut body = Vec::new();
        let number = bind(l, "number", self.counter(&Expr::Reg(digit)), &mut body);
        let (_, var) = l.launch.g.fresh_var(Ty::I64);
        let roots: Vec<_> = self.step.begin(&mut l.launch.g, var).into_iter().collect();
        let values = l.in_block(|l| l.region(&[(var, number.clone())], &roots, &number, &mut body))?;
        body.extend(values.into_iter().map(|e| Stmt::Store(self.local, Expr::Reg(digit), e)));
        out.push(Stmt::For(digit, Expr::int(0), Expr::int(DIGITS), body));
        Ok(())
    }

    /// Goes through the elements in order, and counts or stores each.
    fn elements(&self, l: &mut Lower, (begin, end): (Expr, Expr), out: &mut Vec<Stmt>) -> Result<()> {
        let i = l.k.reg("i", Ty::I64);
        let mut body = Vec::new();
        let (_, var) = l.launch.g.fresh_var(Ty::I64);
        let roots = self.step.sample(&mut l.launch.g, &self.fused.items, var);
        let known = [(var, Expr::Reg(i))];
        let values = l.in_block(|l| l.region(&known, &roots, &Expr::Reg(i), &mut body))?;
        let mut values = values.into_iter();
        let digit = values.next().expect("the digit");
        let digit = bind(l, "digit", Expr::Cast(Ty::I64, Box::new(digit)), &mut body);
        let next = bind(l, "next", Expr::load(self.local, digit.clone()), &mut body);
        body.push(Stmt::Store(self.local, digit, next.clone().plus(Expr::int(1))));
        if self.step.moves() {
            self.store(l, values.collect(), &next, &mut body);
        }
        out.push(Stmt::Seq(i, begin, end, body));
        Ok(())
    }

    fn store_counts(&self, l: &mut Lower, out: &mut Vec<Stmt>) {
        for it in &self.fused.items {
            let (mem, digit) = (l.launch.output(it), l.k.reg("digit", Ty::I64));
            let count = Expr::Cast(Ty::I32, Box::new(Expr::load(self.local, Expr::Reg(digit))));
            let store = vec![Stmt::Store(mem, self.counter(&Expr::Reg(digit)), count)];
            out.push(Stmt::For(digit, Expr::int(0), Expr::int(DIGITS), store));
        }
    }
}
