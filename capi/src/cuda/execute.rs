//! A plan's launches on a stream: which version of a kernel, on which grid, with which parameters.

use super::copy;
use super::gpu::Gpu;
use super::images::Images;
use super::stream::Stream;
use super::words::Word;
use crate::buffer::Buffer;
use crate::context::Context;
use crate::error::{INTERNAL, INVALID_ARGUMENT, MODULE, Result, fail};
use crate::execute::{deliver, place_of, writes_an_input};
use crate::handle::Pin;
use crate::invoke::{Args, reserve};
use crate::module::{Entry, Loaded};
use crate::workspace::Workspace;
use arraygpu_compiler::core::TILE;
use arraygpu_compiler::plan::gpu::{GpuVersion, Grid};
use arraygpu_compiler::plan::{Launch, Place, Step};
use cudarc::driver::sys::{
    CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT, CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT, CU_LAUNCH_PARAM_END_AS_INT,
    CUdeviceptr,
};
use std::ffi::c_void;
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::Arc;

/// Indices of a narrow version stay below this, so that a grid's last blocks do not overflow 32 bits.
const NARROW: i64 = (1 << 31) - (1 << 20);
/// Tiles of a group: their results are joined in one more level.
const GROUP: u64 = 2048;

/// What a call on a GPU needs beside the common workspace.
#[derive(Default)]
pub(crate) struct Frame {
    /// The address of each place that is a scalar result or temporary.
    scalars: Vec<CUdeviceptr>,
    /// Words for scalar results that the host waits for, each with its place.
    words: Vec<(usize, Word)>,
    /// Words of device memory.
    slots: Vec<CUdeviceptr>,
    /// Copies of such words after the launches: to, from, bytes.
    copies: Vec<(CUdeviceptr, CUdeviceptr, usize)>,
    /// The parameters of a launch.
    params: Vec<u64>,
}

struct Call<'a> {
    loaded: &'static Loaded,
    entry: &'static Entry,
    images: &'static Images,
    gpu: &'a Gpu,
    stream: &'a Stream,
    capturing: bool,
}

/// Runs a call whose arguments were checked. Scalar results for the host are waited for; else it returns when all is queued.
pub(crate) fn run(
    loaded: &'static Loaded,
    entry: &'static Entry,
    args: Args,
    context: &Arc<Context>,
    gpu: &Arc<Gpu>,
    stream: *mut c_void,
    pins: &[Pin<Buffer>],
    ws: &mut Workspace,
) -> Result<()> {
    let Some(images) = &loaded.images else {
        fail!(MODULE, "the package has no code for GPUs, the context's device is {}", gpu.device.title());
    };
    let _current = gpu.enter()?;
    let stream = gpu.stream(stream.cast())?;
    let places = entry.plan.params.len()..entry.plan.params.len() + entry.plan.results.len();
    let (waits, makes) =
        places.fold((false, false), |(w, m), i| (w | args.is_host_scalar(i), m | args.is_new(i)));
    let capturing = (waits || makes || !stream.is_own()) && gpu.is_capturing(stream)?;
    if capturing && waits {
        fail!(
            INVALID_ARGUMENT,
            "a scalar result for the host needs a wait, but the stream is being captured: give a view"
        );
    }
    if capturing && makes {
        fail!(
            INVALID_ARGUMENT,
            "a new vector cannot be made while the stream is being captured: give an output"
        );
    }
    reserve(entry, args, ws, Some((gpu, stream)))?;
    let call = Call { loaded, entry, images, gpu, stream, capturing };
    let done = call.queue(args, pins, ws);
    call.clean(ws);
    let done = done.and_then(|()| if waits { call.wait(ws) } else { Ok(()) });
    for (_, word) in ws.frame.words.drain(..) {
        gpu.words.give(word);
    }
    done?;
    deliver(entry, args, context, ws)
}

