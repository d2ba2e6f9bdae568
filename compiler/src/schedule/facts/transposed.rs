//! Transposed reads: reads of an array whose last index follows the element's row, while another index follows the
//! element's column. Neighbouring elements then read different rows of the array, so their loads do not coalesce. A
//! GPU kernel loads a tile of the array by its rows into shared memory, and reads it from there by columns.
//!
//! ```text
//! generate n m (%i, %j) { .. elem %x, %j, (%i + 2) .. elem %y, %i, %j .. }    ->    x: column + 0, row + 2
//! generate n m (%i, %j) { .. elem %x, (%p - 1 - %j), (%k + %i) .. }           ->    x: p - 1 - column, k + row
//! ```
//!
//! Rotations and anti-transposes are such reads: an index may go down as the row or the column goes up.

use crate::core::linear::Linear;
use crate::core::{Graph, NodeId, Op};
use std::fmt;

/// The maximum distance, in rows or in columns, between reads of one array that are taken together.
const NEAR: u64 = 16;
/// A constant of this size or more is not taken for a distance, so that sums of distances stay far
/// from the ends of i32.
const FAR: u64 = 1 << 30;

/// An index that grows or falls by one with the element's row, or with its column. With `v` for that row or column
/// plus the read's distance, it is `base + v`, or `base - 1 - v` if it is mirrored: `x` from its end on, if the base
/// is a length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Affine {
    /// A value that depends on neither row nor column; `None` is 0.
    pub base: Option<NodeId>,
    /// Whether the index falls as the row or column grows.
    pub is_mirrored: bool,
}

/// The index of a transposed read along one axis of its array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AxisIndex {
    /// An index that follows the element's row.
    Row(Affine),
    /// An index that follows the element's column.
    Column(Affine),
    /// A value that depends on neither.
    Other(NodeId),
}

/// Transposed reads of one array whose indices differ in constants only. They share a tile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransposedReads {
    /// The array.
    pub array: NodeId,
    /// The indices. The last follows the row, and another one the column.
    pub axes: Vec<AxisIndex>,
    /// The constants that are added to the column and to the row, of each read. A mirrored index falls as they grow.
    pub distances: Vec<[i64; 2]>,
}

impl TransposedReads {
    /// Returns the axis whose index follows the element's column.
    pub fn column_axis(&self) -> usize {
        self.axes.iter().position(|a| matches!(a, AxisIndex::Column(_))).unwrap_or(0)
    }

