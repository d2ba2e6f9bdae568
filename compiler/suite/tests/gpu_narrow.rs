//! Arithmetic of narrow integers on a simulated GPU: what is computed in 32 bits without a cut, quotients by
//! products, and sums in the order of lines have the interpreter's bits, in every version and layout.

use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::kernel::{Expr, Stmt};
use arraygpu_compiler::plan::gpu::Grid;
use arraygpu_compiler::scalar::{BinaryOp, Lit, Ty};
use arraygpu_suite::rng::Rng;
use arraygpu_suite::values::literal;
use arraygpu_suite::versions::{check, compiled};
use std::fmt::Write;

const TYPES: [Ty; 6] = [Ty::U8, Ty::I8, Ty::U16, Ty::I16, Ty::U32, Ty::I32];

/// A constant: small, or with any bits.
fn constant(ty: Ty, rng: &mut Rng) -> Lit {
    let bits = if rng.one_in(3) { rng.next() } else { rng.below(12) as u64 };
    Lit { ty, bits: bits & (u64::MAX >> (64 - 8 * ty.size())) }
}

/// Values of an element's code: their names and types.
struct Code {
    values: Vec<(String, Ty)>,
    text: String,
}

impl Code {
    fn add(&mut self, ty: Ty, text: &str) -> String {
        let name = format!("%v{}", self.values.len());
        writeln!(self.text, "    {name} = {text}").unwrap();
        self.values.push((name.clone(), ty));
        name
    }

    /// A value of this type: one that there is, cast if it must be, or a constant.
    fn operand(&mut self, ty: Ty, rng: &mut Rng) -> String {
        if rng.one_in(4) {
            return constant(ty, rng).to_string();
        }
        let (name, from) = self.values[rng.below(self.values.len())].clone();
        if from == ty { name } else { self.add(ty, &format!("cast {ty} {name}")) }
    }

    fn operation(&mut self, rng: &mut Rng) {
        let ty = rng.pick(&TYPES);
        let [a, b, c] = [(); 3].map(|()| self.operand(ty, rng));
        let text = match rng.below(8) {
            0..=2 => {
                format!("{} {a}, {b}", rng.pick(&["add", "sub", "mul", "min", "max", "and", "or", "xor"]))
            }
            3 => format!("{} {a}, {}", rng.pick(&["div", "rem", "shl", "shr"]), constant(ty, rng)),
            4 => format!("{} {a}, {b}", rng.pick(&["div", "rem", "shl", "shr"])),
            5 if ty.is_signed() => format!("{} {a}", rng.pick(&["neg", "abs", "not"])),
            5 => format!("not {a}"),
            6 => format!("mul_add {a}, {b}, {c}"),
            _ => {
                let test = rng.pick(&["lt", "le", "eq", "ne", "gt", "ge"]);
                let mine = format!("%c{}", self.values.len());
                writeln!(self.text, "    {mine} = {test} {a}, {b}").unwrap();
                let other = self.operand(ty, rng);
                format!("select {mine}, {other}, {c}")
            }
        };
        self.add(ty, &text);
    }
}

/// A map of three vectors by some random operations.
fn map(rng: &mut Rng) -> (String, Vec<Ty>) {
    let types: Vec<Ty> = (0..3).map(|_| rng.pick(&TYPES)).collect();
    let values = types.iter().zip(["%a", "%b", "%c"]).map(|(ty, name)| (name.to_string(), *ty)).collect();
    let mut code = Code { values, text: String::new() };
    for _ in 0..6 + rng.below(10) {
        code.operation(rng);
    }
    let result = rng.pick(&[Ty::U8, Ty::I8, Ty::U16, Ty::I16, Ty::I32, Ty::F32]);
    let last = code.values.last().unwrap().0.clone();
    let last = code.add(result, &format!("cast {result} {last}"));
    let [a, b, c] = types[..] else { unreachable!() };
    let text = format!(
        "func @f(%x: [{a}], %y: [{b}], %z: [{c}]) -> (r: [{result}]) {{
  %n = len %x
  %ny = len %y
  %nz = len %z
  require same %n, %ny \"y\"
  require same %n, %nz \"z\"
  %r = map (%a: {a}, %b: {b}, %c: {c}) over %x, %y, %z {{
{}    yield {last}
  }}
  return %r
}}",
        code.text
    );
    (text, types)
}

