//! What the layouts of a record cost: an array for each field, and an array of structs.

use super::Record;
use super::model::RecordLayout;
use crate::core::Function;
use crate::plan::{Place, Plan, Step};

/// Describes the arrays of records among the parameters and results of a function.
pub fn layouts(f: &Function, plan: &Plan, records: &[Record]) -> Vec<RecordLayout> {
    let of = |r: &&Record| r.function == f.name;
    records.iter().filter(of).filter_map(|r| layout(plan, r)).collect()
}

fn layout(plan: &Plan, r: &Record) -> Option<RecordLayout> {
    let places: Vec<Place> = (r.first..r.first + r.fields)
        .map(|i| if r.is_result { Place::Result(i as u32) } else { Place::Param(i as u32) })
        .collect();
    if plan.slot(*places.first()?).ty.is_scalar() {
        return None;
    }
    let is_used = |place: &Place| {
        plan.steps.iter().any(|step| match step {
            Step::Launch(l) => l.arrays.iter().any(|(p, _)| p == place),
            Step::Repeat(r) => r.states.iter().any(|s| s.from == *place || s.to == *place),
            _ => false,
        })
    };
    let used: Vec<&Place> = places.iter().filter(|p| is_used(p)).collect();
    let size = |place: &&Place| plan.slot(**place).ty.elem.size() as u64;
    Some(RecordLayout {
        name: r.name.clone(),
        is_result: r.is_result,
        is_struct: r.is_struct,
        fields: r.fields,
        used: used.len(),
        used_bytes: used.iter().map(size).sum(),
        struct_bytes: r.bytes,
    })
}
