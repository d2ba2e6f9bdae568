//! The walk of one thread: the steps of its block, and who computes the elements of a step.

use super::PlaneWalkParams;
use super::part::{Edges, Part, elements, is_beside};
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::boundary::halo::Halo;
use crate::schedule::boundary::interior::Interior;
use crate::schedule::cuda::boundary_elements;
use crate::schedule::cuda::expressions::{int32, to_i64};
use crate::schedule::cuda::register_tiling::placement::{
    self, InteriorBounds, Line, PlaneTiling, Reach, ThreadPosition,
};
use crate::schedule::cuda::thread_layout::ThreadLayout;
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::groups::{FusedGroup, Item};

/// What all steps have in common.
struct Walk<'a> {
    fused: &'a FusedGroup,
    inner: &'a Interior,
    params: &'a PlaneWalkParams,
    halo: Option<Halo>,
    /// The axis of the planes.
    axis: usize,
}

/// Writes the body of one thread.
pub fn main(
    l: &mut Lower,
    fused: &FusedGroup,
    inner: &Interior,
    layout: ThreadLayout,
    params: &PlaneWalkParams,
) -> Result<Vec<Stmt>> {
    l.k.kernel.min_resident_blocks = params.min_resident_blocks();
    let halo = Halo::of(l.launch, fused, inner);
    let walk = Walk { fused, inner, params, halo, axis: fused.domain.len() - 3 };
    let mut out = Vec::new();
    let own = placement::position(l, fused, layout, params.tiling, &mut out);
    let first = own.vars[walk.axis].1.clone();
    let steps = params.tiling.block_planes / params.planes;
    let number =
        Expr::binary(BinaryOp::Shr, first.clone(), Expr::int(params.tiling.block_planes.ilog2().into()));
    let odd = Expr::binary(BinaryOp::And, number, Expr::int(1));
    let is_odd = bind(l, "turned", Expr::binary(BinaryOp::Ne, odd, Expr::int(0)), &mut out);
    let step = l.k.reg("step", Ty::I32);
    let mut body = Vec::new();
    let back = int32(steps as i32 - 1).minus(Expr::Reg(step));
    let turned = is_odd.select(back, Expr::Reg(step));
    let plane = first.plus(to_i64(turned.times(int32(params.planes as i32))));
    let plane = bind(l, "plane", plane, &mut body);
    let extent = l.launch.host(fused.domain[walk.axis]);
    let mut inside = Vec::new();
    walk.step(l, &at(&own, walk.axis, &plane), &mut inside)?;
    body.push(Stmt::If(Expr::binary(BinaryOp::Lt, plane, extent), inside, vec![]));
    out.push(Stmt::Seq(step, int32(0), int32(steps as i32), body));
    Ok(out)
}

/// Returns the position of the thread with another index along an axis.
fn at(position: &ThreadPosition, axis: usize, index: &Expr) -> ThreadPosition {
    let (mut vars, mut block) = (position.vars.clone(), position.block.clone());
    vars[axis].1 = index.clone();
    block[axis] = index.clone();
    ThreadPosition { vars, block }
}

