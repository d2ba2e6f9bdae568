//! Buffers: arrays in memory, owned or borrowed.

use crate::abi::{AgpuBuffer, AgpuContext, AgpuElement, AgpuStatus, AgpuType, AgpuView, code};
use crate::context::{self, Context};
use crate::cuda::{self, Allocation, Gpu, Stream};
use crate::error::{INVALID_ARGUMENT, INVALID_HANDLE, OUT_OF_MEMORY, Result, error, fail, out};
use crate::guard::{guard, guard_as};
use crate::handle::{Kind, Pin, Table};
use crate::memory::{HostMemory, Storage};
use crate::span::{self, AXES, RANKS, Span};
use arraygpu_compiler::counted;
use arraygpu_compiler::scalar::Ty;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::without_provenance_mut;
use std::sync::Arc;

/// Where memory is allocated.
#[derive(Clone, Copy)]
pub(crate) enum On<'a> {
    Host(&'a Arc<HostMemory>),
    /// On a GPU. The memory is first used on the stream.
    Device(&'a Arc<Gpu>, &'a Stream),
}

/// The memory of an array.
pub(crate) enum Memory {
    Host(Storage),
    /// Memory of the CPU that belongs to the caller.
    Borrowed(*mut u8),
    Device(Allocation),
}

impl Memory {
    /// Allocates memory for `count` elements of `size` bytes. It is not cleared.
    pub fn new(count: i64, size: usize, on: On) -> Result<Memory> {
        match on {
            On::Host(memory) => Storage::new(count, size, false, Some(memory)).map(Memory::Host),
            On::Device(gpu, stream) => Allocation::new(gpu, count, size, stream).map(Memory::Device),
        }
    }

    /// Allocates the same for the time of a call.
    pub fn temporary(count: i64, size: usize, on: On) -> Result<Memory> {
        match on {
            On::Host(memory) => Storage::temporary(count, size, memory).map(Memory::Host),
            On::Device(..) => Memory::new(count, size, on),
        }
    }

    /// Returns the address of element 0, or null if there is none.
    pub fn data(&self) -> *mut u8 {
        match self {
            Memory::Host(storage) => storage.data(),
            Memory::Borrowed(data) => *data,
            Memory::Device(allocation) => allocation.data(),
        }
    }
}

/// An array in memory, dense and row-major.
pub(crate) struct Buffer {
    pub ty: Ty,
    pub count: i64,
    /// The layout of the whole array.
    whole: Span,
    /// The address of element 0. It may be null if the count is 0.
    pub data: *mut u8,
    pub context: Arc<Context>,
    memory: Memory,
}

// SAFETY: `data` is an address; who accesses it, and when, is the caller's contract (two threads must not use a
// buffer at the same time if one of them writes).
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Makes a buffer whose elements can be counted in 64 bits.
    pub fn new(context: Arc<Context>, ty: Ty, extents: &[i64], memory: Memory) -> Buffer {
        let whole = Span::dense(memory.data(), ty, extents);
        Buffer { ty, count: whole.len(), whole, data: memory.data(), context, memory }
    }

    /// Returns the memory.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Returns the memory if it is on a GPU.
    pub fn device(&self) -> Option<&Allocation> {
        if let Memory::Device(allocation) = &self.memory { Some(allocation) } else { None }
    }

    /// Orders the work that is queued on the stream from now on behind all uses of the buffer so
    /// far. The stream is one of the buffer's context.
    pub fn use_on(&self, stream: &Stream) -> Result<()> {
        self.device().map_or(Ok(()), |a| a.use_on(stream))
    }
}

static BUFFERS: Table<Buffer> = Table::new(Kind::Buffer, "buffer");

/// Returns the buffer of a handle.
pub(crate) fn pin(buffer: *mut AgpuBuffer) -> Result<Pin<Buffer>> {
    BUFFERS.pin(buffer.addr())
}

/// Adds a buffer to the table, and returns its handle.
pub(crate) fn insert(buffer: Buffer) -> Result<*mut AgpuBuffer> {
    BUFFERS.insert(buffer).map(without_provenance_mut)
}

