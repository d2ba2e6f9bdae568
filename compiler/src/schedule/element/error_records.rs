//! The conditions under which error records are left: the paths on which the recording value is
//! needed (semantics, section 6).
//!
//! An arm of a `select` is needed only if the condition selects it; a value that is needed in
//! several places is needed if any of them is. Kernels compute all values without branches, so each
//! recording operation gets the condition under which the program would have computed it.

use crate::core::simplify::{extent, simplify};
use crate::core::{Graph, NodeId, Op, kept_records};
use crate::kernel::{Expr, Kernel, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// Maximum number of pairs of conditions that are compared to prove an implication.
const FUEL: u32 = 64;

/// Up to this number of paths are compared in pairs. If there are more, a path implies only the parts of its
/// conjunction.
const FEW: usize = 8;

/// Returns the condition of each node in the region of `roots` that may leave an error record. The conditions are new
/// nodes of the graph. A read leaves no record if its condition says that it is in bounds: `core/kept_records.rs`
/// writes values without their records in this way.
pub fn conditions(g: &mut Graph, roots: &[NodeId]) -> HashMap<NodeId, NodeId> {
    if !g.has_records() {
        return HashMap::default();
    }
    let order = g.reachable(roots.iter().copied());
    if !order.iter().any(|n| g.op(*n).may_record(g)) {
        return HashMap::default();
    }
    // a node that does not lead to a recording node needs no condition
    let mut leads = HashSet::default();
    for &n in &order {
        let op = g.op(n);
        if op.may_record(g) || op.needs_launch() || op.is_loop() || op.operands().any(|o| leads.contains(&o))
        {
            leads.insert(n);
        }
    }
    let always = g.lit(Lit::bool(true));
    let mut needed: HashMap<NodeId, Paths> = roots.iter().map(|r| (*r, Paths::of_root(always))).collect();
    let mut out = HashMap::default();
    for &n in order.iter().rev() {
        let Some(paths) = needed.remove(&n) else { continue };
        let here = paths.condition(g);
        let mut need = |g: &Graph, child: NodeId, when: NodeId| {
            if leads.contains(&child) {
                needed.entry(child).or_default().add(g, when);
            }
        };
        match g.op(n).clone() {
            Op::Select(c, a, b) => {
                need(g, c, here);
                let then = simplify(g, Op::Binary(BinaryOp::And, here, c));
                need(g, a, then);
                if kept_records::is_left(g, n) {
                    // the first arm of such a select has the select's own value
                    need(g, b, here);
                } else {
                    let not = simplify(g, Op::Unary(UnaryOp::Not, c));
                    let otherwise = simplify(g, Op::Binary(BinaryOp::And, here, not));
                    need(g, b, otherwise);
                }
            }
            op => op.for_operands(|child| need(g, child, here)),
        }
        // records inside of a nested operation have conditions of their own
        if g.op(n).needs_launch() || g.op(n).is_loop() || g.op(n).may_record(g) && !is_in_bounds(g, n, here) {
            out.insert(n, here);
        }
    }
    out
}

/// Whether the condition under which a read is needed says that it is in bounds.
fn is_in_bounds(g: &mut Graph, read: NodeId, needed: NodeId) -> bool {
    let Op::At(x, index) = g.op(read).clone() else { return false };
    let zero = g.lit(Lit::i64(0));
    index.into_iter().zip(0u8..).all(|(i, axis)| {
        let n = extent(g, x, axis);
        let low = simplify(g, Op::Binary(BinaryOp::Ge, i, zero));
        let high = simplify(g, Op::Binary(BinaryOp::Lt, i, n));
        [low, high].into_iter().all(|says| implies(g, needed, says, &mut FUEL.clone()))
    })
}

/// The conditions of the paths on which a value is needed, none of which implies another. Implied
/// paths must be dropped: a value that decides between two arms and is also used in one of them is
/// needed wherever it decides, and its condition must not depend on the value itself.
#[derive(Default)]
struct Paths {
    list: Vec<NodeId>,
    /// If there are more than a few paths: those that are not dropped, and for each condition the paths of whose
    /// conjunctions it is a part.
    kept: HashSet<NodeId>,
    of_part: HashMap<NodeId, Vec<NodeId>>,
}

impl Paths {
    /// Returns the one path on which a root is needed.
    fn of_root(always: NodeId) -> Paths {
        Paths { list: vec![always], ..Paths::default() }
    }

    fn add(&mut self, g: &Graph, path: NodeId) {
        if self.list.len() >= FEW {
            return self.add_to_many(g, path);
        }
        if !self.list.iter().any(|known| implies(g, path, *known, &mut FUEL.clone())) {
            self.list.retain(|known| !implies(g, *known, path, &mut FUEL.clone()));
            self.list.push(path);
        }
    }

    fn add_to_many(&mut self, g: &Graph, path: NodeId) {
        if self.kept.is_empty() {
            for known in self.list.clone() {
                self.keep(known, &parts(g, known));
            }
        }
        let parts = parts(g, path);
        if parts.iter().any(|part| self.kept.contains(part)) {
            return;
        }
        for dropped in self.of_part.remove(&path).into_iter().flatten() {
            self.kept.remove(&dropped);
        }
        self.list.push(path);
        self.keep(path, &parts);
    }

    fn keep(&mut self, path: NodeId, parts: &[NodeId]) {
        self.kept.insert(path);
        parts.iter().for_each(|part| self.of_part.entry(*part).or_default().push(path));
    }

    /// Returns the condition that any of the paths is taken.
    fn condition(self, g: &mut Graph) -> NodeId {
        let is_kept = |path: &NodeId| self.kept.is_empty() || self.kept.contains(path);
        let any = |a, b| simplify(g, Op::Binary(BinaryOp::Or, a, b));
        self.list.iter().copied().filter(is_kept).reduce(any).expect("a node is needed on some path")
    }
}

/// Returns the parts of a conjunction and the conjunction itself, as far as the fuel lasts.
fn parts(g: &Graph, path: NodeId) -> Vec<NodeId> {
    let mut parts = vec![path];
    let mut next = 0;
    while let Some(part) = parts.get(next).copied()
        && parts.len() < FUEL as usize
    {
        if let Op::Binary(BinaryOp::And, a, b) = *g.op(part) {
            parts.extend([a, b]);
        }
        next += 1;
    }
    parts
}

/// Whether `b` holds wherever `a` does, as far as the conjunctions and disjunctions of both prove
/// it. `fuel` limits the number of comparisons.
fn implies(g: &Graph, a: NodeId, b: NodeId, fuel: &mut u32) -> bool {
    if a == b || g.as_lit(b).is_some_and(Lit::as_bool) {
        return true;
    }
    let Some(left) = fuel.checked_sub(1) else { return false };
    *fuel = left;
    let mut says = |x: NodeId, y: NodeId| implies(g, x, y, fuel);
    match *g.op(b) {
        Op::Binary(BinaryOp::And, x, y) if says(a, x) && says(a, y) => return true,
        Op::Binary(BinaryOp::Or, x, y) if says(a, x) || says(a, y) => return true,
        _ => {}
    }
    match *g.op(a) {
        Op::Binary(BinaryOp::And, x, y) => says(x, b) || says(y, b),
        Op::Binary(BinaryOp::Or, x, y) => says(x, b) && says(y, b),
        _ => false,
    }
}

/// Restricts all records among the statements, including those in loops and branches, to the case
/// that `needed` holds.
pub fn guard(list: &mut [Stmt], needed: &Expr) {
    for s in list {
        if let Stmt::Record(_, when, _) = s {
            *when = Expr::binary(BinaryOp::And, needed.clone(), when.clone());
        }
        s.blocks_mut().for_each(|block| guard(block, needed));
    }
}

/// Sets the flag instead of leaving a record, for every record among the statements, including those in loops and
/// branches.
pub fn flag(list: &mut [Stmt], flag: Reg) {
    for s in list {
        if let Stmt::Record(_, when, _) = s {
            *s = Stmt::Assign(flag, Expr::binary(BinaryOp::Or, Expr::Reg(flag), when.clone()));
        }
        s.blocks_mut().for_each(|block| self::flag(block, flag));
    }
}

/// Removes all records among the statements, including those in loops and branches.
pub fn remove(list: &mut Vec<Stmt>) {
    list.retain(|s| !matches!(s, Stmt::Record(..)));
    list.iter_mut().flat_map(Stmt::blocks_mut).for_each(remove);
}

/// Replaces all records among the statements, including those in loops and branches, by a flag that becomes true if
/// one of them would be left. Returns `None` if there are none. Each condition is tested as soon as its operands are
/// known, so that they need no registers until the end of an element with many reads.
pub fn to_flag(k: &mut Kernel, list: &mut Vec<Stmt>) -> Option<Reg> {
    if !any(list) {
        return None;
    }
    let flag = k.reg("recorded", Ty::Bool);
    self::flag(list, flag);
    test_early(list, flag);
    list.insert(0, Stmt::Var(flag, Expr::Lit(Lit::bool(false))));
    Some(flag)
}

/// In each block, moves the statements that set the flag to where their operands are known.
fn test_early(list: &mut Vec<Stmt>, flag: Reg) {
    list.iter_mut().flat_map(Stmt::blocks_mut).for_each(|block| test_early(block, flag));
    let (mut known, mut moved) = (HashMap::default(), vec![Vec::new(); list.len() + 1]);
    for (mut s, at) in std::mem::take(list).into_iter().zip(1..) {
        let place = match &s {
            Stmt::Assign(r, when) if *r == flag => place_of(when, flag, &known),
            _ => None,
        };
        assigned(&mut s, &mut |r| {
            known.insert(r, at);
        });
        moved[place.unwrap_or(at)].push(s);
    }
    list.extend(moved.into_iter().flatten());
}

/// Returns the number of the last statement that assigns a register of `when`. Returns `None` if `when` needs more
/// than registers.
fn place_of(when: &Expr, flag: Reg, known: &HashMap<Reg, usize>) -> Option<usize> {
    match when {
        Expr::Reg(r) => Some(if *r == flag { 0 } else { known.get(r).copied().unwrap_or(0) }),
        Expr::Lit(_) | Expr::In(_) => Some(0),
        Expr::Binary(..) | Expr::Unary(..) | Expr::Cast(..) | Expr::Select(..) => {
            let mut last = Some(0);
            when.children(|child| {
                last = last.zip(place_of(child, flag, known)).map(|(a, b): (usize, usize)| a.max(b));
            });
            last
        }
        _ => None,
    }
}

/// Calls `f` on the registers that a statement assigns, in its inner blocks as well.
fn assigned(s: &mut Stmt, f: &mut dyn FnMut(Reg)) {
    s.registers_mut(&mut |r| f(*r));
    s.blocks_mut().flatten().for_each(|s| assigned(s, f));
}

/// Whether any of the statements may leave an error record.
pub fn any(list: &[Stmt]) -> bool {
    list.iter().any(|s| matches!(s, Stmt::Record(..)) || s.blocks().into_iter().any(any))
}
