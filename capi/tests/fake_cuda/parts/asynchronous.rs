//! Streams that the library makes, events, and functions that the host runs in a stream's order.

use super::*;
use std::sync::Mutex;

fn eager() -> bool {
    std::env::var("FAKE_CUDA").is_ok_and(|o| o.contains("eager=1"))
}

fn make(context: *mut AgpuContext) -> *mut c_void {
    let mut stream = null_mut();
    // SAFETY: the arguments are a handle and a pointer to a local.
    ok(unsafe { agpu_stream_create(context, &mut stream) });
    assert!(!stream.is_null());
    stream
}

fn free_stream(context: *mut AgpuContext, stream: *mut c_void) -> AgpuStatus {
    // SAFETY: the arguments are handles.
    unsafe { agpu_stream_free(context, stream) }
}

fn synchronize(context: *mut AgpuContext, stream: *mut c_void) -> AgpuStatus {
    // SAFETY: the arguments are handles.
    unsafe { agpu_stream_synchronize(context, stream) }
}

fn on(context: *mut AgpuContext, stream: *mut c_void) -> AgpuCall {
    AgpuCall::on(context, stream)
}

fn reverse(stream: *mut c_void, from: AgpuView, to: AgpuView) -> AgpuStatus {
    call_on(null_mut(), stream, REVERSED, &[input(from), output(to)])
}

/// A call that leaves an error record if `shift` is not 0.
fn gather(stream: *mut c_void, v: &Vector, shift: i64) {
    ok(call_on(null_mut(), stream, GATHER, &[input(v.view()), scalar(&shift), output(v.view())]));
}

struct Event(*mut AgpuEvent);

impl Event {
    fn new(context: *mut AgpuContext) -> Event {
        let mut event = null_mut();
        // SAFETY: the arguments are a handle and a pointer to a local.
        ok(unsafe { agpu_event_create(context, &mut event) });
        Event(event)
    }
    fn record(&self, stream: *mut c_void) -> AgpuStatus {
        // SAFETY: the arguments are a handle and a call that lives.
        unsafe { agpu_event_record(self.0, &on(null_mut(), stream)) }
    }
    fn wait(&self, context: *mut AgpuContext, stream: *mut c_void) -> AgpuStatus {
        // SAFETY: as above.
        unsafe { agpu_event_wait(self.0, &on(context, stream)) }
    }
    fn synchronize(&self) -> AgpuStatus {
        // SAFETY: the argument is a handle.
        unsafe { agpu_event_synchronize(self.0) }
    }
    fn done(&self) -> bool {
        let mut done = false;
        // SAFETY: the arguments are a handle and a pointer to a local.
        ok(unsafe { agpu_event_query(self.0, &mut done) });
        done
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: the argument is a handle.
        ok(unsafe { agpu_event_free(self.0) });
    }
}

pub fn lent_streams() {
    let (fake, context, other) = (Fake::get(), gpu(), gpu());
    let x = values(3000);
    let backwards: Vec<f32> = x.iter().rev().copied().collect();
    let (v, w) = (Vector::in_context(context, &x), Vector::in_context(context, &x));
    let (a, b) = (make(context), make(context));
    assert_ne!(a, b);
    work(context, a);
    work(context, b);
    // Other CUDA code may use the stream.
    fake.set_current(fake.primary(0));
    ok(reverse(a, v.view(), w.view()));
    fake.synchronize(a);
    ok(synchronize(context, a));
    ok(synchronize(context, null_mut()));
    // The stream is freed while work is queued on it. The work continues, and later work waits for
    // it.
    ok(reverse(a, v.view(), w.view()));
    ok(free_stream(context, a));
    fails(reverse(a, v.view(), w.view()), AgpuErrorInvalidHandle, &["reversed: call.stream was freed"]);
    fails(synchronize(context, a), AgpuErrorInvalidHandle, &["agpu_stream_synchronize: call.stream was freed"]);
    fails(free_stream(context, a), AgpuErrorInvalidHandle, &["agpu_stream_free: the stream was freed before"]);
    fails(free_stream(other, b), AgpuErrorInvalidHandle, &["none of agpu_stream_create() in this context"]);
    fails(free_stream(context, fake.stream()), AgpuErrorInvalidHandle, &["none of agpu_stream_create()"]);
    ok(free_stream(context, null_mut()));
    // The stream is lent again when its work is done.
    let streams = fake.counts().streams;
    let c = make(context);
    assert_eq!((c == a, fake.counts().streams - streams), if eager() { (true, 0) } else { (false, 1) });
    assert_eq!(w.get(), backwards);
    if !eager() {
        assert_eq!(make(context), a);
    }
    for _ in 0..10 {
        let stream = make(context);
        ok(reverse(stream, w.view(), v.view()));
        ok(free_stream(context, stream));
        assert_eq!(v.get(), x);
    }
    assert!(fake.counts().streams <= streams + 2);
    // A stream that is being captured can be neither freed nor waited for.
    ok(synchronize(context, c));
    fake.begin_capture(c);
    ok(reverse(c, v.view(), w.view()));
    fails(free_stream(context, c), AgpuErrorInvalidArgument, &["is being captured"]);
    fails(synchronize(context, c), AgpuErrorInvalidArgument, &["is being captured"]);
    let graph = fake.end_capture(c);
    fake.launch_graph(graph, c);
    ok(synchronize(context, c));
    // It is never lent again, because the graph uses its scratch whenever it runs.
    ok(free_stream(context, c));
    let others: Vec<_> = (0..5).map(|_| make(context)).collect();
    assert!(!others.contains(&c));
    others.into_iter().for_each(|s| ok(free_stream(context, s)));
    // An error record is reported once.
    gather(b, &v, 1);
    fails(synchronize(context, b), AgpuErrorRecord, &["x.at(i) is out of range", "element 2999"]);
    ok(synchronize(context, b));
    // Streams that nobody freed are freed with the context.
    ok(reverse(b, v.view(), w.view()));
    drop((v, w));
    free(context);
    free(other);
    fails(free_stream(context, b), AgpuErrorInvalidHandle, &["the context was freed"]);
    let counts = fake.counts();
    assert_eq!((counts.streams, counts.events, counts.allocations), (0, 0, 0), "{counts:?}");
    done();
}

