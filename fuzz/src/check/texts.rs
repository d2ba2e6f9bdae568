//! Damaged texts: whatever stands in a text of core IR, of a kernel, of a plan, of the launches
//! of GPUs or in a tuning file is read or refused with an error of the reader's. What is read still means what it
//! prints; a function that is legal compiles or is refused.

use super::Failure;
use crate::case::Case;
use crate::rng::Rng;
use arraygpu_compiler::core::{self, print};
use arraygpu_compiler::driver::{self, Targets};
use arraygpu_compiler::error::{Error, Kind};
use arraygpu_compiler::kernel::{self, Kernel};
use arraygpu_compiler::passes::pipeline;
use arraygpu_compiler::plan::{self, gpu, tuning};
use arraygpu_compiler::schedule::Scope;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Damages of each text.
const DAMAGES: usize = 12;

/// What the verifier of core IR says.
const NOT_WELL_FORMED: &str = "E0301";

/// Texts that were read or refused.
pub fn check(case: &Case) -> Result<u64, Failure> {
    let core = print::print(&case.function, false);
    let mut hash = DefaultHasher::new();
    core.hash(&mut hash);
    let mut rng = Rng::new(hash.finish());
    let mut tried = each(&core, &mut rng, "core IR", functions)?;
    let targets = Targets { cpu: true, cuda: true };
    // other stages check which programs are refused
    let Ok(compiled) = driver::compile_for("fuzz", vec![case.function.clone()], targets) else {
        return Ok(tried);
    };
    let of_gpu = compiled.gpu_variants().map(|code| &code.kernel);
    let of_cpu = compiled.kernels.iter().filter_map(|k| k.cpu.as_ref());
    let all: Vec<&Kernel> = of_cpu.map(|v| &v.contiguous.kernel).chain(of_gpu).collect();
    if !all.is_empty() {
        tried += each(&rng.pick(&all).to_string(), &mut rng, "kernel", kernels)?;
    }
    tried += each(&compiled.functions[0].plan.to_string(), &mut rng, "plan", plans)?;
    let launches = compiled.gpu_launches();
    if !launches.is_empty() {
        tried += each(&launches, &mut rng, "launches", |text| gpu::parse(text).map(drop))?;
        tried += each(&tuning_file(&launches), &mut rng, "tuning file", tunings)?;
    }
    Ok(tried)
}

/// Damages a text many times.
fn each(text: &str, rng: &mut Rng, what: &str, read: fn(&str) -> Result<(), Error>) -> Result<u64, Failure> {
    // a function that is not well-formed is no bug of the reader
    let is_bug = |e: &Error| e.kind == Kind::Bug && e.code != NOT_WELL_FORMED;
    if let Some(e) = read(text).err().filter(is_bug) {
        return Err(Failure::new(format!("a {what} that was printed is refused: {e}\n{text}")));
    }
    for _ in 0..DAMAGES {
        let mut damaged = text.to_string();
        for _ in 0..1 + rng.below(3) {
            damaged = damage(&damaged, rng);
        }
        // a panic is reported with the text, too
        let done = super::caught(|| Ok(read(&damaged)))
            .map_err(|f| Failure::new(format!("{}\n{damaged}", f.message)))?;
        if let Some(e) = done.err().filter(is_bug) {
            return Err(Failure::new(format!("a damaged {what} is a bug: {e}\n{damaged}")));
        }
    }
    Ok(DAMAGES as u64)
}

/// Reads core IR; what is legal goes through the passes and the schedule.
fn functions(text: &str) -> Result<(), Error> {
    driver::on_big_stack(|| {
        for f in core::parse::parse(text)? {
            core::verify::verify(&f)?;
            let fused = pipeline::run(&f, &mut |_, _| ())?;
            driver::schedule(&fused, Scope::Cpu)?;
        }
        Ok(())
    })
}

fn kernels(text: &str) -> Result<(), Error> {
    for k in kernel::parse::parse(text)? {
        same(&k, kernel::parse::parse(&k.to_string())?.first())?;
        if k.threads > 0 {
            // a well-formed kernel stays well-formed
            let mut changed = k.clone();
            kernel::pipeline::PASSES.iter().try_for_each(|pass| pass.run(&mut changed))?;
        }
    }
    Ok(())
}

