//! Running a function inside of a test: on the reference interpreter (`eval`), and what other crates need to run it
//! elsewhere (`Call`).

use crate::error::{Error, Result};
use crate::handle::{MExp, SExp, TExp, VExp};
use crate::item::{Item, Leaf, leaf_name, leaves_of_item};
use crate::kernel_fn::KernelFn;
use crate::lower;
use crate::node::{NodeRef, Op, make};
use crate::package;
use crate::results::{nodes_of, of_nodes};
use crate::scope::Place;
use crate::values::{ArgumentValues, ResultValues};
use arraygpu_compiler as compiler;
use arraygpu_compiler::core::Function;
use arraygpu_compiler::core::interp::{self, Value, Watch};
use arraygpu_compiler::scalar::{Lit, Ty};
use std::any::type_name;
use std::panic::Location;
use std::sync::Arc;

/// An error of a call, in which the steps of iterations are called as the compiler calls them.
fn with_steps_named(e: compiler::Error, f: &Function, name: &str) -> compiler::Error {
    let called = format!("{name}, a step of its iteration");
    f.steps.iter().fold(e, |e, step| {
        let e = with_steps_named(e, step, &called);
        e.renamed(&format!("{}:", step.name), &format!("{called}:"))
    })
}

/// The results of `f` for these arguments, as the reference interpreter computes them: to the bit what packages
/// compute on every device (without `fast_math` and `tensor_cores`). It is meant for `cargo test`, and for arrays of
/// some thousand elements; it needs no C compiler and no GPU.
///
/// Arguments are a tuple, `(x,)` for a single one: numbers for `SExp`, vectors, slices and arrays of numbers for
/// `VExp`, a [`Matrix`](crate::Matrix) or an array of arrays for `MExp`, a [`Volume`](crate::Volume) for `TExp`.
/// Results are numbers, `Vec`, `Matrix` and `Volume`, or a tuple of them.
///
/// Shapes that do not fit, mistakes in the program, and error records (an index out of range, an integer division
/// by 0) are error values, with the author's line. Values that are [traced](SExp::trace) are printed.
///
/// Cost: none in generated code. It is slow: about a microsecond for each operation of each element.
///
/// ```
/// use arraygpu_dsl::{eval, prelude::*};
///
/// fn rmse(x: VExp<f32>, y: VExp<f32>) -> SExp<f32> {
///     ((x - y).map(|d| d * d).sum() / x.len().cast::<f32>()).sqrt()
/// }
///
/// assert_eq!(eval(rmse, (vec![1.0, 2.0], &[1.0, 5.0])).unwrap(), 4.5f32.sqrt());
/// let error = eval(rmse, ([1.0, 2.0], [1.0])).unwrap_err();
/// assert!(error.to_string().contains("the lengths 2 and 1 differ"));
/// ```
#[track_caller]
pub fn eval<const K: usize, A, F, V>(f: F, args: V) -> Result<<F::Output as ResultValues>::Value>
where
    F: KernelFn<K, A>,
    F::Output: ResultValues,
    V: ArgumentValues<K, A>,
{
    let place = Location::caller();
    let call = called(place, f, &args, true)?;
    let watch = Watch::new(|name, value| println!("{name} = {}", text(value)));
    let outcome = interp::run_watched(&call.function, &call.args, &watch);
    let outcome = outcome.map_err(|e| with_steps_named(e, &call.function, &call.function.name))?;
    if outcome.recorded {
        let (place, what) = watch.recorded().unzip();
        let message = format!("{}: {}", call.function.name, what.unwrap_or_else(|| "an error record".into()));
        let error = compiler::Error::user("E0211", message);
        return Err(error.at(place.as_ref().and_then(|place| place.first())).into());
    }
    Ok(F::Output::of_values(&mut outcome.results.into_iter()))
}

/// A function with the arguments of one call, for crates that run it.
#[doc(hidden)]
pub struct Call {
    pub function: Function,
    pub args: Vec<Value>,
}

