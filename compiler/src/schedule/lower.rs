//! From core IR scalars to kernel IR statements: what one element is, written out.
//!
//! A node used more than once, or bound by `slet`, becomes a register; others stay inside the expression that uses them. What does not depend on the element is computed
//! before the loop: on the host where the host can, else at the top of the kernel.

mod address;
mod region;
mod signature;
mod values;

pub(super) use region::Region;
use region::Uses;
use values::bind;

use super::accesses::Accesses;
use super::groups::FusedGroup;
use super::segments::{Along, Segments};
use super::slow_path::SlowPath;
use super::stencil::Kept;
use super::strategy::Strategy;
use super::{Scheduler, Scope, error_records, groups, nested_loop};
use crate::core::index_space::indices;
use crate::core::linear::{self, Linear};
use crate::core::{Graph, NodeId, Op, StencilHint, TILE, Type, verify};
use crate::error::Result;
use crate::kernel::{Expr, Kernel, Stmt};
use crate::plan::{Access, Place, ScalarArg};
use crate::scalar::{BinaryOp, Lit, Ty};
use indexmap::{IndexMap, IndexSet};
use rustc_hash::FxHashMap as HashMap;
use std::rc::Rc;

/// An expression this deep gets a register in between: C compilers limit nesting, and so do people.
const MAX_DEPTH: u32 = 10;

/// The kernels of a function have room for so many operations on a target, and for so many more for each that its author wrote. They take the compiler about a
/// second, and some megabytes of text.
const MOST_WRITTEN: usize = 30_000;
const MOST_OF_EACH: usize = 20;

/// What a kernel gets from its launch, in order. All versions of a kernel share one.
#[derive(Default)]
pub struct Signature {
    /// (place, written) -> name, type, access
    pub arrays: IndexMap<(Place, bool), ArrayUse>,
    /// "in" scalars with their names
    pub ins: IndexMap<ScalarArg, (String, Ty)>,
    /// (place, written) -> name and type
    pub slots: IndexMap<(Place, bool), (String, Ty)>,
    /// scratch arrays
    pub scratch: Vec<(String, Ty)>,
    /// What to say of a record, a site each.
    pub sites: IndexSet<String>,
}

/// How a kernel uses an array.
pub struct ArrayUse {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Where it is read or written.
    pub access: Access,
}

/// Lowering for one launch.
pub struct Lower<'s, 'a> {
    /// The function's graph, which grows by conditions and opened lambdas.
    pub g: Graph,
    scheduler: &'s mut Scheduler<'a>,
    /// Which code is wanted.
    pub scope: Scope,
    /// Shared by all versions.
    pub signature: Signature,
    /// The kernel being built.
    pub k: Kernel,
    /// Statements before the loop.
    pub prologue: Vec<Stmt>,
    invariant: HashMap<NodeId, Expr>,
    /// Lowering `finish`: nothing is hoisted, everything runs once.
    pub in_finish: bool,
    /// Nested operations around what is being lowered.
    pub depth: u32,
    /// What the group reads.
    pub accesses: Accesses,
    /// Some element may leave an error record.
    pub may_record: bool,
    /// Elements that are in registers already: (array, index in linear normal form). None: every read is a load of its own.
    pub loaded: Option<HashMap<(NodeId, Vec<NodeId>), Expr>>,
    host_memo: HashMap<NodeId, bool>,
    record_memo: HashMap<NodeId, bool>,
    domain: Vec<NodeId>,
    /// Elements have reductions or folds of their own.
    pub nested: bool,
    /// The versions being built take arrays of any strides, else contiguous ones.
    pub strided: bool,
    /// Arrays of more than one dimension whose elements the kernel counts through, so that they must be flat.
    pub flat: IndexSet<u32>,
    /// The launch before read an array that this fused group reads, too.
    pub follows: bool,
    /// Arrays that the kernel accesses by several neighbours at once.
    pub vectors: IndexSet<u32>,
    /// What the author should know.
    pub warnings: IndexSet<String>,
    /// Elements of a CPU's unit of work.
    pub grain: u32,
    /// The pass as a segmented reduction, if it is one.
    pub segments: Option<Rc<Segments>>,
    /// What to do with what is hardly ever needed.
    pub rare: SlowPath,
    /// On a GPU: divisions and roots of f32 are computed without a branch, of any numbers (`near`).
    pub any_numbers: bool,
    /// What was decided of stencils on GPUs.
    pub kept: Vec<Kept>,
}

