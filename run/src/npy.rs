//! NumPy's `.npy` files: a header of text, then the elements.
//!
//! The crates that read them bring a parser of Python's literals with twenty crates of its own; the
//! header that NumPy writes has three keys.

use crate::array::Array;
use crate::kind::Kind;
use crate::problem::{Result, failure};

const MAGIC: &[u8] = b"\x93NUMPY";
/// What NumPy makes headers a multiple of.
const ALIGNMENT: usize = 64;

/// Reads a file's bytes; `file` names it in errors.
pub fn read(bytes: &[u8], file: &str) -> Result<Array> {
    let (header, data) = split(bytes).ok_or_else(|| failure(format!("{file}: no .npy file, or cut off")))?;
    let bad = || failure(format!("{file}: a header that is not NumPy's: {}", header.trim()));
    let described = value(header, "descr").ok_or_else(bad)?;
    let Some((descr, _)) = described.strip_prefix('\'').and_then(|d| d.split_once('\'')) else {
        return Err(failure(format!(
            "{file}: its elements are records; save each field as a file of its own"
        )));
    };
    let (kind, swapped) = element(descr).ok_or_else(|| {
        let known = Kind::all().map(Kind::numpy).collect::<Vec<_>>().join(", ");
        failure(format!("{file}: its elements are '{descr}'; arrays here have {known}"))
    })?;
    let fortran = value(header, "fortran_order").ok_or_else(bad)?.starts_with("True");
    let shape = value(header, "shape").and_then(|s| s.strip_prefix('(')?.split_once(')')).ok_or_else(bad)?.0;
    let axes = shape.split(',').map(str::trim).filter(|a| !a.is_empty());
    let extents: Vec<i64> =
        axes.map(|a| a.parse().ok().filter(|e| *e >= 0)).collect::<Option<_>>().ok_or_else(bad)?;

    let mut array = Array::zeros(kind, &extents)?;
    let Some(data) = data.get(..array.bytes.len()) else {
        let (has, needs) = (data.len(), array.bytes.len());
        return Err(failure(format!("{file}: cut off, it has {has} bytes of elements and needs {needs}")));
    };
    if fortran {
        transpose(data, &mut array)
    } else {
        array.bytes.copy_from_slice(data)
    }
    if swapped {
        array.bytes.chunks_exact_mut(kind.size()).for_each(<[u8]>::reverse);
    }
    if kind == Kind::Bool {
        array.bytes.iter_mut().for_each(|b| *b = u8::from(*b != 0));
    }
    Ok(array)
}

/// Returns the header's text and what follows it.
fn split(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (version, rest) = rest.split_at_checked(2)?;
    let (length, rest) = match version[0] {
        1 => rest.split_first_chunk::<2>().map(|(n, rest)| (usize::from(u16::from_le_bytes(*n)), rest))?,
        _ => rest.split_first_chunk::<4>().map(|(n, rest)| (u32::from_le_bytes(*n) as usize, rest))?,
    };
    let (header, data) = rest.split_at_checked(length)?;
    Some((std::str::from_utf8(header).ok()?, data))
}

/// Returns what follows a key of the header.
fn value<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = header.split_once(&format!("'{key}'"))?;
    Some(rest.trim_start().strip_prefix(':')?.trim_start())
}

/// Returns the type of elements such as `<f4`, and whether their bytes are in the other order.
fn element(descr: &str) -> Option<(Kind, bool)> {
    let order = descr.chars().next().filter(|c| "<>|=".contains(*c));
    let name = &descr[order.map_or(0, char::len_utf8)..];
    let kind = Kind::all().find(|k| name_of(*k) == name)?;
    Some((kind, order == Some('>') && kind.size() > 1))
}

/// Returns NumPy's short name of a type. It has no bfloat16; `ml_dtypes` saves two bytes.
fn name_of(kind: Kind) -> String {
    let class = match kind {
        Kind::Bool => 'b',
        Kind::Bf16 => 'V',
        _ if kind.precision().is_some() => 'f',
        _ if kind.range().is_some_and(|(least, _)| least < 0) => 'i',
        _ => 'u',
    };
    format!("{class}{}", kind.size())
}

