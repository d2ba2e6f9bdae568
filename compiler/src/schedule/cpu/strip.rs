//! A strip: neighbouring segments whose columns are accumulated side by side.

use super::column_tree::{load, store};
use crate::core::index_space::exists_inside_only;
use crate::core::{NodeId, Op, Var};
use crate::error::Result;
use crate::kernel::{Expr, Mem, Stmt};
use crate::scalar::Ty;
use crate::schedule::element::canonical;
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::element::reduction::{Reduction, by_reduction, each_accumulator};
use crate::schedule::facts::{Segments, StoredColumns};
use rustc_hash::FxHashSet as HashSet;

/// Nodes with their values.
pub(super) type Known = Vec<(NodeId, Expr)>;

/// A strip of neighbouring segments.
pub struct Strip<'a> {
    pub(super) s: &'a Segments,
    /// The indices that all segments have in common.
    pub(super) outer: &'a [(NodeId, Expr)],
    pub reductions: &'a [Reduction],
    /// The first segment, and the number of segments.
    pub(super) base: Expr,
    pub width: Expr,
    /// Number of elements of a segment.
    pub(super) length: Expr,
    /// The accumulators of some columns of a tile, an array for each accumulator, with `width` values for each
    /// column. The first column also receives results.
    pub block: Vec<Mem>,
    /// Maximum number of segments in a strip.
    pub most: u32,
    /// The values that are stored of the elements that are reduced.
    pub stored: Option<&'a StoredColumns>,
    /// Values of the segments that are known, an array for each.
    pub known: &'a [(NodeId, Mem)],
}

/// How elements are joined to a column.
pub(super) enum Order {
    /// They begin the column.
    First,
    /// They continue it after so many elements of its rows.
    After(Expr),
    /// They continue it in any order.
    Free,
}

impl Strip<'_> {
    /// Returns the values that are known of segment `q` of the strip, whose index is `i`.
    pub(super) fn own(&self, l: &mut Lower, q: &Expr, i: &Expr, out: &mut Vec<Stmt>) -> Known {
        let mut own = vec![(self.s.index, i.clone())];
        for (n, m) in self.known {
            own.push((*n, bind(l, "known", Expr::load(*m, q.clone()), out)));
        }
        own
    }

    /// Emits `to = from` for all segments.
    pub fn copy(&self, l: &mut Lower, from: (&[Mem], Expr), to: (&[Mem], Expr), out: &mut Vec<Stmt>) {
        let q = l.k.reg("q", Ty::I64);
        let at = |e: &Expr| e.clone().plus(Expr::Reg(q));
        let pairs = from.0.iter().zip(to.0);
        let copy = pairs.map(|(a, b)| Stmt::Store(*b, at(&to.1), Expr::load(*a, at(&from.1)))).collect();
        out.push(Stmt::For(q, Expr::int(0), self.width.clone(), copy));
    }

    /// Emits `to = f(a, b)` for all segments.
    pub fn join(
        &self,
        l: &mut Lower,
        a: (&[Mem], Expr),
        b: (&[Mem], Expr),
        to: (&[Mem], Expr),
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let of = |arrays| by_reduction(self.reductions, arrays);
        for (((r, a_mem), (_, b_mem)), (_, to_mem)) in of(a.0).zip(of(b.0)).zip(of(to.0)) {
            let (mut body, q) = (Vec::new(), l.k.reg("q", Ty::I64));
            let mut known = Vec::new();
            let mut values = |l: &mut Lower, arrays: &[Mem], at: &Expr, name: &'static str| {
                let loaded = load(arrays, &at.clone().plus(Expr::Reg(q)));
                let values: Vec<Expr> = loaded.into_iter().map(|e| bind(l, name, e, &mut body)).collect();
                r.nodes(l.launch, &values, &mut known)
            };
            let (low, high) = (values(l, a_mem, &a.1, "low"), values(l, b_mem, &b.1, "high"));
            let roots = r.join(l.launch, &low, &high);
            let joined = l.region(&known, &roots, &Expr::int(0), &mut body)?;
            store(to_mem, &to.1.clone().plus(Expr::Reg(q)), joined, &mut body);
            out.push(Stmt::For(q, Expr::int(0), self.width.clone(), body));
        }
        Ok(())
    }

    /// Emits code that fills `count` values of the block with the identity.
    pub fn fill(&self, l: &mut Lower, count: Expr, out: &mut Vec<Stmt>) {
        let q = l.k.reg("q", Ty::I64);
        let values: Vec<Expr> = each_accumulator(self.reductions).map(|r| r.absent(l.launch)).collect();
        let mut fill = Vec::new();
        store(&self.block, &Expr::Reg(q), values, &mut fill);
        out.push(Stmt::For(q, Expr::int(0), count, fill));
    }

    /// Returns the values that are stored of the elements of row `k`.
    pub(super) fn stored_at(&self, l: &mut Lower, k: NodeId) -> Vec<NodeId> {
        let Some(stored) = self.stored else { return Vec::new() };
        stored.values.iter().map(|n| l.launch.replace(*n, stored.row, k)).collect()
    }

    /// Emits the stores of the values that are stored of segment `i` in these rows.
    pub(super) fn store_elements(
        &self,
        l: &mut Lower,
        rows: &[Expr],
        i: &Expr,
        elements: Vec<Expr>,
        out: &mut Vec<Stmt>,
    ) {
        let Some(stored) = self.stored else { return };
        let mut stores = Vec::new();
        for (row, of_row) in rows.iter().zip(elements.chunks(stored.items.len())) {
            for (it, e) in stored.items.iter().zip(of_row) {
                let (mem, ty) = (l.launch.output(it), l.launch.g.ty(it.node).elem);
                let e = canonical(e.clone(), ty, &mut l.k.kernel, out);
                let e = bind(l, "value", e, out);
                stores.push(Stmt::Store(mem, l.place_at(mem, &[row.clone(), i.clone()]), e));
            }
        }
        out.append(&mut stores);
    }
}

/// Emits values of a segment, or of a column, in a loop over these. Nodes that depend on the variables `fixed` only
/// are loop-invariant and come before the loop: the C compiler does not hoist all of them, divisions for example.
pub(super) fn region(
    l: &mut Lower,
    (mut fixed, own): (Known, Known),
    roots: &[NodeId],
    at: &Expr,
    (before, body): (&mut Vec<Stmt>, &mut Vec<Stmt>),
) -> Result<Vec<Expr>> {
    let varying: Vec<Var> = own.iter().flat_map(|(n, _)| l.launch.g.node(*n).free.to_vec()).collect();
    let (mut stack, mut seen, mut same) = (roots.to_vec(), HashSet::default(), Vec::new());
    while let Some(n) = stack.pop() {
        let g = &l.launch.g;
        if !seen.insert(n) || g.is_closed(n) || matches!(g.op(n), Op::Var(..)) {
            continue;
        }
        if g.node(n).free.iter().any(|v| varying.contains(v)) || !g.ty(n).is_scalar() {
            stack.extend(g.op(n).operands());
        } else if !l.launch.may_record(n) && !exists_inside_only(&l.launch.g, n) {
            same.push(n);
        }
    }
    same.sort_unstable();
    let values = l.region(&fixed, &same, &Expr::int(0), before)?;
    for (n, e) in same.into_iter().zip(values) {
        fixed.push((n, bind(l, "same", e, before)));
    }
    fixed.extend(own);
    l.region(&fixed, roots, at, body)
}
