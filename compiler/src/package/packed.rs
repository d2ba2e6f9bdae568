//! The compression of code for GPUs in packages: one Zstandard frame an image.
//!
//! The variants of a kernel have most of their text in common. So an image may be compressed with
//! another one, its *base*, in front of it: what both have is stored once, and reading the image
//! means to decompress two texts, not all variants of the kernel.

use std::fmt;
use zstd_safe::{CCtx, CParameter, DCtx, DParameter};

/// The compression level. Higher ones take longer and give the same size.
const LEVEL: i32 = 19;
/// Bounds of the binary logarithm of the distance over which a frame may refer to earlier bytes.
const WINDOW: std::ops::RangeInclusive<u32> = 10..=27;

/// Why an image cannot be decompressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unreadable {
    /// There is not enough memory.
    Memory,
    /// The bytes are not those that were written; the text says what is wrong.
    Damaged(&'static str),
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Unreadable::Memory => f.write_str("not enough memory"),
            Unreadable::Damaged(why) => f.write_str(why),
        }
    }
}

/// Returns what the compressed bytes depend on beside the text and its base.
pub fn scheme() -> String {
    format!("zstd {} level {LEVEL}", zstd_safe::version_number())
}

/// Compresses a text. The base, if there is one, is needed again to decompress it. The frame has a
/// checksum of the text.
pub fn pack(text: &[u8], base: Option<&[u8]>) -> Result<Vec<u8>, String> {
    let failed = |code| format!("zstd: {}", zstd_safe::get_error_name(code));
    let mut context = CCtx::try_create().ok_or("zstd: not enough memory")?;
    let reach = (text.len() + base.map_or(0, <[u8]>::len)).max(1).ilog2() + 1;
    let window = reach.clamp(*WINDOW.start(), *WINDOW.end());
    for parameter in
        [CParameter::CompressionLevel(LEVEL), CParameter::WindowLog(window), CParameter::ChecksumFlag(true)]
    {
        context.set_parameter(parameter).map_err(failed)?;
    }
    if let Some(base) = base {
        context.ref_prefix(base).map_err(failed)?;
    }
    let mut out = Vec::with_capacity(zstd_safe::compress_bound(text.len()));
    context.compress2(&mut out, text).map_err(failed)?;
    Ok(out)
}

/// Decompresses a text of `size` bytes that [`pack`] compressed with this base. It is followed by a
/// NUL, which is not part of the text.
pub fn unpack(packed: &[u8], size: usize, base: Option<&[u8]>) -> Result<Vec<u8>, Unreadable> {
    let damaged = |code| Unreadable::Damaged(zstd_safe::get_error_name(code));
    let mut context = DCtx::try_create().ok_or(Unreadable::Memory)?;
    context.set_parameter(DParameter::WindowLogMax(*WINDOW.end())).map_err(damaged)?;
    if let Some(base) = base {
        context.ref_prefix(base).map_err(damaged)?;
    }
    let mut out = Vec::new();
    let room = size.checked_add(1).ok_or(Unreadable::Memory)?;
    out.try_reserve_exact(room).map_err(|_| Unreadable::Memory)?;
    context.decompress(&mut out, packed).map_err(damaged)?;
    if out.len() != size {
        return Err(Unreadable::Damaged("it has another length"));
    }
    out.push(0);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(last: &str) -> Vec<u8> {
        let lines = (0..500).map(|i| format!("\tfma.rn.f32 %f{i}, %f{}, %x{}, 0f3F800000;\n", i / 3, i % 7));
        (lines.collect::<String>() + last).into_bytes()
    }

    #[test]
    fn what_is_packed_comes_back() {
        for (x, base) in [(text("ret;"), None), (text("exit;"), Some(text("ret;"))), (Vec::new(), None)] {
            let packed = pack(&x, base.as_deref()).unwrap();
            let mut back = unpack(&packed, x.len(), base.as_deref()).unwrap();
            assert_eq!(back.pop(), Some(0));
            assert_eq!(back, x);
        }
    }

    #[test]
    fn what_a_text_has_in_common_with_its_base_takes_no_room() {
        let (base, x) = (text("ret;"), text("exit;"));
        let (alone, with) = (pack(&x, None).unwrap().len(), pack(&x, Some(&base)).unwrap().len());
        assert!(with < 60 && alone > 400, "{with}, {alone}");
    }

    #[test]
    fn every_damaged_byte_and_wrong_size_or_base_is_an_error() {
        let (base, x) = (text("ret;"), text("exit;"));
        let packed = pack(&x, Some(&base)).unwrap();
        let damaged = |packed: &[u8], size, base| {
            let read = unpack(packed, size, base);
            assert!(matches!(read, Err(Unreadable::Damaged(_))), "{read:?}");
        };
        for at in 0..packed.len() {
            let mut wrong = packed.clone();
            wrong[at] ^= 0x55;
            // a bit of the header has no meaning to this reader
            if let Ok(back) = unpack(&wrong, x.len(), Some(&base)) {
                assert_eq!(back[..x.len()], x[..], "byte {at}");
                assert!(at < 6, "byte {at}");
            }
            damaged(&packed[..at], x.len(), Some(&base));
        }
        damaged(&packed, x.len() - 1, Some(&base));
        damaged(&packed, x.len() + 1, Some(&base));
        damaged(&packed, x.len(), None);
        damaged(&packed, x.len(), Some(&base.to_ascii_uppercase()));
        assert_eq!(unpack(&packed, usize::MAX, Some(&base)), Err(Unreadable::Memory));
        assert_eq!(unpack(&packed, usize::MAX / 4, Some(&base)), Err(Unreadable::Memory));
    }
}
