//! Fusion: every array expression becomes an index function of stored arrays (a pull array), so an array that is read
//! only once is not stored (Larsen, "Simple Optimizations for an Applicative Array Language", section 6).
//!
//! ```text
//! %2 = map (%a, %b) over %x, %y { yield (sub %a, %b) }     %3 = generate (len %x) (%i) {
//! %3 = reverse %2                                    ->      yield (sub (elem %x, (len %x - %i - 1)), (elem %y, ..))
//! %4 = reduce (..) from 0f32 over %3                       }
//!                                                          %4 = reduce (..) from 0f32 over %3
//! ```
//!
//! After this pass, parameters, `materialize`, `iterate`, `generate` and parts of scans, which are stored, are the
//! only arrays (`verify::is_fused`). The translation is demand-driven: intermediate arrays never get a lambda
//! of their own, and each pair `(array, index)` is translated once. So the result is linear in the
//! size of the computation of one element.
//!
//! Reductions and folds of matrices and of arrays of higher rank run over the elements in row-major order, by one
//! index. The indices of the axes are computed from that index by divisions, which the schedule avoids where arrays
//! have no gaps.
//!
//! A read that the author indexes (`at`) is total. On a stored array it stays `at`. On a computed array it becomes a
//! test (`within`, which leaves the error record) around the element, whose own reads must be total as well. If the
//! index is an index of the index space plus a constant, and is provably inside, the read becomes a plain `elem`.

use crate::budget;
use crate::core::equations::Equations;
use crate::core::guarded::prove_guarded;
use crate::core::host::HostScalars;
use crate::core::index_space::indices;
use crate::core::labels::Labels;
use crate::core::linear;
use crate::core::postponed::{self, Opened, Postponed};
use crate::core::prove::prove;
use crate::core::simplify::{extent, extents, simplify};
use crate::core::total_reads::{Asked, total};
use crate::core::{Function, Graph, Lambda, NodeId, Op, ScanPart, Tested, rewrite::rewrite_from};
use crate::core::{kept_records, panels, recompute, tuples};
use crate::error::Result;
use crate::scalar::{BinaryOp, Lit, Ty};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// Runs the pass.
pub fn run(mut f: Function) -> Result<Function> {
    if f.needs(|n| matches!(f.graph.op(n), Op::At(..))) {
        // a read that is proven to be in bounds here needs no test in any of the elements into which it is composed
        let rules = Equations::of(&f);
        prove_guarded(&mut f, &rules);
    }
    let results = f.results.iter().map(|r| r.value);
    let labels = Labels::of(&f.graph, results);
    f.graph.set_labels(labels.into());
    let recompute::Stored { arrays: stored, has_stages, repeats } = recompute::stored(&f);
    (f.has_stages, f.repeats) = (has_stages, repeats);
    let postponed = Postponed::of(&f, |n| stored.contains_key(&n));
    let mut fuse = Fuse::default();
    let mut out = rewrite_from(&f, true, &mut |g, op, old| {
        if postponed.nodes.contains(&old) {
            return fuse.postponed(g, op);
        }
        let made = fuse.scalar(g, op);
        if postponed.arrays.contains(&old) {
            fuse.as_written.insert(made);
        }
        match stored.get(&old) {
            // the array is stored in any case, so its launch leaves its error records
            Some(true) => {
                let made = fuse.generate(g, made);
                kept_records::once(g, made)
            }
            Some(false) => {
                let element = fuse.generate(g, made);
                if tuples::has_tuples(g, element) {
                    return stored_tuples(g, element);
                }
                kept_records::stored(g, element).unwrap_or(made)
            }
            None => made,
        }
    });
    let read = out.arrays_read();
    let mut seen: HashSet<NodeId> = HashSet::default();
    for i in 0..out.results.len() {
        let value = out.results[i].value;
        if !out.graph.ty(value).is_scalar() {
            let (is_first, is_read) = (seen.insert(value), read.contains(&value));
            // a result is stored anyway, so other users of the array read the result
            out.results[i].value = match *out.graph.op(value) {
                Op::Materialize(x) if !is_read && !out.graph.op(x).is_stored_apart() => x,
                Op::Materialize(_) | Op::Iterate { .. } if is_first => value,
                _ => fuse.generate(&mut out.graph, value),
            };
        }
    }
    Ok(out)
}

