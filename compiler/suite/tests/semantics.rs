//! The statements of docs/semantics.md: the interpreter on the program and after every pass, and a simulated GPU,
//! give what is written there. `tests/bits.rs` asks the same of C, the bundle of GPUs.

use arraygpu_compiler::core::Function;
use arraygpu_compiler::core::interp::{self, Outcome};
use arraygpu_compiler::driver::{self, Targets};
use arraygpu_compiler::kernel::interp::Order;
use arraygpu_compiler::passes::pipeline;
use arraygpu_suite::gpu::{How, Layout, call};
use arraygpu_suite::semantics::{Call, statements};

fn check(name: &str, stage: &str, expected: &Call, found: arraygpu_compiler::Result<Outcome>) {
    let found = found.unwrap();
    let case = || format!("@{name} after {stage}, of {:?}", expected.args);
    assert_eq!(found.recorded, expected.results.is_none(), "{}", case());
    if let Some(results) = &expected.results {
        assert_eq!(found.results, *results, "{}", case());
    }
}

#[test]
fn interpreter() {
    for (f, calls) in statements() {
        assert!(!calls.is_empty(), "@{} has calls", f.name);
        for c in &calls {
            check(&f.name, "nothing", c, interp::run(&f, &c.args));
        }
        // the step of an iteration has other arguments
        let mut seen = |pass: &str, g: &Function| {
            let calls = calls.iter().filter(|_| !g.is_step);
            calls.for_each(|c| check(&f.name, pass, c, interp::run(g, &c.args)));
        };
        driver::on_big_stack(|| pipeline::run(&f, &mut seen)).unwrap();
    }
}

#[test]
fn simulated_gpu() {
    for (f, calls) in statements() {
        let name = f.name.clone();
        let compiled = driver::compile_for("t", vec![f], Targets { cpu: false, cuda: true }).unwrap();
        for c in calls {
            for layout in Layout::ALL {
                let how = How { layout, version: None, span: 1, order: Order::Ascending };
                let found = call(&compiled, 0, &c.args, how)
                    .unwrap_or_else(|e| panic!("@{name}, {layout:?}, of {:?}: {e:?}", c.args));
                assert_eq!(found.record.is_some(), c.results.is_none(), "@{name}, {layout:?}");
                if let Some(results) = c.results.as_ref() {
                    assert_eq!(found.results, *results, "@{name}, {layout:?}, of {:?}", c.args);
                }
            }
        }
    }
}
