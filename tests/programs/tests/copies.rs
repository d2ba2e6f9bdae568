//! No kernel of the corpus has many copies of its program's operations.

use arraygpu_compiler::driver;
use arraygpu_programs::corpus;

#[test]
fn kernels_have_few_copies() {
    let mut broken = Vec::new();
    for p in corpus().programs {
        let compiled = driver::compile("p", vec![p.function.clone()]).expect("a program of the corpus");
        broken.extend(compiled.too_long().into_iter().map(|what| format!("{}: {what}", p.name)));
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
