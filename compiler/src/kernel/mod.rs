//! Kernel IR: explicit loops, loads, locals and roundings. Backends print it and decide nothing.
//!
//! One kernel is one pass over one index space of `n` elements in tiles of 2048. On the CPU `main` computes a range of tiles and may run on
//! many threads at once; `finish` runs once, after all of it. On a GPU `main` is what each thread of a grid of blocks runs, with shared
//! memory, barriers and shuffles, and nothing else. Text form: `docs/ir.md`; well-formedness: [`verify`].

pub mod avoid_negated_min;
pub mod clone_body;
pub mod cse;
pub mod dce;
pub mod divide;
pub mod if_conversion;
pub mod index;
pub mod interp;
pub mod name;
pub mod narrow;
pub mod parse;
pub mod parts;
pub mod pipeline;
pub mod print;
pub mod verify;

use crate::loc::LocStack;
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};
pub use name::Name;

/// A register: index into [`Kernel::regs`]. Assigned once by `let` or a loop, or several times if declared by `var`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Reg(pub u32);

/// Memory that a kernel indexes, by position in its list.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Mem {
    /// [`Kernel::arrays`]
    Array(u32),
    /// [`Kernel::locals`]
    Local(u32),
    /// [`Kernel::scratch`]
    Scratch(u32),
    /// [`Kernel::shared`]
    Shared(u32),
}

/// An expression. It has no effects.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs)]
pub enum Expr {
    Lit(Lit),
    Reg(Reg),
    /// An "in" scalar.
    In(u32),
    /// The value of a slot.
    Slot(u32),
    Load(Mem, Box<Expr>),
    /// The element, or 0 when the condition (second) is false: then nothing is read.
    LoadIf(Mem, Box<Expr>, Box<Expr>),
    Unary(UnaryOp, Box<Expr>),
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    MulAdd(Box<Expr>, Box<Expr>, Box<Expr>),
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
    Cast(Ty, Box<Expr>),
    /// First tile of this call (main), 0 (finish).
    TileBegin,
    /// Behind the last tile of this call (main), the number of tiles (finish).
    TileEnd,
    /// GPU: who am I.
    Place(Gpu),
    /// GPU: the value of the lane so many higher; this lane's own where there is none. All lanes of the warp take part.
    ShuffleDown(Box<Expr>, u32),
    /// GPU: the same of the lane so many lower.
    ShuffleUp(Box<Expr>, u32),
    /// GPU: the value of the warp's lane 0. All lanes of the warp take part.
    Broadcast(Box<Expr>),
}

/// Where a thread of a grid is; all are i32.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gpu {
    /// Its number in the block.
    Thread,
    /// Its block's number in the grid.
    Block,
    /// How many blocks the grid has.
    Blocks,
    /// How many tiles every 128 threads take, chosen at launch; in a kernel that makes several steps of an iteration, how many.
    Span,
}

impl Gpu {
    /// Every one.
    pub const ALL: [Gpu; 4] = [Gpu::Thread, Gpu::Block, Gpu::Blocks, Gpu::Span];
    /// Its name in the text form.
    pub fn name(self) -> &'static str {
        ["thread", "block", "blocks", "span"][self as usize]
    }
}

/// Lanes of a warp.
pub const WARP: u32 = 32;

/// A statement.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs)]
pub enum Stmt {
    Let(Reg, Expr, LocStack),
    /// The local array of that number lives until the end of this block; its elements are unset.
    Local(u32),
    Var(Reg, Expr),
    Assign(Reg, Expr),
    Store(Mem, Expr, Expr),
    /// Stores to a slot.
    StoreSlot(u32, Expr),
    /// Iterations are independent of each other.
    For(Reg, Expr, Expr, Vec<Stmt>),
    /// In order.
    Seq(Reg, Expr, Expr, Vec<Stmt>),
    While(Expr, Vec<Stmt>),
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// Site, condition, element.
    Record(u32, Expr, Expr),
    /// An element of an array will be read soon. Any index is allowed: it is a hint, not a read. `wide`: only where vectors have 64 bytes.
    Prefetch {
        array: Mem,
        index: Expr,
        wide: bool,
    },
    /// A comment for the reader of the generated code.
    Note(String),
    /// GPU: reads as many neighbours as there are registers, in one access. The index is a multiple of their number.
    LoadVec(Vec<Reg>, Mem, Expr),
    /// GPU: writes so many neighbours in one access. The index is a multiple of their number.
    StoreVec(Mem, Expr, Vec<Expr>),
    /// GPU: all threads of the block meet here; what they wrote before is seen by all of them after.
    Barrier,
    /// GPU: one more arrival at a counter (second) out of so many (third). The register is true for the last one, which then sees everything that the
    /// others' threads wrote before they arrived, and finds the counter at 0 again.
    Arrive(Reg, Expr, Expr),
}

