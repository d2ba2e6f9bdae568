//! Chains of stencils on a simulated GPU: all bits are the interpreter's, at every boundary and in every layout.

#[allow(dead_code, reason = "random programs are not needed")]
mod common;
#[path = "common/gpu.rs"]
mod gpu;
#[allow(dead_code, reason = "one strategy is chosen here")]
#[path = "common/versions.rs"]
mod versions;

use arraygpu_compiler::driver::Compiled;
use arraygpu_compiler::scalar::Ty;
use common::rng::Rng;
use std::fmt::Write;
use versions::{check, compiled, numbers};

/// What is read beyond the edges.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Boundary {
    Clamp,
    Mirror,
    Wrap,
    Constant,
}

use Boundary::{Clamp, Constant, Mirror, Wrap};

const ALL: [Boundary; 4] = [Clamp, Mirror, Wrap, Constant];

/// The taps of an array in a stage, and its boundary.
#[derive(Clone)]
struct Reads {
    array: &'static str,
    taps: Vec<(i64, i64)>,
    boundary: Boundary,
}

type Stage = (&'static str, Vec<Reads>);

/// Adds the index `%at` into `%n` elements for `%i + tap`; of constants the condition, too, as `%c_at`.
fn index(text: &mut String, boundary: Boundary, at: &str, i: &str, tap: i64, n: &str) {
    let clamped = format!("    %l_{at} = max %j_{at}, 0i64\n    %{at} = min %l_{at}, %last_{n}\n");
    writeln!(text, "    %j_{at} = add %{i}, {tap}i64").unwrap();
    *text += &match boundary {
        Clamp => clamped,
        Constant => format!(
            "{clamped}    %a_{at} = ge %j_{at}, 0i64\n    %b_{at} = lt %j_{at}, %{n}\n    %c_{at} = and %a_{at}, %b_{at}\n"
        ),
        Mirror => format!(
            "    %o_{at} = sub -1i64, %j_{at}\n    %l_{at} = max %j_{at}, %o_{at}\n    %r_{at} = sub %end_{n}, %l_{at}\n    %{at} = min %l_{at}, %r_{at}\n"
        ),
        Wrap => format!(
            "    %u_{at} = add %j_{at}, %{n}\n    %d_{at} = sub %j_{at}, %{n}\n    %b_{at} = lt %j_{at}, 0i64\n    %a_{at} = ge %j_{at}, %{n}\n    \
             %s_{at} = select %a_{at}, %d_{at}, %j_{at}\n    %{at} = select %b_{at}, %u_{at}, %s_{at}\n"
        ),
    };
}

/// A function of stages as large as x, each a weighted sum of what it reads; the last one is the result.
fn padded(ty: Ty, stages: &[Stage], results: &[&str]) -> String {
    let types: Vec<String> = results.iter().map(|r| format!("{r}: [[{ty}]]")).collect();
    let mut text = format!("func @f(%x: [[{ty}]]) -> ({}) {{\n", types.join(", "));
    for (axis, n) in ["n", "m"].into_iter().enumerate() {
        write!(text, "  %{n} = len %x axis {axis}\n  %last_{n} = sub %{n}, 1i64\n").unwrap();
        write!(text, "  %both_{n} = add %{n}, %{n}\n  %end_{n} = sub %both_{n}, 1i64\n").unwrap();
    }
    for (name, reads) in stages {
        writeln!(text, "  %{name}_ = generate %n, %m (%i: i64, %j: i64) {{").unwrap();
        let mut count = 0;
        for r in reads {
            for (down, right) in &r.taps {
                let k = count;
                index(&mut text, r.boundary, &format!("i{k}"), "i", *down, "n");
                index(&mut text, r.boundary, &format!("j{k}"), "j", *right, "m");
                match r.boundary {
                    Constant => {
                        writeln!(text, "    %v{k} = elem %{}, %i{k}, %j{k}", r.array).unwrap();
                        writeln!(text, "    %y{k} = select %c_i{k}, %v{k}, 7{ty}").unwrap();
                        writeln!(text, "    %x{k} = select %c_j{k}, %y{k}, 7{ty}").unwrap();
                    }
                    _ => writeln!(text, "    %x{k} = elem %{}, %i{k}, %j{k}", r.array).unwrap(),
                }
                match k {
                    0 => writeln!(text, "    %s0 = mul %x0, 3{ty}").unwrap(),
                    k => writeln!(text, "    %s{k} = mul_add %x{k}, {}{ty}, %s{}", k % 5 + 1, k - 1).unwrap(),
                }
                count += 1;
            }
        }
        writeln!(text, "    yield %s{}\n  }}\n  %{name} = materialize %{name}_", count - 1).unwrap();
    }
    let names: Vec<String> = results.iter().map(|r| format!("%{r}")).collect();
    text + &format!("  return {}\n}}", names.join(", "))
}

/// Taps along rows, and along columns.
fn along(count: i64) -> [Vec<(i64, i64)>; 2] {
    let all = -(count / 2)..count - count / 2;
    [all.clone().map(|k| (0, k)).collect(), all.map(|k| (k, 0)).collect()]
}

/// Taps along rows, then along columns, of what is inside.
fn windows(ty: Ty, count: usize) -> String {
    let mut text =
        format!("func @f(%x: [[{ty}]]) -> (r: [[{ty}]]) {{\n  %n = len %x\n  %m = len %x axis 1\n");
    for n in ["n", "m"] {
        write!(text, "  %{n}1 = sub %{n}, {}i64\n  require extent 0i64, %{n}1 \"slice\"\n", count - 1)
            .unwrap();
    }
    for (name, rows, of, axis) in [("t", "n", "x", "j"), ("r", "n1", "t", "i")] {
        writeln!(text, "  %{name}_ = generate %{rows}, %m1 (%i: i64, %j: i64) {{").unwrap();
        for k in 0..count {
            writeln!(text, "    %k{k} = add %{axis}, {k}i64").unwrap();
            let at = if axis == "i" { format!("%k{k}, %j") } else { format!("%i, %k{k}") };
            writeln!(text, "    %x{k} = elem %{of}, {at}").unwrap();
            match k {
                0 => writeln!(text, "    %s0 = mul %x0, 3{ty}").unwrap(),
                k => writeln!(text, "    %s{k} = mul_add %x{k}, {}{ty}, %s{}", k % 5 + 1, k - 1).unwrap(),
            }
        }
        writeln!(text, "    yield %s{}\n  }}\n  %{name} = materialize %{name}_", count - 1).unwrap();
    }
    text + "  return %r\n}"
}

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
            let sizes = [(3, 3), (0, 5), (1, 1), (2, 40), (9, 36), (70, 140), (65, 131)];
            let has_margin = |b: Boundary| matches!(b, Mirror | Wrap);
            let is_limited = has_margin(boundary) || has_margin(other);
            let possible = |s: &&(usize, usize)| !is_limited || s.0.min(s.1) > 2;
            let sizes: Vec<(usize, usize)> = sizes.iter().filter(possible).copied().collect();
            check_sizes(&c, ty, &sizes, &mut rng, &format!("{ty} {boundary:?}"));
        }
    }
}

