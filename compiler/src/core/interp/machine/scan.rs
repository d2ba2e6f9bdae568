//! The fixed order of a scan (semantics 5.18).

use super::Machine;

/// The elements of a chunk, the chunks of a row, the rows of a tile, and the tiles of a group.
const PARTS: [usize; 4] = [4, 32, 64, 32];

/// How values are joined, the lower one first.
type Join<'j, V> = dyn FnMut(&mut Machine, V, V) -> V + 'j;

impl Machine<'_> {
    /// Returns the partial results of `v` behind an initial value.
    pub(super) fn scanned<V: Clone>(&mut self, v: Vec<V>, init: V, join: &mut Join<V>) -> Vec<V> {
        // of elements, chunks, rows and tiles: the partial results of the part that each belongs to
        let (mut levels, mut values) = (Vec::new(), v);
        for size in PARTS {
            let inside: Vec<V> = values.chunks(size).flat_map(|part| self.halves(part, size, join)).collect();
            values = inside.chunks_exact(size).map(|part| part[size - 1].clone()).collect();
            levels.push(inside);
        }
        let mut chain = vec![init];
        for group in values {
            let all = join(self, chain[chain.len() - 1].clone(), group);
            chain.push(all);
        }
        let before = |level: usize, index: usize| {
            let is_first = index.is_multiple_of(PARTS[level]);
            (!is_first).then(|| levels[level][index - 1].clone())
        };
        let mut both = |m: &mut Self, a: Option<V>, b: Option<V>| match (a, b) {
            (Some(a), Some(b)) => Some(join(m, a, b)),
            (a, b) => a.or(b),
        };
        let element = |(i, own): (usize, &V)| {
            let [chunk, row, tile] = [4, 128, 8192].map(|size| i / size);
            let group = Some(chain[tile / PARTS[3]].clone());
            let outer = both(self, group, before(3, tile));
            let inner = both(self, before(2, row), before(1, chunk));
            let outer = both(self, outer, inner);
            both(self, outer, Some(own.clone())).expect("there is an element")
        };
        levels[0].iter().enumerate().map(element).collect()
    }

    /// Returns the partial results of at most `size` values, a power of two: of each half, and in the higher one
    /// behind the last one of the lower.
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
