//! Compile time and memory of programs that grow, stage by stage.
//!
//! ```sh
//! cargo bench -p arraygpu-suite --bench growth -- [--kind NAME] [--least N] [--most N] [--nodes N] [--seconds S] [--jsonl FILE] [--svg FILE] [--explain]
//! cargo bench -p arraygpu-suite --bench growth -- --plot FILE --svg FILE
//! ```
//!
//! Each kind is compiled at 100, 300, 1000 .. repetitions, up to as many as have `--nodes` nodes of core IR, 100,000
//! unless that is given, or until it would take more than `--seconds`. For each stage the table has the time of the
//! largest size and the exponent between the last two sizes. Beside the time of all stages there is that of a
//! compilation, and how much of it, and of C and PTX, each thousand of instructions takes that all variants of all
//! kernels have together.

mod plot;

use arraygpu_compiler::core::{Function, parse, print, verify};
use arraygpu_compiler::driver::{self, on_big_stack};
use arraygpu_compiler::explain::{Format, Options};
use arraygpu_compiler::kernel::parts::operations;
use arraygpu_compiler::passes::pipeline::PASSES;
use arraygpu_compiler::schedule::{self, Scope, groups};
use arraygpu_compiler::{backend, passes};
use arraygpu_suite::growth::Growth;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::Write;

/// Every kind with its name.
const KINDS: [(Growth, &str); 24] = [
    (Growth::Maps, "maps"),
    (Growth::Element, "element"),
    (Growth::Stencils, "stencils"),
    (Growth::Padded, "padded"),
    (Growth::Sines, "sines"),
    (Growth::Functions, "functions"),
    (Growth::Stored, "stored"),
    (Growth::Zips, "zips"),
    (Growth::Selects, "selects"),
    (Growth::Gathers, "gathers"),
    (Growth::StoredGathers, "stored-gathers"),
    (Growth::Nests, "nests"),
    (Growth::StoredStencils, "stored-stencils"),
    (Growth::StoredPadded, "stored-padded"),
    (Growth::StoredNests, "stored-nests"),
    (Growth::Results, "results"),
    (Growth::Sums, "sums"),
    (Growth::Scalars, "scalars"),
    (Growth::Parameters, "parameters"),
    (Growth::Expressions, "expressions"),
    (Growth::UnprovenLadder, "unproven-ladder"),
    (Growth::UnprovenGathers, "unproven-gathers"),
    (Growth::UnprovenResults, "unproven-results"),
    (Growth::Divisions, "divisions"),
];

/// Counts the bytes in use by this thread, which does all the work.
struct Counting;

thread_local! {
    static USED: Cell<usize> = const { Cell::new(0) };
    static PEAK: Cell<usize> = const { Cell::new(0) };
}

fn use_more(bytes: usize) {
    let used = USED.get().wrapping_add(bytes);
    USED.set(used);
    PEAK.set(PEAK.get().max(used));
}

fn use_less(bytes: usize) {
    USED.set(USED.get().wrapping_sub(bytes));
}

// SAFETY: every call is handed to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        use_more(layout.size());
        // SAFETY: the caller promises a layout that is not empty.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        use_less(layout.size());
        // SAFETY: the caller promises that `at` was allocated with this layout.
        unsafe { System.dealloc(at, layout) }
    }
    // the default copies whatever grows, which takes a quarter of the time that is measured
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        use_less(layout.size());
        use_more(size);
        // SAFETY: the caller promises that `at` was allocated with this layout, and a size that is not 0.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The time that this thread has computed, which other programs do not change.
fn seconds_of_thread() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is one to write to.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// The stages that a compilation of a package does not have: the language builds functions, and texts are read and
/// written where someone asks for them. The schedule finds the groups again.
const BESIDE: [&str; 8] =
    ["build", "print", "parse", "print fused", "groups", "schedule cpu", "plan parse", "explain"];

/// What one stage took.
#[derive(Clone)]
struct Row {
    stage: String,
    seconds: f64,
    /// The most bytes in use beside those in use before.
    bytes: usize,
}

/// One program of one size.
struct Measured {
    kind: &'static str,
    n: usize,
    /// Nodes of core IR of the program as it was built.
    nodes: usize,
    rows: Vec<Row>,
    /// Instructions of kernel IR of all variants, bytes of C and PTX, launches.
    instructions: usize,
    text: usize,
    launches: usize,
    error: Option<String>,
}

