//! Lanes: reductions that go through the same tree side by side, with the join of two of their values.

use crate::error::Result;
use crate::kernel::{Expr, Reg, Stmt};
use crate::scalar::{Lit, Ty};
use crate::schedule::element::lower::Surroundings;
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::element::reduction::Reduction;

/// Reductions that go through the same tree together; each of them is a lane.
pub struct Lanes<'a> {
    /// The types of the accumulators of all lanes, those of a lane side by side.
    pub types: Vec<Ty>,
    /// The number of accumulators of a lane.
    pub accumulators: usize,
    /// Emits the join of two values of a lane.
    pub join: &'a mut Join<'a>,
    /// Whether an operator is more than one instruction, or is nested in other loops. Its code is then not repeated
    /// for each pair of values.
    pub general: bool,
}

impl<'a> Lanes<'a> {
    /// Returns the lane of one reduction, with the function that [`joining`] returns.
    pub fn of(r: &Reduction, join: &'a mut Join<'a>, general: bool) -> Lanes<'a> {
        Lanes::of_several(r, 1, join, general)
    }

    /// Returns a lane for each of several sequences, all of which one reduction reduces.
    pub fn of_several(r: &Reduction, count: usize, join: &'a mut Join<'a>, general: bool) -> Lanes<'a> {
        Lanes { types: r.types.repeat(count), accumulators: r.accumulators(), join, general }
    }

    /// Emits the join of two values for each lane.
    pub fn join(&mut self, l: &mut Lower, a: &[Expr], b: &[Expr], out: &mut Vec<Stmt>) -> Result<Vec<Expr>> {
        let mut all = Vec::new();
        let pairs = a.chunks(self.accumulators).zip(b.chunks(self.accumulators));
        for (lane, (a, b)) in pairs.enumerate() {
            all.append(&mut (self.join)(l, lane, a, b, out)?);
        }
        Ok(all)
    }

    /// Declares a mutable register for each accumulator, initialised with 0.
    pub fn variables(&self, l: &mut Lower, name: &'static str, out: &mut Vec<Stmt>) -> Vec<Reg> {
        let regs: Vec<Reg> = self.types.iter().map(|ty| l.k.reg(name, *ty)).collect();
        let zeros = regs.iter().zip(&self.types).map(|(r, ty)| Stmt::Var(*r, Expr::Lit(Lit::zero(*ty))));
        out.extend(zeros);
        regs
    }
}

/// Emits assignments of new values, all of which are computed before the first is assigned.
pub fn assign(l: &mut Lower, regs: &[Reg], values: Vec<Expr>, out: &mut Vec<Stmt>) {
    let values: Vec<Expr> = match regs {
        [_] => values,
        _ => values.into_iter().map(|e| bind(l, "next", e, out)).collect(),
    };
    out.extend(regs.iter().zip(values).map(|(r, e)| Stmt::Assign(*r, e)));
}

/// Returns the registers' values.
pub fn read(regs: &[Reg]) -> Vec<Expr> {
    regs.iter().map(|r| Expr::Reg(*r)).collect()
}

/// Emits f(a, b), the join of two values of a lane.
pub type Join<'a> = dyn FnMut(&mut Lower, usize, &[Expr], &[Expr], &mut Vec<Stmt>) -> Joined + 'a;

/// The accumulators of a joined value.
pub type Joined = Result<Vec<Expr>>;

/// Returns the function that emits the join of two values of a reduction.
pub fn joining<'a>(
    r: &'a Reduction,
    place: &'a Surroundings<'a>,
) -> impl FnMut(&mut Lower, usize, &[Expr], &[Expr], &mut Vec<Stmt>) -> Joined + 'a {
    move |l, _, a, b, out| {
        let mut vars = place.vars.to_vec();
        let [x, y] = [a, b].map(|values| r.nodes(l.launch, values, &mut vars));
        let roots = r.join(l.launch, &x, &y);
        place.values(l, &vars, &roots, out)
    }
}
