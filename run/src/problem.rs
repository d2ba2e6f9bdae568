//! What went wrong, and what the program's exit code says of it.

/// Results of the program's parts.
pub type Result<T> = std::result::Result<T, Problem>;

/// A message for the user.
#[derive(Debug)]
pub struct Problem {
    /// The exit code: 2 if the command line has to change, else 1.
    pub exit: u8,
    /// What went wrong, and what is expected instead.
    pub text: String,
}

/// Returns a problem of the command line.
pub fn usage(text: impl Into<String>) -> Problem {
    Problem { exit: 2, text: text.into() }
}

/// Returns a problem of a file, of a device or of a call.
pub fn failure(text: impl Into<String>) -> Problem {
    Problem { exit: 1, text: text.into() }
}

/// Says that a name is unknown, which one may be meant, and which there are.
pub fn unknown<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Problem {
    let known: Vec<&str> = known.into_iter().collect();
    let distance = |k: &&str| strsim::damerau_levenshtein(name, k);
    // a third of the letters may differ
    let near =
        known.iter().copied().min_by_key(distance).filter(|k| distance(k) * 3 <= name.len().max(k.len()));
    let meant = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    let all =
        if known.is_empty() { "there are none".into() } else { format!("there are: {}", known.join(", ")) };
    usage(format!("no {what} `{name}`{meant}\n{all}"))
}

#[cfg(test)]
mod tests {
    use super::unknown;

    #[test]
    fn unknown_names_tell_the_nearest_and_all() {
        let text = |name| unknown("function", name, ["rmse", "softmax"]).text;
        assert_eq!(text("sofmax"), "no function `sofmax`; did you mean `softmax`?\nthere are: rmse, softmax");
        assert_eq!(text("variance"), "no function `variance`\nthere are: rmse, softmax");
        assert_eq!(unknown("parameter", "x", []).text, "no parameter `x`\nthere are none");
    }
}
