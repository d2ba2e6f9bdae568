//! Which items of which files a file names, from the texts of all files of a crate.
//!
//! The text is not parsed: comments and strings are taken away, `use` and `mod` are found, and
//! every path `a::b` is followed through modules and the names that they have by `use`. A name that
//! a module hands on by `pub use` is an import if the module's own code mentions it.

use std::collections::{BTreeMap, BTreeSet};

/// A path in one file that leads to an item of another one.
pub struct Import {
    pub from: String,
    pub to: String,
    pub path: String,
}

/// A module, by its path from the crate's root: `["core", "graph"]`.
type Module = Vec<String>;

/// The longest chain of names that stand for each other; a longer one would be a bug of this file.
const DEEPEST: usize = 32;

/// A name that a file has by `use`; `*` for all names of a module.
struct Name {
    name: String,
    path: Vec<String>,
    is_public: bool,
}

struct File {
    /// The path from the repository's root.
    name: String,
    /// The children that it declares.
    children: BTreeSet<String>,
    names: Vec<Name>,
    /// The code without `use`.
    code: String,
}

/// The files of a crate.
pub struct Files(BTreeMap<Module, File>);

impl Files {
    /// The files of the crate whose sources begin at `root`: names and texts.
    pub fn read<'a>(root: &str, files: impl Iterator<Item = &'a (String, String)>) -> Files {
        let module = |name: &str| {
            let path = name.trim_start_matches(root).trim_end_matches(".rs");
            let mut module: Module = path.split('/').map(String::from).collect();
            module.pop_if(|last| ["mod", "lib"].contains(&last.as_str()));
            module
        };
        Files(files.map(|(name, text)| (module(name), File::read(name, text))).collect())
    }

    /// All imports of one file by another one.
    pub fn imports(&self) -> Vec<Import> {
        let mut imports = Vec::new();
        for (module, file) in &self.0 {
            let mut add = |path: &[String], is_public: bool| {
                let is_all = path.last().is_some_and(|last| last == "*");
                let followed = if is_all { &path[..path.len() - 1] } else { path };
                let Some((to, rest)) = self.resolve(module, followed, 0) else { return };
                // a path that ends at a module names no item
                let hands_on = is_public && to.starts_with(module);
                if to != *module && !hands_on && (is_all || !rest.is_empty()) {
                    let to = self.0[&to].name.clone();
                    imports.push(Import { from: file.name.clone(), to, path: path.join("::") });
                }
            };
            let words = words(&file.code);
            for name in &file.names {
                add(&name.path, name.is_public && !words.contains(name.name.as_str()));
            }
            for path in paths(&file.code) {
                add(&path, false);
            }
        }
        imports
    }

    /// The module to whose file a path leads, and the path from there on: empty if it is the
    /// module. None if it leads out of the crate, or is local.
    fn resolve(&self, from: &[String], path: &[String], depth: usize) -> Option<(Module, Vec<String>)> {
        let (first, mut rest) = path.split_first().filter(|_| depth < DEEPEST)?;
        let mut module = from.to_vec();
        match first.as_str() {
            "crate" => module.clear(),
            "self" => {}
            "super" => drop(module.pop()),
            _ => rest = path,
        }
        while let Some(after) = rest.strip_prefix(&["super".to_string()]) {
            module.pop();
            rest = after;
        }
        let is_plain = rest.len() == path.len();
        if is_plain && !self.0.get(&module)?.children.contains(first) {
            return self.by_name(&module, rest, depth);
        }
        while let Some((child, after)) = rest.split_first() {
            let deeper = [&module[..], std::slice::from_ref(child)].concat();
            if !self.0.contains_key(&deeper) {
                break;
            }
            (module, rest) = (deeper, after);
        }
        let has =
            |name: &String| self.0.get(&module).is_some_and(|f| f.names.iter().any(|n| n.name == *name));
        match rest.first() {
            Some(name) if has(name) => self.by_name(&module, rest, depth),
            _ => self.0.contains_key(&module).then(|| (module, rest.to_vec())),
        }
    }

    /// Follows a path whose first name the module has by `use`.
    fn by_name(&self, module: &Module, path: &[String], depth: usize) -> Option<(Module, Vec<String>)> {
        let (first, rest) = path.split_first()?;
        let file = &self.0[module];
        // `use half;` is another crate
        let leads_on = |n: &&Name| n.name == *first && (n.path[0] != *first || file.children.contains(first));
        let found = file.names.iter().find(leads_on)?;
        self.resolve(module, &[&found.path[..], rest].concat(), depth + 1)
    }
}

impl File {
    fn read(name: &str, text: &str) -> File {
        let text = text.split("\nmod tests {").next().unwrap_or_default();
        let text = without_texts(text);
        let (mut children, mut names, mut code) = (BTreeSet::new(), Vec::new(), String::new());
        for statement in text.split(';') {
            let is_tree = |c: char| c.is_alphanumeric() || c.is_whitespace() || "_:{},*".contains(c);
            match statement.rsplit_once("use ") {
                Some((before, tree)) if tree.chars().all(is_tree) && !before.ends_with(is_word) => {
                    let visibility = before.rsplit(['}', '{', ']']).next().unwrap_or_default();
                    let is_public = visibility.split_whitespace().any(|word| word.starts_with("pub"));
                    names_of(tree.trim(), &[], is_public, &mut names);
                    code += before;
                }
                _ => {
                    let mut words = statement.split_whitespace().rev();
                    if let (Some(child), Some("mod")) = (words.next(), words.next()) {
                        children.insert(child.into());
                    }
                    code += statement;
                }
            }
            code.push(';');
        }
        File { name: name.into(), children, names, code }
    }
}

