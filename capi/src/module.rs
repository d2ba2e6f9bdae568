//! Modules: plans with the code of their kernels. A module comes from a package, which is parsed
//! once, or was compiled in this process.

pub(crate) mod state;

use crate::abi::{AgpuArg, AgpuCall, AgpuCpuKernel};
use crate::cpu::{Blocks, Code, Variant};
use crate::cuda::Images;
use crate::error::{MODULE, Result, error, fail};
use arraygpu_compiler::plan::{Access, Launch, Place, Plan, Slot, Step};
use std::ffi::CString;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A module ready for use. A package's module lives as long as its library, because the package's
/// state word points at it. A program's module lives as long as the program.
pub(crate) struct Loaded {
    /// A number that is unique in this process.
    pub id: usize,
    pub name: String,
    pub entries: Vec<Arc<Entry>>,
    /// Code for GPUs, if there is any.
    pub images: Option<Images>,
    kernels: Kernels,
    count: usize,
    /// For each entry of a package, the function that stages its scalars, if it has one.
    pub(crate) staged: Vec<Option<Box<dyn Specialise>>>,
}

/// A function that specialises itself for the values of a call's staged scalars.
pub(crate) trait Specialise: Send + Sync {
    /// Runs a call of the function whose general version is `entry` of `loaded`. Returns `None` if
    /// the general version is to run; in that case nothing was done.
    ///
    /// # Safety
    /// `call` is null or an `agpu_call`; `args` are `count` arguments.
    unsafe fn run(
        &self,
        loaded: &Loaded,
        entry: &Entry,
        call: *const AgpuCall,
        args: *const AgpuArg,
        count: i32,
    ) -> Option<Result<()>>;
}

/// Kernels for this processor.
pub(crate) enum Kernels {
    None,
    /// Compiled kernels of a package, or of a library that `_code` keeps loaded.
    Table {
        kernels: *const AgpuCpuKernel,
        _code: Option<libloading::Library>,
    },
    /// Kernels that are interpreted block by block.
    Blocks(Vec<Option<Blocks>>),
}

// SAFETY: the table of kernels is constant data of the package.
unsafe impl Send for Kernels {}
// SAFETY: as above.
unsafe impl Sync for Kernels {}

/// A function of a module.
pub(crate) struct Entry {
    /// The full name for messages, for example `stats::rmse`.
    pub title: String,
    pub name: CString,
    pub plan: Plan,
    /// Names of the parameters, followed by those of the results.
    pub names: Vec<CString>,
    /// The number of sites of all launches.
    pub sites: usize,
    /// For each temporary, whether it is only a name for other memory.
    names_only: Vec<bool>,
    /// For each scalar result, whether several launches access it.
    shared_slots: Vec<bool>,
    /// For result r and parameter p, at `r * params + p`, whether the result may be written over
    /// the parameter itself.
    in_place: Vec<bool>,
}

impl Entry {
    /// Whether result `r` may be written exactly over parameter `p`.
    pub fn may_be_in_place(&self, r: usize, p: usize) -> bool {
        self.in_place[r * self.plan.params.len() + p]
    }

    /// Whether several launches access the scalar result `r`.
    pub fn is_shared_slot(&self, r: usize) -> bool {
        self.shared_slots[r]
    }

    /// Whether a temporary is only a name for other memory.
    pub fn is_name(&self, temp: usize) -> bool {
        self.names_only[temp]
    }

    pub fn launches(&self) -> impl Iterator<Item = &Launch> {
        self.plan.launches()
    }

    /// Returns parameter or result `i`, numbered consecutively.
    pub fn slot(&self, i: usize) -> &Slot {
        let plan = &self.plan;
        plan.params.get(i).unwrap_or_else(|| &plan.results[i - plan.params.len()])
    }
}

impl Loaded {
    /// Makes a module of code that was compiled in this process.
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

    /// Returns what specialises an entry, if the entry stages scalars.
    #[inline]
    pub fn staged(&self, entry: usize) -> Option<&dyn Specialise> {
        self.staged.get(entry)?.as_deref()
    }

    /// Whether there are kernels for this processor.
    pub fn has_cpu_code(&self) -> bool {
        self.count == 0 || !matches!(self.kernels, Kernels::None)
    }

    fn has(&self, index: u32, variant: Variant) -> bool {
        match &self.kernels {
            Kernels::Blocks(list) => {
                list[index as usize].as_ref().is_some_and(|k| k.kernel(variant).is_some())
            }
            _ => matches!(self.code(index, variant), Ok(Some(_))),
        }
    }

    /// The code of a variant of a kernel, if it has that variant.
    pub fn code(&self, index: u32, variant: Variant) -> Result<Option<Code>> {
        assert!((index as usize) < self.count);
        match &self.kernels {
            Kernels::None => Ok(None),
            Kernels::Table { kernels, .. } => {
                // SAFETY: the table has `count` kernels as long as the package is loaded, and the
                // package is making this call.
                let k = unsafe { &*kernels.add(index as usize) };
                let code = match variant {
                    Variant::Contiguous => k.contiguous,
                    Variant::InPlace => k.in_place,
                    Variant::Strided => k.strided,
                    Variant::Finish => k.finish,
                };
                Ok(code.map(Code::Native))
            }
            Kernels::Blocks(list) => list[index as usize].as_ref().map_or(Ok(None), |k| k.code(variant)),
        }
    }
}

/// Returns a new number, by which a device distinguishes what it holds of different modules.
fn next_id() -> usize {
    static IDS: AtomicUsize = AtomicUsize::new(0);
    IDS.fetch_add(1, Ordering::Relaxed)
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

/// Checks what the parser could not: that all kernels exist, and that each temporary is allocated
/// once, used, and freed once.
fn check(module: &Loaded, plan: &Plan) -> Result<()> {
    let title = format!("{}::{}", module.name, plan.name);
    #[derive(Clone, Copy, PartialEq)]
    enum Temp {
        Fresh,
        Alive,
        Freed,
    }
    let mut temps = vec![Temp::Fresh; plan.temps.len()];
    for (at, step) in plan.steps.iter().enumerate() {
        match step {
            Step::Repeat(r) => {
                let number = r.check.map(|c| c.number);
                let has_no_memory = |p: Place| match p {
                    Place::Param(_) => true,
                    Place::Result(_) => false,
                    Place::Temp(t) => temps[t as usize] != Temp::Alive,
                };
                if number.is_some_and(has_no_memory) {
                    fail!(MODULE, "{title}: a check lacks memory for its number");
                }
                for s in &r.states {
                    // These temporaries are names for memory that is allocated elsewhere.
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
            Step::Instead(_) => {}
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
                // a launch that is instead of others runs if there is code for the call
                let is_alternative = at > 0 && matches!(plan.steps[at - 1], Step::Instead(_));
                if !module.has_cpu_code() || is_alternative {
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
