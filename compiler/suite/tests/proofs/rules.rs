//! A claim of every rule and type: what it finds and what takes its place are equal, whatever the operands are.

use super::claim::Claim;
use super::smt::{Script, Value, bits, literal};
use arraygpu_compiler::core::rules::{self, Condition, Format, Pattern, Rule};
use arraygpu_compiler::scalar::{BinaryOp, Lit, Ty, UnaryOp};

/// Of all rules.
pub fn claims() -> Vec<Claim> {
    let each = rules::all().flat_map(|rule| rule.types.iter().map(move |ty| (rule, ty)));
    each.map(|(rule, ty)| {
        Claim::solved(&format!("rule {}", rule.name), ty.name(), &rule.to_string(), script(rule, ty))
            .at("compiler/src/core/rules")
    })
    .chain(commutative())
    .collect()
}

/// Operands that `cse` puts in order.
fn commutative() -> Vec<Claim> {
    let mut out = Vec::new();
    let mut claim = |name: &str, ty: Ty, swapped: &dyn Fn(&mut Script, &[Value]) -> [Value; 2]| {
        let mut s = Script::default();
        // a half rounds what f32 gives
        let of = if ty.is_half() { Ty::F32 } else { ty };
        let operands = ["x", "y", "z"].map(|name| s.any(of, name));
        let [a, b] = swapped(&mut s, &operands);
        let script = s.prove(&format!("(= {} {})", a.term, b.term));
        let says = format!("{name} of x, y is {name} of y, x");
        out.push(
            Claim::solved(&format!("order {name}"), ty.name(), &says, script)
                .at("compiler/src/passes/cse.rs"),
        );
    };
    for ty in Ty::ALL {
        for &op in BinaryOp::ALL.iter().filter(|o| o.is_commutative() && o.is_exact() && o.accepts(ty)) {
            claim(op.name(), ty, &|s, v| [s.binary(op, &v[0], &v[1]), s.binary(op, &v[1], &v[0])]);
        }
        if ty != Ty::Bool {
            claim("mul_add", ty, &|s, v| [s.mul_add(&v[0], &v[1], &v[2]), s.mul_add(&v[1], &v[0], &v[2])]);
        }
    }
    out
}

