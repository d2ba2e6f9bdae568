//! Cuts computations that are too large for one kernel: a kernel has room for a limited number of
//! parameters, and the time to compile it grows more than linearly. Arrays in the middle are
//! stored, as if the author had written `materialize`.
//!
//! ```text
//! %1 = map .. over %x0, %x1        %1 = map .. over %x0, %x1
//! ..                               ..
//! %400 = map .. over %399, %x400   %400 = map .. over %399, %x400     with %399 = materialize %398
//! ```
//!
//! The *cone* of an array is everything that it is computed from, up to stored arrays. If the cone of an array is too
//! large, its operand with the largest cone is stored. Arrays that may leave an error record are not stored, because
//! then elements that nothing reads would leave one, too. The function of a single map is not cut.

use crate::budget;
use crate::core::graph::marks::Visited;
use crate::core::rewrite::rewrite_from;
use crate::core::{Function, Graph, NodeId, Op, tuples};
use crate::error::Result;
use crate::scalar::BinaryOp;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// The maximum number of scalar operations of a kernel.
const MAX_OPERATIONS: u64 = 5000;
/// The number of operations that one elementary function counts as.
const ELEMENTARY: u64 = 30;
/// The maximum number of parameters of a kernel; there is room for 512. An array takes two, and a scalar one.
const MAX_PARAMETERS: u64 = 300;
const OF_ARRAY: u64 = 2;

/// Runs the pass.
pub fn run(f: Function) -> Result<Function> {
    let stored = stored(&f.graph, f.results.iter().map(|r| r.value));
    if stored.is_empty() {
        return Ok(f);
    }
    Ok(rewrite_from(&f, false, &mut |g, op, from| {
        let made = g.add(op);
        if stored.contains(&from) { g.add(Op::Materialize(made)) } else { made }
    }))
}

/// The size of an array's cone.
#[derive(Clone, Copy, Default)]
struct Cone {
    operations: u64,
    parameters: u64,
}

impl Cone {
    fn is_too_large(self) -> bool {
        self.operations > MAX_OPERATIONS || self.parameters > MAX_PARAMETERS
    }
}

/// Returns the arrays to be stored.
fn stored(g: &Graph, roots: impl Iterator<Item = NodeId>) -> HashSet<NodeId> {
    let (own, records) = (vec![None; g.len()], vec![false; g.len()]);
    let mut cutter =
        Cutter { g, stored: HashSet::default(), own, scalars: HashMap::default(), records, last: None };
    // the sums over operands are upper bounds of the cones, because shared parts count several
    // times
    let mut estimates = vec![Cone::default(); g.len()];
    for n in g.reachable(roots) {
        let (mut estimate, mut records) = cutter.own(n);
        for x in cutter.arrays(n) {
            records |= cutter.records[x.0 as usize];
            let of = estimates[x.0 as usize];
            estimate.operations = estimate.operations.saturating_add(of.operations);
            estimate.parameters = estimate.parameters.saturating_add(of.parameters);
        }
        cutter.records[n.0 as usize] = records;
        if g.is_stored(n) {
            estimate = Cone { operations: 0, parameters: OF_ARRAY };
        }
        if estimate.is_too_large() {
            estimate = cutter.cut(n);
        }
        estimates[n.0 as usize] = estimate;
        // an operand that has been stored since counts as one array for all later nodes
        for x in cutter.arrays(n).filter(|x| cutter.stored.contains(x)) {
            estimates[x.0 as usize] = Cone { operations: 0, parameters: OF_ARRAY };
        }
    }
    cutter.stored
}

struct Cutter<'g> {
    g: &'g Graph,
    stored: HashSet<NodeId>,
    /// The operations and scalars of a node's own function, and whether it may leave an error
    /// record.
    own: Vec<Option<(Cone, bool)>>,
    /// The scalars of such functions.
    scalars: HashMap<NodeId, Vec<NodeId>>,
    /// Whether anything in a node's cone may leave an error record. Arrays that are stored later cannot, so this need
    /// not be updated.
    records: Vec<bool>,
    /// The cone that was walked last. In a chain in which each array reads several earlier ones, the next cone is
    /// this one and one array more.
    last: Option<Walked>,
}

/// A cone with the arrays that it consists of.
struct Walked {
    of: NodeId,
    cone: Cone,
    /// The arrays and the scalars in it.
    seen: Visited,
}

