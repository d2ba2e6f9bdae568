//! Chains of stencils on a simulated GPU: all bits are the interpreter's, at every boundary and in every layout.

use arraygpu_compiler::driver::Compiled;
use arraygpu_compiler::scalar::Ty;
use arraygpu_suite::rng::Rng;
use arraygpu_suite::stencil_stages::Boundary::{self, Mirror, Wrap};
use arraygpu_suite::stencil_stages::{ALL, Reads, along, boxes, padded, random_stages, unstored, windows};
use arraygpu_suite::versions::{check, compiled, numbers};

/// Whether some launch of the program is a chain.
fn has_chain(c: &Compiled) -> bool {
    c.kernels.iter().any(|k| k.name.ends_with("_chain"))
}

/// Calls with matrices of these sizes; some calls run the chain.
fn check_sizes(c: &Compiled, ty: Ty, sizes: &[(usize, usize)], rng: &mut Rng, what: &str) {
    assert!(has_chain(c), "{what}");
    let mut ran = false;
    for (rows, columns) in sizes {
        let x = numbers(ty, *rows, *columns, rng);
        let entries = check(c, &[x], &format!("{what}, {rows} x {columns}"));
        ran |= entries.iter().any(|e| e.contains("_chain"));
    }
    assert!(ran, "{what}: no chain ran");
}

#[test]
fn separable_windows() {
    let mut rng = Rng::new(41);
    for (ty, count) in [(Ty::F32, 5), (Ty::F64, 3), (Ty::F32, 17), (Ty::U8, 4), (Ty::I32, 6)] {
        let c = compiled(&windows(ty, count), None);
        let sizes = [(count - 1, 9), (count, count), (9 + count, 40), (70, 140), (83, 129 + count)];
        check_sizes(&c, ty, &sizes, &mut rng, &format!("{ty}, {count} taps"));
    }
}

#[test]
fn separable_padded() {
    let mut rng = Rng::new(42);
    for (which, ty) in [Ty::F32, Ty::F64, Ty::F16, Ty::I32].into_iter().enumerate() {
        for (number, boundary) in ALL.into_iter().enumerate() {
            let [rows, columns] = along([5, 3, 4][(which + number) % 3]);
            let other = ALL[(which + number) % 4];
            let stages = [
                ("t", vec![Reads { array: "x", taps: rows, boundary }]),
                ("r", vec![Reads { array: "t", taps: columns, boundary: other }]),
            ];
            let c = compiled(&padded(ty, &stages, &["r"]), None);
            // what is mirrored or repeated is as large as its margin
            let sizes = [(3, 3), (0, 5), (1, 1), (1, 40), (40, 1), (2, 40), (9, 36), (70, 140), (65, 131)];
            let has_margin = |b: Boundary| matches!(b, Mirror | Wrap);
            let is_limited = has_margin(boundary) || has_margin(other);
            let possible = |s: &&(usize, usize)| !is_limited || s.0.min(s.1) > 2;
            let sizes: Vec<(usize, usize)> = sizes.iter().filter(possible).copied().collect();
            check_sizes(&c, ty, &sizes, &mut rng, &format!("{ty} {boundary:?}"));
        }
    }
}

#[test]
fn random_chains() {
    let (mut rng, mut chains) = (Rng::new(43), 0);
    let types = [Ty::F32, Ty::I32, Ty::F64, Ty::U8, Ty::F16, Ty::I16];
    for turn in 0..30 {
        let ty = types[turn % types.len()];
        let (stages, results) = random_stages(&mut rng);
        let text = padded(ty, &stages, &results);
        let c = compiled(&text, None);
        chains += usize::from(has_chain(&c));
        let (rows, columns) = (4 + rng.below(75), 4 + rng.below(140));
        for (rows, columns) in [(rows, columns), (rows, columns.next_multiple_of(16))] {
            let x = numbers(ty, rows, columns, &mut rng);
            check(&c, &[x], &format!("{ty}, {rows} x {columns}\n{text}"));
        }
    }
    assert!(chains > 12, "{chains} chains");
}

/// Where the author stores nothing, tiles are one of the variants, if they are faster than computing stages again.
#[test]
fn stages_that_fusion_finds() {
    let (mut rng, mut tiles) = (Rng::new(44), 0);
    for (turn, count) in [4, 5, 3, 4, 5, 4].into_iter().enumerate() {
        let ty = [Ty::F32, Ty::I32][turn % 2];
        let text = match turn {
            0 | 1 => boxes(ty),
            _ => {
                let (stages, results) = random_stages(&mut rng);
                padded(ty, &stages, &results)
            }
        };
        let text = unstored(&text);
        let c = compiled(&text, None);
        tiles += c
            .kernels
            .iter()
            .flat_map(|k| k.gpu_variants())
            .filter(|v| v.launch.entry.ends_with("_tiles"))
            .count();
        for (rows, columns) in [(9 + count, 40), (70, 144)] {
            let x = numbers(ty, rows, columns, &mut rng);
            check(&c, &[x], &format!("{ty}, {rows} x {columns}\n{text}"));
        }
    }
    assert!(tiles > 0, "no tiles");
}
