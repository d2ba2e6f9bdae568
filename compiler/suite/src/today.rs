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
    let part = day() as usize % parts;
    list.into_iter().enumerate().filter(|(i, _)| i % parts == part).map(|(_, x)| x).collect()
}

/// Returns today's third of the seeds below `n`.
pub fn seeds(n: u64) -> Range<u64> {
    if takes_all() {
        return 0..n;
    }
    let part = day() % THIRDS;
    n * part / THIRDS..n * (part + 1) / THIRDS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_have_their_turn_within_three_days() {
        let thirds = (0..THIRDS).flat_map(|part| 20 * part / THIRDS..20 * (part + 1) / THIRDS);
        assert!(thirds.eq(0..20));
        assert!(seeds(20).end <= 20 && share(vec![0; 20], 7).len() <= 20);
    }
}
