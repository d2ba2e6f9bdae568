//! Tasks of the repository: `cargo xtask demo`, `cargo xtask test`, ... (`cargo xtask --help` lists them).

fn main() {}
