//! Boundary blocks of a stencil of vectors: they run the code of full blocks on a shared-memory tile that holds what
//! the block reads, with the halo. This is chosen where windows are small and all reads of an array agree on the halo
//! (`map.rs`). Only boundary blocks pay for the detour through shared memory.
//!
//! ```text
//! if full { load a, b, c, d = x[first] .. }
//! else    { fill tile[..] from start on, with the halo;  barrier;  load a, b, c, d = tile[..] }
//! compute with a, b, c, d
//! ```
//!
//! If each thread loaded its elements one by one instead, that code would take registers that full blocks then lack.

use super::elements::Elements;
use super::register_window::{self, Window};
use super::shared_tile_1d::{self, read_halo};
use super::thread_layout::ThreadLayout;
use crate::core::linear;
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::Lit;
use crate::schedule::boundary::halo::Halo;
use crate::schedule::element::lower::Lower;

/// The elements of a block, and the halo around them.
pub struct BoundaryBlock<'a> {
    pub windows: &'a [Window],
    pub elements: &'a Elements,
    pub halo: &'a Halo,
    pub start: &'a Expr,
    pub layout: ThreadLayout,
    pub per_block: i64,
}

impl BoundaryBlock<'_> {
    /// Turns the registers that `full` has loaded into variables that either branch sets. Writes
    /// the loads of boundary blocks to `boundary`.
    pub fn load(
        &self,
        l: &mut Lower,
        (full, boundary): (&mut Vec<Stmt>, &mut Vec<Stmt>),
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let (base, first) = self.elements.base().clone();
        let mut known: Vec<_> = l.scope.loaded.take().unwrap_or_default().into_iter().collect();
        known.sort_by_key(|(_, e)| if let Expr::Reg(r) = e { r.0 } else { 0 });
        let mut own: Vec<Window> = self.windows.iter().filter(|w| w.tile.is_none()).cloned().collect();
        own.iter_mut().for_each(|w| w.tile = Some(register_window::Tile::default()));
        shared_tile_1d::assign_tiles(l.launch, &mut own, self.layout.v, self.per_block);
        shared_tile_1d::declare(l, &mut own, self.layout.v, out);
        shared_tile_1d::fill_boundary(l, self.windows, self.halo, self.start, boundary)?;
        shared_tile_1d::fill_boundary(l, &own, self.halo, self.start, boundary)?;
        if !own.is_empty() {
            boundary.push(Stmt::Barrier);
        }
        let tiled = register_window::loaded(l, &own, self.elements, true, boundary);
        for ((array, index), e) in &mut known {
            let ty = l.launch.g.ty(*array).elem;
            let var = l.k.reg("x", ty);
            out.push(Stmt::Var(var, Expr::Lit(Lit::zero(ty))));
            full.push(Stmt::Assign(var, std::mem::replace(e, Expr::Reg(var))));
            let e = match tiled.get(&(*array, index.clone())) {
                Some(e) => e.clone(),
                None => {
                    let by = linear::sub(&mut l.launch.g, index[0], base);
                    let at = first.clone().plus(l.launch.host(by));
                    read_halo(l, *array, self.halo, &at, boundary)?
                }
            };
            boundary.push(Stmt::Assign(var, e));
        }
        l.scope.loaded = Some(known.into_iter().collect());
        Ok(())
    }
}
