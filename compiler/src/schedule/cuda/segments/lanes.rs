//! Joins of the tree columns that the lanes of a warp have, for one or several segments at once. The tree joins
//! neighbours first, so the order is: the `v` neighbouring columns of a lane, then lanes, then a lane's groups of
//! neighbours.
//!
//! ```text
//! v = 2, 4 lanes, 4 columns a lane:   lane     0    1    2    3       0     1     2     3
//!                                     columns  0 1  2 3  4 5  6 7     8 9  10 11 12 13 14 15
//!                                              group 0                group 1
//! ```
//!
//! Segments whose columns have the same counts (semantics 5.12) share what is computed from these, such as the
//! weights of means.

use crate::error::Result;
use crate::kernel::{Expr, Gpu, Reg, Stmt};
use crate::scalar::BinaryOp;
use crate::schedule::cuda::expressions::int32;
use crate::schedule::cuda::tree::named_values;
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::element::reduction::{Reduction, bound};

/// Returns the number of this lane among `lanes` lanes.
pub fn lane(l: &mut Lower, lanes: u32, out: &mut Vec<Stmt>) -> Expr {
    let lane = Expr::binary(BinaryOp::And, Expr::Place(Gpu::Thread), int32(lanes as i32 - 1));
    bind(l, "lane", lane, out)
}

/// How lanes exchange the values that they join.
pub enum Exchange<'a> {
    /// A lane gets the value of the lane `distance` above it. The result is in the first lane.
    Down,
    /// Lanes whose numbers differ by the bit `distance` exchange their values. The result is in every lane. The
    /// operand is this lane's number.
    Pairs(&'a Expr),
}

/// Joins the columns of `lanes` lanes by the tree: the `v` neighbours of a lane's group first, then lanes, then
/// groups. `columns` has the registers by segment, accumulator and column; `rows` is the number of elements of each
/// column, if it is known and the same for all. Returns the values of the accumulators of each segment.
pub fn join_columns(
    l: &mut Lower,
    r: &Reduction,
    (columns, rows): (&[&[Vec<Reg>]], Option<i64>),
    (v, lanes): (i64, u32),
    exchange: Exchange,
    out: &mut Vec<Stmt>,
) -> Result<Vec<Vec<Expr>>> {
    let (mut groups, v) = (Vec::new(), v as usize);
    let number = columns[0][0].len();
    let column = |c: usize| {
        let of_segment = |accs: &&[Vec<Reg>]| {
            let values = accs.iter().map(|regs| Expr::Reg(regs[c])).collect();
            match rows {
                Some(rows) => r.after_rows(values, Expr::int(rows)),
                None => values,
            }
        };
        columns.iter().map(of_segment).collect::<Side>()
    };
    for first in (0..number).step_by(v) {
        let neighbours = (first..number.min(first + v)).map(column).collect();
        let value = join_neighbours(l, r, neighbours, out)?;
        groups.push(join_lanes(l, r, value, (1, lanes), &exchange, out)?);
    }
    join_neighbours(l, r, groups, out)
}

/// The values of a column, by segment and accumulator.
pub type Side = Vec<Vec<Expr>>;

/// Joins the values of lanes at the distances `apart`, `2 apart`, ... up to `lanes / 2`. `value` has this lane's
/// values.
pub fn join_lanes(
    l: &mut Lower,
    r: &Reduction,
    mut value: Side,
    (apart, lanes): (u32, u32),
    exchange: &Exchange,
    out: &mut Vec<Stmt>,
) -> Result<Side> {
    for distance in [1, 2, 4, 8, 16].into_iter().filter(|distance| (apart..lanes).contains(distance)) {
        let (low, high) = exchanged(l, r, value, distance, exchange, out);
        let joined = join_sides(l, r, &low, &high, out)?;
        value = named_side(l, r, "joined", joined, out);
    }
    Ok(value)
}

