//! Goes through a function, closure by closure.

use super::{Place, Table, scalar_cell};
use crate::count;
use arraygpu_compiler::core::{Function, Graph, NodeId, Op, Var};
use rustc_hash::FxHashSet as HashSet;

struct Walk<'a> {
    g: &'a Graph,
    step: bool,
    /// The variables of the closures around, and whether they are of a reduction's function.
    around: Vec<(Vec<Var>, bool)>,
    seen: HashSet<(NodeId, Place)>,
    table: &'a mut Table,
}

/// Notes all nodes that the results need.
pub(super) fn walk(f: &Function, step: bool, table: &mut Table) {
    let mut w = Walk { g: &f.graph, step, around: Vec::new(), seen: HashSet::default(), table };
    for r in &f.results {
        if !f.graph.ty(r.value).is_scalar() {
            let place = if step { Place::Step } else { Place::Closed };
            w.read(r.value, "result", place);
        }
        w.node(r.value);
    }
}

impl Walk<'_> {
    fn place(&self, n: NodeId) -> Place {
        let free = &self.g.node(n).free;
        let own: Vec<bool> =
            self.around.iter().filter(|a| a.0.iter().any(|v| free.contains(v))).map(|a| a.1).collect();
        match own[..] {
            _ if self.step => Place::Step,
            [] => Place::Closed,
            [.., true] => Place::Operator,
            [false] => Place::Element,
            _ => Place::Nested,
        }
    }

    fn read(&mut self, x: NodeId, reader: &str, place: Place) {
        let (maker, ty) = (count::name(self.g.op(x)), self.g.ty(x));
        let cell = |of: String| (format!("{maker} {of}"), reader.to_string());
        self.table.arrays.entry(cell(ty.elem.to_string())).or_default().insert(place);
        self.table.ranks.entry(cell(ty.rank.to_string())).or_default().insert(place);
    }

    fn node(&mut self, n: NodeId) {
        let place = self.place(n);
        if !self.seen.insert((n, place)) {
            return;
        }
        let op = self.g.op(n).clone();
        let first = op.operands().next().map(|o| self.g.ty(o));
        if self.g.ty(n).is_scalar()
            && let Some(cell) = scalar_cell(&op, first.map(|t| t.elem), self.g.ty(n).elem)
        {
            self.table.scalars.entry(cell).or_default().insert(place);
        }
        if let Op::Cast(to, a) = op {
            let cell = (self.g.ty(a).elem.to_string(), to.to_string());
            self.table.casts.entry(cell).or_default().insert(place);
        }
        for o in op.operands() {
            if !self.g.ty(o).is_scalar() {
                self.read(o, count::name(&op), place);
            }
            self.node(o);
        }
        if let Some(l) = op.lambda() {
            let operator = op.is_reduction() || matches!(op, Op::Scan { .. });
            self.around.push((l.params.iter().map(|p| p.0).collect(), operator));
            self.node(l.body);
            self.around.pop();
        }
    }
}
