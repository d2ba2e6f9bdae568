//! Decides which arrays are cheaper to store than to compute again at each read. Fusion
//! (`passes/fuse.rs`) uses this decision.
//!
//! An array whose elements are read at k places for each element of another array is computed k
//! times. On a GPU the factor is smaller, because a thread that computes a square of 4 by 4
//! elements (8 elements of a vector) computes the square and its halo once. Storing the array costs
//! a round trip through memory: 8 bytes for each element, in which time an H200 makes about 60
//! operations (2026-11-21: 0.128 ms for 2^26 elements of 4 bytes, at 30 TFLOP/s of multiply-adds).
//! So small stencils of stencils are fused, such as 3 x 3 of 3 x 3, but 5 x 5 of 5 x 5 is not.
//!
//! An array whose elements contain reductions is stored if it is read at two places or more.
//!
//! An operand of a matrix product, or of any nested operation that does not depend on all indices
//! around it, is computed again for each value of the other indices. The tiles of a product divide
//! this by about 64, which hides cheap elements, but not an elementary function.

use super::{Graph, NodeId, Op};
use crate::scalar::BinaryOp;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// The number of operations that take as long as one round trip of an element through memory.
const ROUND_TRIP: f64 = 60.0;
/// How often an element is counted that is computed for each value of an index on which it does not
/// depend. An elementary function is stored by it, a scaling by a constant is not.
const REPEATED: f64 = 4.0;
/// The least cost of a nested reduction, in operations.
const NESTED: f64 = 1000.0;

/// Returns the arrays that cost more to recompute than to store. The array with the cheapest
/// elements comes first, because others may be expensive only because of it. `elements` lists which
/// array was asked for an element at which indices, and that element. `repeated` has the arrays that
/// a nested operation computes again for each value of an index on which they do not depend.
pub fn too_expensive<'a>(
    g: &Graph,
    elements: impl Iterator<Item = (NodeId, &'a [NodeId], NodeId)>,
    repeated: &HashSet<NodeId>,
) -> Vec<NodeId> {
    let mut asked: HashMap<NodeId, (HashSet<&[NodeId]>, NodeId)> = HashMap::default();
    for (array, index, element) in elements {
        if matches!(g.op(array), Op::Map(..) | Op::Generate(..)) && g.is_closed(array) {
            asked.entry(array).or_insert((HashSet::default(), element)).0.insert(index);
        }
    }
    let cost = |(array, (places, element)): (&NodeId, &(HashSet<&[NodeId]>, NodeId))| {
        let more = factor(places.len(), g.ty(*array).rank) - 1.0;
        let more = if repeated.contains(array) { more + REPEATED } else { more };
        (*array, more * element_cost(g, *element))
    };
    let mut expensive: Vec<_> = asked.iter().map(cost).filter(|(_, cost)| *cost > ROUND_TRIP).collect();
    // equal costs are ordered by node, so that the result is deterministic
    expensive.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    expensive.into_iter().map(|(array, _)| array).collect()
}

/// Returns how often an element that is read at `places` places is computed, relative to once.
fn factor(places: usize, rank: u8) -> f64 {
    let places = places as f64;
    if rank == 1 {
        return (8.0 + places - 1.0) / 8.0;
    }
    let side = places.sqrt().ceil();
    ((4.0 + side - 1.0) / 4.0).powi(2)
}

/// Returns the operations of an element, without what is computed once for the call.
fn element_cost(g: &Graph, element: NodeId) -> f64 {
    let (mut seen, mut stack, mut cost) = (HashSet::default(), vec![element], 0.0);
    while let Some(n) = stack.pop() {
        if g.is_closed(n) || !seen.insert(n) {
            continue;
        }
        let op = g.op(n);
        cost += match op {
            op if op.is_reduction() => NESTED,
            Op::Unary(op, _) if op.is_elementary() => 20.0,
            Op::Binary(op, ..) if op.is_elementary() => 40.0,
            Op::Binary(BinaryOp::Div | BinaryOp::Rem, ..) => 8.0,
            Op::Unary(..) | Op::Binary(..) | Op::MulAdd(..) | Op::Select(..) => 1.0,
            _ => 0.0,
        };
        stack.extend(op.operands().chain(op.lambda().map(|l| l.body)));
    }
    cost
}

#[cfg(test)]
mod tests {
    use super::factor;

    #[test]
    fn more_places_cost_more() {
        assert_eq!(factor(1, 1), 1.0);
        assert_eq!(factor(1, 2), 1.0);
        assert_eq!(factor(9, 1), 2.0);
        assert_eq!(factor(25, 2), 4.0);
        assert!(factor(5, 2) == factor(9, 2));
    }
}
