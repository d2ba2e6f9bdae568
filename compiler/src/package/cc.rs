//! Runs the C compiler.
//!
//! The `cc` crate finds the compiler, but only the flags of this file are used, because the promise
//! of the same bits everywhere depends on them: `CFLAGS` and similar variables are not applied. All
//! commands run in a scratch folder with relative names, so that no path gets into the libraries.

use super::cache::Key;
use super::level::Level;
use super::place;
use crate::backend::c::{self, File};
use crate::budget;
use crate::error::{Error, Result};
use crate::interrupt;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The flags for every C file.
const FLAGS: [&str; 12] = [
    "-std=c11",
    "-O3",
    "-fPIC",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fwrapv",
    "-fno-strict-aliasing",
    "-fno-builtin",
    "-fvisibility=hidden",
    "-Wall",
    "-Wextra",
];

/// Additional flags for the variants for arrays with any strides: GCC takes half the time, and the
/// loops are as fast where memory is the limit (bench/NOTES.md).
const STRIDED: [&str; 1] = ["-O2"];
/// The same for GCC, which does not vectorise as much at this level.
const GCC_STRIDED: [&str; 3] = ["-O2", "-ftree-vectorize", "-fvect-cost-model=dynamic"];

/// Additional flags for GCC, which Clang does not know.
const GCC_FLAGS: [&str; 3] = [
    // The optimisation joins two rows of a reduction's tile, so that the processor's prefetcher
    // loses the stream: the code runs at half the speed (bench/NOTES.md).
    "-fno-loop-unroll-and-jam",
    // The optimisation duplicates the body of a loop for selects of one condition. Elementary
    // functions then vectorise worse, by a tenth to a third, and for some of them GCC 13 runs out
    // of memory.
    "-fno-thread-jumps",
    // The optimisation computes a maximum of a maximum by branches, which then become eight comparisons in
    // place of two instructions (GCC 12).
    "-fno-tree-partial-pre",
];

/// Additional flags for GCC where it shall be quick. If it is not told otherwise, it allocates registers loop by loop,
/// which takes up to a quarter of its time at -O1.
const GCC_QUICK: [&str; 1] = ["-fira-region=one"];

/// Reports environment variables whose flags are not applied.
pub fn refused_flags(say: impl Fn(&str)) {
    for name in ["CFLAGS", "CPPFLAGS", "LDFLAGS", "HOST_CFLAGS", "TARGET_CFLAGS", "ARFLAGS"] {
        if std::env::var_os(name).is_some_and(|v| !v.is_empty()) {
            say(&format!("note: {name} is set, but not applied: packages have flags of their own"));
        }
    }
}

/// A C compiler with its archiver.
pub struct Compiler {
    pub(super) cc: PathBuf,
    pub(super) ar: PathBuf,
    strict: bool,
    /// How long one run may take.
    limit: Duration,
    /// The flags for every C file.
    pub flags: Vec<&'static str>,
    /// Additional flags for the variants for arrays with any strides.
    strided: &'static [&'static str],
    /// The version as the compiler prints it: `gcc (Debian 12.2.0-14) 12.2.0`.
    pub version: String,
}

fn triple() -> String {
    let arch = std::env::consts::ARCH;
    match std::env::consts::OS {
        "macos" => format!("{arch}-apple-darwin"),
        _ if cfg!(target_env = "musl") => format!("{arch}-unknown-linux-musl"),
        os => format!("{arch}-unknown-{os}-gnu"),
    }
}

/// A program as a command in another folder finds it: a name is looked up as before, a relative path becomes
/// absolute.
fn from_here(program: impl AsRef<Path>) -> PathBuf {
    let program = program.as_ref();
    match program.components().count() {
        0 | 1 => program.to_path_buf(),
        _ => std::path::absolute(program).unwrap_or_else(|_| program.to_path_buf()),
    }
}

impl Compiler {
    /// Finds the compiler and the archiver: `CC` and `AR` of the environment, or those of the
    /// system.
    pub fn find(strict: bool) -> Result<Compiler> {
        let missing = |e: &dyn std::fmt::Display| {
            let help = "install one (Debian: apt-get install gcc) or set CC";
            Error::user("E0601", format!("no C compiler that works: {e}; {help}"))
        };
        let mut build = cc::Build::new();
        let (host, out) = (triple(), std::env::temp_dir());
        build.cargo_metadata(false).cargo_warnings(false).opt_level(3).host(&host).target(&host).out_dir(out);
        let tool = build.try_get_compiler().map_err(|e| missing(&e))?;
        let cc = from_here(tool.path());
        let ar = build.try_get_archiver().map_or_else(|_| "ar".into(), |ar| from_here(ar.get_program()));
        let version = Command::new(&cc).env("LC_ALL", "C").arg("--version").stdin(Stdio::null()).output();
        let version = version.map_err(|e| missing(&format!("{}: {e}", cc.display())))?;
        if !version.status.success() {
            return Err(missing(&format!("{} --version fails", cc.display())));
        }
        let version =
            String::from_utf8_lossy(&version.stdout).lines().next().unwrap_or("").trim().to_string();
        let (more, strided): (&[&str], &[&str]) =
            if tool.is_like_clang() { (&[], &STRIDED) } else { (&GCC_FLAGS, &GCC_STRIDED) };
        let flags = FLAGS.iter().chain(more).copied().collect();
        Ok(Compiler { cc, ar, strict, limit: Duration::MAX, flags, strided, version })
    }

