//! Plans: what the runtime executes for one function.
//!
//! A plan is host scalars (over lengths, constants and scalar arguments), shape rules over them, the extents of results and
//! temporaries, and a list of steps. It holds every decision; the runtime only follows it. Text form: `docs/ir.md`.

pub mod gpu;
pub mod host;
pub mod parse;
pub mod print;

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
    /// Length of a vector parameter.
    Len(u32),
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
    /// Its type; a vector has an extent unless it is a parameter (whose length is the caller's).
    pub ty: Type,
    /// Number of elements of a vector result or temporary.
    pub extent: Option<HostId>,
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

/// How a kernel uses an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Read at the index of the element being computed, and nowhere else: an output may be the same array.
    Pointwise,
    /// Read at other indices, too.
    Anywhere,
    /// Written at the index of the element, never read.
    Write,
}

/// One pass over one index space.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Launch {
    /// Index into the module's kernels.
    pub kernel: u32,
    /// The kernel's name, for reports.
    pub name: String,
    /// Number of elements of the index space; None: only `finish` runs.
    pub domain: Option<HostId>,
    /// The elements must be visited in order, on one thread (fold).
    pub sequential: bool,
    /// Estimated cost of one element in arithmetic operations and accesses: how finely to split the work.
    pub cost: u32,
    /// Arrays, in the kernel's order.
    pub arrays: Vec<(Place, Access)>,
    /// "in" scalars, in the kernel's order.
    pub scalars: Vec<HostId>,
    /// Slots (scalar results and scalar temporaries), in the kernel's order.
    pub slots: Vec<Place>,
    /// Element types of the scratch arrays (one value a tile each).
    pub scratch: Vec<Ty>,
    /// What to say of a record at each site: `x.at(i) is out of range (stats.rs:12:5)`.
    pub sites: Vec<String>,
    /// Whether the kernel has a `finish` part.
    pub finish: bool,
}

/// A step of the plan, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// Allocates a temporary (index into [`Plan::temps`]).
    Alloc(u32),
    /// Runs a kernel.
    Launch(Launch),
    /// Frees a temporary.
    Free(u32),
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
