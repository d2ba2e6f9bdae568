//! Kernels' expressions and straight code in SMT-LIB, and what the rewrites of kernels claim: indices of 32 bits, short divisions, branches that are selections.

use super::claim::Claim;
use super::smt::{Script, Value, literal};
use arraygpu_compiler::kernel::{
    Expr, Kernel, Reg, Stmt, avoid_negated_min, cse, divide, if_conversion, narrow, parse, widen,
};
use arraygpu_compiler::scalar::{BinaryOp, Lit, Ty, eval_cast};
use std::collections::BTreeMap;

/// What an expression means; `known` gives the leaves.
pub fn expr(s: &mut Script, e: &Expr, known: &dyn Fn(&Expr) -> Option<Value>) -> Value {
    if let Some(value) = known(e) {
        return value;
    }
    let mut of = |e: &Expr| expr(s, e, known);
    match e {
        Expr::Lit(l) => literal(*l),
        Expr::Unary(op, a) => {
            let a = of(a);
            s.unary(*op, &a)
        }
        Expr::Binary(op, a, b) => {
            let (a, b) = (of(a), of(b));
            s.binary(*op, &a, &b)
        }
        Expr::MulAdd(a, b, c) => {
            let (a, b, c) = (of(a), of(b), of(c));
            s.mul_add(&a, &b, &c)
        }
        Expr::Select(c, a, b) => {
            let (c, a, b) = (of(c), of(a), of(b));
            s.select(&c, &a, &b)
        }
        Expr::Cast(ty, a) => {
            let a = of(a);
            s.cast(*ty, &a)
        }
        e => panic!("{e:?} is not known here"),
    }
}

/// The state of registers after straight code with branches.
pub struct State {
    ins: Vec<Value>,
    regs: BTreeMap<Reg, Value>,
    /// What was stored, in order: index and value.
    pub stored: Vec<[Value; 2]>,
}

impl State {
    /// Before the first statement.
    pub fn with(ins: &[Value]) -> State {
        State { ins: ins.to_vec(), regs: BTreeMap::new(), stored: vec![] }
    }

    /// After the last statement.
    pub fn of(s: &mut Script, k: &Kernel, ins: &[Value]) -> State {
        let mut state = State::with(ins);
        state.block(s, k.main.as_deref().expect("main"));
        state
    }

    /// What an expression means here.
    pub fn value(&self, s: &mut Script, e: &Expr) -> Value {
        expr(s, e, &|e| match e {
            Expr::In(i) => Some(self.ins[*i as usize].clone()),
            Expr::Reg(r) => Some(self.regs[r].clone()),
            _ => None,
        })
    }

    fn block(&mut self, s: &mut Script, body: &[Stmt]) {
        for stmt in body {
            match stmt {
                Stmt::Let(r, e, _) | Stmt::Var(r, e) | Stmt::Assign(r, e) => {
                    let value = self.value(s, e);
                    self.regs.insert(*r, value);
                }
                Stmt::Store(_, i, e) => {
                    let pair = [self.value(s, i), self.value(s, e)];
                    self.stored.push(pair);
                }
                Stmt::If(c, a, b) => {
                    let c = self.value(s, c);
                    let before = self.regs.clone();
                    self.block(s, a);
                    let then = std::mem::replace(&mut self.regs, before.clone());
                    self.block(s, b);
                    // what a branch declares is not seen after it
                    for r in before.into_keys() {
                        let [yes, no] = [then[&r].clone(), self.regs[&r].clone()];
                        let joined = if yes == no { yes } else { s.select(&c, &yes, &no) };
                        self.regs.insert(r, joined);
                    }
                }
                other => panic!("{other:?} is not straight code"),
            }
        }
    }
}

/// A kernel of scalars a, b, .. that stores its result.
pub fn kernel(ins: &str, main: &str) -> Kernel {
    let text = format!("kernel @k {{ write out: {ins} main {{ {main} }} }}");
    parse::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}")).remove(0)
}

/// All claims of this file.
pub fn claims() -> Vec<Claim> {
    let mut out = shared();
    out.extend(narrowed());
    out.extend(bounded());
    out.extend(divided());
    out.extend(shifted());
    out.extend(predicated());
    out.extend(negated());
    out.extend(widened());
    out
}

