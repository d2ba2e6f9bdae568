//! Launches on a simulated GPU: which version of a kernel, on which grid, with which parameters. All of it is what
//! the compiler's `plan::policy` decides, as in the runtime; scratch and counters have no element more than there.

use super::{Call, Failure, Laid, Several};
use arraygpu_compiler::kernel::interp::{self, Args, ArrayArg, Id};
use arraygpu_compiler::plan::gpu::{GpuKernel, GpuVariant, Grid};
use arraygpu_compiler::plan::policy::{Decision, Device, KernelLaunch, Layout, Scratch, Space};
use arraygpu_compiler::plan::{Access, HostId, Launch, ScalarArg};
use arraygpu_compiler::scalar::{Lit, Ty};
use arraygpu_compiler::schedule::strategy::Strategy;

/// What a launch is over.
struct Lengths {
    extents: Vec<u64>,
    segment: u64,
}

impl Lengths {
    fn space(&self) -> Space<'_> {
        Space { extents: &self.extents, inner_length: self.segment }
    }
}

impl Call<'_> {
    /// How the kernel of a launch is launched.
    pub(super) fn kernel(&self, l: &Launch) -> GpuKernel {
        self.compiled.kernels[l.kernel as usize].gpu_kernel().expect("code for GPUs")
    }

    fn lengths(&self, l: &Launch) -> Lengths {
        let of = |d: &HostId| self.host[d.0 as usize].as_i64().max(0) as u64;
        Lengths { extents: l.domain.iter().map(of).collect(), segment: l.segment.as_ref().map_or(0, of) }
    }

    /// The version that the runtime would choose, or the one that is wanted, if it can.
    pub(super) fn choose(&self, l: &Launch, several: Several) -> Option<usize> {
        let kernel = self.kernel(l);
        let lengths = self.lengths(l);
        let space = lengths.space();
        let laid: Vec<&Laid> = l.arrays.iter().map(|a| self.place(a.0)).collect();
        let array = |i: usize| {
            let (a, size) = (*laid.get(i)?, self.plan_ty(l.arrays[i].0).size());
            // allocations begin at multiples of 16
            let address = a.arg.offset as usize * size;
            Some(Layout { extents: &a.extents, strides: &a.strides, size, address })
        };
        let writes = |write: bool| {
            let used = l.arrays.iter().zip(&laid).filter(move |(a, _)| (a.1 == Access::Write) == write);
            used.map(|(_, laid)| laid.arg.memory)
        };
        let writes_an_input = || writes(true).any(|w| writes(false).any(|r| r == w));
        let steps = several.map_or(1, |s| s.0);
        // a cluster takes the simulator long for rows of a few elements
        let is_cluster = |v: &GpuVariant| matches!(v.grid, Grid::Clusters { .. });
        let may_run = |at: &usize| {
            let v = kernel.variants.get(*at);
            v.is_some_and(|v| !is_cluster(v) || self.forces_clusters)
                || v.is_some() && kernel.is_profitable(*at, &space, self.device(1))
        };
        // as a tuning file would name it
        let wanted = self.how.version.filter(may_run);
        kernel.choose(&space, steps, self.device(1), array, writes_an_input, wanted.as_slice())
    }

    pub(super) fn launch(&mut self, l: &Launch, several: Several) -> Result<(), Failure> {
        if let Some(why) = &self.kernel(l).absent {
            return Err(Failure::Absent(why.clone()));
        }
        let Some(version) = self.choose(l, several) else {
            return Err(Failure::Rules(format!("no version of {} can run", l.name)));
        };
        let decision = self.decide(l, version);
        let Scratch { elements, counters } = decision.scratch;
        // each allocation ends with its last element, and an access beyond is a fault
        let elements = elements.saturating_sub(self.missing.scratch) as usize;
        let zeros = vec![Lit::u32(0); counters.saturating_sub(self.missing.counters) as usize];
        let scratch: Vec<Id> = l.scratch.iter().map(|ty| self.memory.allocate(*ty, elements)).collect();
        let counters = self.memory.filled(Ty::U32, &zeros);
        for kernel in decision.kernels() {
            let mut args = Args::default();
            if kernel.span.is_some() {
                (args.scratch, args.counters) = (scratch.clone(), Some(counters));
            }
            self.start(l, kernel, several, args)?;
        }
        Ok(())
    }

    fn device(&self, multiprocessors: u64) -> Device {
        Device { multiprocessors, capability: self.capability }
    }

    /// What the runtime decides on the device, of all devices, on which the span is nearest to the wanted one.
    fn decide(&self, l: &Launch, version: usize) -> Decision {
        let (gpu, lengths) = (self.kernel(l), self.lengths(l));
        let on_devices = (0..16).map(|k| gpu.decide(version, &lengths.space(), self.device(1 << k)));
        let distance = |d: &Decision| {
            let span = d.kernels().last().and_then(|k| k.span).unwrap_or(0);
            // a grid may have no span and yet as many blocks as the device asks for
            let blocks = d.kernels().map(|k| k.blocks).sum::<u64>();
            (span.abs_diff(self.how.span), span, blocks.abs_diff(u64::MAX / u64::from(self.how.span.max(1))))
        };
        on_devices.min_by_key(distance).expect("there are devices")
    }

    /// Runs one kernel.
    fn start(
        &mut self,
        l: &Launch,
        launch: KernelLaunch,
        several: Several,
        mut args: Args,
    ) -> Result<(), Failure> {
        let code = &self.compiled.kernels[l.kernel as usize].gpu_variants()[launch.variant];
        let (kernel, v) = (&code.kernel, &code.launch);
        if self.is_dry {
            self.entries.push(v.entry.clone());
            return Ok(());
        }
        // two elements with one destination race, of which there is a record
        if code.strategy == Strategy::Put && !self.records.is_empty() {
            return Ok(());
        }
        if kernel.name != v.entry || kernel.threads != v.threads {
            return Err(Failure::Rules(format!("{} is not the code of {}", kernel.name, v.entry)));
        }
        // the runtime gives a word for each of the launch's sites
        if kernel.sites.len() as u64 * 8 != l.record_bytes() {
            return Err(Failure::Rules(format!("{}: the words for error records", v.entry)));
        }
        let laid: Vec<&Laid> = l.arrays.iter().map(|a| self.place(a.0)).collect();
        // strides of vectors are passed to versions that are not contiguous
        let vector = |l: &&Laid| l.extents.len() == 1;
        let mut all = kernel.arrays.iter().zip(&laid);
        if let Some((a, _)) = all.find(|(a, l)| a.strided != (!v.guards.contiguous && vector(l))) {
            return Err(Failure::Rules(format!("{}: the stride of {}", v.entry, a.name)));
        }
        args.arrays = laid.iter().map(|a| a.arg).collect::<Vec<ArrayArg>>();
        args.ins = l.scalars.iter().map(|s| self.scalar(l, *s)).collect();
        args.guard = self.guard.filter(|_| l.guarded);
        args.slots = l.slots.iter().map(|p| self.place(*p).arg.memory).collect();
        // the last parameter: a span, or steps of an iteration
        let span = launch.span.unwrap_or(several.map_or(1, |s| s.1 as u32));
        let grid = interp::Grid { blocks: launch.blocks as u32, span };
        let records =
            interp::run(kernel, grid, &mut self.memory, &args, self.how.order).map_err(Failure::Fault)?;
        self.entries.push(v.entry.clone());
        self.note(l, &records);
        Ok(())
    }

    fn scalar(&self, l: &Launch, s: ScalarArg) -> Lit {
        match s {
            ScalarArg::Host(h) => self.host[h.0 as usize],
            ScalarArg::Stride(array, axis) => {
                Lit::i64(self.place(l.arrays[array as usize].0).strides[usize::from(axis)])
            }
        }
    }
}
