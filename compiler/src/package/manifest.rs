//! Writes `manifest.json`, which lists what a package contains and how it was made. A directory
//! that holds one is a package of arraygpu.

use super::cc::Compiler;
use super::images::{Images, Number};
use super::level::Level;
use super::model::{Entry, Kernel, Package, Value, Variant};
use super::place::FORMAT;
use super::ptxas::{self, Arch, Usage};
use crate::plan::gpu::{GpuVariant, Grid};
use serde_json::{Value as Json, json};
use std::num::NonZeroU32;

/// Returns the path of the manifest in the package.
pub fn path(name: &str) -> String {
    format!("share/{name}/manifest.json")
}

/// Prints the manifest.
pub fn print(package: &Package, compiler: &Compiler, images: &Images) -> String {
    let targets = [("cpu", package.targets.cpu), ("cuda", package.targets.cuda)];
    let targets: Vec<&str> = targets.into_iter().filter(|t| t.1).map(|t| t.0).collect();
    let mut manifest = json!({
        "format": FORMAT,
        "name": package.name,
        "version": package.version,
        "arraygpu": super::VERSION,
        "abi": super::ABI_VERSION,
        "arith": super::ARITH_VERSION,
        "targets": targets,
        "functions": package.entries.iter().map(|e| function(&package.name, e)).collect::<Vec<_>>(),
        "kernels": package.kernels.iter().map(|k| &k.name).collect::<Vec<_>>(),
    });
    if package.targets.cpu {
        manifest["cpu"] = cpu(compiler, &package.levels);
    }
    if package.targets.cuda {
        manifest["cuda"] = cuda(package, images);
    }
    let mut text = serde_json::to_string_pretty(&manifest).unwrap_or_default();
    text.push('\n');
    text
}

fn cpu(compiler: &Compiler, levels: &[Level]) -> Json {
    let level = |level: &Level| json!({ "name": level.name, "flags": level.flags });
    json!({
        "arch": std::env::consts::ARCH,
        "compiler": compiler.version,
        "flags": compiler.flags,
        "levels": levels.iter().map(level).collect::<Vec<_>>(),
    })
}

/// Returns the description of the code for GPUs: what the PTX requires of a device and a driver,
/// the machine code, and how each kernel is launched.
fn cuda(package: &Package, images: &Images) -> Json {
    let mut json = json!({});
    // variants for some devices alone require more
    let for_all = |v: &&Variant| v.launch.guards.capability.or(v.launch.guards.architecture).is_none();
    if let Some(variant) = package.kernels.iter().flat_map(|k| &k.variants).find(for_all) {
        let directive = |word| ptxas::directive(&variant.ptx, word);
        json["ptx"] = json!({ "target": directive(".target"), "version": directive(".version") });
    }
    let mut archs: Vec<_> = images.table.iter().filter_map(|i| i.arch).collect();
    archs.sort_unstable();
    archs.dedup();
    json["cubin"] = archs.iter().map(|a| a.to_string()).collect();
    if let Some(version) = &images.ptxas {
        json["ptxas"] = version.as_str().into();
    }
    let kernel = |(k, kernel): (usize, &Kernel)| {
        let variants = kernel.variants.iter().enumerate().map(|(v, of)| {
            let number = Number { kernel: k, variant: v };
            variant(&of.launch, images.machine_code(number))
        });
        let mut json = json!({ "name": kernel.name, "versions": variants.collect::<Vec<_>>() });
        if let Some(why) = &kernel.absent {
            json["absent"] = why.as_str().into();
        }
        json
    };
    json["kernels"] = package.kernels.iter().enumerate().map(kernel).collect();
    json
}

