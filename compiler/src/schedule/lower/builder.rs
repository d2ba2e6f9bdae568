//! A kernel that is being built: its statements so far, and what its code supposes of the arrays.

use crate::core::NodeId;
use crate::kernel::{Expr, Kernel, Mem, Reg, Stmt};
use crate::scalar::Ty;
use indexmap::IndexSet;
use rustc_hash::FxHashMap as HashMap;

/// What a kernel runs on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// A processor.
    Cpu,
    /// A GPU.
    Gpu,
}

/// One variant of a kernel.
#[derive(Clone)]
pub struct KernelBuilder {
    /// What there is of it.
    pub kernel: Kernel,
    /// What it runs on.
    pub target: Target,
    /// It takes arrays of any strides, else contiguous ones.
    pub strided: bool,
    /// The code that is being written runs once: nothing is moved out of a loop.
    pub once: bool,
    /// Statements before the loop.
    pub prologue: Vec<Stmt>,
    /// What has been computed there.
    pub(super) invariant: HashMap<NodeId, Expr>,
    /// Arrays of more than one dimension whose elements the code counts through, so that they must
    /// be dense.
    pub dense: IndexSet<u32>,
    /// Arrays that the code accesses by several neighbours at once.
    pub(super) vectors: IndexSet<u32>,
}

impl KernelBuilder {
    pub(super) fn new(name: &str, target: Target, strided: bool) -> KernelBuilder {
        KernelBuilder {
            kernel: Kernel { name: name.into(), ..Kernel::default() },
            target,
            strided,
            once: false,
            prologue: Vec::new(),
            invariant: HashMap::default(),
            dense: IndexSet::new(),
            vectors: IndexSet::new(),
        }
    }

    /// Turns it into a kernel for arrays of any strides.
    pub fn for_any_strides(self, name: &str) -> KernelBuilder {
        let kernel = Kernel { name: name.into(), ..self.kernel };
        KernelBuilder { kernel, strided: true, ..self }
    }

    /// What follows runs once, after the loop, and reads arrays of any strides.
    pub fn begin_finish(&mut self) {
        (self.strided, self.once) = (true, true);
        (self.prologue, self.invariant) = (Vec::new(), HashMap::default());
    }

    /// The body behind what is computed before it.
    pub fn with_prologue(&mut self, mut body: Vec<Stmt>) -> Vec<Stmt> {
        let mut all = std::mem::take(&mut self.prologue);
        all.append(&mut body);
        all
    }

    /// Notes that an array is accessed by several neighbours at once.
    pub fn vector(&mut self, m: Mem) {
        if let Mem::Array(i) = m {
            self.vectors.insert(i);
        }
    }

    /// A new register.
    pub fn reg(&mut self, name: &'static str, ty: Ty) -> Reg {
        self.kernel.reg(name, ty)
    }

    /// A new local array.
    pub fn local(&mut self, name: &'static str, ty: Ty, len: u32, out: &mut Vec<Stmt>) -> Mem {
        self.kernel.local(name, ty, len, out)
    }

    /// A new array of shared memory.
    pub fn share(&mut self, name: &'static str, ty: Ty, len: u32) -> Mem {
        self.kernel.share(name, ty, len)
    }

    /// Whether it is code for a GPU.
    pub fn is_gpu(&self) -> bool {
        self.target == Target::Gpu
    }
}
