//! What `arraygpu-opt` does, without IO: core IR text in, any stage out. The file tests run it in-process.

use crate::core::{Function, parse, print, verify};
use crate::driver;
use crate::error::{Error, Result};
use crate::explain::{self, Format};
use crate::passes::pipeline;
use crate::scalar::Lit;
use crate::stage;

/// How it is called, without the file.
pub const USAGE: &str = "[--dump-after PASS|all]... [--emit core|fused|plan|kernel|c|ptx]... [--explain[=text|json]] \
     [--bandwidth GB/s] [--extent [FUNCTION.]PARAMETER=N[xN..]]... [--stage LITERAL[,LITERAL..]] [--locs]";
/// The options that are followed by a value.
pub const WITH_VALUE: [&str; 5] = ["--dump-after", "--emit", "--bandwidth", "--extent", "--stage"];

/// Runs the options on a text. Without options it prints the fused form.
pub fn run(text: &str, options: &[String]) -> Result<String> {
    let usage = |m: &str| Error::user("E0104", format!("{m}\noptions: {USAGE}"));
    let (mut dumps, mut stages) = (Vec::new(), Vec::new());
    let (mut explain, mut locs, mut sizes) = (None, false, explain::Options::default());
    let mut staged = None;
    let mut it = options.iter();
    while let Some(a) = it.next() {
        match a.as_str() {
            "--dump-after" => dumps.push(it.next().ok_or_else(|| usage("--dump-after needs a pass"))?),
            "--emit" => stages.push(it.next().ok_or_else(|| usage("--emit needs a stage"))?.as_str()),
            "--explain" => explain = Some(Format::Text),
            "--bandwidth" => {
                let number = it.next().ok_or_else(|| usage("--bandwidth needs a number"))?;
                sizes.bandwidth = Some(explain::Options::parse_bandwidth(number)?);
            }
            "--extent" => {
                sizes.extents.push(it.next().ok_or_else(|| usage("--extent needs an extent"))?.parse()?);
            }
            "--stage" => {
                let list = it.next().ok_or_else(|| usage("--stage needs values"))?;
                let all = list.split(',').map(str::parse).collect::<std::result::Result<Vec<Lit>, String>>();
                staged = Some(all.map_err(|e| usage(&e))?);
            }
            "--locs" => locs = true,
            a => match a.strip_prefix("--explain=") {
                Some(format) => explain = Some(format.parse()?),
                None => return Err(usage(&format!("there is no option {a}"))),
            },
        }
    }
    let all = |d: &str| dumps.iter().any(|x| *x == d || *x == "all");
    if let Some(p) = dumps.iter().find(|d| **d != "all" && !pipeline::PASSES.iter().any(|p| p.name == **d)) {
        let list: Vec<_> = pipeline::PASSES.iter().map(|p| p.name).collect();
        return Err(usage(&format!("there is no pass `{p}`; there are {}", list.join(", "))));
    }
    let mut functions = parse::parse(text)?;
    for f in &mut functions {
        let Some(values) = &staged else { break };
        *f = driver::on_big_stack(|| specialised(f, values))?;
    }
    let mut out = String::new();
    for f in &functions {
        let done = driver::on_big_stack(|| {
            pipeline::run(f, &mut |name, f| {
                if all(name) {
                    out.push_str(&format!("; after {name}\n{}", print::print(f, locs)));
                }
            })
        });
        // what was to be shown is shown, above all where a pass fails
        done.map_err(|e| Error { message: format!("{}\n{out}", e.message).trim_end().into(), ..e })?;
    }
    if stages.is_empty() && dumps.is_empty() && explain.is_none() {
        stages.push("fused");
    }
    if !stages.is_empty() || explain.is_some() {
        let compiled = driver::compile("module", functions)?;
        for s in &stages {
            match (*s, locs) {
                ("fused", false) => compiled.functions.iter().for_each(|f| out.push_str(&f.to_string())),
                (s, _) => out.push_str(&compiled.emit(s)?),
            }
        }
        if let Some(format) = explain {
            out.push_str(&compiled.explain(&sizes, format)?);
        }
    }
    Ok(out)
}

/// The function for these values of what it stages.
fn specialised(f: &Function, values: &[Lit]) -> Result<Function> {
    verify::verify(f).map_err(Error::of_text)?;
    let types = stage::types(f);
    if types.iter().copied().eq(values.iter().map(|v| v.ty)) {
        return Ok(stage::specialise(f, values));
    }
    let list: Vec<_> = types.iter().map(|ty| ty.name()).collect();
    Err(Error::user("E0104", format!("@{} stages ({})", f.name, list.join(", "))))
}
