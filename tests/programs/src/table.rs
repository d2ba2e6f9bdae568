//! The table of the programs that are farthest from the ideal, `CLIFFS.md`.

use crate::figures::{EXTENTS, Figures, figures};
use crate::program::{Corpus, Program};
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

    /// Whether a reason is needed.
    pub fn is_far(&self) -> bool {
        self.figures.is_err()
            || self.traffic() > MOST_TRAFFIC * NEAR
            || self.work().max(self.loads()) > MOST_WORK * NEAR
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
pub fn text(rows: &[Row]) -> String {
    let mut out = String::from(HEAD);
    let count = |is: &dyn Fn(&Row) -> bool| rows.iter().filter(|r| is(r)).count();
    let _ = writeln!(
        out,
        "{} programs. {} move more than {MOST_TRAFFIC} times the ideal bytes, {} make more than {MOST_WORK} times \
         the program's operations or loads, {} have more launches than they need.\n",
        rows.len(),
        count(&|r| r.traffic() > MOST_TRAFFIC * NEAR),
        count(&|r| r.work().max(r.loads()) > MOST_WORK * NEAR),
        count(&|r| r.launches() > r.program.fewest),
    );
    out += "| program | field | bytes | operations | loads | launches | temporaries | reason |\n";
    out += "|---|---|---|---|---|---|---|---|\n";
    for r in rows.iter().take(LISTED) {
        let p = r.program;
        let reason = p.reason.unwrap_or_default();
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

";
