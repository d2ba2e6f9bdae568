//! Collects the code for GPUs of a package: the PTX of every variant of every kernel, and the
//! machine code for the requested architectures.
//!
//! Each image is compressed ([`packed`]); the first image of a kernel for an architecture is the base
//! of the kernel's others. All lie in one block of bytes, which an assembler file includes in the
//! library unchanged. A table in the glue describes where each image lies.

use super::cache::{Cache, Key};
use super::model::{Package, Variant};
use super::packed;
use super::ptxas::{Arch, Ptxas, Usage};
use crate::backend::ptx::merge_equal::code;
use crate::error::{Error, Result};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;
use std::path::Path;

/// The place of a variant in a package.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Number {
    /// The kernel's index in the tables.
    pub kernel: usize,
    /// The variant's index in the kernel's list.
    pub variant: usize,
}

/// One image.
#[derive(Clone, Debug)]
pub struct Image {
    /// The variant whose code it is.
    pub number: Number,
    /// The architecture of machine code, or `None` for PTX.
    pub arch: Option<Arch>,
    /// The resources that the machine code needs.
    pub usage: Usage,
    /// The offset of its first compressed byte.
    pub offset: usize,
    /// Its size in bytes.
    pub size: usize,
    /// Its size in bytes as it is stored, compressed.
    pub packed: usize,
    /// The number in the table of the image with which it was compressed, if there is one.
    pub base: Option<usize>,
}

/// All images of a package.
#[derive(Clone, Default, Debug)]
pub struct Images {
    /// The table of images.
    pub table: Vec<Image>,
    /// The bytes of all images.
    pub bytes: Vec<u8>,
    /// The version of the ptxas that assembled the machine code.
    pub ptxas: Option<String>,
}

impl Images {
    /// Adds images for a variant that has the same code as an earlier one, `first`.
    fn share(&mut self, number: Number, first: Number) {
        let rows = self.table.iter().filter(|i| i.number == first);
        let rows: Vec<Image> = rows.map(|i| Image { number, ..i.clone() }).collect();
        self.table.extend(rows);
    }

    fn push(&mut self, code: &Code, base: Option<usize>, packed: &[u8]) {
        let (arch, usage) = code.machine.unzip();
        let (offset, size, usage) = (self.bytes.len(), code.bytes.len(), usage.unwrap_or_default());
        self.table.push(Image { number: code.number, arch, usage, offset, size, packed: packed.len(), base });
        self.bytes.extend_from_slice(packed);
    }

    /// Returns the machine code of a variant, one for each architecture.
    pub fn machine_code(&self, number: Number) -> impl Iterator<Item = (Arch, Usage)> {
        self.table.iter().filter(move |i| i.number == number).filter_map(|i| Some((i.arch?, i.usage)))
    }

    /// Returns the assembler file that includes the bytes of `NAME_images.bin` in a library, as the
    /// symbol `NAME_images`.
    pub fn assembly(name: &str) -> String {
        format!(
            "    .section .rodata\n    .globl {name}_images\n    .hidden {name}_images\n\
             {name}_images:\n    .incbin \"{name}_images.bin\"\n    .section .note.GNU-stack,\"\",%progbits\n"
        )
    }
}

/// Returns the variants that have code of their own, and not the entry of an earlier variant.
pub fn own(package: &Package) -> impl Iterator<Item = (Number, &Variant)> {
    let mut seen = FxHashSet::default();
    variants(package).filter(move |(_, v)| seen.insert(v.launch.entry.as_str()))
}

/// Returns those of the architectures that run a variant.
fn of_variant<'a>(v: &Variant, archs: &'a [Arch]) -> impl Iterator<Item = Arch> + use<'a> {
    let guards = v.launch.guards;
    archs.iter().copied().filter(move |a| guards.allows_device(a.number()))
}

/// Returns the variants of a package.
fn variants(package: &Package) -> impl Iterator<Item = (Number, &Variant)> {
    package.kernels.iter().enumerate().flat_map(|(kernel, k)| {
        k.variants.iter().enumerate().map(move |(variant, v)| (Number { kernel, variant }, v))
    })
}

