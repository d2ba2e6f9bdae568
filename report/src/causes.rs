//! Why a row is slower than its best peer: `bench/causes.toml`, written by hand.

use std::collections::BTreeMap;

/// Causes by the beginning of a row's name: `softmax` serves all sizes, `softmax 1048576x64` one.
pub struct Causes(BTreeMap<String, String>);

impl Causes {
    /// Reads `"beginning of a name" = "cause"` lines.
    ///
    /// # Errors
    /// Text that is not TOML, or a value that is no text.
    pub fn read(text: &str) -> Result<Self, String> {
        toml::from_str(text).map(Self).map_err(|e| format!("bench/causes.toml: {e}"))
    }

    /// The cause of a row: that of the longest beginning.
    pub fn of(&self, name: &str) -> Option<&str> {
        let fits = self.0.iter().filter(|(key, _)| name.starts_with(key.as_str()));
        fits.max_by_key(|(key, _)| key.len()).map(|(_, cause)| cause.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_beginning_names_the_cause() {
        let causes = Causes::read("\"softmax\" = \"all\"\n\"softmax 2^20x64\" = \"one\"\n").unwrap();
        assert_eq!(
            (causes.of("softmax 2^20x64"), causes.of("softmax 8x8"), causes.of("sum 2^26")),
            (Some("one"), Some("all"), None)
        );
    }
}
