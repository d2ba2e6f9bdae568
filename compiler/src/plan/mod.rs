//! Plans: the steps that the runtime executes for a call of one function.
//!
//! A plan consists of host scalars (computed from lengths, constants and scalar arguments), shape rules over them,
//! the extents of results and temporaries, and a list of steps. It contains every decision that does not depend on
//! the call. At a call, [`policy`] chooses among the variants of a kernel for GPUs (multi-versioning), and the
//! runtime's executor among those for CPUs. Text form: `docs/ir.md`.
//!
//! ```text
//! steps of a call:    alloc t0    launch k0 (x -> t0)    repeat n [ launch k1 ] otherwise [ copy ]    free t0
//! an alternative:     instead 2   launch k5 (x -> r)     launch k3 (x -> t1)   launch k4 (t1 -> r)
//!                     k5 computes what the 2 steps after it compute, and runs in place of them if it serves the call
//! ```

pub mod gpu;
mod guards;
pub mod host;
mod host_scalars;
pub mod parse;
pub mod policy;
pub mod print;
mod profit;
pub mod sites;
pub mod tuning;

use crate::core::{TILE, Type};
use crate::scalar::Ty;
pub use host_scalars::{HostId, HostOp, HostRule};

/// A named value of the plan: parameter, result or temporary.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Slot {
    /// Its name.
    pub name: String,
    /// The value's type. An array has extents unless it is a parameter, whose extents are the
    /// caller's.
    pub ty: Type,
    /// The extents of an array that is a result or a temporary, outermost first.
    pub extents: Vec<HostId>,
}

/// Where a launch finds an array or a scalar slot.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Place {
    /// A parameter of the function.
    Param(u32),
    /// A result.
    Result(u32),
    /// A temporary.
    Temp(u32),
}

impl Plan {
    /// Returns the parameter, result or temporary at a place.
    pub fn slot(&self, place: Place) -> &Slot {
        match place {
            Place::Param(i) => &self.params[i as usize],
            Place::Result(i) => &self.results[i as usize],
            Place::Temp(i) => &self.temps[i as usize],
        }
    }
}

/// How a kernel uses an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Read only at the index of the element that is being computed. An output may be the same
    /// array.
    Pointwise,
    /// Read at other indices as well.
    Anywhere,
    /// Written at the index of the element that is being computed, and never read.
    Write,
}

/// An "in" scalar of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ScalarArg {
    /// A host scalar.
    Host(HostId),
    /// The stride of an array (by its index in `arrays`) along an axis, in elements.
    Stride(u32, u8),
}

/// One launch of a kernel over one index space.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Launch {
    /// The kernel's index in the module.
    pub kernel: u32,
    /// The kernel's name, for reports.
    pub name: String,
    /// The extents of the index space, outermost first; its elements are counted in row-major
    /// order. If it is empty, only `finish` runs.
    pub domain: Vec<HostId>,
    /// The length of a segment, or the number of inner indices of a product, if variants or the
    /// division of the work depend on it.
    pub segment: Option<HostId>,
    /// Whether the elements must be visited in order, on one thread (folds).
    pub sequential: bool,
    /// Estimated number of operations and accesses of one element, which decides how finely the
    /// work is divided ([`Launch::work`]).
    pub cost: u32,
    /// Number of elements in a CPU's unit of work: [`TILE`](crate::core::TILE), or fewer if an
    /// element takes many operations. Reductions always have tiles.
    pub grain: u32,
    /// For a launch that runs instead of others ([`Step::Instead`]): the minimum and the maximum length of segments
    /// for which a CPU runs it, because it is faster than these others.
    pub lengths: [u32; 2],
    /// The arrays, in the order of the kernel's parameters.
    pub arrays: Vec<(Place, Access)>,
    /// Arrays of more than one dimension (by index in `arrays`) that must have no gaps between
    /// their rows in the kernel's contiguous variants.
    pub flat: Vec<u32>,
    /// The "in" scalars, in the order of the kernel's parameters.
    pub scalars: Vec<ScalarArg>,
    /// The slots (scalar results and scalar temporaries), in the order of the kernel's parameters.
    pub slots: Vec<Place>,
    /// The element types of the scratch arrays, each of which has one value per tile.
    pub scratch: Vec<Ty>,
    /// The stored arrays and the slots that the launch writes, each with the author's
    /// `file:line:column`, which may be empty.
    pub computes: Vec<(Place, String)>,
    /// The message of an error record at each site ([`sites`]): `x.at(i) is out of range (stats.rs:12:5)`.
    pub sites: Vec<String>,
    /// Whether the kernel has a `finish` part.
    pub finish: bool,
    /// Whether the launch belongs to an iteration that a check ends. The host queues such launches on a GPU before it
    /// knows whether the iteration goes on. Its kernel gets the address of the number that the check of the innermost
    /// such iteration writes ([`Check`]), reads it first, and does nothing if the iteration has ended.
    pub guarded: bool,
}

