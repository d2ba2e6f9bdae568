//! Streams, events and callbacks on the CPU, where all work is done at once, and invalid arguments
//! of these functions.

mod common;

use arraygpu_capi::abi::*;
use arraygpu_capi::*;
use common::*;
use std::ffi::c_void;
use std::ptr::{null, null_mut};

/// A pointer that looks like a stream but is none.
const NONE: *mut c_void = std::ptr::without_provenance_mut(64);

fn on(context: *mut AgpuContext, stream: *mut c_void) -> AgpuCall {
    AgpuCall::on(context, stream)
}

#[test]
fn streams_are_null() {
    let c = context(1);
    let mut stream = NONE;
    let v = Vector::in_context(c, &values(100));
    // SAFETY: the arguments are handles and pointers to locals.
    unsafe {
        ok(agpu_stream_create(c, &mut stream));
        assert!(stream.is_null());
        let call = on(c, stream);
        let args = [input(v.view()), output(v.view())];
        ok(agpu_invoke(&MODULE, REVERSED, &call, args.as_ptr(), 2));
        ok(agpu_stream_synchronize(c, stream));
        ok(agpu_stream_free(c, stream));
        ok(agpu_stream_free(c, stream));
        assert_eq!(v.get()[0], values(100)[99]);
        let words =
            ["agpu_stream_synchronize: call.stream is not NULL, a CPU context has only the default stream"];
        fails(agpu_stream_synchronize(c, NONE), AgpuErrorInvalidArgument, &words);
        fails(agpu_stream_free(c, NONE), AgpuErrorInvalidHandle, &["agpu_stream_free: a CPU context"]);
        fails(
            agpu_stream_create(c, null_mut()),
            AgpuErrorInvalidArgument,
            &["agpu_stream_create: stream is NULL"],
        );
        ok(agpu_context_free(c));
        stream = NONE;
        fails(
            agpu_stream_create(c, &mut stream),
            AgpuErrorInvalidHandle,
            &["agpu_stream_create: the context"],
        );
        assert_eq!(stream, NONE);
    }
}

#[test]
fn events_are_done() {
    let (c, mut event, mut done) = (context(1), null_mut(), false);
    // SAFETY: the arguments are handles and pointers to locals.
    unsafe {
        ok(agpu_event_create(c, &mut event));
        for call in [null(), &raw const *Box::leak(Box::new(on(c, null_mut())))] {
            ok(agpu_event_record(event, call));
            ok(agpu_event_wait(event, call));
            ok(agpu_event_synchronize(event));
            done = false;
            ok(agpu_event_query(event, &mut done));
            assert!(done);
        }
        for f in [agpu_event_record, agpu_event_wait] {
            fails(f(event, &on(c, NONE)), AgpuErrorInvalidArgument, &["call.stream is not NULL"]);
            fails(
                f(event, &AgpuCall { size: 8, ..on(c, NONE) }),
                AgpuErrorInvalidArgument,
                &["call.size is 8"],
            );
            fails(f(null_mut(), null()), AgpuErrorInvalidHandle, &["the event is NULL"]);
            fails(f(c.cast(), null()), AgpuErrorInvalidHandle, &["no handle of an event"]);
        }
        let other = context(1);
        let words = ["agpu_event_record: the event is not of the call's context"];
        fails(agpu_event_record(event, &on(other, null_mut())), AgpuErrorWrongContext, &words);
        ok(agpu_event_wait(event, &on(other, null_mut())));
        ok(agpu_context_free(other));
        fails(agpu_event_query(event, null_mut()), AgpuErrorInvalidArgument, &["done is NULL"]);
        // The buffer outlives its context.
        ok(agpu_context_free(c));
        ok(agpu_event_record(event, null()));
        ok(agpu_event_free(event));
        fails(agpu_event_free(event), AgpuErrorInvalidHandle, &["agpu_event_free: the event was freed"]);
        fails(agpu_event_query(event, &mut done), AgpuErrorInvalidHandle, &["the event was freed"]);
        ok(agpu_event_free(null_mut()));
        fails(agpu_event_create(c, &mut event), AgpuErrorInvalidHandle, &["agpu_event_create: the context"]);
        fails(agpu_event_create(null_mut(), null_mut()), AgpuErrorInvalidArgument, &["out is NULL"]);
    }
}

unsafe extern "C" fn count(data: *mut c_void) {
    // SAFETY: the pointer is to the test's number.
    unsafe { *data.cast::<i32>() += 1 };
}

#[test]
fn callbacks_run_at_once() {
    let (c, mut calls) = (context(1), 0i32);
    let data = (&raw mut calls).cast();
    // SAFETY: the arguments are handles and pointers to locals.
    unsafe {
        ok(agpu_stream_callback(&on(c, null_mut()), Some(count), data));
        fails(
            agpu_stream_callback(&on(c, NONE), Some(count), data),
            AgpuErrorInvalidArgument,
            &["call.stream"],
        );
        fails(agpu_stream_callback(&on(c, null_mut()), None, data), AgpuErrorInvalidArgument, &["f is NULL"]);
        ok(agpu_context_free(c));
        fails(
            agpu_stream_callback(&on(c, null_mut()), Some(count), data),
            AgpuErrorInvalidHandle,
            &["context"],
        );
    }
    assert_eq!(calls, 1);
}

#[test]
fn the_cache_has_no_problem() {
    let mut text = null();
    // SAFETY: the pointer is to a local, and the string belongs to the library.
    unsafe {
        ok(agpu_cache_problem(&mut text));
        assert_eq!(std::ffi::CStr::from_ptr(text), c"");
        fails(
            agpu_cache_problem(null_mut()),
            AgpuErrorInvalidArgument,
            &["agpu_cache_problem: message is NULL"],
        );
    }
}
