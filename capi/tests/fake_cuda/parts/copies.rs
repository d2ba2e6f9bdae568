//! Copies and fills with strides, between devices, and without waiting.

use super::*;

fn typed<T: Copy>(context: *mut AgpuContext, ty: AgpuType, host: &[T]) -> Vector {
    let mut made = null_mut();
    // SAFETY: the pointers are to locals.
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

pub fn strided_copies() {
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
            extent: axes(len),
            stride: axes(stride),
            ..v.view()
        };
        let strides = [(0, 1), (3, 1), (0, 2), (99, -1), (98, -3), (5, 7)];
        for (from, from_stride) in strides.into_iter().chain([(50, 0)]) {
            for (to, to_stride) in strides {
                for n in [0, 1, 13] {
                    let results = [0, 1].map(|c| {
                        let (v, other) = &places[c];
                        // The copies are between the two contexts, within one, and into the other
                        // kind of context.
                        let target = view(v, to, n, to_stride);
                        // SAFETY: the arguments are handles.
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
    all(context, AgpuType::AgpuI16, &(0..n).map(i16::from).collect::<Vec<_>>(), -300i16);
    all(context, AgpuType::AgpuI32, &(0..n).map(i32::from).collect::<Vec<_>>(), -1i32);
    all(context, AgpuType::AgpuF64, &(0..n).map(f64::from).collect::<Vec<_>>(), 0.1f64);
    all(context, AgpuType::AgpuI64, &(0..n).map(i64::from).collect::<Vec<_>>(), -1i64);
    // A bool arrives as 0 or 1.
    let bools = typed(context, AgpuType::AgpuBool, &[0u8, 1, 2, 255, 0]);
    assert_eq!(back::<u8>(bools.view()), [0, 1, 1, 1, 0]);
    assert_eq!(back::<u8>(bools.slice(0, 5, 2)), [0, 1, 0]);
    let mut host = [9u8; 5];
    // SAFETY: the memory has that length.
    ok(unsafe { agpu_copy_to_host_async(host.as_mut_ptr().cast(), bools.view(), 5, null()) });
    assert_eq!(host, [0, 1, 1, 1, 0]);
    drop(bools);
    free(context);
    done();
}

/// Does what capi/tests/matrices.rs does on the CPU.
pub fn matrix_copies() {
    let context = gpu();
    let contexts = [context, cpu()];
    matrix::copies(contexts, AgpuType::AgpuU8, &(0..200u8).collect::<Vec<_>>());
    matrix::copies(contexts, AgpuType::AgpuF64, &(0..200).map(f64::from).collect::<Vec<_>>());
    free(context);
    done();
}

pub fn two_devices() {
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
    // SAFETY: the arguments are handles and pointers to locals.
    unsafe {
        ok(agpu_context_device_name(two, &mut name));
        assert_eq!(std::ffi::CStr::from_ptr(name), c"Fake GPU 1");
        for there in [&b, &c] {
            let before = fake.counts().peers;
            ok(agpu_copy(there.view(), a.view()));
            // Work that is queued now comes after the copy.
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

pub fn asynchronous_copies() {
    let (fake, context) = (Fake::get(), gpu());
    fake.set_current(fake.primary(0));
    let (stream, mut memory) = (fake.stream(), null_mut());
    let (v, w) = (Vector::in_context(context, &[0.0; 100]), Vector::in_context(context, &[0.0; 100]));
    // SAFETY: the arguments are handles, pointers to locals, and pinned memory of 100 elements.
    unsafe {
        ok(agpu_host_alloc(context, 400, &mut memory));
        let host = std::slice::from_raw_parts_mut(memory.cast::<f32>(), 100);
        host.copy_from_slice(&values(100));
        let call = AgpuCall::on(context, stream);
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
