//! Matrices through the C compiler and the runtime, against the interpreter: every level that the machine runs, 1 and
//! 2 threads, every layout, shapes with nothing in them, with one row or column, and very long or wide ones.

mod common;

use arraygpu_capi::abi::{AgpuContext, AgpuStatus};
use arraygpu_compiler::core::interp::{self, Outcome, Value};
use arraygpu_compiler::core::{Function, parse};
use arraygpu_compiler::scalar::{Lit, Ty, eval_cast};
use common::{Layout, Loaded, compile, context, load, load_highest, shapes};

const SHAPES: [[i64; 2]; 14] = [
    [0, 0],
    [0, 5],
    [5, 0],
    [1, 1],
    [1, 7],
    [7, 1],
    [3, 4],
    [5, 3],
    [17, 129],
    [64, 64],
    [1, 4500],
    [4500, 1],
    [2, 2049],
    [2050, 3],
];
const CUBES: [[i64; 3]; 7] =
    [[0, 2, 3], [2, 0, 3], [1, 1, 1], [2, 3, 4], [5, 1, 3], [7, 30, 11], [300, 2, 8]];

/// Elements that every type holds exactly, and that tell where they come from.
fn elements(ty: Ty, n: i64, seed: i64) -> Vec<Lit> {
    let value = |i: i64| (i * 37 + seed * 11) % 113;
    let lit =
        |v: i64| if ty.is_float() { Lit::float(ty, v as f64 / 4.0) } else { eval_cast(ty, Lit::i64(v)) };
    (0..n).map(|i| lit(value(i))).collect()
}

/// Arguments for a function, by the names of its parameters.
fn arguments(f: &Function, [rows, columns]: [i64; 2], cube: [i64; 3], round: i64) -> Vec<Value> {
    let argument = |(seed, p): (usize, &arraygpu_compiler::core::Param)| {
        let vector = |n: i64| Value::Vector(elements(p.ty.elem, n, seed as i64 + 1));
        let array =
            |e: &[i64]| Value::Array(e.to_vec(), elements(p.ty.elem, e.iter().product(), seed as i64));
        let scalar = |i: i64| Value::Scalar(Lit::i64(i));
        match p.name.as_str() {
            "a" | "b" => array(&[rows, columns]),
            "t" => array(&cube),
            "v" => vector(columns),
            "w" => vector(rows),
            "n" => scalar(rows),
            "m" => scalar(columns),
            "r" => scalar(round % (rows + 1)),
            "c" => scalar(round * 5 % (columns + 1)),
            "p" => scalar(round % 3),
            "q" => scalar(rows.min(columns) - round / 3 % 2),
            "s" => scalar(1 + round % 4),
            name => panic!("no argument for {name}"),
        }
    };
    f.params.iter().enumerate().map(argument).collect()
}

fn programs() -> Vec<Function> {
    parse::parse(include_str!("matrices.core")).unwrap_or_else(|e| panic!("{e}"))
}

/// What a call was like: a value, or an error of the shapes that the interpreter has, too.
fn check(
    l: &Loaded,
    i: usize,
    f: &Function,
    args: &[Value],
    context: *mut AgpuContext,
    layout: Layout,
) -> bool {
    compare((l, i, f), args, &interp::run(f, args), context, layout)
}

/// As `check`, with what the interpreter gives.
fn compare(
    (l, i, f): (&Loaded, usize, &Function),
    args: &[Value],
    expected: &arraygpu_compiler::Result<Outcome>,
    context: *mut AgpuContext,
    layout: Layout,
) -> bool {
    let extents = match expected {
        Ok(o) => shapes(&o.results),
        Err(_) => f.results.iter().map(|r| vec![0; f.graph.ty(r.value).rank.into()]).collect(),
    };
    let called = l.call(i, context, args, &extents, layout);
    let case = || format!("@{} of {:?}, {layout:?}, {}: {}", f.name, shapes(args), l.level, called.message);
    match expected {
        Ok(o) => {
            assert!(matches!(called.status, AgpuStatus::AgpuOk), "{}", case());
            assert!(o.results == called.results, "{}\n{:?}\n{:?}", case(), o.results, called.results);
            true
        }
        Err(e) => {
            assert!(matches!(called.status, AgpuStatus::AgpuErrorShape), "{}, expected {e}", case());
            false
        }
    }
}

