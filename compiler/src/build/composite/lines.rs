//! Composites that scan the rows, columns or planes of arrays, each by itself.

use super::{Builder, Composite, Operands};
use crate::Result;
use crate::core::{NodeId, scan_lines};

impl Builder {
    pub(super) fn scanned_lines(&mut self, which: Composite, of: Operands) -> Result<Vec<NodeId>> {
        let (Some(join), Some((along, is_exclusive)), k) = (of.operator, which.lines(), of.components())
        else {
            return Ok(Vec::new());
        };
        let (srcs, init) = of.values.split_at(k);
        self.same(which.name(), srcs)?;
        self.reduced(which.name(), srcs, init, of)?;
        let scans = scan_lines::scanned(self.graph(), srcs, along, init, join);
        if is_exclusive { Ok(scan_lines::exclusive(self.graph(), &scans, along, init)) } else { Ok(scans) }
    }
}
