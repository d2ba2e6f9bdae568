//! Stencils of volumes on a simulated GPU: all bits are the interpreter's, at every boundary, in every variant
//! and in every layout.

use arraygpu_compiler::core::StencilHint;
use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::scalar::{Lit, Ty, eval};
use arraygpu_suite::rng::Rng;
use arraygpu_suite::versions::{check, compiled};
use std::fmt::Write;

/// What is read beyond the faces.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Boundary {
    /// The result is that much smaller: nothing is read beyond the faces.
    Inside,
    Clamp,
    Mirror,
    Wrap,
    Constant,
    /// Elements at the faces stay as they are.
    Kept,
}

use Boundary::{Clamp, Constant, Inside, Kept, Mirror, Wrap};

const ALL: [Boundary; 6] = [Inside, Clamp, Mirror, Wrap, Constant, Kept];

type Tap = [i64; 3];

/// Adds the index `%at` into `%n` elements for `%i + tap`; of constants the condition, too, as `%c_at`.
fn index(text: &mut String, boundary: Boundary, at: &str, i: &str, tap: i64, n: &str) {
    writeln!(text, "    %j_{at} = add %{i}, {tap}i64").unwrap();
    let clamped = format!("    %l_{at} = max %j_{at}, 0i64\n    %{at} = min %l_{at}, %last_{n}\n");
    *text += &match boundary {
        Inside | Kept => format!("    %{at} = add %j_{at}, 0i64\n"),
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

/// A weighted sum of `reads` of the parameters x, y and so on, which all have the same extents; and `results`
/// such sums with other first weights.
fn volume(ty: Ty, reads: &[Vec<Tap>], boundary: Boundary, results: usize) -> String {
    const NAMES: [&str; 3] = ["x", "y", "z"];
    let params: Vec<String> = NAMES[..reads.len()].iter().map(|x| format!("%{x}: [[[{ty}]]]")).collect();
    let types: Vec<String> = (0..results).map(|r| format!("r{r}: [[[{ty}]]]")).collect();
    let mut text = format!("func @f({}) -> ({}) {{\n", params.join(", "), types.join(", "));
    let reach = |axis: usize| reads.iter().flatten().map(|t| t[axis].abs()).max().unwrap_or(0);
    for (axis, n) in ["n", "m", "k"].into_iter().enumerate() {
        write!(text, "  %{n} = len %x axis {axis}\n  %last_{n} = sub %{n}, 1i64\n").unwrap();
        write!(text, "  %both_{n} = add %{n}, %{n}\n  %end_{n} = sub %both_{n}, 1i64\n").unwrap();
        let less = if boundary == Inside { 2 * reach(axis) } else { 0 };
        writeln!(text, "  %e{n} = sub %{n}, {less}i64").unwrap();
        writeln!(text, "  require extent 0i64, %e{n} \"generate\"").unwrap();
        for y in &NAMES[1..reads.len()] {
            writeln!(text, "  %{y}_{n} = len %{y} axis {axis}").unwrap();
            writeln!(text, "  require same %{y}_{n}, %{n} \"map\"").unwrap();
        }
    }
    for r in 0..results {
        writeln!(text, "  %g{r} = generate %en, %em, %ek (%p: i64, %i: i64, %j: i64) {{").unwrap();
        let mut count = 0;
        let read = if matches!(boundary, Inside | Kept) { "at" } else { "elem" };
        for (x, taps) in NAMES.iter().zip(reads) {
            for tap in taps {
                let c = count;
                for (axis, (i, n)) in [("p", "n"), ("i", "m"), ("j", "k")].into_iter().enumerate() {
                    let by = if boundary == Inside { reach(axis) } else { 0 };
                    index(&mut text, boundary, &format!("{i}{c}"), i, tap[axis] + by, n);
                }
                writeln!(text, "    %v{c} = {read} %{x}, %p{c}, %i{c}, %j{c}").unwrap();
                let mut value = format!("v{c}");
                if boundary == Constant {
                    for i in ["p", "i", "j"] {
                        writeln!(text, "    %{i}v{c} = select %c_{i}{c}, %{value}, 7{ty}").unwrap();
                        value = format!("{i}v{c}");
                    }
                }
                match c {
                    0 => writeln!(text, "    %s0 = mul %{value}, {}{ty}", 3 + r).unwrap(),
                    c => writeln!(text, "    %s{c} = mul_add %{value}, {}{ty}, %s{}", c % 5 + 1, c - 1)
                        .unwrap(),
                }
                count += 1;
            }
        }
        let mut value = format!("s{}", count - 1);
        if boundary == Kept {
            let mut all = String::from("true");
            for (axis, (i, n)) in [("p", "n"), ("i", "m"), ("j", "k")].into_iter().enumerate() {
                let by = reach(axis);
                writeln!(text, "    %lo_{i} = ge %{i}, {by}i64\n    %hi_{i}0 = add %{i}, {by}i64").unwrap();
                writeln!(text, "    %hi_{i} = lt %hi_{i}0, %{n}\n    %in_{i} = and %lo_{i}, %hi_{i}")
                    .unwrap();
                writeln!(text, "    %all_{i} = and %in_{i}, {all}").unwrap();
                all = format!("%all_{i}");
            }
            writeln!(text, "    %own = at %x, %p, %i, %j\n    %kept = select {all}, %{value}, %own").unwrap();
            value = "kept".into();
        }
        writeln!(text, "    yield %{value}\n  }}").unwrap();
    }
    let names: Vec<String> = (0..results).map(|r| format!("%g{r}")).collect();
    text + &format!("  return {}\n}}", names.join(", "))
}

fn numbers(ty: Ty, extents: [usize; 3], rng: &mut Rng) -> Value {
    let element = |_| eval::eval_cast(ty, Lit::i64(rng.below(200) as i64 - 100));
    Value::Array(extents.map(|n| n as i64).to_vec(), (0..extents.iter().product()).map(element).collect())
}

fn seven() -> Vec<Tap> {
    vec![[-1, 0, 0], [1, 0, 0], [0, -1, 0], [0, 1, 0], [0, 0, -1], [0, 0, 1], [0, 0, 0]]
}

fn cube() -> Vec<Tap> {
    (0..27).map(|k| [k / 9 - 1, k / 3 % 3 - 1, k % 3 - 1]).collect()
}

/// Runs a program of volumes of these extents in every variant; one of them has planes in registers, or walks
/// through them, where rows are whole vectors.
fn walks(ty: Ty, reads: &[Vec<Tap>], boundary: Boundary, results: usize, extents: &[[usize; 3]]) {
    let c = compiled(&volume(ty, reads, boundary, results), None);
    let mut rng = Rng::new(11);
    for extents in extents {
        let args: Vec<Value> = reads.iter().map(|_| numbers(ty, *extents, &mut rng)).collect();
        let entries = check(&c, &args, &format!("{ty} {boundary:?} {extents:?}"));
        let walked = |entry: &str| entries.iter().any(|e| e == entry);
        let reach = reads.iter().flatten().map(|t| t[2].unsigned_abs() as usize).max().unwrap_or(0);
        let (least, less) = if boundary == Inside { (2, 2 * reach) } else { (0, 0) };
        if extents.iter().all(|n| *n > least.max(less)) {
            let is_whole = (extents[2] - less).is_multiple_of(16 / ty.size());
            let planes = walked("f_0_planes") || !is_whole;
            assert!(planes, "{ty} {boundary:?} {extents:?}: {entries:?}");
            assert!(walked("f_0_planes_unaligned") || ty.size() == 8, "{entries:?}");
        }
    }
}

#[test]
fn seven_points() {
    for boundary in ALL {
        walks(
            Ty::F32,
            &[seven()],
            boundary,
            1,
            &[[19, 6, 133], [3, 33, 12], [66, 3, 12], [3, 18, 138], [1, 1, 1], [2, 9, 3], [0, 3, 3]],
        );
    }
}

#[test]
fn a_cube_of_27_points() {
    for boundary in ALL {
        walks(Ty::F32, &[cube()], boundary, 1, &[[18, 5, 136], [3, 34, 7], [3, 18, 10]]);
    }
}

#[test]
fn element_types() {
    for (ty, boundary) in
        [(Ty::F64, Clamp), (Ty::U8, Wrap), (Ty::I16, Mirror), (Ty::F16, Constant), (Ty::I64, Kept)]
    {
        let columns = 32 * (16 / ty.size());
        let extents = [[5, 7, columns + 3], [17, 3, 5], [5, 7, columns], [3, 18, columns / 2]];
        walks(ty, &[seven()], boundary, 1, &extents);
    }
}

/// Two states around each element and one at its own place, and two results.
#[test]
fn several_states() {
    let reads = [seven(), seven(), vec![[0, 0, 0]]];
    for boundary in [Clamp, Wrap, Kept] {
        walks(Ty::F32, &reads, boundary, 2, &[[6, 11, 133], [17, 2, 8]]);
    }
}

/// Planes far apart, planes that are read in one direction only, and rows of one plane.
#[test]
fn other_shapes() {
    let far = vec![[-3, 0, 0], [2, 1, -2], [0, 0, 0]];
    let down = vec![[0, 0, 0], [1, 0, 0]];
    for boundary in [Inside, Clamp, Kept] {
        walks(Ty::F32, std::slice::from_ref(&far), boundary, 1, &[[21, 6, 131], [7, 7, 8]]);
        walks(Ty::F32, std::slice::from_ref(&down), boundary, 1, &[[21, 6, 131], [3, 3, 4]]);
    }
    let c = compiled(&volume(Ty::F32, &[vec![[0, 0, 0], [0, 1, 0]]], Clamp, 1), None);
    assert!(c.kernels[0].gpu_variants().iter().all(|v| !v.launch.entry.contains("planes")));
    let c = compiled(&volume(Ty::F32, &[seven()], Clamp, 1), Some(StencilHint::Rows));
    assert!(c.kernels[0].gpu_variants().iter().all(|v| !v.launch.entry.contains("planes")));
}

/// `k` steps of such sums of states, of which each is followed by the result of its number.
fn iterated(ty: Ty, reads: &[Vec<Tap>], boundary: Boundary) -> String {
    const NAMES: [&str; 3] = ["x", "y", "z"];
    let step = volume(ty, reads, boundary, reads.len());
    let (head, body) = step.split_once('\n').unwrap();
    let (params, results) = head["func @f(".len()..].split_once(") -> ").unwrap();
    let names = &NAMES[..reads.len()];
    let states: Vec<String> = names.iter().map(|x| format!("%{x}")).collect();
    let nodes: Vec<String> = (0..reads.len()).map(|r| format!("%i{r}")).collect();
    let mut text = format!("func @f({params}, %k: i64) -> {results}\n");
    let ends = (0..reads.len()).map(|r| format!("r{r}: [[[{ty}]]]")).collect::<Vec<_>>().join(", ");
    writeln!(text, "  step @f__step0({params}) -> ({ends}) {{\n{body}").unwrap();
    writeln!(text, "  require count 0i64, %k \"iterate: k\"").unwrap();
    for (r, node) in nodes.iter().enumerate() {
        writeln!(text, "  {node} = iterate @f__step0 {r} by %k from {}", states.join(", ")).unwrap();
    }
    text + &format!("  return {}\n}}", nodes.join(", "))
}

/// Runs steps of volumes of these extents in every variant.
fn several_steps(ty: Ty, reads: &[Vec<Tap>], boundary: Boundary, calls: &[([usize; 3], i64)]) {
    let c = compiled(&iterated(ty, reads, boundary), None);
    let mut rng = Rng::new(12);
    let mut ran = Vec::new();
    for (extents, k) in calls {
        let mut args: Vec<Value> = reads.iter().map(|_| numbers(ty, *extents, &mut rng)).collect();
        args.push(Value::Scalar(Lit::i64(*k)));
        ran.extend(check(&c, &args, &format!("{ty} {boundary:?} {extents:?}, {k} steps")));
    }
    assert!(ran.iter().any(|entry| entry.ends_with("_steps2")), "{boundary:?}: {ran:?}");
}

/// Seven points in the order of their planes, in which sums wait and not elements.
fn seven_by_planes() -> Vec<Tap> {
    vec![[-1, 0, 0], [0, -1, 0], [0, 0, -1], [0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0]]
}

/// Blocks at every edge, and planes of several blocks.
#[test]
fn two_steps_of_seven_points() {
    for boundary in [Clamp, Constant, Wrap] {
        let calls = [([1, 1, 4], 2), ([5, 3, 8], 3), ([18, 13, 8], 2), ([2, 4, 124], 2), ([3, 4, 5], 4)];
        several_steps(Ty::F32, &[seven_by_planes()], boundary, &calls);
    }
    several_steps(Ty::F64, &[seven_by_planes()], Clamp, &[([6, 13, 62], 2), ([2, 3, 4], 3)]);
}

#[test]
fn two_steps_of_two_states() {
    let reads = [vec![[-1, 0, 0], [0, 0, 0], [1, 0, 0], [0, 1, 1]], vec![[0, 0, 0]]];
    for boundary in [Clamp, Wrap] {
        several_steps(Ty::F32, &reads, boundary, &[([7, 13, 124], 2), ([4, 4, 4], 5)]);
    }
}

/// Elements that lie beyond the edges where no step before leaves them, and reads in one direction.
#[test]
fn steps_at_other_edges() {
    for boundary in [Mirror, Kept] {
        let c = compiled(&iterated(Ty::F32, &[seven_by_planes()], boundary), None);
        let versions = c.kernels.iter().flat_map(|k| k.gpu_variants());
        assert!(versions.into_iter().all(|v| !v.launch.entry.contains("steps2")), "{boundary:?}");
    }
    let down = vec![[0, 0, 0], [1, 0, 0], [2, 0, 1]];
    several_steps(Ty::F32, &[down], Clamp, &[([21, 6, 132], 2), ([3, 3, 4], 3)]);
}
