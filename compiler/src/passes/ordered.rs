//! Writes reductions that keep the order of their elements (semantics 5.17) as reductions by the tree of
//! semantics 5.1.
//!
//! ```text
//! %r = reduce_ordered (%a, %b) from %init over %x {..}
//!   ->
//! %y = materialize (generate groups (%u) {
//!     reduce (join) from absent over (generate 2^18 (%p) { %x in group u at p }) })
//! %z = materialize (generate (groups / 128) (%w) {
//!     reduce (join) from absent over (generate 128 (%v) { %y at 128 w + v }) })
//! present, %v = reduce (join) from absent over %z
//! %r = select present, (%a = %init, %b = %v in ..), %init
//! ```
//!
//! By 5.1, column c of a tile joins elements c, 128 + c, ..; by 5.17 it joins elements 16 c .. 16 c + 15. So the
//! elements of a tile are permuted: place p gets the element at 16 (p mod 128) + p / 128, and then both trees of a
//! tile are the same. Beyond a tile, both trees join neighbours: up to 128 tiles, which are a *group*, and up to 128
//! groups. In the last tile, elements may be absent at any place. So elements are tuples with a flag, and where one
//! operand of `join` is absent, the result is the other one. Absent tiles of a group have no places.
//!
//! Inside of closures, where nothing can be stored, the groups are joined without `y` and `z`. Elements that may
//! leave error records are stored first, so that a record has the number of its element.
//!
//! Suppose that the operator or the initial value may leave a record, and that the reduction is computed once for the
//! call. Then the last `reduce` begins with the initial value, as a tuple with the flag `true`, so that its launch
//! leaves these records, too, even if no element needs the value.

use crate::core::records::may_record;
use crate::core::rewrite::rewrite_from;
use crate::core::simplify::simplify;
use crate::core::{COLUMNS, Function, Graph, Lambda, NodeId, Op, TILE, tuples};
use crate::error::Result;
use crate::scalar::{BinaryOp, Lit, Ty};

/// Runs the pass.
pub fn run(f: Function) -> Result<Function> {
    if !f.needs(|n| matches!(f.graph.op(n), Op::ReduceOrdered { .. })) {
        return Ok(f);
    }
    Ok(rewrite_from(&f, true, &mut |g, op, old| match op {
        Op::ReduceOrdered { join, init, src, which } => {
            let once = f.graph.node(old).once;
            let all = reduced(g, &join, init, src, once);
            all[which as usize]
        }
        op => g.add(op),
    }))
}

/// Returns the components of the result.
fn reduced(g: &mut Graph, join: &Lambda, init: NodeId, src: NodeId, once: bool) -> Vec<NodeId> {
    let sources = tuples::arrays_of_components(g, src);
    let types: Vec<Ty> = sources.iter().map(|x| g.ty(*x).elem).collect();
    let joins = Joins { join: optional(g, join, &types), types };
    let records = once && [join.body, init].into_iter().any(|n| may_record(g, n));
    let init = tuples::components(g, init);
    let first = if records { Some(&init[..]) } else { None };
    let all = joins.all(g, &sources, first);
    // all components are marked, because they may leave records
    all.iter().filter(|_| once).for_each(|n| g.mark_once(*n));
    if records {
        return all[1..].to_vec();
    }
    let body = g.open(join, &[&init[..], &all[1..]].concat());
    let joined = tuples::components(g, body);
    joined.into_iter().zip(init).map(|(value, init)| simplify(g, Op::Select(all[0], value, init))).collect()
}