/// Frees the buffer of a handle.
pub(crate) fn remove(buffer: *mut AgpuBuffer) -> Result<()> {
    BUFFERS.free(buffer.addr())
}

pub(crate) fn ty(ty: MaybeUninit<AgpuType>) -> Result<Ty> {
    let found = usize::try_from(code(ty)).ok().and_then(|i| Ty::ALL.get(i));
    found.copied().ok_or_else(|| error(INVALID_ARGUMENT, format!("{} is no element type", code(ty))))
}

pub(crate) fn abi_type(ty: Ty) -> AgpuType {
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

/// Makes a buffer of `count` zeros in a context (NULL: the default context). Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_buffer_create(
    context: *mut AgpuContext,
    r#type: MaybeUninit<AgpuType>,
    count: i64,
    out: *mut *mut AgpuBuffer,
) -> AgpuStatus {
    let make = || {
        if count < 0 {
            fail!(INVALID_ARGUMENT, "the count {count} is negative");
        }
        create(context, r#type, &[count], out)
    };
    guard_as("agpu_buffer_create", make)
}

/// Makes a buffer of zeros for an array of rank 1 to 3 with these extents, outermost first. Bytes may
/// also have rank 4: they are structs in an array of three dimensions. agpu_buffer_view() returns it
/// as such an array: its rows follow each other without gaps. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_buffer_create_array(
    context: *mut AgpuContext,
    r#type: MaybeUninit<AgpuType>,
    rank: i32,
    extents: *const i64,
    out: *mut *mut AgpuBuffer,
) -> AgpuStatus {
    let make = || {
        let Some(rank) = usize::try_from(rank).ok().filter(|r| (1..=AXES).contains(r)) else {
            fail!(INVALID_ARGUMENT, "the rank is {rank}, it must be 1, 2 or 3, or 4 of the bytes of structs");
        };
        if rank > RANKS && ty(r#type)? != Ty::U8 {
            fail!(
                INVALID_ARGUMENT,
                "the rank is {rank}, which only bytes may have, as structs of three dimensions"
            );
        }
        if extents.is_null() {
            fail!(INVALID_ARGUMENT, "extents is NULL");
        }
        // SAFETY: as many extents as the rank (the caller's promise).
        let shape = unsafe { std::slice::from_raw_parts(extents, rank) };
        if shape.iter().any(|n| *n < 0) {
            fail!(INVALID_ARGUMENT, "an extent of {} is negative", span::extents(shape));
        }
        create(context, r#type, shape, out)
    };
    guard_as("agpu_buffer_create_array", make)
}

/// Makes a buffer of zeros.
fn create(
    context: *mut AgpuContext,
    ty: MaybeUninit<AgpuType>,
    shape: &[i64],
    out: *mut *mut AgpuBuffer,
) -> Result<()> {
    let (out, ty) = (self::out(out, "out")?, self::ty(ty)?);
    let Some(count) = span::count(shape) else {
        fail!(OUT_OF_MEMORY, "no memory for {} elements of {ty}", span::extents(shape));
    };
    let context = context::pin_or_default(context)?;
    let memory = match context.device.gpu() {
        None => Memory::Host(Storage::new(count, ty.size(), true, Some(&context.host.memory))?),
        Some(gpu) => Memory::Device(Allocation::zeroed(gpu, count, ty.size())?),
    };
    out.write(insert(Buffer::new(context, ty, shape, memory))?);
    Ok(())
}

/// Makes a buffer over memory of the caller. The memory must stay valid until the buffer is freed,
/// and be aligned for the type. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_buffer_wrap(
    context: *mut AgpuContext,
    r#type: MaybeUninit<AgpuType>,
    data: *mut c_void,
    count: i64,
    out: *mut *mut AgpuBuffer,
) -> AgpuStatus {
    let make = || {
        let (out, ty) = (self::out(out, "out")?, ty(r#type)?);
        let bytes = count.checked_mul(ty.size() as i64).filter(|n| *n >= 0);
        let Some(bytes) = bytes else {
            fail!(INVALID_ARGUMENT, "the count {count} of {ty} is negative, or more than memory holds");
        };
        if data.is_null() && count > 0 {
            fail!(INVALID_ARGUMENT, "data is NULL, the count is {count}");
        }
        if !data.addr().is_multiple_of(ty.size()) {
            fail!(INVALID_ARGUMENT, "data is not aligned for {ty}");
        }
        if data.addr().checked_add(bytes as usize).is_none() {
            fail!(
                INVALID_ARGUMENT,
                "{} of {ty} end past the end of the address space",
                counted(count, "element")
            );
        }
        let context = context::pin_or_default(context)?;
        let memory = match context.device.gpu() {
            None => Memory::Borrowed(data.cast()),
            Some(gpu) => Memory::Device(cuda::wrap(gpu, data, count, ty.size())?),
        };
        out.write(insert(Buffer::new(context, ty, &[count], memory))?);
        Ok(())
    };
    guard_as("agpu_buffer_wrap", make)
}

/// Frees a buffer; of wrapped memory only the handle is freed. NULL is allowed. A second free is
/// AGPU_ERROR_INVALID_HANDLE. Thread-safe: a call that is using the buffer keeps its memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_buffer_free(buffer: *mut AgpuBuffer) -> AgpuStatus {
    guard(|| {
        if buffer.is_null() {
            return Ok(());
        }
        remove(buffer).map_err(|e| e.of("agpu_buffer_free"))
    })
}

/// Writes a property of a buffer to `out`.
fn get<T>(
    name: &str,
    buffer: *mut AgpuBuffer,
    out: *mut T,
    get: impl FnOnce(&Buffer) -> Result<T>,
) -> AgpuStatus {
    let answer = || {
        let out = self::out(out, "out")?;
        out.write(get(&*pin(buffer)?)?);
        Ok(())
    };
    guard_as(name, answer)
}

/// Writes the number of elements of a buffer. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_buffer_count(buffer: *mut AgpuBuffer, out: *mut i64) -> AgpuStatus {
    get("agpu_buffer_count", buffer, out, |b| Ok(b.count))
}

