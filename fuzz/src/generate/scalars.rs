//! Scalar expressions over what is in scope.

use super::{Gen, ok};
use crate::values;
use arraygpu_compiler::core::{NodeId, Op, Tested, verify};
use arraygpu_compiler::scalar::{BinaryOp, Lit, Ty, UnaryOp};

/// Whether an author may write it: not what passes make.
pub fn is_unary_of_users(op: UnaryOp) -> bool {
    op != UnaryOp::Unlikely && op.precise().is_none()
}

/// Whether an author may write it, as [`is_unary_of_users`].
pub fn is_binary_of_users(op: BinaryOp) -> bool {
    op != BinaryOp::RemSlow && op.precise().is_none()
}

impl Gen<'_> {
    /// A scalar expression of that type.
    pub(super) fn scalar(&mut self, ty: Ty, depth: usize) -> NodeId {
        if depth == 0 || self.is_full() || self.rng.one_in(6) {
            return self.leaf(ty);
        }
        let made = self.compound(ty, depth - 1);
        if !self.affords(made) {
            return self.leaf(ty);
        }
        if self.rng.one_in(8) {
            self.b.bind(made);
        }
        if self.rng.one_in(3) {
            self.scalars.push(made);
        }
        made
    }

    fn leaf(&mut self, ty: Ty) -> NodeId {
        let known: Vec<NodeId> = self.scalars.iter().copied().filter(|n| self.ty(*n).elem == ty).collect();
        if !known.is_empty() && !self.rng.one_in(4) {
            // prefer the innermost variables
            let from = if self.rng.one_in(2) { known.len() / 2 } else { 0 };
            return self.rng.pick(&known[from..]);
        }
        if self.rng.one_in(3) && !self.scalars.is_empty() {
            let all = self.scalars.clone();
            let other = self.rng.pick(&all);
            return self.add(Op::Cast(ty, other));
        }
        let l = values::constant(ty, self.rng);
        self.lit(l)
    }

    fn compound(&mut self, ty: Ty, d: usize) -> NodeId {
        if matches!(ty, Ty::F32 | Ty::F64 | Ty::U32 | Ty::U64) && self.rng.one_in(24) {
            return self.bits(ty, d);
        }
        match self.rng.below(24) {
            0 | 1 => self.select(ty, d),
            2 | 3 => {
                let from = self.some_type();
                let a = self.scalar(from, d);
                self.add(Op::Cast(ty, a))
            }
            4 if ty != Ty::Bool => {
                let [a, b, c] = [(); 3].map(|()| self.scalar(ty, d));
                self.add(Op::MulAdd(a, b, c))
            }
            5..=7 => self.unary(ty, d),
            8 | 9 => self.read(ty, d),
            10 => self.proven_read(ty, d),
            11 | 12 => self.reduction(ty),
            13 => self.staged(ty),
            14 if ty == Ty::Bool => {
                let n = self.some_extent();
                // an index that runs over the extent is inside
                let own = self.indices.iter().find(|i| i.extent == n).map(|i| i.var);
                match own {
                    Some(i) => self.add(Op::Within(i, n, Tested::Index)),
                    None if self.wild => {
                        let i = self.index(d);
                        self.add(Op::Within(i, n, Tested::Index))
                    }
                    None => self.comparison(d),
                }
            }
            14 => {
                let n = self.some_extent();
                self.add(Op::Cast(ty, n))
            }
            15..=17 if ty == Ty::Bool => self.comparison(d),
            _ => self.binary(ty, d),
        }
    }

    /// An index, or any i64.
    fn index(&mut self, d: usize) -> NodeId {
        if self.indices.is_empty() || self.rng.one_in(3) {
            return self.scalar(Ty::I64, d);
        }
        let i = self.rng.below(self.indices.len());
        let var = self.indices[i].var;
        match self.rng.below(4) {
            0 => var,
            k => {
                let c = self.rng.between(-2, 2);
                let c = self.int(c);
                let op = if k == 1 { BinaryOp::Sub } else { BinaryOp::Add };
                self.add(Op::Binary(op, var, c))
            }
        }
    }

    fn select(&mut self, ty: Ty, d: usize) -> NodeId {
        if ty != Ty::Bool && self.rng.one_in(4) {
            return self.of_reduction(ty, d);
        }
        let c = if self.rng.one_in(3) && ty != Ty::Bool {
            // a condition on the value that is selected
            let a = self.scalar(ty, d);
            let zero = values::small(ty, self.rng.between(0, 1));
            let zero = self.lit(zero);
            let op = self.rng.pick(&[BinaryOp::Gt, BinaryOp::Ne, BinaryOp::Le]);
            self.add(Op::Binary(op, a, zero))
        } else {
            self.scalar(Ty::Bool, d)
        };
        let (a, b) = (self.scalar(ty, d), self.scalar(ty, d));
        self.add(Op::Select(c, a, b))
    }

    /// A selection whose condition is a reduction that is also selected, or that has a reduction in
    /// one arm only.
    fn of_reduction(&mut self, ty: Ty, d: usize) -> NodeId {
        self.note("a condition of a reduction");
        let r = self.reduction(ty);
        let zero = values::small(ty, 0);
        let zero = self.lit(zero);
        let op = self.rng.pick(&[BinaryOp::Gt, BinaryOp::Ne, BinaryOp::Le]);
        let c = self.add(Op::Binary(op, r, zero));
        self.scalars.push(r);
        let other = self.scalar(ty, d);
        match self.rng.below(3) {
            0 => self.add(Op::Select(c, r, other)),
            1 => {
                let f = self.unary(ty, 0);
                self.add(Op::Select(c, other, f))
            }
            _ => {
                let c = self.scalar(Ty::Bool, d);
                self.add(Op::Select(c, other, r))
            }
        }
    }

    fn unary(&mut self, ty: Ty, d: usize) -> NodeId {
        // elementary functions are long, and therefore rare
        let elementary = ty.is_float() && self.rng.one_in(3);
        let wanted = |o: &UnaryOp| {
            is_unary_of_users(*o) && o.accepts(ty) && o.result(ty) == ty && o.is_elementary() == elementary
        };
        let ops: Vec<UnaryOp> = UnaryOp::ALL.iter().copied().filter(wanted).collect();
        let a = self.scalar(ty, d);
        if ops.is_empty() {
            return a;
        }
        let op = self.rng.pick(&ops);
        self.add(Op::Unary(op, a))
    }

    /// The float with some bits, or the bits of a float; as the language writes it, those of a NaN are always the same.
    fn bits(&mut self, ty: Ty, d: usize) -> NodeId {
        let (other, one_nan) = match ty {
            Ty::F32 => (Ty::U32, None),
            Ty::F64 => (Ty::U64, None),
            Ty::U32 => (Ty::F32, Some(Lit::u32(f32::NAN.to_bits()))),
            _ => (Ty::F64, Some(Lit::u64(f64::NAN.to_bits()))),
        };
        let a = self.scalar(other, d);
        let Some(one_nan) = one_nan else { return self.add(Op::Unary(UnaryOp::FromBits, a)) };
        let is_nan = self.add(Op::Binary(BinaryOp::Ne, a, a));
        let (one_nan, bits) = (self.lit(one_nan), self.add(Op::Unary(UnaryOp::ToBits, a)));
        self.add(Op::Select(is_nan, one_nan, bits))
    }

    fn comparison(&mut self, d: usize) -> NodeId {
        let from = self.some_type();
        let wanted = |o: &BinaryOp| o.is_comparison() && o.accepts(from);
        let ops: Vec<BinaryOp> = BinaryOp::ALL.iter().copied().filter(wanted).collect();
        let op = self.rng.pick(&ops);
        let (a, b) = (self.scalar(from, d), self.scalar(from, d));
        self.add(Op::Binary(op, a, b))
    }

    fn binary(&mut self, ty: Ty, d: usize) -> NodeId {
        let elementary = ty.is_float() && self.rng.one_in(8);
        let wanted = |o: &BinaryOp| {
            is_binary_of_users(*o) && o.accepts(ty) && o.result(ty) == ty && o.is_elementary() == elementary
        };
        let ops: Vec<BinaryOp> = BinaryOp::ALL.iter().copied().filter(wanted).collect();
        let op = self.rng.pick(&ops);
        let (a, mut b) = (self.scalar(ty, d), self.scalar(ty, d));
        if matches!(op, BinaryOp::Div | BinaryOp::Rem) && ty.is_int() && !self.wild {
            b = self.divisor(ty, b);
        }
        self.add(Op::Binary(op, a, b))
    }

    /// A divisor that is not 0.
    fn divisor(&mut self, ty: Ty, b: NodeId) -> NodeId {
        let one = self.lit(values::small(ty, 1));
        match self.rng.below(3) {
            0 => self.add(Op::Binary(BinaryOp::Max, b, one)),
            1 => self.add(Op::Binary(BinaryOp::Or, b, one)),
            _ => {
                let n = self.rng.pick(&[1, 2, 3, 7, 9, 10, 127, -1, -3]);
                self.lit(values::small(ty, n))
            }
        }
    }

    fn staged(&mut self, ty: Ty) -> NodeId {
        let hosts: Vec<NodeId> = self.scalars.iter().copied().filter(|n| self.ty(*n).elem == ty).collect();
        let n = if ty == Ty::I64 || hosts.is_empty() {
            let n = self.host(1);
            if ty == Ty::I64 { n } else { self.add(Op::Cast(ty, n)) }
        } else {
            self.rng.pick(&hosts)
        };
        let g = &self.b.function.graph;
        if !verify::is_host(g, n) || !verify::runs_on_host(g, n) {
            return n;
        }
        self.next_line();
        ok(self.b.stage(n))
    }

    /// Arrays in scope of that type, which are not too long to be read inside of an element if they
    /// depend on it.
    pub(super) fn arrays_of(&mut self, ty: Ty) -> Vec<NodeId> {
        self.arrays.iter().copied().filter(|x| self.ty(*x).elem == ty).collect()
    }

    fn read(&mut self, ty: Ty, d: usize) -> NodeId {
        let mut arrays = self.arrays_of(ty);
        if arrays.is_empty() || self.rng.one_in(8) {
            match self.new_array(ty) {
                Some(x) => arrays = vec![x],
                None => return self.leaf(ty),
            }
        }
        let x = self.rng.pick(&arrays);
        self.read_of(x, d)
    }

    /// A total read. Inside, unless the program is wild.
    pub(super) fn read_of(&mut self, x: NodeId, d: usize) -> NodeId {
        let shape = self.shape(x);
        let extents = self.b.extents(x).to_vec();
        let wild = self.wild && self.rng.one_in(2);
        let (mut index, mut guard) = (Vec::new(), None);
        let careful = shape.contains(&0) || self.rng.one_in(6);
        for (n, extent) in shape.into_iter().zip(extents) {
            let own = self.indices.iter().find(|i| i.extent == extent).map(|i| i.var);
            let i = match own {
                Some(var) if self.rng.one_in(3) => var,
                _ if n > 0 && self.rng.one_in(4) => {
                    let at = self.rng.between(0, n - 1);
                    self.host_of(at)
                }
                _ => {
                    let i = self.index(d);
                    if wild || careful { i } else { self.clamped(i, extent) }
                }
            };
            if !wild && careful {
                guard = Some(self.inside(i, extent, guard));
            }
            index.push(i);
        }
        let read = self.add(Op::At(x, index));
        match guard {
            Some(inside) => {
                let zero = self.lit(Lit::zero(self.ty(read).elem));
                self.add(Op::Select(inside, read, zero))
            }
            None => read,
        }
    }

    fn clamped(&mut self, i: NodeId, n: NodeId) -> NodeId {
        let (zero, one) = (self.int(0), self.int(1));
        let last = self.add(Op::Binary(BinaryOp::Sub, n, one));
        let low = self.add(Op::Binary(BinaryOp::Max, i, zero));
        self.add(Op::Binary(BinaryOp::Min, low, last))
    }

    /// The condition that 0 <= i < n, and that `others` holds.
    fn inside(&mut self, i: NodeId, n: NodeId, others: Option<NodeId>) -> NodeId {
        let zero = self.int(0);
        let above = self.add(Op::Binary(BinaryOp::Ge, i, zero));
        let below = self.add(Op::Binary(BinaryOp::Lt, i, n));
        let both = self.add(Op::Binary(BinaryOp::And, above, below));
        others.map_or(both, |others| self.add(Op::Binary(BinaryOp::And, others, both)))
    }

    /// A read at indices that run over the array's own extents.
    fn proven_read(&mut self, ty: Ty, d: usize) -> NodeId {
        let indices = self.indices.clone();
        let mut all = Vec::new();
        for x in self.arrays_of(ty) {
            let extents = self.b.extents(x).to_vec();
            let own = |n: &NodeId| indices.iter().rev().find(|i| i.extent == *n).map(|i| i.var);
            if let Some(index) = extents.iter().map(own).collect::<Option<Vec<_>>>() {
                all.push((x, index));
            }
        }
        if all.is_empty() {
            return self.read(ty, d);
        }
        let k = self.rng.below(all.len());
        let (x, index) = all.swap_remove(k);
        self.add(Op::Elem(x, index))
    }
}
