//! The parts that `windows`, `windows2` and `windows3` give.

use std::borrow::Borrow;
use std::ops::{Deref, Index};
use std::{fmt, slice, vec};

/// The windows of an array along one axis, by number: `windows2(3, 3)[r][c]`. It is read as a slice and iterates as a
/// `Vec` does.
///
/// # Panics
///
/// A number that is none of them is a panic at the author's line.
#[derive(Clone)]
pub struct Windows<W> {
    parts: Vec<W>,
    /// What was asked for, and the axis.
    of: String,
    axis: &'static str,
}

impl<W> Windows<W> {
    pub(crate) fn new(parts: Vec<W>, of: impl Into<String>, axis: &'static str) -> Windows<W> {
        Windows { parts, of: of.into(), axis }
    }
}

impl<W> Index<usize> for Windows<W> {
    type Output = W;
    #[track_caller]
    fn index(&self, i: usize) -> &W {
        let Windows { parts, of, axis } = self;
        match parts.get(i) {
            Some(part) => part,
            None => panic!(
                "arraygpu: {of}[{i}] at {}: the window has {} {axis}, which are numbered from 0",
                std::panic::Location::caller(),
                parts.len()
            ),
        }
    }
}

impl<W> Deref for Windows<W> {
    type Target = [W];
    fn deref(&self) -> &[W] {
        &self.parts
    }
}

impl<W> Borrow<[W]> for Windows<W> {
    fn borrow(&self) -> &[W] {
        &self.parts
    }
}

impl<W> IntoIterator for Windows<W> {
    type Item = W;
    type IntoIter = vec::IntoIter<W>;
    fn into_iter(self) -> vec::IntoIter<W> {
        self.parts.into_iter()
    }
}

impl<'a, W> IntoIterator for &'a Windows<W> {
    type Item = &'a W;
    type IntoIter = slice::Iter<'a, W>;
    fn into_iter(self) -> slice::Iter<'a, W> {
        self.parts.iter()
    }
}

impl<W: fmt::Debug> fmt::Debug for Windows<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts.fmt(f)
    }
}
