//! Views of any rank, and a model of copies between them.
#![allow(dead_code, reason = "each test program uses its part")]

use super::*;

/// Makes a view without the library.
pub fn view(buffer: *mut AgpuBuffer, offset: i64, extents: &[i64], strides: &[i64]) -> AgpuView {
    let mut view = AgpuView::new(buffer, offset, extents, strides);
    // Nobody reads the remaining entries.
    view.extent[extents.len()..].fill(7);
    view.stride[extents.len()..].fill(7);
    view
}

/// Returns the numbers of the buffer's elements that a view contains, in row-major order.
pub fn positions(view: &AgpuView) -> Vec<usize> {
    let mut all = vec![view.offset];
    for axis in 0..view.rank as usize {
        let (n, stride) = (view.extent[axis], view.stride[axis]);
        all = all.into_iter().flat_map(|at| (0..n).map(move |i| at + i * stride)).collect();
    }
    all.into_iter().map(|at| at as usize).collect()
}

pub fn slice(v: AgpuView, axis: i32, start: i64, stop: i64, stride: i64) -> AgpuView {
    let mut out = MaybeUninit::uninit();
    // SAFETY: the pointer is to a local.
    unsafe {
        ok(agpu_view_slice(v, axis, start, stop, stride, out.as_mut_ptr()));
        out.assume_init()
    }
}

pub fn transpose(v: AgpuView, first: i32, second: i32) -> AgpuView {
    let mut out = MaybeUninit::uninit();
    // SAFETY: the pointer is to a local.
    unsafe {
        ok(agpu_view_transpose(v, first, second, out.as_mut_ptr()));
        out.assume_init()
    }
}

pub fn pick(v: AgpuView, axis: i32, index: i64) -> AgpuView {
    let mut out = MaybeUninit::uninit();
    // SAFETY: the pointer is to a local.
    unsafe {
        ok(agpu_view_pick(v, axis, index, out.as_mut_ptr()));
        out.assume_init()
    }
}

fn show(v: &AgpuView) -> String {
    format!(
        "rank {} from {}: {:?} by {:?}",
        v.rank,
        v.offset,
        &v.extent[..v.rank as usize],
        &v.stride[..v.rank as usize]
    )
}

/// Makes a buffer with the elements of `host`.
fn buffer<T: Copy>(context: *mut AgpuContext, ty: AgpuType, host: &[T]) -> Vector {
    let mut made = null_mut();
    // SAFETY: the pointers are to locals.
    unsafe {
        ok(agpu_buffer_create(context, MaybeUninit::new(ty), host.len() as i64, &mut made));
        let v = Vector(made);
        ok(agpu_copy_from_host(v.view(), host.as_ptr().cast(), host.len() as i64));
        v
    }
}

/// Returns all elements of a view.
pub fn elements<T: Copy + Default>(view: AgpuView) -> Vec<T> {
    let mut host = vec![T::default(); positions(&view).len()];
    // SAFETY: the memory has the view's length.
    ok(unsafe { agpu_copy_to_host(host.as_mut_ptr().cast(), view, host.len() as i64) });
    host
}

/// Transposes a 3 x 4 matrix from many views of one buffer into many views of another, and compares
/// with a model. `invoke` calls the package. The variant that ran is `dense` where the views allow
/// it.
pub fn turn(
    context: *mut AgpuContext,
    [dense, any]: [i32; 2],
    invoke: impl Fn(i32, &[AgpuArg]) -> AgpuStatus,
) {
    let (x, y) = (Vector::in_context(context, &values(100)), Vector::in_context(context, &values(100)));
    let host = values(100);
    let inputs = [(0, [4, 1]), (7, [9, 1]), (3, [1, 5]), (50, [-10, 2]), (20, [0, 1]), (9, [0, 0])];
    let outputs = [(0, [3, 1]), (5, [20, 1]), (0, [1, 4]), (60, [-9, -2])];
    let mut version = 0;
    for (from, s) in inputs {
        for (to, r) in outputs {
            let (a, out) = (view(x.0, from, &[3, 4], &s), view(y.0, to, &[4, 3], &r));
            ok(invoke(TURNED, &[input(a), output(out), out_scalar(&mut version)]));
            let is_dense = s[1] == 1 && r == [3, 1];
            assert_eq!(version, if is_dense { dense } else { any }, "{} -> {}", show(&a), show(&out));
            let mut expected = host.clone();
            let turned = positions(&transpose(a, 0, 1)).into_iter().map(|at| host[at]);
            positions(&out).into_iter().zip(turned).for_each(|(at, v)| expected[at] = v);
            assert_eq!(y.get(), expected, "{} -> {}", show(&a), show(&out));
            // SAFETY: `host` has the buffer's length.
            ok(unsafe { agpu_copy_from_host(y.view(), host.as_ptr().cast(), 100) });
        }
    }
    // A result that overlaps its argument is computed in a temporary, which is dense.
    for (a, out) in [
        (view(x.0, 0, &[4, 4], &[4, 1]), view(x.0, 0, &[4, 4], &[4, 1])),
        (view(x.0, 0, &[4, 4], &[10, 1]), view(x.0, 1, &[4, 4], &[10, 2])),
    ] {
        let mut expected = x.get();
        let turned: Vec<f32> = positions(&transpose(a, 0, 1)).into_iter().map(|at| expected[at]).collect();
        positions(&out).into_iter().zip(turned).for_each(|(at, v)| expected[at] = v);
        ok(invoke(TURNED, &[input(a), output(out), out_scalar(&mut version)]));
        assert_eq!((x.get(), version), (expected, dense));
    }
    // A new result gets the right extents.
    let mut made = null_mut();
    ok(invoke(
        TURNED,
        &[input(view(x.0, 0, &[5, 2], &[3, 1])), out_new(&mut made), out_scalar(&mut version)],
    ));
    let made = Vector(made);
    let m = made.view();
    assert_eq!((m.rank, &m.extent[..2], &m.stride[..2], version), (2, &[2, 5][..], &[5, 1][..], dense));
    // Empty matrices of any shape need no work.
    for extents in [[0, 4], [3, 0], [0, 0]] {
        let (a, out) = (view(x.0, 0, &extents, &[4, 1]), view(y.0, 0, &[extents[1], extents[0]], &[0, 0]));
        ok(invoke(TURNED, &[input(a), output(out), out_scalar(&mut 0)]));
    }
    // These arguments do not fit.
    let (a, call) = (view(x.0, 0, &[3, 4], &[4, 1]), |a, out| {
        invoke(TURNED, &[input(a), output(out), out_scalar(&mut 0)])
    });
    let wrong = "stats::turned: result: the output is 3 x 4, expected 4 x 3";
    fails(call(a, view(y.0, 0, &[3, 4], &[4, 1])), AgpuErrorShape, &[wrong]);
    fails(
        call(a, view(y.0, 0, &[12], &[1])),
        AgpuErrorShape,
        &["result: the view has rank 1, a matrix has rank 2"],
    );
    fails(
        call(view(x.0, 0, &[2, 2, 2], &[4, 2, 1]), a),
        AgpuErrorShape,
        &["a: the view has rank 3, a matrix"],
    );
    for strides in [[0, 1], [2, 1], [3, 0], [-1, 1]] {
        let out = view(y.0, 20, &[4, 3], &strides);
        fails(call(a, out), AgpuErrorOverlap, &["an output of 4 x 3", &format!("{strides:?}")]);
    }
    assert_eq!(y.get(), host);
}

