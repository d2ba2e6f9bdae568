//! Elements that all rows read alike, such as those of the vector `x` in `t[i] = sum over j of a[i, j] * x[j]`. A
//! lane has the same columns `j` in every row, so it may load its elements of `x` once, before the loop over rows.

use super::{Array, Row, load_groups};
use crate::core::{Graph, NodeId, Op};
use crate::error::Result;
use crate::kernel::Stmt;
use crate::scalar::Ty;
use crate::schedule::cuda::resident_rows::mapping::Group;
use crate::schedule::cuda::resident_segments;
use crate::schedule::element::lower::{Loaded, Lower};
use crate::schedule::facts::ResidentSegments;
use crate::schedule::facts::segments::neighbours;
use rustc_hash::FxHashSet as HashSet;

/// The elements that are in registers for all rows, and the arrays they belong to.
#[derive(Clone, Default)]
pub struct Common {
    loaded: Loaded,
    arrays: HashSet<Array>,
}

impl Common {
    /// Loads this lane's elements of the arrays that `rows` and the nodes `more` read at the same places in every
    /// row, if `words` registers suffice for them and for the values kept of a row's elements. Otherwise it loads
    /// nothing, and each row loads these elements where they are needed: with only some of them in registers, the
    /// assembler spills.
    pub fn load(
        l: &mut Lower,
        rows: &ResidentSegments,
        more: Vec<NodeId>,
        groups: &[Group],
        words: i64,
        out: &mut Vec<Stmt>,
    ) -> Result<Common> {
        let size = |ty: Ty| (ty.size() as i64).max(4) / 4;
        let (mut roots, mut of_element) = (more, 0);
        for stage in 0..rows.stages.len() {
            let (nodes, kept) = resident_segments::nodes(l, rows, stage, &HashSet::default());
            let kept = nodes.iter().zip(kept).filter(|(_, is_kept)| *is_kept);
            of_element += kept.map(|(n, _)| size(l.launch.g.ty(*n).elem)).sum::<i64>();
            roots.extend(resident_segments::roots(l.launch, rows, stage));
        }
        let mut arrays = neighbours(l.launch, &roots, rows.element);
        arrays.retain(|(_, outer)| is_known_before(&l.launch.g, outer));
        of_element += arrays.iter().map(|(x, _)| size(l.launch.g.ty(*x).elem)).sum::<i64>();
        let elements: usize = groups.iter().map(|g| g.indices.len()).sum();
        if of_element * elements as i64 > words {
            return Ok(Common::default());
        }
        l.with_loaded(Loaded::default(), |l| {
            for (x, outer) in &arrays {
                load_groups(l, (*x, outer), groups, &[], out)?;
            }
            let loaded = l.scope.loaded.take().unwrap_or_default();
            Ok(Common { loaded, arrays: arrays.into_iter().collect() })
        })
    }
}

/// Whether indices have the same values for all rows and depend on sizes and scalars alone.
fn is_known_before(g: &Graph, indices: &[NodeId]) -> bool {
    let is_simple = |n: NodeId| {
        let is_read = matches!(g.op(n), Op::Elem(..) | Op::At(..));
        g.is_closed(n) && !is_read && !g.op(n).is_reduction()
    };
    g.reachable(indices.iter().copied()).into_iter().all(is_simple)
}

impl<'a> Row<'a> {
    /// Returns the row with the common elements known to be in registers.
    pub fn with_common(self, common: Common) -> Row<'a> {
        Row { loaded: common.loaded, arrays: common.arrays, ..self }
    }
}