/// The library knows the memory as two buffers, so that it sees no order between two uses. An event
/// orders them.
pub fn events() {
    let (fake, context) = (Fake::get(), gpu());
    let x = values(3000);
    let backwards: Vec<f32> = x.iter().rev().copied().collect();
    let new = || Vector::in_context(context, &x);
    let (from, middle, to) = (new(), new(), new());
    let (mut data, mut wrapped) = (null_mut(), null_mut());
    let f32s = MaybeUninit::new(AgpuType::AgpuF32);
    // SAFETY: the arguments are handles and memory of a buffer that lives longer.
    let same = unsafe {
        ok(agpu_buffer_data(middle.0, &mut data));
        ok(agpu_buffer_wrap(context, f32s, data, 3000, &mut wrapped));
        Vector(wrapped)
    };
    let (a, b, event) = (make(context), make(context), Event::new(context));
    // The event was never recorded.
    ok(event.wait(context, b));
    ok(event.synchronize());
    assert!(event.done());
    // The other stream waits.
    ok(reverse(a, from.view(), middle.view()));
    ok(event.record(a));
    assert_eq!(event.done(), eager());
    ok(event.wait(null_mut(), b));
    ok(reverse(b, same.view(), to.view()));
    ok(synchronize(context, b));
    assert_eq!(to.get(), x);
    assert!(event.done());
    // The host waits, but only for work before the event.
    let second = Event::new(context);
    ok(reverse(a, from.view(), middle.view()));
    ok(event.record(a));
    ok(reverse(b, from.view(), to.view()));
    ok(second.record(b));
    ok(event.synchronize());
    assert_eq!((event.done(), second.done()), (true, eager()));
    assert_eq!(same.get(), backwards);
    // An event that is recorded again is another point. This one is on the context's own stream.
    ok(reverse(null_mut(), to.view(), from.view()));
    ok(event.record(null_mut()));
    assert_eq!(event.done(), eager());
    // A call on the CPU waits for it, too.
    let cpu = super::super::common::context(1);
    ok(event.wait(cpu, null_mut()));
    assert!(event.done());
    fails(event.wait(cpu, a), AgpuErrorInvalidArgument, &["agpu_event_wait: call.stream is not NULL"]);
    // A call in another context of a GPU waits for it, too.
    let other = gpu();
    ok(reverse(a, from.view(), middle.view()));
    ok(event.record(a));
    let there = make(other);
    ok(event.wait(other, there));
    ok(synchronize(other, there));
    assert!(event.done());
    // SAFETY: the arguments are a handle and a call that lives.
    let record = |call: &AgpuCall| unsafe { agpu_event_record(event.0, call) };
    let words = ["agpu_event_record: the event is not of the call's context"];
    fails(record(&on(other, null_mut())), AgpuErrorWrongContext, &words);
    fails(record(&on(cpu, null_mut())), AgpuErrorWrongContext, &words);
    // A capture is not affected.
    fake.set_current(fake.primary(0));
    let theirs = fake.stream();
    for stream in [theirs, b] {
        fake.begin_capture(stream);
        ok(reverse(stream, from.view(), to.view()));
        fails(event.record(stream), AgpuErrorInvalidArgument, &["is being captured"]);
        fails(event.wait(context, stream), AgpuErrorInvalidArgument, &["is being captured"]);
        ok(reverse(a, from.view(), middle.view()));
        ok(event.record(a));
        assert_eq!(event.done(), eager());
        ok(event.synchronize());
        assert!(!fake.end_capture(stream).is_null());
    }
    // SAFETY: the arguments are NULL and freed handles.
    unsafe {
        let freed = Event::new(context).0;
        fails(agpu_event_synchronize(freed), AgpuErrorInvalidHandle, &["agpu_event_synchronize", "freed"]);
        fails(agpu_event_free(freed), AgpuErrorInvalidHandle, &["agpu_event_free"]);
        ok(agpu_event_free(null_mut()));
        fails(agpu_event_record(null_mut(), null()), AgpuErrorInvalidHandle, &["the event is NULL"]);
        fails(agpu_event_query(event.0, null_mut()), AgpuErrorInvalidArgument, &["done is NULL"]);
    }
    // Events and their work outlive the context's handle.
    ok(reverse(a, from.view(), middle.view()));
    ok(event.record(a));
    free(context);
    ok(event.synchronize());
    drop((from, middle, to, same));
    assert!(fake.counts().contexts > 0);
    drop((event, second));
    free(other);
    assert!(fake.counts().streams == 0 && fake.counts().events == 0, "{:?}", fake.counts());
    done();
}

