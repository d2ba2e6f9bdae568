//! Arrays from arrays.

use super::{Gen, MOST_ELEMENTS, ok};
use crate::values;
use arraygpu_compiler::build::{Composite, Operands};
use arraygpu_compiler::core::bins::{self, Bins};
use arraygpu_compiler::core::{MAX_RANK, NodeId, Op, Rule};
use arraygpu_compiler::scalar::{BinaryOp, Lit, Ty};

impl Gen<'_> {
    /// A new array with elements of that type, which is in scope from now on; none if the budget
    /// has no room for it.
    pub(super) fn new_array(&mut self, ty: Ty) -> Option<NodeId> {
        if self.is_full() || self.nest > 3 {
            return None;
        }
        let same = self.arrays_of(ty);
        let made = if same.is_empty() || self.rng.one_in(2) {
            self.computed(ty)
        } else {
            let x = self.rng.pick(&same);
            self.moved(x)
        };
        self.keep(made)
    }

    /// Puts an array into scope, if the budget has room for it.
    pub(super) fn keep(&mut self, x: NodeId) -> Option<NodeId> {
        if self.count(x) > MOST_ELEMENTS || !self.affords(x) {
            return None;
        }
        if !self.arrays.contains(&x) {
            self.arrays.push(x);
        }
        Some(x)
    }

    /// An array of any type.
    pub(super) fn some_array(&mut self) -> NodeId {
        let all = self.arrays.clone();
        // prefer the latest ones
        let from = if self.rng.one_in(3) { 0 } else { all.len() / 2 };
        self.rng.pick(&all[from..])
    }

    /// An array whose elements are computed.
    fn computed(&mut self, ty: Ty) -> NodeId {
        match self.rng.below(16) {
            0 | 1 if ty == Ty::I64 && self.rng.one_in(2) => {
                let n = self.new_extent(300);
                self.next_line();
                ok(self.b.iota(n))
            }
            0 | 1 => {
                let n = self.new_extent(300);
                let value = self.scalar(ty, 2);
                self.next_line();
                ok(self.b.fill(n, value))
            }
            2..=5 => self.generate(ty),
            6 => self.parts(ty),
            7 => self.matrix_product(ty),
            8 => self.gather(ty),
            9 => self.windows(ty),
            10 if self.rng.one_in(2) => self.rows_again(ty),
            _ => self.map(ty),
        }
    }

    /// The elements of an array elsewhere, or parts of it beside others.
    fn moved(&mut self, x: NodeId) -> NodeId {
        let rank = usize::from(self.ty(x).rank);
        match self.rng.below(20) {
            0 => {
                let axis = self.rng.below(rank) as u8;
                self.add(Op::Reverse(x, axis))
            }
            1 | 2 => self.slice(x),
            3 | 14 if rank > 1 => {
                let mut axes: Vec<u8> = (0..rank as u8).collect();
                for i in 1..rank {
                    axes.swap(i, self.rng.below(i + 1));
                }
                self.add(Op::Permute(x, axes))
            }
            4 | 5 | 15 if rank > 1 => self.part(x),
            6 | 16 if rank < MAX_RANK => self.spread(x),
            7 | 8 => self.padded(x),
            9 => self.replaced(x),
            10 => self.weighted(x),
            11 => self.stored(x),
            12 => self.iterated(x),
            13 | 17 | 19 if rank == 1 && self.nest == 0 => self.scanned(x),
            14 if rank == 1 && self.nest == 0 && self.rng.one_in(2) => self.filtered(x),
            14 if rank == 1 && self.nest == 0 && self.rng.one_in(2) => self.binned(x),
            14 if rank == 1 && self.nest == 0 => self.put(x),
            18 if rank == 1 && self.nest == 0 => self.sorted(x),
            _ => {
                let ty = self.ty(x).elem;
                self.map_of(x, ty)
            }
        }
    }

    /// The reductions of a vector's elements into a few bins.
    fn binned(&mut self, x: NodeId) -> NodeId {
        use BinaryOp::{Add, And, Max, Min, Or, Xor};
        let ty = self.ty(x).elem;
        let operators: Vec<BinaryOp> =
            [Add, And, Max, Min, Or, Xor].into_iter().filter(|op| bins::is_exact(*op, ty)).collect();
        if operators.is_empty() {
            return x;
        }
        let op = operators[self.rng.below(operators.len())];
        let count = 1 + self.rng.below(9) as i64;
        let at = self.map_of(x, Ty::I64);
        let g = self.b.graph();
        let count = g.lit(Lit::i64(count));
        // some destinations are outside
        let lambda = g.lambda(&[Ty::I64], |g, i| {
            let mask = g.lit(Lit::i64(15));
            let place = g.add(Op::Binary(And, i[0], mask));
            let one = g.lit(Lit::i64(1));
            g.add(Op::Binary(BinaryOp::Sub, place, one))
        });
        let at = ok(self.b.map("map", lambda, vec![at]));
        if !self.affords(at) {
            return x;
        }
        let init = self.b.graph().lit(Lit::zero(ty));
        ok(self.b.bins("scatter_reduce", &Bins { op, count, at, src: x, init }))
    }

    /// A vector's elements at different destinations, some of which are outside.
    fn put(&mut self, x: NodeId) -> NodeId {
        if !self.affords(x) {
            return x;
        }
        let ty = self.ty(x).elem;
        let (count, apart) = (self.rng.below(40) as i64, 1 + self.rng.below(3) as i64);
        let (first, falls) = (self.rng.below(9) as i64 - 4, self.rng.one_in(2));
        let (n, is_as_long) = (self.b.extents(x)[0], self.rng.one_in(2));
        let g = self.b.graph();
        let [count, apart, first] =
            [count, if falls { -apart } else { apart }, first].map(|n| g.lit(Lit::i64(n)));
        let count = if is_as_long { n } else { count };
        let rest = g.lit(Lit::zero(ty));
        let place = g.lambda(&[Ty::I64], |g, i| {
            let moved = g.add(Op::Binary(BinaryOp::Mul, i[0], apart));
            g.add(Op::Binary(BinaryOp::Add, moved, first))
        });
        let at = ok(self.b.iota(n));
        let at = ok(self.b.map("map", place, vec![at]));
        let of = Operands { values: &[at, count, x, rest], operator: None };
        ok(self.b.composite(Composite::ScatterUnique, of)).remove(0)
    }

    /// A vector in order, or one with the elements first for which a condition does not hold. Others of its length
    /// may be in the same order.
    fn sorted(&mut self, x: NodeId) -> NodeId {
        let keys = if self.rng.one_in(4) { self.map_of(x, Ty::Bool) } else { x };
        let order = self.add(Op::Argsort(keys));
        if !self.affords(order) {
            return x;
        }
        // by its number, not by chance, so that the programs of seeds without this stay as they are
        if !order.0.is_multiple_of(4) {
            self.keep(order);
            let lambda = self.b.graph().lambda(&[Ty::I64], |g, i| g.add(Op::At(x, vec![i[0]])));
            return self.add(Op::Map(lambda, vec![order]));
        }
        // nothing else reads the order, so that values may move with their keys
        self.note("values in the order of keys");
        let others = self.same_shape(x);
        for _ in 0..self.rng.below(4) {
            let y = self.rng.pick(&others);
            let [n, m] = [x, y].map(|v| self.b.extents(v)[0]);
            self.next_line();
            ok(self.b.require("sort_by_key", Rule::Same, n, m));
            let moved = self.gathered(y, order);
            self.keep(moved);
        }
        self.gathered(x, order)
    }

    /// The elements of a vector in an order of its indices.
    fn gathered(&mut self, x: NodeId, order: NodeId) -> NodeId {
        let lambda = self.b.graph().lambda(&[Ty::I64], |g, i| g.add(Op::Elem(x, vec![i[0]])));
        self.add(Op::Map(lambda, vec![order]))
    }

    /// The elements of an array in other places, or some of them.
    pub(super) fn elsewhere(&mut self, x: NodeId) -> NodeId {
        let rank = usize::from(self.ty(x).rank);
        if self.is_full() {
            return x;
        }
        let made = match self.rng.below(4) {
            0 | 1 if rank > 1 => {
                let mut axes: Vec<u8> = (0..rank as u8).collect();
                axes.rotate_left(1);
                self.add(Op::Permute(x, axes))
            }
            0 | 2 => {
                let axis = self.rng.below(rank) as u8;
                self.add(Op::Reverse(x, axis))
            }
            _ => self.slice(x),
        };
        self.keep(made).unwrap_or(x)
    }

    /// `materialize`, which a closure may ask for only of what does not depend on it.
    fn stored(&mut self, x: NodeId) -> NodeId {
        if !self.is_closed(x) {
            if self.refused.is_some() || !self.rng.one_in(12) {
                return x;
            }
            self.refused = Some("E0401");
            self.note("E0401: a stored part of an element");
        }
        let made = self.add(Op::Materialize(x));
        if self.is_closed(x) && !self.affords(made) { x } else { made }
    }

    /// Another array of the same shape in the witness, or the same.
    pub(super) fn partner(&mut self, x: NodeId) -> NodeId {
        let ty = self.ty(x);
        let all: Vec<NodeId> = self.arrays.iter().copied().filter(|y| self.ty(*y) == ty).collect();
        let shape = self.shape(x);
        let mut fits = vec![x];
        for y in all {
            if self.shape(y) == shape {
                fits.push(y);
            }
        }
        self.rng.pick(&fits)
    }

    /// Arrays of any type that have that shape in the witness.
    pub(super) fn same_shape(&mut self, x: NodeId) -> Vec<NodeId> {
        let (rank, shape) = (self.ty(x).rank, self.shape(x));
        let all: Vec<NodeId> = self.arrays.iter().copied().filter(|y| self.ty(*y).rank == rank).collect();
        all.into_iter().filter(|y| self.shape(*y) == shape).chain([x]).collect()
    }

    fn map(&mut self, ty: Ty) -> NodeId {
        let x = self.some_array();
        self.map_of(x, ty)
    }

    /// A function of the elements of an array, and of others of the same shape.
    pub(super) fn map_of(&mut self, x: NodeId, ty: Ty) -> NodeId {
        let others = self.same_shape(x);
        let mut arrays = vec![x];
        for _ in 0..self.rng.pick(&[0, 0, 0, 1, 1, 2]) {
            arrays.push(self.rng.pick(&others));
        }
        let types: Vec<Ty> = arrays.iter().map(|a| self.ty(*a).elem).collect();
        let depth = 1 + self.rng.below(4);
        let lambda = self.lambda(&types, &[], |g, _| g.scalar(ty, depth));
        self.next_line();
        ok(self.b.map("zip_with", lambda, arrays))
    }

    /// An array computed from indices.
    fn generate(&mut self, ty: Ty) -> NodeId {
        let mut extents = Vec::new();
        if self.rng.one_in(2) {
            let x = self.some_array();
            extents = self.b.extents(x).to_vec();
        } else {
            let mut most = 300;
            for _ in 0..self.rng.pick(&[1, 1, 1, 2, 2, 3]) {
                let n = self.new_extent(most);
                most = (most / self.number(n).max(1)).max(1);
                extents.push(n);
            }
        }
        let depth = 1 + self.rng.below(4);
        let lambda = self.lambda(&vec![Ty::I64; extents.len()], &extents.clone(), |g, _| g.scalar(ty, depth));
        self.next_line();
        ok(self.b.generate("generate", extents, lambda))
    }

    /// The elements of one array at the elements of another.
    fn gather(&mut self, ty: Ty) -> NodeId {
        let (arrays, indices) = (self.arrays_of(ty), self.arrays_of(Ty::I64));
        if arrays.is_empty() || indices.is_empty() {
            return self.map(ty);
        }
        let (x, k) = (self.rng.pick(&arrays), self.rng.pick(&indices));
        self.note("gather");
        let lambda = self.lambda(&[Ty::I64], &[], |g, _| g.read_of(x, 1));
        self.next_line();
        ok(self.b.map("gather", lambda, vec![k]))
    }

    fn slice(&mut self, x: NodeId) -> NodeId {
        let axis = self.rng.below(self.ty(x).rank.into()) as u8;
        let n = self.shape(x)[usize::from(axis)];
        let start = self.rng.between(0, n.min(4));
        let stop = if self.rng.one_in(2) { n } else { self.rng.between(start, n) };
        let stride = self.rng.pick(&[1, 1, 1, 2, 3, 7]);
        let bounds = [start, stop, stride].map(|v| self.host_of(v));
        self.next_line();
        ok(self.b.slice("slice", x, axis, bounds))
    }

    fn spread(&mut self, x: NodeId) -> NodeId {
        let most = 2000 / self.count(x).max(1);
        let n = self.new_extent(most.max(1));
        let axis = self.rng.below(usize::from(self.ty(x).rank) + 1) as u8;
        self.next_line();
        ok(self.b.spread("broadcast", x, axis, n))
    }

    /// Slices of an array, each a place further, weighted and added.
    fn weighted(&mut self, x: NodeId) -> NodeId {
        let ty = self.ty(x).elem;
        let axis = self.rng.below(self.ty(x).rank.into()) as u8;
        let n = self.shape(x)[usize::from(axis)];
        let taps = self.rng.between(1, 5).min(n);
        if ty == Ty::Bool || taps < 1 {
            return self.slice(x);
        }
        self.note("weighted sum");
        let extent = self.b.extents(x)[usize::from(axis)];
        let (mut slices, one) = (Vec::new(), self.int(1));
        for k in 0..taps {
            let start = self.int(k);
            let rest = self.int(taps - 1 - k);
            let stop = self.add(Op::Binary(BinaryOp::Sub, extent, rest));
            self.next_line();
            slices.push(ok(self.b.slice("weighted_sum", x, axis, [start, stop, one])));
        }
        let weights: Vec<NodeId> = (0..taps)
            .map(|_| {
                let w = values::constant(ty, self.rng);
                self.lit(w)
            })
            .collect();
        let lambda = self.lambda(&vec![ty; slices.len()], &[], |g, v| {
            let first = g.add(Op::Binary(BinaryOp::Mul, v[0], weights[0]));
            v.iter().zip(&weights).skip(1).fold(first, |s, (x, w)| g.add(Op::MulAdd(*w, *x, s)))
        });
        self.next_line();
        ok(self.b.node(Op::Map(lambda, slices)))
    }

    /// As long as another array; each element a reduction of neighbours, whose number may be
    /// staged.
    fn windows(&mut self, ty: Ty) -> NodeId {
        let all: Vec<NodeId> = self.arrays_of(ty).into_iter().filter(|x| self.ty(*x).rank == 1).collect();
        if all.is_empty() || self.nest > 1 {
            return self.map(ty);
        }
        let x = self.rng.pick(&all);
        let extent = self.b.extents(x)[0];
        self.note("window");
        let mut taps = self.new_extent(7);
        if self.rng.one_in(2) && arraygpu_compiler::core::verify::runs_on_host(&self.b.function.graph, taps) {
            taps = ok(self.b.stage(taps));
            self.note("staged window");
        }
        let lambda = self.lambda(&[Ty::I64], &[extent], |g, _| {
            let body = g.lambda(&[Ty::I64], &[taps], |g, _| g.read_of(x, 1));
            g.next_line();
            let window = ok(g.b.generate("generate", vec![taps], body));
            g.reduction_of(window)
        });
        self.next_line();
        ok(self.b.generate("generate", vec![extent], lambda))
    }
}
