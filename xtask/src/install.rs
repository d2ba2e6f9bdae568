//! `cargo xtask install`: libarraygpu as other projects use it.
//!
//! ```text
//! lib/libarraygpu.so -> libarraygpu.so.5 -> libarraygpu.so.5.0.1.0    lib/libarraygpu.a
//! lib/cmake/arraygpu/    lib/pkgconfig/arraygpu.pc    include/arraygpu.h  include/arraygpu.hpp
//! bin/arraygpu-run  bin/arraygpu-tune
//! ```
//!
//! Nothing in it holds an absolute path: the tree can be moved. The library is built as
//! `arraygpu_capi` (the facade crate has the name `arraygpu`); its files are linked here
//! ([`link`]).

use crate::link;
use crate::sh::{self, Result};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The version of everything.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The crate of the programs for packages, and what they are called.
const RUNNER: &str = "arraygpu-run";
const PROGRAMS: [&str; 2] = [RUNNER, "arraygpu-tune"];
/// The shared library's soname: its number changes when the ABI breaks.
pub const SONAME: &str = "libarraygpu.so.5";

/// How the library and the generators are built.
#[derive(Clone, Copy)]
pub enum Profile {
    /// The profile of users.
    Release,
    /// The profile of the Rust tests, which have built most of it already.
    Dev,
}

impl Profile {
    /// Arguments of cargo.
    pub fn arguments(self) -> &'static [&'static str] {
        match self {
            Profile::Release => &["--release"],
            Profile::Dev => &[],
        }
    }

    /// Where `demo`, `test` and `bench` install.
    pub fn prefix(self) -> PathBuf {
        sh::target().join(match self {
            Profile::Release => "install",
            Profile::Dev => "install-dev",
        })
    }

    /// Where cargo puts the libraries.
    fn built(self) -> PathBuf {
        sh::target().join(match self {
            Profile::Release => "release",
            Profile::Dev => "debug",
        })
    }
}

/// Builds and installs.
pub fn run(prefix: &Path) -> Result {
    build_and_install(prefix, Profile::Release, &[])
}

/// Builds and installs to the place where examples and tests expect it, together with the
/// generators that they run. One cargo command builds both: for the library alone cargo would
/// choose other features of shared crates, and would compile nearly everything twice.
pub fn for_projects(profile: Profile) -> Result {
    build_and_install(&profile.prefix(), profile, &["--package", "arraygpu-examples"])
}

/// What is installed, relative to the prefix, in a file of that name: what `uninstall` removes.
const LIST: &str = "share/arraygpu/installed.txt";

/// Removes what an installation put there, and folders of its own that are empty then.
pub fn uninstall(prefix: &Path) -> Result {
    let list = String::from_utf8_lossy(&sh::get(&prefix.join(LIST))?).into_owned();
    for name in list.lines() {
        // a list from elsewhere must not remove files outside of the prefix
        let is_inside = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
        let path = prefix.join(name);
        if !is_inside || path.symlink_metadata().is_err() {
            continue;
        }
        fs::remove_file(&path).map_err(|e| format!("cannot remove {}: {e}", path.display()))?;
        // and the folders above, as long as they are empty
        let own = path.ancestors().skip(1).take_while(|folder| *folder != prefix);
        let _ = own.map(fs::remove_dir).take_while(|done| done.is_ok()).count();
    }
    println!("removed arraygpu from {}", prefix.display());
    Ok(())
}

/// A tree of files under a prefix, and what was put there.
struct Tree<'a> {
    prefix: &'a Path,
    list: Vec<String>,
}

impl Tree<'_> {
    fn put(&mut self, name: &str, bytes: &[u8]) -> Result {
        self.list.push(name.into());
        sh::put(&self.prefix.join(name), bytes)
    }
}

fn build_and_install(prefix: &Path, profile: Profile, more: &[&str]) -> Result {
    let cwd = std::env::current_dir().map_err(|e| e.to_string())?;
    let prefix = &cwd.join(prefix);
    let mut tree = Tree { prefix, list: Vec::new() };
    sh::run(
        sh::cargo(&["build", "--package", "arraygpu-capi", "--package", RUNNER])
            .args(["--features", "reserve"])
            .args(profile.arguments())
            .args(more),
    )?;
    libraries(&mut tree, &profile.built())?;
    PROGRAMS.iter().try_for_each(|program| put_program(&mut tree, &profile.built(), program))?;
    headers(&mut tree, "include")?;
    let templates = sh::root().join("cmake");
    for name in [
        "arraygpu-config.cmake",
        "arraygpu-config-version.cmake",
        "ArraygpuAddPackage.cmake",
        "ArraygpuGenerate.cmake",
    ] {
        let text = fill(&String::from_utf8_lossy(&sh::get(&templates.join(name))?));
        tree.put(&format!("lib/cmake/arraygpu/{name}"), text.as_bytes())?;
    }
    let pc = fill(&String::from_utf8_lossy(&sh::get(&templates.join("arraygpu.pc"))?));
    tree.put("lib/pkgconfig/arraygpu.pc", pc.as_bytes())?;
    tree.list.push(LIST.into());
    sh::put(&prefix.join(LIST), (tree.list.join("\n") + "\n").as_bytes())?;
    println!("installed arraygpu {VERSION} in {}", prefix.display());
    Ok(())
}

