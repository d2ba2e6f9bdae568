//! The results of a call: their extents, their overlaps with arguments, and their memory. An output that overlaps an
//! input in any other way than element by element takes a *detour*: it is computed in a temporary, and copied at the
//! end.

use crate::abi::AgpuArgKind;
use crate::arguments::Args;
use crate::buffer::{Memory, On};
use crate::error::{OUT_OF_MEMORY, OVERLAP, Result, SHAPE, error, fail};
use crate::log::log;
use crate::module::Entry;
use crate::span::{AXES, RANKS, Span, count, extents};
use crate::workspace::Workspace;
use arraygpu_compiler::counted;
use arraygpu_compiler::plan::{Slot, host};
use arraygpu_compiler::scalar::Lit;

/// Returns the extents of a result or temporary. It is an error if its number of elements
/// overflows.
pub(crate) fn shape_of<'a>(slot: &Slot, host: &[Lit], room: &'a mut [i64; RANKS]) -> Result<&'a [i64]> {
    let shape = &mut room[..slot.extents.len()];
    for (n, id) in shape.iter_mut().zip(&slot.extents) {
        *n = host[id.0 as usize].as_i64();
    }
    match shape {
        [n] if *n < 0 => fail!(SHAPE, "{}: the length {n} is negative", slot.name),
        _ if shape.iter().any(|n| *n < 0) => {
            fail!(SHAPE, "{}: an extent of {} is negative", slot.name, extents(shape))
        }
        _ if count(shape).is_none() => {
            fail!(OUT_OF_MEMORY, "{}: {} elements are more than can be counted", slot.name, extents(shape))
        }
        _ => Ok(shape),
    }
}

/// Checks the extents of the outputs, refuses outputs that overlap each other, and notes for each output that
/// overlaps inputs whether it is computed in place (`ws.in_place`) or takes a detour (`ws.detours`).
pub(crate) fn outputs(entry: &Entry, args: Args, ws: &mut Workspace) -> Result<()> {
    let (plan, params) = (&entry.plan, entry.plan.params.len());
    ws.in_place.clear();
    ws.detours.clear();
    for (r, slot) in plan.results.iter().enumerate() {
        let place = params + r;
        if !slot.ty.is_scalar() {
            let mut room = [0; RANKS];
            let expected = shape_of(slot, &ws.host, &mut room)?;
            let given = ws.spans[place].shape();
            if args.is(place, AgpuArgKind::AgpuArgResultView) && given != expected {
                let (given, expected) = (extents(given), extents(expected));
                let has = if slot.ty.rank == 1 { "has the length" } else { "is" };
                fail!(SHAPE, "{}: the output {has} {given}, expected {expected}", slot.name);
            }
        }
        for other in 0..r {
            if ws.spans[place].overlaps(&ws.spans[params + other]) {
                fail!(OVERLAP, "{}, {}: two outputs overlap", plan.results[other].name, slot.name);
            }
        }
        // scalars are written after all inputs are read, so they may overlap these
        if !args.is(place, AgpuArgKind::AgpuArgResultView) || slot.ty.is_scalar() {
            continue;
        }
        let mut detour = false;
        for p in 0..params {
            let (output, input) = (&ws.spans[place], &ws.spans[p]);
            if !output.overlaps(input) {
                continue;
            }
            if output.is_same(input) && entry.may_be_in_place(r, p) {
                ws.in_place.push((r as u32, p as u32));
            } else {
                detour = true;
            }
        }
        if detour {
            log!(
                Warn,
                "{}: {} overlaps what it is computed from: it is made elsewhere, and copied",
                entry.title,
                slot.name
            );
            ws.detours.push((place, ws.spans[place]));
        }
    }
    Ok(())
}

/// Allocates all memory that the plan needs. Pages are touched only when they are used, so
/// allocating early costs nothing.
pub(crate) fn reserve(entry: &Entry, args: Args, ws: &mut Workspace, on: On) -> Result<()> {
    let (plan, params) = (&entry.plan, entry.plan.params.len());
    for (r, slot) in plan.results.iter().enumerate() {
        let place = params + r;
        if slot.ty.is_scalar() || !args.is_new(place) {
            continue;
        }
        let mut room = [0; RANKS];
        let span = Span::dense(std::ptr::null_mut(), slot.ty.elem, shape_of(slot, &ws.host, &mut room)?);
        if let Some(field) = args.field(place) {
            reserve_field((place, field, span), args, ws, on).map_err(|e| e.of(&slot.name))?;
        } else {
            let memory = Memory::new(span.len(), span.ty.size(), on).map_err(|e| e.of(&slot.name))?;
            ws.spans[place] = Span { base: memory.data(), ..span };
            ws.made.push((place, memory));
        }
    }
    reserve_temporaries(entry, ws, on)
}

