//! The steps of a radix sort. Each thread has tiles of its own. It counts the digits of a tile, or it moves the
//! tile's elements in order, with the place of each digit's next element in a local array.

use crate::core::digits::{DIGIT_TILE, DIGITS};
use crate::error::Result;
use crate::kernel::{Expr, Mem, Stmt};
use crate::scalar::Ty;
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
    let end = begin.clone().plus(Expr::int(DIGIT_TILE)).min(n);
    let local = l.k.local("next", Ty::I64, DIGITS as u32, &mut out);
    let code = Tile { step, fused, count: &count, tile: Expr::Reg(t), local };
    if step.moves() {
        code.load_begins(l, &mut out)?;
        code.elements(l, (begin, end), &mut out)?;
    } else {
        let digit = l.k.reg("digit", Ty::I64);
        let none = vec![Stmt::Store(local, Expr::Reg(digit), Expr::int(0))];
        out.push(Stmt::For(digit, Expr::int(0), Expr::int(DIGITS), none));
        code.elements(l, (begin, end), &mut out)?;
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
        let (g, items) = (&l.launch.g, &self.fused.items);
        let types: Vec<Ty> = items.iter().map(|it| g.ty(it.node).elem).collect();
        let mut stores = vec![Stmt::Store(self.local, digit, next.clone().plus(Expr::int(1)))];
        for ((it, ty), e) in items.iter().zip(types).zip(values) {
            let e = bind(l, "value", e, &mut body);
            let mem = l.launch.output(it);
            stores.push(Stmt::Store(mem, next.clone(), canonical(e, ty, &mut l.k.kernel, &mut body)));
        }
        body.append(&mut stores);
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
