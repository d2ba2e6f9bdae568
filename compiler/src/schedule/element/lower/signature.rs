//! The parameters that a launch hands to its kernel: arrays, scalars, slots, scratch. A parameter
//! is added to the signature when the lowering of some variant uses it for the first time, so the
//! signature is complete only when all variants have been lowered.

use super::{ArrayUse, KernelBuilder, LaunchContext, Lower, Operand, Signature};

use crate::core::simplify::{extents, simplify};
use crate::core::{NodeId, Op, linear};
use crate::kernel::{Expr, Kernel, Mem};
use crate::plan::{Access, Place, ScalarArg};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::groups::Item;

impl LaunchContext<'_, '_> {
    /// Returns the "in" scalar of a host scalar, or the literal if it is a constant.
    pub fn host(&mut self, n: NodeId) -> Expr {
        if let Some(l) = self.g.as_lit(n) {
            return Expr::Lit(l);
        }
        let id = self.scheduler.host.of(&self.g, n);
        if let Some(known) = self.signature.ins.get_index_of(&ScalarArg::Host(id)) {
            return Expr::In(known as u32);
        }
        let name = match self.g.op(n) {
            Op::Turn => "turn".into(),
            Op::Checked => "checked".into(),
            Op::Param(i) => format!("in_{}", self.scheduler.f.params[*i as usize].name),
            Op::Len(x, axis) => {
                let name = match axis {
                    0 => format!("n_{}", self.array_name(*x)),
                    axis => format!("n{axis}_{}", self.array_name(*x)),
                };
                if self.is_param(*x) { name } else { self.signature.unused(name) }
            }
            _ => format!("host_{}", id.0),
        };
        let entry = self.signature.ins.insert_full(ScalarArg::Host(id), (name, self.g.ty(n).elem));
        Expr::In(entry.0 as u32)
    }

    /// Whether the kernel gets a host scalar as a parameter, or has to: it is a length or a scalar of
    /// the call.
    pub fn is_passed(&self, n: NodeId) -> bool {
        let is_there = |id| self.signature.ins.contains_key(&ScalarArg::Host(id));
        matches!(self.g.op(n), Op::Param(_) | Op::Turn | Op::Checked | Op::Len(..))
            || self.scheduler.host.find(&self.g, n).is_some_and(is_there)
    }

    /// Returns the number of the index space's elements, and its extents.
    pub fn extents_of_space(&mut self) -> Vec<NodeId> {
        let mut nodes = vec![self.count_node()];
        nodes.extend_from_slice(self.domain());
        nodes
    }

    /// Returns these, and the extents of the arrays that the kernel reads so far: all of them have a limit in narrow
    /// kernels.
    pub fn extents_with_limit(&mut self) -> Vec<NodeId> {
        let mut nodes = self.extents_of_space();
        let arrays = self.signature.arrays.iter();
        let inputs = arrays.filter(|(operand, _)| matches!(operand, Operand::Read(_)));
        let inputs: Vec<NodeId> = inputs.map(|(_, used)| used.node).collect();
        nodes.extend(inputs.into_iter().flat_map(|x| extents(&mut self.g, x)));
        nodes
    }

    /// Returns the scalars, among those that the kernel gets so far, that are these extents, or what divides by them.
    pub fn passed(&mut self, extents: &[NodeId]) -> Vec<Expr> {
        let one = self.g.lit(Lit::i64(1));
        let mut nodes = Vec::new();
        for n in extents {
            nodes.extend([*n, simplify(&mut self.g, Op::Binary(BinaryOp::Max, *n, one))]);
        }
        nodes.into_iter().filter_map(|n| self.position(n)).map(Expr::In).collect()
    }

    /// Returns the positions of the scalars, among those that the kernel gets so far, that are the last indices of
    /// these extents.
    pub fn last_indices(&mut self, extents: &[NodeId]) -> Vec<u32> {
        let before = self.g.lit(Lit::i64(-1));
        let nodes: Vec<NodeId> = extents.iter().map(|n| linear::add(&mut self.g, *n, before)).collect();
        nodes.into_iter().filter_map(|n| self.position(n)).collect()
    }

