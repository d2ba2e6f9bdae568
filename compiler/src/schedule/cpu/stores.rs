//! Where a CPU kernel stores its elements.

use crate::core::NodeId;
use crate::kernel::{Expr, Mem, Stmt};
use crate::scalar::{Lit, Ty};
use crate::schedule::element::canonical;
use crate::schedule::element::lower::Lower;
use crate::schedule::groups::{Item, domain};

/// Where elements are stored: in the output arrays themselves, or, in a staged variant, in buffers for one unit of
/// work, which are copied to the outputs when the unit is done. Then an output may be an input, because each unit is
/// read completely before it is written.
pub(super) struct Stores {
    targets: Vec<(Mem, Option<Mem>, Ty)>,
    /// The extents of all output arrays, which are those of the index space.
    extents: Vec<NodeId>,
}

impl Stores {
    /// Returns stores to the output arrays. [`Stores::begin`] adds the buffers.
    pub(super) fn new(l: &mut Lower, items: &[&Item]) -> Stores {
        let extents = items.first().map_or(Vec::new(), |it| domain(&l.launch.g, it.node));
        let target = |it: &&Item| {
            let ty = l.launch.g.ty(it.node).elem;
            let array = l.launch.output(it);
            (array, None, ty)
        };
        Stores { targets: items.iter().map(target).collect(), extents }
    }

    /// Declares a buffer for each output, and returns stores to these.
    pub(super) fn begin(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Stores {
        let target =
            |t: &(Mem, Option<Mem>, Ty)| (t.0, Some(l.k.local("tile", t.2, l.launch.facts.grain, out)), t.2);
        Stores { targets: self.targets.iter().map(target).collect(), extents: self.extents.clone() }
    }

    /// Emits a store of 0 to the first element of each buffer.
    pub(super) fn clear(&self, out: &mut Vec<Stmt>) {
        let zero = |(_, b, ty): &(Mem, Option<Mem>, Ty)| {
            b.map(|b| Stmt::Store(b, Expr::int(0), Expr::Lit(Lit::zero(*ty))))
        };
        out.extend(self.targets.iter().filter_map(zero));
    }

    /// Emits the stores of the values of element `i`, which is element `in_tile` of its unit of
    /// work.
    pub(super) fn store(
        &self,
        l: &mut Lower,
        values: Vec<Expr>,
        i: &Expr,
        in_tile: &Expr,
        out: &mut Vec<Stmt>,
    ) {
        self.store_to(l, values, in_tile, out, |l, array| l.place(array, &self.extents, i));
    }

    /// Emits the stores of the values of the element at these indices, which is element `in_tile` of its unit of
    /// work.
    pub(super) fn store_at(
        &self,
        l: &mut Lower,
        values: Vec<Expr>,
        index: &[Expr],
        in_tile: &Expr,
        out: &mut Vec<Stmt>,
    ) {
        self.store_to(l, values, in_tile, out, |l, array| l.place_at(array, index));
    }

    /// Emits the stores of an element's values to the buffers, or to the arrays at `place`.
    fn store_to(
        &self,
        l: &mut Lower,
        values: Vec<Expr>,
        in_tile: &Expr,
        out: &mut Vec<Stmt>,
        place: impl Fn(&mut Lower, Mem) -> Expr,
    ) {
        for ((array, buffer, ty), e) in self.targets.iter().zip(values) {
            let e = canonical(e, *ty, &mut l.k.kernel, out);
            out.push(match buffer {
                Some(b) => Stmt::Store(*b, in_tile.clone(), e),
                None => Stmt::Store(*array, place(l, *array), e),
            });
        }
    }

    /// Returns the copies of the element at these indices from the buffers to the outputs.
    pub(super) fn copy_at(&self, l: &mut Lower, index: &[Expr], in_tile: &Expr) -> Vec<Stmt> {
        let mut copy = Vec::new();
        for (array, buffer, _) in &self.targets {
            if let Some(b) = buffer {
                copy.push(Stmt::Store(*array, l.place_at(*array, index), Expr::load(*b, in_tile.clone())));
            }
        }
        copy
    }

    /// Emits the copies of `count` elements from the buffers to the outputs, beginning at element
    /// `base`.
    pub(super) fn flush(&self, l: &mut Lower, base: &Expr, count: &Expr, out: &mut Vec<Stmt>) {
        for (array, buffer, _) in &self.targets {
            if let Some(b) = buffer {
                let j = l.k.reg("j", Ty::I64);
                let at = l.place(*array, &self.extents, &base.clone().plus(Expr::Reg(j)));
                let copy = Stmt::Store(*array, at, Expr::load(*b, Expr::Reg(j)));
                out.push(Stmt::For(j, Expr::int(0), count.clone(), vec![copy]));
            }
        }
    }
}
