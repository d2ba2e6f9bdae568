//! The launch policy for GPUs: which variant of a kernel runs for a call, how its work is distributed over the
//! device, and how much scratch its kernels share. It depends on the extents, strides and alignment of arrays, on the
//! number of multiprocessors and the compute capability of the device, and on measurements in tuning files
//! (`plan/tuning.rs`). The runtime and the simulator of the tests launch by it, and `--explain` reports its
//! decisions. Among CPU variants, the runtime's executor chooses.
//!
//! A launch of the plan is one kernel launch or two. Two kernels run for
//!
//! - a split-K product: the second one adds the panels' sums;
//! - a product with packed operands: the first one packs, the second one multiplies;
//! - rows and columns at once: the second one joins the parts of columns;
//! - bins in the result: the first one fills the bins with the identity, the second one joins the elements to them;
//! - a reduction of few long elements: the first one computes the elements, the second one reduces them.
//!
//! The plan has no step for the second kernel, because a plan is made once for CPUs and GPUs, and whether a product
//! is split is decided at the call, from its shape and strides. A [`Decision`] therefore lists the kernel launches of
//! one launch of the plan, in order, and its executor treats all of them alike.

mod busy;
mod spread;
#[cfg(test)]
mod tests;

use super::gpu::{GpuKernel, GpuVariant, Grid, Guards, pieces};
use crate::core::TILE;
use crate::scalar::Ty;

/// Limit for variants with 32-bit indices (`narrow`). Their arithmetic (`kernel/narrow.rs`) only needs that indices
/// in bounds fit into 31 bits. The limit is 2^20 lower, because threads of a grid's last, partial blocks also compute
/// indices beyond the end, which must not overflow either.
pub const NARROW: i64 = (1 << 31) - (1 << 20);
/// The number of blocks that must fit on a multiprocessor at once if a variant asks for dynamic shared memory: while
/// one waits at a barrier, another one computes.
const RESIDENT_WITH_SHARED: u32 = 2;
/// The bytes of shared memory that the hardware reserves for each block.
const RESERVED_SHARED: u32 = 1 << 10;
/// The number of scratch elements, of f32, that a piece of a packed operand takes.
const WORDS_OF_PIECE: u64 = 4;

/// The index space of a launch.
#[derive(Clone, Copy)]
pub struct Space<'a> {
    /// The extents, outermost first.
    pub extents: &'a [u64],
    /// The length of a segment, or the number of inner indices of a product; else 0.
    pub inner_length: u64,
}

impl Space<'_> {
    /// Returns the number of elements of the index space.
    pub fn elements(&self) -> u64 {
        self.extents.iter().copied().reduce(u64::saturating_mul).unwrap_or(0)
    }

    /// Returns the number of tiles of a segment.
    fn of_segment(&self) -> u64 {
        self.inner_length.div_ceil(TILE as u64)
    }
}

/// What the policy needs to know of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Device {
    /// The number of multiprocessors.
    pub multiprocessors: u64,
    /// The compute capability: 90 is 9.0.
    pub capability: u32,
}

impl Device {
    /// Returns the bytes of shared memory of a multiprocessor. For an unknown compute capability this is the least
    /// that any known device has.
    fn shared(&self) -> u32 {
        match self.capability {
            80 | 87 => 164 << 10,
            90 | 100 | 101 | 103 | 110 => 228 << 10,
            _ => 100 << 10,
        }
    }
}

/// How the elements of an array of a launch lie in memory.
#[derive(Clone, Copy)]
pub struct Layout<'a> {
    /// The extents, outermost first.
    pub extents: &'a [i64],
    /// The strides, in elements.
    pub strides: &'a [i64],
    /// Size of an element, in bytes.
    pub size: usize,
    /// The address of the first element, modulo a multiple of 16.
    pub address: usize,
}

