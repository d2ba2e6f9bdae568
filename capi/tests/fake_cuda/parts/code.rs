//! A package's code: which image is chosen, how often it is loaded, and errors in packages.

use super::*;
use arraygpu_compiler::package::packed;

pub fn rejected_code() {
    let (fake, context) = (Fake::get(), gpu());
    let v = Vector::in_context(context, &values(100));
    let mut dot = -1f32;
    let mut call = || call(DOT, &[input(v.view()), input(v.view()), out_scalar(&mut dot)]);
    fake.options("reject_ptx=1");
    fails(
        call(),
        AgpuErrorModule,
        &[
            "stats::dot: kernel dot: loading the PTX on CUDA device 0",
            "sm_90",
            "CUDA 12.4",
            "CUDA_ERROR_INVALID_PTX (218)",
        ],
    );
    assert!(message().ends_with("\nptxas fatal: Unresolved extern function 'nothing'"), "{}", message());
    fake.options("no_entry=1");
    fails(call(), AgpuErrorDevice, &["kernel dot: cuModuleGetFunction: CUDA error 500"]);
    fake.options("");
    ok(call());
    assert!(dot > 0.0);
    drop(v);
    free(context);
    assert!(fake.counts().nothing(), "{:?}", fake.counts());
    done();
}

pub fn images() {
    let fake = Fake::get();
    let text = |s: &'static str| s.as_ptr().cast::<c_void>();
    let dot_images = |archs: &[i32]| {
        let archs = archs.to_vec();
        Box::leak(Box::new(with_images(move |images| {
            let ptx = images[0];
            images.retain(|i| i.kernel != 0);
            let cubin = |arch: i32| AgpuImage { arch, data: text("ELF\0"), ..ptx };
            images.extend(archs.iter().map(|a| if *a == 0 { ptx } else { cubin(*a) }));
        })))
    };
    let run = |module: &AgpuModule, context: *mut AgpuContext| {
        let v = Vector::in_context(context, &[1.0, 2.0]);
        let mut dot = 0f32;
        let args = [input(v.view()), input(v.view()), out_scalar(&mut dot)];
        // SAFETY: the module and the arguments live.
        unsafe { agpu_invoke(module, DOT, null(), args.as_ptr(), 3) }
    };
    let context = gpu();
    for (archs, kind) in [
        (&[0, 90][..], "cubin"), // The code is for exactly this device.
        (&[80, 0], "ptx"),       // The code is for another major version.
        (&[0, 100, 120], "ptx"),
        (&[91, 0], "ptx"), // The code is for a later minor version.
        (&[90], "cubin"),
        (&[0], "ptx"),
    ] {
        let (module, before) = (dot_images(archs), fake.counts());
        for _ in 0..3 {
            ok(run(module, context));
        }
        let after = fake.counts();
        let loaded = (after.cubins - before.cubins, after.ptx - before.ptx, after.lookups - before.lookups);
        assert_eq!(loaded, if kind == "cubin" { (1, 0, 1) } else { (0, 1, 1) }, "{archs:?}");
    }
    // If the driver rejects code, the next image is tried.
    fake.options("reject_cubin=1");
    ok(run(dot_images(&[90, 0]), context));
    fails(run(dot_images(&[90]), context), AgpuErrorModule, &["loading the code for sm_90", "209"]);
    fake.options("");
    fails(
        run(dot_images(&[80, 100]), context),
        AgpuErrorModule,
        &[
            "stats::dot: kernel dot: the package holds sm_80, sm_100, the device is CUDA device 0 (Fake GPU 0, sm_90)",
        ],
    );
    fails(run(dot_images(&[]), context), AgpuErrorModule, &["holds nothing"]);
    fails(run(&MODULE, context), AgpuErrorModule, &["no code for GPUs", "sm_90"]);
    packed_images(context);
    // How a kernel is launched is read when it is.
    let uneven: &'static str = GPU.replace("dot threads 256", "dot threads 64").leak();
    let mut module = with_images(|_| ());
    (module.gpu, module.gpu_length) = (uneven.as_ptr().cast(), uneven.len() as i64);
    fails(
        run(Box::leak(Box::new(module)), context),
        AgpuErrorModule,
        &["stats::dot: how kernel 0 is launched cannot be read", "dot: 64 threads for tiles of 128 columns"],
    );
    // The code is loaded once in each context.
    let (module, other, before) = (dot_images(&[0]), gpu(), fake.counts().ptx);
    [context, other, context, other].into_iter().for_each(|c| ok(run(module, c)));
    assert_eq!(fake.counts().ptx, before + 2);
    free(context);
    free(other);
    assert!(fake.counts().nothing(), "{:?}", fake.counts());
    // These modules have errors.
    let broken = |change: &dyn Fn(&mut AgpuModule), words: &[&str]| {
        let mut module = with_images(|_| ());
        change(&mut module);
        // SAFETY: the module is wrong only in ways that are checked.
        fails(unsafe { agpu_invoke(&module, 0, null(), null(), 0) }, AgpuErrorModule, words);
    };
    broken(&|m| m.gpu_length -= 5, &["launches for GPUs cannot be read"]);
    broken(&|m| m.gpu_length = GPU.find("gpu @scaled").unwrap() as i64, &["11 kernels, but launches for 8"]);
    broken(&|m| m.image_count = -1, &["negative"]);
    broken(&|m| m.images = null(), &["images are NULL"]);
    let image = |f: &dyn Fn(&mut AgpuImage)| with_images(|i| f(&mut i[0]));
    for (module, words) in [
        (image(&|i| i.kernel = 11), "version 0 of kernel 11"),
        (image(&|i| i.version = 1), "version 1 of kernel 0"),
        (image(&|i| i.version = -1), "version -1"),
        (image(&|i| i.data = null()), "is empty"),
    ] {
        // SAFETY: as above.
        fails(unsafe { agpu_invoke(&module, 0, null(), null(), 0) }, AgpuErrorModule, &["stats", words]);
    }
    done();
}

