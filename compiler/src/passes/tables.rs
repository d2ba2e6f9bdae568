//! Tables of bytes: a costly function of one byte has at most 256 values, so it is computed for all bytes, stored,
//! and read at the byte. Images are mapped so: by gamma curves and equalised histograms.
//!
//! ```text
//! generate n (%i) { exp (cast f32 (elem %x, %i)) }
//!   ->
//! %t = materialize (generate 256 (%q) { exp (cast f32 (cast u8 %q)) })
//! generate n (%i) { elem %t, (cast i64 (elem %x, %i)) }
//! ```
//!
//! A function is costly if it has an elementary function, or a 64-bit division by what is no constant. One with loops
//! stays: for fewer than 256 elements, the table would take more of them than the program. So does one that may leave
//! an error record, because bytes that do not occur must leave none. The byte is one that the element reads at its own
//! index, or is computed from such reads. What a stencil reads at other indices is read from a table if it is an array
//! of its own, such as a map that the stencil reads.

use crate::core::byte_tables::{self, BYTES};
use crate::core::graph::replace::replaced;
use crate::core::records::may_record;
use crate::core::rewrite::rewrite_from;
use crate::core::simplify::simplify;
use crate::core::{Function, Graph, NodeId, Op, kept_records};
use crate::error::Result;
use crate::scalar::{BinaryOp, Lit, Ty};
use rustc_hash::FxHashMap as HashMap;

/// Arrays of a constant length below this are computed without a table, which would be a launch for few elements.
const MIN_LENGTH: i64 = 16 * BYTES;

/// Runs the pass.
pub fn run(f: Function) -> Result<Function> {
    let g = &f.graph;
    let is_byte = |n: NodeId| g.ty(n).is_scalar() && byte_tables::is_byte(g.ty(n).elem) && !g.is_closed(n);
    if !f.needs(is_byte) || !f.needs(|n| !g.is_closed(n) && is_costly(g, n)) {
        return Ok(f);
    }
    Ok(rewrite_from(&f, false, &mut |g, op, _| {
        let array = g.add(op);
        let Op::Generate(extents, lambda) = g.op(array).clone() else { return array };
        if !g.is_closed(array) || !may_be_long(g, &extents) {
            return array;
        }
        let types: Vec<Ty> = lambda.params.iter().map(|p| p.1).collect();
        let lambda = g.lambda(&types, |g, index| {
            let body = g.open(&lambda, index);
            Element::of(index).with_tables(g, body)
        });
        g.add(Op::Generate(extents, lambda))
    }))
}

/// Whether an array has no constant length, or a long one.
fn may_be_long(g: &Graph, extents: &[NodeId]) -> bool {
    let mut extents = extents.iter().map(|n| g.as_lit(*n).and_then(Lit::as_int));
    let length = extents.try_fold(1, |n: i64, extent| Some(n.saturating_mul(extent?)));
    length.is_none_or(|n| n >= MIN_LENGTH)
}

/// Whether an operation costs more than a read of a small table.
fn is_costly(g: &Graph, n: NodeId) -> bool {
    let op = g.op(n);
    let divides = match op {
        Op::Binary(BinaryOp::Div | BinaryOp::Rem, _, by) => {
            g.ty(n).elem.size() == 8 && g.as_lit(*by).is_none()
        }
        _ => false,
    };
    divides || op.is_elementary()
}

/// What a value of an element is computed from, beside what is the same for all elements.
#[derive(Clone, Copy, PartialEq)]
enum Source {
    Nothing,
    Byte(NodeId),
    /// The element's index, arrays at that index, or several bytes.
    Index,
    /// Loops, and arrays at other indices.
    Other,
}

impl Source {
    fn and(self, other: Source) -> Source {
        match (self, other) {
            (Source::Nothing, a) | (a, Source::Nothing) => a,
            (a, b) if a == b => a,
            (Source::Other, _) | (_, Source::Other) => Source::Other,
            // a byte, and the index or another byte
            _ => Source::Index,
        }
    }
}

/// An element of an array.
struct Element<'a> {
    /// The variables of its index.
    index: &'a [NodeId],
    /// What its values are computed from.
    sources: HashMap<NodeId, Source>,
    /// What its functions of bytes do.
    functions: HashMap<NodeId, Work>,
    /// Its values with tables.
    made: HashMap<NodeId, NodeId>,
}

/// What a function of a byte does to get from the byte to its value.
#[derive(Clone, Copy, Default)]
struct Work {
    is_costly: bool,
    may_record: bool,
}

