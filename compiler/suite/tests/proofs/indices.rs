//! What the compiler claims of indices: that the reads which it makes of slices, reversals, margins and flat
//! sequences are inside, and which elements they are; and what it decides away from edges.
//!
//! Lengths are at most 2^47, as bytes that a process can address; indices and bounds are any that pass the shape
//! rules.

use super::claim::Claim;
use super::graphs::Integers;
use arraygpu_compiler::build::{Boundary, Builder};
use arraygpu_compiler::core::index_space::indices;
use arraygpu_compiler::core::{Function, Graph, NodeId, Op, Output, Param, Rule, Type};
use arraygpu_compiler::passes::{fuse, simplify};
use arraygpu_compiler::scalar::Ty;
use arraygpu_compiler::schedule::boundary::decisions::{Answer, DECISIONS};

/// All claims of this file.
pub fn claims() -> Vec<Claim> {
    let mut out = reads();
    out.extend(flat());
    out.extend(decisions());
    out.extend(margins());
    out.extend(sums());
    out
}

/// A vector x, a matrix m, and scalars a, b, c.
fn function() -> Builder {
    let (scalar, names) = (Type::scalar(Ty::I64), ["a", "b", "c"]);
    let mut params = vec![
        Param { name: "x".into(), ty: Type::vector(Ty::F32) },
        Param { name: "m".into(), ty: Type::array(Ty::F32, 2) },
    ];
    params.extend(names.map(|name| Param { name: name.into(), ty: scalar }));
    Builder::new(Function::new("f", params))
}

const X: NodeId = NodeId(0);
const M: NodeId = NodeId(1);
const A: NodeId = NodeId(2);
const B: NodeId = NodeId(3);
const C: NodeId = NodeId(4);

type Make = fn(&mut Builder) -> NodeId;

/// Programs that read, and which element of its array the element at i (and j) is; n is the array's length.
fn reads() -> Vec<Claim> {
    let cases: [(&str, Make, &str); 9] = [
        ("slice", |b| b.slice("slice", X, 0, [A, B, C]).expect("fits"), "(+ a (* i c))"),
        (
            "slice by 3",
            |b| {
                let three = b.number(3);
                b.slice("slice", X, 0, [A, B, three]).expect("fits")
            },
            "(+ a (* 3 i))",
        ),
        ("reverse", |b| b.node(Op::Reverse(X, 0)).expect("fits"), "(- (- n 1) i)"),
        (
            "slice of reverse",
            |b| {
                let (x, one) = (b.node(Op::Reverse(X, 0)).expect("fits"), b.number(1));
                b.slice("slice", x, 0, [A, B, one]).expect("fits")
            },
            "(- (- n 1) (+ a i))",
        ),
        ("slice of columns", |b| b.slice("slice", M, 1, [A, B, C]).expect("fits"), "(+ a (* j c))"),
        (
            "clamp",
            |b| b.pad(X, 0, [A, B], &Boundary::Clamp).expect("fits"),
            "(ite (< (- i a) 0) 0 (ite (< (- i a) n) (- i a) (- n 1)))",
        ),
        (
            "mirror",
            |b| b.pad(X, 0, [A, B], &Boundary::Mirror).expect("fits"),
            "(ite (< (- i a) 0) (- (- 1) (- i a)) (ite (< (- i a) n) (- i a) (- (- (* 2 n) 1) (- i a))))",
        ),
        (
            "wrap",
            |b| b.pad(X, 0, [A, B], &Boundary::Wrap).expect("fits"),
            "(ite (< (- i a) 0) (+ (- i a) n) (ite (< (- i a) n) (- i a) (- (- i a) n)))",
        ),
        (
            "clamp of columns",
            |b| b.pad(M, 1, [A, B], &Boundary::Clamp).expect("fits"),
            "(ite (< (- j a) 0) 0 (ite (< (- j a) n) (- j a) (- n 1)))",
        ),
    ];
    cases.into_iter().map(|(case, make, element)| read(case, make, element)).collect()
}

