//! Plans: what the runtime executes for one function.
//!
//! A plan is host scalars (over lengths, constants and scalar arguments), shape rules over them,
//! the extents of results and temporaries, and a list of steps. It holds every decision; the
//! runtime only follows it. Text form: `docs/ir.md`.

pub mod gpu;
pub mod host;
pub mod launch;
pub mod parse;
pub mod print;
mod profit;

use crate::core::{Rule, Type};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};

/// A host scalar of one plan: index into [`Plan::host`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct HostId(pub u32);

/// How a host scalar is computed. Operands come earlier in the list.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum HostOp {
    Const(Lit),
    /// Length of an array parameter along an axis.
    Len(u32, u8),
    /// Value of a scalar parameter.
    Arg(u32),
    Unary(UnaryOp, HostId),
    Binary(BinaryOp, HostId, HostId),
    MulAdd(HostId, HostId, HostId),
    Select(HostId, HostId, HostId),
    Cast(Ty, HostId),
}

/// A shape rule: checked before anything is allocated, launched or written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostRule {
    /// What must hold.
    pub rule: Rule,
    /// First operand (i64).
    pub a: HostId,
    /// Second operand (i64).
    pub b: HostId,
    /// The construct and the parameters it concerns: `zip_with: x, y`.
    pub subject: String,
    /// The author's `file:line:column`, may be empty.
    pub loc: String,
}

/// A named value of the plan: parameter, result or temporary.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Slot {
    /// Its name.
    pub name: String,
    /// Its type; an array has extents unless it is a parameter (whose extents are the caller's).
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
    /// What is at a place.
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
    /// Read at the index of the element being computed, and nowhere else: an output may be the same
    /// array.
    Pointwise,
    /// Read at other indices, too.
    Anywhere,
    /// Written at the index of the element, never read.
    Write,
}

/// An "in" scalar of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ScalarArg {
    /// A host scalar.
    Host(HostId),
    /// The distance of neighbours along an axis of an array (by position in `arrays`), in elements.
    Stride(u32, u8),
}

/// One pass over one index space.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Launch {
    /// Index into the module's kernels.
    pub kernel: u32,
    /// The kernel's name, for reports.
    pub name: String,
    /// The extents of the index space, outermost first; its elements are counted in row-major
    /// order. Empty: only `finish` runs.
    pub domain: Vec<HostId>,
    /// The length of the segments that the elements are made of, where variants are chosen by it,
    /// or work is divided.
    pub segment: Option<HostId>,
    /// The elements must be visited in order, on one thread (fold).
    pub sequential: bool,
    /// Estimated operations and accesses of one element: how finely to split the work
    /// ([`Launch::work`]).
    pub cost: u32,
    /// Elements of a CPU's unit of work: [`TILE`](crate::core::TILE), or fewer where an element is
    /// long work. Reductions always have tiles.
    pub grain: u32,
    /// Arrays, in the kernel's order.
    pub arrays: Vec<(Place, Access)>,
    /// Arrays of more than one dimension whose rows must follow each other without gaps in the
    /// kernel's contiguous versions (by position in `arrays`).
    pub flat: Vec<u32>,
    /// "in" scalars, in the kernel's order.
    pub scalars: Vec<ScalarArg>,
    /// Slots (scalar results and scalar temporaries), in the kernel's order.
    pub slots: Vec<Place>,
    /// Element types of the scratch arrays (one value a tile each).
    pub scratch: Vec<Ty>,
    /// What it computes: stored arrays, and the slots that it writes. Each with the author's
    /// `file:line:column`, which may be empty.
    pub computes: Vec<(Place, String)>,
    /// What to say of a record at each site: `x.at(i) is out of range (stats.rs:12:5)`.
    pub sites: Vec<String>,
    /// Whether the kernel has a `finish` part.
    pub finish: bool,
}

/// The length that a nested sequence is taken to have in [`Launch::cost`].
pub const GUESSED_LENGTH: u32 = 1024;

