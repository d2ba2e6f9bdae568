//! Calls about buffers, views, copies and memory of the host.

use super::checks::{done, gives, out};
use super::{Shared, Thread, WORDS};
use arraygpu_capi::abi::*;
use arraygpu_capi::*;
use std::ffi::c_void;
use std::ptr::{null, null_mut, without_provenance_mut};
use std::sync::Mutex;

type Done = Result<bool, String>;

/// Element types.
const TYPES: usize = 13;
/// Views that a thread remembers.
const VIEWS: usize = 32;

fn buffers(s: &Shared) -> &Mutex<Vec<usize>> {
    &s.buffers
}

impl Thread<'_> {
    /// A buffer to look at, not to write.
    fn buffer(&mut self) -> *mut AgpuBuffer {
        let own = !self.buffers.is_empty() && self.rng.one_in(2);
        if own { self.buffers[self.rng.below(self.buffers.len())] } else { self.handle(buffers) }
    }

    /// A new buffer: this thread's, or one for all threads to look at and free.
    fn new_buffer(&mut self, made: Option<*mut AgpuBuffer>) -> bool {
        let Some(buffer) = made else { return false };
        if self.rng.one_in(4) {
            self.keep(buffers, buffer);
            return true;
        }
        self.buffers.push(buffer);
        let mut whole = std::mem::MaybeUninit::uninit();
        // SAFETY: a place for the view, which is there if the call succeeds.
        unsafe {
            if agpu_buffer_view(buffer, whole.as_mut_ptr()) == AgpuStatus::AgpuOk {
                self.remember(whole.assume_init());
            }
        }
        true
    }

    fn remember(&mut self, view: AgpuView) {
        if self.views.len() < VIEWS {
            self.views.push(view);
        } else {
            let at = self.rng.below(VIEWS);
            self.views[at] = view;
        }
    }

    /// A view of this thread's buffers, often of one that was freed. One view in four is changed at
    /// random.
    pub(super) fn view(&mut self) -> AgpuView {
        let mut view = match self.views.len() {
            0 => AgpuView::new(null_mut(), 0, &[1], &[1]),
            n => self.views[self.rng.below(n)],
        };
        if !self.rng.one_in(4) {
            return view;
        }
        let axis = self.rng.below(AGPU_MAX_RANK);
        match self.rng.below(9) {
            0 => view.offset = self.int(),
            1 => view.rank = self.int(),
            2 | 3 => view.extent[axis] = self.int(),
            4 | 5 => view.stride[axis] = self.int(),
            6 => {
                view.element = AgpuElement { kind: self.rng.below(15) as i32, size: self.rng.below(9) as i32 }
            }
            7 => view.reserved[self.rng.below(2)] = self.rng.bits(),
            // not a random number: it could be another thread's buffer
            _ => view.buffer = self.buffers.first().copied().unwrap_or(null_mut()),
        }
        view
    }

    /// Elements of a copy, as many as the view has or any other number: what a call says is there,
    /// is there.
    fn count(&mut self, view: &AgpuView) -> i64 {
        let rank = usize::try_from(view.rank).unwrap_or(0).min(AGPU_MAX_RANK);
        let all = view.extent[..rank].iter().fold(1i64, |n, e| n.saturating_mul(*e));
        match self.rng.below(8) {
            0 => -1,
            1 | 2 => self.rng.between(0, 40),
            _ => all.clamp(0, WORDS as i64),
        }
    }
}

pub(super) fn buffer_create(t: &mut Thread) -> Done {
    let (context, ty, count) = (t.context(), t.number(TYPES), t.int());
    // SAFETY: handles and enums are checked; a place for the result, or none.
    let made = out(t, |out| unsafe { agpu_buffer_create(context, ty, count, out) })?;
    Ok(t.new_buffer(made))
}

pub(super) fn buffer_create_array(t: &mut Thread) -> Done {
    let (context, ty) = (t.context(), t.number(TYPES));
    let rank =
        if t.rng.one_in(8) { t.rng.pick(&[0, -1, 5, 6, 7, i32::MAX]) } else { 1 + t.rng.below(4) as i32 };
    let extents: Vec<i64> = (0..8).map(|_| t.int()).collect();
    let at = if t.rng.one_in(16) { null() } else { extents.as_ptr() };
    // SAFETY: as above; there are as many extents as a rank that is allowed.
    let made = out(t, |out| unsafe { agpu_buffer_create_array(context, ty, rank, at, out) })?;
    Ok(t.new_buffer(made))
}

pub(super) fn buffer_wrap(t: &mut Thread) -> Done {
    let (context, ty) = (t.context(), t.number(TYPES));
    // leaked: buffers over it may be freed later
    let memory: *mut u64 = Box::leak(Box::new([0u64; 16])).as_mut_ptr();
    let (data, count) = match t.rng.below(8) {
        0 => (null_mut(), t.rng.pick(&[0, 1])),
        1 => (memory.wrapping_byte_add(1), 3),
        _ => (memory, t.rng.pick(&[0, 1, 7, 16, -1])),
    };
    // SAFETY: as above; 16 elements of the widest type.
    let made = out(t, |out| unsafe { agpu_buffer_wrap(context, ty, data.cast(), count, out) })?;
    Ok(t.new_buffer(made))
}

pub(super) fn buffer_free(t: &mut Thread) -> Done {
    let buffer = t.buffer();
    // SAFETY: handles are checked.
    let freed = done(unsafe { agpu_buffer_free(buffer) }, true)?;
    t.forget(buffers, freed, buffer);
    if freed && !t.rng.one_in(8) {
        t.buffers.retain(|b| *b != buffer);
        t.views.retain(|v| v.buffer != buffer);
    }
    Ok(freed)
}

