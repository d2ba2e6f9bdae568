//! Which items of which files a file names, from the texts of all files of a crate.
//!
//! A file is read as tokens, so that the arguments of macros count too: every path `a::b` is
//! followed through modules and the names that they have by `use`. A name that a module hands on by
//! `pub use` is an import if the module's own code mentions it. `mod tests` is left out.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
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

#[derive(Default)]
struct File {
    /// The path from the repository's root.
    name: String,
    /// The children that it declares.
    children: BTreeSet<String>,
    names: Vec<Name>,
    /// The paths of two names and more in its code, without `use`.
    paths: BTreeSet<Vec<String>>,
    /// The words of its code.
    words: BTreeSet<String>,
}

/// The files of a crate.
pub struct Files(BTreeMap<Module, File>);

impl Files {
    /// The files' names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.values().map(|file| file.name.as_str())
    }

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
            for name in &file.names {
                add(&name.path, name.is_public && !file.words.contains(&name.name));
            }
            for path in &file.paths {
                add(path, false);
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
        let mut file = File { name: name.into(), ..File::default() };
        // what rustc does not accept either is not this check's to report
        file.add(&Vec::from_iter(text.parse::<TokenStream>().into_iter().flatten()));
        file
    }

    /// Adds what the tokens name.
    fn add(&mut self, tokens: &[TokenTree]) {
        let mut rest = tokens;
        while let Some((token, after)) = rest.split_first() {
            let before = &tokens[..tokens.len() - rest.len()];
            rest = match token {
                TokenTree::Group(group) => {
                    self.add(&inside(group));
                    after
                }
                TokenTree::Ident(word) if word == "use" && !is_punct(after.first(), '<') => {
                    let (tree, after) = split_at(after, ';');
                    names_of(tree, &[], is_public(before), &mut self.names);
                    after
                }
                TokenTree::Ident(word) if word == "mod" => self.module(after),
                TokenTree::Ident(word) if word == "enum" => self.variants(after),
                TokenTree::Ident(_) => {
                    let (path, after) = path(rest);
                    self.words.extend(path.iter().cloned());
                    // `::a::b` is of another crate, or of a type
                    let is_outer = matches!(before, [.., a, b] if is_separator(a, b));
                    if path.len() > 1 && !is_outer {
                        self.paths.insert(path);
                    }
                    after
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => after,
            }
        }
    }

    /// Adds the child of `mod child;`, and leaves out `mod tests { .. }`. Returns the tokens behind.
    fn module<'a>(&mut self, tokens: &'a [TokenTree]) -> &'a [TokenTree] {
        match tokens {
            [TokenTree::Ident(child), end, ..] if is_punct(Some(end), ';') => {
                self.children.insert(child.to_string());
                &tokens[2..]
            }
            [TokenTree::Ident(tests), TokenTree::Group(_), after @ ..] if tests == "tests" => after,
            _ => tokens,
        }
    }

    /// Adds what an `enum` names but its variants' own names. Returns the tokens behind.
    fn variants<'a>(&mut self, tokens: &'a [TokenTree]) -> &'a [TokenTree] {
        let is_body = |t: &TokenTree| matches!(t, TokenTree::Group(g) if g.delimiter() == Delimiter::Brace);
        let body = tokens.iter().position(is_body).unwrap_or(0);
        self.add(&tokens[..body]);
        if let TokenTree::Group(group) = &tokens[body] {
            let tokens = inside(group);
            for variant in tokens.split(|token| is_punct(Some(token), ',')) {
                let name = variant.iter().position(|token| matches!(token, TokenTree::Ident(_)));
                self.add(&variant[name.map_or(0, |name| name + 1)..]);
            }
        }
        &tokens[body + 1..]
    }
}

/// The names of a tree `a::{b, c::D as E}`.
fn names_of(tree: &[TokenTree], prefix: &[String], is_public: bool, names: &mut Vec<Name>) {
    let (mut path, rest) = path(tree);
    path.splice(..0, prefix.iter().cloned());
    match rest {
        [.., TokenTree::Group(group)] => {
            for tree in inside(group).split(|token| is_punct(Some(token), ',')).filter(|t| !t.is_empty()) {
                names_of(tree, &path, is_public, names);
            }
        }
        _ => {
            if is_punct(rest.last(), '*') {
                path.push("*".into());
            }
            let alias = match rest {
                [TokenTree::Ident(_), TokenTree::Ident(alias)] => Some(alias.to_string()),
                _ => None,
            };
            if path.len() > 1 {
                path.pop_if(|last| last == "self");
            }
            let name = alias.or_else(|| path.last().cloned()).unwrap_or_default();
            names.push(Name { name, path, is_public });
        }
    }
}

/// The names `a::b::c` with which the tokens begin, and the tokens behind them.
fn path(tokens: &[TokenTree]) -> (Vec<String>, &[TokenTree]) {
    let (mut path, mut rest) = (Vec::new(), tokens);
    while let [TokenTree::Ident(name), after @ ..] = rest {
        path.push(name.to_string());
        rest = after;
        match after {
            [a, b, behind @ ..] if is_separator(a, b) => rest = behind,
            _ => break,
        }
    }
    (path, rest)
}

/// The tokens before the first such one, and those behind it.
fn split_at(tokens: &[TokenTree], end: char) -> (&[TokenTree], &[TokenTree]) {
    let at = tokens.iter().position(|token| is_punct(Some(token), end)).unwrap_or(tokens.len());
    (&tokens[..at], tokens.get(at + 1..).unwrap_or_default())
}

fn inside(group: &Group) -> Vec<TokenTree> {
    group.stream().into_iter().collect()
}

fn is_punct(token: Option<&TokenTree>, c: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == c)
}

/// Whether the two tokens are `::`.
fn is_separator(a: &TokenTree, b: &TokenTree) -> bool {
    [a, b].iter().all(|token| is_punct(Some(token), ':'))
}

/// Whether the tokens end with `pub`, or `pub(..)`.
fn is_public(tokens: &[TokenTree]) -> bool {
    let is_pub = |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word == "pub");
    matches!(tokens, [.., word] if is_pub(word))
        || matches!(tokens, [.., word, TokenTree::Group(_)] if is_pub(word))
}

#[cfg(test)]
mod tests {
    use super::Files;

    fn imports(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<(String, String)> =
            files.iter().map(|(n, t)| (format!("s/{n}"), (*t).into())).collect();
        let found = Files::read("s/", files.iter()).imports();
        found.iter().map(|i| format!("{} {} {}", i.from, i.path, i.to)).collect()
    }

    #[test]
    fn comments_strings_and_tests_do_not_count() {
        let text = "// crate::b::B
fn f<'a>(x: &'a str) { g(\"crate::b::B\", '\"') }
mod tests { use crate::b::B; }";
        assert!(imports(&[("a.rs", text), ("b.rs", "")]).is_empty());
        let text = "fn f() { println!(\"{}\", crate::b::B) }";
        assert_eq!(imports(&[("a.rs", text), ("b.rs", "")]).len(), 1);
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
