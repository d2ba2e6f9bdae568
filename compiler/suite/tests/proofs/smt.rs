//! The scalar operators in SMT-LIB: bit-vectors and IEEE floats. `docs/semantics.md` section 2, a second time; that
//! it is the compiler's is shown by `corners`.
//!
//! Floats are of the solver's sorts, whose equality is that of results: -0 is not +0, and there is one NaN (semantics
//! 2.4). The bits of a NaN are any NaN's.

use arraygpu_compiler::core::rules::Format;
use arraygpu_compiler::scalar::{BinaryOp, Lit, Ty, UnaryOp};
use std::fmt::Write;

/// A value in a script: its type, and its name or term.
#[derive(Clone, PartialEq, Debug)]
pub struct Value {
    pub ty: Ty,
    pub term: String,
}

/// What is said to the solver. Every operation has a name.
#[derive(Default)]
pub struct Script {
    text: String,
    names: usize,
    /// Divisions of integers are functions that nothing is known of.
    opaque: bool,
    declared: Vec<String>,
}

/// The sort of a type.
pub fn sort(ty: Ty) -> String {
    match ty {
        Ty::Bool => "Bool".into(),
        ty if ty.is_float() => {
            let f = Format::of(ty);
            format!("(_ FloatingPoint {} {})", f.exponent, f.mantissa + 1)
        }
        ty => format!("(_ BitVec {})", width(ty)),
    }
}

fn width(ty: Ty) -> u32 {
    8 * ty.size() as u32
}

/// `(_ to_fp 8 24)`
pub fn to_fp(ty: Ty) -> String {
    let f = Format::of(ty);
    format!("(_ to_fp {} {})", f.exponent, f.mantissa + 1)
}

/// A constant.
pub fn literal(l: Lit) -> Value {
    let term = match l.ty {
        Ty::Bool => l.as_bool().to_string(),
        ty if ty.is_float() => format!("({} {})", to_fp(ty), bits(width(ty), l.bits)),
        ty => bits(width(ty), l.bits),
    };
    Value { ty: l.ty, term }
}

/// A bit-vector's constant.
pub fn bits(width: u32, value: u64) -> String {
    format!("(_ bv{value} {width})")
}

impl Script {
    /// A script whose divisions of integers are functions that nothing is known of.
    pub fn opaque() -> Script {
        Script { opaque: true, ..Script::default() }
    }

    /// Whether its divisions are such functions.
    pub fn is_opaque(&self) -> bool {
        self.opaque
    }

    /// Any value of a type, by that name.
    pub fn any(&mut self, ty: Ty, name: &str) -> Value {
        writeln!(self.text, "(declare-const {name} {})", sort(ty)).unwrap();
        Value { ty, term: name.into() }
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("v{}", self.names)
    }

    /// Any value of a type.
    pub fn fresh(&mut self, ty: Ty) -> Value {
        let name = self.name();
        self.any(ty, &name)
    }

    /// A term with a name.
    pub fn define(&mut self, ty: Ty, term: &str) -> Value {
        let name = self.name();
        writeln!(self.text, "(define-fun {name} () {} {term})", sort(ty)).unwrap();
        Value { ty, term: name }
    }

    /// What is taken for granted.
    pub fn assume(&mut self, term: &str) {
        writeln!(self.text, "(assert {term})").unwrap();
    }

    /// The whole, which no values satisfy if `claim` always holds.
    pub fn prove(mut self, claim: &str) -> String {
        writeln!(self.text, "(assert (not {claim}))").unwrap();
        self.text
    }

    /// `op a`
    pub fn unary(&mut self, op: UnaryOp, a: &Value) -> Value {
        let (ty, x) = (a.ty, &a.term);
        if ty.is_half() {
            let wide = self.cast(Ty::F32, a);
            let result = self.unary(op, &wide);
            return self.cast(ty, &result);
        }
        let rounded = |how: &str| format!("(fp.roundToIntegral {how} {x})");
        let term = match op {
            UnaryOp::Neg if ty.is_float() => format!("(fp.neg {x})"),
            UnaryOp::Abs if ty.is_float() => format!("(fp.abs {x})"),
            UnaryOp::Neg => format!("(bvneg {x})"),
            UnaryOp::Abs => format!("(ite (bvslt {x} {}) (bvneg {x}) {x})", bits(width(ty), 0)),
            UnaryOp::Not if ty == Ty::Bool => format!("(not {x})"),
            UnaryOp::Not => format!("(bvnot {x})"),
            UnaryOp::Sqrt => format!("(fp.sqrt RNE {x})"),
            UnaryOp::Floor => rounded("RTN"),
            UnaryOp::Ceil => rounded("RTP"),
            UnaryOp::Trunc => rounded("RTZ"),
            UnaryOp::Round => rounded("RNA"),
            UnaryOp::RoundTiesEven => rounded("RNE"),
            UnaryOp::Unlikely => x.clone(),
            UnaryOp::FromBits => {
                let ty = op.result(ty);
                return self.define(ty, &format!("({} {x})", to_fp(ty)));
            }
            UnaryOp::ToBits => {
                let out = self.fresh(op.result(ty));
                self.assume(&format!("(= ({} {}) {x})", to_fp(ty), out.term));
                return out;
            }
            op => panic!("{op} is not encoded"),
        };
        self.define(ty, &term)
    }

