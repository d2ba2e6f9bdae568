//! Where the arrays of a call lie: views of buffers, which the memory of the call is made of.

use crate::rng::Rng;
use arraygpu_compiler::scalar::Ty;

/// How the arrays of a call lie in memory.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Layout {
    /// One after another, stride 1.
    Contiguous,
    /// Each in its own way: any order of axes, gaps, backwards, inputs with stride 0.
    Scattered,
    /// Like `Contiguous`, but each array result lies in a parameter of its type and extents, if
    /// there is one.
    InPlace,
    /// Arrays of a type share a buffer, and results partly overlap parameters.
    Overlapping,
}

impl Layout {
    /// Every layout.
    pub const ALL: [Layout; 4] =
        [Layout::Contiguous, Layout::Scattered, Layout::InPlace, Layout::Overlapping];
}

/// A view of a buffer.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The buffer, by number.
    pub buffer: usize,
    pub offset: i64,
    pub extents: Vec<i64>,
    pub strides: Vec<i64>,
}

impl Place {
    /// The buffer's elements, in the array's row-major order.
    pub fn positions(&self) -> Vec<usize> {
        let mut all = vec![self.offset];
        for (n, stride) in self.extents.iter().zip(&self.strides) {
            all = all.into_iter().flat_map(|at| (0..*n).map(move |i| at + i * stride)).collect();
        }
        all.into_iter().map(|at| at as usize).collect()
    }
}

/// A buffer of a call: its type, and how many elements it has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Memory {
    pub ty: Ty,
    pub count: i64,
}

/// Places for the parameters, then the results; scalars have none.
pub(super) struct Places {
    pub buffers: Vec<Memory>,
    pub params: Vec<Option<Place>>,
    pub results: Vec<Option<Place>>,
}

/// Lays out arrays of these types and extents.
pub(super) fn places(
    params: &[Option<(Ty, Vec<i64>)>],
    results: &[Option<(Ty, Vec<i64>)>],
    layout: Layout,
    rng: &mut Rng,
) -> Places {
    let mut out = Places { buffers: Vec::new(), params: Vec::new(), results: Vec::new() };
    for p in params {
        let place = p.as_ref().map(|(ty, extents)| out.place(*ty, extents, layout, true, rng));
        out.params.push(place);
    }
    let mut taken: Vec<Place> = Vec::new();
    for r in results {
        let Some((ty, extents)) = r else {
            out.results.push(None);
            continue;
        };
        let mut place = None;
        if layout == Layout::InPlace {
            let fits = |p: &&Place| {
                let own = out.buffers[p.buffer].ty == *ty && p.extents == *extents;
                own && !taken.iter().any(|t| t.buffer == p.buffer)
            };
            place = out.params.iter().flatten().find(fits).cloned();
        }
        let mut place = place.unwrap_or_else(|| out.place(*ty, extents, layout, false, rng));
        // two results of one call must not share memory
        let own = place.positions();
        let shares = |t: &Place| t.buffer == place.buffer && t.positions().iter().any(|p| own.contains(p));
        if taken.iter().any(shares) {
            place = out.place(*ty, extents, Layout::Contiguous, false, rng);
        }
        taken.push(place.clone());
        out.results.push(Some(place));
    }
    out
}

impl Places {
    fn place(&mut self, ty: Ty, extents: &[i64], layout: Layout, input: bool, rng: &mut Rng) -> Place {
        let dense = Layout::Contiguous;
        match layout {
            Layout::Contiguous | Layout::InPlace => {
                self.own(ty, extents, &strides(extents, dense, input, rng))
            }
            Layout::Scattered => {
                let strides = strides(extents, layout, input, rng);
                self.own(ty, extents, &strides)
            }
            Layout::Overlapping => {
                let layout = if rng.one_in(3) { Layout::Scattered } else { dense };
                let strides = strides(extents, layout, input, rng);
                self.shared(ty, extents, &strides, rng)
            }
        }
    }

    /// A place in a buffer of its own, with some elements before and after.
    fn own(&mut self, ty: Ty, extents: &[i64], strides: &[i64]) -> Place {
        let (low, high) = reach(extents, strides);
        let dense = low == 0 && high == extents.iter().product::<i64>();
        let before = if dense { 0 } else { 3 };
        self.buffers.push(Memory { ty, count: before + high - low + 2 * before });
        let buffer = self.buffers.len() - 1;
        Place { buffer, offset: before - low, extents: extents.into(), strides: strides.into() }
    }

    /// A place in the first buffer of its type, near the beginning.
    fn shared(&mut self, ty: Ty, extents: &[i64], strides: &[i64], rng: &mut Rng) -> Place {
        let found = self.buffers.iter().position(|b| b.ty == ty);
        let buffer = found.unwrap_or_else(|| {
            self.buffers.push(Memory { ty, count: 0 });
            self.buffers.len() - 1
        });
        let (low, high) = reach(extents, strides);
        let step = rng.pick(&[0, 1, 2, 5, 64]);
        let offset = step - low;
        let end = offset + high + 1;
        self.buffers[buffer].count = self.buffers[buffer].count.max(end);
        Place { buffer, offset, extents: extents.into(), strides: strides.into() }
    }
}

/// The lowest element from the first one on, and one behind the highest.
fn reach(extents: &[i64], strides: &[i64]) -> (i64, i64) {
    if extents.contains(&0) {
        return (0, 0);
    }
    let ends = extents.iter().zip(strides).map(|(n, s)| (n - 1) * s);
    let (low, high) = ends.fold((0, 0), |(low, high), end: i64| (low + end.min(0), high + end.max(0)));
    (low, high + 1)
}

fn strides(extents: &[i64], layout: Layout, input: bool, rng: &mut Rng) -> Vec<i64> {
    let mut axes: Vec<usize> = (0..extents.len()).rev().collect();
    let mut next = 1;
    let mut strides = vec![0; extents.len()];
    let scattered = layout == Layout::Scattered;
    if scattered && rng.one_in(3) {
        axes.reverse();
    }
    if scattered && rng.one_in(3) {
        next = rng.pick(&[2, 3]);
    }
    for axis in axes {
        strides[axis] = next;
        next = next * extents[axis].max(1) + if scattered { rng.pick(&[0, 0, 1, 5]) } else { 0 };
        if scattered && rng.one_in(4) {
            strides[axis] = -strides[axis];
        }
        if scattered && input && rng.one_in(5) {
            strides[axis] = 0;
        }
    }
    strides
}
