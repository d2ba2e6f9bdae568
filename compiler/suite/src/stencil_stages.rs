//! Programs that are chains of stencils.

use crate::rng::Rng;
use arraygpu_compiler::scalar::Ty;
use std::fmt::Write;

/// What is read beyond the edges.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Boundary {
    Clamp,
    Mirror,
    Wrap,
    Constant,
}

use self::Boundary::{Clamp, Constant, Mirror, Wrap};

/// All of them.
pub const ALL: [Boundary; 4] = [Clamp, Mirror, Wrap, Constant];

/// The taps of an array in a stage, and its boundary.
#[derive(Clone)]
pub struct Reads {
    pub array: &'static str,
    pub taps: Vec<(i64, i64)>,
    pub boundary: Boundary,
}

/// A stage: the array that it makes, and what it reads.
pub type Stage = (&'static str, Vec<Reads>);

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
pub fn padded(ty: Ty, stages: &[Stage], results: &[&str]) -> String {
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
pub fn along(count: i64) -> [Vec<(i64, i64)>; 2] {
    let all = -(count / 2)..count - count / 2;
    [all.clone().map(|k| (0, k)).collect(), all.map(|k| (k, 0)).collect()]
}

/// Taps along rows, then along columns, of what is inside.
pub fn windows(ty: Ty, count: usize) -> String {
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

/// Stages that read what some before them store, at random distances; sometimes what is between is a result.
pub fn random_stages(rng: &mut Rng) -> (Vec<Stage>, Vec<&'static str>) {
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

/// The same program without a word on what is stored.
pub fn unstored(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.contains(" = materialize "));
    lines.map(|line| line.replace("_ = generate", " = generate") + "\n").collect()
}

/// Sums of 3 by 3 elements of such sums, of what is inside.
pub fn boxes(ty: Ty) -> String {
    let mut text =
        format!("func @f(%x: [[{ty}]]) -> (r: [[{ty}]]) {{\n  %n0 = len %x\n  %m0 = len %x axis 1\n");
    for (n, k) in ["n", "m"].into_iter().flat_map(|n| [(n, 1), (n, 2)]) {
        write!(text, "  %{n}{k} = sub %{n}0, {}i64\n  require extent 0i64, %{n}{k} \"slice\"\n", 2 * k)
            .unwrap();
    }
    for (name, of, k) in [("t", "x", 1), ("r", "t", 2)] {
        let mut parts = Vec::new();
        for a in 0..3 {
            write!(text, "  %e{name}{a} = add %n{k}, {a}i64\n  %d{name}{a} = add %m{k}, {a}i64\n").unwrap();
        }
        for (a, b) in (0..9).map(|tap| (tap / 3, tap % 3)) {
            writeln!(text, "  %{name}r{a}{b} = slice %{of} from {a}i64 to %e{name}{a} by 1i64").unwrap();
            let part = format!("%{name}c{a}{b}");
            writeln!(text, "  {part} = slice %{name}r{a}{b} axis 1 from {b}i64 to %d{name}{b} by 1i64")
                .unwrap();
            parts.push(part);
        }
        let names: Vec<String> = (0..9).map(|tap| format!("%p{tap}: {ty}")).collect();
        writeln!(text, "  %{name} = map ({}) over {} {{", names.join(", "), parts.join(", ")).unwrap();
        for tap in 1..9 {
            let before = if tap == 1 { "p0".into() } else { format!("s{}", tap - 1) };
            writeln!(text, "    %s{tap} = add %p{tap}, %{before}").unwrap();
        }
        text += "    yield %s8\n  }\n";
    }
    text + "  return %r\n}"
}
