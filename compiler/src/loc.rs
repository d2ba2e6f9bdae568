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
    /// The place of a `#[track_caller]` call.
    pub fn caller(at: &std::panic::Location<'_>) -> Loc {
        Loc { file: at.file().into(), line: at.line(), column: at.column() }
    }

    /// The file name without its folders, and the line: how reports and generated comments say it.
    pub fn short(&self) -> String {
        format!("{}:{}", self.name(), self.line)
    }

    /// Whether both are said in the same way: see [`Loc::short`].
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

/// Where a node comes from: its own place first, then the combinators it was fused into, innermost
/// first. May be empty.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LocStack(pub Arc<[Loc]>);

impl LocStack {
    /// A stack of one.
    pub fn one(loc: Loc) -> LocStack {
        LocStack(Arc::new([loc]))
    }

    /// The innermost place.
    pub fn first(&self) -> Option<&Loc> {
        self.0.first()
    }

    /// How many places are kept: deep chains of combinators would otherwise cost memory quadratic
    /// in their length.
    const DEPTH: usize = 4;

    /// This stack with the places of `outer` behind it, where they are not its end already.
    pub fn within(&self, outer: &LocStack) -> LocStack {
        if outer.0.is_empty() || self.0.len() >= Self::DEPTH || self.0.ends_with(&outer.0) {
            return self.clone();
        }
        LocStack(self.0.iter().chain(outer.0.iter()).take(Self::DEPTH).cloned().collect())
    }
}

impl fmt::Display for LocStack {
    /// `!file:line:column<file:line:column`, as in the text IRs; nothing when empty.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, loc) in self.0.iter().enumerate() {
            write!(f, "{}{loc}", if i == 0 { "!" } else { "<" })?;
        }
        Ok(())
    }
}
