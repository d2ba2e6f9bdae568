//! No circle of files: the files of a crate import each other in one direction.
//!
//! An import is a path from one file to an item of another one, in `use` or written out in code
//! ([`super::imports`]). A module that declares its children (`mod x;`) and hands on their items
//! (`pub use x::Y`) does not import them, and a path through such a module leads to the file that
//! has the item. Methods are no paths: a call of a method that a higher file implements is not
//! seen.

use super::imports::{Files, Import};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A folder that may have a circle, with how many files at most, and the reason.
struct Exception {
    folder: &'static str,
    files: usize,
    reason: &'static str,
}

const EXCEPTIONS: &[Exception] = &[Exception {
    folder: "capi/src/block/lower/",
    files: 6,
    reason: "lowering is recursive: a loop's body is statements again",
}];

/// The circles among the files of the crate whose sources begin at `root`.
pub fn check(root: &str, files: &Files) -> Vec<String> {
    check_with(root, files, EXCEPTIONS)
}

fn check_with(root: &str, files: &Files, exceptions: &[Exception]) -> Vec<String> {
    let (mut bad, mut excepted) = (Vec::new(), BTreeSet::new());
    let graph = Graph::of(files);
    for circle in graph.circles() {
        let inside = |e: &&Exception| circle.iter().all(|file| file.starts_with(e.folder));
        let exception = exceptions.iter().find(inside);
        excepted.extend(exception.map(|e| e.folder));
        match exception {
            Some(e) if circle.len() <= e.files => {}
            Some(e) => {
                bad.push(format!("{}, but {} may have {}", graph.describe(&circle), e.folder, e.files))
            }
            None => bad.push(graph.describe(&circle)),
        }
    }
    for e in exceptions.iter().filter(|e| e.folder.starts_with(root) && !excepted.contains(e.folder)) {
        bad.push(format!("{}: no circle needs the exception in tidy/circles.rs ({})", e.folder, e.reason));
    }
    bad
}

/// Which file imports which, each with the first path that does.
struct Graph(BTreeMap<String, BTreeMap<String, String>>);

impl Graph {
    fn of(files: &Files) -> Graph {
        let mut edges: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        for Import { from, to, path } in files.imports() {
            edges.entry(to.clone()).or_default();
            edges.entry(from).or_default().entry(to).or_insert(path);
        }
        Graph(edges)
    }

    /// All files to which imports lead from a file, itself only if it is in a circle.
    fn reached<'a>(&'a self, from: &'a str) -> BTreeSet<&'a str> {
        let (mut seen, mut stack) = (BTreeSet::new(), vec![from]);
        while let Some(file) = stack.pop() {
            stack.extend(self.0[file].keys().map(String::as_str).filter(|next| seen.insert(*next)));
        }
        seen
    }

    /// The strongly connected components of more than one file.
    fn circles(&self) -> Vec<Vec<&str>> {
        let reached: BTreeMap<&str, BTreeSet<&str>> =
            self.0.keys().map(|file| (file.as_str(), self.reached(file))).collect();
        let (mut circles, mut done) = (Vec::new(), BTreeSet::new());
        for (file, others) in reached.iter().filter(|(file, others)| others.contains(*file)) {
            if done.contains(file) {
                continue;
            }
            let circle: Vec<&str> = others.iter().copied().filter(|o| reached[o].contains(file)).collect();
            done.extend(circle.iter().copied());
            circles.push(circle);
        }
        circles
    }

    /// The message: how many files, and the shortest way around from the first of them.
    fn describe(&self, circle: &[&str]) -> String {
        let first = circle[0];
        let (mut before, mut queue) = (BTreeMap::new(), VecDeque::from([first]));
        while let Some(file) = queue.pop_front().filter(|_| !before.contains_key(first)) {
            for next in self.0[file].keys().map(String::as_str).filter(|n| circle.contains(n)) {
                if !before.contains_key(next) {
                    before.insert(next, file);
                    queue.push_back(next);
                }
            }
        }
        let (mut steps, mut file) = (Vec::new(), first);
        loop {
            let importer = before[file];
            steps.push(format!("{importer} imports `{}` of {file}", self.0[importer][file]));
            file = importer;
            if file == first {
                break;
            }
        }
        steps.reverse();
        format!("a circle of {} files: {}", circle.len(), steps.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::{Exception, Files, check_with};

    fn check(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> = files.iter().map(|(n, t)| (format!("dsl/src/{n}"), (*t).into())).collect();
        check_with("dsl/src/", &Files::read("dsl/src/", files.iter()), &[])
    }

    #[test]
    fn one_direction() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\npub use b::B;\n"),
            ("a.rs", "use crate::B;\npub struct A(B);\n"),
            (
                "b.rs",
                "pub struct B; // not crate::a::A\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n",
            ),
        ];
        assert!(check(&files).is_empty());
    }

    #[test]
    fn two_directions() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\n"),
            ("a.rs", "use crate::b::{self, B};\npub struct A(B);\n"),
            ("b.rs", "pub struct B;\nfn f(a: super::a::A) {}\n"),
        ];
        let said = "a circle of 2 files: dsl/src/a.rs imports `crate::b::B` of dsl/src/b.rs, \
                    dsl/src/b.rs imports `super::a::A` of dsl/src/a.rs";
        assert_eq!(check(&files), [said]);
    }

    #[test]
    fn a_module_that_hands_on_does_not_import() {
        let child = ("x/c.rs", "use super::X;\npub struct Y(X);\npub fn f() {}\n");
        let hands_on = [("x/mod.rs", "mod c;\npub(super) use c::Y;\npub struct X;\n"), child];
        assert!(check(&hands_on).is_empty());
        let uses = [("x/mod.rs", "mod c;\npub struct X;\nfn g() { c::f() }\n"), child];
        assert_eq!(check(&uses).len(), 1);
    }

    #[test]
    fn exceptions() {
        let files: Vec<(String, String)> = [("a/b.rs", "use super::c::C;"), ("a/c.rs", "use super::b::B;")]
            .map(|(name, text)| (format!("dsl/src/{name}"), text.into()))
            .into();
        let check = |files: &[(String, String)], most| {
            let exception = Exception { folder: "dsl/src/a/", files: most, reason: "recursion" };
            check_with("dsl/src/", &Files::read("dsl/src/", files.iter()), &[exception])
        };
        assert!(check(&files, 2).is_empty());
        assert!(check(&files, 1)[0].ends_with(", but dsl/src/a/ may have 1"));
        assert_eq!(check(&files[..1], 2).len(), 1);
    }
}
