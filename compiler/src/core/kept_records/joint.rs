//! The records of a reduction or a fold whose operator may leave one: its tuples get a further component, the label
//! of the first record of what has been joined.
//!
//! ```text
//! reduce (%a, %b) { yield (div %a, %b) } from 1 over %x
//!   ->  reduce 0 (%a, %la, %b, %lb) { ..  %t = tuple %q, (max (max %la, %lb), (select (eq %b, 0), 5, 0))  yield %t }
//!           from (tuple 1, 0u32) over (generate .. { tuple %x[%i], 0u32 })
//! ```

use super::kept::Kept;
use super::quiet::Quiet;
use crate::core::simplify::simplify;
use crate::core::{Graph, LabelSet, NodeId, Op, Var, tuples};
use crate::scalar::{Lit, Ty};

impl Quiet {
    /// Returns the record of a reduction or a fold: of its initial value, its elements and its operator.
    pub(super) fn of_operator(&mut self, g: &mut Graph, n: NodeId) -> Option<Kept> {
        let op = g.op(n).clone();
        let first = g.add(tuples::component(&op, 0));
        if !self.loops.contains_key(&first) {
            let made = self.with_labels(g, &op)?;
            self.loops.insert(first, made);
        }
        Some(self.loops[&first].1.clone())
    }

    /// Returns the components without records, and the record.
    fn with_labels(&mut self, g: &mut Graph, op: &Op) -> Option<(Vec<NodeId>, Kept)> {
        let (Op::Reduce { join, init, src, .. } | Op::Fold { step: join, init, src, .. }) = op else {
            return None;
        };
        let Op::Generate(extents, element) = g.op(*src).clone() else { return None };
        let (init, of_init) = self.labelled(g, *init)?;
        let (vars, index) = fresh(g, element.params.iter().map(|p| p.1));
        let body = g.open(&element, &index);
        let (body, of_element) = self.labelled(g, body)?;

        // the components of both sides, each followed by its label
        let own = init.len();
        let ty = |i: usize| join.params[i].1;
        let (mut params, mut left) = fresh(g, (0..own).map(ty).chain([Ty::U32]));
        let (more, mut right) = fresh(g, (own..join.params.len()).map(ty).chain([Ty::U32]));
        params.extend(more);
        let labels = [left.pop()?, right.pop()?];
        let joined = g.open(join, &[left, right].concat());
        let (joined, of_join) = self.labelled(g, joined)?;

        let kept = [&of_init, &of_element, &of_join];
        let all = kept.iter().filter_map(|kept| kept.label().map(|of| of.1.clone()));
        let all: LabelSet = all.reduce(|a, b| a.union(&b))?;
        let mut label = of_join.label().map_or_else(|| g.lit(Lit::zero(Ty::U32)), |of| of.0);
        for side in labels {
            label = simplify(g, Op::Binary(Kept::join(&all), side, label));
        }
        let tuple = |g: &mut Graph, mut parts: Vec<NodeId>, of: &Kept| {
            parts.push(of.label().map_or_else(|| g.lit(Lit::zero(Ty::U32)), |of| of.0));
            g.add(Op::Tuple(parts))
        };
        let init = tuple(g, init, &of_init);
        let body = tuple(g, body, &of_element);
        let joined = tuple(g, joined, &Kept::of(label, all.clone()));
        let element = g.close(&vars, body);
        let src = g.add(Op::Generate(extents, element));
        let join = g.close(&params, joined);
        let mut component = |which: usize| {
            let (join, which) = (join.clone(), which as u32);
            g.add(match op {
                Op::Fold { .. } => Op::Fold { step: join, init, src, which },
                _ => Op::Reduce { join, init, src, which },
            })
        };
        let values = (0..own).map(&mut component).collect();
        Some((values, Kept::of(component(own), all)))
    }

    /// Returns the components of a value without their records, and the first of these records.
    fn labelled(&mut self, g: &mut Graph, n: NodeId) -> Option<(Vec<NodeId>, Kept)> {
        let parts = tuples::components(g, n);
        let kept = self.first_of(g, parts.iter().copied())?;
        Some((parts.into_iter().map(|part| self.value(g, part)).collect(), kept))
    }
}

/// Returns fresh variables of these types with their types, and their nodes.
fn fresh(g: &mut Graph, types: impl Iterator<Item = Ty>) -> (Vec<(Var, Ty)>, Vec<NodeId>) {
    types
        .map(|ty| {
            let (var, node) = g.fresh_var(ty);
            ((var, ty), node)
        })
        .unzip()
}
