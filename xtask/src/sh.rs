//! Running programs: echoed, with errors that say what failed. And where things are.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Results of tasks; the error is a sentence for people.
pub type Result<T = ()> = std::result::Result<T, String>;

/// The repository.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// Cargo's target directory: this program lies in `<target>/<profile>/`.
pub fn target() -> PathBuf {
    let exe = std::env::current_exe().unwrap_or_default();
    exe.ancestors().nth(2).map_or_else(|| root().join("target"), Path::to_path_buf)
}

/// A cargo command in the repository.
pub fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(root());
    clean_environment(&mut command);
    command
}

/// A program of the system, in the repository.
pub fn program(name: &str) -> Command {
    let mut command = Command::new(name);
    command.current_dir(root());
    clean_environment(&mut command);
    command
}

/// Takes away what `cargo run` put into the environment: a nested build or program must not see
/// more than a user's would.
fn clean_environment(command: &mut Command) {
    for (key, _) in std::env::vars_os() {
        let name = key.to_string_lossy();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&key);
        }
    }
    if let Some(paths) = std::env::var_os("LD_LIBRARY_PATH") {
        let target = target();
        let ours = |p: &PathBuf| p.starts_with(&target) || p.to_string_lossy().contains("/toolchains/");
        let kept: Vec<PathBuf> = std::env::split_paths(&paths).filter(|p| !ours(p)).collect();
        match std::env::join_paths(&kept) {
            Ok(kept) if !kept.is_empty() => command.env("LD_LIBRARY_PATH", kept),
            _ => command.env_remove("LD_LIBRARY_PATH"),
        };
    }
}

/// The command line, shortened to what a reader needs.
fn line(command: &Command) -> String {
    let root = format!("{}/", root().display());
    let name = Path::new(command.get_program()).file_name().map(OsString::from).unwrap_or_default();
    let mut words = vec![name.to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|a| a.to_string_lossy().replace(&root, "")));
    words.join(" ")
}

/// A heading of one step.
pub fn say(what: &str) {
    println!("\n== {what}");
}

/// Runs it; not being there or failing is an error.
pub fn run(command: &mut Command) -> Result {
    println!("$ {}", line(command));
    let status =
        command.stdin(Stdio::null()).status().map_err(|e| format!("cannot run {}: {e}", line(command)))?;
    if status.success() { Ok(()) } else { Err(format!("{} failed ({status})", line(command))) }
}

/// Runs it and shows every line of its standard output to `watch` as well; gives whether it
/// succeeded.
pub fn watch(command: &mut Command, mut watch: impl FnMut(&str)) -> Result<bool> {
    println!("$ {}", line(command));
    let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut child = spawned.map_err(|e| format!("cannot run {}: {e}", line(command)))?;
    if let Some(out) = child.stdout.take() {
        for text in BufReader::new(out).split(b'\n').map_while(std::result::Result::ok) {
            let text = String::from_utf8_lossy(&text);
            println!("{text}");
            watch(&text);
        }
    }
    child.wait().map(|s| s.success()).map_err(|e| e.to_string())
}

/// Its standard output, if it runs and succeeds. Silent.
pub fn output(command: &mut Command) -> Option<String> {
    let out = command.stdin(Stdio::null()).output().ok()?;
    out.status.success().then(|| String::from_utf8_lossy(&out.stdout).into_owned())
}

/// Writes a file with its folders, unless it holds exactly that already (so that builds that depend
/// on it stay fresh).
pub fn put(path: &Path, bytes: &[u8]) -> Result {
    if fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    let failed = |e: std::io::Error| format!("cannot write {}: {e}", path.display());
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir).map_err(failed)?;
    }
    // write a new file, since a running program may have the old one mapped
    let _ = fs::remove_file(path);
    fs::write(path, bytes).map_err(failed)
}

/// Reads a file.
pub fn get(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|e| format!("cannot read {}: {e}", path.display()))
}

/// How many processors there are.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}

/// How many jobs to run at once.
pub fn jobs() -> String {
    processors().to_string()
}
