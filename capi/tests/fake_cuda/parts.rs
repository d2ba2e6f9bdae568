//! The parts that processes with the fake driver play; each ends with `<<ok>>`.

use super::common::fake::*;
use super::common::gpu::*;
use super::common::*;
use arraygpu_capi::abi::*;
use arraygpu_capi::*;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

macro_rules! parts {
    ($($part:ident)*) => {
        /// Name and code of each part.
        pub const PARTS: &[(&str, fn())] = &[$((stringify!($part), $part)),*];

        /// A test that starts the processes of each.
        mod tests {
            $(#[test]
            fn $part() {
                super::start(stringify!($part));
            })*
        }
    };
}

parts! {
    lifetimes
    ending
    current_context
    memory_limit
    out_of_memory
    failed_launch
    failed_wait
    rejected_code
    images
    launches
    streams
    capture
    wrapped_memory
    strided_copies
    two_devices
    asynchronous_copies
    threads
}

/// Plays a part in a process of its own, with work as late as possible, and at once.
fn start(name: &str) {
    let (None, Some(driver)) = (part(), build(None)) else { return };
    for options in ["", "eager=1,"] {
        assert_eq!(play(&driver, name, options, &[]), "ok", "{name}");
    }
}

fn done() {
    println!("<<ok>>");
}

fn free(context: *mut AgpuContext) {
    // SAFETY: a handle.
    ok(unsafe { agpu_context_free(context) });
}

fn wait(context: *mut AgpuContext) {
    // SAFETY: a handle.
    ok(unsafe { agpu_context_synchronize(context) });
}

fn usage(context: *mut AgpuContext) -> (i64, i64) {
    let (mut used, mut peak) = (-1, -1);
    // SAFETY: a handle, and pointers to locals.
    ok(unsafe { agpu_context_memory(context, &mut used, &mut peak) });
    (used, peak)
}

/// All functions once, with results of all kinds.
fn work(context: *mut AgpuContext, stream: *mut c_void) {
    let x = values(5000);
    let (v, out) = (Vector::in_context(context, &x), Vector::in_context(context, &x));
    let (mut dot, mut made, mut version) = (0f32, null_mut(), 0);
    ok(call_on(context, stream, DOT, &[input(v.view()), input(v.view()), out_scalar(&mut dot)]));
    ok(call_on(context, stream, DOT, &[input(v.view()), input(v.view()), output(out.slice(0, 1, 1))]));
    let args = [scalar(&2f32), input(v.view()), out_new(&mut made), out_scalar(&mut version)];
    ok(call_on(context, stream, SCALE, &args));
    ok(call_on(context, stream, REVERSED, &[input(v.view()), output(v.view())]));
    ok(call_on(context, stream, GATHER, &[input(v.view()), scalar(&0i64), output(out.view())]));
    assert_eq!(Vector(made).get()[7], x[7] * 2.0);
    assert_eq!((out.get()[0], v.get()[4999]), (x[4999], x[0]));
}

