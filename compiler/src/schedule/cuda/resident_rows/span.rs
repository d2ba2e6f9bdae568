//! A row of an array and its copy in shared memory. Both begin at the same distance from a multiple of 16 bytes, so
//! most of the row can be copied by chunks of 16 bytes, whatever its alignment; up to 15 bytes before and after the
//! whole chunks are copied by element.
//!
//! ```text
//! array          . . . r | r r r r | r r r r | r r . .      r: an element of 4 bytes of the row
//! shared memory  - - - r | r r r r | r r r r | r r - -      before = 3, end = 14, index 0 is the first -
//! ```

use super::mapping::Group;
use crate::core::NodeId;
use crate::kernel::{COPY_BYTES, Expr, Mem, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::cuda::expressions::{int32, offset, shifted, thread, to_i64};
use crate::schedule::element::lower::{Lower, bind};

/// An array whose row lies in shared memory.
pub(super) struct StagedArray {
    pub x: NodeId,
    /// The row's indices along all axes but that of its elements.
    pub outer: Vec<NodeId>,
    pub shared: Mem,
    pub span: Span,
    /// The value that has replaced the array's elements in shared memory, if one has: a function of the variable of
    /// the element's index.
    pub kept: Option<NodeId>,
}

/// Where in shared memory a computed row lies before it is copied to its array; `None` if elements are stored
/// directly.
pub(super) type Place = Option<(Mem, Span)>;

/// The position of a row in its array and in shared memory.
#[derive(Clone)]
pub(super) struct Span {
    /// The number of elements of a chunk of 16 bytes.
    pub chunk: i64,
    /// The index of the row's first element in shared memory, and the first index past the row (i32).
    pub before: Expr,
    end: Expr,
    /// The index in the array that corresponds to index 0 in shared memory (i64).
    begin: Expr,
}

impl Span {
    /// Returns the span of a row of `length` elements, given the index in its array of the first one.
    pub fn of(l: &mut Lower, ty: Ty, start: Expr, length: &Expr, out: &mut Vec<Stmt>) -> Span {
        let chunk = (COPY_BYTES / ty.size()) as i64;
        let start = bind(l, "start", start, out);
        let before = Expr::binary(BinaryOp::And, start.clone(), Expr::int(chunk - 1));
        let before = bind(l, "before", Expr::Cast(Ty::I32, Box::new(before)), out);
        let end = Expr::Cast(Ty::I32, Box::new(length.clone())).plus(before.clone());
        let end = bind(l, "end", end, out);
        let begin = bind(l, "begin", start.minus(to_i64(before.clone())), out);
        Span { chunk, before, end, begin }
    }

    /// Returns the index in shared memory of a group's only element.
    pub fn place(&self, g: &Group) -> Expr {
        let start = Expr::Cast(Ty::I32, Box::new(g.start.clone())).plus(self.before.clone());
        offset(start, g.offset)
    }

    /// Returns the condition that this row and another are aligned alike, relative to 16 bytes.
    pub fn is_like(&self, other: &Span) -> Expr {
        Expr::binary(BinaryOp::Eq, self.before.clone(), other.before.clone())
    }

    /// Writes a loop in which `threads` threads share the whole chunks. `code` gets the index of a chunk's first
    /// element in shared memory, and that in the array.
    pub fn each_chunk(
        &self,
        l: &mut Lower,
        threads: u32,
        out: &mut Vec<Stmt>,
        code: impl FnOnce(&mut Lower, Expr, Expr, &mut Vec<Stmt>),
    ) {
        let chunk = int32(self.chunk as i32);
        let first = self.before.clone().plus(int32(self.chunk as i32 - 1));
        let first = bind(l, "first", shifted(first, self.chunk), out);
        let count = shifted(self.end.clone(), self.chunk).minus(first.clone());
        each(l, threads, count, out, |l, number, body| {
            let at = bind(l, "at", first.plus(number).times(chunk), body);
            let index = bind(l, "index", self.begin.clone().plus(to_i64(at.clone())), body);
            code(l, at, index, body);
        });
    }

    /// Writes code for the elements before and after the whole chunks, one for each thread. `code` gets the element's
    /// index in shared memory, and that in the array.
    pub fn each_other(&self, l: &mut Lower, out: &mut Vec<Stmt>, code: impl Fn(Expr, Expr) -> Stmt) {
        let lt = |a: &Expr, b: &Expr| Expr::binary(BinaryOp::Lt, a.clone(), b.clone());
        let and = |a: Expr, b: Expr| Expr::binary(BinaryOp::And, a, b);
        let chunk = int32(self.chunk as i32);
        let tail = shifted(self.end.clone(), self.chunk).times(chunk.clone());
        let tail = bind(l, "tail", tail.plus(thread()), out);
        let is_of_row =
            |at: &Expr| and(lt(at, &self.end), Expr::binary(BinaryOp::Ge, at.clone(), self.before.clone()));
        // the first chunk is whole if the row begins at a multiple of 16 bytes
        let has_head = and(is_of_row(&thread()), Expr::binary(BinaryOp::Gt, self.before.clone(), int32(0)));
        let has_tail = is_of_row(&tail);
        let mut few = Vec::new();
        for (at, is_there) in [(thread(), has_head), (tail, has_tail)] {
            let index = self.begin.clone().plus(to_i64(at.clone()));
            few.push(Stmt::If(is_there, vec![code(at, index)], vec![]));
        }
        out.push(Stmt::If(lt(&thread(), &chunk), few, vec![]));
    }

    /// Writes a loop in which `threads` threads share all elements. `code` gets an element's index in shared memory
    /// according to the span `shared`, which is as long as this one, and its index in this span's array.
    pub fn each_element(
        &self,
        l: &mut Lower,
        (threads, shared): (u32, &Span),
        out: &mut Vec<Stmt>,
        code: impl FnOnce(Expr, Expr) -> Stmt,
    ) {
        let count = self.end.clone().minus(self.before.clone());
        each(l, threads, count, out, |_, number, body| {
            let index = self.begin.clone().plus(to_i64(self.before.clone().plus(number.clone())));
            body.push(code(shared.before.clone().plus(number), index));
        });
    }
}

/// Writes a loop in which `threads` threads share the numbers below `count`: thread t takes t, t + `threads`, and so
/// on.
fn each(
    l: &mut Lower,
    threads: u32,
    count: Expr,
    out: &mut Vec<Stmt>,
    code: impl FnOnce(&mut Lower, Expr, &mut Vec<Stmt>),
) {
    let threads = int32(threads as i32);
    let passes = count.minus(thread()).plus(threads.clone().minus(int32(1)));
    let passes = Expr::binary(BinaryOp::Max, passes, int32(0));
    let passes = bind(l, "passes", to_i64(Expr::binary(BinaryOp::Div, passes, threads.clone())), out);
    let i = l.k.reg("i", Ty::I64);
    let mut body = Vec::new();
    let number = thread().plus(Expr::Cast(Ty::I32, Box::new(Expr::Reg(i))).times(threads));
    let number = bind(l, "number", number, &mut body);
    code(l, number, &mut body);
    out.push(Stmt::Seq(i, Expr::int(0), passes, body));
}
