//! Adds the shape rules of a function: which constructs need them, whether the host can check them,
//! and which ones are redundant.
//!
//! | construct | rules |
//! |---|---|
//! | several arrays joined: `zip_with`, `+`, `dot` .. | `same`: each length is the first one's, along each axis |
//! | `slice` | `start`: 0 <= start; `order`: start <= stop; `stop`: stop <= length; `stride`: 1 <= stride |
//! | `row`, `col` at an index that the host knows | `index`: 0 <= i; `inside`: i + 1 <= length |
//! | `padded` | `extent`: 0 <= margin, and the padded length does not wrap; `margin`: the margin <= length, or 1 <= length if there is a margin |
//! | `with_slice`, `with_block` | `start`, `order`, `stop`: the part lies inside; `part`: it has an element |
//! | `iterate` | `count`: 0 <= k; `same`: the states keep their extents |
//! | `generate`, `iota`, `fill`, `broadcast_rows` .. | `extent`: 0 <= n |
//!
//! A rule that holds for all lengths is not kept (the 15 slices of a moving average need one rule,
//! not 44), nor is one that an earlier rule implies. Whether a rule can never hold is checked
//! later, by the compiler; the error names the author's line.

use super::facts::{Fact, Key};
use super::{Boundary, Builder};
use crate::core::linear::{self, Linear};
use crate::core::simplify::simplify;
use crate::core::{Graph, MAX_RANK, NodeId, Op, Require, Rule, host, verify};
use crate::scalar::{BinaryOp, Lit};
use crate::{Error, Result};

/// The names of axes in comparisons of arrays, by rank.
const AXES: [[&str; MAX_RANK]; MAX_RANK] =
    [["", "", ""], ["rows of ", "columns of ", ""], ["planes of ", "rows of ", "columns of "]];

impl Builder {
    /// Requires the rules of a slice.
    pub(super) fn bounds(
        &mut self,
        construct: &str,
        src: NodeId,
        axis: u8,
        bounds: [NodeId; 3],
    ) -> Result<()> {
        let [start, stop, stride] = bounds;
        let subject = self.slice_subject(construct, src, bounds);
        let (zero, one, length) = (self.number(0), self.number(1), self.extents[&src][usize::from(axis)]);
        self.require(&subject, Rule::Start, zero, start)?;
        self.require(&subject, Rule::Order, start, stop)?;
        self.require(&subject, Rule::Stop, stop, length)?;
        self.require(&subject, Rule::Stride, one, stride)
    }

    /// Requires the rules of a row or column at an index that the host knows.
    pub(super) fn one_index(&mut self, construct: &str, src: NodeId, axis: u8, index: NodeId) -> Result<()> {
        let subject = self.slice_subject(construct, src, [index; 3]);
        let (zero, one, length) = (self.number(0), self.number(1), self.extents[&src][usize::from(axis)]);
        let next = linear::add(&mut self.function.graph, index, one);
        self.require(&subject, Rule::Index, zero, index)?;
        self.require(&subject, Rule::Inside, next, length)
    }

    /// Requires that arrays have the same shape.
    pub(super) fn same(&mut self, construct: &str, srcs: &[NodeId]) -> Result<()> {
        if srcs.len() < 2 {
            return Ok(());
        }
        let construct = self.word_for(construct);
        let operator = if construct.starts_with(char::is_alphabetic) { "" } else { "operator " };
        let construct = format!("{operator}{construct}");
        let first = self.extents[&srcs[0]].clone();
        for src in &srcs[1..] {
            for (axis, (a, b)) in first.iter().zip(self.extents[src].clone()).enumerate() {
                if *a == b && !self.is_device(b) {
                    continue;
                }
                let of = AXES[first.len() - 1][axis];
                let subject = self.named(&construct, of, &[srcs[0], *src]);
                self.require(&subject, Rule::Same, *a, b)?;
            }
        }
        Ok(())
    }

    /// Requires that the rows of a product's left factor are as long as the columns of its right one.
    pub(super) fn inner_lengths(&mut self, construct: &str, row: NodeId, column: NodeId) -> Result<()> {
        let [columns, rows] = [row, column].map(|x| self.extents[&x][0]);
        if columns == rows && !self.is_device(rows) {
            return Ok(());
        }
        let construct = self.word_for(construct).to_string();
        let left = self.names(&[row]).join(", ");
        let right = self.names(&[column]).join(", ");
        let [left, right] = [(left, "the left factor"), (right, "the right factor")]
            .map(|(names, other)| if names.is_empty() { other.into() } else { names });
        let subject = format!("{construct}: columns of {left}, rows of {right}");
        self.require(&subject, Rule::Same, columns, rows)
    }

    /// Requires that a length is not negative, unless it is the length of another array.
    pub(super) fn made(&mut self, construct: &str, n: NodeId) -> Result<()> {
        if self.lengths.contains(&n) {
            return Ok(());
        }
        let subject = self.subject(construct, "", &[n]);
        let zero = self.number(0);
        self.require(&subject, Rule::Extent, zero, n)
    }