    /// Returns the position of a host scalar among those that the kernel gets so far.
    fn position(&self, n: NodeId) -> Option<u32> {
        let id = self.scheduler.host.find(&self.g, n)?;
        Some(self.signature.ins.get_index_of(&ScalarArg::Host(id))? as u32)
    }

    /// Returns the number of elements of the index space.
    pub fn count(&mut self) -> Expr {
        let n = self.count_node();
        self.host(n)
    }

    /// Returns the array's name in names of parameters and in messages.
    pub fn array_name(&self, x: NodeId) -> String {
        match self.scheduler.places.get(&x) {
            Some(Place::Param(i)) => self.scheduler.f.params[*i as usize].name.clone(),
            Some(Place::Temp(t)) => self.scheduler.plan.temps[*t as usize].name.clone(),
            Some(Place::Result(r)) => self.scheduler.f.results[*r as usize].name.clone(),
            _ => "array".into(),
        }
    }

    /// Returns whether an array is the caller's.
    pub fn is_param(&self, x: NodeId) -> bool {
        matches!(self.scheduler.places.get(&x), Some(Place::Param(_)))
    }

    /// Whether an array is among those that the launch reads so far.
    pub fn is_input(&self, x: NodeId) -> bool {
        let place = self.scheduler.places.get(&x);
        place.is_some_and(|place| self.signature.arrays.contains_key(&Operand::Read(*place)))
    }

    /// Returns the output array of an item.
    pub fn output(&mut self, it: &Item) -> Mem {
        let place = self.scheduler.destination(it);
        if let Some(known) = self.signature.arrays.get_index_of(&Operand::Written(place)) {
            return Mem::Array(known as u32);
        }
        let name = match place {
            Place::Result(i) => format!("out_{}", self.scheduler.f.results[i as usize].name),
            _ => self.signature.unused(format!("to_{}", self.array_name(it.into.unwrap_or(it.node)))),
        };
        let used = ArrayUse { name, node: it.node, ty: self.g.ty(it.node), access: Access::Write };
        Mem::Array(self.signature.arrays.insert_full(Operand::Written(place), used).0 as u32)
    }

    /// Returns two parameters of the kernel for the array at a place, by which the launch reads and writes it: it has
    /// the elements of `x`, in another order.
    pub fn reordered(&mut self, place: Place, x: NodeId) -> [Mem; 2] {
        let name = match place {
            Place::Result(i) => &self.scheduler.f.results[i as usize].name,
            Place::Temp(t) => &self.scheduler.plan.temps[t as usize].name,
            Place::Param(i) => &self.scheduler.f.params[i as usize].name,
        };
        let names = [format!("from_{name}"), format!("to_{name}")];
        let [from, to] = names.map(|name| self.signature.unused(name));
        let parameters =
            [(Operand::Read(place), Access::Anywhere, from), (Operand::Written(place), Access::Write, to)];
        parameters.map(|(operand, access, name)| {
            let used = ArrayUse { name, node: x, ty: self.g.ty(x), access };
            Mem::Array(self.signature.arrays.insert_full(operand, used).0 as u32)
        })
    }

    /// Returns the input array that holds `x`.
    pub fn input(&mut self, x: NodeId) -> Mem {
        let place = self.scheduler.places[&x];
        if let Some(known) = self.signature.arrays.get_index_of(&Operand::Read(place)) {
            return Mem::Array(known as u32);
        }
        let name = match place {
            Place::Param(_) => format!("a_{}", self.array_name(x)),
            _ => self.signature.unused(format!("from_{}", self.array_name(x))),
        };
        let used = ArrayUse { name, node: x, ty: self.g.ty(x), access: self.facts.accesses.access(x) };
        Mem::Array(self.signature.arrays.insert_full(Operand::Read(place), used).0 as u32)
    }

