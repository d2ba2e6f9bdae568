//! The code of a reduction's parts, given the values that are known around it.

use super::read;
use crate::error::Result;
use crate::kernel::{Expr, Reg, Stmt};
use crate::scalar::Ty;
use crate::schedule::element::lower::{Lower, Surroundings, bind};
use crate::schedule::element::reduction::Reduction;

impl Reduction {
    /// Emits the join of the initial values, which are in registers, with the accumulators of all
    /// elements, and returns the value of each of the reduction's nodes.
    pub(super) fn joined_initial(
        &self,
        l: &mut Lower,
        place: &Surroundings,
        init: &[Reg],
        accumulators: &[Expr],
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Expr>> {
        let types = self.totals(&self.types);
        let mut vars = place.vars.to_vec();
        let [a, b] = [read(init), self.totals(accumulators)].map(|values| {
            let mut nodes = Vec::new();
            for (e, ty) in values.into_iter().zip(&types) {
                let (_, node) = l.launch.g.fresh_var(*ty);
                vars.push((node, e));
                nodes.push(node);
            }
            nodes
        });
        let roots = self.join_initial(l.launch, &a, &b);
        place.values(l, &vars, &roots, out)
    }

    /// Emits the operands of the reduction at an index.
    pub fn values_at(
        &self,
        l: &mut Lower,
        place: &Surroundings,
        at: Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Expr>> {
        let (_, index) = l.launch.g.fresh_var(Ty::I64);
        let elements = self.elements(l.launch, index);
        let mut vars = place.vars.to_vec();
        vars.push((index, at));
        place.values(l, &vars, &elements, out)
    }

    /// Emits the step of a column: it begins with `elements` if `is_first` holds, else it continues from `old`. The
    /// elements, which have loops, are emitted once for both cases.
    pub fn go_on(
        &self,
        l: &mut Lower,
        place: &Surroundings,
        elements: Vec<Expr>,
        is_first: &Expr,
        old: Vec<Expr>,
        set: &dyn Fn(usize, Expr) -> Stmt,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let mut known = place.vars.to_vec();
        let mut nodes = Vec::new();
        for (e, ty) in elements.into_iter().zip(self.types_of_elements()) {
            let (_, node) = l.launch.g.fresh_var(ty);
            known.push((node, bind(l, "element", e, out)));
            nodes.push(node);
        }
        let (mut begins, mut goes_on) = (Vec::new(), Vec::new());
        let first = self.first_of(l.launch, &nodes);
        let values = place.values(l, &known, &first, &mut begins)?;
        begins.extend(values.into_iter().enumerate().map(|(at, e)| set(at, e)));
        let old: Vec<Expr> = old.into_iter().map(|e| bind(l, "acc", e, &mut goes_on)).collect();
        let acc = self.nodes(l.launch, &self.with_elements(old), &mut known);
        let next = self.step_of(l.launch, &acc, &nodes);
        let mut values = place.values(l, &known, &next, &mut goes_on)?;
        if values.len() > 1 {
            // all new values are computed before any accumulator changes
            values = values.into_iter().map(|e| bind(l, "next", e, &mut goes_on)).collect();
        }
        goes_on.extend(values.into_iter().enumerate().map(|(at, e)| set(at, e)));
        out.push(Stmt::If(is_first.clone(), begins, goes_on));
        Ok(())
    }
}
