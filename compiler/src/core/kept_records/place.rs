//! A place of an element that may leave a record: the operation, and how a reader leaves the record.

use crate::core::{Graph, NodeId, Op};
use crate::loc::LocStack;
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp, eval_cast};

/// An operation that may leave a record.
pub struct RecordingPlace {
    pub op: Op,
    pub loc: LocStack,
}

impl RecordingPlace {
    /// Whether both leave the same record.
    pub fn is_same(&self, other: &RecordingPlace) -> bool {
        let line = self.loc.first() == other.loc.first();
        line && match (&self.op, &other.op) {
            (Op::At(x, _), Op::At(y, _)) => x == y,
            (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
        }
    }

    /// Returns the value, with the record of this place if it is left.
    pub fn left(&self, g: &mut Graph, is_left: NodeId, value: NodeId) -> NodeId {
        let ty = g.ty(value).elem;
        let before = g.set_loc(Default::default());
        g.set_loc(self.loc.within(&before));
        let either = |g: &mut Graph, ty: Ty, yes: i64, no: i64| {
            let [yes, no] = [yes, no].map(|n| g.lit(int(ty, n)));
            g.add(Op::Select(is_left, yes, no))
        };
        // whether the operation has the value that it has where it leaves a record
        let is_nothing = match self.op {
            Op::At(x, ref index) => {
                let outside = either(g, Ty::I64, -1, 0);
                let made = g.add(Op::At(x, vec![outside; index.len()]));
                let nothing = g.lit(Lit::zero(g.ty(made).elem));
                g.add(Op::Binary(BinaryOp::Eq, made, nothing))
            }
            Op::Within(..) => {
                let outside = either(g, Ty::I64, -1, 0);
                let one = g.lit(Lit::i64(1));
                let made = g.add(Op::Within(outside, one));
                g.add(Op::Unary(UnaryOp::Not, made))
            }
            Op::Binary(op, _, b) => {
                let ty = g.ty(b).elem;
                let divisor = either(g, ty, 0, 1);
                let one = g.lit(int(ty, 1));
                let made = g.add(Op::Binary(op, one, divisor));
                let nothing = g.lit(Lit::zero(ty));
                g.add(Op::Binary(BinaryOp::Eq, made, nothing))
            }
            ref op => unreachable!("{op:?} leaves no record"),
        };
        // this is the value in any case, but only the operation knows it
        let zero = g.lit(Lit::zero(ty));
        let made = g.add(Op::Select(is_nothing, value, zero));
        g.set_loc(before);
        g.add(Op::Select(is_left, made, value))
    }
}

/// Returns a whole number of a type.
pub fn int(ty: Ty, n: i64) -> Lit {
    eval_cast(ty, Lit::i64(n))
}
