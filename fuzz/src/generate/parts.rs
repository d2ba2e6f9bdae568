//! Rows and columns, matrix products, margins and blocks.

use super::{Gen, ok};
use arraygpu_compiler::build::Boundary;
use arraygpu_compiler::core::{NodeId, Op};
use arraygpu_compiler::scalar::{BinaryOp, Ty};

impl Gen<'_> {
    /// A row, column or plane: at an index that the host knows, or at one that runs over it, or at
    /// any (then each element is a total read).
    pub(super) fn part(&mut self, x: NodeId) -> NodeId {
        let axis = self.rng.below(self.ty(x).rank.into()) as u8;
        let extent = self.b.extents(x)[usize::from(axis)];
        let n = self.number(extent);
        let own: Vec<NodeId> = self.indices.iter().filter(|i| i.extent == extent).map(|i| i.var).collect();
        self.next_line();
        if !own.is_empty() && !self.rng.one_in(4) {
            let index = self.rng.pick(&own);
            self.note("a row of an element");
            return ok(self.b.pick("row", x, axis, index, true));
        }
        if self.wild && !self.indices.is_empty() && self.rng.one_in(2) {
            let i = self.rng.below(self.indices.len());
            let index = self.indices[i].var;
            self.note("a row at any index");
            return ok(self.b.pick("row", x, axis, index, false));
        }
        if n == 0 {
            return x;
        }
        let at = self.rng.between(0, n - 1);
        let index = self.host_of(at);
        self.note("a row that the host knows");
        self.next_line();
        ok(self.b.pick("row", x, axis, index, false))
    }

    /// A reduction of each row, column or plane.
    pub(super) fn parts(&mut self, ty: Ty) -> NodeId {
        let deep: Vec<NodeId> = self.arrays.iter().copied().filter(|x| self.ty(*x).rank > 1).collect();
        if deep.is_empty() {
            let x = self.some_array();
            return self.map_of(x, ty);
        }
        let x = self.rng.pick(&deep);
        let axis = self.rng.below(self.ty(x).rank.into()) as u8;
        let extent = self.b.extents(x)[usize::from(axis)];
        let lambda = self.lambda(&[Ty::I64], &[extent], |g, i| {
            g.next_line();
            let part = ok(g.b.pick("row", x, axis, i[0], true));
            g.arrays.push(part);
            let first = g.reduction_of(part);
            g.scalars.push(first);
            if g.ty(first).elem == ty && g.rng.one_in(2) { first } else { g.scalar(ty, 3) }
        });
        self.next_line();
        ok(self.b.generate("map_rows", vec![extent], lambda))
    }

    /// A function of the elements of each row and of reductions of the row, of which the second may need
    /// the first.
    pub(super) fn rows_again(&mut self, ty: Ty) -> NodeId {
        let all = self.arrays_of(ty);
        let is_deep = |x: &NodeId| self.ty(*x).rank > 1 && self.is_closed(*x);
        let all: Vec<NodeId> = all.into_iter().filter(is_deep).collect();
        if all.is_empty() || ty == Ty::Bool {
            return self.parts(ty);
        }
        let mut x = self.rng.pick(&all);
        self.note("rows and their reductions");
        for _ in 0..self.rng.pick(&[1, 2, 2, 3]) {
            let of_rows = self.reduced_rows(x);
            let axis = self.ty(x).rank - 1;
            let n = self.b.extents(x)[usize::from(axis)];
            let wide = ok(self.b.spread("broadcast_cols", of_rows, axis, n));
            let simple = [BinaryOp::Sub, BinaryOp::Add, BinaryOp::Mul, BinaryOp::Max];
            let op = self.rng.pick(&simple);
            let lambda = self.lambda(&[ty, ty], &[], |g, v| match g.rng.one_in(3) {
                true => g.scalar(ty, 2),
                false => g.add(Op::Binary(op, v[0], v[1])),
            });
            self.next_line();
            x = ok(self.b.map("zip_with", lambda, vec![x, wide]));
        }
        x
    }

    /// The reduction of each row, by an operator that has an identity.
    fn reduced_rows(&mut self, x: NodeId) -> NodeId {
        let (ty, rank) = (self.ty(x).elem, usize::from(self.ty(x).rank));
        let outer = self.b.extents(x)[..rank - 1].to_vec();
        let simple = [BinaryOp::Add, BinaryOp::Mul, BinaryOp::Min, BinaryOp::Max];
        let op = self.rng.pick(&simple);
        let deviates = matches!(ty, Ty::F32 | Ty::F64) && self.rng.one_in(4);
        let join = self.lambda(&[ty, ty], &[], |g, v| g.add(Op::Binary(op, v[0], v[1])));
        let lambda = self.lambda(&vec![Ty::I64; outer.len()], &outer.clone(), |g, i| {
            let row = i.iter().fold(x, |part, i| ok(g.b.pick("row", part, 0, *i, true)));
            let init = g.start(ty);
            g.add(match deviates {
                true => Op::SquaredDeviations { init, src: row },
                false => Op::Reduce { join, init, src: row, which: 0 },
            })
        });
        self.next_line();
        ok(self.b.generate("map_rows", outer, lambda))
    }

    /// Inner products of all rows with all columns, alone or as a part of an element.
    pub(super) fn matrix_product(&mut self, ty: Ty) -> NodeId {
        let all: Vec<NodeId> = self.arrays_of(ty).into_iter().filter(|x| self.ty(*x).rank == 2).collect();
        if all.is_empty() || ty == Ty::Bool || ty.is_half() || self.nest > 1 {
            let x = self.some_array();
            return self.map_of(x, ty);
        }
        let a = self.rng.pick(&all);
        let inner = self.shape(a)[1];
        let mut right = Vec::new();
        for b in all {
            right.extend((self.shape(b)[0] == inner).then_some((b, 0)));
            right.extend((self.shape(b)[1] == inner).then_some((b, 1)));
        }
        let (b, axis) = self.rng.pick(&right);
        let (rows, cols) = (self.b.extents(a)[0], self.b.extents(b)[1 - axis]);
        let beside = self.rng.one_in(4);
        self.note(if beside { "product in an element" } else { "matrix product" });
        let lambda = self.lambda(&[Ty::I64, Ty::I64], &[rows, cols], |g, i| {
            g.next_line();
            let row = ok(g.b.pick("matmul", a, 0, i[0], true));
            let col = ok(g.b.pick("matmul", b, 1 - axis as u8, i[1], true));
            let product = match g.rng.below(8) {
                0 => ok(g.b.dot(row, col)),
                1 => g.contraction(row, col),
                _ => ok(g.b.panel_dot(row, col)),
            };
            g.scalars.push(product);
            if beside { g.scalar(ty, 2) } else { product }
        });
        self.next_line();
        ok(self.b.generate("matmul", vec![rows, cols], lambda))
    }

    /// A reduction of a function of two vectors of one length.
    fn contraction(&mut self, a: NodeId, b: NodeId) -> NodeId {
        let ty = self.ty(a).elem;
        self.note("contraction");
        let pair = self.lambda(&[ty, ty], &[], |g, v| {
            let simple = [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Min];
            let op = g.rng.pick(&simple);
            let first = g.add(Op::Binary(op, v[0], v[1]));
            g.scalars.push(first);
            if g.rng.one_in(2) { g.scalar(ty, 2) } else { first }
        });
        self.next_line();
        let pairs = ok(self.b.map("zip_with", pair, vec![a, b]));
        let simple = [BinaryOp::Add, BinaryOp::Mul, BinaryOp::Min, BinaryOp::Max];
        let op = self.rng.pick(&simple);
        let join = self.lambda(&[ty, ty], &[], |g, v| g.add(Op::Binary(op, v[0], v[1])));
        let init = self.start(ty);
        self.add(Op::Reduce { join, init, src: pairs, which: 0 })
    }

    pub(super) fn padded(&mut self, x: NodeId) -> NodeId {
        let ty = self.ty(x);
        let axis = self.rng.below(ty.rank.into()) as u8;
        let n = self.shape(x)[usize::from(axis)];
        let boundary = match self.rng.below(4) {
            0 => Boundary::Clamp,
            1 => Boundary::Mirror,
            2 => Boundary::Wrap,
            _ => Boundary::Constant(self.scalar(ty.elem, 1)),
        };
        let limited = matches!(boundary, Boundary::Mirror | Boundary::Wrap);
        if n == 0 && !limited {
            return x;
        }
        self.note(match boundary {
            Boundary::Clamp => "padded: clamp",
            Boundary::Mirror => "padded: mirror",
            Boundary::Wrap => "padded: wrap",
            Boundary::Constant(_) => "padded: constant",
        });
        let most = if limited { n.min(3) } else { 3 };
        let [before, after] = [(); 2].map(|()| {
            let margin = self.rng.between(0, most);
            self.host_of(margin)
        });
        self.next_line();
        ok(self.b.pad(x, axis, [before, after], &boundary))
    }

    /// The array with a part replaced by another array.
    pub(super) fn replaced(&mut self, x: NodeId) -> NodeId {
        let (ty, shape) = (self.ty(x), self.shape(x));
        let all: Vec<NodeId> = self.arrays.iter().copied().filter(|y| self.ty(*y) == ty).collect();
        let mut parts = Vec::new();
        for y in all {
            let part = self.shape(y);
            if part.iter().zip(&shape).all(|(p, n)| (1..=*n).contains(p)) {
                parts.push((y, part));
            }
        }
        if parts.is_empty() {
            let axis = self.rng.below(ty.rank.into()) as u8;
            return self.add(Op::Reverse(x, axis));
        }
        self.note("a part replaced");
        let k = self.rng.below(parts.len());
        let (part, lengths) = parts.swap_remove(k);
        let start: Vec<NodeId> = lengths
            .iter()
            .zip(&shape)
            .map(|(p, n)| {
                let at = self.rng.between(0, n - p);
                self.host_of(at)
            })
            .collect();
        self.next_line();
        ok(self.b.replace("with_block", x, part, &start))
    }
}