/// An event reports the error records of earlier calls, each once. Those of later calls are not
/// lost.
pub fn records_and_events() {
    let context = gpu();
    let v = Vector::in_context(context, &values(3000));
    let (stream, event) = (make(context), Event::new(context));
    let is_record = |status: AgpuStatus| {
        assert!(status == AgpuOk || status == AgpuErrorRecord, "{status:?} {}", message());
        status == AgpuErrorRecord
    };
    gather(stream, &v, 1);
    ok(event.record(stream));
    assert!(is_record(event.synchronize()));
    assert!(message().contains("an earlier call of stats::gather: x.at(i) is out of range"), "{}", message());
    ok(event.synchronize());
    ok(synchronize(context, stream));
    // One error record comes after the event.
    gather(stream, &v, 0);
    ok(event.record(stream));
    gather(stream, &v, 1);
    let first = is_record(event.synchronize());
    assert_eq!(first, eager());
    // SAFETY: the argument is a handle.
    let later = is_record(unsafe { agpu_context_synchronize(context) });
    assert_eq!(later, !first);
    // No error record is left.
    wait(context);
    ok(event.synchronize());
    drop((v, event));
    free(context);
    assert!(Fake::get().counts().nothing());
    done();
}

/// A stream is lent with no record of whoever had it before, who still gets it.
pub fn records_of_others() {
    let (fake, context) = (Fake::get(), gpu());
    fake.set_current(fake.primary(0));
    let new = || Vector::in_context(context, &values(3000));
    let (v, w, old) = (new(), new(), new());
    let (a, event) = (make(context), Event::new(context));
    ok(reverse(a, w.view(), old.view()));
    gather(a, &v, 1);
    ok(event.record(a));
    ok(free_stream(context, a));
    fake.synchronize(a);
    let (b, other) = (make(context), Event::new(context));
    assert_ne!(a, b, "its record was not reported");
    gather(b, &w, 0);
    ok(other.record(b));
    ok(other.synchronize());
    ok(synchronize(context, b));
    fails(event.synchronize(), AgpuErrorRecord, &["an earlier call of stats::gather", "element 2999"]);
    ok(event.synchronize());
    // It is lent again, and nobody else takes the record of whoever has it now: not an event of before, nor a copy
    // of what was computed there before.
    assert_eq!(make(context), a);
    gather(a, &v, 1);
    ok(event.synchronize());
    assert_eq!(old.get()[0], values(3000)[2999]);
    fails(synchronize(context, a), AgpuErrorRecord, &["stats::gather", "element 2999"]);
    ok(synchronize(context, a));
    // A free stream without a record is lent again, whether its records were read or not.
    gather(a, &v, 0);
    ok(free_stream(context, a));
    fake.synchronize(a);
    assert_eq!(make(context), a);
    // What nobody waits for takes a limited number of streams.
    let before = fake.counts().streams;
    for _ in 0..40 {
        let stream = make(context);
        gather(stream, &v, 1);
        ok(free_stream(context, stream));
        fake.synchronize(stream);
    }
    let more = fake.counts().streams - before;
    assert!((10..20).contains(&more), "{more} streams");
    // SAFETY: the argument is a handle.
    fails(unsafe { agpu_context_synchronize(context) }, AgpuErrorRecord, &["stats::gather"]);
    wait(context);
    drop((v, w, old, event, other));
    free(context);
    let counts = fake.counts();
    assert_eq!((counts.streams, counts.events, counts.allocations), (0, 0, 0), "{counts:?}");
    done();
}

