//! The order of fused groups: a group that goes on over the rows of the one before, and needs what that one
//! computes, comes next, so that one launch may keep the rows of both ([`super::resident_rows`]).
//!
//! ```text
//! maxima of a, maxima of b, sums of a, sums of b  ->  maxima of a, sums of a, maxima of b, sums of b
//! ```

use super::groups::FusedGroup;
use super::resident_rows::MOST_GROUPS;
use crate::core::NodeId;
use rustc_hash::FxHashMap as HashMap;

/// Returns groups, each given with what it needs, in an order in which they can run. They are given in
/// such an order, which is kept but for groups that follow others over their rows.
pub fn by_rows(all: Vec<(FusedGroup, Vec<NodeId>)>) -> Vec<FusedGroup> {
    let items =
        all.iter().enumerate().flat_map(|(i, (fused, _))| fused.items.iter().map(move |it| (it.node, i)));
    let owner: HashMap<NodeId, usize> = items.collect();
    let (mut users, mut waits) = (vec![Vec::new(); all.len()], vec![0; all.len()]);
    for (i, (_, needs)) in all.iter().enumerate() {
        let mut owners: Vec<usize> = needs.iter().filter_map(|n| owner.get(n).copied()).collect();
        owners.sort_unstable();
        owners.dedup();
        waits[i] = owners.len();
        owners.into_iter().for_each(|o| users[o].push(i));
    }
    let (mut order, mut placed) = (Vec::with_capacity(all.len()), vec![false; all.len()]);
    for first in 0..all.len() {
        let (mut next, mut begin) = (Some(first).filter(|i| !placed[*i]), order.len());
        while let Some(i) = next {
            placed[i] = true;
            order.push(i);
            users[i].iter().for_each(|u| waits[*u] -= 1);
            begin = begin.max(order.len().saturating_sub(MOST_GROUPS));
            let follows = |u: &usize| !placed[*u] && waits[*u] == 0 && share_rows(&all[i].0, &all[*u].0);
            next = order[begin..].iter().flat_map(|i| &users[*i]).copied().filter(follows).min();
        }
    }
    let mut all: Vec<Option<FusedGroup>> = all.into_iter().map(|(fused, _)| Some(fused)).collect();
    order.into_iter().filter_map(|i| all[i].take()).collect()
}

/// Whether two groups go over the same rows: over the elements of one index space, or one over the rows of the
/// other's.
fn share_rows(a: &FusedGroup, b: &FusedGroup) -> bool {
    let (short, long) = if a.domain.len() < b.domain.len() { (a, b) } else { (b, a) };
    let is_loop = |fused: &FusedGroup| !fused.sequential && fused.iteration.is_none();
    let rank = short.domain.len();
    is_loop(a)
        && is_loop(b)
        && rank > 0
        && long.domain.len() <= rank + 1
        && long.domain.starts_with(&short.domain)
}
