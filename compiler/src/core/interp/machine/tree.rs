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
                tiles.push(self.joined_columns(columns, join));
            }
            v = tiles;
            first = false;
        }
        v.first().cloned()
    }

    /// Joins columns as a tree of neighbours (semantics 5.1, step 3). There is at least one.
    fn joined_columns<V: Clone>(
        &mut self,
        mut columns: Vec<V>,
        join: &mut dyn FnMut(&mut Self, V, V) -> V,
    ) -> V {
        while columns.len() > 1 {
            columns = columns
                .chunks(2)
                .map(|p| match p {
                    [a, b] => join(self, a.clone(), b.clone()),
                    _ => p[0].clone(),
                })
                .collect();
        }
        columns.remove(0)
    }

    /// Joins values by the fixed tree that keeps their order (semantics 5.17).
    pub(super) fn ordered_tree<V: Clone>(
        &mut self,
        v: Vec<V>,
        join: &mut dyn FnMut(&mut Self, V, V) -> V,
    ) -> Option<V> {
        let mut tiles = Vec::new();
        for tile in v.chunks(TILE) {
            let mut columns = Vec::new();
            for column in tile.chunks(TILE / COLUMNS) {
                let rest = column[1..].iter().cloned();
                columns.push(rest.fold(column[0].clone(), |acc, next| join(self, acc, next)));
            }
            tiles.push(self.joined_columns(columns, join));
        }
        while tiles.len() > 1 {
            tiles = tiles.chunks(COLUMNS).map(|group| self.joined_columns(group.to_vec(), join)).collect();
        }
        tiles.pop()
    }
}
