//! Programs of the language: every construct through every reader, and chains of them.
//!
//! A construct makes an array of what it gets ([`In`]), a reader makes a result of an array. A pair
//! is a construct that a reader reads. In a chain, what one construct makes is what the next one
//! gets, and some stand in closures, whose element is a scalar of theirs; so every construct meets
//! every other one at any depth.

mod matrices;
mod records;
mod vectors;

use crate::case::Case;
use crate::generate::Call;
use crate::rng::Rng;
use crate::values;
use arraygpu::prelude::*;
use arraygpu_compiler::core::Function;
use arraygpu_compiler::core::interp::{self, Outcome, Value};
use arraygpu_compiler::driver;
use arraygpu_compiler::scalar::{Lit, Ty};
use std::sync::Arc;

/// The input of the functions in the tables.
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
    /// A number above every vector's length.
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

/// A scalar of a vector.
type ScalarOf = fn(VExp<f32>, In) -> SExp<f32>;

/// The lengths of vectors, rows and columns.
const LENGTHS: [usize; 2] = [3, 7];
const PLANES: usize = 3;
/// What the function of a program is called at first.
const NAME: &str = "f";

/// The function that a construct and a reader are; or why the language refuses it.
fn function<T: 'static>(make: &dyn Fn(In) -> T, reader: Reader<T>) -> Result<Function, String> {
    macro_rules! of {
        ($read:expr, $results:expr) => {{
            let f = |x, y, k, a, b, t, m, s| {
                let p = In { x, y, k, a, b, t, m, s };
                $read(make(p), p)
            };
            Package::new("t").function(NAME, ["x", "y", "k", "a", "b", "t", "m", "s"], $results, f)
        }};
    }
    let package = match reader {
        Reader::Scalar(read) => of!(read, "r"),
        Reader::Vector(read) => of!(read, "r"),
        Reader::Matrix(read) => of!(read, "r"),
        Reader::Tensor(read) => of!(read, "r"),
        Reader::Two(read) => of!(read, ["r", "q"]),
    };
    package.functions().map(|mut all| all.remove(0)).map_err(|e| e.to_string())
}

/// A call with vectors of `n` elements, which `element` gives.
fn call(n: usize, fits: bool, mut element: impl FnMut(usize) -> Lit) -> Call {
    let mut f32s = |count: usize, from: usize| (0..count).map(|i| element(i + from)).collect::<Vec<_>>();
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
    Call { fits, args }
}

/// An element of the pairs' calls.
fn small(i: usize) -> Lit {
    Lit::f32((i * 37 % 17) as f32 * 0.5 - 3.0)
}

/// A name and a program of it.
type Named = (String, Case);

/// The number of pairs of a table, and access to a pair by its number.
type Table = (usize, fn(usize) -> Result<Named, String>);

const TABLES: [Table; 3] = [
    (vectors::CONSTRUCTS.len() * vectors::READERS.len(), |i| pair(vectors::CONSTRUCTS, vectors::READERS, i)),
    (matrices::CONSTRUCTS.len() * matrices::READERS.len(), |i| {
        pair(matrices::CONSTRUCTS, matrices::READERS, i)
    }),
    (matrices::TENSORS.len() * matrices::READERS_OF_TENSORS.len(), |i| {
        pair(matrices::TENSORS, matrices::READERS_OF_TENSORS, i)
    }),
];

/// How many pairs there are: the first programs.
pub fn pairs() -> u64 {
    TABLES.iter().map(|t| t.0 as u64).sum()
}

/// For each construct, the number of the pair whose reader gives its array unchanged.
pub fn constructs() -> Vec<u64> {
    let readers = [vectors::READERS.len(), matrices::READERS.len(), matrices::READERS_OF_TENSORS.len()];
    let mut first = 0;
    let mut all = Vec::new();
    for ((pairs, _), readers) in TABLES.iter().zip(readers) {
        all.extend((first..first + pairs).step_by(readers).map(|n| n as u64));
        first += pairs;
    }
    all
}

/// The program of a number, and what it is: a pair, and from [`pairs`] on a chain.
pub fn program(number: u64) -> Result<Named, String> {
    let mut left = number;
    let mut named = None;
    for (pairs, pair) in TABLES {
        if left < pairs as u64 {
            named = Some(pair(left as usize)?);
            break;
        }
        left -= pairs as u64;
    }
    let mut named = named.unwrap_or_else(|| chain(number));
    rename(&mut named.1.function, number);
    Ok(named)
}

/// `f` of program 7, and the steps of its iterations, begin with `f7`: several programs are
/// compiled to one file of C.
fn rename(f: &mut Function, number: u64) {
    f.name = f.name.replacen(NAME, &format!("{NAME}{number}"), 1);
    f.steps.iter_mut().for_each(|step| rename(Arc::make_mut(step), number));
}

fn pair<T: Copy + 'static>(
    constructs: Constructs<T>,
    readers: Readers<T>,
    i: usize,
) -> Result<Named, String> {
    let (construct, reader) = (constructs[i / readers.len()], readers[i % readers.len()]);
    let name = format!("{} read by {}", construct.0, reader.0);
    let made = |reader| function(&construct.1, reader).map_err(|e| format!("{name}: {e}"));
    let (function, unread) = (made(reader.1)?, made(readers[0].1)?);
    let mut calls: Vec<Call> = LENGTHS.map(|n| call(n, true, small)).into();
    // a construct may make an array of another length, which readers that ask for equal ones refuse; the first reader
    // changes nothing
    for call in &mut calls {
        call.fits = has_usual_shape(&unread, call);
    }
    Ok((name, Case { function, calls, refused: None }))
}

