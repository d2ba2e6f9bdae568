//! Reductions, scans, folds and products of arrays in scope.

use super::Gen;
use crate::values;
use arraygpu_compiler::core::{Lambda, NodeId, Op, ScanPart};
use arraygpu_compiler::scalar::{BinaryOp, Ty};

/// The operands of a reduction, scan or fold, and the number of its components.
struct OfTuples {
    joined: Lambda,
    init: NodeId,
    src: NodeId,
    count: usize,
}

impl Gen<'_> {
    /// A reduction that gives a scalar of that type.
    pub(super) fn reduction(&mut self, ty: Ty) -> NodeId {
        if self.nest > 3 {
            return self.scalar(ty, 0);
        }
        if self.rng.one_in(4) {
            return self.fold(ty);
        }
        if self.rng.one_in(10) {
            return self.element_loop(ty);
        }
        let arrays = self.arrays_of(ty);
        let x = if arrays.is_empty() || self.rng.one_in(2) {
            self.new_array(ty)
        } else {
            Some(self.rng.pick(&arrays))
        };
        match x {
            Some(x) => self.reduction_of(x),
            None => self.scalar(ty, 0),
        }
    }

    /// A reduction of an array to a scalar of its type.
    pub(super) fn reduction_of(&mut self, x: NodeId) -> NodeId {
        // sometimes of other elements of it, or in another order
        let x = if self.rng.one_in(4) { self.elsewhere(x) } else { x };
        let ty = self.ty(x).elem;
        let deviates = matches!(ty, Ty::F32 | Ty::F64) && self.rng.one_in(5);
        let of_tuples = self.rng.one_in(8);
        let made = match self.rng.below(5) {
            _ if of_tuples => self.tuples(x),
            _ if deviates => {
                let init = self.start(ty);
                self.add(Op::SquaredDeviations { init, src: x })
            }
            0 | 1 if ty != Ty::Bool && !ty.is_half() => self.product(x),
            2 => {
                let init = self.start(ty);
                let step = self.operator(ty, ty);
                self.add(Op::Fold { step, init, src: x, which: 0 })
            }
            _ => {
                let init = self.start(ty);
                let join = self.operator(ty, ty);
                // inside of closures short ones are too slow to try: each takes a whole tile
                let op = match self.nest == 0 && self.rng.one_in(6) {
                    true => Op::ReduceOrdered { join, init, src: x, which: 0 },
                    false => Op::Reduce { join, init, src: x, which: 0 },
                };
                self.add(op)
            }
        };
        if self.affords(made) { made } else { self.scalar(ty, 0) }
    }

    /// A reduction or fold of tuples, the first component of which has the array's type. Sometimes another
    /// component is in scope, too.
    fn tuples(&mut self, x: NodeId) -> NodeId {
        let is_fold = self.rng.one_in(3);
        let OfTuples { joined, init, src, count } = self.of_tuples(x, is_fold);
        let is_ordered = !is_fold && self.nest == 0 && self.rng.one_in(4);
        let component = |which: u32| match (is_fold, is_ordered) {
            (true, _) => Op::Fold { step: joined.clone(), init, src, which },
            (_, true) => Op::ReduceOrdered { join: joined.clone(), init, src, which },
            _ => Op::Reduce { join: joined.clone(), init, src, which },
        };
        self.note(if is_fold { "fold of tuples" } else { "reduction of tuples" });
        if self.rng.one_in(2) {
            let which = self.rng.below(count) as u32;
            let other = self.add(component(which));
            if self.affords(other) {
                self.scalars.push(other);
            }
        }
        self.add(component(0))
    }

    /// A scan of a vector, sometimes of tuples, of which another component may be in scope, too.
    pub(super) fn scanned(&mut self, x: NodeId) -> NodeId {
        let ty = self.ty(x).elem;
        let of_tuples = self.rng.one_in(3);
        let OfTuples { joined, init, src, count } = if of_tuples {
            self.note("scan of tuples");
            self.of_tuples(x, false)
        } else {
            let init = self.start(ty);
            OfTuples { joined: self.operator(ty, ty), init, src: x, count: 1 }
        };
        let component =
            |which: u32| Op::Scan { part: ScanPart::Whole, join: joined.clone(), init, src, which };
        if count > 1 && self.rng.one_in(2) {
            let which = self.rng.below(count) as u32;
            let other = self.add(component(which));
            self.keep(other);
        }
        let made = self.add(component(0));
        if self.affords(made) { made } else { x }
    }

    /// What a reduction or fold of tuples takes, the first component of which has the array's type.
    fn of_tuples(&mut self, x: NodeId, is_fold: bool) -> OfTuples {
        let ty = self.ty(x).elem;
        let count = self.rng.pick(&[1, 2, 2, 2, 3, 4]);
        let types: Vec<Ty> = (0..count).map(|at| if at == 0 { ty } else { self.some_type() }).collect();
        // the elements of a fold have other components than the accumulator
        let elements = match is_fold {
            true => (0..self.rng.pick(&[1, 2, 3])).map(|_| self.some_type()).collect(),
            false => types.clone(),
        };
        let lambda = self.lambda(&[ty], &[], |g, v| {
            let all = elements.iter().map(|of| match g.rng.one_in(2) && !g.is_full() {
                true => g.scalar(*of, 1),
                false if *of == ty => v[0],
                false => g.add(Op::Cast(*of, v[0])),
            });
            let all = all.collect();
            g.tuple(all)
        });
        self.next_line();
        let src = super::ok(self.b.map("zip_with", lambda, vec![x]));
        let init = types.iter().map(|ty| self.start(*ty)).collect();
        let init = self.tuple(init);
        let params = [&types[..], &elements[..]].concat();
        let joined = self.lambda(&params, &[], |g, v| {
            let all = types.iter().enumerate().map(|(at, ty)| {
                let partner = v[types.len() + at % elements.len()];
                let partner = if g.ty(partner).elem == *ty { partner } else { g.add(Op::Cast(*ty, partner)) };
                let simple = [BinaryOp::Add, BinaryOp::Mul, BinaryOp::Min, BinaryOp::Max, BinaryOp::Or];
                let simple: Vec<BinaryOp> = simple.into_iter().filter(|op| op.accepts(*ty)).collect();
                let op = g.rng.pick(&simple);
                match g.rng.one_in(2) && !g.is_full() {
                    true => g.scalar(*ty, 2),
                    false => g.add(Op::Binary(op, v[at], partner)),
                }
            });
            let all = all.collect();
            g.tuple(all)
        });
        OfTuples { joined, init, src, count }
    }

    /// A tuple, or the only component.
    fn tuple(&mut self, components: Vec<NodeId>) -> NodeId {
        match components[..] {
            [one] => one,
            _ => self.add(Op::Tuple(components)),
        }
    }

    /// A fold, also of elements of another type.
    fn fold(&mut self, ty: Ty) -> NodeId {
        let of = self.some_type();
        let arrays = self.arrays_of(of);
        let x = if arrays.is_empty() { self.new_array(of) } else { Some(self.rng.pick(&arrays)) };
        let Some(src) = x else { return self.scalar(ty, 0) };
        let init = self.start(ty);
        let step = self.operator(ty, of);
        let made = self.add(Op::Fold { step, init, src, which: 0 });
        if of != ty {
            self.note("fold to another type");
        }
        if self.affords(made) { made } else { self.scalar(ty, 0) }
    }

    fn product(&mut self, x: NodeId) -> NodeId {
        let b = self.partner(x);
        let panels = self.rng.one_in(3);
        self.next_line();
        if self.rng.one_in(2) {
            return super::ok(if panels { self.b.panel_dot(x, b) } else { self.b.dot(x, b) });
        }
        // an initial value other than 0; the product without it is made for its shape rules
        super::ok(if panels { self.b.panel_dot(x, b) } else { self.b.dot(x, b) });
        let init = self.start(self.ty(x).elem);
        self.add(if panels { Op::PanelDot { init, a: x, b } } else { Op::Dot { init, a: x, b } })
    }

    pub(super) fn start(&mut self, ty: Ty) -> NodeId {
        if self.rng.one_in(4) {
            return self.scalar(ty, 1);
        }
        let l = values::constant(ty, self.rng);
        self.lit(l)
    }

    /// A function that takes an accumulator and an element.
    fn operator(&mut self, ty: Ty, of: Ty) -> Lambda {
        use BinaryOp::*;
        let simple: Vec<BinaryOp> =
            [Add, Add, Mul, Min, Max, And, Or, Xor].into_iter().filter(|op| op.accepts(ty)).collect();
        let general = self.rng.one_in(3);
        let op = self.rng.pick(&simple);
        self.lambda(&[ty, of], &[], |g, v| {
            let b = if of == ty { v[1] } else { g.add(Op::Cast(ty, v[1])) };
            if general && !g.is_full() {
                // the body may mention everything in scope
                let depth = 1 + g.rng.below(3);
                return g.scalar(ty, depth);
            }
            g.add(Op::Binary(op, v[0], b))
        })
    }
}
