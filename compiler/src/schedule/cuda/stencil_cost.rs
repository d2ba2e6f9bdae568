//! Chooses the strategy of a stencil by a cost model, which is fitted to measurements of these kernels on an H200
//! (2^26 elements of f32, 2026-11-21; a copy takes 0.1284 ms).
//!
//! The model: a kernel's time is the 3-norm of the time of its memory traffic and that of its instructions, because
//! the longer of the two hides most of the shorter one. The instructions are a fixed part for each block, and a part
//! for each tap. A few taps in registers cost almost nothing.
//!
//! | ms | direct | window | tile |
//! |---|---|---|---|
//! | 15 taps | 0.133 | 0.130 | 0.140 |
//! | 23 taps | | 0.132 | 0.141 |
//! | 31 taps | 0.170 | 0.136 | 0.142 |
//! | 39 taps | | 0.153 | 0.143 |
//! | 47 taps | | | 0.155 |
//! | 63 taps | 0.281 | 0.284 | 0.185 |
//!
//! If the ends of the vector are padded, windows of many taps are slower, because the code for the ends takes their
//! registers (31 taps take 0.160 ms instead of 0.143); tiles are not slower (0.143 ms).
//!
//! For matrices, rows in registers take 0.132 ms for 3 x 3 taps, 0.134 for 5 x 5, 0.158 for 7 x 7 and 0.212 for
//! 9 x 9. Computing them element by element takes 0.65 to 3.1 ms, so there is nothing to choose.

use crate::core::StencilHint;
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::facts::stencil::Stencil;

/// The time of a copy of 2^26 elements of 4 bytes, in milliseconds.
const COPY: f64 = 0.1284;

/// Returns the time of the instructions for 2^26 elements in milliseconds: the fixed part, and the
/// part of each tap.
fn instructions(strategy: StencilHint) -> (f64, f64) {
    match strategy {
        StencilHint::Direct => (0.012, 0.00415),
        StencilHint::Window => (-0.116, 0.00614),
        StencilHint::Tile => (0.0198, 0.0022),
        StencilHint::Rows | StencilHint::Planes => (0.0093, 0.00229),
    }
}

/// Returns the predicted time in milliseconds of a stencil of 2^26 elements that reads one array
/// and writes another, of 4 bytes per element.
pub fn time(strategy: StencilHint, taps: usize) -> f64 {
    let (fixed, each) = instructions(strategy);
    let computing = (fixed + each * taps as f64).max(0.0);
    (COPY.powi(3) + computing.powi(3)).cbrt()
}

/// The time of the instructions of a stencil in registers for 2^26 elements, in milliseconds: the fixed part, and
/// that of each operation. [`crate::schedule::facts::work`] counts three operations for a tap: two, and its index.
const OF_OPERATIONS: (f64, f64) = (0.0093, 0.00229 / 3.0);

/// Returns the predicted time in milliseconds of the instructions of 2^26 elements.
pub fn of_operations(operations: u32) -> f64 {
    OF_OPERATIONS.0 + OF_OPERATIONS.1 * f64::from(operations)
}

/// Returns the predicted time in milliseconds of 2^26 elements, given the bytes that are read and written for each,
/// and the time of the instructions.
pub fn of_both(bytes: f64, instructions: f64) -> f64 {
    ((COPY * bytes / 8.0).powi(3) + instructions.powi(3)).cbrt()
}

/// From this number of taps on, windows are not used for vectors with padded ends.
const MANY: usize = 18;

/// Returns the strategy of a fused group's stencils, and the reason. `padded` says that elements at the edges are
/// computed in another way than interior ones.
pub fn strategy(l: &LaunchContext, stencils: &[Stencil], padded: bool) -> (StencilHint, String) {
    if let Some(wanted) = l.hint() {
        return (wanted, format!("the author asked for {wanted}"));
    }
    let rank = stencils.iter().map(|s| s.shift.len()).max().unwrap_or(1);
    let mine = || stencils.iter().filter(|s| s.overlaps());
    if mine().any(|s| !s.is_static(&l.g)) && rank == 1 {
        return (StencilHint::Tile, "registers cannot be picked by what is known only at the call".into());
    }
    let taps = mine().map(|s| s.taps.len()).max().unwrap_or(1);
    let possible: &[StencilHint] = match rank {
        1 if padded && taps >= MANY => &[StencilHint::Tile, StencilHint::Direct],
        1 => &[StencilHint::Window, StencilHint::Tile, StencilHint::Direct],
        _ => &[StencilHint::Rows],
    };
    let times: Vec<(StencilHint, f64)> = possible.iter().map(|s| (*s, time(*s, taps))).collect();
    let best = times.iter().copied().reduce(|a, b| if b.1 < a.1 { b } else { a });
    let list: Vec<String> = times.iter().map(|(s, ms)| format!("{s} {ms:.3}")).collect();
    let why = format!("predicted ms for 2^26 elements of f32: {}", list.join(", "));
    (best.map_or(StencilHint::Direct, |b| b.0), why)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The model gives the measured times to within 10 %.
    #[test]
    fn fits_what_was_measured() {
        use StencilHint::{Direct, Rows, Tile, Window};
        let measured = [
            (Direct, 15, 0.133),
            (Direct, 31, 0.170),
            (Direct, 63, 0.281),
            (Window, 15, 0.130),
            (Window, 23, 0.132),
            (Window, 31, 0.136),
            (Window, 39, 0.153),
            (Window, 63, 0.284),
            (Tile, 15, 0.140),
            (Tile, 23, 0.141),
            (Tile, 31, 0.142),
            (Tile, 39, 0.143),
            (Tile, 47, 0.155),
            (Tile, 63, 0.185),
            (Rows, 9, 0.132),
            (Rows, 25, 0.134),
            (Rows, 49, 0.158),
            (Rows, 81, 0.212),
        ];
        for (strategy, taps, ms) in measured {
            let predicted = time(strategy, taps);
            assert!((predicted / ms - 1.0).abs() < 0.1, "{strategy}, {taps} taps: {predicted:.4} for {ms}");
        }
    }
}
