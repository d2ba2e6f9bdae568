//! The compiler applies what is proven: each rule is the first that fits what it finds, on each of its types.

use arraygpu_compiler::core::rules::{self, Pattern, Rule};
use arraygpu_compiler::core::simplify::simplify;
use arraygpu_compiler::core::{Graph, NodeId, Op, Type};
use arraygpu_compiler::scalar::{Lit, Ty};

/// A pattern as nodes; operands are parameters of the types that they have in it.
struct Nodes {
    g: Graph,
    ty: Ty,
}

impl Nodes {
    fn of(&mut self, pattern: &Pattern, ty: Ty) -> NodeId {
        let op = match pattern {
            // three parameters a type
            Pattern::Operand(i) => Op::Param(3 * ty as u32 + *i as u32),
            Pattern::Constant => Op::Const(Lit::float(ty, 0.25)),
            Pattern::Unary(op, a) => {
                let fits = |t: &Ty| op.accepts(*t) && op.result(*t) == ty;
                let of = if fits(&ty) { ty } else { Ty::ALL.into_iter().find(fits).expect("a type") };
                Op::Unary(*op, self.of(a, of))
            }
            Pattern::Binary(op, [a, b]) => {
                let of = if op.is_comparison() { self.ty } else { ty };
                Op::Binary(*op, self.of(a, of), self.of(b, of))
            }
            Pattern::MulAdd([a, b, c]) => Op::MulAdd(self.of(a, ty), self.of(b, ty), self.of(c, ty)),
            Pattern::Select([c, a, b]) => Op::Select(self.of(c, Ty::Bool), self.of(a, ty), self.of(b, ty)),
            Pattern::Cast(a) => Op::Cast(ty, self.of(a, ty)),
            value => Op::Const(value.value(ty).expect("a constant")),
        };
        self.g.add(op)
    }
}

/// What a rule made of its own pattern, and what the first rule that fits made of it.
fn applied(rule: &Rule, ty: Ty) -> [Option<NodeId>; 2] {
    let mut g = Graph::default();
    g.declare_params(Ty::ALL.into_iter().flat_map(|ty| [Type::scalar(ty); 3]));
    let mut nodes = Nodes { g, ty };
    let result = match rule.from {
        Pattern::Unary(op, _) => op.result(ty),
        Pattern::Binary(op, _) => op.result(ty),
        _ => ty,
    };
    let root = nodes.of(&rule.from, result);
    let op = nodes.g.op(root).clone();
    let own = rule.from.find(&nodes.g, &op, ty).filter(|found| found.holds(rule.when));
    let own = own.map(|found| rule.to.make(&mut nodes.g, &found, simplify));
    [own, rules::apply(&mut nodes.g, &op, simplify)]
}

#[test]
fn every_rule_is_the_first_that_fits() {
    for rule in rules::all() {
        for ty in rule.types.iter() {
            let [own, first] = applied(rule, ty);
            assert!(own.is_some() && own == first, "{} of {ty}: {own:?}, {first:?}", rule.name);
        }
    }
}
