//! Marks of visited nodes, which walks over a graph share, so that a walk takes time proportional to what it visits,
//! rather than to the size of the graph.

use std::cell::{Cell, RefCell};

/// A mark for each node of a graph. Nothing is cleared between two walks: a mark counts only if it
/// has the number of the present walk.
#[derive(Default)]
struct Marks {
    walk: u32,
    of: Vec<u32>,
}

/// The maximum number of marks that a thread keeps for later walks.
const KEPT: usize = 1 << 22;

thread_local! {
    /// Marks that no walk uses at present.
    static UNUSED: RefCell<Vec<Marks>> = const { RefCell::new(Vec::new()) };
    /// The nodes that walks of this thread have visited.
    static VISITED: Cell<u64> = const { Cell::new(0) };
}

/// The nodes that one walk has visited.
pub struct Visited(Marks);

impl Visited {
    /// Begins a walk.
    pub fn begin() -> Visited {
        let mut marks = UNUSED.with(|all| all.borrow_mut().pop()).unwrap_or_default();
        marks.walk = marks.walk.wrapping_add(1);
        if marks.walk == 0 {
            // the numbers have been used up, so older marks would count again
            (marks.walk, marks.of) = (1, Vec::new());
        }
        Visited(marks)
    }

    /// Marks a node. Returns whether it had no mark.
    #[inline]
    pub fn insert(&mut self, n: u32) -> bool {
        let Marks { walk, of } = &mut self.0;
        if of.len() <= n as usize {
            of.resize(n as usize + 1, 0);
        }
        std::mem::replace(&mut of[n as usize], *walk) != *walk
    }

    /// Whether a node has a mark.
    #[inline]
    pub fn contains(&self, n: u32) -> bool {
        self.0.of.get(n as usize) == Some(&self.0.walk)
    }
}

impl Drop for Visited {
    fn drop(&mut self) {
        let marks = std::mem::take(&mut self.0);
        if marks.of.len() <= KEPT {
            // a thread that is ending has no more use for them
            let _ = UNUSED.try_with(|all| all.borrow_mut().push(marks));
        }
    }
}

/// Counts nodes that a walk has visited.
pub fn count_visited(nodes: usize) {
    VISITED.with(|all| all.set(all.get() + nodes as u64));
}

/// Returns how many nodes the walks of this thread have visited. Tests compare this number between
/// programs of different sizes.
pub fn visited() -> u64 {
    VISITED.get()
}