/// Copies and fills views of all kinds of layouts, between two contexts and within one, and
/// compares with a model.
pub fn copies<T: Copy + Default + PartialEq + std::fmt::Debug>(
    contexts: [*mut AgpuContext; 2],
    ty: AgpuType,
    host: &[T],
) {
    const KINDS: [(i64, [i64; 4]); 8] = [
        (0, [50, 20, 5, 1]),
        (3, [100, 60, 7, 1]),
        (0, [50, 1, 4, 12]),
        (59, [60, -20, -5, -1]),
        (70, [70, 40, -9, 2]),
        (2, [8, 4, 50, 1]),
        (0, [10, 5, 20, 1]),
        (100, [59, 31, -13, 3]),
    ];
    assert_eq!(host.len(), 200);
    let (a, b) = (buffer(contexts[0], ty, host), buffer(contexts[1], ty, host));
    let reset = |v: &Vector| {
        // SAFETY: `host` has the buffer's length.
        ok(unsafe { agpu_copy_from_host(v.view(), host.as_ptr().cast(), 200) });
    };
    // four axes are the bytes of structs in an array of three
    let structs = [vec![2, 2, 3, 4], vec![2, 2, 0, 4], vec![1, 2, 1, 4]];
    let structs = structs.into_iter().filter(|_| size_of::<T>() == 1);
    let arrays = [vec![2, 3, 4], vec![3, 4], vec![1, 4], vec![4, 1], vec![2, 1, 3], vec![2, 0, 3]];
    for extents in arrays.into_iter().chain(structs) {
        let cut = 4 - extents.len();
        // Each kind is copied to four others.
        let pairs = (0..32).map(|i| (&KINDS[i % 8], &KINDS[(i % 8 + i / 8 * 3) % 8]));
        for (to, from) in pairs {
            for (target, source) in [(&a, &b), (&b, &a), (&a, &a), (&b, &b)] {
                let (to, from) = (
                    view(target.0, to.0, &extents, &to.1[cut..]),
                    view(source.0, from.0, &extents, &from.1[cut..]),
                );
                let mut expected = host.to_vec();
                let values: Vec<T> = positions(&from).into_iter().map(|at| host[at]).collect();
                positions(&to).into_iter().zip(&values).for_each(|(at, v)| expected[at] = *v);
                // SAFETY: the arguments are handles, and the host memory has as many elements.
                unsafe {
                    ok(agpu_copy(to, from));
                    assert_eq!(elements::<T>(target.view()), expected, "{} <- {}", show(&to), show(&from));
                    assert_eq!(elements::<T>(to), values);
                    reset(target);
                    ok(agpu_copy_from_host(to, values.as_ptr().cast(), values.len() as i64));
                    assert_eq!(elements::<T>(target.view()), expected, "{}", show(&to));
                    reset(target);
                    ok(agpu_fill(to, host[77..].as_ptr().cast()));
                }
                let mut expected = host.to_vec();
                positions(&to).into_iter().for_each(|at| expected[at] = host[77]);
                assert_eq!(elements::<T>(target.view()), expected, "fill {}", show(&to));
                reset(target);
            }
        }
    }
}