/// The package with compressed code: the first image is the base of the others.
fn packed_module(change: impl FnOnce(&mut Vec<AgpuImage>)) -> &'static AgpuModule {
    let pack = |images: &mut Vec<AgpuImage>| {
        // SAFETY: the package above has so many bytes.
        let text = |i: &AgpuImage| unsafe { std::slice::from_raw_parts(i.data.cast::<u8>(), i.size as usize) };
        let first = text(&images[0]);
        for (number, i) in images.iter_mut().enumerate() {
            let base = (number > 0).then_some(first);
            let packed: &'static [u8] = packed::pack(text(i), base).unwrap().leak();
            (i.data, i.packed, i.base) = (packed.as_ptr().cast(), packed.len() as i64, i64::from(number > 0));
        }
        change(images);
    };
    Box::leak(Box::new(with_images(pack)))
}

/// Compressed code gives what plain code gives, and damaged code an error.
fn packed_images(context: *mut AgpuContext) {
    let run = |module: &AgpuModule, n: usize| {
        let v = Vector::in_context(context, &values(n));
        let (mut dot, mut version) = (0f32, -1);
        let args = [input(v.view()), input(v.view()), out_scalar(&mut dot)];
        // SAFETY: the module and the arguments live.
        let status = unsafe { agpu_invoke(module, DOT, null(), args.as_ptr(), 3) };
        if status != AgpuErrorModule {
            ok(status);
            let out = Vector::in_context(context, &values(n));
            let args = [scalar(&2f32), input(v.view()), output(out.view()), out_scalar(&mut version)];
            // SAFETY: as above.
            ok(unsafe { agpu_invoke(module, SCALE, null(), args.as_ptr(), 4) });
            assert_eq!(out.get(), values(n).iter().map(|x| 2.0 * x).collect::<Vec<_>>());
        }
        (status, dot)
    };
    let plain: &'static AgpuModule = Box::leak(Box::new(with_images(|_| ())));
    for n in [1, 100] {
        assert_eq!(run(packed_module(|_| ()), n), run(plain, n));
    }
    let fake = Fake::get();
    let before = fake.counts();
    let module = packed_module(|_| ());
    (0..3).for_each(|_| assert_eq!(run(module, 10).0, AgpuOk));
    assert_eq!(fake.counts().ptx - before.ptx, 2, "unpacked and loaded once");
    // a base may also be plain
    let plain_base = packed_module(|images| {
        let first = with_images(|_| ()).images;
        // SAFETY: there is one.
        images[0] = unsafe { *first };
    });
    assert_eq!(run(plain_base, 10).0, AgpuOk);
    let damaged = |change: &dyn Fn(&mut AgpuImage), words: &[&str]| {
        let module = packed_module(|images| change(&mut images[0]));
        assert_eq!(run(module, 10).0, AgpuErrorModule);
        words.iter().for_each(|word| assert!(message().contains(word), "{}", message()));
    };
    let flipped = |i: &mut AgpuImage| {
        // SAFETY: as above.
        let mut bytes =
            unsafe { std::slice::from_raw_parts(i.data.cast::<u8>(), i.packed as usize) }.to_vec();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x10;
        i.data = bytes.leak().as_ptr().cast();
    };
    damaged(&flipped, &["stats::dot: kernel dot: the PTX in the package is damaged: "]);
    damaged(&|i| i.packed -= 1, &["is damaged"]);
    damaged(&|i| i.size -= 1, &["is damaged"]);
    damaged(&|i| i.size += 1, &["is damaged: it has another length"]);
    let module = packed_module(|images| images[0].size = i64::MAX);
    let v = Vector::in_context(context, &values(10));
    let mut dot = 0f32;
    let args = [input(v.view()), input(v.view()), out_scalar(&mut dot)];
    // SAFETY: as above.
    fails(unsafe { agpu_invoke(module, DOT, null(), args.as_ptr(), 3) }, AgpuErrorOutOfMemory, &["kernel dot"]);
    // what is damaged beside machine code is not needed, and the other way round
    let both = packed_module(|images| {
        let mut cubin = images[0];
        (cubin.arch, cubin.packed) = (90, cubin.packed - 1);
        images.push(cubin);
    });
    assert_eq!(run(both, 10).0, AgpuOk);
    for (base, change) in [(2, 1), (99, 1), (-1, 1), (i64::MIN, 1), (1, 0)] {
        let module = packed_module(|images| images[change].base = base);
        let words = format!("is compressed with image {base}, which is none");
        // SAFETY: as above.
        fails(unsafe { agpu_invoke(module, 0, null(), null(), 0) }, AgpuErrorModule, &["stats", &words]);
    }
    let negative = packed_module(|images| images[0].packed = -1);
    // SAFETY: as above.
    fails(unsafe { agpu_invoke(negative, 0, null(), null(), 0) }, AgpuErrorModule, &["is empty"]);
}

