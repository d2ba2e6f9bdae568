//! Launches that compute several groups at once, and run instead of the launches of these where a device has
//! code that serves the call ([`crate::plan::Step::Instead`]).

use super::groups::FusedGroup;
use super::scheduler::Scheduler;
use super::{resident_rows, resident_vector, rows_and_columns, stencil_chain, stored_columns};
use crate::error::Result;
use crate::plan::Step;

/// What a launch that computes several groups does.
#[derive(Clone, Copy)]
pub(super) enum Alternative {
    /// Rows, [`resident_rows`].
    Rows,
    /// A vector, [`resident_vector`].
    Vector,
    /// Nothing: it stores the elements of the columns that it reduces, [`stored_columns`].
    Columns,
    /// Rows, whose columns it reduces then, [`rows_and_columns`].
    RowsAndColumns,
    /// Matrices of which each is a stencil of those before it, [`stencil_chain`].
    Stencils,
}

impl Scheduler<'_> {
    /// Adds the launch that computes several groups at once, the first of which is number `first`, if there
    /// is one. Returns the number of these groups, whose launches must follow.
    pub(super) fn alternative(
        &mut self,
        first: usize,
        fused_groups: &[FusedGroup],
        scalars: &[Vec<u32>],
        kernel: u32,
    ) -> Result<usize> {
        let (groups, scalars, g) = (&fused_groups[first..], &scalars[first..], &self.f.graph);
        let chains = [
            (resident_rows::chain(g, groups, scalars), Alternative::Rows),
            (resident_vector::chain(groups, scalars), Alternative::Vector),
            (stored_columns::chain(g, groups, scalars), Alternative::Columns),
            (rows_and_columns::chain(g, groups, scalars), Alternative::RowsAndColumns),
            (stencil_chain::chain(g, groups, scalars), Alternative::Stencils),
        ];
        for (most, what) in chains {
            for count in (2..=most.unwrap_or(0)).rev() {
                let (chain, later) = groups.split_at(count);
                let needed = resident_rows::needed_later(self.f, later, &scalars[count..]);
                let joined = match what {
                    Alternative::Rows => resident_rows::joined(g, chain, &needed),
                    Alternative::Vector => resident_vector::joined(g, self.one, chain, &needed),
                    Alternative::Columns => stored_columns::joined(g, chain, &needed),
                    Alternative::RowsAndColumns => Some(rows_and_columns::joined(chain, &needed)),
                    Alternative::Stencils => stencil_chain::joined(chain, &needed),
                };
                let Some(fused) = joined else { continue };
                let before = self.previous_arrays.clone();
                let suffix = match what {
                    Alternative::Columns => "columns",
                    Alternative::RowsAndColumns => "both",
                    Alternative::Stencils => "chain",
                    Alternative::Rows | Alternative::Vector => "rows",
                };
                let name = format!("{}_{first}_{suffix}", self.name);
                let made = self.launch(name, &fused, &[], kernel, Some((what, chain, &needed)))?;
                self.previous_arrays = before;
                // a launch that waits for a scalar of another one is not instead of others
                let Some((launch, variants)) = made.filter(|(launch, _)| launch.slots.is_empty()) else {
                    continue;
                };
                self.alloc(&launch);
                self.plan.steps.push(Step::Instead(0));
                self.plan.steps.push(Step::Launch(launch));
                self.kernels.push(variants);
                return Ok(count);
            }
        }
        Ok(0)
    }

    /// Notes that the steps behind the last launch that is instead of others end here.
    pub(super) fn end_alternative(&mut self) {
        let steps = &mut self.plan.steps;
        if let Some(at) = steps.iter().rposition(|s| matches!(s, Step::Instead(0))) {
            steps[at] = Step::Instead((steps.len() - at - 2) as u32);
        }
    }
}