#[test]
fn random_maps() {
    for seed in 0..150 {
        let mut rng = Rng::new(seed);
        let (text, types) = map(&mut rng);
        let c = compiled(&text, None);
        let n = rng.pick(&[1, 37, 1031]);
        let vector = |ty: &Ty, rng: &mut Rng| Value::Vector((0..n).map(|_| literal(*ty, rng)).collect());
        let args: Vec<Value> = types.iter().map(|ty| vector(ty, &mut rng)).collect();
        check(&c, &args, &format!("seed {seed}, {n} elements\n{text}"));
    }
}

/// The quotient of a weighted sum of a matrix of elements `x`, added in a random order with random signs, some
/// of it twice.
fn stencil(x: Ty, ty: Ty, result: Ty, rng: &mut Rng) -> String {
    let (down, right) = (1 + rng.below(3), 1 + rng.below(3));
    let mut code = Code { values: Vec::new(), text: String::new() };
    for (i, j) in (0..=down).flat_map(|i| (0..=right).map(move |j| (i, j))) {
        let name = code.values.len();
        writeln!(code.text, "    %i{name} = add %i, {i}i64\n    %j{name} = add %j, {j}i64").unwrap();
        writeln!(code.text, "    %x{name} = at %x, %i{name}, %j{name}").unwrap();
        code.add(ty, &format!("cast {ty} %x{name}"));
    }
    let mut left: Vec<String> = code.values.iter().map(|v| v.0.clone()).collect();
    let twice = left[rng.below(left.len())].clone();
    left.push(twice);
    // a sum, or what is joined in any order
    let only = Some(rng.pick(&["min", "max", "and", "or"])).filter(|_| rng.one_in(3));
    while left.len() > 1 {
        let [a, b] =
            [(); 2].map(|()| left.swap_remove(if left.len() > 1 { rng.below(left.len()) } else { 0 }));
        let c = constant(ty, rng);
        let sum = match rng.below(8) {
            _ if only.is_some() => format!("{} {a}, {b}", only.unwrap_or_default()),
            0..=3 => format!("add {a}, {b}"),
            4 => format!("sub {a}, {b}"),
            5 => format!("mul_add {a}, {c}, {b}"),
            6 => format!("mul_add {a}, {a}, {b}"),
            _ => {
                let twice = code.add(ty, &format!("mul {b}, {c}"));
                let more = code.add(ty, &format!("add {twice}, {c}"));
                format!("sub {a}, {more}")
            }
        };
        left.push(code.add(ty, &sum));
        if rng.one_in(5) {
            left.push(left[left.len() - 1].clone());
        }
    }
    let quotient = code.add(ty, &format!("div {}, {}", left[0], constant(ty, rng)));
    let last = code.add(result, &format!("cast {result} {quotient}"));
    format!(
        "func @f(%x: [[{x}]]) -> (r: [[{result}]]) {{
  %n0 = len %x
  %n1 = len %x axis 1
  %m0 = sub %n0, {down}i64
  %m1 = sub %n1, {right}i64
  require extent 0i64, %m0 \"generate\"
  require extent 0i64, %m1 \"generate\"
  %r = generate %m0, %m1 (%i: i64, %j: i64) {{
{}    yield {last}
  }}
  return %r
}}",
        code.text
    )
}

#[test]
fn sums_of_lines() {
    let narrow = [Ty::U8, Ty::I8, Ty::U16, Ty::I16];
    for seed in 0..50 {
        let mut rng = Rng::new(seed);
        let (x, result) = (rng.pick(&narrow), rng.pick(&narrow));
        let ty = rng.pick(&TYPES[usize::from(x.size() > 1) * 2..]);
        let text = stencil(x, ty, result, &mut rng);
        let c = compiled(&text, None);
        for (rows, columns) in [(7, 19), (35, 530)] {
            let elements = (0..rows * columns).map(|_| literal(x, &mut rng)).collect();
            let args = [Value::Array(vec![rows, columns], elements)];
            check(&c, &args, &format!("seed {seed}, {rows} x {columns}\n{text}"));
        }
    }
}

