//! Documentation of the language: every public function of `dsl/src` has an example, which runs as
//! a doc test, and a line that says what it costs, unless it is hidden.
//!
//! The check reads text. It looks at the doc comments and attributes above `pub fn`, also in
//! macros, whose examples are made by `#[doc = concat!(..)]`. That every item has a doc comment at
//! all is the lint `missing_docs`.

/// Files whose public functions need neither, each with the reason.
const EXCEPTIONS: [(&str, &str); 3] = [
    ("dsl/src/example.rs", "hidden: it is what the examples are made with, and no part of the language"),
    ("dsl/src/item.rs", "hidden: what the code of `#[derive(Record)]` calls"),
    ("dsl/src/record.rs", "hidden: what the code of `#[derive(Record)]` calls"),
];

/// The public functions of a file that have no example or no cost.
pub fn check(name: &str, text: &str) -> Vec<String> {
    if !name.starts_with("dsl/src/") || !name.ends_with(".rs") {
        return vec![];
    }
    let found = missing(text);
    match EXCEPTIONS.iter().find(|(file, _)| *file == name) {
        None => found,
        Some(_) if !found.is_empty() => vec![],
        Some((_, reason)) => vec![format!("needs no exception in tidy/examples.rs (`{reason}`)")],
    }
}

fn missing(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let mut bad = Vec::new();
    for (i, function) in lines.iter().enumerate().filter_map(|(i, line)| Some((i, public_function(line)?))) {
        let above = lines[..i].iter().rev().take_while(|line| is_head(line));
        let (mut fences, mut cost) = (0, false);
        // what is hidden is no part of the language
        if above.clone().any(|line| *line == "#[doc(hidden)]") {
            continue;
        }
        for line in above {
            fences += usize::from(line.starts_with("/// ```"));
            cost |= line.contains("Cost: ");
        }
        let mut complain = |what: &str| bad.push(format!("line {}: `{function}` has {what}", i + 1));
        if fences < 2 {
            complain("no example");
        }
        if !cost {
            complain("no line `Cost: ..`");
        }
    }
    bad
}

/// The name of the public function that a line declares.
fn public_function(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub ")?;
    let rest = ["const ", "async "].iter().fold(rest, |r, word| r.strip_prefix(word).unwrap_or(r));
    rest.strip_prefix("fn ")?.split(['(', '<']).next()
}

/// Whether a line belongs to the doc comments and attributes above a function, whose attributes may
/// take several lines.
fn is_head(line: &str) -> bool {
    let is_code = line.is_empty() || line.ends_with(['{', '}', ';']) || line.ends_with("=> { $(");
    line.starts_with("///") || line.starts_with("#[") || line.starts_with("$(#[") || !is_code
}

#[cfg(test)]
mod tests {
    use super::check;

    const DOCUMENTED: &str = "/// Cost: none.\n///\n/// ```\n/// one();\n/// ```\n";

    #[test]
    fn documented() {
        let text =
            format!("mod a;\n{DOCUMENTED}#[track_caller]\npub fn one() {{\n}}\n\npub(crate) fn two() {{}}\n");
        assert!(check("dsl/src/array.rs", &text).is_empty());
        assert!(check("capi/src/lib.rs", "pub fn two() {}\n").is_empty());
    }

    #[test]
    fn in_a_macro() {
        let text = "    ($m:ident) => { $(\n        $(#[$doc])*\n        ///\n        #[doc = concat!(\"Cost: \", $cost)]\n\
                    /// ```\n#[doc = concat!(\n    \"x.\",\n    stringify!($m), \"();\"\n)]\n/// ```\n        pub fn $m(self) {\n";
        assert!(check("dsl/src/array.rs", text).is_empty());
    }

    #[test]
    fn undocumented() {
        let text = format!("{DOCUMENTED}pub fn one() {{}}\n/// Two.\npub const fn two<T>() {{}}\n");
        let bad = check("dsl/src/array.rs", &text);
        assert_eq!(bad, ["line 8: `two` has no example", "line 8: `two` has no line `Cost: ..`"]);
    }

    #[test]
    fn exceptions_are_needed() {
        assert!(check("dsl/src/example.rs", "/// One.\npub fn one() {}\n").is_empty());
        assert_eq!(check("dsl/src/example.rs", &format!("{DOCUMENTED}pub fn one() {{}}\n")).len(), 1);
    }
}
