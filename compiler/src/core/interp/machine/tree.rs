//! The fixed tree of semantics 5.1.

use super::Machine;
use crate::core;

/// The columns and the elements of a tile (semantics 5.1).
const COLUMNS: usize = core::COLUMNS as usize;
const TILE: usize = core::TILE as usize;

impl Machine<'_> {
    /// Joins values by the fixed tree (semantics 5.1, steps 1 to 4). `fold` continues a column; at
    /// the first level it also gets the element's index.
    #[allow(clippy::type_complexity)]
    pub(super) fn tree<V: Clone>(
        &mut self,
        mut v: Vec<V>,
        fold: &mut dyn FnMut(&mut Self, Option<usize>, V, V) -> V,
        join: &mut dyn FnMut(&mut Self, V, V) -> V,
    ) -> Option<V> {
        let mut first = true;
        while first && !v.is_empty() || v.len() > 1 {
            let mut tiles = Vec::new();
            for (t, tile) in v.chunks(TILE).enumerate() {
                let mut columns: Vec<V> = tile.iter().take(COLUMNS).cloned().collect();
                for (i, x) in tile.iter().enumerate().skip(COLUMNS) {
                    let index = first.then_some(t * TILE + i);
                    columns[i % COLUMNS] = fold(self, index, columns[i % COLUMNS].clone(), x.clone());
                }
                while columns.len() > 1 {
                    columns =
                        columns
                            .chunks(2)
                            .map(|p| {
                                if p.len() == 2 {
                                    join(self, p[0].clone(), p[1].clone())
                                } else {
                                    p[0].clone()
                                }
                            })
                            .collect();
                }
                tiles.push(columns[0].clone());
            }
            v = tiles;
            first = false;
        }
        v.first().cloned()
    }
}
