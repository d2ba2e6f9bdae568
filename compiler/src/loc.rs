//! Source locations of the author's program.

use std::fmt::{self, Write};
use std::sync::Arc;

/// A place in the author's program.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Loc {
    /// The file as rustc names it.
    pub file: Arc<str>,
    /// 1-based.
    pub line: u32,
    /// 1-based; 0 where it is not known, as of most C++ compilers.
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
        write!(f, "{}:{}", self.file, self.line)?;
        if self.column == 0 { Ok(()) } else { write!(f, ":{}", self.column) }
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
    /// stack. What would end a place there is written by its number, `%20`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, loc) in self.0.iter().enumerate() {
            f.write_str(if i == 0 { "!" } else { "<" })?;
            for c in loc.file.chars() {
                match c {
                    '<' | '%' => write!(f, "%{:02x}", u32::from(c))?,
                    c if c.is_ascii_whitespace() || c.is_ascii_control() => {
                        write!(f, "%{:02x}", u32::from(c))?
                    }
                    c => f.write_char(c)?,
                }
            }
            write!(f, ":{}:{}", loc.line, loc.column)?;
        }
        Ok(())
    }
}

/// Returns the name of a file as it was before it was written in a text IR. A percent sign without a number stands
/// for itself.
pub(crate) fn file_of_text(written: &str) -> String {
    let mut parts = written.split('%');
    let mut file = String::from(parts.next().unwrap_or_default());
    for part in parts {
        let code = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(u8::is_ascii);
        match code {
            Some(code) => {
                file.push(char::from(code));
                file.push_str(&part[2..]);
            }
            None => {
                file.push('%');
                file.push_str(part);
            }
        }
    }
    file
}

#[cfg(test)]
mod tests {
    use super::{Loc, LocStack};
    use crate::text::{self, Token};

    #[test]
    fn places_of_any_file_are_read_back() {
        let names = [
            "a.rs",
            "my src/a b.rs",
            "<stdin>",
            "100%.rs",
            "%20.rs",
            "t\tab\n.rs",
            "C:\\x: y\\ä.rs",
            "日本.rs",
        ];
        for name in names {
            let loc = |line| Loc { file: name.into(), line, column: 7 };
            let places = LocStack([loc(3), loc(5)].into());
            let written = places.to_string();
            let tokens = text::lex(&format!("add {written} ; a comment")).unwrap();
            assert_eq!(tokens[1].0, Token::Place(places), "{written}");
            assert_eq!(tokens.len(), 2, "{written}");
        }
        // a sign that no number follows, as in texts of before
        assert_eq!(super::file_of_text("5%/a%zz.rs%"), "5%/a%zz.rs%");
    }
}
