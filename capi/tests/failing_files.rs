//! Each file operation fails once that a process does on the cache on disk or in the folder of
//! temporary files, or that the C compiler does. Programs still run and give the right results,
//! `agpu_cache_problem` says why they are slow, no file is left open or behind, and the next
//! process finds a cache that works.
#![allow(clippy::undocumented_unsafe_blocks)] // Pointers are to locals; handles are valid.
#![cfg(target_os = "linux")]

mod common;

use arraygpu_capi::abi::*;
use arraygpu_capi::*;
use arraygpu_suite::failing_files::{Error, Failing, Fault, Seen, Span, Who, below, cases, nothing};
use common::*;
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::ptr::{null, null_mut};

/// Compiles a separate program for each factor and runs it twice. The program computes factor * x +
/// factor and its sum.
fn work(factor: f32) -> Vec<f32> {
    let x = Vector::in_context(cpu(), &[0.25, 0.5, 1.0]);
    let y = Vector::in_context(cpu(), &[-1.0; 3]);
    let f32 = || MaybeUninit::new(AgpuType::AgpuF32);
    let (mut b, mut program, mut total, nothing) = (null_mut(), null_mut(), 0f32, 0f32);
    let (mut px, mut k, mut scaled, mut e, mut zero) = (0, 0, 0, 0, 0);
    let (mut one, mut other, mut body, mut sum) = (0, 0, 0, 0);
    let args = [input(x.view()), output(y.view()), out_scalar(&mut total)];
    unsafe {
        ok(agpu_builder_create(c"f".as_ptr(), &mut b));
        ok(agpu_builder_param(b, c"x".as_ptr(), f32(), 1, &mut px));
        ok(agpu_builder_constant(b, f32(), (&raw const factor).cast(), &mut k));
        ok(agpu_builder_apply(b, c"mul".as_ptr(), [px, k].as_ptr(), 2, &mut scaled));
        ok(agpu_builder_apply(b, c"add".as_ptr(), [scaled, k].as_ptr(), 2, &mut e));
        ok(agpu_builder_constant(b, f32(), (&raw const nothing).cast(), &mut zero));
        ok(agpu_builder_variable(b, f32(), &mut one));
        ok(agpu_builder_variable(b, f32(), &mut other));
        ok(agpu_builder_apply(b, c"add".as_ptr(), [one, other].as_ptr(), 2, &mut body));
        ok(agpu_builder_reduce(b, one, other, body, zero, e, &mut sum));
        ok(agpu_builder_result(b, null(), e));
        ok(agpu_builder_result(b, null(), sum));
        ok(agpu_builder_compile(b, &mut program));
        ok(agpu_program_run(program, null(), args.as_ptr(), 3));
        let first = [y.get(), vec![total]].concat();
        ok(agpu_program_run(program, null(), args.as_ptr(), 3));
        assert_eq!([y.get(), vec![total]].concat(), first);
        ok(agpu_program_free(program));
        ok(agpu_builder_free(b));
        first
    }
}

/// The part that the tests below run in separate processes. It prints the elements' bits, the
/// number of files that it left open, and the problem of the cache.
#[test]
fn child() {
    if std::env::var_os("ARRAYGPU_TEST_CHILD").is_none() {
        return;
    }
    cpu();
    let opened = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let before = opened();
    let bits: Vec<_> = work(0.5).into_iter().map(f32::to_bits).collect();
    let mut problem = null();
    let problem = unsafe {
        ok(agpu_cache_problem(&mut problem));
        CStr::from_ptr(problem).to_str().unwrap()
    };
    println!("<<{bits:?}|{}|{problem}>>", opened() as i64 - before as i64);
}

/// The folder of a test's processes, with the subfolders `cache` and `tmp`.
struct Place {
    folder: tempfile::TempDir,
    failing: Failing,
}

/// What a process printed and left behind.
struct Done {
    bits: String,
    opened: String,
    problem: String,
    seen: Seen,
    /// A description for messages.
    case: String,
    /// The number of complete entries of the cache, and the files that are none.
    entries: usize,
    others: Vec<std::path::PathBuf>,
}

impl Place {
    fn new() -> Place {
        Place { folder: tempfile::tempdir().unwrap(), failing: Failing::compiled() }
    }

    /// Empties the cache and writes these entries to it.
    fn clear(&self, entries: &[(String, Vec<u8>)]) {
        let root = self.folder.path();
        for name in ["cache", "tmp"] {
            let _ = std::fs::remove_dir_all(root.join(name));
            std::fs::DirBuilder::new().mode(0o700).create(root.join(name)).unwrap();
        }
        if !entries.is_empty() {
            std::fs::DirBuilder::new().mode(0o700).create(root.join("cache/v1")).unwrap();
        }
        entries.iter().for_each(|(name, bytes)| {
            std::fs::write(root.join("cache/v1").join(name), bytes).unwrap();
        });
    }

