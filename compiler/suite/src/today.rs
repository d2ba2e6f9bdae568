//! The part of a long list that the tests of a day take. All of it has had its turn after some days, and a test takes
//! seconds instead of minutes. `ARRAYGPU_DAY=N` asks for the part of day N: CI fixes it, so that it judges a commit,
//! not a date. `ARRAYGPU_LONG=1` asks for the whole list.

use std::ops::Range;
use std::time::UNIX_EPOCH;

/// The parts of lists of seeds.
const THIRDS: u64 = 3;

/// Returns the number of the day since 1970, or the one that `ARRAYGPU_DAY` gives.
pub fn day() -> u64 {
    let given = std::env::var("ARRAYGPU_DAY").ok().and_then(|day| day.parse().ok());
    given.unwrap_or_else(|| UNIX_EPOCH.elapsed().map_or(0, |t| t.as_secs() / 86_400))
}

/// Whether whole lists are asked for.
pub fn takes_all() -> bool {
    std::env::var_os("ARRAYGPU_LONG").is_some_and(|v| v == "1")
}

/// Returns today's share of a list, one of so many parts: elements far apart.
pub fn share<T>(list: Vec<T>, parts: usize) -> Vec<T> {
    if takes_all() {
        return list;
    }
    share_of(list, parts, day())
}

fn share_of<T>(list: Vec<T>, parts: usize, day: u64) -> Vec<T> {
    let part = day as usize % parts;
    list.into_iter().enumerate().filter(|(i, _)| i % parts == part).map(|(_, x)| x).collect()
}

/// Returns today's third of the seeds below `n`.
pub fn seeds(n: u64) -> Range<u64> {
    if takes_all() {
        return 0..n;
    }
    third(n, day())
}

fn third(n: u64, day: u64) -> Range<u64> {
    let part = day % THIRDS;
    n * part / THIRDS..n * (part + 1) / THIRDS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_have_their_turn() {
        let mut seeds: Vec<u64> = (100..103).flat_map(|day| third(20, day)).collect();
        seeds.sort_unstable();
        assert!(seeds.into_iter().eq(0..20));
        let mut list: Vec<u64> = (100..107).flat_map(|day| share_of((0..20).collect(), 7, day)).collect();
        list.sort_unstable();
        assert!(list.into_iter().eq(0..20));
    }
}
