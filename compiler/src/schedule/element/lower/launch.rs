//! The state of one launch, which all variants of its kernel share: the graph, the facts about the
//! fused group, and the signature.

use crate::core::equations::Equations;
use crate::core::host::HostScalars;
use crate::core::linear::{self, Linear};
use crate::core::{Graph, NodeId, Op, StencilHint, TILE, Type};
use crate::plan::{Access, Place, ScalarArg};
use crate::scalar::{Lit, Ty};
use crate::schedule::boundary::decided::Decided;
use crate::schedule::boundary::interior::{Interior, decide};
use crate::schedule::facts::along::Along;
use crate::schedule::facts::{Accesses, Facts};
use crate::schedule::groups::{self, FusedGroup, is_store};
use crate::schedule::scheduler::{CodeSize, Scheduler, Scope};
use crate::schedule::strategy::Strategy;
use indexmap::{IndexMap, IndexSet};
use rustc_hash::{FxBuildHasher, FxHashMap as HashMap};
use std::rc::Rc;

/// The state of a launch while its kernel is made.
pub struct LaunchContext<'s, 'a> {
    /// The function's graph, which grows by conditions and opened lambdas.
    pub g: Graph,
    pub(super) scheduler: &'s mut Scheduler<'a>,
    /// The targets for which code is generated.
    pub wanted: Scope,
    /// The facts about the fused group.
    pub facts: Facts,
    /// The kernel's parameters. Lowering a variant may add some.
    pub signature: Signature,
    /// Warnings for the author of the program.
    pub warnings: IndexSet<String>,
    hosts: HostScalars,
    record_memo: HashMap<NodeId, bool>,
    /// The interiors of groups, by the nodes of their items and their extents.
    interiors: HashMap<(Vec<NodeId>, Vec<NodeId>, bool), Interior>,
    /// What the arms of unlikely selects need.
    pub(in crate::schedule) unlikely_arms: HashMap<NodeId, Arm>,
    domain: Vec<NodeId>,
}

/// What the unlikely arm of a select needs and the likely one does not.
#[derive(Default)]
pub(in crate::schedule) struct Arm {
    /// Whether it takes many operations.
    pub is_expensive: bool,
    /// The nodes that may leave an error record.
    pub records: Vec<NodeId>,
}

impl<'s, 'a> LaunchContext<'s, 'a> {
    /// Begins the launch of one fused group. No facts are known yet, except for whether elements
    /// have loops.
    pub fn new(scheduler: &'s mut Scheduler<'a>, fused: &FusedGroup) -> Self {
        let nested = fused.items.iter().any(|it| groups::is_nested(&scheduler.f.graph, it));
        // nodes that are made by opening lambdas for an element, or for its analysis, belong to this launch alone
        let g = Graph::over(&scheduler.graph);
        let guarded = scheduler.guarded;
        LaunchContext {
            g,
            wanted: scheduler.scope,
            scheduler,
            facts: Facts {
                cost: 0,
                accesses: Accesses::default(),
                may_record: false,
                nested,
                segments: None,
                row_fold: None,
                long_loops: None,
                in_bounds: None,
                ragged: None,
                strips: None,
                stored_columns: None,
                resident: None,
                rows_and_columns: None,
                whole_scan: None,
                filter: None,
                whole_sort: None,
                scatter: None,
                is_for_cpus: false,
                scan_reductions: None,
                stencil_chain: None,
                grain: TILE as u32,
                length_of_rows: None,
                reuses_previous_arrays: false,
            },
            signature: Signature { guarded, ..Signature::default() },
            warnings: IndexSet::new(),
            hosts: HostScalars::default(),
            record_memo: HashMap::default(),
            interiors: HashMap::default(),
            unlikely_arms: HashMap::default(),
            domain: fused.domain.clone(),
        }
    }

    /// Returns the places of the arrays that the launch reads and writes.
    pub fn arrays(&self, fused: &FusedGroup) -> Vec<Place> {
        let written =
            fused.items.iter().filter(|it| is_store(&self.g, it)).map(|it| self.scheduler.destination(it));
        self.facts.accesses.arrays().map(|x| self.scheduler.places[x]).chain(written).collect()
    }

    /// Whether an array is in memory for other launches to read.
    pub fn has_place(&self, x: NodeId) -> bool {
        self.scheduler.places.contains_key(&x)
    }