/// Makes the span of a result that is a field of a new array of structs: `offset` bytes from the beginning of each
/// struct of `size` bytes. The first field of an array allocates the structs.
fn reserve_field(
    (place, (offset, size), dense): (usize, (i64, i64), Span),
    args: Args,
    ws: &mut Workspace,
    on: On,
) -> Result<()> {
    let first = ws.made.iter().map(|(p, _)| *p).find(|p| args.made(*p) == args.made(place));
    let base = match first {
        Some(first) => {
            let (before, same) = (args.field(first), &ws.spans[first]);
            if before.is_none_or(|(_, other)| other != size) {
                fail!(SHAPE, "the fields of an array of structs say different sizes of the struct");
            }
            if same.shape() != dense.shape() {
                let (one, other) = (extents(same.shape()), extents(dense.shape()));
                fail!(
                    SHAPE,
                    "the fields of an array of structs are arrays of one shape, and these are {one} and {other}"
                );
            }
            let end = offset + dense.ty.size() as i64;
            let overlaps = |p: usize| {
                let (Some((other, _)), ty) = (args.field(p), ws.spans[p].ty) else { return false };
                args.made(p) == args.made(place) && other < end && offset < other + ty.size() as i64
            };
            if (first..place).any(overlaps) {
                fail!(OVERLAP, "two fields of an array of structs have bytes of the struct in common");
            }
            same.base.wrapping_offset(-before.map_or(0, |(offset, _)| offset as isize))
        }
        None => {
            let Some(bytes) = dense.len().checked_mul(size) else {
                fail!(
                    OUT_OF_MEMORY,
                    "{} of {}",
                    counted(extents(dense.shape()), "struct"),
                    counted(size, "byte")
                );
            };
            let memory = Memory::new(bytes, 1, on)?;
            let base = memory.data();
            ws.made.push((place, memory));
            base
        }
    };
    let strides = dense.strides.map(|s| s.wrapping_mul(size / dense.ty.size() as i64));
    let rank = dense.rank;
    ws.spans[place] =
        Span::new(base.wrapping_offset(offset as isize), dense.ty, dense.shape(), &strides[AXES - rank..]);
    Ok(())
}

/// Allocates the temporaries of a call, and the memory of detours. A caller that brings a workspace avoids this. On a
/// CPU scratch comes in addition.
pub(crate) fn reserve_temporaries(entry: &Entry, ws: &mut Workspace, on: On) -> Result<()> {
    let (plan, params) = (&entry.plan, entry.plan.params.len());
    for (place, span) in &ws.detours {
        let slot = entry.slot(*place);
        let base = ws.memory.take(*place, span.len(), span.ty.size(), on).map_err(|e| e.of(&slot.name))?;
        ws.spans[*place] = span.packed(base);
        // a result that takes a detour is not computed in place
        ws.in_place.retain(|(r, _)| params + *r as usize != *place);
    }
    for (t, slot) in plan.temps.iter().enumerate() {
        let (place, ty, mut room) = (params + plan.results.len() + t, slot.ty.elem, [0; RANKS]);
        if slot.ty.is_scalar() {
            ws.spans.push(Span::nothing(ty));
            continue;
        }
        // the shape rules bound the results, but not temporaries: one that is longer by an element may overflow
        let shape = shape_of(slot, &ws.host, &mut room).map_err(|e| {
            let sizes = host::sizes(plan, &ws.host);
            error(
                e.status,
                format!("an array beside the results has more elements than can be counted{sizes}"),
            )
        })?;
        let mut span = Span::dense(std::ptr::null_mut(), ty, shape);
        if !span.is_empty() && !entry.is_name(t) {
            span.base = ws.memory.take(place, span.len(), ty.size(), on)?;
        }
        ws.spans.push(span);
    }
    Ok(())
}
