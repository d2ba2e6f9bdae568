//! The state of the code that is being generated: which elements are in registers, whether this is
//! a fast path or a slow path, and how deep the code is nested. Methods of [`super::Lower`]
//! (`with_loaded`, `in_block`, `on_path`, ..) change a part of the state while a closure generates
//! code, and restore it afterwards.

use crate::core::NodeId;
use crate::kernel::{Expr, Reg};
use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap as HashMap};

/// Elements that are in registers, by array and by index in linear normal form.
pub type Loaded = HashMap<(NodeId, Vec<NodeId>), Expr>;

/// Short rows of a constant length, whose loops are unrolled completely. A guard of the variant checks the length.
#[derive(Clone, Copy)]
pub struct ShortRow {
    /// The length, as a node.
    pub length: NodeId,
    /// The number of elements.
    pub elements: i64,
}

/// The state of the code that is being generated.
#[derive(Default)]
pub struct ElementScope {
    /// Elements that are in registers. `None` if every read shall be a load of its own.
    pub loaded: Option<Loaded>,
    /// Rows of this length are read by vector accesses, where indices are constants.
    pub short_row: Option<ShortRow>,
    /// How unlikely arms are treated.
    pub path: UnlikelyArms,
    /// On a GPU: whether f32 divisions and roots are computed so that they are right for any operands and have no
    /// branch.
    pub full_range: bool,
    /// Whether host scalars that the kernel does not get yet are computed in the kernel, so that
    /// code for one target gives the launch no further parameters.
    pub computes_hosts: bool,
    /// Whether error records become one flag, so that many of them take little code.
    pub records_are_flags: bool,
    /// Number of nested operations around the code.
    pub depth: u32,
}

/// How the code that is being generated treats unlikely arms.
pub enum UnlikelyArms {
    /// The slow path: unlikely arms are computed. The flag says whether an expensive one became a
    /// branch.
    Compute(bool),
    /// The fast path: unlikely arms are left out. The set collects the conditions that are assumed
    /// not to hold.
    Skip(IndexSet<NodeId, FxBuildHasher>),
    /// The fast path, which also sets the register to true if one of the conditions holds. Each
    /// condition is tested where its operands are in registers anyway.
    Flag(Reg, IndexSet<NodeId, FxBuildHasher>),
}

impl Default for UnlikelyArms {
    fn default() -> UnlikelyArms {
        UnlikelyArms::Compute(false)
    }
}

impl UnlikelyArms {
    /// Returns the fast path with no assumptions yet.
    pub fn skip() -> UnlikelyArms {
        UnlikelyArms::Skip(IndexSet::default())
    }

    /// Returns the conditions that were assumed not to hold.
    pub fn assumed(self) -> Vec<NodeId> {
        match self {
            UnlikelyArms::Skip(conditions) | UnlikelyArms::Flag(_, conditions) => {
                conditions.into_iter().collect()
            }
            UnlikelyArms::Compute(_) => vec![],
        }
    }
}
