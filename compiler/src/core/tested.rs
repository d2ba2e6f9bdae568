//! What a test of an index is about, which its error record says.

/// What `Op::Within` tests.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Tested {
    /// The index of a read, or a number that is written as one.
    Index,
    /// Where an element is to go (semantics 5.21).
    Destination,
    /// The index of a read of a small array, which an element has.
    SmallRead,
    /// The index of an element of a small array that is replaced.
    SmallUpdate,
}

impl Tested {
    /// All of them.
    pub const ALL: [Tested; 4] = [Tested::Index, Tested::Destination, Tested::SmallRead, Tested::SmallUpdate];

    /// What the text of core IR says behind the test; nothing behind that of an index.
    pub fn word(self) -> Option<&'static str> {
        match self {
            Tested::Index => None,
            Tested::Destination => Some("destination"),
            Tested::SmallRead => Some("small_read"),
            Tested::SmallUpdate => Some("small_update"),
        }
    }

    /// What the error record says, without numbers; that of an index depends on what it is an index of.
    pub fn record(self) -> Option<&'static str> {
        match self {
            Tested::Index => None,
            Tested::Destination => Some("a destination is outside of the result"),
            Tested::SmallRead => Some("a read of a small array is out of range"),
            Tested::SmallUpdate => Some("an update of a small array is out of range"),
        }
    }
}
