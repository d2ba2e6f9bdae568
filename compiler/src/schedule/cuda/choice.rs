//! Which strategy a stencil takes: a cost model, fitted to measurements on an H200 (2^26 elements of f32; hand-written kernels of each strategy, and the figures of
//! `bench/NOTES.md`).
//!
//! A kernel's time is that of its memory traffic and that of its instructions, of which the longer hides most of the shorter: their 3-norm. The instructions are
//! those of a block's setup, and a share a tap.
//!
//! | ms | direct | window | tile |
//! |---|---|---|---|
//! | 15 taps | 0.289 | 0.131 | 0.134 |
//! | 31 taps | 0.438 | 0.147 | 0.142 |
//! | 63 taps | 0.722 | 0.222 | 0.196 |
//!
//! | ms | direct | rows | tile |
//! |---|---|---|---|
//! | 3 x 3 | 0.253 | 0.148 | 0.144 |
//! | 5 x 5 | 0.376 | 0.177 | 0.166 |
//! | 7 x 7 | 0.565 | 0.237 | 0.274 |
//! | 9 x 9 | 0.896 | 0.303 | 0.348 |

use crate::core::Strategy;
use crate::schedule::lower::Lower;
use crate::schedule::stencil::Stencil;

/// Milliseconds of a copy of 2^26 elements of 4 bytes.
const COPY: f64 = 0.1284;

/// Milliseconds of the instructions for 2^26 elements: fixed, and for each tap.
fn instructions(strategy: Strategy) -> (f64, f64) {
    match strategy {
        Strategy::Direct => (0.12, 0.0096),
        Strategy::Window => (0.002, 0.0033),
        Strategy::Tile => (0.0165, 0.0025),
        Strategy::Rows => (0.07, 0.0028),
    }
}

/// The predicted milliseconds of a pass that reads and writes one element of 4 bytes an element, and reads so many taps.
pub fn time(strategy: Strategy, taps: usize) -> f64 {
    let (fixed, each) = instructions(strategy);
    let computing = fixed + each * taps as f64;
    (COPY.powi(3) + computing.powi(3)).cbrt()
}

/// The strategy of a pass, and why.
pub fn strategy(l: &Lower, stencils: &[Stencil]) -> (Strategy, String) {
    if let Some(wanted) = l.wanted() {
        return (wanted, format!("the author asked for {wanted}"));
    }
    let rank = stencils.iter().map(|s| s.shift.len()).max().unwrap_or(1);
    let mine = || stencils.iter().filter(|s| s.overlaps());
    if mine().any(|s| !s.is_static(&l.g)) && rank == 1 {
        return (Strategy::Tile, "registers cannot be picked by what is known only at the call".into());
    }
    let taps = mine().map(|s| s.taps.len()).max().unwrap_or(1);
    let possible: &[Strategy] = match rank {
        1 => &[Strategy::Window, Strategy::Tile, Strategy::Direct],
        _ => &[Strategy::Rows, Strategy::Direct],
    };
    let times: Vec<(Strategy, f64)> = possible.iter().map(|s| (*s, time(*s, taps))).collect();
    let best = times.iter().copied().reduce(|a, b| if b.1 < a.1 { b } else { a });
    let list: Vec<String> = times.iter().map(|(s, ms)| format!("{s} {ms:.3}")).collect();
    let why = format!("predicted ms for 2^26 elements of f32: {}", list.join(", "));
    (best.map_or(Strategy::Direct, |b| b.0), why)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The model gives the measured times to a tenth.
    #[test]
    fn fits_what_was_measured() {
        use Strategy::{Direct, Rows, Tile, Window};
        let measured = [
            (Direct, 15, 0.289),
            (Direct, 31, 0.438),
            (Direct, 63, 0.722),
            (Window, 15, 0.131),
            (Window, 31, 0.147),
            (Window, 63, 0.222),
            (Tile, 15, 0.134),
            (Tile, 31, 0.142),
            (Tile, 63, 0.196),
            (Rows, 9, 0.148),
            (Rows, 25, 0.177),
            (Rows, 49, 0.237),
            (Rows, 81, 0.303),
        ];
        for (strategy, taps, ms) in measured {
            let predicted = time(strategy, taps);
            assert!((predicted / ms - 1.0).abs() < 0.1, "{strategy}, {taps} taps: {predicted:.4} for {ms}");
        }
    }
}
