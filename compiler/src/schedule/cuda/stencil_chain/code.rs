//! The code of one thread of a chain of stencils: the tiles of all stages but the last, then the results.

use super::fill::fill;
use super::part::{Part, SharedArray, SharedArrays, elements, single_elements};
use super::stream;
use super::tiles::ChainTiles;
use crate::core::{NodeId, linear};
use crate::error::{Error, Result};
use crate::kernel::{Expr, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::cuda::expressions::{int32, offset, to_i64};
use crate::schedule::cuda::register_tiling::placement::{self, ThreadPosition, along, lane, warp};
use crate::schedule::cuda::thread_layout::ThreadLayout;
use crate::schedule::element::{canonical, opened};
use crate::schedule::facts::{ChainStage, StencilChain};
use crate::schedule::groups::FusedGroup;
use crate::schedule::lower::{Loaded, Lower, named as bind};
use rustc_hash::FxHashMap as HashMap;

/// Writes the body of one thread.
pub fn main(
    l: &mut Lower,
    fused: &FusedGroup,
    layout: ThreadLayout,
    tiles: &ChainTiles,
) -> Result<Vec<Stmt>> {
    let Some(chain) = l.launch.facts.stencil_chain.clone() else {
        return Err(Error::bug("E0404", "a chain of stencils without facts"));
    };
    let mut out = Vec::new();
    let Some(stream) = &tiles.stream else {
        let position = placement::position(l, fused, layout, tiles.tiling, &mut out);
        by_tiles(l, &chain, tiles, position, &mut out)?;
        return Ok(out);
    };
    let position = placement::position(l, fused, layout, stream.tiling, &mut out);
    let inside = stream.inside(l, fused, &position);
    let (mut full, mut body) = (Vec::new(), Vec::new());
    let last = chain.stages.last().expect("a chain has stages");
    if stream::elements(l, last, stream, &position, &mut full)?.is_none() {
        return Err(Error::bug("E0404", "a step of a stream leaves something else than the one before"));
    }
    // the block's rows, one tile after another
    let turn = l.k.reg("turn", Ty::I64);
    let rows = tiles.tiling.block_rows;
    let top = position.block[0].clone().plus(Expr::Reg(turn).times(Expr::int(rows)));
    let top = bind(l, "top", top, &mut body);
    let row = top.clone().plus(to_i64(warp()).times(Expr::int(tiles.tiling.thread_rows)));
    let row = bind(l, "row", row, &mut body);
    let vars = vec![(l.launch.g.fresh_var(Ty::I64).1, row), position.vars[1].clone()];
    let of_tile = ThreadPosition { vars, block: vec![top, position.block[1].clone()] };
    by_tiles(l, &chain, tiles, of_tile, &mut body)?;
    body.push(Stmt::Barrier);
    let left = l.launch.host(fused.domain[0]).minus(position.block[0].clone()).plus(Expr::int(rows - 1));
    let tiles_left = Expr::binary(BinaryOp::Shr, left, Expr::int(rows.ilog2().into()));
    let mut edge = Vec::new();
    let end = tiles_left.min(Expr::int(stream.tiling.block_rows / rows));
    let end = bind(l, "tiles", end, &mut edge);
    edge.push(Stmt::Seq(turn, Expr::int(0), end, body));
    out.push(Stmt::If(inside, full, edge));
    Ok(out)
}

/// Computes the elements of a block by tiles.
fn by_tiles(
    l: &mut Lower,
    chain: &StencilChain,
    tiles: &ChainTiles,
    mut own: ThreadPosition,
    out: &mut Vec<Stmt>,
) -> Result<()> {
    own.block[0] = bind(l, "top", own.block[0].clone(), out);
    let mut shared = SharedArrays::default();
    let (last, before) = chain.stages.split_last().expect("a chain has stages");
    for (stage, tile) in before.iter().zip(&tiles.tiles) {
        for it in &stage.fused.items {
            let len = (tile.size[0] * tile.size[1]) as u32;
            let mem = l.k.share("tile", l.launch.g.ty(it.node).elem, len);
            shared.insert(it.node, SharedArray { mem, first: tile.first, columns: tile.size[1] });
        }
        fill(l, (stage, tile), tiles.tiling, &own.block, &shared, out)?;
        out.push(Stmt::Barrier);
    }
    let down = warp().times(int32(tiles.tiling.thread_rows as i32));
    let first =
        [bind(l, "down", down, out), bind(l, "right", lane().times(int32(tiles.tiling.v as i32)), out)];
    let Some(tile) = tiles.tiles.last() else { return Ok(()) };
    let mut part =
        Part { stage: last, tile, tiling: tiles.tiling, position: own, first, starts: HashMap::default() };
    part.find_starts(l, &shared, out);
    store_results(l, &part, &shared, out)?;
    let is_read = |x: &NodeId| l.launch.is_input(*x);
    if shared.keys().any(is_read) {
        return Err(Error::bug("E0404", "a chain of stencils reads what it has not stored"));
    }
    Ok(())
}

/// Computes and stores the elements of the last stage.
fn store_results(l: &mut Lower, part: &Part, shared: &SharedArrays, out: &mut Vec<Stmt>) -> Result<()> {
    let (mut full, mut edge) = (Vec::new(), Vec::new());
    elements(l, part, shared, &mut full)?;
    let stage = part.stage;
    let extents: Vec<Expr> = stage.fused.domain.iter().map(|n| l.launch.host(*n)).collect();
    single_elements(l, part, &mut edge, |l, index, at, out| {
        let mut body = Vec::new();
        let values = match stage.has_edges {
            true => whole_element(l, stage, index, &mut body)?,
            false => element_of_tiles(l, stage, (index, at), shared, &mut body)?,
        };
        for (it, e) in stage.fused.items.iter().zip(values) {
            let (mem, ty) = (l.launch.output(it), l.launch.g.ty(it.node).elem);
            let to = along(l, mem, &index[..1]).plus(index[1].clone());
            let e = canonical(e, ty, &mut l.k.kernel, &mut body);
            body.push(Stmt::Store(mem, to, e));
        }
        let inside = |axis: usize| Expr::binary(BinaryOp::Lt, index[axis].clone(), extents[axis].clone());
        let inside = Expr::binary(BinaryOp::And, inside(0), inside(1));
        out.push(Stmt::If(inside, body, vec![]));
        Ok(())
    })?;
    let whole = part.is_interior(l, shared).unwrap_or(Expr::Lit(Lit::bool(true)));
    out.push(Stmt::If(whole, full, edge));
    Ok(())
}

/// Computes one element of the last stage from arrays in memory alone.
fn whole_element(
    l: &mut Lower,
    stage: &ChainStage,
    index: &[Expr; 2],
    out: &mut Vec<Stmt>,
) -> Result<Vec<Expr>> {
    let (mut vars, mut roots) = (Vec::new(), Vec::new());
    for beyond in &stage.beyond {
        vars.extend(beyond.at.iter().copied().zip(index.iter().cloned()));
        roots.push(beyond.value);
    }
    l.with_loaded(Loaded::default(), |l| l.region(&vars, &roots, &Expr::int(0), out))
}

/// Computes one element of the last stage from tiles, which hold what it reads beyond the edges as well.
fn element_of_tiles(
    l: &mut Lower,
    stage: &ChainStage,
    (index, at): (&[Expr; 2], &[Expr; 2]),
    shared: &SharedArrays,
    out: &mut Vec<Stmt>,
) -> Result<Vec<Expr>> {
    let vars: Vec<(NodeId, Expr)> =
        index.iter().map(|e| (l.launch.g.fresh_var(Ty::I64).1, e.clone())).collect();
    let own: Vec<NodeId> = vars.iter().map(|v| v.0).collect();
    let roots: Vec<NodeId> = stage.inner.arrays.iter().map(|a| opened(&mut l.launch.g, *a, &own)).collect();
    let loaded = single_loads(l, stage, (&own, at), shared, out);
    l.with_loaded(loaded, |l| {
        let roots = l.launch.shared(&roots);
        l.region(&vars, &roots, &Expr::int(0), out)
    })
}

/// Loads what one element reads of the tiles.
fn single_loads(
    l: &mut Lower,
    stage: &ChainStage,
    (index, at): (&[NodeId], &[Expr; 2]),
    shared: &SharedArrays,
    out: &mut Vec<Stmt>,
) -> Loaded {
    let mut loaded = Loaded::default();
    for s in &stage.stencils {
        let Some(tile) = shared.get(&s.array) else { continue };
        let ty = l.launch.g.ty(s.array).elem;
        let start = bind(l, "start", tile.at(&at[0], &at[1]), out);
        for tap in &s.taps {
            let r = l.k.reg("x", ty);
            let from = offset(start.clone(), tap[0] * tile.columns + tap[1]);
            out.push(Stmt::Let(r, Expr::load(tile.mem, from), Default::default()));
            let key: Vec<NodeId> = index
                .iter()
                .zip(tap)
                .map(|(i, by)| {
                    let by = l.launch.g.lit(Lit::i64(*by));
                    linear::add(&mut l.launch.g, *i, by)
                })
                .collect();
            let key = l.launch.normal(&key);
            loaded.insert((s.array, key), Expr::Reg(r));
        }
    }
    loaded
}
