//! Functions that stage scalars (`arraygpu_compiler::stage`). The staged values of a call are
//! computed from its arguments, and the program that was specialised for them runs. Each function
//! keeps a bounded number of such programs.
//!
//! The general version of a package's function is compiled code. On a GPU a specialised program
//! replaces it; on the CPU only a program that a C compiler made does, because the block
//! interpreter would be slower. If code for the values cannot be made for any reason, the general
//! version runs, and reports what is wrong with the call, if anything. That they cannot be made is
//! remembered unless another attempt may succeed.

use super::program::Program;
use super::{allowance, cc};
use crate::abi::{AgpuArg, AgpuCall};
use crate::call_options::has_workspace;
use crate::error::{CANCELLED, DEVICE, MODULE, OUT_OF_MEMORY, Result};
use crate::invoke::{Given, given};
use crate::log::log;
use crate::module::{Entry, Loaded, Specialise};
use crate::{interrupt, workspace};
use arraygpu_compiler::budget;
use arraygpu_compiler::core::{Function, parse, verify};
use arraygpu_compiler::driver;
use arraygpu_compiler::error::Kind;
use arraygpu_compiler::scalar::Lit;
use arraygpu_compiler::stage::{self, Stages};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// Maximum number of specialised versions of a function.
const BOUND: usize = 16;

/// A function that stages scalars.
pub(crate) struct Staged {
    /// The name of the module, for messages.
    module: String,
    source: Function,
    stages: Stages,
    /// Whether the general version is compiled code on the CPU.
    is_compiled: bool,
    versions: RwLock<Vec<Version>>,
}

/// A function specialised for some values.
struct Version {
    values: Vec<Lit>,
    /// The program, or `None` if the function cannot be specialised for the values.
    program: Option<Arc<Program>>,
    /// The time of the last use, as a count of uses.
    used: AtomicU64,
}

/// The number of uses so far, which orders them in time.
static NOW: AtomicU64 = AtomicU64::new(0);

fn now() -> u64 {
    NOW.fetch_add(1, Ordering::Relaxed)
}

/// Reads a function of a package's text.
pub(crate) fn read(text: &str) -> arraygpu_compiler::Result<Function> {
    driver::on_big_stack(|| {
        let function = parse::parse_one(text)?;
        verify::verify(&function)?;
        Ok(function)
    })
}

impl Staged {
    /// Returns a verified function of a package, if it stages anything.
    pub fn of(module: &str, source: Function) -> Option<Staged> {
        stage::has_stages(&source).then(|| Staged::new(module, source, true)).flatten()
    }

    /// Returns a function that was built in this process, if it stages anything.
    pub fn of_built(source: &Function) -> Option<Staged> {
        stage::has_stages(source).then(|| Staged::new("", source.clone(), false)).flatten()
    }

    fn new(module: &str, source: Function, is_compiled: bool) -> Option<Staged> {
        let stages = driver::on_big_stack(|| Ok(Stages::of(&source))).ok()?;
        Some(Staged { module: module.into(), source, stages, is_compiled, versions: RwLock::new(Vec::new()) })
    }

    /// Returns the program for these values; compiles it if it is not kept.
    fn version(&self, values: &[Lit]) -> Option<Arc<Program>> {
        let versions = self.versions.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = versions.iter().find(|v| v.values == values) {
            known.used.store(now(), Ordering::Relaxed);
            return known.program.clone();
        }
        drop(versions);
        let source = driver::on_big_stack(|| Ok(stage::specialise(&self.source, values)));
        let compiled = source.and_then(|source| {
            let fused = budget::within(allowance::allowed(), || driver::fuse(&source))?;
            Ok(Arc::new(Program::of_module(&self.module, source, fused, !self.is_compiled)))
        });
        match compiled {
            // the general version reports that the call was stopped, too; what took too long may be quicker next time
            Err(e) if matches!(e.kind, Kind::Stopped | Kind::Late) => None,
            _ if interrupt::check().is_err() => None,
            compiled => self.keep(values.to_vec(), compiled.ok()),
        }
    }

