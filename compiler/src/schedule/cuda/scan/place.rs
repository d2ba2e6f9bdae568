//! Stores of elements that depend on the partial results of a scan's tile: at other places than their own index, such
//! as the elements that a filter keeps, or at their own index (`behind.rs`).

use super::{Code, OF_WARP, THREADS, Value, load_all, store_all};
use crate::core::{NodeId, SCAN_CHUNK, SCAN_ROW};
use crate::error::Result;
use crate::kernel::{Expr, Stmt, WARP};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::cuda::elements::Elements;
use crate::schedule::cuda::expressions::{int32, to_i64};
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::element::placed_stores::stores;

/// A row in shared memory has a gap after each `SKIP` elements (padding against bank conflicts of 8-byte values).
const SKIP: i64 = 16;
const ROOM: i64 = SCAN_ROW + SCAN_ROW / SKIP;

impl Code<'_> {
    /// Returns the partial results of a thread's elements, element by element: new nodes for them, and their values
    /// in the types in which they are computed.
    pub(super) fn partial_results(
        &self,
        l: &mut Lower,
        (before, own): (&[Value], &[[Value; 4]]),
        out: &mut Vec<Stmt>,
    ) -> Result<(Vec<Vec<NodeId>>, Vec<Value>)> {
        let (mut vars, mut results) = (Vec::new(), Vec::new());
        for (before, own) in before.iter().zip(own) {
            for own in own {
                results.push(self.operator.join(l, before, own, out)?);
                vars.push(self.nodes(l));
            }
        }
        Ok((vars, results))
    }

    /// Returns a new node for each component of a partial result.
    fn nodes(&self, l: &mut Lower) -> Vec<NodeId> {
        self.scan.types.iter().map(|ty| l.launch.g.fresh_var(*ty).1).collect()
    }

    /// Pairs the nodes of partial results with their values.
    pub(super) fn known(&self, vars: &[Vec<NodeId>], results: &[Value]) -> Vec<(NodeId, Expr)> {
        let each = vars.iter().zip(results);
        each.flat_map(|(nodes, values)| nodes.iter().copied().zip(self.widened(values))).collect()
    }

    /// Computes and stores what depends on the partial results of a thread's elements. A full tile stores neighbours
    /// together; the last, partial one stores element by element.
    pub(super) fn place(
        &self,
        l: &mut Lower,
        elements: &Elements,
        (before, own): (Vec<Value>, Vec<[Value; 4]>),
        (is_full, n): (Expr, &Expr),
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let items = &self.fused.items;
        let (vars, results) = self.partial_results(l, (&before, &own), out)?;
        let known = self.known(&vars, &results);
        let (mut full, mut part) = (Vec::new(), Vec::new());
        if !self.layout.strided {
            l.in_block(|l| match self.scan.goes_elsewhere() {
                true => self.place_by_lane(l, elements, &results, &mut full),
                false => self.store_in_order(l, elements, (&vars, &known), &mut full),
            })?;
        }
        for (k, vars) in vars.iter().enumerate() {
            let i = bind(l, "i", elements.at(k), &mut part);
            let (_, index) = l.launch.g.fresh_var(Ty::I64);
            let mut one = Vec::new();
            l.in_block(|l| {
                let roots = self.roots(l, index, vars);
                let known = [&known[..], &[(index, i.clone())]].concat();
                let values = l.region(&known, &roots, &i, &mut one)?;
                if self.scan.goes_elsewhere() {
                    let stores = stores(l, items, values, &mut one);
                    one.extend(stores);
                } else {
                    self.store_neighbours(l, &[values], i.clone(), &mut one);
                }
                Ok::<_, crate::error::Error>(())
            })?;
            part.push(Stmt::If(Expr::binary(BinaryOp::Lt, i, n.clone()), one, vec![]));
        }
        match self.layout.strided {
            true => out.append(&mut part),
            false => out.push(Stmt::If(is_full, full, part)),
        }
        Ok(())
    }

    /// Stores the elements of a full tile at other places. Neighbours in a row often go to neighbouring places, so
    /// neighbouring lanes should store them: the warp then stores to few sectors. A lane has the partial results of
    /// four neighbours, so these are transposed through the warp's shared memory, row by row. All values are computed
    /// before the first store.
    fn place_by_lane(
        &self,
        l: &mut Lower,
        elements: &Elements,
        results: &[Value],
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let items = &self.fused.items;
        let first =
            elements.base().1.clone().minus(to_i64(self.lane.clone()).times(Expr::int(SCAN_CHUNK - 1)));
        let first = bind(l, "first", first, out);
        let offsets =
            (0..OF_WARP).flat_map(|row| (0..SCAN_CHUNK).map(move |k| row * SCAN_ROW + k * WARP as i64));
        let elements = Elements::new(l, first, offsets.collect(), 1);
        elements.load(l, &[], out);
        let shared = self.share(l, "turned", ROOM * i64::from(THREADS / WARP));
        let own = bind(l, "own", self.warp.clone().times(int32(ROOM as i32)), out);
        let at = |e: Expr| {
            let skipped = Expr::binary(BinaryOp::Shr, e.clone(), int32(SKIP.trailing_zeros() as i32));
            own.clone().plus(e).plus(skipped)
        };
        let chunk = bind(l, "chunk", self.lane.clone().times(int32(SCAN_CHUNK as i32)), out);
        let (mut vars, mut turned) = (Vec::new(), Vec::new());
        // a broadcast synchronises the lanes, and so orders their stores and loads
        let meet = |l: &mut Lower, out: &mut Vec<Stmt>| {
            bind(l, "met", Expr::Broadcast(Box::new(self.lane.clone())), out);
        };
        for (row, results) in results.chunks(SCAN_CHUNK as usize).enumerate() {
            if row > 0 {
                meet(l, out);
            }
            for (k, values) in (0..).zip(results) {
                let at = bind(l, "at", at(chunk.clone().plus(int32(k))), out);
                out.extend(store_all(&shared, &at, values));
            }
            meet(l, out);
            for k in 0..SCAN_CHUNK as i32 {
                let at = bind(l, "at", at(self.lane.clone().plus(int32(k * WARP as i32))), out);
                turned.push(load_all(l, &shared, &at, out));
                vars.push(self.nodes(l));
            }
        }
        let turned = self.known(&vars, &turned);
        let roots = |l: &mut Lower, k: usize, index| self.roots(l, index, &vars[k]);
        let all = elements.values(l, &turned, roots, out)?;
        let all: Vec<_> = all.into_iter().map(|values| stores(l, items, values, out)).collect();
        out.extend(all.concat());
        Ok(())
    }
}
