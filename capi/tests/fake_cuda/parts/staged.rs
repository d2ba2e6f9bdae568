//! Functions that stage scalars: what is compiled and kept, and what runs if the compilation fails.

use super::*;

/// The entry `reversed`, as it would be written if it staged its length.
const TEXT: &str = r#"
func @reversed(%x: [f32]) -> (result: [f32]) {
  %0 = len %x
  %1 = stage %0
  require stop 4i64, %1 "never for three"
  %2 = sub %1, 1i64
  %3 = generate %1 (%i: i64) {
    %4 = sub %2, %i
    %5 = at %x, %4
    yield %5
  }
  return %3
}
"#;

/// The entry `twice_then_reversed`, of several launches, with its length staged.
const SEVERAL: &str = r#"
func @twice_then_reversed(%x: [f32]) -> (doubled: [f32], result: [f32], version: i32) {
  %0 = len %x
  %1 = stage %0
  require stop 4i64, %1 "never for three"
  %2 = sub %1, 1i64
  %3 = generate %1 (%i: i64) {
    %4 = sub %2, %i
    %5 = at %x, %4
    yield %5
  }
  %6 = cast i32 %1
  return %3, %3, %6
}
"#;

fn staging(text: &'static str) -> AgpuModule {
    AgpuModule { staged: text.as_ptr().cast(), staged_length: text.len() as i64, ..with_images(|_| ()) }
}

pub fn staged_values() {
    let (fake, context, module) = (Fake::get(), gpu(), staging(TEXT));
    let reverse = |context, n: usize| {
        let (from, to) = (Vector::in_context(context, &values(n)), Vector::in_context(context, &vec![0.0; n]));
        let args = [input(from.view()), output(to.view())];
        // SAFETY: the module and the arguments live.
        ok(unsafe { agpu_invoke(&module, REVERSED, null(), args.as_ptr(), 2) });
        to.get()
    };
    let expected = |n: usize| values(n).into_iter().rev().collect::<Vec<f32>>();
    let ran = || {
        let names = fake.launches().into_iter().map(|l| l.entry().to_string());
        names.rev().find(|n| n.starts_with("reversed")).unwrap_or_default()
    };

    // A shape rule can never hold, so the general version runs.
    assert_eq!(reverse(context, 3), expected(3));
    assert_eq!(ran(), "reversed");
    // The first call also loads what the library needs besides the function.
    reverse(context, 7);
    let first = fake.counts();
    let loaded = || fake.counts().ptx + fake.counts().cubins - first.ptx - first.cubins;
    // The code is compiled once for each value, while it is kept.
    for n in [4, 5, 4, 4, 5] {
        reverse(context, n);
        assert_ne!(ran(), "reversed");
    }
    assert_eq!(loaded(), 2);
    for n in 10..40 {
        reverse(context, n);
    }
    assert_eq!(loaded(), 32);
    assert_eq!(fake.counts().modules, first.modules + 15);
    reverse(context, 4);
    assert_eq!(loaded(), 33);
    // If the driver rejects the code, the general version runs, and later calls do not try again.
    fake.options("reject_ptx=1,reject_cubin=1");
    for _ in 0..2 {
        assert_eq!(reverse(context, 50), expected(50));
        assert_eq!(ran(), "reversed");
    }
    fake.options("");
    // On a CPU the package's own code is used.
    assert_eq!(reverse(cpu(), 60), expected(60));
    free(context);
    assert!(fake.counts().nothing(), "{:?}", fake.counts());
    done();
}

/// If the driver rejects code of a version for which the general one has several launches, nothing has run yet.
pub fn staged_launches() {
    let (fake, context, module) = (Fake::get(), gpu(), staging(SEVERAL));
    for (n, options) in [(3, ""), (50, "reject_ptx=1,reject_cubin=1"), (50, "")] {
        fake.options(options);
        let (x, [doubled, back]) = (values(n), [(); 2].map(|()| Vector::in_context(context, &vec![0.0; n])));
        let (from, mut version) = (Vector::in_context(context, &x), 0);
        let args = [input(from.view()), output(doubled.view()), output(back.view()), out_scalar(&mut version)];
        // SAFETY: the module and the arguments live.
        ok(unsafe { agpu_invoke(&module, TWICE_THEN_REVERSED, null(), args.as_ptr(), 4) });
        assert_eq!((doubled.get()[0], back.get()[0]), (x[0] * 4.0, x[n - 1]), "{n} {options}");
    }
    free(context);
    assert!(fake.counts().nothing(), "{:?}", fake.counts());
    done();
}

/// Reverses a vector where the environment may not allow the code of a specialised version.
pub fn staged_within_budget() {
    let (fake, context, module) = (Fake::get(), gpu(), staging(TEXT));
    let (from, to) = (Vector::in_context(context, &values(50)), Vector::in_context(context, &[0.0; 50]));
    let args = [input(from.view()), output(to.view())];
    let is_allowed = std::env::var_os("ARRAYGPU_BUDGET").is_none();
    for _ in 0..2 {
        // SAFETY: the module and the arguments live.
        ok(unsafe { agpu_invoke(&module, REVERSED, null(), args.as_ptr(), 2) });
        let ran = fake.launches().last().unwrap().entry().to_string();
        assert_eq!(ran != "reversed", is_allowed, "{ran}");
    }
    if !is_allowed {
        assert_eq!(to.get(), values(50).into_iter().rev().collect::<Vec<f32>>());
    }
    drop((from, to));
    free(context);
    assert!(fake.counts().nothing(), "{:?}", fake.counts());
    done();
}

/// A version of which a graph holds a call keeps its code when others take its place, and when its
/// program is gone.
pub fn captured_version() {
    let (fake, context, module) = (Fake::get(), gpu(), staging(TEXT));
    fake.set_current(fake.primary(0));
    let stream = fake.stream();
    let pair = |n: usize| {
        (Vector::in_context(context, &values(n)), Vector::in_context(context, &vec![0.0; n]))
    };
    let reverse = |stream, (from, to): &(Vector, Vector)| {
        let args = [input(from.view()), output(to.view())];
        // SAFETY: the module and the arguments live.
        ok(unsafe { agpu_invoke(&module, REVERSED, &AgpuCall::on(context, stream), args.as_ptr(), 2) });
    };
    let held = pair(100);
    reverse(null_mut(), &pair(7));
    let before = fake.counts().modules;
    fake.begin_capture(stream);
    reverse(stream, &held);
    let graph = fake.end_capture(stream);
    assert!(!graph.is_null(), "the capture was spoilt");
    // 16 versions are kept, besides that of the graph
    (200..240).for_each(|n| reverse(null_mut(), &pair(n)));
    assert_eq!(fake.counts().modules, before - 1 + 16 + 1);
    fake.launch_graph(graph, stream);
    fake.synchronize(stream);
    drop(held);
    free(context);
    assert_eq!(fake.counts().modules, 0);
    done();
}
