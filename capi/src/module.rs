//! Modules: plans with the code of their kernels: of a package, parsed once, or of what was compiled in this process.

mod state;

use crate::abi::{AGPU_ABI_OLDEST, AGPU_ABI_VERSION, AgpuCpuKernel, AgpuModule};
use crate::cpu::{Blocks, Code, Variant};
use crate::cuda::Images;
use crate::error::{INVALID_ARGUMENT, MODULE, Result, aligned, error, fail};
use crate::level::{Level, level};
use crate::log::log;
use crate::online::{self, staged::Staged};
use arraygpu_compiler::core::Function;
use arraygpu_compiler::plan::{Access, Launch, Place, Plan, Slot, Step, parse};
use std::ffi::{CStr, CString, c_char};
use std::str::Utf8Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// A module ready for use. A package's lives as long as its library: the package's state word points at it. That of a program lives as long as the program.
pub(crate) struct Loaded {
    /// Counted through in this process.
    pub id: usize,
    pub name: String,
    pub entries: Vec<Arc<Entry>>,
    /// What there is for GPUs.
    pub images: Option<Images>,
    kernels: Kernels,
    count: usize,
    /// Of each entry, if it stages scalars; of a package.
    staged: Vec<Option<Staged>>,
}

/// Code for this processor.
pub(crate) enum Kernels {
    None,
    /// Of a package, or of a library that `_code` keeps.
    Table {
        kernels: *const AgpuCpuKernel,
        _code: Option<libloading::Library>,
    },
    /// Interpreted.
    Blocks(Vec<Blocks>),
}

// SAFETY: the kernels' table is constant data of the package.
unsafe impl Send for Kernels {}
// SAFETY: as above.
unsafe impl Sync for Kernels {}

/// A function of a module.
pub(crate) struct Entry {
    /// `stats::rmse`, for messages.
    pub title: String,
    pub name: CString,
    pub plan: Plan,
    /// Names of parameters, then results.
    pub names: Vec<CString>,
    /// Of all launches.
    pub sites: usize,
    /// Temporaries without memory of their own.
    names_only: Vec<bool>,
    /// Scalar results that several launches touch.
    shared_slots: Vec<bool>,
    /// For result r and parameter p, at `r * params + p`: the result may be written over the parameter itself.
    in_place: Vec<bool>,
}

impl Entry {
    /// Whether result `r` may be exactly parameter `p` without harm.
    pub fn may_be_in_place(&self, r: usize, p: usize) -> bool {
        self.in_place[r * self.plan.params.len() + p]
    }

    /// Whether several launches touch the scalar result `r`.
    pub fn is_shared_slot(&self, r: usize) -> bool {
        self.shared_slots[r]
    }

    /// Whether a temporary is a name for memory of others.
    pub fn is_name(&self, temp: usize) -> bool {
        self.names_only[temp]
    }

    pub fn launches(&self) -> impl Iterator<Item = &Launch> {
        self.plan.launches()
    }

    /// Parameter or result `i`, counted through.
    pub fn slot(&self, i: usize) -> &Slot {
        let plan = &self.plan;
        plan.params.get(i).unwrap_or_else(|| &plan.results[i - plan.params.len()])
    }
}

impl Loaded {
    /// A module of what was compiled in this process.
    pub fn in_memory(
        name: &str,
        plans: Vec<Plan>,
        images: Option<Images>,
        kernels: Kernels,
        count: usize,
    ) -> Result<Loaded> {
        let id = next_id();
        let mut loaded =
            Loaded { id, name: name.into(), entries: Vec::new(), images, kernels, count, staged: Vec::new() };
        for plan in plans {
            check(&loaded, &plan)?;
            loaded.entries.push(Arc::new(entry(&loaded.name, plan)?));
        }
        Ok(loaded)
    }

    /// What an entry stages, if anything.
    #[inline]
    pub fn staged(&self, entry: usize) -> Option<&Staged> {
        self.staged.get(entry)?.as_ref()
    }