impl Layout<'_> {
    /// Whether neighbours along the last axis are contiguous in memory.
    pub fn is_contiguous(&self) -> bool {
        self.strides.last().is_none_or(|s| *s == 1)
    }

    /// Whether the array has no gaps: all its elements lie side by side, in row-major order.
    pub fn is_flat(&self) -> bool {
        let mut dense = 1i64;
        let mut axes = self.extents.iter().zip(self.strides).rev();
        self.extents.contains(&0)
            || axes.all(|(n, s)| {
                let before = dense;
                dense = dense.wrapping_mul(*n);
                *n == 1 || *s == before
            })
    }

    /// Whether the first element, and that of every row unless the array is `flat`, has an address
    /// that is a multiple of 16 bytes.
    fn is_aligned(&self, flat: bool) -> bool {
        let outer = self.strides.len().saturating_sub(1);
        let mut rows = self.extents.iter().zip(self.strides).take(outer).filter(|(n, _)| **n > 1);
        let bytes = |stride: i64| stride.unsigned_abs() as usize % 16 * self.size;
        self.address.is_multiple_of(16) && (flat || rows.all(|(_, s)| bytes(*s).is_multiple_of(16)))
    }

    /// Whether the number of elements, each extent, and the sum over the axes of extent times stride, stay below
    /// [`NARROW`].
    fn is_narrow(&self) -> bool {
        // an empty array may have one extent beyond the limit
        let count = self.extents.iter().fold(1i64, |n, e| n.saturating_mul((*e).max(1)));
        let mut axes = self.extents.iter().zip(self.strides).filter(|(n, _)| **n > 1);
        let reach = axes.try_fold(0i64, |sum, (n, s)| sum.checked_add(s.checked_abs()?.checked_mul(*n)?));
        count < NARROW && reach.is_some_and(|r| r < NARROW)
    }
}

/// The memory of the stream that the kernels of a launch share.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Scratch {
    /// Number of elements of each scratch array.
    pub elements: u64,
    /// Number of u32 counters of arrived blocks, which are zero before and after each kernel.
    pub counters: u64,
}

impl Scratch {
    /// Alignment of each scratch array, in bytes.
    const ALIGNMENT: u64 = 256;

    /// Returns the distance in bytes from an array of type `ty` to the next one.
    fn bytes_of(&self, ty: Ty) -> u64 {
        self.elements.saturating_mul(ty.size() as u64).saturating_add(Scratch::ALIGNMENT - 1)
            & !(Scratch::ALIGNMENT - 1)
    }

    /// Returns the size of scratch arrays of these types, one behind the other, in bytes.
    pub fn bytes(&self, types: &[Ty]) -> u64 {
        types.iter().fold(0, |sum: u64, ty| sum.saturating_add(self.bytes_of(*ty)))
    }

    /// Returns the offset of each of these scratch arrays, in bytes.
    pub fn offsets(&self, types: &[Ty]) -> impl Iterator<Item = u64> {
        types.iter().scan(0, |next: &mut u64, ty| {
            let begin = *next;
            *next = begin.saturating_add(self.bytes_of(*ty));
            Some(begin)
        })
    }
}

/// One variant of a kernel with its grid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KernelLaunch {
    /// The variant's index in its kernel.
    pub variant: usize,
    /// Number of blocks, at least 1.
    pub blocks: u64,
    /// The span ([`Grid`]), which is the last parameter of a kernel that has scratch; `None` for other kernels.
    pub span: Option<u32>,
}

/// The kernel launches that execute one launch of a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decision {
    kernels: [Option<KernelLaunch>; 2],
    /// The scratch that the kernels share.
    pub scratch: Scratch,
}

impl Decision {
    /// Returns the kernel launches, in order. There are none for no elements.
    pub fn kernels(&self) -> impl Iterator<Item = KernelLaunch> {
        self.kernels.into_iter().flatten()
    }
}

