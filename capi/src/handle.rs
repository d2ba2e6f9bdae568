//! Handles: opaque numbers of a slot and a generation, which are never dereferenced.
//!
//! A handle is looked up in a [`Table`]. The lookup *pins* the value by one compare-and-swap on the
//! [`Slot`]'s word, without a lock. A freed value stays until its last pin ends, so a thread that
//! frees cannot take memory from a thread that computes.
//!
//! ```text
//! handle = generation (32 bits) | slot (28 bits) | tag of the table (4 bits)
//! ```
//!
//! The tag ([`Kind`]) is odd, so that no aligned pointer is taken for a handle.

mod slot;

use crate::error::{Error, INVALID_HANDLE, OUT_OF_MEMORY, Result, error, fail};
use slot::Slot;
use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

const _: () = assert!(size_of::<usize>() == 8, "handles need 64-bit pointers");

const FIRST_CHUNK: usize = 64;
const CHUNKS: usize = 22;

struct Free {
    slots: Vec<u32>,
    next: u32,
}

/// The tag of a table's handles. Each table has its own tag, so that a handle of another kind is not taken for one of
/// its handles.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Program = 0b0011,
    Context = 0b0101,
    Event = 0b0111,
    Builder = 0b1001,
    Buffer = 0b1011,
    Module = 0b1101,
    #[cfg(test)]
    Test = 0b1111,
}

/// All values of one kind. Slots live in chunks that double in size and are never freed.
pub(crate) struct Table<T: 'static> {
    chunks: [OnceLock<Box<[Slot<T>]>>; CHUNKS],
    free: Mutex<Free>,
    tag: usize,
    name: &'static str,
}

/// A pinned value.
pub(crate) struct Pin<T: Send + Sync + 'static> {
    slot: &'static Slot<T>,
    table: &'static Table<T>,
    index: u32,
}

impl<T: Send + Sync> Table<T> {
    /// A table whose values errors call `name`.
    pub const fn new(kind: Kind, name: &'static str) -> Table<T> {
        let tag = kind as usize;
        assert!(tag < 16 && tag % 2 == 1);
        Table {
            chunks: [const { OnceLock::new() }; CHUNKS],
            free: Mutex::new(Free { slots: Vec::new(), next: 0 }),
            tag,
            name,
        }
    }

    fn free_list(&self) -> MutexGuard<'_, Free> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn slot(&'static self, index: u32) -> Option<&'static Slot<T>> {
        let from = index as usize + FIRST_CHUNK;
        let chunk = (from.ilog2() - FIRST_CHUNK.ilog2()) as usize;
        self.chunks.get(chunk)?.get()?.get(from - (FIRST_CHUNK << chunk))
    }

    /// Inserts a value and returns its handle.
    pub fn insert(&'static self, value: T) -> Result<usize> {
        let index = self
            .take_slot()
            .ok_or_else(|| error(OUT_OF_MEMORY, format!("no room for another {}", self.name)))?;
        let Some(slot) = self.slot(index) else {
            fail!(OUT_OF_MEMORY, "no room for another {}", self.name);
        };
        // SAFETY: a slot that is neither live nor pinned belongs to the thread that took it from
        // the free list.
        let generation = unsafe { slot.fill(value) };
        Ok((generation << 32) as usize | (index as usize) << 4 | self.tag)
    }

    fn take_slot(&'static self) -> Option<u32> {
        let mut free = self.free_list();
        if let Some(index) = free.slots.pop() {
            return Some(index);
        }
        let index = free.next;
        let chunk = ((index as usize + FIRST_CHUNK).ilog2() - FIRST_CHUNK.ilog2()) as usize;
        let cell = self.chunks.get(chunk)?;
        if cell.get().is_none() {
            let mut slots = Vec::new();
            slots.try_reserve_exact(FIRST_CHUNK << chunk).ok()?;
            slots.resize_with(FIRST_CHUNK << chunk, Slot::new);
            let _ = cell.set(slots.into_boxed_slice());
        }
        // This room is reserved so that giving slots back never allocates.
        let all = index as usize + 1;
        let spare = all - free.slots.len();
        free.slots.try_reserve(spare).ok()?;
        free.next += 1;
        Some(index)
    }

    fn parts(&self, handle: usize) -> Option<(u32, u64)> {
        (handle & 15 == self.tag).then_some(((handle >> 4) as u32 & 0x0fff_ffff, (handle >> 32) as u64))
    }

    /// Pins the value of a handle.
    pub fn pin(&'static self, handle: usize) -> Result<Pin<T>> {
        self.try_pin(handle).ok_or_else(|| self.invalid(handle))
    }

    fn try_pin(&'static self, handle: usize) -> Option<Pin<T>> {
        let (index, generation) = self.parts(handle)?;
        let slot = self.slot(index)?;
        slot.pin(generation).then(|| Pin { slot, table: self, index })
    }

    /// Ends a handle. The value is dropped when nothing uses it any more.
    pub fn free(&'static self, handle: usize) -> Result<()> {
        let find = || self.parts(handle).and_then(|(i, g)| Some((i, g, self.slot(i)?)));
        let (index, generation, slot) = find().ok_or_else(|| self.invalid(handle))?;
        match slot.end(generation) {
            None => return Err(self.invalid(handle)),
            Some(false) => {}
            // SAFETY: `end` says that this thread owns the slot.
            Some(true) => unsafe { self.reclaim(slot, index) },
        }
        Ok(())
    }

    /// # Safety
    /// As [`Slot::reclaim`].
    #[cold]
    unsafe fn reclaim(&'static self, slot: &'static Slot<T>, index: u32) {
        // SAFETY: the caller guarantees this.
        if unsafe { slot.reclaim() } {
            self.free_list().slots.push(index);
        }
    }

    #[cold]
    fn invalid(&self, handle: usize) -> Error {
        let name = self.name;
        let message = match self.parts(handle) {
            _ if handle == 0 => format!("the {name} is NULL"),
            Some((_, generation)) if generation != 0 => format!("the {name} was freed, or never was one"),
            _ => {
                let article = if name.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
                format!("this is no handle of {article} {name}")
            }
        };
        error(INVALID_HANDLE, message)
    }
}