#[test]
fn matrices_have_the_interpreters_bits() {
    let (functions, contexts) = (programs(), [context(1), context(2)]);
    for l in load(&compile(functions.clone())) {
        for (i, f) in functions.iter().enumerate() {
            let (mut values, mut round) = (0, 0);
            for layout in Layout::ALL {
                let rank3 = f.params.iter().any(|p| p.ty.rank == 3);
                for k in 0..if rank3 { CUBES.len() } else { SHAPES.len() } {
                    round += 1;
                    let args = arguments(f, SHAPES[k % SHAPES.len()], CUBES[k % CUBES.len()], round);
                    values += usize::from(check(&l, i, f, &args, contexts[round as usize % 2], layout));
                }
            }
            assert!(values > 10, "@{}: {values} calls", f.name);
        }
    }
}

/// Enough work for several threads.
#[test]
fn large_matrices() {
    let two = context(2);
    for (f, extents, layouts) in [
        ("zip", [601, 1201], [Layout::Contiguous, Layout::InPlace]),
        ("transpose", [601, 1201], [Layout::Contiguous, Layout::Pitched]),
        ("total", [601, 1201], [Layout::Transposed, Layout::Pitched]),
        ("updated", [601, 1201], [Layout::Contiguous, Layout::Pitched]),
        ("updated", [4500, 150], [Layout::InPlace, Layout::Transposed]),
    ] {
        let f = programs().into_iter().find(|p| p.name == f).unwrap();
        let l = load_highest(&compile(vec![f.clone()]));
        let args = arguments(&f, extents, [0; 3], 0);
        let expected = interp::run(&f, &args);
        assert!(layouts.iter().all(|layout| compare((&l, 0, &f), &args, &expected, two, *layout)));
    }
}

/// An index whose successor is no number is not inside.
#[test]
fn the_greatest_index_is_outside() {
    let f = programs().into_iter().find(|p| p.name == "row_and_column").unwrap();
    let l = load_highest(&compile(vec![f.clone()]));
    for index in [i64::MAX, i64::MIN, -1, 3] {
        let mut args = arguments(&f, [3, 3], [0; 3], 0);
        args[1] = Value::Scalar(Lit::i64(index));
        assert!(!check(&l, 0, &f, &args, context(1), Layout::Contiguous), "{index}");
    }
}

/// Products by squares, whole and at borders, of panels that are full and not.
#[test]
fn products_have_the_interpreters_bits() {
    let functions = parse::parse(include_str!("../compiler/tests/nested/products.core"))
        .unwrap_or_else(|e| panic!("{e}"));
    let contexts = [context(1), context(2)];
    for l in load(&compile(functions.clone())) {
        for (i, f) in functions.iter().enumerate() {
            for (round, [m, n, k]) in [
                [0, 9, 4],
                [3, 9, 0],
                [1, 1, 1],
                [5, 7, 3],
                [64, 64, 128],
                [70, 130, 35],
                [9, 17, 1100],
                [131, 8, 516],
                [70, 70, 70],
                [1, 70, 70],
                [70, 1, 1],
            ]
            .into_iter()
            .enumerate()
            {
                let shapes = match f.name.as_str() {
                    "product" | "unlikely" | "unlikely_f64" => vec![vec![m, k], vec![k, n]],
                    "transposed" => vec![vec![k, m], vec![n, k], vec![m, n]],
                    "by_vector" | "unlikely_by_vector" => vec![vec![m, k], vec![k], vec![m]],
                    "of_vector" => vec![vec![k], vec![k, n]],
                    _ => vec![vec![m, k], vec![n, k], vec![m]],
                };
                let argument = |(seed, (p, shape)): (i64, (&arraygpu_compiler::core::Param, &Vec<i64>))| {
                    // sums of them are rounded, so the order shows
                    let value =
                        |i: i64| Lit::float(p.ty.elem, ((i * 37 + seed * 11) % 113 - 50) as f64 / 7.0);
                    let elements: Vec<Lit> = (0..shape.iter().product()).map(value).collect();
                    if shape.len() > 1 {
                        Value::Array(shape.clone(), elements)
                    } else {
                        Value::Vector(elements)
                    }
                };
                let args: Vec<Value> = (0..).zip(f.params.iter().zip(&shapes)).map(argument).collect();
                let expected = interp::run(f, &args);
                // in place: the result is a factor, if it has the same shape
                for layout in [Layout::Contiguous, Layout::Pitched, Layout::Transposed, Layout::InPlace] {
                    assert!(compare((&l, i, f), &args, &expected, contexts[round % 2], layout));
                }
            }
        }
    }
}
