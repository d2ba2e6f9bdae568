//! What a program's launches move and compute at some sizes, beside what it asks for.

use crate::program::Program;
use arraygpu_compiler::counts::{self, Counts, Size};
use arraygpu_compiler::driver::Compiled;
use arraygpu_compiler::explain::model::Amount;
use arraygpu_compiler::explain::{self, Extent, Options};
use arraygpu_compiler::scalar::{Lit, Ty, eval_cast};
use arraygpu_compiler::{Error, Result};

/// The sizes of each extent, in turn.
pub const EXTENTS: [i64; 3] = [64, 1024, 16384];

/// The figures of a program at one size.
#[derive(Clone, Debug)]
pub struct Figures {
    /// The size of the extents.
    pub extent: i64,
    /// Bytes that the launches move.
    pub bytes: f64,
    /// The number of launches.
    pub launches: f64,
    /// The number of stored arrays that are no results.
    pub temporaries: usize,
    /// What the program asks for, where a sort reads its keys once and nothing but results is stored.
    pub asked: Counts,
    /// What the launches make.
    pub launched: Counts,
}

impl Figures {
    /// Bytes moved over inputs and outputs once.
    pub fn traffic(&self) -> f64 {
        self.bytes / self.asked.bytes.max(1.0)
    }

    /// Operations over the program's own; over its loads where it has more of these.
    pub fn work(&self) -> f64 {
        self.launched.operations.max(1.0) / self.asked.operations.max(self.asked.loads).max(1.0)
    }

    /// Loads over the program's own.
    pub fn loads(&self) -> f64 {
        self.launched.loads.max(1.0) / self.asked.loads.max(1.0)
    }
}

/// Returns the sizes of the parameters of a call whose extents are `n`, as options of `--explain`
/// and for the counts.
pub fn sizes(p: &Program, n: i64) -> (Vec<Extent>, Vec<Size>) {
    let (mut options, mut sizes) = (Vec::new(), Vec::new());
    for (a, param) in p.inputs.iter().zip(&p.function.params) {
        let scaled: Vec<i64> = a.extents.iter().map(|e| p.scaled(*e, n)).collect();
        let given = match (&a.extents[..], param.ty.elem) {
            ([], Ty::I64) => Some(vec![p.scaled(a.elements[0] as usize, n)]),
            ([], _) => None,
            _ => Some(scaled.clone()),
        };
        sizes.push(match (&a.extents[..], &given) {
            ([], Some(value)) => Size::Value(Some(Lit::i64(value[0]))),
            ([], None) => Size::Value(Some(eval_cast(param.ty.elem, Lit::f64(a.elements[0])))),
            _ => Size::Extents(scaled),
        });
        options.extend(given.map(|extents| Extent { function: None, name: param.name.clone(), extents }));
    }
    (options, sizes)
}

/// Returns the microseconds that `--explain` predicts for a call of a program whose extents are `n`, without its
/// launches, on a GPU that moves so many bytes in a nanosecond.
pub fn predicted(p: &Program, c: &Compiled, n: i64, bandwidth: f64) -> Result<f64> {
    let options = Options { extents: sizes(p, n).0, bandwidth: Some(bandwidth), ..Options::default() };
    let report = explain::report(c, &options)?.functions.remove(0);
    let us = report.predicted.and_then(|p| p.us);
    let unknown = || Error::bug("E0900", "no size is known of the prediction".to_string());
    Ok(us.ok_or_else(unknown)? - known(&report.launches)? * explain::LAUNCH_US)
}

/// Returns the figures of a compiled program whose extents are `n`.
pub fn figures(p: &Program, c: &Compiled, n: i64) -> Result<Figures> {
    let (extents, sizes) = sizes(p, n);
    let report = explain::report(c, &Options { extents, ..Options::default() })?.functions.remove(0);
    let f = &c.functions[0];
    Ok(Figures {
        extent: n,
        bytes: known(&report.bytes)?,
        launches: known(&report.launches)?,
        temporaries: report.temporaries.iter().filter(|t| !t.extents.is_empty()).count(),
        asked: counts::ideal(&f.source, &sizes)?,
        launched: counts::launched(&f.fused, &sizes)?,
    })
}

/// Returns a number of the report, all of whose sizes are given.
fn known(amount: &Amount) -> Result<f64> {
    let unknown = || Error::bug("E0900", format!("no size is known of {}", amount.formula));
    Ok(amount.value.ok_or_else(unknown)? as f64)
}
