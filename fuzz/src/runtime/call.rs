//! One call through the C ABI, with memory that is looked at before and after.

use super::place::{Place, Places, places};
use super::{Layout, Loaded, message};
use crate::rng::Rng;
use arraygpu_capi::abi::{
    AgpuArg, AgpuArgKind, AgpuBuffer, AgpuCall, AgpuContext, AgpuStatus, AgpuType, AgpuView,
};
use arraygpu_capi::{
    agpu_buffer_create, agpu_buffer_free, agpu_buffer_wrap, agpu_copy_from_host, agpu_copy_to_host,
    agpu_invoke, agpu_stream_synchronize,
};
use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::plan::Plan;
use arraygpu_compiler::scalar::{Lit, Ty};
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr::null_mut;

/// The memory of a call, and the values of the arguments in it: arrays that share memory have equal
/// elements there.
pub struct Laid {
    places: Places,
    /// The bytes of each buffer.
    bytes: Vec<Vec<u8>>,
    /// What the function gets.
    pub args: Vec<Value>,
}

/// What a call gave.
pub struct Called {
    /// The results.
    pub results: Vec<Value>,
    /// What it returned.
    pub status: AgpuStatus,
    /// The message of an error.
    pub message: String,
    /// Memory was written that belongs to no result, or at all though the call was refused.
    pub wild: bool,
}

fn elements(v: &Value) -> &[Lit] {
    match v {
        Value::Scalar(l) => std::slice::from_ref(l),
        Value::Vector(v) | Value::Array(_, v) => v,
    }
}

/// The extents of a value.
pub fn extents(v: &Value) -> Vec<i64> {
    match v {
        Value::Scalar(_) => vec![],
        Value::Vector(v) => vec![v.len() as i64],
        Value::Array(extents, _) => extents.clone(),
    }
}

fn gathered(bytes: &[u8], ty: Ty, place: &Place) -> Value {
    let size = ty.size();
    let at = place.positions();
    let all = at.into_iter().map(|p| Lit::from_bytes(ty, &bytes[p * size..][..size])).collect();
    match place.extents[..] {
        [_] => Value::Vector(all),
        _ => Value::Array(place.extents.clone(), all),
    }
}

impl Laid {
    /// Lays out arguments, and results of these extents.
    pub fn new(plan: &Plan, args: &[Value], results: &[Vec<i64>], layout: Layout, rng: &mut Rng) -> Laid {
        let params = plan.params.iter().zip(args);
        let params: Vec<_> =
            params.map(|(p, a)| (!p.ty.is_scalar()).then(|| (p.ty.elem, extents(a)))).collect();
        let outputs = plan.results.iter().zip(results);
        let outputs: Vec<_> =
            outputs.map(|(r, e)| (!r.ty.is_scalar()).then(|| (r.ty.elem, e.clone()))).collect();
        let places = places(&params, &outputs, layout, rng);
        let mut bytes: Vec<Vec<u8>> = places
            .buffers
            .iter()
            .map(|b| (0..b.count as usize * b.ty.size()).map(|_| rng.bits() as u8).collect())
            .collect();
        for (place, arg) in places.params.iter().zip(args) {
            let Some(place) = place else { continue };
            let size = places.buffers[place.buffer].ty.size();
            for (at, l) in place.positions().into_iter().zip(elements(arg)) {
                let to = &mut bytes[place.buffer][at * size..][..size];
                l.to_bytes(to);
                // every byte other than 0 is true
                if l.ty == Ty::Bool && l.as_bool() && rng.one_in(8) {
                    to[0] = rng.pick(&[2, 128, 255]);
                }
            }
        }
        let read = places.params.iter().zip(args).map(|(place, arg)| match place {
            Some(p) => gathered(&bytes[p.buffer], places.buffers[p.buffer].ty, p),
            None => arg.clone(),
        });
        let args = read.collect();
        Laid { places, bytes, args }
    }
}

fn abi_type(ty: Ty) -> AgpuType {
    match ty {
        Ty::F32 => AgpuType::AgpuF32,
        Ty::F64 => AgpuType::AgpuF64,
        Ty::I32 => AgpuType::AgpuI32,
        Ty::I64 => AgpuType::AgpuI64,
        Ty::U32 => AgpuType::AgpuU32,
        Ty::U8 => AgpuType::AgpuU8,
        Ty::Bool => AgpuType::AgpuBool,
        Ty::U64 => AgpuType::AgpuU64,
        Ty::I8 => AgpuType::AgpuI8,
        Ty::I16 => AgpuType::AgpuI16,
        Ty::U16 => AgpuType::AgpuU16,
        Ty::F16 => AgpuType::AgpuF16,
        Ty::Bf16 => AgpuType::AgpuBf16,
    }
}

/// A buffer of the runtime over memory of the call, or in a GPU's memory, freed with the call.
struct Held {
    handle: *mut AgpuBuffer,
    words: Vec<UnsafeCell<u64>>,
    size: usize,
    count: i64,
    ty: Ty,
    is_gpu: bool,
}

