//! Cuts rows at their edges. Most elements of a row need no tests of their indices, and form ranges with simpler code
//! (`ranges.rs`), which the C compiler vectorises. The other elements run the program's own code. The bounds of the
//! ranges are computed for each row:
//!
//! ```text
//! begin           first                                   last       end
//!   | program's    |                 range                 | program's |
//! ```
//!
//! ```text
//! while at < end {
//!     if first <= at && at < last { for j = at to last { the range's element }    at = last }
//!     else { for j = at to the next range { the program's element }    at = the next range }
//! }
//! ```
//!
//! The loop decides at each turn which code comes next, so the code of each range is written once, although it is not
//! known at compile time in which order the ranges lie.

use super::decide::RangeLocation;
use super::element_loop::{Body, each};
use super::ranges::{self, Range, Ranges};
use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, Reg, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::element::lower::{LaunchContext, Lower, bind};
use crate::schedule::groups::FusedGroup;

/// How the rows of a fused group are cut.
pub struct RowParts {
    ranges: Ranges,
    /// The program's own elements.
    roots: Vec<NodeId>,
}

/// A part of a row: consecutive elements that have the same code.
pub struct Part<'a> {
    /// The index of the part's first element along the last axis.
    begin: Expr,
    /// The index past the part's last element; `None` for a part of one element.
    end: Option<Expr>,
    /// The values of an element, as nodes.
    pub roots: &'a [NodeId],
    /// Nodes that are the same for the whole row, with their values, which are computed before its elements.
    pub given: Vec<(NodeId, Expr)>,
}

impl Part<'_> {
    /// Returns where the part begins and ends; `None` for a part of one element.
    pub fn range(&self) -> Option<(&Expr, &Expr)> {
        Some((&self.begin, self.end.as_ref()?))
    }

    /// Returns a piece of the part from `begin` to `end`, with other values of its elements.
    pub fn piece<'b>(&self, (begin, end): (Expr, Expr), roots: &'b [NodeId]) -> Part<'b> {
        Part { begin, end: Some(end), roots, given: self.given.clone() }
    }

    /// Returns the loop over the part's elements. The second value says whether a loop that tests the conditions of
    /// unlikely arms comes first (`element_loop.rs`).
    pub fn elements(&self, l: &mut Lower, name: &'static str, body: &mut Body) -> Result<(Vec<Stmt>, bool)> {
        if let Some(end) = &self.end {
            return each(l, name, &self.begin, end, body).map(|loops| {
                let looks = loops.len() > 1;
                (loops, looks)
            });
        }
        let mut out = Vec::new();
        body(l, &self.begin, None, &mut out)?;
        Ok((out, false))
    }
}

/// Emits the elements of a part of a row.
pub type Work<'a> = dyn FnMut(&mut Lower, &Part) -> Result<Vec<Stmt>> + 'a;

/// A row of an index space.
pub struct RowOf<'a> {
    /// The extents of all axes.
    pub extents: &'a [Expr],
    /// The row's indices along all axes but the last.
    pub outer: &'a [(NodeId, Expr)],
}

/// Where a range lies in the row at hand.
struct Bounds {
    /// The condition that the range has the element at the present index.
    has_at: Expr,
    /// The index where the range begins.
    first: Expr,
    /// The index past its last element; `None` for a range of one element.
    last: Option<Expr>,
    /// See [`Part::given`].
    given: Vec<(NodeId, Expr)>,
}

fn binary(op: BinaryOp, a: &Expr, b: &Expr) -> Expr {
    Expr::binary(op, a.clone(), b.clone())
}

/// Returns the conjunction of two conditions; `None` is one that always holds.
fn both(a: Option<Expr>, b: Expr) -> Option<Expr> {
    Some(match a {
        Some(a) => Expr::binary(BinaryOp::And, a, b),
        None => b,
    })
}

