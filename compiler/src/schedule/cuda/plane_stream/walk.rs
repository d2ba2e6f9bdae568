//! The kernel body: a loop over planes. In each step a plane arrives, and the elements of every stage advance to the
//! next stage.

use super::PlaneStreamParams;
use super::loads::Loads;
use super::plan::{Element, StreamPlan};
use super::stages::{Known, Stages};
use super::values::Sources;
use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::boundary::halo::Halo;
use crate::schedule::boundary::interior::Interior;
use crate::schedule::cuda::access;
use crate::schedule::cuda::expressions::{int32, to_i64};
use crate::schedule::cuda::register_tiling::placement::{
    self, PlaneParts, PlaneTiling, ThreadPosition, blocks_along, plus,
};
use crate::schedule::cuda::thread_layout::ThreadLayout;
use crate::schedule::element::canonical;
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::groups::FusedGroup;

/// What all steps share.
struct Walk<'a> {
    fused: &'a FusedGroup,
    params: &'a PlaneStreamParams,
    plan: &'a StreamPlan,
    stages: Stages<'a>,
    position: &'a ThreadPosition,
    /// The axis of the planes.
    axis: usize,
}

/// Writes the kernel body.
pub fn main(
    l: &mut Lower,
    fused: &FusedGroup,
    inner: &Interior,
    layout: ThreadLayout,
    params: &PlaneStreamParams,
) -> Result<Vec<Stmt>> {
    l.k.kernel.min_resident_blocks = params.min_resident_blocks();
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
    let loads = Loads::of(
        l,
        (fused, &halo),
        &position,
        params.tiling,
        (plan.loads(), &Sources::default()),
        &mut body,
    )?;
    let stages = Stages::of(l, &plan, &position.vars, &mut body);
    let walk = Walk { fused, params, plan: &plan, stages, position: &position, axis };
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

/// Computes how the blocks of the launch share the planes: the number of ranges, and the planes of a range.
pub fn parts(l: &mut Lower, fused: &FusedGroup, tiling: PlaneTiling, out: &mut Vec<Stmt>) -> PlaneParts {
    let axis = fused.domain.len() - 3;
    let extents: Vec<Expr> = fused.domain.iter().map(|n| l.launch.host(*n)).collect();
    let mut others = blocks_along(extents[axis + 1].clone(), tiling.block_rows)
        .times(blocks_along(extents[axis + 2].clone(), tiling.block_columns));
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
    /// Writes the step in which plane `now` arrives.
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
        let mut known: Vec<Known> = (0..stages).map(|s| self.stages.known(s, now, &loaded)).collect();
        let mut body = Vec::new();
        let earlier = match late.is_empty() {
            true => {
                self.stages.compute(l, 0..stages, &mut known, out)?;
                0..0
            }
            false => {
                // in the first steps no element is in its last stage, so late loads stand in the branch that tests
                // this; earlier stages need only the plane that arrives, and are computed after the branch
                let is_wanted = |e: &Element| late.contains(e) && !loaded.contains_key(e);
                let others = loads.emit(l, (self.axis, now), &is_wanted, &mut body)?;
                loaded.extend(others);
                known[stages - 1] = self.stages.known(stages - 1, now, &loaded);
                self.stages.compute(l, stages - 1..stages, &mut known, &mut body)?;
                0..stages - 1
            }
        };
        self.complete(l, known.last().expect("a stage"), &mut body)?;
        let before = int32(stages as i32 - 1);
        out.push(Stmt::If(Expr::binary(BinaryOp::Ge, Expr::Reg(step), before), body, vec![]));
        self.stages.compute(l, earlier, &mut known, out)?;
        self.stages.advance(&loaded, &known, out);
        Ok(())
    }

    /// Computes the values of the elements in their last stage, and stores those in bounds.
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