/// The sums of lines are computed once, without a cut, and each quotient is one product.
#[test]
fn operations_of_a_mean() {
    let sum = (1..9).map(|k| {
        format!("    %s{k} = add %{}, %w{k}\n", if k == 1 { "w0".into() } else { format!("s{}", k - 1) })
    });
    let read = |k: i64| {
        format!(
            "    %i{k} = add %i, {}i64\n    %j{k} = add %j, {}i64\n    %x{k} = at %x, %i{k}, %j{k}\n    %w{k} = cast u16 %x{k}\n",
            k / 3,
            k % 3
        )
    };
    let text = format!(
        "func @f(%x: [[u8]]) -> (r: [[u8]]) {{
  %n0 = len %x
  %n1 = len %x axis 1
  %m0 = sub %n0, 2i64
  %m1 = sub %n1, 2i64
  require extent 0i64, %m0 \"generate\"
  require extent 0i64, %m1 \"generate\"
  %r = generate %m0, %m1 (%i: i64, %j: i64) {{
{}{}    %q = div %s8, 9u16
    %b = cast u8 %q
    yield %b
  }}
  return %r
}}",
        (0..9).map(read).collect::<String>(),
        sum.collect::<String>()
    );
    let c = compiled(&text, None);
    let kernel = &c.kernels[0].gpu_variants()[0].kernel;
    let mut counts = [0; 3];
    for s in inner_block(kernel.main.as_deref().unwrap()) {
        match s {
            Stmt::Let(r, e, _) if kernel.regs[r.0 as usize].0.to_string().starts_with("wide") => {
                count(e, &mut counts)
            }
            Stmt::StoreVec(_, _, values) => values.iter().for_each(|e| count(e, &mut counts)),
            _ => {}
        }
    }
    // six lines of 16 sums of three, one of them written twice, and 64 sums of three of them: 512 if each
    // element had its own
    assert_eq!(counts, [320 + 32, 0, 64]);
}

/// The code of a thread in the interior.
fn inner_block(main: &[Stmt]) -> &[Stmt] {
    let inner = main.iter().find_map(|s| match s {
        Stmt::If(_, then, _) if !then.is_empty() => Some(then),
        _ => None,
    });
    inner.expect("a branch for the interior")
}

/// Counts sums, cuts to 16 bits, and products by the reciprocal of 9.
fn count(e: &Expr, counts: &mut [u32; 3]) {
    if let Expr::Binary(op, _, b) = e {
        match (op, &**b) {
            (BinaryOp::Add, _) => counts[0] += 1,
            (BinaryOp::And, Expr::Lit(l)) if l.bits == 65535 => counts[1] += 1,
            (BinaryOp::Mul, Expr::Lit(l)) if l.bits == 7282 => counts[2] += 1,
            _ => {}
        }
    }
    e.children(|child| count(child, counts));
}

/// A program that reduces `element` of `%e` (and a second vector's `%e2`) by some operators, from their
/// identities or any other value.
fn reductions(x: Ty, y: Ty, element: &str, ty: Ty, ops: &[(&str, &str)]) -> String {
    let each = |k: usize, (op, init): &(&str, &str)| {
        format!(
            "  %r{k} = reduce (%a{k}: {ty}, %b{k}: {ty}) from {init}{} over %v {{\n    %c{k} = {op} %a{k}, %b{k}\n    yield %c{k}\n  }}\n",
            if ty == Ty::Bool { "" } else { ty.name() }
        )
    };
    let names: Vec<String> = (0..ops.len()).map(|k| format!("%r{k}")).collect();
    let results: Vec<String> = (0..ops.len()).map(|k| format!("r{k}: {ty}")).collect();
    format!(
        "func @f(%x: [{x}], %y: [{y}]) -> ({}) {{
  %n = len %x
  %ny = len %y
  require same %n, %ny \"y\"
  %v = map (%e: {x}, %e2: {y}) over %x, %y {{
{element}  }}
{}  return {}
}}",
        results.join(", "),
        ops.iter().enumerate().map(|(k, op)| each(k, op)).collect::<String>(),
        names.join(", ")
    )
}

