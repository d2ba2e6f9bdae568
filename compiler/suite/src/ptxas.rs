//! The ptxas of the tests, which `cargo xtask test` installs, many texts assembled at once, and the record of what
//! they need.

use crate::{sass, today};
use arraygpu_compiler::backend::ptx::dependent_launch;
use arraygpu_compiler::package::ptxas::{Arch, Ptxas, Usage, runs_on};
use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// `ARRAYGPU_PTXAS`, or what xtask left in the target directory, or the system's.
pub fn find() -> Ptxas {
    let given = std::env::var_os("ARRAYGPU_PTXAS").map(PathBuf::from);
    // a test lies in <target>/<profile>/deps
    let exe = std::env::current_exe().expect("this program");
    let installed =
        exe.ancestors().nth(3).map(|target| target.join("tools/ptxas")).filter(|file| file.is_file());
    Ptxas::find(given.or(installed).as_deref())
        .unwrap_or_else(|e| panic!("{e}\n`cargo xtask test` installs one; ARRAYGPU_PTXAS=FILE names another"))
}

/// The oldest architecture, the one that counts, and the newest that this ptxas knows.
pub fn architectures(ptxas: &Ptxas) -> [Arch; 3] {
    let newest = *ptxas.archs.last().expect("an architecture");
    ["sm_80", "sm_90"]
        .map(|a| a.parse().expect("an architecture"))
        .into_iter()
        .chain([newest])
        .collect::<Vec<_>>()
        .try_into()
        .expect("three")
}

/// Architectures that a sample of all kernels is assembled for, another one each day: Blackwell in data centres and
/// in workstations. The record has the newest, which is of the latter's family.
const SAMPLED: [&str; 2] = ["sm_100", "sm_120"];
/// How many kernels that is.
const SAMPLE: usize = 48;

/// Fails if a kernel of today's sample has an error or a warning on one of the architectures that are not recorded,
/// or spills there. Those that this ptxas does not know are left out.
pub fn check_sample(ptxas: &Ptxas, all: &[Module]) {
    let known = |a: &str| a.parse().ok().filter(|a| ptxas.archs.contains(a));
    let archs: Vec<Arch> = SAMPLED.into_iter().filter_map(known).collect();
    // the kernels of a day are far apart in the list
    let days = all.len().div_ceil(SAMPLE).max(1);
    let sample = all.iter().skip(today::day() as usize % days).step_by(days);
    let jobs = sample.flat_map(|m| archs.iter().map(move |a| (m, *a)));
    let jobs: Vec<(&Module, Arch)> = jobs.filter(|(m, a)| m.runs_on(*a)).collect();
    let usage = assemble(ptxas, &jobs);
    let spills = |u: &Usage, name: &str| u.stack.max(u.spills) > allowed(name);
    let bad = jobs.iter().zip(&usage).filter(|((m, _), u)| spills(u, &m.name));
    let bad: Vec<String> = bad.map(|((m, arch), u)| format!("{} for {arch}: {u:?}", m.name)).collect();
    assert!(bad.is_empty(), "kernels that spill:\n{}", bad.join("\n"));
}

/// A module with a name of its own.
pub struct Module {
    /// What the test calls it.
    pub name: String,
    /// Its text.
    pub ptx: String,
    /// Whether its kernels may begin while the launch before them ends.
    pub is_dependent: bool,
}

impl Module {
    fn runs_on(&self, arch: Arch) -> bool {
        runs_on(&self.ptx, arch)
    }

    /// FNV-1a of the text without its comments, which name lines of the author's and versions of ours.
    fn hash(&self) -> u64 {
        let code = self.ptx.lines().map(|line| line.split("//").next().unwrap_or_default().trim_end());
        let bytes = code.flat_map(|line| line.bytes().chain([b'\n']));
        bytes.fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
    }
}

/// What kernels need on each architecture: a file of the repository. A kernel whose text is still the recorded one is
/// not assembled again.
pub struct Record {
    path: PathBuf,
    title: String,
    /// By name and hash: kernels of one name may have several texts.
    known: HashMap<(String, u64), [Usage; 3]>,
    text: String,
}

