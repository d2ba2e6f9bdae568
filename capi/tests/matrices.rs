//! Views of rank 2 and 3, and of structs in them: their parts, copies, and errors.

mod common;

use common::matrix::*;
use common::*;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

use arraygpu_capi::abi::*;
use arraygpu_capi::*;

/// Makes a buffer with these extents, whose elements are their own numbers.
fn array(extents: &[i64]) -> (Vector, AgpuView) {
    let (mut made, n) = (null_mut(), extents.iter().product::<i64>());
    let host: Vec<f32> = (0..n).map(|i| i as f32).collect();
    // SAFETY: the pointers are to locals.
    unsafe {
        let (ty, rank) = (MaybeUninit::new(AgpuType::AgpuF32), extents.len() as i32);
        ok(agpu_buffer_create_array(cpu(), ty, rank, extents.as_ptr(), &mut made));
        let v = Vector(made);
        let view = v.view();
        ok(agpu_copy_from_host(view, host.as_ptr().cast(), n));
        (v, view)
    }
}

fn numbers(view: AgpuView) -> Vec<i64> {
    elements::<f32>(view).into_iter().map(|x| x as i64).collect()
}

#[test]
fn parts_of_a_matrix() {
    let (v, m) = array(&[3, 4]);
    let mut count = 0;
    // SAFETY: the argument is a handle, and the pointer is to a local.
    ok(unsafe { agpu_buffer_count(v.0, &mut count) });
    assert_eq!(
        (count, m.rank, m.extent[..2].to_vec(), m.stride[..2].to_vec()),
        (12, 2, vec![3, 4], vec![4, 1])
    );
    assert_eq!(numbers(slice(m, 0, 1, 3, 1)), [4, 5, 6, 7, 8, 9, 10, 11]);
    assert_eq!(numbers(slice(m, 1, 1, 4, 2)), [1, 3, 5, 7, 9, 11]);
    assert_eq!(numbers(slice(slice(m, 0, 0, 3, 2), 1, 2, 4, 1)), [2, 3, 10, 11]);
    assert_eq!(numbers(transpose(m, 0, 1)), [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]);
    assert_eq!(numbers(transpose(m, 1, 1)), (0..12).collect::<Vec<_>>());
    assert_eq!(numbers(pick(m, 0, 2)), [8, 9, 10, 11]);
    assert_eq!(numbers(pick(m, 1, 1)), [1, 5, 9]);
    assert_eq!(numbers(pick(transpose(m, 0, 1), 0, 3)), [3, 7, 11]);
    // The slices are empty, at either end.
    for axis in 0..2 {
        let n = m.extent[axis as usize];
        let nothing = slice(m, axis, n, n, 5);
        assert_eq!((numbers(nothing), nothing.offset), (Vec::new(), 0));
        assert_eq!(numbers(slice(nothing, 1 - axis, 1, 2, 1)), Vec::<i64>::new());
        assert_eq!(numbers(pick(nothing, 1 - axis, 1)), Vec::<i64>::new());
    }
    // A slice of one row keeps the distance of four between rows.
    assert_eq!(slice(m, 0, 1, 2, 7).stride[0], 4);
}

#[test]
fn parts_of_rank_3() {
    let (_v, t) = array(&[2, 3, 4]);
    assert_eq!((t.rank, &t.stride[..3]), (3, &[12, 4, 1][..]));
    assert_eq!(numbers(pick(t, 0, 1)), (12..24).collect::<Vec<_>>());
    assert_eq!(numbers(pick(t, 1, 2)), [8, 9, 10, 11, 20, 21, 22, 23]);
    assert_eq!(numbers(pick(pick(t, 2, 3), 0, 1)), [15, 19, 23]);
    assert_eq!(numbers(slice(transpose(t, 0, 2), 0, 0, 4, 3)), [0, 12, 4, 16, 8, 20, 3, 15, 7, 19, 11, 23]);
}