    /// `op a b`
    pub fn binary(&mut self, op: BinaryOp, a: &Value, b: &Value) -> Value {
        let ty = a.ty;
        if ty.is_half() {
            let [a, b] = [a, b].map(|v| self.cast(Ty::F32, v));
            let result = self.binary(op, &a, &b);
            return if result.ty == Ty::Bool { result } else { self.cast(ty, &result) };
        }
        let term = match ty {
            Ty::Bool => bool_binary(op, &a.term, &b.term),
            ty if ty.is_float() => float_binary(op, &a.term, &b.term),
            ty if self.opaque && matches!(op, BinaryOp::Div | BinaryOp::Rem) => {
                let name = format!("{op}_{ty}");
                if !self.declared.contains(&name) {
                    let sort = sort(ty);
                    writeln!(self.text, "(declare-fun {name} ({sort} {sort}) {sort})").unwrap();
                    self.declared.push(name.clone());
                }
                format!("({name} {} {})", a.term, b.term)
            }
            ty => int_binary(op, ty, &a.term, &b.term),
        };
        self.define(op.result(ty), &term)
    }

    /// `a * b + c`, rounded once.
    pub fn mul_add(&mut self, a: &Value, b: &Value, c: &Value) -> Value {
        let ty = a.ty;
        if ty.is_half() {
            let [a, b, c] = [a, b, c].map(|v| self.cast(Ty::F32, v));
            let result = self.mul_add(&a, &b, &c);
            return self.cast(ty, &result);
        }
        if ty.is_float() {
            return self.define(ty, &format!("(fp.fma RNE {} {} {})", a.term, b.term, c.term));
        }
        let product = self.binary(BinaryOp::Mul, a, b);
        self.binary(BinaryOp::Add, &product, c)
    }

    /// `a` where `c`, else `b`.
    pub fn select(&mut self, c: &Value, a: &Value, b: &Value) -> Value {
        self.define(a.ty, &format!("(ite {} {} {})", c.term, a.term, b.term))
    }

    /// `a as to`: semantics 2.6.
    pub fn cast(&mut self, to: Ty, a: &Value) -> Value {
        let (from, x) = (a.ty, &a.term);
        let term = match (from, to) {
            (Ty::Bool, Ty::Bool) => x.clone(),
            (Ty::Bool, to) => {
                format!("(ite {x} {} {})", literal(Lit::one(to)).term, literal(Lit::zero(to)).term)
            }
            (from, Ty::Bool) if from.is_float() => {
                format!("(not (fp.eq {x} {}))", literal(Lit::zero(from)).term)
            }
            (from, Ty::Bool) => format!("(distinct {x} {})", literal(Lit::zero(from)).term),
            (from, to) if from.is_float() && to.is_float() => format!("({} RNE {x})", to_fp(to)),
            (from, to) if from.is_float() => return self.truncated(to, a, from),
            (from, to) if to.is_float() && from.is_signed() => format!("({} RNE {x})", to_fp(to)),
            (_, to) if to.is_float() => format!("({} RNE {x})", to_fp(to).replace("to_fp", "to_fp_unsigned")),
            (from, to) => resized(from, to, x),
        };
        self.define(to, &term)
    }

    /// Cut off, saturated; of NaN 0.
    fn truncated(&mut self, to: Ty, a: &Value, from: Ty) -> Value {
        if from.is_half() {
            let wide = self.cast(Ty::F32, a);
            return self.truncated(to, &wide, Ty::F32);
        }
        let whole = self.unary(UnaryOp::Trunc, a).term;
        let number = |x: f64| literal(Lit::float(from, x)).term;
        let bits_of = width(to) as i32;
        let (above, below, convert) = match to.is_signed() {
            true => (2f64.powi(bits_of - 1), -2f64.powi(bits_of - 1), "fp.to_sbv"),
            false => (2f64.powi(bits_of), 0.0, "fp.to_ubv"),
        };
        let [greatest, least, zero] =
            [Lit::greatest(to), Lit::least(to), Lit::zero(to)].map(|l| literal(l).term);
        let inside = format!("((_ {convert} {bits_of}) RTZ {whole})");
        let low = format!("(ite (fp.leq {whole} {}) {least} {inside})", number(below));
        let high = format!("(ite (fp.geq {whole} {}) {greatest} {low})", number(above));
        self.define(to, &format!("(ite (fp.isNaN {whole}) {zero} {high})"))
    }
}

