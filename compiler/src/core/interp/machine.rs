//! Evaluates nodes on demand, each value once for each binding of its variables.

mod argsort;
mod components;
mod digits;
mod place;
mod scan;
mod seen;
mod tree;

use super::env::{Env, Memo};
use super::moments::Moments;
use super::values::{Array, Tuple, Val, for_each_index};
use super::watch::Watch;
use crate::core::bins;
use crate::core::length::Length;
use crate::core::{Function, Graph, Lambda, NodeId, Op, PANEL, verify};
use crate::error::{Error, Result};
use crate::scalar::{BinaryOp, Lit, eval_binary, eval_cast, eval_mul_add, eval_unary};
use rustc_hash::FxHashMap as HashMap;
use std::rc::Rc;

pub(super) struct Machine<'a> {
    pub(super) f: &'a Function,
    pub(super) g: &'a Graph,
    args: Vec<Val>,
    /// The number of the step, in the step of an iteration.
    pub(super) turn: i64,
    pub(super) closed: HashMap<NodeId, Val>,
    /// The values of nodes that were computed as part of a bound.
    bounds: HashMap<NodeId, Val>,
    pub(super) in_bound: bool,
    /// Empty tables, which the next lambda reuses.
    pub(super) spare: Vec<Memo>,
    pub(super) recorded: bool,
    pub(super) watch: Option<&'a Watch>,
    /// The first rule of a step that does not hold, or the first place that is not an index.
    pub(super) failed: Option<Error>,
}

