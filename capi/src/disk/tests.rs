//! The store, alone and with other processes.

use super::*;
use std::process::Command;

const LARGE: u64 = 1 << 30;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// Bytes that belong to a key.
fn content(key: u64) -> Vec<u8> {
    (0..1000 + key * 321).map(|i| (i * 7 + key) as u8).collect()
}

fn names(store: &Store) -> Vec<String> {
    let files = std::fs::read_dir(&store.folder).into_iter().flatten().flatten();
    files.map(|f| f.file_name().into_string().unwrap()).collect()
}

#[test]
fn what_is_put_is_got() {
    let root = folder();
    let store = Store::new(root.path().join("deep/inside"), LARGE);
    assert_eq!(store.get(b"key"), Ok(None));
    for bytes in [&b""[..], b"a", &content(9)] {
        store.put(b"key", bytes).unwrap();
        assert_eq!(store.get(b"key").unwrap().as_deref(), Some(bytes));
    }
    assert_eq!(store.get(b"kez"), Ok(None));
    // another process with the same folder; a store of another version finds nothing
    assert_eq!(Store::new(store.root.clone(), LARGE).get(b"key"), Ok(Some(content(9))));
    assert_eq!(names(&store).len(), 1);
    // what could never stay is not written
    Store::new(store.root.clone(), 500).put(b"large", &content(9)).unwrap();
    assert_eq!(store.get(b"large"), Ok(None));
}

#[test]
fn damaged_files_are_made_again() {
    let root = folder();
    let store = Store::new(root.path().into(), LARGE);
    let (key, bytes) = (b"key", content(2));
    store.put(key, &bytes).unwrap();
    let path = store.path(&blake3::hash(key));
    let good = std::fs::read(&path).unwrap();
    let damage = |text: Vec<u8>| {
        std::fs::write(&path, text).unwrap();
        let said = store.get(key).unwrap_err();
        assert!(said.contains("reading") && said.contains("it is damaged"), "{said}");
        assert_eq!(store.get(key), Ok(None), "it is gone");
        store.put(key, &bytes).unwrap();
        assert_eq!(store.get(key).unwrap().as_ref(), Some(&bytes));
    };
    for length in [0, 1, 23, 24, HEADER - 1, HEADER, good.len() / 2, good.len() - 1] {
        damage(good[..length].to_vec());
    }
    damage([&good[..], &[0]].concat());
    damage(vec![0; good.len()]);
    for at in (0..good.len()).step_by(7).chain(0..HEADER) {
        let mut text = good.clone();
        text[at] ^= 1 << (at % 8);
        damage(text);
    }
    // whole, but of another key
    store.put(b"other", &content(5)).unwrap();
    damage(std::fs::read(store.path(&blake3::hash(b"other"))).unwrap());
}

#[test]
fn places_that_cannot_be_used() {
    let root = folder();
    // a file where a folder should be; also root may not write there
    let file = root.path().join("file");
    std::fs::write(&file, "").unwrap();
    let store = Store::new(file, LARGE);
    assert!(store.put(b"key", b"bytes").unwrap_err().contains("making"));
    assert!(store.get(b"key").unwrap_err().contains("reading"));
    // a folder, or what would block, where a file should be
    let store = Store::new(root.path().into(), LARGE);
    store.put(b"other", b"bytes").unwrap();
    let path = store.path(&blake3::hash(b"key"));
    std::fs::create_dir(&path).unwrap();
    assert!(store.get(b"key").unwrap_err().contains("it is no file"));
    assert!(store.put(b"key", b"bytes").unwrap_err().contains("writing"));
    std::fs::remove_dir(&path).unwrap();
    let name = CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: a C string.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    assert!(store.get(b"key").unwrap_err().contains("it is no file"));
    store.put(b"key", b"bytes").unwrap();
    assert_eq!(store.get(b"key"), Ok(Some(b"bytes".to_vec())));
    assert_eq!(names(&store).len(), 2, "nothing is left over");
}

