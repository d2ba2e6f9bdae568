//! A table like [`Table`] whose values may be removed, for what is kept for a package until the package is unloaded.

use super::table::Table;
use std::marker::PhantomData;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The values are boxed, and null once they are removed.
pub(super) struct Removable<T> {
    table: Table<AtomicPtr<T>>,
    owns: PhantomData<Box<T>>,
}

impl<T> Removable<T> {
    pub fn new() -> Removable<T> {
        Removable { table: Table::new(), owns: PhantomData }
    }

    /// Returns the value at an index, if it was made.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        let value = self.table.get(index)?.load(Ordering::Acquire);
        // SAFETY: it is null, or a box of this table; who calls `remove` promises that nobody has it.
        unsafe { value.as_ref() }
    }

    /// Returns the value at an index (below 2^31), which is made if it does not exist.
    pub fn get_or_init(&self, index: usize, make: impl FnOnce() -> T) -> &T {
        if let Some(known) = self.get(index) {
            return known;
        }
        let cell = self.table.get_or_init(index, || AtomicPtr::new(null_mut()));
        let fresh = Box::into_raw(Box::new(make()));
        match cell.compare_exchange(null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: as in `get`.
            Ok(_) => unsafe { &*fresh },
            Err(other) => {
                // SAFETY: it was boxed above, and no other thread has seen it.
                drop(unsafe { Box::from_raw(fresh) });
                // SAFETY: as in `get`; the exchange fails only where there is a value.
                unsafe { &*other }
            }
        }
    }

    /// Removes the value at an index, if there is one.
    ///
    /// # Safety
    /// No thread has a reference to the value, nor asks for it meanwhile.
    pub unsafe fn remove(&self, index: usize) {
        let value = self.table.get(index).map_or(null_mut(), |cell| cell.swap(null_mut(), Ordering::AcqRel));
        if !value.is_null() {
            // SAFETY: it is a box of this table that nobody has any more.
            drop(unsafe { Box::from_raw(value) });
        }
    }
}

impl<T> Drop for Removable<T> {
    fn drop(&mut self) {
        for cell in self.table.drain().filter(|cell| !cell.load(Ordering::Relaxed).is_null()) {
            // SAFETY: it is a box of this table, which nobody else can have any more.
            drop(unsafe { Box::from_raw(cell.into_inner()) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn values_go_when_they_are_removed_and_with_the_table() {
        let (table, value) = (Removable::new(), Arc::new(7));
        for i in [3, 0, 40] {
            assert!(table.get(i).is_none());
            assert_eq!(**table.get_or_init(i, || value.clone()), 7);
            table.get_or_init(i, || Arc::new(8));
            assert!(table.get(i).is_some_and(|known| Arc::ptr_eq(known, &value)));
        }
        assert_eq!(Arc::strong_count(&value), 4);
        for i in [3, 3, 5, 1000] {
            // SAFETY: there is no other thread, and no reference is left.
            unsafe { table.remove(i) };
        }
        assert!(table.get(3).is_none() && table.get(40).is_some());
        assert_eq!(Arc::strong_count(&value), 3);
        drop(table);
        assert_eq!(Arc::strong_count(&value), 1);
    }

    #[test]
    fn threads_agree_on_one_value() {
        let table = Removable::new();
        let found: Vec<usize> = std::thread::scope(|s| {
            let threads: Vec<_> = (0..4)
                .map(|i| {
                    s.spawn({
                        let table = &table;
                        move || *table.get_or_init(9, || i)
                    })
                })
                .collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        assert!(found.iter().all(|v| *v == found[0]) && table.get(9) == Some(&found[0]));
    }
}
