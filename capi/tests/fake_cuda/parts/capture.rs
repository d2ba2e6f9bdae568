//! Calls on a stream that is being captured, and runs of its graph.

use super::*;

pub fn capture() {
    let (fake, context) = (Fake::get(), gpu());
    fake.set_current(fake.primary(0));
    let stream = fake.stream();
    let x = values(3000);
    let new = |x: &[f32]| Vector::in_context(context, x);
    let (v, w, s, g, steps) = (new(&x), new(&x), new(&[0.0; 2]), new(&x), number(context));
    wait(context);
    let call = |entry, args: &[AgpuArg]| call_on(context, stream, entry, args);
    fake.begin_capture(stream);
    // A call that waits or makes memory that stays is refused, and the capture continues.
    let (mut dot, mut made) = (-1f32, null_mut());
    let dot_of = |out| [input(v.view()), input(v.view()), out];
    fails(call(DOT, &dot_of(out_scalar(&mut dot))), AgpuErrorInvalidArgument, &["captured", "give a view"]);
    fails(call(REVERSED, &[input(v.view()), out_new(&mut made)]), AgpuErrorInvalidArgument, &["captured"]);
    let until = [input(v.view()), scalar(&9i64), output(w.view()), output(steps.view())];
    fails(call(DOUBLED_UNTIL, &until), AgpuErrorInvalidArgument, &["how many steps", "captured"]);
    // The graph has nothing of a function whose iteration comes behind other launches.
    let kept = new(&[7.0; 3000]);
    let behind = [input(v.view()), scalar(&9i64), output(w.view()), output(steps.view()), output(kept.view())];
    fails(call(DOUBLED_BEHIND, &behind), AgpuErrorInvalidArgument, &["how many steps", "captured"]);
    // Code is loaded, scratch grows, temporaries are allocated and freed, and error records have a
    // place.
    ok(call(REVERSED, &[input(v.view()), output(v.view())]));
    ok(call(DOT, &dot_of(output(s.slice(0, 1, 1)))));
    ok(call(REVERSED, &[input(v.view()), output(w.view())]));
    ok(call(GATHER, &[input(v.view()), scalar(&1i64), output(g.view())]));
    let graph = fake.end_capture(stream);
    assert!(!graph.is_null(), "the capture was spoilt");
    assert_eq!((v.get(), w.get(), s.get()), (x.clone(), x.clone(), vec![0.0; 2]));
    // A later call gets other scratch; the graph keeps its own.
    let large = new(&vec![1.0; 1 << 16]);
    ok(call(DOT, &[input(v.view()), input(v.view()), out_scalar(&mut dot)]));
    let before = (fake.counts().allocations, usage(context).0);
    for run in 1..3 {
        fake.launch_graph(graph, stream);
        // SAFETY: the arguments are handles.
        unsafe {
            ok(agpu_copy(large.slice(0, 3000, 1), large.slice(3000, 6000, 1)));
            fake.synchronize(stream);
            fails(agpu_context_synchronize(context), AgpuErrorRecord, &["stats::gather", "element 2999"]);
            ok(agpu_context_synchronize(context));
        }
        let reversed: Vec<f32> = x.iter().rev().copied().collect();
        let (now, then) = if run % 2 == 1 { (&reversed, &x) } else { (&x, &reversed) };
        assert_eq!((&v.get(), &w.get()), (now, then));
        assert_eq!(kept.get(), [7.0; 3000]);
        assert!(s.get()[0] > 0.0);
        ok(call(DOT, &[input(large.view()), input(large.view()), out_scalar(&mut dot)]));
        assert_eq!(dot, 65536.0);
    }
    assert_eq!((fake.counts().allocations, usage(context).0), (before.0, before.1));
    drop((v, w, s, g, steps, kept, large));
    free(context);
    done();
}

/// Captures a graph of each function on a stream that was used before, as were the functions.
pub fn capture_known() {
    let (fake, context) = (Fake::get(), gpu());
    fake.set_current(fake.primary(0));
    let stream = fake.stream();
    let x = values(3000);
    let new = |x: &[f32]| Vector::in_context(context, x);
    let (v, w, s) = (new(&x), new(&[0.0; 3000]), new(&[0.0]));
    let calls = [
        (REVERSED, vec![input(v.view()), output(w.view())]),
        (REVERSED, vec![input(w.view()), output(w.view())]), // This uses a temporary.
        (DOT, vec![input(v.view()), input(v.view()), output(s.view())]),
        (GATHER, vec![input(v.view()), scalar(&0i64), output(w.view())]),
    ];
    let run = |(entry, args): &(i32, Vec<AgpuArg>)| call_on(context, stream, *entry, args);
    (0..3).for_each(|_| calls.iter().for_each(|c| ok(run(c))));
    wait(context);
    let captured = |c| {
        fake.begin_capture(stream);
        (0..3).for_each(|_| ok(run(c)));
        let graph = fake.end_capture(stream);
        assert!(!graph.is_null(), "the capture was spoilt");
        graph
    };
    fake.destroy_graph(captured(&calls[2]));
    for c in &calls {
        let before = (fake.counts(), usage(context));
        let graph = captured(c);
        assert_eq!((fake.counts().records, fake.counts().orders), (before.0.records, before.0.orders));
        (0..2).for_each(|_| fake.launch_graph(graph, stream));
        fake.synchronize(stream);
        assert_eq!(usage(context).0, before.1.0);
        fake.destroy_graph(graph);
    }
    assert_eq!(w.get(), x);
    let dot = || {
        ok(run(&calls[2]));
        fake.launches().into_iter().rfind(|l| l.entry() == "dot").map(|l| l.words().to_vec())
    };
    let scratch = dot();
    assert_eq!(dot(), scratch);
    // Another stream gets the same handle, which the library learns when the stream is used without
    // a capture.
    ok(run(&calls[0]));
    let before = fake.counts().orders;
    fake.destroy(stream);
    fake.reuse(stream);
    fake.begin_capture(stream);
    ok(run(&calls[0]));
    assert!(!fake.end_capture(stream).is_null());
    assert_eq!(fake.counts().orders, before);
    ok(run(&calls[0]));
    assert_eq!(fake.counts().orders, before + 1);
    assert_eq!(w.get()[0], x[2999]);
    assert_eq!(dot(), scratch);
    drop((v, w, s));
    free(context);
    done();
}

