//! The text of GPU kernels of a plan.

use super::{GpuKernel, GpuVariant, Grid, Guards, Profit};
use crate::core::COLUMNS;
use crate::error::Result;
use crate::kernel::MAX_SHARED_ANYWHERE;
use crate::text::Cursor;
use std::fmt::{self, Display, Formatter};
use std::num::NonZeroU32;

impl Display for GpuKernel {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "gpu @{} {{", self.name)?;
        if let Some(why) = &self.absent {
            writeln!(f, "  absent {}", crate::text::quote(why))?;
        }
        for v in &self.variants {
            write!(f, "  version {} threads {}", v.entry, v.threads)?;
            if v.shared > 0 {
                write!(f, " shared {}", v.shared)?;
            }
            match v.grid {
                Grid::Elements(n) => write!(f, " elements {n}")?,
                Grid::Plane { rows, columns } => write!(f, " plane {rows} by {columns}")?,
                Grid::Volume { planes, rows, columns: c } => write!(f, " volume {planes} by {rows} by {c}")?,
                Grid::Stream { rows, columns: c, min_planes, max_planes, resident } => {
                    write!(f, " stream {rows} by {c}, {min_planes} to {max_planes} of {resident}")?
                }
                Grid::Tiles { min_span, max_span } => write!(f, " tiles {min_span} to {max_span}")?,
                Grid::Segments(n) => write!(f, " segments {n}")?,
                Grid::Clusters { blocks, segments: 1 } => write!(f, " clusters {blocks}")?,
                Grid::Clusters { blocks, segments } => write!(f, " clusters {blocks} of {segments}")?,
                Grid::SegmentTiles { min_span, max_span } => write!(f, " chunks {min_span} to {max_span}")?,
                Grid::Strips { columns, min_span, max_span } => {
                    write!(f, " strips {columns}, {min_span} to {max_span}")?
                }
                Grid::Panels { rows, columns } => write!(f, " panels {rows} by {columns}")?,
                Grid::Sums { rows, columns } => write!(f, " sums {rows} by {columns}")?,
                Grid::Packs(n) => write!(f, " packs {n}")?,
                Grid::Packed { rows, columns } => write!(f, " packed {rows} by {columns}")?,
                Grid::Parts(n) => write!(f, " parts {n}")?,
                Grid::Joins(n) => write!(f, " joins {n}")?,
                Grid::Fills(n) => write!(f, " fills {n}")?,
                Grid::Shares(n) => write!(f, " shares {n}")?,
                Grid::Stores(n) => write!(f, " stores {n}")?,
                Grid::Stored => write!(f, " stored")?,
                Grid::Tickets { resident, words } => write!(f, " tickets {resident} words {words}")?,
                Grid::One => write!(f, " one")?,
            }
            write!(f, "{}", v.profit)?;
            let Guards { contiguous, narrow, noalias, .. } = v.guards;
            let Guards { capability, architecture, longest, multiple, neighbours, extent, .. } = v.guards;
            for (word, holds) in [(" contiguous", contiguous), (" narrow", narrow), (" separate", noalias)] {
                f.write_str(if holds { word } else { "" })?;
            }
            let of = |n: Option<NonZeroU32>| n.map(NonZeroU32::get);
            for (word, number) in [
                ("capability", capability),
                ("architecture", architecture),
                ("longest", longest),
                ("multiple", of(multiple)),
                ("neighbours", of(neighbours)),
                ("steps", of(v.steps_per_launch)),
                ("extent", of(extent)),
            ] {
                if let Some(n) = number {
                    write!(f, " {word} {n}")?;
                }
            }
            for (word, list) in [(" flat", &v.flat), (" aligned", &v.aligned), (" rows", &v.row_aligned)] {
                if !list.is_empty() {
                    let list: Vec<String> = list.iter().map(u32::to_string).collect();
                    write!(f, "{word} {}", list.join(", "))?;
                }
            }
            writeln!(f)?;
        }
        writeln!(f, "}}")
    }
}

/// Reads all kernels of a text, in order. The text may be malformed.
pub fn parse(text: &str) -> Result<Vec<GpuKernel>> {
    let mut c = Cursor::new(text)?;
    let mut out = Vec::new();
    while !c.is_done() {
        out.push(kernel(&mut c)?);
    }
    Ok(out)
}

