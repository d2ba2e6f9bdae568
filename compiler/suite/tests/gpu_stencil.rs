//! Stencils on a simulated GPU, at lengths around the borders of blocks and of their accesses: the interpreter's bits
//! with every version of the kernels.

use arraygpu_compiler::core::StencilHint;
use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::kernel::interp::{FaultKind, Order};
use arraygpu_compiler::plan::gpu::Grid;
use arraygpu_compiler::scalar::{Lit, Ty};
use arraygpu_suite::gpu::{Failure, How, Layout, call};
use arraygpu_suite::mutants;
use arraygpu_suite::rng::Rng;
use arraygpu_suite::values;
use arraygpu_suite::versions::{check, compiled, numbers};

/// The weighted sum of a vector's elements at these distances.
fn vector(ty: Ty, taps: &[i64]) -> String {
    let reach = taps.iter().max().unwrap();
    let mut body = String::new();
    for (k, tap) in taps.iter().enumerate() {
        body += &format!("    %i{k} = add %i, {tap}i64\n    %x{k} = at %x, %i{k}\n");
    }
    body += &format!("    %s0 = mul %x0, 3{ty}\n");
    for k in 1..taps.len() {
        body += &format!("    %s{k} = mul_add %x{k}, {}{ty}, %s{}\n", k + 2, k - 1);
    }
    format!(
        "func @f(%x: [{ty}]) -> (r: [{ty}]) {{
  %n = len %x
  %m = sub %n, {reach}i64
  require extent 0i64, %m \"generate\"
  %r = generate %m (%i: i64) {{
{body}    yield %s{}
  }}
  return %r
}}",
        taps.len() - 1
    )
}

/// The weighted sum of a matrix's elements at these distances, and the element itself where it is another array's.
fn matrix(ty: Ty, taps: &[(i64, i64)], pointwise: bool) -> String {
    let (down, right) = (taps.iter().map(|t| t.0).max().unwrap(), taps.iter().map(|t| t.1).max().unwrap());
    let mut body = String::new();
    for (k, (i, j)) in taps.iter().enumerate() {
        body += &format!(
            "    %i{k} = add %i, {i}i64\n    %j{k} = add %j, {j}i64\n    %x{k} = at %x, %i{k}, %j{k}\n"
        );
    }
    body += &format!("    %s0 = mul %x0, 3{ty}\n");
    for k in 1..taps.len() {
        body += &format!("    %s{k} = mul_add %x{k}, {}{ty}, %s{}\n", k + 2, k - 1);
    }
    let last = taps.len() - 1;
    body += &match pointwise {
        true => format!("    %p = at %y, %i, %j\n    %q = sub %p, %s{last}\n    yield %q\n"),
        false => format!("    yield %s{last}\n"),
    };
    let (y, extents) = match pointwise {
        true => (
            format!(", %y: [[{ty}]]"),
            "  %m0 = len %y\n  %m1 = len %y axis 1\n  %a0 = add %m0, %down\n  %a1 = add %m1, %right\n  require same %a0, %n0 \"rows\"\n  require same %a1, %n1 \"columns\"\n",
        ),
        false => (
            String::new(),
            "  %m0 = sub %n0, %down\n  %m1 = sub %n1, %right\n  require extent 0i64, %m0 \"generate\"\n  require extent 0i64, %m1 \"generate\"\n",
        ),
    };
    let extents = extents.replace("%down", &format!("{down}i64")).replace("%right", &format!("{right}i64"));
    format!(
        "func @f(%x: [[{ty}]]{y}) -> (r: [[{ty}]]) {{
  %n0 = len %x
  %n1 = len %x axis 1
{extents}  %r = generate %m0, %m1 (%i: i64, %j: i64) {{
{body}  }}
  return %r
}}"
    )
}

#[test]
fn windows_of_vectors() {
    let all: Vec<i64> = (0..15).collect();
    let cases: [(Ty, &[i64]); 11] = [
        (Ty::F32, &[0, 3]),
        (Ty::F32, &[0, 1]),
        (Ty::F32, &[3]),
        (Ty::F32, &all),
        (Ty::F32, &[0, 9, 40]),
        (Ty::F64, &[0, 1, 2]),
        (Ty::F64, &all[..10]),
        (Ty::I64, &[2, 5]),
        (Ty::U8, &[0, 1, 5, 17]),
        (Ty::I16, &[1, 2, 3]),
        (Ty::I32, &[5, 4, 0]),
    ];
    for (ty, taps) in cases {
        for strategy in [StencilHint::Window, StencilHint::Tile] {
            let c = compiled(&vector(ty, taps), Some(strategy));
            let reach = *taps.iter().max().unwrap() as usize;
            let block = c.kernels[0].gpu_variants()[0].launch.grid;
            let Grid::Elements(block) = block else { panic!("{block:?}") };
            let block = block as usize;
            let sizes = [
                0,
                1,
                reach,
                reach + 1,
                reach + 5,
                block - 1,
                block,
                block + 1,
                block + reach,
                2 * block + 3,
            ];
            let around = (2 * block + reach - 3)..=(2 * block + reach + 4);
            for n in sizes.into_iter().chain(around) {
                let args = values::arguments(&c.functions[0].fused, n, n, &mut Rng::new(n as u64 + 1));
                let entries = check(&c, &args, &format!("{ty} {taps:?}, {strategy}, n = {n}"));
                for entry in ["f_0", "f_0_wide", "f_0_any"] {
                    assert!(n <= reach || entries.iter().any(|e| e == entry), "{entry} did not run");
                }
            }
        }
    }
}

