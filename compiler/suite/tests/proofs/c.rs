//! The C of every operator and cast on every type means what the operator means: the expression that the backend
//! prints is read back with the helpers of its prelude, by the rules of C for promotions and conversions (and
//! `-fwrapv`).
//!
//! What C leaves undefined is anything: a division by zero, and of the least integer by -1, a count that is not below
//! the width, a float that is cast to an integer which cannot hold it.

use super::cases::{Case, cases};
use super::claim::Claim;
use super::cparse::{Function, Node, Statement, functions, statement};
use super::divisions;
use super::smt::{Script, Value, literal, to_fp};
use arraygpu_compiler::backend::c;
use arraygpu_compiler::kernel::{Array, Expr, Kernel, Mem, Stmt};
use arraygpu_compiler::scalar::{BinaryOp, Lit, Ty, UnaryOp, eval_cast};
use std::collections::HashMap;

/// Of all operators that reach the backend.
pub fn claims() -> Vec<Claim> {
    let prelude = functions(include_str!("../../../src/backend/c/prelude.h"));
    cases().into_iter().map(|case| claim(&prelude, case)).collect()
}

fn claim(prelude: &HashMap<String, Function>, case: Case) -> Claim {
    let names = ["a", "b", "c"];
    let mut k = Kernel { name: "k".into(), ..Kernel::default() };
    k.ins = names.iter().zip(&case.ins).map(|(n, ty)| (n.to_string(), *ty)).collect();
    let result = k.ty(&case.e);
    let out =
        Array { name: "out".into(), ty: result, write: true, strided: false, noalias: true, aligned: true };
    k.arrays.push(out);
    let r = k.reg("r", result);
    let value = Stmt::Let(r, case.e.clone(), Default::default());
    k.main = Some(vec![value, Stmt::Store(Mem::Array(0), Expr::int(0), Expr::Reg(r))]);
    let text = c::kernel(&k);
    let is_it = |l: &&str| l.contains(" r0 = ") && !l.contains("agpu_scalar");
    let line = text.lines().map(str::trim).find(is_it).unwrap_or_else(|| panic!("no result in\n{text}"));

    let mut script = if case.divides() { Script::opaque() } else { Script::default() };
    let inputs: Vec<Value> =
        case.ins.iter().zip(names).map(|(ty, name)| super::cases::input(&mut script, *ty, name)).collect();
    let meant = super::kernels::expr(&mut script, &case.e, &|e| match e {
        Expr::In(i) => Some(inputs[*i as usize].clone()),
        _ => None,
    });
    if let (true, Expr::Binary(op, ..)) = (case.divides(), &case.e) {
        divisions::facts(&mut script, *op, &inputs[0], &inputs[1]);
    }
    let held = |(name, v): (&str, &Value)| match v.ty.is_half() {
        true => (name.to_string(), Value { ty: Ty::U16, term: format!("{name}_bits") }),
        false => (name.to_string(), v.clone()),
    };
    let vars = names.into_iter().zip(&inputs).map(held).collect();
    let mut machine = Machine { script, prelude, vars };
    machine.run(&statement(line));
    let found = machine.vars["r0"].clone();
    let mut script = machine.script;
    let [a, b] = match (&case.e, result.is_half()) {
        // the bits of a NaN are any NaN's
        (Expr::Unary(UnaryOp::ToBits, _), _) => {
            [found, meant].map(|v| script.unary(UnaryOp::FromBits, &v).term)
        }
        (_, true) => [format!("({} {})", to_fp(result), found.term), meant.term],
        _ => [found.term, meant.term],
    };
    let (name, of) = case.name.split_once(", ").expect("an operator and a type");
    Claim::solved(&format!("c {name}"), of, line, script.prove(&format!("(= {a} {b})")))
        .at("compiler/src/backend/c")
}

struct Machine<'p> {
    script: Script,
    prelude: &'p HashMap<String, Function>,
    vars: HashMap<String, Value>,
}

