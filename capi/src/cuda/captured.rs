//! The workspaces of captured graphs.
//!
//! A captured graph may be launched at any time, beside other work. So its kernels need scratch and counters of their
//! own: each stream of a capture has a workspace for that capture. The graph, and every executable graph that is
//! instantiated from it, own the workspace together, by a user object of the driver. When the last of them is
//! destroyed and its work is done, the workspace is free for the next capture. If a driver cannot tell captures
//! apart, or has no user objects, the graph keeps the workspace until the context is freed.

use super::gpu::{Gpu, Uncaptured};
use super::state::{OfCapture, Spare, Stream};
use super::table::lock;
use crate::error::Result;
use cudarc::driver::sys::CUgraph;
use std::ffi::{c_uint, c_void};
use std::ptr::null_mut;
use std::sync::{Arc, Mutex};

/// What a graph holds.
struct Held {
    shared: OfCapture,
    spare: Spare,
}

/// `CU_USER_OBJECT_NO_DESTRUCTOR_SYNC`, without which there are no user objects.
const NO_DESTRUCTOR_SYNC: c_uint = 1;
/// `CU_GRAPH_USER_OBJECT_MOVE`: the graph gets the caller's reference.
const MOVE: c_uint = 1;

/// Gives a workspace back. A thread of the driver calls it, in which none of its functions may be called.
unsafe extern "C" fn destroyed(held: *mut c_void) {
    // SAFETY: `Gpu::hold` made it for the one call of this function.
    let held = unsafe { Box::from_raw(held.cast::<Held>()) };
    let shared = std::mem::take(&mut *lock(&held.shared));
    lock(&held.spare).push(shared);
}

impl Gpu {
    /// Returns the workspace of the capture that a stream is a part of.
    pub(super) fn of_capture(&self, stream: &Stream) -> Result<OfCapture> {
        let (mut status, mut number, mut graph) = (0, 0, null_mut());
        let Some(info) = self.api().capture_info else {
            return Ok(self.spare_workspace());
        };
        // SAFETY: the stream is one of this context; the pointers are to local variables, or NULL for what is
        // not asked for.
        let code = unsafe { info(stream.raw, &mut status, &mut number, &mut graph, null_mut(), null_mut()) };
        self.check(code, "call.stream: cuStreamGetCaptureInfo")?;
        let mut known = lock(&stream.of_capture);
        match &*known {
            Some((of, shared)) if *of == number => Ok(shared.clone()),
            _ => {
                let shared = self.spare_workspace();
                self.hold(graph, &shared);
                *known = Some((number, shared.clone()));
                Ok(shared)
            }
        }
    }

    fn spare_workspace(&self) -> OfCapture {
        Arc::new(Mutex::new(lock(&self.spare).pop().unwrap_or_default()))
    }

    /// Makes a graph an owner of a workspace, by a user object. If that fails, the workspace is never used again.
    fn hold(&self, graph: CUgraph, shared: &OfCapture) {
        let (Some(create), Some(retain)) = (self.api().user_object, self.api().graph_retain) else { return };
        let _uncaptured = Uncaptured::enter(self.api());
        let held = Box::into_raw(Box::new(Held { shared: shared.clone(), spare: self.spare.clone() }));
        let mut object = null_mut();
        // SAFETY: the function takes what `held` points to, once; the other pointer is to a local variable.
        let code = unsafe { create(&mut object, held.cast(), Some(destroyed), 1, NO_DESTRUCTOR_SYNC) };
        if code != 0 {
            // SAFETY: the driver did not take it.
            drop(unsafe { Box::from_raw(held) });
            return;
        }
        // SAFETY: both exist. An object that the graph does not take is never destroyed, and the workspace with it.
        let _ = unsafe { retain(graph, object, 1, MOVE) };
    }
}
