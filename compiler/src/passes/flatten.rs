//! Flattening: a reduction inside of another reduction, or beside one of another length, becomes a stored array. An
//! element then only has reductions for which the schedule has a strategy, instead of loops that each thread runs
//! alone (Blelloch 1990; Henriksen et al., "Incremental flattening for nested data parallelism", 2019).
//!
//! ```text
//! reduce max over (generate n (%i) {           %s = materialize (generate n (%i) { reduce + .. x[%i, %k] .. })
//!   reduce + over (generate m (%k) {       ->  reduce max over (generate n (%i) { elem %s, %i })
//!     x[%i, %k] .. }) .. })
//! ```
//!
//! Four shapes are flattened:
//!
//! 1. a reduction of elements that contain reductions, or such elements of a bin or a put: the elements are stored;
//! 2. an element that contains reductions of several lengths, or several matrix products: all but
//!    those of one length, or one product, are stored;
//! 3. an element whose reduction contains a reduction again: the inner one is stored if it is a matrix product, or if
//!    an array with the same indices is read anyway, so that the stored array is not larger than one of the program;
//! 4. an inner reduction that the reductions of several arrays have in common: if one array has the least distance of
//!    each point to all centres, and another one has the number of that centre, the matrix of distances is computed
//!    once and stored.
//!
//! Short loops stay, and so do loops that read no array, such as random walks: there may be more
//! elements than memory has room for.

use crate::core::equations::Equations;
use crate::core::graph::replace::{Found, replaced, replaced_by};
use crate::core::index_space::{Loops, length, only_inside};
use crate::core::rewrite::rewrite;
use crate::core::{Function, Graph, Lambda, MAX_RANK, NodeId, Op, Var};
use crate::core::{kept_records, sequence, tuples};
use crate::error::Result;
use crate::scalar::{Lit, Ty};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// The maximum number of iterations of a short loop.
const SHORT: i64 = 32;

/// Runs the pass.
pub fn run(f: Function) -> Result<Function> {
    if !f.needs(|n| f.graph.op(n).is_reduction() && !f.graph.is_closed(n)) {
        return Ok(f);
    }
    let mut out = rewrite(&f, false, &mut |g, op| {
        let op = match op {
            Op::Materialize(x) => Op::Materialize(element_wise(g, x)),
            Op::Iterate { step, which, form, count, args } => {
                let args = args.into_iter().map(|x| element_wise(g, x)).collect();
                Op::Iterate { step, which, form, count, args }
            }
            op => reduced(g, op),
        };
        g.add(op)
    });
    for r in &mut out.results {
        r.value = element_wise(&mut out.graph, r.value);
    }
    store_shared(&mut out);
    Ok(out)
}

/// Stores inner reductions that the nested reductions of several arrays have in common (shape 4).
fn store_shared(f: &mut Function) {
    let g = &mut f.graph;
    let all = g.reachable(f.results.iter().map(|r| r.value));
    let stored = all.iter().filter_map(|n| if let Op::Materialize(x) = *g.op(*n) { Some(x) } else { None });
    let mut arrays: Vec<NodeId> = f.results.iter().map(|r| r.value).chain(stored).collect();
    arrays.sort_unstable();
    arrays.dedup();
    // all elements have the same variables here, so that equal reductions are equal nodes
    let k = g.fresh_var(Ty::I64);
    let mut users: HashMap<(NodeId, Vec<NodeId>), u32> = HashMap::default();
    for array in &arrays {
        let inner: HashSet<_> = inner_ones(g, *array, k.1).into_iter().collect();
        inner.into_iter().for_each(|n| *users.entry(n).or_default() += 1);
    }
    users.retain(|_, users| *users > 1);
    if users.is_empty() {
        return;
    }
    let mut made: HashMap<NodeId, NodeId> = HashMap::default();
    for n in all {
        if !g.is_closed(n) {
            continue;
        }
        let mut find = |g: &mut Graph, m: NodeId| match m != n && g.is_closed(m) {
            true => Found::By(made.get(&m).copied().unwrap_or(m)),
            false => Found::Inside,
        };
        let mut new = replaced_by(g, n, &mut find, &mut |g, op| g.add(op), &mut HashMap::default());
        if arrays.binary_search(&n).is_ok()
            && let Op::Generate(extents, lambda) = g.op(new).clone()
        {
            let index = sample_axes(g, &extents);
            let body = opened(g, &lambda, &index);
            let mut element = body;
            for reduction in outermost(g, body) {
                let around = space(g, n, reduction);
                let is_shared =
                    |_: &Graph, _: NodeId, inner: NodeId| users.contains_key(&(inner, around.clone()));
                element = inner_stored(g, element, reduction, &index, k, &is_shared);
            }
            if element != body {
                new = generated(g, extents, &index, element);
            }
        }
        made.insert(n, new);
    }
    for r in &mut f.results {
        r.value = made.get(&r.value).copied().unwrap_or(r.value);
    }
}