/// Returns the operator on values that may be absent: tuples whose first component says whether there is one.
fn optional(g: &mut Graph, join: &Lambda, types: &[Ty]) -> Lambda {
    let one: Vec<Ty> = [Ty::Bool].into_iter().chain(types.iter().copied()).collect();
    g.lambda(&[&one[..], &one].concat(), |g, vars| {
        let (a, b) = vars.split_at(one.len());
        let body = g.open(join, &[&a[1..], &b[1..]].concat());
        let joined = tuples::components(g, body);
        let mut all = vec![g.add(Op::Binary(BinaryOp::Or, a[0], b[0]))];
        for (value, (x, y)) in joined.into_iter().zip(a[1..].iter().zip(&b[1..])) {
            let value = g.add(Op::Select(b[0], value, *x));
            all.push(g.add(Op::Select(a[0], value, *y)));
        }
        g.add(Op::Tuple(all))
    })
}

/// How values are joined.
struct Joins {
    join: Lambda,
    types: Vec<Ty>,
}

/// An element: its components, and whether there is one.
type Element<'e> = &'e dyn Fn(&mut Graph, NodeId) -> (NodeId, Vec<NodeId>);

impl Joins {
    /// Returns whether there is an element, and the components of the join of all elements, after `first` if that is
    /// given.
    fn all(&self, g: &mut Graph, sources: &[NodeId], first: Option<&[NodeId]>) -> Vec<NodeId> {
        let count = length(g, sources[0]);
        let (group, tile) = (TILE * COLUMNS, TILE);
        let (groups, tiles) = (parts(g, count, group), parts(g, count, tile));
        let size = times(g, tiles, tile);
        let size = at_most(g, size, group);
        // the values of a group of tiles, given the group's number
        let of_group = |g: &mut Graph, number: NodeId| {
            let begin = times(g, number, group);
            self.reduced(g, size, None, &|g, place| element(g, sources, count, begin, place))
        };
        let values = self.stored(g, groups, &of_group);
        let is_stored = values.as_ref().is_some_and(|all| all.iter().all(|x| g.is_stored(*x)));
        let yes = g.lit(Lit::bool(true));
        let (true, Some(values)) = (is_stored, values) else {
            return self.reduced(g, groups, first, &|g, number| (yes, of_group(g, number)[1..].to_vec()));
        };
        // the values of 128 groups
        let (more, few) = (parts(g, groups, COLUMNS), at_most(g, groups, COLUMNS));
        let of_groups = |g: &mut Graph, number: NodeId| {
            let begin = times(g, number, COLUMNS);
            self.reduced(g, few, None, &|g, place| {
                let index = simplify(g, Op::Binary(BinaryOp::Add, begin, place));
                read(g, &values, groups, index)
            })
        };
        let values = self.stored(g, more, &of_groups).expect("they depend on no variable");
        self.reduced(g, more, first, &|g, number| {
            (yes, values.iter().map(|x| g.add(Op::Elem(*x, vec![number]))).collect())
        })
    }

    /// Returns the arrays of the components of these values, if they depend on no variable of a closure.
    fn stored(
        &self,
        g: &mut Graph,
        count: NodeId,
        value: &dyn Fn(&mut Graph, NodeId) -> Vec<NodeId>,
    ) -> Option<Vec<NodeId>> {
        let component = |which: usize| {
            let lambda = g.lambda(&[Ty::I64], |g, number| value(g, number[0])[which]);
            let all = g.add(Op::Generate(vec![count], lambda));
            g.is_closed(all).then(|| g.add(Op::Materialize(all)))
        };
        (1..=self.types.len()).map(component).collect()
    }

    /// Returns whether any of `count` elements is present, and the components of their join, after `first` if that is
    /// given.
    fn reduced(
        &self,
        g: &mut Graph,
        count: NodeId,
        first: Option<&[NodeId]>,
        element: Element,
    ) -> Vec<NodeId> {
        let init = match first {
            Some(first) => [&[g.lit(Lit::bool(true))][..], first].concat(),
            None => [Ty::Bool].iter().chain(&self.types).map(|ty| g.lit(Lit::zero(*ty))).collect(),
        };
        let init = g.add(Op::Tuple(init));
        let elements = g.lambda(&[Ty::I64], |g, place| {
            let (present, components) = element(g, place[0]);
            g.add(Op::Tuple([&[present], &components[..]].concat()))
        });
        let src = g.add(Op::Generate(vec![count], elements));
        let component = |which| g.add(Op::Reduce { join: self.join.clone(), init, src, which: which as u32 });
        (0..=self.types.len()).map(component).collect()
    }
}

