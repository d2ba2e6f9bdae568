//! The state that is shared by the functions which write a kernel for ragged segments, and the code for segments that
//! are known to have no elements.

use super::ended::Ended;
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::schedule::cuda::elements::store_single;
use crate::schedule::cuda::segments::job::Job;
use crate::schedule::element::lower::Lower;
use crate::schedule::element::reduction::bound;

/// The maximum number of elements of a segment that a lane reduces from shared memory.
pub const SHORT_STAGED: i64 = 64;

/// What the functions that write a kernel for ragged segments share.
pub struct Code<'a> {
    pub job: &'a Job<'a>,
    pub lane: Expr,
    pub ended: Option<Ended>,
}

impl Code<'_> {
    /// Computes the condition that a segment may have elements; `None` if nothing is known about that.
    pub(super) fn may_have_some(
        &self,
        l: &mut Lower,
        segment: &Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<Option<Expr>> {
        let Some(ended) = &self.ended else { return Ok(None) };
        let vars = [(self.job.s.index, segment.clone())];
        let value = l.in_block(|l| l.region(&vars, &[ended.condition], segment, out))?.remove(0);
        Ok(Some(bound(l, "some", value, out)))
    }

    /// Stores the results of a segment: by `store` if it may have elements, else the values that empty segments have.
    pub(super) fn store_ended(
        &self,
        l: &mut Lower,
        (segment, some): (&Expr, Option<&Expr>),
        store: Vec<Stmt>,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let (Some(ended), Some(some)) = (&self.ended, some) else {
            out.extend(store);
            return Ok(());
        };
        let (vars, mut others) = ([(self.job.s.index, segment.clone())], Vec::new());
        let values = l.in_block(|l| l.region(&vars, &ended.others, segment, &mut others))?;
        store_single(l, &self.job.items, values, segment, &mut others);
        out.push(Stmt::If(some.clone(), store, others));
        Ok(())
    }
}
