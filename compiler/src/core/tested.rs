//! What a test of an index is about, which its error record says.

/// What `Op::Within` tests.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Tested {
    /// The index of a read, or a number that is written as one.
    Index,
    /// Where an element is to go (semantics 5.21).
    Destination,
}

impl From<bool> for Tested {
    fn from(is_destination: bool) -> Tested {
        if is_destination { Tested::Destination } else { Tested::Index }
    }
}

impl Tested {
    /// What the text of core IR says behind the test of a destination.
    pub const DESTINATION: &str = "destination";
}
