//! Elements that test their indices themselves, through the C compiler and the runtime: the interpreter's bits, and the same record from the code with tests and from the code without.

mod common;

use arraygpu_capi::abi::AgpuStatus;
use arraygpu_compiler::core::interp::{self, Value};
use arraygpu_compiler::core::{Param, parse};
use arraygpu_compiler::scalar::{Lit, eval_cast};
use common::{Layout, compile, context, load_highest, shapes};

/// Extents: empty, shorter than what is read around an element, and longer than a tile.
const SIZES: [[i64; 2]; 14] = [
    [0, 0],
    [0, 3],
    [3, 0],
    [1, 1],
    [2, 1],
    [1, 2],
    [2, 2],
    [3, 4],
    [9, 1],
    [1, 9],
    [7, 40],
    [40, 7],
    [3, 2050],
    [2100, 2],
];

/// Values of scalars beside the sizes.
const SCALARS: [i64; 12] = [0, 1, -1, 2, 3, 5, -4, 8, 1 << 40, -(1 << 45), i64::MAX, i64::MIN];

fn argument(p: &Param, seed: i64, [rows, columns]: [i64; 2], round: i64) -> Value {
    let element = |i: i64| {
        let value = (i * 37 + seed * 11 + round) % 113;
        if p.ty.elem.is_float() {
            Lit::float(p.ty.elem, value as f64 / 4.0)
        } else {
            eval_cast(p.ty.elem, Lit::i64(value))
        }
    };
    let elements = |n: i64| (0..n).map(element).collect::<Vec<_>>();
    let size = |k: i64| match round % 3 {
        0 => k,
        1 => (k + SCALARS[(round / 3 % 7) as usize]).clamp(0, 3000),
        _ => (k / 2 + round % 4).clamp(0, 3000),
    };
    match p.name.as_str() {
        "u" => Value::Array(vec![rows, columns], elements(rows * columns)),
        "t" => {
            Value::Array(vec![rows.min(40), 2, columns.min(90)], elements(rows.min(40) * 2 * columns.min(90)))
        }
        "x" => Value::Vector(elements(rows * columns)),
        "y" => Value::Vector(elements(columns + round % 3)),
        "w" => {
            let any =
                |i: i64| if i % 7 == 3 { SCALARS[((i + round) % 12) as usize] } else { (i + round) % 9 };
            Value::Vector((0..columns).map(|i| Lit::i64(any(i))).collect())
        }
        "n" => Value::Scalar(Lit::i64(size(if seed == 1 { rows } else { columns }))),
        "m" => Value::Scalar(Lit::i64(size(columns))),
        "k" => Value::Scalar(Lit::i64(SCALARS[(round % 12) as usize])),
        name => panic!("no argument for {name}"),
    }
}

#[test]
fn bits_and_records() {
    let programs = parse::parse(include_str!("guarded.core")).unwrap_or_else(|e| panic!("{e}"));
    let loaded = load_highest(&compile(programs.clone()));
    let contexts = [1, 2].map(context);
    for (i, f) in programs.iter().enumerate() {
        let (mut values, mut records) = (0, 0);
        for (k, sizes) in SIZES.into_iter().enumerate() {
            for turn in 0..12 {
                let round = turn + 5 * k as i64;
                let args: Vec<Value> =
                    (0..).zip(&f.params).map(|(seed, p)| argument(p, seed, sizes, round)).collect();
                let case = format!("@{} of {sizes:?}, round {round}", f.name);
                let expected = interp::run(f, &args).unwrap_or_else(|e| panic!("{case}: {e}"));
                let extents = shapes(&expected.results);
                let mut first = None;
                // the last layouts run code with all tests
                for layout in [Layout::Contiguous, Layout::Pitched, Layout::Strided, Layout::Transposed] {
                    let called = loaded.call(i, contexts[k % 2], &args, &extents, layout);
                    let recorded = matches!(called.status, AgpuStatus::AgpuErrorRecord);
                    assert!(
                        recorded || matches!(called.status, AgpuStatus::AgpuOk),
                        "{case}: {}",
                        called.message
                    );
                    assert_eq!(recorded, expected.recorded, "{case}, {layout:?}: {}", called.message);
                    let message = recorded.then_some(called.message);
                    assert_eq!(first.get_or_insert(message.clone()), &message, "{case}, {layout:?}");
                    if !recorded {
                        assert!(
                            called.results == expected.results,
                            "{case}, {layout:?}: {:?}\n{:?}",
                            called.results,
                            expected.results
                        );
                    }
                }
                values += usize::from(!expected.recorded);
                records += usize::from(expected.recorded);
            }
        }
        assert!(values > 10, "@{}: {values} without and {records} with a record", f.name);
    }
}