impl Held {
    fn new(context: *mut AgpuContext, ty: Ty, bytes: &[u8], is_gpu: bool) -> Result<Held, String> {
        let word = |b: &[u8]| {
            let mut all = [0; 8];
            all[..b.len()].copy_from_slice(b);
            UnsafeCell::new(u64::from_le_bytes(all))
        };
        let words: Vec<_> = bytes.chunks(8).map(word).collect();
        let (count, mut handle) = ((bytes.len() / ty.size()) as i64, null_mut());
        let data = words.first().map_or(null_mut(), UnsafeCell::get);
        let of = MaybeUninit::new(abi_type(ty));
        if is_gpu {
            // SAFETY: the out-pointer lives during the call.
            done(unsafe { agpu_buffer_create(context, of, count, &mut handle) })?;
            let held = Held { handle, words, size: bytes.len(), count, ty, is_gpu };
            // SAFETY: the words hold that many elements.
            done(unsafe { agpu_copy_from_host(held.all(), data.cast(), count) })?;
            return Ok(held);
        }
        // SAFETY: the words are aligned for every type, hold that many elements, and live as long
        // as the buffer.
        done(unsafe { agpu_buffer_wrap(context, of, data.cast(), count, &mut handle) })?;
        Ok(Held { handle, words, size: bytes.len(), count, ty, is_gpu })
    }

    /// A view of all elements of a buffer.
    fn all(&self) -> AgpuView {
        AgpuView::new(self.handle, 0, &[self.count], &[1])
    }

    /// The contents of the memory that held `before`.
    fn bytes(&self, before: &[u8]) -> Result<Vec<u8>, String> {
        if self.is_gpu {
            let data = self.words.first().map_or(null_mut(), UnsafeCell::get);
            // SAFETY: the words have room for that many elements.
            done(unsafe { agpu_copy_to_host(data.cast(), self.all(), self.count) })?;
        }
        // SAFETY: no call is under way.
        let words = self.words.iter().flat_map(|w| unsafe { *w.get() }.to_le_bytes());
        let mut bytes: Vec<u8> = words.take(self.size).collect();
        if self.is_gpu && self.ty == Ty::Bool {
            // a copy writes true as 1
            let same = bytes.iter_mut().zip(before).filter(|(now, before)| (**now != 0) == (**before != 0));
            same.for_each(|(now, before)| *now = *before);
        }
        Ok(bytes)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: a handle is a number.
        unsafe { agpu_buffer_free(self.handle) };
    }
}

fn done(status: AgpuStatus) -> Result<(), String> {
    if status == AgpuStatus::AgpuOk { Ok(()) } else { Err(message()) }
}

impl Loaded {
    /// Calls entry `i`.
    pub fn call(&self, i: usize, context: *mut AgpuContext, laid: &Laid) -> Result<Called, String> {
        let plan = &self.plans[i];
        let held: Vec<Held> = laid
            .places
            .buffers
            .iter()
            .zip(&laid.bytes)
            .map(|(b, bytes)| Held::new(context, b.ty, bytes, self.is_gpu))
            .collect::<Result<_, _>>()?;
        let of = |p: &Place| AgpuView::new(held[p.buffer].handle, p.offset, &p.extents, &p.strides);
        let scalars = laid.args.iter().map(|a| if let Value::Scalar(l) = a { l.bits } else { 0 });
        let words: Vec<UnsafeCell<u64>> =
            scalars.chain(plan.results.iter().map(|_| 0)).map(UnsafeCell::new).collect();
        let kinds = [
            (AgpuArgKind::AgpuArgScalar, AgpuArgKind::AgpuArgView),
            (AgpuArgKind::AgpuArgResultScalar, AgpuArgKind::AgpuArgResultView),
        ];
        let places = laid.places.params.iter().map(|p| (p, &kinds[0]));
        let places = places.chain(laid.places.results.iter().map(|p| (p, &kinds[1])));
        let abi: Vec<AgpuArg> = places
            .zip(&words)
            .map(|((place, kinds), word)| match place {
                Some(p) => AgpuArg { view: of(p), ..AgpuArg::new(kinds.1) },
                None => AgpuArg { scalar: word.get().cast_const().cast(), ..AgpuArg::new(kinds.0) },
            })
            .collect();
        let call = AgpuCall::on(context, null_mut());
        // SAFETY: module, arguments and what they point at live during the call.
        let mut status =
            unsafe { agpu_invoke(&self.module, i as i32, &call, abi.as_ptr(), abi.len() as i32) };
        if self.is_gpu && status == AgpuStatus::AgpuOk {
            // a record is the error of the next synchronisation
            // SAFETY: the context is one.
            status = unsafe { agpu_stream_synchronize(context, null_mut()) };
        }
        let message = message();
        let bytes = held.iter().zip(&laid.bytes).map(|(h, b)| h.bytes(b)).collect::<Result<Vec<_>, _>>()?;
        let words = &words[plan.params.len()..];
        let results = plan.results.iter().zip(&laid.places.results).zip(words);
        let results = results.map(|((r, place), word)| match place {
            Some(p) => gathered(&bytes[p.buffer], r.ty.elem, p),
            // SAFETY: the call is over, nothing else points there.
            None => Value::Scalar(Lit::from_bytes(r.ty.elem, &unsafe { *word.get() }.to_le_bytes())),
        });
        let results = results.collect();
        let ran = matches!(status, AgpuStatus::AgpuOk | AgpuStatus::AgpuErrorRecord);
        let wild = laid.is_changed(&bytes, ran);
        Ok(Called { results, status, message, wild })
    }
}

impl Laid {
    /// Whether bytes are other than before, outside of results if it `ran`.
    fn is_changed(&self, bytes: &[Vec<u8>], ran: bool) -> bool {
        let mut before = self.bytes.clone();
        for p in self.places.results.iter().flatten().filter(|_| ran) {
            let size = self.places.buffers[p.buffer].ty.size();
            for at in p.positions() {
                let range = at * size..(at + 1) * size;
                before[p.buffer][range.clone()].copy_from_slice(&bytes[p.buffer][range]);
            }
        }
        before != bytes
    }
}
