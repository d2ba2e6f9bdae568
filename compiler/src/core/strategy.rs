//! How arrays that are read around the element's own indices are kept on a GPU.

use std::fmt;

/// A way to share what neighbouring elements read (`schedule/stencil.rs`). It changes no bit of any result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Strategy {
    /// Every thread loads what its elements read.
    Direct,
    /// Registers of each thread, filled by aligned accesses of several elements.
    Window,
    /// Memory that a block's threads share, filled in the same way.
    Tile,
    /// Matrices: registers of each thread, line by line, for several rows.
    Rows,
}

impl Strategy {
    /// Every one with its name.
    pub const ALL: [(Strategy, &'static str); 4] = [
        (Strategy::Direct, "direct"),
        (Strategy::Window, "window"),
        (Strategy::Tile, "tile"),
        (Strategy::Rows, "rows"),
    ];
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Strategy::ALL[*self as usize].1)
    }
}
