//! The code of a row whose elements lie in shared memory (`../staged.rs`): a warp takes one unit of it after another,
//! loads the unit's elements into registers, computes, and writes values for later stages back.

use super::Row;
use crate::core::{NodeId, Op};
use crate::error::Result;
use crate::kernel::{Expr, Mem, Stmt};
use crate::scalar::Lit;
use crate::schedule::cuda::resident_rows::mapping::Group;
use crate::schedule::cuda::resident_rows::span::StagedArray;
use crate::schedule::cuda::resident_segments;
use crate::schedule::element::lower::{Loaded, Lower, bind};
use crate::schedule::facts::segments::neighbours;

impl Row<'_> {
    /// Returns the indices of the row's first element.
    pub fn first(&self) -> Vec<Expr> {
        self.outer.iter().cloned().chain([Expr::int(0)]).collect()
    }

    /// Returns the address of an element of the row.
    pub fn address(
        &self,
        l: &mut Lower,
        mem: Mem,
        outer: &[NodeId],
        index: Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<Expr> {
        l.element_address(mem, outer, index, &self.vars, out)
    }

    /// Returns the row with the promise that every thread's row exists, so that its code does not test that.
    pub fn existing(self) -> Self {
        Row { exists: Expr::Lit(Lit::bool(true)), ..self }
    }

    /// Writes a stage's code for one unit: loads of the unit's elements into registers, then what `code` writes, then
    /// stores of the values that replace elements in shared memory. `replaced` pairs the number of the array whose
    /// elements are replaced with the node that replaces them.
    pub fn in_unit(
        &mut self,
        l: &mut Lower,
        stage: usize,
        groups: &[Group],
        (staged, replaced): (&[StagedArray], &[(usize, NodeId)]),
        out: &mut Vec<Stmt>,
        code: impl FnOnce(&mut Self, &mut Lower, &mut Vec<Stmt>) -> Result<()>,
    ) -> Result<()> {
        let known = self.vars.len();
        self.load_unit(l, stage, groups, staged, out)?;
        code(self, l, out)?;
        for (at, node) in replaced {
            let a = &staged[*at];
            for g in groups {
                let own = l.launch.replace(*node, self.rows.element, g.indices[0]);
                let Some((_, value)) = self.vars.iter().find(|v| v.0 == own).cloned() else { continue };
                let store = Stmt::Store(a.shared, a.span.place(g), value);
                out.push(Stmt::If(self.has(g), vec![store], vec![]));
            }
        }
        self.vars.truncate(known);
        self.loaded = Loaded::default();
        Ok(())
    }

    /// Returns the values that a stage computes of elements and later stages need. Each is paired with the number of
    /// the array that it overwrites in shared memory: one of its type, which no later stage reads. A value for which
    /// no array is free is not returned, and later stages compute it again.
    pub fn replaced(&self, l: &mut Lower, stage: usize, staged: &[StagedArray]) -> Vec<(usize, NodeId)> {
        let (nodes, kept) = self.nodes(l, stage);
        let kept = nodes.into_iter().zip(kept).filter(|(_, is_kept)| *is_kept).map(|(n, _)| n);
        let mut known: Vec<NodeId> = staged.iter().filter_map(|a| a.kept).collect();
        let mut replaced: Vec<(usize, NodeId)> = Vec::new();
        for n in kept.collect::<Vec<_>>() {
            if known.contains(&n) {
                continue;
            }
            known.push(n);
            let later = stage + 1..self.rows.stages.len();
            let roots: Vec<NodeId> =
                later.flat_map(|stage| resident_segments::roots(l.launch, self.rows, stage)).collect();
            let g = &l.launch.g;
            let read = g.reachable_until(roots, |n| known.contains(&n));
            let is_read = |x: NodeId| read.iter().any(|n| matches!(g.op(*n), Op::Elem(y, _) if *y == x));
            let is_free = |(at, a): &(usize, &StagedArray)| {
                let is_taken = replaced.iter().any(|(taken, _)| taken == at);
                !is_taken && a.kept.is_none() && g.ty(a.x).elem == g.ty(n).elem && !is_read(a.x)
            };
            match staged.iter().enumerate().find(is_free) {
                Some((at, _)) => replaced.push((at, n)),
                None => drop(known.pop()),
            }
        }
        replaced
    }

    /// Loads the elements of a unit that a stage reads into registers: from shared memory, or from global memory if
    /// all rows read the array alike.
    fn load_unit(
        &mut self,
        l: &mut Lower,
        stage: usize,
        groups: &[Group],
        staged: &[StagedArray],
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let roots = resident_segments::roots(l.launch, self.rows, stage);
        let reads = neighbours(l.launch, &roots, self.rows.element);
        for a in staged {
            let Some(node) = a.kept else { continue };
            for g in groups {
                let own = l.launch.replace(node, self.rows.element, g.indices[0]);
                let value = bind(l, "kept", self.staged(a, g), out);
                self.vars.push((own, value));
            }
        }
        let mut loads = Vec::new();
        for (x, outer) in reads {
            let mut values = Vec::new();
            match staged.iter().find(|a| a.x == x && a.outer == outer) {
                Some(a) if a.kept.is_some() => continue,
                Some(a) => {
                    for g in groups {
                        values.push(bind(l, "x", self.staged(a, g), out));
                    }
                }
                None => {
                    let mem = l.launch.input(x);
                    let start = self.address(l, mem, &outer, groups[0].start.clone(), out)?;
                    let start = bind(l, "place", start, out);
                    l.k.kernel.in_space.push(start.clone());
                    for g in groups {
                        let at = start.clone().plus(Expr::int(g.offset));
                        let value = Expr::LoadIf(mem, Box::new(at), Box::new(self.has(g)));
                        values.push(bind(l, "x", value, out));
                    }
                }
            }
            loads.push((x, outer, values));
        }
        self.loaded = l.with_loaded(Loaded::default(), |l| {
            for (x, outer, values) in loads {
                for (g, e) in groups.iter().zip(values) {
                    l.note_loaded(x, &outer, g.indices[0], e);
                }
            }
            l.scope.loaded.take().unwrap_or_default()
        });
        Ok(())
    }

    /// Loads an element from shared memory; beyond the row it is 0.
    fn staged(&self, a: &StagedArray, g: &Group) -> Expr {
        Expr::LoadIf(a.shared, Box::new(a.span.place(g)), Box::new(self.has(g)))
    }
}