impl Machine<'_> {
    /// Gives what is returned.
    fn run(&mut self, s: &Statement) -> Option<Value> {
        match s {
            Statement::Declare(ty, list) => {
                for (name, value) in list {
                    let value = match value {
                        Some(e) => {
                            let v = self.value(e);
                            self.converted(*ty, v)
                        }
                        None => self.script.fresh(*ty),
                    };
                    self.vars.insert(name.clone(), value);
                }
            }
            Statement::Assign(name, e) => {
                let (ty, v) = (self.vars[name].ty, self.value(e));
                let v = self.converted(ty, v);
                self.vars.insert(name.clone(), v);
            }
            Statement::Copy(to, from) => {
                let (ty, v) = (self.vars[to].ty, self.vars[from].clone());
                let op = if ty.is_float() { UnaryOp::FromBits } else { UnaryOp::ToBits };
                let v = if ty.is_float() == v.ty.is_float() { v } else { self.script.unary(op, &v) };
                self.vars.insert(to.clone(), v);
            }
            Statement::Return(e) => return Some(self.value(e)),
        }
        None
    }

    /// As C converts a value to a type.
    fn converted(&mut self, to: Ty, v: Value) -> Value {
        if v.ty == to {
            return v;
        }
        let cut = self.script.cast(to, &v);
        if !v.ty.is_float() || !to.is_int() {
            return cut;
        }
        let whole = self.script.unary(UnaryOp::Trunc, &v);
        let [least, most] = [Lit::least(to), Lit::greatest(to)].map(|l| {
            // the greatest may be no float: the next is beyond it
            let x = l.as_int().map_or(2f64.powi(64), |i| i as f64);
            literal(Lit::float(v.ty, x)).term
        });
        let exact = to.size() < 4 || to.size() == 4 && v.ty == Ty::F64;
        let below = if exact { "fp.leq" } else { "fp.lt" };
        let inside = format!("(and (fp.geq {} {least}) ({below} {} {most}))", whole.term, whole.term);
        let any = self.script.fresh(to);
        self.script.define(to, &format!("(ite {inside} {} {})", cut.term, any.term))
    }

    /// An integer that C computes as an int.
    fn promoted(&mut self, v: Value) -> Value {
        if v.ty.is_float() || v.ty.size() >= 4 { v } else { self.converted(Ty::I32, v) }
    }

    /// Both of one type.
    fn balanced(&mut self, a: Value, b: Value) -> (Value, Value) {
        let (a, b) = (self.promoted(a), self.promoted(b));
        let rank = |ty: Ty| (ty.is_float(), ty.size(), !ty.is_signed());
        let ty = if rank(a.ty) >= rank(b.ty) { a.ty } else { b.ty };
        (self.converted(ty, a), self.converted(ty, b))
    }

    fn value(&mut self, e: &Node) -> Value {
        match e {
            Node::Name(name) => self.vars.get(name).cloned().unwrap_or_else(|| panic!("{name} is not known")),
            Node::Literal(l) => literal(*l),
            Node::Cast(ty, a) => {
                let v = self.value(a);
                self.converted(*ty, v)
            }
            Node::Choice(c, a, b) => {
                let c = self.value(c);
                let c = self.converted(Ty::Bool, c);
                let (a, b) = (self.value(a), self.value(b));
                let (a, b) = if a.ty == b.ty { (a, b) } else { self.balanced(a, b) };
                self.script.select(&c, &a, &b)
            }
            Node::Unary(op, a) => {
                let v = self.value(a);
                match op {
                    '!' => {
                        let v = self.converted(Ty::Bool, v);
                        self.script.unary(UnaryOp::Not, &v)
                    }
                    '~' => {
                        let v = self.promoted(v);
                        self.script.unary(UnaryOp::Not, &v)
                    }
                    _ => {
                        let v = self.promoted(v);
                        self.script.unary(UnaryOp::Neg, &v)
                    }
                }
            }
            Node::Binary(op, a, b) => {
                let (a, b) = (self.value(a), self.value(b));
                self.binary(op, a, b)
            }
            Node::Call(name, args) => {
                let args: Vec<Value> = args.iter().map(|a| self.value(a)).collect();
                self.call(name, args)
            }
        }
    }

    fn binary(&mut self, op: &str, a: Value, b: Value) -> Value {
        if op == "<<" || op == ">>" {
            return self.shift(op, a, b);
        }
        let (a, b) = self.balanced(a, b);
        let op = match op {
            "+" => BinaryOp::Add,
            "-" => BinaryOp::Sub,
            "*" => BinaryOp::Mul,
            "/" if a.ty.is_float() => BinaryOp::Div,
            "/" => return divisions::partial(&mut self.script, BinaryOp::Div, &a, &b),
            "%" => return divisions::partial(&mut self.script, BinaryOp::Rem, &a, &b),
            "&" => BinaryOp::And,
            "|" => BinaryOp::Or,
            "^" => BinaryOp::Xor,
            "==" => BinaryOp::Eq,
            "!=" => BinaryOp::Ne,
            "<" => BinaryOp::Lt,
            "<=" => BinaryOp::Le,
            ">" => BinaryOp::Gt,
            ">=" => BinaryOp::Ge,
            "&&" | "||" => {
                let [a, b] = [a, b].map(|v| self.converted(Ty::Bool, v));
                let op = if op == "&&" { BinaryOp::And } else { BinaryOp::Or };
                return self.script.binary(op, &a, &b);
            }
            op => panic!("{op} is not known"),
        };
        self.script.binary(op, &a, &b)
    }

    /// Of the type of what is shifted; a count that is not below its width is undefined.
    fn shift(&mut self, op: &str, a: Value, b: Value) -> Value {
        let (a, b) = (self.promoted(a), self.promoted(b));
        let count = self.script.cast(a.ty, &b);
        let op = if op == "<<" { BinaryOp::Shl } else { BinaryOp::Shr };
        let shifted = self.script.binary(op, &a, &count);
        let width = literal(eval_cast(b.ty, Lit::i64(8 * a.ty.size() as i64))).term;
        let any = self.script.fresh(a.ty);
        self.script.define(a.ty, &format!("(ite (bvult {} {width}) {} {})", b.term, shifted.term, any.term))
    }

    fn call(&mut self, name: &str, args: Vec<Value>) -> Value {
        if let Some(builtin) = name.strip_prefix("__builtin_") {
            return self.builtin(builtin, args);
        }
        let f = self.prelude.get(name).unwrap_or_else(|| panic!("{name} is not in the prelude"));
        let mut vars = HashMap::new();
        for ((ty, name), v) in f.params.iter().zip(args) {
            let v = self.converted(*ty, v);
            vars.insert(name.clone(), v);
        }
        let outer = std::mem::replace(&mut self.vars, vars);
        let returned = f.body.iter().find_map(|s| self.run(s)).expect("it returns");
        self.vars = outer;
        self.converted(f.result, returned)
    }

    fn builtin(&mut self, name: &str, args: Vec<Value>) -> Value {
        let (plain, ty) = match name.strip_suffix('f') {
            Some(plain) if plain != "in" => (plain, Ty::F32),
            _ => (name, Ty::F64),
        };
        let args: Vec<Value> = args.into_iter().map(|v| self.converted(ty, v)).collect();
        let unary = match plain {
            "isunordered" => {
                let [a, b] = [0, 1].map(|i| self.script.binary(BinaryOp::Ne, &args[i], &args[i]));
                return self.script.binary(BinaryOp::Or, &a, &b);
            }
            "fma" => return self.script.mul_add(&args[0], &args[1], &args[2]),
            "inf" => return literal(Lit::float(ty, f64::INFINITY)),
            "nan" => return literal(Lit::float(ty, f64::NAN)),
            "copysign" => {
                let size = self.script.unary(UnaryOp::Abs, &args[0]).term;
                return self
                    .script
                    .define(ty, &format!("(ite (fp.isNegative {}) (fp.neg {size}) {size})", args[1].term));
            }
            "fabs" => UnaryOp::Abs,
            "rint" => UnaryOp::RoundTiesEven,
            other => UnaryOp::parse(other).unwrap_or_else(|| panic!("{name} is not known")),
        };
        self.script.unary(unary, &args[0])
    }
}
