//! Iterations: which memory a step reads and writes at which time.

use crate::places::place_of;
use crate::span::Span;
use crate::workspace::Workspace;
use arraygpu_compiler::plan::{Place, Plan, Repeat, Step};

/// How many steps there are; of states without elements one, after which nothing changes.
pub(crate) fn count(plan: &Plan, r: &Repeat, ws: &Workspace) -> i64 {
    let count = ws.host[r.count.0 as usize].as_i64().max(0);
    let empty = r.states.iter().all(|s| ws.spans[place_of(plan, s.from)].is_empty());
    if empty { count.min(1) } else { count }
}

/// What runs of the steps behind it, and how often.
pub(crate) fn chosen<'s>(r: &Repeat, steps: &'s [Step], count: i64) -> (&'s [Step], i64) {
    let (body, others) = steps.split_at(r.body as usize);
    if count > 0 { (body, count) } else { (&others[..r.otherwise as usize], 1) }
}

/// Gives `current` and `next` of each state their memory for one of `count` turns: the first reads what is there before, the last writes what is wanted, and what
/// one writes the next one reads.
pub(crate) fn bind(plan: &Plan, r: &Repeat, turn: i64, count: i64, spans: &mut [Span]) {
    for s in &r.states {
        let [from, to, spare, current, next] =
            [s.from, s.to, Place::Temp(s.spare), Place::Temp(s.current), Place::Temp(s.next)]
                .map(|p| place_of(plan, p));
        let written_at = |turn: i64| if (count - 1 - turn) % 2 == 0 { to } else { spare };
        spans[current] = spans[if turn == 0 { from } else { written_at(turn - 1) }];
        spans[next] = spans[written_at(turn)];
    }
}
