//! Calls of compiled functions on a simulated GPU: what `docs/c-abi.md` says of a call, with the kernel interpreter
//! in the place of the device.

use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::driver::Compiled;
use arraygpu_compiler::kernel::interp::{ArrayArg, Fault, Id, Memory, Order};
use arraygpu_compiler::plan::{Check, HostId, Launch, Place, Plan, Repeat, Slot, Step, host, sites};
use arraygpu_compiler::scalar::{Lit, Ty};
use std::collections::BTreeMap;
use std::fmt;

mod launch;

/// How the arrays of a call lie in memory. What is said of vectors; matrices lie one row after another, with gaps
/// between and around their rows, with gaps everywhere, or one column after another.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Layout {
    /// From the start of an allocation, stride 1.
    Contiguous,
    /// From its second element on: no vector access is aligned.
    Offset,
    /// Every second element.
    Strided,
    /// Backwards.
    Reversed,
    /// As contiguous; the rows of a matrix begin at multiples of 16 elements.
    Padded,
    /// As contiguous; each vector result is the first parameter that it may be, if there is one.
    InPlace,
    /// The same, backwards.
    InPlaceReversed,
}

impl Layout {
    pub const ALL: [Layout; 7] = [
        Layout::Contiguous,
        Layout::Padded,
        Layout::Offset,
        Layout::Strided,
        Layout::Reversed,
        Layout::InPlace,
        Layout::InPlaceReversed,
    ];
}

/// How a call is run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct How {
    pub layout: Layout,
    /// The version of each kernel, by position, where its conditions hold; elsewhere, and if None, what the runtime
    /// takes.
    pub version: Option<usize>,
    /// Tiles for every 128 threads, if the version allows so many.
    pub span: u32,
    pub order: Order,
}

/// What is taken from the memory that kernels share, in elements of each scratch array and in counters: a test's
/// kernels must notice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Missing {
    pub scratch: u64,
    pub counters: u64,
}

/// Why a call gave nothing.
#[derive(Debug)]
pub enum Failure {
    /// A shape rule does not hold.
    Shape(String),
    /// A kernel has no code for GPUs.
    Absent(String),
    /// A kernel is wrong, or was launched wrongly.
    Fault(Box<Fault>),
    /// The runtime's rules could not be followed.
    Rules(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Shape(s) => write!(f, "a shape rule: {s}"),
            Failure::Absent(s) => write!(f, "no code: {s}"),
            Failure::Fault(fault) => fault.fmt(f),
            Failure::Rules(s) => write!(f, "the rules of a launch: {s}"),
        }
    }
}

/// The record of a call: the first launch that left one, its lowest element, the first site there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    pub launch: String,
    pub element: u64,
    pub site: String,
}

/// What a call gave.
#[derive(Debug)]
pub struct Called {
    pub results: Vec<Value>,
    pub record: Option<Record>,
    /// The entries that ran.
    pub entries: Vec<String>,
}

/// An array in memory.
#[derive(Clone, Debug)]
struct Laid {
    /// Of a matrix: all memory from its first element on.
    arg: ArrayArg,
    extents: Vec<i64>,
    strides: Vec<i64>,
}

impl Laid {
    /// The part at an index of the first axis.
    fn row(&self, at: i64) -> Laid {
        let ArrayArg { memory, offset, len, .. } = self.arg;
        let begin = at * self.strides[0];
        let (extents, strides) = (self.extents[1..].to_vec(), self.strides[1..].to_vec());
        let (stride, len) = match extents.len() {
            1 => (strides[0], extents[0] as u64),
            _ => (1, len.saturating_sub(begin as u64)),
        };
        let arg = ArrayArg { memory, offset: offset + begin as u64, stride, len };
        Laid { arg, extents, strides }
    }

    /// The elements of the allocation where the array's elements lie, in row-major order.
    fn positions(&self) -> Vec<usize> {
        let mut all = vec![self.arg.offset as i64];
        for (n, stride) in self.extents.iter().zip(&self.strides) {
            all = all.into_iter().flat_map(|at| (0..*n).map(move |i| at + i * stride)).collect();
        }
        all.into_iter().map(|at| at as usize).collect()
    }
}

