//! Recognises stable partitions among places ([`super::placed`]). A partition moves the elements for which a
//! condition holds to the front, and the others behind them; both keep their order. A scan counts the former. If
//! `up_to[i]` is their number among elements 0 .. i, and `all` their number in all, the place of element i is
//!
//! ```text
//! select(is_counted[i], up_to[i] - 1, all + (i - up_to[i]))
//! ```

use super::placed;
use super::scans::Scan;
use crate::core::graph::replace::{Found, replaced_by};
use crate::core::linear::Linear;
use crate::core::simplify::simplify;
use crate::core::{Graph, NodeId, Op, Var};
use crate::scalar::{BinaryOp, Ty, UnaryOp};
use crate::schedule::groups::items::Item;
use rustc_hash::FxHashMap as HashMap;

/// How the elements of a stable partition are divided.
#[derive(Clone, Copy)]
pub struct Partition {
    /// The variable of the element's index.
    index: (Var, NodeId),
    /// The condition of the place's `select`: whether an element is counted or, if `is_of_others`, whether it is not.
    condition: NodeId,
    is_of_others: bool,
    /// Where an element goes.
    place: NodeId,
    /// The number of all counted elements, which is the first place of the others.
    pub others: NodeId,
}

impl Partition {
    /// Returns the value of an item at an index, given whether the element is counted, and the number of counted ones
    /// up to it.
    pub fn value(self, g: &mut Graph, it: &Item, [index, is_counted, up_to]: [NodeId; 3]) -> NodeId {
        let (var, own) = self.index;
        let value = placed::value(g, it, own);
        let find = &mut |g: &mut Graph, n: NodeId| {
            let known = match g.op(n) {
                Op::Elem(x, at) if at[..] == [own] && matches!(g.op(*x), Op::Scan { .. }) => Some(up_to),
                _ => self.counted(g, n, is_counted),
            };
            Found::of(g, n, known)
        };
        let value = replaced_by(g, value, find, &mut simplify, &mut HashMap::default());
        g.substitute(value, &[(var, index)].into_iter().collect())
    }

    /// If a node says whether the element is counted, returns it in terms of `is_counted`, which the kernel knows.
    fn counted(self, g: &mut Graph, n: NodeId, is_counted: NodeId) -> Option<NodeId> {
        // exactly the counted elements have places below the first place of the others
        if *g.op(n) == Op::Binary(BinaryOp::Lt, self.place, self.others) {
            return Some(is_counted);
        }
        (n == self.condition).then(|| match self.is_of_others {
            true => g.add(Op::Unary(UnaryOp::Not, is_counted)),
            false => is_counted,
        })
    }
}

impl Scan {
    /// Returns how the elements are divided, if this is the last part of a scan that counts those that come first.
    pub fn partition(&self, g: &mut Graph) -> Option<Partition> {
        let (var, index) = g.fresh_var(Ty::I64);
        let place = self.placed?.place(g, index);
        let Op::Select(condition, of_true, of_false) = *g.op(place) else { return None };
        let bit = self.elements(g, index)[0];
        let Op::Select(counts, one, _) = *g.op(bit) else { return None };
        let is_of_others = g.as_lit(one)?.as_i64() == 0;
        let (first, other) = if is_of_others { (of_false, of_true) } else { (of_true, of_false) };
        let (first, mut other) = (Linear::of(g, first), Linear::of(g, other));
        let up_to = only(&first)?;
        let is_result = matches!(g.op(up_to), Op::Elem(x, at) if at[..] == [index] && matches!(g.op(*x), Op::Scan { .. }));
        if counts != condition || !is_result || first.constant != -1 {
            return None;
        }
        for (n, factor) in [(index, 1), (up_to, -1)] {
            if other.terms.get(&n) != Some(&factor) {
                return None;
            }
            other.terms.set(n, 0);
        }
        let others = only(&other).filter(|n| other.constant == 0 && g.is_closed(*n))?;
        Some(Partition { index: (var, index), condition, is_of_others, place, others })
    }
}

/// Returns the term of a form that has only one, with the coefficient 1.
fn only(form: &Linear) -> Option<NodeId> {
    let mut terms = form.terms.iter();
    let (n, factor) = terms.next()?;
    (*factor == 1 && terms.next().is_none()).then_some(*n)
}