    /// Returns how the author wants stencils to be kept.
    pub fn hint(&self) -> Option<StencilHint> {
        self.scheduler.f.stencil
    }

    /// Whether the author allows tensor cores.
    pub fn has_tensor_cores(&self) -> bool {
        self.scheduler.f.tensor_cores
    }

    /// Returns the nodes of the states if the launch is the only one in the step of an iteration.
    pub fn repeated(&self) -> Option<Vec<NodeId>> {
        // parameters are the first nodes of each graph, and the states the first parameters
        let states = 0..self.scheduler.f.results.len() as u32;
        self.scheduler.repeated.then(|| states.map(NodeId).collect())
    }

    /// Whether the length of an array along an axis is `extent`, by the shape rules of the function.
    pub fn has_extent(&mut self, array: NodeId, axis: u8, extent: NodeId) -> bool {
        let length = self.g.add(Op::Len(array, axis));
        let difference = Linear::of(&self.g, length).minus(&Linear::of(&self.g, extent));
        self.scheduler.equations.resolve(&difference).as_constant() == Some(0)
    }

    /// Returns the graph, and which lengths are equal by the shape rules of the function.
    pub fn graph_and_rules(&mut self) -> (&mut Graph, &Equations) {
        (&mut self.g, &self.scheduler.equations)
    }

    /// Returns the value of result `i` of the function.
    pub fn result(&self, i: u32) -> NodeId {
        self.scheduler.f.results[i as usize].value
    }

    /// Returns the strategy of a map or a segmented reduction whose elements are computed one by
    /// one.
    pub fn strategy_of_elements(&self) -> Strategy {
        match &self.facts.segments {
            Some(s) if s.along == Along::Rows => Strategy::SegmentedRows,
            Some(_) => Strategy::SegmentedColumns,
            None if self.facts.nested => Strategy::ElementLoops,
            None => Strategy::Map,
        }
    }

    /// Returns the extents of the index space, outermost first.
    pub fn domain(&self) -> &[NodeId] {
        &self.domain
    }

    /// Returns the number of elements of the index space, as a node.
    pub fn count_node(&mut self) -> NodeId {
        let extents = self.domain.clone();
        let n = extents.into_iter().reduce(|a, b| linear::mul(&mut self.g, a, b));
        n.unwrap_or_else(|| self.g.lit(Lit::i64(0)))
    }

    /// Adds the warning that a nested operation is a sequential loop in each thread of a GPU.
    pub fn warn_of_loop(&mut self, n: NodeId) {
        let f = &self.scheduler.f.name;
        let place = self.g.node(n).loc.first().map(|l| format!(" ({})", l.short())).unwrap_or_default();
        let what = "a nested operation";
        self.warnings.insert(format!("{f}: {what}{place} is a sequential loop in each thread of a GPU"));
    }

    /// Returns the variable of an element's index. It is always the same node, so that an element
    /// is opened once.
    pub fn index(&mut self) -> NodeId {
        self.g.sample_index(1)[0].1
    }

    /// Whether computing a value may leave an error record.
    pub fn may_record(&mut self, n: NodeId) -> bool {
        let g = &self.g;
        let asked = || g.reachable([n]).into_iter().any(|m| g.op(m).may_record(g));
        *self.record_memo.entry(n).or_insert_with(asked)
    }

    /// Returns the interior of a fused group. Both its facts and its variants ask for it.
    pub fn interior(&mut self, fused: &FusedGroup) -> Interior {
        let items = fused.items.iter().map(|it| it.node).collect();
        let (g, key) = (&mut self.g, (items, fused.domain.clone(), fused.sequential));
        self.interiors.entry(key).or_insert_with(|| Interior::of(g, fused)).clone()
    }

    /// Returns the interior of a group's elements `roots` at `index`. The strategies of both targets ask for it at
    /// the same indices.
    pub fn decided(&mut self, fused: &FusedGroup, index: &[NodeId], roots: &[NodeId]) -> Rc<Decided> {
        let known = self.interior(fused).decided.filter(|of| of.is_of(index, roots));
        known.unwrap_or_else(|| Rc::new(decide(&mut self.g, index, &fused.domain, roots)))
    }

