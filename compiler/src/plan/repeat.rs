//! The step of a plan that repeats others: an iteration, what ends it, and the arrays that it changes.

use super::{HostId, Place, Step};

/// An iteration. The next steps of the plan are its check, if it has one, and the `body` steps behind these its
/// body, which computes `next` from `current` for each state.
///
/// In the first repetition `current` is `from`; in the last one `next` is `to`. In between they are
/// `to` and a spare array in turn, so that nothing is copied. If the count is 0, the `otherwise`
/// steps behind the body run once instead, and copy `from` to `to`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Repeat {
    /// The number of repetitions (i64). A rule makes sure that it is not negative.
    pub count: HostId,
    /// The host scalar that is the number of the present repetition, if a launch of the body depends on it. It, and
    /// what follows from it, are computed before each repetition.
    pub turn: Option<HostId>,
    /// Whether each state is collected: `to` is an array of `count` states, of which every repetition writes the next
    /// one and reads the one before. Then the spare arrays have no memory.
    pub each: bool,
    /// When the repetitions end, if not after `count`.
    pub check: Option<Check>,
    /// Number of steps of the body.
    pub body: u32,
    /// Number of steps behind the body, which run if the count is 0.
    pub otherwise: u32,
    /// The arrays that the iteration changes.
    pub states: Vec<State>,
}

impl Repeat {
    /// Returns the number of the next steps that belong to the iteration.
    pub fn inside(&self) -> usize {
        self.check.as_ref().map_or(0, |c| c.steps as usize) + self.body as usize + self.otherwise as usize
    }

    /// Returns the parts of the steps behind the iteration: the check, the body, and what runs instead of it.
    pub fn parts<'s>(&self, steps: &'s [Step]) -> [&'s [Step]; 3] {
        let (check, steps) = steps.split_at(self.check.as_ref().map_or(0, |c| c.steps as usize));
        let (body, steps) = steps.split_at(self.body as usize);
        [check, body, &steps[..self.otherwise as usize]]
    }
}

/// The check of an iteration: it runs before every `every`th repetition, and after the last one, and writes a
/// number: that of the repetitions that were made, and there are no more, or -1. The states
/// are then where the last repetition has written them, and are copied to `to` by the `otherwise` steps if they are
/// elsewhere. Repetitions write `to` and the spare array in turn, so that the last one before the second check writes `to`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Check {
    /// Number of steps of the check.
    pub steps: u32,
    /// 1 or more.
    pub every: u32,
    /// The array of one i64 that the check writes.
    pub number: Place,
}

impl Check {
    /// Whether the check runs before a repetition, of at most `count`.
    pub fn is_due(&self, turn: i64, count: i64) -> bool {
        turn == count || turn % i64::from(self.every) == 0
    }

    /// Returns how many runs of the body make that many repetitions, if one run makes `each` of them but none goes
    /// beyond a check.
    pub fn runs(&self, repetitions: i64, each: i64) -> i64 {
        let of = |n: i64| (n + each - 1) / each;
        let every = i64::from(self.every);
        repetitions / every * of(every) + of(repetitions % every)
    }

    /// Returns how many repetitions follow one another without a check, of at most `count`.
    pub fn between(&self, count: i64) -> i64 {
        count.clamp(1, self.every.into())
    }
}

/// An array that an iteration changes. The five arrays of a state have the same shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct State {
    /// The place of the array before the iteration.
    pub from: Place,
    /// The place of the array after the iteration.
    pub to: Place,
    /// A temporary with memory of its own, which holds every other state in between.
    pub spare: u32,
    /// The temporary that stands for the state before a step in the body's launches; it has no
    /// memory of its own.
    pub current: u32,
    /// The temporary that stands for the state after a step in the body's launches; it has no
    /// memory of its own.
    pub next: u32,
}