/// Collects the images of a package. Machine code is assembled in `scratch`, on several threads. If
/// strict, warnings are errors.
pub fn make(
    package: &Package,
    archs: &[Arch],
    ptxas: Option<(&Ptxas, bool)>,
    scratch: &Path,
    cache: Option<&Cache>,
) -> Result<Images> {
    check(package)?;
    let failed = |what: &str, e: std::io::Error| {
        Error::user("E0504", format!("cannot use {}: {e}", scratch.join(what).display()))
    };
    let jobs: Vec<_> = own(package)
        .flat_map(|(_, v)| of_variant(v, archs).map(move |arch| (&v.launch.entry, &v.ptx, arch)))
        .collect();
    let assemble = |(ptxas, strict): (&Ptxas, bool), entry: &str, ptx: &str, arch: Arch| {
        let (source, object) = (format!("{entry}.{arch}.ptx"), format!("{entry}.{arch}.cubin"));
        let report = ptxas.assemble(arch, ptx, scratch, (&source, &object))?;
        if strict && !report.warnings.is_empty() {
            let said = report.warnings.join("\n");
            return Err(Error::bug("E0607", format!("ptxas warns at {entry} for {arch}:\n{said}")));
        }
        let code = std::fs::read(scratch.join(&object)).map_err(|e| failed(&object, e))?;
        Ok((code, report.usage))
    };
    let mut made = match ptxas {
        Some(ptxas) => {
            let made = jobs.par_iter().map(|(entry, ptx, arch)| assemble(ptxas, entry, ptx, *arch));
            made.collect::<Result<Vec<_>>>()?
        }
        None => Vec::new(),
    }
    .into_iter();
    let (mut codes, mut shared, mut known) = (Vec::new(), Vec::new(), FxHashMap::default());
    for (number, variant) in variants(package) {
        let first = *known.entry(variant.launch.entry.as_str()).or_insert(number);
        if first != number {
            shared.push((number, first));
            continue;
        }
        codes.push(Code { number, machine: None, bytes: variant.ptx.as_bytes().into() });
        for (arch, (code, usage)) in of_variant(variant, archs).zip(made.by_ref()) {
            codes.push(Code { number, machine: Some((arch, usage)), bytes: code.into() });
        }
    }
    let mut images = Images { ptxas: ptxas.map(|p| p.0.version.clone()), ..Images::default() };
    let bases = bases(&codes);
    let pack = |(code, base): (&Code, &Option<usize>)| {
        let base = base.map(|b| &*codes[b].bytes);
        // An absent base and an empty one are not the same.
        let key = || {
            let (is_alone, scheme) = ([u8::from(base.is_none())], packed::scheme());
            Key::of(&[b"image", scheme.as_bytes(), &is_alone, base.unwrap_or_default(), &code.bytes])
        };
        let known = cache.map(|cache| (cache, key()));
        if let Some(packed) = known.and_then(|(cache, key)| cache.get(key)) {
            return Ok(packed);
        }
        let packed = packed::pack(&code.bytes, base).map_err(|e| Error::bug("E0512", e))?;
        if let Some((cache, key)) = known {
            cache.put(key, &packed);
        }
        Ok(packed)
    };
    let packed = codes.par_iter().zip(&bases).map(pack).collect::<Result<Vec<_>>>()?;
    for ((code, base), packed) in codes.iter().zip(bases).zip(packed) {
        images.push(code, base, &packed);
    }
    shared.into_iter().for_each(|(number, first)| images.share(number, first));
    Ok(images)
}

/// Code of one variant that is not compressed yet.
struct Code<'a> {
    number: Number,
    /// The architecture of machine code, and what it uses.
    machine: Option<(Arch, Usage)>,
    bytes: Cow<'a, [u8]>,
}

/// Returns for each code the first one of the same kernel and architecture, if that is another one.
fn bases(codes: &[Code]) -> Vec<Option<usize>> {
    let mut first = FxHashMap::default();
    let of = |(i, code): (usize, &Code)| {
        let base = *first.entry((code.number.kernel, code.machine.map(|m| m.0))).or_insert(i);
        (base != i).then_some(base)
    };
    codes.iter().enumerate().map(of).collect()
}

/// Checks that every kernel of a program has variants or a reason why not, and that an entry has one
/// code.
fn check(package: &Package) -> Result<()> {
    let wrong = |what: String| Err(Error::bug("E0511", format!("code for GPUs: {what}")));
    if !package.targets.cuda {
        return Ok(());
    }
    let mut seen = FxHashMap::default();
    for kernel in &package.kernels {
        if kernel.is_for_gpus && kernel.variants.is_empty() != kernel.absent.is_some() {
            return wrong(format!("{} has {} versions", kernel.name, kernel.variants.len()));
        }
        for Variant { launch, ptx } in &kernel.variants {
            let first: &String = seen.entry(&launch.entry).or_insert(ptx);
            if ptx.contains('\0') || !is_same(first, ptx, &launch.entry) {
                return wrong(format!("the entry {} is not one text", launch.entry));
            }
        }
    }
    Ok(())
}

/// Whether two texts of one entry have the same code.
fn is_same(a: &String, b: &String, entry: &str) -> bool {
    std::ptr::eq(a, b) || code(a, entry) == code(b, entry)
}
