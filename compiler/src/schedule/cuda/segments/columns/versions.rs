//! The versions of a strip's code (multi-versioning).

use super::Strip;
use crate::error::Result;
use crate::kernel::{Expr, Reg, Stmt};
use crate::schedule::cuda::segments::job::Job;
use crate::schedule::element::lower::Lower;

impl Strip<'_> {
    /// Does what [`Self::thread_columns`] does, for the segments of a thread from `j` on, without tests of reads and
    /// clamps where none is needed.
    pub(super) fn versions(
        &self,
        l: &mut Lower,
        (j, base): (&Expr, &Expr),
        values: &[Vec<Vec<Reg>>],
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let columns = self.job.columns(l, j, values.len(), out);
        let mut code = |l: &mut Lower, job: &Job, out: &mut Vec<Stmt>| {
            self.of(job).thread_columns(l, &columns, base, values, out)?;
            Ok(Vec::new())
        };
        self.job.versions(l, Some(&columns), &[], &mut code, out).map(drop)
    }

    /// Returns the same strip with another job.
    pub(super) fn of<'b>(&'b self, job: &'b Job<'b>) -> Strip<'b> {
        let Strip { n, length, lane, warp, begin, shared, .. } = self.clone();
        Strip { job, n, length, lane, warp, begin, shared }
    }
}
