//! `ARRAYGPU_CHECK=1`: every launch is waited for and looked at, so that a wrong number is found where it arises,
//! with the author's line. Two things are looked for:
//!
//! - **NaN** in what a launch computes, although nothing that it reads is NaN.
//! - **Writes outside of an array.** Each array of the library's own then lies between guard bytes, which nobody may
//!   change. Indices of the language are checked always (records); this finds faults of kernels, of the host's code
//!   and of code in other libraries.
//!
//! Calls become slower by far, since each launch's arrays are read once more, from GPUs through the host. A stream
//! that is being captured cannot be waited for: what is captured is not checked.

use crate::buffer::{Buffer, Memory};
use crate::error::{INTERNAL, RECORD, Result, fail};
use crate::handle::Pin;
use crate::places::place_of;
use crate::span::{AXES, Span};
use crate::workspace::Workspace;
use arraygpu_compiler::plan::{Access, Launch, Place, Plan, ScalarArg};
use arraygpu_compiler::scalar::{Lit, Ty};

/// The values of an array or scalar where this thread can read them.
pub(crate) struct Values {
    pub span: Span,
    /// What was copied from a GPU; the span's elements are in it.
    pub _copied: Vec<u8>,
}

/// How a device's memory is read, while nothing runs there.
pub(crate) trait Reader {
    /// The values of a place whose type is given; scalars are those of the device.
    fn values(&self, ws: &Workspace, place: usize, ty: Ty, is_scalar: bool) -> Result<Values>;
    /// Whether something was written beside the elements.
    fn is_overrun(&self, memory: &Memory) -> Result<bool>;
}

/// A launch that is looked at.
pub(crate) struct Check<'a, R> {
    pub plan: &'a Plan,
    pub launch: &'a Launch,
    /// The call's arguments.
    pub pins: &'a [Pin<Buffer>],
    pub reader: R,
}

