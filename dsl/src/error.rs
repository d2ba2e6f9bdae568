//! The error that a generator's `main` returns.
//!
//! Rust prints the error of `main` by `Debug`, after `Error: `. So `Debug` prints the message and
//! the author's file and line here, as `Display` does.

use arraygpu_compiler::error::Kind;
use std::fmt;

/// What went wrong in a generator: mistakes in the author's program, limits of this version, or a
/// wrong command line.
pub struct Error(Repr);

enum Repr {
    Compiler(Box<arraygpu_compiler::Error>),
    Text(String),
}

/// Results of generators.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn command_line(message: impl Into<String>) -> Error {
        Error(Repr::Text(message.into()))
    }

    /// What a device's library says of a call.
    #[doc(hidden)]
    pub fn of_call(message: String) -> Error {
        Error(Repr::Text(message))
    }

    /// The stable code, such as `E0203`; a wrong command line and a call of a device have none.
    ///
    /// Cost: none; it runs in the generator only.
    ///
    /// ```
    /// # use arraygpu_dsl::prelude::*;
    /// let error = Package::new("stats").functions().unwrap_err();
    /// assert_eq!(error.code(), Some("E0203"));
    /// ```
    pub fn code(&self) -> Option<&'static str> {
        self.compiler().map(|e| e.code)
    }

    /// The compiler's error value, with kind and place; a wrong command line and a call of a device have none.
    ///
    /// Cost: none; it runs in the generator only.
    ///
    /// ```
    /// # use arraygpu_dsl::prelude::*;
    /// let error = Package::new("stats").functions().unwrap_err();
    /// assert_eq!(error.compiler().unwrap().message, "the package `stats` has no functions");
    /// ```
    pub fn compiler(&self) -> Option<&arraygpu_compiler::Error> {
        match &self.0 {
            Repr::Compiler(e) => Some(e),
            Repr::Text(_) => None,
        }
    }
}

impl From<arraygpu_compiler::Error> for Error {
    fn from(e: arraygpu_compiler::Error) -> Error {
        Error(Repr::Compiler(Box::new(e)))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let e = match &self.0 {
            Repr::Text(message) => return f.write_str(message),
            Repr::Compiler(e) => e,
        };
        match e.kind {
            Kind::User => {}
            Kind::Limit | Kind::Late => f.write_str("not in this version: ")?,
            Kind::Bug => f.write_str("internal error, please report it: ")?,
            Kind::Stopped => f.write_str("stopped: ")?,
        }
        write!(f, "{} [{}]", e.message, e.code)?;
        match &e.loc {
            Some(loc) => write!(f, "\n  --> {loc}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}
