//! The fake CUDA driver. It is built with the C compiler, and processes that a test starts for it
//! find it.
#![allow(dead_code, reason = "each test program uses its part")]

use super::*;
use libloading::Library;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Counts of live objects and of events, as in `fake_cuda.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub contexts: i64,
    pub streams: i64,
    pub events: i64,
    pub pools: i64,
    pub allocations: i64,
    pub pinned: i64,
    pub modules: i64,
    pub switches: i64,
    pub records: i64,
    pub orders: i64,
    pub waits: i64,
    pub peers: i64,
    pub trims: i64,
    pub ptx: i64,
    pub cubins: i64,
    pub lookups: i64,
    pub linkers: i64,
    pub links: i64,
}

impl Counts {
    /// Whether nothing is live any more.
    pub fn nothing(&self) -> bool {
        let alive = [self.contexts, self.streams, self.events, self.pools, self.allocations, self.pinned];
        alive.iter().all(|n| *n == 0) && self.modules == 0 && self.linkers == 0
    }
}

/// A launch.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Launched {
    entry: [u8; 64],
    pub grid: u32,
    pub block: u32,
    count: u32,
    dependent: u32,
    words: [u64; 64],
}

impl Launched {
    pub fn entry(&self) -> &str {
        CStr::from_bytes_until_nul(&self.entry).unwrap().to_str().unwrap()
    }
    /// Whether it may begin while the launch before it ends.
    pub fn is_dependent(&self) -> bool {
        self.dependent != 0
    }
    pub fn words(&self) -> &[u64] {
        &self.words[..self.count as usize]
    }
}

/// The fake driver's own functions, in a process that has loaded it.
pub struct Fake(Library);

type Stream = *mut c_void;

impl Fake {
    pub fn get() -> Fake {
        // SAFETY: the library is the fake driver, which this process found by LD_LIBRARY_PATH.
        Fake(unsafe { Library::new("libcuda.so.1") }.unwrap())
    }
    fn symbol<T: Copy>(&self, name: &str) -> T {
        // SAFETY: each caller names a function of that type.
        *unsafe { self.0.get::<T>(name.as_bytes()) }.unwrap()
    }
    pub fn counts(&self) -> Counts {
        self.symbol::<extern "C" fn() -> Counts>("fake_count")()
    }
    pub fn launches(&self) -> Vec<Launched> {
        let count = self.symbol::<extern "C" fn() -> usize>("fake_launches")();
        let at = self.symbol::<extern "C" fn(usize) -> Launched>("fake_launch_at");
        (0..count).map(|i| at(i)).collect()
    }
    /// Makes a stream of the current context.
    pub fn stream(&self) -> Stream {
        self.symbol::<extern "C" fn() -> Stream>("fake_stream")()
    }
    pub fn destroy(&self, stream: Stream) {
        self.symbol::<extern "C" fn(Stream)>("fake_stream_destroy")(stream);
    }
    /// Makes another stream that has the handle of a destroyed one.
    pub fn reuse(&self, stream: Stream) {
        self.symbol::<extern "C" fn(Stream)>("fake_stream_reuse")(stream);
    }
    pub fn begin_capture(&self, stream: Stream) {
        self.symbol::<extern "C" fn(Stream)>("fake_begin_capture")(stream);
    }
    /// Returns the graph, or NULL if the capture was invalidated.
    pub fn end_capture(&self, stream: Stream) -> *mut c_void {
        self.symbol::<extern "C" fn(Stream) -> *mut c_void>("fake_end_capture")(stream)
    }
    /// Destroys a graph whose runs are done.
    pub fn destroy_graph(&self, graph: *mut c_void) {
        self.symbol::<extern "C" fn(*mut c_void)>("fake_destroy_graph")(graph);
    }
    pub fn launch_graph(&self, graph: *mut c_void, stream: Stream) {
        self.symbol::<extern "C" fn(*mut c_void, Stream)>("fake_launch_graph")(graph, stream);
    }
    pub fn current(&self) -> *mut c_void {
        let (f, mut context) =
            (self.symbol::<extern "C" fn(*mut *mut c_void) -> i32>("cuCtxGetCurrent"), null_mut());
        assert_eq!(f(&mut context), 0);
        context
    }
    pub fn set_current(&self, context: *mut c_void) {
        assert_eq!(self.symbol::<extern "C" fn(*mut c_void) -> i32>("cuCtxSetCurrent")(context), 0);
    }
    /// Returns the device's primary context, which is retained for the rest of the process.
    pub fn primary(&self, device: i32) -> *mut c_void {
        let f = self.symbol::<extern "C" fn(*mut *mut c_void, i32) -> i32>("cuDevicePrimaryCtxRetain");
        let mut context = null_mut();
        assert_eq!(f(&mut context, device), 0);
        context
    }
    pub fn synchronize(&self, stream: Stream) {
        assert_eq!(self.symbol::<extern "C" fn(Stream) -> i32>("cuStreamSynchronize")(stream), 0);
    }
    /// Sets the fake driver's options and resets their counters.
    pub fn options(&self, text: &str) {
        // SAFETY: no other thread of the process reads the environment now.
        unsafe { std::env::set_var("FAKE_CUDA", text) };
        self.symbol::<extern "C" fn()>("fake_restart")();
    }
    /// Makes the driver call with this number, counted from now on among those that need a context,
    /// fail with a code; 0: none. Returns whether the previously chosen call failed.
    pub fn fail(&self, at: i64, code: i32) -> bool {
        self.symbol::<extern "C" fn(i64, i32) -> i32>("fake_fail")(at, code) != 0
    }
    /// Shuts the driver down first, as happens at the end of a process.
    pub fn end(&self) {
        self.symbol::<extern "C" fn()>("fake_end")();
    }
}

/// Builds the fake driver without the function `without` and returns its folder. Returns `None`
/// without a C compiler.
pub fn build(without: Option<&str>) -> Option<PathBuf> {
    // The sources are part of this program, because they may be absent where it runs.
    const SOURCES: [(&str, &str); 5] = [
        ("fake_cuda.c", include_str!("../fake_cuda/fake_cuda.c")),
        ("fake_cuda.h", include_str!("../fake_cuda/fake_cuda.h")),
        ("memory.h", include_str!("../fake_cuda/memory.h")),
        ("kernels.h", include_str!("../fake_cuda/kernels.h")),
        ("linker.h", include_str!("../fake_cuda/linker.h")),
    ];
    let mut hash = DefaultHasher::new();
    SOURCES.hash(&mut hash);
    let name = format!("fake-cuda-{:016x}-{}", hash.finish(), without.unwrap_or("all"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if folder.join("libcuda.so.1").exists() {
        return Some(folder);
    }
    std::fs::create_dir_all(&folder).unwrap();
    let sources = tempfile::tempdir().unwrap();
    SOURCES.iter().for_each(|(name, text)| std::fs::write(sources.path().join(name), text).unwrap());
    // The library is made under another name and renamed, so that nobody finds an incomplete file.
    let library = folder.join(format!("{}-{:?}.so", std::process::id(), std::thread::current().id()));
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-pthread", "-o"]).arg(&library);
    cc.arg(sources.path().join("fake_cuda.c"));
    cc.args(without.map(|name| format!("-D{name}=hidden_function")));
    let output = cc.output().ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::rename(&library, folder.join("libcuda.so.1")).unwrap();
    Some(folder)
}

/// Returns the part that this process plays, if a test started it.
pub fn part() -> Option<String> {
    std::env::var("ARRAYGPU_TEST_PART").ok()
}

/// Starts this test program again with a driver (a folder with libcuda.so.1) and the options of the
/// fake one. Its test `child` plays `part`. Returns what it printed between << and >>.
pub fn play(driver: &Path, part: &str, options: &str, variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--nocapture", "--test-threads", "1"]);
    command.env_remove("ARRAYGPU_DEVICE").env("LD_LIBRARY_PATH", driver);
    command.env("ARRAYGPU_CACHE", "off"); // Nobody else can use what the fake driver links.
    command.env("ARRAYGPU_TEST_PART", part).env("FAKE_CUDA", options).envs(variables.iter().copied());
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{part}: {text}\n{}", String::from_utf8_lossy(&output.stderr));
    match text.split_once("<<").and_then(|(_, t)| t.split_once(">>")) {
        Some((answer, _)) => answer.to_string(),
        None => panic!("{part} said nothing: {text}"),
    }
}
