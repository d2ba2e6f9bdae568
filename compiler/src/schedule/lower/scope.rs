//! The state of the code that is being generated: which elements are in registers, whether this is
//! a fast path or a slow path, and how deep the code is nested. The functions of [`Lower`] here
//! change a part of the state while a closure generates code, and restore it afterwards.

use super::Lower;
use crate::core::NodeId;
use crate::kernel::Expr;
use crate::schedule::slow_path::SlowPath;
use rustc_hash::FxHashMap as HashMap;

/// Elements that are in registers, by array and by index in linear normal form.
pub type Loaded = HashMap<(NodeId, Vec<NodeId>), Expr>;

impl Lower<'_, '_, '_> {
    /// Generates code in which exactly the elements `loaded` are in registers, and restores the set
    /// from before afterwards.
    pub fn with_loaded<R>(&mut self, loaded: Loaded, code: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.scope.loaded.replace(loaded);
        let made = code(self);
        self.scope.loaded = before;
        made
    }

    /// Generates code for a block of its own: elements that it loads are in registers in that block
    /// only.
    pub fn in_block<R>(&mut self, code: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.scope.loaded.clone();
        let made = code(self);
        self.scope.loaded = before;
        made
    }

    /// Generates code of a fast path or a slow path, and returns the conditions that the path has
    /// collected as well.
    pub fn on_path<R>(&mut self, path: SlowPath, code: impl FnOnce(&mut Self) -> R) -> (R, SlowPath) {
        let before = std::mem::replace(&mut self.scope.path, path);
        let made = code(self);
        (made, std::mem::replace(&mut self.scope.path, before))
    }

    /// Generates the loop of a nested operation. All of it is computed, even if the surrounding
    /// code is a fast path and leaves unlikely arms out.
    pub fn in_loop<R>(&mut self, code: impl FnOnce(&mut Self) -> R) -> R {
        self.scope.depth += 1;
        let (made, _) = self.on_path(SlowPath::default(), code);
        self.scope.depth -= 1;
        made
    }

    /// Generates code. If `wanted`, its f32 divisions and roots take any operands without a branch.
    pub fn of_any_number<R>(&mut self, wanted: bool, code: impl FnOnce(&mut Self) -> R) -> R {
        let before = std::mem::replace(&mut self.scope.any_number, wanted);
        let made = code(self);
        self.scope.any_number = before;
        made
    }
}

/// The state of the code that is being generated.
#[derive(Default)]
pub struct ElementScope {
    /// Elements that are in registers. `None` if every read shall be a load of its own.
    pub loaded: Option<Loaded>,
    /// How unlikely arms are treated.
    pub path: SlowPath,
    /// On a GPU: whether divisions and roots of f32 are computed for any operands without a branch.
    pub any_number: bool,
    /// Number of nested operations around the code.
    pub depth: u32,
}
