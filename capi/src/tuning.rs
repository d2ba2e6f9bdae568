//! Tuning files (docs/tuning.md): which variants were measured to be the fastest on a device. A call on a GPU takes
//! the choices of the first file that was made for its package and its device: of the files that the program loads,
//! the one that `ARRAYGPU_TUNING` names, and the one beside the package's library. Files for anything else are
//! ignored, which [`problem`] says.

use crate::abi::{AgpuModule, AgpuStatus};
use crate::cuda::Images;
use crate::environment;
use crate::error::{INVALID_ARGUMENT, Result, error, fail, out};
use crate::guard::guard_as;
use crate::log::log;
use arraygpu_compiler::plan::tuning::{Choices, Section, key, parse};
use std::ffi::{CStr, CString, OsStr, c_char};
use std::fs::File;
use std::io::Read;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

/// The maximum bytes of a tuning file.
const MOST_BYTES: u64 = 16 << 20;

/// A tuning file that was read.
struct Source {
    path: PathBuf,
    sections: Vec<Section>,
}

/// The files that the program loaded, the last one first.
static LOADED: RwLock<Vec<Source>> = RwLock::new(Vec::new());
/// How often that list has changed, from 1 on.
static CHANGES: AtomicUsize = AtomicUsize::new(1);
/// The first problem of the process.
static PROBLEM: OnceLock<CString> = OnceLock::new();

/// Remembers a problem if it is the first one.
#[cold]
fn note(problem: &str) {
    log!(Warn, "{problem}");
    PROBLEM.get_or_init(|| CString::new(problem.replace('\0', " ")).unwrap_or_default());
}

fn read(path: &Path) -> std::result::Result<Source, String> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_string(&mut text));
    read.map_err(|e| format!("the tuning file {}: cannot be read: {e}", path.display()))?;
    if text.len() as u64 > MOST_BYTES {
        return Err(format!("the tuning file {}: it has more than {MOST_BYTES} bytes", path.display()));
    }
    let sections = parse(&text).map_err(|e| format!("the tuning file {}: {}", path.display(), e.message))?;
    log!(Info, "the tuning file {}: {} sections", path.display(), sections.len());
    Ok(Source { path: path.into(), sections })
}

/// Reads a file that the program did not load by a call, and notes what is wrong with it.
fn read_or_note(path: &Path) -> Option<Source> {
    read(path).map_err(|problem| note(&problem)).ok()
}

/// Returns the file that the environment names, if it names one.
fn of_environment() -> Option<&'static Source> {
    static SOURCE: OnceLock<Option<Source>> = OnceLock::new();
    SOURCE.get_or_init(|| read_or_note(Path::new(&environment::variable("ARRAYGPU_TUNING")?))).as_ref()
}

/// The choices of each kernel of a package.
pub(crate) type Tuned = Arc<Vec<Choices>>;

/// A device's name, the value of `CHANGES` at which it was asked about, and the choices.
type Known = (CString, usize, Option<Tuned>);

/// What a package knows of tuning files.
#[derive(Default)]
pub(crate) struct Tuning {
    /// The texts from which its key is made; none if it was compiled in this process.
    texts: Option<[&'static str; 2]>,
    /// A path at which a file beside the package's library may be.
    places: Vec<PathBuf>,
    beside: OnceLock<Option<Source>>,
    /// The value of `CHANGES` at which no file was found at all.
    without: AtomicUsize,
    /// The devices about which calls have asked.
    known: Mutex<Vec<Known>>,
}

impl Tuning {
    /// Makes it for a package, given the texts of its plans and of its kernels for GPUs.
    pub fn of_package(module: &AgpuModule, name: &str, texts: [&'static str; 2]) -> Tuning {
        let library = library(module).filter(|_| !module.gpu.is_null());
        let whole = library.as_ref().and_then(|path| path.canonicalize().ok());
        let beside = |path: PathBuf| path.with_file_name(format!("{name}.tuning"));
        let mut places: Vec<PathBuf> = library.into_iter().chain(whole).map(beside).collect();
        places.dedup();
        Tuning { texts: Some(texts), places, ..Tuning::default() }
    }

    /// Returns what was measured for a package on a device, if anything was.
    #[inline]
    pub fn on(&self, package: &str, images: &Images, device: &CStr) -> Option<Tuned> {
        let now = CHANGES.load(Ordering::Acquire);
        if self.without.load(Ordering::Relaxed) == now {
            None
        } else {
            self.look(package, images, device, now)
        }
    }

    fn look(&self, package: &str, images: &Images, device: &CStr, now: usize) -> Option<Tuned> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, _, tuned)) =
            known.iter().find(|(name, at, _)| name.as_c_str() == device && *at == now)
        {
            return tuned.clone();
        }
        let tuned = self.find(package, images, device, now).map(Arc::new);
        known.retain(|(name, ..)| name.as_c_str() != device);
        known.push((device.into(), now, tuned.clone()));
        tuned
    }

    /// Goes through the files. If there are some and none is right, this is noted.
    fn find(&self, package: &str, images: &Images, device: &CStr, now: usize) -> Option<Vec<Choices>> {
        let Some([plans, gpu]) = self.texts else {
            self.without.store(now, Ordering::Relaxed);
            return None;
        };
        let loaded = LOADED.read().unwrap_or_else(PoisonError::into_inner);
        let beside = || self.places.iter().find(|path| path.exists()).and_then(|path| read_or_note(path));
        let beside = self.beside.get_or_init(beside).as_ref();
        let sources = loaded.iter().chain(of_environment()).chain(beside);
        let (key, device) = (key(plans, gpu), device.to_string_lossy());
        // the reason of the section that is nearest to being right
        let mut why: Option<(u8, String)> = None;
        let mut is_there = false;
        for (source, section) in sources.flat_map(|s| s.sections.iter().map(move |section| (s, section))) {
            is_there = true;
            let (near, reason) = if section.package != package {
                (0, format!("it is for the package {}, not for {package}", section.package))
            } else if section.key != key {
                (1, format!("it was measured with another build of {package}"))
            } else if section.device != device.trim() {
                (2, format!("it was measured on {}, not on {device}", section.device))
            } else {
                match section.choices(images.entries()) {
                    Ok(choices) => return Some(choices),
                    Err(e) => (3, e.message),
                }
            };
            if why.as_ref().is_none_or(|(known, _)| near > *known) {
                why = Some((near, format!("the tuning file {} is ignored: {reason}", source.path.display())));
            }
        }
        if !is_there {
            self.without.store(now, Ordering::Relaxed);
        }
        why.iter().for_each(|(_, text)| note(text));
        None
    }
}