/// An array parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Array {
    /// Its name.
    pub name: String,
    /// Element type.
    pub ty: Ty,
    /// Written (at each index once) or read.
    pub write: bool,
    /// Element i is `base[i * stride]`, not `base[i]`.
    pub strided: bool,
    /// No other array of the kernel overlaps what is written through it, or through any other.
    pub noalias: bool,
    /// Element 0 lies at a multiple of 16 bytes.
    pub aligned: bool,
}

/// A slot: a scalar in device memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlotDecl {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Ty,
    /// Written by `finish`, or read.
    pub write: bool,
}

/// A kernel.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Kernel {
    /// Its name, unique in the module.
    pub name: String,
    /// Array parameters.
    pub arrays: Vec<Array>,
    /// Scalars by value.
    pub ins: Vec<(String, Ty)>,
    /// Scalars in device memory.
    pub slots: Vec<SlotDecl>,
    /// One value a tile.
    pub scratch: Vec<(String, Ty)>,
    /// Arrays of constant size, declared by `Stmt::Local`: name, type, length.
    pub locals: Vec<(String, Ty, u32)>,
    /// What to say of each place that may leave a record.
    pub sites: Vec<String>,
    /// Registers: name (unique) and type.
    pub regs: Vec<(Name, Ty)>,
    /// The least number in the name of the next new register: names of a text that was read have numbers of their own.
    pub next_number: u32,
    /// Threads of a block; 0: a kernel for the CPU.
    pub threads: u32,
    /// At least so many blocks at once on a multiprocessor: how many registers a thread may have. 0: as the assembler likes.
    pub min_resident_blocks: u32,
    /// Memory that a block's threads share: name, type, length.
    pub shared: Vec<(String, Ty, u32)>,
    /// The program promises that no index, times its array's stride, leaves 31 bits: indices may be i32 where [`narrow`] makes them so.
    pub narrow: bool,
    /// It makes several steps of an iteration: [`Gpu::Span`] says how many.
    pub is_multi_step: bool,
    /// Bytes that a vector load of an array brings into a GPU's second cache, a power of two; 0: as the device does it.
    pub fetch: u32,
    /// Over tiles; on a GPU: each thread.
    pub main: Option<Vec<Stmt>>,
    /// Once.
    pub finish: Option<Vec<Stmt>>,
}

impl Kernel {
    /// A new register.
    pub fn reg(&mut self, name: &'static str, ty: Ty) -> Reg {
        let (id, number) = self.next();
        self.regs.push((Name::numbered(name, number), ty));
        id
    }

    /// A new register like another one.
    pub fn like(&mut self, r: Reg) -> Reg {
        let (id, number) = self.next();
        let (name, ty) = &self.regs[r.0 as usize];
        self.regs.push((name.with_number(number), *ty));
        id
    }

    /// The next register, and the number in its name.
    fn next(&mut self) -> (Reg, u32) {
        let id = self.regs.len() as u32;
        let number = self.next_number.max(id);
        self.next_number = number + 1;
        (Reg(id), number)
    }

    /// Rewrites the statements of `main`, which may ask for new registers meanwhile.
    pub fn rewrite_main(&mut self, rewrite: impl FnOnce(&mut Kernel, &mut Vec<Stmt>)) {
        if let Some(mut body) = self.main.take() {
            rewrite(self, &mut body);
            self.main = Some(body);
        }
    }

    /// A new local array, declared in the block `out`.
    pub fn local(&mut self, name: &str, ty: Ty, len: u32, out: &mut Vec<Stmt>) -> Mem {
        let id = self.locals.len() as u32;
        self.locals.push((format!("{name}_{id}"), ty, len));
        out.push(Stmt::Local(id));
        Mem::Local(id)
    }

