//! The parts of a scan (semantics 5.18) as launches: the totals of tiles, the prefixes of tiles (what stands before
//! each), and the scans of tiles. A fused group has the components of one part, and nothing else.

use super::placed::Placed;
use crate::core::graph::replace::{Found, replaced_by};
use crate::core::scan_stages::scan_of_array;
use crate::core::simplify::extent;
use crate::core::{Graph, Lambda, NodeId, Op, ScanPart, arithmetic, tuples};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::element::element;
use crate::schedule::groups::items::Item;
use rustc_hash::FxHashMap as HashMap;

/// A part of a scan.
#[derive(Clone)]
pub struct Scan {
    /// Which part.
    pub part: ScanPart,
    /// The types of the components.
    pub types: Vec<Ty>,
    /// The places, if the last part stores other elements instead of the partial results ([`Placed`]).
    pub placed: Option<Placed>,
    /// Whether the launch counts in 32 bits. Kernels for few elements do, if the scan counts elements
    /// ([`Scan::counts`]).
    pub in_32_bits: bool,
    join: Lambda,
    init: NodeId,
    src: NodeId,
}

impl Scan {
    /// Returns an item as a part of a scan, if it is one.
    pub fn of_item(g: &Graph, it: &Item) -> Option<Scan> {
        let Op::Materialize(x) = *g.op(it.node) else { return None };
        let placed = Placed::of_item(g, it);
        let Op::Scan { part, ref join, init, src, .. } = *g.op(scan_of_array(g, x)?) else { return None };
        Some(Scan {
            part,
            types: tuples::types_of_elements(g, src),
            placed,
            in_32_bits: false,
            join: join.clone(),
            init,
            src,
        })
    }

    /// Returns the whole scan of which these groups are the parts, one after another, if there is one.
    pub fn whole(g: &Graph, [totals, before, tiles]: [&[Item]; 3]) -> Option<Scan> {
        let [totals, before, tiles] = [Scan::of(g, totals)?, Scan::of(g, before)?, Scan::of(g, tiles)?];
        let parts = [totals.part, before.part, tiles.part];
        let is_one = parts == [ScanPart::Totals, ScanPart::Before, ScanPart::Tiles]
            && totals.src == tiles.src
            && totals.join == tiles.join
            && before.join == tiles.join;
        is_one.then_some(Scan { part: ScanPart::Whole, init: before.init, ..tiles })
    }

    /// Whether partial results are numbers of elements: sums, from 0 on, of integers that are 0 or 1.
    pub fn counts(&self, g: &Graph) -> bool {
        let is_number = |n: NodeId, all: &[i64]| g.as_lit(n).is_some_and(|l| all.contains(&l.as_i64()));
        let body = |x: NodeId| g.op(x).lambda().map(|l| g.op(l.body));
        let is_sum = arithmetic::is_sum(g, &self.join) && self.types == [Ty::I64];
        let of_bits = matches!(body(self.src), Some(Op::Select(_, a, b)) if [a, b].into_iter().all(|n| is_number(*n, &[0, 1])));
        let begins = |before: &Op| {
            let Op::Elem(before, _) = before else { return false };
            let Op::Materialize(before) = *g.op(*before) else { return false };
            matches!(*g.op(before), Op::Scan { init, .. } if is_number(init, &[0]))
        };
        is_sum
            && of_bits
            && match self.part {
                ScanPart::Totals => true,
                ScanPart::Tiles => body(self.init).is_some_and(begins),
                ScanPart::Before | ScanPart::Whole => false,
            }
    }

    /// Returns the type in which a launch computes a component.
    pub fn computed(&self, ty: Ty) -> Ty {
        if self.in_32_bits { Ty::I32 } else { ty }
    }

    /// Returns a fused group as a part of a scan, if it is one.
    pub fn of(g: &Graph, group: &[Item]) -> Option<Scan> {
        let scan = Scan::of_item(g, group.first()?)?;
        Some(Scan { placed: group.iter().find_map(|it| Placed::of_item(g, it)), ..scan })
    }

    /// Whether elements are stored at other places than their own.
    pub fn goes_elsewhere(&self) -> bool {
        self.placed.is_some_and(|placed| !placed.is_own)
    }

    /// Returns the size of a value, with all components.
    pub fn bytes(&self) -> usize {
        self.types.iter().map(|ty| ty.size()).sum()
    }

