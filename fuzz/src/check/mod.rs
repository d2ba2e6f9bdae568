//! The stages that a program is run through, each against the interpreter of core IR.

mod block;
pub mod c;
pub mod clock;
mod gpu;
mod passes;
mod runtime;
mod simulator;
mod texts;

use crate::case::Case;
use arraygpu_compiler::core::interp::{Outcome, Value};
use arraygpu_compiler::core::{Function, Lambda, NodeId, Op, Var};
use arraygpu_compiler::driver::{self, Compiled, Targets};
use arraygpu_compiler::error::Error;
use arraygpu_compiler::package::level::Level;
use arraygpu_compiler::stage;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering};

/// What a program is run through.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Stage {
    /// The passes, one by one.
    Passes,
    /// A simulated GPU.
    Simulator,
    /// The block interpreter.
    Block,
    /// C for every level of the instruction set.
    C,
    /// The first GPU of the machine.
    Gpu,
    /// Its texts, damaged.
    Texts,
    /// No program: random calls of the C interface.
    Interface,
}

impl Stage {
    /// Every stage that needs no GPU.
    pub const ALL: [Stage; 4] = [Stage::Passes, Stage::Simulator, Stage::Block, Stage::C];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Passes => "passes",
            Stage::Simulator => "simulator",
            Stage::Block => "block",
            Stage::C => "c",
            Stage::Gpu => "gpu",
            Stage::Texts => "texts",
            Stage::Interface => "interface",
        }
    }
}

/// What went wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The kind of the failure: its message without numbers. Failures of one kind have the same.
    pub class: String,
    /// The whole message.
    pub message: String,
}

impl Failure {
    /// A failure with a message, whose first line says what kind it is.
    pub fn new(message: impl Into<String>) -> Failure {
        let message = message.into();
        Failure { class: class(&message), message }
    }
}

/// The first line without digits; of a panic its place.
fn class(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    if line.starts_with("panic at ") {
        return line.split(": ").next().unwrap_or_default().into();
    }
    line.chars().filter(|c| !c.is_ascii_digit()).take(160).collect()
}

/// Runs a case through a stage, and what staging makes of it; the number of comparisons made.
pub fn check(stage: Stage, case: &Case) -> Result<u64, Failure> {
    let one = |case: &Case| match stage {
        Stage::Passes => passes::check(case),
        Stage::Simulator => simulator::check(case),
        Stage::Block => block::check(case),
        Stage::C => c::check(case, &Level::here()),
        Stage::Gpu => gpu::check(case),
        Stage::Texts => texts::check(case),
        Stage::Interface => Err(Failure::new("no stage of a program")),
    };
    caught(|| {
        let compared = one(case)?;
        match specialised(case) {
            Some(special) => {
                let more = one(&special).map_err(|f| Failure::new(format!("specialised: {}", f.message)))?;
                Ok(compared + more)
            }
            None => Ok(compared),
        }
    })
}

/// The function compiled for what it stages in the call that it is made for, and that call.
fn specialised(case: &Case) -> Option<Case> {
    let f = &case.function;
    let call = case.calls.iter().find(|c| c.fits).filter(|_| case.refused.is_none())?;
    if !stage::has_stages(f) {
        return None;
    }
    let scalar = |a: &Value| if let Value::Scalar(l) = a { Some(*l) } else { None };
    let extents = |a: &Value| match a {
        Value::Scalar(_) => vec![],
        Value::Vector(v) => vec![v.len() as i64],
        Value::Array(extents, _) => extents.clone(),
    };
    let (params, extents): (Vec<_>, Vec<_>) = call.args.iter().map(|a| (scalar(a), extents(a))).unzip();
    let function = stage::specialise(f, &stage::values(f, &params, &extents));
    Some(Case { function, calls: vec![call.clone()], refused: None })
}

