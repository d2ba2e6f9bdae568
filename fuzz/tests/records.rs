//! The same error records: the first step, its lowest element and the first place there, on the CPU through the runtime and on a simulated GPU.

#[path = "../../tests/common/mod.rs"]
mod common;

use arraygpu_capi::abi::AgpuStatus;
use arraygpu_compiler::core::interp::{self, Value};
use arraygpu_compiler::driver;
use arraygpu_compiler::kernel::interp::Order;
use arraygpu_compiler::scalar::Lit;
use arraygpu_fuzz::case::Case;
use arraygpu_fuzz::check::precise;
use arraygpu_fuzz::generate::program;
use arraygpu_suite::gpu;
use arraygpu_suite::gpu::{How, Layout};
use common::{compile, context, load};

/// How many programs the C compiler has time for.
const PROGRAMS: usize = 24;

/// Programs that compile and leave records, precise everywhere.
fn programs() -> Vec<Case> {
    let fits = |case: &Case| driver::compile("t", vec![case.function.clone()]).is_ok();
    let case = |seed| {
        let mut case = Case::of(&program(seed));
        precise(&mut case.function);
        case
    };
    // most programs leave none
    let records = |c: &Case| {
        c.calls.iter().any(|call| interp::run(&c.function, &call.args).is_ok_and(|outcome| outcome.recorded))
    };
    let wanted = |c: &Case| c.refused.is_none() && records(c) && fits(c);
    (3000..).map(case).filter(wanted).take(PROGRAMS).collect()
}

#[test]
fn records_name_the_same_element_and_place() {
    let cases = programs();
    let compiled = compile(cases.iter().map(|c| c.function.clone()).collect());
    let (loaded, context) = (load(&compiled), context(2));
    let cpu = loaded.last().expect("a level");
    let mut records = 0;
    for (i, case) in cases.iter().enumerate() {
        let f = &compiled.functions[i].fused;
        for (round, call) in (0..).zip(case.calls.iter().cycle().take(4)) {
            let Ok(outcome) = interp::run(f, &call.args) else { continue };
            let extents = common::shapes(&outcome.results);
            let called = cpu.call(i, context, &call.args, &extents, common::Layout::Contiguous);
            let version = (round > 0).then(|| round as usize - 1);
            let how = How { layout: Layout::Contiguous, version, span: 2, order: Order::Random(round) };
            let simulated = gpu::call(&compiled, i, &call.args, how).unwrap_or_else(|e| panic!("{e}\n{f}"));
            let text = || format!("{how:?}: {}\n{}", called.message, case.text());
            match (called.status, simulated.record) {
                (AgpuStatus::AgpuOk, None) => assert!(called.results == simulated.results, "{}", text()),
                (AgpuStatus::AgpuErrorRecord, Some(r)) => {
                    let says = format!("{}, first at element {}", r.site, r.element);
                    assert!(called.message.contains(&says), "{says}\n{}", text());
                    records += 1;
                }
                (_, record) => panic!("{record:?}\n{}", text()),
            }
        }
    }
    assert!(records > 2, "{records} records");
}

/// Among several steps of an iteration the lowest element is reported, in whichever step it is.
#[test]
fn records_of_an_iteration() {
    let text = "func @f(%x: [i64], %k: i64) -> (r: [i64]) {
  step @f__step0(%x: [i64]) -> (next: [i64]) {
    %r = map (%e: i64) over %x {
      %d = sub %e, 4i64
      %q = div 12i64, %d
      %z = div %q, 100i64
      %s = add %e, %z
      %t = add %s, 1i64
      yield %t
    }
    return %r
  }
  require count 0i64, %k \"iterate: k\"
  %r = iterate @f__step0 0 by %k from %x
  return %r
}";
    let compiled = compile(arraygpu_compiler::core::parse::parse(text).unwrap());
    let (loaded, context) = (load(&compiled), context(2));
    let cpu = loaded.last().unwrap();
    // every element becomes the next number, and 4 leaves a record
    for (k, expected) in [(0, None), (1, Some(3)), (2, Some(1)), (3, Some(0))] {
        let elements = [2i64, 3, 0, 4].map(Lit::i64);
        let args = [Value::Vector(elements.to_vec()), Value::Scalar(Lit::i64(k))];
        let called = cpu.call(0, context, &args, &[vec![4]], common::Layout::Contiguous);
        let how = How { layout: Layout::Contiguous, version: None, span: 1, order: Order::Ascending };
        let simulated = gpu::call(&compiled, 0, &args, how).unwrap();
        let element = simulated.record.as_ref().map(|r| r.element);
        assert_eq!(element, expected, "{k} steps");
        if let Some(r) = simulated.record {
            let says = format!("{}, first at element {}", r.site, r.element);
            assert!(called.message.contains(&says), "{k} steps: {says}: {}", called.message);
        } else {
            assert!(matches!(called.status, AgpuStatus::AgpuOk));
        }
    }
}
