use arraygpu_dsl::prelude::*;

#[derive(Record)]
#[record(crate = arraygpu_dsl)]
struct Body {
    name: String,
    index: usize,
    x: f32,
}

fn main() {}
