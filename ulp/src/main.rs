//! `ulp FUNCTION|all f32|f64 [STEP]`: the greatest error of a function in units in the last place, and where.
//! f32 of one number: every STEP-th of the 2^32 inputs (1: all). Others: 2^26 / STEP inputs (f32 of two numbers: 2^28 / STEP): random bits, near powers of two, of
//! moderate size, and where functions are hard; and all special values.

mod extended;
mod format;
mod functions;
mod inputs;
mod search;

use format::Format;
use functions::{FUNCTIONS, PAIRS};
use search::{Subject, Worst};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (Some(name), Some(ty)) = (args.first(), args.get(1)) else {
        let names: Vec<_> = FUNCTIONS.iter().chain(PAIRS).map(|f| f.name).collect();
        return eprintln!("ulp FUNCTION|all f32|f64 [STEP]; functions: {}", names.join(" "));
    };
    let step: u64 = args.get(2).and_then(|s| s.parse().ok()).unwrap_or(1);
    let format = if ty == "f32" { Format::Single } else { Format::Double };
    for f in FUNCTIONS.iter().chain(PAIRS).filter(|f| f.name == name || name == "all") {
        let subject = Subject::new(f, format);
        report(&subject, worst(&subject, step));
    }
}

/// The worst of special values and of the many.
fn worst(subject: &Subject, step: u64) -> Worst {
    let f = subject.format;
    let special = inputs::special(f);
    let n = special.len() as u64;
    if subject.function.two {
        let pairs = subject.search(n * n, |i| (special[(i / n) as usize], special[(i % n) as usize]));
        let count = if f == Format::Single { 1u64 << 28 } else { 1 << 26 };
        return pairs.or(subject.search(count / step, |i| inputs::two(f, i)));
    }
    let few = subject.search(n, |i| (special[i as usize], 0));
    few.or(match f {
        Format::Single => subject.search((1 << 32) / step, |i| (i * step, 0)),
        Format::Double => subject.search((1 << 26) / step, |i| (inputs::one(f, i), 0)),
    })
}

fn report(subject: &Subject, worst: Worst) {
    let (f, name) = (subject.format, subject.function.name);
    let Worst { ulps, x, y } = worst;
    let at = |bits: u64| format!("{:e} (0x{bits:x})", f.value(bits));
    let place = if subject.function.two { format!("{}, {}", at(x), at(y)) } else { at(x) };
    let (ours, exact) = (subject.ours(x, y), subject.exact(x, y).to_f64());
    println!("{name:8} {} {ulps:.4} ulp at {place}: {ours:e}, exactly {exact:e}", f.name());
    if !subject.judges_all() {
        println!("         where it equals glibc's it was not looked at: those are within glibc's bound");
    }
    if subject.misjudged() > 0 {
        println!("         {} times MPFR did not agree with the quick judge", subject.misjudged());
    }
}
