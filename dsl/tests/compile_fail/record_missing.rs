use arraygpu_dsl::prelude::*;

struct Body {
    x: f32,
}

#[derive(Record)]
#[record(crate = arraygpu_dsl)]
struct Point {
    x: f32,
    y: f32,
}

fn main() {
    // no record
    let _ = |bodies: VExp<Body>| bodies.map(|b| b);
    // no arithmetic
    let _ = |points: VExp<Point>| points.map(|p| p + p);
    // no such field
    let _ = |points: VExp<Point>| points.map(|p| p.z);
}