/// What others may have put there is not run.
#[test]
fn what_is_not_the_users_alone() {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};
    let root = folder();
    let store = Store::new(root.path().into(), LARGE);
    let (key, bytes) = (b"key", content(3));
    store.put(key, &bytes).unwrap();
    let path = store.path(&blake3::hash(key));
    let refuses = |why: &str| {
        let said = store.get(key).unwrap_err();
        assert!(said.contains("reading") && said.contains(why), "{said}");
    };
    let mode = |path: &Path, mode: u32| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    for (place, usual) in [(&store.root, 0o700), (&store.folder, 0o700), (&path, 0o600)] {
        for open in [0o020, 0o002] {
            mode(place, usual | open);
            refuses("others may write it");
            assert!(*place == path || store.put(key, &bytes).is_err());
        }
        mode(place, usual);
        assert_eq!(store.get(key).unwrap().as_ref(), Some(&bytes));
        // SAFETY: always succeeds.
        if unsafe { libc::geteuid() } == 0 {
            chown(place, Some(65534), None).unwrap();
            refuses("it belongs to the user 65534, not to 0");
            chown(place, Some(0), None).unwrap();
        }
    }
    // a link to a file that is right
    let other = root.path().join("other");
    std::fs::rename(&path, &other).unwrap();
    symlink(&other, &path).unwrap();
    refuses("reading");
    std::fs::remove_file(&path).unwrap();
    std::fs::rename(&other, &path).unwrap();
    // a file that could never have come into this store
    let small = Store::new(root.path().into(), 100);
    assert!(small.get(key).unwrap_err().contains("larger than all files"));
    assert_eq!(store.get(key).unwrap(), Some(bytes));
}

/// Sets when a file was used: so many hours ago.
fn used(path: &Path, hours: u64) {
    let then = SystemTime::now() - Duration::from_secs(3600 * hours);
    std::fs::File::open(path).unwrap().set_modified(then).unwrap();
}

#[test]
fn what_nobody_uses_goes() {
    let root = folder();
    let (size, part) = (1 << 20, vec![7; 100_000]); // larger than a sixteenth: all files are looked at each time
    let store = Store::new(root.path().into(), size);
    let foreign = root.path().join("v0/README");
    std::fs::create_dir(root.path().join("v0")).unwrap();
    std::fs::write(&foreign, vec![0; 2 << 20]).unwrap();
    let old_version = root.path().join("v0").join("0".repeat(64));
    std::fs::write(&old_version, &part).unwrap();
    used(&old_version, 1000);
    let path = |i: u64| store.path(&blake3::hash(&i.to_le_bytes()));
    for i in 0..8u64 {
        store.put(&i.to_le_bytes(), &part).unwrap();
        used(&path(i), 100 - i);
    }
    // the oldest, but used again
    assert_eq!(store.get(&0u64.to_le_bytes()).unwrap().as_ref(), Some(&part));
    let abandoned = store.folder.join(format!("{}.1-2-3.tmp", "a".repeat(64)));
    let writing = store.folder.join(format!("{}.1-2-4.tmp", "a".repeat(64)));
    [&abandoned, &writing].into_iter().for_each(|f| std::fs::write(f, "x").unwrap());
    used(&abandoned, 2);
    for i in 8..10u64 {
        store.put(&i.to_le_bytes(), &part).unwrap();
    }
    let there: Vec<u64> = (0..10).filter(|i| path(*i).exists()).collect();
    // eleven are above the bound, seven are three quarters of it
    assert_eq!(there, [0, 4, 5, 6, 7, 8, 9]);
    assert!(foreign.exists() && !old_version.exists() && !abandoned.exists() && writing.exists());
}

#[test]
fn small_entries_are_bounded_too() {
    let root = folder();
    let size = 256 << 10;
    let store = Store::new(root.path().into(), size);
    for i in 0..600u64 {
        store.put(&i.to_le_bytes(), b"small").unwrap();
    }
    // each takes a block: 64 fit, and a sixteenth of that is looked over now and then
    let left = names(&store).len();
    assert!((30..100).contains(&left), "{left}");
}

