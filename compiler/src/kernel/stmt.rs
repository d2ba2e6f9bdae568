//! Statements of kernel IR.

use super::expr::{Expr, Mem, Reg};
use crate::loc::LocStack;
use crate::scalar::{BinaryOp, Ty};

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
    /// Joins a value to an element of a memory, `m[i] = op(m[i], value)`. The operator's order is free, on integers
    /// of 32 or 64 bits; or it is a sum of f32 or f64, whose order is not defined. On a GPU it is one atomic
    /// operation, so that several threads may join values to one element without a barrier between them.
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
    /// GPU: arrives at a counter (the second operand), at which as many threads arrive as the third operand says. The
    /// register becomes true for the last one to arrive. That thread then sees everything that the others wrote
    /// before they arrived, and the counter is 0 again.
    Arrive(Reg, Expr, Expr),
    /// GPU: takes a ticket at a counter: the register, i32, gets the number of tickets taken there before. All of
    /// these were taken by blocks that have begun.
    Ticket(Reg, Expr),
    /// GPU: publishes a value of 4 or 8 bytes in one or two words. A word is two counters, from an even one on (the
    /// first operand): 4 bytes of the value, and the number 1 as a mark. Other threads see both at the same time. A
    /// word is published at most once. Nothing else that the thread wrote is ordered by it.
    Publish(Expr, Expr),
    /// GPU: waits until words (at the second operand) are published, and takes their value. If the condition (the
    /// third) does not hold, it does not wait, and the value is 0.
    Await(Reg, Expr, Expr),
    /// GPU: sets four counters to 0, from a multiple of four on. Every other use of them in the launch must come
    /// before.
    Clear(Expr),
    /// GPU: counts at an element of shared memory, of u32, as one operation of the warp: one lane after the other, in
    /// ascending order, gets the element and adds 1 to it. The lanes may count at different elements, but the indices
    /// of a warp differ only in their lowest `bits` bits. Memory accesses before it are ordered as by a broadcast.
    Count {
        old: Reg,
        at: Mem,
        index: Expr,
        bits: u32,
    },
    /// GPU: a barrier of all blocks of the cluster. After it, all of them have begun; and unless it is `relaxed`,
    /// everything that their threads wrote before is visible to all of them.
    ClusterBarrier {
        relaxed: bool,
    },
    /// GPU: a store to the shared memory of a block of this cluster: the memory, the index, the rank
    /// of the block, and the value. That block must have begun, and must not have ended.
    StoreTo(Mem, Expr, Expr, Expr),
    /// GPU: begins to copy 4, 8 or 16 bytes of any types, from an array from `index` on to shared memory from `at`
    /// on. Both places are multiples of the number of bytes, and the array is aligned unless the bytes are one
    /// element. If a condition is given and does not hold, nothing is read, and zeros are written. Nothing may read
    /// or write the destination before the copy has been waited for.
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
    /// GPU: waits for all groups of the thread's copies except the last ones; the operand is the number of these. The
    /// thread then sees what the copies have written, and other threads see it after a barrier.
    CopyWait(u32),
    /// GPU: defines a word, u32, for tensor cores: two halves, the first one in its low bits, or one f32, rounded to
    /// tf32 (11 bits of precision, ties away from 0).
    Pack(Reg, Vec<Expr>),
    /// GPU: loads four matrices of eight rows of 16 bytes from words of shared memory, as one operation of the warp.
    /// Lane 8 m + r has the number of the first word of row r of matrix m. Register m of lane l gets word l mod 4 of
    /// row l / 4 of that matrix; if it is transposed, it gets the 16-bit elements in column l / 4 of row 2 (l mod 4),
    /// in the low half, and of row 2 (l mod 4) + 1.
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
    /// `MultiplyMatrices`; f32 must already be rounded to tf32. A matrix is lines of 128 bytes, in pieces of 16;
    /// piece p of line l lies in place p xor l mod 8 of its line. Its first word's number is a multiple of 256. The
    /// 64 rows are lines, and so are the columns, twice as many as there are sums, along these 128 bytes of inner
    /// indices. If the columns lie `across` the inner indices, a line is 64 columns of one inner index, and the lines
    /// of the next 64 columns follow; elements then have 16 bits. Sum s of lane l of the warpgroup's warp w is that
    /// of row 16 w + l / 4 + 8 (s / 2 mod 2) and column 8 (s / 4) + 2 (l mod 4) + s mod 2. Until the product has been
    /// waited for, nothing may write the matrices, or read or write the sums. Copies of threads must have been waited
    /// for, with a barrier after that.
    MultiplyStaged {
        ty: Ty,
        sums: Vec<Reg>,
        from: Mem,
        rows: Expr,
        columns: Expr,
        across: bool,
    },
    /// GPU: waits for all of the warpgroup's `MultiplyStaged` except the last ones; the operand is the number of
    /// these.
    MultiplyWait(u32),
}
