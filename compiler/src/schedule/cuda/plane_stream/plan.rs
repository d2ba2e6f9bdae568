//! The plan of a stream of planes: what a thread loads, computes and keeps in each stage of its elements.
//!
//! An element of plane z reads the planes `z + first` .. `z + first + stages`. It goes through that many stages: in
//! the step in which plane `z + first + s` arrives, it is in stage s. A value that is computed in one stage and
//! needed in a later one is kept in a register, its *slot*. So is a loaded element that later stages read, too.
//! Planes are counted by age there: age 0 is the plane that arrives, age 1 the plane before it.
//!
//! ```text
//! first = -1, stages = 3:    step p     stage 2 of plane p-1     stage 1 of plane p     stage 0 of plane p+1
//!                            step p+1   stage 2 of plane p       stage 1 of plane p+1   stage 0 of plane p+2
//! ```

use crate::core::{NodeId, Op, linear};
use crate::scalar::Lit;
use crate::schedule::cuda::line_sums;
use crate::schedule::cuda::register_pressure::LineSchedule;
use crate::schedule::cuda::register_tiling::placement::PlaneTiling;
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::element::opened;
use crate::schedule::facts::stencil;
use indexmap::{IndexMap, IndexSet};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// When elements of arrays that are read in one plane only are loaded.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Arrival {
    /// In the first stage in which something can be computed with them.
    Early,
    /// In the last stage; the L1 cache still has them if other threads have read them.
    Late,
    /// In the stage in which their plane arrives, because they are in shared memory, which holds no other plane.
    AtOnce,
}

/// An array element that a thread reads, by its distance from the thread's first element.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Element {
    pub array: NodeId,
    /// The distances along all axes; along the axis of planes it may be an age instead.
    pub at: Vec<i64>,
}

impl Element {
    fn axis(&self) -> usize {
        self.at.len() - 3
    }

    fn plane(&self) -> i64 {
        self.at[self.axis()]
    }

    /// Returns the row and the column of the element.
    pub fn in_plane(&self) -> [i64; 2] {
        [self.at[self.axis() + 1], self.at[self.axis() + 2]]
    }

    /// Returns the element with the same row and column in another plane.
    fn of_plane(&self, plane: i64) -> Element {
        let mut at = self.at.clone();
        at[self.axis()] = plane;
        Element { array: self.array, at }
    }
}

/// What is kept in a register for the next step.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Slot {
    /// A loaded element, whose plane is an age.
    Element(Element),
    /// A value of the elements that were in this stage.
    Value(usize, NodeId),
}

/// What is computed in one stage.
#[derive(Default)]
pub struct Stage {
    /// For each row of lines, in order, the values that can be computed once it is loaded.
    pub due: Vec<(i64, Vec<NodeId>)>,
    /// The nodes that later stages need.
    pub kept: Vec<NodeId>,
}

pub struct StreamPlan {
    /// The values of a thread's elements, row by row and column by column.
    pub roots: Vec<NodeId>,
    /// The reads, with the array element of each and the stage in which that is loaded.
    pub reads: IndexMap<NodeId, (Element, usize)>,
    pub stages: Vec<Stage>,
    /// The first plane that is read, as a distance from an element's own plane.
    pub first: i64,
}

impl StreamPlan {
    /// Returns the plan for a thread's elements, the first of which has the indices `index`. Returns `None` if an
    /// element reads anything that is not at a constant distance from it.
    pub fn of(
        l: &mut LaunchContext,
        (arrays, index): (&[NodeId], &[NodeId]),
        tiling: PlaneTiling,
        arrival: Arrival,
    ) -> Option<StreamPlan> {
        let roots = elements(l, arrays, index, tiling);
        let found = reads(l, &roots, index)?;
        let planes = found.values().map(Element::plane);
        let (first, last) = (planes.clone().min()?, planes.max()?);
        let stages = usize::try_from(last - first).ok()? + 1;
        let mut loaded = arrivals(&found, (first, stages), arrival);
        let mut schedule = scheduled(l, &roots, &found, &loaded);
        if arrival == Arrival::Early {
            wait_for_use(l, &roots, (&found, &schedule), &mut loaded);
            schedule = scheduled(l, &roots, &found, &loaded);
        }
        let (mut roots, mut found) = (roots, found);
        if let Some(ordered) = line_sums::by_lines(l, &roots, &schedule) {
            (found, roots) = (reads(l, &ordered, index)?, ordered);
            schedule = scheduled(l, &roots, &found, &loaded);
        }
        let reads = found.into_iter().map(|(n, e)| (n, (e.clone(), loaded[&e]))).collect();
        let mut plan = StreamPlan { roots, reads, stages: Vec::new(), first };
        plan.find_stages(l, &mut schedule, stages);
        Some(plan)
    }