/// The value of [`Launch::lengths`] for a launch that is faster for all lengths.
pub const ANY_LENGTH: [u32; 2] = [0, u32::MAX];

/// The length that a nested sequence is assumed to have in [`Launch::cost`].
pub const GUESSED_LENGTH: u32 = 1024;

impl Launch {
    /// Returns the estimated number of operations of a CPU's unit of work. If the length of
    /// segments is known, it replaces [`GUESSED_LENGTH`].
    pub fn work(&self, segment: Option<i64>) -> i64 {
        let length = segment.unwrap_or(GUESSED_LENGTH.into()).max(1);
        let of_element = i64::from(self.cost).saturating_mul(length) / i64::from(GUESSED_LENGTH);
        i64::from(self.grain).saturating_mul(of_element.max(1))
    }

    /// Whether a CPU runs the launch instead of the steps after it ([`Step::Instead`]). `units` is its number of
    /// units of work, which are rows or strips of columns, and `length` the length of these. The launch runs if there
    /// are several units and at least one for each thread, if two levels of the reduction tree suffice for the length
    /// (2048 x 2048 elements), and if the length is in [`Launch::lengths`]. A sequential launch, such as a whole
    /// scan, runs if there is one thread.
    pub fn runs_instead(&self, units: i64, length: Option<i64>, threads: usize) -> bool {
        if self.sequential {
            return threads == 1;
        }
        let [least, most] = self.lengths.map(i64::from);
        let pays = |n: i64| n <= TILE * TILE && (least..=most).contains(&n);
        units > 1 && units >= threads as i64 && length.is_none_or(pays)
    }

    /// Returns the size of the launch's error records on a GPU, in bytes: one 64-bit word per site.
    pub fn record_bytes(&self) -> u64 {
        self.sites.len() as u64 * 8
    }
}

/// A step of the plan. Steps run in order.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(clippy::large_enum_variant, reason = "most steps are launches")]
pub enum Step {
    /// Allocates a temporary (an index into [`Plan::temps`]).
    Alloc(u32),
    /// Runs a kernel.
    Launch(Launch),
    /// Repeats the steps that follow.
    Repeat(Repeat),
    /// The next step is a launch that computes the same as the given number of steps that follow it. If the device
    /// has code for the launch and a variant of its kernel serves the call, the launch runs and these steps are
    /// skipped; otherwise the launch is skipped.
    Instead(u32),
    /// Frees a temporary.
    Free(u32),
}

