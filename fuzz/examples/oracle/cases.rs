//! The programs: random ones, every operator on every type, and the text files of the tests.

use arraygpu_compiler::core::interp::{self, Value};
use arraygpu_compiler::core::{Function, NodeId, Op, Param, Rule, parse};
use arraygpu_compiler::scalar::{Lit, Ty};
use arraygpu_fuzz::{seeds, stream};
use arraygpu_suite::arguments::value as nested_value;
use arraygpu_suite::{operators, rng::Rng, semantics, values};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

/// How many random programs, other ones each day.
const RANDOM: usize = 400;
const SIZES: [usize; 12] = [0, 1, 2, 3, 5, 17, 127, 129, 300, 2047, 2049, 4500];
/// Cases along the axes of matrices.
const LENGTHS: [usize; 8] = [0, 1, 2, 3, 7, 16, 33, 130];
/// How many of [`SIZES`] where every element goes over others, and of [`LENGTHS`] where there are planes.
const NESTED_SIZES: usize = 7;
const CUBE_LENGTHS: usize = 6;
/// Files whose programs are not well-formed.
const REFUSED: [&str; 8] = [
    "bad_syntax",
    "wrong_type",
    "wrong_initial_value",
    "stage_device",
    "scan_part_not_stored",
    "place_of_text",
    "bins_not_exact",
    "bins_not_stored",
];
/// Calls of a program from a file, and how often arguments are tried for one that is not refused.
const CALLS: usize = 4;
const TRIES: usize = 40;

/// Prints what must occur, and all programs with their calls.
pub fn print_all(out: &mut impl Write) -> io::Result<()> {
    stream::must(out)?;
    for (f, calls) in semantics::statements() {
        let calls: Vec<Vec<Value>> = calls.into_iter().map(|c| c.args).collect();
        stream::program(out, &format!("semantics/{}", f.name), &f, &calls)?;
    }
    for f in operators::functions() {
        let calls = [operators::arguments(&f)];
        stream::program(out, &format!("operators/{}", f.name), &f, &calls)?;
    }
    for Program { name, f, calls: written } in from_files()? {
        let made = calls(&f, &mut Rng::new(name.len() as u64));
        let calls: Vec<Vec<Value>> = written.into_iter().chain(made).collect();
        stream::program(out, &name, &f, &calls)?;
    }
    for seed in seeds::of_today().take(RANDOM) {
        stream::seed(out, seed)?;
    }
    Ok(())
}

/// A function of a file, and the arguments that are written there.
struct Program {
    name: String,
    f: Function,
    calls: Vec<Vec<Value>>,
}

/// Every function of the text files that is well-formed (some show what is not), named by its file.
fn from_files() -> io::Result<Vec<Program>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for folder in ["compiler/tests/files", "compiler/tests/nested", "tests", "tests/gpu", "tests/independent"]
    {
        for entry in std::fs::read_dir(root.join(folder))? {
            let path = entry?.path();
            if path.extension().is_some_and(|e| e == "core") {
                files.push(path);
            }
        }
    }
    files.sort();
    let mut found = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if REFUSED.contains(&name.as_str()) {
            continue;
        }
        for ty in types(&text) {
            let text = text.replace("TYPE", ty.name()).replace("ANY", ty.name());
            parse::parse(&text).map_err(|e| io::Error::other(format!("{name}: {e}")))?;
            for (f, calls) in semantics::functions(&text) {
                let calls = calls.into_iter().map(|c| c.args).collect();
                found.push(Program { name: format!("{name}/{}", f.name), f, calls });
            }
        }
    }
    Ok(found)
}

/// The types of a file's programs: TYPE means the types that every operation takes, ANY also the halves.
fn types(text: &str) -> Vec<Ty> {
    let of = |ty: &Ty| match (text.contains("ANY"), text.contains("TYPE")) {
        (true, _) => *ty != Ty::Bool,
        (_, true) => *ty != Ty::Bool && !ty.is_half(),
        _ => *ty == Ty::F32,
    };
    Ty::ALL.into_iter().filter(of).collect()
}