/// A window that begins where the call says: every place within an access, at both ends of the array.
#[test]
fn shifted_tiles() {
    let text = |ty: Ty| {
        format!(
            "func @f(%x: [{ty}], %k: i64) -> (r: [{ty}]) {{
  %n = len %x
  %k3 = add %k, 3i64
  %m = sub %n, %k3
  require start 0i64, %k \"slice\"
  require order %k, %n \"slice\"
  require order %k3, %n \"slice\"
  %e = add %k, %m
  %a = slice %x from %k to %e by 1i64
  %k1 = add %k, 2i64
  %e1 = add %k1, %m
  %b = slice %x from %k1 to %e1 by 1i64
  %z = slice %x from 0i64 to %m by 1i64
  %r = map (%p: {ty}, %q: {ty}, %s: {ty}) over %a, %b, %z {{
    %1 = sub %p, %q
    %2 = mul_add %s, 3{ty}, %1
    yield %2
  }}
  return %r
}}"
        )
    };
    for ty in [Ty::F32, Ty::F64, Ty::I16] {
        let c = compiled(&text(ty), None);
        assert!(!c.kernels[0].gpu_variants()[0].kernel.shared.is_empty());
        let block = 2 * 256 * (16 / ty.size());
        for (n, k) in [
            (0, 0),
            (3, 0),
            (2 * block, 0),
            (2 * block + 3, 1),
            (3 * block + 9, 2),
            (3 * block + 6, 3),
            (3 * block + 40, 37),
            (block + 3, block),
        ] {
            let mut args = values::arguments(&c.functions[0].fused, n, n, &mut Rng::new(5));
            args[1] = Value::Scalar(Lit::i64(k as i64));
            check(&c, &args, &format!("{ty}, n = {n}, k = {k}"));
        }
    }
}

#[test]
fn rows_of_matrices() {
    let square = |n: i64| -> Vec<(i64, i64)> { (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).collect() };
    let jacobi = vec![(1, 0), (1, 2), (0, 1), (2, 1)];
    let columns_first: Vec<(i64, i64)> = square(3).into_iter().map(|(i, j)| (j, 2 - i)).collect();
    let cases = [
        (Ty::F32, jacobi.clone(), false),
        (Ty::F32, square(3), false),
        (Ty::F32, columns_first, true),
        (Ty::F64, square(2), true),
        (Ty::F32, square(5), false),
        (Ty::U8, jacobi, false),
        (Ty::I16, vec![(0, 0), (3, 0)], true),
        (Ty::I64, vec![(0, 0), (0, 1)], false),
    ];
    let strategies = [StencilHint::Rows, StencilHint::Tile, StencilHint::Direct];
    let all = cases.iter().flat_map(|c| strategies.map(|s| (c.clone(), s)));
    // rows of all, the others of some: they share the rest
    for ((ty, taps, pointwise), strategy) in
        all.enumerate().filter(|(i, _)| i % 3 == 0 || i % 2 == 0).map(|a| a.1)
    {
        let c = compiled(&matrix(ty, &taps, pointwise), Some(strategy));
        let shared = !c.kernels[0].gpu_variants()[0].kernel.shared.is_empty();
        assert_eq!(shared, strategy == StencilHint::Tile, "{ty} {taps:?}");
        let (down, right) =
            (taps.iter().map(|t| t.0).max().unwrap(), taps.iter().map(|t| t.1).max().unwrap());
        let v = 16 / ty.size();
        let mut rng = Rng::new(11);
        for (rows, columns) in [
            (0, 5),
            (3, 0),
            (1, 1),
            (40, 1),
            (5, 4 * v),
            (33, 32 * v + 1),
            (32, 32 * v),
            (31, 33 * v - 1),
            (4, 64 * v),
            (66, 64 * v),
            (66, 7),
        ] {
            let x = numbers(ty, rows + down as usize, columns + right as usize, &mut rng);
            let mut args = vec![x];
            args.extend(pointwise.then(|| numbers(ty, rows, columns, &mut rng)));
            let entries = check(&c, &args, &format!("{ty} {taps:?}, {rows} x {columns}"));
            for entry in ["f_0", "f_0_wide", "f_0_unaligned", "f_0_any"] {
                // one element after another, only matrices without gaps are done by vectors
                let possible = rows * columns > 0 && (strategy != StencilHint::Direct || entry == "f_0_any");
                assert!(!possible || entries.iter().any(|e| e == entry), "{entry} did not run");
            }
        }
    }
}

