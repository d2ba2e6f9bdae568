//! The data of the report of `--explain`: filled once from the compiled program, then printed as
//! text (`text.rs`) or JSON. `docs/explain.md` describes every field.

use super::names::Named;
pub use super::place::Place;
use crate::schedule::facts::stencil::Kept;
use crate::schedule::facts::transposed::TiledArray;
use serde::Serialize;
use std::collections::BTreeMap;

/// The version of the report. It is raised when a field is removed or changes its meaning, but not
/// when a field is added.
pub const VERSION: u32 = 3;

/// A package.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The version of the report, [`VERSION`].
    pub version: u32,
    /// The package's name.
    pub package: String,
    /// The bandwidth for which times are predicted.
    pub bandwidth_gb_s: Option<f64>,
    /// The functions, in the author's order.
    pub functions: Vec<Function>,
}

/// A function.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Function {
    pub name: String,
    pub place: Option<Place>,
    /// Whether GPUs may approximate.
    pub fast_math: bool,
    /// Whether GPUs may compute products with tensor cores.
    pub tensor_cores: bool,
    /// The bytes that the launches of a call move. An alternative counts only if it is known to run.
    pub bytes: Amount,
    /// The bytes that any program must move: what is read of parameters, and results, once.
    pub least_bytes: Amount,
    pub launches: Amount,
    /// The predicted time, if a bandwidth is given.
    pub predicted: Option<Predicted>,
    /// The least bytes at the given bandwidth over the predicted time.
    pub share_of_copy: Option<f64>,
    /// The operations of a call, if the given extents determine them.
    pub operations: Option<Operations>,
    /// What storing an array would save.
    pub hints: Vec<Hint>,
    /// The iterations whose steps a launch makes for each element by itself, because no element needs another one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub element_iterations: Vec<Place>,
    pub temporaries: Vec<Temporary>,
    /// The kernels, in the order of their launches.
    pub kernels: Vec<Kernel>,
    /// The alternatives: launches that run instead of several others if they serve the call.
    pub alternatives: Vec<Alternative>,
    /// The arrays of records among the parameters and results.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub records: Vec<RecordLayout>,
    /// The conditions that the host checks first.
    pub checks: Vec<Check>,
    pub warnings: Vec<String>,
    /// The parts of formulas that have names of their own.
    pub names: Vec<Named>,
}

/// An array of records, and what an element of it costs in either layout.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct RecordLayout {
    pub name: String,
    pub is_result: bool,
    /// Whether it is an array of structs, not an array a field.
    pub is_struct: bool,
    pub fields: usize,
    /// The number of fields that the function reads or writes.
    pub used: usize,
    /// The bytes of these.
    pub used_bytes: u64,
    /// The bytes of a struct.
    pub struct_bytes: u64,
}

/// A number that is computed from the extents.
#[derive(Clone, Debug, Serialize)]
pub struct Amount {
    /// The formula in lengths and scalar parameters, such as `4 * rows(m) * cols(m)`.
    pub formula: String,
    /// The value, if the given extents determine it.
    pub value: Option<u64>,
}

/// The operations of a call.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Operations {
    /// Those of all launches.
    pub made: u64,
    /// Those of the program with every shared value computed once.
    pub asked: u64,
}

/// An array that is computed at several places, and would be cheaper to store.
#[derive(Clone, Debug, Serialize)]
pub struct Hint {
    /// Where `.materialize()` would help.
    pub place: Option<Place>,
    /// The operations of a call with it.
    pub operations: u64,
    /// The bytes that all launches would move with it.
    pub bytes: u64,
    /// The part of the time of bytes and operations that it saves.
    pub saves: f64,
}

/// The predicted time of memory traffic and launches.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Predicted {
    pub formula: String,
    /// The time in microseconds, if the given extents determine it.
    pub us: Option<f64>,
}

/// An array or a scalar that lives on the device between launches.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Temporary {
    pub name: String,
    /// The type of the elements.
    pub element: &'static str,
    /// The extents, outermost first; empty for a scalar.
    pub extents: Vec<Amount>,
    pub bytes: Amount,
}

/// A launch that runs instead of several others, with figures as of a [`Kernel`].
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Alternative {
    pub name: String,
    /// The kernels of the launches that it replaces.
    pub instead_of: Vec<String>,
    /// Whether it runs on a GPU in a call of the given sizes, or None if they do not determine it.
    pub runs: Option<bool>,
    pub launches: Amount,
    /// The arrays that it moves on a GPU.
    pub arrays: Vec<Array>,
    pub bytes: Amount,
    pub predicted: Option<Predicted>,
    pub cpu: Option<Cpu>,
    pub gpu: Option<Gpu>,
}

/// A kernel and its launch.
#[derive(Clone, Debug, Serialize)]
pub struct Kernel {
    /// The kernel's name.
    pub name: String,
    /// The number of launches: one, or as many as the steps of an iteration need.
    pub launches: Amount,
    /// The extents of the index space, outermost first; empty if only scalars are computed.
    pub index_space: Vec<Amount>,
    /// The reason why it is not part of an earlier kernel.
    pub apart: Option<String>,
    /// The results that it computes.
    pub computes: Vec<Computed>,
    /// The operations that are taken out of its loops.
    pub hoisted: Vec<Hoisted>,
    /// The reductions of its elements that go through a range of their indices.
    pub bounded: Vec<Bounded>,
    /// The arrays that it accesses.
    pub arrays: Vec<Array>,
    /// The bytes of all arrays that one launch moves.
    pub bytes: Amount,
    /// The bytes that one element of the index space moves, if all move the same number.
    pub bytes_per_element: Option<u64>,
    /// The scalar operations of one element, unless the length of a loop depends on the element.
    pub operations_per_element: Option<Amount>,
    /// The bytes that each tile leaves in scratch for the join.
    pub scratch_bytes_per_tile: u64,
    /// The predicted time, if a bandwidth is given.
    pub predicted: Option<Predicted>,
    /// The alternative that runs instead on a GPU in a call of the given sizes.
    pub replaced_by: Option<String>,
    /// The kernel on CPUs, if they are a target.
    pub cpu: Option<Cpu>,
    /// The kernel on GPUs, if they are a target.
    pub gpu: Option<Gpu>,
}