fn read(case: &str, make: Make, element: &str) -> Claim {
    let mut builder = function();
    let value = make(&mut builder);
    let mut f = builder.function;
    f.results.push(Output { name: "r".into(), value });
    let f = fuse::run(simplify::run(f).expect("passes")).expect("passes");
    let mut g = f.graph.clone();
    let Op::Generate(extents, lambda) = g.op(f.results[0].value).clone() else { panic!("it is fused") };
    let index: Vec<NodeId> = extents.iter().map(|_| g.fresh_var(Ty::I64).1).collect();
    let body = g.open(&lambda, &index);
    let is_read = |n: &NodeId| matches!(g.op(*n), Op::Elem(..));
    let read = g.reachable([body]).into_iter().find(is_read).expect("a read");
    let Op::Elem(array, at) = g.op(read).clone() else { panic!("a read") };

    let mut s = Integers::default();
    for (name, n) in ["a", "b", "c"].into_iter().zip([A, B, C]) {
        s.any(name, Some(n));
        // what passes the rules is a length or an index, but for a stride
        s.assume(&format!("(and (<= (- {}) {name}) (< {name} {}))", 1u64 << 61, 1u64 << 61));
    }
    let lengths = lengths(&mut s, &mut g, array);
    for r in &f.requires {
        let (a, b) = (s.term(&g, r.a), s.term(&g, r.b));
        let holds = if r.rule == Rule::Same { "=" } else { "<=" };
        s.assume(&format!("({holds} {a} {b})"));
    }
    for ((name, i), n) in ["i", "j"].into_iter().zip(&index).zip(&extents) {
        s.any(name, Some(*i));
        let n = s.term(&g, *n);
        s.assume(&format!("(and (<= 0 {name}) (< {name} {n}))"));
    }
    let mut claim = Vec::new();
    let axis = if element.contains('j') { 1 } else { 0 };
    for (k, (i, n)) in at.iter().zip(&lengths).enumerate() {
        let i = s.term(&g, *i);
        claim.push(format!("(<= 0 {i}) (< {i} {n})"));
        if k == axis {
            let words = element.replace(" n)", &format!(" {n})")).replace(" n ", &format!(" {n} "));
            claim.push(format!("(= {i} {words})"));
        }
    }
    let says = format!("reads are inside, of the element {element}");
    Claim::solved("read", case, &says, s.prove(&claim.join(" ")))
        .at("compiler/src/passes/fuse.rs, build/pad.rs")
}

/// The lengths of an array.
fn lengths(s: &mut Integers, g: &mut Graph, array: NodeId) -> Vec<String> {
    (0..g.ty(array).rank)
        .map(|axis| {
            let (len, name) = (g.add(Op::Len(array, axis)), format!("len{axis}"));
            s.any(&name, Some(len));
            s.assume(&format!("(and (<= 0 {name}) (<= {name} {}))", 1u64 << 47));
            name
        })
        .collect()
}

/// Indices in row-major order are those of the element: inside, and the only ones.
fn flat() -> Vec<Claim> {
    let of = |rank: usize| {
        let mut builder = function();
        let g = builder.graph();
        let k = g.fresh_var(Ty::I64).1;
        let extents: Vec<NodeId> = (0..rank).map(|_| g.fresh_var(Ty::I64).1).collect();
        let index = indices(g, k, &extents);
        let mut s = Integers::default();
        let (mut size, mut place, mut inside) = ("1".to_string(), "0".to_string(), Vec::new());
        for (n, name) in extents.iter().zip(["n0", "n1", "n2"].map(|n| n.replace('n', "len"))) {
            s.any(&name, Some(*n));
            s.assume(&format!("(<= 1 {name})"));
            size = format!("(* {size} {name})");
        }
        s.any("k", Some(k));
        s.assume(&format!("(and (<= 0 k) (< k {size}) (<= {size} {}))", 1u64 << 47));
        for (i, name) in index.iter().zip(["len0", "len1", "len2"]) {
            s.assume(&format!("(<= {name} {})", 1u64 << 47));
            let i = s.term(g, *i);
            inside.push(format!("(<= 0 {i}) (< {i} {name})"));
            place = format!("(+ (* {place} {name}) {i})");
        }
        let claim = format!("{} (= k {place})", inside.join(" "));
        Claim::solved(
            "row-major",
            &format!("rank {rank}"),
            "the indices of element k are inside, and of k",
            s.prove(&claim),
        )
        .at("compiler/src/passes/fuse.rs, schedule/element/lower/address.rs")
    };
    vec![of(2), of(3)]
}

