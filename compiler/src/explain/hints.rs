//! Finds out what it would save to store an array that several places compute: compiles the function once more, with
//! `materialize` there.

use super::model::{Hint, Operations};
use super::time::roofline;
use crate::core::rewrite::rewrite_from;
use crate::core::tuples::has_tuples;
use crate::core::{Function, NodeId, Op};
use crate::counts::{self, Size};
use crate::driver::{Compiled, Targets, compile_for};
use crate::error::Result;

/// The most arrays that are tried.
const TRIED: usize = 8;
/// The least part of the time that a hint must save.
const SAVED: f64 = 0.2;

/// Returns the operations that the launches make, and those that the program asks for.
pub fn operations(source: &Function, fused: &Function, sizes: &[Size]) -> Result<Operations> {
    let (asked, made) = (counts::asked(source, sizes)?, counts::launched(fused, sizes)?);
    Ok(Operations { made: made.operations as u64, asked: asked.operations as u64 })
}

/// Returns the hints for a function, given the operations that its launches make and the bytes that they move; the
/// best hint comes first. `moved` returns the bytes of a compiled function.
pub fn hints(
    source: &Function,
    sizes: &[Size],
    now: Operations,
    bandwidth: Option<f64>,
    moved: &dyn Fn(&Compiled) -> Result<Option<u64>>,
    bytes: u64,
) -> Result<Vec<Hint>> {
    let time = |bytes: u64, operations: u64| roofline(bytes as f64, operations as f64, bandwidth);
    let before = time(bytes, now.made);
    if now.made as f64 <= now.asked as f64 * (1.0 + SAVED) {
        return Ok(Vec::new());
    }
    let mut hints = Vec::new();
    // tuples of elements are not stored
    let repeated = counts::repeated(source, sizes).into_iter().filter(|n| !has_tuples(&source.graph, *n));
    for array in repeated.take(TRIED) {
        let stored = stored(source, array);
        // an array that cannot be stored gives no hint
        let Ok(c) = compile_for("hint", vec![stored], Targets { cpu: true, cuda: false }) else { continue };
        let made = counts::launched(&c.functions[0].fused, sizes)?.operations as u64;
        let Some(bytes) = moved(&c)? else { continue };
        let after = time(bytes, made);
        if after < before * (1.0 - SAVED) {
            let place = source.graph.node(array).loc.first().map(Into::into);
            let saves = ((1.0 - after / before) * 1e3).round() / 1e3;
            hints.push((after, Hint { place, operations: made, bytes, saves }));
        }
    }
    hints.sort_by(|a: &(f64, Hint), b| a.0.total_cmp(&b.0));
    let mut best: Vec<Hint> = Vec::new();
    for (_, hint) in hints {
        // one line may have made several arrays
        if best.iter().all(|h| h.place != hint.place) {
            best.push(hint);
        }
    }
    Ok(best)
}

/// Returns the function with one array stored.
fn stored(f: &Function, array: NodeId) -> Function {
    rewrite_from(f, false, &mut |g, op, old| {
        let made = g.add(op);
        if old == array { g.add(Op::Materialize(made)) } else { made }
    })
}
