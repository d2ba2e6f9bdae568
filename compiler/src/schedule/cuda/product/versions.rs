//! Which rectangles a product's blocks have, and for which shapes.

use super::rectangle::Rectangle;
use super::{main, sums};
use crate::core::NodeId;
use crate::error::Result;
use crate::interrupt;
use crate::kernel::parts::operations;
use crate::kernel::{Kernel, Stmt};
use crate::plan::gpu::{Grid, Pays};
use crate::schedule::cuda::{Conditions, GpuPass, draft, push};
use crate::schedule::form::Form;
use crate::schedule::items::Pass;
use crate::schedule::lower::Lower;
use crate::schedule::nests::Order;
use crate::schedule::products::Product;

/// Squares of 64 by 64 that do not keep a large device busy: panels are spread over it, if there are several.
const FEW_SQUARES: u32 = 200;
const TWO_PANELS: u32 = 1024;
/// A thread a row, or a few columns, pays for sums from so many elements on.
const THIN_FROM: u32 = 64;
/// So few blocks of such (of few columns, of few rows) leave the device idle.
const FEW_THIN: [u32; 2] = [640, 256];
/// Of few rows or columns a thread has all.
const FEW: i64 = 4;
/// Operations of a function's products, from which on no further one has versions of its own for such shapes: two
/// megabytes of PTX.
const MANY: usize = 50_000;

/// The widest element of a product, and how many values of a pair of indices are staged.
fn staged(l: &Lower, p: &Product) -> (usize, usize) {
    let size = |n: &NodeId| l.g.ty(*n).elem.size();
    let parts = p.sides.iter().flat_map(|s| &s.parts).map(size);
    let widest = parts.chain([size(&p.of.inner[0].node)]).max().unwrap_or(4);
    (widest, p.sides.iter().map(|s| s.parts.len()).sum())
}

/// The squares that blocks may have, the largest first.
pub fn squares(l: &Lower, p: &Product) -> Vec<Rectangle> {
    match staged(l, p) {
        (8, _) => vec![Rectangle::square(64, 2)],
        (_, 2) => vec![Rectangle::by_eight(4), Rectangle::square(64, 4)],
        _ => vec![Rectangle::square(64, 4)],
    }
}

/// A kernel of these squares.
pub fn main_of(
    l: &mut Lower,
    pass: &Pass,
    p: &Product,
    large: bool,
    strided: bool,
) -> Result<(Vec<Stmt>, Grid)> {
    let squares = squares(l, p);
    let shape = squares[if large { 0 } else { squares.len() - 1 }];
    l.k.threads = shape.threads() as u32;
    if !shape.sums_shared {
        l.k.blocks = 2;
    }
    let [rows, cols] = shape.sides.map(|s| s.size as u32);
    Ok((main(l, pass, p, shape, strided, false)?, Grid::Plane(rows, cols)))
}

/// The versions of few rows or columns, and those by panels, each with what adds them.
pub fn kernels(l: &mut Lower, name: &str, pass: &Pass, p: &Product, out: &mut GpuPass) -> Result<()> {
    if p.of.order != Order::Panels || *l.in_products() > MANY {
        return Ok(());
    }
    let v = 16 / staged(l, p).0.max(4) as i64;
    let small = (v, staged(l, p).1) == (4, 2);
    let square = if small { Rectangle::by_eight(v) } else { Rectangle::square(64, v) };
    let thin = |long: usize, few: i64| {
        let depth = if long == 0 { 32 } else { 16 };
        Rectangle::thin(long, few, v, if staged(l, p).1 > 2 { depth / 2 } else { depth })
    };
    let [few_rows, few_columns] = [[Some(FEW as u32), None], [None, Some(FEW as u32)]]
        .map(|[rows, columns]| Pays { rows, columns, shortest: Some(THIN_FROM), ..Pays::default() });
    let any = Pays { shortest: Some(THIN_FROM), ..Pays::default() };
    let list = match pass.domain.len() {
        1 => vec![("_column", thin(0, 1), FEW_THIN[0], any)],
        _ => vec![
            ("_column", thin(0, FEW), FEW_THIN[0], few_columns),
            ("_row", thin(1, FEW), FEW_THIN[1], few_rows),
            ("", square, FEW_SQUARES, Pays::default()),
        ],
    };
    for (suffix, shape, few, pays) in list {
        interrupt::check()?;
        let [rows, cols] = shape.sides.map(|s| s.size as u32);
        let mut add = |l: &mut Lower, what: &str, grid: Grid, pays: Pays| -> Result<()> {
            let c = Conditions { contiguous: true, narrow: true, pays, ..Conditions::default() };
            l.begin("", false);
            // rows are read by 64 or 128 bytes each: what follows them is on its way
            l.k.fetch = match grid {
                Grid::Sums(..) => 0,
                _ if shape.sides[1].few && p.sides[0].along_k => 256,
                _ if shape.sides[0].few || !p.sides[0].along_k => 0,
                _ => 128,
            };
            let mut body = match grid {
                Grid::Sums(..) => {
                    l.k.threads = sums::THREADS;
                    sums::main(l, pass, p, shape, false)?
                }
                _ => {
                    l.k.threads = shape.threads() as u32;
                    main(l, pass, p, shape, false, matches!(grid, Grid::Panels(..)))?
                }
            };
            let (mut k, flat) = finish(l, &mut body);
            *l.in_products() += k.main.as_deref().map_or(0, operations);
            // panels write scratch only
            let separate = matches!(grid, Grid::Plane(..));
            if separate {
                k.scratch.clear();
            }
            let noalias = !matches!(grid, Grid::Sums(..));
            let draft = draft(k, format!("{name}{suffix}{what}"), noalias);
            push(out, draft, grid, Conditions { separate, ..c }, Form::Product, flat, None);
            Ok(())
        };
        let panels = Pays { most: Some(few), shortest: Some(TWO_PANELS), ..pays };
        add(l, "_panels", Grid::Panels(rows, cols), panels)?;
        add(l, "_sums", Grid::Sums(rows, cols), Pays::default())?;
        if shape.sides.iter().any(|s| s.few) {
            add(l, "", Grid::Plane(rows, cols), pays)?;
        }
    }
    Ok(())
}

/// The kernel with this body, and the arrays that must have no gaps.
fn finish(l: &mut Lower, body: &mut Vec<Stmt>) -> (Kernel, Vec<u32>) {
    let mut all = std::mem::take(&mut l.prologue);
    all.append(body);
    l.k.main = Some(all);
    let accessed = std::mem::take(&mut l.vectors);
    let mut k = l.finished(false, false);
    accessed.into_iter().for_each(|i| k.arrays[i as usize].aligned = true);
    (k, l.flat.drain(..).collect())
}
