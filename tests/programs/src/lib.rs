//! Programs as people write them, each with a plain reference, and a detector of cliffs: how far
//! what the compiler makes of a program is from the ideal. `cargo xtask cliffs` writes the worst
//! into `CLIFFS.md`.

#![allow(missing_docs, reason = "the programs' functions are named after their fields")]

pub mod array;
pub mod check;
mod convolutions;
pub mod device;
mod dynamic_programming;
mod element_loops;
pub mod figures;
mod finance;
mod fluids;
mod groups;
mod images;
mod joins;
mod layers;
mod linear_algebra;
pub mod measure;
pub mod measured;
mod orders;
mod physics;
pub mod plain;
pub mod program;
pub mod reason;
mod records;
mod solvers;
mod statistics;
mod stencils;
pub mod table;

use program::Corpus;
use std::path::Path;

/// Returns all programs.
pub fn corpus() -> Corpus {
    let mut corpus = Corpus::default();
    linear_algebra::add(corpus.field("linear algebra"));
    solvers::add(corpus.field("solvers"));
    stencils::add(corpus.field("stencils"));
    images::add(corpus.field("images"));
    layers::add(corpus.field("neural networks"));
    statistics::add(corpus.field("statistics"));
    finance::add(corpus.field("finance"));
    dynamic_programming::add(corpus.field("dynamic programming"));
    physics::add(corpus.field("physics"));
    fluids::add(corpus.field("physics"));
    element_loops::add(corpus.field("loops of elements"));
    records::add(corpus.field("records and iterations"));
    joins::add(corpus.field("constructs joined"));
    orders::add(corpus.field("sorts and filters"));
    groups::add(corpus.field("groups and segments"));
    corpus
}

/// Returns the committed measurements of programs.
pub fn measured() -> std::io::Result<measured::Measured> {
    measured::Measured::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/results"))
}
