//! A worked example of records: bodies that pull one another, in the block interpreter and in C through the
//! runtime, and on a simulated GPU, against the interpreter of core IR. It is written as a user would, with
//! the facade's `#[derive(Record)]`.

#[path = "common/mod.rs"]
mod runtime;

use arraygpu::prelude::*;
use arraygpu_capi::abi::AgpuStatus;
use arraygpu_compiler::core::interp::{self, Value};
use arraygpu_compiler::driver::Compiled;
use arraygpu_compiler::kernel::interp::Order;
use arraygpu_compiler::scalar::Lit;
use arraygpu_suite::gpu;
use runtime::{Layout, Loaded, context, load_blocks, load_highest, shapes};

#[derive(Clone, Copy, Record)]
struct Vector {
    x: f32,
    y: f32,
    z: f32,
}

#[derive(Clone, Copy, Record)]
struct Body {
    at: Vector,
    speed: Vector,
    mass: f32,
}

type V = SExp<Vector>;

fn vector(x: SExp<f32>, y: SExp<f32>, z: SExp<f32>) -> V {
    VectorFields { x, y, z }.pack()
}

/// a + k b
fn add_scaled(a: V, k: SExp<f32>, b: V) -> V {
    vector(k.mul_add(b.x, a.x), k.mul_add(b.y, a.y), k.mul_add(b.z, a.z))
}

/// The pull of all bodies on one, with softening.
fn acceleration(on: SExp<Body>, bodies: VExp<Body>) -> V {
    let pulls = bodies.map(|b| {
        let d = add_scaled(b.at, lit(-1.0), on.at);
        let r = d.x.mul_add(d.x, d.y.mul_add(d.y, d.z.mul_add(d.z, 0.01))).rsqrt();
        let s = b.mass * r * r * r;
        (s * d.x, s * d.y, s * d.z)
    });
    vector(pulls.0.sum(), pulls.1.sum(), pulls.2.sum())
}

/// `steps` steps of dt.
fn simulate(bodies: VExp<Body>, dt: SExp<f32>, steps: SExp<i64>) -> VExp<Body> {
    bodies.iterate(steps, |all| {
        all.map(|b| {
            let speed = add_scaled(b.speed, dt, acceleration(b, all));
            BodyFields { at: add_scaled(b.at, dt, speed), speed, ..*b }.pack()
        })
    })
}

/// The centre of mass and the heaviest body.
fn summary(bodies: VExp<Body>) -> (V, SExp<Body>) {
    let weighted = bodies
        .map(|b| BodyFields { at: vector(b.at.x * b.mass, b.at.y * b.mass, b.at.z * b.mass), ..*b }.pack());
    let zero = Vector { x: 0.0, y: 0.0, z: 0.0 };
    let nothing = Body { at: zero, speed: zero, mass: 0.0 };
    let total = weighted.reduce(nothing, |a, b| {
        BodyFields { at: add_scaled(a.at, lit(1.0), b.at), speed: a.speed, mass: a.mass + b.mass }.pack()
    });
    let heaviest = bodies.reduce(nothing, |a, b| cond(a.mass.ge(b.mass), a, b));
    (vector(total.at.x / total.mass, total.at.y / total.mass, total.at.z / total.mass), heaviest)
}

fn numbers(n: usize, seed: u32) -> Value {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / 16_777_216.0 + 0.125
    };
    Value::Vector((0..n).map(|_| Lit::f32(next())).collect())
}

fn numbers_of_bodies(n: usize) -> Vec<Value> {
    (0..7).map(|k| numbers(n, 7 * n as u32 + k)).collect()
}

/// Compares a function's results in every layout with those of the interpreter.
fn check(compiled: &Compiled, loaded: &[Loaded], others: &[Value]) {
    let layouts = Layout::ALL.into_iter().chain([Layout::Field]);
    for n in [0, 1, 7, 130] {
        let args = [&numbers_of_bodies(n)[..], others].concat();
        let wanted = interp::run(&compiled.functions[0].source, &args).expect("it runs").results;
        for (loaded, layout) in loaded.iter().flat_map(|l| layouts.clone().map(move |layout| (l, layout))) {
            let called = loaded.call(0, context(2), &args, &shapes(&wanted), layout);
            assert!(matches!(called.status, AgpuStatus::AgpuOk), "{n} {layout:?}: {}", called.message);
            assert!(called.results == wanted, "{n} bodies, {layout:?}");
        }
        for layout in gpu::Layout::ALL {
            let how = gpu::How { layout, version: None, span: 1, order: Order::Ascending };
            let called = gpu::call(compiled, 0, &args, how).expect("it runs");
            assert!(called.results == wanted, "{n} bodies, {layout:?}, on a GPU");
        }
    }
}

#[test]
fn steps_of_bodies() {
    let package = Package::new("p").function("simulate", ["bodies", "dt", "steps"], "result", simulate);
    let compiled = package.compile().expect("it compiles");
    let names: Vec<&str> = compiled.functions[0].fused.params.iter().map(|p| p.name.as_str()).collect();
    let fields = ["at_x", "at_y", "at_z", "speed_x", "speed_y", "speed_z", "mass"];
    assert_eq!(names[..7], fields.map(|f| format!("bodies_{f}")));
    let others = [Value::Scalar(Lit::f32(0.01)), Value::Scalar(Lit::i64(3))];
    check(&compiled, &[load_blocks(&compiled)], &others);
}

#[test]
fn sums_of_bodies() {
    let package = Package::new("p").function("summary", ["bodies"], ["centre", "heaviest"], summary);
    let compiled = package.compile().expect("it compiles");
    let results: Vec<&str> = compiled.functions[0].fused.results.iter().map(|r| r.name.as_str()).collect();
    assert_eq!(results[..4], ["centre_x", "centre_y", "centre_z", "heaviest_at_x"]);
    // a reduction of records is one launch; both would share it if a launch could have eleven results
    assert_eq!(compiled.functions[0].plan.steps.len(), 2, "{}", compiled.functions[0].plan);
    check(&compiled, &[load_blocks(&compiled), load_highest(&compiled)], &[]);
}
