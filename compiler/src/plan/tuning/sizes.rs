//! Classes of sizes: the powers of two that are nearest to the extents of a launch.

use crate::plan::policy::Space;
use std::fmt::{self, Display, Formatter};

/// The text that stands for an index space without axes.
const SCALAR: &str = "1";
/// The maximum number of extents of an index space in a file.
const MAX_AXES: usize = 16;

/// The sizes for which a measurement holds: each extent by the power of two that is nearest to it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SizeClass {
    extents: Vec<Power>,
    /// The length of segments, or the number of inner indices of a product.
    inner: Power,
}

/// The exponent of a power of two; `None` for 0.
type Power = Option<u8>;

/// Returns the exponent of the power of two that is nearest to `n` by ratio: 2^k stands for the numbers from 2^(k -
/// 1/2) to below 2^(k + 1/2).
fn nearest(n: u64) -> Power {
    let low = n.checked_ilog2()?;
    let square = u128::from(n) * u128::from(n);
    Some(low as u8 + u8::from(square >= 1 << (2 * low + 1)))
}

impl SizeClass {
    /// Returns the class of an index space.
    pub fn of(space: &Space) -> SizeClass {
        let extents = space.extents.iter().map(|n| nearest(*n)).collect();
        SizeClass { extents, inner: nearest(space.inner_length) }
    }

    /// Whether an index space is of this class.
    pub fn has(&self, space: &Space) -> bool {
        let extents = space.extents.iter().map(|n| nearest(*n));
        self.inner == nearest(space.inner_length) && extents.eq(self.extents.iter().copied())
    }

    /// Reads the words of a line: `2^10x2^12`, and the word after `of`.
    pub(super) fn read(extents: &str, inner: Option<&str>) -> Result<SizeClass, String> {
        let extents = match extents {
            SCALAR => Vec::new(),
            _ => extents.split('x').map(power).collect::<Result<Vec<_>, _>>()?,
        };
        if extents.len() > MAX_AXES {
            return Err(format!("{} extents; there are at most {MAX_AXES}", extents.len()));
        }
        Ok(SizeClass { extents, inner: inner.map_or(Ok(None), power)? })
    }

    /// Reads what `Display` writes.
    pub fn parse(text: &str) -> Result<SizeClass, String> {
        match text.split_once(" of ") {
            Some((extents, inner)) => SizeClass::read(extents, Some(inner)),
            None => SizeClass::read(text, None),
        }
    }
}

/// Reads `2^10`, or `0`.
fn power(text: &str) -> Result<Power, String> {
    if text == "0" {
        return Ok(None);
    }
    let exponent = text.strip_prefix("2^").and_then(|k| k.parse::<u8>().ok()).filter(|k| *k <= 64);
    exponent.map(Some).ok_or_else(|| format!("`{text}`: a power of two such as 2^20 is expected"))
}

impl Display for SizeClass {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let power = |f: &mut Formatter<'_>, p: &Power| match p {
            Some(k) => write!(f, "2^{k}"),
            None => write!(f, "0"),
        };
        if self.extents.is_empty() {
            f.write_str(SCALAR)?;
        }
        for (axis, p) in self.extents.iter().enumerate() {
            f.write_str(if axis > 0 { "x" } else { "" })?;
            power(f, p)?;
        }
        if self.inner.is_some() {
            f.write_str(" of ")?;
            power(f, &self.inner)?;
        }
        Ok(())
    }
}
