//! Numbers of things in sentences.

use std::fmt::{self, Display, Formatter};

/// Returns a number, or a formula, with the word for so many: `1 element`, `3 elements`, `len(x) elements`,
/// `len(x) = 1 element`. The text is made where it is printed.
pub fn counted<N: Display>(n: N, one: &str) -> impl Display {
    Counted { n, one }
}

struct Counted<'a, N> {
    n: N,
    one: &'a str,
}

impl<N: Display> Display for Counted<'_, N> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (n, one) = (self.n.to_string(), self.one);
        let plural = match n == "1" || n.ends_with(" = 1") {
            true => "",
            false if one.ends_with("ch") => "es",
            false => "s",
        };
        write!(f, "{n} {one}{plural}")
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Display;

    fn counted(n: impl Display, one: &str) -> String {
        super::counted(n, one).to_string()
    }

    #[test]
    fn one_is_no_plural() {
        assert_eq!(counted(0, "element"), "0 elements");
        assert_eq!(counted(1, "element"), "1 element");
        assert_eq!(counted(-1, "element"), "-1 elements");
        assert_eq!(counted("len(x)", "element"), "len(x) elements");
        assert_eq!(counted("len(x) = 1", "element"), "len(x) = 1 element");
        assert_eq!(counted("len(x) = 11", "element"), "len(x) = 11 elements");
        assert_eq!(counted("2 x 1", "element"), "2 x 1 elements");
        assert_eq!(counted(1, "launch"), "1 launch");
        assert_eq!(counted(2, "launch"), "2 launches");
    }
}
