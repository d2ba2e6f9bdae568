//! Any single driver call fails. The library's call that made it returns an error or finds another
//! way. Results are right or absent, nothing leaks, and later calls work.

use super::*;

/// The status of an error and its message.
type Failed = (AgpuStatus, String);

fn tried(status: AgpuStatus) -> Result<(), Failed> {
    if status == AgpuOk { Ok(()) } else { Err((status, message())) }
}

/// Handles that are not freed in the order in which they were made.
#[derive(Default)]
struct Session {
    context: *mut AgpuContext,
    streams: Vec<*mut c_void>,
    events: Vec<*mut AgpuEvent>,
}

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: the handles belong to this session, and any error is one of the driver's.
        unsafe {
            self.events.iter().for_each(|e| _ = agpu_event_free(*e));
            self.streams.iter().for_each(|s| _ = agpu_stream_free(self.context, *s));
        }
    }
}

impl Session {
    fn vector(&self, x: &[f32]) -> Result<Vector, Failed> {
        let (mut buffer, ty) = (null_mut(), MaybeUninit::new(AgpuType::AgpuF32));
        // SAFETY: the pointers are to locals.
        tried(unsafe { agpu_buffer_create(self.context, ty, x.len() as i64, &mut buffer) })?;
        let v = Vector(buffer);
        // SAFETY: the memory has that length.
        tried(unsafe { agpu_copy_from_host(v.view(), x.as_ptr().cast(), x.len() as i64) })?;
        Ok(v)
    }

    fn read(&self, v: &Vector, n: usize) -> Result<Vec<f32>, Failed> {
        let mut host = vec![0f32; n];
        // SAFETY: the memory has that length.
        tried(unsafe { agpu_copy_to_host(host.as_mut_ptr().cast(), v.view(), n as i64) })?;
        Ok(host)
    }

    fn run(&mut self, stream: usize, entry: i32, args: &[AgpuArg]) -> Result<(), Failed> {
        tried(call_on(self.context, self.streams[stream], entry, args))
    }

    /// Work on two streams whose order matters.
    fn work(&mut self) -> Result<(), Failed> {
        let n = 3000;
        let x = values(n);
        let backwards: Vec<f32> = x.iter().rev().copied().collect();
        for _ in 0..2 {
            let (mut stream, mut event) = (null_mut(), null_mut());
            // SAFETY: the arguments are pointers to locals and a handle.
            tried(unsafe { agpu_stream_create(self.context, &mut stream) })?;
            self.streams.push(stream);
            // SAFETY: as above.
            tried(unsafe { agpu_event_create(self.context, &mut event) })?;
            self.events.push(event);
        }
        let (a, b, c) = (self.vector(&x)?, self.vector(&vec![7.0; n])?, self.vector(&vec![7.0; n])?);
        self.run(0, REVERSED, &[input(a.view()), output(b.view())])?;
        // The other stream reads what this one writes.
        self.run(1, REVERSED, &[input(b.view()), output(c.view())])?;
        assert!(self.read(&c, n)? == x);
        assert!(self.read(&b, n)? == backwards);
        let at = |stream: usize| AgpuCall::on(self.context, self.streams[stream]);
        // SAFETY: the arguments are handles and calls that live.
        unsafe {
            tried(agpu_event_record(self.events[0], &at(0)))?;
            tried(agpu_event_wait(self.events[0], &at(1)))?;
            tried(agpu_event_synchronize(self.events[0]))?;
        }
        let (mut dot, mut made, mut version) = (0f32, null_mut(), -1);
        self.run(1, DOT, &[input(a.view()), input(b.view()), out_scalar(&mut dot)])?;
        let args = [input(a.view()), output(c.view()), out_new(&mut made), out_scalar(&mut version)];
        let done = self.run(0, TWICE_THEN_REVERSED, &args);
        if done.is_err() {
            assert!(made.is_null() && version == -1, "outputs of the host are untouched");
        }
        done?;
        let made = Vector(made);
        assert_eq!(self.read(&made, n)?.len(), n);
        // SAFETY: the arguments are handles.
        unsafe {
            tried(agpu_fill(c.view(), (&raw const dot).cast()))?;
            tried(agpu_copy(a.view(), b.view()))?;
            tried(agpu_stream_synchronize(self.context, self.streams[1]))?;
            tried(agpu_context_synchronize(self.context))?;
        }
        assert!(self.read(&a, n)? == backwards);
        assert!(self.read(&c, n)? == vec![dot; n]);
        // An iteration whose end the host reads while it queues more.
        let (mut steps, i64s) = (null_mut(), MaybeUninit::new(AgpuType::AgpuI64));
        // SAFETY: the pointers are to locals.
        tried(unsafe { agpu_buffer_create(self.context, i64s, 1, &mut steps) })?;
        let steps = Vector(steps);
        let threes = self.vector(&vec![3.0; n])?;
        let args = [input(threes.view()), scalar(&100i64), output(c.view()), output(steps.view())];
        self.run(0, DOUBLED_UNTIL, &args)?;
        // SAFETY: the arguments are handles.
        tried(unsafe { agpu_stream_synchronize(self.context, self.streams[0]) })?;
        assert!(self.read(&c, n)? == vec![3.0 * 4096.0; n]);
        // A buffer is freed while the other stream, which used it last, still works.
        self.run(0, REVERSED, &[input(a.view()), output(b.view())])?;
        self.run(1, REVERSED, &[input(b.view()), output(a.view())])?;
        drop((a, b, c));
        Ok(())
    }
}

/// Runs a session from making a context to freeing it. Freeing never fails.
fn session(fake: &Fake, at: i64, code: i32) -> (Result<(), Failed>, bool) {
    fake.fail(at, code);
    let options =
        AgpuContextOptions { device: AGPU_DEVICE_CUDA, ..AgpuContextOptions::default() };
    let mut session = Session::default();
    // SAFETY: the pointers are to locals.
    let done = tried(unsafe { agpu_context_create(&options, &mut session.context) });
    let context = session.context;
    assert_eq!(done.is_err(), context.is_null());
    let done = done.and_then(|()| session.work());
    drop(session);
    let reached = fake.fail(0, 0);
    if !context.is_null() {
        free(context);
    }
    assert!(fake.counts().nothing(), "call {at}: {:?}", fake.counts());
    (done, reached)
}

pub fn any_driver_call() {
    const UNKNOWN: i32 = 999;
    const NO_MEMORY: i32 = 2;
    let fake = Fake::get();
    for code in [UNKNOWN, NO_MEMORY] {
        let mut failed = 0;
        for at in 1.. {
            let (done, reached) = session(&fake, at, code);
            if let Err((status, message)) = &done {
                let known = [AgpuErrorDevice, AgpuErrorOutOfMemory, AgpuErrorUnavailable].contains(status);
                assert!(reached && known && !message.is_empty(), "call {at}: {status:?}: {message}");
                failed += 1;
            }
            let (again, _) = session(&fake, 0, 0);
            assert_eq!(again, Ok(()), "after call {at} failed");
            if !reached {
                assert!(at > 50 && failed > 40, "{failed} of {at} driver calls");
                break;
            }
        }
    }
    done();
}
