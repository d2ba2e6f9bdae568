//! Every program computes what its reference computes, as its author wrote it and after the passes.

use arraygpu_compiler::driver;
use arraygpu_programs::{check, corpus};

#[test]
fn programs_compute_what_plain_loops_compute() {
    let mut wrong = Vec::new();
    for p in &corpus().programs {
        let forms = [("as written", Ok(p.function.clone())), ("fused", driver::fuse(&p.function))];
        for (form, f) in forms {
            let called = f.map_err(|e| e.to_string()).and_then(|f| check::call(p, &f));
            let difference = match called {
                Ok(results) => check::difference(p, &results),
                Err(e) => Some(e),
            };
            wrong.extend(difference.map(|d| format!("{}, {form}: {d}", p.name)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
