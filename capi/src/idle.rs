//! Memory that calls gave back, kept for the next calls. The system clears each page of new memory when it is first
//! touched, which can take as long as the launch that stores there.
//!
//! Only large blocks are kept, because the system's allocator keeps small ones by itself. They are kept while they
//! are no more than [`MOST`] bytes in all; the block that was given back first is the first to go.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::{Mutex, PoisonError};

/// The maximum number of bytes that are kept.
const MOST: usize = 256 << 20;
/// The maximum number of blocks that are kept.
const BLOCKS: usize = 64;
/// Smaller blocks are not kept.
const LEAST: usize = 64 << 10;

/// A block of the system's memory.
#[derive(Clone, Copy)]
pub(crate) struct Block {
    pub raw: *mut u8,
    pub layout: Layout,
}

impl Block {
    /// Gives the memory back to the system.
    pub fn free(self) {
        // SAFETY: whoever has a block is the only one, and the memory was allocated with this layout.
        unsafe { System.dealloc(self.raw, self.layout) }
    }
}

/// Blocks that wait for another call.
pub(crate) struct Idle(Mutex<List>);

/// The blocks, in the order in which they were given back. There is an array for them, because a list that grows might
/// find no memory where some is given back.
struct List {
    blocks: [Option<Block>; BLOCKS],
    count: usize,
}

// SAFETY: the list owns its blocks, which are plain memory.
unsafe impl Send for List {}

impl List {
    fn remove(&mut self, at: usize) -> Option<Block> {
        let found = self.blocks[at].take();
        self.blocks[at..self.count].rotate_left(1);
        self.count -= 1;
        found
    }

    fn bytes(&self) -> usize {
        self.blocks.iter().flatten().map(|block| block.layout.size()).sum()
    }
}

impl Idle {
    pub const fn new() -> Idle {
        Idle(Mutex::new(List { blocks: [None; BLOCKS], count: 0 }))
    }

    /// Returns the smallest block of at least this size, unless it has more than twice the size.
    pub fn take(&self, bytes: usize) -> Option<Block> {
        if bytes < LEAST {
            return None;
        }
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let sizes = list.blocks[..list.count].iter().zip(0..);
        let sizes = sizes.filter_map(|(block, at)| Some((block.as_ref()?.layout.size(), at)));
        let (_, at) = sizes.filter(|(size, _)| (bytes..=bytes.saturating_mul(2)).contains(size)).min()?;
        list.remove(at)
    }

    /// Keeps a block, or gives it back to the system.
    pub fn give(&self, block: Block) {
        let size = block.layout.size();
        if !(LEAST..=MOST).contains(&size) {
            return block.free();
        }
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while list.count == BLOCKS || list.bytes() + size > MOST {
            let first = list.remove(0);
            first.into_iter().for_each(Block::free);
        }
        let at = list.count;
        list.blocks[at] = Some(block);
        list.count += 1;
    }

    /// Gives all blocks back to the system.
    pub fn clear(&self) {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        list.blocks.iter_mut().filter_map(Option::take).for_each(Block::free);
        list.count = 0;
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(bytes: usize) -> Block {
        let layout = Layout::from_size_align(bytes, 16).expect("a size");
        // SAFETY: the layout is not empty.
        Block { raw: unsafe { System.alloc(layout) }, layout }
    }

    /// The next call gets the memory of the one before it, and no block that is much larger than it needs.
    #[test]
    fn the_smallest_block_that_fits_is_taken() {
        let (idle, sizes) = (Idle::new(), [LEAST, 3 * LEAST, 2 * LEAST]);
        assert!(idle.take(LEAST).is_none());
        let blocks = sizes.map(block);
        blocks.into_iter().for_each(|b| idle.give(b));
        let took = idle.take(LEAST + 1).expect("2 of the least size fit");
        assert_eq!(took.raw, blocks[2].raw);
        assert!(idle.take(LEAST + 1).is_none(), "the last block has more than twice the size");
        idle.give(took);
        idle.clear();
        assert!(idle.take(LEAST).is_none());
    }

    /// More than can be kept is given back to the system, the oldest first, and so are small blocks.
    #[test]
    fn there_is_a_maximum() {
        let idle = Idle::new();
        idle.give(block(LEAST / 2));
        (1..=BLOCKS + 1).for_each(|k| idle.give(block(LEAST * k)));
        assert!(idle.take(LEAST).is_some_and(|b| b.layout.size() == 2 * LEAST));
        idle.give(block(MOST));
        assert_eq!(idle.0.lock().map(|list| list.count).ok(), Some(1));
        idle.give(block(MOST + 1));
        assert_eq!(idle.0.lock().map(|list| list.bytes()).ok(), Some(MOST));
    }
}
