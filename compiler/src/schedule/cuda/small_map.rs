//! Small map: one element for each thread, for maps of few elements. More multiprocessors have work than with several
//! elements for each thread, and the driver, which compiles the kernel at its first call, has a third of the code to
//! compile. One variant serves every alignment, and outputs that are inputs. Chosen for maps whose body takes longer
//! than their memory accesses, up to `MAX_BLOCKS` blocks.
//!
//! Measured on an H200: Black-Scholes by a polynomial on 2^16 elements takes 1.7 us in place of 3.8 us with four
//! elements for each thread, and 18 ms of the driver's compiler in place of 53 ms.

use super::elements::{single, stored};
use super::expressions::{thread, to_i64};
use super::map::{COMPUTE_BOUND_COST, THREADS};
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Stmt};
use crate::plan::gpu::Profit;
use crate::scalar::BinaryOp;
use crate::schedule::boundary::interior::Interior;
use crate::schedule::element::lower::{LaunchContext, Lower, bind};
use crate::schedule::facts::stencil;
use crate::schedule::groups::{FusedGroup, has_reduction};

/// The number of blocks up to which this is the fastest variant. For Black-Scholes by `erf` this is as many as are
/// resident at once on an H200; for Black-Scholes by a polynomial it is faster up to eight times as many.
const MAX_BLOCKS: u32 = 512;

/// Whether a map has this variant: its body takes longer than its memory accesses, and it reads
/// nothing around its elements.
pub fn serves(l: &mut LaunchContext, fused: &FusedGroup, inner: &Interior) -> bool {
    if l.facts.cost < COMPUTE_BOUND_COST || fused.sequential || l.facts.nested || has_reduction(&l.g, fused) {
        return false;
    }
    // an error record names its element, so it needs one path for all elements
    !l.facts.may_record
        && stencil::stencils(&mut l.g, &fused.domain, &inner.arrays).iter().all(|s| s.is_pointwise())
}

/// Returns the condition under which it is the fastest variant.
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
