//! The contents of a module for GPUs: how kernels are launched, and the code of their variants.

use super::device::Device;
use super::table::lock;
use crate::abi::{AgpuImage, AgpuModule};
use crate::error::{INTERNAL, MODULE, Result, error, fail};
use arraygpu_compiler::backend::ptx;
use arraygpu_compiler::plan::gpu::{self, GpuKernel};
use arraygpu_compiler::schedule::{Draft, GpuVariants};
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_void};
use std::sync::{Mutex, OnceLock};

/// The kernels' variants are numbered consecutively: variant v of kernel k has the number `first[k]
/// + v`.
pub(crate) struct Images {
    pub kernels: Vec<GpuKernel>,
    first: Vec<usize>,
    /// For each variant, the number of the first one with the same entry; empty if every variant
    /// has an entry of its own.
    same: Vec<usize>,
    /// The code of each variant.
    code: Vec<Vec<Image>>,
    /// The sources of the variants if the program was compiled in this process. Code is made when a
    /// variant is first launched.
    sources: Vec<Source>,
}

/// A variant that was compiled in this process: its draft until some device needs the text.
struct Source {
    draft: Mutex<Option<Draft>>,
    text: OnceLock<Result<CString>>,
}

impl Source {
    fn of(draft: Draft) -> Source {
        Source { draft: Mutex::new(Some(draft)), text: OnceLock::new() }
    }

    fn text(&self) -> &Result<CString> {
        self.text.get_or_init(|| {
            let Some(draft) = lock(&self.draft).take() else { fail!(INTERNAL, "no draft is left") };
            let kernel = draft.finish().map_err(|e| error(INTERNAL, e.to_string()))?;
            CString::new(ptx::emit(&kernel)).map_err(|_| error(MODULE, "a NUL in the PTX"))
        })
    }
}

/// The code of one variant.
#[derive(Clone, Copy)]
pub(crate) struct Image {
    /// 0 is PTX, which ends with a NUL; 90 is machine code for sm_90.
    pub arch: i32,
    /// A pointer into the package, which stays loaded while a call runs.
    pub data: *const c_void,
}

// SAFETY: the package's data is constant.
unsafe impl Send for Image {}
// SAFETY: the reason is the same as above.
unsafe impl Sync for Image {}

impl Images {
    /// Reads a module's contents for GPUs, if it has any.
    ///
    /// # Safety
    /// The module's pointers are null or as `agpu_module` specifies.
    pub unsafe fn read(module: &AgpuModule, name: &str) -> Result<Option<Images>> {
        if module.gpu.is_null() {
            return Ok(None);
        }
        let (Ok(length), Ok(count)) =
            (usize::try_from(module.gpu_length), usize::try_from(module.image_count))
        else {
            fail!(MODULE, "{name}: a negative number of images or length of the launches");
        };
        // SAFETY: the contract says that `gpu` has that many bytes.
        let text = unsafe { std::slice::from_raw_parts(module.gpu.cast::<u8>(), length) };
        let kernels = std::str::from_utf8(text).map_err(|e| e.to_string());
        let kernels = kernels.and_then(|t| gpu::parse(t).map_err(|e| e.to_string()));
        let kernels = kernels
            .map_err(|e| error(MODULE, format!("{name}: the launches for GPUs cannot be read: {e}")))?;
        if usize::try_from(module.kernels) != Ok(kernels.len()) {
            fail!(MODULE, "{name}: {} kernels, but launches for {}", module.kernels, kernels.len());
        }
        let mut out = Images::of(kernels);
        out.same = same(&out.kernels);
        if count > 0 && module.images.is_null() {
            fail!(MODULE, "{name}: the images are NULL");
        }
        for i in 0..count {
            // SAFETY: the contract says that there are that many.
            out.add(unsafe { &*module.images.add(i) }, name)?;
        }
        Ok(Some(out))
    }

    fn of(kernels: Vec<GpuKernel>) -> Images {
        let mut first = Vec::with_capacity(kernels.len());
        let total = kernels.iter().fold(0, |n, k| {
            first.push(n);
            n + k.variants.len()
        });
        Images { kernels, first, same: Vec::new(), code: vec![Vec::new(); total], sources: Vec::new() }
    }

    /// Makes the contents of a program that was compiled in this process.
    pub fn made(made: impl Iterator<Item = GpuVariants>) -> Images {
        let (kernels, sources): (Vec<_>, Vec<_>) = made.map(|v| (v.kernel, v.drafts)).unzip();
        let sources = sources.into_iter().flatten().map(Source::of).collect();
        Images { sources, ..Images::of(kernels) }
    }

    /// Returns the PTX of a variant if the program was compiled in this process. It is made once
    /// for all devices.
    pub fn text(&self, number: usize) -> Option<Result<&CStr>> {
        let text = self.sources.get(number)?.text();
        Some(text.as_ref().map(|t| t.as_c_str()).map_err(Clone::clone))
    }

    fn add(&mut self, image: &AgpuImage, name: &str) -> Result<()> {
        let (kernel, version) = (image.kernel, image.version);
        let at = usize::try_from(kernel).ok().zip(usize::try_from(version).ok());
        let at = at.filter(|(k, v)| self.kernels.get(*k).is_some_and(|k| *v < k.variants.len()));
        match at {
            Some((k, v)) if !image.data.is_null() && image.arch >= 0 => {
                self.code[self.first[k] + v].push(Image { arch: image.arch, data: image.data });
                Ok(())
            }
            Some(_) => fail!(MODULE, "{name}: the image of version {version} of kernel {kernel} is empty"),
            None => fail!(MODULE, "{name}: an image of version {version} of kernel {kernel}, which is none"),
        }
    }

    /// Returns the number of a variant. Variants with the same code share one number, so that it is
    /// loaded once.
    #[inline]
    pub fn number(&self, kernel: usize, variant: usize) -> usize {
        let number = self.first[kernel] + variant;
        self.same.get(number).copied().unwrap_or(number)
    }

    /// Returns the number of variants.
    pub fn count(&self) -> usize {
        self.code.len()
    }

    /// Returns the code that runs on the device, best first: machine code for its architecture,
    /// beginning with the highest minor version that is not above its own; then PTX.
    pub fn candidates(&self, number: usize, device: &Device) -> Vec<Image> {
        let (major, minor) = device.capability;
        let fits = |i: &&Image| i.arch == 0 || (i.arch / 10 == major && i.arch % 10 <= minor);
        let mut found: Vec<Image> = self.code[number].iter().filter(fits).copied().collect();
        found.sort_by_key(|i| std::cmp::Reverse(i.arch));
        found
    }

    /// Lists what code a variant has, such as `sm_80, sm_90, PTX`.
    pub fn describe(&self, number: usize) -> String {
        let word = |i: &Image| if i.arch == 0 { "PTX".into() } else { format!("sm_{}", i.arch) };
        let list = self.code[number].iter().map(word).collect::<Vec<String>>().join(", ");
        if list.is_empty() { "nothing".into() } else { list }
    }
}

/// Returns for each variant the first one with the same entry.
fn same(kernels: &[GpuKernel]) -> Vec<usize> {
    let mut known = HashMap::new();
    let entries = kernels.iter().flat_map(|k| &k.variants).zip(0..);
    entries.map(|(v, number)| *known.entry(v.entry.as_str()).or_insert(number)).collect()
}
