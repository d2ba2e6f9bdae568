//! Rust has no literals of f16 and bf16.
use arraygpu_dsl::prelude::*;

fn f(x: SExp<f16>) -> SExp<f16> {
    x * 0.5
}

fn g(x: VExp<bf16>) -> VExp<bf16> {
    x + 0.5
}

fn h(x: SExp<f16>) -> SExp<f16> {
    x.mul_add(0.5, x)
}

// as the messages say
fn right(x: SExp<f16>, y: VExp<bf16>) -> (SExp<f16>, VExp<bf16>) {
    (x.mul_add(f16::from_f32(0.5), x) * f16::from_f32(0.5), y * bf16::from_f32(0.5) + 2)
}

fn main() {
    let _ = (f, g, h, right);
}
