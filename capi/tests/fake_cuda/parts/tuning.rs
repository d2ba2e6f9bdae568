//! Tuning files: which variants calls then run, and what becomes of files for something else.

use super::*;
use arraygpu_compiler::plan::tuning::key;
use std::ffi::{CStr, CString};

/// A file in a folder of its own.
struct File {
    folder: tempfile::TempDir,
}

impl File {
    /// Loads a section for a device, a package and a build of it, with one line.
    fn load(&self, device: &str, package: &str, key: &str, line: &str) -> AgpuStatus {
        let text = format!("arraygpu tuning 1\ndevice {device}\npackage {package} {key}\n{line}\n");
        let path = self.folder.path().join("x.tuning");
        std::fs::write(&path, text).unwrap();
        let path = CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: the argument is a C string.
        unsafe { agpu_tuning_load(path.as_ptr()) }
    }
}

fn problem() -> String {
    let mut message = null();
    // SAFETY: the argument is a pointer to a local.
    ok(unsafe { agpu_tuning_problem(&mut message) });
    // SAFETY: the text is never freed.
    unsafe { CStr::from_ptr(message) }.to_str().unwrap().into()
}

pub fn tuned_launches() {
    let (fake, context, file) = (Fake::get(), gpu(), File { folder: tempfile::tempdir().unwrap() });
    let x = Vector::in_context(context, &values(1000));
    let y = Vector::in_context(context, &values(1000));
    let wanted: Vec<f32> = values(1000).iter().map(|v| v * 2.0).collect();
    let scale = |x: AgpuView, y: AgpuView| {
        let mut version = 0;
        ok(call(SCALE, &[scalar(&2f32), input(x), output(y), out_scalar(&mut version)]));
        fake.launches().last().unwrap().entry().to_string()
    };
    // SAFETY: the module has these texts.
    let key = unsafe {
        let m = module();
        let text = |at: *const std::ffi::c_char, length: i64| {
            std::str::from_utf8(std::slice::from_raw_parts(at.cast(), length as usize)).unwrap()
        };
        key(text(m.plans, m.plans_length), text(m.gpu, m.gpu_length))
    };
    // SAFETY: the module has a name.
    let name = unsafe { CStr::from_ptr(module().name) }.to_str().unwrap();
    let (device, contiguous) = ("Fake GPU 0", "scale over any runs scale_contiguous");
    assert_eq!(scale(x.view(), y.view()), "scale_aligned");
    // a file replaces the policy's choice, and changes no bit
    ok(file.load(device, name, &key, contiguous));
    assert_eq!((scale(x.view(), y.view()), y.get()), ("scale_contiguous".into(), wanted.clone()));
    // where a variant's guards do not hold, the policy chooses
    assert_eq!(scale(x.slice(0, 1000, 2), y.slice(0, 500, 1)), "scale_any");
    // 1000 is of the class 2^10, as 1448 is; 500 is not
    ok(file.load(device, name, &key, "scale over 2^10 runs scale_any"));
    assert_eq!((scale(x.view(), y.view()), y.get()), ("scale_any".into(), wanted.clone()));
    assert_eq!(scale(x.slice(0, 500, 1), y.slice(0, 500, 1)), "scale_aligned");
    // without a choice the policy's stays
    ok(file.load(device, name, &key, ""));
    assert_eq!(scale(x.view(), y.view()), "scale_aligned");
    // that a kernel does not run is said of alternatives only
    ok(file.load(device, name, &key, "scale over any runs others"));
    assert_eq!((scale(x.view(), y.view()), y.get()), ("scale_aligned".into(), wanted));
    assert_eq!(problem(), "");
    // files for something else are ignored
    ok(file.load(device, "other", &key, contiguous));
    assert_eq!(scale(x.view(), y.view()), "scale_aligned");
    let said = problem();
    assert!(said.contains("it is for the package other, not for"), "{said}");
    for (device, key, line) in [
        ("Fake GPU 1", &*key, contiguous),
        (device, "0123456789abcdef", contiguous),
        (device, &*key, "scale over any runs scale_best"),
        (device, &*key, "scales over any runs scale_any"),
    ] {
        ok(file.load(device, name, key, line));
        assert_eq!(scale(x.view(), y.view()), "scale_aligned");
        // the first problem stays
        assert_eq!(problem(), said);
    }
    // a damaged file is an error, and what was loaded before stays
    ok(file.load(device, name, &key, contiguous));
    fails(file.load(device, name, &key, "scale"), AgpuErrorInvalidArgument, &["x.tuning", "line 4"]);
    assert_eq!(scale(x.view(), y.view()), "scale_contiguous");
    // SAFETY: NULL is allowed, and the other argument is a C string.
    let (forgotten, missing) = unsafe { (agpu_tuning_load(null()), agpu_tuning_load(c"/no/file".as_ptr())) };
    ok(forgotten);
    fails(missing, AgpuErrorInvalidArgument, &["the tuning file /no/file: cannot be read"]);
    assert_eq!(scale(x.view(), y.view()), "scale_aligned");
    drop((x, y));
    free(context);
    done();
}