/// A kernel without code for GPUs reports why before anything is written, even if nothing would be
/// launched.
pub fn absent_code() {
    let context = gpu();
    let text = GPU.replace("{ version reversed threads 128 elements 128 }", "{ absent \"`f` is too large\" }");
    let text: &'static str = text.leak();
    let module = AgpuModule {
        gpu: text.as_ptr().cast(),
        gpu_length: text.len() as i64,
        ..with_images(|images| images.retain(|i| i.kernel != 2))
    };
    // SAFETY: the module and the arguments live.
    let call =
        |entry, args: &[AgpuArg]| unsafe { agpu_invoke(&module, entry, null(), args.as_ptr(), args.len() as i32) };
    let words = ["kernel reversed has no code for GPUs: `f` is too large; a CPU context runs it"];
    for n in [100, 0] {
        let (v, out) = (Vector::in_context(context, &values(n)), Vector::in_context(context, &vec![7.0; n]));
        fails(call(REVERSED, &[input(v.view()), output(out.view())]), AgpuErrorModule, &words);
        let (mut made, mut version) = (null_mut(), -1);
        // The earlier launches do not run, either.
        let args = [input(v.view()), output(out.view()), out_new(&mut made), out_scalar(&mut version)];
        fails(call(TWICE_THEN_REVERSED, &args), AgpuErrorModule, &words);
        assert!(made.is_null() && version == -1);
        assert_eq!(out.get(), vec![7.0; n]);
        ok(call(SCALE, &[scalar(&1f32), input(v.view()), output(out.view()), out_scalar(&mut version)]));
        assert_eq!(out.get(), values(n));
        let there = [Vector::new(&values(n)), Vector::new(&values(n))];
        let of_gpus = AgpuModule { cpu_v2: null(), cpu_v3: null(), cpu_v4: null(), ..with_images(|_| {}) };
        let args = [input(there[0].view()), output(there[1].view())];
        // SAFETY: as above.
        let status = unsafe { agpu_invoke(&of_gpus, REVERSED, null(), args.as_ptr(), 2) };
        let words = ["the package has code for GPUs only, the context's device is the CPU"];
        fails(status, AgpuErrorModule, &words);
        assert!(message().ends_with("the CPU"), "{}", message());
        ok(call(REVERSED, &[input(there[0].view()), output(there[1].view())]));
    }
    free(context);
    done();
}

/// Threads load different kernels at once, and each kernel is loaded once.
pub fn loads_at_once() {
    let (fake, context) = (Fake::get(), gpu());
    let v = Vector::in_context(context, &values(100));
    let outs = [(); 4].map(|()| Vector::in_context(context, &values(100)));
    fake.options("meet=5000");
    let before = fake.counts().ptx;
    std::thread::scope(|s| {
        for (i, out) in outs.iter().enumerate() {
            let (x, out, context) = (v.view(), out.view(), context.addr());
            s.spawn(move || {
                let run = |entry, args: &[AgpuArg]| {
                    ok(call_on(context as *mut AgpuContext, null_mut(), entry, args));
                };
                match i % 2 {
                    0 => run(REVERSED, &[input(x), output(out)]),
                    _ => run(DOT, &[input(x), input(x), output(AgpuView { extent: axes(1), ..out })]),
                }
            });
        }
    });
    fake.options("");
    assert_eq!(fake.counts().ptx - before, 2);
    assert_eq!(outs[0].get()[0], values(100)[99]);
    drop((v, outs));
    free(context);
    assert!(fake.counts().nothing(), "{:?}", fake.counts());
    done();
}