/// An iteration. The next steps of the plan are the steps of its check, if it has one, then the `body` steps of its
/// body, which computes `next` from `current` for each state, and then the `otherwise` steps.
///
/// Nothing is copied: `next` is `to` and a spare array by turns (ping-pong buffers), so that the last repetition
/// writes `to`.
///
/// ```text
/// 4 repetitions:    from -> spare    spare -> to    to -> spare    spare -> to
/// ```
///
/// If the count is 0, the `otherwise` steps run instead, and copy `from` to `to`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Repeat {
    /// The number of repetitions (i64). A rule makes sure that it is not negative.
    pub count: HostId,
    /// The host scalar that is the number of the present repetition, if a launch of the body depends on it. It is
    /// computed before each repetition, and so are the host scalars that depend on it.
    pub turn: Option<HostId>,
    /// Whether all states are kept: `to` is an array of `count` states, and each repetition reads one state in it and
    /// writes the one after that. The spare arrays then have no memory.
    pub each: bool,
    /// The check by which repetitions may end before `count`; `None` if there are always `count` repetitions.
    pub check: Option<Check>,
    /// Number of steps of the body.
    pub body: u32,
    /// Number of steps after the body, which run if the count is 0.
    pub otherwise: u32,
    /// The arrays that the iteration changes.
    pub states: Vec<State>,
}

impl Step {
    /// Returns how many of the steps that follow this one in the plan belong to it.
    pub fn inside(&self) -> usize {
        match self {
            Step::Repeat(r) => r.inside(),
            Step::Instead(others) => 1 + *others as usize,
            Step::Alloc(_) | Step::Launch(_) | Step::Free(_) => 0,
        }
    }
}

impl Repeat {
    /// Returns how many of the steps that follow in the plan belong to the iteration.
    pub fn inside(&self) -> usize {
        self.check.as_ref().map_or(0, |c| c.steps as usize) + self.body as usize + self.otherwise as usize
    }

    /// Divides the steps that follow in the plan: the check, the body, and the `otherwise` steps.
    pub fn parts<'s>(&self, steps: &'s [Step]) -> [&'s [Step]; 3] {
        let (check, steps) = steps.split_at(self.check.as_ref().map_or(0, |c| c.steps as usize));
        let (body, steps) = steps.split_at(self.body as usize);
        [check, body, &steps[..self.otherwise as usize]]
    }
}

/// The check of an iteration. It runs before repetitions 0, `every`, 2 `every`, .. and after the last one, and writes
/// -1 if the iteration goes on, or else the number of repetitions that were made. The states then lie where the last
/// repetition wrote them: in `to`, or in the spare array (or in `from`, if there was none). Unless they lie in `to`,
/// the `otherwise` steps copy them there. The turns begin so that the last repetition before the second check writes
/// `to`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Check {
    /// Number of steps of the check.
    pub steps: u32,
    /// The number of repetitions from a check to the next one, 1 or more.
    pub every: u32,
    /// The array of one i64 that the check writes.
    pub number: Place,
}

impl Check {
    /// Whether the check runs before repetition `turn` of at most `count` repetitions; `turn` is `count` after the
    /// last.
    pub fn is_due(&self, turn: i64, count: i64) -> bool {
        turn == count || turn % i64::from(self.every) == 0
    }

    /// Returns how many runs of the body make this many repetitions, if one run makes up to `each` of them and none
    /// goes beyond a check: with `every` = 10 and `each` = 4, 25 repetitions are made as 4 4 2, 4 4 2, 4 1.
    pub fn runs(&self, repetitions: i64, each: i64) -> i64 {
        let of = |n: i64| (n + each - 1) / each;
        let every = i64::from(self.every);
        repetitions / every * of(every) + of(repetitions % every)
    }

    /// Returns the maximum number of repetitions between two checks, of `count` repetitions in all.
    pub fn between(&self, count: i64) -> i64 {
        count.clamp(1, self.every.into())
    }
}

/// An array that an iteration changes. The five arrays of a state have the same shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct State {
    /// The place of the array before the iteration.
    pub from: Place,
    /// The place of the array after the iteration.
    pub to: Place,
    /// A temporary with memory of its own, which holds every other state in between.
    pub spare: u32,
    /// The temporary that stands for the state before a step in the body's launches; it has no
    /// memory of its own.
    pub current: u32,
    /// The temporary that stands for the state after a step in the body's launches; it has no
    /// memory of its own.
    pub next: u32,
}