/// Everything is given back, in any order.
fn lifetimes() {
    let fake = Fake::get();
    let context = gpu();
    work(context, null_mut());
    free(context);
    assert!(fake.counts().nothing(), "{:?}", fake.counts());

    // buffers outlive their context, with work queued on them, and calls on them still run
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

    // pinned memory, too
    let (context, mut memory) = (gpu(), null_mut());
    // SAFETY: handles, and pointers to locals.
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

/// At the end of a process the driver may go first.
fn ending() {
    let (fake, context, mut memory) = (Fake::get(), gpu(), null_mut());
    let a = Vector::in_context(context, &values(3000));
    let view = a.view();
    // SAFETY: handles, and pointers to locals.
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

/// The caller's context is current again, after errors, too.
fn current_context() {
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
        // nothing is switched where ours is current already
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

fn memory_limit() {
    let context = gpu();
    let base = usage(context).0;
    let a = Vector::in_context(context, &values(1000));
    assert_eq!(usage(context), (base + 4000, base + 4000));
    // SAFETY: a handle.
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

/// Whichever allocation of a call fails: outputs are as they were, nothing is lost, and the next call works.
fn out_of_memory() {
    let (fake, context) = (Fake::get(), gpu());
    let (v, out) = (Vector::in_context(context, &values(3000)), Vector::in_context(context, &[7.0; 3000]));
    wait(context);
    let mut failed = 0;
    for n in 1.. {
        let before = (fake.counts(), usage(context).0);
        // the second try fails, too
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
    // the detour, the new result, the temporary, words for scalars
    assert_eq!(failed, 4);
    assert_eq!(v.get(), values(3000).iter().map(|x| x * 4.0).collect::<Vec<_>>());
    // one failure is mended by giving back what is kept
    fake.options("fail_alloc=1");
    assert_eq!(Vector::in_context(context, &[1.0]).get(), [1.0]);
    // scratch, scalars and records that cannot grow
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

/// A sticky error is told, and told again by all that comes later.
fn failed_launch() {
    let (fake, context) = (Fake::get(), gpu());
    let v = Vector::in_context(context, &values(100));
    let mut dot = -1f32;
    let mut call = || call(DOT, &[input(v.view()), input(v.view()), out_scalar(&mut dot)]);
    fake.options("fail_launch=1,launch_code=1");
    fails(call(), AgpuErrorDevice, &["stats::dot: launching dot: 1 blocks of 256 threads: CUDA error 1"]);
    fake.options("fail_launch=2,launch_code=700");
    ok(call());
    fails(
        call(),
        AgpuErrorDevice,
        &["launching dot", "CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access"],
    );
    fails(
        call(),
        AgpuErrorDevice,
        &["Fake GPU 0", "cannot be used any more in this process: launching dot", "(700)"],
    );
    // SAFETY: handles.
    unsafe {
        fails(agpu_context_synchronize(context), AgpuErrorDevice, &["cannot be used any more", "(700)"]);
        let mut host = [0f32; 100];
        fails(agpu_copy_to_host(host.as_mut_ptr().cast(), v.view(), 100), AgpuErrorDevice, &["(700)"]);
    }
    drop(v);
    free(context);
    done();
}

fn failed_wait() {
    let (fake, context) = (Fake::get(), gpu());
    let v = Vector::in_context(context, &values(100));
    let mut dot = -1f32;
    fake.options("fail_wait=1");
    let mut call = || call(DOT, &[input(v.view()), input(v.view()), out_scalar(&mut dot)]);
    // the first wait of all is for fresh scratch
    fails(call(), AgpuErrorDevice, &["stats::dot", "(700)"]);
    fails(call(), AgpuErrorDevice, &["stats::dot", "cannot be used any more"]);
    drop(v);
    free(context);
    assert_eq!(dot, -1.0);
    done();
}

fn rejected_code() {
    let (fake, context) = (Fake::get(), gpu());
    let v = Vector::in_context(context, &values(100));
    let mut dot = -1f32;
    let mut call = || call(DOT, &[input(v.view()), input(v.view()), out_scalar(&mut dot)]);
    fake.options("reject_ptx=1");
    fails(
        call(),
        AgpuErrorModule,
        &[
            "stats::dot: kernel dot: loading the PTX on CUDA device 0",
            "sm_90",
            "CUDA 12.4",
            "CUDA_ERROR_INVALID_PTX (218)",
        ],
    );
    assert!(message().ends_with("\nptxas fatal: Unresolved extern function 'nothing'"), "{}", message());
    fake.options("no_entry=1");
    fails(call(), AgpuErrorDevice, &["kernel dot: cuModuleGetFunction: CUDA error 500"]);
    fake.options("");
    ok(call());
    assert!(dot > 0.0);
    drop(v);
    free(context);
    assert!(fake.counts().nothing(), "{:?}", fake.counts());
    done();
}

/// Which code of a package is taken, and how often it is loaded.
fn images() {
    let fake = Fake::get();
    let text = |s: &'static str| s.as_ptr().cast::<c_void>();
    let dot_images = |archs: &[i32]| {
        let archs = archs.to_vec();
        Box::leak(Box::new(with_images(move |images| {
            let ptx = images[0];
            images.retain(|i| i.kernel != 0);
            let cubin = |arch: i32| AgpuImage { arch, data: text("ELF\0"), ..ptx };
            images.extend(archs.iter().map(|a| if *a == 0 { ptx } else { cubin(*a) }));
        })))
    };
    let run = |module: &AgpuModule, context: *mut AgpuContext| {
        let v = Vector::in_context(context, &[1.0, 2.0]);
        let mut dot = 0f32;
        let args = [input(v.view()), input(v.view()), out_scalar(&mut dot)];
        // SAFETY: a module and arguments that live.
        unsafe { agpu_invoke(module, DOT, null(), args.as_ptr(), 3) }
    };
    let context = gpu();
    for (archs, kind) in [
        (&[0, 90][..], "cubin"), // of the very device
        (&[80, 0], "ptx"),       // another major version
        (&[0, 100, 120], "ptx"),
        (&[91, 0], "ptx"), // a later minor version
        (&[90], "cubin"),
        (&[0], "ptx"),
    ] {
        let (module, before) = (dot_images(archs), fake.counts());
        for _ in 0..3 {
            ok(run(module, context));
        }
        let after = fake.counts();
        let loaded = (after.cubins - before.cubins, after.ptx - before.ptx, after.lookups - before.lookups);
        assert_eq!(loaded, if kind == "cubin" { (1, 0, 1) } else { (0, 1, 1) }, "{archs:?}");
    }
    // code that the driver does not take is no reason to give up
    fake.options("reject_cubin=1");
    ok(run(dot_images(&[90, 0]), context));
    fails(run(dot_images(&[90]), context), AgpuErrorModule, &["loading the code for sm_90", "209"]);
    fake.options("");
    fails(
        run(dot_images(&[80, 100]), context),
        AgpuErrorModule,
        &[
            "stats::dot: kernel dot: the package holds sm_80, sm_100, the device is CUDA device 0 (Fake GPU 0, sm_90)",
        ],
    );
    fails(run(dot_images(&[]), context), AgpuErrorModule, &["holds nothing"]);
    fails(run(&MODULE, context), AgpuErrorModule, &["no code for GPUs", "sm_90"]);
    // once in each context
    let (module, other, before) = (dot_images(&[0]), gpu(), fake.counts().ptx);
    [context, other, context, other].into_iter().for_each(|c| ok(run(module, c)));
    assert_eq!(fake.counts().ptx, before + 2);
    free(context);
    free(other);
    assert!(fake.counts().nothing(), "{:?}", fake.counts());
    // what a package may get wrong
    let broken = |change: &dyn Fn(&mut AgpuModule), words: &[&str]| {
        let mut module = with_images(|_| ());
        change(&mut module);
        // SAFETY: a module that is wrong in ways that are checked.
        fails(unsafe { agpu_invoke(&module, 0, null(), null(), 0) }, AgpuErrorModule, words);
    };
    broken(&|m| m.gpu_length -= 5, &["launches for GPUs cannot be read"]);
    broken(&|m| m.gpu_length = GPU.find("gpu @last").unwrap() as i64, &["7 kernels, but launches for 6"]);
    let uneven: &'static str = GPU.replace("dot threads 256", "dot threads 64").leak();
    broken(
        &|m| (m.gpu, m.gpu_length) = (uneven.as_ptr().cast(), uneven.len() as i64),
        &["dot: 64 threads for tiles of 128 columns"],
    );
    broken(&|m| m.image_count = -1, &["negative"]);
    broken(&|m| m.images = null(), &["images are NULL"]);
    let image = |f: &dyn Fn(&mut AgpuImage)| with_images(|i| f(&mut i[0]));
    for (module, words) in [
        (image(&|i| i.kernel = 7), "version 0 of kernel 7"),
        (image(&|i| i.version = 1), "version 1 of kernel 0"),
        (image(&|i| i.version = -1), "version -1"),
        (image(&|i| i.data = null()), "is empty"),
    ] {
        // SAFETY: as above.
        fails(unsafe { agpu_invoke(&module, 0, null(), null(), 0) }, AgpuErrorModule, &["stats", words]);
    }
    done();
}

/// Grids and parameters, word by word.
fn launches() {
    let (fake, context) = (Fake::get(), gpu());
    let address = |v: &Vector| {
        let mut data = null_mut();
        // SAFETY: a handle and a local.
        ok(unsafe { agpu_buffer_data(v.0, &mut data) });
        data.addr() as u64
    };
    let last = || *fake.launches().last().unwrap();
    let (x, y) =
        (Vector::in_context(context, &values(600_000)), Vector::in_context(context, &values(600_000)));
    let (ax, ay) = (address(&x), address(&y));
    let mut version = 0;
    let mut scale = |x: AgpuView, y: AgpuView| {
        ok(call(SCALE, &[scalar(&2f32), input(x), output(y), out_scalar(&mut version)]));
    };
    let two = u64::from(2f32.to_bits());
    scale(x.slice(0, 1000, 1), y.slice(4, 1004, 1));
    let l = last();
    assert_eq!((l.entry(), l.grid, l.block), ("scale_aligned", 4, 256));
    assert_eq!(l.words()[..4], [ax, ay + 16, 1000, two]);
    let slot = l.words()[4];
    scale(x.slice(1, 1001, 1), y.slice(4, 1004, 1));
    assert_eq!(
        (last().entry(), last().words()),
        ("scale_contiguous", &[ax + 4, ay + 16, 1000, two, slot][..])
    );
    let backwards = AgpuView { offset: 10, extent: [6, 1, 1], stride: [-2, 1, 1], ..x.view() };
    scale(backwards, y.slice(0, 18, 3));
    let minus_two = -2i64 as u64;
    assert_eq!(
        (last().entry(), last().words()),
        ("scale_any", &[ax + 40, ay, minus_two, 3, 6, two, slot][..])
    );
    // an output that is an input is not separate, a stride of one element does not count
    scale(x.view(), x.view());
    assert_eq!(last().entry(), "scale_contiguous");
    scale(AgpuView { extent: [1, 1, 1], stride: [9, 1, 1], ..x.view() }, y.slice(0, 1, 1));
    assert_eq!((last().entry(), last().grid), ("scale_aligned", 1));
    // nothing is launched for nothing
    let before = fake.launches().len();
    scale(x.slice(0, 0, 1), y.slice(0, 0, 1));
    assert_eq!(fake.launches().len(), before);

    // tiles: two teams of 128 threads a block, 16 teams on each of four multiprocessors
    let mut dot = 0f32;
    for (n, grid, span) in [(0, 1, 1), (1, 1, 1), (2048, 1, 1), (4097, 2, 1), (600_000, 74, 2)] {
        let (x, y) = (x.slice(0, n, 1), y.slice(0, n, 1));
        ok(call(DOT, &[input(x), input(y), out_scalar(&mut dot)]));
        let l = last();
        assert_eq!((l.entry(), l.grid, l.block, l.words().len()), ("dot", grid, 256, 9));
        assert_eq!((l.words()[4], l.words()[5], l.words()[8]), (n as u64, slot, span));
    }
    let all = AgpuView { extent: [512 * 2048, 1, 1], stride: [0, 1, 1], ..x.view() };
    ok(call(DOT, &[input(all), input(all), out_scalar(&mut dot)]));
    assert_eq!((last().grid, last().words()[2], last().words()[8]), (128, 0, 2));

    // what many elements cannot be is narrow
    let many = AgpuView { extent: [(1 << 31) - (1 << 20), 1, 1], stride: [0, 1, 1], ..x.view() };
    let mut result = 0f32;
    ok(call(LAST, &[input(many), out_scalar(&mut result), out_scalar(&mut 0i64)]));
    assert_eq!((last().entry(), last().grid, last().block), ("last", 1, 32));
    drop((x, y));
    free(context);
    done();
}

/// Calls on streams of the caller.
fn streams() {
    let (fake, context) = (Fake::get(), gpu());
    fake.set_current(fake.primary(0));
    let (a, b) = (fake.stream(), fake.stream());
    let x = values(3000);
    let (v, w) = (Vector::in_context(context, &x), Vector::in_context(context, &x));
    let reverse = |stream, from: &Vector, to: &Vector| {
        ok(call_on(null_mut(), stream, REVERSED, &[input(from.view()), output(to.view())]));
    };
    // each use comes after the last one, on whichever stream
    for (i, stream) in [a, b, null_mut(), b, a, null_mut()].into_iter().enumerate() {
        let (from, to) = if i % 2 == 0 { (&v, &w) } else { (&w, &v) };
        reverse(stream, from, to);
    }
    assert_eq!(v.get(), x);
    work(context, a);
    work(context, b);
    // no orders where there is nothing to order
    reverse(a, &v, &w);
    let before = fake.counts();
    (0..10).for_each(|_| reverse(a, &v, &w));
    assert_eq!(fake.counts().orders, before.orders);
    reverse(null_mut(), &v, &w);
    let before = fake.counts();
    (0..10).for_each(|_| reverse(null_mut(), &v, &w));
    assert_eq!((fake.counts().orders, fake.counts().records), (before.orders, before.records));
    // the context's own stream is one of them
    let mut own = null_mut();
    // SAFETY: a handle and a local.
    ok(unsafe { agpu_context_stream(context, &mut own) });
    reverse(own, &v, &w);
    assert_eq!(fake.counts().records, before.records);
    // a stream that goes before the buffers that it used
    reverse(a, &v, &w);
    fake.destroy(a);
    drop(v);
    assert_eq!(w.get(), x.iter().rev().copied().collect::<Vec<_>>());
    // and comes back as another: it waits for what the old one did, once
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
    // CU_STREAM_PER_THREAD: what is shared on a stream is each thread's own
    let (number, primary, events) = (context.addr(), fake.primary(0).addr(), fake.counts().events);
    for _ in 0..2 {
        let call = move || {
            Fake::get().set_current(primary as *mut c_void);
            (0..2).for_each(|_| work(number as *mut AgpuContext, 2 as *mut c_void));
        };
        std::thread::spawn(call).join().unwrap();
    }
    assert_eq!(fake.counts().events, events + 2);
    // a stream of another context
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

/// Calls on a stream that is being captured, and the graph's runs.
fn capture() {
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

fn wrapped_memory() {
    let (fake, context) = (Fake::get(), gpu());
    let ty = MaybeUninit::new(AgpuType::AgpuF32);
    let mut host = [1f32, 2.0];
    let (mut made, mut data, mut pinned) = (null_mut(), null_mut(), null_mut());
    let v = Vector::in_context(context, &[3.0, 4.0]);
    // SAFETY: handles, pointers to locals, and a host pointer where a device pointer is expected on purpose.
    unsafe {
        let wrapped = agpu_buffer_wrap(context, ty, host.as_mut_ptr().cast(), 2, &mut made);
        fails(wrapped, AgpuErrorInvalidArgument, &["agpu_buffer_wrap", "host memory?", "Fake GPU 0"]);
        ok(agpu_buffer_wrap(context, ty, null_mut(), 0, &mut made));
        drop(Vector(made));
        ok(agpu_buffer_data(v.0, &mut data));
        ok(agpu_buffer_wrap(context, ty, data.byte_add(4), 1, &mut made));
        assert_eq!(Vector(made).get(), [4.0]);
        assert_eq!(v.get(), [3.0, 4.0]);
        ok(agpu_host_alloc(context, 8, &mut pinned));
        pinned.cast::<[f32; 2]>().write([5.0, 6.0]);
        ok(agpu_buffer_wrap(context, ty, pinned, 2, &mut made));
        ok(call(REVERSED, &[input(v.view()), output(Vector(made).view())]));
        wait(context);
        assert_eq!(pinned.cast::<[f32; 2]>().read(), [4.0, 3.0]);
        ok(agpu_host_free(pinned));
        // memory of another device
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

fn gpu_number(ordinal: i32) -> Option<*mut AgpuContext> {
    let (size, device) = (size_of::<AgpuContextOptions>(), AGPU_DEVICE_CUDA + ordinal);
    let (options, mut context) = (AgpuContextOptions { size, device, threads: 0 }, null_mut());
    // SAFETY: pointers to locals.
    (unsafe { agpu_context_create(&options, &mut context) } == AgpuOk).then_some(context)
}

/// A vector of any type in a context.
fn typed<T: Copy>(context: *mut AgpuContext, ty: AgpuType, host: &[T]) -> Vector {
    let mut made = null_mut();
    // SAFETY: pointers to locals.
    unsafe {
        ok(agpu_buffer_create(context, MaybeUninit::new(ty), host.len() as i64, &mut made));
        let v = Vector(made);
        ok(agpu_copy_from_host(v.view(), host.as_ptr().cast(), host.len() as i64));
        v
    }
}

fn back<T: Copy + Default>(view: AgpuView) -> Vec<T> {
    let mut host = vec![T::default(); view.extent[0] as usize];
    // SAFETY: the memory has the view's length.
    ok(unsafe { agpu_copy_to_host(host.as_mut_ptr().cast(), view, host.len() as i64) });
    host
}

/// All copies and fills with many strides do what they do on the CPU.
fn strided_copies() {
    let context = gpu();
    fn all<T: Copy + Default + PartialEq + std::fmt::Debug>(
        gpu: *mut AgpuContext,
        ty: AgpuType,
        host: &[T],
        value: T,
    ) {
        let places = [gpu, cpu()].map(|c| (typed(c, ty, host), typed(c, ty, &host[..90])));
        let view = |v: &Vector, offset, len, stride| AgpuView {
            offset,
            extent: [len, 1, 1],
            stride: [stride, 1, 1],
            ..v.view()
        };
        let strides = [(0, 1), (3, 1), (0, 2), (99, -1), (98, -3), (5, 7)];
        for (from, from_stride) in strides.into_iter().chain([(50, 0)]) {
            for (to, to_stride) in strides {
                for n in [0, 1, 13] {
                    let results = [0, 1].map(|c| {
                        let (v, other) = &places[c];
                        // between the two, within one, and into the other kind of context
                        let target = view(v, to, n, to_stride);
                        // SAFETY: handles.
                        unsafe {
                            ok(agpu_copy(target, view(v, from, n, from_stride)));
                            ok(agpu_copy(view(other, 0, n, 2), view(v, from, n, from_stride)));
                            ok(agpu_copy(target, view(&places[1 - c].1, 0, n, 2)));
                            let source = &host[..n as usize];
                            ok(agpu_copy_from_host(target, source.as_ptr().cast(), n));
                            ok(agpu_fill(view(other, 3, n, to_stride.abs()), (&raw const value).cast()));
                        }
                        (back::<T>(v.view()), back::<T>(other.view()), back::<T>(target))
                    });
                    assert_eq!(
                        results[0], results[1],
                        "{ty:?} {n} from {from} {from_stride} to {to} {to_stride}"
                    );
                }
            }
        }
    }
    let n = 100u8;
    all(context, AgpuType::AgpuU8, &(0..n).collect::<Vec<_>>(), 77u8);
    all(context, AgpuType::AgpuI32, &(0..n).map(i32::from).collect::<Vec<_>>(), -1i32);
    all(context, AgpuType::AgpuF64, &(0..n).map(f64::from).collect::<Vec<_>>(), 0.1f64);
    all(context, AgpuType::AgpuI64, &(0..n).map(i64::from).collect::<Vec<_>>(), -1i64);
    // a bool arrives as 0 or 1
    let bools = typed(context, AgpuType::AgpuBool, &[0u8, 1, 2, 255, 0]);
    assert_eq!(back::<u8>(bools.view()), [0, 1, 1, 1, 0]);
    assert_eq!(back::<u8>(bools.slice(0, 5, 2)), [0, 1, 0]);
    let mut host = [9u8; 5];
    // SAFETY: the memory has the length.
    ok(unsafe { agpu_copy_to_host_async(host.as_mut_ptr().cast(), bools.view(), 5, null()) });
    assert_eq!(host, [0, 1, 1, 1, 0]);
    drop(bools);
    free(context);
    done();
}

fn two_devices() {
    let fake = Fake::get();
    fake.options("devices=2");
    let (Some(one), Some(two), Some(also_one)) = (gpu_number(0), gpu_number(1), gpu_number(0)) else {
        panic!("{}", message());
    };
    let x = values(1000);
    let (a, b, c) = (
        Vector::in_context(one, &x),
        Vector::in_context(two, &[0.0; 1000]),
        Vector::in_context(also_one, &[0.0; 1000]),
    );
    let mut name = null();
    // SAFETY: handles, and pointers to locals.
    unsafe {
        ok(agpu_context_device_name(two, &mut name));
        assert_eq!(std::ffi::CStr::from_ptr(name), c"Fake GPU 1");
        for there in [&b, &c] {
            let before = fake.counts().peers;
            ok(agpu_copy(there.view(), a.view()));
            // what is queued now comes after the copy
            ok(agpu_fill(a.view(), (&raw const x[1]).cast()));
            ok(agpu_copy(a.view(), there.view()));
            ok(agpu_fill(there.view(), (&raw const x[1]).cast()));
            assert_eq!((a.get(), there.get()), (x.clone(), vec![x[1]; 1000]));
            assert_eq!(fake.counts().peers, before + 2);
            let thirds: Vec<f32> = x.iter().step_by(3).copied().collect();
            ok(agpu_copy(there.slice(0, 668, 2), a.slice(0, 1000, 3)));
            assert_eq!(read(there.slice(0, 668, 2)), thirds);
        }
        let mut dot = 0f32;
        let status = call(DOT, &[input(a.view()), input(b.view()), out_scalar(&mut dot)]);
        fails(status, AgpuErrorWrongContext, &["x, y"]);
    }
    work(two, null_mut());
    drop((a, b, c));
    [one, two, also_one].into_iter().for_each(free);
    assert!(fake.counts().nothing(), "{:?}", fake.counts());
    done();
}

fn asynchronous_copies() {
    let (fake, context) = (Fake::get(), gpu());
    fake.set_current(fake.primary(0));
    let (stream, mut memory) = (fake.stream(), null_mut());
    let (v, w) = (Vector::in_context(context, &[0.0; 100]), Vector::in_context(context, &[0.0; 100]));
    // SAFETY: handles, pointers to locals, pinned memory of 100 elements.
    unsafe {
        ok(agpu_host_alloc(context, 400, &mut memory));
        let host = std::slice::from_raw_parts_mut(memory.cast::<f32>(), 100);
        host.copy_from_slice(&values(100));
        let call = AgpuCall { size: size_of::<AgpuCall>(), context, stream };
        let waits = fake.counts().waits;
        ok(agpu_copy_from_host_async(v.view(), memory, 100, &call));
        ok(call_on(context, stream, REVERSED, &[input(v.view()), output(w.view())]));
        ok(agpu_copy_to_host_async(memory, w.view(), 100, &call));
        assert_eq!(fake.counts().waits, waits);
        fake.synchronize(stream);
        assert_eq!(host[0], values(100)[99]);
        ok(agpu_copy_to_host_async(memory, v.slice(0, 100, 2), 50, null()));
        wait(context);
        assert_eq!(host[1], values(100)[2]);
        let bad = AgpuCall { context: cpu(), stream: null_mut(), ..call };
        fails(
            agpu_copy_to_host_async(memory, v.view(), 1, &bad),
            AgpuErrorWrongContext,
            &["agpu_copy_to_host_async"],
        );
        let c = Vector::new(&[1.0]);
        let bad = AgpuCall { context: null_mut(), stream, ..call };
        fails(agpu_copy_from_host_async(c.view(), memory, 1, &bad), AgpuErrorInvalidArgument, &["stream"]);
        ok(agpu_copy_from_host_async(c.view(), memory, 1, null()));
        assert_eq!(c.get(), host[..1]);
        ok(agpu_host_free(memory));
        fake.options("fail_pinned=1");
        fails(agpu_host_alloc(context, 8, &mut memory), AgpuErrorOutOfMemory, &["8 bytes of pinned memory"]);
    }
    drop((v, w));
    free(context);
    assert!(fake.counts().nothing() || fake.counts().contexts == 1, "{:?}", fake.counts());
    done();
}

/// Threads that share a context, its streams and its code.
fn threads() {
    let (fake, context) = (Fake::get(), gpu());
    let primary = fake.primary(0).addr();
    fake.set_current(primary as *mut c_void);
    let foreign = fake.stream().addr();
    let context_number = context.addr();
    std::thread::scope(|s| {
        for t in 0..6 {
            s.spawn(move || {
                let (context, stream) = (context_number as *mut AgpuContext, foreign as *mut c_void);
                // CU_STREAM_PER_THREAD is another stream in each thread, and needs a current context
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