/// Puts elements whose first index runs fastest into row-major order.
fn transpose(data: &[u8], array: &mut Array) {
    let size = array.kind.size();
    let mut strides = vec![1usize; array.extents.len()];
    for axis in 1..strides.len() {
        strides[axis] = strides[axis - 1] * array.extents[axis - 1] as usize;
    }
    let mut index = vec![0i64; strides.len()];
    for place in array.bytes.chunks_exact_mut(size) {
        let from: usize = index.iter().zip(&strides).map(|(i, s)| *i as usize * s).sum();
        place.copy_from_slice(&data[from * size..][..size]);
        for (i, extent) in index.iter_mut().zip(&array.extents).rev() {
            *i += 1;
            if *i < *extent {
                break;
            }
            *i = 0;
        }
    }
}

/// Returns the bytes of a file.
pub fn write(array: &Array) -> Vec<u8> {
    let order = if array.kind.size() == 1 { '|' } else { '<' };
    let axes: String = array.extents.iter().map(|e| format!("{e}, ")).collect();
    // a tuple of one needs its comma
    let axes = if array.extents.len() == 1 { axes.trim_end() } else { axes.trim_end_matches(", ") };
    let descr = format!("{order}{}", name_of(array.kind));
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({axes}), }}");
    let before = MAGIC.len() + 4;
    let length = (before + header.len() + 1).next_multiple_of(ALIGNMENT) - before;
    header += &" ".repeat(length - 1 - header.len());
    header.push('\n');
    let mut out = [MAGIC, &[1, 0], &(length as u16).to_le_bytes(), header.as_bytes()].concat();
    out.extend_from_slice(&array.bytes);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        [MAGIC, &[1, 0], &(header.len() as u16).to_le_bytes(), header.as_bytes(), data].concat()
    }

    #[test]
    fn every_type_and_rank_comes_back() {
        for kind in Kind::all() {
            for extents in [&[][..], &[5], &[0], &[2, 3], &[2, 1, 4]] {
                let number = |i: u64| Ok(kind.parse(if i.is_multiple_of(2) { "1" } else { "0" }).unwrap());
                let array = Array::generate(kind, extents, number).unwrap();
                let bytes = write(&array);
                assert_eq!(read(&bytes, "a.npy").unwrap(), array, "{kind}, {extents:?}");
                assert!((bytes.len() - array.bytes.len()).is_multiple_of(64));
            }
        }
    }

    #[test]
    fn the_header_is_as_numpy_writes_it() {
        let array = Array { kind: Kind::F32, extents: vec![3], bytes: vec![0; 12] };
        let text = String::from_utf8_lossy(&write(&array)[10..]).into_owned();
        assert!(text.starts_with("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }   "), "{text}");
    }

    #[test]
    fn fortran_order_and_big_endian_numbers() {
        // [[1, 2, 3], [4, 5, 6]] by columns
        let header = "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }";
        let array = read(&file(header, &[0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6]), "a.npy").unwrap();
        assert_eq!((array.kind, &array.extents[..]), (Kind::I16, &[2, 3][..]));
        assert_eq!(array.bytes, [1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0]);
    }

    #[test]
    fn files_that_are_wrong_say_what_they_have() {
        let error = |bytes: &[u8]| read(bytes, "a.npy").unwrap_err().text;
        assert_eq!(error(b"no"), "a.npy: no .npy file, or cut off");
        let header = |descr: &str| format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (2,), }}");
        let complex = error(&file(&header("'<c8'"), &[0; 16]));
        assert!(
            complex.starts_with("a.npy: its elements are '<c8'; arrays here have float32, "),
            "{complex}"
        );
        assert!(error(&file(&header("[('a', '<f4')]"), &[])).contains("are records"));
        assert!(error(&file(&header("'<f4'"), &[0; 7])).ends_with("7 bytes of elements and needs 8"));
        let shape = "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 3), }";
        assert!(error(&file(shape, &[])).starts_with("no memory for "));
        let negative = "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }";
        assert!(error(&file(negative, &[])).contains("not NumPy's"));
    }
}
