//! `ARRAYGPU_CHECK=1`: the runtime waits for every launch and checks it, so that a wrong number is
//! found where it arises, with the author's line. There are two checks:
//!
//! - **NaN** in what a launch computes, although it reads no NaN.
//! - **Writes outside an array.** Each array that the library allocates then lies between guard
//!   bytes, which nothing may change. Indices of the language are always checked (error records);
//!   this check finds errors of kernels, of the host's code and of code in other libraries.
//!
//! Calls become much slower, because each launch's arrays are read once more, those on GPUs through
//! the host. It is not possible to wait for a stream that is being captured, so captured work is
//! not checked.

use crate::buffer::{Buffer, Memory};
use crate::error::{INTERNAL, RECORD, Result, fail};
use crate::handle::Pin;
use crate::places::place_of;
use crate::span::{AXES, Span};
use crate::workspace::Workspace;
use arraygpu_compiler::plan::{Access, Launch, Place, Plan, ScalarArg, Step};
use arraygpu_compiler::scalar::{Lit, Ty};

/// The values of an array or scalar in memory that this thread can read.
pub(crate) struct Values {
    pub span: Span,
    /// A copy from a GPU, which holds the span's elements.
    pub _copied: Vec<u8>,
}

/// Reads a device's memory while nothing runs there.
pub(crate) trait Reader {
    /// Returns the values of a place of type `ty`. Scalars are those in device memory.
    fn values(&self, ws: &Workspace, place: usize, ty: Ty, is_scalar: bool) -> Result<Values>;
    /// Whether a guard byte beside the elements was overwritten.
    fn is_overrun(&self, memory: &Memory) -> Result<bool>;
}

/// A launch that is checked.
pub(crate) struct Check<'a, R> {
    pub plan: &'a Plan,
    pub launch: &'a Launch,
    /// The call's arguments.
    pub pins: &'a [Pin<Buffer>],
    pub reader: R,
}

impl<R: Reader> Check<'_, R> {
    /// Called before the launch: whether the launch reads no NaN.
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

    /// Called after the launch: returns an error for the first NaN, if the launch read none, and
    /// for a guard that was overwritten.
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

    /// The places that the launch reads: arrays, scalars of earlier launches, and what the launch before has stored
    /// in an array whose elements this one replaces.
    fn read(&self) -> impl Iterator<Item = Place> {
        let arrays =
            self.launch.arrays.iter().filter(|(_, access)| *access != Access::Write).map(|(p, _)| *p);
        let is_read = |p: &Place| self.launch.computes.iter().all(|(computed, _)| computed != p);
        let begun = self.launch.computes.iter().map(|(place, _)| *place).filter(|p| self.is_begun(*p));
        arrays.chain(self.launch.slots.iter().copied().filter(is_read)).chain(begun)
    }

    /// Whether the launch before this one computes the same array, and is not an alternative to it.
    fn is_begun(&self, place: Place) -> bool {
        let is_own = |s: &Step| matches!(s, Step::Launch(l) if std::ptr::eq(l, self.launch));
        let Some(at) = self.plan.steps.iter().position(is_own) else { return false };
        let before =
            self.plan.steps[..at].iter().rev().filter(|s| !matches!(s, Step::Alloc(_) | Step::Free(_)));
        let mut before = before.take(2);
        match (before.next(), before.next()) {
            (Some(Step::Launch(_)), Some(Step::Instead(_))) => false,
            (Some(Step::Launch(l)), _) => l.computes.iter().any(|(computed, _)| *computed == place),
            _ => false,
        }
    }

    /// Returns the index of the first NaN in row-major order.
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

/// The test uses the bits, because loading a signalling NaN as a float may change it.
fn is_nan(ty: Ty, bits: u64) -> bool {
    match ty {
        Ty::F16 => bits & 0x7fff > 0x7c00,
        Ty::Bf16 => bits & 0x7fff > 0x7f80,
        Ty::F32 => bits & 0x7fff_ffff > 0x7f80_0000,
        _ => bits & (u64::MAX >> 1) > 0x7ff0 << 48,
    }
}

fn first_nan(span: &Span) -> Option<[i64; AXES]> {
    let mut index = [0; AXES];
    for _ in 0..span.len() {
        if is_nan(span.ty, bits(span, index)) {
            return Some(index);
        }
        for (i, n) in index.iter_mut().zip(&span.extents).rev() {
            *i += 1;
            if *i < *n {
                break;
            }
            *i = 0;
        }
    }
    None
}

/// Returns the bits of an element of 2, 4 or 8 bytes in the host's memory, which nothing writes now.
pub(crate) fn bits(span: &Span, index: [i64; AXES]) -> u64 {
    let (at, size) = (index.iter().zip(&span.strides), span.ty.size() as isize);
    let element = span.base.wrapping_offset(at.map(|(i, s)| i * s).sum::<i64>() as isize * size);
    // SAFETY: it is an element of a checked span, which nothing writes now.
    unsafe {
        match size {
            2 => element.cast::<u16>().read_unaligned().into(),
            4 => element.cast::<u32>().read_unaligned().into(),
            _ => element.cast::<u64>().read_unaligned(),
        }
    }
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
        assert_eq!(of(&[6], &[1]), Some([0, 0, 0, 3]));
        assert_eq!(of(&[2, 3], &[3, 1]), Some([0, 0, 1, 0]));
        // The transposed view has element 3 at the index (0, 1).
        assert_eq!(of(&[3, 2], &[1, 3]), Some([0, 0, 0, 1]));
        assert_eq!(of(&[0, 3], &[3, 1]), None);
        assert!(is_nan(Ty::F16, 0x7e00) && !is_nan(Ty::F16, 0xfc00));
        assert!(is_nan(Ty::Bf16, 0xffc0) && !is_nan(Ty::Bf16, 0x7f80));
        assert!(is_nan(Ty::F64, f64::NAN.to_bits()) && !is_nan(Ty::F64, f64::NEG_INFINITY.to_bits()));
        assert!(is_nan_literal(Lit::from_word(Ty::F64, f64::NAN.to_bits())));
    }
}
