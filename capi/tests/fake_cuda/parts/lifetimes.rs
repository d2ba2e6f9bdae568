//! Handles and contexts: what is freed, in which order, and which context is current.

use super::*;

pub fn lifetimes() {
    let fake = Fake::get();
    let context = gpu();
    work(context, null_mut());
    free(context);
    assert!(fake.counts().nothing(), "{:?}", fake.counts());

    // Buffers outlive their context with work queued on them, and calls on them still run.
    let context = gpu();
    let (a, b) = (Vector::in_context(context, &values(3000)), Vector::in_context(context, &values(3000)));
    let reverse = || ok(call(REVERSED, &[input(a.view()), output(b.view())]));
    reverse();
    free(context);
    reverse();
    assert_eq!(b.get()[0], values(3000)[2999]);
    reverse();
    drop(a);
    assert_eq!(b.get()[0], values(3000)[2999]);
    drop(b);
    assert!(fake.counts().nothing(), "{:?}", fake.counts());

    // Pinned memory outlives its context, too.
    let (context, mut memory) = (gpu(), null_mut());
    // SAFETY: the arguments are handles and pointers to locals.
    unsafe {
        ok(agpu_host_alloc(context, 100, &mut memory));
        free(context);
        memory.cast::<u8>().write_bytes(1, 100);
        ok(agpu_host_free(memory));
        fails(agpu_host_free(memory), AgpuErrorInvalidArgument, &["agpu_host_free"]);
    }
    assert!(fake.counts().nothing(), "{:?}", fake.counts());
    done();
}

pub fn ending() {
    let (fake, context, mut memory) = (Fake::get(), gpu(), null_mut());
    let a = Vector::in_context(context, &values(3000));
    let view = a.view();
    // SAFETY: the arguments are handles and pointers to locals.
    unsafe {
        ok(agpu_host_alloc(context, 100, &mut memory));
        fake.end();
        ok(agpu_buffer_free(a.0));
        ok(agpu_host_free(memory));
        let b = Vector(view.buffer);
        fails(agpu_buffer_free(b.0), AgpuErrorInvalidHandle, &[]);
        let mut made = null_mut();
        let status = agpu_buffer_create(context, MaybeUninit::new(AgpuType::AgpuF32), 1, &mut made);
        fails(status, AgpuErrorUnavailable, &["agpu_buffer_create"]);
    }
    free(context);
    done();
}

pub fn current_context() {
    let (fake, other) = (Fake::get(), 16 as *mut c_void);
    let context = gpu();
    for current in [null_mut(), other, fake.primary(0)] {
        fake.set_current(current);
        work(context, null_mut());
        assert_eq!(fake.current(), current);
        let v = Vector::in_context(context, &[1.0]);
        let mut dot = 0f32;
        fake.options("fail_alloc=1,fail_alloc_until=1000");
        let mut made = null_mut();
        let args = [scalar(&2f32), input(v.view()), out_new(&mut made), out_scalar(&mut 0i32)];
        fails(call(SCALE, &args), AgpuErrorOutOfMemory, &[]);
        fake.options("");
        assert_eq!(fake.current(), current);
        // The context is not switched if the library's is already current.
        let before = fake.counts().switches;
        ok(call(DOT, &[input(v.view()), input(v.view()), out_scalar(&mut dot)]));
        assert_eq!(fake.counts().switches - before, if current == fake.primary(0) { 0 } else { 2 });
        drop(v);
        assert_eq!(fake.current(), current);
    }
    fake.set_current(null_mut());
    free(context);
    assert_eq!(fake.current(), null_mut());
    done();
}
