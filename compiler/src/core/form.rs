//! What an iteration gives ([`super::Op::Iterate`]).

/// What an iteration gives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Form {
    /// The state after the last step.
    Last,
    /// The state after the last step. If there are no steps, the value of another function of the same arguments; its
    /// number among the steps.
    Or(u32),
    /// The states after each step, along a new axis before their own.
    Each,
    /// The first state that a check stops, which may be the one after `count` steps. `which` may also be the
    /// last argument, an array of one i64 that steps do not get: the number of steps, or a negative
    /// number if no check stops.
    Until(Check),
}

impl Form {
    /// Returns the number of the function that an iteration calls beside its step.
    pub fn function(self) -> Option<u32> {
        match self {
            Form::Last | Form::Each => None,
            Form::Or(function) => Some(function),
            Form::Until(check) => Some(check.step),
        }
    }

    /// Returns the form with another function of that kind.
    pub fn with_function(self, number: u32) -> Form {
        match self {
            Form::Last | Form::Each => self,
            Form::Or(_) => Form::Or(number),
            Form::Until(check) => Form::Until(Check { step: number, ..check }),
        }
    }
}

/// When an iteration ends: before every `every`th step, and after the last one, a step of the function is called with
/// the present states and the other arguments. It gives an array of one i64: -1 if the iteration goes on, or the
/// number of steps so far (`Op::Turn`) if it ends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Check {
    /// The number of the function among the steps.
    pub step: u32,
    /// 1 or more.
    pub every: u32,
}

impl Check {
    /// Whether the state before a step is checked, in an iteration of at most `count` steps.
    pub fn is_due(self, turn: i64, count: i64) -> bool {
        turn == count || turn % i64::from(self.every) == 0
    }
}
