//! Maps of few elements: one element a thread, so that more multiprocessors have work, and the
//! driver, which compiles the kernel at its first call, has a third of the code to compile. One
//! variant serves every alignment, and outputs that are inputs. Chosen for maps whose body takes
//! longer than their memory accesses, up to `FEW_BLOCKS` blocks.
//!
//! Measured on an H200: 2^16 Black-Scholes by a polynomial take 1.7 us in place of 3.8 with four
//! elements a thread, and 18 ms of the driver's compiler in place of 53.

use super::elements::{single, stored};
use super::expressions::{thread, to_i64};
use super::map::{COMPUTE_BOUND_COST, THREADS};
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Stmt};
use crate::plan::gpu::Profit;
use crate::scalar::BinaryOp;
use crate::schedule::boundary::interior::Interior;
use crate::schedule::groups::{FusedGroup, has_reduction};
use crate::schedule::lower::{LaunchContext, Lower, named as bind};
use crate::schedule::stencil;

/// Blocks up to which it is the faster one: of the options by `erf` as many as run at once on an
/// H200, of Black-Scholes by a polynomial eight times as many.
const MAX_BLOCKS: u32 = 512;

/// Whether a map has such a variant: its body takes more time than its memory, and reads nothing
/// around its elements.
pub fn serves(l: &mut LaunchContext, fused: &FusedGroup, inner: &Interior) -> bool {
    if l.facts.cost < COMPUTE_BOUND_COST || fused.sequential || l.facts.nested || has_reduction(&l.g, fused) {
        return false;
    }
    // a record names its element, which one path is for
    !l.facts.may_record
        && stencil::stencils(&mut l.g, &fused.domain, &inner.arrays).iter().all(|s| s.is_pointwise())
}

/// When it is the fastest.
pub fn profit() -> Profit {
    Profit { max_blocks: Some(MAX_BLOCKS), ..Profit::default() }
}

pub fn main(l: &mut Lower, fused: &FusedGroup) -> Result<Vec<Stmt>> {
    let items = stored(l.launch, fused);
    let count = l.launch.count_node();
    let n = l.launch.host(count);
    let (mut out, mut body) = (Vec::new(), Vec::new());
    let start = to_i64(Expr::Place(Gpu::Block)).times(Expr::int(THREADS.into()));
    let at = bind(l, "at", start.plus(to_i64(thread())), &mut out);
    single(l, &items, &at, true, &mut body)?;
    out.push(Stmt::If(Expr::binary(BinaryOp::Lt, at, n), body, vec![]));
    Ok(out)
}
