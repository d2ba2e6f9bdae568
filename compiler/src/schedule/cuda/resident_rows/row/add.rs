//! The step of a reduction of columns: the elements of a row are folded into the accumulators of the matrix columns.

use super::Row;
use crate::error::Result;
use crate::kernel::{Expr, Reg, Stmt};
use crate::schedule::cuda::resident_rows::mapping::Group;
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::element::reduction::Reduction;

impl Row<'_> {
    /// Folds the row's elements into the accumulators of their matrix columns. `columns` has the accumulators: for
    /// each reduction, one for each element of this lane.
    pub fn add_to_columns(
        &mut self,
        l: &mut Lower,
        reductions: &[Reduction],
        columns: &[Vec<Reg>],
        groups: &[Group],
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let mut nodes = Vec::new();
        for r in reductions {
            nodes.extend(r.elements(l.launch, self.rows.segment));
        }
        self.load_all(l, &nodes, groups, out)?;
        let (mut steps, mut first) = (Vec::new(), 0);
        for g in groups {
            let mut vars = self.vars.clone();
            vars.push(g.first.clone());
            let (mut roots, mut accs) = (Vec::new(), Vec::new());
            for (r, columns) in reductions.iter().zip(columns) {
                for (q, index) in g.indices.iter().enumerate() {
                    let acc = columns[first + q];
                    let old = r.nodes(l.launch, &[Expr::Reg(acc)], &mut vars);
                    let step = r.step(l.launch, &old, self.rows.segment);
                    roots.extend(step.iter().map(|n| l.launch.replace(*n, self.rows.element, *index)));
                    accs.push(acc);
                }
            }
            first += g.indices.len();
            let values = self.with_groups(l, &nodes, std::slice::from_ref(g), &mut steps, |l, out| {
                l.region(&vars, &roots, &Expr::int(0), out)
            })?;
            let values: Vec<Expr> = values.into_iter().map(|e| bind(l, "next", e, &mut steps)).collect();
            steps.extend(accs.into_iter().zip(values).map(|(a, e)| Stmt::Assign(a, e)));
        }
        // all lanes of a warp have the same row
        out.push(Stmt::If(self.exists.clone(), steps, vec![]));
        Ok(())
    }
}
