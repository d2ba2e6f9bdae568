//! Tests of common subexpressions.

use crate::kernel::{dce, parse};

/// Returns the statements of a kernel after the pass, without unused ones.
fn after(body: &str) -> Vec<String> {
    let text = format!(
        "kernel @k {{ read x: f32 read y: f32 write out: f32 in n: i64 in m: i64 threads 128 main {{ {body} }} }}"
    );
    let mut k = parse::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}")).remove(0);
    super::run(&mut k);
    dce::run(&mut k);
    let text = k.to_string();
    let (_, main) = text.split_once("main {").expect("main");
    main.lines().map(str::trim).filter(|l| !l.is_empty() && *l != "}").map(String::from).collect()
}

#[test]
fn an_index_of_two_arrays_is_computed_once() {
    let found = after(
        "let %i: i64 = cast i64(thread) let %a: f32 = x[add(mul(%i, n), m)] let %b: f32 = y[add(mul(%i, n), m)]
         out[add(add(mul(%i, n), 2i64), m)] = add(%a, %b)",
    );
    assert_eq!(
        found,
        [
            "let %i: i64 = cast i64(thread)",
            "let %common3: i64 = add(mul(%i, n), m)",
            "let %a: f32 = x[%common3]",
            "let %b: f32 = y[%common3]",
            "out[add(%common3, 2i64)] = add(%a, %b)",
        ]
    );
}

#[test]
fn what_a_branch_computes_is_unknown_behind_it() {
    let body = "if lt(n, m) { out[mul(n, m)] = 1f32 } out[mul(n, m)] = 2f32";
    assert_eq!(after(body), ["if lt(n, m) {", "out[mul(n, m)] = 1f32", "out[mul(n, m)] = 2f32"]);
}

#[test]
fn what_is_known_before_a_branch_is_known_in_it() {
    let body =
        "let %p: i64 = mul(n, m) if lt(n, m) { out[mul(m, n)] = 1f32 } out[add(mul(n, m), 7i64)] = 2f32";
    let found = ["let %p: i64 = mul(n, m)", "if lt(n, m) {", "out[%p] = 1f32", "out[add(%p, 7i64)] = 2f32"];
    assert_eq!(after(body), found);
}

#[test]
fn a_read_alone_keeps_its_branch_short() {
    let body = "let %a: f32 = x[mul(n, m)] var %v: f32 = 0f32 if lt(n, m) { %v = y[mul(n, m)] } out[0i64] = add(%v, %a)";
    let found = after(body);
    assert_eq!(found[0], "let %common2: i64 = mul(n, m)");
    assert_eq!(found[3..5], ["if lt(n, m) {", "%v = y[%common2]"]);
}

#[test]
fn variables_and_conditions_of_loops_stay() {
    let body = "var %v: i64 = n while lt(mul(%v, m), n) { %v = mul(%v, m) } out[mul(%v, m)] = 1f32 out[mul(%v, m)] = 2f32";
    let found = [
        "var %v: i64 = n",
        "while lt(mul(%v, m), n) {",
        "%v = mul(%v, m)",
        "out[mul(%v, m)] = 1f32",
        "out[mul(%v, m)] = 2f32",
    ];
    assert_eq!(after(body), found);
}