impl Cutter<'_> {
    /// Returns the arrays from which a node's elements are computed. A length needs no elements.
    fn arrays(&self, n: NodeId) -> impl Iterator<Item = NodeId> + use<'_> {
        let g = self.g;
        let needs_none = g.is_stored(n) || matches!(g.op(n), Op::Len(..));
        let operands = (!needs_none).then(|| g.op(n).operands());
        operands.into_iter().flatten().filter(|x| !g.ty(*x).is_scalar())
    }

    fn own(&mut self, n: NodeId) -> (Cone, bool) {
        if let Some(known) = self.own[n.0 as usize] {
            return known;
        }
        let (mut cone, mut records) = (Cone::default(), false);
        if let Some(lambda) = self.g.op(n).lambda() {
            let mut scalars = Vec::new();
            for m in self.open_part(lambda.body, &mut scalars) {
                let op = self.g.op(m);
                records |= op.may_record(self.g);
                cone.operations += match op {
                    op if op.is_elementary() => ELEMENTARY,
                    Op::Binary(BinaryOp::Rem | BinaryOp::Div, ..) => 4,
                    Op::Var(..) => 0,
                    _ => 1,
                };
            }
            cone.parameters = scalars.len() as u64;
            if !scalars.is_empty() {
                self.scalars.insert(n, scalars);
            }
        }
        self.own[n.0 as usize] = Some((cone, records));
        (cone, records)
    }

    /// Returns the nodes of a function that are computed for each element. Adds to `scalars` the others that are not
    /// constants.
    fn open_part(&mut self, body: NodeId, scalars: &mut Vec<NodeId>) -> Vec<NodeId> {
        let (mut stack, mut open) = (vec![body], Vec::new());
        let mut seen = Visited::begin();
        while let Some(n) = stack.pop() {
            let op = self.g.op(n);
            if !seen.insert(n.0) || matches!(op, Op::Const(_)) {
                continue;
            }
            if self.g.is_closed(n) {
                scalars.extend(self.g.ty(n).is_scalar().then_some(n));
                continue;
            }
            open.push(n);
            op.for_operands(|o| stack.push(o));
            stack.extend(op.lambda().map(|l| l.body));
        }
        open
    }

    /// Returns the cone of a node.
    fn cone(&mut self, n: NodeId) -> Cone {
        let last = self.last.take().filter(|last| self.contains(n, last.of));
        let mut walked = match last {
            Some(last) => Walked { of: n, ..last },
            None => Walked { of: n, cone: Cone::default(), seen: Visited::begin() },
        };
        let mut stack = vec![n];
        while let Some(m) = stack.pop() {
            if !walked.seen.insert(m.0) || budget::is_exceeded(&self.g.node(m).loc) {
                continue;
            }
            if m != n && self.is_cut(m) || self.g.is_stored(m) {
                walked.cone.parameters += OF_ARRAY;
                continue;
            }
            walked.cone.operations += self.own(m).0.operations;
            // several functions may use one scalar
            let scalars = self.scalars.get(&m).into_iter().flatten();
            walked.cone.parameters += scalars.filter(|s| walked.seen.insert(s.0)).count() as u64;
            stack.extend(self.arrays(m));
        }
        let found = walked.cone;
        self.last = Some(walked);
        found
    }

    /// Returns whether `part` belongs to the cone of `n`. Operands have lower numbers than their
    /// users.
    fn contains(&self, n: NodeId, part: NodeId) -> bool {
        let (mut seen, mut stack) = (Visited::begin(), vec![n]);
        while let Some(m) = stack.pop() {
            if m < part || m != n && self.is_cut(m) || !seen.insert(m.0) {
                continue;
            }
            if m == part {
                return true;
            }
            stack.extend(self.arrays(m));
        }
        false
    }

    /// Returns whether an array is in memory when it is read.
    fn is_cut(&self, n: NodeId) -> bool {
        self.g.is_stored(n) || self.stored.contains(&n)
    }

    /// Returns the array of which a view is taken.
    fn made(&self, mut x: NodeId) -> NodeId {
        while let Op::Slice { src, .. }
        | Op::Reverse(src, _)
        | Op::Permute(src, _)
        | Op::Pick { src, .. }
        | Op::Spread { src, .. } = *self.g.op(x)
        {
            x = src;
        }
        x
    }

    /// Stores operands, the largest cone first, until the node's own cone is small enough.
    fn cut(&mut self, n: NodeId) -> Cone {
        loop {
            let cone = self.cone(n);
            if !cone.is_too_large() || budget::is_exceeded(&self.g.node(n).loc) {
                return cone;
            }
            let g = self.g;
            let mut best: Option<(u64, NodeId)> = None;
            let made: Vec<NodeId> = self.arrays(n).map(|x| self.made(x)).collect();
            for x in made {
                // tuples are not stored, but their components may be
                let is_made = matches!(g.op(x), Op::Map(..) | Op::Generate(..)) && !tuples::has_tuples(g, x);
                let records = self.records[x.0 as usize];
                if !is_made || records || !g.is_closed(x) || self.stored.contains(&x) {
                    continue;
                }
                let of = self.cone(x);
                // operations and parameters are weighted by their limits
                let size = of.operations * MAX_PARAMETERS / MAX_OPERATIONS + of.parameters;
                if best.is_none_or(|b| b.0 < size) {
                    best = Some((size, x));
                }
            }
            match best {
                Some((_, x)) => {
                    self.stored.insert(x);
                    // the array may be inside of the last cone
                    self.last = None;
                }
                None => return cone,
            }
        }
    }
}