#[test]
fn the_environment() {
    let with = |variables: &[(&str, &str)]| {
        let find = |name: &str| Some(variables.iter().find(|(n, _)| *n == name)?.1.into());
        from_environment(find).map(|s| (s.folder.to_str().unwrap().to_string(), s.size))
    };
    let at = |folder: &str, mebibytes: u64| Some((folder.to_string(), mebibytes << 20));
    let home = ("HOME", "/home/x");
    assert_eq!(with(&[]), None);
    assert_eq!(with(&[home]), at("/home/x/.cache/arraygpu/v1", 256));
    assert_eq!(with(&[home, ("XDG_CACHE_HOME", "/c")]), at("/c/arraygpu/v1", 256));
    assert_eq!(with(&[home, ("XDG_CACHE_HOME", "c")]), at("/home/x/.cache/arraygpu/v1", 256));
    assert_eq!(with(&[("HOME", "x")]), None);
    assert_eq!(with(&[home, ("ARRAYGPU_CACHE", "off")]), None);
    assert_eq!(with(&[home, ("ARRAYGPU_CACHE", "/d"), ("ARRAYGPU_CACHE_SIZE", "3")]), at("/d/v1", 3));
    assert_eq!(with(&[home, ("ARRAYGPU_CACHE_SIZE", "0")]), None);
    let here = std::env::current_dir().unwrap().join("d/v1");
    assert_eq!(with(&[("ARRAYGPU_CACHE", "d")]), at(here.to_str().unwrap(), 256));
}

/// The part of the processes that the tests below start.
#[test]
fn child() {
    let Ok(part) = std::env::var("ARRAYGPU_STORE_PART") else { return };
    match part.as_str() {
        "write" => {
            for turn in 0..15 {
                for key in 0..20u64 {
                    let bytes = content(key);
                    put(&key.to_le_bytes(), &bytes);
                    let found = get(&((key + turn) % 20).to_le_bytes());
                    assert!(found.is_none_or(|f| f == content((key + turn) % 20)));
                }
            }
        }
        "full" => {
            let limit = libc::rlimit { rlim_cur: 5000, rlim_max: 5000 };
            // SAFETY: a limit of this process, which nobody else is in.
            assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) }, 0);
            put(b"large", &vec![1; 20_000]);
            put(b"small", b"bytes");
            assert_eq!((get(b"large"), get(b"small").as_deref()), (None, Some(&b"bytes"[..])));
        }
        _ => {
            put(b"key", b"bytes");
            println!("{:?}", get(b"key").map(|b| b.len()));
        }
    }
    println!("<<{}>>", problem().to_str().unwrap());
}

fn start_child(part: &str, cache: &Path, variables: &[(&str, &str)]) -> std::process::Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "disk::tests::child", "--nocapture"]);
    command.env("ARRAYGPU_STORE_PART", part).env("ARRAYGPU_CACHE", cache).envs(variables.iter().copied());
    command.stdout(std::process::Stdio::piped()).spawn().unwrap()
}

/// What it said at its end.
fn said(child: std::process::Child) -> String {
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}: {text}", output.status);
    text.split_once("<<").unwrap().1.split_once(">>").unwrap().0.to_string()
}

#[test]
fn processes_that_write_the_same_keys_at_once() {
    let root = folder();
    let children: Vec<_> = (0..4).map(|_| start_child("write", root.path(), &[])).collect();
    for child in children {
        assert_eq!(said(child), "");
    }
    let store = Store::new(root.path().into(), LARGE);
    assert_eq!(names(&store).len(), 20);
    for key in 0..20u64 {
        assert_eq!(store.get(&key.to_le_bytes()), Ok(Some(content(key))));
    }
}

#[test]
fn a_full_disk() {
    let root = folder();
    let problem = said(start_child("full", root.path(), &[]));
    assert!(problem.contains("writing") && problem.contains("File too large"), "{problem}");
    assert_eq!(names(&Store::new(root.path().into(), LARGE)).len(), 1, "nothing is left over");
}

#[test]
fn problems_are_told_once() {
    let root = folder();
    assert_eq!(said(start_child("use", Path::new("off"), &[])), "");
    assert!(!root.path().join("off").exists());
    let file = root.path().join("file");
    std::fs::write(&file, "").unwrap();
    let problem = said(start_child("use", &file, &[]));
    assert!(problem.contains("making") && problem.contains("file/v1"), "{problem}");
    let problem = said(start_child("use", root.path(), &[("ARRAYGPU_CACHE_SIZE", "much")]));
    assert!(problem.contains("ARRAYGPU_CACHE_SIZE is `much`, expected a number of MiB"), "{problem}");
}
