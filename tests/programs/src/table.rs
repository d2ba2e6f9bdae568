//! The table of the programs that are farthest from the ideal, `CLIFFS.md`.

use crate::figures::{EXTENTS, Figures, figures};
use crate::measured::Measured;
use crate::program::{Corpus, Excess, Program};
use crate::reason::Reason;
use arraygpu_compiler::driver::{self, Targets};
use std::fmt::Write;

/// The number of programs in the table.
const LISTED: usize = 20;
/// More traffic than this needs a reason.
pub const MOST_TRAFFIC: f64 = 1.5;
/// More operations or loads than this need a reason.
pub const MOST_WORK: f64 = 2.0;

/// What a vector beside matrices may add.
const NEAR: f64 = 1.02;

/// The figures of one program.
pub struct Row<'a> {
    /// The program.
    pub program: &'a Program,
    /// At each size, or why there are none.
    pub figures: Result<Vec<Figures>, String>,
}

impl Row<'_> {
    fn most(&self, of: impl Fn(&Figures) -> f64) -> f64 {
        self.figures.iter().flatten().map(of).fold(0.0, f64::max)
    }

    /// As [`Row::most`], without small calls, where a vector is much beside a matrix.
    fn most_of_large(&self, of: impl Fn(&Figures) -> f64) -> f64 {
        self.figures.iter().flatten().filter(|f| f.extent > EXTENTS[0]).map(of).fold(0.0, f64::max)
    }

    /// The greatest ratio of bytes.
    pub fn traffic(&self) -> f64 {
        self.most_of_large(Figures::traffic)
    }

    /// The greatest ratio of operations at any size.
    pub fn work(&self) -> f64 {
        self.most(Figures::work)
    }

    /// The greatest ratio of loads at any size.
    pub fn loads(&self) -> f64 {
        self.most(Figures::loads)
    }

    /// The launches, which do not depend on the size.
    pub fn launches(&self) -> f64 {
        self.most(|f| f.launches)
    }

    /// How far the program is from the ideal.
    pub fn distance(&self) -> f64 {
        match self.figures {
            Ok(_) => self.traffic().max(self.work()).max(self.loads()),
            Err(_) => f64::INFINITY,
        }
    }

    /// Where the program is far from the ideal.
    pub fn excesses(&self) -> Vec<Excess> {
        let all = [
            (Excess::Bytes, self.traffic() > MOST_TRAFFIC * NEAR),
            (Excess::Work, self.work().max(self.loads()) > MOST_WORK * NEAR),
            (Excess::Launches, self.launches() > self.program.fewest),
        ];
        all.into_iter().filter(|(_, is)| *is).map(|(excess, _)| excess).collect()
    }

    /// Where the program is far from the ideal, and none of its reasons says why.
    pub fn unexplained(&self) -> Vec<Excess> {
        let reasons = &self.program.reasons;
        let is_said = |of: &Excess| reasons.iter().any(|r| r.of == *of || r.also.contains(of));
        self.excesses().into_iter().filter(|of| !is_said(of)).collect()
    }

    /// The reasons for what the program is near the ideal in.
    pub fn needless(&self) -> Vec<Reason> {
        let excesses = self.excesses();
        self.program.reasons.iter().filter(|r| !excesses.contains(&r.of)).copied().collect()
    }
}

/// Returns the figures of a program. No kernel is compiled further than to kernel IR.
pub fn row(program: &Program) -> Row<'_> {
    let compiled =
        driver::compile_for("p", vec![program.function.clone()], Targets { cpu: true, cuda: false });
    let all = compiled.and_then(|c| EXTENTS.iter().map(|n| figures(program, &c, *n)).collect());
    Row { program, figures: all.map_err(|e| e.to_string()) }
}

/// Returns the figures of all programs, the farthest first.
pub fn rows(corpus: &Corpus) -> Vec<Row<'_>> {
    let mut rows: Vec<Row> = corpus.programs.iter().map(row).collect();
    let extra = |r: &Row| r.launches() / r.program.fewest;
    let key = |x: f64| (x * 100.0).round() / 100.0;
    rows.sort_by(|a, b| key(b.distance()).total_cmp(&key(a.distance())).then(extra(b).total_cmp(&extra(a))));
    rows
}

/// Returns the text of `CLIFFS.md`.
pub fn text(rows: &[Row], measured: &Measured) -> String {
    [farthest(rows), explained(rows, measured)].concat()
}

