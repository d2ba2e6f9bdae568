//! Kernel IR: explicit loops, loads, local arrays and roundings. Backends print it without further
//! decisions.
//!
//! One kernel covers one index space of `n` elements in tiles of 2048. On the CPU `main` computes a
//! range of tiles and may run on many threads at once; `finish` runs once, after all of it. On a
//! GPU `main` is the code of each thread of a grid of blocks, with shared memory, barriers and
//! shuffles, and there is no `finish`. Text form: `docs/ir.md`; well-formedness: [`verify`].

pub mod avoid_negated_min;
pub mod clone_body;
mod counters;
pub mod cse;
pub mod dce;
mod demands;
mod device;
pub mod divide;
pub mod idle_divisions;
pub mod if_conversion;
pub mod index;
pub mod interp;
pub mod lockstep;
pub mod name;
pub mod narrow;
mod operands;
pub mod ordered_bits;
pub mod parse;
pub mod parts;
pub mod pipeline;
pub mod print;
pub mod records_apart;
pub mod split_rows;
pub mod verify;
pub mod widen;

use crate::loc::LocStack;
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};
pub use device::{
    CLUSTER_CAPABILITY, COPY_BYTES, Gpu, MAX_SHARED, MAX_SHARED_ANYWHERE, OLDEST_CAPABILITY, STATIC_SHARED,
    WARP, WARPGROUP, WARPGROUP_CAPABILITY,
};
pub use name::Name;

/// A register: an index into [`Kernel::regs`]. It is assigned once by `let` or a loop, or several
/// times if declared by `var`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Reg(pub u32);

/// A memory that a kernel indexes, by position in its list.
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
#[derive(Clone, PartialEq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Expr {
    Lit(Lit),
    Reg(Reg),
    /// A scalar parameter that is passed by value.
    In(u32),
    /// The value of a slot.
    Slot(u32),
    Load(Mem, Box<Expr>),
    /// The element, or 0 if the condition (the second operand) is false; then nothing is read.
    LoadIf(Mem, Box<Expr>, Box<Expr>),
    Unary(UnaryOp, Box<Expr>),
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    MulAdd(Box<Expr>, Box<Expr>, Box<Expr>),
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
    Cast(Ty, Box<Expr>),
    /// The first tile of this call in `main`, 0 in `finish`.
    TileBegin,
    /// The end of the tiles of this call in `main`, exclusive; the number of tiles in `finish`.
    TileEnd,
    /// GPU: the position of the thread.
    Place(Gpu),
    /// GPU: the value of the lane that is this many lanes higher, or this lane's own value if there
    /// is none. All lanes of the warp take part.
    ShuffleDown(Box<Expr>, u32),
    /// GPU: the value of the lane that is this many lanes lower, or this lane's own value if there
    /// is none. All lanes of the warp take part.
    ShuffleUp(Box<Expr>, u32),
    /// GPU: the value of the lane whose number differs in this bit, a power of two. All lanes of the
    /// warp take part.
    ShuffleXor(Box<Expr>, u32),
    /// GPU: the value of lane 0 of the warp. All lanes of the warp take part.
    Broadcast(Box<Expr>),
}

