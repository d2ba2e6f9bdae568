//! Runs ptxas, NVIDIA's assembler, which makes machine code from PTX and reports registers and
//! memory.
//!
//! It is a single program of the CUDA toolkit and needs neither a GPU nor a driver. Its output
//! depends only on its version, the architecture and the PTX.

use crate::backend::ptx::dependent_launch::for_device;
use crate::error::{Error, Result};
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::str::FromStr;

/// The oldest architecture on which the PTX runs.
const OLDEST: u32 = 80;

/// An architecture of GPUs, such as `sm_90`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct Arch(u32);

impl Arch {
    /// Returns its number, such as 90.
    pub fn number(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.0)
    }
}

impl FromStr for Arch {
    type Err = Error;

    fn from_str(text: &str) -> Result<Arch> {
        match text.strip_prefix("sm_").map(u32::from_str) {
            Some(Ok(n)) if n >= OLDEST => Ok(Arch(n)),
            Some(Ok(_)) => {
                Err(Error::user("E0605", format!("{text} is too old: sm_{OLDEST} and up are possible")))
            }
            _ => Err(Error::user("E0605", format!("`{text}` is no architecture of GPUs; one is sm_90"))),
        }
    }
}

/// The resources of a multiprocessor that a kernel uses.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Usage {
    /// Number of registers of a thread.
    pub registers: u32,
    /// Size of a thread's stack frame, in bytes.
    pub stack: u32,
    /// Number of bytes that are stored and loaded because of a lack of registers.
    pub spills: u32,
    /// Shared memory of a block, in bytes.
    pub shared: u32,
}

/// The report of ptxas on one file that it assembled.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Report {
    /// The resources that the file's kernel uses.
    pub usage: Usage,
    /// The warnings, one line each.
    pub warnings: Vec<String>,
}

/// An installed ptxas.
#[derive(Clone, Debug)]
pub struct Ptxas {
    program: PathBuf,
    /// Its release, such as `13.0.88`.
    pub version: String,
    /// The architectures that it supports, in order.
    pub archs: Vec<Arch>,
}

impl Ptxas {
    /// Finds ptxas: the file that is given, or the first one in `PATH`, in `bin` of `CUDA_HOME` and
    /// `CUDA_PATH`, and in `/usr/local/cuda/bin`.
    pub fn find(given: Option<&Path>) -> Result<Ptxas> {
        if let Some(file) = given {
            return Ptxas::open(file);
        }
        let places = places(|name| std::env::var_os(name));
        let found =
            places.iter().flat_map(|(_, folders)| folders).map(|f| f.join("ptxas")).find(|f| f.is_file());
        match found {
            Some(file) => Ptxas::open(&file),
            None => Err(missing(&places)),
        }
    }

    /// Runs this program to find out its version and architectures.
    pub fn open(program: &Path) -> Result<Ptxas> {
        let wrong =
            |why: &str| Error::user("E0605", format!("{} is no ptxas that works: {why}", program.display()));
        // The path is made absolute, because commands run in other folders.
        let program = &std::path::absolute(program).map_err(|e| wrong(&e.to_string()))?;
        let ask = |option: &str| -> Result<String> {
            let out = run(Command::new(program).arg(option)).map_err(|e| wrong(&e.to_string()))?;
            let text = String::from_utf8_lossy(&out.stdout).into_owned();
            if out.status.success() { Ok(text) } else { Err(wrong(&format!("{option}: {}", out.status))) }
        };
        // The output contains "Cuda compilation tools, release 13.0, V13.0.88".
        let text = ask("--version")?;
        let version = text.split_whitespace().filter_map(|w| w.strip_prefix('V')).find(|v| v.contains('.'));
        let version = version.ok_or_else(|| wrong("--version names none"))?.to_string();
        let help = ask("--help")?;
        let words = help.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let mut archs: Vec<Arch> = words.filter_map(|w| w.parse().ok()).collect();
        archs.sort_unstable();
        archs.dedup();
        Ok(Ptxas { program: program.clone(), version, archs })
    }

    /// Returns the path of the program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Returns an error if the architecture is not supported.
    pub fn require(&self, arch: Arch) -> Result<()> {
        if self.archs.contains(&arch) {
            return Ok(());
        }
        let known: Vec<String> = self.archs.iter().map(Arch::to_string).collect();
        let message = format!("ptxas {} does not know {arch}; it knows {}", self.version, known.join(", "));
        Err(Error::user("E0605", message))
    }

    /// Assembles a text, as devices of the architecture get it ([`for_device`]): writes it to the file `ptx` of a
    /// folder, and machine code to `cubin` in the same folder. If the text uses what only this architecture has, as
    /// products of warpgroups are, its target names that (`sm_90a`), and so must the option.
    pub fn assemble(
        &self,
        arch: Arch,
        text: &str,
        folder: &Path,
        (ptx, cubin): (&str, &str),
    ) -> Result<Report> {
        let text = for_device(text, arch.number());
        let (file, mut command) = (folder.join(ptx), Command::new(&self.program));
        std::fs::write(&file, &*text)
            .map_err(|e| Error::user("E0504", format!("cannot use {}: {e}", file.display())))?;
        let only = format!("{arch}a");
        let is_only = directive(&text, ".target") == Some(only.as_str());
        let arch = if is_only { only } else { arch.to_string() };
        command.arg(format!("-arch={arch}")).args(["-v", ptx, "-o", cubin]).current_dir(folder);
        let out = run(&mut command)
            .map_err(|e| Error::user("E0605", format!("cannot run {}: {e}", self.program.display())))?;
        let said =
            format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
        if !out.status.success() {
            if said.contains("Unsupported .version") {
                let message =
                    format!("ptxas {} is too old for the PTX of this version of arraygpu", self.version);
                return Err(Error::user("E0605", message));
            }
            let said: Vec<&str> = said.lines().take(40).collect();
            let message = format!("ptxas failed at {ptx} for {arch} ({}):\n{}", out.status, said.join("\n"));
            return Err(Error::bug("E0606", message));
        }
        Ok(report(&said))
    }
}