/// The extents of a value.
pub fn shape(v: &Value) -> Vec<i64> {
    match v {
        Value::Scalar(_) => vec![],
        Value::Vector(v) => vec![v.len() as i64],
        Value::Array(extents, _) => extents.clone(),
    }
}

/// The state of a call: where parameters, results and temporaries are. A scalar has stride 1 and one element.
struct Call<'a> {
    compiled: &'a Compiled,
    plan: &'a Plan,
    how: How,
    missing: Missing,
    /// The device's compute capability.
    capability: u32,
    /// Whether a version that is wanted and runs in clusters takes short rows as well.
    forces_clusters: bool,
    /// Whether only the entries are asked for: no kernel runs.
    is_dry: bool,
    memory: Memory,
    host: Vec<Lit>,
    places: Vec<Laid>,
    /// Of each launch, in the plan's order: the lowest element of all turns, and the first site there.
    records: BTreeMap<*const Launch, (u64, usize)>,
    entries: Vec<String>,
    /// The number that ends the innermost iteration with a check: its memory and its place there.
    guard: Option<(Id, u64)>,
}

/// How many checks of an iteration with a check run when it has ended.
const IN_VAIN: i32 = 2;

/// Of an iteration: how many steps the version makes at once at most, and how many it makes now.
type Several = Option<(i64, i64)>;

/// Calls entry `i` of a program.
pub fn call(compiled: &Compiled, i: usize, args: &[Value], how: How) -> Result<Called, Failure> {
    call_without(compiled, i, args, how, Missing::default())
}

/// The same on a device of that compute capability: 80 is 8.0. A version that is wanted takes rows of any
/// length that it can, which takes long if it runs in clusters.
pub fn call_on(
    capability: u32,
    compiled: &Compiled,
    i: usize,
    args: &[Value],
    how: How,
) -> Result<Called, Failure> {
    call_with(compiled, i, args, how, (Missing::default(), capability, true))
}

/// The same with less memory.
pub fn call_without(
    compiled: &Compiled,
    i: usize,
    args: &[Value],
    how: How,
    missing: Missing,
) -> Result<Called, Failure> {
    call_with(compiled, i, args, how, (missing, 90, false))
}

fn call_with(
    compiled: &Compiled,
    i: usize,
    args: &[Value],
    how: How,
    (missing, capability, forces_clusters): (Missing, u32, bool),
) -> Result<Called, Failure> {
    let mut c = Call { missing, capability, forces_clusters, ..Call::new(compiled, i, args, how)? };
    let plan = c.plan;
    c.bind(args)?;
    c.run(&plan.steps, None)?;
    let results = (0..plan.results.len()).map(|r| c.result(r)).collect::<Result<_, _>>()?;
    let mut launches = plan.launches().map(|l| (l, std::ptr::from_ref(l)));
    let record = launches.find_map(|(l, at)| {
        let (element, site) = *c.records.get(&at)?;
        Some(Record { launch: l.name.clone(), element, site: l.sites[site].clone() })
    });
    Ok(Called { results, record, entries: c.entries })
}

/// What calls with the same arguments have run so far: the runtime's choice often is a version that was wanted
/// before, and a version whose conditions do not hold is that choice.
#[derive(Default)]
pub struct Runs(Vec<(Layout, u32, Order, Vec<String>)>);

impl Runs {
    /// Whether a call runs other kernels than those before it, or the same ones in another way. Nothing is simulated.
    pub fn is_new(&mut self, compiled: &Compiled, i: usize, args: &[Value], how: How) -> bool {
        let entries = || {
            let mut c = Call { is_dry: true, ..Call::new(compiled, i, args, how)? };
            c.bind(args)?;
            c.run(&c.plan.steps, None)?;
            Ok::<_, Failure>(c.entries)
        };
        // a call that fails says why itself
        let Ok(entries) = entries() else { return true };
        let run = (how.layout, how.span, how.order, entries);
        let is_new = !self.0.contains(&run);
        self.0.push(run);
        is_new
    }
}