fn plans(text: &str) -> Result<(), Error> {
    plan::parse::parse(text)?.iter().try_for_each(|p| same(p, plan::parse::parse(&p.to_string())?.first()))
}

/// A tuning file that names every variant of some launches.
fn tuning_file(launches: &str) -> String {
    let mut text = String::from("arraygpu tuning 1\ndevice A GPU\npackage fuzz 0123456789abcdef\n");
    for kernel in gpu::parse(launches).unwrap_or_default() {
        for (v, exponent) in kernel.variants.iter().zip(0..) {
            text +=
                &format!("{} over 2^{exponent}x2^3 of 2^5 runs {}  # {exponent} us\n", kernel.name, v.entry);
        }
        text += &format!("{} over any runs others\n", kernel.name);
    }
    text
}

fn tunings(text: &str) -> Result<(), Error> {
    tuning::parse(text)?.iter().try_for_each(|s| same(s, tuning::parse(&s.to_string())?.first()))
}

/// A printed text parses back to the same value.
fn same<T: std::fmt::Display>(read: &T, again: Option<&T>) -> Result<(), Error> {
    match again {
        Some(again) if again.to_string() == read.to_string() => Ok(()),
        _ => Err(Error::bug("E0199", format!("it reads back otherwise:\n{read}"))),
    }
}

/// A text with one thing wrong in it.
fn damage(text: &str, rng: &mut Rng) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let (i, j) = (rng.below(lines.len().max(1)), rng.below(lines.len().max(1)));
    match rng.below(9) {
        0 => text.chars().take(rng.below(text.len() + 1)).collect(),
        1 if !lines.is_empty() => {
            lines.remove(i);
            lines.join("\n")
        }
        2 if !lines.is_empty() => {
            lines.insert(j, lines[i]);
            lines.join("\n")
        }
        3 if !lines.is_empty() => {
            lines.swap(i, j);
            lines.join("\n")
        }
        4 => word(text, rng, |w| w.starts_with(|c: char| c.is_ascii_digit()), &NUMBERS),
        5 => {
            let names: Vec<&str> = text.split(is_between).filter(|w| w.starts_with('%')).collect();
            if names.is_empty() { text.into() } else { word(text, rng, |w| w.starts_with('%'), &names) }
        }
        6 => word(text, rng, |w| !w.is_empty(), &WORDS),
        7 => {
            let at = rng.below(text.chars().count() + 1);
            let odd = rng.pick(&['\0', '%', '{', '}', '"', '[', ']', '\u{1f600}', '\n', '-', '9', 'e', '.']);
            text.chars().take(at).chain([odd]).chain(text.chars().skip(at)).collect()
        }
        _ => {
            let types = ["f32", "f64", "i8", "i64", "u8", "u64", "bool", "f16", "bf16"];
            word(text, rng, |w| types.iter().any(|ty| w.ends_with(ty)), &types)
        }
    }
}

const NUMBERS: [&str; 10] = [
    "0",
    "-1",
    "1",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551616",
    "4294967296",
    "1e400",
    "0x",
    "99999999999999999999999999",
];
const WORDS: [&str; 14] = [
    "yield", "map", "generate", "reduce", "fold", "at", "elem", "len", "select", "iterate", "require",
    "return", "step", "cast",
];

fn is_between(c: char) -> bool {
    c.is_whitespace() || "(),:[]{}=\"".contains(c)
}

/// Another word in place of one that fits.
fn word(text: &str, rng: &mut Rng, fits: impl Fn(&str) -> bool, others: &[&str]) -> String {
    let words = text.split(is_between).filter(|w| !w.is_empty() && fits(w));
    let places: Vec<(usize, usize)> =
        words.map(|w| (w.as_ptr().addr() - text.as_ptr().addr(), w.len())).collect();
    if places.is_empty() {
        return text.into();
    }
    let (at, length) = rng.pick(&places);
    format!("{}{}{}", &text[..at], rng.pick(others), &text[at + length..])
}
