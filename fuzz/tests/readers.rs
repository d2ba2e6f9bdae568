//! Every construct through every reader: each pair is a function, whose calls have the interpreter's bits after every pass, on the simulated GPU, in the block interpreter and
//! in C. A method of the language that is in no table fails a test.

#[path = "readers/matrices.rs"]
mod matrices;
#[path = "readers/vectors.rs"]
mod vectors;

use arraygpu::prelude::*;
use arraygpu_compiler::core::Function;
use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::scalar::Lit;
use arraygpu_fuzz::case::Case;
use arraygpu_fuzz::check::{self, Stage};
use arraygpu_fuzz::generate::Call;
use arraygpu_fuzz::run::is_of_size;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What functions of the tables get.
#[derive(Clone, Copy)]
struct In {
    x: VExp<f32>,
    y: VExp<f32>,
    /// Indices, some of them out of range.
    k: VExp<i64>,
    a: MExp<f32>,
    b: MExp<f32>,
    t: TExp<f32>,
    m: SExp<i64>,
    s: SExp<f32>,
}

impl In {
    /// More than vectors are long.
    fn extra(&self) -> usize {
        LENGTHS[1]
    }
}

/// A reader, by what it gives.
#[derive(Clone, Copy)]
enum Reader<T: 'static> {
    Scalar(fn(T, In) -> SExp<f32>),
    Vector(fn(T, In) -> VExp<f32>),
    Matrix(fn(T, In) -> MExp<f32>),
    Tensor(fn(T, In) -> TExp<f32>),
    Two(fn(T, In) -> (SExp<f32>, VExp<f32>)),
}

/// Functions by the names of constructs and readers.
type Constructs<T> = &'static [(&'static str, fn(In) -> T)];
type Readers<T> = &'static [(&'static str, Reader<T>)];

/// The lengths of vectors, rows and columns.
const LENGTHS: [usize; 2] = [3, 7];
const PLANES: usize = 3;

/// The function of a construct and a reader.
fn function<T: 'static>(make: fn(In) -> T, reader: Reader<T>) -> Function {
    macro_rules! of {
        ($read:expr, $results:expr) => {{
            let f = |x: VExp<f32>,
                     y: VExp<f32>,
                     k: VExp<i64>,
                     a: MExp<f32>,
                     b: MExp<f32>,
                     t: TExp<f32>,
                     m: SExp<i64>,
                     s: SExp<f32>| {
                let p = In { x, y, k, a, b, t, m, s };
                $read(make(p), p)
            };
            Package::new("t").function("f", ["x", "y", "k", "a", "b", "t", "m", "s"], $results, f)
        }};
    }
    let package = match reader {
        Reader::Scalar(read) => of!(read, "r"),
        Reader::Vector(read) => of!(read, "r"),
        Reader::Matrix(read) => of!(read, "r"),
        Reader::Tensor(read) => of!(read, "r"),
        Reader::Two(read) => of!(read, ["r", "q"]),
    };
    package.functions().unwrap_or_else(|e| panic!("{e}")).remove(0)
}

/// A call of vectors with so many elements.
fn call(n: usize) -> Call {
    let f32s = |count: usize, from: usize| {
        (0..count).map(|i| Lit::f32(((i + from) * 37 % 17) as f32 * 0.5 - 3.0)).collect::<Vec<_>>()
    };
    let k = (0..n as i64).map(|i| Lit::i64((i * 3) % (n as i64 + 1) - i64::from(i == 4))).collect();
    let lengths = |first: usize| vec![first as i64, n as i64];
    let args = vec![
        Value::Vector(f32s(n, 1)),
        Value::Vector(f32s(n, 5)),
        Value::Vector(k),
        Value::Array(lengths(n), f32s(n * n, 3)),
        Value::Array(lengths(n), f32s(n * n, 8)),
        Value::Array([vec![PLANES as i64], lengths(n)].concat(), f32s(PLANES * n * n, 2)),
        Value::Scalar(Lit::i64(2)),
        Value::Scalar(Lit::f32(1.5)),
    ];
    Call { fits: true, args }
}