/// Returns the number of parts of `size` elements, the last of which may be shorter.
fn parts(g: &mut Graph, count: NodeId, size: i64) -> NodeId {
    let [more, size] = [size - 1, size].map(|n| g.lit(Lit::i64(n)));
    let up = simplify(g, Op::Binary(BinaryOp::Add, count, more));
    simplify(g, Op::Binary(BinaryOp::Div, up, size))
}

fn times(g: &mut Graph, n: NodeId, by: i64) -> NodeId {
    let by = g.lit(Lit::i64(by));
    simplify(g, Op::Binary(BinaryOp::Mul, n, by))
}

fn at_most(g: &mut Graph, n: NodeId, limit: i64) -> NodeId {
    let limit = g.lit(Lit::i64(limit));
    simplify(g, Op::Binary(BinaryOp::Min, n, limit))
}

/// Returns the element at a place of the group of tiles that begins at `first`.
fn element(
    g: &mut Graph,
    sources: &[NodeId],
    count: NodeId,
    first: NodeId,
    place: NodeId,
) -> (NodeId, Vec<NodeId>) {
    let [size, columns] = [TILE, COLUMNS].map(|n| g.lit(Lit::i64(n)));
    let binary = |g: &mut Graph, op, a, b| simplify(g, Op::Binary(op, a, b));
    let inside = binary(g, BinaryOp::Rem, place, size);
    let tile = binary(g, BinaryOp::Sub, place, inside);
    let column = binary(g, BinaryOp::Rem, inside, columns);
    let row = binary(g, BinaryOp::Div, inside, columns);
    let column = times(g, column, TILE / COLUMNS);
    let [begin, inside] = [(first, tile), (column, row)].map(|(a, b)| binary(g, BinaryOp::Add, a, b));
    let index = binary(g, BinaryOp::Add, begin, inside);
    read(g, sources, count, index)
}

/// Returns whether an index is below `count`, and the elements there, or else the last ones.
fn read(g: &mut Graph, sources: &[NodeId], count: NodeId, index: NodeId) -> (NodeId, Vec<NodeId>) {
    let one = g.lit(Lit::i64(1));
    let present = simplify(g, Op::Binary(BinaryOp::Lt, index, count));
    let last = simplify(g, Op::Binary(BinaryOp::Sub, count, one));
    let index = simplify(g, Op::Binary(BinaryOp::Min, index, last));
    let value = |source: &NodeId| {
        let index = indices(g, *source, index);
        g.add(Op::Elem(*source, index))
    };
    (present, sources.iter().map(value).collect())
}

/// Returns the number of elements of an array.
fn length(g: &mut Graph, array: NodeId) -> NodeId {
    let rank = g.ty(array).rank;
    let all: Vec<NodeId> = (0..rank).map(|axis| g.add(Op::Len(array, axis))).collect();
    all.into_iter().reduce(|a, b| simplify(g, Op::Binary(BinaryOp::Mul, a, b))).expect("verified: an array")
}

/// Returns the indices of an element, given its number in row-major order.
fn indices(g: &mut Graph, array: NodeId, mut index: NodeId) -> Vec<NodeId> {
    let one = g.lit(Lit::i64(1));
    let mut all = Vec::new();
    for axis in (1..g.ty(array).rank).rev() {
        // this extent is never 0, so that the division leaves no record
        let extent = g.add(Op::Len(array, axis));
        let extent = g.add(Op::Binary(BinaryOp::Max, extent, one));
        all.push(g.add(Op::Binary(BinaryOp::Rem, index, extent)));
        index = g.add(Op::Binary(BinaryOp::Div, index, extent));
    }
    all.push(index);
    all.reverse();
    all
}
