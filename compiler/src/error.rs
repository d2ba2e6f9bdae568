//! Errors of the compiler. The kind of an error says who must act.

use crate::loc::Loc;
use std::fmt;

/// Who must act.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The author's program is wrong.
    User,
    /// The program is right, but this version of arraygpu cannot do it.
    Limit,
    /// Compiling took longer than it may, on this machine at this time.
    Late,
    /// arraygpu is wrong: please report it.
    Bug,
    /// The host cancelled, or memory ran out; no program is wrong ([`crate::interrupt`]).
    Stopped,
}

/// An error: a stable code, what is wrong, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    /// Who must act.
    pub kind: Kind,
    /// A stable code such as `E0203`. The first two digits name the part: 01 text, 02 dsl, 03 core,
    /// 04 schedule, 05 package, 06 C compiler and ptxas, 09 interruption from outside and budgets.
    pub code: &'static str,
    /// What is wrong, with names and sizes.
    pub message: String,
    /// The author's file and line.
    pub loc: Option<Loc>,
}

/// A result whose error is an [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Makes an error of the author's program.
    pub fn user(code: &'static str, message: impl Into<String>) -> Error {
        Error { kind: Kind::User, code, message: message.into(), loc: None }
    }

    /// Makes an error for something that this version cannot do.
    pub fn limit(code: &'static str, message: impl Into<String>) -> Error {
        Error { kind: Kind::Limit, code, message: message.into(), loc: None }
    }

    /// Makes an error for a broken invariant of arraygpu.
    pub fn bug(code: &'static str, message: impl Into<String>) -> Error {
        Error { kind: Kind::Bug, code, message: message.into(), loc: None }
    }

    /// Turns a verifier's error into a user error, which the author of the text has to correct.
    pub fn of_text(self) -> Error {
        Error { kind: Kind::User, ..self }
    }

    /// Replaces the name of a function in the message.
    pub fn renamed(mut self, from: &str, to: &str) -> Error {
        self.message = self.message.replace(from, to);
        self
    }

    /// Adds a place, unless the error has one already.
    pub fn at(mut self, loc: Option<&Loc>) -> Error {
        self.loc = self.loc.or_else(|| loc.cloned());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::User => "error",
            Kind::Limit | Kind::Late => "not supported",
            Kind::Bug => "internal error (please report it)",
            Kind::Stopped => "stopped",
        };
        write!(f, "{kind}[{}]: {}", self.code, self.message)?;
        match &self.loc {
            Some(loc) => write!(f, "\n  --> {loc}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}
