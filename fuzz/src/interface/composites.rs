//! Calls that build composites: scans, sorts, segments, filters.

use super::Thread;
use super::build::{Done, Sort};
use super::checks::out;
use arraygpu_capi::abi::AgpuNode;
use arraygpu_capi::*;
use std::ffi::CStr;

/// Composites with the kinds of their operands, the components of their operator, and the kinds of their values.
/// Some ask for operands that the kinds do not promise: truth values, i64.
const COMPOSITES: [(&CStr, &[Sort], i32, &[Sort]); 25] = [
    (c"scan", &[Sort::Vector, Sort::Scalar], 1, &[Sort::Vector]),
    (c"scan_exclusive", &[Sort::Vector, Sort::Scalar], 1, &[Sort::Vector]),
    (c"argsort", &[Sort::Vector], 0, &[Sort::Any]),
    (c"argsort_descending", &[Sort::Vector], 0, &[Sort::Any]),
    (c"sort", &[Sort::Vector, Sort::Vector], 0, &[Sort::Vector, Sort::Vector]),
    (c"sort_descending", &[Sort::Vector], 0, &[Sort::Vector]),
    (c"segmented_reduce", &[Sort::Vector, Sort::Scalar, Sort::Any], 1, &[Sort::Vector]),
    (c"segmented_scan", &[Sort::Vector, Sort::Scalar, Sort::Any], 1, &[Sort::Vector]),
    (c"segmented_scan_exclusive", &[Sort::Vector, Sort::Scalar, Sort::Any], 1, &[Sort::Vector]),
    (c"filter", &[Sort::Any, Sort::Vector], 0, &[Sort::Vector, Sort::Any, Sort::Any]),
    (c"unique", &[Sort::Vector], 0, &[Sort::Vector, Sort::Any, Sort::Any]),
    (c"run_lengths", &[Sort::Any, Sort::Any], 0, &[Sort::Any]),
    (c"reduce_by_key", &[Sort::Vector, Sort::Scalar, Sort::Any, Sort::Any], 1, &[Sort::Vector]),
    (c"scan_rows", &[Sort::Matrix, Sort::Scalar], 1, &[Sort::Matrix]),
    (c"scan_rows_exclusive", &[Sort::Matrix, Sort::Scalar], 1, &[Sort::Matrix]),
    (c"scan_cols", &[Sort::Matrix, Sort::Scalar], 1, &[Sort::Matrix]),
    (c"scan_planes", &[Sort::Any, Sort::Scalar], 1, &[Sort::Any]),
    (c"destinations", &[Sort::Any, Sort::Size], 0, &[Sort::Any]),
    (c"destinations_clamped", &[Sort::Any, Sort::Size], 0, &[Sort::Any]),
    (c"histogram", &[Sort::Any, Sort::Size], 0, &[Sort::Any]),
    (c"scatter", &[Sort::Any, Sort::Size, Sort::Vector, Sort::Scalar], 0, &[Sort::Vector]),
    (c"scatter_unique", &[Sort::Any, Sort::Size, Sort::Vector, Sort::Scalar], 0, &[Sort::Vector]),
    (c"scatter_reduce", &[Sort::Vector, Sort::Scalar, Sort::Any, Sort::Size], 1, &[Sort::Vector]),
    (c"scatter_reduce_unordered", &[Sort::Vector, Sort::Scalar, Sort::Any, Sort::Size], 1, &[Sort::Vector]),
    (c"filled", &[Sort::Size, Sort::Vector, Sort::Scalar], 0, &[Sort::Vector]),
];

pub(super) fn composite(t: &mut Thread) -> Done {
    let ((builder, at), (name, kinds, components, values)) = (t.builder(), t.rng.pick(&COMPOSITES));
    let (variables, body) = t.lambda(at, 2);
    let operands: Vec<AgpuNode> = kinds.iter().map(|kind| t.node(at, *kind)).collect();
    let wrong = t.rng.one_in(16);
    let name = if wrong { c"no such composite" } else { name };
    let count = if t.rng.one_in(16) { t.rng.pick(&[0, -1, 4]) } else { values.len() as i32 };
    let nodes = out(t, |out: *mut [AgpuNode; 4]| {
        let (o, n, v) = (operands.as_ptr(), operands.len() as i32, variables.as_ptr());
        // SAFETY: handles are checked, there are as many nodes as the counts say, and room for four.
        unsafe {
            agpu_builder_composite(builder, name.as_ptr(), o, n, v, &body, components, out.cast(), count)
        }
    })?;
    for (kind, node) in values.iter().zip(nodes.iter().flatten()) {
        t.keep_node(at, *kind, *node);
    }
    Ok(nodes.is_some())
}