/// The call of a function.
#[doc(hidden)]
#[track_caller]
pub fn call_of<const K: usize, A, F, V>(f: F, args: &V) -> Result<Call>
where
    F: KernelFn<K, A>,
    V: ArgumentValues<K, A>,
{
    called(Location::caller(), f, args, false)
}

fn called<const K: usize, A, F, V>(at: Place, f: F, args: &V, is_named: bool) -> Result<Call>
where
    F: KernelFn<K, A>,
    V: ArgumentValues<K, A>,
{
    // that of a `fn`; closures have none
    let name = type_name::<F>().rsplit("::").next().unwrap_or_default();
    let name = if name.contains(|c: char| !c.is_ascii_alphanumeric() && c != '_') { "f" } else { name };
    let names: [String; K] = std::array::from_fn(|i| format!("argument{}", i + 1));
    let called = package::call(name, at, &names.each_ref().map(String::as_str), f);
    let definition = called.alone(name, at, "result");
    let lowered = if is_named { lower::lower_named(&definition) } else { lower::lower(&definition) };
    Ok(Call { function: lowered.map_err(Error::from)?, args: args.values() })
}

/// A value as text: numbers as Rust prints them, arrays in brackets, with a line for each row.
fn text(value: &Value) -> String {
    let joined = |all: &[Lit]| format!("[{}]", all.iter().map(number).collect::<Vec<_>>().join(", "));
    match value {
        Value::Scalar(x) => number(x),
        Value::Vector(v) => joined(v),
        Value::Array(extents, v) => {
            let Some(cols) = extents.last().copied().filter(|_| !v.is_empty()) else {
                return format!("no elements, extents {extents:?}");
            };
            let rows: Vec<String> = v.chunks(cols as usize).map(joined).collect();
            let planes = rows.chunks(extents[extents.len() - 2] as usize);
            let planes: Vec<String> = planes.map(|rows| format!("[{}]", rows.join(",\n "))).collect();
            if extents.len() == 2 { planes.concat() } else { format!("[{}]", planes.join(",\n\n")) }
        }
    }
}

fn number(x: &Lit) -> String {
    match (x.ty, x.as_float()) {
        (Ty::F32, _) => format!("{:?}", x.as_f32()),
        (_, Some(value)) => format!("{value:?}"),
        (Ty::Bool, _) => x.as_bool().to_string(),
        (ty, None) => x.to_string().trim_end_matches(ty.name()).to_string(),
    }
}

macro_rules! traces {
    ($($handle:ident)*) => { $(
        impl<T: Item> $handle<T> {
            /// The same value; [`eval`](crate::eval) prints it under this name when it is computed: in a
            /// closure once for each element. A record is printed field by field, `body_x`. Elsewhere, in
            /// packages too, it does nothing.
            ///
            /// Cost: none.
            ///
            /// ```
            /// # use arraygpu_dsl::{eval, prelude::*};
            /// let f = |x: VExp<f32>| (x * x).trace("squares").map(|a| (a + 1.0).trace("a")).sum();
            /// // squares = [1.0, 4.0]
            /// // a = 2.0
            /// // a = 5.0
            /// assert_eq!(eval(f, ([1.0, 2.0],)).unwrap(), 7.0);
            /// ```
            #[track_caller]
            pub fn trace(self, name: &str) -> Self {
                let (at, leaves) = (Location::caller(), leaves_of_item::<T>());
                let traced = |(x, leaf): (NodeRef, &Leaf)| {
                    let name = if leaf.name.is_empty() { name.into() } else { leaf_name(name, &leaf.name) };
                    make(at, x.ty, Op::Trace(x, Arc::from(name)))
                };
                of_nodes(&nodes_of(self).into_iter().zip(&leaves).map(traced).collect::<Vec<_>>())
            }
        }
    )* };
}
traces!(SExp VExp MExp TExp);