    fn entries(&self) -> Vec<(String, Vec<u8>)> {
        let files = std::fs::read_dir(self.folder.path().join("cache/v1")).into_iter().flatten().flatten();
        files.map(|f| (f.file_name().into_string().unwrap(), std::fs::read(f.path()).unwrap())).collect()
    }

    fn run(&self, fault: Fault, n: Option<u64>) -> Done {
        let root = self.folder.path().canonicalize().unwrap();
        let (said, seen) = self.failing.run(&root, fault, n, &|command| {
            command.args(["--exact", "child", "--nocapture", "--test-threads", "1"]);
            command.env("ARRAYGPU_TEST_CHILD", "1").env("ARRAYGPU_CPU_CC", "1").env("ARRAYGPU_DEVICE", "cpu");
            command.env("ARRAYGPU_CACHE", root.join("cache")).env("TMPDIR", root.join("tmp"));
            command.env_remove("ARRAYGPU_CACHE_SIZE").env_remove("CC");
        });
        let [bits, opened, problem] = said.splitn(3, '|').collect::<Vec<_>>().try_into().unwrap();
        let is_entry = |p: &Path| p.file_name().is_some_and(|name| name.len() == 64);
        let (entries, others): (Vec<_>, Vec<_>) = below(&root).into_iter().partition(|p| is_entry(p));
        let folders = ["cache", "cache/v1", "tmp"].map(|name| root.join(name));
        // The C compiler's programs have temporary files of their own, which they may leave behind.
        let is_tools = |p: &Path| {
            p.parent() == Some(&folders[2])
                && p.file_name().is_some_and(|n| n.to_string_lossy().starts_with("cc"))
        };
        Done {
            bits: bits.into(),
            opened: opened.into(),
            problem: problem.into(),
            case: format!("{fault:?} at {n:?}: {seen:?}\n{problem}"),
            seen,
            entries: entries.len(),
            others: others.into_iter().filter(|p| !folders.contains(p) && !is_tools(p)).collect(),
        }
    }
}

/// Runs processes that begin with an empty cache, or with a cache that has all that they need.
fn sweep(is_warm: bool, who: Who, some: usize) {
    let place = Place::new();
    place.clear(&[]);
    let clean = place.run(nothing(who), None);
    assert_eq!((clean.entries, &*clean.problem, &*clean.opened), (1, "", "0"), "{}", clean.case);
    let entries = if is_warm { place.entries() } else { Vec::new() };
    let seen = if is_warm { place.run(nothing(who), None).seen } else { clean.seen };
    let (cases, all) = cases(who, &seen, some);
    let (mut told, mut wrong) = (0, Vec::new());
    for (fault, n) in &cases {
        place.clear(&entries);
        let done = place.run(*fault, Some(*n));
        let mut must = |holds: bool, what: &str, done: &Done| {
            if !holds {
                wrong.push(format!("{what}: {}", done.case));
            }
        };
        must(done.bits == clean.bits, "other elements", &done);
        must(done.opened == "0", "files are left open", &done);
        // A file that was removed while the process ran is not always made again.
        let is_told = !done.problem.is_empty() || done.entries == 1 || fault.error == Error::Removed;
        must(is_told, "nothing is said of a cache that was not used", &done);
        let is_left = !done.others.is_empty() && fault.span == Span::One && !done.seen.is_removal();
        must(!is_left, &format!("{:?} is left", done.others), &done);
        told += usize::from(!done.problem.is_empty());
        let _ = std::fs::create_dir(place.folder.path().join("tmp"));
        let next = place.run(nothing(who), None);
        let works = next.bits == clean.bits && next.problem.is_empty() && next.entries == 1;
        must(works, &format!("the next process finds `{}`", next.problem), &done);
    }
    println!("{who:?} warm {is_warm}: {} of {all} points, {told} problems told", cases.len());
    assert!(wrong.is_empty(), "{}\n{} are wrong", wrong.join("\n"), wrong.len());
    assert!(told * 4 > cases.len(), "{told} problems of {}", cases.len());
}

#[test]
fn files_fail_where_the_cache_is_empty() {
    sweep(false, Who::Program, 8);
}

#[test]
fn files_fail_where_the_cache_is_full() {
    sweep(true, Who::Program, 8);
}

#[test]
fn files_fail_under_the_compiler() {
    sweep(false, Who::Tools, 5);
}