    /// Whether an element of an item, or a step of a reduction or fold, may leave an error record.
    pub fn may_record_inside(&self, item: NodeId) -> bool {
        let g = &self.g;
        g.reachable([item]).into_iter().any(|n| !g.is_closed(n) && g.op(n).may_record(g))
    }

    /// Whether the host computes a node before the launch.
    pub fn is_host(&mut self, n: NodeId) -> bool {
        self.hosts.runs_on_host(&self.g, n)
    }

    /// Returns the size of the function's code so far.
    pub fn code_size(&mut self) -> &mut CodeSize {
        &mut self.scheduler.size
    }

    /// Returns `roots` with the indices of all proven reads (`elem`) in linear normal form, so that equal reads by
    /// neighbouring elements are one node.
    pub fn shared(&mut self, roots: &[NodeId]) -> Vec<NodeId> {
        // the nodes that are replaced
        let mut memo: HashMap<NodeId, NodeId> = HashMap::default();
        for n in self.g.reachable(roots.iter().copied()) {
            let op = self.g.op(n);
            let made = match op {
                _ if self.g.is_closed(n) || op.lambda().is_some() => continue,
                Op::Elem(x, index) => {
                    let (x, index) = (*x, index.clone());
                    Op::Elem(x, self.normal(&index))
                }
                _ if !op.operands().any(|o| memo.contains_key(&o)) => continue,
                _ => {
                    let operands = op.operands().map(|o| memo.get(&o).copied().unwrap_or(o));
                    op.with(&operands.collect::<Vec<NodeId>>(), None)
                }
            };
            if made == *self.g.op(n) {
                continue;
            }
            let before = self.g.set_loc(self.g.node(n).loc.clone());
            let made = self.g.add(made);
            self.g.set_loc(before);
            if self.g.node(n).bound {
                self.g.mark_bound(made);
            }
            memo.insert(n, made);
        }
        roots.iter().map(|n| memo.get(n).copied().unwrap_or(*n)).collect()
    }

    /// Returns the indices in linear normal form.
    pub fn normal(&mut self, index: &[NodeId]) -> Vec<NodeId> {
        index.iter().map(|i| Linear::of(&self.g, *i).node(&mut self.g)).collect()
    }
}

/// The parameters that a launch hands to its kernel, in order. All variants of the kernel share one
/// signature.
#[derive(Default)]
pub struct Signature {
    /// The arrays.
    pub arrays: IndexMap<Operand, ArrayUse, FxBuildHasher>,
    /// Names and types of the "in" scalars.
    pub ins: IndexMap<ScalarArg, (String, Ty), FxBuildHasher>,
    /// The slots: name and type.
    pub slots: IndexMap<Operand, (String, Ty), FxBuildHasher>,
    /// Names and element types of the scratch arrays.
    pub scratch: Vec<(String, Ty)>,
    /// The message of an error record at each site.
    pub sites: IndexSet<String, FxBuildHasher>,
    /// Whether kernels for GPUs get a guard.
    pub guarded: bool,
}

impl Signature {
    /// Returns a name that we choose as it is, or with underscores at its end if a parameter has it already: the
    /// author's results and parameters may have the names of our temporaries.
    pub fn unused(&self, mut name: String) -> String {
        let arrays = || self.arrays.values().map(|a| &a.name);
        let scalars = || self.ins.values().chain(self.slots.values()).map(|s| &s.0);
        while arrays().chain(scalars()).any(|known| *known == name) {
            name.push('_');
        }
        name
    }
}

/// An array or a slot of a launch. What a launch reads and writes at one place are two parameters
/// of its kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operand {
    /// What the launch reads.
    Read(Place),
    /// What the launch writes.
    Written(Place),
}

impl Operand {
    /// Returns the place where it lies.
    pub fn place(self) -> Place {
        match self {
            Operand::Read(place) | Operand::Written(place) => place,
        }
    }

    /// Whether the launch writes it.
    pub fn is_written(self) -> bool {
        matches!(self, Operand::Written(_))
    }
}

/// How a kernel uses an array.
pub struct ArrayUse {
    /// The array's name in the kernel.
    pub name: String,
    /// The array's node.
    pub node: NodeId,
    /// The array's type.
    pub ty: Type,
    /// Whether and where the kernel reads or writes the array.
    pub access: Access,
}
