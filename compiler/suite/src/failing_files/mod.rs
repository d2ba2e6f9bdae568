//! File operations that fail: a program is run again and again, and each time another of the operations that it does
//! on files of one folder fails.
//!
//! `failing_files.c`, loaded before the C library, counts them and says no; the two talk through a file of numbers.

use crate::today;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// What a file operation says that fails.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Error {
    NotFound = 2,
    Io = 5,
    Denied = 13,
    Full = 28,
    ReadOnly = 30,
    /// None: half of the bytes are moved.
    Short = 1000,
    /// None: all files of the folder are removed before it, as if by another process.
    Removed = 1001,
}

impl Error {
    /// The kinds of operations that may say it: `enum kind` in C.
    fn kinds(self) -> u64 {
        let [look, create, change, remove, list, read, write, close] = [1, 2, 4, 8, 16, 32, 64, 128];
        match self {
            Error::Full => create | change | write | close,
            Error::ReadOnly => create | change | remove,
            Error::Denied | Error::NotFound => look | create | change | remove,
            Error::Short => read | write,
            Error::Io | Error::Removed => look | create | change | remove | list | read | write | close,
        }
    }
}

/// Whose operations count: the program's, or those of the tools that it starts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Who {
    Program = 1,
    Tools = 2,
}

/// Which operations fail: one, those that follow, too, or of these all of the same function.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Span {
    One = 0,
    All = 1,
    Alike = 2,
}

/// How operations fail.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fault {
    pub who: Who,
    pub error: Error,
    pub span: Span,
}

/// All ways to fail.
fn faults(who: Who) -> Vec<Fault> {
    use Error::*;
    let ways: [(Span, &[Error]); 3] = [
        (Span::One, &[Full, Denied, Io, NotFound, Short, Removed]),
        (Span::All, &[Full, ReadOnly, Denied, Io, NotFound, Short]),
        (Span::Alike, &[Full, Denied, Io]),
    ];
    let of = |(span, errors): (Span, &'static [Error])| {
        errors.iter().map(move |&error| Fault { who, error, span })
    };
    ways.into_iter().flat_map(of).collect()
}

/// What happened in a run.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Operations of each kind.
    counts: Vec<u64>,
    /// Those that did.
    pub struck: u64,
    /// The first of them: the function and its file.
    pub what: String,
    pub path: String,
}

/// Nothing fails, with which a run says how many operations there are.
pub fn nothing(who: Who) -> Fault {
    Fault { who, error: Error::Io, span: Span::One }
}

impl Seen {
    /// Whether the operation was part of a removal, so that something stays. Folders are listed for theirs.
    pub fn is_removal(&self) -> bool {
        let removes = ["unlink", "rmdir", "unlinkat", "openat", "openat64", "fdopendir", "readdir64"];
        let is_temporary = |path: &Path| path.file_name().is_some_and(|n| n.as_encoded_bytes()[0] == b'.');
        removes.contains(&&*self.what) || self.what.contains("stat") && is_temporary(Path::new(&self.path))
    }
}

/// The library, and the numbers.
pub struct Failing {
    library: PathBuf,
    numbers: PathBuf,
    _folder: TempDir,
}

const LENGTH: usize = TEXTS + 16 + 448;
const TEXTS: usize = 15 * 8;

impl Failing {
    /// Compiles the library.
    pub fn compiled() -> Failing {
        let folder = tempfile::tempdir().expect("a folder");
        let [source, library, numbers] = ["f.c", "f.so", "numbers"].map(|name| folder.path().join(name));
        std::fs::write(&source, include_str!("failing_files.c")).expect("written");
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-o"]).arg(&library).arg(&source);
        let done = cc.output().expect("a C compiler");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        Failing { library, numbers, _folder: folder }
    }

    /// Starts this program with a command's arguments and variables; the `n`-th operation on files under `root`
    /// fails, of `None` none. What it printed between << and >>, and what happened.
    pub fn run(
        &self,
        root: &Path,
        fault: Fault,
        n: Option<u64>,
        more: &dyn Fn(&mut Command),
    ) -> (String, Seen) {
        let Fault { who, error, span } = fault;
        let numbers = [0, n.unwrap_or(u64::MAX), span as u64, error as u64, error.kinds(), who as u64];
        let mut numbers = numbers.map(u64::to_le_bytes).concat();
        numbers.resize(LENGTH, 0);
        std::fs::write(&self.numbers, numbers).expect("written");
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.env("LD_PRELOAD", &self.library).env("FAILING_FILES_STATE", &self.numbers);
        command.env("FAILING_FILES_UNDER", root);
        more(&mut command);
        let output = command.output().expect("a process");
        let seen = self.seen();
        let text = String::from_utf8_lossy(&output.stdout);
        let said = text.split_once("<<").and_then(|(_, t)| t.split_once(">>"));
        let (true, Some((said, _))) = (output.status.success(), said) else {
            let errors = String::from_utf8_lossy(&output.stderr);
            panic!("{}: {fault:?} at {n:?}, {seen:?}\n{text}{errors}", output.status);
        };
        (said.into(), seen)
    }

    fn seen(&self) -> Seen {
        let bytes = std::fs::read(&self.numbers).expect("the numbers");
        let number = |i: usize| u64::from_le_bytes(bytes[8 * i..8 * i + 8].try_into().expect("eight bytes"));
        let text = |from: usize, to: usize| {
            let text = bytes[from..to].split(|b| *b == 0).next().unwrap_or_default();
            String::from_utf8_lossy(text).into_owned()
        };
        Seen {
            counts: (7..15).map(number).collect(),
            struck: number(6),
            what: text(TEXTS, TEXTS + 16),
            path: text(TEXTS + 16, LENGTH),
        }
    }
}

/// The cases of a sweep over the operations that were seen: each way to fail with those that may fail so, and how
/// many there are. By day about `some` of them, each day others; all if there is time.
pub fn cases(who: Who, seen: &Seen, some: usize) -> (Vec<(Fault, u64)>, usize) {
    let count = |fault: Fault| {
        let kinds = seen.counts.iter().enumerate().filter(|(i, _)| fault.error.kinds() >> i & 1 == 1);
        kinds.map(|(_, count)| count).sum::<u64>()
    };
    let all: Vec<_> = faults(who).into_iter().flat_map(|f| (0..count(f)).map(move |n| (f, n))).collect();
    let (count, parts) = (all.len(), all.len() / some + 1);
    (today::share(all, parts), count)
}

/// Files and folders below a folder.
pub fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()) {
        if path.is_dir() && !path.is_symlink() {
            found.extend(below(&path));
        }
        found.push(path);
    }
    found
}
