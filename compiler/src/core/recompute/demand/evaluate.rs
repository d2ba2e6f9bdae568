//! Evaluates one element symbolically: walks through the function of its array and notes each element that it reads,
//! with the reads' indices as symbols. An element of a stored array is a load. An element of a computed array is
//! noted by its number, and evaluated when it is asked for. Values are not computed: one that is not an index becomes
//! a fresh variable where an index depends on it.

use super::super::reuse;
use super::places::Scope;
use super::{Demand, Index, Needs, OF_ELEMENT};
use crate::core::graph::marks::Visited;
use crate::core::graph::memo::Found;
use crate::core::simplify::{extent, simplify};
use crate::core::{Lambda, NodeId, Op, Var, linear};
use crate::scalar::{BinaryOp, Lit, Ty};

/// The evaluation of one element.
struct Element<'d> {
    demand: &'d mut Demand,
    /// What was found so far, without the elements of computed arrays.
    needs: Needs,
    /// The elements of computed arrays, each with how often it is computed again in loops around its read.
    elements: Vec<(u32, f64)>,
    /// The variables around the present node, outermost first: the element's own indices, then those of loops.
    scope: Scope,
    /// How many of these are the element's own.
    of_element: usize,
    /// Whether the present node is an operand of a matrix product. The product's tiles have no slow path, which an
    /// elementary function may need, so an operand with such a function is always stored.
    in_product: bool,
}

/// One application of a function: the symbols of its parameters and of the nodes that were evaluated with these.
struct Env<'o> {
    known: Found,
    /// The nodes whose reads have been noted.
    walked: Visited,
    /// The environment of the function around this one.
    outer: Option<&'o Env<'o>>,
}

impl Env<'_> {
    fn inside<'o>(outer: Option<&'o Env<'o>>) -> Env<'o> {
        Env { known: Found::begin(), walked: Visited::begin(), outer }
    }

    fn get(&self, n: NodeId) -> Option<NodeId> {
        self.known.get(n).or_else(|| self.outer?.get(n))
    }
}

impl Demand {
    /// Finds what the element with this number needs, unless that was found in this round.
    pub(super) fn evaluate(&mut self, number: u32) {
        if self.needs[number as usize].round == self.round {
            return;
        }
        let place = self.elements[number as usize];
        let (mut scope, elements) = std::mem::take(&mut self.room);
        let free = place.1.iter().flat_map(|i| self.symbols.node(*i).free.iter());
        scope.extend(free.map(|v| (*v, None)));
        scope.sort_unstable();
        scope.dedup();
        let (of_element, needs) = (scope.len(), Needs::default());
        let mut element = Element { demand: self, needs, elements, scope, of_element, in_product: false };
        element.of(place.0, &place.1, &mut Env::inside(None));
        let Element { mut needs, mut elements, mut scope, .. } = element;
        if elements.len() > 1 {
            let mut seen = Visited::begin();
            elements.sort_by(|a, b| b.1.total_cmp(&a.1));
            elements.retain(|of| seen.insert(of.0));
        }
        for (of, _) in &elements {
            self.readers.entry(self.elements[*of as usize].0).or_default().push(number);
        }
        needs.first = self.needed.len() as u32;
        self.needed.append(&mut elements);
        needs.end = self.needed.len() as u32;
        needs.round = self.round;
        self.needs[number as usize] = needs;
        scope.clear();
        self.room = (scope, elements);
    }

    /// Returns the symbol of a scalar that does not depend on an element.
    pub(super) fn closed_scalar(&mut self, n: NodeId) -> NodeId {
        if let Some(known) = self.closed.get(&n) {
            return *known;
        }
        let made = match self.g.op(n).clone() {
            Op::Len(x, axis) => match extent(&mut self.g, x, axis) {
                same if same == n => self.symbol_of(&Op::Len(x, axis), &[self.leaves[&x]]),
                other => self.closed_scalar(other),
            },
            Op::Loop { .. } => self.symbols.fresh_var(self.g.ty(n).elem).1,
            op => {
                let operands: Vec<NodeId> = op.operands().map(|o| self.closed_scalar(o)).collect();
                self.symbol_of(&op, &operands)
            }
        };
        self.closed.insert(n, made);
        made
    }

