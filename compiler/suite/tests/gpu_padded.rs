//! Padded stencils on a simulated GPU: full blocks read their taps without a look at the edges, blocks at the edges
//! go element by element; all bits are the interpreter's.

use arraygpu_compiler::core::StencilHint;
use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::driver::Compiled;
use arraygpu_compiler::kernel::{Mem, Stmt};
use arraygpu_compiler::plan::gpu::Grid;
use arraygpu_compiler::scalar::Ty;
use arraygpu_suite::rng::Rng;
use arraygpu_suite::versions::{check, compiled, numbers};

#[derive(Clone, Copy, PartialEq, Debug)]
enum Boundary {
    Clamp,
    Mirror,
    Wrap,
    Constant,
    /// By remainders.
    Around,
}

use Boundary::{Around, Clamp, Constant, Mirror, Wrap};

const ALL: [Boundary; 5] = [Clamp, Mirror, Wrap, Constant, Around];

/// The index into `%n` elements that stands for `%i + tap`, as `%at`; of constants the condition, too, as `%c_at`.
fn index(boundary: Boundary, at: &str, i: &str, tap: i64, n: &str) -> String {
    let j = format!("    %j_{at} = add %{i}, {tap}i64\n");
    let clamped = format!("    %l_{at} = max %j_{at}, 0i64\n    %{at} = min %l_{at}, %last_{n}\n");
    j + &match boundary {
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
        Around => format!("    %u_{at} = add %j_{at}, %{n}\n    %{at} = rem %u_{at}, %{n}\n"),
    }
}

/// The names that index expressions use.
fn extent(n: &str, axis: u8) -> String {
    format!(
        "  %{n} = len %x axis {axis}\n  %last_{n} = sub %{n}, 1i64\n  %both_{n} = add %{n}, %{n}\n  %end_{n} = sub %both_{n}, 1i64\n"
    )
}

/// A chain of multiply-adds over `x0 ..`.
fn sum(ty: Ty, count: usize) -> String {
    let mut body = format!("    %s0 = mul %x0, 3{ty}\n");
    for k in 1..count {
        body += &format!("    %s{k} = mul_add %x{k}, {}{ty}, %s{}\n", k + 2, k - 1);
    }
    body + &format!("    yield %s{}\n  }}\n  return %r\n}}", count - 1)
}

/// As long as x.
fn vector(ty: Ty, boundary: Boundary, taps: &[i64]) -> String {
    let mut body = String::new();
    for (k, tap) in taps.iter().enumerate() {
        body += &index(boundary, &format!("i{k}"), "i", *tap, "n");
        body += &match boundary {
            Constant => format!("    %v{k} = elem %x, %i{k}\n    %x{k} = select %c_i{k}, %v{k}, 7{ty}\n"),
            _ => format!("    %x{k} = elem %x, %i{k}\n"),
        };
    }
    let head = format!("func @f(%x: [{ty}]) -> (r: [{ty}]) {{\n{}", extent("n", 0));
    format!("{head}  %r = generate %n (%i: i64) {{\n{body}{}", sum(ty, taps.len()))
}

/// As large as x.
fn matrix(ty: Ty, boundary: Boundary, taps: &[(i64, i64)]) -> String {
    let mut body = String::new();
    for (k, (down, right)) in taps.iter().enumerate() {
        body += &index(boundary, &format!("i{k}"), "i", *down, "n");
        body += &index(boundary, &format!("j{k}"), "j", *right, "m");
        body += &match boundary {
            Constant => format!(
                "    %v{k} = elem %x, %i{k}, %j{k}\n    %y{k} = select %c_i{k}, %v{k}, 7{ty}\n    %x{k} = select %c_j{k}, %y{k}, 7{ty}\n"
            ),
            _ => format!("    %x{k} = elem %x, %i{k}, %j{k}\n"),
        };
    }
    let head = format!("func @f(%x: [[{ty}]]) -> (r: [[{ty}]]) {{\n{}{}", extent("n", 0), extent("m", 1));
    format!("{head}  %r = generate %n, %m (%i: i64, %j: i64) {{\n{body}{}", sum(ty, taps.len()))
}

/// Whether full blocks of the first version load several neighbours of an array at once, and nothing under a
/// condition.
fn is_wide(c: &Compiled) -> bool {
    let main = c.kernels[0].gpu_variants()[0].kernel.main.as_deref().unwrap_or_default();
    let wide = |s: &Stmt| matches!(s, Stmt::LoadVec(_, Mem::Array(_), _));
    main.iter().any(|s| matches!(s, Stmt::If(_, full, _) if full.iter().any(wide)))
}

