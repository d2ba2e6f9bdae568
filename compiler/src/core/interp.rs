//! The reference interpreter: slow, obvious, the oracle of all tests. `docs/semantics.md` as code.
//!
//! It evaluates core IR at any stage of the pipeline. `select` is lazy and every value is computed once for each binding of its variables, so
//! a record is left exactly when the program's meaning asks for it.

use super::{Function, Graph, Lambda, NodeId, Op, Type, Var};
use crate::error::{Error, Result};
use crate::scalar::{BinaryOp, Lit, eval_binary, eval_cast, eval_mul_add, eval_unary};
use rustc_hash::FxHashMap as HashMap;
use std::rc::Rc;

/// An argument or a result.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// A scalar.
    Scalar(Lit),
    /// A vector; all elements have one type.
    Vector(Vec<Lit>),
}

/// What a call gives.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// The results, NaN canonical.
    pub results: Vec<Value>,
    /// Whether an error record was left (semantics section 6).
    pub recorded: bool,
}

/// Columns and elements of a tile: semantics 5.1.
const COLUMNS: usize = super::COLUMNS as usize;
const TILE: usize = super::TILE as usize;

/// Stack for the recursion over deep programs.
const STACK: usize = 512 << 20;

/// Calls a function. A shape rule that does not hold is an error with the rule's sizes.
pub fn run(f: &Function, args: &[Value]) -> Result<Outcome> {
    stacker::grow(STACK, || run_here(f, args))
}

fn run_here(f: &Function, args: &[Value]) -> Result<Outcome> {
    check_arguments(f, args)?;
    let args = args.iter().map(|a| match a {
        Value::Scalar(l) => Val::Scalar(*l),
        Value::Vector(v) => Val::Array(Rc::new(v.clone())),
    });
    let mut m = Machine { g: &f.graph, args: args.collect(), closed: HashMap::default(), recorded: false };
    let env = Env::default();
    for r in &f.requires {
        let (a, b) = (m.scalar(r.a, &env).as_i64(), m.scalar(r.b, &env).as_i64());
        if !r.rule.holds(a, b) {
            let message = format!("{}: {}: {}", f.name, r.subject, r.rule.violation(a, b));
            return Err(Error::user("E0302", message).at(r.loc.first()));
        }
    }
    // host scalars leave no record
    (m.recorded, m.closed) = (false, HashMap::default());
    // what does not depend on an element is computed for the call, whatever elements need of it
    for n in f.graph.reachable(f.results.iter().map(|r| r.value)) {
        let whole = matches!(
            f.graph.op(n),
            Op::Reduce { .. } | Op::Dot { .. } | Op::Fold { .. } | Op::Materialize(_)
        );
        if whole && f.graph.is_closed(n) {
            m.eval(n, &env);
        }
    }
    let results = f.results.iter().map(|r| match m.eval(r.value, &env) {
        Val::Scalar(l) => Value::Scalar(l.canonical()),
        Val::Array(v) => Value::Vector(v.iter().map(|l| l.canonical()).collect()),
    });
    Ok(Outcome { results: results.collect(), recorded: m.recorded })
}

fn check_arguments(f: &Function, args: &[Value]) -> Result<()> {
    let fits = |ty: Type, a: &Value| match a {
        Value::Scalar(l) => ty == Type::scalar(l.ty),
        Value::Vector(v) => ty.rank == 1 && v.iter().all(|l| l.ty == ty.elem),
    };
    if args.len() != f.params.len() || !f.params.iter().zip(args).all(|(p, a)| fits(p.ty, a)) {
        return Err(Error::user("E0303", format!("{}: the arguments do not fit the parameters", f.name)));
    }
    Ok(())
}

#[derive(Clone)]
enum Val {
    Scalar(Lit),
    Array(Rc<Vec<Lit>>),
}

/// Bindings of variables, and the values that depend on them.
#[derive(Default)]
struct Env<'e> {
    vars: HashMap<Var, Lit>,
    memo: std::cell::RefCell<HashMap<NodeId, Lit>>,
    outer: Option<&'e Env<'e>>,
}

