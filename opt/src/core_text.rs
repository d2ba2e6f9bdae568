//! Core IR in.

use crate::arguments::Arguments;
use crate::{listed, usage};
use arraygpu_compiler::backend::cuda;
use arraygpu_compiler::budget;
use arraygpu_compiler::core::{Function, parse, print, verify};
use arraygpu_compiler::driver::{self, Compiled};
use arraygpu_compiler::error::{Error, Result};
use arraygpu_compiler::explain;
use arraygpu_compiler::passes::pipeline::{self, PASSES};
use arraygpu_compiler::scalar::Lit;
use arraygpu_compiler::stage;
use arraygpu_compiler::without;

/// The names of the passes, in the order in which they run.
pub fn passes() -> String {
    listed(PASSES.iter().map(|p| p.name))
}

/// Without options it prints the fused form.
pub fn run(text: &str, a: &Arguments) -> Result<String> {
    without::compiled(&a.without, || printed(text, a))
}

fn printed(text: &str, a: &Arguments) -> Result<String> {
    let dumps = |name: &str| a.dump_after.iter().any(|x| x == name || x == "all");
    if let Some(p) = a.dump_after.iter().find(|d| *d != "all" && !PASSES.iter().any(|p| p.name == **d)) {
        let list: Vec<_> = PASSES.iter().map(|p| p.name).collect();
        return Err(usage(format!("core IR has no pass `{p}`; there are {}", list.join(", "))));
    }
    let explain = a.explain.as_ref().map(|format| format.parse::<explain::Format>()).transpose()?;
    let sizes = explain::Options {
        bandwidth: a.bandwidth.as_ref().map(|b| explain::Options::parse_bandwidth(b)).transpose()?,
        extents: a.extent.iter().map(|e| e.parse()).collect::<Result<_>>()?,
        functions: a.function.clone(),
        hints: true,
        records: Vec::new(),
    };
    let mut functions = parse::parse(text)?;
    functions.iter().try_for_each(verify::has_no_places)?;
    if !a.stage.is_empty() {
        for f in &mut functions {
            *f = driver::on_big_stack(|| specialised(f, &a.stage))?;
        }
    }
    let (mut out, budget) = (String::new(), a.budget.unwrap_or_default());
    for f in &functions {
        let mut seen = |name: &str, f: &Function| {
            if dumps(name) {
                out.push_str(&format!("; after {name}\n{}", print::print(f, a.locs)));
            }
        };
        let done = driver::on_big_stack(|| budget::within(budget, || pipeline::run(f, &mut seen)));
        // what was to be shown is shown, above all where a pass fails
        done.map_err(|e| Error { message: format!("{}\n{out}", e.message).trim_end().into(), ..e })?;
    }
    let mut stages: Vec<_> = a.emit.iter().map(|s| s.name()).collect();
    if stages.is_empty() && a.dump_after.is_empty() && explain.is_none() {
        stages.push("fused");
    }
    if stages.is_empty() && explain.is_none() {
        return Ok(out);
    }
    let compiled = driver::compile_within(budget, "module", functions, a.target.targets())?;
    for s in stages {
        match (s, a.locs) {
            ("fused", false) => compiled.functions.iter().for_each(|f| out.push_str(&f.fused.to_string())),
            ("kernel", _) if a.kernel.is_some() => out.push_str(&variants(&compiled, a)?),
            ("cuda", _) if a.kernel.is_some() => out.push_str(&as_cuda(&compiled, a)?),
            (s, _) => out.push_str(&compiled.emit(s)?),
        }
    }
    if let Some(format) = explain {
        out.push_str(&compiled.explain(&sizes, format)?);
    }
    Ok(out)
}

/// The variants of the name that is wanted.
fn variants(compiled: &Compiled, a: &Arguments) -> Result<String> {
    let (texts, wanted) = (compiled.kernel_texts(), a.kernel.as_deref().unwrap_or_default());
    let found: Vec<&str> = texts.iter().filter(|v| v.name == wanted).map(|v| &*v.text).collect();
    if found.is_empty() {
        let names: Vec<&str> = texts.iter().map(|v| &*v.name).collect();
        return Err(usage(format!("there is no kernel `{wanted}`; there are {}", names.join(", "))));
    }
    Ok(found.join("\n"))
}

/// The variants of the name that is wanted as CUDA C++.
fn as_cuda(compiled: &Compiled, a: &Arguments) -> Result<String> {
    let wanted = a.kernel.as_deref().unwrap_or_default();
    let found = compiled.gpu_variants().map(|code| &code.kernel).filter(|k| k.name == wanted);
    let text = cuda::emit(found);
    if text.is_empty() {
        let names: Vec<&str> = compiled.gpu_variants().map(|code| &*code.kernel.name).collect();
        return Err(usage(format!("there is no kernel `{wanted}`; there are {}", names.join(", "))));
    }
    Ok(text)
}

/// The function for these values of what it stages.
fn specialised(f: &Function, values: &[Lit]) -> Result<Function> {
    verify::verify(f).map_err(Error::of_text)?;
    let types = stage::types(f);
    if types.iter().copied().eq(values.iter().map(|v| v.ty)) {
        return Ok(stage::specialise(f, values));
    }
    let list: Vec<_> = types.iter().map(|ty| ty.name()).collect();
    Err(usage(format!("@{} stages ({})", f.name, list.join(", "))))
}
