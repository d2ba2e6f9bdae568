//! Explains why a function has more than one fused group.

use crate::core::{Graph, NodeId, Op, kept_records};
use crate::loc::Loc;
use crate::scalar::Ty;
use crate::schedule::groups::{self, FusedGroup};
use crate::schedule::item_loops::KnownLoops;

/// Returns the reason why a fused group is not part of an earlier one.
pub(super) fn reason(g: &Graph, before: &[FusedGroup], p: &FusedGroup) -> String {
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
            format!("each element needs the {what}{at}, which is known only after a whole pass{bits}")
        }
        None if differ_in_loops(g, before, p) => {
            "the loops in their elements have no strategy for both".into()
        }
        None if before.iter().any(|b| b.domain == p.domain && b.sequential == p.sequential) => format!(
            "the budget of a pass is {} results, {} operations and {} arrays",
            groups::MAX_ITEMS,
            groups::MAX_NODES,
            groups::MAX_ARRAYS
        ),
        None if p.sequential => "a fold runs in order, the other pass does not".into(),
        None if before.iter().all(|b| b.domain.len() != p.domain.len()) => {
            "its index space has another number of axes".into()
        }
        None => "its index space is another one: the lengths are not known to be equal".into(),
    }
}

/// Whether a group has no earlier one over its elements whose loops it could share.
fn differ_in_loops(g: &Graph, before: &[FusedGroup], p: &FusedGroup) -> bool {
    let mut same = before.iter().filter(|b| b.domain == p.domain && b.sequential == p.sequential).peekable();
    let it = &p.items[0];
    let is_nested = groups::is_store(g, it) && groups::is_nested(g, it);
    same.peek().is_some() && same.all(|b| !KnownLoops::default().fit(g, &b.items, it, is_nested))
}

/// Whether the elements of a group leave records that were kept where an array was stored, one of those that it
/// needs: in bits beside it.
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