impl<'s, 'a> Lower<'s, 'a> {
    /// For one fused group.
    pub fn new(scheduler: &'s mut Scheduler<'a>, fused: &FusedGroup) -> Self {
        let nested = fused.items.iter().any(|it| groups::is_nested(&scheduler.f.graph, it));
        // what is opened for an element, and for a look at it
        let g = scheduler.f.graph.with_room(2 * scheduler.f.graph.len());
        Lower {
            g,
            scope: scheduler.scope,
            scheduler,
            signature: Signature::default(),
            k: Kernel::default(),
            prologue: Vec::new(),
            invariant: HashMap::default(),
            in_finish: false,
            depth: 0,
            accesses: Accesses::default(),
            may_record: false,
            loaded: None,
            host_memo: HashMap::default(),
            record_memo: HashMap::default(),
            domain: fused.domain.clone(),
            nested,
            strided: false,
            flat: IndexSet::new(),
            vectors: IndexSet::new(),
            follows: false,
            warnings: IndexSet::new(),
            grain: TILE as u32,
            segments: None,
            rare: SlowPath::default(),
            any_numbers: false,
            kept: Vec::new(),
        }
    }

    /// How the author wants stencils to be kept.
    pub fn wanted(&self) -> Option<StencilHint> {
        self.scheduler.f.stencil
    }

    /// The state, if this is the only pass of the step of an iteration of one state.
    pub fn repeated(&self) -> Option<NodeId> {
        let f = self.scheduler.f;
        (self.scheduler.repeated && f.results.len() == 1).then_some(NodeId(0))
    }

    /// The function's results' values.
    pub fn result(&self, i: u32) -> NodeId {
        self.scheduler.f.results[i as usize].value
    }

    /// Begins another version, for arrays of any strides or contiguous ones.
    pub fn begin(&mut self, name: &str, strided: bool) {
        self.k = Kernel { name: name.into(), ..Kernel::default() };
        self.begin_part(strided, false);
    }

    /// The strategy of elements that are computed one by one.
    pub fn strategy_of_elements(&self) -> Strategy {
        match &self.segments {
            Some(s) if s.along == Along::Rows => Strategy::SegmentedRows,
            Some(_) => Strategy::SegmentedColumns,
            None if self.nested => Strategy::ElementLoops,
            None => Strategy::Map,
        }
    }

    /// Begins the `finish` of all versions.
    pub fn begin_finish(&mut self) {
        self.begin_part(true, true);
    }

    fn begin_part(&mut self, strided: bool, in_finish: bool) {
        (self.strided, self.in_finish) = (strided, in_finish);
        self.prologue = Vec::new();
        self.invariant = HashMap::default();
    }

    /// The same in the graph.
    pub fn count_node(&mut self) -> NodeId {
        let extents = self.domain.clone();
        let n = extents.into_iter().reduce(|a, b| linear::mul(&mut self.g, a, b));
        n.unwrap_or_else(|| self.g.lit(Lit::i64(0)))
    }

    /// Notes that a nested operation is a loop of each thread.
    pub fn warn_of_loop(&mut self, n: NodeId) {
        let f = &self.scheduler.f.name;
        let place = self.g.node(n).loc.first().map(|l| format!(" ({})", l.short())).unwrap_or_default();
        let what = "a nested operation";
        self.warnings.insert(format!("{f}: {what}{place} is a sequential loop in each thread of a GPU"));
    }

