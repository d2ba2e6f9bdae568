//! The contents of a module for GPUs: how kernels are launched, and the code of their variants.

use super::device::Device;
use super::table::lock;
use crate::abi::{AgpuImage, AgpuModule};
use crate::error::{INTERNAL, MODULE, OUT_OF_MEMORY, Result, error, fail};
use crate::interrupt::refused;
use arraygpu_compiler::backend::ptx;
use arraygpu_compiler::budget::Code;
use arraygpu_compiler::package::packed::{self, Unreadable};
use arraygpu_compiler::plan::gpu::{self, GpuKernel};
use arraygpu_compiler::schedule::{Draft, GpuVariants};
use arraygpu_compiler::text::{Block, blocks};
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_void};
use std::sync::{Arc, Mutex, OnceLock};

/// The first version of the ABI whose packages have code that waits ([`ptx::dependent_launch`]).
const FIRST_THAT_WAITS: i32 = 7;

/// The kernels' variants are numbered consecutively: variant v of kernel k has the number `first[k]
/// + v`.
pub(crate) struct Images {
    /// The text of a package from which the kernels are read.
    launches: &'static str,
    kernels: Vec<LazyKernel>,
    first: Vec<usize>,
    /// For each variant, the number of the first variant with the same entry, whose code it shares. Empty if every
    /// variant has an entry of its own.
    same: Vec<usize>,
    /// The code of each variant.
    code: Vec<Vec<Stored>>,
    /// The sources of the variants if the program was compiled in this process. Code is made when a
    /// variant is first launched.
    sources: Vec<Source>,
    /// The limits of what compiling them may take.
    allowed: Option<Arc<Code>>,
    /// Whether kernels wait for the previous kernel of the stream, so that they may be dependent launches
    /// (`dependent.rs`). Packages of earlier ABI versions do not.
    pub waits: bool,
}

/// How a kernel is launched, which is read when it is first launched.
struct LazyKernel {
    /// The kernel's name, if it is one of a package.
    name: &'static str,
    /// The text of a package, which stays as long as its library.
    text: &'static str,
    /// The entries of its variants.
    entries: Vec<&'static str>,
    read: OnceLock<GpuKernel>,
}

impl LazyKernel {
    /// Reads how the kernel is launched, and keeps the result. An error is not kept, because memory may have lacked.
    /// Two threads may read at the same time; the first result stays.
    #[cold]
    fn read(&self, number: u32) -> Result<&GpuKernel> {
        let fresh = gpu::parse_one(self.text, &self.entries);
        let unreadable = |e| error(MODULE, format!("how kernel {number} is launched cannot be read: {e}"));
        fresh.map(|fresh| self.read.get_or_init(|| fresh)).map_err(unreadable)
    }

    fn variants(&self) -> usize {
        self.read.get().map_or(self.entries.len(), |k| k.variants.len())
    }
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

    fn text(&self, allowed: Option<&Code>) -> &Result<CString> {
        self.text.get_or_init(|| {
            let Some(draft) = lock(&self.draft).take() else { fail!(INTERNAL, "no draft is left") };
            let kernel = draft.finish().map_err(|e| error(INTERNAL, e.to_string()))?;
            let ptx = ptx::emit(&kernel);
            allowed.map_or(Ok(()), |code| code.write(ptx.len())).map_err(refused)?;
            CString::new(ptx).map_err(|_| error(MODULE, "a NUL in the PTX"))
        })
    }
}

/// The code of one variant, as the driver takes it.
#[derive(Clone, Copy)]
pub(crate) struct Image {
    /// 0 is PTX, which ends with a NUL; 90 is machine code for sm_90.
    pub arch: i32,
    pub data: *const c_void,
}

/// The code of one variant in a package, which stays loaded while a call runs.
#[derive(Clone, Copy)]
pub(crate) struct Stored {
    /// The architecture, as in [`Image`].
    pub arch: i32,
    text: Text,
    /// The text for which this one is compressed as a difference.
    base: Option<Text>,
}

/// Where bytes of a package lie.
#[derive(Clone, Copy)]
struct Text {
    data: *const c_void,
    /// Size in bytes, without a NUL.
    size: usize,
    /// Size in bytes as it is compressed; 0 if it is not.
    packed: usize,
}

// SAFETY: the package's data is constant.
unsafe impl Send for Text {}
// SAFETY: the reason is the same as above.
unsafe impl Sync for Text {}