/// One result of a kernel.
#[derive(Clone, Debug, Serialize)]
pub struct Computed {
    /// One of `stores`, `reduces`, `reduces by multiply-add`, `folds`, `copies`, `then computes`.
    pub what: &'static str,
    /// The name of a result, `a temporary` or `the values of a function of a byte`; none if the value stays inside the
    /// function.
    pub value: Option<String>,
    /// The author's lines of the operations that the kernel executes for it.
    pub lines: Vec<Line>,
}

/// A place in the author's program whose operations were fused into a kernel.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Line {
    pub place: Place,
    /// Number of operations of each kind; empty for a combinator, which is only a loop.
    pub operations: BTreeMap<&'static str, u64>,
}

/// An operation that is computed once, not for each element.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Hoisted {
    pub operation: &'static str,
    /// The formula of a host scalar, or the array of a read.
    pub of: Option<String>,
    pub place: Option<Place>,
    /// Where the operation is computed: `host`, `thread` (before its elements), `loop` (before a
    /// nested loop), or the name of the kernel that computes it.
    pub to: String,
}

/// A reduction that goes through a range of its indices, because a condition leaves no others.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Bounded {
    pub reduction: Option<Place>,
    pub condition: Option<Place>,
}

/// An array that a kernel accesses.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Array {
    pub name: String,
    /// The type of the elements.
    pub element: &'static str,
    /// One of `pointwise`, `anywhere`, `write`.
    pub access: &'static str,
    pub bytes: Amount,
}

/// The kernel on CPUs.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Cpu {
    /// Number of elements in a unit of work.
    pub unit: u32,
    /// The variants, of which the first one whose conditions hold runs.
    #[serde(rename = "versions")]
    pub variants: Vec<CpuVariant>,
}

/// A variant of a kernel for CPUs.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct CpuVariant {
    pub name: String,
    /// The strategy's name, from [`Strategy::name`](crate::schedule::strategy::Strategy::name).
    pub strategy: &'static str,
    #[serde(skip)]
    pub strategy_in_words: String,
    pub conditions: Vec<String>,
}

/// The kernel on GPUs.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Gpu {
    /// The reason why there are no variants, if there are none.
    pub absent: Option<String>,
    /// The variants, of which the first one whose conditions hold runs.
    #[serde(rename = "versions")]
    pub variants: Vec<GpuVariant>,
    pub stencils: Vec<Stencil>,
    pub transposed: Vec<Transposed>,
    /// For a kernel with resident rows: how long rows may be, and why.
    pub limit: Option<String>,
    /// For a chain of stencils: what a block holds in shared memory.
    pub shared: Option<String>,
    /// The launch policy's decision, if the given extents determine it.
    pub launched: Option<Launched>,
}

/// The decision of the launch policy for dense arrays.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Launched {
    /// Number of multiprocessors of the device.
    pub multiprocessors: u32,
    /// The kernels, in order; empty if there are no elements.
    pub kernels: Vec<Started>,
    /// Size of all scratch arrays, in bytes.
    pub scratch_bytes: u64,
    pub counters: u64,
}

/// A kernel on its grid.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Started {
    pub entry: String,
    pub blocks: u64,
    /// Number of threads in a block.
    pub threads: u32,
    /// Number of units of work, such as tiles, that a team of threads computes one after another.
    pub span: Option<u32>,
}

/// A variant of a kernel for GPUs.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct GpuVariant {
    pub entry: String,
    /// The strategy's name, from [`Strategy::name`](crate::schedule::strategy::Strategy::name).
    pub strategy: &'static str,
    #[serde(skip)]
    pub strategy_in_words: String,
    /// Number of threads in a block.
    pub threads: u32,
    /// The part of the index space that a block computes.
    pub block: String,
    pub conditions: Vec<String>,
}

/// The decisions about a stencil.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Stencil {
    pub array: String,
    /// Number of elements that one element reads.
    pub taps: usize,
    /// The least and the greatest distance of a tap along each axis.
    pub reach: Vec<(i64, i64)>,
    /// Whether the distances are known only at the call.
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

/// The decision about an array that is read transposed.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Transposed {
    pub array: String,
    /// The number of rows and columns of its tile in shared memory.
    pub tile: [i64; 2],
    pub loaded_bytes_per_element: f64,
    pub why: String,
    #[serde(skip)]
    pub in_words: String,
}

impl From<&TiledArray> for Transposed {
    fn from(t: &TiledArray) -> Transposed {
        Transposed {
            array: t.array.clone(),
            tile: t.tile,
            loaded_bytes_per_element: t.loaded,
            why: t.why().into(),
            in_words: t.to_string(),
        }
    }
}

/// A condition that the host checks before anything runs.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Check {
    /// The name of the rule in the text IRs.
    pub rule: &'static str,
    /// The condition, such as `len(x) == len(y)`.
    pub condition: String,
    /// The construct and the parameters that the rule is about.
    pub subject: String,
    pub place: Option<Place>,
}
