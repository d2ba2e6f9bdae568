//! Packages, which a generator writes for C and C++ programmers.
//!
//! [`write()`] turns a compiled program into headers, libraries, CMake and pkg-config files and a
//! manifest (the list is in `docs/c-abi.md`). Each part has a file: [`model`] describes the
//! contents of the package; [`c_header`], [`cpp_header`], [`glue`], [`images`], [`records`], [`cmake`],
//! [`pkgconfig`] and [`manifest`] print it; [`cc`] runs the C compiler, [`objects`] for each file and [`level`],
//! [`libraries`] joins what it made, and [`ptxas`] NVIDIA's assembler; [`packed`] compresses code for GPUs; [`cache`]
//! keeps what was made; and [`place`] moves the finished package to its folder at once.
//!
//! The same program and tools give the same bytes in any directory: the output depends neither on
//! the time nor on paths, and the environment is only used to find the tools.

pub mod c_header;
pub mod cache;
pub mod cc;
pub mod cmake;
pub mod cpp_header;
pub mod glue;
pub mod images;
pub mod level;
pub mod libraries;
pub mod manifest;
pub mod model;
pub mod names;
pub mod objects;
mod options;
pub mod packed;
pub mod pkgconfig;
pub mod place;
pub mod ptxas;
pub mod records;
pub mod shapes;

pub use options::{ABI_VERSION, ARITH_VERSION, Options, RUNTIME_SONAME, VERSION, default_jobs};

use crate::driver::Compiled;
use crate::error::{Error, Result};
use images::Images;
use model::Package;
use ptxas::{Arch, Ptxas};
use std::path::Path;

/// Writes the package of a compiled program. On an error nothing is left behind, and an existing
/// package is kept.
pub fn write(compiled: &Compiled, options: &Options) -> Result<()> {
    names::check(&compiled.name, compiled.functions.iter().map(|f| &f.fused))?;
    options
        .records
        .check(&compiled.name, &compiled.functions.iter().map(|f| &f.fused).collect::<Vec<_>>())?;
    let package = Package::new(compiled, options);
    let staging = place::Staging::begin(&options.out, &package.name)?;
    let say = |text: &str| (options.progress)(text);

    let name = &package.name;
    let header = c_header::print(&package, staging.scratch())?;
    staging.put(&format!("include/{name}.h"), &header)?;
    staging.put(&format!("include/{name}.hpp"), &cpp_header::print(&package))?;
    if package.targets.cpu && options.sources {
        staging.put(&format!("share/{name}/{name}_cpu.c"), &compiled.c_source)?;
    }
    for (_, variant) in images::own(&package).filter(|_| options.sources) {
        staging.put(&format!("share/{name}/ptx/{}.ptx", variant.launch.entry), &variant.ptx)?;
    }

    let compiler = cc::Compiler::find(options.strict)?.within(compiled.budget.time);
    let compiler = if options.debug { compiler.quick() } else { compiler };
    cc::refused_flags(&options.warn);
    let images = gpu_code(&package, options, staging.scratch(), &say)?;
    let sources = libraries::Sources { kernels: &compiled.c_files, header: &header, images: &images };
    let work = objects::Work { jobs: options.jobs, cache: options.cache.as_ref() };
    let built = libraries::build(&compiler, &package, &sources, &work, staging.scratch(), &say)?;
    staging.copy(&built.archive, &format!("lib/lib{name}.a"))?;
    staging.copy(&built.shared, &format!("lib/lib{name}.so"))?;

    staging.put(&format!("lib/cmake/{name}/{name}-config.cmake"), &cmake::config(&package))?;
    staging.put(&format!("lib/cmake/{name}/{name}-config-version.cmake"), &cmake::version(&package))?;
    staging.put(&format!("lib/pkgconfig/{name}.pc"), &pkgconfig::print(&package))?;
    staging.put(&manifest::path(name), &manifest::print(&package, &compiler, &images))?;
    if let Some(cache) = &options.cache {
        cache.trim();
        cache
            .problem()
            .into_iter()
            .for_each(|why| say(&format!("note: the cache is not used as it should: {why}")));
    }
    staging.finish()
}

/// Returns the images of the package's code for GPUs.
fn gpu_code(package: &Package, options: &Options, scratch: &Path, say: &dyn Fn(&str)) -> Result<Images> {
    for kernel in &package.kernels {
        let Some(why) = &kernel.absent else { continue };
        if !package.targets.cpu {
            let message = format!("{} on a GPU: {why}; leave --target out", kernel.name);
            return Err(Error::limit("E0609", message));
        }
        (options.warn)(&format!("note: {} runs on the CPU only: {why}", kernel.name));
    }
    let cache = options.cache.as_ref();
    let mut archs = options.cubin.clone();
    archs.sort_unstable();
    archs.dedup();
    if archs.is_empty() {
        return images::make(package, &[], None, scratch, cache);
    }
    if !package.targets.cuda {
        let message = "machine code for GPUs is asked for (--cubin), but not the target cuda";
        return Err(Error::user("E0608", message));
    }
    let ptxas = Ptxas::find(options.ptxas.as_deref())?;
    archs.iter().try_for_each(|&arch| ptxas.require(arch))?;
    let list: Vec<String> = archs.iter().map(Arch::to_string).collect();
    say(&format!("assembling for {}", list.join(", ")));
    images::make(package, &archs, Some((&ptxas, options.strict)), scratch, cache)
}