    /// Requires that mirrored and repeated margins are not wider than the array, and that for other
    /// margins, if there are any, the array has an element to read. The lengths of which the padded one is the
    /// last, and the indices beyond the edges, must not wrap.
    pub(super) fn margins(
        &mut self,
        src: NodeId,
        axis: u8,
        margins: [NodeId; 2],
        boundary: &Boundary<NodeId>,
    ) -> Result<()> {
        let subject = self.slice_subject("padded", src, [margins[0], margins[1], src]);
        let length = self.extents[&src][usize::from(axis)];
        // A margin that is known only at the call may be negative.
        let zero = self.number(0);
        for margin in margins {
            self.require(&subject, Rule::Extent, zero, margin)?;
        }
        let g = &mut self.function.graph;
        let wider = linear::add(g, length, margins[0]);
        let widest = linear::add(g, wider, margins[1]);
        let mut sums = if g.as_lit(margins[0]).is_some() { vec![widest] } else { vec![wider, widest] };
        match boundary {
            Boundary::Mirror | Boundary::Wrap => {
                sums.push(linear::add(g, length, length));
                margins
                    .iter()
                    .try_for_each(|margin| self.require(&subject, Rule::Margin, *margin, length))?;
            }
            Boundary::Clamp | Boundary::Constant(_) => {
                let both = linear::add(g, margins[0], margins[1]);
                let one = g.lit(Lit::i64(1));
                let needed = simplify(g, Op::Binary(BinaryOp::Min, both, one));
                self.require(&subject, Rule::Margin, needed, length)?;
            }
        }
        // the sum of two numbers that are not negative is negative if it wraps
        for sum in sums {
            if !Linear::of(&self.function.graph, sum).cannot_wrap(&self.function.graph) {
                self.require(&subject, Rule::Extent, zero, sum)?;
            }
        }
        Ok(())
    }

    /// Requires that a part lies inside the array whose elements it replaces.
    pub(super) fn part(
        &mut self,
        construct: &str,
        src: NodeId,
        part: NodeId,
        start: &[NodeId],
    ) -> Result<()> {
        let (zero, one) = (self.number(0), self.number(1));
        for (axis, start) in start.iter().enumerate() {
            let (length, whole) = (self.extents[&part][axis], self.extents[&src][axis]);
            let subject = self.slice_subject(construct, src, [*start; 3]);
            let stop = linear::add(&mut self.function.graph, *start, length);
            self.require(&subject, Rule::Start, zero, *start)?;
            self.require(&subject, Rule::Part, one, length)?;
            // a sum that wraps is below its first operand
            self.require(&subject, Rule::Order, *start, stop)?;
            self.require(&subject, Rule::Stop, stop, whole)?;
        }
        Ok(())
    }

    /// Whether the host cannot compute a scalar before the function runs.
    pub fn is_device(&mut self, n: NodeId) -> bool {
        self.fact(n).obstacle.is_some()
    }

    /// Adds a scalar whose value is embedded before anything runs.
    pub fn stage(&mut self, value: NodeId) -> Result<NodeId> {
        let node = self.node(Op::Stage(value))?;
        let obstacle = self.fact(value).obstacle;
        if obstacle.is_none() && verify::runs_on_host(&self.function.graph, value) {
            return Ok(node);
        }
        let message = format!(
            "stage: the value {}, so only the device knows it; what is staged follows from lengths, constants and scalar parameters",
            obstacle.unwrap_or("divides integers by what may be 0, which leaves a record")
        );
        Err(Error::user("E0311", message).at(self.loc.first()))
    }

    /// Keeps a rule that is not redundant. A rule that the host cannot check is an error.
    pub fn require(&mut self, subject: &str, rule: Rule, a: NodeId, b: NodeId) -> Result<()> {
        for operand in [a, b] {
            if let Some(obstacle) = self.fact(operand).obstacle {
                let message = format!(
                    "{subject}: {} {obstacle}; this version computes lengths and the bounds of slices before the function runs, from \
                     lengths, constants and scalar parameters",
                    role(rule)
                );
                return Err(Error::limit("E0209", message).at(self.loc.first()));
            }
        }
        let (key, always) = key(&self.function.graph, rule, a, b);
        if !always && self.seen.insert(key) {
            let loc = self.loc.clone();
            self.function.requires.push(Require { rule, a, b, subject: subject.into(), loc });
        }
        Ok(())
    }

    /// Returns the subject of a rule: `zip_with: x, y`, `zip_with: rows of a, b`.
    pub fn subject(&mut self, construct: &str, of: &str, nodes: &[NodeId]) -> String {
        let construct = self.word_for(construct).to_string();
        self.named(&construct, of, nodes)
    }

