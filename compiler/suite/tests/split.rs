//! Expressions that are too much for one kernel.

use arraygpu_compiler::build::Builder;
use arraygpu_compiler::core::interp::{self, Value};
use arraygpu_compiler::core::{Function, NodeId, Op, Output, Param, Type};
use arraygpu_compiler::driver::{self, Targets};
use arraygpu_compiler::plan::Plan;
use arraygpu_compiler::scalar::{BinaryOp, Lit, Ty};

/// A function of `inputs` vectors whose result is what `of` makes of them.
fn function(inputs: usize, of: impl FnOnce(&mut Builder, &[NodeId]) -> NodeId) -> Function {
    let params = (0..inputs).map(|i| Param { name: format!("v{i}"), ty: Type::vector(Ty::F32) }).collect();
    let mut b = Builder::new(Function::new("f", params));
    let nodes: Vec<NodeId> = (0..inputs as u32).map(NodeId).collect();
    let value = of(&mut b, &nodes);
    b.function.results.push(Output { name: "r".into(), value });
    b.function
}

fn both(b: &mut Builder, op: BinaryOp, x: NodeId, y: NodeId) -> NodeId {
    let lambda = b.graph().lambda(&[Ty::F32; 2], |g, v| g.add(Op::Binary(op, v[0], v[1])));
    b.map("f", lambda, vec![x, y]).unwrap()
}

fn values(inputs: usize) -> Vec<Value> {
    let of = |i: usize| (0..5).map(|k| Lit::f32((i * 5 + k) as f32 * 0.37 - 20.0)).collect();
    (0..inputs).map(|i| Value::Vector(of(i))).collect()
}

/// The plan, after the fused function has given what the author's gives.
fn plan(f: Function) -> Plan {
    let args = values(f.params.len());
    let compiled = driver::compile_for("f", vec![f], Targets { cpu: true, cuda: true }).unwrap();
    let run =
        |f: &Function| driver::on_big_stack(|| Ok(interp::run(f, &args))).unwrap().map(|r| format!("{r:?}"));
    assert_eq!(run(&compiled.functions[0].source).ok(), run(&compiled.functions[0].fused).ok());
    compiled.functions.into_iter().next().unwrap().plan
}

#[test]
fn a_chain_of_12000_operations_is_several_kernels() {
    let f = function(2, |b, x| {
        (0..12_000).fold(x[0], |e, i| both(b, [BinaryOp::Add, BinaryOp::Mul][i % 2], e, x[1]))
    });
    let plan = plan(f);
    let kernels = plan.launches().count();
    assert!((3..=4).contains(&kernels), "{kernels}");
}

#[test]
fn six_hundred_inputs_are_several_kernels_with_room_for_their_parameters() {
    let plan = plan(function(600, |b, x| x[1..].iter().fold(x[0], |e, y| both(b, BinaryOp::Add, e, *y))));
    let most = plan.launches().map(|l| l.arrays.len()).max().unwrap();
    assert!(
        plan.launches().count() >= 4 && most <= 152,
        "{} kernels, {most} arrays",
        plan.launches().count()
    );
}

#[test]
fn a_tree_of_inputs_is_cut_as_well() {
    let f = function(512, |b, x| {
        let mut level = x.to_vec();
        while level.len() > 1 {
            level = level.chunks(2).map(|p| both(b, BinaryOp::Sub, p[0], p[1])).collect();
        }
        level[0]
    });
    let plan = plan(f);
    assert!(plan.launches().all(|l| l.arrays.len() <= 152));
}

#[test]
fn what_is_shared_counts_once() {
    // doubled 60 times: 60 operations
    let plan = plan(function(1, |b, x| (0..60).fold(x[0], |e, _| both(b, BinaryOp::Add, e, e))));
    assert_eq!(plan.launches().count(), 1);
}

#[test]
fn scalars_are_parameters_too() {
    let params = (0..1001).map(|i| Param {
        name: format!("v{i}"),
        ty: if i == 0 { Type::vector(Ty::F32) } else { Type::scalar(Ty::F32) },
    });
    let mut b = Builder::new(Function::new("f", params.collect()));
    let value = (1..1001).fold(NodeId(0), |e, i| {
        let lambda = b.graph().lambda(&[Ty::F32], |g, v| g.add(Op::Binary(BinaryOp::Mul, v[0], NodeId(i))));
        b.map("f", lambda, vec![e]).unwrap()
    });
    b.function.results.push(Output { name: "r".into(), value });
    let compiled = driver::compile_for("f", vec![b.function], Targets { cpu: true, cuda: true }).unwrap();
    assert!(compiled.kernels.iter().all(|k| !k.gpu_variants().is_empty()), "{}", compiled.gpu_launches());
    assert!((3..=6).contains(&compiled.kernels.len()));
}

/// A product takes a megabyte of PTX. Later ones of other code have none for few rows or columns, so that a function
/// of many stays within 5 MB; where the code is equal, they share it.
#[test]
fn products_of_different_code_have_fewer_versions() {
    let product = |i: usize| {
        format!(
            "  %r{i} = len %x
  %c{i} = len %w{i} axis 1
  %k{i} = len %x axis 1
  %l{i} = len %w{i}
  require same %k{i}, %l{i} \"product\"
  %g{i} = generate %r{i}, %c{i} (%i{i}: i64, %j{i}: i64) {{
    %a{i} = pick %x at %i{i}
    %b{i} = pick %w{i} axis 1 at %j{i}
    %d{i} = panel_dot from 0f32 over %a{i}, %b{i}
    %m{i} = max %d{i}, {i}f32
    yield %m{i}
  }}
"
        )
    };
    let list = |f: fn(usize) -> String| (0..6).map(f).collect::<Vec<_>>().join(", ");
    let text = format!(
        "func @f(%x: [[f32]], {}) -> ({}) {{\n{}  return {}\n}}\n",
        list(|i| format!("%w{i}: [[f32]]")),
        list(|i| format!("g{i}: [[f32]]")),
        (0..6).map(product).collect::<String>(),
        list(|i| format!("%g{i}")),
    );
    let functions = arraygpu_compiler::core::parse::parse(&text).unwrap();
    let compiled = driver::compile_for("f", functions, Targets { cpu: false, cuda: true }).unwrap();
    let has = |i: usize, suffix: &str| {
        let (kernel, entry) = (&compiled.kernels[i], format!("{}{suffix}", compiled.kernels[i].name));
        kernel.gpu_variants().iter().any(|v| v.launch.entry == entry)
    };
    assert!(has(0, "_row") && has(0, "_panels") && has(0, "_large"));
    assert!(!has(5, "_row") && !has(5, "_panels") && has(5, "_large") && has(5, "_any_wide"));
    let size: usize = compiled.gpu_variants().map(|v| v.ptx.len()).sum();
    assert!(size < 5_250_000, "{size} bytes");
}
