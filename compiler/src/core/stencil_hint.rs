//! How a GPU kernel holds arrays that are read around the element's own indices.

use std::fmt;

/// A way to share the reads of neighbouring elements (`schedule/facts/stencil.rs`). It changes no bit of
/// any result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StencilHint {
    /// Every thread loads the operands of its own elements.
    Direct,
    /// A register window in each thread, filled by aligned accesses of several elements.
    Window,
    /// A shared-memory tile of the block, filled by accesses of several elements as well.
    Tile,
    /// Register tiling, for matrices: each thread holds lines in registers and computes several
    /// rows.
    Rows,
    /// A walk through the planes of volumes: each block takes several planes one after another, each
    /// thread as with `Rows`.
    Planes,
}

impl StencilHint {
    /// Every variant with its name.
    pub const ALL: [(StencilHint, &'static str); 5] = [
        (StencilHint::Direct, "direct"),
        (StencilHint::Window, "window"),
        (StencilHint::Tile, "tile"),
        (StencilHint::Rows, "rows"),
        (StencilHint::Planes, "planes"),
    ];
}

impl fmt::Display for StencilHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(StencilHint::ALL[*self as usize].1)
    }
}
