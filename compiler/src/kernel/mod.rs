//! Kernel IR: explicit loops, loads, local arrays and roundings. Backends print it without further
//! decisions.
//!
//! One kernel covers one index space of `n` elements in tiles of 2048. On the CPU `main` computes a
//! range of tiles and may run on many threads at once; `finish` runs once, after all of it. On a
//! GPU `main` is the code of each thread of a grid of blocks, with shared memory, barriers and
//! shuffles, and there is no `finish`. Text form: `docs/ir.md`; well-formedness: [`verify`].

pub mod address_sums;
pub mod avoid_negated_min;
pub mod clamps;
pub mod clone_body;
mod counters;
pub mod cse;
pub mod dce;
mod demands;
mod device;
pub mod divide;
mod expr;
pub mod idle_divisions;
pub mod if_conversion;
pub mod index;
pub mod interp;
pub mod lanes;
pub mod lockstep;
pub mod name;
pub mod narrow;
pub mod neighbour_searches;
mod operands;
pub mod ordered_bits;
pub mod parse;
pub mod parts;
pub mod pipeline;
pub mod print;
pub mod quotients;
pub mod records_apart;
pub mod remainders;
pub mod split_rows;
mod stmt;
pub mod unswitch;
pub mod verify;
pub mod widen;

use crate::scalar::Ty;
pub use demands::SharedLayout;
pub use device::{
    CLUSTER_CAPABILITY, COPY_BYTES, Gpu, MAX_SHARED, MAX_SHARED_ANYWHERE, OLDEST_CAPABILITY, STATIC_SHARED,
    WARP, WARPGROUP, WARPGROUP_CAPABILITY,
};
pub use expr::{Expr, Mem, Reg};
pub use name::Name;
pub use stmt::Stmt;

/// The bytes of shared memory of a block from which on it stages tiles there.
const STAGED: usize = 4 << 10;

/// An array parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Array {
    /// Its name.
    pub name: String,
    /// Element type.
    pub ty: Ty,
    /// Whether the kernel writes it, at each index at most once unless the launch is sequential; otherwise the kernel
    /// reads it.
    pub write: bool,
    /// Whether element i is `base[i * stride]`, not `base[i]`.
    pub strided: bool,
    /// Whether no memory is accessed through this array and written through another one, or the other way round.
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
    /// Whether the kernel writes it (on a CPU in `finish`); otherwise the kernel reads it.
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
    /// The minimum number in the name of the next new register. It grows past the numbers of names that were read
    /// from a text.
    pub next_number: u32,
    /// The number of threads of a block; 0 for a CPU kernel.
    pub threads: u32,
    /// The minimum number of blocks that must fit onto a multiprocessor at once, which limits the registers of a
    /// thread. 0 leaves the choice to the assembler.
    pub min_resident_blocks: u32,
    /// The number of blocks of a cluster: 2, 4 or 8 neighbours, which run at the same time and reach
    /// each other's shared memory. Block b has the rank b mod `cluster`. 0 if there are no clusters.
    pub cluster: u32,
    /// The arrays that a block's threads share: name, type, length.
    pub shared: Vec<(String, Ty, u32)>,
    /// Whether the program promises that every index, times its array's stride, fits in 31 bits and
    /// a sign. Then the pass [`narrow`] computes indices in i32.
    pub narrow: bool,
    /// Registers and scalar parameters, of i64, that are indices or extents of the index space. Where elements are
    /// computed they are not negative, and below 2^31 - 2^19 if indices fit in 32 bits. The first pass that needs
    /// this list takes it out of the kernel; the text form does not have it.
    pub in_space: Vec<Expr>,
    /// Registers, of i64, whose values are at least 0 and at most this where they are used.
    pub bounded: Vec<(Reg, Expr)>,
    /// Scalar parameters, of i64, that are the last index of an extent with that limit; -1 if the extent is 0.
    pub last_indices: Vec<u32>,
    /// Whether the kernel makes several steps of an iteration; [`Gpu::Span`] is their number.
    pub is_multi_step: bool,
    /// Whether the kernel has a guard, an i64 in device memory, and does nothing if it is not negative. The check of
    /// an iteration sets it when the iteration ends, so that launches of later steps have no effect.
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
        let id = self.add_local(name, ty, len);
        out.push(Stmt::Local(id));
        Mem::Local(id)
    }

    /// Makes a new local array, which no block declares yet, and returns its number.
    fn add_local(&mut self, name: &str, ty: Ty, len: u32) -> u32 {
        let id = self.locals.len() as u32;
        self.locals.push((format!("{name}_{id}"), ty, len));
        id
    }

    /// Whether blocks stage tiles of arrays in shared memory, and do not only join values of their warps there.
    pub fn stages_tiles(&self) -> bool {
        self.shared.iter().map(|(_, ty, n)| ty.size() * *n as usize).sum::<usize>() >= STAGED
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
        // most operations have the type of their first operand; this loop avoids recursion over long chains of these
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