impl<'a> Call<'a> {
    /// The call on a device of compute capability 9.0, before anything has memory.
    fn new(compiled: &'a Compiled, i: usize, args: &[Value], how: How) -> Result<Call<'a>, Failure> {
        let plan = &compiled.functions[i].plan;
        let mut host = Vec::new();
        let len = |p: u32, axis: u8| shape(&args[p as usize])[usize::from(axis)];
        let arg = |p: u32| if let Value::Scalar(l) = &args[p as usize] { *l } else { Lit::i64(0) };
        host::evaluate(plan, true, len, arg, &mut host);
        if let Some((_, message)) = host::violation(plan, &host) {
            return Err(Failure::Shape(message));
        }
        Ok(Call {
            compiled,
            plan,
            how,
            missing: Missing::default(),
            capability: 90,
            forces_clusters: false,
            is_dry: false,
            guard: None,
            memory: Memory::default(),
            host,
            places: Vec::new(),
            records: BTreeMap::new(),
            entries: Vec::new(),
        })
    }
}

impl Call<'_> {
    /// Memory for everything.
    fn bind(&mut self, args: &[Value]) -> Result<(), Failure> {
        let plan = self.plan;
        for (slot, value) in plan.params.iter().zip(args) {
            let values = match value {
                Value::Scalar(l) => std::slice::from_ref(l),
                Value::Vector(v) | Value::Array(_, v) => v,
            };
            let place = self.array(slot, shape(value), self.how.layout);
            let at = place.positions();
            values.iter().zip(at).for_each(|(v, at)| self.memory.set(place.arg.memory, at, *v));
            self.places.push(place);
        }
        let mut taken = Vec::new();
        for (r, slot) in plan.results.iter().enumerate() {
            let extents = self.extents(slot)?;
            let fits = |p: &usize| {
                let vector = !slot.ty.is_scalar() && plan.params[*p].ty == slot.ty;
                vector
                    && self.places[*p].extents == extents
                    && !taken.contains(p)
                    && plan.may_be_in_place(r, *p)
            };
            let wanted = matches!(self.how.layout, Layout::InPlace | Layout::InPlaceReversed);
            let same = (0..plan.params.len()).find(fits).filter(|_| wanted);
            taken.extend(same);
            let place = match same {
                Some(p) => self.places[p].clone(),
                None => self.array(slot, extents, self.how.layout),
            };
            self.places.push(place);
        }
        for slot in &plan.temps {
            let extents = self.extents(slot)?;
            let place = self.array(slot, extents, Layout::Contiguous);
            self.places.push(place);
        }
        Ok(())
    }

    fn extents(&self, slot: &Slot) -> Result<Vec<i64>, Failure> {
        let length = |e: &HostId| match self.host[e.0 as usize].as_i64() {
            len if len < 0 => Err(Failure::Shape(format!("{}: the length {len} is negative", slot.name))),
            len => Ok(len),
        };
        slot.extents.iter().map(length).collect()
    }

    /// Elements that nothing has written.
    fn array(&mut self, slot: &Slot, extents: Vec<i64>, layout: Layout) -> Laid {
        if extents.len() > 1 {
            return self.matrix(slot, extents, layout);
        }
        let len = extents.first().map_or(1, |n| *n as usize);
        let layout = if slot.ty.is_scalar() { Layout::Contiguous } else { layout };
        let (offset, stride): (usize, i64) = match layout {
            Layout::Contiguous | Layout::Padded | Layout::InPlace => (0, 1),
            Layout::Offset => (1, 1),
            Layout::Strided => (0, 2),
            Layout::Reversed | Layout::InPlaceReversed => (len.saturating_sub(1), -1),
        };
        let memory = self.memory.allocate(slot.ty.elem, offset + len * stride.unsigned_abs() as usize);
        let arg = ArrayArg { memory, offset: offset as u64, stride, len: len as u64 };
        Laid { arg, strides: vec![stride; extents.len()], extents }
    }

