//! What programs cost: the interpreter's time, and the size of the fused code. An array's cost is
//! that of one element.

use super::Gen;
use super::loops::MOST_STEPS;
use arraygpu_compiler::core::{NodeId, Op};

/// The most that an element may cost: all arrays that it is made of become one expression.
const MOST_EACH: f64 = 600.0;

impl Gen<'_> {
    /// What a scalar costs, or an element of an array.
    pub(super) fn cost(&mut self, n: NodeId) -> f64 {
        if let Some(known) = self.costs.get(&n) {
            return *known;
        }
        let op = self.b.function.graph.op(n).clone();
        let operands: Vec<NodeId> = op.operands().collect();
        let body = op.lambda().map(|l| l.body);
        let closed = self.is_closed(n);
        let sum = |g: &mut Self| operands.iter().map(|o| g.cost(*o)).sum::<f64>();
        let cost = match &op {
            Op::Const(_) | Op::Param(_) | Op::Var(..) | Op::Turn | Op::Checked | Op::Len(..) => 1.0,
            Op::Unary(op, _) if op.is_elementary() => 60.0 + sum(self),
            Op::Binary(op, ..) if op.is_elementary() => 90.0 + sum(self),
            Op::Iterate { .. } | Op::Materialize(_) if closed => 1.0,
            // a step of a merge searches for the place of each element
            Op::Argsort(_) => 40.0 + sum(self),
            // a few elements of it and of its parts are joined in each place
            Op::Scan { .. } => 20.0 + 4.0 * sum(self) + 12.0 * body.map_or(0.0, |b| self.cost(b)),
            op if op.is_reduction() => {
                if closed {
                    1.0
                } else {
                    self.pass(n)
                }
            }
            // the interpreter computes all of an array that depends on variables
            Op::At(x, _) | Op::Elem(x, _) if !self.is_closed(*x) => {
                sum(self) + self.elements(*x) * self.cost(*x)
            }
            Op::Loop { .. } => 1.0 + sum(self) + MOST_STEPS as f64 * body.map_or(0.0, |b| self.cost(b)),
            _ => 1.0 + sum(self) + body.map_or(0.0, |b| self.cost(b)),
        };
        self.costs.insert(n, cost);
        cost
    }

    /// What a whole reduction costs.
    fn pass(&mut self, n: NodeId) -> f64 {
        let op = self.b.function.graph.op(n).clone();
        let body = op.lambda().map_or(1.0, |l| self.cost(l.body));
        let mut all = 1.0;
        for x in op.operands() {
            all +=
                if self.ty(x).is_scalar() { self.cost(x) } else { self.elements(x) * (self.cost(x) + body) };
        }
        all
    }

    /// How many elements an array has; a length that is 0 in the witness may be 1 in another call.
    fn elements(&mut self, x: NodeId) -> f64 {
        self.shape(x).iter().map(|n| (*n).max(1) as f64).product()
    }

    /// Whether a new value is affordable; if so, it is paid for if it is stored.
    pub(super) fn affords(&mut self, n: NodeId) -> bool {
        let each = self.cost(n);
        let op = self.b.function.graph.op(n).clone();
        let work = match &op {
            op if op.is_reduction() => self.pass(n),
            Op::Materialize(x) => self.elements(*x) * (1.0 + self.cost(*x)),
            _ if self.ty(n).is_scalar() => each,
            _ => self.elements(n) * each,
        };
        let most = self.most_work - self.work;
        if each > MOST_EACH || work > most {
            return false;
        }
        if self.nest == 0 && op.needs_launch() {
            self.work += work;
        }
        true
    }
}
