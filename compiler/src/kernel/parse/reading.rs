//! The state of the parser: the kernel so far, and the names in it.

use crate::kernel::{Kernel, Reg};
use rustc_hash::FxHashMap as HashMap;
use std::ops::{Deref, DerefMut};

/// A kernel of which a part has been read.
#[derive(Default)]
pub struct Reading {
    pub kernel: Kernel,
    /// The registers that are defined so far, by their names.
    pub registers: HashMap<String, Reg>,
}

impl Deref for Reading {
    type Target = Kernel;

    fn deref(&self) -> &Kernel {
        &self.kernel
    }
}

impl DerefMut for Reading {
    fn deref_mut(&mut self) -> &mut Kernel {
        &mut self.kernel
    }
}
