//! Explains why a function has more than one fused group.

use crate::core::linear::Linear;
use crate::core::{Graph, NodeId, Op, Var, kept_records};
use crate::counted;
use crate::loc::Loc;
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::groups::item_loops::KnownLoops;
use crate::schedule::groups::{self, FusedGroup, items};
use rustc_hash::FxHashSet as HashSet;

/// Returns the reason why a fused group is not part of an earlier one. `no_chain` is the reason why it forms no chain
/// of stencils with the group before it, if there is one.
pub(super) fn reason(g: &Graph, before: &[FusedGroup], p: &FusedGroup, no_chain: Option<&str>) -> String {
    let earlier: Vec<NodeId> = before.iter().flat_map(|p| p.items.iter().map(|it| it.node)).collect();
    let needs: Vec<NodeId> = p.items.iter().flat_map(|it| groups::needs_of_item(g, it)).collect();
    match needs.iter().copied().find(|n| earlier.contains(n)) {
        Some(n) => {
            let at = g.node(n).loc.first().map(|l| format!(" of {}", Loc::short(l))).unwrap_or_default();
            let what = match g.op(n) {
                Op::Materialize(_) => "stored array",
                Op::Iterate { .. } => "iteration",
                _ => "reduction",
            };
            let bits = match leaves_kept(g, p, &needs) {
                true => {
                    "; bits beside it say which elements would leave an error record, for tiles or loops that leave none"
                }
                false => "",
            };
            let chain = no_chain.map(|why| format!("; no chain: {why}")).unwrap_or_default();
            match reads(g, p, n) {
                Some(0) => {
                    format!(
                        "each element needs its own of the {what}{at}, which a launch of its own stores{bits}{chain}"
                    )
                }
                Some(far) => format!(
                    "each element needs those of the {what}{at} up to {far} away, which other blocks compute{bits}{chain}"
                ),
                None => format!(
                    "each element needs the {what}{at}, which is known only after a whole pass{bits}{chain}"
                ),
            }
        }
        None if differ_in_loops(g, before, p) => {
            "the loops in their elements have no strategy for both".into()
        }
        None if before.iter().any(|b| b.domain == p.domain && b.sequential == p.sequential) => {
            let is_alike = |b: &&FusedGroup| b.domain == p.domain && b.sequential == p.sequential;
            let b = before.iter().rfind(is_alike).expect("one is");
            let with = b.items.first().and_then(|it| g.node(it.node).loc.first());
            let with = with.map(|l| format!(", which that of {} has used", l.short())).unwrap_or_default();
            let (items, nodes, arrays) = (groups::MAX_ITEMS, groups::MAX_NODES, groups::MAX_ARRAYS);
            let [items, nodes, arrays] =
                [(items, "result"), (nodes, "operation"), (arrays, "array")].map(|(n, one)| counted(n, one));
            format!("the budget of a pass is {items}, {nodes} and {arrays}{with}")
        }
        None if p.sequential => "a fold runs in order, the other pass does not".into(),
        None if before.iter().all(|b| b.domain.len() != p.domain.len()) => {
            "its index space has another number of axes".into()
        }
        None => "its index space is another one: the lengths are not known to be equal".into(),
    }
}

/// The most nodes of an element in which reads are looked for, so that reports take linear time.
const MAX_NODES: usize = 500;

/// Returns the greatest distance from its own index at which an element of a group reads a stored array; `None` if
/// some read is at no constant distance, or if the element has very many operations.
fn reads(g: &Graph, p: &FusedGroup, stored: NodeId) -> Option<i64> {
    let mut most = None;
    for it in &p.items {
        let array = items::array(g, it);
        let Op::Generate(_, lambda) = g.op(array) else { return None };
        let (mut stack, mut seen) = (vec![lambda.body], HashSet::default());
        while let Some(n) = stack.pop() {
            if g.is_closed(n) || !seen.insert(n) {
                continue;
            }
            if seen.len() > MAX_NODES {
                return None;
            }
            stack.extend(g.op(n).operands().chain(g.op(n).lambda().map(|l| l.body)));
            let Op::Elem(x, index) = g.op(n) else { continue };
            if *x != stored {
                continue;
            }
            // a read of a value of a row or column has fewer indices, and so no distance
            (index.len() == lambda.params.len()).then_some(())?;
            for (at, (var, _)) in index.iter().zip(&lambda.params) {
                most = most.max(Some(distance(g, *at, *var)?));
            }
        }
    }
    most
}

/// Returns the distance of an index from a variable, if the index is the variable plus a constant, or a clamp of
/// that.
fn distance(g: &Graph, index: NodeId, var: Var) -> Option<i64> {
    if let Op::Binary(BinaryOp::Min | BinaryOp::Max, a, b) = *g.op(index) {
        let inner = [a, b].into_iter().find(|n| g.node(*n).free.contains(&var))?;
        return distance(g, inner, var);
    }
    let Linear { constant, terms } = Linear::of(g, index);
    let is_own = |(n, k): (&NodeId, &i64)| *k == 1 && matches!(g.op(*n), Op::Var(v, _) if *v == var);
    (terms.len() == 1 && terms.iter().all(is_own)).then_some(constant.abs())
}

/// Whether earlier groups have the same index space, but the loops of elements keep the group apart from all of them.
fn differ_in_loops(g: &Graph, before: &[FusedGroup], p: &FusedGroup) -> bool {
    let mut same = before.iter().filter(|b| b.domain == p.domain && b.sequential == p.sequential).peekable();
    let it = &p.items[0];
    let is_nested = groups::is_store(g, it) && groups::is_nested(g, it);
    same.peek().is_some() && same.all(|b| !KnownLoops::default().fit(g, &b.items, it, is_nested))
}

/// Whether the elements of a group leave error records for a stored array that they read: the launch that stored the
/// array did not leave the records, but kept them as bits in a second array (`core/kept_records.rs`).
fn leaves_kept(g: &Graph, p: &FusedGroup, needs: &[NodeId]) -> bool {
    if !needs.iter().any(|n| matches!(g.ty(*n).elem, Ty::U8 | Ty::U16 | Ty::U32)) {
        return false;
    }
    let parts =
        |n: NodeId| g.op(n).operands().chain(g.op(n).lambda().map(|l| l.body)).collect::<Vec<NodeId>>();
    let is_other = |n: NodeId| g.op(n).needs_launch() && g.is_closed(n);
    let all = g.reachable_until(p.items.iter().flat_map(|it| parts(it.node)), is_other);
    all.into_iter().any(|n| kept_records::is_left(g, n))
}