/// A statement.
#[derive(Clone, PartialEq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Stmt {
    Let(Reg, Expr, LocStack),
    /// The declaration of a local array, by its number. It lives until the end of this block, and
    /// its elements are unset.
    Local(u32),
    Var(Reg, Expr),
    Assign(Reg, Expr),
    Store(Mem, Expr, Expr),
    /// Joins a value to an element of a memory: `m[i] = op(m[i], value)`, by an operator whose order is free, on
    /// integers of 32 or 64 bits, or by sums of f32 or f64, whose order nobody promises. On a GPU it is one operation of the memory, so that several threads may join
    /// values to one element without a barrier between them.
    Update(BinaryOp, Mem, Expr, Expr),
    /// A store to a slot.
    StoreSlot(u32, Expr),
    /// A loop whose iterations are independent of each other.
    For(Reg, Expr, Expr, Vec<Stmt>),
    /// A loop whose iterations run in order.
    Seq(Reg, Expr, Expr, Vec<Stmt>),
    While(Expr, Vec<Stmt>),
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// Leaves an error record: site, condition, element.
    Record(u32, Expr, Expr),
    /// A hint that an element of an array will be read soon. Any index is allowed, because nothing
    /// is read. If `wide` is set, the hint is given only on CPUs with vectors of 64 bytes.
    Prefetch {
        array: Mem,
        index: Expr,
        wide: bool,
    },
    /// A comment for the reader of the generated code.
    Note(String),
    /// GPU: reads as many neighbours as there are registers, in one access. The index is a multiple
    /// of their number.
    LoadVec(Vec<Reg>, Mem, Expr),
    /// GPU: writes as many neighbours as there are expressions, in one access. The index is a
    /// multiple of their number.
    StoreVec(Mem, Expr, Vec<Expr>),
    /// GPU: a barrier of the block. Everything that its threads wrote before is visible to all of
    /// them after it.
    Barrier,
    /// GPU: one more arrival at a counter (the second operand), of the given total (the third). The
    /// register is true for the last arrival. Its thread then sees everything that the other
    /// threads wrote before they arrived, and the counter is 0 again.
    Arrive(Reg, Expr, Expr),
    /// GPU: takes a ticket at a counter: the register, i32, gets how many were taken there before, all by blocks that
    /// have begun.
    Ticket(Reg, Expr),
    /// GPU: publishes a value of 4 or 8 bytes in words at counters from an even one on (the first operand), once: 4
    /// bytes and the number 1, which all threads see at once. Nothing else that the thread wrote is ordered by it.
    Publish(Expr, Expr),
    /// GPU: waits until words (the second operand) are published, and takes the value; 0 unless the condition holds.
    Await(Reg, Expr, Expr),
    /// GPU: sets four counters to 0, from a multiple of four on. All that was done with them is done before.
    Clear(Expr),
    /// GPU: counts at an element of shared memory, of u32, as one operation of the warp: one lane after the other,
    /// in ascending order, gets the element and adds 1 to it. Each lane may count at another one, but the indices
    /// of a warp differ in so many low bits only. Before it, the accesses of memory are ordered as by a broadcast.
    Count {
        old: Reg,
        at: Mem,
        index: Expr,
        bits: u32,
    },
    /// GPU: a barrier of all blocks of the cluster, all of which have begun after it. Unless it is
    /// `relaxed`, everything that their threads wrote before is visible to all of them after it.
    ClusterBarrier {
        relaxed: bool,
    },
    /// GPU: a store to the shared memory of a block of this cluster: the memory, the index, the rank
    /// of the block, and the value. That block must have begun, and must not have ended.
    StoreTo(Mem, Expr, Expr, Expr),
    /// GPU: begins to copy 4, 8 or 16 bytes, from the neighbours from `index` on of an array to those from `at` on
    /// of shared memory, of any types. Both indices are multiples of these bytes, and the array is aligned unless
    /// they are one element. If a condition is given and does not hold, nothing is read, and zeros take the place of
    /// the copy. Nothing may read or write the copy before it has been waited for.
    CopyAsync {
        bytes: u32,
        to: Mem,
        at: Expr,
        from: Mem,
        index: Expr,
        given: Option<Expr>,
    },
    /// GPU: makes a group of the copies that the thread has begun since its last group.
    CopyGroup,
    /// GPU: waits for all groups of the thread's copies except for so many of the last ones. The thread sees
    /// what they have copied, and other threads see it behind a barrier.
    CopyWait(u32),
    /// GPU: defines a word, u32, as tensor cores take it: two halves, the first one in its low bits, or one f32,
    /// rounded to tf32: to 11 bits of precision, ties away from 0.
    Pack(Reg, Vec<Expr>),
    /// GPU: loads four matrices of eight rows of 16 bytes from words of shared memory, as one operation of the
    /// warp: lane 8 m + r has the number of the first word of row r of matrix m. Register m of lane l has
    /// word l mod 4 of row l / 4 of that matrix; if it is transposed, the elements of 16 bits in column l / 4
    /// of the rows 2 (l mod 4), in the low half, and 2 (l mod 4) + 1.
    LoadMatrices {
        regs: Vec<Reg>,
        from: Mem,
        index: Expr,
        transposed: bool,
    },
    /// GPU: adds the product of two matrices to a third one, as one operation of the warp, with exact products and
    /// sums in f32 in any order. The operands lie in the registers of all lanes: four words of 16 rows and 32 bytes
    /// of inner indices, two words of these inner indices and 8 columns; the elements have this type, f32 rounded to
    /// tf32. Word w of the rows has the 4 bytes l mod 4 + 4 (w / 2) of row l / 4 + 8 (w mod 2), word w of the columns
    /// the 4 bytes l mod 4 + 4 w of column l / 4. Sum s is that of row l / 4 + 8 (s / 2) and column 2 (l mod 4) + s
    /// mod 2.
    MultiplyMatrices {
        ty: Ty,
        sums: Vec<Reg>,
        rows: Vec<Expr>,
        columns: Vec<Expr>,
    },
    /// GPU: begins to add the product of two matrices in shared memory to a third one, as one operation of a
    /// warpgroup: four warps, the first one's number a multiple of 4. Products and sums are those of
    /// `MultiplyMatrices`; f32 are already rounded to tf32. A matrix is lines of 128 bytes, in pieces of 16; piece p of
    /// line l lies in the place p xor l mod 8 of its line. Its first word's number is a multiple of 256. The 64 rows are
    /// lines, and so are the columns, twice as many as there are sums, along these 128 bytes of inner indices. If they
    /// lie `across` them, a line is 64 columns of one inner index, and the lines of the next 64 columns follow; elements
    /// have 16 bits then. Sum s of lane l of the warpgroup's warp w is that of row 16 w + l / 4 + 8 (s / 2 mod 2) and
    /// column 8 (s / 4) + 2 (l mod 4) + s mod 2. Until it is waited for, nothing may write the matrices, or read or
    /// write the sums. What threads copied is seen behind their wait and a barrier.
    MultiplyStaged {
        ty: Ty,
        sums: Vec<Reg>,
        from: Mem,
        rows: Expr,
        columns: Expr,
        across: bool,
    },
    /// GPU: waits for all but so many of the warpgroup's last `MultiplyStaged`.
    MultiplyWait(u32),
}