/// Of each line of the table of decisions.
fn decisions() -> Vec<Claim> {
    let each = DECISIONS.iter().enumerate().map(|(i, d)| {
        let mut builder = function();
        let g = builder.graph();
        let (a, b) = (g.fresh_var(Ty::I64).1, g.fresh_var(Ty::I64).1);
        let mut s = Integers::default();
        for (name, n) in [("a", a), ("b", b)] {
            s.any(name, Some(n));
            // sums that `is_small` lets through
            s.assume(&format!("(and (<= (- {}) {name}) (<= {name} {}))", 1u64 << 60, 1u64 << 60));
        }
        for form in d.when {
            let [of_a, of_b, constant] =
                form.parts().map(|k| if k < 0 { format!("(- {})", -k) } else { k.to_string() });
            s.assume(&format!("(<= 0 (+ (* {of_a} a) (* {of_b} b) {constant}))"));
        }
        let (name, meant) = match d.op {
            None => ("within", "(and (<= 0 a) (< a b))".to_string()),
            Some(op) => {
                let n = g.add(Op::Binary(op, a, b));
                (op.name(), s.term(g, n))
            }
        };
        let is = match d.is {
            Answer::First => "a".to_string(),
            Answer::Second => "b".into(),
            Answer::Difference => "(- a b)".into(),
            Answer::Truth(t) => t.to_string(),
        };
        let says = format!("{name} a b is {is} where {:?} are not negative", d.when);
        Claim::solved("decision", &format!("{i} {name}"), &says, s.prove(&format!("(= {meant} {is})")))
            .at("compiler/src/schedule/boundary/decisions.rs")
    });
    each.collect()
}

/// A form c + k i is not negative within the margin that `inside` takes: c / |k|, rounded up.
fn margins() -> Vec<Claim> {
    let of = |case: &str, least: &str, inside: &str| {
        let mut s = Integers::default();
        for name in ["c", "k", "i", "n"] {
            s.any(name, None);
        }
        s.assume("(and (<= 0 i) (< i n) (distinct k 0))");
        s.assume(case);
        s.assume(&format!("(< {least} 0)"));
        // missing / step + (missing % step != 0)
        let (missing, step) = (format!("(- {least})"), "(ite (< k 0) (- k) k)");
        s.assume(&format!(
            "(let ((m (+ (div {missing} {step}) (ite (= (mod {missing} {step}) 0) 0 1)))) {inside})"
        ));
        s.prove("(<= 0 (+ c (* k i)))")
    };
    let first = of("(< 0 k)", "c", "(<= m i)");
    let last = of("(< k 0)", "(+ c (* k (- n 1)))", "(< i (- n m))");
    [("of the first", first), ("of the last", last)]
        .map(|(case, script)| {
            Claim::solved("margin", case, "c + k i >= 0 where i keeps the margin", script)
                .at("compiler/src/schedule/boundary/interior.rs")
        })
        .into()
}

/// Steps of linear forms, in wrapping arithmetic.
fn sums() -> Vec<Claim> {
    let laws = [
        ("sum", "(bvmul k (bvadd a b))", "(bvadd (bvmul k a) (bvmul k b))"),
        ("difference", "(bvmul k (bvsub a b))", "(bvadd (bvmul k a) (bvmul (bvneg k) b))"),
        ("negation", "(bvmul k (bvneg a))", "(bvmul (bvneg k) a)"),
        ("product", "(bvmul k (bvmul a b))", "(bvmul (bvmul k a) b)"),
        ("equal terms", "(bvadd (bvmul k a) (bvmul b a))", "(bvmul (bvadd k b) a)"),
        ("subtracted term", "(bvadd b (bvmul k a))", "(bvsub b (bvmul (bvneg k) a))"),
        ("subtracted constant", "(bvadd b k)", "(bvsub b (bvneg k))"),
    ];
    laws.map(|(case, from, to)| {
        let mut s = super::smt::Script::default();
        for name in ["a", "b", "k"] {
            s.any(Ty::I64, name);
        }
        Claim::solved("linear form", case, &format!("{from} = {to}"), s.prove(&format!("(= {from} {to})")))
            .at("compiler/src/core/linear.rs")
    })
    .into()
}
