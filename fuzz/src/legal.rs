//! Whether a call keeps what every construct asks of its operands, with or without shape rules that
//! say so: a program that was made smaller may have lost them.

use crate::case::Case;
use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::core::simplify;
use arraygpu_compiler::core::{Function, Graph, NodeId, Op, verify};
use arraygpu_compiler::scalar::{Lit, eval_binary, eval_cast, eval_mul_add, eval_unary};
use rustc_hash::FxHashMap as HashMap;

/// What a call tells about a parameter.
#[derive(Clone)]
enum Given {
    Scalar(Lit),
    Extents(Vec<i64>),
}

/// Whether all calls do. A call that need not fit may also be one that a shape rule refuses.
pub fn is_legal(case: &Case) -> bool {
    case.calls.iter().all(|c| {
        let given = c.args.iter().map(|v| match v {
            Value::Scalar(l) => Given::Scalar(*l),
            Value::Vector(v) => Given::Extents(vec![v.len() as i64]),
            Value::Array(extents, _) => Given::Extents(extents.clone()),
        });
        let given: Vec<Given> = given.collect();
        // the call ends at the rule that does not hold
        !c.fits && !rules(&case.function, given.clone()) || keeps(&case.function, given)
    })
}

struct Host<'a> {
    g: Graph,
    of: &'a Function,
    given: Vec<Given>,
    known: HashMap<NodeId, Option<Lit>>,
}

fn rules(f: &Function, given: Vec<Given>) -> bool {
    let mut h = Host { g: f.graph.clone(), of: f, given, known: HashMap::default() };
    f.requires.iter().all(|r| match (h.number(r.a), h.number(r.b)) {
        (Some(a), Some(b)) => r.rule.holds(a, b),
        _ => false,
    })
}

fn keeps(f: &Function, given: Vec<Given>) -> bool {
    if !rules(f, given.clone()) {
        return false;
    }
    let mut h = Host { g: f.graph.clone(), of: f, given, known: HashMap::default() };
    f.graph.reachable(f.roots()).into_iter().all(|n| h.fits(n).unwrap_or(false))
}

impl Host<'_> {
    fn number(&mut self, n: NodeId) -> Option<i64> {
        self.value(n).map(Lit::as_i64)
    }

    /// `None` if the host does not know it.
    fn value(&mut self, n: NodeId) -> Option<Lit> {
        if let Some(known) = self.known.get(&n) {
            return *known;
        }
        let value = match self.g.op(n).clone() {
            Op::Const(l) => Some(l),
            Op::Param(i) => match &self.given[i as usize] {
                Given::Scalar(l) => Some(*l),
                Given::Extents(_) => None,
            },
            Op::Unary(op, a) => self.value(a).map(|a| eval_unary(op, a)),
            Op::Binary(op, a, b) => self.value(a).zip(self.value(b)).map(|(a, b)| eval_binary(op, a, b).0),
            Op::MulAdd(a, b, c) => {
                let (a, b, c) = (self.value(a)?, self.value(b)?, self.value(c)?);
                Some(eval_mul_add(a, b, c))
            }
            Op::Select(c, a, b) => {
                let c = self.value(c)?;
                self.value(if c.as_bool() { a } else { b })
            }
            Op::Cast(ty, a) => self.value(a).map(|a| eval_cast(ty, a)),
            Op::Stage(a) => self.value(a),
            Op::Checked => Some(Lit::i64(1)),
            Op::Len(x, axis) => match (self.g.op(x).clone(), axis) {
                (Op::Param(i), axis) => match &self.given[i as usize] {
                    Given::Extents(all) => all.get(usize::from(axis)).map(|n| Lit::i64(*n)),
                    Given::Scalar(_) => None,
                },
                _ => self.shape(x).and_then(|s| s.get(usize::from(axis)).map(|n| Lit::i64(*n))),
            },
            _ => None,
        };
        self.known.insert(n, value);
        value
    }

    fn shape(&mut self, x: NodeId) -> Option<Vec<i64>> {
        if let Op::Param(i) = *self.g.op(x) {
            return match &self.given[i as usize] {
                Given::Extents(all) => Some(all.clone()),
                Given::Scalar(_) => None,
            };
        }
        let extents = simplify::extents(&mut self.g, x);
        extents.into_iter().map(|n| self.number(n)).collect()
    }

    /// Whether a node gets what it needs; None if the host cannot know.
    fn fits(&mut self, n: NodeId) -> Option<bool> {
        Some(match self.g.op(n).clone() {
            Op::Map(_, srcs) => {
                let first = self.shape(srcs[0])?;
                for s in &srcs[1..] {
                    if self.shape(*s)? != first {
                        return Some(false);
                    }
                }
                true
            }
            Op::Dot { a, b, .. } | Op::PanelDot { a, b, .. } => self.shape(a)? == self.shape(b)?,
            Op::Generate(extents, _) => {
                for e in extents {
                    if self.number(e)? < 0 {
                        return Some(false);
                    }
                }
                true
            }
            Op::Iota(k) | Op::Fill(k, _) | Op::Spread { n: k, .. } => self.number(k)? >= 0,
            Op::Slice { src, axis, start, stop, stride } => {
                let n = self.shape(src)?[usize::from(axis)];
                let [start, stop, stride] = [self.number(start)?, self.number(stop)?, self.number(stride)?];
                0 <= start && start <= stop && stop <= n && stride >= 1
            }
            Op::Pick { src, axis, index } => match verify::is_host(&self.g, index) {
                true => (0..self.shape(src)?[usize::from(axis)]).contains(&self.number(index)?),
                // the index runs over that axis: the interpreter checks it
                false => true,
            },
            Op::Iterate { step, form, count, args, .. } => {
                let mut given = Vec::new();
                for a in args {
                    given.push(match self.g.ty(a).is_scalar() {
                        true => Given::Scalar(self.value(a)?),
                        false => Given::Extents(self.shape(a)?),
                    });
                }
                let step = &self.of.steps[step as usize];
                let mut inner =
                    Host { g: step.graph.clone(), of: step, given: given.clone(), known: HashMap::default() };
                for (state, r) in given.iter().zip(&step.results) {
                    let Given::Extents(before) = state else { return Some(false) };
                    if inner.shape(r.value)? != *before {
                        return Some(false);
                    }
                }
                given.truncate(step.params.len());
                let checks =
                    form.function().is_none_or(|other| keeps(&self.of.steps[other as usize], given.clone()));
                self.number(count)? >= 0 && checks && keeps(step, given)
            }
            _ => true,
        })
    }
}
