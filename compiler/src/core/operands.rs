//! Access to the operands and lambdas of operations.

use super::{Graph, Lambda, NodeId, Op, ScanPart};
use crate::scalar::Lit;

/// The operands of an operation, without an allocation for up to four.
#[derive(Clone, Debug)]
pub enum Operands {
    /// The nodes, the position of the next one, and the end.
    Few([NodeId; 4], u8, u8),
    /// The operands of an iteration, or of an operation with more than four.
    Many(std::vec::IntoIter<NodeId>),
}

impl Iterator for Operands {
    type Item = NodeId;

    fn next(&mut self) -> Option<NodeId> {
        match self {
            Operands::Few(nodes, at, end) => {
                let node = nodes[..*end as usize].get(*at as usize).copied();
                *at += u8::from(node.is_some());
                node
            }
            Operands::Many(it) => it.next(),
        }
    }
}

/// Calls `$f` on each operand of an operation, borrowed as the operation is.
macro_rules! operands {
    ($op:expr, $f:expr) => {
        match $op {
            Op::Const(_) | Op::Param(_) | Op::Var(..) | Op::Turn | Op::Checked => {}
            Op::Unary(_, a)
            | Op::Cast(_, a)
            | Op::Leave(a, _)
            | Op::Stage(a)
            | Op::Len(a, _)
            | Op::Reverse(a, _)
            | Op::Permute(a, _)
            | Op::Iota(a)
            | Op::Argsort(a)
            | Op::Materialize(a) => $f(a),
            Op::Binary(_, a, b)
            | Op::Within(a, b, _)
            | Op::Fill(a, b)
            | Op::Pick { src: a, index: b, .. }
            | Op::Spread { src: a, n: b, .. }
            | Op::Reduce { init: a, src: b, .. }
            | Op::ReduceOrdered { init: a, src: b, .. }
            | Op::Scan { init: a, src: b, .. }
            | Op::Place { at: a, src: b }
            | Op::SquaredDeviations { init: a, src: b }
            | Op::Fold { init: a, src: b, .. } => {
                $f(a);
                $f(b);
            }
            Op::MulAdd(a, b, c)
            | Op::Select(a, b, c)
            | Op::Dot { init: a, a: b, b: c }
            | Op::PanelDot { init: a, a: b, b: c }
            | Op::DigitCounts { count: a, tiles: b, digits: c }
            | Op::DigitEnds { digits: a, tiles: b, counts: c } => {
                $f(a);
                $f(b);
                $f(c);
            }
            Op::Bins { parts, count, at, src, .. } => {
                $f(parts);
                $f(count);
                $f(at);
                $f(src);
            }
            Op::Put { at, src, base, after } => {
                $f(at);
                $f(src);
                $f(base);
                $f(after);
            }
            Op::ByDigit { tiles, digits, ends, src } => {
                $f(tiles);
                $f(digits);
                $f(ends);
                $f(src);
            }
            Op::Slice { src, start, stop, stride, .. } => {
                $f(src);
                $f(start);
                $f(stop);
                $f(stride);
            }
            Op::Generate(all, _) | Op::Map(_, all) | Op::Tuple(all) => all.into_iter().for_each($f),
            Op::At(x, all)
            | Op::Elem(x, all)
            | Op::Loop { count: x, init: all, .. }
            | Op::Iterate { count: x, args: all, .. } => {
                $f(x);
                all.into_iter().for_each($f);
            }
        }
    };
}

impl Op {
    /// Returns the operand nodes, in order, without the body of a lambda.
    pub fn operands(&self) -> Operands {
        let (mut few, mut count) = ([NodeId(0); 4], 0);
        self.for_operands(|n| {
            if let Some(place) = few.get_mut(count) {
                *place = n;
            }
            count += 1;
        });
        if count <= few.len() {
            return Operands::Few(few, 0, count as u8);
        }
        let mut many = Vec::with_capacity(count);
        self.for_operands(|n| many.push(n));
        Operands::Many(many.into_iter())
    }

    /// Calls `f` on the operands, in the same order.
    #[inline]
    pub fn for_operands(&self, mut f: impl FnMut(NodeId)) {
        let mut f = |n: &NodeId| f(*n);
        operands!(self, &mut f)
    }

    /// Calls `f` on the operands, to change them.
    #[inline]
    pub fn each_operand(&mut self, mut f: impl FnMut(&mut NodeId)) {
        operands!(self, &mut f)
    }

    /// Returns the lambda of a combinator.
    pub fn lambda(&self) -> Option<&Lambda> {
        match self {
            Op::Map(l, _)
            | Op::Generate(_, l)
            | Op::Reduce { join: l, .. }
            | Op::ReduceOrdered { join: l, .. }
            | Op::Scan { join: l, .. }
            | Op::Fold { step: l, .. }
            | Op::Loop { step: l, .. } => Some(l),
            _ => None,
        }
    }

