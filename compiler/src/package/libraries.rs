//! Makes the libraries of a package: the kernels, the glue and the code for GPUs, as a static and as
//! a shared library.

use super::cc::Compiler;
use super::images::Images;
use super::model::Package;
use super::objects::{Objects, Work};
use super::{ABI_VERSION, RUNTIME_SONAME, glue, place};
use crate::backend::c::File;
use crate::error::Result;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The header of the runtime, which the package's own code includes.
const ARRAYGPU_H: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../include/arraygpu.h"));

/// The sources of a package's libraries.
pub struct Sources<'a> {
    /// The C files of the kernels.
    pub kernels: &'a [File],
    /// The package's C header.
    pub header: &'a str,
    /// The code for GPUs.
    pub images: &'a Images,
}

/// The libraries that were built, in the scratch folder.
pub struct Built {
    /// The static library.
    pub archive: PathBuf,
    /// The shared library.
    pub shared: PathBuf,
}

/// The functions of libarraygpu that packages call. They are never run: the real library replaces
/// this one.
const STUB: &str = "void agpu_invoke(void);\nvoid agpu_invoke(void) {}\n";

/// Compiles the kernels for the package's levels, and the glue, and makes both libraries.
pub fn build(
    compiler: &Compiler,
    package: &Package,
    sources: &Sources,
    work: &Work,
    scratch: &Path,
    say: &dyn Fn(&str),
) -> Result<Built> {
    let name = &package.name;
    let none = package.kernels.is_empty() || !package.targets.cpu;
    let levels = if none { &[] } else { &package.levels[..] };
    let names: Vec<&str> = levels.iter().map(|l| l.name).collect();
    let glue_file = format!("{name}_glue.c");
    let (images_file, images) = (format!("{name}_images.s"), sources.images);
    for (file, bytes) in [
        (&glue_file, glue::print(package, images, ABI_VERSION, &names).as_bytes()),
        (&images_file, Images::assembly(name).as_bytes()),
        (&format!("{name}_images.bin"), &images.bytes),
        (&format!("{name}.h"), sources.header.as_bytes()),
        (&"arraygpu.h".into(), ARRAYGPU_H.as_bytes()),
        (&format!("{name}_stub.c"), STUB.as_bytes()),
    ] {
        let path = scratch.join(file);
        place::write(&path, bytes).map_err(|e| place::failed("write", &path, &e))?;
    }
    let objects = Objects::begin(compiler, sources.kernels, levels, work.cache, scratch)?;
    if !levels.is_empty() {
        let count = package.kernels.len();
        let kernels = if count == 1 { "kernel" } else { "kernels" };
        let (missing, all) = objects.count();
        let known = match missing < all {
            true => format!(": {missing} of {all} objects, the others are known"),
            false => String::new(),
        };
        say(&format!("compiling {count} {kernels} for {}{known}", names.join(", ")));
    }
    let mut own_objects = vec![format!("{name}_glue.o")];
    if !images.table.is_empty() {
        own_objects.push(format!("{name}_images.o"));
    }
    let own = || {
        compiler.run(compiler.compile(scratch, &glue_file, &own_objects[0]), scratch, &glue_file)?;
        if let Some(object) = own_objects.get(1) {
            compiler.run(compiler.assemble(&images_file, object), scratch, &images_file)?;
        }
        stub(compiler, scratch, name)
    };
    let scalar = objects.compile(compiler, work, scratch, own)?;
    for object in scalar {
        let cc = compiler.cc.display();
        say(&format!("note: {cc} crashed at {object}, which is compiled without vectors"));
    }

    let all: Vec<&str> = own_objects.iter().map(String::as_str).chain(objects.names()).collect();
    join(compiler, name, &all, scratch)
}

/// Makes both libraries of all objects.
fn join(compiler: &Compiler, name: &str, objects: &[&str], scratch: &Path) -> Result<Built> {
    let (archive, shared) = (format!("lib{name}.a"), format!("lib{name}.so"));
    let mut ar = Command::new(&compiler.ar);
    // The flag `D` omits times, owners and modes.
    ar.arg(if cfg!(target_os = "linux") { "rcsD" } else { "rcs" }).arg(&archive).args(objects);
    compiler.run(ar, scratch, &archive)?;
    let mut link = Command::new(&compiler.cc);
    link.args([
        "-shared",
        "-Wl,--build-id=none",
        "-Wl,-z,defs",
        &format!("-Wl,-soname,{shared}"),
        "-o",
        &shared,
    ]);
    // The runtime is often in the same folder as the package.
    link.arg("-Wl,-rpath,$ORIGIN");
    link.args(objects).args([&format!("./{RUNTIME_SONAME}"), "-lm"]);
    compiler.run(link, scratch, &shared)?;
    Ok(Built { archive: scratch.join(archive), shared: scratch.join(shared) })
}

/// Builds a stand-in for libarraygpu, so that the package's library lists it as needed and all
/// symbols are resolved.
fn stub(compiler: &Compiler, scratch: &Path, package: &str) -> Result<()> {
    let source = format!("{package}_stub.c");
    let mut command = Command::new(&compiler.cc);
    command.args(["-shared", "-fPIC", "-nostdlib", &format!("-Wl,-soname,{RUNTIME_SONAME}")]);
    command.args(["-o", RUNTIME_SONAME, &source]);
    compiler.run(command, scratch, &source).map(drop)
}
