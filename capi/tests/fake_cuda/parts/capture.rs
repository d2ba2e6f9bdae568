//! Calls on a stream that is being captured, and the runs of its graph.

use super::*;

pub fn capture() {
    let (fake, context) = (Fake::get(), gpu());
    fake.set_current(fake.primary(0));
    let stream = fake.stream();
    let x = values(3000);
    let new = |x: &[f32]| Vector::in_context(context, x);
    let (v, w, s, g) = (new(&x), new(&x), new(&[0.0; 2]), new(&x));
    wait(context);
    let call = |entry, args: &[AgpuArg]| call_on(context, stream, entry, args);
    fake.begin_capture(stream);
    // what waits, or makes memory that stays, is refused, and the capture goes on
    let (mut dot, mut made) = (-1f32, null_mut());
    let dot_of = |out| [input(v.view()), input(v.view()), out];
    fails(call(DOT, &dot_of(out_scalar(&mut dot))), AgpuErrorInvalidArgument, &["captured", "give a view"]);
    fails(call(REVERSED, &[input(v.view()), out_new(&mut made)]), AgpuErrorInvalidArgument, &["captured"]);
    // code is loaded, scratch grows, temporaries come and go, records have a place
    ok(call(REVERSED, &[input(v.view()), output(v.view())]));
    ok(call(DOT, &dot_of(output(s.slice(0, 1, 1)))));
    ok(call(REVERSED, &[input(v.view()), output(w.view())]));
    ok(call(GATHER, &[input(v.view()), scalar(&1i64), output(g.view())]));
    let graph = fake.end_capture(stream);
    assert!(!graph.is_null(), "the capture was spoilt");
    assert_eq!((v.get(), w.get(), s.get()), (x.clone(), x.clone(), vec![0.0; 2]));
    // larger scratch for a later call; the graph's stays
    let large = new(&vec![1.0; 1 << 16]);
    let before = (fake.counts().allocations, usage(context).0);
    for run in 1..3 {
        fake.launch_graph(graph, stream);
        // SAFETY: handles.
        unsafe {
            ok(agpu_copy(large.slice(0, 3000, 1), large.slice(3000, 6000, 1)));
            fake.synchronize(stream);
            fails(agpu_context_synchronize(context), AgpuErrorRecord, &["stats::gather", "element 2999"]);
            ok(agpu_context_synchronize(context));
        }
        let reversed: Vec<f32> = x.iter().rev().copied().collect();
        let (now, then) = if run % 2 == 1 { (&reversed, &x) } else { (&x, &reversed) };
        assert_eq!((&v.get(), &w.get()), (now, then));
        assert!(s.get()[0] > 0.0);
        ok(call(DOT, &[input(large.view()), input(large.view()), out_scalar(&mut dot)]));
        assert_eq!(dot, 65536.0);
    }
    assert_eq!((fake.counts().allocations, usage(context).0), (before.0, before.1));
    drop((v, w, s, g, large));
    free(context);
    done();
}