/// Structs of three dimensions are bytes of rank 4; no other elements have that rank.
#[test]
fn parts_of_structs() {
    let (ty, mut made) = (MaybeUninit::new(AgpuType::AgpuU8), null_mut());
    let host: Vec<u8> = (0..48).collect();
    // SAFETY: the pointers are to locals, and the host memory has as many elements.
    let v = unsafe {
        ok(agpu_buffer_create_array(cpu(), ty, 4, [2, 3, 2, 4].as_ptr(), &mut made));
        let v = Vector(made);
        ok(agpu_copy_from_host(v.view(), host.as_ptr().cast(), 48));
        v
    };
    let s = v.view();
    assert_eq!((s.rank, &s.stride[..4]), (4, &[24, 8, 4, 1][..]));
    let bytes = |view: AgpuView| elements::<u8>(view);
    assert_eq!(bytes(pick(pick(s, 0, 1), 0, 2)), (40..48).collect::<Vec<_>>());
    assert_eq!(bytes(pick(pick(s, 2, 1), 1, 0)), [4, 5, 6, 7, 28, 29, 30, 31]);
    assert_eq!(bytes(slice(pick(transpose(s, 0, 2), 1, 0), 0, 0, 2, 3)), [0, 1, 2, 3, 24, 25, 26, 27]);
    let (mut out, other) = (MaybeUninit::<AgpuView>::uninit(), array(&[4, 4, 4]));
    // SAFETY: the pointers are to locals.
    unsafe {
        let rank_4 = view(other.0.0, 0, &[1; 4], &[1; 4]);
        fails(
            agpu_view_transpose(rank_4, 0, 1, out.as_mut_ptr()),
            AgpuErrorShape,
            &["rank 4, which only bytes"],
        );
        let rank_5 = view(v.0, 0, &[1; 5], &[1; 5]);
        fails(
            agpu_view_transpose(rank_5, 0, 1, out.as_mut_ptr()),
            AgpuErrorShape,
            &["rank 5", "3 is the most, and 4 of"],
        );
    }
}

#[test]
fn bad_parts() {
    let (v, m) = array(&[3, 4]);
    let mut out = MaybeUninit::<AgpuView>::uninit();
    let o = out.as_mut_ptr();
    // SAFETY: the pointers are to locals or NULL.
    unsafe {
        let shape = ["0..5", "extent 4", "axis 1", "3 x 4"];
        fails(agpu_view_slice(m, 1, 0, 5, 1, o), AgpuErrorOutOfBounds, &shape);
        for (axis, start, stop) in [(0, 0, 4), (0, -1, 2), (1, 3, 2), (0, 4, 4), (1, i64::MIN, i64::MAX)] {
            fails(
                agpu_view_slice(m, axis, start, stop, 1, o),
                AgpuErrorOutOfBounds,
                &["agpu_view_slice", "3 x 4"],
            );
        }
        fails(agpu_view_slice(m, 0, 0, 3, 0, o), AgpuErrorInvalidArgument, &["stride is 0"]);
        for axis in [-1, 2, i32::MAX] {
            fails(agpu_view_slice(m, axis, 0, 1, 1, o), AgpuErrorInvalidArgument, &["no axis", "rank 2"]);
            fails(agpu_view_pick(m, axis, 0, o), AgpuErrorInvalidArgument, &["no axis"]);
            fails(agpu_view_transpose(m, 0, axis, o), AgpuErrorInvalidArgument, &["no axis"]);
        }
        for (axis, index) in [(0, 3), (1, 4), (0, -1), (1, i64::MIN), (0, i64::MAX)] {
            fails(agpu_view_pick(m, axis, index, o), AgpuErrorOutOfBounds, &["no index", "3 x 4"]);
        }
        fails(agpu_view_pick(pick(m, 0, 0), 0, 0, o), AgpuErrorShape, &["vector"]);
        fails(agpu_view_pick(m, 0, 0, null_mut()), AgpuErrorInvalidArgument, &["out"]);
        // All functions that take views reject invented ones.
        let made_up = [
            view(v.0, 0, &[3, 5], &[4, 1]),
            view(v.0, 0, &[4, 4], &[4, 1]),
            view(v.0, 1, &[3, 4], &[4, 1]),
            view(v.0, 0, &[3, 4], &[-4, 1]),
            view(v.0, 0, &[3, 4], &[i64::MAX, i64::MAX]),
            view(v.0, 0, &[i64::MAX, i64::MAX, i64::MAX], &[i64::MIN, i64::MIN, i64::MIN]),
            view(v.0, 0, &[i64::MAX, i64::MAX, i64::MAX], &[0, 0, 0]),
            view(v.0, 0, &[3, -1], &[4, 1]),
            view(v.0, 13, &[0, 4], &[4, 1]),
        ];
        let host = [0f32; 12];
        for view in made_up {
            fails(agpu_view_transpose(view, 0, 1, o), AgpuErrorOutOfBounds, &["the view"]);
            fails(agpu_copy(view, m), AgpuErrorOutOfBounds, &["dst"]);
            fails(
                agpu_copy_to_host(host.as_ptr().cast_mut().cast(), view, 12),
                AgpuErrorOutOfBounds,
                &["view"],
            );
        }
        let (ty, mut made) = (MaybeUninit::new(AgpuType::AgpuF32), null_mut());
        let mut create =
            |rank, extents: *const i64| agpu_buffer_create_array(cpu(), ty, rank, extents, &mut made);
        fails(create(0, [1].as_ptr()), AgpuErrorInvalidArgument, &["rank is 0"]);
        fails(create(4, [1; 4].as_ptr()), AgpuErrorInvalidArgument, &["rank is 4"]);
        fails(create(2, null()), AgpuErrorInvalidArgument, &["extents"]);
        fails(create(2, [2, -2].as_ptr()), AgpuErrorInvalidArgument, &["2 x -2"]);
        fails(create(2, [i64::MAX, 2].as_ptr()), AgpuErrorOutOfMemory, &["x 2 elements"]);
        ok(create(3, [0, i64::MAX, i64::MAX].as_ptr()));
        ok(agpu_buffer_free(made));
    }
}