/// Stores the components of tuples of computed elements, each as an array.
fn stored_tuples(g: &mut Graph, elements: NodeId) -> NodeId {
    tuples::each_array(g, elements, |g, own| {
        let is_read = |n: NodeId| matches!(g.op(n), Op::Elem(..) | Op::Var(..) | Op::Const(_));
        match g.op(own).lambda() {
            Some(l) if is_read(l.body) => own,
            _ => kept_records::stored(g, own).unwrap_or(own),
        }
    })
}

impl Function {
    /// Returns the arrays that nodes other than a single result need.
    fn arrays_read(&self) -> HashSet<NodeId> {
        let (mut read, mut results) = (HashSet::default(), HashSet::default());
        for r in &self.results {
            if !results.insert(r.value) {
                read.insert(r.value);
            }
        }
        for n in self.graph.reachable(self.results.iter().map(|r| r.value)) {
            read.extend(self.graph.op(n).operands().filter(|o| !self.graph.ty(*o).is_scalar()));
        }
        read
    }
}

#[derive(Default)]
struct Fuse {
    /// The elements that were made. The key is an array, indices, and whether these are proven to be inside.
    elements: HashMap<(NodeId, Vec<NodeId>, bool), NodeId>,
    /// The arrays in whose bodies reads of computed arrays are not composed yet (`core/postponed.rs`).
    as_written: HashSet<NodeId>,
    /// The opened bodies of the arrays in `as_written`.
    opened: HashMap<NodeId, Opened>,
    /// What the host can compute.
    hosts: HostScalars,
    /// Nodes that need no array whose length only the device knows.
    of_known_length: HashSet<NodeId>,
}

impl Fuse {
    /// Adds a node of a postponed body as it is written. If it no longer depends on the body's variables, because an
    /// array turned out to have the same element everywhere, it is composed now.
    fn postponed(&mut self, g: &mut Graph, op: Op) -> NodeId {
        let made = g.add(op.clone());
        if !g.is_closed(made) {
            return made;
        }
        let operands: Vec<NodeId> = op.operands().collect();
        let mut compose = |g: &mut Graph, op: Op, unproven: bool| self.compose(g, op, unproven);
        let lambda = op.lambda().map(|l| postponed::composed_lambda(g, l, &mut compose));
        let op = op.with(&operands, lambda);
        self.scalar(g, op)
    }

    /// Returns the body of the array `x` for these arguments. If its reads of computed arrays are not composed yet,
    /// they are composed now. Plain reads (`elem`) in the body are proven to be in bounds for indices of the array
    /// only. If `asked`, the index may lie outside, so reads that depend on it become total (`at`).
    fn body(
        &mut self,
        g: &mut Graph,
        x: NodeId,
        lambda: &Lambda,
        args: &[NodeId],
        asked: Option<Asked>,
    ) -> NodeId {
        let is_postponed = self.as_written.contains(&x);
        if let Some(asked) = asked.filter(|_| !is_postponed || postponed::has_arrays(g, lambda)) {
            // compose first: only then it is known which reads depend on the arguments
            let types: Vec<Ty> = lambda.params.iter().map(|p| p.1).collect();
            let composed =
                is_postponed.then(|| g.lambda(&types, |g, vars| self.body(g, x, lambda, vars, None)));
            let total = total(g, composed.as_ref().unwrap_or(lambda), asked);
            return g.open(&total, args);
        }
        if !is_postponed {
            return g.open(lambda, args);
        }
        let opened = self.opened.entry(x).or_insert_with(|| Opened::of(g, lambda)).clone();
        postponed::composed(g, &opened, args, asked, &mut |g, op, unproven| self.compose(g, op, unproven))
    }

    /// Translates an operation of a postponed body. If `unproven`, the indices of a read may be out of bounds.
    fn compose(&mut self, g: &mut Graph, op: Op, unproven: bool) -> NodeId {
        match op {
            Op::Elem(x, index) if unproven => self.element(g, x, &index, false),
            op => self.scalar(g, op),
        }
    }

