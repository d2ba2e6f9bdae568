//! The lexer that the three text forms share (`docs/ir.md`), and a cursor with the operations that
//! their parsers need.

use crate::error::{Error, Result};
use crate::loc::{Loc, LocStack, file_of_text};
use crate::scalar::{Lit, Ty};
use std::fmt;

/// A token.
#[derive(Clone, PartialEq, Debug)]
pub enum Token {
    /// A name or keyword.
    Word(String),
    /// A value: `%name`.
    Value(String),
    /// A global name: `@name`.
    Global(String),
    /// A literal of the IR, or a number without a type, as text.
    Number(String),
    /// A string in double quotes.
    Str(String),
    /// A source location: `!file:line:column<...`.
    Place(LocStack),
    /// A punctuation mark; `->` is a single one.
    Mark(&'static str),
}

const MARKS: [&str; 10] = ["->", "(", ")", "{", "}", "[", "]", ",", ":", "="];

/// A position in a text, counted from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The character in the line.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// Splits a text into tokens, each with its position.
pub fn lex(text: &str) -> Result<Vec<(Token, Position)>> {
    // tokens and the spaces behind them have six bytes and more
    let mut out = Vec::with_capacity(text.len() / 6);
    for (whole, line) in text.lines().zip(1..) {
        let mut rest = whole.trim_start();
        let (mut column, mut counted) = (1, 0);
        while !rest.is_empty() && !rest.starts_with(';') {
            let begin = whole.len() - rest.len();
            column += whole[counted..begin].chars().count() as u32;
            counted = begin;
            let at = Position { line, column };
            let (token, len) = next(rest).map_err(|m| Error::user("E0101", format!("{at}: {m}")))?;
            out.push((token, at));
            rest = rest[len..].trim_start();
        }
    }
    Ok(out)
}

fn next(s: &str) -> std::result::Result<(Token, usize), String> {
    let word = |from: usize| {
        let tail = &s[from..];
        from + tail.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(tail.len())
    };
    let first = s.as_bytes()[0];
    if !first.is_ascii_alphanumeric()
        && first != b'%'
        && let Some(mark) = MARKS.iter().find(|m| s.starts_with(**m))
    {
        return Ok((Token::Mark(mark), mark.len()));
    }
    match first {
        b'%' => Ok((Token::Value(s[1..word(1)].into()), word(1))),
        b'@' => Ok((Token::Global(s[1..word(1)].into()), word(1))),
        b'"' => string(s),
        b'!' => {
            let end = s.find([' ', '\t']).unwrap_or(s.len());
            Ok((Token::Place(place(&s[1..end])?), end))
        }
        c if c.is_ascii_digit() || c == b'-' => {
            let mut end = 1;
            let bytes = s.as_bytes();
            while end < s.len()
                && (bytes[end].is_ascii_alphanumeric()
                    || bytes[end] == b'.'
                    || (matches!(bytes[end], b'-' | b'+') && bytes[end - 1] == b'e' && !s.starts_with("0x")))
            {
                end += 1;
            }
            Ok((Token::Number(s[..end].into()), end))
        }
        c if c.is_ascii_alphabetic() || c == b'_' => {
            let w = &s[..word(0)];
            let literal = matches!(w, "true" | "false" | "inff32" | "inff64" | "inff16" | "infbf16");
            Ok((if literal { Token::Number(w.into()) } else { Token::Word(w.into()) }, w.len()))
        }
        _ => Err(format!("unexpected character in `{s}`")),
    }
}

fn string(s: &str) -> std::result::Result<(Token, usize), String> {
    let (mut out, mut chars) = (String::new(), s.char_indices().skip(1));
    while let Some((i, c)) = chars.next() {
        match c {
            '"' => return Ok((Token::Str(out), i + 1)),
            '\\' => match chars.next() {
                Some((_, 'n')) => out.push('\n'),
                Some((_, c)) => out.push(c),
                None => break,
            },
            c => out.push(c),
        }
    }
    Err("a string without end".into())
}

/// Quotes a string so that the lexer reads it back.
pub fn quote(s: &str) -> String {
    format!("\"{}\"", s.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

fn place(s: &str) -> std::result::Result<LocStack, String> {
    let one = |part: &str| {
        let mut it = part.rsplitn(3, ':');
        let (column, line, file) = (it.next()?, it.next()?, it.next()?);
        Some(Loc { file: file_of_text(file).into(), line: line.parse().ok()?, column: column.parse().ok()? })
    };
    let places: Option<Vec<Loc>> = s.split('<').map(one).collect();
    Ok(LocStack(places.ok_or_else(|| format!("`{s}` is not file:line:column"))?.into()))
}

/// One of the blocks of a text, `keyword @name .. { .. }`, as text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block<'t> {
    /// Its name.
    pub name: &'t str,
    /// All of it.
    pub text: &'t str,
}

/// Finds the blocks of a text without reading them. Each begins on a line of its own with the keyword and its
/// name, and ends with a brace: on the same line, or on the first one that has nothing else and stands below the
/// keyword. Between blocks are empty lines and comments only, so that damage is no part of a neighbour. What is in a
/// block is not checked.
pub fn blocks<'t>(text: &'t str, keyword: &str) -> Result<Vec<Block<'t>>> {
    let bad = |number: usize, what: &str| Error::user("E0102", format!("line {number}: {what}"));
    let mut out: Vec<Block> = Vec::new();
    // of the block that has not ended: where it begins, the number of its line, and its margin
    let mut open: Option<(usize, usize, &str)> = None;
    let mut at = 0;
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        let (written, bare) = (line.trim_end(), line.trim());
        let end = at + written.len();
        if let Some((begin, _, margin)) = open {
            if written.strip_prefix(margin) == Some("}") {
                out.last_mut().expect("a block is open").text = &text[begin..end];
                open = None;
            }
        } else if let Some(rest) = bare.strip_prefix(keyword).and_then(|rest| rest.strip_prefix(" @")) {
            let name = rest.find(|c: char| !c.is_alphanumeric() && c != '_').map_or(rest, |n| &rest[..n]);
            out.push(Block { name, text: &text[at..end] });
            let margin = &written[..written.len() - bare.len()];
            open = (!bare.ends_with('}')).then_some((at, number, margin));
        } else if !bare.is_empty() && !bare.starts_with(';') {
            return Err(match bare.starts_with(keyword) {
                true => bad(number, "expected an @name"),
                false => bad(number, &format!("expected `{keyword}`")),
            });
        }
        at += line.len();
    }
    match (open, out.last()) {
        (Some((_, number, _)), Some(block)) => Err(bad(number, &format!("@{} does not end", block.name))),
        _ => Ok(out),
    }
}