#[test]
fn vectors() {
    let cases: [(Ty, &[i64]); 4] =
        [(Ty::F32, &[-1, 0, 1]), (Ty::F32, &[-3, 2]), (Ty::F64, &[-1, 0, 2]), (Ty::I16, &[-5, -1, 0, 9])];
    let mut rng = Rng::new(31);
    for (which, (ty, taps)) in cases.into_iter().enumerate() {
        let margin = taps.iter().map(|t| t.unsigned_abs() as usize).max().unwrap();
        for (number, boundary) in ALL.into_iter().enumerate() {
            let strategy = [None, Some(StencilHint::Tile), Some(StencilHint::Direct)][(which + number) % 3];
            let c = compiled(&vector(ty, boundary, taps), strategy);
            assert!(is_wide(&c) || strategy == Some(StencilHint::Direct), "{ty} {boundary:?} {strategy:?}");
            let Grid::Elements(block) = c.kernels[0].gpu_variants()[0].launch.grid else {
                panic!("no vector")
            };
            let block = block as usize;
            let around = (2 * block - 2)..=(2 * block + margin.min(3));
            let sizes = [0, margin, margin + 1, block - 1, block + 1, 3 * block];
            for n in sizes.into_iter().chain(around).chain([3 * block + margin]) {
                let Value::Array(_, x) = numbers(ty, 1, n, &mut rng) else { unreachable!() };
                check(&c, &[Value::Vector(x)], &format!("{ty} {boundary:?} {taps:?} {strategy:?}, n = {n}"));
            }
        }
    }
}

#[test]
fn matrices() {
    let jacobi: &[(i64, i64)] = &[(0, -1), (0, 1), (-1, 0), (1, 0)];
    let cases: [(Ty, &[(i64, i64)]); 3] =
        [(Ty::F32, jacobi), (Ty::F64, &[(-2, 0), (0, 0), (1, 3)]), (Ty::U8, &[(0, 0), (-1, -2)])];
    let mut rng = Rng::new(32);
    for (which, (ty, taps)) in cases.into_iter().enumerate() {
        let v = 16 / ty.size();
        for (number, boundary) in ALL.into_iter().enumerate() {
            let strategy = [None, Some(StencilHint::Tile)][(which + number) % 2];
            let c = compiled(&matrix(ty, boundary, taps), strategy);
            assert!(is_wide(&c), "{ty} {boundary:?} {strategy:?}");
            assert!(matches!(c.kernels[0].gpu_variants()[0].launch.grid, Grid::Plane { .. }));
            for (rows, columns) in [(0, 5), (3, 3), (5, 4 * v), (70, 33 * v), (33, 64 * v + 1), (97, 97)] {
                let x = numbers(ty, rows, columns, &mut rng);
                check(&c, &[x], &format!("{ty} {boundary:?} {strategy:?}, {rows} x {columns}"));
            }
        }
    }
}

/// Conditions that keep a wider distance from the edges than the reads do.
#[test]
fn guards_wider_than_what_is_read() {
    let vector = "func @f(%x: [f32]) -> (r: [f32]) {
  %n = len %x
  %stop = sub %n, 9i64
  %r = generate %n (%i: i64) {
    %behind = add %i, 1i64
    %a = at %x, %i
    %b = at %x, %behind
    %first = ge %i, 7i64
    %not_last = lt %i, %stop
    %inner = and %first, %not_last
    %s = add %a, %b
    %r = select %inner, %s, %a
    yield %r
  }
  return %r
}";
    let matrix = "func @f(%x: [[f32]]) -> (r: [[f32]]) {
  %n = len %x
  %m = len %x axis 1
  %lastrow = sub %n, 3i64
  %lastcolumn = sub %m, 10i64
  %r = generate %n, %m (%i: i64, %j: i64) {
    %south = add %i, 1i64
    %a = at %x, %i, %j
    %b = at %x, %south, %j
    %c1 = gt %i, 5i64
    %c2 = le %i, %lastrow
    %c3 = gt %j, 6i64
    %c4 = lt %j, %lastcolumn
    %c5 = and %c1, %c2
    %c6 = and %c3, %c4
    %inner = and %c5, %c6
    %s = add %a, %b
    %r = select %inner, %s, %a
    yield %r
  }
  return %r
}";
    let mut rng = Rng::new(33);
    for strategy in [None, Some(StencilHint::Tile)] {
        let c = compiled(vector, strategy);
        assert!(is_wide(&c));
        for n in (0..3).chain(1020..1040).chain(4090..4120) {
            let Value::Array(_, x) = numbers(Ty::F32, 1, n, &mut rng) else { unreachable!() };
            check(&c, &[Value::Vector(x)], &format!("{strategy:?}, n = {n}"));
        }
        let c = compiled(matrix, strategy);
        assert!(is_wide(&c));
        for (rows, columns) in [(1, 1), (32, 128), (36, 144), (64, 256), (66, 264), (67, 259)] {
            check(
                &c,
                &[numbers(Ty::F32, rows, columns, &mut rng)],
                &format!("{strategy:?}, {rows} x {columns}"),
            );
        }
    }
}