    /// Rewrites a scalar operation that consumes arrays: it takes them as `generate`. Array
    /// combinators are not translated until one of their elements is needed.
    fn scalar(&mut self, g: &mut Graph, op: Op) -> NodeId {
        match op {
            Op::Len(x, axis) => extent(g, x, axis),
            Op::At(x, index) => self.at(g, x, index),
            Op::Elem(x, index) => self.single(g, x, &index, true),
            Op::Reduce { join, init, src, which } => {
                let src = self.sequence(g, src);
                let made = g.add(Op::Reduce { join, init, src, which });
                kept_records::apart(g, made)
            }
            Op::Fold { step, init, src, which } => {
                let src = self.sequence(g, src);
                let made = g.add(Op::Fold { step, init, src, which });
                kept_records::apart(g, made)
            }
            Op::SquaredDeviations { init, src } => {
                let src = self.sequence(g, src);
                let made = g.add(Op::SquaredDeviations { init, src });
                kept_records::apart(g, made)
            }
            Op::Dot { init, a, b } => {
                let (a, b) = (self.sequence(g, a), self.sequence(g, b));
                let made = g.add(Op::Dot { init, a, b });
                kept_records::apart(g, made)
            }
            Op::PanelDot { init, a, b } => {
                let (a, b) = (self.sequence(g, a), self.sequence(g, b));
                if [init, a, b].iter().all(|n| g.is_closed(*n)) {
                    return panels::sum(g, init, a, b);
                }
                let made = g.add(Op::PanelDot { init, a, b });
                kept_records::apart(g, made)
            }
            Op::Scan { part, join, mut init, src, which } => {
                let src = self.sequence(g, src);
                if part == ScanPart::Tiles {
                    init = self.sequence(g, init);
                }
                g.add(Op::Scan { part, join, init, src, which })
            }
            mut op if op.is_step_of_sort() || matches!(op, Op::Place { .. } | Op::Bins { .. }) => {
                op.each_operand(|o| *o = if g.ty(*o).is_scalar() { *o } else { self.generate(g, *o) });
                g.add(op)
            }
            Op::Put { at, src, base, after } => {
                let [at, src, base] = [at, src, base].map(|x| self.generate(g, x));
                let after = self.stored(g, after);
                g.add(Op::Put { at, src, base, after })
            }
            Op::Materialize(x) if g.op(x).is_stored_apart() => g.add(Op::Materialize(x)),
            Op::Materialize(x) => self.stored(g, x),
            Op::Iterate { step, which, form, count, args } => {
                let args = args.into_iter().map(|a| if g.ty(a).is_scalar() { a } else { self.stored(g, a) });
                let args = args.collect();
                g.add(Op::Iterate { step, which, form, count, args })
            }
            op => g.add(op),
        }
    }

    /// Returns the array as one in memory.
    fn stored(&mut self, g: &mut Graph, x: NodeId) -> NodeId {
        if g.is_stored(x) {
            return x;
        }
        let x = self.generate(g, x);
        g.add(Op::Materialize(x))
    }

    /// Returns the array as a function of its indices.
    fn generate(&mut self, g: &mut Graph, x: NodeId) -> NodeId {
        let is_written = matches!(g.op(x), Op::Generate(..)) && !self.as_written.contains(&x);
        if is_written && g.is_closed(x) {
            // the author wrote this `generate`: only its reads can be improved
            return prove(g, x, &Equations::default());
        }
        let before = g.set_loc(g.node(x).loc.clone());
        let extents = extents(g, x);
        let lambda = g.lambda(&vec![Ty::I64; extents.len()], |g, i| self.element(g, x, i, true));
        let out = g.add(Op::Generate(extents, lambda));
        let out = prove(g, out, &Equations::default());
        g.set_loc(before);
        out
    }

    /// Returns the array's elements in row-major order, as a function of one index.
    fn sequence(&mut self, g: &mut Graph, x: NodeId) -> NodeId {
        if g.ty(x).rank == 1 {
            return self.generate(g, x);
        }
        let before = g.set_loc(g.node(x).loc.clone());
        let extents = extents(g, x);
        let n = extents.iter().copied().reduce(|a, b| linear::mul(g, a, b)).expect("it has a rank");
        let lambda = g.lambda(&[Ty::I64], |g, k| {
            let index = indices(g, k[0], &extents);
            self.element(g, x, &index, true)
        });
        let out = g.add(Op::Generate(vec![n], lambda));
        g.set_loc(before);
        out
    }

    /// Translates a total read: outside it gives 0 and leaves an error record.
    fn at(&mut self, g: &mut Graph, x: NodeId, index: Vec<NodeId>) -> NodeId {
        if g.is_stored(x) {
            return g.add(Op::At(x, index));
        }
        let tests = (0u8..).zip(&index).map(|(axis, i)| {
            let n = extent(g, x, axis);
            g.add(Op::Within(*i, n, Tested::Index))
        });
        let tests: Vec<NodeId> = tests.collect();
        let inside = tests.into_iter().reduce(|a, b| g.add(Op::Binary(BinaryOp::And, a, b)));
        let value = self.single(g, x, &index, false);
        let zero = g.lit(Lit::zero(g.ty(x).elem));
        simplify(g, Op::Select(inside.expect("an index an axis"), value, zero))
    }

