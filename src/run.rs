//! Running a function on this machine's device.

use arraygpu_dsl::{ArgumentValues, Error, KernelFn, Result, ResultValues, call_of};

/// The results of `f` for these arguments, computed on this machine's device: a GPU if there is one, else the CPU;
/// `ARRAYGPU_DEVICE=cpu` chooses. Arguments, results and errors are those of [`eval`](crate::eval), and so are the
/// bits of the results. Traced values are not printed. Functions that compute the same are one program, whose
/// messages name the places of the one that ran first.
///
/// Cost: the first call of a function compiles it. Every call copies its arguments to the device and its results
/// back; it is meant for tests, not for measurements.
///
/// ```
/// use arraygpu::{eval, prelude::*, run};
///
/// let f = |x: VExp<f32>| x / x.dot(x).sqrt();
/// assert_eq!(run(f, ([3.0, 4.0],)).unwrap(), [0.6, 0.8]);
/// assert_eq!(run(f, ([3.0, 4.0],)).unwrap(), eval(f, ([3.0, 4.0],)).unwrap());
/// ```
#[track_caller]
pub fn run<const K: usize, A, F, V>(f: F, args: V) -> Result<<F::Output as ResultValues>::Value>
where
    F: KernelFn<K, A>,
    F::Output: ResultValues,
    V: ArgumentValues<K, A>,
{
    let call = call_of(f, &args)?;
    let results = arraygpu_capi::run_values(call.function, &call.args).map_err(Error::of_call)?;
    Ok(F::Output::of_values(&mut results.into_iter()))
}
