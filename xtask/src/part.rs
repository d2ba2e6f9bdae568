//! One of several equal parts of the tests of the long programs: CI runs a part with each commit, and another one
//! with most others, so that it takes minutes.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// A part by its number and the number of parts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Part {
    number: usize,
    of: usize,
}

impl Part {
    /// Returns the tests that belong to the part. `before` counts the tests of the programs that were looked at
    /// before, so that the parts of many short lists are of one size.
    pub fn share(self, tests: Vec<String>, before: &mut usize) -> Vec<String> {
        let first = *before;
        *before += tests.len();
        tests
            .into_iter()
            .zip(first..)
            .filter(|(_, i)| i % self.of == self.number)
            .map(|(test, _)| test)
            .collect()
    }
}

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Part, String> {
        let numbers = text.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
        match numbers {
            Some((number, of)) if number < of => Ok(Part { number, of }),
            _ => Err(format!("`{text}` is no part; the third of four is 2/4")),
        }
    }
}

impl Display for Part {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_parts_are_the_whole() {
        let lists: [Vec<String>; 3] = [5, 1, 7].map(|n| (0..n).map(|i| format!("{n} {i}")).collect());
        let mut all: Vec<String> = Vec::new();
        for number in 0..4 {
            let (part, mut before) = (Part { number, of: 4 }, 0);
            let own: Vec<String> =
                lists.iter().flat_map(|list| part.share(list.clone(), &mut before)).collect();
            assert!((3..=4).contains(&own.len()), "{own:?}");
            all.extend(own);
        }
        let mut expected = lists.concat();
        all.sort_unstable();
        expected.sort_unstable();
        assert_eq!(all, expected);
    }

    #[test]
    fn parts_have_a_number_below_their_count() {
        assert_eq!("2/4".parse(), Ok(Part { number: 2, of: 4 }));
        for text in ["4/4", "1", "1/0", "-1/4", "a/b"] {
            assert!(text.parse::<Part>().unwrap_err().contains(text));
        }
    }
}
