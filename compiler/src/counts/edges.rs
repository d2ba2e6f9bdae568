//! What a node needs, and how often.

use super::model::{ASSUMED_STEPS, Edge, Kind, is_rare};
use super::walk::Walk;
use crate::core::digits::{DIGIT_TILE, DIGITS};
use crate::core::{Lambda, NodeId, Op, Var, element_loops, tuples};
use crate::scalar::Ty;

impl Walk<'_> {
    /// Returns what a node needs.
    pub fn edges(&mut self, n: NodeId) -> Vec<Edge> {
        let op = self.g.op(n).clone();
        let edge = |to: NodeId, times: f64, kind| Edge { to, times, kind };
        match &op {
            Op::Const(_)
            | Op::Param(_)
            | Op::Var(..)
            | Op::Turn
            | Op::Checked
            | Op::Len(..)
            | Op::Iota(_) => vec![],
            Op::Within(index, ..) => vec![edge(*index, 1.0, Kind::Index)],
            Op::Select(c, _, usual) if is_rare(self.g.op(*c)) => {
                vec![edge(*c, 1.0, Kind::Value), edge(*usual, 1.0, Kind::Value)]
            }
            Op::Select(c, a, b) if self.is_of_indices(*c) => {
                let arms = [*a, *b].map(|x| edge(x, 1.0, Kind::Value));
                arms.into_iter().chain([edge(*c, 1.0, Kind::Index)]).collect()
            }
            Op::At(x, index) | Op::Elem(x, index) => {
                let mut list: Vec<Edge> = index.iter().map(|i| edge(*i, 1.0, Kind::Index)).collect();
                if !self.fused {
                    list.push(edge(*x, 1.0, Kind::Apart));
                }
                list
            }
            // what another launch has left is read
            op if self.is_left(op, n) => vec![],
            Op::Reduce { join: lambda, init, src, .. }
            | Op::ReduceOrdered { join: lambda, init, src, .. }
            | Op::Fold { step: lambda, init, src, .. } => {
                let length = self.elements(*src);
                let joined = self.joined(n, lambda, *src);
                let element = self.element(n, *src);
                vec![
                    edge(*init, 1.0, Kind::Value),
                    edge(joined, length, Kind::Element),
                    edge(element, length, Kind::Apart),
                ]
            }
            Op::Scan { join, init, src, .. } => {
                let joined = self.joined(n, join, *src);
                let element = self.element(n, *src);
                let before = if self.g.ty(*init).is_scalar() { *init } else { self.element(n, *init) };
                vec![
                    edge(before, 1.0, Kind::Value),
                    edge(joined, 1.0, Kind::Element),
                    edge(element, 1.0, Kind::Apart),
                ]
            }
            Op::Place { at, src } | Op::Bins { at, src, .. } | Op::Put { at, src, .. } => {
                let each = [*at, *src].map(|x| self.element(n, x));
                each.into_iter().map(|x| edge(x, 1.0, Kind::Apart)).collect()
            }
            Op::DigitCounts { digits, .. } => {
                let digit = self.element(n, *digits);
                vec![edge(digit, DIGIT_TILE as f64 / DIGITS as f64, Kind::Element)]
            }
            Op::DigitEnds { counts, .. } => vec![edge(self.element(n, *counts), 1.0, Kind::Element)],
            Op::ByDigit { digits, ends, src, .. } => {
                let each = [*digits, *src, *ends].map(|x| self.element(n, x));
                each.into_iter().map(|x| edge(x, 1.0, Kind::Element)).collect()
            }
            Op::SquaredDeviations { init, src } => {
                let length = self.elements(*src);
                let element = self.element(n, *src);
                vec![edge(*init, 1.0, Kind::Value), edge(element, length, Kind::Apart)]
            }
            Op::Dot { init, a, b } | Op::PanelDot { init, a, b } => {
                let length = self.elements(*a);
                let [a, b] = [*a, *b].map(|x| self.element(n, x));
                let sides = [a, b].map(|x| edge(x, length, Kind::Apart));
                sides.into_iter().chain([edge(*init, 1.0, Kind::Value)]).collect()
            }
            Op::Map(lambda, srcs) => {
                let body = self.mapped(n, lambda, srcs);
                let srcs = srcs.iter().map(|x| edge(*x, 1.0, Kind::Element));
                srcs.chain([edge(body, 1.0, Kind::Element)]).collect()
            }
            Op::Generate(_, lambda) => {
                let body = self.generated(n, n, lambda);
                vec![edge(body, 1.0, Kind::Element)]
            }
            Op::Pick { src, index, .. } => {
                vec![edge(*src, 1.0, Kind::Element), edge(*index, 1.0, Kind::Index)]
            }
            Op::Slice { src: x, .. }
            | Op::Reverse(x, _)
            | Op::Permute(x, _)
            | Op::Spread { src: x, .. }
            | Op::Materialize(x) => vec![edge(*x, 1.0, Kind::Element)],
            Op::Argsort(x) => vec![edge(*x, 1.0, Kind::Apart)],
            Op::Fill(_, x) => vec![edge(*x, 1.0, Kind::Value)],
            Op::Loop { step, count, init, .. } => {
                let (body, steps) = self.stepped(n, step, *count);
                let init = init.iter().map(|x| edge(*x, 1.0, Kind::Value));
                init.chain([edge(*count, 1.0, Kind::Index), edge(body, steps, Kind::Element)]).collect()
            }
            Op::Iterate { args, .. } => args.iter().map(|a| edge(*a, 1.0, Kind::Begin)).collect(),
            op => op.operands().map(|o| edge(o, 1.0, Kind::Value)).collect(),
        }
    }

    /// Returns the element of an array that a reduction goes over. In fused form it is the element
    /// itself, at the reduction's own indices; else the array.
    fn element(&mut self, reduction: NodeId, src: NodeId) -> NodeId {
        match self.g.op(src).clone() {
            Op::Generate(_, lambda) if self.fused => self.generated(reduction, src, &lambda),
            _ => src,
        }
    }

    /// Returns what a step of an element's loop computes, all of whose values share it, and how often.
    fn stepped(&mut self, n: NodeId, step: &Lambda, count: NodeId) -> (NodeId, f64) {
        let first = element_loops::first(&mut self.g, n);
        let steps = self.steps(step, count);
        if let Some(known) = self.opened.get(&(first, first)) {
            return (*known, steps);
        }
        let axis = self.axis(steps);
        // one that depends on no index runs before an element, in every thread
        let threads = (self.fused && self.g.is_closed(n)).then(|| self.axis(self.threads));
        let axes: Vec<u32> = self.axes(n).into_iter().chain(threads).chain([axis]).collect();
        let mut vars = Vec::new();
        for (param, at) in step.params.iter().zip(0..) {
            let (var, node) = self.fresh(param.1, &axes);
            vars.push(node);
            if at == 0 {
                self.of_index.insert(var, axis);
            }
        }
        let body = self.g.open(step, &vars);
        self.opened.insert((first, first), body);
        (body, steps)
    }

    /// Returns the number of steps of an element's loop.
    fn steps(&mut self, step: &Lambda, count: NodeId) -> f64 {
        let most = self.value(count).map(|l| l.as_i64().max(0) as f64);
        // an end that an element decides is a number for the indices that are assumed, where it may be 0
        let most = most.filter(|most| *most > 0.0 || self.g.is_closed(count));
        match most {
            Some(steps) if element_loops::is_counted(&self.g, step) => steps,
            most => most.map_or(ASSUMED_STEPS, |most| most.min(ASSUMED_STEPS)),
        }
    }

    /// Returns what a reduction computes for each element; the components of a tuple share it.
    fn joined(&mut self, n: NodeId, lambda: &Lambda, src: NodeId) -> NodeId {
        let first = tuples::component(self.g.op(n), 0);
        let first = self.g.add(first);
        if let Some(known) = self.opened.get(&(first, first)) {
            return *known;
        }
        let mut axes = self.axes(n);
        axes.extend(match self.fused {
            true => {
                let extents = self.domain(src);
                self.index(n, &extents).1
            }
            false => self.new_axes(src),
        });
        let vars: Vec<NodeId> = lambda.params.iter().map(|p| self.fresh(p.1, &axes).1).collect();
        let body = self.g.open(lambda, &vars);
        self.opened.insert((first, first), body);
        body
    }

    /// Returns an element of a map.
    fn mapped(&mut self, n: NodeId, lambda: &Lambda, srcs: &[NodeId]) -> NodeId {
        if let Some(known) = self.opened.get(&(n, n)) {
            return *known;
        }
        let key = (true, srcs.to_vec());
        let vars = self.shared_by(n, &key).unwrap_or_else(|| {
            let own = self.new_axes(n);
            let axes = [self.axes(n), own.clone()].concat();
            let vars: Vec<NodeId> = lambda.params.iter().map(|p| self.fresh(p.1, &axes).1).collect();
            self.shared.entry(key).or_default().push((vars.clone(), own));
            vars
        });
        let body = self.g.open(lambda, &vars);
        self.opened.insert((n, n), body);
        body
    }

    /// Returns the variables of another array over the same, unless this array is inside of it.
    fn shared_by(&self, n: NodeId, key: &(bool, Vec<NodeId>)) -> Option<Vec<NodeId>> {
        let around = self.axes(n);
        let known = self.shared.get(key)?;
        known.iter().find(|(_, own)| own.iter().all(|a| !around.contains(a))).map(|known| known.0.clone())
    }

    /// Returns an element of a generated array that `user` goes over.
    fn generated(&mut self, user: NodeId, array: NodeId, lambda: &Lambda) -> NodeId {
        if let Some(known) = self.opened.get(&(user, array)) {
            return *known;
        }
        let index: Vec<NodeId> = match self.fused {
            true => {
                let extents = self.domain(array);
                self.index(user, &extents).0
            }
            false => {
                let key = (false, self.domain(array));
                self.shared_by(array, &key).unwrap_or_else(|| {
                    let own = self.new_axes(array);
                    let vars: Vec<NodeId> = own.iter().map(|axis| self.own_index(*axis)).collect();
                    self.shared.entry(key).or_default().push((vars.clone(), own));
                    vars
                })
            }
        };
        let body = self.g.open(lambda, &index);
        self.opened.insert((user, array), body);
        body
    }

    /// Returns a new index of an axis.
    fn own_index(&mut self, axis: u32) -> NodeId {
        let (var, node) = self.fresh(Ty::I64, &[axis]);
        self.of_index.insert(var, axis);
        node
    }

    /// Returns the nodes of the extents of an array in fused form.
    fn domain(&mut self, array: NodeId) -> Vec<NodeId> {
        match self.g.op(array).clone() {
            Op::Generate(extents, _) => extents,
            Op::Materialize(x) => self.domain(x),
            _ => vec![array],
        }
    }

    /// Returns the indices of the loop over these extents in the place of `user`, and the axes that
    /// values in it depend on. All operations of one place over the same extents share it.
    fn index(&mut self, user: NodeId, extents: &[NodeId]) -> (Vec<NodeId>, Vec<u32>) {
        let context = match self.own.contains(&user) {
            true => vec![],
            false => self.axes(user),
        };
        let key = (context.clone(), extents.to_vec());
        if let Some(known) = self.loops.get(&key) {
            return known.clone();
        }
        let own: Vec<u32> = extents
            .iter()
            .map(|e| {
                let length = match self.g.ty(*e).is_scalar() {
                    true => self.length(*e) as f64,
                    false => self.elements(*e),
                };
                self.axis(length)
            })
            .collect();
        let axes: Vec<u32> = context.into_iter().chain(own.iter().copied()).collect();
        let index: Vec<(Var, NodeId)> = own.iter().map(|_| self.fresh(Ty::I64, &axes)).collect();
        for ((var, _), axis) in index.iter().zip(own) {
            self.of_index.insert(*var, axis);
        }
        let made = (index.into_iter().map(|i| i.1).collect::<Vec<_>>(), axes);
        self.loops.insert(key, made.clone());
        made
    }
}
