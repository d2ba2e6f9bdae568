//! Compares a program with its reference: the interpreter on what the author wrote and on what the
//! passes made of it.

use crate::array::Array;
use crate::program::Program;
use arraygpu_compiler::core::interp::{self, Value};
use arraygpu_compiler::core::{Function, Type};
use arraygpu_compiler::scalar::{Lit, Ty, eval_cast};

/// Returns an argument of this type.
fn value(ty: Type, a: &Array) -> Value {
    let lit = |x: &f64| eval_cast(ty.elem, Lit::f64(*x));
    match &a.extents[..] {
        [] => Value::Scalar(lit(&a.elements[0])),
        [_] => Value::Vector(a.elements.iter().map(lit).collect()),
        extents => {
            Value::Array(extents.iter().map(|n| *n as i64).collect(), a.elements.iter().map(lit).collect())
        }
    }
}

/// Returns an element of a result as the references have it.
pub fn number(l: &Lit) -> f64 {
    match l.ty {
        Ty::Bool => f64::from(u8::from(l.as_bool())),
        _ => eval_cast(Ty::F64, *l).as_float().unwrap_or(f64::NAN),
    }
}

/// Returns a result as an array.
fn array(value: &Value) -> Array {
    match value {
        Value::Scalar(l) => Array::scalar(number(l)),
        Value::Vector(v) => Array { extents: vec![v.len()], elements: v.iter().map(number).collect() },
        Value::Array(extents, v) => Array {
            extents: extents.iter().map(|n| *n as usize).collect(),
            elements: v.iter().map(number).collect(),
        },
    }
}

/// Calls a form of a program with the small call's inputs. The error says what went wrong.
pub fn call(p: &Program, f: &Function) -> Result<Vec<Array>, String> {
    let args: Vec<Value> = f.params.iter().zip(&p.inputs).map(|(param, a)| value(param.ty, a)).collect();
    let outcome = interp::run(f, &args).map_err(|e| e.to_string())?;
    if outcome.recorded {
        return Err("the call leaves an error record".into());
    }
    Ok(outcome.results.iter().map(array).collect())
}

/// Returns the first element that two calls of a program gave other bits.
pub fn first_difference(a: &[Array], b: &[Array]) -> Option<String> {
    for (k, (a, b)) in a.iter().zip(b).enumerate() {
        if a.extents != b.extents {
            return Some(format!("result {k}: extents {:?} and {:?}", a.extents, b.extents));
        }
        let mut pairs = a.elements.iter().zip(&b.elements).enumerate();
        if let Some((i, (a, b))) = pairs.find(|(_, (a, b))| a.to_bits() != b.to_bits()) {
            return Some(format!("result {k}, element {i}: {a:?} and {b:?}"));
        }
    }
    None
}

/// Returns where results are not those of the reference.
pub fn difference(p: &Program, results: &[Array]) -> Option<String> {
    if results.len() != p.expected.len() {
        return Some(format!("{} results, expected {}", results.len(), p.expected.len()));
    }
    for ((r, e), output) in results.iter().zip(&p.expected).zip(&p.function.results) {
        if r.extents != e.extents {
            return Some(format!("{}: extents {:?}, expected {:?}", output.name, r.extents, e.extents));
        }
        for (k, (got, wanted)) in r.elements.iter().zip(&e.elements).enumerate() {
            let is_near = (got - wanted).abs() <= p.tolerance * wanted.abs().max(1.0);
            if !is_near && got != wanted && !(got.is_nan() && wanted.is_nan()) {
                return Some(format!("{}: element {k} is {got}, expected {wanted}", output.name));
            }
        }
    }
    None
}