fn variant(v: &GpuVariant, machine_code: impl Iterator<Item = (Arch, Usage)>) -> Json {
    let grid = match v.grid {
        Grid::Elements(n) => json!({ "elements": n }),
        Grid::Plane { rows, columns: cols } => json!({ "plane": [rows, cols] }),
        Grid::Volume { planes, rows, columns: cols } => json!({ "volume": [planes, rows, cols] }),
        Grid::Stream { rows, columns: cols, min_planes: least, max_planes: most, resident } => {
            json!({ "stream": [rows, cols, least, most, resident] })
        }
        Grid::Tiles { min_span: least, max_span: most } => json!({ "tiles": [least, most] }),
        Grid::Segments(n) => json!({ "segments": n }),
        Grid::Clusters { blocks, segments: 1 } => json!({ "clusters": blocks }),
        Grid::Clusters { blocks, segments } => json!({ "clusters": [blocks, segments] }),
        Grid::SegmentTiles { min_span: least, max_span: most } => json!({ "chunks": [least, most] }),
        Grid::Strips { columns: width, min_span: least, max_span: most } => {
            json!({ "strips": [width, least, most] })
        }
        Grid::Panels { rows, columns: cols } => json!({ "panels": [rows, cols] }),
        Grid::Sums { rows, columns: cols } => json!({ "sums": [rows, cols] }),
        Grid::Packs(n) => json!({ "packs": n }),
        Grid::Packed { rows, columns: cols } => json!({ "packed": [rows, cols] }),
        Grid::Parts(n) => json!({ "parts": n }),
        Grid::Joins(n) => json!({ "joins": n }),
        Grid::Fills(n) => json!({ "fills": n }),
        Grid::Shares(n) => json!({ "shares": n }),
        Grid::Stores(n) => json!({ "stores": n }),
        Grid::Stored => json!({ "stored": 1 }),
        Grid::Tickets { resident, words } => json!({ "tickets": [resident, words] }),
        Grid::One => json!({ "blocks": 1 }),
    };
    // a manifest says 0 where there is none
    let number = |n: Option<NonZeroU32>| n.map_or(0, NonZeroU32::get);
    let guards = v.guards;
    let mut json = json!({
        "entry": v.entry,
        "threads": v.threads,
        "shared": v.shared,
        "grid": grid,
        "contiguous": guards.contiguous,
        "narrow": guards.narrow,
        "capability": guards.capability,
        "architecture": guards.architecture,
        "longest": guards.longest,
        "multiple": guards.multiple,
        "neighbours": guards.neighbours,
        "steps": number(v.steps_per_launch),
        "extent": number(guards.extent),
        "pays": {
            "blocks": v.profit.min_blocks,
            "most": v.profit.max_blocks,
            "few": v.profit.max_elements,
            "shortest": v.profit.min_inner_length,
            "rows": v.profit.max_rows,
            "columns": v.profit.max_columns,
            "tall": v.profit.min_rows,
            "wide": v.profit.min_columns,
            "busy": v.profit.min_busy,
        },
        "flat": v.flat,
        "separate": guards.noalias,
        "aligned": v.aligned,
    });
    for (arch, usage) in machine_code {
        json["usage"][arch.to_string()] = json!({
            "registers": usage.registers,
            "stack": usage.stack,
            "spills": usage.spills,
            "shared": usage.shared,
        });
    }
    json
}

fn function(package: &str, e: &Entry) -> Json {
    json!({
        "name": e.name,
        "symbol": format!("{package}_{}", e.name),
        "doc": e.doc,
        "fast_math": e.fast,
        "tensor_cores": e.tensor_cores,
        "params": e.params.iter().map(value).collect::<Vec<_>>(),
        "results": e.results.iter().map(value).collect::<Vec<_>>(),
        "rules": e.rules,
        "kernels": e.launches,
        "temporaries": e.temporaries,
        "staged": e.staged.iter().map(|ty| ty.name()).collect::<Vec<_>>(),
    })
}

fn value(v: &Value) -> Json {
    let mut json = json!({ "name": v.name, "type": v.ty.elem.name(), "rank": v.ty.rank });
    if let Some(record) = &v.record {
        json["type"] = record.c_name.as_str().into();
    }
    if !v.extent.is_empty() {
        json["extent"] = json!(v.extent);
    }
    json
}
