//! The state while one function is scheduled.

use super::groups::FusedGroup;
use super::kernels::KernelVariants;
use crate::core::equations::Equations;
use crate::core::{Function, Graph, NodeId};
use crate::plan::{Place, Plan};
use crate::scalar::Ty;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::sync::Arc;

/// Why groups do not form a chain, for reports.
pub type Refusal = String;

/// For which targets code is generated. The steps of the plan that every device runs do not depend on it. The "in"
/// scalars of kernels do, because the variants that are generated need them, and so do launches that run instead of
/// others ([`super::alternatives`]): there are none for targets whose code is not wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// Code for CPUs.
    Cpu,
    /// Code for GPUs.
    Gpu,
    /// Code for GPUs, restricted to variants for contiguous arrays of any length.
    ContiguousGpu,
    /// As `ContiguousGpu`, but a kernel that has a variant for few elements gets that variant alone.
    ShortGpu,
    /// Code for CPUs and GPUs.
    All,
}

impl Scope {
    /// Whether code for GPUs is generated.
    pub fn has_gpu(self) -> bool {
        self != Scope::Cpu
    }

    /// Whether kernels have variants for arrays with any strides.
    pub fn is_general(self) -> bool {
        !matches!(self, Scope::ContiguousGpu | Scope::ShortGpu)
    }

    /// Whether code for CPUs is generated.
    pub fn has_cpu(self) -> bool {
        matches!(self, Scope::Cpu | Scope::All)
    }
}

/// The state while one function is scheduled.
pub struct Scheduler<'a> {
    pub(super) f: &'a Function,
    /// The fused groups of the function in its form by stages of chains of stencils, if it has that form as well.
    pub(super) by_stages: Vec<FusedGroup>,
    /// The function's graph, to which each launch adds nodes of its own.
    pub(super) graph: Arc<Graph>,
    /// The constant 1, the number of rows of a launch that keeps a vector.
    pub(super) one: NodeId,
    /// The prefix of the names of the function's kernels.
    pub(super) name: String,
    /// Number of iterations scheduled so far.
    pub(super) steps: u32,
    pub(super) plan: Plan,
    /// The temporary arrays that the plan has allocated so far.
    pub(super) allocated: HashSet<u32>,
    pub(super) host: crate::schedule::host::Hosts,
    /// The place of each array that kernels read (parameters and stored temporaries), and the scalar
    /// temporary of each reduction that another fused group needs.
    pub(super) places: HashMap<NodeId, Place>,
    /// Which lengths are equal, according to the shape rules.
    pub(super) equations: Equations,
    /// The last group that needs what a launch computes.
    pub(super) last_readers: HashMap<NodeId, usize>,
    /// For each group, the first group from it on that a launch must compute by itself.
    pub(super) plain_until: Vec<usize>,
    /// The targets for which code is generated.
    pub(super) scope: Scope,
    /// Whether the function is the step of an iteration and consists of one fused group.
    pub(super) repeated: bool,
    /// Whether its launches belong to an iteration that a check ends.
    pub(super) guarded: bool,
    /// The variants of each launch's kernel so far.
    pub(super) kernels: Vec<KernelVariants>,
    /// The arrays that the previous launch accesses, if it walks them in ascending order; else
    /// empty.
    pub(super) previous_arrays: Vec<Place>,
    pub(super) warnings: Vec<String>,
    /// Why the groups that were tried last do not form a chain of stencils.
    pub(super) refusal: Option<Refusal>,
    /// The launches that do not form a chain with the one before, and why.
    pub(super) refused_chains: Vec<(String, Refusal)>,
    /// The size of the function's code so far.
    pub(super) size: CodeSize,
}

/// The number of operations in the code that was generated for a function so far.
#[derive(Default)]
pub struct CodeSize {
    /// The code of the present variant.
    pub written: usize,
    /// The variants of GPU kernels.
    pub variants: usize,
    /// The GPU variants of matrix products. They are not part of `variants`, because a product's
    /// register tiles are unrolled on purpose. Products whose code is alike count once, because later
    /// kernels of equal code are not written again.
    pub products: usize,
    /// The variants that have been counted: the end of their names, a hash of their code, and the types of their
    /// launch's arrays.
    pub known_products: HashSet<(String, u64, Vec<Ty>)>,
}
