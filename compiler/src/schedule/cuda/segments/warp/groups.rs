//! The code that loads a lane's groups of neighbouring elements and folds them into its columns.

use super::{Accumulators, Group, Tile};
use crate::core::deviations::Count;
use crate::core::{NodeId, linear};
use crate::error::{Error, Result};
use crate::kernel::{Expr, Reg, Stmt};
use crate::scalar::{Lit, Ty};
use crate::schedule::cuda::segments::job;
use crate::schedule::cuda::tree::named_values;
use crate::schedule::element::lower::Lower;
use crate::schedule::element::reduction::{by_reduction, counts};

impl Group {
    /// Returns the node of the index of element `q` of the group.
    fn element(&self, l: &mut Lower, q: i64) -> NodeId {
        let offset = l.launch.g.lit(Lit::i64(self.offset + q));
        linear::add(&mut l.launch.g, self.base.0, offset)
    }
}

impl Tile<'_> {
    /// Folds groups of `v` neighbours of all segments into their columns, into which `so_far` rows were folded
    /// before. All loads come before the first use.
    pub(super) fn groups(
        &self,
        l: &mut Lower,
        (groups, so_far): (&[Group], &Expr),
        v: i64,
        accs: &Accumulators,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let (mut work, mut known) = (Vec::new(), Vec::new());
        let numbers = self.numbers(l, groups, so_far, &mut known, &mut work)?;
        known.extend(self.parts_of(l, groups, v, out));
        for (number, (segment, accs)) in self.segments.iter().zip(accs).enumerate() {
            l.with_loaded(Default::default(), |l| {
                let mut vars = vec![(self.job.s.index, segment.clone())];
                vars.extend_from_slice(self.known);
                vars.extend(self.parts.get(number).into_iter().flatten().cloned());
                vars.extend(groups.iter().map(|g| g.base.clone()));
                vars.extend_from_slice(&known);
                let mut elements = Vec::new();
                for g in groups {
                    let indices: Vec<NodeId> = (0..v).map(|q| g.element(l, q)).collect();
                    self.load(l, &vars, g, &indices, out)?;
                    elements.push((g, indices));
                }
                for (g, indices) in elements {
                    for (index, column) in indices.into_iter().zip(g.column..) {
                        self.step(
                            l,
                            (&vars, number, segment),
                            (index, &numbers[g.row as usize]),
                            column,
                            g.is_present.as_ref(),
                            accs,
                            &mut work,
                        )?;
                    }
                }
                Ok::<_, Error>(())
            })?;
        }
        out.append(&mut work);
        Ok(())
    }

    /// Returns the parts of the divided index of each element of the groups, with their values.
    fn parts_of(&self, l: &mut Lower, groups: &[Group], v: i64, out: &mut Vec<Stmt>) -> Vec<(NodeId, Expr)> {
        let (walk, mut known) = (self.job.walk(l, 1, out), Vec::new());
        for g in groups.iter().filter(|g| !g.parts.is_empty()) {
            let mut parts = g.parts.clone();
            for q in 0..v {
                let element = g.element(l, q);
                known.extend(walk.known(l, element, &parts));
                if q + 1 < v {
                    walk.next(l, &mut parts, None, out);
                }
            }
        }
        known
    }

    /// Returns the counts of a column after each of the groups' rows, by row and reduction.
    fn numbers(
        &self,
        l: &mut Lower,
        groups: &[Group],
        so_far: &Expr,
        known: &mut Vec<(NodeId, Expr)>,
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Vec<Option<Count>>>> {
        let rows = 1 + groups.iter().map(|g| g.row).max().unwrap_or(0);
        let mut of_row = |row: i64| {
            let before = match so_far {
                Expr::Lit(so_far) => Expr::int(so_far.as_i64() + row),
                so_far => so_far.clone().plus(Expr::int(row)),
            };
            self.job.reductions.iter().map(|r| r.count_after(l, &before, known, out)).collect()
        };
        (0..rows).map(&mut of_row).collect()
    }

    /// Loads, by vector accesses, what the elements of a group read.
    fn load(
        &self,
        l: &mut Lower,
        vars: &[(NodeId, Expr)],
        g: &Group,
        indices: &[NodeId],
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let (_, k) = l.launch.g.fresh_var(Ty::I64);
        let roots: Vec<NodeId> = self.job.reductions.iter().flat_map(|r| r.first(l.launch, k)).collect();
        let first = g.base.1.clone().plus(Expr::int(g.offset));
        job::load(l, &roots, (k, indices), &first, vars, out)
    }

    /// Folds the element at `index` of a segment into its column. `numbers` are the column's counts after this step,
    /// where they are known. Segments share the registers of counts, so only the first segment changes them.
    fn step(
        &self,
        l: &mut Lower,
        (vars, number, segment): (&[(NodeId, Expr)], usize, &Expr),
        (index, numbers): (NodeId, &[Option<Count>]),
        column: usize,
        is_present: Option<&Expr>,
        accs: &[Vec<Reg>],
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let (mut vars, mut roots) = (vars.to_vec(), Vec::new());
        for ((r, accs), count) in by_reduction(&self.job.reductions, accs).zip(numbers) {
            let old: Vec<Expr> = accs.iter().map(|regs| Expr::Reg(regs[column])).collect();
            let old = r.nodes(l.launch, &old, &mut vars);
            roots.extend(r.step_to(l.launch, &old, *count, index));
        }
        let values = l.region(&vars, &roots, segment, out)?;
        // all new values are computed before any accumulator changes
        let values = by_reduction(&self.job.reductions, &values)
            .flat_map(|(r, own)| named_values(l, r, "next", own.to_vec(), out))
            .collect::<Vec<Expr>>();
        for ((a, e), is_count) in accs.iter().zip(values).zip(counts(&self.job.reductions)) {
            if is_count && number > 0 {
                continue;
            }
            let old = Expr::Reg(a[column]);
            let e = match is_present {
                Some(is_present) => Expr::Select(Box::new(is_present.clone()), Box::new(e), Box::new(old)),
                None => e,
            };
            out.push(Stmt::Assign(a[column], e));
        }
        Ok(())
    }
}
