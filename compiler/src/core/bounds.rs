//! Bounds leave no error record (semantics 4.2): lengths, bounds of slices, numbers of steps. Where one of them
//! divides integers by a value that may be 0, the division is written so that it gives 0 in that case.
//!
//! ```text
//! %1 = rem %k, %m                     %2 = eq %m, 0i64
//! %x = iota %1                  ->    %3 = select %2, 1i64, %m
//!                                     %1 = select %2, 0i64, (rem %k, %3)
//! ```

use super::host::HostScalars;
use super::simplify::simplify;
use super::{Graph, NodeId, Op};
use crate::scalar::{BinaryOp, Lit};
use rustc_hash::FxHashMap as HashMap;

/// The bounds of a graph. Nodes that are added to the graph later change nothing.
#[derive(Default, Debug)]
pub struct Bounds {
    /// The rewritten bounds.
    known: HashMap<NodeId, NodeId>,
    hosts: HostScalars,
}

impl Bounds {
    /// Rewrites the bounds of an operation.
    pub fn of(&mut self, g: &mut Graph, op: &mut Op) {
        match op {
            Op::Generate(extents, _) => extents.iter_mut().for_each(|n| *n = self.total(g, *n)),
            Op::Slice { start, stop, stride, .. } => {
                [start, stop, stride].into_iter().for_each(|n| *n = self.total(g, *n));
            }
            Op::Bins { parts: a, count: b, .. }
            | Op::DigitCounts { count: a, tiles: b, .. }
            | Op::DigitEnds { digits: a, tiles: b, .. } => {
                [a, b].into_iter().for_each(|n| *n = self.total(g, *n));
            }
            Op::ByDigit { tiles: n, .. }
            | Op::Spread { n, .. }
            | Op::Iota(n)
            | Op::Fill(n, _)
            | Op::Pick { index: n, .. } => *n = self.total(g, *n),
            Op::Iterate { count, args, .. } => {
                *count = self.total(g, *count);
                let scalars = args.iter_mut().filter(|a| g.ty(**a).is_scalar());
                let scalars: Vec<&mut NodeId> = scalars.collect();
                scalars.into_iter().for_each(|a| *a = self.total(g, *a));
            }
            _ => {}
        }
    }

    /// Returns a host scalar without error records; any other node is returned unchanged.
    pub fn total(&mut self, g: &mut Graph, n: NodeId) -> NodeId {
        if !g.is_closed(n) || !self.hosts.is_host(g, n) || self.hosts.runs_on_host(g, n) {
            return n;
        }
        if let Some(known) = self.known.get(&n) {
            return *known;
        }
        let op = g.op(n).clone();
        // a length leaves no error record itself
        if matches!(op, Op::Len(..)) {
            return n;
        }
        let operands: Vec<NodeId> = op.operands().map(|o| self.total(g, o)).collect();
        let before = g.set_loc(g.node(n).loc.clone());
        let made = match op.with(&operands, None) {
            op @ Op::Binary(o @ (BinaryOp::Div | BinaryOp::Rem), a, b) if op.may_record(g) => {
                let ty = g.ty(b).elem;
                let [zero, one] = [Lit::zero(ty), Lit::one(ty)].map(|l| g.lit(l));
                let is_zero = simplify(g, Op::Binary(BinaryOp::Eq, b, zero));
                let divisor = simplify(g, Op::Select(is_zero, one, b));
                let quotient = g.add(Op::Binary(o, a, divisor));
                simplify(g, Op::Select(is_zero, zero, quotient))
            }
            op => g.add(op),
        };
        g.set_loc(before);
        self.known.insert(n, made);
        made
    }
}