/// An integer with other bits: the low ones, or more of them.
fn resized(from: Ty, to: Ty, x: &str) -> String {
    let (has, wants) = (width(from), width(to));
    match wants.cmp(&has) {
        std::cmp::Ordering::Equal => x.into(),
        std::cmp::Ordering::Less => format!("((_ extract {} 0) {x})", wants - 1),
        std::cmp::Ordering::Greater => {
            let extend = if from.is_signed() { "sign_extend" } else { "zero_extend" };
            format!("((_ {extend} {}) {x})", wants - has)
        }
    }
}

fn bool_binary(op: BinaryOp, a: &str, b: &str) -> String {
    let name = match op {
        BinaryOp::And => "and",
        BinaryOp::Or => "or",
        BinaryOp::Xor | BinaryOp::Ne => "xor",
        BinaryOp::Eq => "=",
        op => panic!("{op} takes no bool"),
    };
    format!("({name} {a} {b})")
}

fn float_binary(op: BinaryOp, a: &str, b: &str) -> String {
    // which of two numbers: NaN first, then the order, then the sign of zero
    let extreme = |before: &str, sign: &str| {
        format!("(ite (or (fp.isNaN {a}) ({before} {a} {b}) (and (fp.eq {a} {b}) ({sign} {a}))) {a} {b})")
    };
    let name = match op {
        BinaryOp::Add => "fp.add RNE",
        BinaryOp::Sub => "fp.sub RNE",
        BinaryOp::Mul => "fp.mul RNE",
        BinaryOp::Div => "fp.div RNE",
        BinaryOp::Min => return extreme("fp.lt", "fp.isNegative"),
        BinaryOp::Max => return extreme("fp.gt", "fp.isPositive"),
        BinaryOp::Eq => "fp.eq",
        BinaryOp::Ne => return format!("(not (fp.eq {a} {b}))"),
        BinaryOp::Lt => "fp.lt",
        BinaryOp::Le => "fp.leq",
        BinaryOp::Gt => "fp.gt",
        BinaryOp::Ge => "fp.geq",
        op => panic!("{op} is not encoded"),
    };
    format!("({name} {a} {b})")
}

fn int_binary(op: BinaryOp, ty: Ty, a: &str, b: &str) -> String {
    let signed = ty.is_signed();
    let by_sign = |s: &'static str, u: &'static str| if signed { s } else { u };
    let zero = bits(width(ty), 0);
    let count = format!("(bvand {b} {})", bits(width(ty), u64::from(width(ty)) - 1));
    let name = match op {
        BinaryOp::Add => "bvadd",
        BinaryOp::Sub => "bvsub",
        BinaryOp::Mul => "bvmul",
        BinaryOp::Div => {
            return format!("(ite (= {b} {zero}) {zero} ({} {a} {b}))", by_sign("bvsdiv", "bvudiv"));
        }
        BinaryOp::Rem => {
            return format!("(ite (= {b} {zero}) {zero} ({} {a} {b}))", by_sign("bvsrem", "bvurem"));
        }
        BinaryOp::Min => return format!("(ite ({} {a} {b}) {a} {b})", by_sign("bvslt", "bvult")),
        BinaryOp::Max => return format!("(ite ({} {a} {b}) {a} {b})", by_sign("bvsgt", "bvugt")),
        BinaryOp::And => "bvand",
        BinaryOp::Or => "bvor",
        BinaryOp::Xor => "bvxor",
        BinaryOp::Shl => return format!("(bvshl {a} {count})"),
        BinaryOp::Shr => return format!("({} {a} {count})", by_sign("bvashr", "bvlshr")),
        BinaryOp::Eq => "=",
        BinaryOp::Ne => "distinct",
        BinaryOp::Lt => by_sign("bvslt", "bvult"),
        BinaryOp::Le => by_sign("bvsle", "bvule"),
        BinaryOp::Gt => by_sign("bvsgt", "bvugt"),
        BinaryOp::Ge => by_sign("bvsge", "bvuge"),
        op => panic!("{op} is not encoded"),
    };
    format!("({name} {a} {b})")
}