impl GpuKernel {
    /// Returns the variant that runs. `preferred` are the variants that were measured to be the fastest
    /// ([`Choices`](super::tuning::Choices)): the first of them that is right for the launch ([`GpuVariant::fits`])
    /// runs. If none is, the first of all variants runs that is right and whose profit holds. A variant that makes
    /// several steps of an iteration is right only if it makes exactly `steps`.
    pub fn choose<'l>(
        &self,
        space: &Space,
        steps: i64,
        device: Device,
        array: impl Fn(usize) -> Option<Layout<'l>>,
        writes_an_input: impl Fn() -> bool,
        preferred: &[usize],
    ) -> Option<usize> {
        let fits = |v: &GpuVariant| v.fits(space, steps, device, &array, &writes_an_input);
        let is_right =
            |v: &GpuVariant| v.has_acceptable_scratch(space.extents, space.inner_length) && fits(v);
        let measured = preferred.iter().copied().find(|at| self.variants.get(*at).is_some_and(is_right));
        let fastest = || {
            let mut first = (0..self.variants.len()).filter(|at| self.variants[*at].is_first());
            first.find(|at| fits(&self.variants[*at]) && self.is_profitable(*at, space, device))
        };
        measured.or_else(fastest)
    }

    /// Whether a variant's profit holds for this index space: its shape, the share of the device that is busy, and
    /// the amount of scratch.
    pub fn is_profitable(&self, variant: usize, space: &Space, device: Device) -> bool {
        let v = &self.variants[variant];
        // of a product with packed operands, the second kernel takes most of the time, so its blocks count
        let longest = if let Grid::Packs(_) = v.grid { &self.variants[variant + 1] } else { v };
        let is_busy = |share| longest.busy(space, device).is_at_least(share, 100);
        v.is_profitable(space, device) && v.profit.min_busy.is_none_or(is_busy)
    }

    /// Returns the kernel launches for the chosen variant.
    pub fn decide(&self, variant: usize, space: &Space, device: Device) -> Decision {
        let launch = |variant: usize| {
            let v = &self.variants[variant];
            let spread = v.spread(space, device.multiprocessors);
            let (span, scratch) = (spread.span, spread.scratch);
            let blocks = v.grid.blocks(space.extents, space.inner_length, v.threads, span.unwrap_or(1));
            let span = span.filter(|_| v.grid.has_scratch());
            let launch = KernelLaunch { variant, blocks, span };
            ((blocks > 0).then_some(launch), scratch)
        };
        let (first, scratch) = launch(variant);
        let second = self.follower(variant).and_then(|next| launch(next).0);
        Decision { kernels: [first, second], scratch }
    }

    /// Returns the variant that is launched after `variant`, if that is the first one of a pair ([`Grid`]).
    pub fn follower(&self, variant: usize) -> Option<usize> {
        self.variants[variant].grid.leaves_parts().then_some(variant + 1)
    }
}

impl GpuVariant {
    /// Whether a launch may begin with the variant: it is not the second one of a pair.
    pub fn is_first(&self) -> bool {
        !self.grid.follows()
    }

    /// Whether the variant takes an acceptable amount of scratch for this index space, whose elements are segments of
    /// length `segment`, and leaves no more there than the second kernel can join. False for a variant that is itself
    /// the second one of a pair.
    fn has_acceptable_scratch(&self, extents: &[u64], segment: u64) -> bool {
        // the maximum number of scratch elements for panels: 256 MiB of f32, which the stream keeps; indices have 31
        // bits. Packed operands may take twice as many: each of two matrices of 8192 x 8192 has 2^26 elements
        const MAX_SCRATCH: u64 = 1 << 26;
        match self.grid {
            Grid::Panels { rows, columns } => {
                let blocks = self.grid.blocks(extents, segment, self.threads, 1);
                blocks.saturating_mul(u64::from(rows) * u64::from(columns)) <= MAX_SCRATCH
            }
            Grid::Packs(piece) => {
                pieces(extents, segment, piece.into()).saturating_mul(WORDS_OF_PIECE) <= 2 * MAX_SCRATCH
            }
            // the kernel after it joins two levels of the tree (semantics 5.1), and so this many tiles
            Grid::Parts(_) | Grid::Stores(_) => {
                Space { extents, inner_length: segment }.elements() <= (TILE * TILE) as u64
            }
            grid => !grid.follows(),
        }
    }

