//! The order of fused groups: a group that goes over the rows of an earlier one, and needs what that computes, comes
//! right after it, so that one launch may keep the rows of both
//! ([`crate::schedule::alternatives::resident_segments`]).
//!
//! ```text
//! maxima of a, maxima of b, sums of a, sums of b  ->  maxima of a, sums of a, maxima of b, sums of b
//! ```

/// The number of previous groups of which the next one may go over the rows.
const RECENT: usize = 8;

/// Returns the order of groups, given the numbers of the groups that each of them needs, which are lower. Only groups
/// that go over the rows of another one are moved: `goes_on(a, b, is_next)` says whether b may come right after a,
/// given whether it comes next in any case.
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