/// Returns the operands of a join: the values of the lower lane, and those of the higher. Lanes that exchange in
/// pairs must compute the same bits. So if the operator is sensitive to the order of its operands, both lanes put the
/// values of the lower lane first; else each puts its own first, which saves the selections.
fn exchanged(
    l: &mut Lower,
    r: &Reduction,
    own: Side,
    distance: u32,
    exchange: &Exchange,
    out: &mut Vec<Stmt>,
) -> (Side, Side) {
    let shuffle = |e| match exchange {
        Exchange::Down => Expr::ShuffleDown(e, distance),
        Exchange::Pairs(_) => Expr::ShuffleXor(e, distance),
    };
    let mut counts: Vec<(Expr, Expr)> = Vec::new();
    let mut other = Vec::new();
    for values in &own {
        // segments share their counts; lanes do so as well if the count is a constant
        let known = counts.iter().find(|(of, _)| r.is_counted() && *of == values[0]).map(|(_, e)| e.clone());
        let is_constant = r.is_counted() && matches!(values[0], Expr::Lit(_));
        let known = known.or_else(|| is_constant.then(|| values[0].clone()));
        let rest = if known.is_some() { &values[1..] } else { &values[..] };
        let mut shuffled: Vec<Expr> = known.into_iter().collect();
        for e in rest {
            shuffled.push(bind(l, "other", shuffle(Box::new(e.clone())), out));
        }
        counts.push((values[0].clone(), shuffled[0].clone()));
        other.push(shuffled);
    }
    let Exchange::Pairs(lane) = exchange else { return (own, other) };
    if !r.is_counted() {
        return (own, other);
    }
    let bit = Expr::binary(BinaryOp::And, (*lane).clone(), int32(distance as i32));
    let is_low = bind(l, "low", Expr::binary(BinaryOp::Eq, bit, int32(0)), out);
    let mut chosen = |a: &Side, b: &Side| -> Side {
        let mut choose =
            |(a, b): (&Expr, &Expr)| bind(l, "side", is_low.clone().select(a.clone(), b.clone()), out);
        a.iter().zip(b).map(|(a, b)| a.iter().zip(b).map(&mut choose).collect()).collect()
    };
    (chosen(&own, &other), chosen(&other, &own))
}

/// Joins the values of two columns, for each segment.
fn join_sides(l: &mut Lower, r: &Reduction, a: &Side, b: &Side, out: &mut Vec<Stmt>) -> Result<Side> {
    let (mut known, mut roots) = (Vec::new(), Vec::new());
    for (a, b) in a.iter().zip(b) {
        let [a, b] = [a, b].map(|values| r.nodes(l.launch, values, &mut known));
        roots.extend(r.join(l.launch, &a, &b));
    }
    let mut values = l.region(&known, &roots, &Expr::int(0), out)?;
    if r.is_counted() {
        values = values.into_iter().map(|e| bound(l, "joined", e, out)).collect();
    }
    let mut joined = values.chunks(r.accumulators()).map(<[Expr]>::to_vec).collect();
    share_count(r, &mut joined);
    Ok(joined)
}

/// Binds the values of a column to registers. Those of reductions with counts are in registers already.
fn named_side(l: &mut Lower, r: &Reduction, name: &'static str, side: Side, out: &mut Vec<Stmt>) -> Side {
    if r.is_counted() {
        return side;
    }
    side.into_iter().map(|own| named_values(l, r, name, own, out)).collect()
}

/// Replaces each segment's count by that of the first segment, which is equal, so that what is computed from it is a
/// common subexpression.
pub fn share_count(r: &Reduction, side: &mut Side) {
    if let Some(count) = side.first().filter(|_| r.is_counted()).map(|values| values[0].clone()) {
        side.iter_mut().for_each(|values| values[0] = count.clone());
    }
}

/// Joins neighbouring values pairwise; their number is a power of two.
pub fn join_neighbours(
    l: &mut Lower,
    r: &Reduction,
    mut values: Vec<Side>,
    out: &mut Vec<Stmt>,
) -> Result<Side> {
    while values.len() > 1 {
        let mut next = Vec::new();
        for pair in values.chunks(2) {
            let joined = join_sides(l, r, &pair[0], &pair[1], out)?;
            next.push(named_side(l, r, "pair", joined, out));
        }
        values = next;
    }
    Ok(values.remove(0))
}

/// Joins the neighbouring values of one segment pairwise; their number is a power of two.
pub fn pairs(l: &mut Lower, r: &Reduction, values: Vec<Vec<Expr>>, out: &mut Vec<Stmt>) -> Result<Vec<Expr>> {
    Ok(join_neighbours(l, r, values.into_iter().map(|value| vec![value]).collect(), out)?.remove(0))
}
