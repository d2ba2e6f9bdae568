//! Host scalars and their values in the witness.

use super::Gen;
use arraygpu_compiler::core::{NodeId, Op};
use arraygpu_compiler::scalar::{BinaryOp, Lit, Ty, eval_binary, eval_cast, eval_mul_add, eval_unary};

impl Gen<'_> {
    /// The value of a host scalar in the witness.
    pub(super) fn value(&mut self, n: NodeId) -> Lit {
        if let Some(known) = self.known.get(&n) {
            return *known;
        }
        let op = self.b.function.graph.op(n).clone();
        let value = match op {
            Op::Const(l) => l,
            Op::Param(i) => self.values[i as usize].expect("a scalar parameter"),
            Op::Unary(op, a) => eval_unary(op, self.value(a)),
            Op::Binary(op, a, b) => eval_binary(op, self.value(a), self.value(b)).0,
            Op::MulAdd(a, b, c) => eval_mul_add(self.value(a), self.value(b), self.value(c)),
            Op::Select(c, a, b) => {
                let taken = if self.value(c).as_bool() { a } else { b };
                self.value(taken)
            }
            Op::Cast(ty, a) => eval_cast(ty, self.value(a)),
            Op::Stage(a) => self.value(a),
            Op::Len(x, axis) => match *self.b.function.graph.op(x) {
                Op::Param(i) => Lit::i64(self.extents[i as usize][usize::from(axis)]),
                _ => {
                    let extent = self.b.extents(x)[usize::from(axis)];
                    self.value(extent)
                }
            },
            op => unreachable!("{op:?} is no host scalar"),
        };
        self.known.insert(n, value);
        value
    }

    pub(super) fn number(&mut self, n: NodeId) -> i64 {
        self.value(n).as_i64()
    }

    /// The extents of an array in the witness.
    pub(super) fn shape(&mut self, x: NodeId) -> Vec<i64> {
        let extents = self.b.extents(x).to_vec();
        extents.into_iter().map(|n| self.number(n)).collect()
    }

    pub(super) fn count(&mut self, x: NodeId) -> i64 {
        self.shape(x).iter().product()
    }

    /// The extents of arrays that are in scope; mostly some array has it.
    pub(super) fn some_extent(&mut self) -> NodeId {
        let closed: Vec<NodeId> = self.arrays.clone();
        if closed.is_empty() {
            return self.int(2);
        }
        let x = self.rng.pick(&closed);
        let extents = self.b.extents(x).to_vec();
        self.rng.pick(&extents)
    }

    /// A host scalar of type i64.
    pub(super) fn host(&mut self, depth: usize) -> NodeId {
        if depth == 0 || self.rng.one_in(3) {
            let params: Vec<NodeId> = self.host_params();
            return match self.rng.below(3) {
                0 if !params.is_empty() => self.rng.pick(&params),
                1 => {
                    let n = self.rng.between(0, 5);
                    self.int(n)
                }
                _ => self.length(),
            };
        }
        use BinaryOp::*;
        let op = self.rng.pick(&[Add, Sub, Mul, Div, Rem, Min, Max, Min, Max, And]);
        let (a, b) = (self.host(depth - 1), self.host(depth - 1));
        self.add(Op::Binary(op, a, b))
    }

    /// `len` of an array, or the node that its extent is known to equal.
    fn length(&mut self) -> NodeId {
        if self.rng.one_in(2) || self.arrays.is_empty() {
            return self.some_extent();
        }
        let all = self.arrays.clone();
        let x = self.rng.pick(&all);
        if !self.is_closed(x) {
            return self.some_extent();
        }
        let axis = self.rng.below(self.ty(x).rank.into()) as u8;
        self.add(Op::Len(x, axis))
    }

    /// Scalar parameters as i64.
    fn host_params(&mut self) -> Vec<NodeId> {
        let params: Vec<NodeId> = (0..self.values.len() as u32).map(NodeId).collect();
        let mut out = Vec::new();
        for p in params {
            let ty = self.ty(p);
            if ty.is_scalar() {
                out.push(if ty.elem == Ty::I64 { p } else { self.add(Op::Cast(Ty::I64, p)) });
            }
        }
        out
    }

    /// A host scalar that has this value in the witness.
    pub(super) fn host_of(&mut self, value: i64) -> NodeId {
        let n = match self.rng.below(6) {
            0 | 1 => return self.int(value),
            2 => {
                let n = self.some_extent();
                let difference = self.number(n).wrapping_sub(value);
                let c = self.int(difference);
                self.add(Op::Binary(BinaryOp::Sub, n, c))
            }
            3 => {
                let n = self.host(1);
                let difference = value.wrapping_sub(self.number(n));
                let c = self.int(difference);
                self.add(Op::Binary(BinaryOp::Add, n, c))
            }
            4 => {
                // another host scalar, bounded by the value from the side that gives the value
                let n = self.host(1);
                let (is, c) = (self.number(n), self.int(value));
                match is.cmp(&value) {
                    std::cmp::Ordering::Less => self.add(Op::Binary(BinaryOp::Max, n, c)),
                    _ => self.add(Op::Binary(BinaryOp::Min, n, c)),
                }
            }
            _ => {
                let same: Vec<NodeId> = self.extents_of_value(value);
                if same.is_empty() { self.int(value) } else { self.rng.pick(&same) }
            }
        };
        debug_assert_eq!(self.number(n), value);
        n
    }

    fn extents_of_value(&mut self, value: i64) -> Vec<NodeId> {
        let all: Vec<NodeId> = self.arrays.iter().flat_map(|x| self.b.extents(*x).to_vec()).collect();
        all.into_iter().filter(|n| self.number(*n) == value).collect()
    }

    /// The extent of an array to be made, of at most `most` elements in the witness.
    pub(super) fn new_extent(&mut self, most: i64) -> NodeId {
        let n = if self.rng.one_in(2) { self.some_extent() } else { self.host(2) };
        let is = self.number(n);
        if (0..=most).contains(&is) {
            return n;
        }
        let value = self.rng.pick(&[0, 1, 2, 3, 5, 7]).min(most);
        self.host_of(value)
    }
}