    fn named(&mut self, construct: &str, of: &str, nodes: &[NodeId]) -> String {
        let names = self.names(nodes).join(", ");
        if names.is_empty() { construct.into() } else { format!("{construct}: {of}{names}") }
    }

    /// Returns the subject of a slice's rule: `slice of xs`, `slice of xs: k`.
    fn slice_subject(&mut self, construct: &str, src: NodeId, bounds: [NodeId; 3]) -> String {
        let construct = self.word_for(construct).to_string();
        let of = self.names(&[src]);
        let mut others = self.names(&bounds);
        others.retain(|name| !of.contains(name));
        let construct = if of.is_empty() { construct } else { format!("{construct} of {}", of.join(", ")) };
        if others.is_empty() { construct } else { format!("{construct}: {}", others.join(", ")) }
    }

    /// Returns the names of the parameters from which the nodes are computed, the first ones if there
    /// are many.
    pub(super) fn names(&mut self, nodes: &[NodeId]) -> Vec<String> {
        let mut params: Vec<u32> = Vec::new();
        for node in nodes {
            join(&mut params, &self.fact(*node).params);
        }
        let names = params.iter().take(MAX_NAMES);
        let mut names: Vec<_> = names.map(|p| self.function.params[*p as usize].name.clone()).collect();
        if params.len() > MAX_NAMES {
            names.push("..".into());
        }
        names
    }

    /// Returns what is known about a node. Operands have lower numbers than their users.
    fn fact(&mut self, node: NodeId) -> Fact {
        for i in self.facts.len()..=node.0 as usize {
            let fact = self.learn(NodeId(i as u32));
            self.facts.push(fact);
        }
        self.facts[node.0 as usize].clone()
    }

    fn learn(&self, node: NodeId) -> Fact {
        let op = self.function.graph.op(node);
        let mut params = Vec::new();
        let mut obstacle = match op {
            Op::Var(..) => Some("depends on the variable of a closure"),
            Op::Turn => Some("depends on the number of the step"),
            Op::At(..) | Op::Elem(..) => Some("is read from a vector"),
            op if op.is_reduction() => Some("is computed by a reduction"),
            Op::Loop { .. } => Some("is computed by a loop"),
            Op::Within(..) => Some("is chosen by an index that is tested for its range"),
            op if self.function.graph.ty(node).is_scalar() && !host::is_of_host(op) => {
                Some("is computed on the device")
            }
            _ => None,
        };
        if let Op::Param(i) = op {
            params.push(*i);
        }
        let operands: Vec<&Fact> = op.operands().map(|o| &self.facts[o.0 as usize]).collect();
        for operand in &operands {
            join(&mut params, &operand.params);
            // The length of a vector is known even if its elements are not.
            if self.function.graph.ty(node).is_scalar() && !matches!(op, Op::Len(..)) {
                obstacle = obstacle.or(operand.obstacle);
            }
        }
        let params = match operands.first() {
            Some(first) if *first.params == *params => first.params.clone(),
            _ => params.into(),
        };
        Fact { params, obstacle }
    }
}

/// The most parameters that the subject of a rule names. What is computed from thousands of
/// parameters would otherwise have a subject as long.
const MAX_NAMES: usize = 16;

/// Adds parameters to a list, up to one more than are named.
fn join(all: &mut Vec<u32>, more: &[u32]) {
    for p in more {
        if all.len() > MAX_NAMES {
            return;
        }
        if !all.contains(p) {
            all.push(*p);
        }
    }
}

/// Returns the name of the checked quantity in an error.
fn role(rule: Rule) -> &'static str {
    match rule {
        Rule::Same => "a length",
        Rule::Start | Rule::Order | Rule::Stop => "a bound",
        Rule::Index | Rule::Inside => "an index",
        Rule::Stride => "the stride",
        Rule::Extent => "the length",
        Rule::Margin => "a margin",
        Rule::Count => "the number of steps",
        Rule::Part => "the length of a part",
    }
}

/// Returns the key of a rule, and whether the rule holds for all lengths.
fn key(g: &Graph, rule: Rule, a: NodeId, b: NodeId) -> (Key, bool) {
    let (from, to) = (Linear::of(g, a), Linear::of(g, b));
    let same = rule == Rule::Same;
    if !(from.cannot_wrap(g) && to.cannot_wrap(g)) {
        return (Key::Operands(rule, a, b), a == b);
    }
    let difference = to.minus(&from);
    let always = if same { difference.as_constant() == Some(0) } else { difference.at_least(g, 0) };
    // Equality is symmetric, so the sign is normalised.
    let flip = same && difference.terms.values().next().is_some_and(|k| *k < 0);
    let sign = if flip { -1 } else { 1 };
    let terms = difference.terms.iter().map(|(t, k)| (*t, sign * k)).collect();
    (Key::Difference(same, sign * difference.constant, terms), always)
}
