//! Reads and addresses: the address of the element at given indices, and the reads that share one
//! load.

use super::builder::bind_node;
use super::{LaunchContext, Lower, Operand, Region};
use crate::core::index_space::indices;
use crate::core::length::Length;
use crate::core::linear::{self, Linear};
use crate::core::{NodeId, Op};
use crate::error::Result;
use crate::kernel::{Expr, Mem, Stmt};
use crate::plan::ScalarArg;
use crate::scalar::{BinaryOp, Lit, Ty};

/// The bytes of a vector access.
const VECTOR: i64 = 16;

impl Lower<'_, '_, '_> {
    pub(super) fn read(
        &mut self,
        n: NodeId,
        x: NodeId,
        index: &[NodeId],
        r: &mut Region,
    ) -> Result<(Expr, u32)> {
        let total = matches!(self.launch.g.op(n), Op::At(..));
        if total && let Some(e) = self.loaded_already(x, index) {
            // an element that has been loaded is in bounds
            return Ok((e, 1));
        }
        if !total && let Some(e) = self.read_of_row(x, index, r)? {
            return Ok((e, 1));
        }
        if !total && let Some(k) = self.flat(x, index) {
            return self.read_flat(n, x, k, r);
        }
        if self.scope.loaded.is_some() && !total {
            return self.read_once(n, x, index, r).map(|e| (e, 1));
        }
        let mem = self.launch.input(x);
        if !total {
            return self.address(mem, index, r).map(|(at, depth)| (Expr::load(mem, at), depth));
        }
        let mut inside: Option<Expr> = None;
        for (i, axis) in index.iter().zip(0..) {
            let len = self.launch.extent(x, axis);
            let one = self.inside(n, *i, len, r)?;
            inside = Some(inside.map_or(one.clone(), |all| Expr::binary(BinaryOp::And, all, one)));
        }
        let (at, depth) = self.address(mem, index, r)?;
        let inside = inside.unwrap_or(Expr::Lit(Lit::bool(true)));
        Ok((Expr::LoadIf(mem, Box::new(at), Box::new(inside)), depth))
    }

    /// Loads an element of a short row together with its neighbours, by one vector access. All of them are in bounds,
    /// because a guard of the variant says how many elements the row has.
    fn read_of_row(&mut self, x: NodeId, index: &[NodeId], r: &mut Region) -> Result<Option<Expr>> {
        let (Some(row), false) = (self.scope.short_row, self.k.strided) else { return Ok(None) };
        let Some((last, outer)) = index.split_last().filter(|(_, outer)| !outer.is_empty()) else {
            return Ok(None);
        };
        let (ty, at) = (self.launch.g.ty(x).elem, self.launch.g.as_lit(*last).map(Lit::as_i64));
        let width = VECTOR / ty.size() as i64;
        let Some(at) =
            at.filter(|at| width <= 4 && row.elements % width == 0 && (0..row.elements).contains(at))
        else {
            return Ok(None);
        };
        if self.launch.extent(x, outer.len() as u8) != row.length {
            return Ok(None);
        }
        let first = at / width * width;
        let element = |l: &mut Self, at: i64| {
            let at = l.launch.g.lit(Lit::i64(at));
            outer.iter().copied().chain([at]).collect::<Vec<NodeId>>()
        };
        let mem = self.launch.input(x);
        let begin = element(self, first);
        let begin = self.address(mem, &begin, r)?.0;
        self.k.vector(mem);
        let mut regs = Vec::new();
        for at in first..first + width {
            let reg = self.k.reg("x", ty);
            let at = element(self, at);
            let node = self.launch.g.add(Op::Elem(x, at));
            r.memo.insert(node, (Expr::Reg(reg), 1));
            regs.push(reg);
        }
        let own = Expr::Reg(regs[(at - first) as usize]);
        r.out.push(Stmt::LoadVec(regs, mem, begin));
        Ok(Some(own))
    }

    /// Returns the offset of an element in its array, and the depth of that expression: the sum of
    /// the indices times the strides. For a vector it is the index, because the backends multiply
    /// by a strided vector's stride.
    pub(super) fn address(&mut self, mem: Mem, index: &[NodeId], r: &mut Region) -> Result<(Expr, u32)> {
        let last = index.len() - 1;
        let (mut sum, mut most) = (None, 0);
        for (i, axis) in index.iter().zip(0..) {
            let (mut e, depth) = self.value(*i, r)?;
            most = most.max(depth + 1);
            if usize::from(axis) < last || last > 0 && self.k.strided {
                e = e.times(self.launch.stride(mem, axis));
            }
            sum = Some(sum.map_or(e.clone(), |s: Expr| s.plus(e)));
        }
        Ok((sum.unwrap_or(Expr::int(0)), if last > 0 { most + 1 } else { most - 1 }))
    }

    /// Emits the offset of the element at the indices `outer` and `last`, and returns it.
    pub fn element_address(
        &mut self,
        mem: Mem,
        outer: &[NodeId],
        last: Expr,
        vars: &[(NodeId, Expr)],
        out: &mut Vec<Stmt>,
    ) -> Result<Expr> {
        if outer.is_empty() {
            return Ok(last);
        }
        let mut sum = last;
        if self.k.strided {
            sum = sum.times(self.launch.stride(mem, outer.len() as u8));
        }
        let values = self.region(vars, outer, &Expr::int(0), out)?;
        for (e, axis) in values.into_iter().zip(0..) {
            sum = e.times(self.launch.stride(mem, axis)).plus(sum);
        }
        Ok(sum)
    }

    /// Whether the element at these indices is in a register.
    pub fn is_loaded(&mut self, x: NodeId, outer: &[NodeId], last: NodeId) -> bool {
        let index: Vec<NodeId> = outer.iter().copied().chain([last]).collect();
        self.loaded_already(x, &index).is_some()
    }

    /// Records that the element at these indices is in a register.
    pub fn note_loaded(&mut self, x: NodeId, outer: &[NodeId], last: NodeId, e: Expr) {
        let index = outer.iter().copied().chain([last]);
        let index = index.map(|i| Linear::of(&self.launch.g, i)).collect::<Vec<_>>();
        let key = (x, index.into_iter().map(|form| form.node(&mut self.launch.g)).collect());
        self.scope.loaded.get_or_insert_default().insert(key, e);
    }

    /// Returns the offset of element `k` (in row-major order) in an item's array.
    pub fn place(&mut self, mem: Mem, extents: &[NodeId], k: &Expr) -> Expr {
        let Mem::Array(array) = mem else { return k.clone() };
        if extents.len() < 2 {
            return k.clone();
        }
        if !self.k.strided {
            self.k.dense.insert(array);
            return k.clone();
        }
        let (mut rest, mut sum) = (k.clone(), None);
        for (axis, n) in (0..extents.len()).zip(extents).rev() {
            let mut i = rest.clone();
            if axis > 0 {
                let n = self.launch.host(*n);
                i = Expr::binary(BinaryOp::Rem, rest.clone(), n.clone());
                rest = Expr::binary(BinaryOp::Div, rest, n);
            }
            let e = i.times(self.launch.stride(mem, axis as u8));
            sum = Some(sum.map_or(e.clone(), |s: Expr| s.plus(e)));
        }
        sum.unwrap_or(rest)
    }

    /// Returns the offset of the element at these indices.
    pub fn place_at(&mut self, mem: Mem, index: &[Expr]) -> Expr {
        let last = index.len() - 1;
        let mut sum: Option<Expr> = None;
        for (i, axis) in index.iter().zip(0..) {
            let mut e = i.clone();
            if last > 0 && (usize::from(axis) < last || self.k.strided) {
                e = e.times(self.launch.stride(mem, axis));
            }
            sum = Some(sum.map_or(e.clone(), |s| s.plus(e)));
        }
        sum.unwrap_or(Expr::int(0))
    }

    /// Returns the number, in row-major order, of the element that is read, if the array may be taken as flat and the
    /// indices are the parts of that number.
    pub fn flat(&mut self, x: NodeId, index: &[NodeId]) -> Option<NodeId> {
        if self.k.strided { None } else { self.launch.number(x, index) }
    }

    /// Lowers a read of element `k` of a flat array.
    fn read_flat(&mut self, n: NodeId, x: NodeId, k: NodeId, r: &mut Region) -> Result<(Expr, u32)> {
        if self.scope.loaded.is_some() {
            let e = self.load_once(n, x, k, r)?;
            // `load_once` has made it a parameter of the kernel by now
            if let Some(i) =
                self.launch.signature.arrays.get_index_of(&Operand::Read(self.launch.scheduler.places[&x]))
            {
                self.k.dense.insert(i as u32);
            }
            return Ok((e, 1));
        }
        let mem = self.launch.input(x);
        if let Mem::Array(i) = mem {
            self.k.dense.insert(i);
        }
        let (at, depth) = self.value(k, r)?;
        Ok((Expr::load(mem, at), depth))
    }

    /// Lowers a read that neighbouring elements may share.
    fn read_once(&mut self, n: NodeId, x: NodeId, index: &[NodeId], r: &mut Region) -> Result<Expr> {
        if let [i] = index {
            return self.load_once(n, x, *i, r);
        }
        let key = (x, self.launch.normal(index));
        if let Some(e) = self.scope.loaded.as_ref().and_then(|l| l.get(&key)) {
            return Ok(e.clone());
        }
        let mem = self.launch.input(x);
        let at = self.address(mem, index, r)?.0;
        let e = bind_node(&mut self.k.kernel, &self.launch.g, n, Expr::load(mem, at), &mut r.out);
        self.scope.loaded.iter_mut().for_each(|l| drop(l.insert(key.clone(), e.clone())));
        Ok(e)
    }

    /// Loads an element at one index, once. The constant part of the index stays a separate operand, which becomes an
    /// offset in the address.
    fn load_once(&mut self, n: NodeId, x: NodeId, i: NodeId, r: &mut Region) -> Result<Expr> {
        let form = Linear::of(&self.launch.g, i);
        let key = (x, vec![form.node(&mut self.launch.g)]);
        if let Some(e) = self.scope.loaded.as_ref().and_then(|l| l.get(&key)) {
            return Ok(e.clone());
        }
        let offset = form.constant;
        let base = Linear { constant: 0, ..form }.node(&mut self.launch.g);
        let base = self.value(base, r)?.0;
        let index = if offset == 0 { base } else { base.plus(Expr::int(offset)) };
        let mem = self.launch.input(x);
        let e = bind_node(&mut self.k.kernel, &self.launch.g, n, Expr::load(mem, index), &mut r.out);
        if let Some(loaded) = &mut self.scope.loaded {
            loaded.insert(key, e.clone());
        }
        Ok(e)
    }
}

