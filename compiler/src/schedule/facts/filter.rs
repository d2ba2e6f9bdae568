//! Whole filters: stable partitions ([`super::partition`]) whose elements behind the counted ones have one value. Such
//! elements may stand in any order, so their places need not wait for the number of counted elements: a launch can
//! store them from the end on while it still counts.

use super::partition::Partition;
use super::scans::Scan;
use crate::core::records::may_record_here;
use crate::core::{Graph, NodeId, Op};
use crate::scalar::{Lit, Ty};
use crate::schedule::groups::items::Item;
use crate::schedule::groups::{FusedGroup, is_store};
use std::cell::Cell;

/// A filter that one launch computes.
#[derive(Clone)]
pub struct Filter {
    /// The scan that counts, in 32 bits.
    pub scan: Scan,
    partition: Partition,
    /// The reduction that counts all, if this launch computes it, too.
    pub count: Option<NodeId>,
    /// What the launch stores.
    pub items: Vec<Item>,
}

/// The parts of what may be a filter, among consecutive fused groups.
pub struct Parts<'g> {
    /// The group that stores the conditions, if it does nothing else but count them.
    conditions: Option<&'g FusedGroup>,
    /// The parts of the scan.
    scan: [&'g [Item]; 3],
    /// The number of the group that counts, and its reduction.
    pub counting: Option<(usize, &'g Item)>,
    /// The number of groups.
    pub groups: usize,
}

impl Filter {
    /// Returns the filter that the first of these groups compute, if there is one.
    pub fn of(g: &mut Graph, groups: &[FusedGroup]) -> Option<Filter> {
        let parts = Parts::of(g, groups)?;
        let counts = Scan::of(g, parts.scan[2])?.counts(g);
        let mut scan = Scan::whole(g, parts.scan)?;
        if !counts || !scan.goes_elsewhere() {
            return None;
        }
        let partition = scan.partition(g)?;
        let count = parts.counting.map(|(_, it)| it.node);
        // a partition is one only if this is the number of counted elements
        if count.is_some_and(|n| n != partition.others) {
            return None;
        }
        if let Some(conditions) = parts.conditions {
            let stored = conditions.items.iter().find(|it| is_store(g, it)).map(|it| it.node)?;
            scan = scan.computing(g, stored)?;
        }
        scan.in_32_bits = true;
        let filter = Filter { scan, partition, count, items: parts.scan[2].to_vec() };
        filter.is_right(g, &parts).then_some(filter)
    }

    /// Whether elements that are not counted have one value, and no element needs the count, or what the replaced
    /// launches store.
    fn is_right(&self, g: &mut Graph, parts: &Parts) -> bool {
        let replaced = parts.conditions.iter().flat_map(|group| group.items.iter()).chain(parts.scan[0]);
        let replaced: Vec<NodeId> = replaced.chain(parts.scan[1]).map(|it| it.node).collect();
        let (_, index) = g.fresh_var(Ty::I64);
        let (_, up_to) = g.fresh_var(Ty::I64);
        let mut read = self.scan.elements(g, index);
        for it in parts.scan[2] {
            let rest = self.rest(g, it);
            if !g.is_closed(rest) {
                return false;
            }
            read.push(self.value(g, it, index, up_to));
            read.push(rest);
        }
        if may_record_here(g, read.clone()) {
            return false;
        }
        let is_missing = Cell::new(false);
        let ends = |n: NodeId| {
            let is_end = g.is_closed(n) && g.op(n).needs_launch();
            let of_launch = is_end && (replaced.contains(&n) || Some(n) == self.count);
            is_missing.set(is_missing.get() || of_launch);
            is_end
        };
        g.reachable_until(read, ends);
        !is_missing.get()
    }

    /// Returns the value of an item for a counted element at an index, given the number of counted ones up to it.
    pub fn value(&self, g: &mut Graph, it: &Item, index: NodeId, up_to: NodeId) -> NodeId {
        let counted = g.lit(Lit::bool(true));
        self.partition.value(g, it, [index, counted, up_to])
    }

    /// Returns the value of an item for the other elements.
    pub fn rest(&self, g: &mut Graph, it: &Item) -> NodeId {
        let counted = g.lit(Lit::bool(false));
        let [index, up_to] = [(); 2].map(|()| g.fresh_var(Ty::I64).1);
        self.partition.value(g, it, [index, counted, up_to])
    }
}

impl<'g> Parts<'g> {
    /// Returns the parts that begin with the first of these groups.
    pub fn of(g: &Graph, groups: &'g [FusedGroup]) -> Option<Parts<'g>> {
        let is_count = |it: &Item| g.ty(it.node).is_scalar() && matches!(g.op(it.node), Op::Reduce { .. });
        let mut left = groups.iter().enumerate();
        let (mut conditions, mut counting) = (None, None);
        let first = &groups.first()?.items;
        if Scan::of(g, first).is_none() {
            let (stored, counts): (Vec<_>, Vec<_>) = first.iter().partition(|it| is_store(g, it));
            let is_plain = |it: &&Item| it.result.is_none() && it.into.is_none();
            if stored.len() != 1 || !stored.iter().all(is_plain) || !counts.iter().all(|it| is_count(it)) {
                return None;
            }
            conditions = Some(&groups[0]);
            counting = counts.first().map(|it| (0, *it));
            (counts.len() < 2).then(|| left.next())?;
        }
        let mut scan: Vec<&[Item]> = Vec::new();
        for (i, fused) in left {
            if Scan::of(g, &fused.items).is_some() {
                scan.push(&fused.items);
            } else if counting.is_none() && fused.items.len() == 1 && is_count(&fused.items[0]) {
                counting = Some((i, &fused.items[0]));
            } else {
                return None;
            }
            if let [totals, before, tiles] = scan[..] {
                return Some(Parts { conditions, scan: [totals, before, tiles], counting, groups: i + 1 });
            }
        }
        None
    }
}