    /// Makes the compiler optimise less (-O1), for debug builds and tests: it takes a third of the time, and the code
    /// has the same bits, but is slower.
    pub fn quick(mut self) -> Compiler {
        self.flags.iter_mut().filter(|flag| **flag == "-O3").for_each(|flag| *flag = "-O1");
        if self.flags.ends_with(&GCC_FLAGS) {
            self.flags.extend(GCC_QUICK);
        }
        self.strided = &[];
        self
    }

    /// Ends every run of the compiler that takes longer, with an error.
    pub fn within(self, limit: Duration) -> Compiler {
        Compiler { limit, ..self }
    }

    /// Compiles the kernels of a program for one level into a shared library of their own. Files with
    /// the same flags are one for the C compiler, so that it runs twice for any number of functions.
    pub fn shared(&self, files: &[File], level: &Level, scratch: &Path) -> Result<PathBuf> {
        let library = "program.so";
        let mut link = Command::new(&self.cc);
        link.args(["-shared", "-Wl,--build-id=none", "-o", library]);
        for file in c::joined("program", files) {
            let (source, object) = (format!("{}.c", file.name), format!("{}.o", file.name));
            let path = scratch.join(&source);
            std::fs::write(&path, &file.text).map_err(|e| place::failed("write", &path, &e))?;
            let flags = [self.flags_of(&file), &["-fvisibility=default"]].concat();
            self.level(scratch, &source, &object, level, &flags)?;
            link.arg(object);
        }
        link.arg("-lm");
        self.run(link, scratch, library)?;
        Ok(scratch.join(library))
    }

    /// Returns everything that a shared library of these files for a level depends on.
    pub fn recipe(&self, files: &[File], level: &Level) -> String {
        let mut out = format!("{}\n{}\n{level}\n", self.version, self.flags.join(" "));
        for file in files {
            out += &format!("{}\n{}\n", self.flags_of(file).join(" "), file.text);
        }
        out
    }

    /// Compiles kernels for a level. If the C compiler crashes (GCC 13 does for some masked vectors
    /// of 16-bit integers), it is run again without vectorisation, which gives the same bits.
    pub(super) fn level(
        &self,
        scratch: &Path,
        source: &str,
        object: &str,
        level: &Level,
        more: &[&str],
    ) -> Result<Code> {
        let compile = |last: &[&str]| {
            let mut command = self.compile(scratch, source, object);
            command.args(level.flags).arg(format!("-DAGPU_LEVEL={level}")).args(more).args(last);
            self.run(command, scratch, source)
        };
        match compile(&[]) {
            Err(e) if e.message.contains("internal compiler error") => {
                compile(&["-fno-tree-vectorize"]).map(|silent| Code { vectors: false, silent })
            }
            done => done.map(|silent| Code { vectors: true, silent }),
        }
    }

    /// Returns the flags of a file beside those for every file.
    pub(super) fn flags_of(&self, file: &File) -> &[&str] {
        if file.is_strided { self.strided } else { &[] }
    }

    /// Returns the key of the object of a file for a level: everything that its bytes depend on.
    pub(super) fn key(&self, file: &File, level: &Level) -> Key {
        // A compiler that was replaced may still have the same version.
        let path = std::fs::canonicalize(&self.cc).unwrap_or_else(|_| self.cc.clone());
        let time = |about: std::fs::Metadata| Some((about.len(), about.modified().ok()?));
        let stamp = format!("{:?}", std::fs::metadata(&path).ok().and_then(time));
        Key::of(&[
            b"object",
            path.as_os_str().as_encoded_bytes(),
            stamp.as_bytes(),
            self.version.as_bytes(),
            self.flags.join(" ").as_bytes(),
            self.flags_of(file).join(" ").as_bytes(),
            level.flags.join(" ").as_bytes(),
            level.name.as_bytes(),
            file.name.as_bytes(),
            c::without_comments(&file.text).as_bytes(),
        ])
    }