    /// Lowers `roots` for one element: `vars` are the region's variables (or known values), `index` the domain's index among them, `at` the element that records name.
    pub fn region(
        &mut self,
        vars: &[(NodeId, Expr)],
        roots: &[NodeId],
        index: Option<NodeId>,
        at: &Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Expr>> {
        let own = self.domain_index(index);
        self.region_at(vars, roots, (index, own), at, out)
    }

    /// The same, with the domain's index into its elements, if there is one, and its indices.
    pub fn region_at(
        &mut self,
        vars: &[(NodeId, Expr)],
        roots: &[NodeId],
        (counter, index): (Option<NodeId>, Vec<NodeId>),
        at: &Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Expr>> {
        let mut r = Region {
            memo: vars.iter().map(|(n, e)| (*n, (e.clone(), 1))).collect(),
            uses: self.uses(roots, vars),
            conditions: error_records::conditions(&mut self.g, roots),
            counter,
            index,
            ..Region::at(at)
        };
        let values: Result<Vec<_>> = roots.iter().map(|n| self.value(*n, &mut r).map(|v| v.0)).collect();
        let mut done = 0;
        loop {
            if let Some((site, condition, bad)) = r.records.get(done).cloned() {
                done += 1;
                let when = match self.value(condition, &mut r)?.0 {
                    Expr::Lit(l) if l.as_bool() => bad,
                    needed => Expr::binary(BinaryOp::And, needed, bad),
                };
                r.out.push(Stmt::Record(site, when, at.clone()));
            } else if let Some(n) = r.recorded_later.pop() {
                nested_loop::record(self, n, &mut r)?;
            } else {
                break;
            }
        }
        out.append(&mut r.out);
        values
    }

    /// The index of an element, for each region to bind: always the same node, so that an element is opened once.
    pub fn index(&mut self) -> NodeId {
        self.g.sample_index(1)[0].1
    }

    /// The indices that an index into the domain's elements stands for.
    fn domain_index(&mut self, counter: Option<NodeId>) -> Vec<NodeId> {
        let extents = self.domain.clone();
        counter.map_or(Vec::new(), |k| indices(&mut self.g, k, &extents))
    }

    /// As [`Lower::region`], for a look ahead at conditions: records are left by who computes them in earnest.
    pub fn conditions(
        &mut self,
        vars: &[(NodeId, Expr)],
        roots: &[NodeId],
        index: Option<NodeId>,
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Expr>> {
        let mut all = Vec::new();
        let values = self.region(vars, roots, index, &Expr::int(0), &mut all)?;
        error_records::remove(&mut all);
        out.append(&mut all);
        Ok(values)
    }

    /// The same at the domain's indices.
    pub fn conditions_at(
        &mut self,
        vars: &[(NodeId, Expr)],
        roots: &[NodeId],
        index: Vec<NodeId>,
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Expr>> {
        let mut all = Vec::new();
        let values = self.region_at(vars, roots, (None, index), &Expr::int(0), &mut all)?;
        error_records::remove(&mut all);
        out.append(&mut all);
        Ok(values)
    }

    /// How often each node is used in the region.
    fn uses(&self, roots: &[NodeId], vars: &[(NodeId, Expr)]) -> Uses {
        let mut uses = Uses(vec![0; self.g.len()]);
        let mut stack: Vec<NodeId> = roots.to_vec();
        while let Some(n) = stack.pop() {
            if uses.add(n) == 1 && !vars.iter().any(|v| v.0 == n) {
                self.g.op(n).for_operands(|o| stack.push(o));
            }
        }
        uses
    }

    /// A node whose value does not change during the loop and leaves no record.
    fn is_invariant(&mut self, n: NodeId) -> bool {
        !self.in_finish && self.g.is_closed(n) && !self.may_record(n)
    }

    /// Whether computing a value may leave a record.
    pub(super) fn may_record(&mut self, n: NodeId) -> bool {
        let g = &self.g;
        let asked = || g.reachable([n]).into_iter().any(|m| g.op(m).may_record(g));
        *self.record_memo.entry(n).or_insert_with(asked)
    }

    /// Whether an element of an item, or a step of it, may leave a record.
    pub fn may_record_inside(&self, item: NodeId) -> bool {
        let g = &self.g;
        g.reachable([item]).into_iter().any(|n| !g.is_closed(n) && g.op(n).may_record(g))
    }

    fn is_host(&mut self, n: NodeId) -> bool {
        if let Some(&h) = self.host_memo.get(&n) {
            return h;
        }
        let h = verify::runs_on_host(&self.g, n);
        self.host_memo.insert(n, h);
        h
    }

    /// Operations in the versions of the function's GPU kernels so far.
    pub(super) fn in_versions(&mut self) -> &mut usize {
        &mut self.scheduler.in_versions
    }

    /// Operations in the versions of the function's matrix products so far.
    pub(super) fn in_products(&mut self) -> &mut usize {
        &mut self.scheduler.in_products
    }

    /// The element, if it is in a register.
    fn loaded_already(&mut self, x: NodeId, index: &[NodeId]) -> Option<Expr> {
        self.loaded.as_ref()?;
        let key = (x, self.normal(index));
        self.loaded.as_ref()?.get(&key).cloned()
    }

    /// The same values with all proven reads by indices in normal form, so that what neighbouring elements compute of one element is one node.
    pub fn shared(&mut self, roots: &[NodeId]) -> Vec<NodeId> {
        let mut memo: HashMap<NodeId, NodeId> = HashMap::default();
        for n in self.g.reachable(roots.iter().copied()) {
            let op = self.g.op(n).clone();
            let operands: Vec<NodeId> = op.operands().map(|o| memo.get(&o).copied().unwrap_or(o)).collect();
            let same =
                self.g.is_closed(n) || op.lambda().is_some() || op.operands().eq(operands.iter().copied());
            let made = match &op {
                Op::Elem(x, index) if !self.g.is_closed(n) => Op::Elem(*x, self.normal(index)),
                _ if same => op,
                _ => op.with(&operands, None),
            };
            let before = self.g.set_loc(self.g.node(n).loc.clone());
            let made = if made == *self.g.op(n) { n } else { self.g.add(made) };
            self.g.set_loc(before);
            if self.g.node(n).bound {
                self.g.mark_bound(made);
            }
            memo.insert(n, made);
        }
        roots.iter().map(|n| memo.get(n).copied().unwrap_or(*n)).collect()
    }

    /// Indices in linear normal form.
    pub fn normal(&mut self, index: &[NodeId]) -> Vec<NodeId> {
        index.iter().map(|i| Linear::of(&self.g, *i).node(&mut self.g)).collect()
    }
}