    /// Returns the operation on symbols, in normal form.
    fn symbol_of(&mut self, op: &Op, operands: &[NodeId]) -> NodeId {
        match op.with(operands, None) {
            Op::Len(x, axis) => self.symbols.add(Op::Len(x, axis)),
            Op::Stage(x) => x,
            op => {
                if let Some(known) = self.simplified.get(&op) {
                    return *known;
                }
                let made = simplify(&mut self.symbols, op.clone());
                self.simplified.insert(op, made);
                made
            }
        }
    }
}

impl Element<'_> {
    /// Notes what the element of an array at `index` reads. `env` has the variables around the array, for an array
    /// that depends on an element.
    fn of(&mut self, array: NodeId, index: &[NodeId], env: &mut Env<'_>) {
        let body = self.demand.body(array);
        self.needs.ready = self.needs.ready.max(body.ready);
        let op = self.demand.g.op(array);
        match op {
            Op::Map(lambda, _) => {
                let (srcs, lambda) = (op.operands(), body.reads.then(|| lambda.clone()));
                for src in srcs.clone() {
                    self.read(src, index, env);
                }
                if let Some(lambda) = lambda {
                    let args: Vec<NodeId> = srcs.map(|x| self.value(x, index, env)).collect();
                    self.apply(&lambda, &args, env);
                }
            }
            Op::Generate(_, lambda) => {
                if body.reads {
                    let lambda = lambda.clone();
                    self.apply(&lambda, index, env);
                }
            }
            Op::Fill(..) | Op::Iota(_) => {}
            _ => {
                if let Some((src, index)) = self.source(array, index, env) {
                    self.read(src, &index, env);
                }
            }
        }
    }

    /// Notes the read of an element. An array that depends on an element cannot be stored, so it is walked at once.
    fn read(&mut self, array: NodeId, index: &[NodeId], env: &mut Env<'_>) {
        if !self.demand.g.is_closed(array) {
            return self.of(array, index, env);
        }
        if self.demand.is_leaf(array) {
            self.needs.loads += 1;
            let ready = self.demand.ready.get(&array).copied().unwrap_or(0);
            self.needs.ready = self.needs.ready.max(ready);
            return;
        }
        let repeated = match self.is_kept_apart(array, index) {
            true => f64::INFINITY,
            false => self.repeated(index),
        };
        let element = self.demand.number((array, Index::from(index)));
        self.elements.push((element, repeated));
    }

    /// Whether an array must be stored because its elements may leave error records in a loop whose strategy cannot
    /// leave them (`core/kept_records.rs`). Reductions of rows and columns can. The tiles of a product or of a
    /// contraction cannot, nor can a loop around another loop.
    fn is_kept_apart(&mut self, array: NodeId, index: &[NodeId]) -> bool {
        let is_loop = |of: &(Var, Option<i64>)| of.1.is_none_or(|n| n > reuse::UNROLLED);
        if !self.scope[self.of_element..].iter().any(is_loop) {
            return false;
        }
        self.demand.needs_contents = true;
        let content = self.demand.content(array);
        content.records && (content.loops || self.in_product || self.repeated(index) > 0.0)
    }

    /// Returns how often an element at this index is computed again because there are more loops around the read than
    /// the element has indices. Loops inside the innermost one on which the element depends do not count, because
    /// code for the element is moved out of them.
    fn repeated(&self, index: &[NodeId]) -> f64 {
        let symbols = &self.demand.symbols;
        let depends = |v: &Var| index.iter().any(|i| symbols.node(*i).free.contains(v));
        let Some(last) = self.scope.iter().rposition(|of| depends(&of.0)) else { return 0.0 };
        let loops = &self.scope[..self.of_element.max(last + 1)];
        let more = loops.len().saturating_sub(index.len());
        let mut lacks = 0.0;
        if more > 0 {
            // which loops the element lacks is not examined; the estimate assumes those with the fewest iterations
            let mut times: Vec<Option<i64>> = loops.iter().map(|of| of.1).collect();
            times.sort_by_key(|n| n.unwrap_or(i64::MAX));
            lacks = reuse::repeated(times.into_iter().take(more));
        }
        if self.in_product { lacks.max(reuse::OF_PRODUCT) } else { lacks }
    }

    /// Notes the reads of a function that is applied to these symbols.
    fn apply(&mut self, lambda: &Lambda, args: &[NodeId], env: &Env<'_>) {
        let mut inner = Env::inside(Some(env));
        for ((var, ty), arg) in lambda.params.iter().zip(args) {
            if let Some(n) = self.demand.g.find(&Op::Var(*var, *ty)) {
                inner.known.insert(n, *arg);
            }
        }
        self.walk(lambda.body, &mut inner);
    }

    /// Notes all reads that a scalar needs.
    fn walk(&mut self, root: NodeId, env: &mut Env<'_>) {
        let mut stack = vec![root];
        while let Some(n) = stack.pop() {
            if self.demand.g.is_closed(n) || !env.walked.insert(n.0) {
                continue;
            }
            let op = self.demand.g.op(n).clone();
            match &op {
                Op::At(x, index) | Op::Elem(x, index) => {
                    let symbols: Vec<NodeId> = index.iter().map(|i| self.symbol(*i, env)).collect();
                    // no strategy serves a loop whose element is a total read, so an array with loops is stored
                    let is_total = matches!(op, Op::At(..)) && self.demand.g.is_closed(*x);
                    let may_loop = is_total && !self.demand.is_leaf(*x);
                    self.demand.needs_contents |= may_loop;
                    if may_loop && self.demand.content(*x).loops {
                        let element = self.demand.number((*x, Index::from(&symbols[..])));
                        self.elements.push((element, f64::INFINITY));
                    } else {
                        self.read(*x, &symbols, env);
                    }
                    stack.extend(index.iter().rev());
                }
                Op::Reduce { init, src, .. }
                | Op::Fold { init, src, .. }
                | Op::SquaredDeviations { init, src } => {
                    self.nested(&[*src], env);
                    stack.push(*init);
                }
                Op::Dot { init, a, b } => {
                    self.nested(&[*a, *b], env);
                    stack.push(*init);
                }
                Op::PanelDot { init, a, b } => {
                    let outer = std::mem::replace(&mut self.in_product, true);
                    self.nested(&[*a, *b], env);
                    self.in_product = outer;
                    stack.push(*init);
                }
                Op::Len(..) => {}
                Op::Loop { step, .. } => {
                    stack.extend(op.operands());
                    stack.push(step.body);
                }
                op => {
                    let first = stack.len();
                    op.for_operands(|o| stack.push(o));
                    stack[first..].reverse();
                }
            }
        }
    }

    /// Notes the reads of a reduction or fold over these arrays, which is a loop inside of the element.
    fn nested(&mut self, arrays: &[NodeId], env: &mut Env<'_>) {
        let outer = self.scope.len();
        let rank = arrays.iter().map(|x| self.demand.rank(*x)).max().unwrap_or(0);
        // take variables that no loop around this one uses
        let (mut index, mut number) = (Vec::with_capacity(rank), OF_ELEMENT);
        while index.len() < rank {
            let next = self.demand.index(number);
            number += 1;
            if self.scope.iter().all(|of| of.0 != next.0) {
                index.push(next);
            }
        }
        let longest = arrays.iter().copied().find(|x| self.demand.rank(*x) == rank);
        for (i, axis) in index.iter().zip(0u8..) {
            let n = longest.map(|x| extent(&mut self.demand.g, x, axis));
            let n = n.and_then(|n| self.demand.g.as_lit(n)).and_then(Lit::as_int);
            self.scope.push((i.0, n));
        }
        for x in arrays {
            let index: Vec<NodeId> = index[..self.demand.rank(*x)].iter().map(|i| i.1).collect();
            self.read(*x, &index, env);
        }
        self.scope.truncate(outer);
    }

    /// If `view` is a slice, a reversal or another view of an array, returns that array and the indices in it.
    fn source(&mut self, view: NodeId, index: &[NodeId], env: &mut Env<'_>) -> Option<(NodeId, Index)> {
        let mut index = Index::from(index);
        let src = match *self.demand.g.op(view) {
            Op::Slice { src, axis, start, stride, .. } => {
                let [start, stride] = [start, stride].map(|n| self.symbol(n, env));
                let i = &mut index[usize::from(axis)];
                let is = |of: &Demand, n: NodeId, k: i64| of.symbols.as_lit(n) == Some(Lit::i64(k));
                let step = match is(self.demand, stride, 1) {
                    true => self.demand.linear(*i),
                    false => self.demand.index_op(BinaryOp::Mul, *i, stride),
                };
                *i = match is(self.demand, start, 0) {
                    true => step,
                    false => self.demand.index_op(BinaryOp::Add, start, step),
                };
                src
            }
            Op::Reverse(src, axis) => {
                let n = self.extent(src, axis, env);
                let one = self.demand.symbols.lit(Lit::i64(1));
                let last = self.demand.index_op(BinaryOp::Sub, n, one);
                let i = &mut index[usize::from(axis)];
                *i = self.demand.index_op(BinaryOp::Sub, last, *i);
                src
            }
            Op::Permute(src, ref axes) => {
                let mut of = index;
                axes.iter().zip(index.iter()).for_each(|(axis, i)| of[usize::from(*axis)] = *i);
                index = of;
                src
            }
            Op::Pick { src, axis, index: at } => {
                let at = self.symbol(at, env);
                index = index.with(axis.into(), at);
                src
            }
            Op::Spread { src, axis, .. } => {
                index = index.without(axis.into());
                src
            }
            _ => return None,
        };
        Some((src, index))
    }

    fn extent(&mut self, array: NodeId, axis: u8, env: &mut Env<'_>) -> NodeId {
        let n = extent(&mut self.demand.g, array, axis);
        self.symbol(n, env)
    }

    /// Returns the value of an element as a symbol.
    fn value(&mut self, array: NodeId, index: &[NodeId], env: &mut Env<'_>) -> NodeId {
        if let Some(leaf) = self.demand.leaves.get(&array) {
            return self.demand.symbols.add(Op::At(*leaf, index.to_vec()));
        }
        match self.source(array, index, env) {
            Some((src, index)) => self.value(src, &index, env),
            // a new symbol, because nothing else is known to equal this element
            None => self.demand.symbols.fresh_var(self.demand.g.ty(array).elem).1,
        }
    }

    /// Returns the symbol of a scalar.
    fn symbol(&mut self, n: NodeId, env: &mut Env<'_>) -> NodeId {
        if self.demand.g.is_closed(n) {
            return self.demand.closed_scalar(n);
        }
        if let Some(known) = env.get(n) {
            return known;
        }
        let op = self.demand.g.op(n).clone();
        let made = match &op {
            Op::At(x, index) | Op::Elem(x, index) => {
                let index: Vec<NodeId> = index.iter().map(|i| self.symbol(*i, env)).collect();
                self.value(*x, &index, env)
            }
            Op::Len(x, axis) => match extent(&mut self.demand.g, *x, *axis) {
                same if same == n => self.demand.symbols.fresh_var(Ty::I64).1,
                other => self.symbol(other, env),
            },
            op if op.is_loop() || matches!(op, Op::Var(..) | Op::Materialize(_) | Op::Iterate { .. }) => {
                self.demand.symbols.fresh_var(self.demand.g.ty(n).elem).1
            }
            op => {
                let operands: Vec<NodeId> = op.operands().map(|o| self.symbol(o, env)).collect();
                let is_sum = matches!(op, Op::Binary(BinaryOp::Add | BinaryOp::Sub, ..));
                let made = self.demand.symbol_of(op, &operands);
                match is_sum && linear::is_i64(&self.demand.symbols, made) {
                    true => self.demand.linear(made),
                    false => made,
                }
            }
        };
        env.known.insert(n, made);
        made
    }
}
