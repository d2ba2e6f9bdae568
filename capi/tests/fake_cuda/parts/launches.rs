//! Launches: variants, grids and parameters, word by word.

use super::*;
use std::ffi::CStr;

pub fn launches() {
    let (fake, context) = (Fake::get(), gpu());
    let address = |v: &Vector| {
        let mut data = null_mut();
        // SAFETY: the arguments are a handle and a pointer to a local.
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
    let backwards = AgpuView { offset: 10, extent: axes(6), stride: axes(-2), ..x.view() };
    scale(backwards, y.slice(0, 18, 3));
    let minus_two = -2i64 as u64;
    assert_eq!(
        (last().entry(), last().words()),
        ("scale_any", &[ax + 40, ay, minus_two, 3, 6, two, slot][..])
    );
    // An output that is an input rules out the "separate" variant. The stride of one element does
    // not matter.
    scale(x.view(), x.view());
    assert_eq!(last().entry(), "scale_contiguous");
    scale(AgpuView { extent: axes(1), stride: axes(9), ..x.view() }, y.slice(0, 1, 1));
    assert_eq!((last().entry(), last().grid), ("scale_aligned", 1));
    // Empty arrays need no launch.
    let before = fake.launches().len();
    scale(x.slice(0, 0, 1), y.slice(0, 0, 1));
    assert_eq!(fake.launches().len(), before);

    // A block has two teams of 128 threads, and each of four multiprocessors runs 8 teams at once.
    let mut dot = 0f32;
    for (n, grid, span) in [(0, 1, 1), (1, 1, 1), (2048, 1, 1), (4097, 2, 1), (600_000, 147, 2)] {
        let (x, y) = (x.slice(0, n, 1), y.slice(0, n, 1));
        ok(call(DOT, &[input(x), input(y), out_scalar(&mut dot)]));
        let l = last();
        assert_eq!((l.entry(), l.grid, l.block, l.words().len()), ("dot", grid, 256, 9));
        assert_eq!((l.words()[4], l.words()[5], l.words()[8]), (n as u64, slot, span));
    }
    let all = AgpuView { extent: axes(512 * 2048), stride: axes(0), ..x.view() };
    ok(call(DOT, &[input(all), input(all), out_scalar(&mut dot)]));
    assert_eq!((last().grid, last().words()[2], last().words()[8]), (256, 0, 2));

    // With this many elements, the 32-bit variant is ruled out.
    let many = AgpuView { extent: axes((1 << 31) - (1 << 20)), stride: axes(0), ..x.view() };
    let mut result = 0f32;
    ok(call(LAST, &[input(many), out_scalar(&mut result), out_scalar(&mut 0i64)]));
    assert_eq!((last().entry(), last().grid, last().block), ("last", 1, 32));
    drop((x, y));
    free(context);
    done();
}

/// The names of the launches that were timed, and their times.
fn timed(context: *mut AgpuContext) -> Vec<(String, f64, f64)> {
    let none =
        AgpuLaunchTime { kernel: null(), variant: null(), start: -1.0, seconds: -1.0, sizes: null(), reserved: [0; 3] };
    let (mut room, mut count) = ([none; 4], -1);
    // SAFETY: the arguments are a handle and pointers to locals; the names live until the next call.
    unsafe {
        ok(agpu_context_launch_times(context, room.as_mut_ptr(), 4, &mut count));
        let text = |name| CStr::from_ptr(name).to_str().unwrap().to_string();
        let each = room.iter().take(count as usize);
        each.map(|t| (format!("{} {}", text(t.kernel), text(t.variant)), t.start, t.seconds)).collect()
    }
}

pub fn timed_launches() {
    let context = gpu();
    let (x, y) = (Vector::in_context(context, &values(1000)), Vector::in_context(context, &values(1000)));
    let profile = |on| {
        // SAFETY: the argument is a handle.
        ok(unsafe { agpu_context_profile(context, on) });
    };
    let mut version = 0;
    let mut scale = || {
        ok(call(SCALE, &[scalar(&2f32), input(x.view()), output(y.view()), out_scalar(&mut version)]));
    };
    scale();
    assert_eq!(timed(context), []);
    profile(true);
    scale();
    scale();
    let times = timed(context);
    // a launch is one operation, for which the fake driver takes a millisecond
    assert_eq!((times.len(), &*times[0].0, times[0].1), (2, "scale scale_aligned", 0.0));
    assert!(times.iter().all(|(_, _, seconds)| (seconds - 1e-3).abs() < 1e-9), "{times:?}");
    assert!(times[1].1 >= 1e-3, "{times:?}");
    // the launch that began first need not be the one that was queued first
    profile(true);
    let mut other = null_mut();
    // SAFETY: the arguments are a handle and a pointer to a local.
    ok(unsafe { agpu_stream_create(context, &mut other) });
    for stream in [null_mut(), other] {
        ok(call_on(context, stream, REVERSED, &[input(x.view()), output(y.view())]));
    }
    let times = timed(context);
    assert!(times[0].1 > 0.0 && times[1].1 == 0.0, "{times:?}");
    // SAFETY: the arguments are handles.
    ok(unsafe { agpu_stream_free(context, other) });
    profile(false);
    scale();
    assert_eq!(timed(context), []);
    // SAFETY: the arguments are a handle and pointers, of which one is to a local.
    let status = unsafe { agpu_context_launch_times(context, null_mut(), 1, &mut 0) };
    fails(status, AgpuErrorInvalidArgument, &["its room is 1"]);
    profile(true);
    scale();
    drop((x, y));
    free(context);
    done();
}

/// On devices from sm_90 on every launch of a package that waits is dependent; drivers before CUDA 12.3 cannot
/// capture such launches.
pub fn dependent_launches() {
    let options = std::env::var("FAKE_CUDA").unwrap_or_default();
    let (fake, context) = (Fake::get(), gpu());
    let is_new = !options.contains("capability");
    let x = Vector::in_context(context, &values(3000));
    let mut dot = 0f32;
    let mut run = |module: &AgpuModule| {
        let args = [input(x.view()), input(x.view()), out_scalar(&mut dot)];
        // SAFETY: the module and the arguments live.
        ok(unsafe { agpu_invoke(module, DOT, null(), args.as_ptr(), 3) });
        fake.launches().last().unwrap().is_dependent()
    };
    let older = Box::leak(Box::new(AgpuModule { abi_version: 6, ..with_images(|_| {}) }));
    assert_eq!((run(module()), run(older)), (is_new, false));
    fake.set_current(fake.primary(0));
    let (stream, s) = (fake.stream(), Vector::in_context(context, &[0.0]));
    wait(context);
    fake.begin_capture(stream);
    ok(call_on(context, stream, DOT, &[input(x.view()), input(x.view()), output(s.view())]));
    let captured = fake.launches().last().unwrap().is_dependent();
    assert_eq!(captured, is_new && !options.contains("version"));
    assert!(!fake.end_capture(stream).is_null(), "the capture was spoilt");
    drop((x, s));
    free(context);
    done();
}