/// Whether a function gives an array of the shape of the parameter of its rank.
fn has_usual_shape(f: &Function, call: &Call) -> bool {
    let Ok(Outcome { results, .. }) = interp::run(f, &call.args) else { return true };
    let shape = |v: &Value| match v {
        Value::Scalar(_) => vec![],
        Value::Vector(v) => vec![v.len() as i64],
        Value::Array(extents, _) => extents.clone(),
    };
    let made = shape(&results[0]);
    call.args.iter().map(shape).find(|of| of.len() == made.len()).is_none_or(|usual| usual == made)
}

/// A link of a chain: what it replaces by what a construct makes.
#[derive(Clone, Copy)]
enum Link {
    X(fn(In) -> VExp<f32>),
    Y(fn(In) -> VExp<f32>),
    A(fn(In) -> MExp<f32>),
    B(fn(In) -> MExp<f32>),
    T(fn(In) -> TExp<f32>),
    /// A scalar of the vector that the construct makes.
    S(fn(In) -> VExp<f32>, ScalarOf),
    /// The vector of such scalars, one for each element; the construct gets the element.
    Nested(fn(In) -> VExp<f32>, ScalarOf),
}

impl Link {
    fn after(self, p: In) -> In {
        match self {
            Link::X(make) => In { x: make(p), ..p },
            Link::Y(make) => In { y: make(p), ..p },
            Link::A(make) => In { a: make(p), ..p },
            Link::B(make) => In { b: make(p), ..p },
            Link::T(make) => In { t: make(p), ..p },
            Link::S(make, read) => In { s: read(make(p), p), ..p },
            Link::Nested(make, read) => {
                let inside = |s: SExp<f32>| {
                    let p = In { s, ..p };
                    read(make(p), p)
                };
                In { y: p.x.map(inside), ..p }
            }
        }
    }
}

/// Several constructs, one after the other, and a reader. What the language refuses at once (a
/// stage of data, say) is another chain.
fn chain(number: u64) -> Named {
    let mut rng = Rng::new(number ^ 0xc4a1);
    loop {
        let (mut names, links): (Vec<_>, Vec<_>) = (0..1 + rng.below(4)).map(|_| link(&mut rng)).unzip();
        let nested = links.iter().any(|l| matches!(l, Link::Nested(..)));
        let before = |p: In| links.iter().fold(p, |p, link| link.after(p));
        let (name, made) = match rng.below(5) {
            0 | 1 => end(vectors::CONSTRUCTS, vectors::READERS, &before, &mut rng),
            2 | 3 => end(matrices::CONSTRUCTS, matrices::READERS, &before, &mut rng),
            _ => end(matrices::TENSORS, matrices::READERS_OF_TENSORS, &before, &mut rng),
        };
        names.push(name);
        let Ok(function) = made else { continue };
        // the compiler refuses lengths that can never be equal, and staged data
        if driver::fuse(&function).is_err_and(|e| ["E0310", "E0311"].contains(&e.code)) {
            continue;
        }
        // two arrays may have different numbers of planes: a shape rule then refuses the call
        let mut lengths = LENGTHS.to_vec();
        lengths.push(rng.pick(&[0, 1, 2, 17]));
        let calls = lengths.iter().map(|n| call(*n, false, |_| values::element(Ty::F32, &mut rng)));
        let calls = calls.collect();
        // a stored array in a closure may depend on the closure's element
        let refused = nested.then(|| "E0401".into());
        return (names.join(", "), Case { function, calls, refused });
    }
}

/// A link with its name.
fn link(rng: &mut Rng) -> (String, Link) {
    let (of_vector, vector) = rng.pick(vectors::CONSTRUCTS);
    let (of_matrix, matrix) = rng.pick(matrices::CONSTRUCTS);
    let (of_tensor, tensor) = rng.pick(matrices::TENSORS);
    let (read, scalar) = rng.pick(&scalars());
    match rng.below(9) {
        0 | 1 => (format!("x = {of_vector}"), Link::X(vector)),
        2 => (format!("y = {of_vector}"), Link::Y(vector)),
        3 | 4 => (format!("a = {of_matrix}"), Link::A(matrix)),
        5 => (format!("b = {of_matrix}"), Link::B(matrix)),
        6 => (format!("t = {of_tensor}"), Link::T(tensor)),
        7 => (format!("s = {read} of {of_vector}"), Link::S(vector, scalar)),
        _ => (format!("y = each {read} of {of_vector}"), Link::Nested(vector, scalar)),
    }
}

/// The last construct of a chain with its reader, applied to the links before.
fn end<T: Copy + 'static>(
    constructs: Constructs<T>,
    readers: Readers<T>,
    before: &dyn Fn(In) -> In,
    rng: &mut Rng,
) -> (String, Result<Function, String>) {
    let ((of, make), (by, reader)) = (rng.pick(constructs), rng.pick(readers));
    (format!("{of} read by {by}"), function(&|p| make(before(p)), reader))
}

/// The readers that give a scalar.
fn scalars() -> Vec<(&'static str, ScalarOf)> {
    let scalar = |(name, reader): &(&'static str, Reader<VExp<f32>>)| match *reader {
        Reader::Scalar(read) => Some((*name, read)),
        _ => None,
    };
    vectors::READERS.iter().filter_map(scalar).collect()
}