/// Rules that are almost right: the solver has to find what is wrong with each.
pub fn wrong() -> Vec<(&'static str, String)> {
    use Pattern::{MinusZero, One, Operand, Zero};
    const X: Pattern = Operand(0);
    const Y: Pattern = Operand(1);
    let list: [(&'static str, Ty, Pattern, Pattern); 9] = [
        ("x + 0 of floats", Ty::F32, Pattern::Binary(BinaryOp::Add, &[X, Zero]), X),
        ("x - -0 of floats", Ty::F64, Pattern::Binary(BinaryOp::Sub, &[X, MinusZero]), X),
        ("x - x of floats", Ty::F16, Pattern::Binary(BinaryOp::Sub, &[X, X]), Zero),
        ("x * 0 of floats", Ty::F32, Pattern::Binary(BinaryOp::Mul, &[X, Zero]), Zero),
        ("x == x of floats", Ty::F32, Pattern::Binary(BinaryOp::Eq, &[X, X]), Pattern::Truth(true)),
        (
            "min of floats that ignores a NaN",
            Ty::F32,
            Pattern::Binary(BinaryOp::Min, &[X, Y]),
            Pattern::Select(&[Pattern::Binary(BinaryOp::Lt, &[X, Y]), X, Y]),
        ),
        ("x / x", Ty::I8, Pattern::Binary(BinaryOp::Div, &[X, X]), One),
        (
            "a product that is rounded before the sum",
            Ty::F16,
            Pattern::MulAdd(&[X, Y, One]),
            Pattern::Binary(BinaryOp::Add, &[Pattern::Binary(BinaryOp::Mul, &[X, Y]), One]),
        ),
        (
            "||x| of the least integer is positive",
            Ty::I32,
            Pattern::Binary(BinaryOp::Ge, &[Pattern::Unary(UnaryOp::Abs, &X), Zero]),
            Pattern::Truth(true),
        ),
    ];
    list.map(|(name, ty, from, to)| {
        let rule = Rule {
            name,
            equation: "",
            types: rules::all().next().expect("rules").types,
            from,
            to,
            when: None,
        };
        (name, script(&rule, ty))
    })
    .into()
}

/// What no operands satisfy if the rule is right.
fn script(rule: &Rule, ty: Ty) -> String {
    // one operation of f32 on either side, which a half rounds alike: it is shown of all f32
    let ty = if ty.is_half() && matches!(rule.from, Pattern::MulAdd(_)) { Ty::F32 } else { ty };
    let mut terms = Terms { script: Script::default(), names: vec![], ty };
    if rule.when == Some(Condition::ExactReciprocal) {
        terms.exact_reciprocal();
    }
    let [from, to] = [rule.from, rule.to].map(|p| terms.value(&p, terms.result(&rule.from)));
    // the bits of a NaN are any NaN's
    let [from, to] = match rule.from {
        Pattern::Unary(UnaryOp::ToBits, _) => [from, to].map(|v| terms.script.unary(UnaryOp::FromBits, &v)),
        _ => [from, to],
    };
    terms.script.prove(&format!("(= {} {})", from.term, to.term))
}

struct Terms {
    script: Script,
    names: Vec<Value>,
    /// Of the first operand.
    ty: Ty,
}

impl Terms {
    /// The type of what a rule finds.
    fn result(&self, from: &Pattern) -> Ty {
        match from {
            Pattern::Unary(op, _) => op.result(self.ty),
            Pattern::Binary(op, _) => op.result(self.ty),
            _ => self.ty,
        }
    }

    fn named(&mut self, name: &str, ty: Ty) -> Value {
        if let Some(known) = self.names.iter().find(|v| v.term == name) {
            assert_eq!(known.ty, ty, "{name} has one type");
            return known.clone();
        }
        let value = self.script.any(ty, name);
        self.names.push(value.clone());
        value
    }

    /// c is a power of two with an exact reciprocal: its bits are those that `Condition::holds` looks for.
    fn exact_reciprocal(&mut self) {
        let (format, width) = (Format::of(self.ty), 8 * self.ty.size() as u32);
        let [least, most] = format.exact_reciprocals();
        let (m, e) = (format.mantissa, format.exponent);
        let unsigned = [Ty::U16, Ty::U32, Ty::U64].into_iter().find(|t| t.size() == self.ty.size());
        let c = self.script.any(unsigned.expect("as wide"), "c_bits").term;
        self.script.assume(&format!("(= ((_ extract {} 0) {c}) {})", m - 1, bits(m, 0)));
        let exponent = format!("((_ extract {} {m}) {c})", width - 2);
        self.script.assume(&format!("(bvule {} {exponent})", bits(e, least)));
        self.script.assume(&format!("(bvule {exponent} {})", bits(e, most)));
        let constant = self.named("c", self.ty);
        self.script.assume(&format!("(= ((_ to_fp {e} {}) {c}) {})", m + 1, constant.term));
    }

    /// A pattern of the type.
    fn value(&mut self, pattern: &Pattern, ty: Ty) -> Value {
        match pattern {
            Pattern::Operand(i) => self.named(["x", "y", "z"][*i], ty),
            Pattern::Constant => self.named("c", ty),
            Pattern::Reciprocal => {
                let c = self.named("c", ty);
                self.script.binary(BinaryOp::Div, &literal(Lit::one(ty)), &c)
            }
            Pattern::Unary(op, a) => {
                let inner = [ty, Ty::F32, Ty::F64, Ty::U32, Ty::U64].into_iter();
                let of = inner.filter(|t| op.accepts(*t)).find(|t| op.result(*t) == ty).expect("a type");
                let a = self.value(a, of);
                self.script.unary(*op, &a)
            }
            Pattern::Binary(op, [a, b]) => {
                let of = if op.is_comparison() { self.ty } else { ty };
                let (a, b) = (self.value(a, of), self.value(b, of));
                self.script.binary(*op, &a, &b)
            }
            Pattern::MulAdd(p) => {
                let [a, b, c] = p.each_ref().map(|p| self.value(p, ty));
                self.script.mul_add(&a, &b, &c)
            }
            Pattern::Select([c, a, b]) => {
                let (c, a, b) = (self.value(c, Ty::Bool), self.value(a, ty), self.value(b, ty));
                self.script.select(&c, &a, &b)
            }
            Pattern::Cast(a) => {
                let a = self.value(a, ty);
                self.script.cast(ty, &a)
            }
            value => literal(value.value(ty).expect("a constant")),
        }
    }
}