    pub(super) fn compile(&self, scratch: &Path, source: &str, object: &str) -> Command {
        let mut command = Command::new(&self.cc);
        command.args(&self.flags).arg(format!("-ffile-prefix-map={}=.", scratch.display()));
        command.args(["-I.", "-c", source, "-o", object]);
        command
    }

    /// Returns the command for an assembler file, without the flags for C, about which Clang warns.
    pub(super) fn assemble(&self, source: &str, object: &str) -> Command {
        let mut command = Command::new(&self.cc);
        command.args(["-c", source, "-o", object]);
        command
    }

    /// Runs a command in the scratch folder, and returns whether it said nothing. Its output becomes
    /// part of the error.
    pub(super) fn run(&self, mut command: Command, scratch: &Path, what: &str) -> Result<bool> {
        command.current_dir(scratch).env("LC_ALL", "C").stdin(Stdio::null());
        let tool = command.get_program().to_string_lossy().into_owned();
        let failed =
            |e: io::Error| Error::user("E0601", format!("cannot run {tool} in {}: {e}", scratch.display()));
        let unheard = |e: io::Error| {
            let folder = std::env::temp_dir();
            let message = format!("{tool}: a temporary file in {}: {e}", folder.display());
            Error::user("E0504", message)
        };
        let mut said = tempfile::tempfile().map_err(unheard)?;
        command.stdout(Stdio::null()).stderr(said.try_clone().map_err(unheard)?);
        let mut child = command.spawn().map_err(failed)?;
        let status = wait(&mut child, self.limit).map_err(failed)?;
        interrupt::check()?;
        let status = status.ok_or_else(|| budget::too_long_in_c(self.limit))?;
        let mut bytes = Vec::new();
        said.rewind().and_then(|()| said.read_to_end(&mut bytes)).map_err(unheard)?;
        let said = String::from_utf8_lossy(&bytes).lines().take(40).collect::<Vec<_>>().join("\n");
        if !status.success() {
            return Err(Error::bug("E0602", format!("{tool} failed at {what} ({status}):\n{said}")));
        }
        if self.strict && !said.is_empty() {
            return Err(Error::bug("E0603", format!("{tool} warns at {what}:\n{said}")));
        }
        Ok(said.is_empty())
    }
}

/// Waits for a compiler. Kills it and returns `None` if the compilation is interrupted, or if it takes longer than
/// `limit`.
fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    const OFTEN: Duration = Duration::from_millis(2);
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if interrupt::check().is_err() || begin.elapsed() > limit {
            child.kill()?;
            return child.wait().map(|_| None);
        }
        thread::sleep(OFTEN);
    }
}

/// The result of compiling a file for one level.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Code {
    /// Whether it was compiled as usual; if not, without vectors.
    pub vectors: bool,
    /// Whether the compiler said nothing.
    pub silent: bool,
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// The compiler of this test crashes when it vectorises.
    #[test]
    fn a_compiler_that_crashes_gets_a_second_chance() {
        let real = Compiler::find(false).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("cc");
        let text = format!(
            "#!/bin/sh\ncase \"$*\" in *-c*-fno-tree-vectorize*|*-shared*) exec {} \"$@\" ;; esac\n\
             echo 'x.c:1:1: internal compiler error: in extract_insn' >&2\nexit 1\n",
            real.cc.display()
        );
        std::fs::write(&script, text).unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        let crashing = Compiler { cc: script, ..real };
        let source = "int answer(void); int answer(void) { return 42; }\n";
        std::fs::write(folder.path().join("x.c"), source).unwrap();
        let code = crashing.level(folder.path(), "x.c", "x.o", &Level::all()[0], &[]).unwrap();
        assert_eq!(code, Code { vectors: false, silent: true });
        std::fs::write(folder.path().join("x.c"), "int answer(void) { return }\n").unwrap();
        let error = crashing.level(folder.path(), "x.c", "x.o", &Level::all()[0], &[]).unwrap_err();
        assert_eq!(error.code, "E0602");
    }

    /// A compiler that never ends is ended, and the error says after how long.
    #[test]
    fn a_compiler_that_takes_too_long_is_ended() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("cc");
        std::fs::write(&script, "#!/bin/sh\nexec sleep 600\n").unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        let real = Compiler::find(false).unwrap();
        let endless = Compiler { cc: script, ..real }.within(Duration::from_millis(20));
        let error = endless.level(folder.path(), "x.c", "x.o", &Level::all()[0], &[]).unwrap_err();
        assert_eq!(error.code, budget::EXCEEDED);
        assert!(error.message.contains("longer than 0.02 s in the C compiler"), "{error}");
    }
}
