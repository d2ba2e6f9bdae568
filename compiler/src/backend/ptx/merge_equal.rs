//! Merges long kernels whose code is equal, such as products of matrices of one type, whose code
//! does not depend on the names of the matrices.
//!
//! The later kernels are launched under the name of the first one, so that their code is stored,
//! assembled and loaded once. Short kernels keep their own names, which a profiler shows.

use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;

/// Minimum size of a text that is merged, in bytes.
const LONG: usize = 32 << 10;

/// The long kernels that were written so far, by their code.
#[derive(Default)]
pub struct KnownKernels {
    /// The entry of each code.
    known: FxHashMap<String, String>,
}

impl KnownKernels {
    /// Returns the entry of an earlier kernel that has this code. If there is none, the code is
    /// remembered.
    pub fn find(&mut self, ptx: &str, entry: &str) -> Option<String> {
        if ptx.len() < LONG {
            return None;
        }
        match self.known.entry(code(ptx, entry)) {
            Entry::Occupied(first) => Some(first.get().clone()),
            Entry::Vacant(new) => {
                new.insert(entry.into());
                None
            }
        }
    }
}

/// Returns the part of a text that the assembler translates: without comments and without the name
/// of the entry.
pub fn code(ptx: &str, entry: &str) -> String {
    let mut out = String::with_capacity(ptx.len());
    for line in ptx.lines() {
        // most lines have no comment
        if !line.starts_with('.') && !line.contains('/') {
            out.push_str(line);
            out.push('\n');
            continue;
        }
        let line = line.split("//").next().unwrap_or_default();
        let (before, rest) = line.split_once("/*").unwrap_or((line, ""));
        let after = rest.split_once("*/").map_or("", |(_, after)| after);
        match before.strip_prefix(".visible .entry ") {
            Some(name) => out.push_str(name.strip_prefix(entry).unwrap_or(name)),
            None => out.push_str(before),
        }
        out.push_str(after);
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(entry: &str, note: &str, last: &str) -> String {
        let body = "\tadd.s32 %a, %a, 1; // line\n".repeat(LONG / 16);
        format!(
            "// {entry}\n.visible .entry {entry}(\n\t.param .b64 arg0 /* {note} */\n)\n{{\n{body}\t{last}\n}}\n"
        )
    }

    #[test]
    fn names_and_comments_make_no_difference_but_instructions_do() {
        let mut known = KnownKernels::default();
        let mut find = |entry: &str, note: &str, last: &str| known.find(&text(entry, note, last), entry);
        assert_eq!(find("f_0", "a: f32", "ret;"), None);
        assert_eq!(find("f_1", "b: f32", "ret;").as_deref(), Some("f_0"));
        assert_eq!(find("f_2", "b: f32", "exit;"), None);
        assert_eq!(find("f_3", "", "exit;").as_deref(), Some("f_2"));
    }

    #[test]
    fn short_kernels_are_not_merged() {
        let mut known = KnownKernels::default();
        let short = ".visible .entry f(\n)\n{\n\tret;\n}\n";
        assert_eq!([0, 1].map(|_| known.find(short, "f")), [None, None]);
    }
}