    /// Fills in the stages, by going through each stage's rows of lines in the order of loading.
    fn find_stages(&mut self, l: &LaunchContext, schedule: &mut LineSchedule, stages: usize) {
        let rows: IndexSet<i64> = self.reads.values().map(|(e, _)| e.in_plane()[0]).collect();
        let mut rows: Vec<i64> = rows.into_iter().collect();
        rows.sort_unstable();
        let mut known: HashSet<NodeId> = HashSet::default();
        for stage in 0..stages {
            let mut due = Vec::new();
            for row in &rows {
                let now = schedule.take_due(l, number(stage, *row));
                known.extend(now.iter().copied());
                due.push((*row, now));
            }
            let kept = if stage + 1 < stages { self.needed(l, &known, stage) } else { Vec::new() };
            self.stages.push(Stage { due, kept });
        }
    }

    /// Returns the nodes that are known after a stage and needed in later ones.
    fn needed(&self, l: &LaunchContext, known: &HashSet<NodeId>, stage: usize) -> Vec<NodeId> {
        let (mut kept, mut seen) = (Vec::new(), HashSet::default());
        let mut stack: Vec<NodeId> = self.roots.iter().rev().copied().collect();
        while let Some(n) = stack.pop() {
            if !seen.insert(n) {
                continue;
            }
            match self.reads.get(&n) {
                Some((_, at)) if *at > stage => {}
                None if !known.contains(&n) => stack.extend(l.g.op(n).operands()),
                _ => kept.push(n),
            }
        }
        kept
    }

    /// Returns the slot of a node that is kept after a stage.
    pub fn slot(&self, stage: usize, n: NodeId) -> Slot {
        match self.reads.get(&n) {
            Some((e, _)) => Slot::Element(e.of_plane(self.age(e, stage))),
            None => Slot::Value(stage, n),
        }
    }

    /// Returns the age, in the step of a stage, of an element that is read there.
    fn age(&self, e: &Element, stage: usize) -> i64 {
        stage as i64 - (e.plane() - self.first)
    }

    /// Returns the elements that each step loads, with ages as planes.
    pub fn loads(&self) -> IndexSet<Element> {
        self.reads.values().map(|(e, stage)| self.load(e, *stage)).collect()
    }

    /// Returns the load of an element in a stage: the element with its age as plane.
    pub fn load(&self, e: &Element, stage: usize) -> Element {
        e.of_plane(self.age(e, stage))
    }

    /// Returns the loads that only the last of several stages needs, and that no slot keeps for a later step.
    pub fn late(&self) -> IndexSet<Element> {
        let last = self.stages.len() - 1;
        let is_late = |at: usize| last > 0 && at == last;
        let of = |wanted: bool| {
            let reads = self.reads.values().filter(move |(_, at)| is_late(*at) == wanted);
            reads.map(|(e, at)| self.load(e, *at)).collect::<IndexSet<Element>>()
        };
        let (mut late, others, slots) = (of(true), of(false), self.slots());
        let waits = |e: &Element| matches!(slots.get(&Slot::Element(e.clone())), Some(None));
        late.retain(|e| !others.contains(e) && !waits(e));
        late
    }

    /// Returns all slots. Each comes with the slot whose old value it takes at the end of a step, or with `None` if
    /// its value was computed or loaded in that step. A slot comes before the one whose value it takes, so that
    /// assignments in this order are right.
    pub fn slots(&self) -> IndexMap<Slot, Option<Slot>> {
        let loads = self.loads();
        let mut all: IndexMap<Slot, Option<Slot>> = IndexMap::new();
        let mut ages: IndexMap<Element, i64> = IndexMap::new();
        for (s, stage) in self.stages.iter().enumerate().rev() {
            for n in &stage.kept {
                match self.slot(s, *n) {
                    Slot::Element(e) => {
                        let oldest = ages.entry(e.of_plane(0)).or_default();
                        *oldest = (*oldest).max(e.plane());
                    }
                    slot => {
                        let waits = s > 0 && self.stages[s - 1].kept.contains(n);
                        all.insert(slot, waits.then(|| Slot::Value(s - 1, *n)));
                    }
                }
            }
        }
        for (e, oldest) in ages {
            // an element is kept at all ages from its load up to the oldest one that is needed
            for age in (0..=oldest).rev() {
                let is_loaded = loads.contains(&e.of_plane(age));
                let from = (!is_loaded).then(|| Slot::Element(e.of_plane(age - 1)));
                all.insert(Slot::Element(e.of_plane(age)), from);
                if is_loaded {
                    break;
                }
            }
        }
        all
    }

    /// Returns the words of registers of all slots, and the words that a step loads, including an address for each
    /// row and column.
    pub fn words(&self, l: &LaunchContext, tiling: PlaneTiling) -> [i64; 2] {
        let words = |n: NodeId| (l.g.ty(n).elem.size() as i64 + 3) / 4;
        let of = |slot: &Slot| match slot {
            Slot::Element(e) => words(e.array),
            Slot::Value(_, n) => words(*n),
        };
        let loads = self.loads();
        let rows: IndexSet<(NodeId, i64)> = loads.iter().map(|e| (e.array, e.in_plane()[0])).collect();
        // a vector access begins at the thread's own column
        let start = |e: &Element| match e.in_plane()[1] {
            own if tiling.column_stride == 1 && (0..tiling.v).contains(&own) => 0,
            other => other,
        };
        let columns: IndexSet<i64> = loads.iter().map(start).collect();
        let loaded: i64 = loads.iter().map(|e| words(e.array)).sum();
        let addresses = rows.len() + columns.len();
        [self.slots().keys().map(of).sum(), loaded + addresses as i64]
    }
}

