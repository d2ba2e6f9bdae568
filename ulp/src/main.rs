//! `ulp FUNCTION|all f32|f64 [STEP] [--points N] [--monotone] [--json]` measures the greatest error
//! of a function in units in the last place, and reports where it occurs.
//!
//! For f32 functions of one number, every STEP-th of the 2^32 inputs is measured (1: all). For
//! others, N inputs are measured (by default 2^26 / STEP; for f32 of two numbers 2^28 / STEP):
//! random bits, numbers near powers of two, of moderate size, and those for which functions are
//! hard; in addition all special values, and the neighbourhood of the worst inputs. `--monotone`
//! reports whether the results of neighbours keep their order. `--json` prints one row per
//! function.
//!
//! `ulp names` lists the functions. `ulp hard FUNCTION` writes the table of hard cases for the
//! tests of `math/`.

mod extended;
mod format;
mod functions;
mod hard;
mod inputs;
mod monotone;
mod reduction;
mod report;
mod search;

use format::Format;
use functions::{FUNCTIONS, Function, LDEXP, PAIRS};
use search::{Subject, Worst};

struct Options {
    step: u64,
    points: Option<u64>,
    monotone: bool,
    json: bool,
}

fn all() -> impl Iterator<Item = &'static Function> {
    FUNCTIONS.iter().chain(PAIRS).chain([&LDEXP])
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("names") => return all().for_each(|f| println!("{}", f.name)),
        Some("hard") => {
            let wanted = |f: &&Function| args.get(1).is_some_and(|name| name == f.name);
            return all().filter(wanted).for_each(|f| print!("{}", hard::lines(f)));
        }
        _ => {}
    }
    let (Some(name), Some(ty)) = (args.first(), args.get(1)) else {
        let names: Vec<_> = all().map(|f| f.name).collect();
        return eprintln!(
            "ulp FUNCTION|all f32|f64 [STEP] [--points N] [--monotone] [--json]; functions: {}",
            names.join(" ")
        );
    };
    let value = |option: &str| {
        let at = args.iter().position(|a| a == option)?;
        args.get(at + 1)?.parse().ok()
    };
    let has = |option: &str| args.iter().any(|a| a == option);
    let step = args.get(2).and_then(|s| s.parse().ok()).unwrap_or(1);
    let options =
        Options { step, points: value("--points"), monotone: has("--monotone"), json: has("--json") };
    let format = if ty == "f32" { Format::Single } else { Format::Double };
    for f in all().filter(|f| f.name == name || name == "all") {
        let subject = Subject::new(f, format);
        let (worst, inputs) = worst(&subject, &options);
        let count = options.points.unwrap_or((1 << 26) / options.step);
        let breaks = options.monotone.then(|| monotone::check(&subject, count)).flatten();
        let result = report::Result { subject: &subject, worst, inputs, breaks };
        println!("{}", if options.json { result.row() } else { result.text() });
    }
}

/// Returns the worst of the special values, of the many inputs, and of the neighbourhood of the
/// worst of those; and the number of inputs.
fn worst(subject: &Subject, options: &Options) -> (Worst, u64) {
    let f = subject.format;
    let special = inputs::special(f);
    let n = special.len() as u64;
    if subject.function.two {
        let pairs = subject.search(n * n, |i| (special[(i / n) as usize], special[(i % n) as usize]));
        let most = if f == Format::Single { 1u64 << 28 } else { 1 << 26 };
        let count = options.points.unwrap_or(most / options.step);
        return (pairs.or(subject.search(count, |i| inputs::two(f, i))).or(subject.refine()), n * n + count);
    }
    let few = subject.search(n, |i| (special[i as usize], 0));
    let (worst, count) = match f {
        Format::Single => {
            let count = (1 << 32) / options.step;
            (subject.search(count, |i| (i * options.step, 0)), count)
        }
        Format::Double => {
            let count = options.points.unwrap_or((1 << 26) / options.step);
            (subject.search(count, |i| (inputs::one(f, i), 0)).or(hard(subject)).or(subject.refine()), count)
        }
    };
    (few.or(worst), count)
}

/// Measures inputs that are hard for this function alone.
fn hard(subject: &Subject) -> Worst {
    if !["sin", "cos", "tan"].contains(&subject.function.name) {
        return Worst::NONE;
    }
    let f = subject.format;
    let near = reduction::near_multiples(f.mantissa(), f.bias() as i32);
    let n = near.len() as u64;
    subject.search(4 * n, |i| {
        let sign = if i / n < 2 { 0 } else { f.sign() };
        let bits = f.bits(near[(i % n) as usize]) | sign;
        (if (i / n).is_multiple_of(2) { bits } else { inputs::around(f, bits, i) }, 0)
    })
}