#[test]
fn reductions_in_any_order() {
    let sum: &[(&str, &str)] = &[("add", "0")];
    let several: &[(&str, &str)] =
        &[("add", "5"), ("min", "7"), ("max", "1"), ("xor", "3"), ("mul", "3"), ("or", "0")];
    let widened = "    %w = cast u32 %e\n    yield %w\n";
    let signed = "    %w = cast i32 %e\n    %w2 = cast i32 %e2\n    %p = mul %w, %w2\n    yield %p\n";
    let bits = "    %p = or %e, %e2\n    yield %p\n";
    let count = "    %z = gt %e, 1f16\n    %p = lt %e2, 2f32\n    %both = and %z, %p\n    %w = cast i64 %both\n    yield %w\n";
    let cases = [
        (Ty::U8, Ty::U8, widened, Ty::U32, sum, Some(4)),
        (Ty::U8, Ty::U8, widened, Ty::U32, several, Some(2)),
        (Ty::I16, Ty::I8, signed, Ty::I32, several, Some(1)),
        (Ty::I16, Ty::I16, "    %p = add %e, %e2\n    yield %p\n", Ty::I16, several, Some(1)),
        (Ty::Bool, Ty::Bool, bits, Ty::Bool, &[("and", "true"), ("or", "false"), ("xor", "true")], Some(2)),
        (Ty::F16, Ty::F32, count, Ty::I64, sum, Some(1)),
        // floats have an order, and elements of four bytes are loaded as fast by the tree
        (Ty::F16, Ty::F16, "    %p = cast f32 %e\n    yield %p\n", Ty::F32, sum, None),
        (Ty::I32, Ty::F32, "    yield %e\n", Ty::I32, sum, None),
    ];
    for (x, y, element, ty, ops, batch) in cases {
        let c = compiled(&reductions(x, y, element, ty, ops), None);
        let first = &c.kernels[0].gpu_variants()[0];
        let found = match first.launch.grid {
            Grid::Tiles { min_span, .. } if first.launch.entry.ends_with("_packed") => Some(min_span),
            _ => None,
        };
        assert_eq!(found, batch, "{x}, {y}: {element}");
        let mut rng = Rng::new(5);
        for n in [0, 1, 129, 2047, 2048, 2049, 8 * 2048 - 1, 8 * 2048, 33 * 2048 + 5] {
            let vector = |ty: Ty, rng: &mut Rng| Value::Vector((0..n).map(|_| literal(ty, rng)).collect());
            let args = [vector(x, &mut rng), vector(y, &mut rng)];
            let entries = check(&c, &args, &format!("{x}, {y}: {element}{n} elements"));
            let packed = entries.iter().any(|e| e.ends_with("_packed"));
            assert_eq!(packed, batch.is_some(), "{n} elements: {entries:?}");
        }
    }
}

/// `r[i]`, the sum of `x[step i + tap]` of each tap with other weights, and of the element of a vector of
/// another type.
fn interleaved(x: Ty, y: Ty, result: Ty, step: i64, taps: &[i64]) -> String {
    let mut body = String::new();
    for (k, tap) in taps.iter().enumerate() {
        body += &format!(
            "    %i{k} = add %first, {tap}i64\n    %x{k} = elem %x, %i{k}\n    %w{k} = cast f32 %x{k}\n"
        );
        body += &format!("    %p{k} = mul %w{k}, {}f32\n    %s{} = add %s{k}, %p{k}\n", k + 1, k + 1);
    }
    let behind = taps.iter().max().unwrap() + 1 - step;
    format!(
        "func @f(%x: [{x}], %y: [{y}]) -> (r: [{result}]) {{
  %n = len %x
  %m = len %y
  %all = mul %m, {step}i64
  %read = add %all, {behind}i64
  require same %n, %read \"x\"
  %r = generate %m (%i: i64) {{
    %first = mul %i, {step}i64
    %own = elem %y, %i
    %s0 = cast f32 %own
{}    %v = cast {result} %s{}
    yield %v
  }}
  return %r
}}",
        body,
        taps.len()
    )
}

