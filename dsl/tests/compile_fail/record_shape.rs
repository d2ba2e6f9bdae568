use arraygpu_dsl::prelude::*;

#[derive(Record)]
#[record(crate = arraygpu_dsl)]
enum Kind {
    A,
    B,
}

#[derive(Record)]
#[record(crate = arraygpu_dsl)]
struct Pair(f32, f32);

#[derive(Record)]
#[record(crate = arraygpu_dsl)]
struct Empty {}

fn main() {}