    /// Returns how the indices follow the element's column and its row.
    pub fn affine(&self) -> [Affine; 2] {
        let of = |axis: Option<&AxisIndex>| match axis {
            Some(AxisIndex::Row(affine) | AxisIndex::Column(affine)) => *affine,
            _ => Affine { base: None, is_mirrored: false },
        };
        [of(self.axes.get(self.column_axis())), of(self.axes.last())]
    }
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
pub fn of(g: &mut Graph, index: &[NodeId], roots: Vec<NodeId>) -> Vec<TransposedReads> {
    let mut all: Vec<TransposedReads> = Vec::new();
    for n in g.reachable(roots) {
        let Op::Elem(array, at) = g.op(n) else { continue };
        let (array, at) = (*array, at.clone());
        let Some((axes, distance)) = transposed(g, &at, index) else { continue };
        let is_near = |other: &[i64; 2]| (0..2).all(|i| other[i].abs_diff(distance[i]) <= NEAR);
        let same =
            |r: &&mut TransposedReads| r.array == array && r.axes == axes && r.distances.iter().all(is_near);
        match all.iter_mut().find(same) {
            Some(reads) if reads.distances.contains(&distance) => {}
            Some(reads) => reads.distances.push(distance),
            None => all.push(TransposedReads { array, axes, distances: vec![distance] }),
        }
    }
    all
}

/// Returns the indices of a transposed read, and the constants that it adds to the column and to the row; `None` if
/// it is not a transposed read.
fn transposed(g: &mut Graph, at: &[NodeId], index: &[NodeId]) -> Option<(Vec<AxisIndex>, [i64; 2])> {
    let [.., row, column] = *index else { return None };
    let depends = |g: &Graph, n: NodeId| {
        let on = |v: NodeId| g.node(n).free.iter().any(|free| g.node(v).free.contains(free));
        on(row) || on(column)
    };
    let (mut axes, mut distance, mut found) = (Vec::new(), [0, 0], [false; 2]);
    for i in at {
        if !depends(g, *i) {
            axes.push(AxisIndex::Other(*i));
            continue;
        }
        let of_column = affine(g, *i, column);
        let (which, (affine, by)) = match of_column {
            Some(of_column) => (0, of_column),
            None => (1, affine(g, *i, row)?),
        };
        if found[which] || affine.base.is_some_and(|base| depends(g, base)) {
            return None;
        }
        (found[which], distance[which]) = (true, by);
        axes.push([AxisIndex::Column, AxisIndex::Row][which](affine));
    }
    let is_transposed = matches!(axes.last(), Some(AxisIndex::Row(_))) && found[0];
    is_transposed.then_some((axes, distance))
}

/// Returns how an index follows `of`, and the constant that it adds to that; `None` if it has another multiple of it.
fn affine(g: &mut Graph, i: NodeId, of: NodeId) -> Option<(Affine, i64)> {
    let mut form = Linear::of(g, i);
    let is_mirrored = match form.terms.remove(&of)? {
        1 => false,
        -1 => true,
        _ => return None,
    };
    let constant = std::mem::take(&mut form.constant);
    if constant.unsigned_abs() >= FAR {
        return None;
    }
    let base = (!form.terms.is_empty()).then(|| form.node(g));
    Some((Affine { base, is_mirrored }, if is_mirrored { -1 - constant } else { constant }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::parse;
    use crate::passes::pipeline;
    use crate::schedule::element::opened;
    use crate::schedule::groups;

    /// The transposed reads of a function's only group.
    fn of_text(text: &str) -> Vec<TransposedReads> {
        let f = pipeline::run(&parse::parse(text).unwrap().remove(0), &mut |_, _| ()).unwrap();
        let fused = groups::fused_groups(&f).unwrap().remove(0);
        let mut g = f.graph.clone();
        let index: Vec<NodeId> = g.sample_index(fused.domain.len()).iter().map(|v| v.1).collect();
        let roots = fused.items.iter().map(|it| opened(&mut g, it.node, &index)).collect();
        of(&mut g, &index, roots)
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
        assert!(found.iter().all(|r| r.column_axis() == 0 && r.affine() == [PLAIN; 2]));
        let mut found = Vec::from_iter(found.into_iter().map(|r| r.distances));
        found.iter_mut().for_each(|distances| distances.sort());
        found.sort();
        assert_eq!(found, [vec![[0, 0]], vec![[0, 3], [1, 0]], vec![[20, 0]]]);
    }

    const PLAIN: Affine = Affine { base: None, is_mirrored: false };

    #[test]
    fn mirrored_reads_and_bases() {
        let text = |first: &str, second: &str| {
            format!(
                "func @f(%x: [[f32]], %m: i64, %n: i64, %s: i64) -> (r: [[f32]]) {{
  %p = len %x
  %q = len %x axis 1
  require extent 0i64, %m \"r\"
  require extent 0i64, %n \"r\"
  %r = generate %m, %n (%i: i64, %j: i64) {{
    %j2 = mul %j, 2i64
    %a = sub %p, 3i64
    %down = sub %a, %j
    %left = sub 9i64, %i
    %from = add %s, %i
    %skewed = add %i, %j
    %read = elem %x, {first}, {second}
    yield %read
  }}
  return %r
}}"
            )
        };
        let of = |first, second| {
            let found = of_text(&text(first, second));
            let of = |a: Affine| (a.base.is_some(), a.is_mirrored);
            found.first().map(|r| (r.affine().map(of), r.distances[0]))
        };
        assert_eq!(of("%down", "%i"), Some(([(true, true), (false, false)], [2, 0])));
        assert_eq!(of("%j", "%left"), Some(([(false, false), (false, true)], [0, -10])));
        assert_eq!(of("%down", "%from"), Some(([(true, true), (true, false)], [2, 0])));
        for (first, second) in
            [("%j2", "%i"), ("%skewed", "%i"), ("%j", "%skewed"), ("%j", "%j"), ("%left", "%j")]
        {
            assert_eq!(of(first, second), None, "{first} {second}");
        }
    }
}