impl RowOf<'_> {
    /// Emits code that computes which elements from `begin` to `end` belong to a range, and a condition that says
    /// whether the element at index `at` does.
    fn bounds(
        &self,
        l: &mut Lower,
        r: &Range,
        at: &Expr,
        (begin, end): (&Expr, &Expr),
        out: &mut Vec<Stmt>,
    ) -> Result<Bounds> {
        let none = Vec::new();
        let (lower, upper) = match &r.place {
            RangeLocation::Within { lower, upper, .. } => (lower, upper),
            _ => (&none, &none),
        };
        let asked: Vec<NodeId> = r.given.iter().chain(lower).chain(upper).chain(&r.test).copied().collect();
        let mut values = l.conditions(self.outer, &asked, out)?.into_iter();
        let mut given = Vec::new();
        for (n, value) in r.given.iter().zip(values.by_ref()) {
            given.push((*n, bind(l, "given", value, out)));
        }
        let width = self.extents[self.outer.len()].clone();
        let RangeLocation::Within { widths, .. } = &r.place else {
            let first = match r.place {
                RangeLocation::Last => width.minus(Expr::int(1)),
                _ => Expr::int(0),
            };
            return Ok(Bounds { has_at: binary(BinaryOp::Eq, at, &first), first, last: None, given });
        };
        let (before, behind) = widths[self.outer.len()];
        let first =
            values.by_ref().take(lower.len()).fold(Expr::int(before), |a, b| binary(BinaryOp::Max, &a, &b));
        let last = values.by_ref().take(upper.len()).fold(width.minus(Expr::int(behind)), Expr::min);
        let mut test = values.next();
        for (((_, i), n), (before, behind)) in self.outer.iter().zip(self.extents).zip(widths) {
            if *before > 0 {
                test = both(test, binary(BinaryOp::Ge, i, &Expr::int(*before)));
            }
            if *behind > 0 {
                test = both(test, binary(BinaryOp::Lt, i, &n.clone().minus(Expr::int(*behind))));
            }
        }
        let first = bind(l, "first", binary(BinaryOp::Max, &first, begin).min(end.clone()), out);
        let last = last.min(end.clone());
        let last = match test {
            Some(test) => Expr::Select(Box::new(test), Box::new(last), Box::new(first.clone())),
            None => last,
        };
        let last = bind(l, "last", last, out);
        let has_at =
            Expr::binary(BinaryOp::And, binary(BinaryOp::Ge, at, &first), binary(BinaryOp::Lt, at, &last));
        Ok(Bounds { has_at, first, last: Some(last), given })
    }
}

impl RowParts {
    /// Returns the parts of rows whose elements are `roots` at `index`. If not `cut`, a row is one part.
    pub fn of(
        l: &mut LaunchContext,
        fused: &FusedGroup,
        index: &[NodeId],
        roots: &[NodeId],
        cut: bool,
    ) -> Self {
        let ranges = if cut { ranges::of(l, fused, index, roots) } else { Ranges::default() };
        RowParts { ranges, roots: roots.to_vec() }
    }

    /// Emits a piece of a row, from `begin` to `end`.
    pub fn emit(
        &self,
        l: &mut Lower,
        row: &RowOf,
        (begin, end): (&Expr, &Expr),
        out: &mut Vec<Stmt>,
        work: &mut Work,
    ) -> Result<()> {
        if self.ranges.list.is_empty() {
            let (begin, end) = (begin.clone(), Some(end.clone()));
            out.append(&mut work(l, &Part { begin, end, roots: &self.roots, given: vec![] })?);
            return Ok(());
        }
        let reg = l.k.reg("at", Ty::I64);
        let mut bounds = Vec::new();
        for r in &self.ranges.list {
            bounds.push(l.with_own_hosts(|l| row.bounds(l, r, &Expr::Reg(reg), (begin, end), out))?);
        }
        let mut rest =
            if self.ranges.are_all { None } else { Some(self.others(l, reg, &bounds, end, work)?) };
        for (r, b) in self.ranges.list.iter().zip(bounds).rev() {
            let part = Part { begin: Expr::Reg(reg), end: b.last.clone(), roots: &r.roots, given: b.given };
            let mut inside = l.with_own_hosts(|l| work(l, &part))?;
            inside.push(Stmt::Assign(reg, b.last.unwrap_or(Expr::Reg(reg).plus(Expr::int(1)))));
            // if every element belongs to some range, the last range of the list needs no test
            rest = Some(match rest {
                Some(rest) => vec![Stmt::If(b.has_at, inside, rest)],
                None => inside,
            });
        }
        out.push(Stmt::Var(reg, begin.clone()));
        out.push(Stmt::While(
            Expr::binary(BinaryOp::Lt, Expr::Reg(reg), end.clone()),
            rest.unwrap_or_default(),
        ));
        Ok(())
    }

    /// Emits the elements from the present index up to the next range, by the program's own code.
    fn others(
        &self,
        l: &mut Lower,
        reg: Reg,
        bounds: &[Bounds],
        end: &Expr,
        work: &mut Work,
    ) -> Result<Vec<Stmt>> {
        let (at, mut out) = (Expr::Reg(reg), Vec::new());
        let next = bounds.iter().fold(end.clone(), |next, b| {
            let is_ahead = binary(BinaryOp::Lt, &at, &b.first);
            let nearer = b.first.clone().min(next.clone());
            Expr::Select(Box::new(is_ahead), Box::new(nearer), Box::new(next))
        });
        let next = bind(l, "next", next, &mut out);
        let part = Part { begin: at, end: Some(next.clone()), roots: &self.roots, given: vec![] };
        out.append(&mut work(l, &part)?);
        out.push(Stmt::Assign(reg, next));
        Ok(out)
    }
}