impl LaunchContext<'_, '_> {
    /// Returns the node with another node in place of a variable.
    pub fn replace(&mut self, n: NodeId, variable: NodeId, by: NodeId) -> NodeId {
        match *self.g.op(variable) {
            Op::Var(var, _) => self.g.substitute(n, &[(var, by)].into_iter().collect()),
            _ => n,
        }
    }

    /// Returns the stride of an array along an axis.
    pub fn stride(&mut self, mem: Mem, axis: u8) -> Expr {
        let Mem::Array(i) = mem else { return Expr::int(1) };
        if let Some(known) = self.signature.ins.get_index_of(&ScalarArg::Stride(i, axis)) {
            return Expr::In(known as u32);
        }
        let name = self.signature.arrays.get_index(i as usize).map_or("array", |a| a.1.name.as_str());
        let name = format!("s{axis}_{name}");
        Expr::In(self.signature.ins.insert_full(ScalarArg::Stride(i, axis), (name, Ty::I64)).0 as u32)
    }

    /// Returns the number, in row-major order, of the element at these indices, if the last ones, or all, are the
    /// parts of one number: `x[i][k / n][k % n]` is element `i * (m * n) + k`.
    pub fn number(&mut self, x: NodeId, index: &[NodeId]) -> Option<NodeId> {
        if index.len() < 2 {
            return None;
        }
        // the last index must be `k % n`; the others follow from k
        let Op::Binary(BinaryOp::Rem, k, _) = *self.g.op(*index.last()?) else { return None };
        let extents: Vec<NodeId> = (0..index.len() as u8).map(|axis| self.extent(x, axis)).collect();
        let made = |first: &usize| indices(&mut self.g, k, &extents[*first..]) == index[*first..];
        let first = (0..index.len() - 1).find(made)?;
        let mut number = k;
        for axis in 0..first {
            let inner = extents[axis + 1..].iter().copied();
            let stride = inner.reduce(|a, b| linear::mul(&mut self.g, a, b))?;
            let offset = linear::mul(&mut self.g, index[axis], stride);
            number = linear::add(&mut self.g, number, offset);
        }
        Some(number)
    }

    /// Returns the length of an array along an axis, by the node that stands for all lengths equal
    /// to it.
    pub fn extent(&mut self, x: NodeId, axis: u8) -> NodeId {
        match Length::of(self.g.op(x), axis) {
            Length::Of(y, axis) => self.extent(y, axis),
            Length::Is(n) => n,
            _ => {
                let len = self.g.add(Op::Len(x, axis));
                let form = self.scheduler.equations.resolve(&Linear::of(&self.g, len));
                form.node(&mut self.g)
            }
        }
    }
}