/// Returns the long reductions inside of the reductions of an array's elements that depend on at most two indices,
/// each with the space of these indices. The elements have the indices of [`Graph::sample_index`], and the reductions
/// the index `k`.
fn inner_ones(g: &mut Graph, array: NodeId, k: NodeId) -> Vec<(NodeId, Vec<NodeId>)> {
    let Op::Generate(extents, lambda) = g.op(array).clone() else { return Vec::new() };
    let index = sample_axes(g, &extents);
    let body = opened(g, &lambda, &index);
    let mut found = Vec::new();
    for n in outermost(g, body) {
        let around = space(g, array, n);
        for src in g.op(n).operands().collect::<Vec<_>>() {
            let Op::Generate(_, lambda) = g.op(src).clone() else { continue };
            let value = g.open(&lambda, &[k]);
            found.extend(outermost(g, value).into_iter().map(|inner| (inner, around.clone())));
        }
    }
    found.retain(|(n, _)| is_long(g, *n) && g.node(*n).free.len() <= 2);
    found
}

/// Returns the extents of an array and the length of a reduction in its elements.
fn space(g: &Graph, array: NodeId, reduction: NodeId) -> Vec<NodeId> {
    let extents = if let Op::Generate(extents, _) = g.op(array) { extents.as_slice() } else { &[] };
    extents.iter().copied().chain(length_of(g, reduction)).collect()
}

fn sample_axes(g: &mut Graph, extents: &[NodeId]) -> Vec<Axis> {
    let vars = g.sample_index(extents.len()).into_iter().zip(extents);
    vars.map(|((var, node), extent)| Axis { var, node, extent: *extent }).collect()
}

/// Returns the element at these indices.
fn opened(g: &mut Graph, lambda: &Lambda, index: &[Axis]) -> NodeId {
    let nodes: Vec<NodeId> = index.iter().map(|a| a.node).collect();
    g.open(lambda, &nodes)
}

/// Returns the `generate` with this element.
fn generated(g: &mut Graph, extents: Vec<NodeId>, index: &[Axis], element: NodeId) -> NodeId {
    let vars: Vec<(Var, Ty)> = index.iter().map(|a| (a.var, Ty::I64)).collect();
    let lambda = g.close(&vars, element);
    g.add(Op::Generate(extents, lambda))
}

/// Stores the elements of a reduction that depends on no index, or those that go to destinations, if they contain
/// reductions.
fn reduced(g: &mut Graph, op: Op) -> Op {
    if op.operands().any(|o| !g.is_closed(o)) {
        return op;
    }
    let stored = |g: &mut Graph, src: NodeId| match elements_have_loops(g, src) {
        true => stored_elements(g, src).unwrap_or(src),
        false => src,
    };
    match op {
        Op::Reduce { join, init, src, which } => {
            Op::Reduce { join, init, src: tuples::each_array(g, src, stored), which }
        }
        Op::Fold { step, init, src, which } => {
            Op::Fold { step, init, src: tuples::each_array(g, src, stored), which }
        }
        Op::SquaredDeviations { init, src } => Op::SquaredDeviations { init, src: stored(g, src) },
        Op::Dot { init, a, b } => Op::Dot { init, a: stored(g, a), b: stored(g, b) },
        Op::Put { at, src, base, after } => Op::Put { at: stored(g, at), src: stored(g, src), base, after },
        Op::Bins { op, parts, count, at, src } => {
            Op::Bins { op, parts, count, at: stored(g, at), src: stored(g, src) }
        }
        op => op,
    }
}

/// Returns whether the elements of a `generate` contain a long reduction that depends on them.
fn elements_have_loops(g: &mut Graph, src: NodeId) -> bool {
    let Op::Generate(_, lambda) = g.op(src).clone() else { return false };
    outermost(g, lambda.body).into_iter().any(|n| is_long(g, n))
}

