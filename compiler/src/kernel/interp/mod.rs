//! Runs GPU kernels on the CPU, thread by thread, and finds faults that a GPU would not report.
//!
//! The interpreter is for tests, so it is slow and strict. It reports data races in shared and
//! global memory, barriers and shuffles that not all threads reach, accesses out of bounds or
//! misaligned, reads of unwritten memory, and counters that are not 0 afterwards. Each report names
//! the statement and the thread, or both of them.
//!
//! - A warp's lanes execute a statement together (`warp.rs`); warps take turns in an [`Order`].
//! - Values are those of `scalar::eval`, to the bit.
//! - Barriers order the accesses of a block or a cluster, broadcasts those of a warp (shuffles do not), and an
//!   arrival at a counter orders the earlier accesses before those of the thread that arrives last.
//! - A warp that awaits words runs on once they are published (`words.rs`). If all blocks that have begun wait, that
//!   is a fault: a device may have no room for another one.
//!   A race is found whatever the order in which the threads ran (`cell.rs`).

mod access;
mod args;
mod asynchronous;
mod cell;
mod clock;
mod copies;
mod counters;
mod eval;
mod fault;
mod lanes;
mod machine;
mod matrices;
mod memory;
mod operators;
mod registers;
mod staged;
mod warp;
mod words;

pub use args::{Args, ArrayArg, Grid};
pub use fault::{Fault, FaultKind, Place, Thread};
pub use memory::{Id, Memory};

use crate::kernel::{Kernel, Stmt, WARP};
use fault::Check;
use machine::Machine;
use std::collections::VecDeque;
use warp::{State, Warp};

/// The order in which warps run. The results of a correct kernel do not depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Block by block; in a block a warp runs until it waits.
    Ascending,
    /// Like `Ascending`, but from the last block and warp to the first.
    Descending,
    /// A few blocks at a time; a few statements of one warp, then of another one, chosen from this
    /// seed.
    Random(u64),
}

/// The number of resident blocks in a random order.
const RESIDENT: usize = 4;
/// The most statements that all warps together may execute.
const STEPS: u64 = 1 << 30;

/// Runs a kernel; a guarded one does nothing if its guard is not negative. Returns the record of each site: 0
/// for none, else the complement of the lowest element.
pub fn run(
    k: &Kernel,
    grid: Grid,
    memory: &mut Memory,
    args: &Args,
    order: Order,
) -> Result<Vec<u64>, Box<Fault>> {
    args::check_counters(k, memory, args, "before")?;
    let before = memory.count();
    args::check(k, grid, memory, args)?;
    if args::is_stopped(k, memory, args)? {
        return Ok(vec![0; k.sites.len()]);
    }
    let mut m = Machine::new(k, grid, memory, args);
    let result = Schedule::new(order, grid.blocks / k.cluster.max(1)).run(&mut m);
    let (unwritten, records) = (m.unwritten, m.records);
    memory.truncate(before);
    match (result, unwritten) {
        (Err(race), _) if matches!(race.kind, FaultKind::Race | FaultKind::Absent) => Err(race),
        (_, Some(unwritten)) => Err(unwritten),
        (result, None) => result.and_then(|()| args::check_counters(k, memory, args, "after")),
    }?;
    Ok(records)
}

/// A block that has begun and not ended.
struct Block<'k> {
    number: u32,
    warps: Vec<Warp<'k>>,
    /// Whether all its warps wait at a barrier of the cluster.
    waits: bool,
}

/// What happens to a block none of whose warps can run.
enum Met {
    Ended,
    /// All warps waited at a barrier of the block, and go on.
    Passed,
    /// All warps wait at a barrier of the cluster.
    Waits,
}

impl<'k> Block<'k> {
    fn start(m: &mut Machine<'k, '_>, number: u32) -> Block<'k> {
        let shared = m.begin(number);
        let first = number * m.k.threads;
        let warps = (0..m.k.threads / WARP).map(|w| Warp::new(m.k, first + w * WARP, shared));
        Block { number, warps: warps.collect(), waits: false }
    }

    /// Returns the numbers of the warps that can run.
    fn running(&self) -> impl DoubleEndedIterator<Item = usize> + Clone {
        (0..self.warps.len()).filter(|w| self.warps[*w].state == State::Running)
    }

    /// Whether a warp can run, or all wait at barriers or have ended.
    fn can_go_on(&self) -> bool {
        let is = |state| self.warps.iter().any(|w| w.state == state);
        !self.waits && (is(State::Running) || !is(State::Awaiting))
    }

    fn go_on(&mut self) {
        self.waits = false;
        self.warps.iter_mut().for_each(|w| w.state = State::Running);
    }

    /// Is called when none of the block's warps can run.
    fn meet(&mut self, m: &mut Machine<'k, '_>) -> Check<Met> {
        let Some((waiting, barrier)) = self.warps.iter().find_map(|w| Some((w, w.barrier()?))) else {
            m.end(self.number)?;
            return Ok(Met::Ended);
        };
        let place = waiting.place();
        let away = self.warps.iter().find(|w| w.state == State::Done || w.place() != place);
        if let Some(away) = away {
            let end = if away.barrier().is_some() { "waits at another one" } else { "has ended" };
            let message = format!("{} {end}", m.thread(away.thread(0)));
            return m.fault(FaultKind::DivergentBarrier, waiting.thread(0), barrier, message);
        }
        if let Stmt::ClusterBarrier { .. } = barrier {
            self.waits = true;
            return Ok(Met::Waits);
        }
        let first = self.warps[0].thread(0) as usize;
        m.clocks.meet(first..first + m.k.threads as usize);
        self.go_on();
        Ok(Met::Passed)
    }
}

