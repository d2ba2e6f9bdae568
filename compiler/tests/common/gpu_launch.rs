//! Launches on a simulated GPU: which version of a kernel, on which grid, with which parameters.

use super::{Call, Failure, Laid, Several};
use arraygpu_compiler::core::TILE;
use arraygpu_compiler::kernel::interp::{self, Args, ArrayArg};
use arraygpu_compiler::plan::gpu::{GpuVersion, Grid};
use arraygpu_compiler::plan::{Access, Launch, ScalarArg};
use arraygpu_compiler::scalar::{Lit, Ty};

/// What a launch is over.
struct Space {
    extents: Vec<u64>,
    n: i64,
    /// The length of a segment.
    segment: i64,
}

impl Space {
    fn tiles(&self) -> i64 {
        (self.n + TILE - 1) / TILE
    }

    fn of_segment(&self) -> i64 {
        (self.segment + TILE - 1) / TILE
    }

    /// Elements of a scratch array.
    fn scratch(&self, v: &GpuVersion) -> usize {
        let of_segments = self.n * (16 * self.of_segment()).max(1);
        let tiles = self.tiles();
        match v.grid {
            Grid::Panels(rows, cols) => {
                let blocks = v.grid.blocks(&self.extents, self.segment as u64, v.threads, 1);
                blocks as usize * (rows * cols) as usize
            }
            _ => (tiles + (tiles + TILE - 1) / TILE + 4).max(of_segments) as usize,
        }
    }

    /// The span, `wanted` if it may be.
    fn span(&self, v: &GpuVersion, wanted: u32, several: Several) -> u32 {
        match v.grid {
            Grid::Tiles(least, most) | Grid::Chunks(least, most) => wanted.clamp(least, most),
            // more than 128 partial results a segment only of whole tiles
            Grid::Strips(_, least, most)
                if self.of_segment() * i64::from(most / wanted.clamp(least, most)) > 128 =>
            {
                most
            }
            Grid::Strips(_, least, most) => wanted.clamp(least, most),
            Grid::Sums(..) => wanted.clamp(1, 16),
            // where there are no tiles, the last parameter is the number of steps
            _ => several.map_or(1, |s| s.1 as u32),
        }
    }
}

/// Whether the runtime may choose that span: the least one, doubled as often as it stays within the most.
fn can_be_chosen(v: &GpuVersion, span: u32) -> bool {
    let (least, most) = match v.grid {
        Grid::Tiles(least, most) | Grid::Chunks(least, most) | Grid::Strips(_, least, most) => (least, most),
        Grid::Sums(..) => (1, 16),
        _ => return true,
    };
    let mut spans = std::iter::successors(Some(least), |s| Some(2 * s)).take_while(|s| *s <= most);
    spans.any(|s| s == span) || span == most
}

impl Call<'_> {
    fn space(&self, l: &Launch) -> Space {
        let extents: Vec<u64> = l.domain.iter().map(|d| self.host[d.0 as usize].as_i64() as u64).collect();
        let n = extents.iter().copied().reduce(|a, b| a * b).unwrap_or(0) as i64;
        let segment = l.segment.map_or(0, |d| self.host[d.0 as usize].as_i64());
        Space { extents, n, segment }
    }

    /// The version that the runtime would choose, or the one that is wanted, if it can.
    pub(super) fn choose(&self, l: &Launch, several: Several) -> Option<usize> {
        let versions = &self.compiled.gpu[l.kernel as usize].versions;
        let space = self.space(l);
        let laid: Vec<&Laid> = l.arrays.iter().map(|a| self.place(a.0)).collect();
        let chosen = |at: &usize| {
            let v = &versions[*at];
            // what follows another one is never launched by itself
            let wanted = match self.how.version == Some(*at) {
                true => !matches!(v.grid, Grid::Sums(..)),
                false => v.pays(&space.extents, space.segment as u64),
            };
            (v.steps == 0 || several.is_some_and(|s| s.0 == i64::from(v.steps)))
                && space.extents.iter().all(|n| *n >= v.extent.into())
                && self.holds(l, &laid, space.n, v)
                && wanted
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
        let (v, space) = (&gpu.versions[version], self.space(l));
        let (mut scratch, mut counters) = (Vec::new(), None);
        if let Grid::Tiles(..) | Grid::Chunks(..) | Grid::Strips(..) | Grid::Panels(..) = v.grid {
            let elements = space.scratch(v);
            scratch = l.scratch.iter().map(|ty| self.memory.allocate(*ty, elements)).collect();
            let groups = (space.tiles() + TILE - 1) / TILE;
            let count = (groups + 1).max(space.n * i64::from(l.segment.is_some())) as usize;
            counters = Some(self.memory.filled(Ty::U32, &vec![Lit::u32(0); count]));
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
        let span = space.span(v, self.how.span, several);
        if !can_be_chosen(v, span) {
            return Err(Failure::Rules(format!("{}: the runtime never chooses the span {span}", v.entry)));
        }
        let blocks = v.grid.blocks(&space.extents, space.segment as u64, v.threads, span) as u32;
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

    /// Whether a version's conditions hold.
    fn holds(&self, l: &Launch, arrays: &[&Laid], n: i64, v: &GpuVersion) -> bool {
        let writes = |write: bool| {
            let used = l.arrays.iter().zip(arrays).filter(move |(a, _)| (a.1 == Access::Write) == write);
            used.map(|(_, laid)| laid.arg.memory)
        };
        let aligned = |i: &u32| {
            let a = &arrays[*i as usize];
            let size = self.plan_ty(l.arrays[*i as usize].0).size() as i64;
            // rows without gaps have no starts of their own
            let axes = if v.flat.contains(i) { 0 } else { a.strides.len().saturating_sub(1) };
            let outer = &a.strides[..axes];
            [a.arg.offset as i64].iter().chain(outer).all(|at| (at * size) % 16 == 0)
        };
        let limit = (1i64 << 31) - (1 << 20);
        let narrow = n < limit && arrays.iter().all(|a| (a.arg.len as i64 * a.arg.stride).abs() < limit);
        (!v.contiguous || arrays.iter().all(|a| a.strides.last().is_none_or(|s| *s == 1)))
            && v.flat.iter().all(|i| arrays[*i as usize].is_flat())
            && (!v.separate || !writes(true).any(|w| writes(false).any(|r| r == w)))
            && v.aligned.iter().all(aligned)
            && v.longest
                .is_none_or(|most| l.segment.is_some_and(|d| self.host[d.0 as usize].as_i64() <= most.into()))
            && (!v.narrow || narrow)
    }
}