/// What is computed once is what was computed twice: indices and elements that are stored, in order.
fn shared() -> Vec<Claim> {
    let bodies = [
        ("an index and an element", "out[mul(a, b)] = mul(b, a) out[add(mul(a, b), 1i64)] = a"),
        (
            "constants in an index",
            "out[add(add(sub(a, 3i64), mul(b, b)), 5i64)] = a out[add(a, mul(b, b))] = b",
        ),
        ("a let and its copy", "let %x: i64 = mul(a, b) let %y: i64 = %x out[%y] = add(%y, mul(a, b))"),
        (
            "a let of what is known",
            "out[0i64] = rem(a, b) let %x: i64 = rem(a, b) out[%x] = mul(%x, rem(a, b))",
        ),
        (
            "parts of what is shared",
            "out[0i64] = max(sub(a, b), mul(a, b)) out[1i64] = max(sub(a, b), mul(a, b)) out[2i64] = mul(a, b)",
        ),
        (
            "branches",
            "var %v: i64 = a if lt(a, b) { %v = mul(add(a, b), %v) } else { let %t: i64 = add(a, b) %v = mul(%t, %t) } \
             out[%v] = add(mul(a, b), add(a, b)) out[mul(a, b)] = %v",
        ),
        (
            "variables",
            "var %v: i64 = a out[mul(%v, b)] = mul(a, b) %v = mul(a, b) out[mul(%v, b)] = select(lt(a, b), mul(a, b), b)",
        ),
    ];
    let each = bodies.map(|(case, body)| {
        let before = kernel("i64 in a: i64 in b: i64 threads 128", body);
        let mut after = before.clone();
        cse::run(&mut after);
        assert_ne!(before, after, "the pass took {body}");
        let mut s = Script::opaque();
        let ins: Vec<Value> = before.ins.clone().iter().map(|(name, ty)| s.any(*ty, name)).collect();
        let [before, after] = [&before, &after].map(|k| State::of(&mut s, k, &ins).stored);
        let same = |a: &[Value; 2], b: &[Value; 2]| {
            format!("(= {} {}) (= {} {})", a[0].term, b[0].term, a[1].term, b[1].term)
        };
        let same: Vec<String> = before.iter().zip(&after).map(|(a, b)| same(a, b)).collect();
        Claim::solved("common", case, body, s.prove(&format!("(and {})", same.join(" "))))
            .at("compiler/src/kernel/cse.rs")
    });
    each.into()
}

/// An index that stays within 31 bits is its low half: of every operation through which the pass goes.
fn narrowed() -> Vec<Claim> {
    let forms = [
        ("add", "add(a, b)"),
        ("sub", "sub(a, b)"),
        ("mul", "mul(a, b)"),
        ("neg", "neg(a)"),
        ("select", "select(lt(a, b), a, b)"),
        ("cast", "cast i64(c)"),
        ("sum of products", "add(mul(a, 5i64), sub(mul(b, a), 7i64))"),
        ("other operations", "add(shr(a, 3i64), max(b, rem(a, b)))"),
        ("constant", "add(a, 4294967297i64)"),
        ("shift by 32 of an index", "add(shr(a, 32i64), 1i64)"),
        ("shift by 33 of an index", "shr(a, 33i64)"),
        ("shift of an index by another", "add(shr(a, b), b)"),
    ];
    let each = forms.map(|(case, form)| {
        let is_of_indices = case.contains("of an index");
        let mut before = kernel(
            "f32 in a: i64 in b: i64 in c: i32 threads 128",
            &format!("let %i: i64 = {form} out[%i] = 1f32"),
        );
        if is_of_indices {
            before.in_space = vec![Expr::In(0), Expr::In(1)];
        }
        let mut after = before.clone();
        narrow::run(&mut after);
        let mut s = Script::default();
        let ins: Vec<Value> = before.ins.clone().iter().map(|(name, ty)| s.any(*ty, name)).collect();
        for v in ins[..2].iter().filter(|_| is_of_indices) {
            s.assume(&format!("(bvule {} (_ bv{} 64))", v.term, (1u64 << 31) - (1 << 19)));
        }
        let wide = State::of(&mut s, &before, &ins).stored[0][0].clone();
        let low = State::of(&mut s, &after, &ins).stored[0][0].clone();
        assert_eq!(low.ty, Ty::I32, "it is narrow");
        s.assume(&format!("(bvult {} (_ bv2147483648 64))", wide.term));
        let back = s.cast(Ty::I64, &low);
        let says = format!("{form} within 31 bits is its low half");
        Claim::solved("narrow", case, &says, s.prove(&format!("(= {} {})", back.term, wide.term)))
            .at("compiler/src/kernel/narrow.rs")
    });
    each.into()
}

