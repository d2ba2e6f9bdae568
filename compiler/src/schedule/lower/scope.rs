//! The code that is being written: what of an element is in registers, and which path this is.

use super::Lower;
use crate::core::NodeId;
use crate::kernel::Expr;
use crate::schedule::slow_path::SlowPath;
use rustc_hash::FxHashMap as HashMap;

/// Elements that are in registers, by array and index in linear normal form.
pub type Loaded = HashMap<(NodeId, Vec<NodeId>), Expr>;

impl Lower<'_, '_, '_> {
    /// Writes code for which these elements are in registers. What was in registers before is so
    /// again behind it.
    pub fn with_loaded<R>(&mut self, loaded: Loaded, code: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.scope.loaded.replace(loaded);
        let made = code(self);
        self.scope.loaded = before;
        made
    }

    /// Writes code in a block of its own: what it loads is in registers in that block only.
    pub fn in_block<R>(&mut self, code: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.scope.loaded.clone();
        let made = code(self);
        self.scope.loaded = before;
        made
    }

    /// Writes code of a fast path or of a slow one, and gives back what the path has collected.
    pub fn on_path<R>(&mut self, path: SlowPath, code: impl FnOnce(&mut Self) -> R) -> (R, SlowPath) {
        let before = std::mem::replace(&mut self.scope.path, path);
        let made = code(self);
        (made, std::mem::replace(&mut self.scope.path, before))
    }

    /// Writes the loop of a nested operation: all of it, whatever the code around it leaves out.
    pub fn in_loop<R>(&mut self, code: impl FnOnce(&mut Self) -> R) -> R {
        self.scope.depth += 1;
        let (made, _) = self.on_path(SlowPath::default(), code);
        self.scope.depth -= 1;
        made
    }

    /// Writes code whose divisions and roots take any number without a branch, if that is `wanted`.
    pub fn of_any_number<R>(&mut self, wanted: bool, code: impl FnOnce(&mut Self) -> R) -> R {
        let before = std::mem::replace(&mut self.scope.any_number, wanted);
        let made = code(self);
        self.scope.any_number = before;
        made
    }
}

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