/// Returns the number of a stage's row of lines in the order of loading: all rows of a stage come before the next
/// stage.
fn number(stage: usize, row: i64) -> i64 {
    const ROWS: i64 = 1 << 20;
    stage as i64 * ROWS + ROWS / 2 + row.clamp(-ROWS / 2, ROWS / 2 - 1)
}

/// Returns the values of a thread's elements, the first of which has the indices `index`, row by row.
fn elements(l: &mut LaunchContext, arrays: &[NodeId], index: &[NodeId], tiling: PlaneTiling) -> Vec<NodeId> {
    let row = index.len() - 2;
    let mut roots = Vec::new();
    for r in 0..tiling.thread_rows {
        for k in tiling.thread_columns() {
            let mut index = index.to_vec();
            for (axis, by) in [(row, r), (row + 1, k)] {
                let by = l.g.lit(Lit::i64(by));
                index[axis] = linear::add(&mut l.g, index[axis], by);
            }
            roots.extend(arrays.iter().map(|a| opened(&mut l.g, *a, &index)));
        }
    }
    l.shared(&roots)
}

/// Returns the reads of these values. Returns `None` if one of them is not at a constant distance from `index`, or if
/// the distance along an axis before the planes is not 0.
fn reads(l: &mut LaunchContext, roots: &[NodeId], index: &[NodeId]) -> Option<IndexMap<NodeId, Element>> {
    let mut found = IndexMap::new();
    for n in l.g.reachable(roots.iter().copied()) {
        let (array, at) = match l.g.op(n) {
            _ if l.g.is_closed(n) => continue,
            Op::Elem(x, at) | Op::At(x, at) => (*x, at.clone()),
            op if op.lambda().is_some() => return None,
            _ => continue,
        };
        let (shift, at) = stencil::tap(&mut l.g, &at, index)?;
        let is_near = shift.iter().all(|s| l.g.as_lit(*s).is_some());
        if !is_near || at[..at.len() - 3].iter().any(|by| *by != 0) {
            return None;
        }
        found.insert(n, Element { array, at });
    }
    Some(found)
}

/// Returns the stage in which each element is loaded.
fn arrivals(
    found: &IndexMap<NodeId, Element>,
    (first, stages): (i64, usize),
    arrival: Arrival,
) -> HashMap<Element, usize> {
    let mut planes: HashMap<Element, usize> = HashMap::default();
    let all: IndexSet<&Element> = found.values().collect();
    for e in &all {
        *planes.entry(e.of_plane(0)).or_default() += 1;
    }
    let stage = |e: &Element| match arrival {
        Arrival::Late if planes[&e.of_plane(0)] == 1 => stages - 1,
        _ => (e.plane() - first) as usize,
    };
    all.into_iter().map(|e| (e.clone(), stage(e))).collect()
}

fn scheduled(
    l: &mut LaunchContext,
    roots: &[NodeId],
    found: &IndexMap<NodeId, Element>,
    loaded: &HashMap<Element, usize>,
) -> LineSchedule {
    let mut ready = HashMap::default();
    for (n, e) in found {
        if let Op::Elem(x, at) | Op::At(x, at) = l.g.op(*n).clone() {
            let at = l.normal(&at);
            ready.insert((x, at), number(loaded[e], e.in_plane()[0]));
        }
    }
    LineSchedule::of(l, roots, &ready)
}

/// Delays the load of elements that are read in one plane only to the first stage in which something is computed with
/// them.
fn wait_for_use(
    l: &LaunchContext,
    roots: &[NodeId],
    (found, schedule): (&IndexMap<NodeId, Element>, &LineSchedule),
    loaded: &mut HashMap<Element, usize>,
) {
    let mut users: HashMap<NodeId, i64> = HashMap::default();
    for n in l.g.reachable(roots.iter().copied()) {
        for o in l.g.op(n).operands() {
            let first = users.entry(o).or_insert(i64::MAX);
            *first = (*first).min(schedule.line(n));
        }
    }
    let mut planes: HashMap<Element, usize> = HashMap::default();
    found.values().for_each(|e| *planes.entry(e.of_plane(0)).or_default() += 1);
    let last = loaded.values().copied().max().unwrap_or(0);
    for (n, e) in found.iter().filter(|(_, e)| planes[&e.of_plane(0)] == 1) {
        let is_late = |stage: usize| users.get(n).is_some_and(|first| *first >= number(stage + 1, i64::MIN));
        while loaded[e] < last && is_late(loaded[e]) {
            *loaded.get_mut(e).expect("an element that is read") += 1;
        }
    }
}
