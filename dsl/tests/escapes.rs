//! Handles that are carried out of where they mean something: a panic that names both lines.

use arraygpu_dsl::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The message of the panic, and of the lines that it names in this file.
fn panic_of(f: impl FnOnce()) -> (String, Vec<u32>) {
    let payload = catch_unwind(AssertUnwindSafe(f)).expect_err("a panic");
    let text = payload.downcast_ref::<String>().expect("a message").clone();
    let after = text.split(file!()).skip(1);
    let lines = after.map(|rest| rest[1..].split(':').next().and_then(|n| n.parse().ok()).expect("a line"));
    let lines = lines.collect();
    (text, lines)
}

#[test]
fn a_variable_leaves_its_closure() {
    let line = line!();
    let (text, lines) = panic_of(|| {
        let _ = Package::new("p").function("f", ["x"], "result", |x: VExp<f32>| {
            let mut leak = None;
            let _ = x.map(|a| {
                leak = Some(a * 2.0);
                a
            });
            x.map(|b| b + leak.unwrap())
        });
    });
    assert_eq!(lines, [line + 5, line + 8, line + 4], "made, used, bound: {text}");
    assert!(text.contains("outside the closure of `map`"), "{text}");
}

#[test]
fn a_closure_gives_another_closures_variable() {
    let line = line!();
    let (text, lines) = panic_of(|| {
        let _ = Package::new("p").function("f", ["x"], "result", |x: VExp<f32>| {
            let mut leak = None;
            let total = x.reduce(0.0, |a, b| {
                leak = Some(b);
                a + b
            });
            let _ = total;
            x.map(|_| leak.unwrap())
        });
    });
    assert_eq!(lines, [line + 4, line + 9, line + 4], "{text}");
    assert!(text.contains("`reduce`"), "{text}");
}

#[test]
fn a_vector_that_depends_on_an_outer_variable() {
    let line = line!();
    let (text, lines) = panic_of(|| {
        let _ = Package::new("p").function("f", ["x", "y"], "result", |x: VExp<f32>, y: VExp<f32>| {
            let mut leak = None;
            let _ = x.map(|a| {
                leak = Some(y.map(|b| a * b));
                a
            });
            leak.unwrap().sum()
        });
    });
    assert_eq!(lines, [line + 5, line + 8, line + 4], "{text}");
}

#[test]
fn a_function_returns_a_bound_variable() {
    let line = line!();
    let (text, lines) = panic_of(|| {
        let _ = Package::new("p").function("f", ["x"], "result", |x: VExp<f32>| {
            let mut leak = None;
            let _ = x.map(|a| *leak.insert(a));
            leak.unwrap()
        });
    });
    assert_eq!(lines, [line + 4, line + 2, line + 4], "{text}");
}

#[test]
fn a_parameter_is_used_in_another_function() {
    let mut stolen = None;
    let line = line!();
    let (text, lines) = panic_of(|| {
        let _ = Package::new("p")
            .function("first", ["x"], "result", |x: SExp<f32>| *stolen.insert(x))
            .function("second", ["y"], "result", |y: SExp<f32>| y + stolen.unwrap());
    });
    assert_eq!(lines, [line + 3, line + 4, line + 3], "{text}");
    assert!(text.contains("outside the function `first`"), "{text}");
}

#[test]
fn what_does_not_depend_on_the_variable_may_leave() {
    let package = Package::new("p").function("f", ["x", "y"], "result", |x: VExp<f32>, y: VExp<f32>| {
        let (mut total, mut constant) = (None, None);
        let z = x.map(|a| {
            constant = Some(lit(2.0));
            *total.insert(y.map(|b| b * b).sum()) + a
        });
        z + total.unwrap() * constant.unwrap()
    });
    assert!(package.functions().is_ok());
}

#[test]
fn what_slet_names_is_a_value_like_any_other() {
    let package = Package::new("p").function("f", ["x"], "result", |x: SExp<f32>| {
        let mut square = None;
        slet(x * x, |y| *square.insert(y) + 1.0) / square.unwrap()
    });
    assert!(package.functions().is_ok());
}

#[test]
fn a_panic_in_a_closure_leaves_no_scope_open() {
    let mut leak = None;
    let _ = catch_unwind(AssertUnwindSafe(|| {
        let _ = Package::new("p").function("f", ["x"], "result", |x: VExp<f32>| {
            x.map(|a| {
                leak = Some(a);
                if leak.is_some() {
                    panic!("the author's own");
                }
                a
            })
        });
    }));
    let (text, _) = panic_of(|| {
        let _ = leak.unwrap() + 1.0;
    });
    assert!(text.contains("outside the closure of `map`"), "{text}");
}
