//! What the interpreter gives, for tests that call a function in many versions and layouts with the same arguments.

use arraygpu_compiler::Result;
use arraygpu_compiler::core::Function;
use arraygpu_compiler::core::interp::{self, Outcome, Value};
use std::cell::RefCell;
use std::collections::VecDeque;

/// How many calls of a thread are kept.
const KEPT: usize = 4;

/// A function's text, arguments, and the outcome.
type Call = (String, Vec<Value>, Outcome);

thread_local! {
    /// The last calls of the thread, the latest first: products of matrices take the interpreter longer than the
    /// simulator.
    static CALLS: RefCell<VecDeque<Call>> = const { RefCell::new(VecDeque::new()) };
}

/// Calls a function in the interpreter, unless its outcome is known.
pub fn run(f: &Function, args: &[Value]) -> Result<Outcome> {
    let text = f.to_string();
    let is_known = |call: &&Call| call.0 == text && call.1 == args;
    let known = CALLS.with_borrow(|calls| calls.iter().find(is_known).map(|call| call.2.clone()));
    if let Some(outcome) = known {
        return Ok(outcome);
    }
    let outcome = interp::run(f, args)?;
    CALLS.with_borrow_mut(|calls| {
        calls.truncate(KEPT - 1);
        calls.push_front((text, args.to_vec(), outcome.clone()));
    });
    Ok(outcome)
}