impl Element<'_> {
    fn of(index: &[NodeId]) -> Element<'_> {
        let (sources, functions, made) = Default::default();
        Element { index, sources, functions, made }
    }

    /// Rebuilds a value with tables for the functions of bytes in it.
    fn with_tables(&mut self, g: &mut Graph, n: NodeId) -> NodeId {
        if g.is_closed(n) {
            return n;
        }
        if let Some(made) = self.made.get(&n) {
            return *made;
        }
        let before = g.set_loc(g.node(n).loc.clone());
        let op = g.op(n).clone();
        let made = match self.source(g, n) {
            Source::Byte(byte) if self.is_table(g, n) => read(g, n, byte),
            _ => {
                let operands: Vec<NodeId> = op.operands().map(|o| self.with_tables(g, o)).collect();
                if op.operands().eq(operands.iter().copied()) {
                    n
                } else {
                    let made = g.add(op.with(&operands, op.lambda().cloned()));
                    let (bound, once) = (g.node(n).bound, g.node(n).once);
                    g.keep_marks(bound, once, made);
                    made
                }
            }
        };
        g.set_loc(before);
        self.made.insert(n, made);
        made
    }

    fn source(&mut self, g: &Graph, n: NodeId) -> Source {
        if g.is_closed(n) {
            return Source::Nothing;
        }
        if let Some(known) = self.sources.get(&n) {
            return *known;
        }
        let op = g.op(n);
        let of_operands = op.operands().fold(Source::Nothing, |all, o| all.and(self.source(g, o)));
        let source = match op {
            Op::Var(..) if self.index.contains(&n) => Source::Index,
            Op::Var(..) => Source::Other,
            // of an array that is read at other indices
            Op::Elem(_, at) | Op::At(_, at)
                if of_operands == Source::Index && !at.iter().all(|i| self.is_own(g, *i)) =>
            {
                Source::Other
            }
            _ if !g.ty(n).is_scalar() || op.is_loop() => Source::Other,
            _ if of_operands == Source::Index && byte_tables::is_byte(g.ty(n).elem) => Source::Byte(n),
            _ => of_operands,
        };
        self.sources.insert(n, source);
        source
    }

    /// Whether a function of a byte is costly and leaves no error record.
    fn is_table(&mut self, g: &Graph, n: NodeId) -> bool {
        let work = self.work(g, n);
        work.is_costly && !work.may_record
    }

    fn work(&mut self, g: &Graph, n: NodeId) -> Work {
        if let Some(known) = self.functions.get(&n) {
            return *known;
        }
        let known = match self.source(g, n) {
            Source::Byte(byte) if byte != n => None,
            // what is the same for all elements is computed for none if there are none
            Source::Nothing => Some(Work { may_record: may_record(g, n), ..Work::default() }),
            _ => Some(Work::default()),
        };
        if let Some(known) = known {
            self.functions.insert(n, known);
            return known;
        }
        let op = g.op(n);
        let own = Work { is_costly: is_costly(g, n), may_record: op.may_record(g) };
        let work = op.operands().fold(own, |all, o| {
            let of = self.work(g, o);
            Work { is_costly: all.is_costly || of.is_costly, may_record: all.may_record || of.may_record }
        });
        self.functions.insert(n, work);
        work
    }

    /// Whether a coordinate is one of the element's own, or the same for all elements.
    fn is_own(&self, g: &Graph, i: NodeId) -> bool {
        self.index.contains(&i) || g.is_closed(i)
    }
}

/// Stores a function of a byte, and returns its value at that byte.
fn read(g: &mut Graph, value: NodeId, byte: NodeId) -> NodeId {
    let ty = g.ty(byte).elem;
    let least = if ty == Ty::I8 { -BYTES / 2 } else { 0 };
    let length = g.lit(Lit::i64(BYTES));
    let lambda = g.lambda(&[Ty::I64], |g, at| {
        let least = g.lit(Lit::i64(least));
        let number = simplify(g, Op::Binary(BinaryOp::Add, at[0], least));
        let each = g.add(Op::Cast(ty, number));
        replaced(g, value, byte, each, &mut HashMap::default())
    });
    let table = g.add(Op::Generate(vec![length], lambda));
    let table = kept_records::once(g, table);
    let number = g.add(Op::Cast(Ty::I64, byte));
    let least = g.lit(Lit::i64(-least));
    let at = simplify(g, Op::Binary(BinaryOp::Add, number, least));
    g.add(Op::Elem(table, vec![at]))
}
