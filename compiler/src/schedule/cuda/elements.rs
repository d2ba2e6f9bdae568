//! The elements of one thread: all their loads, then their values, then their stores; and the fast path of several
//! elements, with one test for the slow path.

use super::access;
use super::coordinates::{Coordinates, coordinates};
use super::paths::{branch_free_values, fast_path_values, fast_then_slow, slow_path_flag};
use super::thread_layout::ThreadLayout;
use crate::core::records::may_record_here;
use crate::core::{NodeId, Op, linear};
use crate::error::Result;
use crate::kernel::clone_body::Renaming;
use crate::kernel::{Expr, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::element::error_records;
use crate::schedule::element::lower::{LaunchContext, Lower, bind};
use crate::schedule::element::{canonical, element};
use crate::schedule::groups::{Item, domain};

/// The maximum number of elements of a thread for which f32 divisions have no branches. Their test looks at each
/// division's operands as soon as these are in registers. With eight elements an `acos` then needs 73 registers, and
/// takes 0.213 ms in place of 0.162 ms.
const MAX_BRANCH_FREE_ELEMENTS: usize = 4;

/// The values of each element.
pub type Values = Vec<Vec<Expr>>;

/// The elements of a thread, at constant offsets from one index.
pub struct Elements {
    /// The index from which the offsets count: its node in the graph, and its register.
    base: (NodeId, Expr),
    /// The offset of each group's first element.
    groups: Vec<i64>,
    /// The vector width: elements per group.
    v: i64,
    /// The index of each element, group by group.
    pub indices: Vec<NodeId>,
}

impl Elements {
    /// Returns the elements `groups[g] + 0..v` from `base`, an i64 register.
    pub fn new(l: &mut Lower, base: Expr, groups: Vec<i64>, v: i64) -> Elements {
        let (_, node) = l.launch.g.fresh_var(Ty::I64);
        l.k.kernel.in_space.push(base.clone());
        let mut indices = Vec::new();
        for offset in groups.iter().flat_map(|g| (0..v).map(move |k| g + k)) {
            let offset = l.launch.g.lit(Lit::i64(offset));
            indices.push(linear::add(&mut l.launch.g, node, offset));
        }
        Elements { base: (node, base), groups, v, indices }
    }

    /// Returns the index of element `i`.
    pub fn at(&self, i: usize) -> Expr {
        let offset = self.offset(i);
        if offset == 0 { self.base.1.clone() } else { self.base.1.clone().plus(Expr::int(offset)) }
    }

    /// Returns the index from which the offsets count: its node, and its register.
    pub fn base(&self) -> &(NodeId, Expr) {
        &self.base
    }

    /// Returns the coordinates of each element, if the values need them.
    fn coordinates(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Vec<Coordinates> {
        let each: Vec<(NodeId, Expr)> =
            self.indices.iter().enumerate().map(|(i, node)| (*node, self.at(i))).collect();
        coordinates(l, &each, self.v as usize, self.distance(), out)
    }

    /// Returns the distance of consecutive groups, if it is the same for all of them.
    fn distance(&self) -> Option<i64> {
        let mut distances = self.groups.windows(2).map(|pair| pair[1] - pair[0]);
        let first = distances.next().filter(|distance| *distance > 0)?;
        distances.all(|distance| distance == first).then_some(first)
    }

    /// Returns the number of the first element of each group.
    pub fn firsts(&self) -> impl Iterator<Item = usize> + use<> {
        (0..self.indices.len()).step_by(self.v as usize)
    }

    /// Returns the offset of element `i` from the base.
    pub fn offset(&self, i: usize) -> i64 {
        self.groups[i / self.v as usize] + i as i64 % self.v
    }

    /// Returns one group of neighbours.
    pub fn group(&self, g: usize) -> Elements {
        let v = self.v as usize;
        let indices = self.indices[g * v..][..v].to_vec();
        Elements { base: self.base.clone(), groups: vec![self.groups[g]], v: self.v, indices }
    }

    /// Returns the index that is `offset` elements from element `i`: as an expression, and as a
    /// node.
    pub fn neighbour(&self, l: &mut Lower, i: usize, offset: i64) -> (Expr, NodeId) {
        let offset = self.offset(i) + offset;
        let of = l.launch.g.lit(Lit::i64(offset));
        let node = linear::add(&mut l.launch.g, self.base.0, of);
        let base = self.base.1.clone();
        (if offset == 0 { base } else { base.plus(Expr::int(offset)) }, node)
    }

    /// Loads what is read at the elements' own indices, except arrays in `elsewhere` and elements
    /// that are in registers already.
    pub fn load(&self, l: &mut Lower, elsewhere: &[NodeId], out: &mut Vec<Stmt>) {
        let arrays: Vec<NodeId> =
            l.launch.facts.accesses.pointwise().filter(|x| !elsewhere.contains(x)).copied().collect();
        l.scope.loaded.get_or_insert_default();
        for x in arrays {
            // the elements of a matrix with any strides have an address each
            if l.k.strided && l.launch.g.ty(x).rank > 1 {
                continue;
            }
            let (mem, ty) = (l.launch.input(x), l.launch.g.ty(x).elem);
            for (g, indices) in self.indices.chunks(self.v as usize).enumerate() {
                let loaded = l.scope.loaded.get_or_insert_default();
                if loaded.contains_key(&(x, vec![indices[0]])) {
                    continue;
                }
                let at = self.at(g * self.v as usize);
                let regs: Vec<_> = indices.iter().map(|_| l.k.reg("x", ty)).collect();
                let loaded = l.scope.loaded.get_or_insert_default();
                loaded.extend(indices.iter().zip(&regs).map(|(i, r)| ((x, vec![*i]), Expr::Reg(*r))));
                access::load(l, mem, regs, at, out);
            }
        }
    }

    /// Returns for each element the values of the nodes that `roots` makes of its number and index. `vars` are the
    /// values of other nodes, which are known already.
    pub fn values(
        &self,
        l: &mut Lower,
        vars: &[(NodeId, Expr)],
        mut roots: impl FnMut(&mut Lower, usize, NodeId) -> Vec<NodeId>,
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Vec<Expr>>> {
        let mut vars = vars.to_vec();
        vars.push(self.base.clone());
        let each: Vec<Vec<NodeId>> = self.indices.iter().enumerate().map(|(j, i)| roots(l, j, *i)).collect();
        vars.extend(self.coordinates(l, out).concat());
        // sites are added while code is written; code for CPUs may have been written before, but not of every scope
        let leaves_records = may_record_here(&l.launch.g, each.concat());
        if l.launch.signature.sites.is_empty() && !leaves_records {
            let roots = l.launch.shared(&each.concat());
            let mut values = fast_then_slow(l, &vars, &roots, out)?.into_iter();
            return Ok(each.iter().map(|e| values.by_ref().take(e.len()).collect()).collect());
        }
        // an error record names its element, so each element has its own code
        each.iter().enumerate().map(|(j, e)| l.region(&vars, e, &self.at(j), out)).collect()
    }

    /// Returns the values of the fast path, whether an element needs the slow path, and whether one
    /// leaves an error record; `None` if none can. The caller computes the elements again where
    /// either holds.
    pub fn fast_path(
        &self,
        l: &mut Lower,
        roots: impl FnMut(&mut Lower, NodeId) -> Vec<NodeId>,
        out: &mut Vec<Stmt>,
    ) -> Result<(Values, [Option<Expr>; 2])> {
        let mut own = Vec::new();
        let (values, needs_slow_path) = l.with_flag_of_records(|l| self.with_records(l, roots, &mut own))?;
        let recorded = error_records::to_flag(&mut l.k.kernel, &mut own).map(Expr::Reg);
        out.append(&mut own);
        Ok((values, [needs_slow_path, recorded]))
    }

    /// Returns the values of the fast path, and whether an element needs the slow path. The code leaves error records
    /// that name no element.
    fn with_records(
        &self,
        l: &mut Lower,
        mut roots: impl FnMut(&mut Lower, NodeId) -> Vec<NodeId>,
        out: &mut Vec<Stmt>,
    ) -> Result<(Values, Option<Expr>)> {
        let first = roots(l, self.indices[0]);
        if self.divide_without_branches() && self.indices.len() > 1 && self.reads_own_elements_only(l, &first)
        {
            return self.copied_from_first(l, &first, out);
        }
        let others = self.indices[1..].iter().map(|i| roots(l, *i));
        let each: Vec<Vec<NodeId>> = std::iter::once(first).chain(others).collect();
        let roots = l.launch.shared(&each.concat());
        let mut vars = vec![self.base.clone()];
        vars.extend(self.coordinates(l, out).concat());
        let vars = vars.as_slice();
        let (values, needs_slow_path) = if self.divide_without_branches() {
            let needs_slow_path = slow_path_flag(l, &roots, out);
            (branch_free_values(l, vars, &roots, needs_slow_path, out)?, needs_slow_path.map(Expr::Reg))
        } else {
            fast_path_values(l, vars, &roots, out)?
        };
        let mut values = values.into_iter();
        Ok((each.iter().map(|e| values.by_ref().take(e.len()).collect()).collect(), needs_slow_path))
    }

    /// Whether the elements are so few that their divisions have no branches, if there is a slow
    /// path.
    pub fn divide_without_branches(&self) -> bool {
        self.indices.len() <= MAX_BRANCH_FREE_ELEMENTS
    }

    /// Whether the first element reads only what is loaded at its own index. The code of the other
    /// elements is then the same with other registers.
    fn reads_own_elements_only(&self, l: &mut Lower, roots: &[NodeId]) -> bool {
        let (base, needed) = (self.indices[0], l.launch.g.reachable(roots.iter().copied()));
        if l.scope.loaded.is_none() {
            return false;
        }
        let mut is_own = |n: NodeId| match l.launch.g.op(n).clone() {
            Op::Elem(x, index) if !l.launch.g.is_closed(n) => {
                let flat = if index.len() > 1 { l.flat(x, &index) } else { Some(index[0]) };
                let is_loaded = l.scope.loaded.iter().any(|all| all.contains_key(&(x, vec![base])));
                flat == Some(base) && is_loaded
            }
            Op::At(..) => l.launch.g.is_closed(n),
            op => op.lambda().is_none(),
        };
        needed.into_iter().all(&mut is_own)
    }

    /// Does the same as [`Elements::fast_path`]: it lowers the first element, and copies its code for the others.
    fn copied_from_first(
        &self,
        l: &mut Lower,
        roots: &[NodeId],
        out: &mut Vec<Stmt>,
    ) -> Result<(Values, Option<Expr>)> {
        let needs_slow_path = slow_path_flag(l, roots, out);
        let coordinates = self.coordinates(l, out);
        let vars: Coordinates = coordinates[0].iter().chain([&self.base]).cloned().collect();
        let mut own = Vec::new();
        let first = branch_free_values(l, &vars, roots, needs_slow_path, &mut own)?;
        let mut values = vec![first.clone()];
        let renamings: Vec<Renaming> =
            (1..self.indices.len()).map(|j| self.renaming(l, j, &coordinates, &own, out)).collect();
        out.extend_from_slice(&own);
        for renaming in &renamings {
            out.append(&mut renaming.block(&own));
            values.push(first.iter().map(|e| renaming.expr(e)).collect());
        }
        Ok((values, needs_slow_path.map(Expr::Reg)))
    }

    /// Returns the renaming of registers that turns the first element's code into that of element
    /// `j`.
    fn renaming(
        &self,
        l: &mut Lower,
        j: usize,
        coordinates: &[Coordinates],
        own: &[Stmt],
        out: &mut Vec<Stmt>,
    ) -> Renaming {
        let mut renaming = Renaming::default();
        for (first, other) in coordinates[0].iter().zip(&coordinates[j]) {
            if let (Expr::Reg(first), Expr::Reg(other)) = (&first.1, &other.1) {
                renaming.replace(*first, *other);
            }
        }
        if let (Expr::Reg(base), Expr::Reg(at)) = (&self.base.1, bind(l, "index", self.at(j), out)) {
            renaming.replace(*base, at);
        }
        for ((x, at), e) in l.scope.loaded.iter().flatten() {
            let counterpart = l.scope.loaded.as_ref().and_then(|l| l.get(&(*x, vec![self.indices[j]])));
            if let (true, Expr::Reg(own), Some(Expr::Reg(other))) = (*at == [self.indices[0]], e, counterpart)
            {
                renaming.replace(*own, *other);
            }
        }
        renaming.set(&mut l.k.kernel, own);
        renaming
    }

    /// Stores the items' values, each element's in the order of the items. If `end` is given, it
    /// stores only the elements before that index, one by one.
    pub fn store(
        &self,
        l: &mut Lower,
        items: &[&Item],
        values: &[&[Expr]],
        end: Option<&Expr>,
        out: &mut Vec<Stmt>,
    ) {
        let mut stores = Vec::new();
        let width = if end.is_some() { 1 } else { self.v as usize };
        for (i, item) in items.iter().enumerate() {
            let (mem, ty) = (l.launch.output(item), l.launch.g.ty(item.node).elem);
            let extents = domain(&l.launch.g, item.node);
            for (g, group) in values.chunks(width).enumerate() {
                let at = self.at(g * width);
                let to = l.place(mem, &extents, &at);
                let list: Vec<Expr> =
                    group.iter().map(|e| canonical(e[i].clone(), ty, &mut l.k.kernel, out)).collect();
                if width > 1 {
                    l.k.vector(mem);
                    stores.push(Stmt::StoreVec(mem, to, list));
                    continue;
                }
                for e in list {
                    let store = Stmt::Store(mem, to.clone(), e);
                    stores.push(match end {
                        Some(end) => {
                            let inside = Expr::binary(BinaryOp::Lt, at.clone(), end.clone());
                            Stmt::If(inside, vec![store], vec![])
                        }
                        None => store,
                    });
                }
            }
        }
        out.append(&mut stores);
    }
}

/// Loads `count` neighbours of an array into registers, by vector accesses.
pub fn bind_all(l: &mut Lower, array: NodeId, at: Expr, count: i64, out: &mut Vec<Stmt>) -> Vec<Reg> {
    let (mem, ty) = (l.launch.input(array), l.launch.g.ty(array).elem);
    let regs: Vec<Reg> = (0..count).map(|_| l.k.reg("x", ty)).collect();
    access::load(l, mem, regs.clone(), at, out);
    regs
}

/// Computes one element of the items at the index `at` and stores it. If `is_slow_path`, its
/// divisions take any operands without a branch.
pub fn single(
    l: &mut Lower,
    items: &[&Item],
    at: &Expr,
    is_slow_path: bool,
    out: &mut Vec<Stmt>,
) -> Result<()> {
    let index = l.launch.index();
    l.k.kernel.in_space.push(at.clone());
    let roots: Vec<NodeId> = items.iter().map(|it| element(&mut l.launch.g, it.node, index)).collect();
    let vars = [(index, at.clone())];
    let values = l.with_full_range(is_slow_path, |l| l.region(&vars, &roots, at, out))?;
    store_single(l, items, values, at, out);
    Ok(())
}

/// Stores the values of one element. All are computed before the first is stored, because an output
/// may be an input.
pub fn store_single(l: &mut Lower, items: &[&Item], values: Vec<Expr>, at: &Expr, out: &mut Vec<Stmt>) {
    let mut stores = Vec::new();
    for (item, e) in items.iter().zip(values) {
        let (mem, ty) = (l.launch.output(item), l.launch.g.ty(item.node).elem);
        let e = bind(l, "value", e, out);
        let extents = domain(&l.launch.g, item.node);
        let at = l.place(mem, &extents, at);
        stores.push(Stmt::Store(mem, at, canonical(e, ty, &mut l.k.kernel, out)));
    }
    out.append(&mut stores);
}

/// Returns the items that are stored arrays.
pub fn stored<'p>(l: &LaunchContext, fused: &'p crate::schedule::groups::FusedGroup) -> Vec<&'p Item> {
    fused.items.iter().filter(|it| matches!(l.g.op(it.node), Op::Generate(..) | Op::Materialize(_))).collect()
}

/// Returns the words of registers that one group of neighbours takes over these arrays.
pub fn words<'x>(
    l: &LaunchContext,
    arrays: impl IntoIterator<Item = &'x NodeId>,
    layout: ThreadLayout,
) -> i64 {
    let words = |x: &NodeId| (layout.v * l.g.ty(*x).elem.size() as i64 + 3) / 4;
    arrays.into_iter().map(words).sum::<i64>().max(1)
}

/// The maximum number of operations of a thread's unrolled body.
pub const MAX_UNROLLED: u32 = 512;
