//! Core IR in SMT-LIB: as bit-vectors and floats, or its i64 as mathematical integers of which it is claimed that
//! none leaves 64 bits.

use super::smt::{Script, Value, literal};
use arraygpu_compiler::core::{Graph, NodeId, Op};
use arraygpu_compiler::scalar::{BinaryOp, Ty};
use std::collections::HashMap;
use std::fmt::Write;

/// What a scalar node means; `known` has the leaves.
pub fn scalar(s: &mut Script, g: &Graph, n: NodeId, known: &mut HashMap<NodeId, Value>) -> Value {
    if let Some(value) = known.get(&n) {
        return value.clone();
    }
    let mut of = |n: NodeId| scalar(s, g, n, known);
    let value = match *g.op(n) {
        Op::Const(l) => literal(l),
        Op::Unary(op, a) => {
            let a = of(a);
            s.unary(op, &a)
        }
        Op::Binary(op, a, b) => {
            let (a, b) = (of(a), of(b));
            s.binary(op, &a, &b)
        }
        Op::MulAdd(a, b, c) => {
            let (a, b, c) = (of(a), of(b), of(c));
            s.mul_add(&a, &b, &c)
        }
        Op::Select(c, a, b) => {
            let (c, a, b) = (of(c), of(a), of(b));
            s.select(&c, &a, &b)
        }
        Op::Cast(ty, a) => {
            let a = of(a);
            s.cast(ty, &a)
        }
        ref op => panic!("{op:?} is no scalar operation"),
    };
    known.insert(n, value.clone());
    value
}

/// Index expressions as mathematical integers.
#[derive(Default)]
pub struct Integers {
    text: String,
    known: HashMap<NodeId, String>,
    /// What must lie within 64 bits.
    sums: Vec<String>,
}

impl Integers {
    /// An unknown, which a node may stand for.
    pub fn any(&mut self, name: &str, node: Option<NodeId>) {
        writeln!(self.text, "(declare-const {name} Int)").unwrap();
        if let Some(n) = node {
            self.known.insert(n, name.into());
        }
    }

    pub fn assume(&mut self, term: &str) {
        writeln!(self.text, "(assert {term})").unwrap();
    }

    /// The claim, and that nothing wraps on the way.
    pub fn prove(mut self, claim: &str) -> String {
        let within = |t: &String| format!("(<= (- {}) {t}) (< {t} {})", 1u64 << 63, 1u64 << 63);
        let all: Vec<String> = self.sums.iter().map(within).collect();
        self.assume(&format!("(not (and {claim} {}))", all.join(" ")));
        self.text
    }

    /// The term of a node.
    pub fn term(&mut self, g: &Graph, n: NodeId) -> String {
        if let Some(term) = self.known.get(&n) {
            return term.clone();
        }
        let sort = if g.ty(n).elem == Ty::Bool { "Bool" } else { "Int" };
        let term = match *g.op(n) {
            Op::Const(l) if l.ty == Ty::Bool => l.as_bool().to_string(),
            Op::Const(l) if l.as_i64() < 0 => format!("(- {})", l.as_i64().unsigned_abs()),
            Op::Const(l) => l.as_i64().to_string(),
            Op::Binary(op, a, b) => {
                let (a, b) = (self.term(g, a), self.term(g, b));
                binary(op, &a, &b)
            }
            Op::Select(c, a, b) => {
                let [c, a, b] = [c, a, b].map(|n| self.term(g, n));
                format!("(ite {c} {a} {b})")
            }
            ref op => panic!("{op:?} is no operation on indices"),
        };
        let name = format!("n{}", n.0);
        writeln!(self.text, "(define-fun {name} () {sort} {term})").unwrap();
        if sort == "Int" {
            self.sums.push(name.clone());
        }
        self.known.insert(n, name.clone());
        name
    }
}

fn binary(op: BinaryOp, a: &str, b: &str) -> String {
    // SMT-LIB rounds down for a negative dividend, the language toward 0
    let quotient = format!("(ite (>= {a} 0) (div {a} {b}) (- (div (- {a}) {b})))");
    let name = match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => return format!("(ite (= {b} 0) 0 {quotient})"),
        BinaryOp::Rem => return format!("(ite (= {b} 0) 0 (- {a} (* {b} {quotient})))"),
        BinaryOp::Min => return format!("(ite (< {a} {b}) {a} {b})"),
        BinaryOp::Max => return format!("(ite (> {a} {b}) {a} {b})"),
        BinaryOp::And => "and",
        BinaryOp::Or => "or",
        BinaryOp::Eq => "=",
        BinaryOp::Ne => "distinct",
        BinaryOp::Lt => "<",
        BinaryOp::Le => "<=",
        BinaryOp::Gt => ">",
        BinaryOp::Ge => ">=",
        op => panic!("{op} is no operation on indices"),
    };
    format!("({name} {a} {b})")
}