/// The names of a path, without the empty one behind a last `::`.
fn segments(path: &str) -> impl Iterator<Item = String> {
    path.split("::").map(|s| s.trim().to_string()).filter(|s| !s.is_empty())
}

/// The names of a tree `a::{b, c::D as E}`.
fn names_of(tree: &str, prefix: &[String], is_public: bool, names: &mut Vec<Name>) {
    if let Some((path, group)) = tree.split_once('{') {
        let prefix: Vec<String> = prefix.iter().cloned().chain(segments(path)).collect();
        let group = group.trim_end().strip_suffix('}').unwrap_or(group);
        let (mut depth, mut start) = (0, 0);
        for (i, c) in group.char_indices().chain([(group.len(), ',')]) {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    let part = group[start..i].trim();
                    if !part.is_empty() {
                        names_of(part, &prefix, is_public, names);
                    }
                    start = i + 1;
                }
                _ => {}
            }
        }
        return;
    }
    let (path, alias) =
        tree.split_once(" as ").map_or((tree, None), |(path, alias)| (path, Some(alias.trim())));
    let mut path: Vec<String> = prefix.iter().cloned().chain(segments(path)).collect();
    if path.len() > 1 {
        path.pop_if(|last| last == "self");
    }
    if let Some(last) = path.last().cloned() {
        names.push(Name { name: alias.map_or(last, String::from), path, is_public });
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The words in code but those that a line begins with in capitals: they are variants of an `enum`.
fn words(code: &str) -> BTreeSet<&str> {
    let mut words = BTreeSet::new();
    for line in code.lines() {
        let is_variant = line.trim_start().starts_with(char::is_uppercase);
        let all = line.split(|c| !is_word(c)).filter(|word| !word.is_empty());
        words.extend(all.skip(usize::from(is_variant)));
    }
    words
}

/// The paths of two names and more in code.
fn paths(code: &str) -> BTreeSet<Vec<String>> {
    let words = code.split(|c: char| !is_word(c) && c != ':');
    let path = |word: &str| word.trim_end_matches(':').split("::").map(String::from).collect::<Vec<_>>();
    let is_path =
        |path: &Vec<String>| path.len() > 1 && path.iter().all(|s| s.chars().all(is_word) && !s.is_empty());
    words.map(path).filter(is_path).collect()
}

/// The text without comments, strings and characters.
fn without_texts(text: &str) -> String {
    let (mut code, mut rest) = (String::new(), text);
    while let Some(c) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if rest.starts_with("r#\"") {
            rest.find("\"#").map_or(rest.len(), |end| end + 2)
        } else if c == '"' {
            quoted(rest, '"')
        } else if c == '\'' && rest[1..].starts_with('\\') {
            quoted(rest, '\'')
        } else if c == '\'' && rest.chars().nth(2) == Some('\'') {
            rest.char_indices().nth(3).map_or(rest.len(), |(end, _)| end)
        } else {
            code.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        };
        code.push(' ');
        rest = &rest[skipped..];
    }
    code
}

/// The length of the string or character with which a text begins, up to the same quote.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (i, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return i + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::{Files, without_texts};

    fn imports(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<(String, String)> =
            files.iter().map(|(n, t)| (format!("s/{n}"), (*t).into())).collect();
        let found = Files::read("s/", files.iter()).imports();
        found.iter().map(|i| format!("{} {} {}", i.from, i.path, i.to)).collect()
    }

    #[test]
    fn texts_are_taken_away() {
        let text = "a(\"crate::b\\\"\", '\"', '\\'', r#\"\"c\"#); // d\nfn f<'a>(x: &'a str) {}";
        assert_eq!(without_texts(text), "a( ,  ,  ,  );  \nfn f<'a>(x: &'a str) {}");
    }

    #[test]
    fn trees_and_paths() {
        let uses = "use crate::{b::{self, B}, c::d as e};\nfn f() { b::g(); e::h(); std::fs::read() }\n";
        let files = [("a.rs", uses), ("b.rs", ""), ("c/mod.rs", "pub mod d;"), ("c/d.rs", "")];
        assert_eq!(
            imports(&files),
            ["s/a.rs crate::b::B s/b.rs", "s/a.rs b::g s/b.rs", "s/a.rs e::h s/c/d.rs"]
        );
    }

    #[test]
    fn names_that_are_handed_on() {
        let files = [
            ("lib.rs", "mod a;\nmod c;\npub use c::D;\n"),
            ("a.rs", "use crate::D;\nuse crate::c::E;\npub use crate::c::F;\n"),
            ("c/mod.rs", "mod d;\npub use d::D;\nuse half::E;\npub struct F;\n"),
            ("c/d.rs", ""),
        ];
        assert_eq!(imports(&files), ["s/a.rs crate::D s/c/d.rs", "s/a.rs crate::c::F s/c/mod.rs"]);
    }

    #[test]
    fn names_that_are_handed_on_and_used() {
        let text = "mod b;\npub use b::{B, C};\nenum A {\n    B(u8),\n}\nfn f(_: C) {}\n";
        assert_eq!(imports(&[("a/mod.rs", text), ("a/b.rs", "")]), ["s/a/mod.rs b::C s/a/b.rs"]);
    }
}