impl Measured {
    fn stage<T>(&mut self, name: &str, f: impl FnOnce() -> T) -> T {
        let before = USED.get();
        PEAK.set(before);
        let begin = seconds_of_thread();
        let out = f();
        let seconds = seconds_of_thread() - begin;
        let bytes = PEAK.get().saturating_sub(before);
        match self.rows.iter_mut().find(|r| r.stage == name) {
            Some(row) => {
                row.seconds += seconds;
                row.bytes = row.bytes.max(bytes);
            }
            None => self.rows.push(Row { stage: name.into(), seconds, bytes }),
        }
        out
    }

    fn total(&self) -> f64 {
        self.rows.iter().map(|r| r.seconds).sum()
    }

    /// The seconds of what a compilation does.
    fn compilation(&self) -> f64 {
        let beside = |r: &&Row| !BESIDE.contains(&r.stage.as_str());
        self.rows.iter().filter(beside).map(|r| r.seconds).sum()
    }

    /// What a thousand instructions take of a total.
    fn a_thousand(&self, total: f64) -> f64 {
        total * 1e3 / self.instructions.max(1) as f64
    }
}

fn measure(kind: Growth, name: &'static str, n: usize, explain: bool) -> Measured {
    let mut m = Measured {
        kind: name,
        n,
        nodes: 0,
        rows: vec![],
        instructions: 0,
        text: 0,
        launches: 0,
        error: None,
    };
    let result = on_big_stack(|| {
        let f = m.stage("build", || kind.program(n));
        m.nodes = f.graph.len();
        m.stage("verify", || verify::verify(&f))?;
        let text = m.stage("print", || print::print(&f, true));
        let again = m.stage("parse", || parse::parse(&text))?;
        drop(again);
        let mut f: Function = f;
        m.stage("pass mark", || passes::guard::mark(&mut f));
        for pass in PASSES {
            f = m.stage(&format!("pass {}", pass.name), || (pass.run)(f))?;
        }
        m.stage("verify fused", || verify::verify(&f).map(|()| verify::is_fused(&f)))?;
        let text = m.stage("print fused", || print::print(&f, true));
        drop(text);
        m.stage("groups", || groups::fused_groups(&f))?;
        let cpu = m.stage("schedule cpu", || schedule::schedule(&f, 0, Scope::Cpu))?;
        drop(cpu);
        let all = m.stage("schedule all", || schedule::schedule(&f, 0, Scope::All))?;
        m.launches = all.kernels.len();
        let text = m.stage("plan text", || all.plan.to_string());
        m.stage("plan parse", || arraygpu_compiler::plan::parse::parse(&text).map(|_| ()))?;
        let mut kernels = Vec::new();
        let mut cpus = Vec::new();
        for k in all.kernels {
            cpus.extend(k.cpu);
            let drafts = k.gpu.map(|g| g.drafts).unwrap_or_default();
            m.stage("kernel passes", || {
                schedule::finish_all(drafts, |_, kernel| {
                    kernels.push(kernel);
                    Ok(())
                })
            })?;
        }
        for kernel in &kernels {
            m.instructions += instructions(kernel);
            let ptx = m.stage("ptx", || backend::ptx::emit(kernel));
            m.text += ptx.len();
        }
        for v in &cpus {
            m.instructions += v.all().into_iter().flatten().map(|v| instructions(&v.kernel)).sum::<usize>();
        }
        let c = m.stage("c", || backend::c::emit("grown", cpus.iter()));
        m.text += c.len();
        if explain {
            let compiled = driver::compile("grown", vec![kind.program(n)])?;
            m.stage("explain", || compiled.explain(&Options::default(), Format::Text).map(drop))?;
        }
        Ok(())
    });
    m.error = result.err().map(|e| e.to_string());
    m
}

/// The operations of a kernel.
fn instructions(kernel: &arraygpu_compiler::kernel::Kernel) -> usize {
    [&kernel.main, &kernel.finish].into_iter().flatten().map(|body| operations(body)).sum()
}

fn report(m: &Measured, before: Option<&Measured>) {
    println!(
        "{} n={}: {} nodes, {:.3} s, {} launches, {} instructions, {:.3} ms of compilation and {:.1} KB a 1000",
        m.kind,
        m.n,
        m.nodes,
        m.total(),
        m.launches,
        m.instructions,
        m.a_thousand(m.compilation()) * 1e3,
        m.a_thousand(m.text as f64) / 1e3
    );
    for row in &m.rows {
        let old = before.and_then(|b| b.rows.iter().find(|r| r.stage == row.stage).map(|r| (b.n, r)));
        let exponent = |now: f64, then: f64, n: usize| (now / then).ln() / (m.n as f64 / n as f64).ln();
        let (time, space) = old.map_or((0.0, 0.0), |(n, r)| {
            (exponent(row.seconds, r.seconds, n), exponent(row.bytes as f64, r.bytes as f64, n))
        });
        println!(
            "  {:16} {:9.2} ms  n^{time:.2}  {:9.2} MB  n^{space:.2}",
            row.stage,
            row.seconds * 1e3,
            row.bytes as f64 / 1e6
        );
    }
    if let Some(e) = &m.error {
        println!("  {e}");
    }
}

