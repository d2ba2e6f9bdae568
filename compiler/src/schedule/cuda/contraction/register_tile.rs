//! The inner loop of a contraction: a thread folds one staged tree column of k for all elements of its register tile.
//! For each inner index it loads the values of its rows and of its columns, and uses each for several elements.

use super::block::Block;
use super::params::ROWS;
use super::staging::Staged;
use crate::core::{COLUMNS, NodeId};
use crate::error::Result;
use crate::kernel::{Expr, Reg, Stmt};
use crate::scalar::Ty;
use crate::schedule::cuda::access;
use crate::schedule::cuda::expressions::{int32, to_i64};
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::element::nested_loop::{Lanes, assign, read};

/// A staged tree column of k.
pub(super) struct StagedColumn<'s> {
    pub staged: &'s Staged,
    /// Its number in the group (i32).
    pub number: Expr,
    /// The number of its rows (i64), if the tile is not full; else it has 16.
    pub rows: Option<Expr>,
}

impl Block<'_> {
    /// Folds a tree column of k. Returns its values for all lanes, that is, for each element and reduction.
    pub fn column(
        &self,
        l: &mut Lower,
        lanes: &Lanes,
        column: &StagedColumn,
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Expr>> {
        let (params, staged) = (self.params, column.staged);
        let places = self.places(l, &column.number, out);
        let k = staged.first.clone().plus(column.number.clone());
        let k = staged.base.clone().plus(to_i64(k));
        let first = self.step(l, &places, 0, &k, None, out)?;
        let acc: Vec<Reg> = lanes.types.iter().map(|ty| l.k.reg("acc", *ty)).collect();
        out.extend(acc.iter().zip(first).map(|(r, e)| Stmt::Var(*r, e)));
        let (turn, mut body) = (l.k.reg("turn", Ty::I32), Vec::new());
        let (unrolled, turns) = match &column.rows {
            Some(rows) => (1, Expr::Cast(Ty::I32, Box::new(rows.clone())).minus(int32(1))),
            None => (params.unrolled, int32(((ROWS - 1) / params.unrolled) as i32)),
        };
        let row = Expr::Reg(turn).times(int32(unrolled as i32)).plus(int32(1));
        let row = bind(l, "row", row, &mut body);
        let columns = staged.partial.as_ref().map_or(int32(params.staged as i32), |p| p.columns.clone());
        let places = (0..3).map(|s| {
            let row_pitch = columns.clone().times(int32(params.pitch(s) as i32));
            let place = row.clone().times(row_pitch).plus(places[s].clone());
            if self.shared[s].is_empty() { place } else { bind(l, "from", place, &mut body) }
        });
        let places: Vec<Expr> = places.collect();
        let k = k.plus(to_i64(row).times(Expr::int(COLUMNS)));
        let mut values = read(&acc);
        for r in 0..unrolled {
            let k = k.clone().plus(Expr::int(r * COLUMNS));
            values = self.step(l, &places, r, &k, Some(&values), &mut body)?;
        }
        assign(l, &acc, values, &mut body);
        out.push(Stmt::Seq(turn, int32(0), turns, body));
        Ok(read(&acc))
    }

    /// Returns the index in shared memory at which the thread's values of each side begin in a staged tree column
    /// (i32).
    fn places(&self, l: &mut Lower, number: &Expr, out: &mut Vec<Stmt>) -> Vec<Expr> {
        let place = |s: usize| {
            let column = number.clone().times(int32(self.params.pitch(s) as i32));
            let place = self.offset[s].clone().plus(column);
            if self.shared[s].is_empty() { place } else { bind(l, "from", place, out) }
        };
        (0..3).map(place).collect()
    }

    /// Returns the values of all lanes after inner index `k`. `acc` are the values before; without them, `k` is the
    /// tree column's first row. The staged values of `k` lie `row` rows of a full tile behind `places`.
    fn step(
        &self,
        l: &mut Lower,
        places: &[Expr],
        row: i64,
        k: &Expr,
        acc: Option<&[Expr]>,
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Expr>> {
        let operands: Vec<Vec<Vec<(NodeId, Expr)>>> =
            (0..3).map(|s| self.operands(l, s, &places[s], row, out)).collect();
        let (sides, inner) = (&self.params.sides, &self.params.of.inner);
        let mut all = Vec::new();
        for r in 0..sides[0].per_thread as usize {
            for c in 0..sides[1].per_thread as usize {
                let mut vars = self.outer.clone();
                vars.push((self.params.k, k.clone()));
                for (s, at) in [r, c, 0].into_iter().enumerate() {
                    vars.extend(self.known[s][at].iter().chain(&operands[s][at]).cloned());
                }
                let mut roots = Vec::new();
                for i in inner {
                    match (acc, &i.tree) {
                        (Some(acc), _) => {
                            vars.push((i.acc, acc[all.len() + roots.len()].clone()));
                            roots.push(i.next);
                        }
                        (None, Some(tree)) => roots.push(tree.0),
                        (None, None) => unreachable!("a tree"),
                    }
                }
                let values = self.region(l, &vars, &roots, out)?;
                all.extend(values.into_iter().map(|e| bind(l, "after", e, out)));
            }
        }
        Ok(all)
    }

    /// Loads the staged values of one side at one inner index, for each of the thread's rows or
    /// columns.
    fn operands(
        &self,
        l: &mut Lower,
        side: usize,
        place: &Expr,
        row: i64,
        out: &mut Vec<Stmt>,
    ) -> Vec<Vec<(NodeId, Expr)>> {
        let s = &self.params.sides[side];
        let mut all = vec![Vec::new(); s.per_thread as usize];
        let offset = row * self.params.staged * self.params.pitch(side);
        let at = if offset == 0 { place.clone() } else { place.clone().plus(int32(offset as i32)) };
        for (n, m) in s.parts.iter().zip(&self.shared[side]) {
            let ty = l.launch.g.ty(*n).elem;
            let regs: Vec<Reg> = all.iter().map(|_| l.k.reg("s", ty)).collect();
            all.iter_mut().zip(&regs).for_each(|(list, r)| list.push((*n, Expr::Reg(*r))));
            access::load(l, *m, regs, at.clone(), out);
        }
        all
    }
}
