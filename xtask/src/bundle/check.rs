//! What a bundle needs of the machine it runs on: no library that is not in it or everywhere, no
//! newer glibc, no path of the machine that built it where the loader looks, and not more than 64
//! MiB to be carried there.

use crate::sh::{self, Result};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

const MOST_BYTES: u64 = 64 << 20;
/// The newest glibc that programs may need.
const GLIBC: (u32, u32) = (2, 36);
/// What every Linux of that glibc has.
const EVERYWHERE: [&str; 9] = [
    "libc.so.6",
    "libm.so.6",
    "libdl.so.2",
    "librt.so.1",
    "libpthread.so.0",
    "libgcc_s.so.1",
    "libstdc++.so.6",
    "ld-linux-x86-64.so.2",
    "linux-vdso.so.1",
];

/// Checks the whole folder, and says how large it is.
pub fn all(root: &Path) -> Result {
    let (files, elf) = libraries(root, root)?;
    let size = files.iter().map(|f| size(f)).sum::<u64>() as f64 / 1e6;
    println!("{}: {} files, {elf} programs and libraries, {size:.1} MB", root.display(), files.len());
    Ok(())
}

/// Checks the size of what carries the bundle to another machine.
pub fn archive(path: &Path) -> Result {
    let megabytes = size(path) as f64 / 1e6;
    println!("{}: {megabytes:.1} MB", path.display());
    match size(path) <= MOST_BYTES {
        true => Ok(()),
        false => Err(format!("the archive has {megabytes:.0} MB, more than {} MiB", MOST_BYTES >> 20)),
    }
}

fn size(file: &Path) -> u64 {
    fs::metadata(file).map_or(0, |m| m.len())
}

/// Checks the programs and libraries of a folder, which may need what is in the bundle at `root`.
/// Gives its files, and how many of them are programs or libraries.
pub fn libraries(folder: &Path, root: &Path) -> Result<(Vec<PathBuf>, usize)> {
    let (mut files, mut elf, mut complaints) = (Vec::new(), 0, Vec::new());
    walk(folder, &mut files);
    for path in files.iter().filter(|p| is_elf(p)) {
        elf += 1;
        let name = path.strip_prefix(folder).unwrap_or(path).display().to_string();
        let dynamic = readelf("-d", path)?;
        let versions = readelf("-V", path)?;
        let known = |library: &str| EVERYWHERE.contains(&library) || root.join("lib").join(library).exists();
        complaints.extend(loader(&dynamic, known).into_iter().map(|c| format!("{name}: {c}")));
        complaints.extend(newer(&versions).map(|v| format!("{name}: needs GLIBC_{}.{}", v.0, v.1)));
    }
    for c in &complaints {
        println!("{c}");
    }
    if complaints.is_empty() { Ok((files, elf)) } else { Err("the bundle would not run elsewhere".into()) }
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()) {
        if path.is_dir() { walk(&path, files) } else { files.push(path) }
    }
}

/// Whether the file is a program or a library.
pub fn is_elf(path: &Path) -> bool {
    let mut magic = [0; 4];
    fs::File::open(path).and_then(|mut f| f.read_exact(&mut magic)).is_ok() && magic == *b"\x7fELF"
}

fn readelf(what: &str, path: &Path) -> Result<String> {
    let out = sh::output(sh::program("readelf").env("LC_ALL", "C").args([what, "--wide"]).arg(path));
    out.ok_or_else(|| format!("readelf cannot read {}", path.display()))
}

/// What is wrong with the libraries that a file asks for, and with where it looks for them.
fn loader(dynamic: &str, known: impl Fn(&str) -> bool) -> Vec<String> {
    let mut bad = Vec::new();
    for line in dynamic.lines() {
        let Some((_, rest)) = line.split_once('[') else { continue };
        let value = rest.split(']').next().unwrap_or("");
        if line.contains("(NEEDED)") && !known(value) {
            bad.push(format!("needs {value}, which is not in the bundle"));
        }
        if line.contains("(RUNPATH)") || line.contains("(RPATH)") {
            let outside = value.split(':').filter(|p| !p.is_empty() && !p.starts_with("$ORIGIN"));
            bad.extend(outside.map(|p| format!("looks for libraries in {p}")));
        }
    }
    bad
}

/// The newest glibc that a file asks for, if it is too new.
fn newer(versions: &str) -> Option<(u32, u32)> {
    let parse = |v: &str| {
        let mut numbers = v.split('.').map_while(|n| n.parse().ok());
        Some((numbers.next()?, numbers.next().unwrap_or(0)))
    };
    let words = versions.split(|c: char| c.is_whitespace() || c == '(' || c == ')');
    words.filter_map(|w| parse(w.strip_prefix("GLIBC_")?)).max().filter(|v| *v > GLIBC)
}

#[cfg(test)]
mod tests {
    use super::{loader, newer};

    #[test]
    fn what_the_loader_would_not_find() {
        let dynamic = " 0x1 (NEEDED)  Shared library: [libc.so.6]
 0x1 (NEEDED)  Shared library: [libcudart.so.13]
 0x1d (RUNPATH)  Library runpath: [$ORIGIN/../lib:/home/me/lib:]";
        let bad = loader(dynamic, |l| l == "libc.so.6");
        assert_eq!(bad.len(), 2);
        assert!(bad[0].contains("libcudart.so.13") && bad[1].ends_with("in /home/me/lib"));
    }

    #[test]
    fn versions() {
        assert_eq!(newer("Name: GLIBC_2.34  Flags: none\n (GLIBC_2.2.5)"), None);
        assert_eq!(newer("GLIBC_2.36 GLIBC_2.38 (GLIBC_2.4)"), Some((2, 38)));
    }
}