    /// Whether all conditions of the profit hold but `min_busy`.
    fn is_profitable(&self, space: &Space, device: Device) -> bool {
        let (p, extents, segment) = (self.profit, space.extents, space.inner_length);
        let blocks = |segment: u64| self.grid.blocks(extents, segment, self.threads, 1);
        let of_panel = if let Grid::Panels { .. } = self.grid { 1 } else { segment };
        let axis = |from_last: usize| extents.iter().rev().nth(from_last).copied().unwrap_or(1);
        self.has_acceptable_scratch(extents, segment)
            && (self.shared == 0 || p.min_busy.is_some() || self.busy(space, device).is_at_least(7, 8))
            && p.min_blocks.is_none_or(|n| blocks(segment) >= n.into())
            && p.max_blocks.is_none_or(|n| blocks(of_panel) <= n.into())
            && p.max_elements.is_none_or(|n| space.elements() <= u64::from(n) * device.multiprocessors)
            && p.min_inner_length.is_none_or(|n| segment >= n.into())
            && p.max_rows.is_none_or(|n| axis(1) <= n.into())
            && p.max_columns.is_none_or(|n| axis(0) <= n.into())
            && p.min_rows.is_none_or(|n| axis(1) >= n.into())
            && p.min_columns.is_none_or(|n| axis(0) >= n.into())
    }

    /// Whether the variant's code is right for a launch: tests the guards, the conditions on single arrays, the
    /// number of steps per launch, and the device's shared memory. `writes_an_input` says whether an output is also
    /// an input; it is called only if that matters.
    pub fn fits<'l>(
        &self,
        space: &Space,
        steps: i64,
        device: Device,
        array: impl Fn(usize) -> Option<Layout<'l>>,
        writes_an_input: impl Fn() -> bool,
    ) -> bool {
        let arrays = || (0..).map_while(&array);
        let at = |i: &u32| array(*i as usize);
        let Guards { contiguous, narrow, noalias, .. } = self.guards;
        // the cheap conditions, which need no arrays, come first: they refuse most of a kernel's variants for other
        // lengths
        self.guards.allows(space.inner_length)
            && self.guards.allows_extents(space.extents)
            && self.guards.allows_device(device.capability)
            && (!contiguous || arrays().all(|a| a.is_contiguous()))
            && self.resident_with_shared() * (self.shared + RESERVED_SHARED) <= device.shared()
            && self.steps_per_launch.is_none_or(|n| i64::from(n.get()) == steps)
            && (!noalias || !writes_an_input())
            && self.flat.iter().all(|i| at(i).is_some_and(|a| a.is_flat()))
            && self.aligned.iter().all(|i| {
                at(i).is_some_and(|a| a.is_aligned(self.flat.contains(i) && !self.row_aligned.contains(i)))
            })
            && (!narrow || self.is_narrow(space, device) && arrays().all(|a| a.is_narrow()))
    }

    /// Whether the indices of elements and of scratch are below [`NARROW`]. Scratch must be tested apart from arrays:
    /// segments may share elements of an array, so that their tiles are more than those of the array.
    fn is_narrow(&self, space: &Space, device: Device) -> bool {
        let scratch = || self.spread(space, device.multiprocessors).scratch.elements;
        let (elements, of_segment) = (space.elements(), space.inner_length);
        elements < NARROW as u64
            && of_segment < NARROW as u64
            && (!self.grid.has_scratch() || scratch() < NARROW as u64)
    }

    /// Returns the number of blocks that must fit on a multiprocessor at once if the variant asks for dynamic shared
    /// memory. One suffices for a block that holds a long row in shared memory, because the launches that it replaces
    /// read the row several times, and for code of a single architecture, whose blocks were written for that size.
    fn resident_with_shared(&self) -> u32 {
        if let Grid::Tickets { resident, .. } = self.grid {
            return resident;
        }
        let may_be_alone = matches!(self.grid, Grid::Segments(_)) || self.guards.architecture.is_some();
        if may_be_alone { 1 } else { RESIDENT_WITH_SHARED }
    }

    /// Returns all spans that are chosen on devices with 1, 2, 4, .. multiprocessors, for tests.
    pub fn spans(&self, space: &Space) -> Vec<u32> {
        let devices = (0..16).map(|k| 1u64 << k);
        let mut all: Vec<u32> = devices.filter_map(|m| self.spread(space, m).span).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}
