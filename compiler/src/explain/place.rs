//! Places in reports.

use crate::loc::Loc;
use serde::Serialize;

/// A place in the author's program.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Place {
    pub file: String,
    pub line: u32,
    pub column: u32,
}

impl Place {
    /// Returns the file name without its folders.
    pub(super) fn name(&self) -> &str {
        self.file.rsplit(['/', '\\']).next().unwrap_or(&self.file)
    }
}

impl From<&Loc> for Place {
    fn from(l: &Loc) -> Place {
        Place { file: l.file.to_string(), line: l.line, column: l.column }
    }
}