impl Walk<'_> {
    /// Computes the planes of a step: in the interior all together, else one by one.
    fn step(&self, l: &mut Lower, position: &ThreadPosition, out: &mut Vec<Stmt>) -> Result<()> {
        let (tiling, planes, last) = (self.params.tiling, self.params.planes, self.fused.domain.len() - 1);
        let bounds = self.bounds(l, position, planes, &self.params.lines);
        let own = bind(l, "inside", bounds.contains(&position.vars[last].1, tiling.span()), out);
        let mut full = Vec::new();
        elements(l, &self.part(position, planes, &self.params.lines), Edges::Beside, &mut full)?;
        let mut rest = Vec::new();
        if planes == 1 {
            self.edges(l, position, &bounds, &mut rest)?;
        } else {
            let k = l.k.reg("k", Ty::I32);
            let mut body = Vec::new();
            let plane = position.vars[self.axis].1.clone().plus(to_i64(Expr::Reg(k)));
            let plane = bind(l, "plane", plane, &mut body);
            let of_one = at(position, self.axis, &plane);
            let bounds = self.bounds(l, &of_one, 1, &self.params.lines_of_one);
            let mut one = Vec::new();
            let inside = bounds.contains(&of_one.vars[last].1, tiling.span());
            let inside = bind(l, "inside", inside, &mut one);
            let mut full = Vec::new();
            elements(l, &self.part(&of_one, 1, &self.params.lines_of_one), Edges::Beside, &mut full)?;
            match self.halo {
                Some(_) => {
                    let mut edge = Vec::new();
                    self.edges(l, &of_one, &bounds, &mut edge)?;
                    one.push(Stmt::If(inside, full, edge));
                }
                None => {
                    // lanes in the interior along all planes of the step have computed their elements already
                    one.push(Stmt::If(own.clone(), vec![], vec![Stmt::If(inside, full, vec![])]));
                    self.edges(l, &of_one, &bounds, &mut one)?;
                }
            }
            let extent = l.launch.host(self.fused.domain[self.axis]);
            body.push(Stmt::If(Expr::binary(BinaryOp::Lt, plane, extent), one, vec![]));
            rest.push(Stmt::Seq(k, int32(0), int32(planes as i32), body));
        }
        if self.halo.is_some() {
            out.push(Stmt::If(own, full, rest));
            return Ok(());
        }
        // all lanes of a warp must take part in computing its elements at the edges
        let whole = bounds.contains(&position.block[last], tiling.block_columns);
        out.push(Stmt::If(own, full, vec![]));
        out.push(Stmt::If(whole, vec![], rest));
        Ok(())
    }

    /// Computes the elements of one plane that are not in the interior.
    fn edges(
        &self,
        l: &mut Lower,
        position: &ThreadPosition,
        bounds: &InteriorBounds,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        if self.halo.is_none() {
            let items: Vec<&Item> = self.fused.items.iter().collect();
            let fused = (self.fused, items.as_slice());
            out.extend(boundary_elements::elements(l, fused, self.params.tiling, position, Some(bounds))?);
            return Ok(());
        }
        let last = self.fused.domain.len() - 1;
        let (k, mut body, mut own) = (l.k.reg("k", Ty::I32), Vec::new(), Vec::new());
        let row = position.vars[last - 1].1.clone().plus(to_i64(Expr::Reg(k)));
        let row = bind(l, "row", row, &mut body);
        let of_row = at(position, last - 1, &row);
        let inside = [last - 1, last].map(|axis| {
            let n = l.launch.host(self.fused.domain[axis]);
            Expr::binary(BinaryOp::Lt, of_row.vars[axis].1.clone(), n)
        });
        let part = self.part(&of_row, 1, &self.params.lines_of_row);
        let part = Part { tiling: PlaneTiling { thread_rows: 1, ..part.tiling }, ..part };
        elements(l, &part, Edges::All, &mut own)?;
        let [row, column] = inside;
        body.push(Stmt::If(row, own, vec![]));
        let rows = int32(self.params.tiling.thread_rows as i32);
        out.push(Stmt::If(column, vec![Stmt::Seq(k, int32(0), rows, body)], vec![]));
        Ok(())
    }

    fn part<'a>(&'a self, position: &'a ThreadPosition, planes: i64, lines: &'a [Line]) -> Part<'a> {
        let (fused, arrays, tiling) = (self.fused, self.inner.arrays.as_slice(), self.params.tiling);
        let (halo, order) = (self.halo.as_ref(), self.params.order);
        Part { fused, arrays, position, tiling, planes, halo, lines, order }
    }

    /// Returns the bounds within which `planes` planes of a thread are in the interior. Columns beside its own may
    /// lie outside if they have a halo.
    fn bounds(
        &self,
        l: &mut Lower,
        position: &ThreadPosition,
        planes: i64,
        lines: &[Line],
    ) -> InteriorBounds {
        let tiling = self.params.tiling;
        let firsts: Vec<Expr> = position.vars.iter().map(|v| v.1.clone()).collect();
        let mut sizes = vec![1; self.axis];
        sizes.extend([planes, tiling.thread_rows, tiling.span()]);
        let of = |line: &Line| {
            let has_halo = self.halo.as_ref().is_some_and(|halo| halo.has_values(line.array));
            let pieces = line.pieces.iter().filter(|p| !has_halo || !is_beside(tiling, **p));
            let ends = pieces.map(|p| (p.0, p.0 + p.1)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
            let array = line.array;
            let outer = line.at.iter().map(|i| Some((*i, i + 1))).chain([ends]).collect::<Vec<_>>();
            outer
                .into_iter()
                .enumerate()
                .filter_map(move |(axis, ends)| ends.map(|(first, end)| Reach { array, axis, first, end }))
        };
        let reaches: Vec<Reach> = lines.iter().flat_map(of).collect();
        let mut widths = self.inner.widths.clone();
        if let (Some(_), Some(columns)) = (&self.halo, widths.last_mut()) {
            *columns = (0, 0);
        }
        InteriorBounds::of(l, (self.fused, widths.as_slice()), &firsts, &sizes, &reaches)
    }
}