    fn matrix(&mut self, slot: &Slot, extents: Vec<i64>, layout: Layout) -> Laid {
        let (offset, gap, inner, columns_first) = match layout {
            Layout::Contiguous | Layout::InPlace => (0, 0, 1, false),
            Layout::Padded => (0, 0, 1, false),
            Layout::Offset => (1, 3, 1, false),
            Layout::Strided => (1, 1, 2, false),
            Layout::Reversed | Layout::InPlaceReversed => (0, 0, 1, true),
        };
        let (mut strides, mut next) = (vec![0; extents.len()], inner);
        let mut axes: Vec<usize> = (0..extents.len()).rev().collect();
        if columns_first {
            axes.reverse();
        }
        for axis in axes {
            strides[axis] = next;
            next = next * extents[axis].max(1) + gap;
            if layout == Layout::Padded {
                next = (next + 15) / 16 * 16;
            }
        }
        let len = if extents.contains(&0) { 0 } else { next };
        let memory = self.memory.allocate(slot.ty.elem, (offset + next) as usize);
        let arg = ArrayArg { memory, offset: offset as u64, stride: 1, len: len as u64 };
        Laid { arg, extents, strides }
    }

    fn place(&self, p: Place) -> &Laid {
        let (params, results) = (self.plan.params.len(), self.plan.results.len());
        &self.places[match p {
            Place::Param(i) => i as usize,
            Place::Result(i) => params + i as usize,
            Place::Temp(i) => params + results + i as usize,
        }]
    }

    fn run(&mut self, steps: &[Step], several: Several) -> Result<(), Failure> {
        let mut at = 0;
        while let Some(step) = steps.get(at) {
            at += 1;
            match step {
                Step::Alloc(_) | Step::Free(_) => {}
                Step::Launch(l) => self.launch(l, several)?,
                Step::Instead(_) => {
                    let Some(Step::Launch(l)) = steps.get(at) else { unreachable!("a launch follows") };
                    if self.choose(l, several).is_some() {
                        self.launch(l, several)?;
                        at += step.inside();
                    } else {
                        at += 1;
                    }
                }
                Step::Repeat(r) => {
                    self.repeat(r, &steps[at..])?;
                    at += r.inside();
                }
            }
        }
        Ok(())
    }

    fn repeat(&mut self, r: &Repeat, steps: &[Step]) -> Result<(), Failure> {
        let count = self.host[r.count.0 as usize].as_i64();
        let [check, body, others] = r.parts(steps);
        if let Some(c) = r.check {
            return self.repeat_until(r, c, count, [check, body, others]);
        }
        if count == 0 {
            self.bind_states(r, 0, 1);
            return self.run(others, None);
        }
        let turns = |each: i64| (count - 1) / each + 1;
        let each = self.steps_at_once(body, count, |call, each, turn| {
            call.bind_states(r, turn, turns(each));
            turn < turns(each)
        })?;
        let turns = turns(each);
        for turn in 0..turns {
            self.bind_states(r, turn, turns);
            self.advance(r, turn * each);
            let now = (each > 1).then(|| (each, (count - turn * each).min(each)));
            self.run(body, now)?;
        }
        Ok(())
    }

    fn advance(&mut self, r: &Repeat, step: i64) {
        if let Some(counter) = r.turn {
            host::advance(self.plan, counter, step, &mut self.host);
        }
    }

    fn repeat_until(
        &mut self,
        r: &Repeat,
        c: Check,
        count: i64,
        [check, body, copies]: [&[Step]; 3],
    ) -> Result<(), Failure> {
        let most = c.between(count);
        let each = self.steps_at_once(body, most, |call, each, run| {
            call.bind_states(r, run, c.runs(most, each));
            run < c.runs(count, each)
        })?;
        let between = c.runs(most, each);
        // a check that does not run never ends the iteration
        let count = if self.is_dry { count.min(3 * most) } else { count };
        let number = self.place(c.number).arg;
        self.memory.set(number.memory, number.offset as usize, Lit::i64(-1));
        let outer = self.guard.replace((number.memory, number.offset));
        let (mut turn, mut run, mut made, mut in_vain) = (0, 0, None, 0);
        loop {
            self.bind_states(r, run, between);
            self.advance(r, turn);
            self.run(check, None)?;
            let found = self.memory.get(number.memory, number.offset as usize).map_or(-1, |n| n.as_i64());
            if made.is_none() && found >= 0 && found != turn {
                return Err(Failure::Rules(format!("step {turn}: a check gives the number {found}")));
            }
            made = made.or((found >= 0 || turn == count).then_some(turn));
            // the runtime queues checks and steps before it knows that the iteration has ended
            in_vain += i32::from(made.is_some());
            if turn == count || in_vain == IN_VAIN {
                break;
            }
            let end = count.min(turn + most);
            while turn < end {
                let steps = each.min(end - turn);
                self.bind_states(r, run, between);
                self.advance(r, turn);
                self.run(body, (each > 1).then_some((each, steps)))?;
                (turn, run) = (turn + steps, run + 1);
            }
        }
        self.guard = outer;
        let runs = c.runs(made.unwrap_or(count), each);
        if runs == 0 || (runs - between) % 2 != 0 {
            self.bind_states(r, runs, if runs == 0 { 1 } else { between });
            self.run(copies, None)?;
        }
        Ok(())
    }