static TOLD: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// Records its number.
unsafe extern "C" fn tell(data: *mut c_void) {
    TOLD.lock().unwrap().push(data.addr());
}

pub fn callbacks() {
    let (fake, context) = (Fake::get(), gpu());
    let told = || std::mem::take(&mut *TOLD.lock().unwrap());
    let v = Vector::in_context(context, &values(3000));
    let number = std::ptr::without_provenance_mut::<c_void>;
    // SAFETY: the call lives, and the function takes numbers.
    let queue = |stream, n| unsafe { agpu_stream_callback(&on(context, stream), Some(tell), number(n)) };
    // SAFETY: as above.
    let queue_once =
        |stream, n| unsafe { agpu_stream_callback_once(&on(context, stream), Some(tell), number(n)) };
    let (a, b) = (make(context), make(context));
    ok(queue(a, 1));
    ok(queue(a, 2));
    ok(queue(b, 3));
    if !eager() {
        assert!(told().is_empty());
    }
    ok(synchronize(context, b));
    ok(synchronize(context, a));
    assert_eq!(told(), if eager() { [1, 2, 3] } else { [3, 1, 2] });
    // The function runs after earlier calls and before a later event.
    let event = Event::new(context);
    ok(reverse(a, v.view(), v.view()));
    ok(queue(a, 4));
    ok(event.record(a));
    ok(event.synchronize());
    assert_eq!(told(), [4]);
    // These are on the context's own stream and in the default context.
    ok(queue(null_mut(), 5));
    wait(context);
    // SAFETY: as above.
    unsafe {
        ok(agpu_stream_callback(null(), Some(tell), number(6)));
        fails(agpu_stream_callback(null(), None, number(7)), AgpuErrorInvalidArgument, &["f is NULL"]);
        let mut default = null_mut();
        ok(agpu_context_default(&mut default));
        ok(agpu_stream_synchronize(null_mut(), null_mut()));
        wait(default);
    }
    assert_eq!(told(), [5, 6]);
    // A graph contains the callback, too.
    ok(synchronize(context, b));
    fake.set_current(fake.primary(0));
    fake.begin_capture(b);
    ok(queue(b, 8));
    // A function that may run only once is refused, and the capture continues.
    fails(queue_once(b, 12), AgpuErrorInvalidArgument, &["agpu_stream_callback_once", "being captured", "only once"]);
    let graph = fake.end_capture(b);
    [0, 1].into_iter().for_each(|_| fake.launch_graph(graph, b));
    ok(synchronize(context, b));
    assert_eq!(told(), [8, 8]);
    ok(queue_once(b, 12));
    ok(queue_once(null_mut(), 13));
    ok(synchronize(context, b));
    wait(context);
    assert_eq!(told(), [12, 13]);
    // A stream that is freed, or that is freed with its context, still runs its callbacks.
    ok(queue(a, 9));
    ok(free_stream(context, a));
    fails(queue(a, 10), AgpuErrorInvalidHandle, &["agpu_stream_callback: call.stream was freed"]);
    ok(queue(b, 11));
    drop((v, event));
    free(context);
    assert_eq!(told(), [9, 11]);
    done();
}

/// Threads make streams and events, call on them, and free them.
pub fn tasks() {
    let (fake, context) = (Fake::get(), gpu());
    let (number, x) = (context.addr(), values(2000));
    std::thread::scope(|s| {
        for t in 0..6usize {
            let x = &x;
            s.spawn(move || {
                let context = number as *mut AgpuContext;
                for i in 0..30 {
                    let (stream, event) = (make(context), Event::new(context));
                    let (v, w) = (Vector::in_context(context, x), Vector::in_context(context, x));
                    ok(reverse(stream, v.view(), w.view()));
                    ok(event.record(stream));
                    ok(event.wait(context, null_mut()));
                    ok(free_stream(context, stream));
                    if (t + i) % 3 == 0 {
                        ok(event.synchronize());
                    }
                    assert_eq!(w.get()[7], x[1992]);
                }
            });
        }
    });
    assert!(fake.counts().streams <= 2 + 6 * 3, "{:?}", fake.counts());
    free(context);
    assert!(fake.counts().nothing(), "{:?}", fake.counts());
    done();
}
