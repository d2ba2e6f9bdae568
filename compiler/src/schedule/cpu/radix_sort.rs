//! The steps of a radix sort. Each thread has tiles of its own. It counts the digits of a tile, or it moves the
//! tile's elements in order, with the place of each digit's next element in a local array. To sum counts, it has
//! digits of its own.
//!
//! If all elements of a tile have the same digit, as the higher digits of small numbers do, nothing is counted, and
//! the elements are copied. A loop over vectors finds that out, which takes little time beside the others.

use crate::core::digits::{DIGIT_TILE, DIGITS};
use crate::core::{Graph, NodeId};
use crate::error::Result;
use crate::kernel::{Expr, Mem, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::element::canonical;
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::facts::radix::{RadixStep, Work};
use crate::schedule::groups::FusedGroup;

pub(super) fn main(l: &mut Lower, fused: &FusedGroup, step: &RadixStep) -> Result<Vec<Stmt>> {
    let count = l.launch.count();
    if step.work == Work::Sum {
        return sums(l, fused, step);
    }
    let n = step.length(&mut l.launch.g);
    let n = l.launch.host(n);
    let t = l.k.reg("t", Ty::I64);
    let (mut all, mut out) = (Vec::new(), Vec::new());
    let firsts = if step.moves() { Some(firsts(l, step, &count, &mut all)?) } else { None };
    let begin = bind(l, "begin", Expr::Reg(t).times(Expr::int(DIGIT_TILE)), &mut out);
    let end = bind(l, "end", begin.clone().plus(Expr::int(DIGIT_TILE)).min(n), &mut out);
    let local = l.k.local("next", Ty::I64, DIGITS as u32, &mut out);
    let code = Tile { step, fused, count: &count, tile: Expr::Reg(t), local, firsts };
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
    all.push(Stmt::For(t, Expr::TileBegin, Expr::TileEnd.min(count), out));
    Ok(all)
}

/// Writes the sums of the counts of each digit over the tiles.
fn sums(l: &mut Lower, fused: &FusedGroup, step: &RadixStep) -> Result<Vec<Stmt>> {
    let (digits, tiles) = (l.launch.count(), l.launch.host(step.tiles()));
    let [digit, t, end] = ["digit", "t", "end"].map(|name| l.k.reg(name, Ty::I64));
    let (mut out, mut body) = (vec![Stmt::Var(end, Expr::int(0))], Vec::new());
    let at = bind(l, "at", Expr::Reg(digit).times(tiles.clone()).plus(Expr::Reg(t)), &mut body);
    let count = value(l, &at, |g, i| Some(step.digit(g, i)), &mut body)?;
    body.push(Stmt::Assign(end, Expr::Reg(end).plus(Expr::Cast(Ty::I64, Box::new(count)))));
    body.extend(fused.items.iter().map(|it| Stmt::Store(l.launch.output(it), at.clone(), Expr::Reg(end))));
    out.push(Stmt::Seq(t, Expr::int(0), tiles, body));
    Ok(vec![Stmt::For(digit, Expr::TileBegin, Expr::TileEnd.min(digits), out)])
}

/// Returns a local array with the number of elements with lower digits, for each digit.
fn firsts(l: &mut Lower, step: &RadixStep, tiles: &Expr, out: &mut Vec<Stmt>) -> Result<Mem> {
    let firsts = l.k.local("firsts", Ty::I64, DIGITS as u32, out);
    let [digit, first] = ["digit", "first"].map(|name| l.k.reg(name, Ty::I64));
    let mut body = vec![Stmt::Store(firsts, Expr::Reg(digit), Expr::Reg(first))];
    let last = Expr::Reg(digit).plus(Expr::int(1)).times(tiles.clone()).minus(Expr::int(1));
    let last = bind(l, "last", last, &mut body);
    let all = value(l, &last, |g, i| step.end(g, i), &mut body)?;
    body.push(Stmt::Assign(first, Expr::Reg(first).plus(all)));
    out.extend([Stmt::Var(first, Expr::int(0)), Stmt::Seq(digit, Expr::int(0), Expr::int(DIGITS), body)]);
    Ok(firsts)
}

/// Returns the value of a node of an index.
fn value(
    l: &mut Lower,
    at: &Expr,
    node: impl FnOnce(&mut Graph, NodeId) -> Option<NodeId>,
    out: &mut Vec<Stmt>,
) -> Result<Expr> {
    let (_, var) = l.launch.g.fresh_var(Ty::I64);
    let roots: Vec<NodeId> = node(&mut l.launch.g, var).into_iter().collect();
    let mut values = l.in_block(|l| l.region(&[(var, at.clone())], &roots, at, out))?;
    Ok(values.pop().expect("the step has one"))
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
    /// For each digit the number of elements with lower digits, if elements are moved.
    firsts: Option<Mem>,
}

impl Tile<'_> {
    /// Returns the number of a digit's counter.
    fn counter(&self, digit: &Expr) -> Expr {
        digit.clone().times(self.count.clone()).plus(self.tile.clone())
    }

    /// Returns the digit of an element, i32.
    fn digit(&self, l: &mut Lower, i: &Expr, out: &mut Vec<Stmt>) -> Result<Expr> {
        value(l, i, |g, i| Some(self.step.digit(g, i)), out)
    }

    /// Returns the place of the first element of the tile with a digit.
    fn begin(&self, l: &mut Lower, digit: &Expr, out: &mut Vec<Stmt>) -> Result<Expr> {
        let first = Expr::load(self.firsts.expect("elements are moved"), digit.clone());
        let begin = l.k.reg("begin", Ty::I64);
        out.push(Stmt::Var(begin, first));
        let mut earlier = Vec::new();
        let number = bind(l, "number", self.counter(digit).minus(Expr::int(1)), &mut earlier);
        let end = value(l, &number, |g, i| self.step.end(g, i), &mut earlier)?;
        earlier.push(Stmt::Assign(begin, Expr::Reg(begin).plus(end)));
        let has_earlier = Expr::binary(BinaryOp::Lt, Expr::int(0), self.tile.clone());
        out.push(Stmt::If(has_earlier, earlier, vec![]));
        Ok(Expr::Reg(begin))
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
        let to = self.begin(l, &digit, out)?;
        let to = bind(l, "to", to.minus(begin.clone()), out);
        let (_, var) = l.launch.g.fresh_var(Ty::I64);
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
        let begin = self.begin(l, &Expr::Reg(digit), &mut body)?;
        body.push(Stmt::Store(self.local, Expr::Reg(digit), begin));
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
