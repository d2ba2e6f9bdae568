//! The fixed order of a scan (semantics 5.18).

use super::{Env, Machine, Tuple};
use crate::core::{Lambda, NodeId, ScanPart};

/// The numbers of elements of a chunk, of chunks of a row, of rows of a tile, and of tiles of a group.
const PARTS: [usize; 4] = [4, 32, 64, 32];
/// The elements of a tile.
const TILE: usize = PARTS[0] * PARTS[1] * PARTS[2];

/// How values are joined, the lower one first.
type Join<'j, V> = dyn FnMut(&mut Machine, V, V) -> V + 'j;

/// For elements, chunks and rows: the partial results of the chunk, row and tile to which each belongs.
struct Inside<V>(Vec<Vec<V>>);

impl<V: Clone> Inside<V> {
    /// Returns the partial result of what comes before a part in the larger one, if the part is not the first there.
    fn before(&self, level: usize, index: usize) -> Option<V> {
        let is_first = index.is_multiple_of(PARTS[level]);
        (!is_first).then(|| self.0[level][index - 1].clone())
    }
}

impl Machine<'_> {
    /// Returns a part of a scan.
    pub(super) fn scan(
        &mut self,
        part: ScanPart,
        join: &Lambda,
        (init, src): (NodeId, NodeId),
        env: &Env,
    ) -> Vec<Tuple> {
        let v = self.tuples(src, env);
        let f: &mut Join<Tuple> = &mut |m, a, b| m.apply_to(join, &a, &b, env);
        match part {
            ScanPart::Whole => {
                let init = self.tuple(init, env);
                self.scanned(v, init, f)
            }
            ScanPart::Totals => self.totals_of_tiles(v, f),
            ScanPart::Before => {
                let (init, count) = (self.tuple(init, env), v.len());
                // the total of the last tile may be any value, and is not joined
                let all_but_last = v.into_iter().take(count.saturating_sub(1)).collect();
                self.before_tiles(all_but_last, count, init, f)
            }
            ScanPart::Tiles => {
                let before = self.tuples(init, env);
                self.scanned_behind(v, &before, f)
            }
        }
    }

    /// Returns the partial results of `v` after an initial value.
    fn scanned<V: Clone>(&mut self, v: Vec<V>, init: V, join: &mut Join<V>) -> Vec<V> {
        let count = v.len().div_ceil(TILE);
        let (inside, totals) = self.tiles(v, join);
        let before = self.before_tiles(totals, count, init, join);
        self.behind(&inside, &before, join)
    }

    /// Returns the totals of the tiles of `v`; that of a tile that is not complete may be any value.
    fn totals_of_tiles<V: Clone>(&mut self, v: Vec<V>, join: &mut Join<V>) -> Vec<V> {
        let (count, any) = (v.len().div_ceil(TILE), v.first().cloned());
        let mut totals = self.tiles(v, join).1;
        totals.extend(any.filter(|_| totals.len() < count));
        totals
    }

    /// Returns the partial results of `v`, each joined to what comes before its tile.
    fn scanned_behind<V: Clone>(&mut self, v: Vec<V>, before: &[V], join: &mut Join<V>) -> Vec<V> {
        let (inside, _) = self.tiles(v, join);
        self.behind(&inside, before, join)
    }

    /// Returns what comes before each of `count` tiles, given the totals of all of them or of all but the last one.
    fn before_tiles<V: Clone>(
        &mut self,
        totals: Vec<V>,
        count: usize,
        init: V,
        join: &mut Join<V>,
    ) -> Vec<V> {
        let (inside, groups) = self.halved(totals, PARTS[3], join);
        let mut chain = vec![init];
        for group in groups {
            let all = join(self, chain[chain.len() - 1].clone(), group);
            chain.push(all);
        }
        let of_tile = |tile: usize| {
            let group = chain[tile / PARTS[3]].clone();
            match tile.is_multiple_of(PARTS[3]) {
                true => group,
                false => join(self, group, inside[tile - 1].clone()),
            }
        };
        (0..count).map(of_tile).collect()
    }

    /// Returns the partial results inside of tiles, and the tiles' totals.
    fn tiles<V: Clone>(&mut self, v: Vec<V>, join: &mut Join<V>) -> (Inside<V>, Vec<V>) {
        let (mut levels, mut values) = (Vec::new(), v);
        for size in &PARTS[..3] {
            let (inside, totals) = self.halved(values, *size, join);
            levels.push(inside);
            values = totals;
        }
        (Inside(levels), values)
    }

    fn behind<V: Clone>(&mut self, inside: &Inside<V>, before: &[V], join: &mut Join<V>) -> Vec<V> {
        let mut both = |m: &mut Self, a: Option<V>, b: Option<V>| match (a, b) {
            (Some(a), Some(b)) => Some(join(m, a, b)),
            (a, b) => a.or(b),
        };
        let element = |(i, own): (usize, &V)| {
            let [chunk, row, tile] = [PARTS[0], PARTS[0] * PARTS[1], TILE].map(|size| i / size);
            let inner = both(self, inside.before(2, row), inside.before(1, chunk));
            let outer = both(self, Some(before[tile].clone()), inner);
            both(self, outer, Some(own.clone())).expect("there is an element")
        };
        inside.0[0].iter().enumerate().map(element).collect()
    }

    /// Returns the partial results of each part of `size` values, and the totals of the parts that are complete.
    fn halved<V: Clone>(&mut self, v: Vec<V>, size: usize, join: &mut Join<V>) -> (Vec<V>, Vec<V>) {
        let inside: Vec<V> = v.chunks(size).flat_map(|part| self.halves(part, size, join)).collect();
        let totals = inside.chunks_exact(size).map(|part| part[size - 1].clone()).collect();
        (inside, totals)
    }

    /// Returns the partial results of at most `size` values, a power of two: those of the lower half, and those of
    /// the higher half, each joined to the last one of the lower.
    fn halves<V: Clone>(&mut self, v: &[V], size: usize, join: &mut Join<V>) -> Vec<V> {
        let half = size / 2;
        if v.len() <= half {
            return self.halves(v, half, join);
        }
        if size == 1 {
            return v.to_vec();
        }
        let (low, high) = v.split_at(half);
        let mut all = self.halves(low, half, join);
        let last = all[half - 1].clone();
        for value in self.halves(high, half, join) {
            all.push(join(self, last.clone(), value));
        }
        all
    }
}
