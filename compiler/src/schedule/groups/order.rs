//! The order of fused groups. If a group needs the results of an earlier group and goes over the same rows, it comes
//! right after that group, so that one launch may hold each row in registers or in a cache for both
//! ([`crate::schedule::alternatives::resident_segments`]).
//!
//! ```text
//! maxima of a, maxima of b, sums of a, sums of b  ->  maxima of a, sums of a, maxima of b, sums of b
//! ```

/// How many of the previous groups are considered as the earlier group with the same rows.
const RECENT: usize = 8;

/// Returns the order of groups. `needs` has for each group the numbers of the groups that it needs, all of them lower
/// than its own. `goes_on(a, b, is_next)` says whether group b goes over the rows of group a, and may therefore be
/// moved right behind it; `is_next` says that b comes next even if nothing is moved. Other groups keep their order.
pub fn by_rows(needs: &[Vec<usize>], mut goes_on: impl FnMut(usize, usize, bool) -> bool) -> Vec<usize> {
    let (mut users, mut waits) = (vec![Vec::new(); needs.len()], vec![0; needs.len()]);
    for (i, needs) in needs.iter().enumerate() {
        waits[i] = needs.len();
        needs.iter().for_each(|n| users[*n].push(i));
    }
    let (mut order, mut placed) = (Vec::with_capacity(needs.len()), vec![false; needs.len()]);
    let mut least = 0;
    for first in 0..needs.len() {
        let (mut next, mut begin) = (Some(first).filter(|i| !placed[*i]), order.len());
        while let Some(i) = next {
            placed[i] = true;
            order.push(i);
            users[i].iter().for_each(|u| waits[*u] -= 1);
            begin = begin.max(order.len().saturating_sub(RECENT));
            while placed.get(least) == Some(&true) {
                least += 1;
            }
            let follows = |u: &usize| !placed[*u] && waits[*u] == 0 && goes_on(i, *u, *u == least);
            next = order[begin..].iter().flat_map(|i| &users[*i]).copied().filter(follows).min();
        }
    }
    order
}
