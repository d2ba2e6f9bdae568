//! Launches on a simulated GPU: which version of a kernel, on which grid, with which parameters.

use super::{Call, Failure, Laid, Several};
use arraygpu_compiler::kernel::interp::{self, Args, ArrayArg};
use arraygpu_compiler::plan::gpu::{GpuVersion, Grid};
use arraygpu_compiler::plan::launch::{Layout, Space, Spread};
use arraygpu_compiler::plan::{Access, HostId, Launch, ScalarArg};
use arraygpu_compiler::scalar::{Lit, Ty};

/// What a launch is over.
struct Lengths {
    extents: Vec<u64>,
    segment: u64,
}

impl Lengths {
    fn space(&self) -> Space<'_> {
        Space { extents: &self.extents, segment: self.segment }
    }
}

/// The span, of those that the runtime can choose the one that is nearest to `wanted`; steps of an iteration where there are no spans.
fn span(v: &GpuVersion, space: &Space, wanted: u32, several: Several) -> u32 {
    let spans = v.spans(space).into_iter();
    spans.min_by_key(|s| s.abs_diff(wanted)).unwrap_or(several.map_or(1, |s| s.1 as u32))
}

/// A device on which the runtime chooses that span.
fn spread(v: &GpuVersion, space: &Space, span: u32) -> Spread {
    let devices = (0..16).map(|k| v.spread(space, 1 << k));
    let mut chosen = devices.filter(|s| s.span.is_none_or(|s| s == span));
    chosen.next().expect("the runtime can choose the span")
}

impl Call<'_> {
    fn lengths(&self, l: &Launch) -> Lengths {
        let of = |d: &HostId| self.host[d.0 as usize].as_i64().max(0) as u64;
        Lengths { extents: l.domain.iter().map(of).collect(), segment: l.segment.as_ref().map_or(0, of) }
    }

    /// The version that the runtime would choose, or the one that is wanted, if it can.
    pub(super) fn choose(&self, l: &Launch, several: Several) -> Option<usize> {
        let versions = &self.compiled.gpu[l.kernel as usize].versions;
        let lengths = self.lengths(l);
        let space = lengths.space();
        let laid: Vec<&Laid> = l.arrays.iter().map(|a| self.place(a.0)).collect();
        let chosen = |at: &usize| {
            let v = &versions[*at];
            // what follows another one is never launched by itself
            let wanted = match self.how.version == Some(*at) {
                true => !matches!(v.grid, Grid::Sums(..)),
                false => v.pays(space.extents, space.segment),
            };
            wanted && self.fits(l, &laid, &space, v, several)
        };
        let first = (0..versions.len()).find(chosen);
        self.how.version.filter(|v| *v < versions.len()).filter(chosen).or(first)
    }

    pub(super) fn launch(&mut self, l: &Launch, several: Several) -> Result<(), Failure> {
        let gpu = &self.compiled.gpu[l.kernel as usize];
        if let Some(why) = &gpu.absent {
            return Err(Failure::Absent(why.clone()));
        }
        let Some(version) = self.choose(l, several) else {
            return Err(Failure::Rules(format!("no version of {} can run", l.name)));
        };
        let (v, lengths) = (&gpu.versions[version], self.lengths(l));
        let space = lengths.space();
        let (mut scratch, mut counters) = (Vec::new(), None);
        let spread = spread(v, &space, span(v, &space, self.how.span, several));
        if spread.span.is_some() {
            scratch = l.scratch.iter().map(|ty| self.memory.allocate(*ty, spread.scratch as usize)).collect();
            counters = Some(self.memory.filled(Ty::U32, &vec![Lit::u32(0); spread.counters as usize]));
        }
        let parts = if let Grid::Panels(..) = v.grid { 2 } else { 1 };
        for version in version..version + parts {
            let args = Args { scratch: scratch.clone(), counters, ..Args::default() };
            self.start(l, version, several, &space, args)?;
        }
        Ok(())
    }

    /// Runs one version.
    fn start(
        &mut self,
        l: &Launch,
        version: usize,
        several: Several,
        space: &Space,
        mut args: Args,
    ) -> Result<(), Failure> {
        let kernel = &self.compiled.gpu_code[l.kernel as usize][version].kernel;
        let v = &self.compiled.gpu[l.kernel as usize].versions[version];
        if kernel.name != v.entry || kernel.threads != v.threads {
            return Err(Failure::Rules(format!("{} is not the code of {}", kernel.name, v.entry)));
        }
        let laid: Vec<&Laid> = l.arrays.iter().map(|a| self.place(a.0)).collect();
        // strides of vectors are passed to versions that are not contiguous
        let vector = |l: &&Laid| l.extents.len() == 1;
        let mut all = kernel.arrays.iter().zip(&laid);
        if let Some((a, _)) = all.find(|(a, l)| a.strided != (!v.contiguous && vector(l))) {
            return Err(Failure::Rules(format!("{}: the stride of {}", v.entry, a.name)));
        }
        let span = span(v, space, self.how.span, several);
        let blocks = v.grid.blocks(space.extents, space.segment, v.threads, span) as u32;
        if blocks == 0 {
            return Ok(());
        }
        args.arrays = laid.iter().map(|a| a.arg).collect::<Vec<ArrayArg>>();
        args.ins = l.scalars.iter().map(|s| self.scalar(l, *s)).collect();
        args.slots = l.slots.iter().map(|p| self.place(*p).arg.memory).collect();
        let grid = interp::Grid { blocks, span };
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

    /// Whether a version is right for the launch.
    fn fits(&self, l: &Launch, arrays: &[&Laid], space: &Space, v: &GpuVersion, several: Several) -> bool {
        let array = |i: usize| {
            let (a, size) = (*arrays.get(i)?, self.plan_ty(l.arrays[i].0).size());
            // allocations begin at multiples of 16
            Some(Layout {
                extents: &a.extents,
                strides: &a.strides,
                size,
                address: a.arg.offset as usize * size,
            })
        };
        let writes = |write: bool| {
            let used = l.arrays.iter().zip(arrays).filter(move |(a, _)| (a.1 == Access::Write) == write);
            used.map(|(_, laid)| laid.arg.memory)
        };
        let writes_an_input = || writes(true).any(|w| writes(false).any(|r| r == w));
        v.fits(space, several.map_or(1, |s| s.0), array, writes_an_input)
    }
}
