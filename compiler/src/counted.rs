//! Numbers of things in sentences.

use std::fmt::Display;

/// Returns a number, or a formula, with the word for so many: `1 element`, `3 elements`, `len(x) elements`,
/// `len(x) = 1 element`.
pub fn counted(n: impl Display, one: &str) -> String {
    let n = n.to_string();
    let plural = if n == "1" || n.ends_with(" = 1") { "" } else { "s" };
    format!("{n} {one}{plural}")
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn one_is_no_plural() {
        assert_eq!(counted(0, "element"), "0 elements");
        assert_eq!(counted(1, "element"), "1 element");
        assert_eq!(counted(-1, "element"), "-1 elements");
        assert_eq!(counted("len(x)", "element"), "len(x) elements");
        assert_eq!(counted("len(x) = 1", "element"), "len(x) = 1 element");
        assert_eq!(counted("len(x) = 11", "element"), "len(x) = 11 elements");
        assert_eq!(counted("2 x 1", "element"), "2 x 1 elements");
    }
}
