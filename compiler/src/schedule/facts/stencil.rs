//! Stencils: arrays that are read at constant distances from the element's own indices, so that
//! neighbouring elements share reads (Larsen, section 5).
//!
//! ```text
//! generate n (%i) { .. elem %x, %i .. elem %x, (%i + 2) .. at %y, (%i + %k - 1) .. }
//!     ->    x: taps 0, 2    y: shift %k, tap -1
//! ```
//!
//! A read belongs to a stencil only if its index along each axis is the element's index along that axis, plus a host
//! scalar that is the same for all reads of the stencil (the *shift*), plus a constant (the *tap*).

use crate::core::linear::Linear;
use crate::core::{Graph, NodeId, Op, StencilHint, verify};
use crate::scalar::Lit;
use crate::schedule::element::opened;
use indexmap::IndexMap;
use std::collections::BTreeSet;
use std::fmt;

/// An array that is read around the element's own indices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stencil {
    /// The array, whose rank is that of the index space.
    pub array: NodeId,
    /// For each axis the host scalar that is added to the index in all reads; the constant 0 if
    /// there is none.
    pub shift: Vec<NodeId>,
    /// The taps: for each read its constant distance along each axis.
    pub taps: BTreeSet<Vec<i64>>,
    /// Whether some reads are total (`at`), so that the index may be out of bounds.
    pub total: bool,
}

impl Stencil {
    /// Whether all distances are constants, with no shift that is known only at the call.
    pub fn is_static(&self, g: &Graph) -> bool {
        self.shift.iter().all(|s| g.as_lit(*s).is_some())
    }

    /// Whether neighbouring elements read the same elements of the array.
    pub fn overlaps(&self) -> bool {
        self.taps.len() > 1
    }

    /// Whether the array is read at the element's own indices only.
    pub fn is_pointwise(&self) -> bool {
        self.taps.iter().flatten().all(|t| *t == 0)
    }

    /// Returns how many elements of the array a row of `neighbours` elements along the last axis reads: 3 x 3 taps
    /// and 4 neighbours read 3 x 6.
    pub fn apart(&self, neighbours: i64) -> usize {
        let mut all = BTreeSet::new();
        for (tap, k) in self.taps.iter().flat_map(|t| (0..neighbours).map(move |k| (t, k))) {
            let mut at = tap.clone();
            at.iter_mut().next_back().into_iter().for_each(|last| *last += k);
            all.insert(at);
        }
        all.len()
    }

    /// Returns the least and the greatest tap along an axis.
    pub fn reach(&self, axis: usize) -> (i64, i64) {
        let of = self.taps.iter().map(|t| t[axis]);
        (of.clone().min().unwrap_or(0), of.max().unwrap_or(0))
    }
}

/// How a GPU kernel holds a stencil's array near its threads (in registers or shared memory), for the report.
#[derive(Clone, PartialEq, Debug)]
pub struct Kept {
    /// The array's name.
    pub array: String,
    /// Number of elements of the array that one element reads.
    pub taps: usize,
    /// The least and the greatest tap along each axis.
    pub reach: Vec<(i64, i64)>,
    /// Whether the distances have a shift that is known only at the call.
    pub is_shifted: bool,
    /// Size of an element of the array, in bytes.
    pub size: usize,
    /// How the array is kept.
    pub strategy: StencilHint,
    /// Number of bytes that a block loads from the array, divided by the number of elements that it
    /// computes.
    pub loaded: f64,
    /// The reason for the choice.
    pub why: String,
}

impl Kept {
    /// Describes stencil `s`, kept by `strategy`, of which `loaded` bytes are loaded per computed
    /// element.
    pub fn of(g: &Graph, s: &Stencil, array: &str, strategy: StencilHint, loaded: f64, why: &str) -> Kept {
        let size = g.ty(s.array).elem.size();
        let reach = (0..s.shift.len()).map(|axis| s.reach(axis)).collect();
        let (array, why, is_shifted) = (array.into(), why.into(), !s.is_static(g));
        Kept { array, taps: s.taps.len(), reach, is_shifted, size, strategy, loaded, why }
    }
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reach: Vec<String> = self.reach.iter().map(|(a, b)| format!("{a} to {b}")).collect();
        let shifted = if self.is_shifted { " from where the call says" } else { "" };
        let direct = self.taps * self.size;
        write!(
            f,
            "stencil {}: {} taps, {}{shifted}: {}, ",
            self.array,
            self.taps,
            reach.join(" by "),
            self.strategy
        )?;
        write!(f, "loads {:.1} bytes an element instead of {direct}: {}", self.loaded, self.why)
    }
}

/// Returns the stencils in the elements of `arrays`, all of which have the index space `domain`.
pub fn stencils(g: &mut Graph, domain: &[NodeId], arrays: &[NodeId]) -> Vec<Stencil> {
    let (index, roots) = elements(g, domain, arrays);
    of(g, &index, roots)
}

/// Returns the indices that stand for an element in this analysis, and the elements of `arrays` at
/// them.
fn elements(g: &mut Graph, domain: &[NodeId], arrays: &[NodeId]) -> (Vec<NodeId>, Vec<NodeId>) {
    let index: Vec<NodeId> = g.sample_index(domain.len()).iter().map(|v| v.1).collect();
    let roots = arrays.iter().map(|n| opened(g, *n, &index)).collect();
    (index, roots)
}

