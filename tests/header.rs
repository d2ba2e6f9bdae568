//! `include/arraygpu.h` is what cbindgen makes of `capi/src`, it names every exported function, compilers take it,
//! and `docs/c-abi.md` names every function that it has.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

const FRESH: &str = include_str!(concat!(env!("OUT_DIR"), "/arraygpu.h"));

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_committed_header_is_fresh() {
    let path = root().join("include/arraygpu.h");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, FRESH).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap();
    assert!(committed == FRESH, "include/arraygpu.h is stale: BLESS=1 cargo test --test header");
}

/// The C++ headers, by name.
fn headers() -> Vec<PathBuf> {
    let (mut folders, mut files) = (vec![root().join("include")], Vec::new());
    while let Some(folder) = folders.pop() {
        for file in std::fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            if path.is_dir() { &mut folders } else { &mut files }.push(path);
        }
    }
    files.retain(|path| path.extension().is_some_and(|e| e == "hpp"));
    files.sort();
    files
}

/// The C++ headers name a hash of their own code, which stands in all their names, and with which the keys of
/// programs begin.
#[test]
fn headers_name_their_code() {
    const NAME: &str = "#define AGPU_HEADERS(prefix) prefix##";
    let texts: Vec<String> = headers().iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let lines = texts.iter().flat_map(|text| text.lines()).map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with("//") && !line.starts_with(NAME));
    // FNV-1a
    let hash = lines.flat_map(|line| line.bytes().chain([b'\n']));
    let hash = hash.fold(0x811c_9dc5_u32, |h, b| (h ^ u32::from(b)).wrapping_mul(0x0100_0193));
    let wanted = format!("{NAME}{hash:08x}");
    let path = root().join("include/arraygpu/headers.hpp");
    let text = std::fs::read_to_string(&path).unwrap();
    let line = text.lines().find(|line| line.starts_with(NAME)).unwrap();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, text.replace(line, &wanted)).unwrap();
    } else {
        assert_eq!(line, wanted, "the C++ headers changed: BLESS=1 cargo test --test header");
    }
}

/// Nothing of `arraygpu` stands outside of the namespace with that hash, but the error.
#[test]
fn headers_stand_in_their_namespace() {
    for path in headers() {
        let text = std::fs::read_to_string(&path).unwrap();
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            if line == "namespace arraygpu {" && !path.ends_with("core.hpp") {
                let next = lines.peek().copied();
                assert_eq!(next, Some("inline namespace AGPU_HEADERS(v_) {"), "{}", path.display());
            }
        }
    }
}

/// Words that start with `agpu_` and stand before a parenthesis.
fn declared(header: &str) -> BTreeSet<String> {
    let name =
        |s: &str| s.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().map(str::to_string);
    let code =
        header.lines().filter(|l| !l.trim_start().starts_with('*') && !l.trim_start().starts_with("/*"));
    code.flat_map(|l| l.split('(').next().filter(|_| l.contains('(')).and_then(name))
        .filter(|n| n.starts_with("agpu_"))
        .collect()
}

#[test]
fn every_exported_function_is_in_the_header() {
    let mut exported = BTreeSet::new();
    let (mut folders, mut files) = (vec![root().join("capi/src")], Vec::new());
    while let Some(folder) = folders.pop() {
        for file in std::fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            if path.is_dir() { &mut folders } else { &mut files }.push(path);
        }
    }
    for path in files {
        let text = std::fs::read_to_string(path).unwrap();
        for after in text.split("#[unsafe(no_mangle)]").skip(1) {
            let name = after.split("fn ").nth(1).unwrap();
            exported.insert(name.split('(').next().unwrap().to_string());
        }
    }
    assert!(exported.len() > 30, "{exported:?}");
    assert_eq!(declared(FRESH), exported);
}

#[test]
fn every_function_of_the_header_is_documented() {
    let page = std::fs::read_to_string(root().join("docs/c-abi.md")).unwrap();
    let named: BTreeSet<&str> = page.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    let declared = declared(FRESH);
    let missing: Vec<_> = declared.iter().filter(|f| !named.contains(f.as_str())).collect();
    assert!(missing.is_empty(), "docs/c-abi.md does not mention {missing:?}");
}

/// The shared library, if a build made one: next to this test's own folder.
fn library() -> Option<PathBuf> {
    let test = std::env::current_exe().ok()?;
    let path = test.parent()?.parent()?.join("libarraygpu_capi.so");
    path.exists().then_some(path)
}

#[test]
fn every_symbol_of_the_library_is_in_the_header() {
    let Some(library) = library() else { return };
    let Ok(nm) = Command::new("nm").args(["-D", "--defined-only"]).arg(library).output() else { return };
    let text = String::from_utf8_lossy(&nm.stdout);
    let symbols: BTreeSet<String> = text
        .lines()
        .filter_map(|l| l.split(' ').nth(2))
        .filter(|s| s.starts_with("agpu_"))
        .map(Into::into)
        .collect();
    let header = declared(FRESH);
    let unknown: Vec<_> = symbols.difference(&header).collect();
    assert!(unknown.is_empty(), "exported, but not in the header: {unknown:?}");
}

#[test]
fn the_header_compiles_as_c11_and_cpp17() {
    for (compiler, flags) in [("gcc", ["-std=c11", "-xc"]), ("g++", ["-std=c++17", "-xc++"])] {
        let header = root().join("include/arraygpu.h");
        let strict = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"];
        let main = format!("#include \"{}\"\nint main(void) {{ return AGPU_OK; }}\n", header.display());
        let file = std::env::temp_dir().join(format!("arraygpu-header-{}-{compiler}.c", std::process::id()));
        std::fs::write(&file, main).unwrap();
        let output = Command::new(compiler).args(flags).args(strict).arg(&file).output();
        std::fs::remove_file(&file).unwrap();
        let Ok(output) = output else { continue };
        assert!(output.status.success(), "{compiler}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
