//! Iterations: which memory a step reads and writes in each turn.

use crate::places::place_of;
use crate::span::Span;
use crate::workspace::Workspace;
use arraygpu_compiler::plan::{Place, Plan, Repeat, Step, host};

/// Returns the number of steps. If the states have no elements, it is at most 1, because further
/// steps change nothing.
pub(crate) fn count(plan: &Plan, r: &Repeat, ws: &Workspace) -> i64 {
    let count = ws.host[r.count.0 as usize].as_i64().max(0);
    // even without elements, a step that knows its number may leave a record that earlier steps do not leave
    let empty = r.turn.is_none() && r.states.iter().all(|s| ws.spans[place_of(plan, s.from)].is_empty());
    if empty { count.min(1) } else { count }
}

/// Returns the steps of the plan that run, and how often, of an iteration without a check.
pub(crate) fn chosen<'s>(r: &Repeat, steps: &'s [Step], count: i64) -> (&'s [Step], i64) {
    let [_, body, others] = r.parts(steps);
    if count > 0 { (body, count) } else { (others, 1) }
}

/// Computes again the values that the launches of a step get by value, and those that depend on its number.
pub(crate) fn advance(plan: &Plan, r: &Repeat, step: i64, ws: &mut Workspace) {
    if let Some(counter) = r.turn {
        host::advance(plan, counter, step, &mut ws.host);
    }
}

/// Assigns memory to `current` and `next` of each state for one of `count` turns. The first turn reads the initial
/// state, the last turn writes the result, and each turn reads what the previous one wrote. If each state is
/// collected, every turn writes the next one.
pub(crate) fn bind(plan: &Plan, r: &Repeat, turn: i64, count: i64, spans: &mut [Span]) {
    for s in &r.states {
        let [from, to, spare, current, next] =
            [s.from, s.to, Place::Temp(s.spare), Place::Temp(s.current), Place::Temp(s.next)]
                .map(|p| place_of(plan, p));
        let written_at = |turn: i64| match (r.each, (count - 1 - turn) % 2) {
            (true, _) => spans[to].part(turn),
            (false, 0) => spans[to],
            (false, _) => spans[spare],
        };
        let before = if turn == 0 { spans[from] } else { written_at(turn - 1) };
        let after = written_at(turn);
        (spans[current], spans[next]) = (before, after);
    }
}

/// The places of the states of an iteration that a check ends, after a number of runs of its body. The last of the
/// first `between` runs writes `to`, as in an iteration of that many runs; later runs continue by turns.
#[derive(Clone, Copy)]
pub(crate) struct Until {
    /// The number of runs between two checks.
    pub between: i64,
}

impl Until {
    /// Assigns memory for a run of the body, or for a check before it.
    pub fn bind(self, plan: &Plan, r: &Repeat, run: i64, spans: &mut [Span]) {
        bind(plan, r, run, self.between, spans);
    }

    /// Assigns memory for copying the states after `runs` runs to where they are wanted. Returns whether they are
    /// elsewhere.
    pub fn bind_copies(self, plan: &Plan, r: &Repeat, runs: i64, spans: &mut [Span]) -> bool {
        match runs {
            0 => bind(plan, r, 0, 1, spans),
            _ => bind(plan, r, runs, self.between, spans),
        }
        runs == 0 || (runs - self.between) % 2 != 0
    }
}
