//! Joins the columns of a tile by the fixed tree (semantics 5.1).

use crate::core::{COLUMNS, NodeId};
use crate::error::Result;
use crate::kernel::{Expr, Mem, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::element::lower::{Lower, Surroundings, bind};
use crate::schedule::element::reduction::Reduction;

/// A tile of a nested reduction.
pub struct Tile<'a> {
    /// The reduction.
    pub r: &'a Reduction,
    /// The values that are known around the reduction.
    pub place: &'a Surroundings<'a>,
    /// The tile's first element.
    pub base: Expr,
    /// The number of its elements, 1 to 2048.
    pub count: Expr,
}

/// Emits the join of 128 columns: 64 pairs of neighbours, then 32, .. 1. Each level has its own array, so that each
/// loop vectorises. An operator with loops of its own would not vectorise; its code is emitted once, for a general
/// loop.
pub fn tree_of(
    l: &mut Lower,
    r: &Reduction,
    place: &Surroundings,
    columns: &[Mem],
    out: &mut Vec<Stmt>,
) -> Result<Vec<Expr>> {
    if r.joins_by_loops(l.launch) {
        return short_tree_of(l, r, place, columns, Expr::int(COLUMNS), out);
    }
    let (mut from, mut width) = (columns.to_vec(), COLUMNS / 2);
    while width > 0 {
        let to: Vec<Mem> = r.each().map(|r| l.k.local("joined", r.ty, width as u32, out)).collect();
        let k = l.k.reg("k", Ty::I64);
        let mut body = Vec::new();
        let values = pair(l, r, place, (&from, None), &Expr::Reg(k), &mut body)?;
        store(&to, &Expr::Reg(k), values, &mut body);
        out.push(Stmt::For(k, Expr::int(0), Expr::int(width), body));
        (from, width) = (to, width / 2);
    }
    Ok(load(&from, &Expr::int(0)))
}

/// A column of a row.
pub struct Column<'a> {
    /// The arrays of the accumulators, the last of all accumulators, that are not constants of the row.
    pub all: &'a [Mem],
    /// The column's number.
    pub at: &'a Expr,
    /// The variables of the last accumulators, whose values before the row are loaded. There are none in a first row.
    pub before: &'a [NodeId],
}

impl Column<'_> {
    /// Emits the column's step, which computes `roots` of `vars`, or, if there are `conditions`, only the values of
    /// these.
    pub fn step(
        &self,
        l: &mut Lower,
        mut vars: Vec<(NodeId, Expr)>,
        (roots, conditions): (&[NodeId], Option<&[NodeId]>),
        number: &Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Expr>> {
        let skipped = self.all.len() - self.before.len();
        for (acc, m) in self.before.iter().zip(&self.all[skipped..]) {
            vars.push((*acc, bind(l, "acc", Expr::load(*m, self.at.clone()), out)));
        }
        if let Some(conditions) = conditions {
            return l.conditions(&vars, conditions, out);
        }
        let values = l.region(&vars, roots, number, out)?;
        store(self.all, self.at, values, out);
        Ok(vec![])
    }
}

/// Emits f(m[2k], m[2k + 1]) and returns its value. `m` has an array for each accumulator. If each value is known to
/// join `rows` elements, their counts are not loaded.
pub fn pair(
    l: &mut Lower,
    r: &Reduction,
    place: &Surroundings,
    (m, rows): (&[Mem], Option<&Expr>),
    k: &Expr,
    body: &mut Vec<Stmt>,
) -> Result<Vec<Expr>> {
    let even = k.clone().times(Expr::int(2));
    let (mut low, mut high) = (Vec::new(), Vec::new());
    for (at, m) in m.iter().enumerate() {
        if let Some(rows) = rows.filter(|_| at == 0 && r.is_counted()) {
            low.push(rows.clone());
            high.push(rows.clone());
            continue;
        }
        low.push(bind(l, "low", Expr::load(*m, even.clone()), body));
        high.push(bind(l, "high", Expr::load(*m, even.clone().plus(Expr::int(1))), body));
    }
    if let Some(rows) = rows {
        [low, high] = [low, high].map(|of| r.after_rows(of, rows.clone()));
    }
    let mut vars = place.vars.to_vec();
    let [a, b] = [low, high].map(|values| r.nodes(l.launch, &values, &mut vars));
    let join = r.join(l.launch, &a, &b);
    l.region(&vars, &join, place.at, body)
}

/// Returns the number of a tile's row that begins with element `row`, as a value of type `ty`.
pub fn number_of(row: &Expr, ty: Ty) -> Expr {
    let number = Expr::binary(BinaryOp::Shr, row.clone(), Expr::int(COLUMNS.trailing_zeros().into()));
    Expr::Cast(ty, Box::new(number))
}

/// Returns the values at an index of the arrays of a reduction's accumulators.
pub fn load(arrays: &[Mem], at: &Expr) -> Vec<Expr> {
    arrays.iter().map(|m| Expr::load(*m, at.clone())).collect()
}

/// Emits the stores of values at an index of the arrays of a reduction's accumulators. All values are computed before
/// the first store, because they may depend on one another.
pub fn store(arrays: &[Mem], at: &Expr, values: Vec<Expr>, out: &mut Vec<Stmt>) {
    out.extend(arrays.iter().zip(values).map(|(m, e)| Stmt::Store(*m, at.clone(), e)));
}

/// Emits the join of the first `width` columns, in place and in order. If the last column has no neighbour, it goes
/// to the next level as it is.
pub fn short_tree_of(
    l: &mut Lower,
    r: &Reduction,
    place: &Surroundings,
    m: &[Mem],
    width: Expr,
    out: &mut Vec<Stmt>,
) -> Result<Vec<Expr>> {
    let w = l.k.reg("w", Ty::I64);
    let half = l.k.reg("half", Ty::I64);
    let k = l.k.reg("k", Ty::I64);
    out.push(Stmt::Var(w, width));
    let shr = |e: Expr| Expr::binary(BinaryOp::Shr, e, Expr::int(1));
    let mut pairs = Vec::new();
    let values = pair(l, r, place, (m, None), &Expr::Reg(k), &mut pairs)?;
    store(m, &Expr::Reg(k), values, &mut pairs);
    let odd = Expr::binary(BinaryOp::And, Expr::Reg(w), Expr::int(1));
    let odd = Expr::binary(BinaryOp::Ne, odd, Expr::int(0));
    let mut moved = Vec::new();
    store(m, &Expr::Reg(half), load(m, &Expr::Reg(w).minus(Expr::int(1))), &mut moved);
    let body = vec![
        Stmt::Let(half, shr(Expr::Reg(w)), Default::default()),
        Stmt::Seq(k, Expr::int(0), Expr::Reg(half), pairs),
        Stmt::If(odd, moved, vec![]),
        Stmt::Assign(w, shr(Expr::Reg(w).plus(Expr::int(1)))),
    ];
    out.push(Stmt::While(Expr::binary(BinaryOp::Gt, Expr::Reg(w), Expr::int(1)), body));
    Ok(load(m, &Expr::int(0)))
}

/// Emits a store of these values to each column.
pub fn fill(l: &mut Lower, columns: &[Mem], values: Vec<Expr>, out: &mut Vec<Stmt>) {
    let c = l.k.reg("c", Ty::I64);
    let mut filled = Vec::new();
    store(columns, &Expr::Reg(c), values, &mut filled);
    out.push(Stmt::For(c, Expr::int(0), Expr::int(COLUMNS), filled));
}
