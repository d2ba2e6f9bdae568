//! Lets every file operation of the store fail. A lookup must return the right bytes or nothing, no
//! temporary files may be left over, the size must stay bounded, and the next process must find a
//! store that works.

use super::*;
use arraygpu_suite::failing_files;
use arraygpu_suite::failing_files::{Error, Failing, Fault, Span, Who, below, cases, nothing};
use std::collections::BTreeMap;

const SIZE: u64 = 1 << 18;
/// Size of an entry in bytes, approximately. It is more than a sixteenth of `SIZE`, so each write
/// checks all files.
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

/// Writes eleven old entries, which together are larger than the store; the last one is damaged.
/// Also writes an abandoned file.
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

/// Not a test by itself: the test below runs it in processes of its own. It prints how many entries
/// were right, and the error.
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

/// Runs the child with a fault. Returns what it printed, what it did, and what is wrong with the
/// files that it leaves.
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
    // the next eviction removes an abandoned file
    must(left <= 1 || fault.span != Span::One || seen.is_removal(), "temporary files are left");
    let is_all = said.starts_with("3 ");
    must(is_all || said.len() > 2 || fault.error == Error::Removed, "an entry is missing without a word");
    // from here on no operation fails
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
    let failing = Failing::compiled();
    let (said, seen, mut wrong) = run(&failing, nothing(Who::Program), None);
    // the child reports the damaged entry
    assert!(said.starts_with("3 ") && said.ends_with("it is damaged"), "{said}");
    let (cases, all) = cases(Who::Program, &seen, 60);
    for (fault, n) in &cases {
        wrong.extend(run(&failing, *fault, Some(*n)).2);
    }
    println!("{} of {all} points", cases.len());
    assert!(wrong.is_empty() && cases.len() > 40, "{}\n{} are wrong", wrong.join("\n"), wrong.len());
}