/// What is computed in 32 bits with indices and extents that the kernel names is what was computed in 64. A quotient of two of them is the short one of
/// `divided` below.
fn bounded() -> Vec<Claim> {
    let forms = [
        ("quotient by a constant", "div(add(a, 1i64), 3i64)"),
        ("half", "div(a, 2i64)"),
        ("remainder by a power of 2", "rem(a, 8i64)"),
        ("least and greatest", "min(max(a, 7i64), shr(add(b, 2047i64), 11i64))"),
        (
            "comparisons",
            "select(lt(a, b), select(ge(a, 0i64), a, 1i64), select(eq(add(a, 1i64), b), 0i64, b))",
        ),
        (
            "what they decide",
            "select(and(ge(a, 0i64), le(a, b)), a, select(or(lt(b, 0i64), gt(a, 3i64)), b, 2i64))",
        ),
        ("not bounded", "select(lt(sub(a, b), 0i64), mul(a, b), sub(a, 1i64))"),
    ];
    let each = forms.map(|(case, form)| {
        let mut before = kernel(
            "i64 in a: i64 in b: i64 threads 128",
            &format!("let %i: i64 = {form} out[0i64] = add(%i, 1i64)"),
        );
        before.in_space = vec![Expr::In(0), Expr::In(1)];
        let mut after = before.clone();
        narrow::run(&mut after);
        assert_ne!(before.main, after.main, "the pass took {form}");
        let mut s = Script::default();
        let ins: Vec<Value> = before.ins.clone().iter().map(|(name, ty)| s.any(*ty, name)).collect();
        for v in &ins {
            s.assume(&format!("(bvule {} (_ bv{} 64))", v.term, (1u64 << 31) - (1 << 19)));
        }
        let [wide, low] = [&before, &after].map(|k| State::of(&mut s, k, &ins).stored[0][1].clone());
        let says = format!("{form} of indices is the same in 32 bits");
        Claim::solved("bounded", case, &says, s.prove(&format!("(= {} {})", wide.term, low.term)))
            .at("compiler/src/kernel/narrow.rs")
    });
    each.into()
}

/// The pass's code for a quotient and a remainder is the division.
fn divided() -> Vec<Claim> {
    let mut out = Vec::new();
    for (op, name) in [(BinaryOp::Div, "div"), (BinaryOp::Rem, "rem")] {
        for ty in [Ty::I64, Ty::U64] {
            let before = kernel(
                &format!("{ty} in a: {ty} in b: {ty} threads 128"),
                &format!("let %q: {ty} = {name}(a, b) out[0i64] = %q"),
            );
            let mut after = before.clone();
            divide::run(&mut after);
            assert_ne!(before, after, "the pass took it");
            let mut s = Script::opaque();
            let [a, b] = ["a", "b"].map(|n| s.any(ty, n));
            let found = State::of(&mut s, &after, &[a.clone(), b.clone()]).stored[0][1].clone();
            let meant = s.binary(op, &a, &b);
            // what `integers` below says of numbers, of these two
            let [short_a, short_b] = [&a, &b].map(|v| s.cast(Ty::U32, v));
            let short = s.binary(op, &short_a, &short_b);
            let short = s.cast(ty, &short).term;
            let fit = |v: &Value| format!("(bvult {} (_ bv4294967296 64))", v.term);
            s.assume(&format!("(=> (and {} {}) (= {} {short}))", fit(&a), fit(&b), meant.term));
            let says = format!("{name} of the low halves where the high halves are 0");
            out.push(
                Claim::solved(
                    "divide",
                    &format!("{name} {ty}"),
                    &says,
                    s.prove(&format!("(= {} {})", found.term, meant.term)),
                )
                .at("compiler/src/kernel/divide.rs"),
            );
            out.push(integers(op, ty));
        }
    }
    out
}