/// Writes the element type of a buffer. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_buffer_type(buffer: *mut AgpuBuffer, out: *mut AgpuType) -> AgpuStatus {
    get("agpu_buffer_type", buffer, out, |b| Ok(abi_type(b.ty)))
}

/// Writes the context of a buffer, or returns AGPU_ERROR_INVALID_HANDLE if the context was freed.
/// Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_buffer_context(
    buffer: *mut AgpuBuffer,
    out: *mut *mut AgpuContext,
) -> AgpuStatus {
    get("agpu_buffer_context", buffer, out, |b| {
        let handle = without_provenance_mut(b.context.handle.get().copied().unwrap_or(0));
        match context::pin(handle) {
            Ok(_) => Ok(handle),
            Err(_) => fail!(INVALID_HANDLE, "the buffer's context was freed"),
        }
    })
}

/// Writes the device address of element 0. On the CPU it is host memory, aligned to 64 bytes unless
/// the buffer wraps memory of the caller. It is NULL if the buffer is empty. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_buffer_data(buffer: *mut AgpuBuffer, out: *mut *mut c_void) -> AgpuStatus {
    get("agpu_buffer_data", buffer, out, |b| Ok(b.data.cast()))
}

/// Writes a view of the whole buffer: a vector, or the array that the buffer was made as.
/// Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_buffer_view(buffer: *mut AgpuBuffer, out: *mut AgpuView) -> AgpuStatus {
    get("agpu_buffer_view", buffer, out, |b| {
        let view = AgpuView::new(buffer, 0, b.whole.shape(), b.whole.distances());
        Ok(AgpuView { element: element(b.ty), ..view })
    })
}

/// Returns the element type as a view has it.
pub(crate) fn element(ty: Ty) -> AgpuElement {
    AgpuElement { kind: abi_type(ty) as i32, size: ty.size() as i32 }
}
