//! Arguments for the programs of `programs.core`.

use crate::rng::Rng;
use arraygpu_compiler::core::Function;
use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::scalar::{Lit, Ty};

/// A random value.
pub fn value(ty: Ty, rng: &mut Rng) -> Lit {
    match ty {
        Ty::F32 | Ty::F64 => Lit::float(ty, f64::from(rng.below(2001) as i32 - 1000) / 256.0),
        _ => Lit::i32(rng.below(9) as i32 - 3),
    }
}

/// Arguments of rows x cols: vectors along the rows' index are `rows` long, others `cols`.
pub fn arguments(f: &Function, rows: usize, cols: usize, rng: &mut Rng) -> Vec<Value> {
    let product = f.name.starts_with("product");
    let pairs = f.name == "pairs";
    let argument = |(i, p): (usize, &arraygpu_compiler::core::Param)| {
        let ty = p.ty.elem;
        let mut some = |n: usize| (0..n).map(|_| value(ty, rng)).collect::<Vec<_>>();
        match p.ty.rank {
            0 => Value::Scalar(some(1)[0]),
            1 => Value::Vector(some(if i == 0 || pairs { rows } else { cols })),
            _ if product && i == 1 => {
                Value::Array(vec![cols as i64, rows as i64 + 1], some(cols * (rows + 1)))
            }
            _ => Value::Array(vec![rows as i64, cols as i64], some(rows * cols)),
        }
    };
    f.params.iter().enumerate().map(argument).collect()
}
