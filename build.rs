//! Makes the C header (being written).
fn main() {}