impl Text {
    /// # Safety
    /// The image's data are as `agpu_image` specifies, or null.
    unsafe fn of(image: &AgpuImage) -> Option<Text> {
        let (size, packed) = (usize::try_from(image.size).ok()?, usize::try_from(image.packed).ok()?);
        (!image.data.is_null()).then_some(Text { data: image.data, size, packed })
    }

    fn bytes(&self, length: usize) -> &[u8] {
        // SAFETY: the one who made this value guarantees that so many bytes are there.
        unsafe { std::slice::from_raw_parts(self.data.cast(), length) }
    }

    fn unpacked(&self, base: Option<&[u8]>) -> std::result::Result<Vec<u8>, Unreadable> {
        packed::unpack(self.bytes(self.packed), self.size, base)
    }
}

impl Stored {
    /// Calls `f` with the code as the driver takes it.
    pub fn with<T>(&self, f: impl FnOnce(Image) -> Result<T>) -> Result<T> {
        if self.text.packed == 0 {
            return f(Image { arch: self.arch, data: self.text.data });
        }
        let what = if self.arch == 0 { "the PTX".into() } else { format!("the code for sm_{}", self.arch) };
        let unreadable = |why| match why {
            Unreadable::Memory => error(OUT_OF_MEMORY, format!("no memory for {what}")),
            Unreadable::Damaged(why) => error(MODULE, format!("{what} in the package is damaged: {why}")),
        };
        let unpacked;
        let base = match &self.base {
            None => None,
            Some(base) if base.packed == 0 => Some(base.bytes(base.size)),
            Some(base) => {
                unpacked = base.unpacked(None).map_err(unreadable)?;
                Some(&unpacked[..base.size])
            }
        };
        let code = self.text.unpacked(base).map_err(unreadable)?;
        f(Image { arch: self.arch, data: code.as_ptr().cast() })
    }
}

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
        let text: &'static [u8] = unsafe { std::slice::from_raw_parts(module.gpu.cast(), length) };
        let launches = std::str::from_utf8(text).map_err(|e| e.to_string());
        let read = launches.and_then(|t| Ok((t, blocks(t, "gpu").map_err(|e| e.to_string())?)));
        let (launches, kernels) =
            read.map_err(|e| error(MODULE, format!("{name}: the launches for GPUs cannot be read: {e}")))?;
        if usize::try_from(module.kernels) != Ok(kernels.len()) {
            fail!(MODULE, "{name}: {} kernels, but launches for {}", module.kernels, kernels.len());
        }
        let unread = |block: Block<'static>| {
            let (name, text, entries) = (block.name, block.text, gpu::entries(block.text));
            LazyKernel { name, text, entries, read: OnceLock::new() }
        };
        let mut out = Images::of(kernels.into_iter().map(unread).collect());
        (out.same, out.launches) = (same(&out.kernels), launches);
        out.waits = module.abi_version >= FIRST_THAT_WAITS;
        if count > 0 && module.images.is_null() {
            fail!(MODULE, "{name}: the images are NULL");
        }
        let rows: &[AgpuImage] = match count {
            0 => &[],
            // SAFETY: the contract says that there are that many.
            _ => unsafe { std::slice::from_raw_parts(module.images, count) },
        };
        for row in rows {
            // SAFETY: the caller guarantees this.
            unsafe { out.add(row, rows, name) }?;
        }
        Ok(Some(out))
    }

    fn of(kernels: Vec<LazyKernel>) -> Images {
        let mut first = Vec::with_capacity(kernels.len());
        let total = kernels.iter().fold(0, |n, k| {
            first.push(n);
            n + k.variants()
        });
        let code = vec![Vec::new(); total];
        let (same, sources) = (Vec::new(), Vec::new());
        Images { launches: "", kernels, first, same, code, sources, allowed: None, waits: true }
    }

    /// Makes the contents of a program that was compiled in this process.
    pub fn made(made: impl Iterator<Item = GpuVariants>, allowed: Arc<Code>) -> Images {
        let (kernels, sources): (Vec<_>, Vec<_>) = made.map(|v| (v.kernel, v.drafts)).unzip();
        let sources = sources.into_iter().flatten().map(Source::of).collect();
        let read = |k: GpuKernel| LazyKernel { name: "", text: "", entries: Vec::new(), read: k.into() };
        let kernels = kernels.into_iter().map(read).collect();
        Images { sources, allowed: Some(allowed), ..Images::of(kernels) }
    }

    /// Returns how a kernel is launched. The text is read and checked at its first launch.
    #[inline]
    pub fn kernel(&self, number: u32) -> Result<&GpuKernel> {
        let kernel = &self.kernels[number as usize];
        match kernel.read.get() {
            Some(known) => Ok(known),
            None => kernel.read(number),
        }
    }

    /// Returns the text from which the launches of a package are read.
    pub fn text_of_launches(&self) -> &'static str {
        self.launches
    }

    /// Returns the name of each kernel of a package, and the entries of its variants.
    pub fn entries(&self) -> impl Iterator<Item = (&str, Vec<&str>)> + Clone {
        self.kernels.iter().map(|k| (k.name, k.entries.clone()))
    }

    /// Reads how all kernels are launched.
    pub fn read_all(&self) -> Result<()> {
        self.kernels.iter().zip(0..).try_for_each(|(kernel, number)| match kernel.read.get() {
            Some(_) => Ok(()),
            None => kernel.read(number).map(drop),
        })
    }

    /// The number of kernels that were read.
    #[cfg(test)]
    pub fn read_kernels(&self) -> usize {
        self.kernels.iter().filter(|k| k.read.get().is_some()).count()
    }

    /// Returns the PTX of a variant if the program was compiled in this process. It is made once
    /// for all devices.
    pub fn text(&self, number: usize) -> Option<Result<&CStr>> {
        let text = self.sources.get(number)?.text(self.allowed.as_deref());
        Some(text.as_ref().map(|t| t.as_c_str()).map_err(Clone::clone))
    }

    /// # Safety
    /// The images are as `agpu_module` specifies.
    unsafe fn add(&mut self, image: &AgpuImage, all: &[AgpuImage], name: &str) -> Result<()> {
        let (kernel, version) = (image.kernel, image.version);
        let at = usize::try_from(kernel).ok().zip(usize::try_from(version).ok());
        let at = at.filter(|(k, v)| self.kernels.get(*k).is_some_and(|k| *v < k.variants()));
        let Some((k, v)) = at else {
            fail!(MODULE, "{name}: an image of version {version} of kernel {kernel}, which is none");
        };
        // SAFETY: the caller guarantees this.
        let (Some(text), 0..) = (unsafe { Text::of(image) }, image.arch) else {
            fail!(MODULE, "{name}: the image of version {version} of kernel {kernel} is empty");
        };
        let base = match image.base {
            0 => None,
            number => {
                let row = usize::try_from(number).ok().and_then(|n| all.get(n - 1));
                // SAFETY: as above.
                let base = row.filter(|row| row.base == 0).and_then(|row| unsafe { Text::of(row) });
                if base.is_none() {
                    fail!(
                        MODULE,
                        "{name}: the image of version {version} of kernel {kernel} is compressed with image \
                         {number}, which is none"
                    );
                }
                base
            }
        };
        self.code[self.first[k] + v].push(Stored { arch: image.arch, text, base });
        Ok(())
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
    pub fn candidates(&self, number: usize, device: &Device) -> Vec<Stored> {
        let (major, minor) = device.capability;
        let fits = |i: &&Stored| i.arch == 0 || (i.arch / 10 == major && i.arch % 10 <= minor);
        let mut found: Vec<Stored> = self.code[number].iter().filter(fits).copied().collect();
        found.sort_by_key(|i| std::cmp::Reverse(i.arch));
        found
    }

    /// Lists what code a variant has, such as `sm_80, sm_90, PTX`.
    pub fn describe(&self, number: usize) -> String {
        let word = |i: &Stored| if i.arch == 0 { "PTX".into() } else { format!("sm_{}", i.arch) };
        let list = self.code[number].iter().map(word).collect::<Vec<String>>().join(", ");
        if list.is_empty() { "nothing".into() } else { list }
    }
}

/// Returns for each variant the first one with the same entry.
fn same(kernels: &[LazyKernel]) -> Vec<usize> {
    let mut known = HashMap::new();
    let entries = kernels.iter().flat_map(|k| &k.entries).zip(0..);
    entries.map(|(entry, number)| *known.entry(*entry).or_insert(number)).collect()
}
