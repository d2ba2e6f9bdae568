//! A kernel that is being built: its statements so far, and the properties of the arrays that its
//! code relies on.

use crate::core::{Graph, NodeId};
use crate::kernel::{Expr, Kernel, Mem, Reg, Stmt};
use crate::scalar::Ty;
use indexmap::IndexSet;
use rustc_hash::FxHashMap as HashMap;

/// The kind of device that a kernel runs on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// A CPU.
    Cpu,
    /// A GPU.
    Gpu,
}

/// One variant of a kernel that is being built.
#[derive(Clone)]
pub struct KernelBuilder {
    /// The kernel so far.
    pub kernel: Kernel,
    /// The kind of device.
    pub target: Target,
    /// Whether the variant takes arrays with any strides, and not only contiguous ones.
    pub strided: bool,
    /// Whether the code that is being generated runs only once, so that nothing need be moved out of loops.
    pub once: bool,
    /// Whether neighbouring elements go through their loops in lockstep (`kernel/lockstep`). Then a nested reduction
    /// whose order is free is one loop.
    pub in_lockstep: bool,
    /// Whether loops of elements go on by batches of steps (`element/nested_loop/batches.rs`).
    pub batches: bool,
    /// Statements before the loop over elements.
    pub prologue: Vec<Stmt>,
    /// The values that are computed in the prologue.
    pub(super) invariant: HashMap<NodeId, Expr>,
    /// Arrays of more than one dimension whose elements the code numbers across the ends of rows, so that they must
    /// have no gaps between their rows.
    pub dense: IndexSet<u32>,
    /// Arrays that the code accesses by vectors of neighbouring elements.
    pub vectors: IndexSet<u32>,
}

impl KernelBuilder {
    pub(super) fn new(name: &str, target: Target, strided: bool) -> KernelBuilder {
        KernelBuilder {
            kernel: Kernel { name: name.into(), ..Kernel::default() },
            target,
            strided,
            once: false,
            in_lockstep: false,
            batches: false,
            prologue: Vec::new(),
            invariant: HashMap::default(),
            dense: IndexSet::new(),
            vectors: IndexSet::new(),
        }
    }

    /// Returns the same kernel for arrays with any strides.
    pub fn for_any_strides(self, name: &str) -> KernelBuilder {
        let kernel = Kernel { name: name.into(), ..self.kernel };
        KernelBuilder { kernel, strided: true, ..self }
    }

    /// Begins the `finish` part, which runs once after the loop and reads arrays with any strides.
    pub fn begin_finish(&mut self) {
        (self.strided, self.once) = (true, true);
        (self.prologue, self.invariant) = (Vec::new(), HashMap::default());
    }

    /// Returns the prologue, which becomes empty, followed by `body`.
    pub fn with_prologue(&mut self, mut body: Vec<Stmt>) -> Vec<Stmt> {
        let mut all = std::mem::take(&mut self.prologue);
        all.append(&mut body);
        all
    }

    /// Records that an array is accessed by vectors of neighbouring elements.
    pub fn vector(&mut self, m: Mem) {
        if let Mem::Array(i) = m {
            self.vectors.insert(i);
        }
    }

    /// Declares a register.
    pub fn reg(&mut self, name: &'static str, ty: Ty) -> Reg {
        self.kernel.reg(name, ty)
    }

    /// Declares a local array.
    pub fn local(&mut self, name: &'static str, ty: Ty, len: u32, out: &mut Vec<Stmt>) -> Mem {
        self.kernel.local(name, ty, len, out)
    }

    /// Declares an array in shared memory.
    pub fn share(&mut self, name: &'static str, ty: Ty, len: u32) -> Mem {
        self.kernel.share(name, ty, len)
    }

    /// Whether the kernel is for a GPU.
    pub fn is_gpu(&self) -> bool {
        self.target == Target::Gpu
    }
}

/// Binds an expression to a register, unless it is a register or a constant already, and returns
/// its value.
pub fn bind_node(k: &mut Kernel, g: &Graph, n: NodeId, e: Expr, out: &mut Vec<Stmt>) -> Expr {
    if matches!(e, Expr::Reg(_) | Expr::Lit(_) | Expr::In(_)) {
        return e;
    }
    let reg = k.reg(if g.node(n).bound { "let" } else { "t" }, g.ty(n).elem);
    out.push(Stmt::Let(reg, e, g.node(n).loc.clone()));
    Expr::Reg(reg)
}