/// Fills the placeholders of a template.
fn fill(text: &str) -> String {
    text.replace("@VERSION@", VERSION).replace("@SONAME@", SONAME)
}

fn libraries(tree: &mut Tree, built: &Path) -> Result {
    let versioned = format!("{SONAME}.{VERSION}");
    let archive = built.join("libarraygpu_capi.a");
    let [shared, whole] = ["installed.so", "installed.a"].map(|name| built.join(name));
    // linked only if the archive changed, and copied only if the result differs, so that dependants
    // are not rebuilt needlessly
    let is_newer = |made: &Path| Some(modified(made)? > modified(&archive)?.max(modified(&link::map())?));
    if is_newer(&shared) != Some(true) {
        link::shared(&archive, SONAME, &shared)?;
    }
    if is_newer(&whole) != Some(true) {
        link::of_one_object(&archive, &whole)?;
    }
    tree.put(&format!("lib/{versioned}"), &sh::get(&shared)?)?;
    tree.put("lib/libarraygpu.a", &sh::get(&whole)?)?;
    for (link, to) in [(SONAME, versioned.as_str()), ("libarraygpu.so", SONAME)] {
        let path = tree.prefix.join("lib").join(link);
        tree.list.push(format!("lib/{link}"));
        if fs::read_link(&path).is_ok_and(|old| old == Path::new(to)) {
            continue;
        }
        let _ = fs::remove_file(&path);
        symlink(to, &path).map_err(|e| format!("cannot link {}: {e}", path.display()))?;
    }
    Ok(())
}

/// Puts a program there, without the debugger's tables.
fn put_program(tree: &mut Tree, built: &Path, name: &str) -> Result {
    let (program, stripped) = (built.join(name), built.join(format!("installed-{name}")));
    if modified(&stripped).is_none_or(|made| modified(&program).is_none_or(|m| m > made)) {
        sh::run(sh::program("strip").arg("--strip-debug").arg("-o").arg(&stripped).arg(&program))?;
    }
    let name = format!("bin/{name}");
    tree.put(&name, &sh::get(&stripped)?)?;
    let path = tree.prefix.join(name);
    executable(&path).map_err(|e| format!("cannot make {} executable: {e}", path.display()))
}

#[cfg(unix)]
fn executable(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn executable(_: &Path) -> std::io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn symlink(to: &str, path: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(to, path)
}

#[cfg(not(unix))]
fn symlink(to: &str, path: &Path) -> std::io::Result<()> {
    fs::copy(path.with_file_name(to), path).map(|_| ())
}

fn modified(file: &Path) -> Option<std::time::SystemTime> {
    fs::metadata(file).ok()?.modified().ok()
}

/// Copies the headers of a folder of the repository, and of the folders in it.
fn headers(tree: &mut Tree, folder: &str) -> Result {
    let failed = |e: std::io::Error| format!("cannot read {folder}: {e}");
    for entry in fs::read_dir(sh::root().join(folder)).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = format!("{folder}/{}", path.file_name().unwrap_or_default().to_string_lossy());
        if path.is_dir() {
            headers(tree, &name)?;
        } else if path.extension().is_some_and(|e| e == "h" || e == "hpp") {
            tree.put(&name, &sh::get(&path)?)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_installed_goes_and_nothing_else() {
        let folder = std::env::temp_dir().join(format!("arraygpu-uninstall-{}", std::process::id()));
        let prefix = folder.join("prefix");
        let mut tree = Tree { prefix: &prefix, list: Vec::new() };
        tree.put("include/arraygpu/core.hpp", b"ours").unwrap();
        tree.put("lib/libarraygpu.a", b"ours").unwrap();
        sh::put(&prefix.join("lib/libother.a"), b"theirs").unwrap();
        sh::put(&folder.join("outside"), b"theirs").unwrap();
        tree.list.extend(["../outside".into(), "lib/was_never_there".into(), LIST.into()]);
        sh::put(&prefix.join(LIST), tree.list.join("\n").as_bytes()).unwrap();
        uninstall(&prefix).unwrap();
        assert!(folder.join("outside").exists() && prefix.join("lib/libother.a").exists());
        assert!(!prefix.join("include").exists() && !prefix.join("share").exists());
        assert!(!prefix.join("lib/libarraygpu.a").exists());
        assert!(uninstall(&prefix).unwrap_err().contains("installed.txt"));
        fs::remove_dir_all(&folder).unwrap();
    }
}