impl Call<'_> {
    fn queue(&self, args: Args, pins: &[Pin<Buffer>], ws: &mut Workspace) -> Result<()> {
        if !self.capturing {
            for pin in pins {
                pin.use_on(self.stream)?;
            }
        }
        self.place_scalars(args, ws)?;
        let mut records = match self.entry.sites {
            0 => 0,
            _ => self.gpu.records(self.stream, self.entry, self.capturing)?,
        };
        for step in &self.entry.plan.steps {
            match step {
                Step::Alloc(_) => {} // reserved before anything ran
                Step::Free(t) => {
                    ws.memory.release_on(place_of(&self.entry.plan, Place::Temp(*t)), self.stream);
                }
                Step::Launch(l) => {
                    self.launch(l, records, ws)?;
                    records += l.sites.len() as u64 * 8;
                }
            }
        }
        for (place, wanted) in &ws.detours {
            copy::on_device(self.gpu, self.stream, wanted, &ws.spans[*place])?;
        }
        for (to, from, bytes) in &ws.frame.copies {
            // SAFETY: a word each, of which so many bytes are the scalar.
            let code = unsafe { (self.gpu.api().on_device)(*to, *from, *bytes, self.stream.raw) };
            self.gpu.check(code, "copying a scalar result")?;
        }
        Ok(())
    }

    /// Where each scalar result and temporary lives. What only one launch touches is written straight to where it is wanted.
    fn place_scalars(&self, args: Args, ws: &mut Workspace) -> Result<()> {
        let plan = &self.entry.plan;
        let (params, results) = (plan.params.len(), plan.results.len());
        let frame = &mut ws.frame;
        frame.copies.clear();
        frame.scalars.clear();
        frame.scalars.resize(params + results + plan.temps.len(), 0);
        for (r, slot) in plan.results.iter().enumerate().filter(|(_, s)| s.ty.is_scalar()) {
            let (place, bytes) = (params + r, slot.ty.elem.size());
            let (wanted, direct) = if args.is_host_scalar(place) {
                let word = self.gpu.words.take(self.gpu)?;
                frame.words.push((place, word));
                // SAFETY: our word, which no kernel uses yet.
                unsafe { word.host.write_volatile(0) };
                // the device should not read it over and over from the host's memory
                (word.device, !self.entry.is_shared_slot(r))
            } else {
                let span = &ws.spans[place];
                (span.base.addr() as u64, !ws.spans[..params].iter().any(|p| p.overlaps(span)))
            };
            frame.scalars[place] = wanted;
            if !direct {
                let slot = self.stream.take_slot(self.gpu)?;
                frame.slots.push(slot);
                frame.scalars[place] = slot;
                frame.copies.push((wanted, slot, bytes));
            }
        }
        for t in (0..plan.temps.len()).filter(|t| plan.temps[*t].ty.is_scalar()) {
            let slot = self.stream.take_slot(self.gpu)?;
            frame.slots.push(slot);
            frame.scalars[params + results + t] = slot;
        }
        Ok(())
    }

    fn launch(&self, l: &Launch, records: CUdeviceptr, ws: &mut Workspace) -> Result<()> {
        let n = l.domain.map_or(0, |d| ws.host[d.0 as usize].as_i64());
        if n < 0 {
            fail!(INTERNAL, "kernel {} over {n} elements", l.name);
        }
        let kernel = l.kernel as usize;
        let (v, version) = self.version(l, n, ws)?;
        let tiles = (n as u64).div_ceil(TILE as u64);
        let warps = u64::from(version.threads / 32);
        let device = self.gpu.device;
        let (blocks, span) = match version.grid {
            Grid::Elements(each) => ((n as u64).div_ceil(each.into()), None),
            Grid::Tiles(least, most) => {
                let full = u64::from(device.multiprocessors) * u64::from(device.resident_warps);
                let span = tile_span(tiles, least, most, full);
                (tiles.div_ceil(u64::from(span) * warps).max(1), Some(span))
            }
            Grid::One => (1, None),
        };
        if blocks == 0 {
            return Ok(());
        }
        let Some(blocks) = u32::try_from(blocks).ok().filter(|b| *b <= i32::MAX as u32) else {
            fail!(INTERNAL, "kernel {} over {n} elements needs {blocks} blocks", l.name);
        };
        let function = self.gpu.function(self.loaded.id, self.images, kernel, v)?;
        self.parameters(l, version, tiles, records, ws)?;
        let params = &mut ws.frame.params;
        params.extend(span.map(u64::from));
        let mut bytes = params.len() * 8;
        let mut extra: [*mut c_void; 5] = [
            without_provenance_mut(CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT as usize),
            params.as_mut_ptr().cast(),
            without_provenance_mut(CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT as usize),
            (&raw mut bytes).cast(),
            without_provenance_mut(CU_LAUNCH_PARAM_END_AS_INT as usize),
        ];
        // SAFETY: the package's promise: the kernel takes these parameters. What they point at was checked, and stays.
        let code = unsafe {
            let (threads, raw) = (version.threads, self.stream.raw);
            (self.gpu.api().launch)(
                function,
                blocks,
                1,
                1,
                threads,
                1,
                1,
                0,
                raw,
                null_mut(),
                extra.as_mut_ptr(),
            )
        };
        let entry = &version.entry;
        self.gpu.check(
            code,
            format_args!(
                "launching {entry} over {n} elements: {blocks} blocks of {} threads",
                version.threads
            ),
        )
    }

    /// The first version whose conditions hold.
    fn version(&self, l: &Launch, n: i64, ws: &Workspace) -> Result<(usize, &'static GpuVersion)> {
        let plan = &self.entry.plan;
        let span = |place: Place| &ws.spans[place_of(plan, place)];
        let contiguous = l.arrays.iter().all(|(p, _)| span(*p).is_contiguous());
        let narrow = || {
            let fits = |len: i64, stride: i64| {
                len < NARROW
                    && stride.checked_abs().and_then(|s| s.checked_mul(len)).is_some_and(|x| x < NARROW)
            };
            n < NARROW && l.arrays.iter().all(|(p, _)| fits(span(*p).len, span(*p).stride))
        };
        let aligned =
            |i: &u32| l.arrays.get(*i as usize).is_some_and(|(p, _)| span(*p).base.addr() % 16 == 0);
        let holds = |v: &&GpuVersion| {
            (!v.contiguous || contiguous)
                && (!v.separate || !writes_an_input(l, ws))
                && v.aligned.iter().all(aligned)
                && (!v.narrow || narrow())
        };
        let kernel = &self.images.kernels[l.kernel as usize];
        match kernel.versions.iter().enumerate().find(|(_, v)| holds(v)) {
            Some(found) => Ok(found),
            None => fail!(MODULE, "kernel {} has no version for GPUs that fits", l.name),
        }
    }

    /// Fills `ws.frame.params` up to the records: docs/c-abi.md has the order.
    fn parameters(
        &self,
        l: &Launch,
        version: &GpuVersion,
        tiles: u64,
        records: u64,
        ws: &mut Workspace,
    ) -> Result<()> {
        let plan = &self.entry.plan;
        let params = &mut ws.frame.params;
        params.clear();
        params.extend(l.arrays.iter().map(|(p, _)| ws.spans[place_of(plan, *p)].base.addr() as u64));
        if !version.contiguous {
            params.extend(l.arrays.iter().map(|(p, _)| ws.spans[place_of(plan, *p)].stride as u64));
        }
        params.extend(l.scalars.iter().map(|h| ws.host[h.0 as usize].bits));
        params.extend(l.slots.iter().map(|p| ws.frame.scalars[place_of(plan, *p)]));
        if matches!(version.grid, Grid::Tiles(..)) {
            let groups = tiles.div_ceil(GROUP);
            let bytes = |size: usize| ((tiles + groups + 4) * size as u64).next_multiple_of(256);
            let total = l.scratch.iter().map(|ty| bytes(ty.size())).sum();
            let mut scratch = self.stream.scratch(self.gpu, total)?;
            for ty in &l.scratch {
                params.push(scratch);
                scratch += bytes(ty.size());
            }
            params.push(self.stream.counters(self.gpu, groups + 1)?);
        }
        if !l.sites.is_empty() {
            params.push(records);
        }
        Ok(())
    }

    /// Gives back what the launches needed, in the order of the stream; also after an error.
    fn clean(&self, ws: &mut Workspace) {
        ws.memory.release_all_on(self.stream);
        for slot in ws.frame.slots.drain(..) {
            self.stream.give_slot(slot);
        }
        if !self.stream.is_own() && !self.capturing {
            let _ = self.gpu.mark(self.stream);
        }
    }

    /// Waits for the stream, and takes the scalar results from their words.
    fn wait(&self, ws: &mut Workspace) -> Result<()> {
        self.gpu.wait(self.stream, Some(self.entry))?;
        ws.words.clear();
        ws.words.resize(ws.spans.len(), 0);
        for (place, word) in &ws.frame.words {
            // SAFETY: the kernels that write it have ended.
            ws.words[*place] = unsafe { word.host.read_volatile() };
        }
        Ok(())
    }
}

/// How many tiles a warp takes: as many as still leave every multiprocessor a full set of warps.
fn tile_span(tiles: u64, least: u32, most: u32, full: u64) -> u32 {
    let mut span = least;
    while span < most && tiles / (u64::from(span) * 2) >= full {
        span *= 2;
    }
    span
}

impl Gpu {
    /// Waits until what was queued on the stream is done; then the error of the first record that was left, if any.
    pub(super) fn wait(&self, stream: &Stream, of: Option<&Entry>) -> Result<()> {
        let records = self.read_records(stream, stream.raw)?;
        self.synchronize_stream(stream)?;
        if records { self.check_records(stream, of) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::tile_span;

    #[test]
    fn spans_fill_the_device_first() {
        let full = 132 * 64;
        assert_eq!(tile_span(0, 1, 2, full), 1);
        assert_eq!(tile_span(2 * full - 1, 1, 2, full), 1);
        assert_eq!(tile_span(2 * full, 1, 2, full), 2);
        assert_eq!(tile_span(1 << 40, 1, 2, full), 2);
        assert_eq!(tile_span(4 * full, 1, 8, full), 4);
        assert_eq!(tile_span(1 << 40, 2, 2, full), 2);
    }
}
