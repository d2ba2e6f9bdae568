//! Names for long parts of formulas. The extents of a sort or of bins are conditional expressions of several lines,
//! and would be repeated in every formula. Each is written once, and formulas use its name (`n1`).

use crate::core::Function;
use crate::scalar::{Lit, Ty};
use indexmap::IndexMap;
use serde::Serialize;
use std::cell::RefCell;
use std::rc::Rc;

/// The longest part of a formula, in characters, that stands in it as it is.
const MAX_LENGTH: usize = 40;

/// The named parts of a function's formulas, which those of its steps share.
#[derive(Clone, Default)]
pub struct Names(Rc<RefCell<IndexMap<String, Part>>>, Rc<[String]>);

/// A long part of formulas, which stands in them by its name.
#[derive(Clone, Debug, Serialize)]
pub struct Named {
    /// The name, as `n1`.
    pub name: String,
    /// The formula that it stands for.
    pub formula: String,
    /// Whether it is a condition and no number.
    #[serde(skip)]
    pub is_condition: bool,
    /// The value, if the given extents determine it; 1 or 0 for a condition.
    pub value: Option<i64>,
}

struct Part {
    name: String,
    value: Option<Lit>,
}

impl Names {
    /// Makes the names of a function, none of which is one of its parameters.
    pub fn new(f: &Function) -> Names {
        Names(Rc::default(), f.params.iter().map(|p| p.name.clone()).collect())
    }

    /// Returns a short text for a size or a condition: `text` itself if it is short, or else a name for it.
    pub fn short(&self, text: String, value: impl FnOnce() -> Option<Lit>) -> String {
        if text.len() <= MAX_LENGTH {
            return text;
        }
        let mut parts = self.0.borrow_mut();
        if let Some(known) = parts.get(&text) {
            return known.name.clone();
        }
        let used = |name: &str| self.1.iter().any(|p| p == name) || parts.values().any(|p| p.name == name);
        let free = (1..).map(|i| format!("n{i}")).find(|name| !used(name));
        let name = free.unwrap_or_default();
        parts.insert(text, Part { name: name.clone(), value: value() });
        name
    }

    /// Returns all parts that have a name; those that others contain come first.
    pub fn list(&self) -> Vec<Named> {
        let named = |(text, part): (&String, &Part)| Named {
            name: part.name.clone(),
            formula: text.clone(),
            is_condition: part.value.is_some_and(|v| v.ty == Ty::Bool),
            value: part.value.map(|v| if v.ty == Ty::Bool { v.bits as i64 } else { v.as_i64() }),
        };
        self.0.borrow().iter().map(named).collect()
    }
}

/// Returns the parts that a text mentions, and those that these mention, in their order.
pub fn mentioned<'a>(parts: &'a [Named], text: &str) -> Vec<&'a Named> {
    let mut found: Vec<&Named> = Vec::new();
    for part in parts.iter().rev() {
        if has_word(text, &part.name) || found.iter().any(|f| has_word(&f.formula, &part.name)) {
            found.push(part);
        }
    }
    found.reverse();
    found
}

/// Whether a name stands in a text as a word of its own.
fn has_word(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name)
        .any(|(at, _)| !text[..at].ends_with(is_part) && !text[at + name.len()..].starts_with(is_part))
}

#[cfg(test)]
mod tests {
    use super::has_word;

    #[test]
    fn names_are_whole_words() {
        assert!(has_word("4 * n1 + 2", "n1") && has_word("n1", "n1") && has_word("len(n1)", "n1"));
        assert!(!has_word("4 * n12 + an1", "n1"));
    }
}