/// Returns the stencils in the values `roots` of the element at `index`.
pub fn of(g: &mut Graph, index: &[NodeId], roots: Vec<NodeId>) -> Vec<Stencil> {
    let mut found: IndexMap<(NodeId, Vec<NodeId>), Stencil> = IndexMap::new();
    for n in g.reachable(roots) {
        let (x, at, total) = match g.op(n) {
            Op::Elem(x, at) => (*x, at.clone(), false),
            Op::At(x, at) => (*x, at.clone(), true),
            _ => continue,
        };
        if let Some((shift, tap)) = tap(g, &at, index) {
            let fresh = Stencil { array: x, shift: shift.clone(), taps: BTreeSet::new(), total: false };
            let s = found.entry((x, shift)).or_insert(fresh);
            s.taps.insert(tap);
            s.total |= total;
        }
    }
    found.into_values().collect()
}

/// Whether an element may leave an error record even where all reads of `stencils` are in bounds.
pub fn may_record(g: &mut Graph, domain: &[NodeId], arrays: &[NodeId], stencils: &[&Stencil]) -> bool {
    let (index, roots) = elements(g, domain, arrays);
    g.reachable(roots).into_iter().any(|n| match g.op(n).clone() {
        Op::At(x, at) => {
            let read = tap(g, &at, &index);
            let known = |s: &&Stencil| {
                s.array == x
                    && read.as_ref().is_some_and(|(shift, tap)| s.shift == *shift && s.taps.contains(tap))
            };
            !stencils.iter().any(known)
        }
        op => op.may_record(g),
    })
}

/// A distance of this many elements or more is not taken for a tap, so that sums of taps stay far
/// from the ends of i64.
const FAR: u64 = 1 << 40;

/// Returns the shift and the tap of a read at the indices `at`, if these are the domain's indices
/// plus a shift plus a constant.
pub fn tap(g: &mut Graph, at: &[NodeId], index: &[NodeId]) -> Option<(Vec<NodeId>, Vec<i64>)> {
    if at.len() != index.len() {
        return None;
    }
    let (mut shifts, mut tap) = (Vec::new(), Vec::new());
    for (at, own) in at.iter().zip(index) {
        let mut form = Linear::of(g, *at);
        if form.terms.remove(own) != Some(1) {
            return None;
        }
        let constant = std::mem::take(&mut form.constant);
        if constant.unsigned_abs() >= FAR {
            return None;
        }
        tap.push(constant);
        let shift = if form.terms.is_empty() { g.lit(Lit::i64(0)) } else { form.node(g) };
        if !verify::runs_on_host(g, shift) {
            return None;
        }
        shifts.push(shift);
    }
    Some((shifts, tap))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::parse;
    use crate::passes::pipeline;
    use crate::schedule::groups;

    /// The stencils of a function's only group: name, taps, whether static, whether total.
    fn of_text(text: &str) -> Vec<(String, Vec<Vec<i64>>, bool, bool)> {
        let f = pipeline::run(&parse::parse(text).unwrap().remove(0), &mut |_, _| ()).unwrap();
        let fused_groups = groups::fused_groups(&f).unwrap();
        let mut g = f.graph.clone();
        let arrays: Vec<NodeId> = fused_groups[0].items.iter().map(|it| it.node).collect();
        let all = stencils(&mut g, &fused_groups[0].domain, &arrays);
        let name = |n: NodeId| match g.op(n) {
            Op::Param(i) => f.params[*i as usize].name.clone(),
            op => format!("{op:?}"),
        };
        let row = |s: &Stencil| (name(s.array), s.taps.iter().cloned().collect(), s.is_static(&g), s.total);
        let mut rows: Vec<_> = all.iter().map(row).collect();
        rows.sort();
        rows
    }

    #[test]
    fn taps_of_vectors() {
        let found = of_text(
            "func @f(%x: [f32], %y: [f32], %k: i64) -> (r: [f32]) {
  %n = len %x
  %m = sub %n, 2i64
  require extent 0i64, %m \"generate\"
  %r = generate %m (%i: i64) {
    %i2 = add %i, 2i64
    %a = at %x, %i
    %b = at %x, %i2
    %j = add %i, %k
    %j1 = sub %j, 1i64
    %c = at %y, %j1
    %d = at %y, %j
    %l = mul %i, 2i64
    %e = at %x, %l
    %s1 = add %a, %b
    %s2 = add %c, %d
    %s3 = add %s1, %s2
    %s = add %s3, %e
    yield %s
  }
  return %r
}",
        );
        let x = ("x".to_string(), vec![vec![0], vec![2]], true, false);
        let y = ("y".to_string(), vec![vec![-1], vec![0]], false, true);
        assert_eq!(found, [x, y]);
    }

    #[test]
    fn taps_of_matrices() {
        let found = of_text(
            "func @f(%x: [[f32]], %v: [f32]) -> (r: [[f32]]) {
  %n = len %x
  %m = len %x axis 1
  %r = generate %n, %m (%i: i64, %j: i64) {
    %j1 = sub %j, 1i64
    %i1 = add %i, 1i64
    %a = at %x, %i, %j1
    %b = at %x, %i1, %j
    %c = at %x, %j, %i
    %d = at %v, %j
    %s1 = add %a, %b
    %s2 = add %c, %d
    %s = add %s1, %s2
    yield %s
  }
  return %r
}",
        );
        assert_eq!(found, [("x".to_string(), vec![vec![0, -1], vec![1, 0]], true, true)]);
    }
}
