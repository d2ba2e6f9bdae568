//! What a function is made of at its outermost, and what it gives.

use super::Gen;
use crate::values;
use arraygpu_compiler::core::{NodeId, Op, Output, Rule};
use arraygpu_compiler::scalar::{BinaryOp, Ty, UnaryOp};

impl Gen<'_> {
    /// Some arrays and scalars.
    pub(super) fn body(&mut self) {
        for _ in 0..2 + self.rng.below(5) {
            self.something();
        }
        if self.rng.one_in(12) {
            self.chain();
        }
        match self.rng.below(150) {
            0 => self.never_fits(),
            1 => self.only_a_device_knows(),
            _ => {}
        }
    }

    /// An array, sometimes a scalar.
    pub(super) fn something(&mut self) {
        let ty = self.some_type();
        match self.rng.below(8) {
            0 => {
                let s = self.scalar(ty, 3);
                self.scalars.push(s);
            }
            1 => {
                let s = self.reduction(ty);
                self.scalars.push(s);
            }
            // a long chain from one array to the next
            2 => {
                let x = self.some_array();
                let elem = self.ty(x).elem;
                for _ in 0..3 {
                    self.new_array(elem);
                }
            }
            _ => drop(self.new_array(ty)),
        }
    }

    /// An array divided repeatedly by a reduction of itself: many scalars that only the device
    /// knows.
    fn chain(&mut self) {
        let x = self.some_array();
        let ty = self.ty(x).elem;
        if ty == Ty::Bool || self.count(x) > 200 {
            return;
        }
        self.note("a chain of scalars");
        let mut x = x;
        for _ in 0..self.rng.between(4, 14) {
            let mut s = self.reduction_of(x);
            if ty.is_float() && self.rng.one_in(2) {
                s = self.add(Op::Unary(UnaryOp::Sqrt, s));
            }
            let op = self.rng.pick(&[BinaryOp::Mul, BinaryOp::Sub, BinaryOp::Add, BinaryOp::Max]);
            let lambda = self.lambda(&[ty], &[], |g, v| g.add(Op::Binary(op, v[0], s)));
            x = self.add(Op::Map(lambda, vec![x]));
            if self.rng.one_in(4) {
                self.scalars.push(s);
            }
            if self.keep(x).is_none() {
                return;
            }
        }
    }

    /// A slice that no array has room for.
    fn never_fits(&mut self) {
        let x = self.some_array();
        let (zero, one) = (self.int(0), self.int(1));
        let n = self.b.extents(x)[0];
        let stop = self.add(Op::Binary(BinaryOp::Add, n, one));
        let is_plain = matches!(self.b.function.graph.op(n), Op::Len(..) | Op::Const(_));
        if !is_plain {
            return;
        }
        self.next_line();
        super::ok(self.b.slice("slice", x, 0, [zero, stop, one]));
        self.refused = Some("E0310");
        self.note("E0310: a slice that never fits");
    }

    /// A bound that depends on data is refused at once.
    fn only_a_device_knows(&mut self) {
        let x = self.some_array();
        let data = self.arrays_of(Ty::I64);
        let Some(k) = data.first().copied().filter(|k| self.ty(*k).rank == 1) else { return };
        let (zero, one) = (self.int(0), self.int(1));
        let at = self.add(Op::At(k, vec![zero]));
        let rules = self.b.function.requires.len();
        self.next_line();
        let refused = self.b.slice("slice", x, 0, [zero, at, one]);
        assert!(refused.is_err_and(|e| e.code == "E0209"), "a bound that only the device knows is taken");
        self.b.function.requires.truncate(rules);
        self.note("E0209: a bound of data");
    }

    /// Arrays that are not used yet: their graphs are the largest.
    fn ends(&self) -> Vec<NodeId> {
        let g = &self.b.function.graph;
        let mut used = vec![false; g.len()];
        for n in (0..g.len() as u32).map(NodeId) {
            g.op(n).for_operands(|o| used[o.0 as usize] = true);
        }
        self.arrays.iter().copied().filter(|x| !used[x.0 as usize]).collect()
    }

    /// Chooses what it gives.
    pub(super) fn results(&mut self, many: usize) {
        for i in 0..many {
            let ends = self.ends();
            if !ends.is_empty() && self.rng.one_in(2) {
                let x = self.rng.pick(&ends);
                let value = if self.rng.one_in(3) { self.reduction_of(x) } else { x };
                self.b.function.results.push(Output { name: format!("r{i}"), value });
                continue;
            }
            let value = match self.rng.below(10) {
                0 => {
                    let ty = self.some_type();
                    self.scalar(ty, 3)
                }
                1..=3 => {
                    let x = self.some_array();
                    self.reduction_of(x)
                }
                4 if !self.scalars.is_empty() => {
                    let all = self.scalars.clone();
                    self.rng.pick(&all)
                }
                _ => self.some_array(),
            };
            self.b.function.results.push(Output { name: format!("r{i}"), value });
        }
        // a program that gives a parameter unchanged tests little
        let plain = |g: &Self, n: NodeId| matches!(g.b.function.graph.op(n), Op::Param(_));
        if self.b.function.results.iter().all(|r| plain(self, r.value)) {
            let x = self.some_array();
            let value = self.reduction_of(x);
            self.b.function.results[0].value = value;
        }
        // sometimes a shape rule that the results do not need
        if self.rng.one_in(20) {
            let n = self.some_extent();
            let least = values::small(Ty::I64, 0);
            let zero = self.lit(least);
            self.next_line();
            super::ok(self.b.require("generate", Rule::Extent, zero, n));
        }
    }

    /// What the interpreter does for arrays among the results.
    pub(super) fn results_work(&mut self) -> f64 {
        let values: Vec<NodeId> = self.b.function.results.iter().map(|r| r.value).collect();
        let mut all = 0.0;
        for n in values {
            let count = if self.ty(n).is_scalar() { 1 } else { self.count(n) };
            all += count as f64 * self.cost(n);
        }
        all
    }
}
