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

/// Returns the elements in the order of their digits, given where the elements of each tile and digit begin.
pub(super) fn moved(src: &[Lit], (digits, tiles): (&[Lit], usize), begins: &[Lit]) -> Vec<Lit> {
    let mut next: Vec<i64> = begins.iter().map(|place| place.as_i64()).collect();
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