/// Stages that read what some before them store, at random distances; sometimes what is between is a result.
fn random_stages(rng: &mut Rng) -> (Vec<Stage>, Vec<&'static str>) {
    let names = ["x", "t", "u", "v", "r"];
    let count = 2 + rng.below(3);
    let usual = ALL[rng.below(4)];
    let mut stages: Vec<Stage> = Vec::new();
    for k in 0..count {
        let mut reads: Vec<Reads> = Vec::new();
        for turn in 0..1 + rng.below(2) {
            // the array before, and another one
            let array = if turn == 0 { names[k] } else { names[rng.below(k + 1)] };
            if reads.iter().any(|r| r.array == array) {
                continue;
            }
            let boundary = if rng.one_in(8) { ALL[rng.below(4)] } else { usual };
            let most = 1 + rng.below(6);
            let mut taps: Vec<(i64, i64)> = match rng.below(5) {
                0 => vec![(0, 0)],
                1 => (0..most as i64).map(|k| (k - 2, 0)).collect(),
                2 => (0..most as i64).map(|k| (0, k - 3)).collect(),
                _ => (0..most).map(|_| (rng.below(7) as i64 - 3, rng.below(7) as i64 - 3)).collect(),
            };
            taps.dedup();
            reads.push(Reads { array, taps, boundary });
        }
        stages.push((names[k + 1], reads));
    }
    let last = stages[count - 1].0;
    let mut results = vec![last];
    if rng.one_in(6) {
        results.push(stages[rng.below(count - 1)].0);
    }
    (stages, results)
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
