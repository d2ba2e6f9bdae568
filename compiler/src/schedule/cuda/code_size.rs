//! Limits of the size of code.

use super::variant::Guards;
use crate::schedule::scheduler::Scope;

/// The number of operations of a function's kernels above which further fused groups get no variants of their own for
/// 32-bit indices or for outputs that overlap nothing: these save little of a long body.
const MAX_VARIANT_OPERATIONS: usize = 24_000;
/// The number of operations of a body above which, in such a function, there is no variant for
/// contiguous arrays either.
const LONG_BODY: usize = 3_000;

/// Whether a variant with a body of `size` operations is left out because the function, whose other groups have
/// `before` operations, would get too much code. Variants with fewer guards serve its calls then. The variant of most
/// calls stays if it fits by itself.
pub(super) fn is_left_out(size: usize, before: usize, c: &Guards, scope: Scope) -> bool {
    let so_far = before + 4 * size;
    let is_usual = c.contiguous && c.narrow && c.noalias;
    if is_usual && before + size <= MAX_VARIANT_OPERATIONS {
        return false;
    }
    let has_conditions = c.narrow || c.noalias;
    let is_last = !has_conditions && (!c.contiguous || scope == Scope::ContiguousGpu);
    !is_last && so_far > MAX_VARIANT_OPERATIONS && (has_conditions || size > LONG_BODY)
}
