//! Chooses what a launch runs: asks the launch policy (`plan::policy` of the compiler) with the layout of the call's
//! arrays, and with the choice of a tuning file for their sizes if there is one; then loads the code.

use super::call::Call;
use super::frame::Running;
use crate::error::{MODULE, Result, SHAPE, fail};
use crate::places::{elements, place_of, writes_an_input};
use crate::span::{RANKS, Span};
use crate::workspace::Workspace;
use arraygpu_compiler::counted;
use arraygpu_compiler::plan::Launch;
use arraygpu_compiler::plan::gpu::GpuVariant;
use arraygpu_compiler::plan::policy::{Layout, Scratch, Space};
use arraygpu_compiler::plan::tuning::Choice;

impl Call<'_> {
    /// Decides one launch, which runs variant `number`: appends its kernels, with their code loaded, to `kernels`,
    /// and returns the scratch that they share.
    pub(super) fn decide(
        &self,
        l: &Launch,
        number: usize,
        ws: &Workspace,
        kernels: &mut Vec<Running>,
    ) -> Result<Scratch> {
        let mut room = [0; RANKS];
        let space = space(l, ws, &mut room)?;
        let kernel = self.images.kernel(l.kernel)?;
        let decision = kernel.decide(number, &space, self.gpu.device.policy());
        for k in decision.kernels() {
            let Some(blocks) = u32::try_from(k.blocks).ok().filter(|b| *b <= i32::MAX as u32) else {
                let (n, blocks) = (space.elements(), k.blocks);
                let limit = i32::MAX;
                fail!(
                    SHAPE,
                    "kernel {} over {} needs {blocks} blocks, at most {limit}",
                    l.name,
                    counted(n, "element")
                );
            };
            let function = self.gpu.function(self.loaded.id, self.images, l.kernel as usize, k.variant)?;
            kernels.push(Running { function, variant: &kernel.variants[k.variant], blocks, span: k.span });
        }
        Ok(decision.scratch)
    }

    /// Whether a tuning file has choices for a launch's kernel.
    pub(super) fn is_tuned(&self, l: &Launch) -> bool {
        self.tuned.as_ref().and_then(|tuned| tuned.get(l.kernel as usize)).is_some_and(|c| !c.is_empty())
    }

    /// Returns the choice of a tuning file for a launch.
    pub(super) fn measured(&self, l: &Launch, space: &Space) -> Option<&Choice> {
        self.tuned.as_ref()?.get(l.kernel as usize)?.of(space)
    }

    /// Returns the number of the variant that was measured to be the fastest, or of the first one whose guards and
    /// profit hold.
    pub(super) fn find(&self, l: &Launch, space: &Space, each: i64, ws: &Workspace) -> Result<Option<usize>> {
        let array =
            |i: usize| l.arrays.get(i).map(|(p, _)| layout(&ws.spans[place_of(&self.entry.plan, *p)]));
        let device = self.gpu.device.policy();
        let kernel = self.images.kernel(l.kernel)?;
        let preferred = self.measured(l, space).map_or(&[][..], Choice::variants);
        Ok(kernel.choose(space, each, device, array, || writes_an_input(l, ws), preferred))
    }

    /// Returns the variant that runs. A variant that makes several steps of an iteration is considered only if it
    /// makes exactly that many.
    pub(super) fn variant(
        &self,
        l: &Launch,
        space: &Space,
        each: i64,
        ws: &Workspace,
    ) -> Result<(usize, &'static GpuVariant)> {
        let kernel = self.images.kernel(l.kernel)?;
        if let Some(why) = &kernel.absent {
            fail!(MODULE, "kernel {} has no code for GPUs: {why}; a CPU context runs it", l.name);
        }
        match self.find(l, space, each, ws)? {
            Some(number) => Ok((number, &kernel.variants[number])),
            None => {
                ws.frame.lacks_variant.set(true);
                fail!(MODULE, "kernel {} has no version for GPUs that fits", l.name)
            }
        }
    }
}

/// Returns the layout of an array.
fn layout(span: &Span) -> Layout<'_> {
    Layout {
        extents: span.shape(),
        strides: span.distances(),
        size: span.ty.size(),
        address: span.base.addr(),
    }
}

/// Returns the index space of a launch, in which no extent is negative.
pub(super) fn space<'r>(l: &Launch, ws: &Workspace, room: &'r mut [u64; RANKS]) -> Result<Space<'r>> {
    elements(l, ws)?;
    let extents = &mut room[..l.domain.len()];
    for (n, d) in extents.iter_mut().zip(&l.domain) {
        *n = ws.host[d.0 as usize].as_i64().max(0) as u64;
    }
    let segment = l.segment.map_or(0, |d| ws.host[d.0 as usize].as_i64()).max(0) as u64;
    Ok(Space { extents, inner_length: segment })
}
