//! The walk of one thread: in each step a plane arrives, and the elements of every stage are taken one further.

use super::PlaneStreamParams;
use super::loads::Loads;
use super::plan::{Element, Slot, StreamPlan};
use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::boundary::halo::Halo;
use crate::schedule::boundary::interior::Interior;
use crate::schedule::cuda::access;
use crate::schedule::cuda::expressions::{int32, to_i64};
use crate::schedule::cuda::register_tiling::placement::{
    self, PlaneParts, PlaneTiling, ThreadPosition, plus,
};
use crate::schedule::cuda::thread_layout::ThreadLayout;
use crate::schedule::element::canonical;
use crate::schedule::groups::FusedGroup;
use crate::schedule::lower::{Lower, named as bind};
use indexmap::IndexMap;
use rustc_hash::FxHashMap as HashMap;
use std::ops::Range;

/// The nodes whose values are known.
type Known = Vec<(NodeId, Expr)>;

/// What all steps have in common.
struct Walk<'a> {
    fused: &'a FusedGroup,
    params: &'a PlaneStreamParams,
    plan: StreamPlan,
    /// The registers of what waits between steps.
    slots: IndexMap<Slot, Reg>,
    position: ThreadPosition,
    /// The axis of the planes.
    axis: usize,
}

/// Writes the body of one thread.
pub fn main(
    l: &mut Lower,
    fused: &FusedGroup,
    inner: &Interior,
    layout: ThreadLayout,
    params: &PlaneStreamParams,
) -> Result<Vec<Stmt>> {
    let mut out = Vec::new();
    let axis = fused.domain.len() - 3;
    let halo = Halo::of(l.launch, fused, inner).expect("found when the strategy was chosen");
    let parts = parts(l, fused, params.tiling, &mut out);
    let own = parts.planes.clone();
    let position = placement::position_of(l, fused, layout, params.tiling, Some(parts), &mut out);
    let index: Vec<NodeId> = position.vars.iter().map(|v| v.0).collect();
    let plan = StreamPlan::of(l.launch, (&inner.arrays, &index), params.tiling, params.arrival)
        .expect("found when the strategy was chosen");

    let mut body = Vec::new();
    let first = position.vars[axis].1.clone();
    let left = l.launch.host(fused.domain[axis]).minus(first.clone());
    let planes = Expr::binary(BinaryOp::Min, left, own);
    let before = plan.stages.len() as i64 - 1;
    let steps = Expr::Cast(Ty::I32, Box::new(plus(planes, before)));
    let steps = bind(l, "steps", steps, &mut body);
    let loads = Loads::of(l, (fused, &halo), &position, params.tiling, plan.loads(), &mut body)?;
    let mut slots = IndexMap::new();
    for slot in plan.slots().into_keys() {
        let ty = match &slot {
            Slot::Element(e) => l.launch.g.ty(e.array).elem,
            Slot::Value(_, n) => l.launch.g.ty(*n).elem,
        };
        let reg = l.k.reg("kept", ty);
        body.push(Stmt::Var(reg, Expr::Lit(Lit::zero(ty))));
        slots.insert(slot, reg);
    }
    let walk = Walk { fused, params, plan, slots, position, axis };
    let step = l.k.reg("step", Ty::I32);
    let mut inside = Vec::new();
    let now = first.plus(to_i64(Expr::Reg(step)));
    let now = bind(l, "plane", plus(now, walk.plan.first), &mut inside);
    walk.step(l, &loads, (step, &now), &mut inside)?;
    body.push(Stmt::Seq(step, int32(0), steps, inside));
    let columns = l.launch.host(fused.domain[axis + 2]);
    let column = walk.position.vars[axis + 2].1.clone();
    out.push(Stmt::If(Expr::binary(BinaryOp::Lt, column, columns), body, vec![]));
    Ok(out)
}

/// Computes how the blocks of the launch share the planes.
fn parts(l: &mut Lower, fused: &FusedGroup, tiling: PlaneTiling, out: &mut Vec<Stmt>) -> PlaneParts {
    let axis = fused.domain.len() - 3;
    let up = |n: Expr, each: i64| {
        Expr::binary(BinaryOp::Shr, n.plus(Expr::int(each - 1)), Expr::int(each.ilog2().into()))
    };
    let extents: Vec<Expr> = fused.domain.iter().map(|n| l.launch.host(*n)).collect();
    let mut others = up(extents[axis + 1].clone(), tiling.block_rows)
        .times(up(extents[axis + 2].clone(), tiling.block_columns));
    for n in &extents[..axis] {
        others = others.times(n.clone());
    }
    let blocks = Expr::Cast(Ty::U32, Box::new(Expr::Place(Gpu::Blocks)));
    let others = Expr::Cast(Ty::U32, Box::new(others));
    let count = bind(l, "parts", Expr::binary(BinaryOp::Div, blocks, others), out);
    let planes = Expr::Cast(Ty::U32, Box::new(extents[axis].clone()));
    let one = Expr::Lit(Lit::u32(1));
    let planes = planes.plus(count.clone()).minus(one);
    let planes = Expr::binary(BinaryOp::Div, planes, count.clone());
    let planes = bind(l, "share", Expr::Cast(Ty::I64, Box::new(planes)), out);
    PlaneParts { count: Expr::Cast(Ty::I64, Box::new(count)), planes }
}

