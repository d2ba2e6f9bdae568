//! A simulated GPU: every version of every kernel, in random layouts and orders of threads.

use super::{Failure, compiled, difference, ignores, precise};
use crate::case::Case;
use crate::rng::Rng;
use arraygpu_compiler::core::interp;
use arraygpu_compiler::driver::{Compiled, Targets};
use arraygpu_compiler::kernel::interp::Order;
use arraygpu_suite::gpu::{Failure as Fault, How, Layout, Record, call_on};

/// The most bytes of PTX: a launch that keeps rows has up to twenty variants.
const LARGEST: usize = 8 << 20;

/// Runs all calls, with each version where its conditions hold.
pub fn check(case: &Case) -> Result<u64, Failure> {
    // `fast_math` and `tensor_cores` change bits on a GPU
    let mut case = case.clone();
    precise(&mut case.function);
    let Some(compiled) = compiled(&case, Targets { cpu: false, cuda: true })? else { return Ok(0) };
    let texts: usize = compiled.gpu_variants().filter(|c| !c.is_merged).map(|c| c.ptx.len()).sum();
    if texts > LARGEST {
        return Err(Failure::new("more than 8 MB of PTX"));
    }
    let mut rng = Rng::new(compiled.functions[0].fused.graph.len() as u64);
    let versions = compiled.kernels.iter().map(|k| k.gpu_variants().len()).max().unwrap_or(0);
    let mut compared = 0;
    for c in &case.calls {
        let mut calls = Calls {
            compiled: &compiled,
            args: &c.args,
            expected: interp::run(&case.function, &c.args),
            record: None,
        };
        for version in [None].into_iter().chain((0..versions).map(Some)) {
            // the spans that the runtime can choose: powers of two
            let span = rng.pick(&[1, 2, 4, 8, 16]);
            let order = match rng.below(3) {
                0 => Order::Ascending,
                1 => Order::Descending,
                _ => Order::Random(rng.bits()),
            };
            let layout = rng.pick(&Layout::ALL);
            calls.check(How { layout, version, span, order })?;
            compared += 1;
        }
    }
    Ok(compared)
}

struct Calls<'a> {
    compiled: &'a Compiled,
    args: &'a [interp::Value],
    expected: arraygpu_compiler::Result<interp::Outcome>,
    /// The record of the first call; all others must leave the same.
    record: Option<Option<Record>>,
}

impl Calls<'_> {
    fn check(&mut self, how: How) -> Result<(), Failure> {
        let bad = |text: String| Err(Failure::new(format!("{text}\n{how:?}")));
        let f = &self.compiled.functions[0].fused;
        match (&self.expected, call_on(90, self.compiled, 0, self.args, how)) {
            (Err(_), Err(Fault::Shape(_))) => Ok(()),
            (Ok(wanted), Ok(called)) => {
                if called.record.is_some() && !wanted.recorded {
                    return bad(format!("a record is added\n{:?}", called.record));
                }
                let lost = wanted.recorded && called.record.is_none();
                if lost && interp::run(f, self.args).is_ok_and(|o| o.recorded) && !ignores(f) {
                    return bad("a record is lost".into());
                }
                let first = self.record.get_or_insert_with(|| called.record.clone());
                if *first != called.record {
                    return bad(format!("records differ\n{first:?}\n{:?}", called.record));
                }
                match difference(&wanted.results, &called.results).filter(|_| called.record.is_none()) {
                    Some(d) => bad(format!("other bits\n{d}")),
                    None => Ok(()),
                }
            }
            (Ok(_), Err(e)) => bad(e.to_string()),
            (Err(e), Err(found)) => bad(format!("another error\n{e}\n{found}")),
            (Err(e), Ok(_)) => bad(format!("a value instead of an error\n{e}")),
        }
    }
}
