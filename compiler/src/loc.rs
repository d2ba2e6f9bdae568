//! Source locations of the author's program.

use std::fmt;
use std::sync::Arc;

/// A place in the author's program.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Loc {
    /// The file as rustc names it.
    pub file: Arc<str>,
    /// 1-based.
    pub line: u32,
    /// 1-based.
    pub column: u32,
}

impl Loc {
    /// Converts the location of a `#[track_caller]` call.
    pub fn caller(at: &std::panic::Location<'_>) -> Loc {
        Loc { file: at.file().into(), line: at.line(), column: at.column() }
    }

    /// Returns the file name without its folders, and the line, as reports and generated comments
    /// print it.
    pub fn short(&self) -> String {
        format!("{}:{}", self.name(), self.line)
    }

    /// Whether both have the same text in [`Loc::short`].
    pub fn is_short_as(&self, other: &Loc) -> bool {
        self.line == other.line && self.name() == other.name()
    }

    fn name(&self) -> &str {
        self.file.rsplit(['/', '\\']).next().unwrap_or(&self.file)
    }
}

impl fmt::Display for Loc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// The source locations of a node: its own place first, then the combinators into which it was
/// fused, innermost first. It may be empty.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct LocStack(pub Arc<[Loc]>);

impl LocStack {
    /// Makes a stack of one place.
    pub fn one(loc: Loc) -> LocStack {
        LocStack(Arc::new([loc]))
    }

    /// Returns the innermost place.
    pub fn first(&self) -> Option<&Loc> {
        self.0.first()
    }

    /// Maximum number of places that are kept. Without a limit, deep chains of combinators would
    /// need memory quadratic in their length.
    const DEPTH: usize = 4;

    /// Returns this stack followed by the places of `outer`, unless it ends with them already.
    pub fn within(&self, outer: &LocStack) -> LocStack {
        if outer.0.is_empty() || self.0.len() >= Self::DEPTH || self.0.ends_with(&outer.0) {
            return self.clone();
        }
        LocStack(self.0.iter().chain(outer.0.iter()).take(Self::DEPTH).cloned().collect())
    }
}

impl fmt::Display for LocStack {
    /// Writes `!file:line:column<file:line:column`, as in the text IRs, or nothing for an empty
    /// stack.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, loc) in self.0.iter().enumerate() {
            write!(f, "{}{loc}", if i == 0 { "!" } else { "<" })?;
        }
        Ok(())
    }
}
