//! The steps of a radix sort.

use crate::core::digits::DIGIT_TILE;
use crate::scalar::Lit;

/// Returns how often each digit occurs in each tile.
pub(super) fn counts(digits: &[Lit], count: usize, tiles: usize) -> Vec<Lit> {
    let mut counts = vec![0; count];
    for (i, digit) in digits.iter().enumerate() {
        counts[counter(i, *digit, tiles)] += 1;
    }
    counts.into_iter().map(Lit::i32).collect()
}

/// Returns how many elements with each digit there are up to the end of each tile.
pub(super) fn ends(counts: &[Lit], tiles: usize) -> Vec<Lit> {
    let of_digit = |counts: &[Lit]| {
        let sums = counts.iter().scan(0, |sum, count| {
            *sum += count.as_i64();
            Some(Lit::i64(*sum))
        });
        sums.collect::<Vec<Lit>>()
    };
    counts.chunks(tiles.max(1)).flat_map(of_digit).collect()
}

/// Returns the elements in the order of their digits, given how many there are up to the end of each tile.
pub(super) fn moved(src: &[Lit], (digits, tiles): (&[Lit], usize), ends: &[Lit]) -> Vec<Lit> {
    let (mut next, mut first) = (Vec::new(), 0);
    for ends in ends.chunks(tiles.max(1)) {
        let before = ends.iter().take(ends.len() - 1).map(|end| first + end.as_i64());
        next.extend([first].into_iter().chain(before));
        first += ends.last().map_or(0, |end| end.as_i64());
    }
    let mut moved: Vec<Option<Lit>> = vec![None; src.len()];
    for (i, (x, digit)) in src.iter().zip(digits).enumerate() {
        let place = &mut next[counter(i, *digit, tiles)];
        let before = moved[*place as usize].replace(*x);
        assert!(before.is_none(), "two elements at {place}");
        *place += 1;
    }
    moved.into_iter().map(|x| x.expect("every place has an element")).collect()
}

/// Returns the number of the counter of an element.
fn counter(i: usize, digit: Lit, tiles: usize) -> usize {
    digit.bits as usize * tiles + i / DIGIT_TILE as usize
}
