//! The arguments of a call: kinds, handles, types and bounds.

use crate::abi::{AgpuArg, AgpuArgKind, AgpuView, code};
use crate::buffer;
use crate::error::{Error, INVALID_ARGUMENT, OVERLAP, Result, SHAPE, TYPE_MISMATCH, aligned, error, fail};
use crate::module::Entry;
use crate::span::{Span, extents, noun};
use crate::view::{elements, resolve_into};
use crate::workspace::Workspace;
use arraygpu_compiler::scalar::Lit;

/// The arguments as the caller passed them. Fields that the kind does not use may be uninitialised,
/// so each field is read separately.
#[derive(Clone, Copy)]
pub(crate) struct Args(pub *const AgpuArg);

impl Args {
    pub fn kind(self, i: usize) -> i32 {
        // SAFETY: argument i is there (the count was checked), and its kind is initialised.
        code(unsafe { (&raw const (*self.0.add(i)).kind).read() })
    }

    pub fn is(self, i: usize, kind: AgpuArgKind) -> bool {
        self.kind(i) == kind as i32
    }

    /// The pointer of an argument of kind SCALAR or RESULT_SCALAR.
    pub fn scalar(self, i: usize) -> Result<*mut u8> {
        // SAFETY: argument i is there, and its kind has this field.
        let pointer = unsafe { (&raw const (*self.0.add(i)).scalar).read() };
        if pointer.is_null() {
            fail!(INVALID_ARGUMENT, "the pointer is NULL");
        }
        Ok(pointer.cast_mut().cast())
    }

    /// The view of an argument of kind VIEW or RESULT_VIEW.
    pub fn view<'a>(self, i: usize) -> &'a AgpuView {
        // SAFETY: argument i is there, its kind has this field, and the caller's arguments stay
        // during the call.
        unsafe { &*(&raw const (*self.0.add(i)).view).cast() }
    }

    /// Whether argument i is a scalar result in host memory.
    pub fn is_host_scalar(self, i: usize) -> bool {
        self.is(i, AgpuArgKind::AgpuArgResultScalar)
    }

    /// Whether argument i asks for a new buffer, or for a field of one.
    pub fn is_new(self, i: usize) -> bool {
        self.is(i, AgpuArgKind::AgpuArgResultNew) || self.field(i).is_some()
    }

    /// If argument i is a field of new structs, its offset in one and the size of one, in bytes.
    pub fn field(self, i: usize) -> Option<(i64, i64)> {
        let is_field = self.is(i, AgpuArgKind::AgpuArgResultNewField);
        is_field.then(|| (self.view(i).offset, self.view(i).stride[0]))
    }

    /// Where an argument of kind RESULT_NEW receives its buffer.
    pub fn made(self, i: usize) -> *mut *mut crate::abi::AgpuBuffer {
        // SAFETY: argument i is there, and its kind has this field.
        unsafe { (&raw const (*self.0.add(i)).made).read() }
    }
}

/// Checks kinds, handles, types and bounds of all arguments, and fills `pins`, `spans` and
/// `literals`.
pub(crate) fn bind(entry: &Entry, args: Args, ws: &mut Workspace) -> Result<()> {
    let plan = &entry.plan;
    ws.pins.clear();
    ws.spans.clear();
    ws.literals.clear();
    for i in 0..plan.params.len() + plan.results.len() {
        bind_one(entry, args, i, ws).map_err(|e| e.of(&entry.slot(i).name))?;
    }
    Ok(())
}

pub(crate) fn bind_one(entry: &Entry, args: Args, i: usize, ws: &mut Workspace) -> Result<()> {
    use AgpuArgKind::*;
    let (slot, is_result) = (entry.slot(i), i >= entry.plan.params.len());
    let ty = slot.ty.elem;
    ws.spans.push(Span::nothing(ty));
    ws.literals.push(Lit::zero(ty));
    let (span, literal) = (&mut ws.spans[i], &mut ws.literals[i]);
    match (slot.ty.is_scalar(), is_result) {
        (true, false) if args.is(i, AgpuArgScalar) => {
            let address = args.scalar(i)?;
            // SAFETY: a scalar argument points at a value of its type.
            let bits = unsafe {
                match ty.size() {
                    1 => address.read().into(),
                    2 => address.cast::<u16>().read_unaligned().into(),
                    4 => address.cast::<u32>().read_unaligned().into(),
                    _ => address.cast::<u64>().read_unaligned(),
                }
            };
            *literal = Lit::from_word(ty, bits);
        }
        (true, true) if args.is(i, AgpuArgResultScalar) => *span = Span::scalar(args.scalar(i)?, ty),
        (false, true) if args.is(i, AgpuArgResultNew) || args.is(i, AgpuArgResultNewField) => {
            aligned(args.made(i), "the pointer to the new buffer")?;
            if args.made(i).is_null() {
                fail!(INVALID_ARGUMENT, "the pointer is NULL");
            }
            if args.is(i, AgpuArgResultNewField) {
                let (view, size) = (args.view(i), ty.size() as i64);
                let (offset, record) = (view.offset, view.stride[0]);
                let fits = 0 <= offset && offset <= record - size;
                if !fits || offset % size != 0 || record % size != 0 {
                    fail!(INVALID_ARGUMENT, "no field of {ty} is at byte {offset} of {record}");
                }
            }
        }
        (scalar, _)
            if (is_result || !scalar)
                && args.is(i, if is_result { AgpuArgResultView } else { AgpuArgView }) =>
        {
            let view = args.view(i);
            let buffer = buffer::pin(view.buffer)?;
            let given = elements(view, &buffer)?;
            if given != ty {
                let expected = noun(slot.ty.rank.max(1).into());
                fail!(TYPE_MISMATCH, "expected a {expected} of {ty}, got one of {given}");
            }
            resolve_into(view, &buffer, span)?;
            ws.pins.push(buffer);
            let rank = usize::from(slot.ty.rank);
            if scalar && span.len() != 1 {
                fail!(SHAPE, "a scalar result needs a view of one element, this one has {}", span.len());
            }
            if !scalar && span.rank != rank {
                fail!(SHAPE, "the view has rank {}, a {} has rank {rank}", span.rank, noun(rank));
            }
            if is_result && span.overlaps_itself() {
                return Err(several_in_one_place(span));
            }
        }
        _ => {
            let what = noun(slot.ty.rank.into());
            let role = if is_result { "result" } else { "parameter" };
            fail!(INVALID_ARGUMENT, "an argument of kind {} for a {role} that is a {what}", args.kind(i));
        }
    }
    Ok(())
}

#[cold]
pub(crate) fn several_in_one_place(span: &Span) -> Error {
    error(
        OVERLAP,
        match span.shape() {
            [_] => "an output of stride 0 overlaps itself".into(),
            shape => {
                let strides: Vec<i64> = (0..span.rank as u8).map(|axis| span.stride(axis)).collect();
                format!("an output of {} with the strides {strides:?} overlaps itself", extents(shape))
            }
        },
    )
}