/// The programs that are farthest from the ideal.
fn farthest(rows: &[Row]) -> String {
    let mut out = String::from(HEAD);
    let count = |of: Excess| rows.iter().filter(|r| r.excesses().contains(&of)).count();
    let _ = writeln!(
        out,
        "{} programs. {} move more than {MOST_TRAFFIC} times the ideal bytes, {} make more than {MOST_WORK} times \
         the program's operations or loads, {} have more launches than they need.\n",
        rows.len(),
        count(Excess::Bytes),
        count(Excess::Work),
        count(Excess::Launches),
    );
    out += "| program | field | bytes | operations | loads | launches | temporaries | reason |\n";
    out += "|---|---|---|---|---|---|---|---|\n";
    for r in rows.iter().take(LISTED) {
        let p = r.program;
        let reason = reasons(p);
        let _ = match &r.figures {
            Ok(all) => writeln!(
                out,
                "| `{}` | {} | {} | {} | {} | {} of {} | {} | {reason} |",
                p.name,
                p.field,
                ratio(r.traffic()),
                ratio(r.work()),
                ratio(r.loads()),
                r.launches(),
                p.fewest,
                all.iter().map(|f| f.temporaries).max().unwrap_or(0),
            ),
            Err(e) => writeln!(out, "| `{}` | {} | refused | | | | | {reason} {e} |", p.name, p.field),
        };
    }
    out
}

/// The reasons of a program in a row.
fn reasons(p: &Program) -> String {
    p.reasons.iter().map(|r| r.text).collect::<Vec<_>>().join("; ")
}

/// All programs that have reasons, by these, beside the committed times.
fn explained(rows: &[Row], measured: &Measured) -> String {
    let mut out = String::from(EXPLAINED);
    let far = || rows.iter().filter(|r| !r.program.reasons.is_empty());
    let mut all: Vec<Reason> = Vec::new();
    for reason in far().flat_map(|r| &r.program.reasons) {
        if !all.contains(reason) {
            all.push(*reason);
        }
    }
    for (reason, number) in all.iter().zip(1..) {
        let _ = writeln!(out, "{number}. {}: {}.", reason.of.name(), reason.text);
    }
    out += "\n| program | reasons | bytes | work | launches | CPU extent | CPU us | C++ / ours | GPU extent | GPU us | predicted / measured |\n";
    out += "|---|---|---|---|---|---|---|---|---|---|---|\n";
    for r in far() {
        let p = r.program;
        let number = |of: &Reason| all.iter().position(|r| r == of).map_or(0, |at| at + 1).to_string();
        let numbers = p.reasons.iter().map(number).collect::<Vec<_>>().join(", ");
        let cpu = measured
            .cpu
            .get(p.name)
            .map_or("| | |".into(), |(extent, on)| format!("| {extent} | {:.1} | {:.2}", on.us, on.ratio));
        let gpu = measured.gpu.get(p.name).map_or("| | |".into(), |(extent, on)| {
            format!("| {extent} | {:.1} | {:.2}", on.measured, on.predicted / on.measured)
        });
        let work = ratio(r.work().max(r.loads()));
        let launches = format!("{} of {}", r.launches(), p.fewest);
        let _ = writeln!(
            out,
            "| `{}` | {numbers} | {} | {work} | {launches} {cpu} {gpu} |",
            p.name,
            ratio(r.traffic())
        );
    }
    out
}

fn ratio(x: f64) -> String {
    if x < 100.0 { format!("{x:.2}") } else { format!("{x:.0}") }
}

const HEAD: &str = "\
# Cliffs

Written by `cargo xtask cliffs`; a test checks that it is current. The programs of the corpus that are farthest from the
ideal, with every extent 64, 1024 and 16384 in turn (short ones, such as taps of filters, stay as they are); a ratio is
the greatest of the three, that of bytes of the last two.

- *bytes*: what all launches move over inputs and outputs once. An iteration's ideal is its step's inputs and outputs in
  each step.
- *operations*, *loads*: those of all launches over those of the program with every shared value computed once.
- *launches*: those of a call of the fewest that the dependences allow.
- *temporaries*: arrays that are stored and are no results.

An ideal sort reads its keys once, has n log2 n operations, and writes what is asked of the order; groups, segments and
filters have the operations of what they are made of, and no ideal stores anything but results.

";
const EXPLAINED: &str = "
## Exceptions

All programs that are far from the ideal, or have more launches than their dependences ask for, with their reasons; a
test asks for a reason of that kind for each. The times are the newest committed rows of `bench/results`, of the compiler
of that date: `*-plain.txt` on one thread of a CPU, beside plain C++ (`bench/plain`), and `*-programs.jsonl` on a GPU,
beside what the bytes, operations and launches of that compiler's plan predict. A program without a row was not measured.

";
