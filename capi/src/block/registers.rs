//! Register allocation for the block registers of one loop: registers that are never live at the
//! same time share memory.

use super::program::{Home, Instr, Slot, Step};
use std::collections::HashMap;

/// Maximum number of bytes of all block registers of a loop. They should stay in the first-level
/// cache, beside the data that the loop reads and writes.
const BYTES: usize = 16 << 10;
/// Minimum number of iterations of a block, which every block length is a multiple of: the number
/// of columns of a tile.
const LEAST: usize = 128;
const MOST: usize = 1024;

/// The live range of a register: from its first to its last access, in the order of the steps.
#[derive(Clone, Copy)]
struct Range {
    first: usize,
    last: usize,
}

/// Gives each block register of the loop a place. Returns the number of iterations of a block, and
/// the bytes of all places.
pub(super) fn allocate(homes: &mut [Home], head: &[Step], body: &[Step]) -> (usize, u32) {
    let mut scan = Scan { homes, ranges: HashMap::new(), order: Vec::new(), now: 0, loops: Vec::new() };
    scan.steps(head);
    let of_head = scan.order.len();
    scan.steps(body);
    let (mut ranges, order, end) = (scan.ranges, scan.order, scan.now);
    for slot in &order[..of_head] {
        // what the head computes is live in every block
        if let Some(r) = ranges.get_mut(slot) {
            r.last = end;
        }
    }
    // each place has one element size, and the end of its last live range
    let mut places: Vec<(u32, usize)> = Vec::new();
    let mut chosen: Vec<(Slot, usize)> = Vec::new();
    for slot in order {
        let (Some(range), Home::Block(size)) = (ranges.get(&slot), homes[slot as usize]) else { continue };
        let free = places.iter().position(|(s, until)| *s == size && *until < range.first);
        let place = free.unwrap_or_else(|| {
            places.push((size, 0));
            places.len() - 1
        });
        places[place].1 = range.last;
        chosen.push((slot, place));
    }
    let bytes: usize = places.iter().map(|p| p.0 as usize).sum();
    let block = BYTES.checked_div(bytes).map_or(MOST, |n| n.clamp(LEAST, MOST)) & !(LEAST - 1);
    let (mut starts, mut next) = (Vec::new(), 0);
    for (size, _) in &places {
        starts.push(next);
        next += size * block as u32;
    }
    for (slot, place) in chosen {
        homes[slot as usize] = Home::Arena(starts[place]);
    }
    (block, next)
}

struct Scan<'a> {
    homes: &'a [Home],
    ranges: HashMap<Slot, Range>,
    /// The block registers, in the order of their first accesses.
    order: Vec<Slot>,
    now: usize,
    /// For each enclosing loop, where it begins and what it accesses.
    loops: Vec<(usize, Vec<Slot>)>,
}

impl Scan<'_> {
    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Ops(ops) => ops.iter().for_each(|i| self.instr(i)),
                Step::Loop { body, .. } => self.looped(&[body]),
                Step::While { test, body, .. } => self.looped(&[test, body]),
                Step::If { yes, no, .. } => [yes, no].iter().for_each(|s| self.steps(s)),
                Step::Windows(_) | Step::Blocks(_) => {}
            }
        }
    }

    fn instr(&mut self, i: &Instr) {
        self.now += 1;
        for slot in [i.a, i.b, i.c, i.d] {
            if matches!(self.homes[slot as usize], Home::Block(_)) {
                let range = self.ranges.entry(slot).or_insert_with(|| {
                    self.order.push(slot);
                    Range { first: self.now, last: self.now }
                });
                range.last = self.now;
                self.loops.iter_mut().for_each(|l| l.1.push(slot));
            }
        }
    }

    /// Extends the live range of what a loop finds when it begins to the end of the loop: its next
    /// iteration needs it, too.
    fn looped(&mut self, parts: &[&Vec<Step>]) {
        self.now += 1;
        self.loops.push((self.now, Vec::new()));
        parts.iter().for_each(|s| self.steps(s));
        self.now += 1;
        let Some((begin, accessed)) = self.loops.pop() else { return };
        for slot in accessed {
            if let Some(r) = self.ranges.get_mut(&slot)
                && r.first < begin
            {
                r.last = self.now;
            }
        }
    }
}
