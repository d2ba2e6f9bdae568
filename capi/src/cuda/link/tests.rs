//! Against the fake driver (`capi/tests/fake_cuda`), in processes that find it.

use super::*;
use crate::cuda::chosen;
use libloading::Library;
use std::path::{Path, PathBuf};
use std::process::Command;

const PTX: &CStr = c".version 7.0\n.entry add() { ret; }\n";

/// Of `fake_counts`, which has so many numbers.
#[derive(Debug, PartialEq)]
struct Counts {
    linkers: i64,
    links: i64,
    machine_code: i64,
    ptx: i64,
}

fn counts(library: &Library) -> Counts {
    // SAFETY: the fake driver's own function, by its header.
    let all = unsafe { library.get::<unsafe extern "C" fn() -> [i64; 18]>(b"fake_count").unwrap()() };
    Counts { linkers: all[16], links: all[17], machine_code: all[14], ptx: all[13] }
}

/// The part of the processes that the tests start: loads the PTX, and says what happened.
#[test]
fn child() {
    let Ok(part) = std::env::var("ARRAYGPU_LINK_PART") else { return };
    // SAFETY: the fake driver, which this process found by LD_LIBRARY_PATH.
    let library = unsafe { Library::new("libcuda.so.1") }.unwrap();
    let gpu = chosen::gpu(0).and_then(Gpu::open).unwrap();
    let _current = gpu.enter().unwrap();
    let message = match part.as_str() {
        "link" => gpu.machine_code(PTX, "add").map(|code| assert_eq!(&code[..4], b"\x7fELF")),
        "captured" => {
            // SAFETY: the fake driver's own functions, and a stream of it.
            unsafe {
                let stream = library.get::<unsafe extern "C" fn() -> usize>(b"fake_stream").unwrap()();
                library.get::<unsafe extern "C" fn(usize)>(b"fake_begin_capture").unwrap()(stream);
                let done = gpu.load_linked(7, PTX, "add");
                let mut status = 0u32;
                let ask = library.get::<unsafe extern "C" fn(usize, *mut u32) -> i32>(b"cuStreamIsCapturing");
                ask.unwrap()(stream, &mut status);
                assert_eq!(status, 1, "the capture is not spoilt");
                done.map(|_| ())
            }
        }
        "elsewhere" => {
            let ptx = c"// add\n.version 7.0\n.entry add() { ret; }// elsewhere.cpp:7\n";
            // what is left of a line of comments is an empty one
            let same = [b"\n", PTX.to_bytes()].concat();
            assert_eq!(gpu.key(ptx), gpu.key(&CString::new(same).unwrap()));
            gpu.load_linked(7, c".version 7.0\n.entry add() { ret; }// elsewhere.cpp:7\n", "add").map(|_| ())
        }
        _ => gpu.load_linked(7, PTX, "add").map(|_| ()),
    };
    let message = message.err().map_or(String::new(), |e| e.message);
    println!("<<{:?}|{message}|{}>>", counts(&library), disk::problem().to_str().unwrap());
}

/// The fake driver in a folder; None without a C compiler.
fn driver(folder: &Path) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_cuda/fake_cuda.c");
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-pthread", "-o"]).arg(folder.join("libcuda.so.1")).arg(source);
    let output = cc.output().ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(folder.into())
}

struct Said {
    counts: String,
    message: String,
    problem: String,
}

fn play(driver: &Path, part: &str, cache: &Path, options: &str) -> Said {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "cuda::link::tests::child", "--nocapture"]).env("LD_LIBRARY_PATH", driver);
    command.env("ARRAYGPU_LINK_PART", part).env("ARRAYGPU_CACHE", cache).env("FAKE_CUDA", options);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let text = text.split_once("<<").unwrap().1.split_once(">>").unwrap().0;
    let words: Vec<_> = text.split('|').map(str::to_string).collect();
    let [counts, message, problem] = words.try_into().unwrap();
    Said { counts, message, problem }
}