impl Launch {
    /// Operations of a CPU's unit of work. Where the length of segments is known, it takes the
    /// place of [`GUESSED_LENGTH`].
    pub fn work(&self, segment: Option<i64>) -> i64 {
        let length = segment.unwrap_or(GUESSED_LENGTH.into()).max(1);
        let of_element = i64::from(self.cost).saturating_mul(length) / i64::from(GUESSED_LENGTH);
        i64::from(self.grain).saturating_mul(of_element.max(1))
    }

    /// Bytes of its error records on a GPU: a word a site.
    pub fn record_bytes(&self) -> u64 {
        self.sites.len() as u64 * 8
    }
}

/// A step of the plan, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(clippy::large_enum_variant, reason = "most steps are launches")]
pub enum Step {
    /// Allocates a temporary (index into [`Plan::temps`]).
    Alloc(u32),
    /// Runs a kernel.
    Launch(Launch),
    /// Runs the steps that follow again and again.
    Repeat(Repeat),
    /// Frees a temporary.
    Free(u32),
}

/// An iteration: its body are the next steps of the plan, which make `next` from `current` of each
/// state.
///
/// The first time `current` is `from`; the last time `next` is `to`. In between they are `to` and a
/// spare array in turn, so that nothing is copied. Where the count is 0, other steps run, once,
/// which make `to` from `from`, too: they copy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Repeat {
    /// How often (i64, not negative by a rule).
    pub count: HostId,
    /// How many of the next steps are the body.
    pub body: u32,
    /// How many steps behind the body run where the count is 0.
    pub otherwise: u32,
    /// What changes.
    pub states: Vec<State>,
}

impl Repeat {
    /// How many of the next steps belong to it.
    pub fn inside(&self) -> usize {
        self.body as usize + self.otherwise as usize
    }
}

/// An array that an iteration changes. All five have one shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct State {
    /// Where it is before.
    pub from: Place,
    /// Where it is wanted.
    pub to: Place,
    /// A temporary of that shape.
    pub spare: u32,
    /// What the body calls it before and after a step: temporaries without memory of their own.
    pub current: u32,
    /// After the step.
    pub next: u32,
}

/// The plan of one function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Plan {
    /// The function's name.
    pub name: String,
    /// Parameters, in order.
    pub params: Vec<Slot>,
    /// Results, in order.
    pub results: Vec<Slot>,
    /// Temporaries: vectors, and scalars that stay on the device.
    pub temps: Vec<Slot>,
    /// Host scalars, operands first.
    pub host: Vec<(Ty, HostOp)>,
    /// Shape rules, in order.
    pub rules: Vec<HostRule>,
    /// Steps, in order.
    pub steps: Vec<Step>,
}

impl Plan {
    /// Whether a result may be a parameter without harm: the launch that writes it reads that one
    /// only at the index it writes, and no later launch reads it.
    pub fn may_be_in_place(&self, result: usize, param: usize) -> bool {
        let (result, param) = (Place::Result(result as u32), Place::Param(param as u32));
        // an iteration writes its result before it has read everything
        if self.repeats().any(|r| r.states.iter().any(|s| s.to == result)) {
            return false;
        }
        let mut written = false;
        self.steps.iter().all(|step| {
            let l = match step {
                // it begins with the parameter as it was
                Step::Repeat(r) => return !written || r.states.iter().all(|s| s.from != param),
                Step::Launch(l) => l,
                Step::Alloc(_) | Step::Free(_) => return true,
            };
            let reads = |harmless: bool| {
                l.arrays.iter().all(|(p, a)| *p != param || (harmless && *a == Access::Pointwise))
            };
            let after = written;
            written |= l.arrays.iter().any(|(p, a)| *p == result && *a == Access::Write);
            if after { reads(false) } else { !written || reads(true) }
        })
    }

    /// All launches, those of a repeated body once.
    pub fn launches(&self) -> impl Iterator<Item = &Launch> {
        self.steps.iter().filter_map(|s| if let Step::Launch(l) = s { Some(l) } else { None })
    }

    /// All iterations.
    pub fn repeats(&self) -> impl Iterator<Item = &Repeat> {
        self.steps.iter().filter_map(|s| if let Step::Repeat(r) = s { Some(r) } else { None })
    }

    /// What messages and documents call the length of a parameter along an axis: `len(x)`,
    /// `rows(a)`, `cols(a)`, `extent(t, 1)`.
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