impl<'a> Machine<'a> {
    /// Makes a machine for a call, and checks the call's shape rules.
    pub(super) fn checked(f: &'a Function, args: Vec<Val>) -> Result<Machine<'a>> {
        let mut m = Machine {
            f,
            g: &f.graph,
            args,
            turn: 0,
            closed: HashMap::default(),
            bounds: HashMap::default(),
            in_bound: false,
            spare: Vec::new(),
            recorded: false,
            watch: None,
            failed: None,
        };
        let env = Env::default();
        for r in &f.requires {
            let (a, b) = (m.scalar(r.a, &env).as_i64(), m.scalar(r.b, &env).as_i64());
            if !r.rule.holds(a, b) {
                let message = format!("{}: {}: {}", f.name, r.subject, r.rule.violation(&r.subject, a, b));
                return Err(Error::user("E0302", message).at(r.loc.first()));
            }
        }
        // host scalars leave no record: what checking the rules has left is cleared
        (m.recorded, m.closed) = (false, HashMap::default());
        Ok(m)
    }

    pub(super) fn scalar(&mut self, n: NodeId, env: &Env) -> Lit {
        match self.eval(n, env) {
            Val::Scalar(l) => l,
            Val::Array(_) => unreachable!("verified: {n:?} is a scalar"),
        }
    }

    /// Returns a length or an index of the whole call.
    pub(super) fn bound(&mut self, n: NodeId, env: &Env) -> i64 {
        self.host(n, env).as_i64()
    }

    /// Evaluates a host scalar. It leaves no record if it is a bound (semantics 4.2), but may leave one elsewhere, so
    /// its value as a bound is kept apart.
    pub(super) fn host(&mut self, n: NodeId, env: &Env) -> Lit {
        if self.in_bound || !self.g.is_closed(n) || !verify::is_host(self.g, n) {
            return self.scalar(n, env);
        }
        let recorded = self.recorded;
        std::mem::swap(&mut self.closed, &mut self.bounds);
        self.in_bound = true;
        let value = self.scalar(n, env);
        self.in_bound = false;
        std::mem::swap(&mut self.closed, &mut self.bounds);
        self.recorded = recorded;
        value
    }

    pub(super) fn array(&mut self, n: NodeId, env: &Env) -> Rc<Array> {
        match self.eval(n, env) {
            Val::Array(v) => v,
            Val::Scalar(_) => unreachable!("verified: {n:?} is an array"),
        }
    }

    /// Evaluates a node. Closed nodes are computed once, others once for each binding of
    /// the variables that they depend on.
    pub(super) fn eval(&mut self, n: NodeId, env: &Env) -> Val {
        match self.g.op(n) {
            Op::Const(l) => return Val::Scalar(*l),
            Op::Var(v, _) => return Val::Scalar(env.var(*v)),
            Op::Turn => return Val::Scalar(Lit::i64(self.turn)),
            Op::Checked => return Val::Scalar(Lit::i64(1)),
            _ => {}
        }
        if self.g.is_closed(n) {
            if let Some(v) = self.closed.get(&n) {
                return v.clone();
            }
            let v = self.compute(n, env);
            self.show(n, &v, env);
            self.closed.insert(n, v.clone());
            return v;
        }
        let env = env.of(&self.g.node(n).free);
        if let Some(v) = env.memo.get(n) {
            return v;
        }
        let v = self.compute(n, env);
        self.show(n, &v, env);
        env.memo.insert(n, v.clone());
        v
    }

    fn apply(&mut self, l: &Lambda, args: &[Lit], env: &Env) -> Lit {
        self.applied(l, args, env, |m, inner| m.scalar(l.body, inner))
    }

    /// Evaluates something with a lambda's variables bound.
    fn applied<T>(
        &mut self,
        l: &Lambda,
        args: &[Lit],
        env: &Env,
        of: impl FnOnce(&mut Self, &Env) -> T,
    ) -> T {
        let memo = self.spare.pop().unwrap_or_default();
        let inner = Env { params: &l.params, args, memo, outer: Some(env), shown: Default::default() };
        let value = of(self, &inner);
        inner.memo.clear();
        self.spare.push(inner.memo);
        value
    }

    fn compute(&mut self, n: NodeId, env: &Env) -> Val {
        let g = self.g;
        Val::Scalar(match g.op(n) {
            Op::Param(i) => return self.args[*i as usize].clone(),
            Op::Unary(op, a) => eval_unary(*op, self.scalar(*a, env)),
            Op::Binary(op, a, b) => {
                let (a, b) = (self.scalar(*a, env), self.scalar(*b, env));
                let (value, fault) = eval_binary(*op, a, b);
                self.leave(n, fault.is_some() && g.op(n).may_record(g), |m| m.said(n));
                value
            }
            Op::MulAdd(a, b, c) => {
                eval_mul_add(self.scalar(*a, env), self.scalar(*b, env), self.scalar(*c, env))
            }
            Op::Select(c, a, b) => {
                let taken = if self.scalar(*c, env).as_bool() { *a } else { *b };
                self.scalar(taken, env)
            }
            Op::Cast(ty, a) => eval_cast(*ty, self.scalar(*a, env)),
            Op::Stage(a) => self.scalar(*a, env),
            Op::Len(x, axis) => Lit::i64(self.extent(*x, *axis, env)),
            Op::At(x, index) | Op::Elem(x, index) => {
                let array = self.array(*x, env);
                let index: Vec<i64> = index.iter().map(|i| self.scalar(*i, env).as_i64()).collect();
                let value = array.position(&index).map(|at| array.elements[at]);
                self.leave(n, value.is_none(), |m| m.said_of_read(*x, &index, &array.extents));
                assert!(
                    value.is_some() || !matches!(g.op(n), Op::Elem(..)),
                    "elem out of bounds: a pass proved wrongly"
                );
                value.unwrap_or(Lit::zero(g.ty(*x).elem))
            }
            Op::Within(i, len, _) => {
                let (i, len) = (self.scalar(*i, env).as_i64(), self.scalar(*len, env).as_i64());
                self.leave(n, !(0..len).contains(&i), |m| m.said_of_test(n, [i, len], env));
                Lit::bool((0..len).contains(&i))
            }
            Op::Leave(label, _) => {
                let is_left = self.scalar(*label, env).bits != 0;
                self.leave(n, is_left, |m| m.said(n));
                Lit::bool(is_left)
            }
            Op::Reduce { join, init, src, which } => {
                let v = self.tuples(*src, env);
                let joined = |m: &mut Self, a: Tuple, b: Tuple| m.apply_to(join, &a, &b, env);
                let v = self.tree(v, &mut |m, _, acc, next| joined(m, acc, next), &mut joined.clone());
                let init = self.tuple(*init, env);
                v.map_or(init.clone(), |v| self.apply_to(join, &init, &v, env))[*which as usize]
            }
            Op::ReduceOrdered { join, init, src, which } => {
                let v = self.tuples(*src, env);
                let v = self.ordered_tree(v, &mut |m, a, b| m.apply_to(join, &a, &b, env));
                let init = self.tuple(*init, env);
                v.map_or(init.clone(), |v| self.apply_to(join, &init, &v, env))[*which as usize]
            }
            Op::Tuple(_) => unreachable!("verified: tuples are parts of reductions, folds and loops"),
            Op::Dot { init, a, b } => {
                let (a, b) = (self.array(*a, env), self.array(*b, env));
                let (a, b) = (&a.elements, &b.elements);
                let mul = |i: usize| eval_binary(BinaryOp::Mul, a[i], b[i]).0;
                let plus = |a, b| eval_binary(BinaryOp::Add, a, b).0;
                // the values of the first level are the products, but within a column the sum continues by
                // multiply-adds
                let products = (0..a.len()).map(mul).collect();
                let v = self.tree(
                    products,
                    &mut |_, i, s, p| i.map_or(plus(s, p), |i| eval_mul_add(a[i], b[i], s)),
                    &mut |_, a, b| plus(a, b),
                );
                let init = self.scalar(*init, env);
                v.map_or(init, |v| plus(init, v))
            }
            Op::SquaredDeviations { init, src } => {
                let v = self.array(*src, env).elements.clone();
                let values = v.iter().map(|x| Moments::of(*x)).collect();
                let total = self.tree(
                    values,
                    &mut |_, i, m: Moments, next| i.map_or(m.joined(next), |i| m.after(v[i])),
                    &mut |_, a, b| a.joined(b),
                );
                let init = self.scalar(*init, env);
                total.map_or(init, |m| eval_binary(BinaryOp::Add, init, m.sum).0)
            }
            Op::PanelDot { init, a, b } => {
                let (a, b) = (self.array(*a, env), self.array(*b, env));
                let plus = |a, b| eval_binary(BinaryOp::Add, a, b).0;
                let panel = |(a, b): (&[Lit], &[Lit])| {
                    let first = eval_binary(BinaryOp::Mul, a[0], b[0]).0;
                    a[1..].iter().zip(&b[1..]).fold(first, |s, (a, b)| eval_mul_add(*a, *b, s))
                };
                let panels = a.elements.chunks(PANEL as usize).zip(b.elements.chunks(PANEL as usize));
                let sum = panels.map(panel).reduce(plus);
                let init = self.scalar(*init, env);
                sum.map_or(init, |sum| plus(init, sum))
            }
            Op::Fold { step, init, src, which } => {
                let init = self.tuple(*init, env);
                let all = self.tuples(*src, env);
                all.iter().fold(init, |acc, x| self.apply_to(step, &acc, x, env))[*which as usize]
            }
            Op::Loop { step, which, count, init } => self.element_loop(step, *which, *count, init, env),
            Op::Iterate { .. } => return self.iteration(n, env),
            _ => return Val::Array(Rc::new(self.elements(n, env))),
        })
    }

    /// Returns a length without computing the elements, which might leave records.
    fn extent(&mut self, x: NodeId, axis: u8, env: &Env) -> i64 {
        match Length::of(self.g.op(x), axis) {
            Length::Of(x, axis) => self.extent(x, axis, env),
            Length::Is(n) => self.bound(n, env),
            Length::Span { start, stop, stride } => {
                let [start, stop, stride] = [start, stop, stride].map(|n| self.bound(n, env));
                if stop > start { (stop - start - 1) / stride.max(1) + 1 } else { 0 }
            }
            Length::Own => self.array(x, env).extents[axis as usize],
        }
    }

    pub(super) fn extents(&mut self, x: NodeId, env: &Env) -> Vec<i64> {
        (0..self.g.ty(x).rank).map(|axis| self.extent(x, axis, env)).collect()
    }

    fn elements(&mut self, n: NodeId, env: &Env) -> Array {
        let extents = match self.g.op(n) {
            // their extents are those of their operands, which would be computed here in an empty index space, and so
            // might need an index that does not exist
            Op::Map(..) | Op::Materialize(_) => Vec::new(),
            _ => self.extents(n, env),
        };
        match self.g.op(n) {
            Op::Map(l, srcs) => {
                let srcs: Vec<_> = srcs.iter().map(|s| self.array(*s, env)).collect();
                let mut row = Vec::new();
                let elements = (0..srcs[0].elements.len()).map(|i| {
                    row.clear();
                    row.extend(srcs.iter().map(|s| s.elements[i]));
                    self.apply(l, &row, env)
                });
                let elements = elements.collect();
                Array { extents: srcs[0].extents.clone(), elements }
            }
            Op::Generate(_, l) => {
                let (mut elements, mut args) = (Vec::new(), Vec::new());
                for_each_index(&extents, &mut |index| {
                    args.clear();
                    args.extend(index.iter().map(|i| Lit::i64(*i)));
                    elements.push(self.apply(l, &args, env));
                });
                Array { extents, elements }
            }
            Op::Slice { src, axis, start, stride, .. } => {
                let [start, stride] = [start, stride].map(|n| self.bound(*n, env));
                self.moved(*src, extents, env, &|i| i[*axis as usize] = start + i[*axis as usize] * stride)
            }
            Op::Reverse(x, axis) => {
                let last = extents[*axis as usize] - 1;
                self.moved(*x, extents, env, &|i| i[*axis as usize] = last - i[*axis as usize])
            }
            Op::Permute(x, axes) => self.moved(*x, extents, env, &|i| {
                let from = i.clone();
                axes.iter().zip(from).for_each(|(axis, at)| i[*axis as usize] = at);
            }),
            Op::Pick { src, axis, index } => {
                let at = self.bound(*index, env);
                self.moved(*src, extents, env, &|i| i.insert((*axis).into(), at))
            }
            Op::Spread { src, axis, .. } => self.moved(*src, extents, env, &|i| {
                i.remove((*axis).into());
            }),
            Op::Iota(_) => Array::vector((0..extents[0]).map(Lit::i64).collect()),
            Op::Fill(_, v) => {
                let n = extents[0];
                Array::vector(if n <= 0 { Vec::new() } else { vec![self.scalar(*v, env); n as usize] })
            }
            Op::Materialize(x) => {
                let x = self.array(*x, env);
                Array { extents: x.extents.clone(), elements: x.elements.clone() }
            }
            Op::Scan { part, join, init, src, which } => {
                let all = self.scan(*part, join, (*init, *src), env);
                Array::vector(all.into_iter().map(|v| v[*which as usize]).collect())
            }
            Op::Place { at, src } => {
                let (at, src) = (self.array(*at, env), self.array(*src, env));
                place::placed(&self.f.name, &at, &src).unwrap_or_else(|e| {
                    self.failed.get_or_insert(e);
                    Array { extents: src.extents.clone(), elements: src.elements.clone() }
                })
            }
            Op::Bins { op, parts, count, at, src } => {
                let [parts, count] = [parts, count].map(|n| self.bound(*n, env).max(0));
                let (at, src) = (self.array(*at, env), self.array(*src, env));
                let of_part = bins::part(src.elements.len() as i64, parts).max(1);
                let identity = bins::identity(*op, self.g.ty(n).elem);
                let mut elements = vec![identity; (parts * count) as usize];
                for ((i, k), x) in (0..).zip(&at.elements).zip(&src.elements) {
                    if (0..count).contains(&k.as_i64()) {
                        let bin = &mut elements[(i / of_part * count + k.as_i64()) as usize];
                        *bin = eval_binary(*op, *bin, *x).0;
                    }
                }
                Array { extents: vec![parts, count], elements }
            }
            Op::Put { at, src, base, after } => {
                // this leaves the records of broken promises
                self.array(*after, env);
                let [at, src, base] = [*at, *src, *base].map(|x| self.array(x, env));
                let mut elements = base.elements.clone();
                for (k, x) in at.elements.iter().zip(&src.elements) {
                    let place = usize::try_from(k.as_i64()).ok().and_then(|k| elements.get_mut(k));
                    place.into_iter().for_each(|place| *place = *x);
                }
                Array { extents: base.extents.clone(), elements }
            }
            Op::DigitCounts { count, tiles, digits } => {
                let [count, tiles] = [*count, *tiles].map(|n| self.scalar(n, env).as_i64() as usize);
                Array::vector(digits::counts(&self.array(*digits, env).elements, count, tiles))
            }
            Op::DigitEnds { tiles, counts, .. } => {
                let tiles = self.scalar(*tiles, env).as_i64() as usize;
                Array::vector(digits::ends(&self.array(*counts, env).elements, tiles))
            }
            Op::ByDigit { tiles, digits, ends, src } => {
                let tiles = self.scalar(*tiles, env).as_i64() as usize;
                let [digits, ends, src] = [*digits, *ends, *src].map(|x| self.array(x, env));
                Array::vector(digits::moved(&src.elements, (&digits.elements, tiles), &ends.elements))
            }
            Op::Argsort(x) => argsort::argsort(&self.array(*x, env).elements),
            op => unreachable!("verified: {op:?} is no array"),
        }
    }

    /// Returns the array whose elements are those of `src` at other indices.
    fn moved(&mut self, src: NodeId, extents: Vec<i64>, env: &Env, to: &dyn Fn(&mut Vec<i64>)) -> Array {
        let (src, mut elements, mut from) = (self.array(src, env), Vec::new(), Vec::new());
        for_each_index(&extents, &mut |index| {
            from.clear();
            from.extend(index);
            to(&mut from);
            let at = src.position(&from).expect("the shape rules hold");
            elements.push(src.elements[at]);
        });
        Array { extents, elements }
    }
}
