//! What is compiled again when a package is written again, and what is not.

use crate::tiny::{KERNELS, files, program, strict, temp};
use arraygpu_compiler::backend::c::File;
use arraygpu_compiler::driver::Compiled;
use arraygpu_compiler::package::{Options, cache::Cache, level::Level, write};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

/// The program with a second C file, which is `extra`.
fn with_extra(extra: &str) -> Compiled {
    let mut program = program();
    let text = format!("int tiny__extra(void);\nint tiny__extra(void) {{ return {extra}; }}\n");
    let text = text.replace("tiny__extra", "PASTE(tiny__extra_, AGPU_LEVEL)");
    let head = KERNELS.split("/* saxpy").next().expect("a beginning");
    program.c_files.push(File {
        name: "tiny_cpu_extra".into(),
        text: format!("{head}{text}"),
        is_strided: false,
        line: None,
    });
    program
}

/// A package that was written: its files, how many objects were compiled of how many, and what was said.
type Written = (BTreeMap<PathBuf, Vec<u8>>, (usize, usize), Vec<String>);

/// Writes a package.
fn written(program: &Compiled, options: Options) -> Written {
    let (said, heard) = mpsc::channel();
    let out = options.out.clone();
    let progress = Box::new(move |text: &str| said.send(text.to_string()).expect("heard"));
    let all = program.c_files.len() * options.levels.len();
    write(program, &Options { progress, ..options }).expect("a package");
    let said: Vec<String> = heard.iter().collect();
    let line = said.iter().find(|line| line.starts_with("compiling")).expect("a line");
    let numbers = line.split_once(": ").map(|(_, rest)| {
        let mut numbers = rest.split(' ').filter_map(|word| word.parse().ok());
        (numbers.next().expect("a number"), numbers.next().expect("a number"))
    });
    (files(&out), numbers.unwrap_or((all, all)), said)
}

fn cached(out: &Path, folder: &Path) -> Options {
    Options { cache: Some(Cache::at(folder)), ..strict(out) }
}

#[test]
fn only_what_changed_is_compiled_and_the_bytes_are_those_of_a_first_time() {
    let dir = temp();
    let (out, cache) = (dir.path().join("tiny"), dir.path().join("cache"));
    let levels = Level::all().len();
    let lib = Path::new("lib/libtiny.so");
    let (first, counts, _) = written(&with_extra("1"), cached(&out, &cache));
    assert_eq!(counts, (2 * levels, 2 * levels));
    let (again, counts, _) = written(&with_extra("1"), cached(&out, &cache));
    assert_eq!(counts, (0, 2 * levels));
    assert!(first == again);
    let (changed, counts, _) = written(&with_extra("2 /* tiny.rs:6:1 */"), cached(&out, &cache));
    assert_eq!(counts, (levels, 2 * levels));
    let (fresh, counts, _) = written(&with_extra("2 /* tiny.rs:6:1 */"), strict(&dir.path().join("fresh")));
    assert_eq!(counts, (2 * levels, 2 * levels));
    assert!(changed == fresh && changed != first);
    // comments have the author's lines
    let (moved, counts, _) = written(&with_extra("2 /* tiny.rs:7:1 */"), cached(&out, &cache));
    assert_eq!(counts, (0, 2 * levels));
    assert!(moved.keys().eq(changed.keys()) && moved[lib] == changed[lib]);
    // one level of a package is known from the other packages
    let lowest = Options { levels: Level::all()[..1].to_vec(), ..cached(&out, &cache) };
    assert_eq!(written(&with_extra("1"), lowest).1, (0, 2));
}

#[test]
fn the_number_of_compilers_changes_no_byte() {
    let dir = temp();
    let with = |jobs: usize| {
        let options = Options { jobs, ..strict(&dir.path().join(jobs.to_string())) };
        written(&with_extra("1"), options).0
    };
    let one = with(1);
    for jobs in [0, 2, 100] {
        assert!(one == with(jobs), "{jobs}");
    }
}

#[test]
fn damaged_entries_are_made_again() {
    let dir = temp();
    let (out, cache) = (dir.path().join("tiny"), dir.path().join("cache"));
    let levels = Level::all().len();
    let (first, ..) = written(&with_extra("1"), cached(&out, &cache));
    let entries: Vec<PathBuf> = files(&cache).into_keys().map(|name| cache.join(name)).collect();
    assert_eq!(entries.len(), 2 * levels);
    for damage in
        [|b: &mut Vec<u8>| b[100] ^= 1, |b: &mut Vec<u8>| b.truncate(200), |b: &mut Vec<u8>| b.clear()]
    {
        for entry in &entries {
            let mut bytes = fs::read(entry).expect("an entry");
            damage(&mut bytes);
            fs::write(entry, bytes).expect("written");
        }
        let (again, counts, said) = written(&with_extra("1"), cached(&out, &cache));
        assert_eq!(counts, (2 * levels, 2 * levels));
        assert!(first == again);
        assert!(said.iter().any(|line| line.contains("the cache is not used as it should")), "{said:?}");
        assert_eq!(written(&with_extra("1"), cached(&out, &cache)).1, (0, 2 * levels));
    }
    // an entry under another name
    fs::copy(&entries[0], &entries[1]).expect("copied");
    let (again, counts, _) = written(&with_extra("1"), cached(&out, &cache));
    assert_eq!(counts, (1, 2 * levels));
    assert!(first == again);
}

#[cfg(unix)]
#[test]
fn a_cache_that_cannot_be_used_is_none() {
    use std::os::unix::fs::PermissionsExt;
    let dir = temp();
    let (out, cache) = (dir.path().join("tiny"), dir.path().join("cache"));
    let (first, counts, _) = written(&with_extra("1"), cached(&out, &cache));
    // others may put objects there
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o777)).expect("permissions");
    let (again, same, said) = written(&with_extra("1"), cached(&out, &cache));
    assert!(first == again && same == counts);
    assert!(said.iter().any(|line| line.contains("others may write it")), "{said:?}");
    // a file is where the folder should be
    fs::write(dir.path().join("file"), "").expect("written");
    let (again, same, said) = written(&with_extra("1"), cached(&out, &dir.path().join("file/cache")));
    assert!(first == again && same == counts);
    assert!(said.iter().any(|line| line.contains("the cache is not used as it should")), "{said:?}");
}

#[test]
fn the_cache_forgets_what_was_not_used_for_the_longest_time() {
    let dir = temp();
    let (out, folder) = (dir.path().join("tiny"), dir.path().join("cache"));
    let levels = Level::all()[..1].to_vec();
    let cache = |size| Some(Cache::at(&folder).with_size(size));
    let options = |size| Options { levels: levels.clone(), cache: cache(size), ..strict(&out) };
    written(&with_extra("1"), options(1 << 20));
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    for name in files(&folder).into_keys() {
        let file = fs::File::options().append(true).open(folder.join(name)).expect("an entry");
        file.set_modified(old).expect("a time");
    }
    let size: u64 = files(&folder).values().map(|b| b.len() as u64).sum();
    // there is no room for a third object, and without the oldest one three quarters are left
    let size = size * 7 / 5;
    assert_eq!(written(&program(), options(size)).1, (0, 1));
    written(&with_extra("2 /* tiny.rs:6:1 */"), options(size));
    assert_eq!(written(&program(), options(size)).1, (0, 1), "it was used since");
    assert_eq!(written(&with_extra("1"), options(size)).1, (1, 2), "this one is gone");
}