/// Is called when a block of a cluster waits for the others or has ended. If all blocks wait at one
/// barrier, they go on.
fn meet_cluster<'k>(blocks: &mut [Block<'k>], cluster: u32, m: &mut Machine<'k, '_>) -> Check<()> {
    let size = m.k.cluster;
    let mut all: Vec<&mut Block> = blocks.iter_mut().filter(|b| b.number / size == cluster).collect();
    let Some((waiting, barrier)) =
        all.iter().find(|b| b.waits).and_then(|b| Some((&b.warps[0], b.warps[0].barrier()?)))
    else {
        return Ok(());
    };
    let fault = |message: String| m.fault(FaultKind::DivergentBarrier, waiting.thread(0), barrier, message);
    if all.len() < size as usize {
        return fault("another block of the cluster has ended".into());
    }
    let place = waiting.place();
    if let Some(away) = all.iter().find(|b| b.waits && b.warps[0].place() != place) {
        return fault(format!("block {} waits at another one", away.number));
    }
    if all.iter().all(|b| b.waits) {
        let threads = (size * m.k.threads) as usize;
        let first = cluster as usize * threads;
        match barrier {
            Stmt::ClusterBarrier { relaxed: true } => m.clocks.begin(first..first + threads),
            _ => m.clocks.meet(first..first + threads),
        }
        all.iter_mut().for_each(|b| b.go_on());
    }
    Ok(())
}

/// Is called when no block can run: all have ended, or one awaits words that the others cannot publish.
fn deadlock(blocks: &[Block], m: &Machine) -> Check<()> {
    let mut warps = blocks.iter().flat_map(|b| &b.warps);
    match warps.find_map(|w| Some((w, w.next().filter(|_| w.state == State::Awaiting)?))) {
        None => Ok(()),
        Some((w, at)) => {
            let what = "no block that has begun publishes what it awaits".into();
            m.fault(FaultKind::Deadlock, w.thread(0), at, what)
        }
    }
}

/// Chooses the warp that runs next.
struct Schedule {
    order: Order,
    random: u64,
    /// The clusters that have not begun; without clusters, the blocks.
    queue: VecDeque<u32>,
}

impl Schedule {
    fn new(order: Order, clusters: u32) -> Schedule {
        let random =
            if let Order::Random(seed) = order { seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 } else { 0 };
        let mut s = Schedule { order, random, queue: VecDeque::new() };
        let mut all: Vec<u32> = (0..clusters).collect();
        s.arrange(&mut all);
        s.queue = all.into();
        s
    }

    /// Returns a random number below n (xorshift64*).
    fn below(&mut self, n: usize) -> usize {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        (self.random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % n
    }

    fn arrange<T>(&mut self, list: &mut [T]) {
        match self.order {
            Order::Ascending => {}
            Order::Descending => list.reverse(),
            Order::Random(_) => (1..list.len()).rev().for_each(|i| list.swap(i, self.below(i + 1))),
        }
    }

    /// Chooses the number of a block or warp among those that can run.
    fn choose(&mut self, mut ready: impl DoubleEndedIterator<Item = usize> + Clone) -> Option<usize> {
        match self.order {
            Order::Ascending => ready.next(),
            Order::Descending => ready.next_back(),
            Order::Random(_) => match ready.clone().count() {
                0 => None,
                count => ready.nth(self.below(count)),
            },
        }
    }

    fn run<'k>(&mut self, m: &mut Machine<'k, '_>) -> Check<()> {
        let size = m.k.cluster.max(1);
        let window = if let Order::Random(_) = self.order { RESIDENT.div_ceil(size as usize) } else { 1 };
        let mut blocks: Vec<Block<'k>> = Vec::new();
        let mut steps = 0;
        loop {
            while blocks.len() <= (window - 1) * size as usize
                && let Some(number) = self.queue.pop_front()
            {
                blocks.extend((number * size..(number + 1) * size).map(|number| Block::start(m, number)));
            }
            if std::mem::take(&mut m.has_news) {
                let awaiting =
                    blocks.iter_mut().flat_map(|b| &mut b.warps).filter(|w| w.state == State::Awaiting);
                awaiting.for_each(|w| w.state = State::Running);
            }
            let Some(b) = self.choose((0..blocks.len()).filter(|b| blocks[*b].can_go_on())) else {
                return deadlock(&blocks, m);
            };
            let Some(w) = self.choose(blocks[b].running()) else {
                let number = blocks[b].number;
                let met = blocks[b].meet(m)?;
                if let Met::Ended = met {
                    blocks.swap_remove(b);
                }
                if size > 1 && !matches!(met, Met::Passed) {
                    meet_cluster(&mut blocks, number / size, m)?;
                }
                continue;
            };
            let turn = if let Order::Random(_) = self.order { 1 + self.below(16) as u64 } else { u64::MAX };
            let warp = &mut blocks[b].warps[w];
            let mut left = turn;
            while warp.state == State::Running && left > 0 {
                m.step(warp, &mut |lanes| self.arrange(lanes))?;
                (left, steps) = (left - 1, steps + 1);
                if steps == STEPS
                    && let Some(at) = warp.last()
                {
                    let message = format!("{STEPS} statements, and no end");
                    return m.fault(FaultKind::Endless, warp.thread(0), at, message);
                }
            }
        }
    }
}