/// Reads the text of one kernel, whose variants have these entries ([`entries`]).
pub fn parse_one(text: &str, entries: &[&str]) -> Result<GpuKernel> {
    let mut c = Cursor::new(text)?;
    let k = kernel(&mut c)?;
    if !c.is_done() || !k.variants.iter().map(|v| v.entry.as_str()).eq(entries.iter().copied()) {
        return Err(c.error("a kernel has other versions than it seems"));
    }
    Ok(k)
}

/// Returns the entries of the variants of a kernel, each of which has a line, without reading the rest of its text.
pub fn entries(text: &str) -> Vec<&str> {
    // the first one may stand behind the kernel's name
    let lines = text.lines().map(|line| match line.trim_start().strip_prefix("gpu @") {
        Some(head) => head.split_once('{').map_or("", |(_, rest)| rest).trim_start(),
        None => line.trim_start(),
    });
    let versions = lines.filter_map(|line| line.strip_prefix("version "));
    versions.filter_map(|version| version.split_whitespace().next()).collect()
}

fn kernel(c: &mut Cursor) -> Result<GpuKernel> {
    c.expect("gpu")?;
    let mut k = GpuKernel { name: c.global()?, ..GpuKernel::default() };
    c.expect("{")?;
    while !c.eat("}") {
        if c.eat("absent") {
            k.absent = Some(c.string()?);
            continue;
        }
        c.expect("version")?;
        k.variants.push(variant(c)?);
    }
    for (at, v) in k.variants.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| k.variants[at].grid);
        let belongs = match v.grid {
            Grid::Sums { .. } => matches!(before, Some(Grid::Panels { .. })),
            Grid::Packed { .. } => matches!(before, Some(Grid::Packs(_))),
            Grid::Joins(_) => matches!(before, Some(Grid::Parts(_))),
            Grid::Shares(_) => matches!(before, Some(Grid::Fills(_))),
            Grid::Stored => matches!(before, Some(Grid::Stores(_))),
            _ => !before.is_some_and(|grid| grid.leaves_parts()),
        };
        if !belongs || (v.grid.leaves_parts() && at + 1 == k.variants.len()) {
            return Err(c.error(
                "sums belong behind panels, packed behind packs, joins behind parts, shares behind fills, stored \
                 behind stores",
            ));
        }
    }
    Ok(k)
}

/// Reads a number that another one follows.
fn next_of(c: &mut Cursor) -> Result<u32> {
    let n = c.u32()?;
    c.expect("by")?;
    Ok(n)
}