impl Record {
    /// Reads a file; one that another ptxas made says nothing.
    pub fn read(path: &Path, ptxas: &Ptxas) -> Record {
        let archs = architectures(ptxas).map(|a| format!("{a:>22}", a = a.to_string())).concat();
        let title = format!(
            "; hash of the text, then registers of a thread, shared memory of a block, stack and spills in bytes, by ptxas {}\n{:<65}{archs}\n",
            ptxas.version, ""
        );
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let rows = text.strip_prefix(&title).unwrap_or_default().lines().filter_map(row).collect();
        Record { path: path.into(), title, known: rows, text }
    }

    /// What each module needs. Fails on an error and on a warning, and if it is not as recorded; `BLESS=1` records
    /// it.
    pub fn usage(&self, ptxas: &Ptxas, all: &[Module]) -> Vec<[Usage; 3]> {
        let archs = architectures(ptxas);
        let known = |m: &Module| self.known.get(&(m.name.clone(), m.hash())).copied();
        let fresh = all.iter().filter(|m| known(m).is_none());
        let jobs = fresh.flat_map(|m| archs.map(|a| (m, a)));
        let jobs: Vec<_> = jobs.filter(|(m, a)| m.runs_on(*a)).collect();
        let mut assembled = assemble(ptxas, &jobs).into_iter();
        let mut next = || assembled.next().expect("a usage for each job");
        // zeros where it does not run
        let mut of = |m: &Module| archs.map(|a| if m.runs_on(a) { next() } else { Usage::default() });
        let usage: Vec<[Usage; 3]> = all.iter().map(|m| known(m).unwrap_or_else(|| of(m))).collect();
        self.compare(all, &usage);
        usage
    }

    fn compare(&self, all: &[Module], usage: &[[Usage; 3]]) {
        let mut text = self.title.clone();
        for (m, usage) in all.iter().zip(usage) {
            let cells =
                usage.map(|u| format!("{:>5}{:>7}{:>5}{:>5}", u.registers, u.shared, u.stack, u.spills));
            let _ = writeln!(text, "{:<48} {:016x}{}", m.name, m.hash(), cells.concat());
        }
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&self.path, &text).expect("written");
        } else if !self.text.starts_with(&self.title) {
            println!("another ptxas than that of {}: nothing is compared", self.path.display());
        } else {
            let news: Vec<&str> = text.lines().filter(|l| !self.text.lines().any(|w| w == *l)).collect();
            let file = self.path.display();
            assert!(self.text == text, "not as in {file}; BLESS=1 accepts it:\n{}", news.join("\n"));
        }
    }
}

fn row(line: &str) -> Option<((String, u64), [Usage; 3])> {
    let mut words = line.split_whitespace().rev();
    let mut number = || words.next()?.parse().ok();
    let mut usage = [Usage::default(); 3];
    for u in usage.iter_mut().rev() {
        (u.spills, u.stack, u.shared, u.registers) = (number()?, number()?, number()?, number()?);
    }
    let hash = u64::from_str_radix(words.next()?, 16).ok()?;
    let name: Vec<&str> = words.rev().collect();
    Some(((name.join(" "), hash), usage))
}

/// Assembles each module for the architecture beside it. Fails on an error and on a warning.
pub fn assemble(ptxas: &Ptxas, jobs: &[(&Module, Arch)]) -> Vec<Usage> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (next, done) = (Mutex::new(jobs.iter().enumerate()), Mutex::new(vec![Usage::default(); jobs.len()]));
    let work = || {
        loop {
            let Some((i, (module, arch))) = next.lock().expect("no panic").next() else { break };
            let (source, object) = (format!("{i}.ptx"), format!("{i}.cubin"));
            let report = ptxas.assemble(*arch, &module.ptx, folder.path(), (&source, &object));
            let report = report.unwrap_or_else(|e| panic!("{}: {e}\n{}", module.name, module.ptx));
            assert!(report.warnings.is_empty(), "{} for {arch}: {}", module.name, report.warnings.join("\n"));
            if module.is_dependent && arch.number() >= dependent_launch::CAPABILITY {
                let code = std::fs::read(folder.path().join(&object)).expect("a cubin");
                assert!(sass::waits_first(&code), "{} for {arch} reads before it waits", module.name);
            }
            done.lock().expect("no panic")[i] = report.usage;
        }
    };
    std::thread::scope(|s| {
        let threads = std::thread::available_parallelism().map_or(2, usize::from);
        (0..threads).for_each(|_| drop(s.spawn(work)));
    });
    done.into_inner().expect("no panic")
}

