//! Prefetches of a later strip into the L2 cache. Few blocks fit onto a multiprocessor at once, and without
//! prefetches too few loads are in flight while they compute and store (`resident_rows/prefetch.rs` has more
//! measurements). Softmaxes of columns of 268 MB on an H100, in ms:
//!
//! | rows | with | without |
//! |---|---|---|
//! | 64 | 0.223 | 0.207 |
//! | 256 | 0.211 | 0.205 |
//! | 1024 | 0.216 | 0.229 |
//! | 2048 | 0.218 | 0.227 |
//! | 8192, in clusters | 0.265 | 0.275 |

use super::strip::{Strip, split};
use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::BinaryOp;
use crate::schedule::cuda::levels::is_zero;
use crate::schedule::element::lower::{Lower, bind};

/// The distance in bytes of an array from a block's strip to the strip that it prefetches.
const DISTANCE: i64 = 8 << 20;
/// The minimum bytes of a large strip: few of them fit onto a multiprocessor.
const LARGE: i64 = 64 << 10;

impl Strip<'_> {
    /// Prefetches what a later strip reads of an array. `outer` are the indices of an element along all axes but the
    /// last. A strip's part of a row is at most one cache line, so the first of the threads side by side prefetches
    /// it.
    pub fn prefetch(
        &self,
        l: &mut Lower,
        (x, outer): (NodeId, &[NodeId]),
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let (mem, size) = (l.launch.input(x), l.launch.g.ty(x).elem.size() as i64);
        let width = i64::from(self.p.width());
        if size * width * i64::from(self.p.rows()) < LARGE {
            return Ok(());
        }
        let strips = (DISTANCE / (size * width * i64::from(self.p.longest()))).max(1);
        let later = bind(l, "later", self.number.clone().plus(Expr::int(strips * width)), out);
        let exists = Expr::binary(BinaryOp::Lt, later.clone(), l.launch.count());
        let mut hints = Vec::new();
        let (around, later) = split(l, later, &mut hints);
        let own = |v: &&(NodeId, Expr)| !self.kept.outer.contains(&v.0);
        let mut vars: Vec<(NodeId, Expr)> = self.vars.iter().filter(own).cloned().collect();
        vars.extend(self.kept.outer.iter().copied().zip(around));
        for place in &self.places {
            let outer = self.at(l, outer, place.element);
            let mut hint = Vec::new();
            let index = l.element_address(mem, &outer, later.clone(), &vars, &mut hint)?;
            hint.push(Stmt::Prefetch { array: mem, index, wide: false });
            hints.push(Stmt::If(place.is_present.clone(), hint, vec![]));
        }
        let asks = Expr::binary(BinaryOp::And, is_zero(&self.x), exists);
        out.push(Stmt::If(asks, hints, vec![]));
        Ok(())
    }
}