#[test]
fn interleaved_channels() {
    type Taps = &'static [i64];
    let cases: [(Ty, Ty, Ty, i64, Taps, bool); 9] = [
        (Ty::U8, Ty::U8, Ty::U8, 3, &[0, 1, 2], true),
        (Ty::U8, Ty::Bool, Ty::F32, 3, &[0, 1, 2], true),
        (Ty::U8, Ty::U8, Ty::U8, 4, &[0, 3], true),
        (Ty::I16, Ty::U8, Ty::I16, 2, &[0, 1], true),
        (Ty::F16, Ty::F16, Ty::F16, 2, &[0], true),
        (Ty::F32, Ty::F32, Ty::F32, 3, &[0], true),
        (Ty::F32, Ty::F32, Ty::F32, 2, &[0, 1, 2], true),
        (Ty::F64, Ty::U8, Ty::F64, 2, &[0, 1], true),
        // more bytes than a thread loads
        (Ty::U8, Ty::U8, Ty::U8, 5, &[0, 1], false),
    ];
    for (x, y, result, step, taps, is_loaded) in cases {
        let c = compiled(&interleaved(x, y, result, step, taps), None);
        let variants = c.kernels[0].gpu_variants();
        let entries: Vec<&str> = variants.iter().map(|v| v.launch.entry.as_str()).collect();
        assert_eq!(entries.contains(&"f_0_unaligned"), is_loaded, "{x} by {step}: {entries:?}");
        let Grid::Elements(block) = variants[0].launch.grid else { panic!("a map") };
        let (block, mut rng) = (block as usize, Rng::new(3));
        for m in [1, block - 1, block, block + 1, 2 * block] {
            let n = m as i64 * step + taps.iter().max().unwrap() + 1 - step;
            let vector =
                |ty: Ty, n: usize, rng: &mut Rng| Value::Vector((0..n).map(|_| literal(ty, rng)).collect());
            let args = [vector(x, n as usize, &mut rng), vector(y, m, &mut rng)];
            let ran = check(&c, &args, &format!("{x} by {step}, {taps:?}, {m} elements"));
            for entry in ["f_0", "f_0_wide"] {
                assert!(ran.iter().any(|e| e == entry), "{entry} did not run: {ran:?}");
            }
        }
    }
}

/// Minima and maxima of 3 x 3 elements, some of them the least of a row of greatest ones, with NaN and zeros of
/// both signs.
#[test]
fn extremes_of_lines() {
    let cases = [
        (Ty::F32, ["max", "max"]),
        (Ty::F32, ["min", "max"]),
        (Ty::F64, ["min", "min"]),
        (Ty::U8, ["max", "max"]),
        (Ty::I16, ["max", "min"]),
        (Ty::Bool, ["or", "or"]),
        (Ty::Bool, ["and", "or"]),
    ];
    for (ty, ops) in cases {
        let mut body = String::new();
        for k in 0..9 {
            let (i, j) = (k / 3, k % 3);
            body += &format!(
                "    %i{k} = add %i, {i}i64\n    %j{k} = add %j, {j}i64\n    %x{k} = at %x, %i{k}, %j{k}\n"
            );
            if k > 0 {
                let before = if k == 1 { "%x0".to_string() } else { format!("%s{}", k - 1) };
                body += &format!("    %s{k} = {} {before}, %x{k}\n", ops[usize::from(k % 4 == 3)]);
            }
        }
        let text = format!(
            "func @f(%x: [[{ty}]]) -> (r: [[{ty}]]) {{
  %n0 = len %x
  %n1 = len %x axis 1
  %m0 = sub %n0, 2i64
  %m1 = sub %n1, 2i64
  require extent 0i64, %m0 \"generate\"
  require extent 0i64, %m1 \"generate\"
  %r = generate %m0, %m1 (%i: i64, %j: i64) {{
{body}    yield %s8
  }}
  return %r
}}"
        );
        let (c, mut rng) = (compiled(&text, None), Rng::new(8));
        for (rows, columns) in [(9, 23), (35, 530)] {
            let elements = (0..rows * columns).map(|_| literal(ty, &mut rng)).collect();
            let args = [Value::Array(vec![rows, columns], elements)];
            check(&c, &args, &format!("{ty} {ops:?}, {rows} x {columns}"));
        }
    }
}
