//! The law of work: the launches of a function make at most a small constant times what its author
//! asks for, whatever the sizes. Every compilation of a debug build checks it and warns, and so does
//! a test for random programs; both are as good as the counts, which take an array whose elements
//! are equal for one value.

use super::walk::Walk;
use super::{Size, asked, launched};
use crate::core::{Function, Op, TILE};
use crate::error::Result;
use crate::scalar::{Lit, Ty};

/// The sizes of all extents, in turn.
pub const EXTENTS: [i64; 3] = [64, 1024, 16384];
/// The greatest ratio of work. The corpus of programs (`tests/programs`) asks for a written reason from 2
/// on; what it lists between is a halo that is computed again, or bits beside values.
const MOST: f64 = 8.0;
/// The most nodes of a function that is checked: counting takes longer than linear time.
const MAX_NODES: usize = 2000;

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

/// Returns whether no shape rule refuses these sizes.
fn fits(f: &Function, sizes: &[Size]) -> bool {
    let mut walk = Walk::new(f, sizes, false);
    f.requires.iter().all(|r| {
        let values = walk.value(r.a).zip(walk.value(r.b));
        values.is_none_or(|(a, b)| r.rule.holds(a.as_i64(), b.as_i64()))
    })
}

/// The operations that no launch is too short for.
const FEW: f64 = 1000.0;

/// Returns what breaks the law, if the launches of `fused` do.
pub fn excess(source: &Function, fused: &Function) -> Result<Option<String>> {
    if source.graph.len().max(fused.graph.len()) > MAX_NODES {
        return Ok(None);
    }
    // a reduction in order computes whole tiles
    let is_ordered = source.needs(|n| matches!(source.graph.op(n), Op::ReduceOrdered { .. }));
    for n in EXTENTS.into_iter().filter(|n| !is_ordered || *n >= TILE) {
        let sizes = sizes(source, n);
        if !fits(source, &sizes) {
            continue;
        }
        let (asked, launched) = (asked(source, &sizes)?, launched(fused, &sizes)?);
        // a device has time for more than one operation for each byte
        let base = [asked.loads, asked.bytes, FEW].into_iter().fold(asked.operations, f64::max);
        if launched.operations > MOST * base {
            return Ok(Some(format!(
                "{}: the launches make {:e} operations with extents of {n}, and the program asks for {:e}",
                source.name, launched.operations, asked.operations
            )));
        }
    }
    Ok(None)
}
