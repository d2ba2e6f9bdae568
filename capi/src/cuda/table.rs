//! A growing table that is read without a lock: values are made once, at their index, and never
//! move.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

const FIRST: usize = 8;
const CHUNKS: usize = 28;

/// The table's chunks, each of which is twice as large as the chunk before it.
pub(super) struct Table<T> {
    chunks: [OnceLock<Box<[OnceLock<T>]>>; CHUNKS],
}

impl<T> Table<T> {
    pub fn new() -> Table<T> {
        Table { chunks: [const { OnceLock::new() }; CHUNKS] }
    }

    fn place(index: usize) -> (usize, usize) {
        let from = index + FIRST;
        let chunk = (from.ilog2() - FIRST.ilog2()) as usize;
        (chunk, from - (FIRST << chunk))
    }

    /// Returns the value at an index, if it was made.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        let (chunk, at) = Table::<T>::place(index);
        self.chunks.get(chunk)?.get()?[at].get()
    }

    /// Returns the value at an index (below 2^31), which is made if it does not exist.
    pub fn get_or_init(&self, index: usize, make: impl FnOnce() -> T) -> &T {
        let (chunk, at) = Table::<T>::place(index);
        let cells = || (0..FIRST << chunk).map(|_| OnceLock::new()).collect();
        self.chunks[chunk].get_or_init(cells)[at].get_or_init(make)
    }

    /// Iterates over all values from index 0 up to the first one that was not made.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..).map_while(|i| self.get(i))
    }

    /// Removes all values, in no particular order.
    pub fn drain(&mut self) -> impl Iterator<Item = T> {
        self.chunks.iter_mut().filter_map(OnceLock::take).flatten().filter_map(OnceLock::into_inner)
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn values_are_made_once_and_stay() {
        let mut table = Table::new();
        for i in [0, 1, 7, 8, 9, 23, 24, 1000] {
            assert_eq!(table.get(i), None);
            assert_eq!(*table.get_or_init(i, || i), i);
            assert_eq!(*table.get_or_init(i, || 77), i);
        }
        assert_eq!(table.iter().copied().collect::<Vec<_>>(), [0, 1]);
        let mut all: Vec<_> = table.drain().collect();
        all.sort();
        assert_eq!(all, [0, 1, 7, 8, 9, 23, 24, 1000]);
        assert_eq!(table.get(0), None);
    }
}