impl<R: Reader> Check<'_, R> {
    /// Before it runs: whether nothing that it reads is NaN.
    pub fn reads_numbers(&self, ws: &Workspace) -> Result<bool> {
        let is_nan = |s: &ScalarArg| match s {
            ScalarArg::Host(h) => is_nan_literal(ws.host[h.0 as usize]),
            ScalarArg::Stride(..) => false,
        };
        if self.launch.scalars.iter().any(is_nan) {
            return Ok(false);
        }
        for place in self.read() {
            if self.first_nan(ws, place)?.is_some() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// After it ended: an error for the first NaN, if it read none, and for a guard that is not whole.
    pub fn look(&self, ws: &Workspace, read_numbers: bool) -> Result<()> {
        let l = self.launch;
        self.look_at_guards(ws)?;
        if !read_numbers {
            return Ok(());
        }
        for (place, line) in &l.computes {
            let Some(index) = self.first_nan(ws, *place)? else { continue };
            let slot = self.plan.slot(*place);
            let rank = usize::from(slot.ty.rank);
            let at = match &index[AXES - rank..] {
                [] => String::new(),
                [i] => format!(" at {i}"),
                list => format!(" at {list:?}"),
            };
            let line = if line.is_empty() { String::new() } else { format!(" ({line})") };
            fail!(
                RECORD,
                "check: {}{at} is NaN{line}, and nothing that the kernel {} reads is",
                slot.name,
                l.name
            );
        }
        Ok(())
    }

    fn look_at_guards(&self, ws: &Workspace) -> Result<()> {
        for memory in self.pins.iter().map(|p| p.memory()).chain(ws.owned()) {
            if !self.reader.is_overrun(memory)? {
                continue;
            }
            let is_in = |p: &Place| ws.spans[place_of(self.plan, *p)].base == memory.data();
            let places = self.launch.arrays.iter().map(|(place, _)| place);
            let name = places.copied().find(is_in).map_or("an array", |p| &self.plan.slot(p).name);
            let lines: Vec<&str> = self.launch.computes.iter().map(|(_, line)| line.as_str()).collect();
            fail!(
                INTERNAL,
                "check: something was written outside of {name}, by the kernel {} ({}), or before it ran",
                self.launch.name,
                lines.join(", ")
            );
        }
        Ok(())
    }

    /// What the launch reads: arrays, and scalars of earlier launches.
    fn read(&self) -> impl Iterator<Item = Place> {
        let arrays =
            self.launch.arrays.iter().filter(|(_, access)| *access != Access::Write).map(|(p, _)| *p);
        let is_read = |p: &Place| self.launch.computes.iter().all(|(computed, _)| computed != p);
        arrays.chain(self.launch.slots.iter().copied().filter(is_read))
    }

    /// The index of the first NaN in row-major order.
    fn first_nan(&self, ws: &Workspace, place: Place) -> Result<Option<[i64; AXES]>> {
        let slot = self.plan.slot(place);
        if !slot.ty.elem.is_float() {
            return Ok(None);
        }
        let at = place_of(self.plan, place);
        let values = self.reader.values(ws, at, slot.ty.elem, slot.ty.is_scalar())?;
        Ok(first_nan(&values.span))
    }
}

fn is_nan_literal(l: Lit) -> bool {
    l.ty.is_float() && is_nan(l.ty, l.bits)
}

/// By the bits, because the value of a signalling NaN is not to be touched.
fn is_nan(ty: Ty, bits: u64) -> bool {
    match ty {
        Ty::F16 => bits & 0x7fff > 0x7c00,
        Ty::Bf16 => bits & 0x7fff > 0x7f80,
        Ty::F32 => bits & 0x7fff_ffff > 0x7f80_0000,
        _ => bits & (u64::MAX >> 1) > 0x7ff0 << 48,
    }
}

fn first_nan(span: &Span) -> Option<[i64; AXES]> {
    let ([planes, rows, columns], [s0, s1, s2]) = (span.extents, span.strides);
    let size = span.ty.size() as isize;
    for (p, r) in (0..planes).flat_map(|p| (0..rows).map(move |r| (p, r))) {
        for c in 0..columns {
            let element = span.base.wrapping_offset((p * s0 + r * s1 + c * s2) as isize * size);
            // SAFETY: an element of a checked span, which nothing writes now.
            let bits: u64 = unsafe {
                match size {
                    2 => element.cast::<u16>().read_unaligned().into(),
                    4 => element.cast::<u32>().read_unaligned().into(),
                    _ => element.cast::<u64>().read_unaligned(),
                }
            };
            if is_nan(span.ty, bits) {
                return Some([p, r, c]);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_nan_of_a_span() {
        let mut values = [1f32, f32::INFINITY, -0.0, f32::NAN, 2.0, f32::from_bits(0xff80_0001)];
        let base = values.as_mut_ptr().cast();
        let of = |extents: &[i64], strides: &[i64]| first_nan(&Span::new(base, Ty::F32, extents, strides));
        assert_eq!(of(&[3], &[1]), None);
        assert_eq!(of(&[6], &[1]), Some([0, 0, 3]));
        assert_eq!(of(&[2, 3], &[3, 1]), Some([0, 1, 0]));
        // the transposed one comes to the last element first
        assert_eq!(of(&[3, 2], &[1, 3]), Some([0, 0, 1]));
        assert_eq!(of(&[0, 3], &[3, 1]), None);
        assert!(is_nan(Ty::F16, 0x7e00) && !is_nan(Ty::F16, 0xfc00));
        assert!(is_nan(Ty::Bf16, 0xffc0) && !is_nan(Ty::Bf16, 0x7f80));
        assert!(is_nan(Ty::F64, f64::NAN.to_bits()) && !is_nan(Ty::F64, f64::NEG_INFINITY.to_bits()));
        assert!(is_nan_literal(Lit::from_word(Ty::F64, f64::NAN.to_bits())));
    }
}