/// An array parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Array {
    /// Its name.
    pub name: String,
    /// Element type.
    pub ty: Ty,
    /// Whether it is written, at each index once; otherwise it is read.
    pub write: bool,
    /// Whether element i is `base[i * stride]`, not `base[i]`.
    pub strided: bool,
    /// Whether no other array of the kernel overlaps what is written through this array or through
    /// any other.
    pub noalias: bool,
    /// Whether the address of element 0 is a multiple of 16 bytes.
    pub aligned: bool,
}

/// A slot: a scalar in device memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlotDecl {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Ty,
    /// Whether `finish` writes it; otherwise it is read.
    pub write: bool,
}

/// A kernel.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Kernel {
    /// Its name, unique in the module.
    pub name: String,
    /// Array parameters.
    pub arrays: Vec<Array>,
    /// The scalar parameters that are passed by value.
    pub ins: Vec<(String, Ty)>,
    /// The slots, which are scalars in device memory.
    pub slots: Vec<SlotDecl>,
    /// The scratch arrays, with one value for each tile.
    pub scratch: Vec<(String, Ty)>,
    /// The local arrays of constant size, declared by `Stmt::Local`: name, type, length.
    pub locals: Vec<(String, Ty, u32)>,
    /// The message of each site that may leave an error record.
    pub sites: Vec<String>,
    /// The registers: name (unique) and type.
    pub regs: Vec<(Name, Ty)>,
    /// The least number in the name of the next new register. Names that were read from a text have
    /// numbers of their own.
    pub next_number: u32,
    /// The number of threads of a block; 0 for a CPU kernel.
    pub threads: u32,
    /// The least number of blocks that must be resident on a multiprocessor at once, which limits
    /// the registers of a thread. 0 leaves the choice to the assembler.
    pub min_resident_blocks: u32,
    /// The number of blocks of a cluster: 2, 4 or 8 neighbours, which run at the same time and reach
    /// each other's shared memory. Block b has the rank b mod `cluster`. 0 if there are no clusters.
    pub cluster: u32,
    /// The arrays that a block's threads share: name, type, length.
    pub shared: Vec<(String, Ty, u32)>,
    /// Whether the program promises that every index, times its array's stride, fits in 31 bits and
    /// a sign. Then the pass [`narrow`] computes indices in i32.
    pub narrow: bool,
    /// Registers and scalar parameters, of i64, that are indices or extents of the index space:
    /// never negative where elements are computed, and below 2^31 - 2^19 if indices fit in 32 bits.
    /// The first pass that needs them takes them; they are no part of the text.
    pub in_space: Vec<Expr>,
    /// Whether it makes several steps of an iteration; [`Gpu::Span`] is their number.
    pub is_multi_step: bool,
    /// Whether it does nothing where the guard, an i64 in device memory, is not negative: an iteration that a check
    /// ends has ended before the launch.
    pub is_guarded: bool,
    /// The number of bytes that a vector load of an array brings into a GPU's L2 cache, a power of
    /// two; 0 for the device's default.
    pub fetch: u32,
    /// The code of a range of tiles on a CPU, of each thread on a GPU.
    pub main: Option<Vec<Stmt>>,
    /// The code that runs once, after `main`.
    pub finish: Option<Vec<Stmt>>,
}