    /// Whether there is code for this processor.
    pub fn has_cpu_code(&self) -> bool {
        self.count == 0 || !matches!(self.kernels, Kernels::None)
    }

    fn has(&self, index: u32, variant: Variant) -> bool {
        match &self.kernels {
            Kernels::Blocks(list) => list[index as usize].kernel(variant).is_some(),
            _ => matches!(self.code(index, variant), Ok(Some(_))),
        }
    }

    /// The code of a variant of a kernel, if it has that variant.
    pub fn code(&self, index: u32, variant: Variant) -> Result<Option<Code>> {
        assert!((index as usize) < self.count);
        match &self.kernels {
            Kernels::None => Ok(None),
            Kernels::Table { kernels, .. } => {
                // SAFETY: the table has `count` kernels, as long as the package is loaded, which calls this.
                let k = unsafe { &*kernels.add(index as usize) };
                let code = match variant {
                    Variant::Contiguous => k.contiguous,
                    Variant::InPlace => k.in_place,
                    Variant::Strided => k.strided,
                    Variant::Finish => k.finish,
                };
                Ok(code.map(Code::Native))
            }
            Kernels::Blocks(list) => list[index as usize].code(variant),
        }
    }
}

/// Modules are counted through, so that what a device holds of one can be told from another's.
fn next_id() -> usize {
    static IDS: AtomicUsize = AtomicUsize::new(0);
    IDS.fetch_add(1, Ordering::Relaxed)
}

/// The module behind a pointer of a package; parsed and checked at first use.
///
/// # Safety
/// `module` is null or points at an `agpu_module` of any version, which stays valid.
pub(crate) unsafe fn open(module: *const AgpuModule) -> Result<&'static Loaded> {
    // SAFETY: the caller's promise; what the state word has stays while the package is loaded.
    unsafe { open_raw(module).map(|loaded| &*loaded) }
}

/// The same as a pointer, which its library's owner frees when that is closed.
///
/// # Safety
/// As [`open`].
pub(crate) unsafe fn open_raw(module: *const AgpuModule) -> Result<*mut Loaded> {
    if module.is_null() {
        fail!(INVALID_ARGUMENT, "the module is NULL");
    }
    aligned(module, "the module")?;
    // SAFETY: size and version come first in every version.
    let (size, version) =
        unsafe { ((&raw const (*module).size).read(), (&raw const (*module).abi_version).read()) };
    if !(AGPU_ABI_OLDEST..=AGPU_ABI_VERSION).contains(&version) || size < size_of::<AgpuModule>() {
        let advice = if version < AGPU_ABI_OLDEST { "make it again" } else { "install a newer libarraygpu" };
        fail!(
            MODULE,
            "the package was made for ABI version {version} (module of {size} bytes), this library runs those of \
             {AGPU_ABI_OLDEST} to {AGPU_ABI_VERSION} ({} bytes): {advice}",
            size_of::<AgpuModule>()
        );
    }
    // SAFETY: the size says that all fields are there.
    let module = unsafe { &*module };
    if module.state.is_null() {
        fail!(MODULE, "the module's state is NULL");
    }
    // SAFETY: the state word is the runtime's, and only used through this atomic.
    let state = unsafe { AtomicPtr::<Loaded>::from_ptr(module.state.cast()) };
    // SAFETY: a module of our version.
    state::get_or_make(state, || unsafe { load(module) })
}