impl Walk<'_> {
    /// Writes a step, in which plane `now` arrives.
    fn step(
        &self,
        l: &mut Lower,
        loads: &Loads,
        (step, now): (Reg, &Expr),
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let late = self.plan.late();
        let mut loaded = loads.emit(l, (self.axis, now), &|e| !late.contains(e), out)?;
        let stages = self.plan.stages.len();
        let mut known: Vec<Known> = (0..stages).map(|s| self.known(s, now, &loaded)).collect();
        let mut body = Vec::new();
        let earlier = match late.is_empty() {
            true => {
                self.compute(l, 0..stages, &mut known, out)?;
                0..0
            }
            false => {
                // what is loaded late has no use in the first steps of a walk; earlier stages wait for the plane that
                // arrives, so they come behind it
                let is_wanted = |e: &Element| late.contains(e) && !loaded.contains_key(e);
                let others = loads.emit(l, (self.axis, now), &is_wanted, &mut body)?;
                loaded.extend(others);
                known[stages - 1] = self.known(stages - 1, now, &loaded);
                self.compute(l, stages - 1..stages, &mut known, &mut body)?;
                0..stages - 1
            }
        };
        self.complete(l, known.last().expect("a stage"), &mut body)?;
        let before = int32(stages as i32 - 1);
        out.push(Stmt::If(Expr::binary(BinaryOp::Ge, Expr::Reg(step), before), body, vec![]));
        self.compute(l, earlier, &mut known, out)?;
        for (slot, from) in self.plan.slots() {
            let value = match (&slot, from) {
                (_, Some(from)) => Expr::Reg(self.slots[&from]),
                (Slot::Element(e), None) => loaded[e].clone(),
                (Slot::Value(s, n), None) => {
                    let made = known[*s].iter().find(|v| v.0 == *n);
                    made.map(|v| v.1.clone()).expect("a value of this stage")
                }
            };
            out.push(Stmt::Assign(self.slots[&slot], value));
        }
        Ok(())
    }

    /// Returns what is known of the elements in a stage: their indices, what was kept, and what is loaded.
    fn known(&self, stage: usize, now: &Expr, loaded: &HashMap<Element, Expr>) -> Known {
        let mut known = self.position.vars.clone();
        known[self.axis].1 = plus(now.clone(), -(self.plan.first + stage as i64));
        if stage > 0 {
            let of_slot = |n: &NodeId| (*n, Expr::Reg(self.slots[&self.plan.slot(stage - 1, *n)]));
            known.extend(self.plan.stages[stage - 1].kept.iter().map(of_slot));
        }
        for (n, (e, _)) in self.plan.reads.iter().filter(|(_, (_, at))| *at == stage) {
            known.extend(loaded.get(&self.plan.load(e, stage)).map(|value| (*n, value.clone())));
        }
        known
    }

    /// Computes what the lines of a step make possible in some stages: with each row all of them, so that it waits in
    /// registers for no other.
    fn compute(
        &self,
        l: &mut Lower,
        stages: Range<usize>,
        known: &mut [Known],
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        for row in 0..self.plan.stages[0].due.len() {
            for s in stages.clone().rev() {
                let due = &self.plan.stages[s].due[row].1;
                let values = l.region(&known[s], due, &Expr::int(0), out)?;
                for (n, e) in due.iter().zip(values) {
                    let e = bind(l, "part", e, out);
                    known[s].push((*n, e));
                }
            }
        }
        Ok(())
    }

    /// Stores the elements that have gone through all stages.
    fn complete(&self, l: &mut Lower, known: &[(NodeId, Expr)], body: &mut Vec<Stmt>) -> Result<()> {
        let tiling = self.params.tiling;
        let items = &self.fused.items;
        let at = |row: i64| -> Vec<i64> { std::iter::repeat_n(0, self.axis + 1).chain([row]).collect() };
        let plane = known[self.axis].1.clone();
        let mut vars = self.position.vars.clone();
        vars[self.axis].1 = plane;
        let position = ThreadPosition { vars, block: Vec::new() };
        let values = l.region(known, &self.plan.roots, &Expr::int(0), body)?;
        let per_row = tiling.v as usize * items.len();
        let ends = [1, 2].map(|a| l.launch.host(self.fused.domain[self.axis + a]));
        for (r, values) in (0..).zip(values.chunks(per_row)) {
            let mut stores = Vec::new();
            for (i, item) in items.iter().enumerate() {
                let (mem, ty) = (l.launch.output(item), l.launch.g.ty(item.node).elem);
                let line = position.line(l, mem, &at(r));
                let each = values.iter().skip(i).step_by(items.len());
                let list: Vec<Expr> =
                    each.map(|e| canonical(e.clone(), ty, &mut l.k.kernel, &mut stores)).collect();
                if tiling.v == 1 || tiling.column_stride == 1 {
                    let to = position.column(l, mem, &line, 0);
                    access::store(l, mem, list, to, &mut stores);
                    continue;
                }
                for (k, e) in tiling.thread_columns().zip(list) {
                    let store = Stmt::Store(mem, position.column(l, mem, &line, k), e);
                    let column = plus(position.vars[self.axis + 2].1.clone(), k);
                    let inside = Expr::binary(BinaryOp::Lt, column, ends[1].clone());
                    stores.push(Stmt::If(inside, vec![store], vec![]));
                }
            }
            let row = plus(position.vars[self.axis + 1].1.clone(), r);
            body.push(Stmt::If(Expr::binary(BinaryOp::Lt, row, ends[0].clone()), stores, vec![]));
        }
        Ok(())
    }
}
