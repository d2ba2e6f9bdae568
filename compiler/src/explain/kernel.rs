//! Describes one kernel: what it computes, what is hoisted, and the bytes that it moves.

use super::body::{self, Body};
use super::formula::Sum;
use super::launched::Sizes;
use super::model::{Amount, Array, Bounded, Computed, Hoisted, Kernel, Line};
use super::reason::reason;
use super::scope::{Scope, Unit, Units, next_of};
use super::time::{Computing, predicted};
use super::variants;
use crate::core::{Function, Graph, NodeId, Op, ScanPart, byte_tables, verify};
use crate::driver::Compiled;
use crate::plan::{Access, Place};
use crate::schedule::facts::bins::Bins;
use crate::schedule::facts::needed_range;
use crate::schedule::facts::put::Put;
use crate::schedule::facts::radix::RadixStep;
use crate::schedule::facts::scans::Scan;
use crate::schedule::groups::{self, FusedGroup, Item};

/// A kernel and what its launches move.
pub struct Described {
    pub kernel: Kernel,
    /// The bytes that all of its launches move.
    pub moved: Sum,
    /// The number of its launches.
    pub times: Sum,
    /// The accesses to arrays, in one launch.
    pub accesses: Vec<Accessed>,
    /// The operations of one launch, if the sizes are known.
    pub operations: Option<u64>,
    /// By how many microseconds the operations of one launch take longer than its bytes.
    pub beyond: f64,
}

/// The access to an array.
pub struct Accessed {
    pub place: Place,
    pub is_written: bool,
    pub bytes: Sum,
    /// Whether the launch's scope gets or gives the array.
    pub is_outside: bool,
}

/// Describes the kernel of launch `at`.
pub fn kernel(
    c: &Compiled,
    units: &mut Units,
    sizes: &Sizes,
    at: usize,
    bandwidth: Option<f64>,
) -> Described {
    let unit = &units.list[at];
    let (index, l) = (unit.scope, unit.launch);
    let none = FusedGroup { domain: Vec::new(), sequential: false, iteration: None, items: Vec::new() };
    let scope = &mut units.scopes[index];
    let mut fused = unit.fused.map_or(none, |p| scope.fused_groups[p].clone());
    if let Some(copies) = &unit.copies {
        fused.domain.clone_from(&copies.extents);
    }
    let mut launched = fused.clone();
    let length = length_of_tiles(&mut scope.formulas.g, &fused.items);
    if let Some(n) = length {
        launched.domain = std::mem::replace(&mut fused.domain, vec![n]);
    }
    let mut body = Body::of(&mut scope.formulas.g, fused.items.iter().map(|it| it.node), &fused.domain);
    let results = &scope.f.results;
    let scalars = l.slots.iter().filter_map(|place| match place {
        Place::Result(r) => Some(results[*r as usize].value),
        _ => None,
    });
    let inits = fused.items.iter().filter_map(|it| match *scope.f.graph.op(it.node) {
        Op::Reduce { init, .. }
        | Op::Fold { init, .. }
        | Op::Dot { init, .. }
        | Op::PanelDot { init, .. }
        | Op::SquaredDeviations { init, .. } => Some(init),
        _ => None,
    });
    body.add_scalars(&scope.formulas.g, scalars.chain(inits));
    let read: Vec<Vec<Vec<NodeId>>> =
        l.arrays.iter().map(|a| extents(scope, a, &fused, &body, length.is_some())).collect();

    let (unit, scope) = (&units.list[at], &units.scopes[index]);
    let (arrays, bytes, accesses) = arrays(units, unit, &read);
    let each = bytes.amount();
    let (mut all, mut times) = (bytes.clone(), Sum::default());
    times.add(&scope.formulas, 1, &[]);
    for n in &scope.times {
        times.times(n);
        all.times(n);
    }
    let launches = unit.copies.as_ref().map_or_else(|| times.amount(), |c| c.when.clone());
    if unit.copies.is_some() {
        (all, times) = Default::default();
    }
    let runs = unit.copies.as_ref().is_none_or(|c| c.when.value == Some(1));
    let of_call = if runs { sizes.launched(c, l, scope.at_once) } else { None };
    let of_element = body.operations(&scope.formulas);
    let elements = elements(scope, &fused.domain);
    let operations = of_element.as_ref().and_then(|sum| sum.amount().value).zip(elements);
    let operations = operations.map(|(n, elements)| n.saturating_mul(elements).saturating_mul(scope.at_once));
    let computing =
        of_call.as_ref().and_then(|launched| Computing::of(c, l, launched, operations?, elements?));
    let beyond = computing.map_or(0.0, |computing| computing.beyond(&each, bandwidth));
    let g = &scope.f.graph;
    let kernel = Kernel {
        name: l.name.clone(),
        launches,
        index_space: fused.domain.iter().map(|n| scope.formulas.amount(*n)).collect(),
        apart: unit.fused.filter(|p| *p > 0).map(|p| {
            let no_chain = units.refused_chains.get(l.name.as_str()).copied();
            reason(g, &scope.fused_groups[..p], &launched, no_chain)
        }),
        computes: computes(units, unit, &fused, &body),
        hoisted: hoisted(scope, &fused, &body),
        bounded: bounded(g, &fused),
        arrays,
        bytes_per_element: match fused.domain.is_empty() {
            true => None,
            false => bytes.per(&scope.formulas, &fused.domain),
        },
        predicted: predicted(&each, &Amount { formula: "1".into(), value: Some(1) }, beyond, bandwidth),
        replaced_by: None,
        bytes: each,
        operations_per_element: of_element.map(|sum| sum.amount()),
        // the scratch of a split-K product or of packed operands has no tiles
        scratch_bytes_per_tile: match variants::has_panels(c, l) {
            true => 0,
            false => l.scratch.iter().map(|ty| ty.size() as u64).sum(),
        },
        cpu: variants::cpu(c, l),
        gpu: variants::gpu(c, l, &|place| units.name(place), of_call),
    };
    Described { kernel, moved: all, times, accesses, operations, beyond }
}

