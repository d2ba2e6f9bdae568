//! The text form of core IR (`docs/ir.md`).
//!
//! A node is printed in the innermost region whose binders it uses, operands first; values and
//! binders are numbered in that order, so equal functions print equally.

use super::{Function, Lambda, NodeId, Op, Var};
use crate::text::quote;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::fmt::Write;

/// Prints a function. If `locs` is set, the locations of a node follow it.
pub fn print(f: &Function, locs: bool) -> String {
    let mut p = Printer { f, locs, next: 0, out: String::new(), indent: 1 };
    p.function();
    p.out
}

impl std::fmt::Display for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&print(self, false))
    }
}

/// The names of nodes and the open binders that are in scope.
#[derive(Clone, Default)]
struct Scope {
    names: HashMap<NodeId, String>,
    open: HashSet<Var>,
}

struct Printer<'a> {
    f: &'a Function,
    locs: bool,
    next: u32,
    out: String,
    indent: usize,
}

impl Printer<'_> {
    fn function(&mut self) {
        let f = self.f;
        let params: Vec<_> = f.params.iter().map(|p| format!("%{}: {}", p.name, p.ty)).collect();
        let results: Vec<_> =
            f.results.iter().map(|r| format!("{}: {}", r.name, f.graph.ty(r.value))).collect();
        let fast = if f.fast { "fast " } else { "" };
        let stencil = f.stencil.map(|s| format!("stencil {s} ")).unwrap_or_default();
        let (params, results) = (params.join(", "), results.join(", "));
        let _ = writeln!(self.out, "func @{}({params}) -> ({results}) {fast}{stencil}{{", f.name);
        let pad = "  ".repeat(self.indent);
        for step in &f.steps {
            let text = print(step, self.locs);
            let text = text.strip_prefix("func ").unwrap_or(&text);
            let lines: Vec<_> = format!("step {text}").lines().map(|l| format!("{pad}{l}\n")).collect();
            self.out.extend(lines);
        }
        let mut scope = Scope::default();
        for r in &f.requires {
            self.region(&[r.a, r.b], &mut scope);
            let (a, b) = (self.operand(r.a, &scope), self.operand(r.b, &scope));
            let _ = write!(self.out, "  require {} {a}, {b} {}", r.rule.name(), quote(&r.subject));
            self.place(&r.loc);
        }
        let roots: Vec<_> = f.results.iter().map(|r| r.value).collect();
        self.region(&roots, &mut scope);
        let values: Vec<_> = roots.iter().map(|r| self.operand(*r, &scope)).collect();
        let _ = writeln!(self.out, "  return {}\n}}", values.join(", "));
    }

    fn place(&mut self, loc: &crate::loc::LocStack) {
        if self.locs && !loc.0.is_empty() {
            let _ = write!(self.out, " {loc}");
        }
        self.out.push('\n');
    }

    fn operand(&self, n: NodeId, scope: &Scope) -> String {
        match self.f.graph.op(n) {
            Op::Const(l) => l.to_string(),
            Op::Param(i) => format!("%{}", self.f.params[*i as usize].name),
            _ => scope.names.get(&n).cloned().unwrap_or_else(|| format!("<{n:?} out of scope>")),
        }
    }

    fn fresh(&mut self) -> String {
        self.next += 1;
        format!("%{}", self.next - 1)
    }

    /// Prints the nodes that `roots` need and that are not in scope yet, as far as their binders
    /// are open here.
    fn region(&mut self, roots: &[NodeId], scope: &mut Scope) {
        let g = &self.f.graph;
        for n in g.reachable(roots.iter().copied()) {
            let leaf = matches!(g.op(n), Op::Const(_) | Op::Param(_) | Op::Var(..));
            if leaf || scope.names.contains_key(&n) || !g.node(n).free.iter().all(|v| scope.open.contains(v))
            {
                continue;
            }
            let pad = "  ".repeat(self.indent);
            let operands: Vec<_> = g.op(n).operands().map(|o| self.operand(o, scope)).collect();
            // names are given in the order of the text: binders and body come before the next value
            let name = self.fresh();
            let head = format!("{pad}{}{name} = ", if g.node(n).bound { "let " } else { "" });
            self.out.push_str(&head);
            self.op(g.op(n), &operands, scope);
            self.place(&g.node(n).loc);
            scope.names.insert(n, name);
        }
    }

    fn op(&mut self, op: &Op, o: &[String], scope: &Scope) {
        let text = match op {
            Op::Const(_) | Op::Param(_) | Op::Var(..) => String::new(),
            Op::Unary(op, _) => format!("{op} {}", o[0]),
            Op::Binary(op, ..) => format!("{op} {}, {}", o[0], o[1]),
            Op::MulAdd(..) => format!("mul_add {}, {}, {}", o[0], o[1], o[2]),
            Op::Select(..) => format!("select {}, {}, {}", o[0], o[1], o[2]),
            Op::Cast(ty, _) => format!("cast {ty} {}", o[0]),
            Op::Stage(_) => format!("stage {}", o[0]),
            Op::Len(_, a) => format!("len {}{}", o[0], axis(*a)),
            Op::At(..) => format!("at {}", o.join(", ")),
            Op::Elem(..) => format!("elem {}", o.join(", ")),
            Op::Within(..) => format!("within {}, {}", o[0], o[1]),
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
            Op::Materialize(_) => format!("materialize {}", o[0]),
            Op::PanelDot { .. } => format!("panel_dot from {} over {}, {}", o[0], o[1], o[2]),
            Op::Dot { .. } => format!("dot from {} over {}, {}", o[0], o[1], o[2]),
            Op::Iterate { step, which, .. } => {
                let name = self.f.steps.get(*step as usize).map_or("?", |s| &s.name);
                format!("iterate @{name} {which} by {} from {}", o[0], o[1..].join(", "))
            }
            Op::Map(l, _) => return self.lambda("map ", l, &format!(" over {}", o.join(", ")), scope),
            Op::Generate(_, l) => return self.lambda(&format!("generate {} ", o.join(", ")), l, "", scope),
            Op::Reduce { join, .. } => {
                return self.lambda("reduce ", join, &format!(" from {} over {}", o[0], o[1]), scope);
            }
            Op::Fold { step, .. } => {
                return self.lambda("fold ", step, &format!(" from {} over {}", o[0], o[1]), scope);
            }
        };
        self.out.push_str(&text);
    }

    fn lambda(&mut self, head: &str, l: &Lambda, tail: &str, scope: &Scope) {
        let mut inner = scope.clone();
        let mut binders = Vec::new();
        for &(v, ty) in &l.params {
            let name = self.fresh();
            binders.push(format!("{name}: {ty}"));
            inner.open.insert(v);
            if let Some(n) = self.f.graph.find(&Op::Var(v, ty)) {
                inner.names.insert(n, name);
            }
        }
        let _ = writeln!(self.out, "{head}({}){tail} {{", binders.join(", "));
        self.indent += 1;
        self.region(&[l.body], &mut inner);
        let pad = "  ".repeat(self.indent);
        let value = self.operand(l.body, &inner);
        self.indent -= 1;
        let _ = write!(self.out, "{pad}yield {value}\n{}}}", "  ".repeat(self.indent));
    }
}

/// Returns the text of an axis; axis 0 has none.
fn axis(a: u8) -> String {
    if a == 0 { String::new() } else { format!(" axis {a}") }
}