/// # Safety
/// The module's pointers are null or what `agpu_module` says.
unsafe fn load(module: &AgpuModule) -> Result<Loaded> {
    if module.name.is_null() || module.plans.is_null() {
        fail!(MODULE, "the module's name or plans are NULL");
    }
    // SAFETY: a C string, by the contract.
    let name = unsafe { CStr::from_ptr(module.name) }.to_string_lossy().into_owned();
    let (Ok(length), Ok(count)) = (usize::try_from(module.plans_length), usize::try_from(module.kernels))
    else {
        fail!(MODULE, "{name}: a negative number of kernels or length of the plans");
    };
    // SAFETY: `plans` has that many bytes, by the contract.
    let text = unsafe { text(module.plans, length) };
    let text = text.map_err(|e| error(MODULE, format!("{name}: the plans are not UTF-8: {e}")))?;
    let plans =
        parse::parse(text).map_err(|e| error(MODULE, format!("{name}: the plans cannot be read: {e}")))?;
    let level = level()?;
    let kernels = table(module, level);
    // SAFETY: the caller's promise.
    let images = unsafe { Images::read(module, &name) }?;
    let kernels = if kernels.is_null() { Kernels::None } else { Kernels::Table { kernels, _code: None } };
    if matches!(kernels, Kernels::None) && count > 0 && images.is_none() {
        fail!(
            MODULE,
            "{name}: the package has no code for this processor, which runs x86-64-{} and below",
            level.name()
        );
    }
    let mut loaded = Loaded::in_memory(&name, plans, images, kernels, count)?;
    // SAFETY: the caller's promise.
    loaded.staged = unsafe { staged(module, &loaded) }?;
    log!(
        Info,
        "the package {name}: {} functions, {}{}",
        loaded.entries.len(),
        if loaded.has_cpu_code() {
            format!("kernels for x86-64-{}", level.name())
        } else {
            "none for CPUs".into()
        },
        if loaded.images.is_some() { ", code for GPUs" } else { "" }
    );
    Ok(loaded)
}

/// # Safety
/// There are that many bytes, for as long as the package is loaded.
unsafe fn text<'a>(address: *const c_char, length: usize) -> std::result::Result<&'a str, Utf8Error> {
    // SAFETY: the caller's promise.
    std::str::from_utf8(unsafe { std::slice::from_raw_parts(address.cast::<u8>(), length) })
}

/// The functions that stage scalars, at their entries.
///
/// # Safety
/// As [`load`].
unsafe fn staged(module: &AgpuModule, loaded: &Loaded) -> Result<Vec<Option<Staged>>> {
    if module.staged.is_null() {
        return Ok(Vec::new());
    }
    let cannot = |why: String| {
        error(MODULE, format!("{}: the functions that stage cannot be read: {why}", loaded.name))
    };
    let length = usize::try_from(module.staged_length).map_err(|e| cannot(e.to_string()))?;
    // SAFETY: `staged` has that many bytes, by the contract.
    let text = unsafe { text(module.staged, length) }.map_err(|e| cannot(e.to_string()))?;
    let mut functions = online::staged::read(text).map_err(|e| cannot(e.to_string()))?;
    let mut of = |plan: &Plan| {
        let fits = |f: &Function| {
            let results = f.results.iter().map(|r| (&r.name, f.graph.ty(r.value)));
            f.name == plan.name
                && f.params.iter().map(|p| (&p.name, p.ty)).eq(plan.params.iter().map(|p| (&p.name, p.ty)))
                && results.eq(plan.results.iter().map(|r| (&r.name, r.ty)))
        };
        let at = functions.iter().position(fits)?;
        Staged::of(&loaded.name, functions.swap_remove(at))
    };
    let found: Vec<_> = loaded.entries.iter().map(|e| of(&e.plan)).collect();
    match functions.first() {
        Some(f) => Err(cannot(format!("there is no entry {} like theirs", f.name))),
        None => Ok(found),
    }
}

/// The best table that is there.
fn table(module: &AgpuModule, level: Level) -> *const AgpuCpuKernel {
    let tables = [(Level::V4, module.cpu_v4), (Level::V3, module.cpu_v3), (Level::V2, module.cpu_v2)];
    tables.into_iter().find(|(l, t)| *l <= level && !t.is_null()).map_or(std::ptr::null(), |t| t.1)
}

