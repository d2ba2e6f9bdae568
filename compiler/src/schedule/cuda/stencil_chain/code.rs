//! The kernel body of a chain of stencils. For each stage but the last, the block's threads fill the stage's
//! shared-memory tiles and wait at a barrier; then each thread computes and stores its part of the last stage.

use super::fill::fill;
use super::part::{Part, SharedArray, SharedArrays, elements, single_elements};
use super::tiles::ChainTiles;
use crate::core::{NodeId, linear};
use crate::error::{Error, Result};
use crate::kernel::{Expr, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::cuda::expressions::{int32, offset};
use crate::schedule::cuda::register_tiling::placement::{self, along, lane, warp};
use crate::schedule::cuda::thread_layout::ThreadLayout;
use crate::schedule::element::lower::{Loaded, Lower, bind};
use crate::schedule::element::{canonical, opened};
use crate::schedule::facts::ChainStage;
use crate::schedule::groups::FusedGroup;
use rustc_hash::FxHashMap as HashMap;

/// Writes the body of one thread.
pub fn main(
    l: &mut Lower,
    fused: &FusedGroup,
    layout: ThreadLayout,
    tiles: &ChainTiles,
) -> Result<Vec<Stmt>> {
    l.k.kernel.min_resident_blocks = tiles.min_resident_blocks();
    let Some(chain) = l.launch.facts.stencil_chain.clone() else {
        return Err(Error::bug("E0404", "a chain of stencils without facts"));
    };
    let mut out = Vec::new();
    let mut own = placement::position(l, fused, layout, tiles.tiling, &mut out);
    own.block[0] = bind(l, "top", own.block[0].clone(), &mut out);
    let mut shared = SharedArrays::default();
    let (last, before) = chain.stages.split_last().expect("a chain has stages");
    for (stage, tile) in before.iter().zip(&tiles.tiles) {
        for it in &stage.fused.items {
            let len = (tile.size[0] * tile.size[1]) as u32;
            let mem = l.k.share("tile", l.launch.g.ty(it.node).elem, len);
            shared.insert(it.node, SharedArray { mem, first: tile.first, columns: tile.size[1] });
        }
        fill(l, (stage, tile), tiles.tiling, &own.block, &shared, &mut out)?;
        out.push(Stmt::Barrier);
    }
    let down = warp().times(int32(tiles.tiling.thread_rows as i32));
    let first = [
        bind(l, "down", down, &mut out),
        bind(l, "right", lane().times(int32(tiles.tiling.v as i32)), &mut out),
    ];
    let Some(tile) = tiles.tiles.last() else { return Ok(out) };
    let mut part =
        Part { stage: last, tile, tiling: tiles.tiling, position: own, first, starts: HashMap::default() };
    part.find_starts(l, &shared, &mut out);
    store_results(l, &part, &shared, &mut out)?;
    let is_read = |x: &NodeId| l.launch.is_input(*x);
    if shared.keys().any(is_read) {
        return Err(Error::bug("E0404", "a chain of stencils reads what it has not stored"));
    }
    Ok(out)
}

/// Computes and stores the elements of the last stage: line by line where the thread's whole part is in the interior,
/// else element by element, with a test of each element's bounds.
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

/// Computes one element of the last stage from arrays in global memory alone: the earlier stages are computed again
/// for this element, by the program's own conditions at the edges.
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

/// Computes one element of the last stage from the tiles. The interior's code is right even at the edges, because the
/// tiles' halos hold what the program reads beyond them. `index` is the element's row and column in the matrix, `at`
/// those counted from the block's first element.
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

/// Loads one register for each tap of one element into the tiles, and returns which register has which array element.
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