/// Reads that the author guards himself: what is inside needs no test, and blocks and threads at the ends leave no
/// record.
#[test]
fn guarded_reads() {
    let vector = "func @f(%x: [f32]) -> (r: [f32]) {
  %n = len %x
  %last = sub %n, 1i64
  %r = generate %n (%i: i64) {
    %before = sub %i, 1i64
    %behind = add %i, 1i64
    %a = at %x, %before
    %b = at %x, %i
    %c = at %x, %behind
    %first = gt %i, 0i64
    %not_last = lt %i, %last
    %inner = and %first, %not_last
    %s1 = add %a, %b
    %s = add %s1, %c
    %r = select %inner, %s, %b
    yield %r
  }
  return %r
}";
    let matrix = "func @f(%x: [[f32]]) -> (r: [[f32]]) {
  %n = len %x
  %m = len %x axis 1
  %lastrow = sub %n, 1i64
  %lastcolumn = sub %m, 1i64
  %r = generate %n, %m (%i: i64, %j: i64) {
    %north = sub %i, 1i64
    %south = add %i, 1i64
    %west = sub %j, 1i64
    %east = add %j, 1i64
    %a = at %x, %north, %j
    %b = at %x, %south, %j
    %c = at %x, %i, %west
    %d = at %x, %i, %east
    %own = at %x, %i, %j
    %c1 = gt %i, 0i64
    %c2 = lt %i, %lastrow
    %c3 = gt %j, 0i64
    %c4 = lt %j, %lastcolumn
    %c5 = and %c1, %c2
    %c6 = and %c3, %c4
    %inner = and %c5, %c6
    %s1 = add %a, %b
    %s2 = add %c, %d
    %s3 = add %s1, %s2
    %s4 = mul %s3, 0.25f32
    %r = select %inner, %s4, %own
    yield %r
  }
  return %r
}";
    let mut rng = Rng::new(3);
    for strategy in [None, Some(StencilHint::Tile), Some(StencilHint::Direct)] {
        let c = compiled(vector, strategy);
        for n in [0, 1, 2, 1023, 1024, 1025, 2048, 2049, 4096, 5000] {
            let args = values::arguments(&c.functions[0].fused, n, n, &mut rng);
            check(&c, &args, &format!("{strategy:?}, n = {n}"));
        }
    }
    let c = compiled(matrix, None);
    assert!(matches!(c.kernels[0].gpu_variants()[0].launch.grid, Grid::Plane { .. }));
    for (rows, columns) in [(0, 0), (1, 1), (2, 3), (32, 128), (33, 132), (40, 260), (70, 128)] {
        let args = [numbers(Ty::F32, rows, columns, &mut rng)];
        check(&c, &args, &format!("{rows} x {columns}"));
    }
}

/// Shared memory without the barrier behind its filling is a race.
#[test]
fn tiles_need_their_barrier() {
    let mut rng = Rng::new(9);
    let vector = (vector(Ty::F32, &[0, 1, 2]), Value::Vector(vec![Lit::f32(1.0); 5000]));
    let matrix = (matrix(Ty::F32, &[(0, 0), (1, 1)], false), numbers(Ty::F32, 67, 261, &mut rng));
    for (text, x) in [vector, matrix] {
        let mut c = compiled(&text, Some(StencilHint::Tile));
        let mutants = mutants::of(&c.kernels[0].gpu_variants()[0].kernel);
        assert_eq!(mutants.len(), 1);
        for (what, kernel) in mutants {
            c.kernels[0].gpu.as_mut().expect("code for GPUs").variants[0].kernel = kernel;
            for order in [Order::Ascending, Order::Descending, Order::Random(1)] {
                let how = How { layout: Layout::Padded, version: Some(0), span: 1, order };
                match call(&c, 0, std::slice::from_ref(&x), how) {
                    Err(Failure::Fault(f)) if f.kind == FaultKind::Race => {}
                    Err(e) => panic!("{what}, {order:?}: {e}"),
                    Ok(_) => panic!("{what}, {order:?}: nothing was noticed"),
                }
            }
        }
    }
}
