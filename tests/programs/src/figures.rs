//! What a program's launches move and compute at some sizes, beside what it asks for.

use crate::program::Program;
use arraygpu_compiler::Result;
use arraygpu_compiler::driver::Compiled;
use arraygpu_compiler::explain::counts::{self, Counts, Size};
use arraygpu_compiler::explain::{self, Extent, Options};
use arraygpu_compiler::scalar::{Lit, eval_cast};

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
    /// What the program asks for.
    pub asked: Counts,
    /// What the launches make.
    pub launched: Counts,
}

impl Figures {
    /// Bytes moved over inputs and outputs once.
    pub fn traffic(&self) -> f64 {
        self.bytes / self.asked.bytes.max(1.0)
    }

    /// Operations over the program's own.
    pub fn work(&self) -> f64 {
        self.launched.operations.max(1.0) / self.asked.operations.max(1.0)
    }

    /// Loads over the program's own.
    pub fn loads(&self) -> f64 {
        self.launched.loads.max(1.0) / self.asked.loads.max(1.0)
    }
}

/// Returns the figures of a compiled program whose extents are `n`.
pub fn figures(p: &Program, c: &Compiled, n: i64) -> Result<Figures> {
    let large = p.large(n);
    let scalar = |i: usize| p.inputs[i].elements[0];
    let extents = |i: usize| match &large[i][..] {
        [] => vec![scalar(i) as i64],
        extents => extents.to_vec(),
    };
    let of_param = |(i, param): (usize, &arraygpu_compiler::core::Param)| Extent {
        function: None,
        name: param.name.clone(),
        extents: extents(i),
    };
    let f = &c.functions[0];
    let options =
        Options { bandwidth: None, extents: p.function.params.iter().enumerate().map(of_param).collect() };
    let report = explain::report(c, &options)?.functions.remove(0);
    let size = |i: usize| match &large[i][..] {
        [] => Size::Value(Some(eval_cast(p.function.params[i].ty.elem, Lit::f64(scalar(i))))),
        extents => Size::Extents(extents.to_vec()),
    };
    let sizes: Vec<Size> = (0..p.inputs.len()).map(size).collect();
    Ok(Figures {
        extent: n,
        bytes: report.bytes.value.unwrap_or(0) as f64,
        launches: report.launches.value.unwrap_or(0) as f64,
        temporaries: report.temporaries.iter().filter(|t| !t.extents.is_empty()).count(),
        asked: counts::asked(&f.source, &sizes)?,
        launched: counts::launched(&f.fused, &sizes)?,
    })
}
