//! Every file operation of the store fails: what is got is right or nothing, nothing is left over, the bound holds,
//! and the next process finds a store that works.

#[path = "../../../compiler/tests/common/failing_files/mod.rs"]
mod failing_files;

use super::*;
use failing_files::{Error, Failing, Fault, Span, Who, below, cases, nothing};
use std::collections::BTreeMap;

const SIZE: u64 = 1 << 18;
/// An entry has about so many bytes: all files are looked at for each.
const LARGE: usize = 25_000;

fn content(key: u64) -> Vec<u8> {
    vec![key as u8; LARGE + key as usize]
}

fn get(store: &Store, key: u64) -> Result<Option<Vec<u8>>, String> {
    store.get(&key.to_le_bytes())
}

fn put(store: &Store, key: u64) -> Result<(), String> {
    store.put(&key.to_le_bytes(), &content(key))
}

/// Eleven entries, all old and together above the bound, of which the last is damaged; and a file that was abandoned.
fn fill(root: &Path) {
    let store = Store::new(root.join("cache"), 1 << 30);
    for key in 0..11 {
        put(&store, key).unwrap();
        let path = store.path(&blake3::hash(&key.to_le_bytes()));
        if key == 10 {
            std::fs::write(&path, "x").unwrap();
        }
        let then = SystemTime::now() - Duration::from_secs(3600 * (100 - key));
        std::fs::File::open(path).unwrap().set_modified(then).unwrap();
    }
    let abandoned = store.folder.join(format!("{}.1-2-3.tmp", "a".repeat(64)));
    let file = std::fs::File::create(abandoned).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(7200)).unwrap();
}

/// Not a test by itself: what the one below runs in processes of its own. Says how many entries were right, and what
/// failed.
#[test]
fn failing_child() {
    let Some(root) = std::env::var_os("ARRAYGPU_FAILING_STORE") else { return };
    let store = Store::new(Path::new(&root).join("cache"), SIZE);
    let opened = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let (before, mut right, mut problems) = (opened(), 0, Vec::new());
    for key in [0, 10, 11, 12] {
        if key > 10 {
            problems.extend(put(&store, key).err());
        }
        match get(&store, key) {
            Ok(found) => {
                assert!(found.as_ref().is_none_or(|bytes| *bytes == content(key)), "other bytes of {key}");
                right += u32::from(found.is_some());
            }
            Err(e) => problems.push(e),
        }
    }
    assert_eq!(opened(), before, "open files");
    println!("<<{right} {}>>", problems.join("; "));
}

/// A run with a fault. What it said, what happened, and what is wrong with what it leaves.
fn run(failing: &Failing, fault: Fault, n: Option<u64>) -> (String, failing_files::Seen, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    fill(&root);
    let (said, seen) = failing.run(&root, fault, n, &|command| {
        command.args(["--exact", "disk::failing::failing_child", "--nocapture"]);
        command.env("ARRAYGPU_FAILING_STORE", &root);
    });
    let mut wrong = Vec::new();
    let mut must = |holds: bool, what: &str| {
        if !holds {
            wrong.push(format!("{what}: {fault:?} at {n:?}: {seen:?}\n{said}"));
        }
    };
    let files: BTreeMap<_, _> =
        below(&root).into_iter().filter_map(|p| Some((p.clone(), p.metadata().ok()?.len()))).collect();
    let is_temporary = |path: &PathBuf| path.extension().is_some();
    let left = files.keys().filter(|p| is_temporary(p)).count();
    // the one that was abandoned goes with the next
    must(left <= 1 || fault.span != Span::One || seen.is_removal(), "temporary files are left");
    let is_all = said.starts_with("3 ");
    must(is_all || said.len() > 2 || fault.error == Error::Removed, "an entry is missing without a word");
    // nothing fails any more
    let store = Store::new(root.join("cache"), SIZE);
    for key in 11..14 {
        let found = get(&store, key);
        must(matches!(&found, Ok(f) if f.as_ref().is_none_or(|b| *b == content(key))), "what is found then");
        must(put(&store, key).is_ok(), "nothing can be put then");
        must(get(&store, key) == Ok(Some(content(key))), "what is put then is not found");
    }
    let total: u64 =
        below(&root).iter().filter_map(|p| p.metadata().ok()).filter(|m| m.is_file()).map(|m| m.len()).sum();
    must(total <= SIZE, "the files are too large together");
    (said, seen, wrong)
}

#[test]
fn files_fail() {
    let failing = Failing::new();
    let (said, seen, mut wrong) = run(&failing, nothing(Who::Program), None);
    // the damaged one is told of
    assert!(said.starts_with("3 ") && said.ends_with("it is damaged"), "{said}");
    let (cases, all) = cases(Who::Program, &seen, 60);
    for (fault, n) in &cases {
        wrong.extend(run(&failing, *fault, Some(*n)).2);
    }
    println!("{} of {all} points", cases.len());
    assert!(wrong.is_empty() && cases.len() > 40, "{}\n{} are wrong", wrong.join("\n"), wrong.len());
}