thread_local! {
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Panics say nothing on their own from now on.
pub fn keep_quiet() {
    panic::set_hook(Box::new(|info| {
        let payload = info.payload();
        let text = payload.downcast_ref::<&str>().copied();
        let message = text.or(payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
        let place = info.location().map(|l| format!("{}:{}", l.file(), l.line())).unwrap_or_default();
        let text = format!("panic at {place}: {message}");
        PANIC.with(|p| *p.borrow_mut() = Some(text));
    }));
}

/// A panic is a failure like any other.
pub fn caught<T>(f: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    panic::catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|_| {
        let message = PANIC.with(|p| p.borrow_mut().take());
        Err(Failure::new(message.unwrap_or_else(|| "panic".into())))
    })
}

/// How often a program was refused for a reason that the generator does not predict: the amount of
/// code of its nested operations, or a stored array in a closure whose record only some elements
/// need. Their number in a run is limited.
pub static REFUSED: AtomicU64 = AtomicU64::new(0);

fn is_unpredicted(e: &Error) -> bool {
    let stored = e.code == "E0401" && e.message.contains("may leave a record");
    let refused = e.code == "E0405" || stored;
    REFUSED.fetch_add(u64::from(refused), Ordering::Relaxed);
    refused
}

/// The compiled program; none if it is refused for the reason that was predicted.
fn compiled(case: &Case, targets: Targets) -> Result<Option<Compiled>, Failure> {
    let start = clock::now();
    let result = driver::compile_for("fuzz", vec![case.function.clone()], targets);
    if clock::now() - start > clock::longest() {
        return Err(Failure::new("the compiler takes more than 2 s"));
    }
    match (result, case.refused.as_deref()) {
        (Ok(_), Some("E0310")) => Err(Failure::new("E0310 was to be said")),
        (Ok(compiled), _) => Ok(Some(compiled)),
        (Err(e), Some(code)) if e.code == code => Ok(None),
        (Err(e), _) if is_unpredicted(&e) => Ok(None),
        (Err(e), _) => Err(Failure::new(format!("the compiler refuses a legal program: {e}"))),
    }
}

/// Removes `fast_math` and `tensor_cores`, whose bits depend on the device.
pub fn precise(f: &mut Function) {
    (f.fast, f.tensor_cores) = (false, false);
    for step in &mut f.steps {
        precise(std::sync::Arc::make_mut(step));
    }
}

/// Whether the function uses what it is given on every path.
fn uses_all(f: &Function, lambda: &Lambda) -> bool {
    let used = f.graph.reachable([lambda.body]);
    let uses = |v: Var| used.iter().any(|n| matches!(f.graph.op(*n), Op::Var(w, ..) if *w == v));
    // or uses it only in an arm that may not be taken
    let chooses = used.iter().any(|n| matches!(f.graph.op(*n), Op::Select(..)));
    !chooses && lambda.params.iter().all(|p| uses(p.0))
}

/// Whether a reduction or fold does not use both operands of its function, or not always: its
/// elements may be needed by no result, and compiled code need not leave their records.
fn ignores(f: &Function) -> bool {
    let unused = |n: NodeId| match f.graph.op(n) {
        // what no component that is needed depends on is left out
        Op::Reduce { init, .. }
        | Op::ReduceOrdered { init, .. }
        | Op::Scan { init, .. }
        | Op::Fold { init, .. }
            if matches!(f.graph.op(*init), Op::Tuple(_)) =>
        {
            true
        }
        Op::Reduce { join: lambda, .. }
        | Op::ReduceOrdered { join: lambda, .. }
        | Op::Scan { join: lambda, .. }
        | Op::Fold { step: lambda, .. } => !uses_all(f, lambda),
        _ => false,
    };
    f.needs(unused) || f.steps.iter().any(|s| ignores(s))
}

/// Whether every element that it computes is needed by a result: no record of its own may then be
/// lost.
pub fn needs_all(f: &Function) -> bool {
    let g = &f.graph;
    let all = |n: NodeId| match g.op(n) {
        Op::At(array, _) => matches!(g.op(*array), Op::Param(_)),
        Op::Tuple(_) => false,
        Op::Map(lambda, _)
        | Op::Reduce { join: lambda, .. }
        | Op::ReduceOrdered { join: lambda, .. }
        | Op::Scan { join: lambda, .. }
        | Op::Fold { step: lambda, .. } => uses_all(f, lambda),
        Op::Select(..) | Op::Slice { .. } | Op::Pick { .. } | Op::Spread { .. } | Op::Iterate { .. } => false,
        _ => true,
    };
    !f.needs(|n| !all(n))
}

/// The first place where results differ.
fn difference(wanted: &[Value], found: &[Value]) -> Option<String> {
    let list = |v: &Value| match v {
        Value::Scalar(l) => vec![*l],
        Value::Vector(v) | Value::Array(_, v) => v.clone(),
    };
    if wanted.len() != found.len() {
        return Some(format!("{} results instead of {}", found.len(), wanted.len()));
    }
    wanted.iter().zip(found).enumerate().find_map(|(r, (a, b))| {
        if a == b {
            return None;
        }
        let (a, b) = (list(a), list(b));
        let i = (0..a.len().max(b.len())).find(|i| a.get(*i) != b.get(*i));
        let show = |v: &[arraygpu_compiler::scalar::Lit]| {
            i.and_then(|i| v.get(i)).map_or("nothing".into(), |l| format!("{l} ({:x})", l.bits))
        };
        Some(format!("result {r}, element {i:?} of {}: expected {}, found {}", a.len(), show(&a), show(&b)))
    })
}

/// Whether an outcome equals an earlier one. A record may disappear with a value that is not needed
/// any more; none may be added.
fn compare(
    before: &arraygpu_compiler::Result<Outcome>,
    after: &arraygpu_compiler::Result<Outcome>,
) -> Option<String> {
    match (before, after) {
        (Ok(a), Ok(b)) if b.recorded && !a.recorded => Some("a record is added".into()),
        (Ok(a), Ok(b)) => difference(&a.results, &b.results).map(|d| format!("other bits\n{d}")),
        (Err(a), Err(b)) if a.code == b.code => None,
        (Ok(_), Err(b)) => Some(format!("an error instead of a value\n{b}")),
        (Err(a), Ok(_)) => Some(format!("a value instead of an error\n{a}")),
        (Err(a), Err(b)) => Some(format!("another error\n{a}\n{b}")),
    }
}