/// A position in a token list.
pub struct Cursor {
    tokens: Vec<(Token, Position)>,
    at: usize,
    depth: usize,
}

/// Maximum number of levels of nesting in a text, because parsers are recursive.
const MAX_DEPTH: usize = 200;

impl Cursor {
    /// Starts at the beginning of a text.
    pub fn new(text: &str) -> Result<Cursor> {
        Ok(Cursor { tokens: lex(text)?, at: 0, depth: 0 })
    }

    /// Enters a nested level. Returns an error if the nesting is too deep.
    pub fn enter(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error(format!("nested more than {MAX_DEPTH} levels deep")));
        }
        Ok(())
    }

    /// Leaves a nested level.
    pub fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Parses a nested level.
    pub fn nested<T>(&mut self, parse: impl FnOnce(&mut Cursor) -> Result<T>) -> Result<T> {
        self.enter()?;
        let out = parse(self);
        self.leave();
        out
    }

    /// Returns the next token.
    pub fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|t| &t.0)
    }

    /// Returns the token after the next one.
    pub fn peek2(&self) -> Option<&Token> {
        self.tokens.get(self.at + 1).map(|t| &t.0)
    }

    /// Whether all tokens are used up.
    pub fn is_done(&self) -> bool {
        self.at == self.tokens.len()
    }

    /// Returns the position of the next token, or at the end that of the last one.
    pub fn position(&self) -> Position {
        let token = self.tokens.get(self.at).or(self.tokens.last());
        token.map_or(Position { line: 1, column: 1 }, |t| t.1)
    }

    /// Returns an error at the next token.
    pub fn error(&self, message: impl fmt::Display) -> Error {
        Cursor::error_at(self.position(), message)
    }

    /// Returns an error at a token that may have been taken already.
    pub fn error_at(at: Position, message: impl fmt::Display) -> Error {
        Error::user("E0102", format!("{at}: {message}"))
    }

    fn expected(&self, what: &str) -> Error {
        match self.peek() {
            Some(t) => self.error(format!("expected {what}, found {t:?}")),
            None => self.error(format!("expected {what}, found the end")),
        }
    }

    /// Takes the given mark or keyword, if it is next.
    pub fn eat(&mut self, s: &str) -> bool {
        let yes = match self.peek() {
            Some(Token::Mark(m)) => *m == s,
            Some(Token::Word(w)) => w == s,
            _ => false,
        };
        self.at += usize::from(yes);
        yes
    }

    /// Takes the given mark or keyword, or returns an error.
    pub fn expect(&mut self, s: &str) -> Result<()> {
        if self.eat(s) { Ok(()) } else { Err(self.expected(&format!("`{s}`"))) }
    }

    /// Takes any word.
    pub fn word(&mut self) -> Result<String> {
        let Some(Token::Word(w)) = self.peek() else { return Err(self.expected("a word")) };
        let w = w.clone();
        self.at += 1;
        Ok(w)
    }

    /// Takes a `%name`.
    pub fn value(&mut self) -> Result<String> {
        let Some(Token::Value(w)) = self.peek() else { return Err(self.expected("a %value")) };
        let w = w.clone();
        self.at += 1;
        Ok(w)
    }

    /// Takes an `@name`.
    pub fn global(&mut self) -> Result<String> {
        let Some(Token::Global(w)) = self.peek() else { return Err(self.expected("an @name")) };
        let w = w.clone();
        self.at += 1;
        Ok(w)
    }

    /// Takes a string.
    pub fn string(&mut self) -> Result<String> {
        let Some(Token::Str(w)) = self.peek() else { return Err(self.expected("a string")) };
        let w = w.clone();
        self.at += 1;
        Ok(w)
    }

    /// Takes a literal of the IR, if one is next.
    pub fn literal(&mut self) -> Result<Option<Lit>> {
        let Some(Token::Number(n)) = self.peek() else { return Ok(None) };
        let lit = n.parse().map_err(|e: String| self.error(e))?;
        self.at += 1;
        Ok(Some(lit))
    }

    /// Takes a number without a type.
    pub fn number(&mut self) -> Result<u64> {
        let Some(Token::Number(n)) = self.peek() else { return Err(self.expected("a number")) };
        let number = n.parse().map_err(|_| self.expected("a number"))?;
        self.at += 1;
        Ok(number)
    }

    /// Takes a number of 32 bits.
    pub fn u32(&mut self) -> Result<u32> {
        let n = self.number()?;
        u32::try_from(n).map_err(|_| self.error("the number is too large"))
    }

    /// Takes an element type.
    pub fn elem(&mut self) -> Result<Ty> {
        let Some(Token::Word(w)) = self.peek() else { return Err(self.expected("a word")) };
        let ty = Ty::parse(w).ok_or_else(|| self.expected("an element type"))?;
        self.at += 1;
        Ok(ty)
    }

    /// Takes a source location, which is empty if none is there.
    pub fn place(&mut self) -> LocStack {
        let Some(Token::Place(p)) = self.peek() else { return LocStack::default() };
        let p = p.clone();
        self.at += 1;
        p
    }

    /// Takes items separated by commas up to and including `close`; there may be none.
    pub fn list<T>(&mut self, close: &str, mut item: impl FnMut(&mut Cursor) -> Result<T>) -> Result<Vec<T>> {
        let mut out = Vec::new();
        if self.eat(close) {
            return Ok(out);
        }
        loop {
            out.push(item(self)?);
            if !self.eat(",") {
                self.expect(close)?;
                return Ok(out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "; two plans\nplan @a {\n  step {\n  }\n}\n\n; the other\n  plan @b { }\n";

    #[test]
    fn blocks_stand_between_empty_lines_and_comments() {
        let found = blocks(TWO, "plan").unwrap();
        let found: Vec<_> = found.iter().map(|b| (b.name, b.text)).collect();
        assert_eq!(found, [("a", "plan @a {\n  step {\n  }\n}"), ("b", "  plan @b { }")]);
        assert_eq!(blocks("", "plan").unwrap(), []);
    }

    #[test]
    fn damage_between_blocks_is_no_part_of_one() {
        for (damaged, message) in [
            (TWO.replace("plan @b", "pl@n @b"), "line 8: expected `plan`"),
            (TWO.replace("\n}\n", "\n}}\n"), "line 2: @a does not end"),
            (TWO.replace("; the", "the"), "line 7: expected `plan`"),
            (TWO.replace("plan @a {", "plan"), "line 2: expected an @name"),
        ] {
            let error = blocks(&damaged, "plan").unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}
