//! Transposed reads: reads of an array whose last index is the element's row, while another index is the element's
//! column. Neighbouring elements then read different rows of the array, so their loads do not coalesce. A GPU kernel
//! loads a tile of the array by its rows into shared memory, and reads it from there by columns.
//!
//! ```text
//! generate n m (%i, %j) { .. elem %x, %j, (%i + 2) .. elem %y, %i, %j .. }    ->    x: column + 0, row + 2
//! ```

use crate::core::linear::Linear;
use crate::core::{Graph, NodeId, Op};
use std::fmt;

/// The maximum distance, in rows or in columns, between reads of one array that are taken together.
const NEAR: u64 = 16;
/// A constant of this size or more is not taken for a distance, so that sums of distances stay far
/// from the ends of i32.
const FAR: u64 = 1 << 30;

/// The index of a transposed read along one axis of its array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AxisIndex {
    /// The row of the element, plus a constant.
    Row,
    /// The column of the element, plus a constant.
    Column,
    /// A value that depends on neither.
    Other(NodeId),
}

/// Transposed reads of one array whose indices differ in constants only. They share a tile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransposedReads {
    /// The array.
    pub array: NodeId,
    /// The indices. The last is the row, and another one the column.
    pub axes: Vec<AxisIndex>,
    /// The constants that are added to the column and to the row, of each read.
    pub distances: Vec<[i64; 2]>,
}

/// How a GPU kernel makes an array that is read transposed available to its threads; reported to
/// the author.
#[derive(Clone, PartialEq, Debug)]
pub struct TiledArray {
    /// The array's name.
    pub array: String,
    /// The number of rows and columns of the tile.
    pub tile: [i64; 2],
    /// Number of bytes that a block loads from the array, divided by the number of elements that it
    /// computes.
    pub loaded: f64,
}

impl fmt::Display for TiledArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (array, [rows, columns], loaded) = (&self.array, self.tile, self.loaded);
        write!(f, "transposed {array}: a tile of {rows} by {columns} in shared memory, ")?;
        write!(f, "loads {loaded:.1} bytes an element: {}", self.why())
    }
}

impl TiledArray {
    /// Returns the reason for the tile.
    pub fn why(&self) -> &'static str {
        "neighbouring elements read different rows, and a line of a cache has elements of one row"
    }
}

/// Returns the transposed reads in the values `roots` of the element at `index`.
pub fn of(g: &Graph, index: &[NodeId], roots: Vec<NodeId>) -> Vec<TransposedReads> {
    let mut all: Vec<TransposedReads> = Vec::new();
    for n in g.reachable(roots) {
        let Op::Elem(array, at) = g.op(n) else { continue };
        let Some((axes, distance)) = transposed(g, at, index) else { continue };
        let is_near = |other: &[i64; 2]| (0..2).all(|i| other[i].abs_diff(distance[i]) <= NEAR);
        let same =
            |r: &&mut TransposedReads| r.array == *array && r.axes == axes && r.distances.iter().all(is_near);
        match all.iter_mut().find(same) {
            Some(reads) if reads.distances.contains(&distance) => {}
            Some(reads) => reads.distances.push(distance),
            None => all.push(TransposedReads { array: *array, axes, distances: vec![distance] }),
        }
    }
    all
}

/// Returns the indices of a transposed read, and the constants that it adds to the column and to the row; `None` if
/// it is not a transposed read.
fn transposed(g: &Graph, at: &[NodeId], index: &[NodeId]) -> Option<(Vec<AxisIndex>, [i64; 2])> {
    let [.., row, column] = *index else { return None };
    let (mut axes, mut distance) = (Vec::new(), [0, 0]);
    for i in at {
        let form = Linear::of(g, *i);
        let is = |of: NodeId| form.terms.len() == 1 && form.terms.get(&of) == Some(&1);
        let depends = |on: NodeId| g.node(*i).free.iter().any(|v| g.node(on).free.contains(v));
        let (axis, which) = match (is(column), is(row)) {
            (true, _) => (AxisIndex::Column, 0),
            (_, true) => (AxisIndex::Row, 1),
            _ if depends(row) || depends(column) => return None,
            _ => {
                axes.push(AxisIndex::Other(*i));
                continue;
            }
        };
        if axes.contains(&axis) || form.constant.unsigned_abs() >= FAR {
            return None;
        }
        axes.push(axis);
        distance[which] = form.constant;
    }
    let is_transposed = axes.last() == Some(&AxisIndex::Row) && axes.contains(&AxisIndex::Column);
    is_transposed.then_some((axes, distance))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::parse;
    use crate::passes::pipeline;
    use crate::schedule::element::opened;
    use crate::schedule::groups;

    /// The distances of each array of a function's only group, by the place of its column's axis.
    fn of_text(text: &str) -> Vec<(usize, Vec<[i64; 2]>)> {
        let f = pipeline::run(&parse::parse(text).unwrap().remove(0), &mut |_, _| ()).unwrap();
        let fused = groups::fused_groups(&f).unwrap().remove(0);
        let mut g = f.graph.clone();
        let index: Vec<NodeId> = g.sample_index(fused.domain.len()).iter().map(|v| v.1).collect();
        let roots = fused.items.iter().map(|it| opened(&mut g, it.node, &index)).collect();
        let column = |r: &TransposedReads| r.axes.iter().position(|a| *a == AxisIndex::Column).unwrap();
        of(&g, &index, roots).into_iter().map(|r| (column(&r), r.distances)).collect()
    }

    #[test]
    fn reads_of_matrices_and_planes() {
        let found = of_text(
            "func @f(%x: [[f32]], %y: [[[f32]]], %z: [[f32]]) -> (r: [[[f32]]]) {
  %n0 = len %x
  %m0 = len %x axis 1
  %n = sub %n0, 20i64
  %m = sub %m0, 3i64
  %p = len %y axis 1
  require extent 0i64, %n \"r\"
  require extent 0i64, %m \"r\"
  %n1 = len %y
  %m1 = len %y axis 2
  require same %n, %n1 \"y\"
  require same %m, %m1 \"y\"
  %n2 = len %z
  %m2 = len %z axis 1
  require same %n, %m2 \"z\"
  require same %m, %n2 \"z\"
  %r = generate %p, %m, %n (%k: i64, %i: i64, %j: i64) {
    %j1 = add %j, 1i64
    %i3 = add %i, 3i64
    %j20 = add %j, 20i64
    %a = at %x, %j1, %i
    %b = at %x, %j, %i3
    %c = at %x, %j20, %i
    %d = at %y, %j, %k, %i
    %e = at %z, %i, %j
    %s1 = add %a, %b
    %s2 = add %c, %d
    %s3 = add %s1, %s2
    %s = add %s3, %e
    yield %s
  }
  return %r
}",
        );
        let mut found = found;
        found.iter_mut().for_each(|f| f.1.sort());
        found.sort();
        assert_eq!(found, [(0, vec![[0, 0]]), (0, vec![[0, 3], [1, 0]]), (0, vec![[20, 0]])]);
    }
}
