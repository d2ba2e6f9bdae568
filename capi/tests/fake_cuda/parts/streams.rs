//! Streams: the order between them, and threads that share them.

use super::*;

pub fn streams() {
    let (fake, context) = (Fake::get(), gpu());
    fake.set_current(fake.primary(0));
    let (a, b) = (fake.stream(), fake.stream());
    let x = values(3000);
    let (v, w) = (Vector::in_context(context, &x), Vector::in_context(context, &x));
    let reverse = |stream, from: &Vector, to: &Vector| {
        ok(call_on(null_mut(), stream, REVERSED, &[input(from.view()), output(to.view())]));
    };
    // Each use comes after the previous one, on whichever stream.
    for (i, stream) in [a, b, null_mut(), b, a, null_mut()].into_iter().enumerate() {
        let (from, to) = if i % 2 == 0 { (&v, &w) } else { (&w, &v) };
        reverse(stream, from, to);
    }
    assert_eq!(v.get(), x);
    work(context, a);
    work(context, b);
    // No waits are queued if there is nothing to order.
    reverse(a, &v, &w);
    let before = fake.counts();
    (0..10).for_each(|_| reverse(a, &v, &w));
    assert_eq!(fake.counts().orders, before.orders);
    reverse(null_mut(), &v, &w);
    let before = fake.counts();
    (0..10).for_each(|_| reverse(null_mut(), &v, &w));
    assert_eq!((fake.counts().orders, fake.counts().records), (before.orders, before.records));
    // The context's own stream is treated like the others.
    let mut own = null_mut();
    // SAFETY: the arguments are a handle and a pointer to a local.
    ok(unsafe { agpu_context_stream(context, &mut own) });
    reverse(own, &v, &w);
    assert_eq!(fake.counts().records, before.records);
    // A stream is destroyed before the buffers that it used.
    reverse(a, &v, &w);
    fake.destroy(a);
    drop(v);
    assert_eq!(w.get(), x.iter().rev().copied().collect::<Vec<_>>());
    // Another stream gets the same handle. It waits once for the work of the old one.
    let y = Vector::in_context(context, &x);
    fake.reuse(a);
    reverse(a, &w, &y);
    fake.destroy(a);
    fake.reuse(a);
    let before = fake.counts().orders;
    reverse(a, &w, &y);
    reverse(a, &w, &y);
    assert_eq!(fake.counts().orders, before + 1);
    drop(y);
    work(context, a);
    fake.destroy(b);
    wait(context);
    // CU_STREAM_PER_THREAD is one value that means a different stream in each thread.
    let (number, primary, events) = (context.addr(), fake.primary(0).addr(), fake.counts().events);
    for _ in 0..2 {
        let call = move || {
            Fake::get().set_current(primary as *mut c_void);
            (0..2).for_each(|_| work(number as *mut AgpuContext, 2 as *mut c_void));
        };
        std::thread::spawn(call).join().unwrap();
    }
    assert_eq!(fake.counts().events, events + 2);
    // The stream belongs to another context.
    let other = fake.primary(1);
    fake.set_current(other);
    let foreign = fake.stream();
    let status = call_on(context, foreign, REVERSED, &[input(w.view()), output(w.view())]);
    fails(
        status,
        AgpuErrorInvalidArgument,
        &["call.stream is not a stream of the primary context", "Fake GPU 0"],
    );
    assert_eq!(fake.current(), other);
    drop(w);
    free(context);
    done();
}

pub fn threads() {
    let (fake, context) = (Fake::get(), gpu());
    let primary = fake.primary(0).addr();
    fake.set_current(primary as *mut c_void);
    let foreign = fake.stream().addr();
    let context_number = context.addr();
    std::thread::scope(|s| {
        for t in 0..6 {
            s.spawn(move || {
                let (context, stream) = (context_number as *mut AgpuContext, foreign as *mut c_void);
                // CU_STREAM_PER_THREAD is a different stream in each thread and needs a current
                // context.
                Fake::get().set_current(primary as *mut c_void);
                let streams = [stream, 2 as *mut c_void, null_mut()];
                for i in 0..20 {
                    work(context, streams[(t + i) % 3]);
                }
            });
        }
    });
    free(context);
    let counts = fake.counts();
    assert_eq!(
        (counts.allocations, counts.pinned, counts.modules, counts.events),
        (0, 0, 0, 0),
        "{counts:?}"
    );
    done();
}

/// Threads read a buffer on two streams at once, and a later write comes after both.
pub fn readers_on_two_streams() {
    let (fake, context) = (Fake::get(), gpu());
    let primary = fake.primary(0).addr();
    fake.set_current(primary as *mut c_void);
    let (x, streams) = (values(3000), [fake.stream().addr(), fake.stream().addr()]);
    let reversed: Vec<f32> = x.iter().rev().copied().collect();
    #[derive(Debug)]
    enum Write {
        Theirs,
        Own,
        Fill,
        Free,
    }
    for last in [Write::Theirs, Write::Own, Write::Fill, Write::Free] {
        let new = || Vector::in_context(context, &x);
        let (v, zeros, outs) = (new(), Vector::in_context(context, &[0.0; 3000]), [new(), new()]);
        let reverse = |stream: usize, from: AgpuView, to: AgpuView| {
            ok(call_on(null_mut(), stream as *mut c_void, REVERSED, &[input(from), output(to)]));
        };
        reverse(streams[0], v.view(), outs[0].view());
        reverse(streams[1], outs[1].view(), outs[1].view());
        wait(context);
        let (from, to) = (v.view(), outs[0].view());
        fake.options("pause=300");
        std::thread::scope(|s| {
            s.spawn(move || {
                Fake::get().set_current(primary as *mut c_void);
                reverse(streams[0], from, to);
            });
            std::thread::sleep(std::time::Duration::from_millis(100));
            reverse(streams[1], from, outs[1].view());
        });
        fake.options("");
        let name = format!("{last:?}");
        match last {
            Write::Theirs => reverse(streams[1], zeros.view(), v.view()),
            Write::Own => reverse(0, zeros.view(), v.view()),
            Write::Free => drop(v),
            // SAFETY: the arguments are a handle and a value of its type.
            Write::Fill => ok(unsafe { agpu_fill(v.view(), (&raw const x[7]).cast()) }),
        }
        // Lazy work runs when its stream is waited for, here that of the second reader first.
        for out in outs.iter().rev() {
            assert_eq!(out.get(), reversed, "{name}");
        }
        drop((zeros, outs));
    }
    free(context);
    done();
}