/// The shifts for a quotient and a remainder by a power of two are the division.
fn shifted() -> Vec<Claim> {
    let mut out = Vec::new();
    for (ty, powers) in [(Ty::I64, [1, 3, 32, 62]), (Ty::U64, [1, 3, 32, 63])] {
        for (name, power) in ["div", "rem"].into_iter().flat_map(|name| powers.map(|p| (name, p))) {
            let form = format!("{name}(a, {}{ty})", 1u64 << power);
            let before = kernel(
                &format!("{ty} in a: {ty} threads 128"),
                &format!("let %q: {ty} = {form} out[0i64] = %q"),
            );
            let mut after = before.clone();
            divide::run(&mut after);
            assert_ne!(before, after, "the pass took it");
            let mut s = Script::default();
            let a = s.any(ty, "a");
            let [meant, found] = [&before, &after]
                .map(|k| State::of(&mut s, k, std::slice::from_ref(&a)).stored[0][1].clone());
            let script = s.prove(&format!("(= {} {})", found.term, meant.term));
            let case = format!("{name} {ty} by 2^{power}");
            let says = format!("{form} by shifts");
            out.push(Claim::solved("divide", &case, &says, script).at("compiler/src/kernel/divide.rs"));
        }
    }
    out
}

/// Of numbers from 0 to 2^32 the divisions of both types are that of mathematical integers, by which SMT-LIB defines them.
fn integers(op: BinaryOp, ty: Ty) -> Claim {
    let down = |a: &str| if op == BinaryOp::Div { format!("(div {a} b)") } else { format!("(mod {a} b)") };
    // of a signed type the quotient of the sizes has the sign of both, the rest that of the dividend
    let negative = if op == BinaryOp::Div { "(- (div (- a) b))" } else { "(- (mod (- a) b))" };
    let wide = if ty.is_signed() { format!("(ite (< a 0) {negative} {})", down("a")) } else { down("a") };
    let script = format!(
        "(declare-const a Int)\n(declare-const b Int)\n(assert (and (<= 0 a) (< a 4294967296) (<= 0 b) (< b 4294967296)))\n\
         (assert (not (= (ite (= b 0) 0 {wide}) (ite (= b 0) 0 {}))))\n",
        down("(mod a 4294967296)")
    );
    let says = format!("{op} of {ty} and u32 agree on numbers from 0 to 2^32");
    Claim::solved("divide", &format!("{op} of numbers {ty}"), &says, script)
        .at("compiler/src/kernel/divide.rs")
}

/// A branch and its selections leave the same.
fn predicated() -> Vec<Claim> {
    let bodies = [
        ("one", "if c { let %t: f32 = add(a, b) %v = %t }"),
        ("two that depend", "if c { %v = add(a, %v) %w = mul(%v, b) }"),
        ("condition of what changes", "if lt(%v, b) { %v = add(%v, 1f32) %w = %v }"),
        ("nested", "if c { %v = add(%v, a) if lt(%v, b) { %w = %v } }"),
    ];
    let each = bodies.map(|(case, body)| {
        let before = kernel(
            "f32 in a: f32 in b: f32 in c: bool threads 128",
            &format!("var %v: f32 = a var %w: f32 = b {body} out[0i64] = %v out[1i64] = %w"),
        );
        let mut after = before.clone();
        if_conversion::run(&mut after);
        assert!(
            !after.main.as_ref().expect("main").iter().any(|s| matches!(s, Stmt::If(..))),
            "no branch is left"
        );
        let mut s = Script::default();
        let ins: Vec<Value> = before.ins.clone().iter().map(|(name, ty)| s.any(*ty, name)).collect();
        let [before, after] = [&before, &after].map(|k| State::of(&mut s, k, &ins).stored);
        let same: Vec<String> =
            before.iter().zip(&after).map(|(a, b)| format!("(= {} {})", a[1].term, b[1].term)).collect();
        Claim::solved("predicate", case, body, s.prove(&format!("(and {})", same.join(" "))))
            .at("compiler/src/kernel/if_conversion.rs")
    });
    each.into()
}

