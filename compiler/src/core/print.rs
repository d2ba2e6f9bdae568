//! The text form of core IR (`docs/ir.md`).
//!
//! A node is printed in the innermost region whose binders it uses, operands first; values and
//! binders are numbered in that order, so equal functions print equally.

use super::labels::{LabelSet, Says};
use super::{Form, Function, Lambda, NodeId, Op, Var};
use crate::loc::LocStack;
use crate::text::quote;
use std::fmt::Write;

/// Prints a function. If `locs` is set, the locations of a node follow it.
pub fn print(f: &Function, locs: bool) -> String {
    let names = vec![None; f.graph.len()];
    let mut p = Printer {
        f,
        locs,
        next: 0,
        out: String::new(),
        indent: 1,
        names,
        named: Vec::new(),
        open: Vec::new(),
    };
    p.function();
    p.out
}

impl std::fmt::Display for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&print(self, false))
    }
}

struct Printer<'a> {
    f: &'a Function,
    locs: bool,
    next: u32,
    out: String,
    indent: usize,
    /// The numbers that are the names of the nodes in scope.
    names: Vec<Option<u32>>,
    /// The nodes in scope, in the order of their names, each with the name it had before.
    named: Vec<(NodeId, Option<u32>)>,
    /// The binders in scope.
    open: Vec<Var>,
}

