//! Lowers expressions.

use super::{Bound, Kind, Lower, Target, Value};
use arraygpu_compiler::kernel::Expr;
use arraygpu_compiler::scalar::{BinaryOp, Lit, Ty, UnaryOp};

impl Lower<'_> {
    /// Returns the expression's value.
    pub(super) fn value(&mut self, e: &Expr) -> Value {
        self.compute(e, None)
    }

    /// Returns the expression's value, at the target if one is given.
    pub(super) fn compute(&mut self, e: &Expr, to: Option<Target>) -> Value {
        let v = match e {
            Expr::Lit(l) => {
                let slot = self.constant(l.bits);
                self.early(slot, l.ty)
            }
            Expr::Reg(r) => match self.bound.get(r).cloned() {
                Some(Bound::Value(v) | Bound::Linear(_, Some(v))) => v,
                Some(Bound::Linear(l, None)) => {
                    let v = self.ramp(l);
                    // values that are computed in a branch are valid in that branch only
                    if self.vector.as_ref().is_some_and(|v| v.depth == 0) {
                        self.bound.insert(*r, Bound::Linear(l, Some(v)));
                    }
                    v
                }
                None => unreachable!("verified: {r:?} is defined"),
            },
            Expr::In(i) => self.in_scalar(*i),
            Expr::TileBegin => self.early(self.tiles[0], Ty::I64),
            Expr::TileEnd => self.early(self.tiles[1], Ty::I64),
            Expr::Slot(i) => self.load_slot(*i),
            Expr::Load(m, i) => return self.load(*m, i, to),
            Expr::LoadIf(m, i, c) => return self.load_if(*m, i, c, to),
            Expr::Unary(op, a) => {
                let kind = Kind::Unary(op.precise().unwrap_or(*op), self.k.ty(a));
                return self.of(kind, &[a], to);
            }
            Expr::Binary(op, a, b) => {
                let op = op.precise().unwrap_or(*op);
                return match self.sum_of_product(op, a, b) {
                    Some((kind, operands)) => self.of(kind, &operands, to),
                    None => self.of(Kind::Binary(op, self.k.ty(a)), &[a, b], to),
                };
            }
            Expr::MulAdd(a, b, c) => return self.of(Kind::MulAdd(self.k.ty(a)), &[a, b, c], to),
            Expr::Select(c, a, b) => {
                return match self.canonical(c, a, b) {
                    Some(kind) => self.of(kind, &[b], to),
                    None => self.of(Kind::Select(self.k.ty(a)), &[c, a, b], to),
                };
            }
            Expr::Cast(ty, a) => return self.of(Kind::Cast(self.k.ty(a), *ty), &[a], to),
            Expr::Place(_)
            | Expr::ShuffleDown(..)
            | Expr::ShuffleUp(..)
            | Expr::ShuffleXor(..)
            | Expr::Broadcast(_) => {
                unreachable!("verified: a CPU kernel")
            }
        };
        to.map_or(v, |to| self.place(v, to))
    }

    fn of(&mut self, kind: Kind, operands: &[&Expr], to: Option<Target>) -> Value {
        let values = operands.iter().map(|e| self.value(e)).collect();
        self.apply(kind, values, to)
    }

    fn in_scalar(&mut self, i: u32) -> Value {
        let ty = self.k.ins[i as usize].1;
        let slot = match self.ins.get(&i) {
            Some(slot) => *slot,
            None => {
                let (slot, number) = self.scalar();
                self.program.ins.push((number, i, ty == Ty::Bool));
                self.ins.insert(i, slot);
                slot
            }
        };
        self.early(slot, ty)
    }

    /// Matches a product of floats that is added or subtracted: one loop computes both, each
    /// rounded.
    fn sum_of_product<'e>(&self, op: BinaryOp, a: &'e Expr, b: &'e Expr) -> Option<(Kind, [&'e Expr; 3])> {
        let ty = self.k.ty(a);
        if !matches!(ty, Ty::F32 | Ty::F64) {
            return None;
        }
        let product = |e: &'e Expr| match e {
            Expr::Binary(op, x, y) if op.precise().unwrap_or(*op) == BinaryOp::Mul => Some([&**x, &**y]),
            _ => None,
        };
        match (op, product(a), product(b)) {
            (BinaryOp::Add, _, Some([x, y])) => Some((Kind::Added(ty), [x, y, a])),
            (BinaryOp::Add, Some([x, y]), _) => Some((Kind::Added(ty), [x, y, b])),
            (BinaryOp::Sub, _, Some([x, y])) => Some((Kind::Subtracted(ty), [x, y, a])),
            _ => None,
        }
    }

    /// Matches `x != x ? nan : x`, with the canonical NaN.
    fn canonical(&self, c: &Expr, a: &Expr, b: &Expr) -> Option<Kind> {
        let ty = self.k.ty(b);
        let is_float = matches!(ty, Ty::F32 | Ty::F64);
        let is_nan = matches!(c, Expr::Binary(BinaryOp::Ne, x, y) if x == y && **x == *b);
        let nan = matches!(a, Expr::Lit(l) if is_float && *l == Lit::float(ty, f64::NAN).canonical());
        (is_nan && nan && matches!(b, Expr::Reg(_))).then_some(Kind::Canonical(ty))
    }

    /// Whether an expression only renames a value or reads its bits as another type.
    pub(super) fn is_renaming(&self, e: &Expr) -> bool {
        match e {
            Expr::Reg(_) => true,
            Expr::Unary(op, a) => {
                matches!(op, UnaryOp::Unlikely | UnaryOp::ToBits | UnaryOp::FromBits) && self.is_renaming(a)
            }
            Expr::Cast(to, a) => Kind::Cast(self.k.ty(a), *to).is_same() && self.is_renaming(a),
            _ => false,
        }
    }
}
