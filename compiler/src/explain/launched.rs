//! What the launch policy ([`crate::plan::policy`]) decides for given sizes. The functions are those of the runtime.
//! They are asked about dense arrays that begin at multiples of 16 bytes, and no output overlaps an input.

use super::formula::Formulas;
use super::model::{Launched, Started};
use crate::core::Op;
use crate::driver::Compiled;
use crate::plan::gpu::GpuKernel;
use crate::plan::policy::{Device, Layout, Space};
use crate::plan::{HostId, Launch, Place, Plan};

/// The device for which launches are decided: an H100 or H200.
const DEVICE: Device = Device { multiprocessors: 132, capability: 90 };

/// The host scalars and lengths of a plan, as far as they follow from the given sizes.
pub struct Sizes<'a> {
    plan: &'a Plan,
    host: Vec<Option<i64>>,
    /// The extents of each parameter.
    params: Vec<Option<Vec<i64>>>,
}

impl<'a> Sizes<'a> {
    /// Computes the sizes of a plan whose function has these formulas.
    pub fn of(plan: &'a Plan, formulas: &mut Formulas) -> Sizes<'a> {
        let host = formulas.host(plan);
        let mut length = |p: u32, axis: u8| {
            let length = Op::Len(formulas.g.add(Op::Param(p)), axis);
            let length = formulas.g.add(length);
            formulas.value(length).map(|l| l.as_i64())
        };
        let params = plan.params.iter().zip(0..);
        let params =
            params.map(|(slot, p)| (0..slot.ty.rank).map(|axis| length(p, axis)).collect()).collect();
        let values = formulas.values(&host).into_iter();
        Sizes { plan, host: values.map(|value| value.map(|l| l.as_i64())).collect(), params }
    }

    fn scalar(&self, h: &HostId) -> Option<i64> {
        self.host[h.0 as usize]
    }

    fn extents(&self, place: Place) -> Option<Vec<i64>> {
        match place {
            Place::Param(p) => self.params[p as usize].clone(),
            _ => self.plan.slot(place).extents.iter().map(|h| self.scalar(h)).collect(),
        }
    }

    /// Returns the kernels of a launch that makes `steps` steps of an iteration, if some variant
    /// can, or None if some size is not known.
    pub fn launched(&self, c: &Compiled, l: &Launch, steps: u64) -> Option<Launched> {
        let decide = |kernel: &GpuKernel, variant: Option<usize>, space: &Space| {
            let decision = kernel.decide(variant?, space, DEVICE);
            let started = decision.kernels().map(|k| {
                let v = &kernel.variants[k.variant];
                Started { entry: v.entry.clone(), blocks: k.blocks, threads: v.threads, span: k.span }
            });
            Some(Launched {
                multiprocessors: DEVICE.multiprocessors as u32,
                kernels: started.collect(),
                scratch_bytes: decision.scratch.bytes(&l.scratch),
                counters: decision.scratch.counters,
            })
        };
        self.chosen(c, l, steps, decide)?
    }

    /// Returns whether a GPU runs an alternative, which it does if some variant serves the call. Returns None if some
    /// size is not known or there is no code for GPUs.
    pub fn runs(&self, c: &Compiled, l: &Launch) -> Option<bool> {
        self.chosen(c, l, 1, |_, variant, _| variant.is_some())
    }

    /// Calls `then` with the first variant that runs for a launch of `steps` steps. Returns None if some size is not
    /// known.
    fn chosen<T>(
        &self,
        c: &Compiled,
        l: &Launch,
        steps: u64,
        then: impl FnOnce(&GpuKernel, Option<usize>, &Space) -> T,
    ) -> Option<T> {
        let kernel = c.kernels.get(l.kernel as usize)?.gpu_kernel()?;
        let length = |h: &HostId| self.scalar(h).map(|n| n.max(0) as u64);
        let extents = l.domain.iter().map(length).collect::<Option<Vec<u64>>>()?;
        let segment = l.segment.as_ref().map_or(Some(0), length)?;
        let space = Space { extents: &extents, inner_length: segment };
        let of_arrays = l.arrays.iter().map(|(place, _)| self.extents(*place)).collect::<Option<Vec<_>>>()?;
        let strides: Vec<Vec<i64>> = of_arrays.iter().map(|n| dense(n)).collect();
        let array = |i: usize| {
            let size = self.plan.slot(l.arrays.get(i)?.0).ty.elem.size();
            Some(Layout { extents: &of_arrays[i], strides: &strides[i], size, address: 0 })
        };
        let choose = |steps: i64| kernel.choose(&space, steps, DEVICE, array, || false, &[]);
        let several = choose(steps as i64);
        let makes_several = several.is_some_and(|v| kernel.variants[v].steps_per_launch.is_some());
        let variant = if makes_several { several } else { several.and_then(|_| choose(1)) };
        Some(then(&kernel, variant, &space))
    }
}

/// Returns the strides of a dense array.
fn dense(extents: &[i64]) -> Vec<i64> {
    let mut strides = vec![1i64; extents.len()];
    for axis in (1..extents.len()).rev() {
        strides[axis - 1] = strides[axis].saturating_mul(extents[axis].max(1));
    }
    strides
}