    /// A new array shared by a block's threads.
    pub fn share(&mut self, name: &str, ty: Ty, len: u32) -> Mem {
        let id = self.shared.len() as u32;
        self.shared.push((format!("{name}_s{id}"), ty, len));
        Mem::Shared(id)
    }

    /// Name and element type of a memory.
    pub fn mem(&self, m: Mem) -> (&str, Ty) {
        match m {
            Mem::Array(i) => (&self.arrays[i as usize].name, self.arrays[i as usize].ty),
            Mem::Local(i) => (&self.locals[i as usize].0, self.locals[i as usize].1),
            Mem::Scratch(i) => (&self.scratch[i as usize].0, self.scratch[i as usize].1),
            Mem::Shared(i) => (&self.shared[i as usize].0, self.shared[i as usize].1),
        }
    }

    /// The type of an expression.
    pub fn ty(&self, e: &Expr) -> Ty {
        match e {
            Expr::Lit(l) => l.ty,
            Expr::Reg(r) => self.regs[r.0 as usize].1,
            Expr::In(i) => self.ins[*i as usize].1,
            Expr::Slot(i) => self.slots[*i as usize].ty,
            Expr::Load(m, _) | Expr::LoadIf(m, _, _) => self.mem(*m).1,
            Expr::Unary(op, a) => op.result(self.ty(a)),
            Expr::Binary(op, a, _) => op.result(self.ty(a)),
            Expr::MulAdd(a, _, _) => self.ty(a),
            Expr::Select(_, a, _) => self.ty(a),
            Expr::Cast(ty, _) => *ty,
            Expr::TileBegin | Expr::TileEnd => Ty::I64,
            Expr::Place(_) => Ty::I32,
            Expr::ShuffleDown(a, _) | Expr::ShuffleUp(a, _) | Expr::Broadcast(a) => self.ty(a),
        }
    }
}

/// Calls `$f` on each direct operand of an expression, borrowed as the expression is.
macro_rules! operands {
    ($e:expr, $f:expr) => {
        match $e {
            Expr::Load(_, a)
            | Expr::Unary(_, a)
            | Expr::Cast(_, a)
            | Expr::ShuffleDown(a, _)
            | Expr::ShuffleUp(a, _)
            | Expr::Broadcast(a) => $f(a),
            Expr::LoadIf(_, a, b) | Expr::Binary(_, a, b) => {
                $f(a);
                $f(b);
            }
            Expr::MulAdd(a, b, c) | Expr::Select(a, b, c) => {
                $f(a);
                $f(b);
                $f(c);
            }
            Expr::Lit(_)
            | Expr::Reg(_)
            | Expr::In(_)
            | Expr::Slot(_)
            | Expr::TileBegin
            | Expr::TileEnd
            | Expr::Place(_) => {}
        }
    };
}

/// The operands of an expression.
impl Expr {
    /// Calls `f` on each direct operand.
    #[inline]
    pub fn children<'e>(&'e self, mut f: impl FnMut(&'e Expr)) {
        operands!(self, f)
    }

    /// The same, to change them.
    #[inline]
    pub fn children_mut(&mut self, mut f: impl FnMut(&mut Expr)) {
        operands!(self, f)
    }
}

/// Shorthands for building expressions of indices.
#[allow(missing_docs)]
impl Expr {
    pub fn int(x: i64) -> Expr {
        Expr::Lit(Lit::i64(x))
    }
    pub fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
        Expr::Binary(op, Box::new(a), Box::new(b))
    }
    pub fn plus(self, b: Expr) -> Expr {
        Expr::binary(BinaryOp::Add, self, b)
    }
    pub fn minus(self, b: Expr) -> Expr {
        Expr::binary(BinaryOp::Sub, self, b)
    }
    pub fn times(self, b: Expr) -> Expr {
        Expr::binary(BinaryOp::Mul, self, b)
    }
    pub fn min(self, b: Expr) -> Expr {
        Expr::binary(BinaryOp::Min, self, b)
    }
    /// `a` where the condition holds, else `b`.
    pub fn select(self, a: Expr, b: Expr) -> Expr {
        Expr::Select(Box::new(self), Box::new(a), Box::new(b))
    }
    pub fn load(m: Mem, i: Expr) -> Expr {
        Expr::Load(m, Box::new(i))
    }
}
