//! How arrays that are read around the element's own indices are kept on a GPU.

use std::fmt;

/// A way to share what neighbouring elements read (`schedule/stencil.rs`). It changes no bit of any
/// result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StencilHint {
    /// Every thread loads what its elements read.
    Direct,
    /// Registers of each thread, filled by aligned accesses of several elements.
    Window,
    /// Memory that a block's threads share, filled in the same way.
    Tile,
    /// Matrices: registers of each thread, line by line, for several rows.
    Rows,
}

impl StencilHint {
    /// Every one with its name.
    pub const ALL: [(StencilHint, &'static str); 4] = [
        (StencilHint::Direct, "direct"),
        (StencilHint::Window, "window"),
        (StencilHint::Tile, "tile"),
        (StencilHint::Rows, "rows"),
    ];
}

impl fmt::Display for StencilHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(StencilHint::ALL[*self as usize].1)
    }
}