fn json(m: &Measured) -> String {
    let stages: Vec<String> =
        m.rows.iter().map(|r| format!("\"{}\": [{:.6}, {}]", r.stage, r.seconds, r.bytes)).collect();
    format!(
        "{{\"kind\": \"{}\", \"n\": {}, \"nodes\": {}, \"seconds\": {:.6}, \"compilation\": {:.6}, \"launches\": {}, \"instructions\": {}, \"text\": {}, \"ms_a_1000\": {:.3}, \"kb_a_1000\": {:.1}, \"error\": {}, \"stages\": {{{}}}}}",
        m.kind,
        m.n,
        m.nodes,
        m.total(),
        m.compilation(),
        m.launches,
        m.instructions,
        m.text,
        m.a_thousand(m.compilation()) * 1e3,
        m.a_thousand(m.text as f64) / 1e3,
        m.error.as_ref().map_or("null".into(), |e| format!("{e:?}")),
        stages.join(", ")
    )
}

/// Returns the lines of a plot from rows that were written before.
fn plotted(rows: &str) -> Vec<plot::Line> {
    let rows: Vec<serde_json::Value> =
        rows.lines().map(|row| serde_json::from_str(row).expect("a row")).collect();
    let points = |name: &str| -> Vec<(f64, f64)> {
        let of_kind = rows.iter().filter(|row| row["kind"] == name);
        of_kind.filter_map(|row| Some((row["n"].as_f64()?, row["seconds"].as_f64()?))).collect()
    };
    let lines = KINDS.iter().map(|(_, name)| plot::Line { name, points: points(name) });
    lines.filter(|line| !line.points.is_empty()).collect()
}

/// Returns the number of repetitions that is measured next, at most as many as have so many nodes.
fn larger(m: &Measured, nodes: usize) -> Option<usize> {
    let last = m.n * nodes / m.nodes.max(1);
    // 100, 300, 1000, 3000 ..
    let next = if (m.n as f64).log10().fract() < 0.4 { m.n * 3 } else { m.n * 10 / 3 };
    // what a tenth more takes says nothing
    (last > m.n + m.n / 10).then(|| if next * 5 / 4 < last { next } else { last })
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let option = |name: &str| args.iter().position(|a| a == name).and_then(|i| args.get(i + 1));
    let most: usize = option("--most").map_or(usize::MAX, |n| n.parse().expect("a number"));
    let nodes: usize = option("--nodes").map_or(100_000, |n| n.parse().expect("a number"));
    let least: usize = option("--least").map_or(100, |n| n.parse().expect("a number"));
    let seconds: f64 = option("--seconds").map_or(20.0, |n| n.parse().expect("a number"));
    let only = option("--kind");
    let mut lines: Vec<plot::Line> = Vec::new();
    let mut out = option("--jsonl").map(|p| std::fs::File::create(p).expect("a file"));
    for (kind, name) in KINDS {
        if option("--plot").is_some() || only.is_some_and(|k| !k.split(',').any(|k| k == name)) {
            continue;
        }
        let mut before: Option<Measured> = None;
        let mut next = Some(least);
        while let Some(n) = next {
            let m = measure(kind, name, n, args.iter().any(|a| a == "--explain"));
            if let Some(out) = &mut out {
                writeln!(out, "{}", json(&m)).expect("a row");
            }
            match lines.last_mut().filter(|line| line.name == name) {
                Some(line) => line.points.push((n as f64, m.total())),
                None => lines.push(plot::Line { name, points: vec![(n as f64, m.total())] }),
            }
            next = larger(&m, nodes).filter(|next| *next <= most);
            let takes = |next: usize| m.total() * 1.17 * next as f64 / n as f64;
            next = next.filter(|next| takes(*next) <= seconds && m.error.is_none());
            if next.is_none() || args.iter().any(|a| a == "--all") {
                report(&m, before.as_ref());
            }
            before = Some(m);
        }
    }
    if let Some(rows) = option("--plot") {
        lines = plotted(&std::fs::read_to_string(rows).expect("a file of rows"));
    }
    if let Some(path) = option("--svg") {
        std::fs::write(path, plot::svg("seconds to compile", &lines)).expect("a file");
    }
}
