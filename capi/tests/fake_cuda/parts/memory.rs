//! Device memory: the limit, allocations that fail, and memory of the caller.

use super::*;

pub fn memory_limit() {
    let context = gpu();
    let base = usage(context).0;
    let a = Vector::in_context(context, &values(1000));
    assert_eq!(usage(context), (base + 4000, base + 4000));
    // SAFETY: the argument is a handle.
    let limit = |bytes| unsafe { agpu_context_set_memory_limit(context, bytes) };
    fails(limit(-1), AgpuErrorInvalidArgument, &["-1"]);
    ok(limit(base + 7999));
    let (mut made, mut version) = (null_mut(), -1);
    let mut scale =
        || call(SCALE, &[scalar(&2f32), input(a.view()), out_new(&mut made), out_scalar(&mut version)]);
    fails(
        scale(),
        AgpuErrorOutOfMemory,
        &["stats::scale: result", "1000 elements of 4 bytes", "4000 bytes", "limit of"],
    );
    ok(limit(base + 8000));
    ok(scale());
    assert_eq!(version, 10);
    assert_eq!(usage(context), (base + 8000, base + 8000));
    drop(Vector(made));
    drop(a);
    assert_eq!(usage(context), (base, base + 8000));
    free(context);
    done();
}

pub fn out_of_memory() {
    let (fake, context) = (Fake::get(), gpu());
    let (v, out) = (Vector::in_context(context, &values(3000)), Vector::in_context(context, &[7.0; 3000]));
    wait(context);
    let mut failed = 0;
    for n in 1.. {
        let before = (fake.counts(), usage(context).0);
        // The second try fails, too.
        fake.options(&format!("fail_alloc={n},fail_alloc_until={}", n + 1));
        let (mut made, mut version) = (null_mut(), -1);
        let args = [input(v.view()), output(v.view()), out_new(&mut made), out_scalar(&mut version)];
        let status = call(TWICE_THEN_REVERSED, &args);
        fake.options("");
        if status == AgpuOk {
            drop(Vector(made));
            break;
        }
        failed += 1;
        fails(
            status,
            AgpuErrorOutOfMemory,
            &[
                "stats::twice_then_reversed",
                "CUDA_ERROR_OUT_OF_MEMORY (2)",
                if n < 4 { "12000 bytes" } else { "2048 bytes" },
            ],
        );
        assert!(made.is_null() && version == -1);
        assert_eq!(v.get(), values(3000));
        assert_eq!(fake.counts().trims, before.0.trims + 1);
        assert_eq!((fake.counts().allocations, usage(context).0), (before.0.allocations, before.1));
    }
    // These are the temporary of the overlapping output, the new result, the temporary of the plan,
    // and the words for scalars.
    assert_eq!(failed, 4);
    assert_eq!(v.get(), values(3000).iter().map(|x| x * 4.0).collect::<Vec<_>>());
    // After one failed allocation the library frees what it keeps and tries again.
    fake.options("fail_alloc=1");
    assert_eq!(Vector::in_context(context, &[1.0]).get(), [1.0]);
    // Scratch, scalars and error records cannot grow.
    let mut dot = 0f32;
    fake.options("fail_alloc=1,fail_alloc_until=100");
    fails(
        call(DOT, &[input(v.view()), input(v.view()), out_scalar(&mut dot)]),
        AgpuErrorOutOfMemory,
        &["stats::dot"],
    );
    let gather = || call(GATHER, &[input(v.view()), scalar(&0i64), output(out.view())]);
    fails(gather(), AgpuErrorOutOfMemory, &["stats::gather"]);
    assert_eq!(out.get(), [7.0; 3000]);
    fake.options("");
    ok(call(DOT, &[input(v.view()), input(v.view()), out_scalar(&mut dot)]));
    ok(gather());
    drop((v, out));
    free(context);
    assert!(fake.counts().nothing(), "{:?}", fake.counts());
    done();
}

pub fn wrapped_memory() {
    let (fake, context) = (Fake::get(), gpu());
    let ty = MaybeUninit::new(AgpuType::AgpuF32);
    let mut host = [1f32, 2.0];
    let (mut made, mut data, mut pinned) = (null_mut(), null_mut(), null_mut());
    let v = Vector::in_context(context, &[3.0, 4.0]);
    // SAFETY: the arguments are handles, pointers to locals, and on purpose a host pointer where a
    // device pointer is expected.
    unsafe {
        let wrapped = agpu_buffer_wrap(context, ty, host.as_mut_ptr().cast(), 2, &mut made);
        fails(wrapped, AgpuErrorInvalidArgument, &["agpu_buffer_wrap", "host memory?", "Fake GPU 0"]);
        ok(agpu_buffer_wrap(context, ty, null_mut(), 0, &mut made));
        drop(Vector(made));
        ok(agpu_buffer_data(v.0, &mut data));
        ok(agpu_buffer_wrap(context, ty, data.byte_add(4), 1, &mut made));
        assert_eq!(Vector(made).get(), [4.0]);
        let wrapped = agpu_buffer_wrap(context, ty, data.byte_add(4), 2, &mut made);
        fails(wrapped, AgpuErrorInvalidArgument, &["agpu_buffer_wrap", "2 elements of 4 bytes", "the 4 bytes"]);
        assert_eq!(v.get(), [3.0, 4.0]);
        ok(agpu_host_alloc(context, 8, &mut pinned));
        pinned.cast::<[f32; 2]>().write([5.0, 6.0]);
        ok(agpu_buffer_wrap(context, ty, pinned, 2, &mut made));
        ok(call(REVERSED, &[input(v.view()), output(Vector(made).view())]));
        wait(context);
        assert_eq!(pinned.cast::<[f32; 2]>().read(), [4.0, 3.0]);
        ok(agpu_host_free(pinned));
        // The memory belongs to another device.
        if let Some(there) = gpu_number(1) {
            let wrapped = agpu_buffer_wrap(there, ty, data, 1, &mut made);
            fails(wrapped, AgpuErrorInvalidArgument, &["memory of CUDA device 0", "Fake GPU 1"]);
            free(there);
        }
    }
    drop(v);
    free(context);
    assert!(fake.counts().nothing(), "{:?}", fake.counts());
    done();
}