    /// Of a version that can, if it fits wherever the states are.
    fn steps_at_once(
        &mut self,
        body: &[Step],
        count: i64,
        bind: impl Fn(&mut Self, i64, i64) -> bool,
    ) -> Result<i64, Failure> {
        let [Step::Launch(l)] = body else { return Ok(1) };
        let kernel = self.kernel(l);
        let versions = &kernel.variants;
        // the version that is wanted, if it can
        let wanted = self.how.version.and_then(|v| versions.get(v)?.steps_per_launch);
        let wanted = wanted.map(|n| i64::from(n.get()));
        let Some(each) = wanted.filter(|_| count > 1).or(kernel.steps_at_once(count)) else {
            return Ok(1);
        };
        for turn in 0..3 {
            if !bind(self, each, turn) {
                break;
            }
            match self.choose(l, Some((each, each))) {
                Some(v) if versions[v].steps_per_launch.is_some() => {}
                _ => return Ok(1),
            }
        }
        Ok(each)
    }

    /// The first turn reads what was there, the last one writes what is wanted, the others what the one before wrote.
    fn bind_states(&mut self, r: &Repeat, turn: i64, turns: i64) {
        for s in &r.states {
            let written = |turn: i64| match (r.each, (turns - turn).rem_euclid(2)) {
                (true, _) => self.place(s.to).row(turn),
                (false, 1) => self.place(s.to).clone(),
                (false, _) => self.place(Place::Temp(s.spare)).clone(),
            };
            let from = if turn == 0 { self.place(s.from).clone() } else { written(turn - 1) };
            let to = written(turn);
            let first = self.plan.params.len() + self.plan.results.len();
            self.places[first + s.current as usize] = from;
            self.places[first + s.next as usize] = to;
        }
    }

    fn plan_ty(&self, p: Place) -> Ty {
        match p {
            Place::Param(i) => self.plan.params[i as usize].ty.elem,
            Place::Result(i) => self.plan.results[i as usize].ty.elem,
            Place::Temp(i) => self.plan.temps[i as usize].ty.elem,
        }
    }

    fn note(&mut self, l: &Launch, records: &[u64]) {
        let number = |site: usize| (records[site] != 0).then(|| !records[site] as i64);
        if let Some((element, site)) = sites::lowest(&l.sites, number) {
            let found = (element as u64, site);
            let lowest = self.records.entry(l).or_insert(found);
            *lowest = found.min(*lowest);
        }
    }

    fn result(&self, r: usize) -> Result<Value, Failure> {
        let (slot, place) = (&self.plan.results[r], self.place(Place::Result(r as u32)));
        let at = place.positions();
        let element = |i: usize| {
            let missing = || Failure::Rules(format!("element {i} of {} was not written", slot.name));
            self.memory.get(place.arg.memory, at[i]).ok_or_else(missing)
        };
        if slot.ty.is_scalar() {
            return element(0).map(Value::Scalar);
        }
        let elements = (0..at.len()).map(element).collect::<Result<_, _>>()?;
        Ok(if slot.ty.rank == 1 {
            Value::Vector(elements)
        } else {
            Value::Array(place.extents.clone(), elements)
        })
    }
}