impl Env<'_> {
    fn var(&self, v: Var) -> Lit {
        match self.vars.get(&v) {
            Some(l) => *l,
            None => self.outer.expect("verified: every variable is bound").var(v),
        }
    }
}

struct Machine<'a> {
    g: &'a Graph,
    args: Vec<Val>,
    closed: HashMap<NodeId, Val>,
    recorded: bool,
}

impl Machine<'_> {
    fn scalar(&mut self, n: NodeId, env: &Env) -> Lit {
        match self.eval(n, env) {
            Val::Scalar(l) => l,
            Val::Array(_) => unreachable!("verified: {n:?} is a scalar"),
        }
    }

    fn array(&mut self, n: NodeId, env: &Env) -> Rc<Vec<Lit>> {
        match self.eval(n, env) {
            Val::Array(v) => v,
            Val::Scalar(_) => unreachable!("verified: {n:?} is a vector"),
        }
    }

    /// Closed nodes are computed once, open scalars once for each binding.
    fn eval(&mut self, n: NodeId, env: &Env) -> Val {
        if self.g.is_closed(n) {
            if let Some(v) = self.closed.get(&n) {
                return v.clone();
            }
            let v = self.compute(n, env);
            self.closed.insert(n, v.clone());
            return v;
        }
        if let Some(l) = env.memo.borrow().get(&n) {
            return Val::Scalar(*l);
        }
        let v = self.compute(n, env);
        if let Val::Scalar(l) = v {
            env.memo.borrow_mut().insert(n, l);
        }
        v
    }

    fn apply(&mut self, l: &Lambda, args: &[Lit], env: &Env) -> Lit {
        let vars = l.params.iter().map(|p| p.0).zip(args.iter().copied()).collect();
        let inner = Env { vars, memo: Default::default(), outer: Some(env) };
        self.scalar(l.body, &inner)
    }

    fn compute(&mut self, n: NodeId, env: &Env) -> Val {
        let g = self.g;
        Val::Scalar(match g.op(n) {
            Op::Const(l) => *l,
            Op::Param(i) => return self.args[*i as usize].clone(),
            Op::Var(v, _) => env.var(*v),
            Op::Unary(op, a) => eval_unary(*op, self.scalar(*a, env)),
            Op::Binary(op, a, b) => {
                let (a, b) = (self.scalar(*a, env), self.scalar(*b, env));
                let (value, fault) = eval_binary(*op, a, b);
                self.recorded |= fault.is_some() && g.op(n).may_record(g);
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
            Op::Len(x) => Lit::i64(self.length(*x, env)),
            Op::At(x, i) | Op::Elem(x, i) => {
                let (x_values, i) = (self.array(*x, env), self.scalar(*i, env).as_i64());
                let value = usize::try_from(i).ok().and_then(|i| x_values.get(i).copied());
                self.recorded |= value.is_none();
                assert!(
                    value.is_some() || !matches!(g.op(n), Op::Elem(..)),
                    "elem out of bounds: a pass proved wrongly"
                );
                value.unwrap_or(Lit::zero(g.ty(*x).elem))
            }
            Op::Within(i, len) => {
                let (i, len) = (self.scalar(*i, env).as_i64(), self.scalar(*len, env).as_i64());
                self.recorded |= !(0..len).contains(&i);
                Lit::bool((0..len).contains(&i))
            }
            Op::Reduce { join, init, src } => {
                let v = self.array(*src, env).to_vec();
                let v =
                    self.tree(v, &mut |m, _, acc, next| m.apply(join, &[acc, next], env), &mut |m, a, b| {
                        m.apply(join, &[a, b], env)
                    });
                let init = self.scalar(*init, env);
                v.map_or(init, |v| self.apply(join, &[init, v], env))
            }
            Op::Dot { init, a, b } => {
                let (a, b) = (self.array(*a, env), self.array(*b, env));
                let mul = |i: usize| eval_binary(BinaryOp::Mul, a[i], b[i]).0;
                let plus = |a, b| eval_binary(BinaryOp::Add, a, b).0;
                // the first level's values are the products, but a column goes on by multiply-add
                let products = (0..a.len()).map(mul).collect();
                let v = self.tree(
                    products,
                    &mut |_, i, s, p| i.map_or(plus(s, p), |i| eval_mul_add(a[i], b[i], s)),
                    &mut |_, a, b| plus(a, b),
                );
                let init = self.scalar(*init, env);
                v.map_or(init, |v| plus(init, v))
            }
            Op::Fold { step, init, src } => {
                let init = self.scalar(*init, env);
                self.array(*src, env).iter().fold(init, |acc, x| self.apply(step, &[acc, *x], env))
            }
            _ => return Val::Array(Rc::new(self.elements(n, env))),
        })
    }

    /// A length is known without the elements, which may leave records.
    fn length(&mut self, x: NodeId, env: &Env) -> i64 {
        match self.g.op(x) {
            Op::Map(_, srcs) => self.length(srcs[0], env),
            Op::Reverse(y) | Op::Materialize(y) => self.length(*y, env),
            Op::Generate(n, _) | Op::Iota(n) | Op::Fill(n, _) => self.scalar(*n, env).as_i64(),
            Op::Slice { start, stop, stride, .. } => {
                let [start, stop, stride] = [start, stop, stride].map(|n| self.scalar(*n, env).as_i64());
                if stop > start { (stop - start - 1) / stride.max(1) + 1 } else { 0 }
            }
            _ => self.array(x, env).len() as i64,
        }
    }

    fn elements(&mut self, n: NodeId, env: &Env) -> Vec<Lit> {
        match self.g.op(n) {
            Op::Map(l, srcs) => {
                let srcs: Vec<_> = srcs.iter().map(|s| self.array(*s, env)).collect();
                let row = |i: usize| srcs.iter().map(|s| s[i]).collect::<Vec<_>>();
                (0..srcs[0].len()).map(|i| self.apply(l, &row(i), env)).collect()
            }
            Op::Generate(n, l) => {
                let n = self.scalar(*n, env).as_i64();
                (0..n).map(|i| self.apply(l, &[Lit::i64(i)], env)).collect()
            }
            Op::Slice { src, start, stop, stride } => {
                let src = self.array(*src, env);
                let [start, stop, stride] =
                    [start, stop, stride].map(|n| self.scalar(*n, env).as_i64() as usize);
                (start..stop).step_by(stride).map(|i| src[i]).collect()
            }
            Op::Reverse(x) => self.array(*x, env).iter().rev().copied().collect(),
            Op::Iota(n) => (0..self.scalar(*n, env).as_i64()).map(Lit::i64).collect(),
            Op::Fill(n, v) => {
                let n = self.scalar(*n, env).as_i64();
                if n == 0 { Vec::new() } else { vec![self.scalar(*v, env); n as usize] }
            }
            Op::Materialize(x) => self.array(*x, env).to_vec(),
            op => unreachable!("verified: {op:?} is no vector"),
        }
    }

    /// Semantics 5.1, steps 1 to 4. `fold` continues a column: at the first level it is told the element's index.
    #[allow(clippy::type_complexity)]
    fn tree(
        &mut self,
        mut v: Vec<Lit>,
        fold: &mut dyn FnMut(&mut Self, Option<usize>, Lit, Lit) -> Lit,
        join: &mut dyn FnMut(&mut Self, Lit, Lit) -> Lit,
    ) -> Option<Lit> {
        let mut first = true;
        while first && !v.is_empty() || v.len() > 1 {
            let mut tiles = Vec::new();
            for (t, tile) in v.chunks(TILE).enumerate() {
                let mut columns: Vec<Lit> = tile.iter().take(COLUMNS).copied().collect();
                for (i, &x) in tile.iter().enumerate().skip(COLUMNS) {
                    let index = first.then_some(t * TILE + i);
                    columns[i % COLUMNS] = fold(self, index, columns[i % COLUMNS], x);
                }
                while columns.len() > 1 {
                    columns = columns
                        .chunks(2)
                        .map(|p| if p.len() == 2 { join(self, p[0], p[1]) } else { p[0] })
                        .collect();
                }
                tiles.push(columns[0]);
            }
            v = tiles;
            first = false;
        }
        v.first().copied()
    }
}