/// Some calls; at most one that a shape rule refuses, unless all are.
fn calls(f: &Function, rng: &mut Rng) -> Vec<Vec<Value>> {
    let (mut taken, mut refused) = (Vec::new(), None);
    for round in 0..TRIES {
        let args = arguments(f, round, rng);
        match interp::run(f, &args) {
            Ok(_) => taken.push(args),
            Err(_) => refused = refused.or(Some(args)),
        }
        if taken.len() == CALLS {
            break;
        }
    }
    taken.extend(refused);
    taken
}

/// Arguments whose lengths are equal where a shape rule says that these of two parameters are.
fn arguments(f: &Function, round: usize, rng: &mut Rng) -> Vec<Value> {
    let classes = classes(f);
    let rank = f.params.iter().map(|p| p.ty.rank).max().unwrap_or(0);
    let nested = f.graph.reachable(f.roots()).into_iter().any(|n| nested(f, n));
    let sizes: &[usize] = match rank {
        3.. => &LENGTHS[..CUBE_LENGTHS],
        2 => &LENGTHS,
        _ if nested => &SIZES[..NESTED_SIZES],
        _ => &SIZES,
    };
    let equal = rng.one_in(2).then(|| rng.pick(&sizes[..sizes.len().min(LENGTHS.len())]));
    let mut lengths = BTreeMap::new();
    let mut length = |class: (u32, u8), rng: &mut Rng| {
        let any = rng.pick(sizes);
        *lengths.entry(class).or_insert(equal.unwrap_or(any))
    };
    let mut argument = |(i, p): (u32, &Param)| {
        let ty = p.ty.elem;
        let extents: Vec<usize> = (0..p.ty.rank)
            .map(|axis| length(classes.get(&(i, axis)).copied().unwrap_or((i, axis)), rng))
            .collect();
        let lit = |rng: &mut Rng| match ty {
            Ty::I64 => Lit::i64(rng.below(if p.ty.rank == 0 { 7 } else { 40 }) as i64 - 1),
            ty if ty.is_float() && round.is_multiple_of(2) => {
                Lit::float(ty, nested_value(Ty::F64, rng).as_f64())
            }
            ty => values::literal(ty, rng),
        };
        let all = (0..extents.iter().product()).map(|_| lit(rng)).collect::<Vec<Lit>>();
        match extents.len() {
            0 => Value::Scalar(all[0]),
            1 => Value::Vector(all),
            _ => Value::Array(extents.iter().map(|n| *n as i64).collect(), all),
        }
    };
    (0..).zip(&f.params).map(&mut argument).collect()
}

/// Whether a node goes over elements inside of an element.
fn nested(f: &Function, n: NodeId) -> bool {
    let op = f.graph.op(n);
    (op.is_reduction() || matches!(op, Op::Generate(..))) && !f.graph.is_closed(n)
}

/// A representative of the lengths that are equal, for each length of a parameter.
fn classes(f: &Function) -> BTreeMap<(u32, u8), (u32, u8)> {
    let length = |n: NodeId| match f.graph.op(n) {
        Op::Len(x, axis) => match f.graph.op(*x) {
            Op::Param(p) => Some((*p, *axis)),
            _ => None,
        },
        _ => None,
    };
    let mut classes = BTreeMap::new();
    for r in f.requires.iter().filter(|r| r.rule == Rule::Same) {
        if let (Some(a), Some(b)) = (length(r.a), length(r.b)) {
            let of = |k, classes: &BTreeMap<_, _>| *classes.get(&k).unwrap_or(&k);
            let (a, b) = (of(a, &classes), of(b, &classes));
            classes.values_mut().filter(|v| **v == b).for_each(|v| *v = a);
            classes.extend([(a, a), (b, a)]);
        }
    }
    classes
}
