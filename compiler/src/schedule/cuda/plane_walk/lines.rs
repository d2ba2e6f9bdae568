//! The lines that a thread loads in a step, and their order.

use crate::schedule::cuda::register_tiling::placement::{Line, PlaneTiling};
use crate::schedule::cuda::register_window;
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::facts::stencil::Stencil;
use std::collections::{BTreeMap, BTreeSet};

/// The order of the lines of a step. Plane by plane suits sums that go through planes first: they shrink to one value
/// for each element. Other sums, such as those that add neighbours in opposite directions, need lines of all planes
/// before a row is complete: row by row, few of their rows are in registers at once.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Order {
    Planes,
    Rows,
}

impl Order {
    /// Returns the place of a line in the order of a step. Lines of the same place are loaded before anything is
    /// computed with them.
    pub fn place(self, line: &Line) -> (i64, i64) {
        let row = line.at.len() - 1;
        match self {
            Order::Planes => (line.at[row - 1], line.at[row]),
            Order::Rows => (line.at[row], line.at[row - 1]),
        }
    }
}

/// Returns, in order, the lines that a thread's rows of `planes` planes read.
pub fn lines(
    l: &LaunchContext,
    stencils: &[&Stencil],
    tiling: PlaneTiling,
    planes: i64,
    order: Order,
) -> Vec<Line> {
    let mut all = Vec::new();
    for s in stencils {
        let mut lanes: BTreeMap<Vec<i64>, BTreeSet<i64>> = BTreeMap::new();
        for tap in &s.taps {
            let Some((column, before)) = tap.split_last() else { continue };
            for (p, r) in (0..planes).flat_map(|p| (0..tiling.thread_rows).map(move |r| (p, r))) {
                let mut at = before.to_vec();
                let row = at.len() - 1;
                at[row] += r;
                at[row - 1] += p;
                lanes.entry(at).or_default().extend(tiling.thread_columns().map(|k| column + k));
            }
        }
        let width = if tiling.column_stride == 1 { register_window::widest(l, s.array, tiling.v) } else { 1 };
        let line = |(at, lanes)| Line { array: s.array, at, pieces: register_window::pieces(&lanes, width) };
        all.extend(lanes.into_iter().map(line));
    }
    all.sort_by_key(|line| order.place(line));
    all
}