impl Kernel {
    /// Makes a new register.
    pub fn reg(&mut self, name: &'static str, ty: Ty) -> Reg {
        let (id, number) = self.next();
        self.regs.push((Name::numbered(name, number), ty));
        id
    }

    /// Makes a new register with the type and the text of another one's name.
    pub fn like(&mut self, r: Reg) -> Reg {
        let (id, number) = self.next();
        let (name, ty) = &self.regs[r.0 as usize];
        self.regs.push((name.with_number(number), *ty));
        id
    }

    /// Returns the next register, and the number in its name.
    fn next(&mut self) -> (Reg, u32) {
        let id = self.regs.len() as u32;
        let number = self.next_number.max(id);
        self.next_number = number + 1;
        (Reg(id), number)
    }

    /// Rewrites the statements of `main`; the rewrite may make new registers.
    pub fn rewrite_main(&mut self, rewrite: impl FnOnce(&mut Kernel, &mut Vec<Stmt>)) {
        if let Some(mut body) = self.main.take() {
            rewrite(self, &mut body);
            self.main = Some(body);
        }
    }

    /// Makes a new local array, declared in the block `out`.
    pub fn local(&mut self, name: &str, ty: Ty, len: u32, out: &mut Vec<Stmt>) -> Mem {
        let id = self.locals.len() as u32;
        self.locals.push((format!("{name}_{id}"), ty, len));
        out.push(Stmt::Local(id));
        Mem::Local(id)
    }

    /// Makes a new array that a block's threads share.
    pub fn share(&mut self, name: &str, ty: Ty, len: u32) -> Mem {
        let id = self.shared.len() as u32;
        self.shared.push((format!("{name}_s{id}"), ty, len));
        Mem::Shared(id)
    }

    /// Returns the name and the element type of a memory.
    pub fn mem(&self, m: Mem) -> (&str, Ty) {
        match m {
            Mem::Array(i) => (&self.arrays[i as usize].name, self.arrays[i as usize].ty),
            Mem::Local(i) => (&self.locals[i as usize].0, self.locals[i as usize].1),
            Mem::Scratch(i) => (&self.scratch[i as usize].0, self.scratch[i as usize].1),
            Mem::Shared(i) => (&self.shared[i as usize].0, self.shared[i as usize].1),
        }
    }

    /// Returns the type of an expression.
    pub fn ty(&self, mut e: &Expr) -> Ty {
        // most operations have the type of their first operand, whose operands are not asked by recursion
        while let Expr::Binary(op, a, _) = e
            && !op.is_comparison()
        {
            e = a;
        }
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
            Expr::ShuffleDown(a, _) | Expr::ShuffleUp(a, _) | Expr::ShuffleXor(a, _) | Expr::Broadcast(a) => {
                self.ty(a)
            }
        }
    }
}