#[test]
fn copies_of_all_layouts() {
    let one = [cpu(), context(1)];
    common::matrix::copies(one, AgpuType::AgpuU8, &(0..200u8).collect::<Vec<_>>());
    common::matrix::copies(one, AgpuType::AgpuF64, &(0..200).map(f64::from).collect::<Vec<_>>());
}

#[test]
fn calls() {
    turn(cpu(), [1, 3], invoke);
}

#[test]
fn bad_copies() {
    let (v, m) = array(&[3, 4]);
    let host = [0f32; 12];
    let memory: *mut c_void = host.as_ptr().cast_mut().cast();
    // SAFETY: the host memory has 12 elements.
    unsafe {
        for count in [0, 11, 13] {
            fails(agpu_copy_to_host(memory, m, count), AgpuErrorOutOfBounds, &["count", "3 x 4"]);
        }
        fails(agpu_copy(m, transpose(m, 0, 1)), AgpuErrorShape, &["dst is 3 x 4, src 4 x 3"]);
        fails(agpu_copy(m, view(v.0, 0, &[12], &[1])), AgpuErrorShape, &["3 x 4, src 12"]);
        // Rows overlap, or columns coincide.
        for strides in [[3, 1], [0, 1], [4, 0], [1, 1]] {
            let several = view(v.0, 0, &[3, 4], &strides);
            fails(
                agpu_copy(several, m),
                AgpuErrorOverlap,
                &["overlaps itself", "3 x 4", &format!("{strides:?}")],
            );
            fails(agpu_copy_from_host(several, memory, 12), AgpuErrorOverlap, &["overlaps itself"]);
            fails(agpu_fill(several, memory), AgpuErrorOverlap, &["agpu_fill", "overlaps itself"]);
            assert_eq!(elements::<f32>(several).len(), 12);
        }
        // The stride of an axis with one element is never used.
        ok(agpu_fill(view(v.0, 0, &[1, 4], &[0, 1]), memory));
    }
}