    /// Returns the input arrays that are read at the element's own index only, among those that
    /// were added so far.
    pub fn pointwise_inputs(&self) -> Vec<(Mem, Ty)> {
        let arrays = self.signature.arrays.iter().zip(0..);
        let pointwise =
            arrays.filter(|((operand, a), _)| !operand.is_written() && a.access == Access::Pointwise);
        pointwise.map(|((_, a), i)| (Mem::Array(i), a.ty.elem)).collect()
    }

    /// Returns the slot for a place that the launch writes.
    pub fn slot_out(&mut self, place: Place, ty: Ty) -> u32 {
        if let Some(known) = self.signature.slots.get_index_of(&Operand::Written(place)) {
            return known as u32;
        }
        let name = match place {
            Place::Result(i) => format!("out_{}", self.scheduler.f.results[i as usize].name),
            Place::Temp(i) => self.signature.unused(format!("to_s{i}")),
            Place::Param(i) => self.signature.unused(format!("to_p{i}")),
        };
        self.signature.slots.insert_full(Operand::Written(place), (name, ty)).0 as u32
    }

    /// Returns the scalar temporary of a reduction that other fused groups need.
    pub fn crossing(&self, reduction: NodeId) -> Option<Place> {
        self.scheduler.places.get(&reduction).copied()
    }

    /// Returns scratch array number `i` of this launch.
    pub fn scratch(&mut self, i: usize, ty: Ty) -> Mem {
        if i == self.signature.scratch.len() {
            self.signature.scratch.push((format!("partial_{i}"), ty));
        }
        Mem::Scratch(i as u32)
    }
}

impl Lower<'_, '_, '_> {
    /// Returns the type of an expression of the kernel that is being built.
    pub fn k_ty(&self, e: &Expr) -> Ty {
        match e {
            Expr::In(i) => self.launch.signature.ins.get_index(*i as usize).map_or(Ty::I64, |v| v.1.1),
            Expr::Slot(i) => self.launch.signature.slots.get_index(*i as usize).map_or(Ty::I64, |v| v.1.1),
            Expr::Load(Mem::Array(i), _) | Expr::LoadIf(Mem::Array(i), _, _) => {
                self.launch.signature.arrays.get_index(*i as usize).map_or(Ty::I64, |v| v.1.ty.elem)
            }
            Expr::Load(Mem::Scratch(i), _) | Expr::LoadIf(Mem::Scratch(i), _, _) => {
                self.launch.signature.scratch.get(*i as usize).map_or(Ty::I64, |s| s.1)
            }
            Expr::Unary(op, a) => op.result(self.k_ty(a)),
            Expr::MulAdd(a, _, _) | Expr::Select(_, a, _) => self.k_ty(a),
            Expr::ShuffleDown(a, _) | Expr::ShuffleUp(a, _) | Expr::ShuffleXor(a, _) | Expr::Broadcast(a) => {
                self.k_ty(a)
            }
            Expr::Binary(op, a, _) => op.result(self.k_ty(a)),
            e => self.k.kernel.ty(e),
        }
    }
}

impl KernelBuilder {
    /// Returns the finished kernel. The signature must be complete.
    pub fn finished(self, s: &Signature, noalias: bool) -> Kernel {
        let (mut k, strided) = (self.kernel, self.strided);
        let array = |((operand, a), i): ((&Operand, &ArrayUse), u32)| crate::kernel::Array {
            name: a.name.clone(),
            ty: a.ty.elem,
            write: operand.is_written(),
            // the kernel computes the addresses of matrices explicitly
            strided: strided && a.ty.rank == 1,
            noalias,
            aligned: self.vectors.contains(&i),
        };
        k.arrays = s.arrays.iter().zip(0..).map(array).collect();
        k.ins = s.ins.values().cloned().collect();
        let slot = |(operand, v): (&Operand, &(String, Ty))| crate::kernel::SlotDecl {
            name: v.0.clone(),
            ty: v.1,
            write: operand.is_written(),
        };
        k.slots = s.slots.iter().map(slot).collect();
        k.scratch = s.scratch.clone();
        k.sites = s.sites.iter().cloned().collect();
        k.is_guarded = s.guarded && k.threads > 0;
        k
    }
}