    /// Returns the same as [`Fuse::element`], but stores the array first if the indices are the same for the whole
    /// call and the element has a loop whose length only the device knows: such a loop cannot be a launch.
    fn single(&mut self, g: &mut Graph, x: NodeId, index: &[NodeId], proven: bool) -> NodeId {
        let value = self.element(g, x, index, proven);
        if g.is_stored(x) || !index.iter().all(|i| g.is_closed(*i)) || !self.needs_length_of_data(g, value) {
            return value;
        }
        let elements = self.generate(g, x);
        match kept_records::stored(g, elements) {
            Some(stored) => self.element(g, stored, index, proven),
            None => value,
        }
    }

    /// Returns whether a value needs an array whose length only the device knows.
    fn needs_length_of_data(&mut self, g: &Graph, value: NodeId) -> bool {
        let known = |n| self.of_known_length.contains(&n) || g.is_stored(n);
        let reached: Vec<NodeId> = g.reachable_until([value], known);
        let mut is_host = |n: &NodeId| !g.is_closed(*n) || self.hosts.is_host(g, *n);
        let needs = reached.iter().any(|n| match g.op(*n) {
            Op::Generate(extents, _) => !extents.iter().all(&mut is_host),
            _ => false,
        });
        if !needs {
            self.of_known_length.extend(reached);
        }
        needs
    }

    /// Returns the element of `x` at these indices. If `proven`, they are inside, so reads need no test.
    fn element(&mut self, g: &mut Graph, x: NodeId, index: &[NodeId], proven: bool) -> NodeId {
        let key = (x, index.to_vec(), proven);
        if let Some(&e) = self.elements.get(&key) {
            return e;
        }
        // new nodes get the location of x, inside the location of the node that reads it
        let asked = g.set_loc(Default::default());
        let loc = g.node(x).loc.within(&asked);
        // this notes the author's line; the runner of the passes reports the exceeded budget after this pass
        if budget::is_exceeded(&loc) {
            g.set_loc(asked);
            return g.add(Op::Elem(x, index.to_vec()));
        }
        g.set_loc(loc);
        let asked_at = (!proven).then_some(Asked { array: x, index });
        let mut index = index.to_vec();
        let e = match g.op(x).clone() {
            // elements that read a scan are stored by the launch that scans the tiles
            Op::Scan { .. } => g.add(Op::Elem(x, index)),
            Op::Param(_) | Op::Materialize(_) | Op::Iterate { .. } => {
                g.add(if proven { Op::Elem(x, index) } else { Op::At(x, index) })
            }
            Op::Map(lambda, srcs) => {
                let args: Vec<_> = srcs.iter().map(|s| self.element(g, *s, &index, proven)).collect();
                self.body(g, x, &lambda, &args, asked_at)
            }
            Op::Generate(_, lambda) => self.body(g, x, &lambda, &index, asked_at),
            Op::Slice { src, axis, start, stride, .. } => {
                let i = &mut index[axis as usize];
                let step = linear::mul(g, *i, stride);
                *i = linear::add(g, start, step);
                self.element(g, src, &index, proven)
            }
            Op::Reverse(src, axis) => {
                let n = extent(g, src, axis);
                let one = g.lit(Lit::i64(1));
                let last = linear::sub(g, n, one);
                let i = &mut index[axis as usize];
                *i = linear::sub(g, last, *i);
                self.element(g, src, &index, proven)
            }
            Op::Permute(src, axes) => {
                let mut of = index.clone();
                axes.iter().zip(&index).for_each(|(axis, i)| of[*axis as usize] = *i);
                self.element(g, src, &of, proven)
            }
            Op::Pick { src, axis, index: at } => {
                index.insert(axis.into(), at);
                self.element(g, src, &index, proven)
            }
            Op::Spread { src, axis, .. } => {
                index.remove(axis.into());
                self.element(g, src, &index, proven)
            }
            Op::Iota(_) => index[0],
            Op::Fill(_, value) => value,
            op => unreachable!("verified: {op:?} is no array"),
        };
        g.set_loc(asked);
        self.elements.insert(key, e);
        e
    }
}