/// Returns the number of elements of an index space, if the sizes are known.
fn elements(scope: &Scope, domain: &[NodeId]) -> Option<u64> {
    let mut extents = domain.iter().map(|n| scope.formulas.amount(*n).value);
    extents.try_fold(1u64, |product, n| Some(product.saturating_mul(n?)))
}

/// Returns the items of the fused group, and the scalars that are computed at its end.
fn computes(units: &Units, unit: &Unit, fused: &FusedGroup, body: &Body) -> Vec<Computed> {
    let f = &units.scopes[unit.scope].f;
    let result = |it: &Item| {
        let position = || f.results.iter().position(|r| r.value == it.node);
        let index = it.result.map(|r| r as usize).or_else(position)?;
        Some(match unit.scope {
            0 => f.results[index].name.clone(),
            _ => next_of(&f.params[index].name),
        })
    };
    let item = |(it, lines): (&Item, &Vec<Line>)| {
        let (what, value) = match f.graph.op(it.node) {
            Op::Reduce { .. } => ("reduces", result(it)),
            Op::Dot { .. } | Op::PanelDot { .. } => ("reduces by multiply-add", result(it)),
            Op::SquaredDeviations { .. } => ("reduces to squared deviations", result(it)),
            Op::Fold { .. } => ("folds", result(it)),
            _ => ("stores", Some(result(it).unwrap_or_else(|| temporary(f, it.node).into()))),
        };
        Computed { what, value, lines: lines.clone() }
    };
    let mut out: Vec<Computed> = fused.items.iter().zip(&body.lines).map(item).collect();
    if unit.copies.is_some() {
        out.push(Computed {
            what: "copies",
            value: Some("what an iteration begins with".into()),
            lines: vec![],
        });
    }
    for place in &unit.launch.slots {
        let Place::Result(r) = place else { continue };
        let result = &f.results[*r as usize];
        if out.iter().all(|known| known.value.as_ref() != Some(&result.name)) {
            let lines = Body::of_scalar(&f.graph, result.value);
            out.push(Computed { what: "then computes", value: Some(result.name.clone()), lines });
        }
    }
    out
}

/// Returns what a stored array is that is no result.
fn temporary(f: &Function, n: NodeId) -> &'static str {
    let g = &f.graph;
    let is_it = |table: NodeId| table == n || matches!(*g.op(table), Op::Materialize(values) if values == n);
    match f.needs(|m| byte_tables::read(g, m).is_some_and(is_it)) {
        true => "the values of a function of a byte",
        false => "a temporary",
    }
}

/// Returns the operations that are taken out of the loops of the elements' code.
fn hoisted(scope: &Scope, fused: &FusedGroup, body: &Body) -> Vec<Hoisted> {
    let (f, g) = (&scope.formulas, &scope.formulas.g);
    let mut list: Vec<(NodeId, Hoisted)> = Vec::new();
    let mut add = |n: NodeId, to: String| {
        if list.iter().any(|(known, _)| *known == n) {
            return;
        }
        let Some(operation) = body::name(g.op(n)) else { return };
        let place = g.node(n).loc.first().map(Into::into);
        let of = match g.op(n) {
            Op::At(x, _) | Op::Elem(x, _) => match g.op(*x) {
                Op::Param(i) => Some(scope.f.params[*i as usize].name.clone()),
                _ => Some("a temporary".into()),
            },
            _ => (to == "host").then(|| f.exact(n)),
        };
        list.push((n, Hoisted { operation, of, place, to }));
    };
    for out in body.hoisted() {
        let n = out.node;
        if !out.closed {
            add(n, "loop".into());
            continue;
        }
        // a reduction that does not depend on the element is a fused group of its own
        for needed in groups::needs(g, n).into_iter().filter(|n| g.ty(*n).is_scalar()) {
            if let Some(launch) = scope.launch_of(needed) {
                add(needed, launch.name.clone());
            }
        }
        add(n, if verify::runs_on_host(g, n) { "host" } else { "thread" }.into());
    }
    // An array that depends on some of the indices is stored for each value of these indices.
    let own = [fused.domain.clone()];
    for array in body.reads().arrays() {
        if body.reads().regions(g, array, &fused.domain).is_some_and(|read| read == own) {
            continue;
        }
        let Op::Materialize(x) = *g.op(array) else { continue };
        let nested = groups::is_nested(g, &Item { node: array, result: None, into: None });
        if let (true, Some(lambda), Some(launch)) = (nested, g.op(x).lambda(), scope.launch_of(array)) {
            add(lambda.body, launch.name.clone());
        }
    }
    list.into_iter().map(|(_, h)| h).collect()
}