pub(super) fn buffer_count(t: &mut Thread) -> Done {
    let buffer = t.buffer();
    // SAFETY: as above; a place for the result, or none.
    gives::<i64>(t, |out| unsafe { agpu_buffer_count(buffer, out) })
}

pub(super) fn buffer_type(t: &mut Thread) -> Done {
    let buffer = t.buffer();
    // SAFETY: as above.
    gives::<AgpuType>(t, |out| unsafe { agpu_buffer_type(buffer, out) })
}

pub(super) fn buffer_context(t: &mut Thread) -> Done {
    let buffer = t.buffer();
    // SAFETY: as above.
    gives::<*mut AgpuContext>(t, |out| unsafe { agpu_buffer_context(buffer, out) })
}

pub(super) fn buffer_data(t: &mut Thread) -> Done {
    let buffer = t.buffer();
    // SAFETY: as above.
    gives::<*mut c_void>(t, |out| unsafe { agpu_buffer_data(buffer, out) })
}

pub(super) fn buffer_view(t: &mut Thread) -> Done {
    let own = t.buffers.last().copied().unwrap_or(null_mut());
    // SAFETY: as above.
    let view = out(t, |out| unsafe { agpu_buffer_view(own, out) })?;
    view.inspect(|v| t.remember(*v));
    Ok(view.is_some())
}

pub(super) fn view_slice(t: &mut Thread) -> Done {
    let (view, axis) = (t.view(), t.rng.pick(&[0, 0, 0, 1, 2, 3, -1, i32::MAX]));
    let (start, stop, stride) = (t.int(), t.int(), t.int());
    // SAFETY: as above.
    let part = out(t, |out| unsafe { agpu_view_slice(view, axis, start, stop, stride, out) })?;
    part.inspect(|v| t.remember(*v));
    Ok(part.is_some())
}

pub(super) fn view_transpose(t: &mut Thread) -> Done {
    let (view, a, b) = (t.view(), t.rng.pick(&[0, 1, 2, 3, -1]), t.rng.pick(&[0, 1, 2, 3, 7]));
    // SAFETY: as above.
    let turned = out(t, |out| unsafe { agpu_view_transpose(view, a, b, out) })?;
    turned.inspect(|v| t.remember(*v));
    Ok(turned.is_some())
}

pub(super) fn view_pick(t: &mut Thread) -> Done {
    let (view, axis, index) = (t.view(), t.rng.pick(&[0, 1, 2, 3, -1]), t.int());
    // SAFETY: as above.
    let row = out(t, |out| unsafe { agpu_view_pick(view, axis, index, out) })?;
    row.inspect(|v| t.remember(*v));
    Ok(row.is_some())
}

pub(super) fn copy_from_host(t: &mut Thread) -> Done {
    let view = t.view();
    let count = t.count(&view);
    let from = if t.rng.one_in(16) { null() } else { t.words.as_ptr() };
    // SAFETY: as above; memory for that many elements of the widest type.
    done(unsafe { agpu_copy_from_host(view, from.cast(), count) }, true)
}

pub(super) fn copy_to_host(t: &mut Thread) -> Done {
    let view = t.view();
    let count = t.count(&view);
    let to = if t.rng.one_in(16) { null_mut() } else { t.words.as_mut_ptr() };
    let before = t.words[0];
    // SAFETY: as above.
    let status = unsafe { agpu_copy_to_host(to.cast(), view, count) };
    done(status, t.words[0] == before)
}

pub(super) fn copy_from_host_async(t: &mut Thread) -> Done {
    let (view, call) = (t.view(), t.call());
    let count = t.count(&view);
    // SAFETY: as above; on the CPU the copy is done when the call is.
    done(unsafe { agpu_copy_from_host_async(view, t.words.as_ptr().cast(), count, &call) }, true)
}

pub(super) fn copy_to_host_async(t: &mut Thread) -> Done {
    let (view, call) = (t.view(), t.call());
    let count = t.count(&view);
    // SAFETY: as above.
    done(unsafe { agpu_copy_to_host_async(t.words.as_mut_ptr().cast(), view, count, &call) }, true)
}

pub(super) fn copy(t: &mut Thread) -> Done {
    let (to, from) = (t.view(), t.view());
    // SAFETY: handles are checked.
    done(unsafe { agpu_copy(to, from) }, true)
}

pub(super) fn fill(t: &mut Thread) -> Done {
    let (view, at) = (t.view(), t.rng.below(WORDS));
    let value = if t.rng.one_in(16) { null() } else { &raw const t.words[at] };
    // SAFETY: as above; the value of one element of the widest type.
    done(unsafe { agpu_fill(view, value.cast()) }, true)
}

pub(super) fn host_alloc(t: &mut Thread) -> Done {
    let (context, bytes) = (t.context(), t.int());
    // SAFETY: as above; a place for the result, or none.
    let made = out::<*mut c_void>(t, |out| unsafe { agpu_host_alloc(context, bytes, out) })?;
    made.inspect(|memory| t.memory.push(memory.expose_provenance()));
    Ok(made.is_some())
}

pub(super) fn host_free(t: &mut Thread) -> Done {
    let memory = match t.memory.pop() {
        Some(memory) if !t.rng.one_in(4) => memory,
        other => {
            t.memory.extend(other);
            t.junk()
        }
    };
    // SAFETY: memory that was not freed, or a number that is none.
    done(unsafe { agpu_host_free(without_provenance_mut(memory)) }, true)
}
