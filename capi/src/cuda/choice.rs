//! Which version of a kernel a launch takes, on how large a grid.

use super::execute::Call;
use super::launch::{Prepared, Start};
use crate::error::{INTERNAL, MODULE, Result, fail};
use crate::execute::{elements, place_of, writes_an_input};
use crate::view::{AXES, Span};
use crate::workspace::Workspace;
use arraygpu_compiler::plan::Launch;
use arraygpu_compiler::plan::gpu::{GpuVersion, Grid};
use arraygpu_compiler::plan::launch::{Layout, Space};
use std::ptr::null_mut;

impl Call<'_> {
    /// Decides one launch, and loads its code.
    pub(super) fn decide(&self, l: &Launch, each: i64, ws: &Workspace) -> Result<Prepared> {
        let mut room = [0; AXES];
        let space = space(l, ws, &mut room)?;
        let (number, version) = self.version(l, &space, each, ws)?;
        let multiprocessors = u64::from(self.gpu.device.multiprocessors);
        let spread = version.spread(&space, multiprocessors);
        let start = |number: usize, version: &'static GpuVersion, span: Option<u32>| {
            let blocks =
                version.grid.blocks(space.extents, space.segment, version.threads, span.unwrap_or(1));
            let Some(blocks) = u32::try_from(blocks).ok().filter(|b| *b <= i32::MAX as u32) else {
                fail!(INTERNAL, "kernel {} over {} elements needs {blocks} blocks", l.name, space.elements());
            };
            let kernel = l.kernel as usize;
            let function = match blocks {
                0 => null_mut(),
                _ => self.gpu.function(self.loaded.id, self.images, kernel, number)?,
            };
            Ok(Start { function, version, blocks, span })
        };
        let first = start(number, version, spread.span)?;
        let second = match version.grid {
            Grid::Panels(..) => {
                let after = &self.images.kernels[l.kernel as usize].versions[number + 1];
                Some(start(number + 1, after, after.spread(&space, multiprocessors).span)?)
            }
            _ => None,
        };
        Ok(Prepared { first, second, scratch: (spread.scratch, spread.counters) })
    }

    /// The first version whose conditions hold; of those that make several steps of an iteration, those that make so many.
    pub(super) fn version(
        &self,
        l: &Launch,
        space: &Space,
        each: i64,
        ws: &Workspace,
    ) -> Result<(usize, &'static GpuVersion)> {
        let array =
            |i: usize| l.arrays.get(i).map(|(p, _)| layout(&ws.spans[place_of(&self.entry.plan, *p)]));
        let holds = |v: &&GpuVersion| {
            v.fits(space, each, array, || writes_an_input(l, ws)) && v.pays(space.extents, space.segment)
        };
        let kernel = &self.images.kernels[l.kernel as usize];
        if let Some(why) = &kernel.absent {
            fail!(MODULE, "kernel {} has no code for GPUs: {why}; a CPU context runs it", l.name);
        }
        match kernel.versions.iter().enumerate().find(|(_, v)| holds(v)) {
            Some(found) => Ok(found),
            None => {
                ws.frame.lacks_version.set(true);
                fail!(MODULE, "kernel {} has no version for GPUs that fits", l.name)
            }
        }
    }
}

/// How an array lies.
fn layout(span: &Span) -> Layout<'_> {
    let (extents, strides) = (&span.extents[AXES - span.rank..], &span.strides[AXES - span.rank..]);
    Layout { extents, strides, size: span.ty.size(), address: span.base.addr() }
}

/// What a launch is over; no extent is negative.
pub(super) fn space<'r>(l: &Launch, ws: &Workspace, room: &'r mut [u64; AXES]) -> Result<Space<'r>> {
    elements(l, ws)?;
    let extents = &mut room[..l.domain.len()];
    for (n, d) in extents.iter_mut().zip(&l.domain) {
        *n = ws.host[d.0 as usize].as_i64().max(0) as u64;
    }
    let segment = l.segment.map_or(0, |d| ws.host[d.0 as usize].as_i64()).max(0) as u64;
    Ok(Space { extents, segment })
}