/// What is compared without a negation is what it was.
fn negated() -> Vec<Claim> {
    let mut out = Vec::new();
    for ty in [Ty::I8, Ty::I16, Ty::I32, Ty::U8, Ty::U16, Ty::U32] {
        let minus_one = eval_cast(ty, Lit::i64(-1));
        let forms = [
            ("difference", "let %m: T = min(sub(a, b), b)".into()),
            ("negation", "let %m: T = max(a, neg(b))".into()),
            (
                "by way of registers",
                "let %d: T = neg(a) let %e: T = %d let %m: T = min(%e, min(a, b))".into(),
            ),
            ("product", format!("let %m: T = min(mul(a, {minus_one}), max(mul({minus_one}, b), a))")),
            (
                "multiply-add",
                format!("let %m: T = max(mul_add(a, {minus_one}, b), mul_add({minus_one}, b, a))"),
            ),
            ("selection", "let %m: T = min(select(lt(a, b), sub(a, b), neg(a)), b)".into()),
        ];
        for (case, form) in forms {
            let form = form.replace('T', &ty.to_string());
            let before =
                kernel(&format!("{ty} in a: {ty} in b: {ty} threads 128"), &format!("{form} out[0i64] = %m"));
            let mut after = before.clone();
            avoid_negated_min::run(&mut after);
            assert_ne!(before, after, "the pass took {form}");
            let mut s = Script::default();
            let ins: Vec<Value> = before.ins.clone().iter().map(|(name, ty)| s.any(*ty, name)).collect();
            let [before, after] =
                [&before, &after].map(|k| State::of(&mut s, k, &ins).stored[0][1].term.clone());
            let same = s.prove(&format!("(= {before} {after})"));
            out.push(
                Claim::solved("negate", &format!("{case} {ty}"), &form, same)
                    .at("compiler/src/kernel/avoid_negated_min.rs"),
            );
        }
    }
    out
}

/// What is computed in 32 bits without cuts is what was computed in 8 and 16.
fn widened() -> Vec<Claim> {
    let mut out = Vec::new();
    for ty in [Ty::I8, Ty::U8, Ty::I16, Ty::U16] {
        let wide = if ty.is_signed() { "i32" } else { "u32" };
        let mut forms = vec![
            ("sum", "mul_add(add(a, b), b, sub(a, 7T))"),
            ("sum that is wider then", "add(cast W(add(a, b)), cast W(mul(a, b)))"),
            ("shifts", "shr(shl(add(a, b), 2T), 1T)"),
            ("shift by more than the width", "shr(sub(a, b), 33T)"),
            ("least and greatest", "max(min(sub(a, b), neg(b)), not(a))"),
            ("bits", "shr(xor(and(add(a, b), 21T), or(sub(a, b), b)), 1T)"),
            ("choice", "select(lt(add(a, b), b), neg(a), max(sub(b, a), a))"),
            ("a register", "add(%t, shr(%t, 1T))"),
            ("narrower and wider", "cast T(cast i32(cast u8(sub(a, b))))"),
        ];
        if ty.is_signed() {
            forms.push(("magnitude", "shr(abs(sub(a, b)), 1T)"));
        } else {
            forms.push(("half", "add(div(add(a, b), 2T), rem(sub(a, b), 8T))"));
        }
        if ty == Ty::U8 {
            forms.push(("mean", "cast T(div(add(add(cast u16(a), cast u16(b)), cast u16(a)), 3u16))"));
            forms.push(("quotient", "div(add(a, b), 9T)"));
            forms.push(("remainder", "rem(%t, 10T)"));
        }
        for (case, form) in forms {
            let result = if form.contains('W') { wide.to_string() } else { ty.to_string() };
            let form = form.replace('T', &ty.to_string()).replace('W', wide).replace("33u8", "11u8");
            let form = form.replace("33i8", "11i8");
            let before = kernel(
                &format!("{result} in a: {ty} in b: {ty} threads 128"),
                &format!("let %t: {ty} = add(a, mul(b, b)) out[0i64] = {form}"),
            );
            let mut after = before.clone();
            widen::run(&mut after);
            assert_ne!(before, after, "the pass took {form}");
            let mut s = Script::default();
            let ins: Vec<Value> = before.ins.clone().iter().map(|(name, ty)| s.any(*ty, name)).collect();
            let [before, after] =
                [&before, &after].map(|k| State::of(&mut s, k, &ins).stored[0][1].term.clone());
            let same = s.prove(&format!("(= {before} {after})"));
            out.push(
                Claim::solved("widen", &format!("{case} {ty}"), &form, same)
                    .at("compiler/src/kernel/widen.rs"),
            );
        }
    }
    out
}
