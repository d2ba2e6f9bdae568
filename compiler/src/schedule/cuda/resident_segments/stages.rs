//! What the stages of resident rows and columns compute of each element: which nodes a stage needs, which of them
//! stay in registers for later stages, and the code for the values of several elements at once.

use crate::core::{Graph, NodeId, Op};
use crate::error::{Error, Result};
use crate::kernel::{Expr, Stmt};
use crate::scalar::BinaryOp;
use crate::schedule::cuda::paths::{branch_free_values, slow_path_flag};
use crate::schedule::element::error_records;
use crate::schedule::element::lower::{LaunchContext, Lower};
use crate::schedule::element::opened;
use crate::schedule::element::reduction::Reduction;
use crate::schedule::facts::work;
use crate::schedule::facts::{ResidentSegments, Stage};
use rustc_hash::FxHashSet as HashSet;

/// A value is kept for later stages if it takes more operations than this; else they compute it again.
const KEPT: u32 = 4;

/// Returns the nodes that a stage needs of an element, as functions of the variable of the element's index.
pub fn roots(l: &mut LaunchContext, rows: &ResidentSegments, stage: usize) -> Vec<NodeId> {
    let index = rows.index();
    match &rows.stages[stage] {
        Stage::Store { arrays } => arrays.iter().map(|a| opened(&mut l.g, a.computed, &index)).collect(),
        Stage::Reduce { reductions, .. } => {
            let of = |n: &NodeId| Reduction::nested(l, *n).elements(l, rows.element);
            reductions.iter().flat_map(of).collect()
        }
    }
}

/// Returns the nodes that a stage computes of an element, and for each whether later stages keep it. The nodes that
/// the stage itself needs come first. `known` are the nodes whose values are known already.
pub fn nodes(
    l: &mut Lower,
    rows: &ResidentSegments,
    stage: usize,
    known: &HashSet<NodeId>,
) -> (Vec<NodeId>, Vec<bool>) {
    let (mut nodes, kept) = (roots(l.launch, rows, stage), kept(l, rows, stage, known));
    let more: Vec<NodeId> = kept.iter().filter(|n| !nodes.contains(n)).copied().collect();
    nodes.extend(more);
    let is_kept = nodes.iter().map(|n| kept.contains(n)).collect();
    (nodes, is_kept)
}

/// Returns the nodes that a stage computes of an element, that a later stage needs as well, and that are worth a
/// register: computing them again takes more than [`KEPT`] operations.
fn kept(l: &mut Lower, rows: &ResidentSegments, stage: usize, known: &HashSet<NodeId>) -> Vec<NodeId> {
    let Op::Var(var, _) = *l.launch.g.op(rows.element) else { return Vec::new() };
    let needed = |g: &Graph, roots: &[NodeId]| {
        let stops = |n: NodeId| known.contains(&n) || !g.node(n).free.contains(&var);
        g.reachable_until(roots.iter().copied(), stops)
    };
    let own = roots(l.launch, rows, stage);
    let own: HashSet<NodeId> = needed(&l.launch.g, &own).into_iter().collect();
    let later: Vec<NodeId> =
        (stage + 1..rows.stages.len()).flat_map(|stage| roots(l.launch, rows, stage)).collect();
    let g = &l.launch.g;
    let all = needed(g, &later);
    let mut asked: HashSet<NodeId> = later.into_iter().collect();
    for n in all.iter().filter(|n| !own.contains(n)) {
        asked.extend(g.op(*n).operands());
    }
    let cost = |n: NodeId| needed(g, &[n]).into_iter().map(|n| work::of_node(g.op(n))).sum::<u32>();
    // a value that may leave an error record is computed again in the later stage that has to leave it
    let leaves_later = rows.recording.is_some_and(|recording| stage < recording);
    let is_left = |n: NodeId| needed(g, &[n]).into_iter().any(|n| g.op(n).may_record(g));
    let fits = |n: &NodeId| cost(*n) > KEPT && !(leaves_later && is_left(*n));
    all.into_iter().filter(|n| own.contains(n) && asked.contains(n) && fits(n)).collect()
}

/// Returns how many elements share one branch into the slow path. The operations of these elements overlap, which
/// hides latency where few warps are resident; values of 8 bytes take twice the registers, so fewer elements share a
/// branch.
pub fn together(l: &Lower, nodes: &[NodeId]) -> usize {
    let is_long = |n: &NodeId| l.launch.g.ty(*n).elem.size() == 8;
    if nodes.iter().any(is_long) { 4 } else { 8 }
}

/// An element that is computed.
pub struct Element {
    /// The nodes to compute.
    pub roots: Vec<NodeId>,
    /// Whether the element exists.
    pub is_present: Expr,
    /// The number by which error records name it.
    pub number: Expr,
}

/// Computes the values of several elements on the fast path, with divisions that have no branches. If the slow path
/// is needed, a branch computes all of them again and leaves the error records, if there may be any. The values of
/// absent elements are not used. If the first element is absent, all of them must be.
pub fn values_of(
    l: &mut Lower,
    vars: &[(NodeId, Expr)],
    elements: &[Element],
    records: bool,
    out: &mut Vec<Stmt>,
) -> Result<Vec<Expr>> {
    let roots: Vec<NodeId> = elements.iter().flat_map(|e| e.roots.iter().copied()).collect();
    let slow = slow_path_flag(l, &roots, out);
    let mut fast = Vec::new();
    let values = branch_free_values(l, vars, &roots, slow, &mut fast)?;
    let flag = match slow {
        None if records => error_records::to_flag(&mut l.k.kernel, &mut fast),
        Some(flag) => {
            error_records::flag(&mut fast, flag);
            slow
        }
        None => None,
    };
    out.append(&mut fast);
    let Some(flag) = flag else { return Ok(values) };
    let mut complete = Vec::new();
    let mut exact = Vec::new();
    l.with_full_range(true, |l| {
        if !records {
            exact = l.region(vars, &roots, &Expr::int(0), &mut complete)?;
            return Ok(());
        }
        for e in elements {
            let mut own = Vec::new();
            exact.extend(l.region(vars, &e.roots, &e.number, &mut own)?);
            error_records::guard(&mut own, &e.is_present);
            complete.append(&mut own);
        }
        Ok::<_, Error>(())
    })?;
    let mut all = Vec::new();
    for ((root, value), exact) in roots.iter().zip(values).zip(exact) {
        let usual = l.k.reg("usual", l.launch.g.ty(*root).elem);
        out.push(Stmt::Var(usual, value));
        complete.push(Stmt::Assign(usual, exact));
        all.push(Expr::Reg(usual));
    }
    let needed = Expr::binary(BinaryOp::And, Expr::Reg(flag), elements[0].is_present.clone());
    out.push(Stmt::If(needed, complete, vec![]));
    Ok(all)
}
