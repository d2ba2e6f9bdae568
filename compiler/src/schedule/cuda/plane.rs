//! Maps over rows and columns: which block and thread takes what, what of it is inside, and the elements at the edges.

use super::{Shape, bind, int32, thread, wide, window};
use crate::core::{NodeId, linear};
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Mem, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::element::{canonical, opened};
use crate::schedule::inside::Margin;
use crate::schedule::items::{Item, Pass};
use crate::schedule::lower::Lower;

/// Rows of a thread.
pub const ROWS: i64 = 4;

/// How a plane is cut: columns of a lane, and rows and columns of a block.
#[derive(Clone, Copy)]
pub struct Cut {
    pub v: i64,
    pub rows: i64,
    pub columns: i64,
}

/// Where a thread is: for each axis the variable of its first index, and its register; and the first index of its block.
pub struct Place {
    pub vars: Vec<(NodeId, Expr)>,
    pub block: Vec<Expr>,
}

/// What is loaded of one array along one axis, from a first element on: the least index, and behind the greatest.
pub struct Reach {
    pub array: NodeId,
    pub axis: usize,
    pub first: i64,
    pub end: i64,
}

impl Place {
    /// The indices so far from the first, in the graph.
    pub fn index(&self, l: &mut Lower, at: &[i64]) -> Vec<NodeId> {
        let step = |l: &mut Lower, var: NodeId, by: i64| {
            let by = l.g.lit(Lit::i64(by));
            linear::add(&mut l.g, var, by)
        };
        self.vars.iter().zip(at).map(|(v, by)| step(l, v.0, *by)).collect()
    }

    /// Where an element so far from the first lies, up to its column.
    pub fn line(&self, l: &mut Lower, mem: Mem, at: &[i64]) -> Expr {
        let indices: Vec<Expr> = self.vars.iter().zip(at).map(|(v, by)| plus(v.1.clone(), *by)).collect();
        along(l, mem, &indices)
    }

    /// Where an element of such a line lies.
    pub fn column(&self, l: &mut Lower, mem: Mem, line: &Expr, by: i64) -> Expr {
        let last = self.vars.len() - 1;
        let column = self.vars[last].1.clone();
        match l.strided {
            true => line.clone().plus(plus(column, by).times(l.stride(mem, last as u8))),
            false => plus(line.clone().plus(column), by),
        }
    }
}

pub fn plus(e: Expr, by: i64) -> Expr {
    if by == 0 { e } else { e.plus(Expr::int(by)) }
}

/// The sum of indices times strides, for as many axes as there are indices.
pub fn along(l: &mut Lower, mem: Mem, indices: &[Expr]) -> Expr {
    let mut sum: Option<Expr> = None;
    for (i, axis) in indices.iter().zip(0..) {
        let e = i.clone().times(l.stride(mem, axis));
        sum = Some(sum.map_or(e.clone(), |s| s.plus(e)));
    }
    sum.unwrap_or(Expr::int(0))
}

/// The thread's first indices, from its number and its block's.
pub fn place(l: &mut Lower, pass: &Pass, shape: Shape, cut: Cut, out: &mut Vec<Stmt>) -> Place {
    let mut number = Expr::Place(Gpu::Block);
    if shape.descending {
        number = Expr::Place(Gpu::Blocks).minus(int32(1)).minus(number);
    }
    let rank = pass.domain.len();
    let (mut vars, mut block) = (Vec::new(), Vec::new());
    // neighbouring blocks are neighbours along the columns
    for axis in (0..rank).rev() {
        let each = [cut.columns, cut.rows, 1][(rank - 1 - axis).min(2)];
        let mut own = number.clone();
        if axis > 0 {
            let blocks = l.host(pass.domain[axis]).plus(Expr::int(each - 1));
            let blocks = Expr::binary(BinaryOp::Shr, blocks, Expr::int(each.ilog2().into()));
            let blocks = bind(l, "blocks", Expr::Cast(Ty::U32, Box::new(blocks)), out);
            let unsigned = Expr::Cast(Ty::U32, Box::new(number.clone()));
            let before = Expr::Cast(Ty::I32, Box::new(Expr::binary(BinaryOp::Div, unsigned, blocks.clone())));
            let before = bind(l, "before", before, out);
            let blocks = Expr::Cast(Ty::I32, Box::new(blocks));
            own = bind(l, "own", number.minus(before.clone().times(blocks)), out);
            number = before;
        }
        let first = wide(own).times(Expr::int(each));
        let in_block = match rank - 1 - axis {
            0 => wide(lane()).times(Expr::int(cut.v)),
            1 => wide(warp()).times(Expr::int(ROWS)),
            _ => Expr::int(0),
        };
        block.push(first.clone());
        let name = ["column", "row", "outer"][(rank - 1 - axis).min(2)];
        let first = if in_block == Expr::int(0) { first } else { first.plus(in_block) };
        vars.push((l.g.fresh_var(Ty::I64).1, bind(l, name, first, out)));
    }
    vars.reverse();
    block.reverse();
    Place { vars, block }
}

