//! Functions of modules. Those of a package are read when they are first called, because a program that calls one
//! function of many should not wait for all their plans.

use super::{Loaded, Specialise, check::check};
use crate::error::{MODULE, Result, error};
use arraygpu_compiler::plan::{Launch, Place, Plan, Slot};
use std::ffi::CString;
use std::sync::{Arc, OnceLock};

/// A function of a module, which may not have been read yet.
pub(crate) struct Function {
    pub name: CString,
    /// What a package says of it; empty if it was compiled in this process.
    pub text: FunctionText,
    read: OnceLock<Read>,
}

/// The texts of a function of a package, which stay as long as its library.
#[derive(Clone, Copy, Default)]
pub(crate) struct FunctionText {
    pub plan: &'static str,
    /// The author's function, if it stages scalars.
    pub staged: Option<&'static str>,
}

/// What a function's texts say.
pub(crate) struct Read {
    pub entry: Arc<Entry>,
    /// What specialises the function for a call's staged scalars, if it has any.
    pub staged: Option<Box<dyn Specialise>>,
}

impl Function {
    /// Makes a function of a package that is not read yet.
    pub fn unread(module: &str, name: &str, text: FunctionText) -> Result<Function> {
        Ok(Function { name: c_string(module, name)?, text, read: OnceLock::new() })
    }

    /// Makes a function from a plan, which is checked.
    pub fn of(loaded: &Loaded, plan: Plan) -> Result<Function> {
        let read = Read { entry: Arc::new(Entry::checked(loaded, plan)?), staged: None };
        Ok(Function { name: read.entry.name.clone(), text: FunctionText::default(), read: read.into() })
    }

    /// Returns what was read of the function, or reads it. An error is not kept, since memory may have lacked; two
    /// threads may read at the same time.
    #[inline]
    pub fn get_or_read(&self, read: impl FnOnce(&FunctionText) -> Result<Read>) -> Result<&Read> {
        match self.read.get() {
            Some(known) => Ok(known),
            None => read(&self.text).map(|fresh| self.read.get_or_init(|| fresh)),
        }
    }

    /// What was read of the function, if it was read.
    pub fn known(&self) -> Option<&Read> {
        self.read.get()
    }
}

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
    /// Makes the function of a plan that may be wrong.
    pub fn checked(module: &Loaded, plan: Plan) -> Result<Entry> {
        check(module, &plan)?;
        Entry::new(&module.name, plan)
    }

    /// Makes the function of a module from its plan.
    pub fn new(module: &str, plan: Plan) -> Result<Entry> {
        let c_string =
            |s: &str| CString::new(s).map_err(|_| error(MODULE, format!("{module}: a NUL in a name")));
        let params = plan.params.len();
        let in_place =
            (0..plan.results.len() * params).map(|i| plan.may_be_in_place(i / params, i % params)).collect();
        let touches =
            |r: usize| plan.launches().filter(|l| l.slots.contains(&Place::Result(r as u32))).count();
        Ok(Entry {
            names_only: {
                let mut list = vec![false; plan.temps.len()];
                let states = plan.repeats().flat_map(|r| &r.states);
                states.for_each(|s| [s.current, s.next].iter().for_each(|t| list[*t as usize] = true));
                list
            },
            sites: plan.launches().map(|l| l.sites.len()).sum(),
            shared_slots: (0..plan.results.len()).map(|r| touches(r) > 1).collect(),
            title: title(module, &plan.name),
            name: c_string(&plan.name)?,
            names: plan
                .params
                .iter()
                .chain(&plan.results)
                .map(|s| c_string(&s.name))
                .collect::<Result<_>>()?,
            in_place,
            plan,
        })
    }

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

/// A function's name for messages.
pub(crate) fn title(module: &str, name: &str) -> String {
    if module.is_empty() { name.into() } else { format!("{module}::{name}") }
}

fn c_string(module: &str, s: &str) -> Result<CString> {
    CString::new(s).map_err(|_| error(MODULE, format!("{module}: a NUL in a name")))
}