/// Whether devices of an architecture run PTX: `.target` names the oldest, or with an `a` behind it the only one.
pub fn runs_on(ptx: &str, arch: Arch) -> bool {
    let target = directive(ptx, ".target").unwrap_or_default();
    let (name, is_only) = target.strip_suffix('a').map_or((target, false), |name| (name, true));
    name.parse::<Arch>().ok().is_none_or(|t| if is_only { arch == t } else { arch >= t })
}

/// Returns the argument of the first directive of this name in PTX: `.version 8.0`,
/// `.target sm_80`.
pub fn directive<'a>(ptx: &'a str, word: &str) -> Option<&'a str> {
    ptx.lines().find_map(|l| l.trim().strip_prefix(word)).map(|rest| rest.trim().trim_end_matches(';'))
}

fn run(command: &mut Command) -> std::io::Result<Output> {
    command.env("LC_ALL", "C").stdin(Stdio::null()).output()
}

/// Returns the folders to search, with the variable that names them.
fn places(variable: impl Fn(&str) -> Option<OsString>) -> Vec<(&'static str, Vec<PathBuf>)> {
    let path = variable("PATH").map(|p| std::env::split_paths(&p).collect()).unwrap_or_default();
    let bin = |name: &str| {
        let home = variable(name).filter(|v| !v.is_empty());
        home.map(|v| Path::new(&v).join("bin")).into_iter().collect::<Vec<_>>()
    };
    let usual = vec![PathBuf::from("/usr/local/cuda/bin")];
    vec![("PATH", path), ("CUDA_HOME", bin("CUDA_HOME")), ("CUDA_PATH", bin("CUDA_PATH")), ("", usual)]
}

fn missing(places: &[(&str, Vec<PathBuf>)]) -> Error {
    let looked = places.iter().map(|(name, folders)| match (*name, folders.as_slice()) {
        ("PATH", _) => "in PATH".to_string(),
        (name, []) => format!("{name} is not set"),
        ("", [folder, ..]) => format!("in {}", folder.display()),
        (name, [folder, ..]) => format!("in {} ({name})", folder.display()),
    });
    let looked: Vec<String> = looked.collect();
    let help = "give it with --ptxas FILE, or leave --cubin out: the driver assembles PTX, too";
    Error::user("E0605", format!("no ptxas to make machine code: looked {}; {help}", looked.join(", ")))
}

/// Parses the output of `-v`. The resources of functions that a kernel calls count as the kernel's
/// own.
fn report(said: &str) -> Report {
    let mut report = Report::default();
    for line in said.lines() {
        if line.contains("warning") && !line.starts_with("ptxas info") {
            report.warnings.push(line.trim().into());
            continue;
        }
        let u = &mut report.usage;
        u.stack = u.stack.max(before(line, " bytes stack frame"));
        u.spills += before(line, " bytes spill stores") + before(line, " bytes spill loads");
        u.registers = u.registers.max(before(line, " registers"));
        u.shared = u.shared.max(before(line, " bytes smem"));
    }
    report
}

/// Returns the number right before `what`, or 0 if `what` is not in the line.
fn before(line: &str, what: &str) -> u32 {
    let head = line.split_once(what).map_or("", |(head, _)| head);
    head.rsplit([' ', ',']).next().and_then(|n| n.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architectures() {
        assert_eq!("sm_90".parse::<Arch>().map(Arch::number), Ok(90));
        for wrong in ["sm_75", "90", "sm_90a", "sm_", "compute_90"] {
            assert!(wrong.parse::<Arch>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn reports() {
        let said = "ptxas warning : something\nptxas info    : 0 bytes gmem\n\
            ptxas info    : Function properties for f\n    64 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads\n\
            ptxas info    : Used 38 registers, used 1 barriers, 1024 bytes smem, 368 bytes cmem[0]\n";
        let r = report(said);
        assert_eq!(r.usage, Usage { registers: 38, stack: 64, spills: 20, shared: 1024 });
        assert_eq!(r.warnings, ["ptxas warning : something"]);
    }

    #[test]
    fn where_it_is_looked_for() {
        let set = |name: &str| match name {
            "PATH" => Some("/a:/b".into()),
            "CUDA_PATH" => Some("/opt/cuda".into()),
            _ => None,
        };
        let places = places(set);
        let all: Vec<_> = places.iter().flat_map(|p| &p.1).map(|p| p.display().to_string()).collect();
        assert_eq!(all, ["/a", "/b", "/opt/cuda/bin", "/usr/local/cuda/bin"]);
        let says = missing(&places).message;
        let looked =
            "looked in PATH, CUDA_HOME is not set, in /opt/cuda/bin (CUDA_PATH), in /usr/local/cuda/bin;";
        assert!(says.contains(looked), "{says}");
        assert!(Ptxas::find(Some(Path::new("/nowhere/ptxas"))).is_err());
    }
}