/// Each day's tests take another part of the pairs, and a third of these through C; with `ARRAYGPU_ALL_PAIRS` they take all.
const DAYS: usize = 8;
const OF_C: usize = 3 * DAYS;

fn day() -> Option<usize> {
    if std::env::var_os("ARRAYGPU_ALL_PAIRS").is_some() {
        return None;
    }
    Some(std::time::UNIX_EPOCH.elapsed().map_or(0, |t| t.as_secs() / 86_400) as usize)
}

/// The pairs of the day, on two threads.
fn pairs<T: Copy + 'static>(constructs: Constructs<T>, readers: Readers<T>)
where
    Reader<T>: Sync,
{
    let next = AtomicUsize::new(0);
    let (day, all) = (day(), constructs.len() * readers.len());
    let takes = |i: usize, parts: usize| day.is_none_or(|day| i % parts == day % parts);
    let run = || {
        let mut failures = Vec::new();
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let (Some(construct), reader) = (constructs.get(i / readers.len()), readers[i % readers.len()])
            else {
                return failures;
            };
            if !takes(i, DAYS) {
                continue;
            }
            let case = Case {
                function: function(construct.1, reader.1),
                calls: LENGTHS.map(call).into(),
                refused: None,
            };
            let stages = Stage::ALL.into_iter().filter(|s| *s != Stage::C || takes(i, OF_C));
            for stage in stages {
                // times are of debug builds here: `cargo xtask fuzz` asks for them
                if let Err(f) = check::check(stage, &case)
                    && !is_of_size(&f.class)
                {
                    let (c, r) = (construct.0, reader.0);
                    failures.push(format!(
                        "{c} read by {r}, {}: {}\n{}",
                        stage.name(),
                        f.message,
                        case.text()
                    ));
                }
            }
        }
    };
    let failures: Vec<String> = std::thread::scope(|s| {
        let threads = [(); 2].map(|()| s.spawn(run));
        threads.into_iter().flat_map(|t| t.join().expect("failures are values")).collect()
    });
    let shown: Vec<&str> = failures.iter().map(String::as_str).take(3).collect();
    assert!(failures.is_empty(), "{} of {all} pairs fail:\n{}", failures.len(), shown.join("\n"));
}

#[test]
#[ignore = "minutes: cargo test --profile fuzz -p arraygpu-fuzz --test readers -- --ignored"]
fn vectors() {
    pairs(vectors::CONSTRUCTS, vectors::READERS);
}

#[test]
#[ignore = "minutes: cargo test --profile fuzz -p arraygpu-fuzz --test readers -- --ignored"]
fn matrices() {
    pairs(matrices::CONSTRUCTS, matrices::READERS);
}

#[test]
#[ignore = "minutes: cargo test --profile fuzz -p arraygpu-fuzz --test readers -- --ignored"]
fn tensors() {
    pairs(matrices::TENSORS, matrices::READERS_OF_TENSORS);
}

/// Methods and functions that are no constructs of their own: scalars, names, what the tables' closures use, and forms of others.
const BESIDE: &[&str] =
    &["mul_add", "ldexp", "frexp", "cast", "lit", "cond", "slet", "stage", "stage_with", "sum_in_order"];

/// Every public method that makes or reads an array stands in a table.
#[test]
fn the_tables_are_complete() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let tables = include_str!("readers/vectors.rs").to_string() + include_str!("readers/matrices.rs");
    let mut missing = Vec::new();
    for file in
        ["vector", "matrix", "array", "axis", "reduce", "stencil", "update", "iterate", "scalar", "stage"]
    {
        let text =
            std::fs::read_to_string(format!("{root}/dsl/src/{file}.rs")).expect("the language's source");
        for rest in text.split("pub fn ").skip(1) {
            let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let used = tables.contains(&format!(".{name}(")) || tables.contains(&format!(" {name}("));
            // names that macros make begin with `$`; those of methods inside of the crate take nodes
            if !name.is_empty() && !used && !BESIDE.contains(&name.as_str()) && name != "operands" {
                missing.push(format!("{name} of {file}.rs"));
            }
        }
    }
    assert!(missing.is_empty(), "in no table: {missing:?}");
}
