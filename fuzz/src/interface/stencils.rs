//! Calls that build margins and arrays with a part replaced, and choose how stencils are kept.

use super::build::{Done, Sort};
use super::checks::{done, out};
use super::{Thread, pointer};
use arraygpu_capi::*;

pub(super) fn pad(t: &mut Thread) -> Done {
    let ((builder, at), sort) = (t.builder(), t.rng.pick(&[Sort::Vector, Sort::Matrix]));
    let array = t.node(at, sort);
    let axis = t.rng.pick(&[0, 0, 1, 2, -1]);
    let (before, after) = (t.node(at, Sort::Size), t.node(at, Sort::Size));
    let boundary = t.rng.pick(&[c"clamp", c"mirror", c"wrap", c"constant", c"edge"]);
    let value = if t.rng.one_in(3) { 0 } else { t.node(at, Sort::Scalar) };
    // SAFETY: handles are checked, a text, a place for the result.
    let node = out(t, |out| unsafe {
        agpu_builder_pad(builder, array, axis, before, after, boundary.as_ptr(), value, out)
    })?;
    if let Some(node) = node {
        t.keep_node(at, sort, node);
    }
    Ok(node.is_some())
}

pub(super) fn replace(t: &mut Thread) -> Done {
    let ((builder, at), sort) = (t.builder(), t.rng.pick(&[Sort::Vector, Sort::Matrix]));
    let (array, part) = (t.node(at, sort), t.node(at, sort));
    let start = [t.node(at, Sort::Size), t.node(at, Sort::Size)];
    let rank = if t.rng.one_in(8) { t.rng.pick(&[-1, 0, 1, 2]) } else { 1 + i32::from(sort == Sort::Matrix) };
    // SAFETY: handles are checked, there are as many nodes as the rank says, and a place for the result.
    let node =
        out(t, |out| unsafe { agpu_builder_replace(builder, array, part, start.as_ptr(), rank, out) })?;
    if let Some(node) = node {
        t.keep_node(at, sort, node);
    }
    Ok(node.is_some())
}

pub(super) fn strategy(t: &mut Thread) -> Done {
    let builder = t.builder().0;
    let name = t.text(&[c"direct", c"window", c"tile", c"rows", c"planes"]);
    // SAFETY: handles are checked, and NULL or a text.
    done(unsafe { agpu_builder_stencil(builder, pointer(name)) }, true)
}