/// Returns an array with the elements of a `generate` of one index, which are stored. If they are the elements of a
/// matrix as a sequence, the matrix is stored, so that its rows and columns are known.
fn stored_elements(g: &mut Graph, src: NodeId) -> Option<NodeId> {
    let Op::Generate(extents, lambda) = g.op(src).clone() else { return None };
    let (var, k) = g.fresh_var(Ty::I64);
    let body = g.open(&lambda, &[k]);
    let axes = sequence::row_and_column(g, k, extents[0], body);
    let mut element = body;
    let (mut vars, mut of_array, mut places) = (Vec::new(), Vec::new(), Vec::new());
    for (index, extent) in axes {
        let (v, node) = g.fresh_var(Ty::I64);
        element = replaced(g, element, index, node, &mut HashMap::default());
        vars.push((v, Ty::I64));
        of_array.push(extent);
        places.push(index);
    }
    if vars.is_empty() || g.node(element).free.contains(&var) {
        (vars, of_array, places, element) = (vec![(var, Ty::I64)], vec![extents[0]], vec![k], body);
    }
    let array = array(g, &vars, &of_array, element)?;
    let value = kept_records::element(g, array, &places);
    let lambda = g.close(&[(var, Ty::I64)], value);
    Some(g.add(Op::Generate(extents, lambda)))
}

/// Stores the `generate` with these variables and this element, whose own reductions are flattened
/// first.
fn array(g: &mut Graph, vars: &[(Var, Ty)], extents: &[NodeId], element: NodeId) -> Option<NodeId> {
    let lambda = g.close(vars, element);
    let extents = extents.iter().map(|n| length(g, *n)).collect();
    let generate = g.add(Op::Generate(extents, lambda));
    let generate = element_wise(g, generate);
    kept_records::stored(g, generate)
}

/// Flattens the elements of a `generate` that is computed by a launch of its own.
fn element_wise(g: &mut Graph, generate: NodeId) -> NodeId {
    let Op::Generate(extents, lambda) = g.op(generate).clone() else { return generate };
    if !g.is_closed(generate) {
        return generate;
    }
    let vars: Vec<_> = extents.iter().map(|_| g.fresh_var(Ty::I64)).collect();
    let index: Vec<Axis> =
        vars.iter().zip(&extents).map(|(v, n)| Axis { var: v.0, node: v.1, extent: *n }).collect();
    let body = opened(g, &lambda, &index);
    let mut element = body;
    for n in beside(g, element) {
        element = stored_inside(g, element, n, &index);
    }
    for n in outermost(g, element) {
        let k = g.fresh_var(Ty::I64);
        element = inner_stored(g, element, n, &index, k, &|g, body, inner| {
            matches!(g.op(inner), Op::PanelDot { .. }) || is_read_there(g, body, inner)
        });
    }
    if element == body { generate } else { generated(g, extents, &index, element) }
}

/// An index of an element or of a loop in it.
#[derive(Clone, Copy)]
struct Axis {
    var: Var,
    node: NodeId,
    extent: NodeId,
}

/// Returns the reductions of an element that are to be stored, because it contains another product or reductions of
/// another length.
fn beside(g: &Graph, element: NodeId) -> Vec<NodeId> {
    let all = outermost(g, element);
    let is_product = |n: &NodeId| matches!(g.op(*n), Op::PanelDot { .. });
    let (products, others): (Vec<NodeId>, Vec<NodeId>) =
        all.into_iter().filter(|n| is_long(g, *n)).partition(is_product);
    let kept = others.iter().find_map(|n| length_of(g, *n));
    let of_another_length = others.into_iter().filter(|n| length_of(g, *n) != kept);
    let rest = if kept.is_some() { 0 } else { 1 };
    of_another_length.chain(products.into_iter().skip(rest)).collect()
}

/// Stores long reductions inside of the elements of a nested reduction `n` of `element`: those for which `is_wanted`,
/// given the elements and the reduction, holds. `k` is the variable of the inner index.
fn inner_stored(
    g: &mut Graph,
    element: NodeId,
    n: NodeId,
    index: &[Axis],
    (var, k): (Var, NodeId),
    is_wanted: &dyn Fn(&Graph, NodeId, NodeId) -> bool,
) -> NodeId {
    let Some(extent) = length_of(g, n) else { return element };
    let mut around = index.to_vec();
    around.push(Axis { var, node: k, extent });
    let op = g.op(n).clone();
    let flattened = |g: &mut Graph, src: NodeId| {
        let Op::Generate(extents, lambda) = g.op(src).clone() else { return src };
        let body = g.open(&lambda, &[k]);
        let mut value = body;
        for inner in outermost(g, body) {
            if is_long(g, inner) && is_wanted(g, body, inner) {
                value = stored_inside(g, value, inner, &around);
            }
        }
        if value == body {
            return src;
        }
        let lambda = g.close(&[(var, Ty::I64)], value);
        g.add(Op::Generate(extents, lambda))
    };
    let made = match op {
        Op::Reduce { join, init, src, which } => Op::Reduce { join, init, src: flattened(g, src), which },
        Op::Fold { step, init, src, which } => Op::Fold { step, init, src: flattened(g, src), which },
        Op::SquaredDeviations { init, src } => Op::SquaredDeviations { init, src: flattened(g, src) },
        Op::Dot { init, a, b } => Op::Dot { init, a: flattened(g, a), b: flattened(g, b) },
        _ => return element,
    };
    let before = g.set_loc(g.node(n).loc.clone());
    let made = g.add(made);
    g.set_loc(before);
    if made == n { element } else { replaced(g, element, n, made, &mut HashMap::default()) }
}

