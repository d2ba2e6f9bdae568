//! What a function of a module is to a call: its plan, and what follows from it.

use crate::error::{MODULE, Result, error};
use arraygpu_compiler::plan::{Launch, Place, Plan, Slot, Step};
use std::ffi::CString;

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
    /// Makes the function of a module from its plan.
    pub fn new(module: &str, plan: Plan) -> Result<Entry> {
        let c_string = |s: &str| c_string(module, s);
        let params = plan.params.len();
        let in_place =
            (0..plan.results.len() * params).map(|i| plan.may_be_in_place(i / params, i % params)).collect();
        // a launch that runs instead of others writes a result once, as they do
        let is_alternative = |at: usize| at > 0 && matches!(plan.steps[at - 1], Step::Instead(_));
        let touches = |r: usize| {
            let is_one = |(at, step): &(usize, &Step)| {
                let Step::Launch(l) = step else { return false };
                !is_alternative(*at) && l.slots.contains(&Place::Result(r as u32))
            };
            plan.steps.iter().enumerate().filter(is_one).count()
        };
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

/// Returns a text as a C string.
pub(crate) fn c_string(module: &str, s: &str) -> Result<CString> {
    CString::new(s).map_err(|_| error(MODULE, format!("{module}: a NUL in a name")))
}