    /// Keeps a version, and drops the least recently used one if there are too many.
    fn keep(&self, values: Vec<Lit>, program: Option<Arc<Program>>) -> Option<Arc<Program>> {
        let mut gone = Vec::new();
        {
            let mut versions = self.versions.write().unwrap_or_else(PoisonError::into_inner);
            let old = versions.iter().position(|v| v.values == values);
            let oldest = (0..versions.len()).min_by_key(|i| versions[*i].used.load(Ordering::Relaxed));
            let full = versions.len() >= BOUND;
            gone.extend(old.or(oldest.filter(|_| full)).map(|i| versions.swap_remove(i)));
            versions.push(Version { values, program: program.clone(), used: AtomicU64::new(now()) });
        }
        // unloading code waits for the device, so it must not happen under the lock
        drop(gone);
        program
    }
}

impl Specialise for Staged {
    unsafe fn run(
        &self,
        loaded: &Loaded,
        entry: &Entry,
        call: *const AgpuCall,
        args: *const AgpuArg,
        count: i32,
    ) -> Option<Result<()>> {
        // a caller's workspace has the size for the general version, and a specialised one has
        // other temporaries
        // SAFETY: the caller promises it.
        if unsafe { has_workspace(call) } {
            return None;
        }
        let values = |given: Given| {
            let pays =
                if given.on_gpu { loaded.images.is_some() } else { !self.is_compiled || cc::is_allowed() };
            pays.then(|| self.stages.values(given.len, given.arg))
        };
        // SAFETY: the caller promises it.
        let values = workspace::with(|ws| unsafe { given(entry, call, args, count, ws, values) }).ok()??;
        let program = self.version(&values)?;
        // SAFETY: the caller promises it.
        let done = unsafe { program.run(call, args, count) };
        match done {
            // the host wants the call to end
            Err(e) if matches!(e.status, CANCELLED | OUT_OF_MEMORY) => Some(Err(e)),
            // if there is only one launch, which the device did not take, nothing has run either
            Err(e) if e.of_code || (e.status == MODULE && program.has_one_launch()) => {
                log!(Info, "{}: the general version runs: {}", entry.title, e.message);
                // a device that failed says nothing of the code
                if !interrupt::is_passing(&e) && e.status != DEVICE {
                    self.keep(values, None);
                }
                None
            }
            done => Some(done),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arraygpu_compiler::budget::Budget;
    use std::time::Duration;

    const TEXT: &str = "func @f(%x: [f32], %k: i64) -> (r: [f32]) {
        %0 = stage %k
        require stop %0, 1000i64 \"small\"
        %1 = cast f32 %0
        %2 = map (%a: f32) over %x { %3 = mul %a, %1 yield %3 }
        return %2
    }";

    fn staged() -> Staged {
        Staged::of("p", read(TEXT).unwrap()).expect("it stages")
    }

    #[test]
    fn compiled_again_only_for_other_values() {
        let staged = staged();
        let of = |k: i64| staged.version(&[Lit::i64(k)]).expect("it compiles");
        let three = of(3);
        assert!(Arc::ptr_eq(&three, &of(3)) && !Arc::ptr_eq(&three, &of(4)));
        // a version that is in use is kept, however many others are made
        for k in 10..10 + 3 * BOUND as i64 {
            of(k);
            assert!(Arc::ptr_eq(&three, &of(3)));
            assert!(staged.versions.read().unwrap().len() <= BOUND);
        }
        for k in 10..10 + BOUND as i64 {
            of(k);
        }
        assert!(!Arc::ptr_eq(&three, &of(3)), "not used for longest");
        drop(staged);
        assert_eq!(Arc::strong_count(&three), 1);
    }

    #[test]
    fn what_cannot_be_specialised_is_not_tried_again() {
        let staged = staged();
        for _ in 0..2 {
            assert!(staged.version(&[Lit::i64(1001)]).is_none());
            assert_eq!(staged.versions.read().unwrap().len(), 1);
        }
    }

    /// A machine may be slow for a while.
    #[test]
    fn what_took_too_long_is_tried_again() {
        let staged = staged();
        let soon = Budget { time: Duration::ZERO, ..Budget::default() };
        let late = budget::within(soon, || Ok(staged.version(&[Lit::i64(3)])));
        assert!(late.unwrap().is_none() && staged.versions.read().unwrap().is_empty());
        assert!(staged.version(&[Lit::i64(3)]).is_some());
    }

    #[test]
    fn functions_without_stages() {
        let function = read("func @f(%x: [f32]) -> (r: [f32]) { return %x }").unwrap();
        assert!(Staged::of("p", function).is_none());
    }
}