impl Printer<'_> {
    fn function(&mut self) {
        let f = self.f;
        let params: Vec<_> = f.params.iter().map(|p| format!("%{}: {}", p.name, p.ty)).collect();
        let results: Vec<_> =
            f.results.iter().map(|r| format!("{}: {}", r.name, f.graph.ty(r.value))).collect();
        let fast = if f.fast { "fast " } else { "" };
        let tensor = if f.tensor_cores { "tensor_cores " } else { "" };
        let stencil = f.stencil.map(|s| format!("stencil {s} ")).unwrap_or_default();
        let (params, results) = (params.join(", "), results.join(", "));
        let _ = writeln!(self.out, "func @{}({params}) -> ({results}) {fast}{tensor}{stencil}{{", f.name);
        let pad = "  ".repeat(self.indent);
        for step in &f.steps {
            let text = print(step, self.locs);
            let text = text.strip_prefix("func ").unwrap_or(&text);
            let lines: Vec<_> = format!("step {text}").lines().map(|l| format!("{pad}{l}\n")).collect();
            self.out.extend(lines);
        }
        for r in &f.requires {
            self.region(&[r.a, r.b]);
            let (a, b) = (self.operand(r.a), self.operand(r.b));
            let _ = write!(self.out, "  require {} {a}, {b} {}", r.rule.name(), quote(&r.subject));
            self.place(&r.loc);
        }
        let roots: Vec<_> = f.results.iter().map(|r| r.value).collect();
        self.region(&roots);
        let values: Vec<_> = roots.iter().map(|r| self.operand(*r)).collect();
        let _ = writeln!(self.out, "  return {}\n}}", values.join(", "));
    }

    fn place(&mut self, loc: &crate::loc::LocStack) {
        if self.locs && !loc.0.is_empty() {
            let _ = write!(self.out, " {loc}");
        }
        self.out.push('\n');
    }

    fn operand(&self, n: NodeId) -> String {
        match self.f.graph.op(n) {
            Op::Const(l) => l.to_string(),
            Op::Param(i) => format!("%{}", self.f.params[*i as usize].name),
            _ => match self.names[n.0 as usize] {
                Some(name) => format!("%{name}"),
                None => format!("<{n:?} out of scope>"),
            },
        }
    }

    /// Returns the next name.
    fn fresh(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    /// Gives a node a name in the present scope.
    fn name(&mut self, n: NodeId, name: u32) {
        let before = self.names[n.0 as usize].replace(name);
        self.named.push((n, before));
    }

    /// Prints the nodes that `roots` need and that are not in scope yet, as far as their binders
    /// are open here.
    fn region(&mut self, roots: &[NodeId]) {
        let g = &self.f.graph;
        // everything that a node in scope needs is in scope, too
        for n in g.reachable_until(roots.iter().copied(), |n| self.names[n.0 as usize].is_some()) {
            let leaf = matches!(g.op(n), Op::Const(_) | Op::Param(_) | Op::Var(..));
            if leaf || !g.node(n).free.iter().all(|v| self.open.contains(v)) {
                continue;
            }
            let pad = "  ".repeat(self.indent);
            let operands: Vec<_> = g.op(n).operands().map(|o| self.operand(o)).collect();
            // names are given in the order of the text: binders and body come before the next value
            let name = self.fresh();
            let _ = write!(self.out, "{pad}{}%{name} = ", if g.node(n).bound { "let " } else { "" });
            self.op(g.op(n), &operands);
            self.place(&g.node(n).loc);
            self.name(n, name);
        }
    }

    fn op(&mut self, op: &Op, o: &[String]) {
        let text = match op {
            Op::Const(_) | Op::Param(_) | Op::Var(..) => String::new(),
            Op::Turn => "turn".into(),
            Op::Checked => "checked".into(),
            Op::Unary(op, _) => format!("{op} {}", o[0]),
            Op::Binary(op, ..) => format!("{op} {}, {}", o[0], o[1]),
            Op::MulAdd(..) => format!("mul_add {}, {}, {}", o[0], o[1], o[2]),
            Op::Select(..) => format!("select {}, {}, {}", o[0], o[1], o[2]),
            Op::Cast(ty, _) => format!("cast {ty} {}", o[0]),
            Op::Stage(_) => format!("stage {}", o[0]),
            Op::Len(_, a) => format!("len {}{}", o[0], axis(*a)),
            Op::At(..) => format!("at {}", o.join(", ")),
            Op::Elem(..) => format!("elem {}", o.join(", ")),
            Op::Within(_, _, tested) if let Some(word) = tested.word() => {
                format!("within {}, {} {word}", o[0], o[1])
            }
            Op::Within(..) => format!("within {}, {}", o[0], o[1]),
            Op::Leave(_, labels) => format!("leave {} of ({})", o[0], self.labels(labels)),
            Op::Slice { axis: a, .. } => {
                format!("slice {}{} from {} to {} by {}", o[0], axis(*a), o[1], o[2], o[3])
            }
            Op::Reverse(_, a) => format!("reverse {}{}", o[0], axis(*a)),
            Op::Permute(_, axes) => {
                let axes: Vec<_> = axes.iter().map(u8::to_string).collect();
                format!("permute {} to {}", o[0], axes.join(", "))
            }
            Op::Pick { axis: a, .. } => format!("pick {}{} at {}", o[0], axis(*a), o[1]),
            Op::Spread { axis: a, .. } => format!("spread {}{} by {}", o[0], axis(*a), o[1]),
            Op::Iota(_) => format!("iota {}", o[0]),
            Op::Fill(..) => format!("fill {}, {}", o[0], o[1]),
            Op::Argsort(_) => format!("argsort {}", o[0]),
            Op::Place { .. } => format!("place {} at {}", o[1], o[0]),
            Op::Bins { op, .. } => format!("bins {op} of {}, {} over {} at {}", o[0], o[1], o[3], o[2]),
            Op::Put { .. } => format!("put {} at {} over {} after {}", o[1], o[0], o[2], o[3]),
            Op::DigitCounts { .. } => format!("digit_counts {} of {} by {}", o[0], o[1], o[2]),
            Op::DigitEnds { .. } => format!("digit_ends {} of {} over {}", o[0], o[1], o[2]),
            Op::ByDigit { .. } => format!("by_digit {} of {} by {} at {}", o[3], o[0], o[1], o[2]),
            Op::Materialize(_) => format!("materialize {}", o[0]),
            Op::PanelDot { .. } => format!("panel_dot from {} over {}, {}", o[0], o[1], o[2]),
            Op::Dot { .. } => format!("dot from {} over {}, {}", o[0], o[1], o[2]),
            Op::SquaredDeviations { .. } => format!("squared_deviations from {} over {}", o[0], o[1]),
            Op::Iterate { step, which, form, .. } => {
                let name = |step: u32| self.f.steps.get(step as usize).map_or("?", |s| &s.name);
                let form = match form {
                    Form::Last => String::new(),
                    Form::Each => " each".into(),
                    Form::Or(function) => format!(" or @{}", name(*function)),
                    Form::Until(check) => format!(" until @{} every {}", name(check.step), check.every),
                };
                format!("iterate @{} {which} by {}{form} from {}", name(*step), o[0], o[1..].join(", "))
            }
            Op::Loop { step, which, .. } => {
                let tail = format!(" by {} from {}", o[0], o[1..].join(", "));
                return self.lambda(&format!("loop {which} "), step, &tail);
            }
            Op::Map(l, _) => return self.lambda("map ", l, &format!(" over {}", o.join(", "))),
            Op::Generate(_, l) => return self.lambda(&format!("generate {} ", o.join(", ")), l, ""),
            Op::Tuple(_) => format!("tuple {}", o.join(", ")),
            Op::Reduce { join, which, .. } => {
                return self.lambda(
                    &format!("reduce {}", self.component(op, *which)),
                    join,
                    &format!(" from {} over {}", o[0], o[1]),
                );
            }
            Op::ReduceOrdered { join, which, .. } => {
                return self.lambda(
                    &format!("reduce_ordered {}", self.component(op, *which)),
                    join,
                    &format!(" from {} over {}", o[0], o[1]),
                );
            }
            Op::Scan { part, join, which, .. } => {
                // the value with which a part begins need not be a tuple
                let which = if join.params.len() > 2 { format!("{which} ") } else { String::new() };
                return self.lambda(
                    &format!("{} {which}", part.name()),
                    join,
                    &format!(" from {} over {}", o[0], o[1]),
                );
            }
            Op::Fold { step, which, .. } => {
                return self.lambda(
                    &format!("fold {}", self.component(op, *which)),
                    step,
                    &format!(" from {} over {}", o[0], o[1]),
                );
            }
        };
        self.out.push_str(&text);
    }

    /// Returns the text of labels with their places.
    fn labels(&self, labels: &LabelSet) -> String {
        let one = |label: u32| {
            let Some(place) = self.f.graph.labels().place(label) else { return label.to_string() };
            let says = match &place.says {
                Says::Param(i) => format!("param {i}"),
                Says::Read => "read".into(),
                Says::Division => "div".into(),
                Says::Words(words) => format!("words {}", quote(words)),
            };
            let loc = place.loc.clone().filter(|_| self.locs).map(LocStack::one);
            let loc = loc.map(|loc| format!(" {loc}")).unwrap_or_default();
            format!("{label} {says}{loc}")
        };
        labels.labels().map(one).collect::<Vec<_>>().join(", ")
    }

    /// Returns the text of the component of the result, if that is a tuple.
    fn component(&self, op: &Op, which: u32) -> String {
        let is_tuple = op.operands().next().is_some_and(|init| matches!(self.f.graph.op(init), Op::Tuple(_)));
        if is_tuple { format!("{which} ") } else { String::new() }
    }

    fn lambda(&mut self, head: &str, l: &Lambda, tail: &str) {
        let (named, open) = (self.named.len(), self.open.len());
        let mut binders = Vec::new();
        for &(v, ty) in &l.params {
            let name = self.fresh();
            binders.push(format!("%{name}: {ty}"));
            self.open.push(v);
            if let Some(n) = self.f.graph.find(&Op::Var(v, ty)) {
                self.name(n, name);
            }
        }
        let _ = writeln!(self.out, "{head}({}){tail} {{", binders.join(", "));
        self.indent += 1;
        self.region(&[l.body]);
        let pad = "  ".repeat(self.indent);
        let value = self.operand(l.body);
        self.indent -= 1;
        let _ = write!(self.out, "{pad}yield {value}\n{}}}", "  ".repeat(self.indent));
        // the names of the lambda go out of scope, the last one first
        while self.named.len() > named {
            let (n, before) = self.named.pop().expect("there are more");
            self.names[n.0 as usize] = before;
        }
        self.open.truncate(open);
    }
}

/// Returns the text of an axis; axis 0 has none.
fn axis(a: u8) -> String {
    if a == 0 { String::new() } else { format!(" axis {a}") }
}
