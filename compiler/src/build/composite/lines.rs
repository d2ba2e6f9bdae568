//! Composites that scan lines, each by itself: the rows, columns or planes of arrays, and segments of vectors.

use super::{Builder, Composite, Operands};
use crate::Result;
use crate::core::scan_lines::Lines;
use crate::core::scan_totals::Scan;
use crate::core::{NodeId, begins};

impl Builder {
    pub(super) fn scanned_lines(&mut self, which: Composite, of: Operands) -> Result<Vec<NodeId>> {
        let (Some(join), k) = (of.operator, of.components()) else { return Ok(Vec::new()) };
        let (srcs, init) = (&of.values[..k], &of.values[k..2 * k]);
        self.reduced(which.name(), srcs, init, of)?;
        let lines = match which.along() {
            Some(along) => Lines::along(self.graph(), along, srcs[0]),
            None => {
                let (offsets, count) = (of.values[2 * k], self.extents(srcs[0])[0]);
                // there is an offset, as of segments that are reduced
                let (one, all) = (self.number(1), self.extents(offsets)[0]);
                self.slice(which.name(), offsets, 0, [one, all, one])?;
                Lines::Segments { count, begins: begins::of_elements(self.graph(), offsets, count) }
            }
        };
        let exclusive = which.is_exclusive().then(|| lines.clone());
        let scans =
            Scan::new(self.graph(), (join.clone(), srcs.to_vec()), lines, false).results(self.graph(), init);
        Ok(match exclusive {
            Some(lines) => lines.exclusive(self.graph(), &scans, init),
            None => scans,
        })
    }
}