fn variant(c: &mut Cursor) -> Result<GpuVariant> {
    let entry = c.word()?;
    c.expect("threads")?;
    let threads = c.u32()?;
    let shared = if c.eat("shared") { c.u32()? } else { 0 };
    let grid = match c.word()?.as_str() {
        "elements" => Grid::Elements(c.u32()?),
        word @ ("plane" | "panels" | "sums" | "packed") => {
            let (rows, columns) = (next_of(c)?, c.u32()?);
            match word {
                "plane" => Grid::Plane { rows, columns },
                "panels" => Grid::Panels { rows, columns },
                "packed" => Grid::Packed { rows, columns },
                _ => Grid::Sums { rows, columns },
            }
        }
        "volume" => {
            let [planes, rows] = [next_of(c)?, next_of(c)?];
            Grid::Volume { planes, rows, columns: c.u32()? }
        }
        "stream" => {
            let (rows, columns) = (next_of(c)?, c.u32()?);
            c.expect(",")?;
            let min_planes = c.u32()?;
            c.expect("to")?;
            let max_planes = c.u32()?;
            c.expect("of")?;
            Grid::Stream { rows, columns, min_planes, max_planes, resident: c.u32()? }
        }
        "tiles" => {
            let min_span = c.u32()?;
            c.expect("to")?;
            Grid::Tiles { min_span, max_span: c.u32()? }
        }
        "segments" => Grid::Segments(c.u32()?),
        "clusters" => {
            let blocks = c.u32()?;
            Grid::Clusters { blocks, segments: if c.eat("of") { c.u32()? } else { 1 } }
        }
        "chunks" => {
            let min_span = c.u32()?;
            c.expect("to")?;
            Grid::SegmentTiles { min_span, max_span: c.u32()? }
        }
        "strips" => {
            let columns = c.u32()?;
            c.expect(",")?;
            let min_span = c.u32()?;
            c.expect("to")?;
            Grid::Strips { columns, min_span, max_span: c.u32()? }
        }
        "packs" => Grid::Packs(c.u32()?),
        "parts" => Grid::Parts(c.u32()?),
        "joins" => Grid::Joins(c.u32()?),
        "fills" => Grid::Fills(c.u32()?),
        "shares" => Grid::Shares(c.u32()?),
        "stores" => Grid::Stores(c.u32()?),
        "stored" => Grid::Stored,
        "tickets" => {
            let resident = c.u32()?;
            c.expect("words")?;
            Grid::Tickets { resident, words: c.u32()? }
        }
        "one" => Grid::One,
        w => return Err(c.error(format!("`{w}` is no grid"))),
    };
    let powers = |a: u32, b: u32| a.is_power_of_two() && b.is_power_of_two() && a <= b && b <= 2048;
    let possible = match grid {
        Grid::Elements(n) | Grid::Segments(n) | Grid::Joins(n) => n > 0,
        Grid::Fills(n) | Grid::Shares(n) | Grid::Stores(n) => n > 0,
        Grid::Packs(n) => matches!(n, 4 | 8),
        Grid::Parts(n) => n.is_power_of_two() && n <= COLUMNS as u32,
        Grid::Clusters { blocks, segments } => matches!(blocks, 2 | 4 | 8) && segments > 0,
        Grid::Plane { rows, columns }
        | Grid::Panels { rows, columns }
        | Grid::Sums { rows, columns }
        | Grid::Packed { rows, columns } => [rows, columns].iter().all(|n| (1..=4096).contains(n)),
        Grid::Volume { planes, rows, columns } => {
            [planes, rows, columns].iter().all(|n| (1..=4096).contains(n))
        }
        Grid::Stream { rows, columns, min_planes, max_planes, resident } => {
            [rows, columns, min_planes, max_planes, resident].iter().all(|n| (1..=4096).contains(n))
                && min_planes <= max_planes
        }
        Grid::Tiles { min_span, max_span } | Grid::SegmentTiles { min_span, max_span } => {
            powers(min_span, max_span)
        }
        Grid::Strips { columns, min_span, max_span } => columns > 0 && powers(min_span, max_span),
        Grid::Tickets { resident, words } => (1..=32).contains(&resident) && (1..=32).contains(&words),
        Grid::Stored | Grid::One => true,
    };
    if shared > MAX_SHARED_ANYWHERE
        || threads == 0
        || threads > 1024
        || !threads.is_multiple_of(32)
        || !possible
    {
        return Err(c.error("no grid can be like this"));
    }
    if matches!(grid, Grid::Tiles { .. } | Grid::Stored) && !threads.is_multiple_of(COLUMNS as u32) {
        return Err(c.error(format!("{entry}: {threads} threads for tiles of {COLUMNS} columns")));
    }
    let profit = Profit::parse(c)?;
    let (contiguous, narrow, noalias) = (c.eat("contiguous"), c.eat("narrow"), c.eat("separate"));
    let capability = if c.eat("capability") { Some(c.u32()?) } else { None };
    let architecture = if c.eat("architecture") { Some(c.u32()?) } else { None };
    let longest = if c.eat("longest") { Some(c.u32()?) } else { None };
    let multiple = if c.eat("multiple") { NonZeroU32::new(c.u32()?) } else { None };
    let neighbours = if c.eat("neighbours") { NonZeroU32::new(c.u32()?) } else { None };
    let steps_per_launch = if c.eat("steps") { NonZeroU32::new(c.u32()?) } else { None };
    let extent = if c.eat("extent") { NonZeroU32::new(c.u32()?) } else { None };
    let (flat, aligned, rows) = (numbers(c, "flat")?, numbers(c, "aligned")?, numbers(c, "rows")?);
    Ok(GpuVariant {
        shared,
        entry,
        threads,
        grid,
        profit,
        guards: Guards {
            contiguous,
            narrow,
            noalias,
            capability,
            architecture,
            longest,
            multiple,
            neighbours,
            extent,
        },
        flat,
        aligned,
        steps_per_launch,
        row_aligned: rows,
    })
}

/// Reads the word and numbers with commas between them, or nothing.
fn numbers(c: &mut Cursor, word: &str) -> Result<Vec<u32>> {
    let mut list = Vec::new();
    if c.eat(word) {
        list.push(c.u32()?);
        while c.eat(",") {
            list.push(c.u32()?);
        }
    }
    Ok(list)
}