/// Graphs that were captured one after another on one stream may run at the same time on others, as may calls on
/// that stream: each has scratch of its own, which the next capture gets when the graph is destroyed.
pub fn captured_in_turn() {
    let (fake, context) = (Fake::get(), gpu());
    fake.set_current(fake.primary(0));
    let (stream, others) = (fake.stream(), [fake.stream(), fake.stream()]);
    let (v, s) = (Vector::in_context(context, &values(3000)), Vector::in_context(context, &[0.0]));
    let dot = || ok(call_on(context, stream, DOT, &[input(v.view()), input(v.view()), output(s.view())]));
    let last = || fake.launches().into_iter().rfind(|l| l.entry() == "dot").expect("a launch").words().to_vec();
    let captured = || {
        fake.begin_capture(stream);
        (0..2).for_each(|_| dot());
        let graph = fake.end_capture(stream);
        assert!(!graph.is_null(), "the capture was spoilt");
        (graph, last())
    };
    dot();
    wait(context);
    let (own, [(first, a), (second, b)]) = (last(), [captured(), captured()]);
    assert!(a != b && a != own && b != own, "two graphs, or a graph and the stream, share scratch");
    let sum = s.get();
    for (graph, on) in [(first, others[0]), (second, others[1])] {
        fake.launch_graph(graph, on);
    }
    dot();
    wait(context);
    others.iter().for_each(|on| fake.synchronize(*on));
    assert_eq!((last(), s.get()), (own.clone(), sum));
    let before = fake.counts().allocations;
    fake.destroy_graph(first);
    let (next, words) = captured();
    fake.launch_graph(next, others[0]);
    fake.synchronize(others[0]);
    let is_kept = std::env::var("ARRAYGPU_TEST_WITHOUT").is_ok();
    assert_eq!(fake.counts().allocations == before, !is_kept);
    assert!(if is_kept { ![&a, &b, &own].contains(&&words) } else { words == a });
    drop((v, s));
    free(context);
    done();
}

/// While a stream is captured in the strictest mode, all other work continues in every thread and
/// does not invalidate the capture.
pub fn capture_elsewhere() {
    let (fake, context) = (Fake::get(), gpu());
    fake.set_current(fake.primary(0));
    let (stream, other) = (fake.stream(), fake.stream());
    let x = values(3000);
    let (v, w) = (Vector::in_context(context, &x), Vector::in_context(context, &x));
    ok(call_on(context, stream, REVERSED, &[input(v.view()), output(w.view())]));
    fake.begin_capture(stream);
    ok(call_on(context, stream, REVERSED, &[input(v.view()), output(w.view())]));
    let (number, primary, other) = (context.addr(), fake.primary(0).addr(), other.addr());
    let rest = move || {
        Fake::get().set_current(primary as *mut c_void);
        let context = number as *mut AgpuContext;
        work(context, null_mut());
        work(context, other as *mut c_void);
        let mut host = [0f32; 10];
        let (v, second) = (Vector::in_context(context, &values(10)), gpu());
        // SAFETY: the arguments are handles and memory of that length.
        ok(unsafe { agpu_copy_to_host_async(host.as_mut_ptr().cast(), v.view(), 10, null()) });
        assert_eq!(host[..], values(10));
        wait(context);
        work(second, null_mut());
        free(second);
    };
    rest();
    std::thread::spawn(rest).join().unwrap();
    // After a failed allocation the library frees what it keeps and tries again.
    fake.options("fail_alloc=1");
    drop(Vector::in_context(context, &[1.0]));
    fake.options("");
    let graph = fake.end_capture(stream);
    assert!(!graph.is_null(), "the capture was spoilt");
    fake.launch_graph(graph, stream);
    fake.synchronize(stream);
    drop((v, w));
    free(context);
    done();
}

/// The legacy default stream, which cannot be used while a stream that waits for it is being
/// captured.
pub fn legacy_stream() {
    let (fake, context) = (Fake::get(), gpu());
    fake.set_current(fake.primary(0));
    let (stream, legacy) = (fake.stream(), std::ptr::without_provenance_mut(1));
    work(context, legacy);
    let x = values(300);
    let (v, w) = (Vector::in_context(context, &x), Vector::in_context(context, &x));
    let reverse = |stream| call_on(context, stream, REVERSED, &[input(v.view()), output(w.view())]);
    ok(reverse(legacy));
    wait(context);
    fake.begin_capture(stream);
    ok(reverse(stream));
    fails(reverse(legacy), AgpuErrorDevice, &["call.stream: cuStreamIsCapturing", "906"]);
    assert!(!fake.end_capture(stream).is_null(), "the capture was spoilt");
    ok(reverse(legacy));
    assert_eq!(w.get()[0], x[299]);
    drop((v, w));
    free(context);
    done();
}
