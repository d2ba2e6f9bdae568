//! What `--explain` says, as data: filled once from the compiled program, printed as text
//! (`text.rs`) or JSON. `docs/explain.md` describes every field.

use crate::loc::Loc;
use crate::schedule::stencil::Kept;
use serde::Serialize;
use std::collections::BTreeMap;

/// Raised when a field is taken away or gets another meaning; new fields may come without.
pub const VERSION: u32 = 1;

/// A package.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// [`VERSION`].
    pub version: u32,
    /// Its name.
    pub package: String,
    /// The bandwidth that times are predicted for.
    pub bandwidth_gb_s: Option<f64>,
    /// In the author's order.
    pub functions: Vec<Function>,
}

/// A function.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Function {
    pub name: String,
    pub place: Option<Place>,
    /// GPUs may approximate.
    pub fast_math: bool,
    /// Bytes that all launches move.
    pub bytes: Amount,
    pub launches: Amount,
    /// Without a bandwidth there is none.
    pub predicted: Option<Predicted>,
    pub temporaries: Vec<Temporary>,
    /// In the order of the launches.
    pub kernels: Vec<Kernel>,
    /// What the host checks first.
    pub checks: Vec<Check>,
    pub warnings: Vec<String>,
}

/// A number that follows from the extents.
#[derive(Clone, Debug, Serialize)]
pub struct Amount {
    /// In lengths and scalar parameters: `4 * rows(m) * cols(m)`.
    pub formula: String,
    /// With the given extents, where they say it.
    pub value: Option<u64>,
}

/// The time of memory traffic and launches.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Predicted {
    pub formula: String,
    /// Microseconds, with the given extents.
    pub us: Option<f64>,
}

/// A place in the author's program.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Place {
    pub file: String,
    pub line: u32,
    pub column: u32,
}

impl From<&Loc> for Place {
    fn from(l: &Loc) -> Place {
        Place { file: l.file.to_string(), line: l.line, column: l.column }
    }
}

/// An array or a scalar that lives on the device between launches.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Temporary {
    pub name: String,
    /// The type of its elements.
    pub element: &'static str,
    /// Outermost first; none for a scalar.
    pub extents: Vec<Amount>,
    pub bytes: Amount,
}

/// A kernel and its launch.
#[derive(Clone, Debug, Serialize)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// How often it is launched: once, or for the steps of an iteration.
    pub launches: Amount,
    /// The extents of its index space, outermost first; none where only scalars are computed.
    pub index_space: Vec<Amount>,
    /// Why it is not part of an earlier kernel.
    pub apart: Option<String>,
    /// What it computes.
    pub computes: Vec<Computed>,
    /// What is taken out of its loops.
    pub hoisted: Vec<Hoisted>,
    /// What it accesses.
    pub arrays: Vec<Array>,
    /// Bytes of all arrays that one launch moves.
    pub bytes: Amount,
    /// Where each element of the index space moves the same.
    pub bytes_per_element: Option<u64>,
    /// Scalar operations of one element; none where loops' lengths depend on the element.
    pub operations_per_element: Option<Amount>,
    /// What each tile leaves for the join.
    pub scratch_bytes_per_tile: u64,
    /// Without a bandwidth there is none.
    pub predicted: Option<Predicted>,
    /// Without that target there is none.
    pub cpu: Option<Cpu>,
    /// Without that target there is none.
    pub gpu: Option<Gpu>,
}

/// One result of a kernel.
#[derive(Clone, Debug, Serialize)]
pub struct Computed {
    /// `stores`, `reduces`, `reduces by multiply-add`, `folds`, `copies`, `then computes`.
    pub what: &'static str,
    /// A result, `a temporary`; none for what stays inside of the function.
    pub value: Option<String>,
    /// Where the author wrote what the kernel does for it.
    pub lines: Vec<Line>,
}

/// A place whose operations were fused into a kernel.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Line {
    pub place: Place,
    /// How many of each kind; none of a combinator, which is nothing but the loop.
    pub operations: BTreeMap<&'static str, u64>,
}

/// An operation that is computed once, not for each element.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Hoisted {
    pub operation: &'static str,
    /// For what the host computes, the formula; for a read, the array.
    pub of: Option<String>,
    pub place: Option<Place>,
    /// Where it is computed: `host`, `thread` (before its elements), `loop` (before a nested loop),
    /// or the kernel that does.
    pub to: String,
}

/// An array that a kernel accesses.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Array {
    pub name: String,
    /// The type of its elements.
    pub element: &'static str,
    /// `pointwise`, `anywhere`, `write`.
    pub access: &'static str,
    pub bytes: Amount,
}

/// The kernel on CPUs.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Cpu {
    /// Elements of a unit of work.
    pub unit: u32,
    /// The first whose conditions hold runs.
    pub versions: Vec<CpuVersion>,
}

/// A version of a kernel for CPUs.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct CpuVersion {
    pub name: String,
    /// [`Strategy::name`](crate::schedule::strategy::Strategy::name).
    pub strategy: &'static str,
    #[serde(skip)]
    pub strategy_in_words: String,
    pub conditions: Vec<String>,
}

/// The kernel on GPUs.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Gpu {
    /// Why there is none.
    pub absent: Option<String>,
    /// The first whose conditions hold runs.
    pub versions: Vec<GpuVariant>,
    pub stencils: Vec<Stencil>,
    /// With the given extents, where they say it.
    pub launched: Option<Launched>,
}

/// What the launch policy decides for dense arrays.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Launched {
    /// Multiprocessors of the device.
    pub multiprocessors: u32,
    /// In order; none where there are no elements.
    pub kernels: Vec<Started>,
    /// Bytes of all scratch arrays.
    pub scratch_bytes: u64,
    pub counters: u64,
}

/// A kernel on its grid.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Started {
    pub entry: String,
    pub blocks: u64,
    /// Threads of a block.
    pub threads: u32,
    /// How many tiles, say, a team of threads takes.
    pub span: Option<u32>,
}

/// A version of a kernel for GPUs.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct GpuVariant {
    pub entry: String,
    /// [`Strategy::name`](crate::schedule::strategy::Strategy::name).
    pub strategy: &'static str,
    #[serde(skip)]
    pub strategy_in_words: String,
    /// Threads of a block.
    pub threads: u32,
    /// What a block computes.
    pub block: String,
    pub conditions: Vec<String>,
}

/// What was decided of a stencil.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Stencil {
    pub array: String,
    /// Elements that an element reads.
    pub taps: usize,
    /// The least and the greatest distance along each axis.
    pub reach: Vec<(i64, i64)>,
    /// The distances are known only at the call.
    pub shifted: bool,
    pub strategy: String,
    pub loaded_bytes_per_element: f64,
    pub why: String,
    #[serde(skip)]
    pub in_words: String,
}

impl From<&Kept> for Stencil {
    fn from(k: &Kept) -> Stencil {
        Stencil {
            array: k.array.clone(),
            taps: k.taps,
            reach: k.reach.clone(),
            shifted: k.is_shifted,
            strategy: k.strategy.to_string(),
            loaded_bytes_per_element: k.loaded,
            why: k.why.clone(),
            in_words: k.to_string(),
        }
    }
}

/// What the host checks before anything runs.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Check {
    /// The rule's name in the text IRs.
    pub rule: &'static str,
    /// `len(x) == len(y)`.
    pub condition: String,
    /// The construct and the parameters it concerns.
    pub subject: String,
    pub place: Option<Place>,
}
