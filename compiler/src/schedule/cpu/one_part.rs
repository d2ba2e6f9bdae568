//! Joins of the bins of parts ([`crate::core::bins`]) if there is one part, which is so for few elements and for many
//! bins. Each bin is then joined to its initial value alone, and the launch is a map.
//!
//! ```text
//! reduce (+) from %init over (generate %parts (%p) { %bins[%p, %k] })    with one part:    %init + %bins[0, %k]
//! ```

use super::map;
use crate::core::{NodeId, Op};
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::{BinaryOp, Lit};
use crate::schedule::element::element;
use crate::schedule::element::lower::{LaunchContext, Lower};
use crate::schedule::groups::FusedGroup;
use rustc_hash::FxHashMap as HashMap;

/// Emits the body of a variant as a map if there is one part, and else as given; `None` if the group joins no parts
/// of bins, or also reduces something else.
pub(super) fn main(
    l: &mut Lower,
    fused: &FusedGroup,
    staged: bool,
    others: &[Stmt],
) -> Result<Option<Vec<Stmt>>> {
    let index = l.launch.index();
    let roots: Vec<NodeId> = fused.items.iter().map(|it| element(&mut l.launch.g, it.node, index)).collect();
    let mut found = Joins { l: l.launch, parts: None, values: HashMap::default() };
    let Some(roots) = roots.into_iter().map(|n| found.value(n)).collect::<Option<Vec<NodeId>>>() else {
        return Ok(None);
    };
    let Some(parts) = found.parts else { return Ok(None) };
    let is_one = Expr::binary(BinaryOp::Eq, l.launch.host(parts), Expr::int(1));
    let one = map::of_roots(l, fused, (index, &roots), staged, true)?;
    Ok(Some(vec![Stmt::If(is_one, one, others.to_vec())]))
}

/// A walk through the nodes of elements that replaces the joins of parts.
struct Joins<'w, 's, 'a> {
    l: &'w mut LaunchContext<'s, 'a>,
    /// The number of parts.
    parts: Option<NodeId>,
    values: HashMap<NodeId, NodeId>,
}

impl Joins<'_, '_, '_> {
    /// Returns the value of a node if there is one part; `None` if it needs another loop.
    fn value(&mut self, n: NodeId) -> Option<NodeId> {
        if self.l.g.is_closed(n) {
            return Some(n);
        }
        if let Some(known) = self.values.get(&n) {
            return Some(*known);
        }
        let made = match self.l.g.op(n).clone() {
            Op::Reduce { join, init, src, which: 0 } => {
                let init = self.value(init)?;
                let (parts, only) = self.only(src)?;
                if self.parts.is_some_and(|other| other != parts) || join.params.len() != 2 {
                    return None;
                }
                self.parts = Some(parts);
                self.l.g.open(&join, &[init, only])
            }
            op if op.lambda().is_some() || op.is_reduction() => return None,
            op => {
                let operands = op.operands().map(|o| self.value(o)).collect::<Option<Vec<NodeId>>>()?;
                match operands.iter().copied().eq(op.operands()) {
                    true => n,
                    false => {
                        let loc = self.l.g.node(n).loc.clone();
                        let before = self.l.g.set_loc(loc);
                        let made = self.l.g.add(op.with(&operands, None));
                        self.l.g.set_loc(before);
                        made
                    }
                }
            }
        };
        if made != n && self.l.g.node(n).bound {
            self.l.g.mark_bound(made);
        }
        self.values.insert(n, made);
        Some(made)
    }

    /// Returns the number of parts that an array has as elements, and the first of them.
    fn only(&mut self, src: NodeId) -> Option<(NodeId, NodeId)> {
        let g = &mut self.l.g;
        let Op::Generate(extents, _) = g.op(src) else { return None };
        let [count] = extents[..] else { return None };
        let first = g.lit(Lit::i64(0));
        let only = element(g, src, first);
        let Op::Elem(bins, _) = *g.op(only) else { return None };
        let Op::Materialize(bins) = *g.op(bins) else { return None };
        let Op::Bins { parts, .. } = *g.op(bins) else { return None };
        (parts == count).then_some((parts, only))
    }
}