/// Returns the reductions of the elements that go through a range of their indices.
fn bounded(g: &Graph, fused: &FusedGroup) -> Vec<Bounded> {
    let mut g = g.clone();
    let of_item = |it: &Item| match *g.op(it.node) {
        Op::Materialize(values) => values,
        _ => it.node,
    };
    let is_stored = |n: NodeId| g.is_closed(n) && matches!(g.op(n), Op::Materialize(_));
    let mut nested = g.reachable_until(fused.items.iter().map(of_item), is_stored);
    nested.retain(|n| matches!(g.op(*n), Op::Reduce { .. }) && !g.is_closed(*n));
    let place = |g: &Graph, n: NodeId| g.node(n).loc.first().map(Into::into);
    let bounded = nested.into_iter().filter_map(|n| {
        let range = needed_range::of(&mut g, n)?;
        Some(Bounded { reduction: place(&g, n), condition: place(&g, range.condition) })
    });
    bounded.collect()
}

/// Returns the arrays that the kernel accesses, the bytes that all of these accesses move, and those of each.
fn arrays(units: &Units, unit: &Unit, read: &[Vec<Vec<NodeId>>]) -> (Vec<Array>, Sum, Vec<Accessed>) {
    let scope = &units.scopes[unit.scope];
    let f = &scope.formulas;
    let (mut list, mut all, mut accesses) = (Vec::new(), Sum::default(), Vec::new());
    for ((place, access), regions) in unit.launch.arrays.iter().zip(read) {
        let elem = units.slot(place).ty.elem;
        let mut bytes = Sum::default();
        regions.iter().for_each(|extents| bytes.add(f, elem.size() as u64, extents));
        all.extend(&bytes);
        let is_input = scope.stored.get(place).is_some_and(|n| matches!(scope.f.graph.op(*n), Op::Param(_)));
        let is_outside = unit.copies.is_none() && (is_input || units.is_output(place));
        list.push(Array {
            name: units.name(place),
            element: elem.name(),
            access: in_words(*access),
            bytes: bytes.amount(),
        });
        accesses.push(Accessed { place: *place, is_written: *access == Access::Write, bytes, is_outside });
    }
    (list, all, accesses)
}

/// Returns the name of a kind of access.
pub fn in_words(access: Access) -> &'static str {
    match access {
        Access::Pointwise => "pointwise",
        Access::Anywhere => "anywhere",
        Access::Write => "write",
    }
}

/// Returns the number of elements, if the index space of a launch consists of tiles of elements (parts of scans and
/// steps of sorts).
fn length_of_tiles(g: &mut Graph, items: &[Item]) -> Option<NodeId> {
    let scan = Scan::of(g, items).filter(|s| matches!(s.part, ScanPart::Totals | ScanPart::Tiles));
    match scan {
        Some(scan) => Some(scan.length(g)),
        None => RadixStep::of(g, items).map(|step| step.length(g)),
    }
}

/// Returns the extents of the parts of an array that are accessed: the index space, the regions of
/// the reads if they are known, or else the whole array. A copy reads what it writes.
fn extents(
    scope: &mut Scope,
    (place, access): &(Place, Access),
    fused: &FusedGroup,
    body: &Body,
    is_over_tiles: bool,
) -> Vec<Vec<NodeId>> {
    let node = scope.stored.get(place).copied();
    // a put writes an element for each element of its source
    if *access == Access::Write && Put::of(&scope.f.graph, &fused.items).is_some() {
        return vec![fused.domain.clone()];
    }
    // bins are written for all parts
    if let (Access::Write, Some(bins)) = (access, Bins::of(&scope.f.graph, &fused.items)) {
        return vec![vec![fused.domain[0], bins.count]];
    }
    match (access, node) {
        // a launch over tiles writes the whole array: a value for each tile, or each element at its place
        (Access::Write, Some(node)) if is_over_tiles => vec![scope.formulas.extents(node)],
        (Access::Pointwise | Access::Write, _) | (_, None) => vec![fused.domain.clone()],
        (_, Some(node)) => {
            let whole = scope.formulas.extents(node);
            body.reads().regions(&scope.formulas.g, node, &whole).unwrap_or_else(|| vec![whole])
        }
    }
}
