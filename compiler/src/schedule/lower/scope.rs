//! The code that is being written: what of an element is in registers, and which path this is.

use crate::core::NodeId;
use crate::kernel::Expr;
use crate::schedule::slow_path::SlowPath;
use rustc_hash::FxHashMap as HashMap;

/// Elements that are in registers, by array and index in linear normal form.
pub type Loaded = HashMap<(NodeId, Vec<NodeId>), Expr>;

/// What holds where code is being written.
#[derive(Default)]
pub struct ElementScope {
    /// Elements that are in registers already. None: every read is a load of its own.
    pub loaded: Option<Loaded>,
    /// What to do with unlikely arms.
    pub path: SlowPath,
    /// On a GPU: divisions and roots of f32 are computed without a branch, of any numbers.
    pub any_number: bool,
    /// Nested operations around it.
    pub depth: u32,
}
