//! Arrays in host memory, and their extents as a user writes them.

use crate::kind::{Kind, Number};
use crate::problem::{Problem, Result, failure};

/// A dense array in row-major order; a scalar if it has no extents.
#[derive(Clone, PartialEq, Debug)]
pub struct Array {
    /// The element type.
    pub kind: Kind,
    /// The extents, outermost first.
    pub extents: Vec<i64>,
    /// The elements, little-endian.
    pub bytes: Vec<u8>,
}

impl Array {
    /// Returns an array of zeros, if there is memory for it.
    pub fn zeros(kind: Kind, extents: &[i64]) -> Result<Array> {
        let none = || {
            failure(format!(
                "no memory for {} of {kind}",
                arraygpu_compiler::counted(show(extents), "element")
            ))
        };
        let size = extents.iter().try_fold(kind.size(), |n, e| n.checked_mul(usize::try_from(*e).ok()?));
        let size = size.filter(|n| isize::try_from(*n).is_ok()).ok_or_else(none)?;
        // the system promises more than it has, and ends the program that uses it
        if size > FEW_BYTES && available().is_some_and(|n| n < size as u64) {
            return Err(none());
        }
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(size).map_err(|_| none())?;
        bytes.resize(size, 0);
        Ok(Array { kind, extents: extents.to_vec(), bytes })
    }

    /// Returns an array whose element i is made by `element`, until that fails.
    pub fn generate(
        kind: Kind,
        extents: &[i64],
        mut element: impl FnMut(u64) -> Result<[u8; 8]>,
    ) -> Result<Array> {
        let mut array = Array::zeros(kind, extents)?;
        let size = kind.size();
        for (i, place) in array.bytes.chunks_exact_mut(size).enumerate() {
            place.copy_from_slice(&element(i as u64)?[..size]);
        }
        Ok(array)
    }

    /// Returns the number of elements.
    pub fn count(&self) -> usize {
        self.bytes.len() / self.kind.size()
    }

    /// Returns the bytes of each element.
    pub fn elements(&self) -> impl DoubleEndedIterator<Item = &[u8]> + ExactSizeIterator {
        self.bytes.chunks_exact(self.kind.size())
    }

    /// Returns the array with every element changed to another type; `what` names it in errors.
    pub fn convert(&self, kind: Kind, what: &str, change: impl Fn(Number) -> Number) -> Result<Array> {
        let refused = |bytes: &[u8]| -> Problem {
            failure(format!("{what}: the element {} is no {kind}", self.kind.text(bytes)))
        };
        let size = self.kind.size();
        Array::generate(kind, &self.extents, |i| {
            let bytes = &self.bytes[i as usize * size..][..size];
            kind.bits(change(self.kind.number(bytes))).ok_or_else(|| refused(bytes))
        })
    }
}

/// Arrays of as many bytes are made without a look at the system's memory.
const FEW_BYTES: usize = 1 << 28;

/// Returns how many bytes a program can still have, if Linux says so: what is free, and at most what
/// its container may have.
fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    let free = line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.saturating_mul(1024);
    let container = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let most = container.and_then(|text| text.trim().parse::<u64>().ok());
    Some(free.min(most.unwrap_or(u64::MAX)))
}

/// Returns extents as text: `1024x512`.
pub fn show(extents: &[i64]) -> String {
    extents.iter().map(i64::to_string).collect::<Vec<_>>().join("x")
}

/// Reads extents: `100`, `2^26`, `1024x512`, `3x4x5`.
pub fn extents(text: &str) -> Option<Vec<i64>> {
    let number = |digits: &str| {
        let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        plain.then(|| digits.parse::<i64>().ok()).flatten()
    };
    let extent = |part: &str| match part.split_once('^') {
        None => number(part),
        Some((base, power)) => number(base)?.checked_pow(u32::try_from(number(power)?).ok()?),
    };
    text.split('x').map(extent).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_as_users_write_them() {
        assert_eq!(extents("2^26"), Some(vec![1 << 26]));
        assert_eq!(extents("1024x512"), Some(vec![1024, 512]));
        assert_eq!(extents("3x2^2x0"), Some(vec![3, 4, 0]));
        for bad in ["", "x", "3x", "-1", "+3", "2^", "^2", "2^63", "1.5", "3 x 4", "10^99999999999"] {
            assert_eq!(extents(bad), None, "{bad}");
        }
    }

    #[test]
    fn arrays_beyond_memory_are_errors() {
        let error = |extents: &[i64]| Array::zeros(Kind::F64, extents).unwrap_err().text;
        assert_eq!(error(&[1 << 62]), "no memory for 4611686018427387904 elements of f64");
        // as much as the system may promise, and does not have
        assert_eq!(error(&[1 << 20, 1 << 20]), "no memory for 1048576x1048576 elements of f64");
        assert_eq!(error(&[1 << 40, 1 << 40]), "no memory for 1099511627776x1099511627776 elements of f64");
    }

    #[test]
    fn conversions_keep_values_or_fail() {
        let bytes = [1.0f32, 255.0, -0.0].iter().flat_map(|x| x.to_le_bytes()).collect();
        let a = Array { kind: Kind::F32, extents: vec![3], bytes };
        assert_eq!(a.convert(Kind::U8, "x", |n| n).unwrap().bytes, [1, 255, 0]);
        assert_eq!(a.convert(Kind::I8, "x", |n| n).unwrap_err().text, "x: the element 255.0 is no i8");
    }
}