/// Replaces a reduction in an element by an element of a stored array. The array has an axis for each index around
/// the reduction on which the reduction depends.
fn stored_inside(g: &mut Graph, element: NodeId, n: NodeId, around: &[Axis]) -> NodeId {
    let needed: Vec<Axis> = around.iter().filter(|a| g.node(n).free.contains(&a.var)).copied().collect();
    let is_known = |v: &Var| needed.iter().any(|a| a.var == *v);
    if needed.len() > MAX_RANK
        || !g.node(n).free.iter().all(is_known)
        || needed.iter().any(|a| !g.is_closed(a.extent))
    {
        return element;
    }
    let vars: Vec<(Var, Ty)> = needed.iter().map(|a| (a.var, Ty::I64)).collect();
    let extents: Vec<NodeId> = needed.iter().map(|a| length(g, a.extent)).collect();
    let dropped: Vec<NodeId> =
        around.iter().filter(|a| !g.node(n).free.contains(&a.var)).map(|a| a.extent).collect();
    let kept: Vec<(Var, NodeId)> = needed.iter().map(|a| (a.var, a.extent)).collect();
    let loops = Loops { kept: &kept, dropped: &dropped };
    // shape rules are not used: an extent that only they prove right would need a condition
    let extents = only_inside(g, extents, n, loops, &Equations::default());
    let Some(extents) = extents else { return element };
    let before = g.set_loc(g.node(n).loc.clone());
    let stored = array(g, &vars, &extents, n);
    let index: Vec<NodeId> = needed.iter().map(|a| a.node).collect();
    let value = stored.map(|array| kept_records::element(g, array, &index));
    g.set_loc(before);
    value.map_or(element, |value| replaced(g, element, n, value, &mut HashMap::default()))
}

/// Returns whether `body` reads an array outside of `inner` at exactly the indices on which `inner`
/// depends.
fn is_read_there(g: &Graph, body: NodeId, inner: NodeId) -> bool {
    let free = &g.node(inner).free;
    g.reachable_until([body], |n| n == inner || g.is_closed(n)).into_iter().any(|n| {
        let (Op::Elem(_, index) | Op::At(_, index)) = g.op(n) else { return false };
        let variable = |n: &NodeId| match g.op(*n) {
            Op::Var(v, _) => Some(*v),
            _ => None,
        };
        let vars: Option<Vec<Var>> = index.iter().map(variable).collect();
        vars.is_some_and(|vars| free.iter().all(|v| vars.contains(v)))
    })
}

/// Returns the reductions that a value needs outside of other reductions, in order.
fn outermost(g: &Graph, value: NodeId) -> Vec<NodeId> {
    let (mut stack, mut seen, mut found) = (vec![value], HashSet::default(), Vec::new());
    while let Some(n) = stack.pop() {
        if g.is_closed(n) || !seen.insert(n) {
            continue;
        }
        match g.op(n).is_reduction() {
            true => found.push(n),
            false => stack.extend(g.op(n).operands()),
        }
    }
    found.sort_unstable();
    found
}

/// Returns the number of iterations of a reduction.
fn length_of(g: &Graph, n: NodeId) -> Option<NodeId> {
    let (Op::Reduce { src, .. }
    | Op::SquaredDeviations { src, .. }
    | Op::Fold { src, .. }
    | Op::Dot { a: src, .. }
    | Op::PanelDot { a: src, .. }) = g.op(n)
    else {
        return None;
    };
    match g.op(*src) {
        Op::Generate(extents, _) => Some(extents[0]),
        _ => None,
    }
}

/// Returns whether a reduction may have many iterations, and reads elements of arrays.
fn is_long(g: &Graph, n: NodeId) -> bool {
    let Some(extent) = length_of(g, n) else { return false };
    let is_short = g.as_lit(extent).and_then(Lit::as_int).is_some_and(|n| n <= SHORT);
    let is_read = |n: NodeId| matches!(g.op(n), Op::Elem(..) | Op::At(..));
    !is_short && g.reachable_until([n], |n| g.is_closed(n)).into_iter().any(is_read)
}