/// The thread's lane.
pub fn lane() -> Expr {
    Expr::binary(BinaryOp::And, thread(), int32(31))
}

/// The thread's warp in its block.
pub fn warp() -> Expr {
    Expr::binary(BinaryOp::Shr, thread(), int32(5))
}

/// Whether all of so many elements along each axis, from these first ones on, are inside and keep their margins, and what is loaded around them is inside.
pub fn fits(
    l: &mut Lower,
    (pass, margins): (&Pass, &[Margin]),
    firsts: &[Expr],
    sizes: &[i64],
    reaches: &[Reach],
) -> Expr {
    let mut all: Option<Expr> = None;
    for (axis, (own, size)) in firsts.iter().zip(sizes).enumerate() {
        let mine = || reaches.iter().filter(|r| r.axis == axis);
        let mut tests = Vec::new();
        let margin = margins[axis];
        let first = mine().map(|r| r.first).min().unwrap_or(0).min(-margin.0);
        if first < 0 {
            tests.push(Expr::binary(BinaryOp::Ge, own.clone(), Expr::int(-first)));
        }
        let mut needs: Vec<(NodeId, i64)> = Vec::new();
        for r in mine() {
            let beyond = r.end - size;
            match needs.iter_mut().find(|n| n.0 == r.array) {
                Some(n) => n.1 = n.1.max(beyond),
                None => needs.push((r.array, beyond)),
            }
        }
        let n = l.host(pass.domain[axis]);
        let end = window::end(l, (pass.domain[axis], margin.1), axis as u8, &needs);
        // along outer axes there is one index, which is inside
        if axis + 2 >= firsts.len() || end != n {
            tests.push(Expr::binary(BinaryOp::Le, plus(own.clone(), *size), end));
        }
        for test in tests {
            all = Some(all.map_or(test.clone(), |all| Expr::binary(BinaryOp::And, all, test)));
        }
    }
    all.unwrap_or(Expr::Lit(Lit::bool(true)))
}

/// The elements of a thread at the edges, one after another.
pub fn edge(l: &mut Lower, pass: &Pass, items: &[&Item], v: i64, place: &Place) -> Result<Vec<Stmt>> {
    let rank = pass.domain.len();
    let [r, c] = ["r", "c"].map(|name| l.k.reg(name, Ty::I64));
    let mut body = Vec::new();
    let mut index: Vec<Expr> = place.vars.iter().map(|v| v.1.clone()).collect();
    index[rank - 2] = bind(l, "i", index[rank - 2].clone().plus(Expr::Reg(r)), &mut body);
    index[rank - 1] = bind(l, "j", index[rank - 1].clone().plus(Expr::Reg(c)), &mut body);
    let vars: Vec<(NodeId, Expr)> = index.iter().map(|e| (l.g.fresh_var(Ty::I64).1, e.clone())).collect();
    let own: Vec<NodeId> = vars.iter().map(|v| v.0).collect();
    let roots: Vec<NodeId> = items.iter().map(|it| opened(&mut l.g, it.node, &own)).collect();
    let extents: Vec<Expr> = pass.domain.iter().map(|n| l.host(*n)).collect();
    // what records name
    let number = index
        .iter()
        .zip(&extents)
        .skip(1)
        .fold(index[0].clone(), |k, (i, n)| k.times(n.clone()).plus(i.clone()));
    let mut element = Vec::new();
    let values = l.region_at(&vars, &roots, (None, own), &number, &mut element)?;
    let mut stores = Vec::new();
    for (item, e) in items.iter().zip(values) {
        let (mem, ty) = (l.output(item), l.g.ty(item.node).elem);
        let e = bind(l, "value", e, &mut element);
        let (last, before) = index.split_last().map_or((Expr::int(0), &[][..]), |(j, i)| (j.clone(), i));
        let to = along(l, mem, before);
        let last = if l.strided { last.times(l.stride(mem, rank as u8 - 1)) } else { last };
        stores.push(Stmt::Store(mem, to.plus(last), canonical(e, ty, &mut l.k, &mut element)));
    }
    element.append(&mut stores);
    let inside = |axis: usize| Expr::binary(BinaryOp::Lt, index[axis].clone(), extents[axis].clone());
    let is_inside = Expr::binary(BinaryOp::And, inside(rank - 2), inside(rank - 1));
    body.push(Stmt::If(is_inside, element, vec![]));
    let columns = vec![Stmt::Seq(c, Expr::int(0), Expr::int(v), body)];
    Ok(vec![Stmt::Seq(r, Expr::int(0), Expr::int(ROWS), columns)])
}