    /// Whether a GPU has code for the whole scan in one launch that is faster than the parts. It has for values of 4
    /// bytes, or of 8 if the launch also reduces the results (`reduces`); and elements must not go to other places.
    pub fn is_one_pass(&self, reduces: bool) -> bool {
        let bytes = self.types[0].size();
        let is_number = self.types.len() == 1 && (bytes == 4 || reduces && bytes == 8);
        is_number && !self.goes_elsewhere()
    }

    /// Returns the number of elements, as a node.
    pub fn length(&self, g: &mut Graph) -> NodeId {
        extent(g, self.src, 0)
    }

    /// Returns the number of tiles of the last part, as a node.
    pub fn tiles(&self, g: &mut Graph) -> NodeId {
        extent(g, self.init, 0)
    }

    /// Returns the components of the element at an index.
    pub fn elements(&self, g: &mut Graph, index: NodeId) -> Vec<NodeId> {
        let element = element(g, self.src, index);
        match *g.op(element) {
            Op::Select(condition, a, b) if self.in_32_bits => {
                let bit = |n: NodeId| g.as_lit(n).map_or(0, |l| l.as_i64() as i32);
                let [a, b] = [bit(a), bit(b)].map(|n| g.lit(Lit::i32(n)));
                vec![g.add(Op::Select(condition, a, b))]
            }
            _ => tuples::components(g, element),
        }
    }

    /// Returns the scan with elements that compute what they read of a stored vector.
    pub fn computing(&self, g: &mut Graph, stored: NodeId) -> Option<Scan> {
        let Op::Generate(extents, lambda) = g.op(self.src).clone() else { return None };
        let lambda = g.lambda(&[Ty::I64], |g, index| {
            let own = g.open(&lambda, index);
            let find = &mut |g: &mut Graph, n: NodeId| {
                let value = match g.op(n).clone() {
                    Op::Elem(x, at) if x == stored => Some(element(g, x, at[0])),
                    _ => None,
                };
                Found::of(g, n, value)
            };
            replaced_by(g, own, find, &mut |g, op| g.add(op), &mut HashMap::default())
        });
        let src = g.add(Op::Generate(extents, lambda));
        Some(Scan { src, ..self.clone() })
    }

    /// Returns the components of the prefix of a tile or, for parts other than the last one, of the initial value.
    pub fn before(&self, g: &mut Graph, tile: NodeId) -> Vec<NodeId> {
        let value = match self.part {
            ScanPart::Tiles => element(g, self.init, tile),
            _ => self.init,
        };
        tuples::components(g, value)
    }

    /// Returns the place of an element and its values, as [`Placed::of_element`] does, given its partial results.
    pub fn of_element(
        &self,
        g: &mut Graph,
        items: &[Item],
        index: NodeId,
        results: &[NodeId],
    ) -> Vec<NodeId> {
        let Some(placed) = self.placed else { return Vec::new() };
        let roots = placed.of_element(g, items, index);
        let result = |g: &Graph, n: NodeId| match g.op(n) {
            Op::Elem(x, at) if at[..] == [index] && matches!(g.op(*x), Op::Scan { .. }) => {
                Some(results[tuples::which(g, *x)])
            }
            _ => None,
        };
        let mut memo = HashMap::default();
        let mut replaced = |n| {
            let find = &mut |g: &mut Graph, n: NodeId| Found::of(g, n, result(g, n));
            replaced_by(g, n, find, &mut |g, op| g.add(op), &mut memo)
        };
        roots.into_iter().map(&mut replaced).collect()
    }

    /// Returns each stored item with the number of its component.
    pub fn items<'i>(g: &Graph, group: &'i [Item]) -> Vec<(usize, &'i Item)> {
        let which = |it: &Item| match *g.op(it.node) {
            Op::Materialize(x) => tuples::which(g, x),
            _ => 0,
        };
        group.iter().map(|it| (which(it), it)).collect()
    }

    /// Returns a value of an element that depends on everything a scan needs of it, for estimates.
    pub fn sample(&self, g: &mut Graph, index: NodeId) -> NodeId {
        let own = self.elements(g, index);
        g.open(&self.join, &[&own[..], &own].concat())
    }

    /// Returns the operator, with the components of both operands.
    pub fn opened(&self, g: &mut Graph) -> (Vec<NodeId>, Vec<NodeId>) {
        let vars: Vec<NodeId> = self.join.params.iter().map(|p| g.fresh_var(self.computed(p.1)).1).collect();
        if self.in_32_bits {
            return (vec![g.add(Op::Binary(BinaryOp::Add, vars[0], vars[1]))], vars);
        }
        let body = g.open(&self.join, &vars);
        (tuples::components(g, body), vars)
    }
}
