//! Elements that go to destinations (semantics 5.21), by one thread of a CPU, in order and without bins for each part
//! of them. Where the result is what joins the bins, elements are joined in the result. A scatter keeps the highest
//! index of each destination in bins, which the elements of the result read: each element is stored at its
//! destination, and the last one stays.
//!
//! ```text
//! %last = bins max over (%i { yield %i }) at %to
//! r = generate %n (%k) { f(%k, %last[%k]) }    ->    r[%k] = f(%k, -1), then r[%to[%i]] = f(%to[%i], %i) in order
//! ```

use super::bins::Bins;
use super::work;
use crate::core::bins::is_exact;
use crate::core::equations::Equations;
use crate::core::graph::replace::{Found, replaced_by};
use crate::core::linear::Linear;
use crate::core::records::may_record_here;
use crate::core::simplify::{extent, simplify};
use crate::core::{Graph, NodeId, Op};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::element::element;
use crate::schedule::groups::items::Item;
use crate::schedule::groups::{FusedGroup, is_store};
use rustc_hash::FxHashMap as HashMap;

/// The maximum number of operations of an element of the result, which is computed for each element that goes there.
const MOST_WORK: u32 = 16;

/// Elements that go to destinations, as a whole.
pub struct Scatter {
    /// The bins of the launches that it replaces.
    pub bins: Bins,
    /// The array that stores the bins.
    stored: NodeId,
    /// The arrays of the result.
    pub items: Vec<Item>,
    /// If the result is what joins the bins: the value with which each begins. Else the bins are the highest indices.
    pub joined: Option<NodeId>,
    /// Lengths that are the number of elements, so that each of these is inside.
    same_length: Vec<NodeId>,
}

/// Returns the length in which a test or a total read finds an index.
fn length_of_read(g: &mut Graph, n: NodeId, index: NodeId) -> Option<NodeId> {
    match g.op(n).clone() {
        Op::At(x, at) if at[..] == [index] => Some(extent(g, x, 0)),
        Op::Within(i, n, _) if i == index => Some(n),
        _ => None,
    }
}

impl Scatter {
    /// Returns two groups as elements that go to destinations, if they are that. The shape rules say which lengths
    /// are equal.
    pub fn of(g: &mut Graph, rules: &Equations, groups: &[FusedGroup]) -> Option<Scatter> {
        let [first, second] = groups else { return None };
        let [stored] = &first.items[..] else { return None };
        let bins = Bins::of(g, &first.items)?;
        let is_plain = |it: &Item| is_store(g, it) && it.into.is_none();
        if stored.result.is_some() || second.domain[..] != [bins.count] || !second.items.iter().all(is_plain)
        {
            return None;
        }
        let items = second.items.clone();
        let mut scatter = Scatter { bins, stored: stored.node, items, joined: None, same_length: Vec::new() };
        let index = g.sample_index(1)[0].1;
        if let [one] = &second.items[..]
            && is_exact(bins.op, bins.ty)
        {
            let own = element(g, one.node, index);
            scatter.joined = scatter.begin_of_join(g, own, index);
            if scatter.joined.is_some() {
                return Some(scatter);
            }
        }
        if bins.op != BinaryOp::Max || bins.element(g, index)[1] != index {
            return None;
        }
        let last = g.sample_index(2)[1].1;
        let values = scatter.values(g, index, last);
        let [count, _] = bins.lengths(g);
        let all = g.reachable(values);
        let count = Linear::of(g, count);
        let lengths = all.iter().filter_map(|n| length_of_read(g, *n, last));
        let lengths: Vec<NodeId> = lengths.collect();
        let are_equal = |n: NodeId| rules.resolve(&Linear::of(g, n).minus(&count)).as_constant() == Some(0);
        scatter.same_length = lengths.into_iter().filter(|n| are_equal(*n)).collect();
        let mut values = scatter.values(g, index, last);
        values.extend(scatter.values_without(g, index));
        let all = g.reachable(values.iter().copied());
        let is_loop = |n: &NodeId| !g.is_closed(*n) && g.op(*n).is_loop();
        // an element that another one replaces must not leave a record
        let serves = !all.iter().any(|n| *n == stored.node || is_loop(n))
            && !may_record_here(g, values.iter().copied())
            && work::of_roots(g, values, &[]).0 <= MOST_WORK;
        serves.then_some(scatter)
    }

    /// Returns the values of the results' elements at an index, given the highest index of those that go there, or
    /// -1 if there is none.
    pub fn values(&self, g: &mut Graph, index: NodeId, last: NodeId) -> Vec<NodeId> {
        let (mut memo, is_any) = (HashMap::default(), g.as_lit(last).is_none());
        let mut find = |g: &mut Graph, n: NodeId| {
            let begin = self.begin_of_join(g, n, index).and_then(|n| g.as_lit(n));
            Found::of(g, n, (begin == Some(Lit::i64(-1))).then_some(last))
        };
        let mut make = |g: &mut Graph, op: Op| match op {
            Op::At(x, at) if is_any && at[..] == [last] => {
                let length = extent(g, x, 0);
                let is_inside = self.same_length.contains(&length);
                simplify(g, if is_inside { Op::Elem(x, at) } else { Op::At(x, at) })
            }
            Op::Within(i, n, _) if is_any && i == last && self.same_length.contains(&n) => {
                g.lit(Lit::bool(true))
            }
            op => simplify(g, op),
        };
        let roots: Vec<NodeId> = self.items.iter().map(|it| element(g, it.node, index)).collect();
        let value = |n| replaced_by(g, n, &mut find, &mut make, &mut memo);
        roots.into_iter().map(value).collect()
    }

    /// Returns the elements of the results at destinations without elements.
    pub fn values_without(&self, g: &mut Graph, index: NodeId) -> Vec<NodeId> {
        let none = g.lit(Lit::i64(-1));
        self.values(g, index, none)
    }

    /// Returns the value with which a reduction begins that joins the bins of all parts at an index.
    fn begin_of_join(&self, g: &mut Graph, n: NodeId, index: NodeId) -> Option<NodeId> {
        let Op::Reduce { join, init, src, which: 0 } = g.op(n).clone() else { return None };
        let Op::Generate(parts, _) = g.op(src).clone() else { return None };
        let joins = matches!(g.op(join.body), Op::Binary(op, ..) if *op == self.bins.op);
        if parts[..] != [self.bins.parts] || !joins || !g.is_closed(init) {
            return None;
        }
        let part = g.fresh_var(Ty::I64).1;
        let own = element(g, src, part);
        let is_bin = matches!(g.op(own), Op::Elem(x, at) if *x == self.stored && at[..] == [part, index]);
        is_bin.then_some(init)
    }
}
