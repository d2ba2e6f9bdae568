//! The law of work: the launches of a function make at most a small constant times what its author
//! asks for, whatever the sizes. It is checked in every compilation of a debug build.

use super::{Counts, Size, asked, launched};
use crate::core::Function;
use crate::error::{Error, Result};
use crate::scalar::{Lit, Ty};

/// The sizes of all extents, in turn.
pub const EXTENTS: [i64; 3] = [64, 1024, 16384];
/// The greatest ratio of work. The corpus of programs (`tests/programs`) asks for a written reason from 2
/// on; what it lists between is a halo that is computed again, or bits beside values.
const MOST: f64 = 8.0;
/// The most nodes of a function that is checked: counting takes longer than linear time.
const MOST_NODES: usize = 2000;

/// Returns the sizes of a function's parameters where every extent is `n`. Scalars of type i64 are
/// counts.
pub fn sizes(f: &Function, n: i64) -> Vec<Size> {
    let size = |ty: crate::core::Type| match (ty.rank, ty.elem) {
        (0, Ty::I64) => Size::Value(Some(Lit::i64(n))),
        (0, _) => Size::Value(None),
        (rank, _) => Size::Extents(vec![n; rank.into()]),
    };
    f.params.iter().map(|p| size(p.ty)).collect()
}

/// Returns operations of the launches over those that the program asks for, over its loads where it
/// has more of these.
pub fn work(asked: &Counts, launched: &Counts) -> f64 {
    launched.operations.max(1.0) / asked.operations.max(asked.loads).max(1.0)
}

/// Returns an error if the launches of `fused` break the law for its source.
pub fn check(source: &Function, fused: &Function) -> Result<()> {
    if source.graph.len().max(fused.graph.len()) > MOST_NODES {
        return Ok(());
    }
    for n in EXTENTS {
        let sizes = sizes(source, n);
        let (asked, launched) = (asked(source, &sizes)?, launched(fused, &sizes)?);
        let ratio = work(&asked, &launched);
        if ratio > MOST {
            let message = format!(
                "@{} breaks the law of work with extents of {n}: {:e} operations instead of {:e}, or of as many loads ({:e})",
                source.name, launched.operations, asked.operations, asked.loads,
            );
            return Err(Error::bug("E0408", message));
        }
    }
    Ok(())
}