/// Bytes that a kernel may spill. A few cost nothing that could be measured; loop nests and large squares of products
/// run faster with more warps and some spills than with all registers (an H200, 2026-11-21: a product of 4096^3 at
/// 40.4 and 37.7 TFLOP/s, all pairs with the tree at 32.0 both ways; 9 x 9 weights over a matrix of any strides in
/// 0.42 ms with 64 registers, 0.45 with 80, 0.59 with 123; four clamped Jacobi steps at once in 0.158 ms with 80,
/// 0.177 with 125, the spills being those of blocks at an edge).
fn allowed(name: &str) -> u32 {
    match name {
        n if n.starts_with("product.core") => 1024,
        n if n.starts_with("nest") => 512,
        // four clamped steps of two states at once: the spills are those of blocks at an edge, too (an H100: 0.50 ms
        // at 8192 x 8192, single steps 1.49)
        n if n.starts_with("iterate_two.core") && n.contains("_steps") => 1408,
        n if n.contains("square9_0_any") || n.contains("_steps") => 128,
        // the counters of a tiled contraction are a local array on purpose
        n if n.contains("_tiled") => 1088,
        // columns with 64-bit indices, which few calls need
        n if ["atax_1", "columns_1", "apart_1", "gemver_0_columns", "gemver_1"]
            .iter()
            .any(|k| n.contains(&format!("{k}_wide"))) =>
        {
            512
        }
        n if n.contains("distances_0_any_wide") => 256,
        // quotients of integers that leave records, in short rows
        n if n.contains("div_sum_row_0_short") => 96,
        // 64-bit indices, which few calls need, of four columns a thread; with any strides or a warp an element
        n if n.starts_with("strip_fold.core") && n.contains("_wide") => 160,
        n if n.starts_with("scatter.core: updated_1_wide") => 96,
        n if n.contains("_any_wide") || n.contains("_wide_warp") => 128,
        // elements at the edges of a chain of stencils, computed from the image alone
        n if n.contains("bordered_0_chain") => 448,
        // known spills, not mended yet: rows that stay in registers while one of their passes may leave
        // records, whose slow path is written out for each element; quotients that may divide by zero
        n if n.contains("grad_0_rows") || n.contains("about_mean_0_rows") => 1152,
        // the same, where each join divides integers of 64 bits and has a label
        n if n.starts_with("hoisted_operator.core") => 1216,
        n if n.contains("div_dot_col_0_short") || n.contains("smoothed_0_chain") => 320,
        n if n.contains("product_1_any") => 128,
        // rows of any strides that are divided by their deviations; nine loads of bytes at once, on sm_80 only
        n if n.starts_with("whole_rows.core") && n.contains("_rows_2048_any") => 160,
        n if n.starts_with("windows_sum.core") => 80,
        // two values of 16 elements in the registers of two resident blocks
        n if n.contains("run_lengths_3") => 136,
        n if n.starts_with("unique_and_places.core: begins_3") => 128,
        // reads of other rows, with any strides
        n if n.contains("records_0_any_w") => 96,
        _ => 64,
    }
}

/// Fails if a kernel needs memory because registers do not suffice.
pub fn refuse_spills<'m>(ptxas: &Ptxas, all: impl IntoIterator<Item = (&'m Module, [Usage; 3])>) {
    let mut list = Vec::new();
    for (m, usage) in all {
        for (arch, u) in architectures(ptxas).iter().zip(usage) {
            if u.stack.max(u.spills) > allowed(&m.name) {
                let name = &m.name;
                list.push(format!("{name} for {arch}: {} bytes of stack, {} of spills", u.stack, u.spills));
            }
        }
    }
    assert!(list.is_empty(), "{} times a kernel spills:\n{}", list.len(), list.join("\n"));
}
