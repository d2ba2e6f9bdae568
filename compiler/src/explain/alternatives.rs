//! Describes alternatives: launches that run instead of others (`Step::Instead`). Says which of them run on a GPU in
//! a call of the given sizes, and what they move.

use super::formula::Sum;
use super::kernel::{Accessed, Described, in_words};
use super::launched::Sizes;
use super::model::{Alternative, Amount, Array};
use super::scope::{Instead, Units};
use super::time::{Computing, predicted};
use super::variants;
use crate::driver::Compiled;
use crate::plan::{Access, Launch, Place, Repeat};

/// An alternative and what its launches move.
pub struct DescribedAlternative {
    pub alternative: Alternative,
    /// The number of the first launch that it replaces.
    pub first: usize,
    /// The bytes that all of its launches move.
    pub moved: Sum,
    /// The number of its launches.
    pub times: Sum,
    /// By how many microseconds the operations of one launch take longer than its bytes.
    pub beyond: f64,
}

/// Describes all alternatives, and marks the kernels that they replace in a call of these sizes. An alternative runs
/// if a variant of its kernel serves the call and it is not itself among the launches that another alternative
/// replaces.
pub fn alternatives(
    c: &Compiled,
    units: &mut Units,
    sizes: &Sizes,
    described: &mut [Described],
    bandwidth: Option<f64>,
) -> Vec<DescribedAlternative> {
    let mut out = Vec::new();
    for at in 0..units.alternatives.len() {
        let Instead { launch, others, .. } = &units.alternatives[at];
        let (launch, others) = (*launch, others.clone());
        let replaced = &mut described[others];
        let is_inside = replaced.iter().any(|d| d.kernel.replaced_by.is_some());
        let runs = sizes.runs(c, launch).map(|runs| runs && !is_inside);
        let one = alternative(c, units, at, replaced, (runs, sizes), bandwidth);
        if runs == Some(true) {
            replaced.iter_mut().for_each(|d| d.kernel.replaced_by = Some(launch.name.clone()));
        }
        out.push(one);
    }
    out
}

/// Whether an alternative moves an array through memory on a GPU. An array that it both writes and reads is read from
/// registers, so only the write counts. A temporary that only the replaced launches read is not written at all.
fn moves(units: &Units, at: usize, (place, access): &(Place, Access)) -> bool {
    let Instead { launch, others, .. } = &units.alternatives[at];
    let writes = |l: &Launch| l.arrays.contains(&(*place, Access::Write));
    let reads = |l: &Launch| l.arrays.iter().any(|(p, access)| p == place && *access != Access::Write);
    if *access != Access::Write {
        return !writes(launch);
    }
    let begins = |r: &Repeat| r.states.iter().any(|s| s.from == *place);
    let is_read_after = || {
        let outside = units.list.iter().enumerate().filter(|(at, _)| !others.contains(at));
        outside.map(|(_, unit)| unit.launch).any(reads) || units.plan.repeats().any(begins)
    };
    !matches!(place, Place::Temp(_)) || units.is_output(place) || is_read_after()
}

/// Describes an alternative that replaces these launches.
fn alternative(
    c: &Compiled,
    units: &mut Units,
    at: usize,
    replaced: &[Described],
    (runs, sizes): (Option<bool>, &Sizes),
    bandwidth: Option<f64>,
) -> DescribedAlternative {
    let Instead { launch, scope, ref others } = units.alternatives[at];
    let first = others.start;
    let (mut bytes, mut arrays) = (Sum::default(), Vec::new());
    let moved = launch.arrays.iter().filter(|array| moves(units, at, array)).collect::<Vec<_>>();
    for (place, access) in moved {
        let is_same = |a: &&Accessed| a.place == *place && a.is_written == (*access == Access::Write);
        let mut by_others = replaced.iter().flat_map(|d| &d.accesses).filter(is_same);
        let mut moved = by_others.next().map(|a| a.bytes.clone());
        let is_like =
            |a: &Accessed| moved.as_ref().is_some_and(|b| b.amount().formula == a.bytes.amount().formula);
        if !by_others.all(is_like) {
            moved = units.whole(scope, place).or(moved);
        }
        let moved = moved.or_else(|| units.whole(scope, place)).unwrap_or_default();
        bytes.extend(&moved);
        arrays.push(Array {
            name: units.name(place),
            element: units.slot(place).ty.elem.name(),
            access: in_words(*access),
            bytes: moved.amount(),
        });
    }
    let scope = &units.scopes[scope];
    let (mut moved, mut times) = (bytes.clone(), Sum::default());
    times.add(&scope.formulas, 1, &[]);
    for n in &scope.times {
        times.times(n);
        moved.times(n);
    }
    let bytes = bytes.amount();
    let launched = sizes.launched(c, launch, 1);
    // the alternative computes the same as the launches that it replaces
    let operations = replaced.iter().try_fold(0u64, |all, d| Some(all.saturating_add(d.operations?)));
    let computing = launched.as_ref().zip(operations);
    let computing = computing.and_then(|(launched, n)| Computing::of(c, launch, launched, n, n));
    let beyond = computing.map_or(0.0, |computing| computing.beyond(&bytes, bandwidth));
    let alternative = Alternative {
        name: launch.name.clone(),
        instead_of: replaced.iter().map(|d| d.kernel.name.clone()).collect(),
        runs,
        launches: times.amount(),
        arrays,
        predicted: predicted(&bytes, &Amount { formula: "1".into(), value: Some(1) }, beyond, bandwidth),
        bytes,
        cpu: variants::cpu(c, launch),
        gpu: variants::gpu(c, launch, &|place| units.name(place), launched),
    };
    DescribedAlternative { alternative, first, moved, times, beyond }
}