#[test]
fn machine_code_is_linked_once() {
    let folder = tempfile::tempdir().unwrap();
    let Some(driver) = driver(folder.path()) else { return };
    let cache = folder.path().join("cache");
    let expect = |part: &str, options: &str, links: i64, machine_code: i64, ptx: i64| {
        let said = play(&driver, part, &cache, options);
        let counts = Counts { linkers: 0, links, machine_code, ptx };
        assert_eq!((said.counts, said.message), (format!("{counts:?}"), String::new()), "{part} {options}");
        said.problem
    };
    let files = || -> Vec<PathBuf> {
        std::fs::read_dir(cache.join("v1")).into_iter().flatten().flatten().map(|f| f.path()).collect()
    };
    assert_eq!(expect("load", "", 1, 1, 0), "");
    assert_eq!(expect("load", "", 0, 1, 0), "");
    expect("elsewhere", "", 0, 1, 0);
    // another device, another driver
    expect("load", "capability=80", 1, 1, 0);
    expect("load", "version=12050", 1, 1, 0);
    assert_eq!(files().len(), 3);
    expect("load", "capability=80,reject_link=1", 0, 1, 0);
    // damage, and machine code that the driver does not take
    files().iter().for_each(|f| std::fs::write(f, "what").unwrap());
    assert!(expect("load", "", 1, 1, 0).contains("it is damaged"));
    assert_eq!(expect("load", "reject_cubins=1", 1, 1, 0), "");
    expect("load", "", 0, 1, 0);
    // at last PTX, as it is
    std::fs::remove_dir_all(&cache).unwrap();
    expect("load", "reject_cubin=1", 1, 0, 1);
    expect("load", "reject_link=1", 0, 0, 1);
    expect("load", "no_linker=1", 0, 0, 1);
    assert_eq!(files().len(), 0);
    expect("captured", "", 1, 1, 0);
    assert_eq!(files().len(), 1);
    // without a store nothing is linked
    let off = play(&driver, "load", Path::new("off"), "");
    assert_eq!(off.counts, format!("{:?}", Counts { linkers: 0, links: 0, machine_code: 0, ptx: 1 }));
}

#[test]
fn what_the_linker_says() {
    let folder = tempfile::tempdir().unwrap();
    let Some(driver) = driver(folder.path()) else { return };
    let off = Path::new("off");
    let said = play(&driver, "link", off, "reject_link=1");
    let words = "linking the PTX of add for CUDA device 0 (Fake GPU 0, sm_90), the driver is for CUDA 12.4: ";
    assert!(said.message.starts_with(words), "{}", said.message);
    assert!(said.message.ends_with("\nptxas application ptx input, line 1; fatal"), "{}", said.message);
    assert!(said.counts.starts_with("Counts { linkers: 0, links: 0"), "{}", said.counts);
    assert!(play(&driver, "link", off, "no_linker=1").message.contains("CUDA_ERROR_OUT_OF_MEMORY"));
    assert_eq!(play(&driver, "link", off, "").message, "");
    // neither way: the message is the one of before
    let said = play(&driver, "load", &folder.path().join("cache"), "reject_link=1,reject_ptx=1");
    assert!(said.message.starts_with("loading the PTX on CUDA device 0"), "{}", said.message);
    assert!(
        said.message.ends_with("\nptxas fatal: Unresolved extern function 'nothing'"),
        "{}",
        said.message
    );
}

/// The real linker, where there is a GPU.
#[test]
fn what_is_linked_runs_on_this_device() {
    const COUNT: &CStr =
        c".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry count(.param .u64 at) {\n\
        .reg .b64 %a; ld.param.u64 %a, [at]; st.global.u32 [%a], 7; ret;\n}\n";
    let Ok(gpu) = chosen::gpu(0).and_then(Gpu::open) else { return };
    let _current = gpu.enter().unwrap();
    let (major, minor) = gpu.device.capability;
    let code = gpu.machine_code(COUNT, "count").unwrap();
    gpu.load_image(7, Image { arch: major * 10 + minor, data: code.as_ptr().cast() }, "count").unwrap();
    let message = gpu.machine_code(c".version 7.0\n.target sm_80\nwhat\n", "what").unwrap_err().message;
    assert!(message.starts_with("linking the PTX of what for CUDA device 0"), "{message}");
    assert!(message.contains("\nptxas"), "{message}");
}