/// Returns the absolute path of the library, or of the program, in which a package's module lies; none for a program
/// that runs with more rights than the user who started it, who could choose the path.
fn library(module: &AgpuModule) -> Option<PathBuf> {
    if environment::is_privileged() {
        return None;
    }
    let mut info = MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: dladdr accepts any address, and `info` has room for its answer.
    if unsafe { libc::dladdr((&raw const *module).cast(), info.as_mut_ptr()) } == 0 {
        return None;
    }
    // SAFETY: dladdr found the object, and wrote all fields.
    let name = unsafe { info.assume_init() }.dli_fname;
    if name.is_null() {
        return None;
    }
    // SAFETY: the name is a C string that stays as long as the object.
    let name = Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(name) }.to_bytes()));
    // for a program, this is the name by which it was called, which may have been looked up in PATH
    let is_program = std::env::args_os().next().is_some_and(|called| called.as_os_str() == name.as_os_str());
    if is_program { std::env::current_exe().ok() } else { std::path::absolute(name).ok() }
}

/// Loads a tuning file, which `arraygpu-tune` made (docs/tuning.md): from now on, calls of its package on its device
/// run the variants of kernels that were measured to be the fastest. No bit of a result changes, but for the
/// products of tensor cores, which `arraygpu-tune` leaves out. It comes before the
/// files that were loaded earlier, the one that ARRAYGPU_TUNING names, and the one beside the package's library; the
/// same path replaces what was read from it before. NULL forgets the files that were loaded. A file that cannot be
/// read or is damaged is AGPU_ERROR_INVALID_ARGUMENT; one for another package or device is ignored by its calls
/// (agpu_tuning_problem()). Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_tuning_load(path: *const c_char) -> AgpuStatus {
    let load = || -> Result<()> {
        let source = if path.is_null() {
            None
        } else {
            // SAFETY: it is a C string, which the caller guarantees.
            let path = Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes()));
            if path.as_os_str().is_empty() {
                fail!(INVALID_ARGUMENT, "path is empty");
            }
            Some(read(path).map_err(|problem| error(INVALID_ARGUMENT, problem))?)
        };
        let mut loaded = LOADED.write().unwrap_or_else(PoisonError::into_inner);
        match source {
            None => loaded.clear(),
            Some(source) => {
                loaded.retain(|old| old.path != source.path);
                loaded.insert(0, source);
            }
        }
        CHANGES.fetch_add(1, Ordering::Release);
        Ok(())
    };
    guard_as("agpu_tuning_load", load)
}

/// Writes a sentence about why a tuning file is ignored: the first such problem that a call of this process found. It
/// is "" if there was none. Such a problem never makes a call fail. The text is never freed. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_tuning_problem(message: *mut *const c_char) -> AgpuStatus {
    let problem = || {
        let text = PROBLEM.get().map_or(c"", CString::as_c_str);
        out(message, "message")?.write(text.as_ptr());
        Ok(())
    };
    guard_as("agpu_tuning_problem", problem)
}
