//! Functions whose text leaves their type open, and arguments of any type for them.

use crate::rng::Rng;
use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::core::parse;
use arraygpu_compiler::driver::{Compiled, Targets, compile_for};
use arraygpu_compiler::scalar::{BinaryOp, Lit, Ty, eval};

/// Compiles functions for GPUs. In their text `T` is the type and `LEAST` its least number.
pub fn compiled(text: &str, ty: Ty) -> Compiled {
    compiled_for(text, ty, Targets { cpu: false, cuda: true })
}

/// Compiles functions in whose text `T` is the type and `LEAST` its least number.
pub fn compiled_for(text: &str, ty: Ty, targets: Targets) -> Compiled {
    let text = text.replace("[T]", &format!("[{ty}]")).replace(": T", &format!(": {ty}"));
    let text = text.replace("cast T", &format!("cast {ty}")).replace("LEAST", &Lit::least(ty).to_string());
    let text = ["0T", "1T", "9T"].iter().fold(text, |t, n| t.replace(n, &n.replace('T', &ty.to_string())));
    let functions = parse::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    compile_for("t", functions, targets).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Numbers whose sums depend on the order.
pub fn numbers(ty: Ty, extents: &[usize], rng: &mut Rng) -> Value {
    let mut element = |_: usize| {
        let small = eval::eval_cast(ty, Lit::i64(rng.below(200) as i64 - 100));
        let scale = eval::eval_cast(ty, Lit::i64(1 << rng.below(6)));
        if ty.is_float() { eval::eval_binary(BinaryOp::Div, small, scale).0 } else { small }
    };
    let all: Vec<Lit> = (0..extents.iter().product()).map(&mut element).collect();
    match extents {
        [_] => Value::Vector(all),
        _ => Value::Array(extents.iter().map(|n| *n as i64).collect(), all),
    }
}