    /// Returns the lambda for mutation.
    pub fn lambda_mut(&mut self) -> Option<&mut Lambda> {
        match self {
            Op::Map(l, _)
            | Op::Generate(_, l)
            | Op::Reduce { join: l, .. }
            | Op::ReduceOrdered { join: l, .. }
            | Op::Scan { join: l, .. }
            | Op::Fold { step: l, .. }
            | Op::Loop { step: l, .. } => Some(l),
            _ => None,
        }
    }

    /// Returns the operation with other operands, as many as [`Op::operands`] returns, and with
    /// another lambda if it has one.
    pub fn with(&self, operands: &[NodeId], lambda: Option<Lambda>) -> Op {
        let mut op = self.clone();
        let mut operands = operands.iter();
        op.each_operand(|o| *o = *operands.next().expect("as many operands"));
        if let Some(l) = op.lambda_mut() {
            *l = lambda.expect("the operation has a lambda");
        }
        op
    }

    /// Returns whether the operation joins elements to one value: a reduction, a fold or an inner
    /// product.
    pub fn is_reduction(&self) -> bool {
        matches!(
            self,
            Op::Reduce { .. }
                | Op::ReduceOrdered { .. }
                | Op::Fold { .. }
                | Op::Dot { .. }
                | Op::PanelDot { .. }
                | Op::SquaredDeviations { .. }
        )
    }

    /// Returns the position of the first parameter of the operation's lambda that stands for a value, such as an
    /// element or a state, and not for an index.
    pub fn first_value(&self) -> usize {
        match self {
            Op::Generate(extents, _) => extents.len(),
            Op::Loop { .. } => 1,
            _ => 0,
        }
    }

    /// Returns whether the operation is an elementary function, such as `exp` or `pow`.
    pub fn is_elementary(&self) -> bool {
        match self {
            Op::Unary(op, _) => op.is_elementary(),
            Op::Binary(op, ..) => op.is_elementary(),
            _ => false,
        }
    }

    /// Returns whether the operation is a loop in the code of the element to which it belongs: a reduction or a loop
    /// of that element.
    pub fn is_loop(&self) -> bool {
        self.is_reduction() || matches!(self, Op::Loop { .. })
    }

    /// Returns whether the value is known only after a launch: a reduction, a scan, an order, a stored array
    /// or an iteration.
    pub fn needs_launch(&self) -> bool {
        self.is_reduction()
            || matches!(
                self,
                Op::Scan { part: ScanPart::Whole, .. }
                    | Op::Argsort(_)
                    | Op::Materialize(_)
                    | Op::Iterate { .. }
            )
    }

    /// Returns whether the operation makes an array that a launch of its own stores: a part of a scan or of a sort,
    /// elements at other places, or bins.
    pub fn is_stored_apart(&self) -> bool {
        matches!(self, Op::Scan { .. } | Op::Place { .. } | Op::Put { .. } | Op::Bins { .. })
            || self.is_step_of_sort()
    }

    /// Returns whether the operation is a step of a radix sort.
    pub fn is_step_of_sort(&self) -> bool {
        matches!(self, Op::DigitCounts { .. } | Op::DigitEnds { .. } | Op::ByDigit { .. })
    }

    /// Returns whether evaluating the operation may leave an error record (semantics section 6).
    pub fn may_record(&self, graph: &Graph) -> bool {
        use crate::scalar::BinaryOp::{Div, Rem};
        match self {
            Op::At(..) | Op::Within(..) | Op::Leave(..) => true,
            Op::Binary(Div | Rem, a, b) => graph.ty(*a).elem.is_int() && !is_never_zero(graph, *b),
            _ => false,
        }
    }
}

/// Returns whether an integer is never 0, as far as its own operation tells.
fn is_never_zero(graph: &Graph, n: NodeId) -> bool {
    use crate::scalar::BinaryOp::{Eq, Max, Or};
    let is = |n: NodeId, zero: bool| graph.as_lit(n).is_some_and(|l| (l.bits == 0) == zero);
    match *graph.op(n) {
        Op::Const(l) => l.bits != 0,
        // lengths of strided slices have this form
        Op::Binary(Max, _, c) => graph.as_lit(c).and_then(Lit::as_int).is_some_and(|c| c >= 1),
        Op::Binary(Or, a, b) => is(a, false) || is(b, false),
        // divisors in bounds have this form
        Op::Select(c, other, x) => {
            let asks = match *graph.op(c) {
                Op::Binary(Eq, a, b) => a == x && is(b, true) || b == x && is(a, true),
                _ => false,
            };
            asks && is(other, false)
        }
        _ => false,
    }
}