/// The plan of one function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Plan {
    /// The function's name.
    pub name: String,
    /// The parameters, in order.
    pub params: Vec<Slot>,
    /// The results, in order.
    pub results: Vec<Slot>,
    /// The temporaries: arrays, and scalars that stay on the device.
    pub temps: Vec<Slot>,
    /// The host scalars; operands come before their uses.
    pub host: Vec<(Ty, HostOp)>,
    /// The shape rules, in order.
    pub rules: Vec<HostRule>,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

impl Plan {
    /// Whether a result may be stored in a parameter's memory: the launch that writes the result
    /// reads the parameter only at the index that it writes, and no later launch reads the
    /// parameter.
    pub fn may_be_in_place(&self, result: usize, param: usize) -> bool {
        let (result, param) = (Place::Result(result as u32), Place::Param(param as u32));
        // an iteration writes its result before it has read all of its inputs
        let is_check = |r: &Repeat| r.check.is_some_and(|c| c.number == result);
        if self.repeats().any(|r| is_check(r) || r.states.iter().any(|s| s.to == result)) {
            return false;
        }
        self.alternatives().iter().all(|steps| {
            let mut written = false;
            steps.iter().all(|step| {
                let l = match step {
                    // the iteration begins with the parameter's original value
                    Step::Repeat(r) => return !written || r.states.iter().all(|s| s.from != param),
                    Step::Launch(l) => l,
                    Step::Alloc(_) | Step::Free(_) | Step::Instead(_) => return true,
                };
                let reads = |harmless: bool| {
                    l.arrays.iter().all(|(p, a)| *p != param || (harmless && *a == Access::Pointwise))
                };
                let after = written;
                written |= l.arrays.iter().any(|(p, a)| *p == result && *a == Access::Write);
                if after { reads(false) } else { !written || reads(true) }
            })
        })
    }

    /// Returns the steps that a call may run, in three forms. An alternative launch may have another one among the
    /// steps that it replaces: form 0 runs all outer alternatives, form 1 only those inside of these, form 2 none.
    fn alternatives(&self) -> [Vec<&Step>; 3] {
        [0, 1, 2].map(|depth| {
            let (mut out, mut at, mut ends) = (Vec::new(), 0, Vec::new());
            while let Some(step) = self.steps.get(at) {
                ends.retain(|end| *end > at);
                at += 1;
                match step {
                    Step::Instead(_) if ends.len() == depth => {
                        out.extend(self.steps.get(at));
                        at += step.inside();
                    }
                    Step::Instead(_) => {
                        ends.push(at + step.inside());
                        at += 1;
                    }
                    step => out.push(step),
                }
            }
            out
        })
    }

    /// Returns all launches; those of a repeated body once.
    pub fn launches(&self) -> impl Iterator<Item = &Launch> {
        self.steps.iter().filter_map(|s| if let Step::Launch(l) = s { Some(l) } else { None })
    }

    /// Returns all iterations.
    pub fn repeats(&self) -> impl Iterator<Item = &Repeat> {
        self.steps.iter().filter_map(|s| if let Step::Repeat(r) = s { Some(r) } else { None })
    }

    /// Returns the length of a parameter along an axis as messages and documents write it:
    /// `len(x)`, `rows(a)`, `cols(a)`, `extent(t, 1)`.
    pub fn length(&self, param: u32, axis: u8) -> String {
        let Some(p) = self.params.get(param as usize) else { return "?".into() };
        match (p.ty.rank, axis) {
            (0 | 1, _) => format!("len({})", p.name),
            (2, 0) => format!("rows({})", p.name),
            (2, _) => format!("cols({})", p.name),
            _ => format!("extent({}, {axis})", p.name),
        }
    }
}
