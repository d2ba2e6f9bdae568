//! The budget of one compilation: how much a program may make the compiler do before it gives up
//! with an error at the author's line. A program that grows beyond all bounds while it is compiled,
//! such as stencils of stencils, ends so, and not in a hang or without memory.

use crate::error::{Error, Kind, Result};
use crate::loc::{Loc, LocStack};
use std::cell::{Cell, RefCell};
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Code of the error of a compilation that exceeds its budget.
pub const EXCEEDED: &str = "E0903";

/// How many questions pass between two looks at the clock.
const BETWEEN_LOOKS: u64 = 1024;

/// How much one compilation may take.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Budget {
    /// Nodes of core IR that passes and the schedule make, in all.
    pub nodes: u64,
    /// Bytes of code: PTX and C.
    pub bytes: u64,
    /// Time; a run of the C compiler for the function's code has as much again.
    pub time: Duration,
}

impl Default for Budget {
    /// About a hundred times what a function of 10,000 operations takes.
    fn default() -> Budget {
        Budget { nodes: 40_000_000, bytes: 2 << 30, time: Duration::from_secs(600) }
    }
}

impl FromStr for Budget {
    type Err = Error;

    /// Parses limits such as `nodes=100000,seconds=5`; those that are not named are the usual ones.
    fn from_str(text: &str) -> Result<Budget> {
        let mut budget = Budget::default();
        for part in text.split(',') {
            let wrong =
                || Error::user("E0113", format!("the budget `{part}` is not nodes=N, bytes=N or seconds=S"));
            let (name, value) = part.split_once('=').ok_or_else(wrong)?;
            let whole = || value.parse::<u64>().map_err(|_| wrong());
            match name {
                "nodes" => budget.nodes = whole()?,
                "bytes" => budget.bytes = whole()?,
                "seconds" => {
                    let seconds = value.parse().ok().and_then(|s| Duration::try_from_secs_f64(s).ok());
                    budget.time = seconds.ok_or_else(wrong)?;
                }
                _ => return Err(wrong()),
            }
        }
        Ok(budget)
    }
}

/// A compilation that is under way.
struct Spent {
    budget: Budget,
    /// The nodes that this thread had made when it began.
    nodes: u64,
    begin: Instant,
    bytes: u64,
    /// How often passes asked, so that few questions look at the clock.
    asked: u64,
    /// What was exceeded, once something was.
    exceeded: Option<Excess>,
}

/// What of a budget was exceeded, and where.
struct Excess {
    what: String,
    kind: Kind,
    at: Option<Loc>,
}

thread_local! {
    /// The nodes of core IR that this thread has made.
    static MADE: Cell<u64> = const { Cell::new(0) };
    /// The compilation that this thread is in. It has another one's budget if that contains it.
    static SPENT: RefCell<Option<Spent>> = const { RefCell::new(None) };
}

/// Compiles within a budget. A compilation inside of another one shares that one's budget.
pub fn within<T>(budget: Budget, compile: impl FnOnce() -> Result<T>) -> Result<T> {
    /// Ends the compilation, also if it panics.
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            SPENT.with_borrow_mut(|spent| *spent = None);
        }
    }
    if SPENT.with_borrow(Option::is_some) {
        return compile();
    }
    let begin = Spent { budget, nodes: made(), begin: Instant::now(), bytes: 0, asked: 0, exceeded: None };
    SPENT.set(Some(begin));
    let _end = End;
    compile()
}

/// Counts a node of core IR that was made.
pub fn make() {
    MADE.set(MADE.get() + 1);
}

/// Returns how many nodes of core IR this thread has made so far.
pub fn made() -> u64 {
    MADE.get()
}

/// Counts bytes of code that were written.
pub fn write(bytes: usize) {
    SPENT.with_borrow_mut(|spent| {
        if let Some(spent) = spent {
            spent.bytes += bytes as u64;
        }
    });
}

/// Whether more nodes were made, more bytes written or more time taken than the budget allows. This is
/// quick, so that passes can ask for each step of a walk; `at` is the author's line of what it visits. A
/// pass for which this is true ends its walk with anything that is well-typed: its runner then asks
/// [`check`].
pub fn is_exceeded(at: &LocStack) -> bool {
    SPENT.with_borrow_mut(|spent| {
        let Some(spent) = spent else { return false };
        if spent.asked.is_multiple_of(BETWEEN_LOOKS) {
            spent.look();
        }
        spent.asked += 1;
        spent.is_exceeded(at.first())
    })
}

/// Returns an error if the budget is exceeded, the time included.
pub fn check() -> Result<()> {
    SPENT.with_borrow_mut(|spent| {
        let Some(spent) = spent else { return Ok(()) };
        if !spent.is_exceeded(None) {
            spent.look();
        }
        match &spent.exceeded {
            None => Ok(()),
            Some(Excess { what, kind, at }) => Err(Error { kind: *kind, ..exceeded(what) }.at(at.as_ref())),
        }
    })
}

/// Returns the error of a C compiler that was ended after `limit`.
pub fn too_long_in_c(limit: Duration) -> Error {
    exceeded(&format!("takes longer than {} s in the C compiler", limit.as_secs_f64()))
}

fn exceeded(what: &str) -> Error {
    let advice = "`materialize` what is read several times, or compile a smaller function";
    Error::limit(EXCEEDED, format!("compiling this {what}, which its budget allows; {advice}"))
}

fn too_much_code(limit: u64) -> String {
    format!("writes more than {limit} bytes of code")
}

/// The code of one function whose variants are written when calls need them, on any thread.
pub struct Code {
    limit: u64,
    written: AtomicU64,
    /// The author's line of the function.
    at: Option<Loc>,
}

impl Code {
    /// Nothing is written yet of what a budget allows.
    pub fn within(budget: Budget, at: Option<Loc>) -> Code {
        Code { limit: budget.bytes, written: AtomicU64::new(0), at }
    }

    /// Counts bytes that were written. Returns an error if they are more than the budget allows.
    pub fn write(&self, bytes: usize) -> Result<()> {
        let all = self.written.fetch_add(bytes as u64, Ordering::Relaxed).saturating_add(bytes as u64);
        if all <= self.limit {
            return Ok(());
        }
        Err(exceeded(&too_much_code(self.limit)).at(self.at.as_ref()))
    }
}

impl Spent {
    /// Looks at the clock.
    fn look(&mut self) {
        if self.exceeded.is_none() && self.begin.elapsed() > self.budget.time {
            let limit = self.budget.time.as_secs_f64();
            let what = format!("takes longer than {limit} s");
            self.exceeded = Some(Excess { what, kind: Kind::Late, at: None });
        }
    }

    fn is_exceeded(&mut self, at: Option<&Loc>) -> bool {
        if self.exceeded.is_none() {
            let nodes = made() - self.nodes;
            let what = match () {
                () if nodes > self.budget.nodes => format!("takes more than {} nodes", self.budget.nodes),
                () if self.bytes > self.budget.bytes => too_much_code(self.budget.bytes),
                () => return false,
            };
            self.exceeded = Some(Excess { what, kind: Kind::Limit, at: None });
        }
        // the first node that has a line
        if let Some(Excess { at: line @ None, .. }) = &mut self.exceeded {
            *line = at.cloned();
        }
        true
    }
}