const PACKAGE: &str = r#"
#include <arraygpu.h>
static const char plans[] = "plan @gather { param x: [f32] param shift: i64 %0: i64 = len 0 %1: i64 = arg 1 "
                            "result result: [f32] extent %0 launch 0 gather over %0 cost 4 { read param 0 write result 0 "
                            "in %0 in %1 site \"late\" site \"early\" } }";
static const char gpu[] = "gpu @gather { version gather threads 128 elements 128 }";
static const char ptx[] = ".version 7.0";
static const agpu_image images[] = {{0, 0, 0, sizeof ptx - 1, ptx}};
static void *state;
const agpu_module tiny_module = {sizeof(agpu_module), AGPU_ABI_VERSION, "tiny", plans, sizeof plans - 1, 1,
                                 0, 0, 0, gpu, sizeof gpu - 1, images, 1, &state};
"#;

/// A package's code is unloaded with the last holder of the package, after the work that uses it. The words of its
/// error records serve the next one.
pub fn unloading() {
    let fake = Fake::get();
    fake.set_current(fake.primary(0));
    let (context, other, stream) = (gpu(), gpu(), fake.stream());
    let folder = tempfile::tempdir().unwrap();
    let (source, library) = (folder.path().join("tiny.c"), folder.path().join("libtiny.so"));
    std::fs::write(&source, PACKAGE).unwrap();
    let mut cc = std::process::Command::new("cc");
    cc.args(["-shared", "-fPIC", "-I", concat!(env!("CARGO_MANIFEST_DIR"), "/../include"), "-o"]);
    assert!(cc.args([&library, &source]).status().unwrap().success());
    let path = std::ffi::CString::new(library.to_str().unwrap()).unwrap();
    let load = || {
        let (mut handle, mut module) = (null_mut(), null());
        // SAFETY: the pointers are to locals.
        unsafe {
            ok(agpu_module_load(path.as_ptr(), &mut handle));
            ok(agpu_module_get(handle, &mut module));
        }
        (handle, module)
    };
    // SAFETY: the argument is a handle.
    let unload = |handle| ok(unsafe { agpu_loaded_module_free(handle) });
    let x = values(3000);
    let new = |context| (Vector::in_context(context, &x), Vector::in_context(context, &[0.0; 3000]));
    let (here, there) = (new(context), new(other));
    let gather = |module, context, stream, (from, to): &(Vector, Vector)| {
        let call = AgpuCall::on(context, stream);
        let args = [input(from.view()), scalar(&0i64), output(to.view())];
        // SAFETY: the package is loaded, and the arguments live.
        ok(unsafe { agpu_invoke(module, 0, &call, args.as_ptr(), 3) });
    };
    let mut pinned = None;
    // each context has a module of this library, too, which reads error records
    let loaded = || fake.counts().modules - 2;
    for _ in 0..2 {
        let (first, module) = load();
        // SAFETY: a package has no code that runs when it is loaded.
        let linked = unsafe { libloading::Library::new(&library) }.unwrap();
        let (second, same) = load();
        assert_eq!(module, same);
        gather(module, context, null_mut(), &here);
        gather(module, other, null_mut(), &there);
        assert_eq!(loaded(), 2);
        unload(first);
        drop(linked);
        assert_eq!(loaded(), 2);
        gather(module, context, stream, &here);
        gather(module, other, null_mut(), &there);
        unload(second);
        assert_eq!(loaded(), 0);
        assert!(here.1.get() == x && there.1.get() == x);
        wait(context);
        wait(other);
        assert_eq!(*pinned.get_or_insert(fake.counts().pinned), fake.counts().pinned);
    }
    // This also holds if another file has the path by now, and after the context was freed.
    let (first, module) = load();
    // SAFETY: as above.
    let linked = unsafe { libloading::Library::new(&library) }.unwrap();
    std::fs::remove_file(&library).unwrap();
    gather(module, other, null_mut(), &there);
    unload(first);
    assert_eq!(loaded(), 1);
    drop((here, there));
    free(other);
    assert_eq!(fake.counts().modules, 1);
    drop(linked);
    free(context);
    done();
}