fn entry(module: &str, plan: Plan) -> Result<Entry> {
    let c_string = |s: &str| CString::new(s).map_err(|_| error(MODULE, format!("{module}: a NUL in a name")));
    let params = plan.params.len();
    let in_place =
        (0..plan.results.len() * params).map(|i| plan.may_be_in_place(i / params, i % params)).collect();
    let touches = |r: usize| plan.launches().filter(|l| l.slots.contains(&Place::Result(r as u32))).count();
    Ok(Entry {
        names_only: {
            let mut list = vec![false; plan.temps.len()];
            let states = plan.repeats().flat_map(|r| &r.states);
            states.for_each(|s| [s.current, s.next].iter().for_each(|t| list[*t as usize] = true));
            list
        },
        sites: plan.launches().map(|l| l.sites.len()).sum(),
        shared_slots: (0..plan.results.len()).map(|r| touches(r) > 1).collect(),
        title: if module.is_empty() { plan.name.clone() } else { format!("{module}::{}", plan.name) },
        name: c_string(&plan.name)?,
        names: plan.params.iter().chain(&plan.results).map(|s| c_string(&s.name)).collect::<Result<_>>()?,
        in_place,
        plan,
    })
}

/// What the parser could not know: that kernels are there, and temporaries allocated once, used, and freed once.
fn check(module: &Loaded, plan: &Plan) -> Result<()> {
    let title = format!("{}::{}", module.name, plan.name);
    #[derive(Clone, Copy, PartialEq)]
    enum Temp {
        Fresh,
        Alive,
        Freed,
    }
    let mut temps = vec![Temp::Fresh; plan.temps.len()];
    for step in &plan.steps {
        match step {
            Step::Repeat(r) => {
                for s in &r.states {
                    // names for memory that is somewhere else
                    for t in [s.current, s.next] {
                        if std::mem::replace(&mut temps[t as usize], Temp::Alive) != Temp::Fresh {
                            fail!(MODULE, "{title}: an iteration gives memory to a temporary that has some");
                        }
                    }
                    let alive = |p: &Place| match p {
                        Place::Temp(t) => temps[*t as usize] == Temp::Alive,
                        _ => true,
                    };
                    let places = [s.from, s.to, Place::Temp(s.spare)];
                    let distinct = s.from != s.to && s.to != places[2] && s.from != places[2];
                    if !places.iter().all(alive) || !distinct || matches!(s.to, Place::Param(_)) {
                        fail!(MODULE, "{title}: an iteration lacks memory for its states");
                    }
                }
            }
            Step::Alloc(t) => {
                if std::mem::replace(&mut temps[*t as usize], Temp::Alive) != Temp::Fresh {
                    fail!(MODULE, "{title}: a temporary is allocated twice");
                }
            }
            Step::Free(t) => {
                if std::mem::replace(&mut temps[*t as usize], Temp::Freed) != Temp::Alive {
                    fail!(MODULE, "{title}: a temporary is freed before it is allocated");
                }
            }
            Step::Launch(l) => {
                if l.kernel as usize >= module.count {
                    fail!(MODULE, "{title}: there is no kernel {}", l.kernel);
                }
                let dead = |p: &Place| matches!(p, Place::Temp(t) if temps[*t as usize] != Temp::Alive);
                if l.arrays.iter().any(|(p, _)| dead(p)) {
                    fail!(MODULE, "{title}: kernel {} uses a temporary that is not allocated", l.name);
                }
                if l.arrays.iter().any(|(p, a)| matches!(p, Place::Param(_)) && *a == Access::Write) {
                    fail!(MODULE, "{title}: kernel {} writes a parameter", l.name);
                }
                if l.slots.iter().any(|p| matches!(p, Place::Param(_))) {
                    fail!(MODULE, "{title}: kernel {} has a parameter as a slot", l.name);
                }
                if !module.has_cpu_code() {
                    continue;
                }
                let has = |variant| module.has(l.kernel, variant);
                let main = has(Variant::Contiguous) && has(Variant::InPlace) && has(Variant::Strided);
                if (!l.domain.is_empty() && !main) || (l.finish && !has(Variant::Finish)) {
                    fail!(MODULE, "{title}: kernel {} lacks code", l.name);
                }
            }
        }
    }
    Ok(())
}