impl<T: Send + Sync> Deref for Pin<T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: this value is the pin.
        unsafe { self.slot.get() }
    }
}

impl<T: Send + Sync> Drop for Pin<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the pin is this value's and ends here, and `unpin` says whether this thread owns
        // the slot.
        unsafe {
            if self.slot.unpin() {
                self.table.reclaim(self.slot, self.index);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn stale_foreign_and_invented_handles_are_refused() {
        static TABLE: Table<Arc<str>> = Table::new(Kind::Test, "thing");
        let h = TABLE.insert("one".into()).unwrap();
        assert_eq!(&**TABLE.pin(h).unwrap(), "one");
        TABLE.free(h).unwrap();
        assert!(TABLE.free(h).unwrap_err().message.contains("freed"));
        let h2 = TABLE.insert("two".into()).unwrap();
        assert_ne!(h, h2);
        assert!(TABLE.pin(h).is_err());
        for bad in [0, 1, 5, h2 ^ 2, h2 + (1 << 32), h2 + 16, usize::MAX, &raw const h2 as usize] {
            assert_eq!(TABLE.pin(bad).err().map(|e| e.status), Some(INVALID_HANDLE), "{bad:x}");
        }
        TABLE.free(h2).unwrap();
    }

    #[test]
    fn a_pinned_value_outlives_its_handle() {
        static TABLE: Table<Arc<str>> = Table::new(Kind::Test, "thing");
        let value: Arc<str> = "x".into();
        let h = TABLE.insert(value.clone()).unwrap();
        let pin = TABLE.pin(h).unwrap();
        TABLE.free(h).unwrap();
        assert!(TABLE.pin(h).is_err());
        assert_eq!((&**pin, Arc::strong_count(&value)), ("x", 2));
        drop(pin);
        assert_eq!(Arc::strong_count(&value), 1);
    }

    #[test]
    fn many_threads_insert_pin_and_free() {
        static TABLE: Table<Arc<str>> = Table::new(Kind::Test, "thing");
        let value: Arc<str> = "x".into();
        std::thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| {
                    let mut held = Vec::new();
                    for i in 0..if cfg!(miri) { 20 } else { 2000 } {
                        held.push(TABLE.insert(value.clone()).unwrap());
                        let h = held[i * 7 % held.len()];
                        drop(TABLE.pin(h));
                        if i % 3 == 0 {
                            let h = held.swap_remove(i * 5 % held.len());
                            TABLE.free(h).unwrap();
                            assert!(TABLE.pin(h).is_err());
                        }
                    }
                    held.into_iter().for_each(|h| TABLE.free(h).unwrap());
                });
            }
        });
        assert_eq!(Arc::strong_count(&value), 1);
    }
}
