//! The law of work by structure: no reduction, product, fold or loop of a fused group stands inside a loop over an
//! index that it does not depend on, and no loop that depends on no index runs in every thread. Its values would be
//! computed again for each value of the index, however many that has; what a pass stores (`passes/hoist.rs`,
//! `passes/flatten.rs`, `passes/closed_loops.rs`) is computed once. Every compilation of a debug build checks it and
//! warns, and so does a test for random programs.
//!
//! A *search* is a loop of an element. A stored value inside of an element is refused before (E0401). Lanes and the
//! halos of stencils are no loops of the fused function: neighbours are other elements.

use super::model::weight;
use super::sizes::sizes;
use super::walk::Walk;
use crate::core::{COLUMNS, Function, Graph, NodeId, Op, Var};
use crate::error::Result;
use crate::passes::closed_loops;
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::groups::{self, FusedGroup};
use rustc_hash::FxHashSet as HashSet;

/// The extents for which lengths that are not constant are taken: longer than any loop that is unrolled.
const EXTENT: i64 = 16384;

/// The most values of an index for which something may be computed again: the loop over it is unrolled, and what
/// stands in it becomes constants or shared subexpressions. `passes/hoist.rs` leaves loops of so many steps alone.
const FEW: f64 = COLUMNS as f64;

/// What stands in a loop over an index that it does not depend on.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeated {
    /// The kind of operation.
    pub what: &'static str,
    /// The author's line, if it is known.
    pub line: Option<String>,
    /// How often each value is computed where extents are 16384.
    pub times: f64,
}

/// Returns what breaks the law in a function in fused form.
pub fn excess(fused: &Function) -> Result<Option<String>> {
    let found = repeated(fused)?;
    Ok(found.into_iter().next().map(|r| {
        let line = r.line.map(|line| format!(", {line}")).unwrap_or_default();
        let (name, what, times) = (&fused.name, r.what, r.times);
        format!(
            "{name}: {what} stands in a loop over an index that it does not depend on, {times:e} times{line}"
        )
    }))
}

/// Returns everything that breaks the law, in the function and in its steps.
pub fn repeated(fused: &Function) -> Result<Vec<Repeated>> {
    let mut out = Vec::new();
    for step in &fused.steps {
        out.extend(repeated(step)?);
    }
    let of_elements = closed_loops::needed_by_elements(fused);
    let of_params = sizes(fused, EXTENT);
    for group in groups::fused_groups(fused)? {
        if group.iteration.is_none() {
            let mut walk = Walk::new(fused, &of_params, true);
            out.extend(of_group(&mut walk, &group, &of_elements));
        }
    }
    Ok(out)
}

fn of_group(walk: &mut Walk, group: &FusedGroup, of_elements: &HashSet<NodeId>) -> Vec<Repeated> {
    let items: Vec<NodeId> = group.items.iter().map(|it| it.node).collect();
    walk.open_group(&items);
    let mut out = Vec::new();
    for n in walk.order.clone() {
        let Some(what) = kind(&walk.g, n).filter(|_| !items.contains(&n)) else { continue };
        let times = match walk.g.is_closed(n) {
            // another launch computes it
            true if walk.g.op(n).needs_launch() => continue,
            true if of_elements.contains(&n) => walk.threads,
            true => continue,
            false => {
                let own = walk.own_axes(n);
                let others = walk.axes(n).into_iter().filter(|axis| !own.contains(axis));
                others.map(|axis| walk.length_of(axis)).product::<f64>() * of_row(walk, n)
            }
        };
        if times > FEW {
            let line = walk.g.node(n).loc.first().map(|loc| loc.to_string());
            out.push(Repeated { what, line, times });
        }
    }
    out
}

/// Returns how many elements of a row share a value that depends on the row alone: where one index goes through a
/// matrix, its row is a quotient of that index.
fn of_row(walk: &mut Walk, n: NodeId) -> f64 {
    let indices: Vec<NodeId> = {
        let index = |v: &Var| walk.of_index.contains_key(v).then(|| walk.g.find(&Op::Var(*v, Ty::I64)))?;
        walk.g.node(n).free.iter().filter_map(index).collect()
    };
    let mut all = 1.0;
    for k in indices {
        let g = &walk.g;
        let users = g.reachable_until([n], |m| g.is_closed(m));
        let users = users.into_iter().filter(|m| g.op(*m).operands().any(|o| o == k));
        let width = |m: NodeId| match *g.op(m) {
            Op::Binary(BinaryOp::Div, a, width) if a == k && g.is_closed(width) => Some(width),
            _ => None,
        };
        let widths: Option<Vec<NodeId>> = users.map(width).collect();
        let widths = widths.unwrap_or_default().into_iter().map(|w| walk.length(w) as f64);
        all *= widths.reduce(f64::min).unwrap_or(1.0);
    }
    all
}

/// Returns whether scalar operations of an element depend on some of its indices only. Arithmetic of indices in
/// integers, and what it decides, are the loops' own.
pub fn has_values_of_fewer_indices(fused: &Function) -> bool {
    let of_params = sizes(fused, EXTENT);
    let of_group = |group: &FusedGroup| {
        let mut walk = Walk::new(fused, &of_params, true);
        let items: Vec<NodeId> = group.items.iter().map(|it| it.node).collect();
        walk.open_group(&items);
        let is_fewer = |walk: &mut Walk, n: NodeId| {
            let own = walk.own_axes(n);
            let depends = walk.axes(n).iter().any(|axis| !own.contains(axis));
            let is_value = |walk: &mut Walk| walk.g.ty(n).elem.is_float() || !walk.is_of_indices(n);
            weight(walk.g.op(n)) > 0.0 && depends && is_value(walk)
        };
        walk.order.clone().into_iter().any(|n| is_fewer(&mut walk, n))
    };
    let groups = groups::fused_groups(fused).unwrap_or_default();
    groups.iter().filter(|group| group.iteration.is_none()).any(of_group)
}

/// Returns the kind of an operation that is long enough to be stored.
fn kind(g: &Graph, n: NodeId) -> Option<&'static str> {
    match g.op(n) {
        Op::Dot { .. } | Op::PanelDot { .. } => Some("a product"),
        Op::Fold { .. } => Some("a fold"),
        Op::Loop { .. } if closed_loops::is_long(g, n) => Some("a loop"),
        op if op.is_reduction() => Some("a reduction"),
        Op::Materialize(_) | Op::Iterate { .. } | Op::Argsort(_) => Some("a stored array"),
        _ => None,
    }
}
