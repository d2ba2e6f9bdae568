//! Every operator and cast on every type, over all pairs of corner values and with corner values as constants; and
//! indices of many shapes.

use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::core::{Function, parse};
use arraygpu_compiler::scalar::{BinaryOp, Lit, Ty, UnaryOp, eval_cast};
use std::fmt::Write;

/// Results of one function.
const TOGETHER: usize = 8;

const FLOATS: [f64; 55] = [
    0.0,
    -0.0,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    0.49999997,
    0.49999999999999994,
    254.5,
    255.5,
    256.0,
    -0.9,
    65504.0,
    65520.0,
    6e-8,
    2.980232238769532e-8,
    1.00048828125,
    1.0004882812500002,
    1.00390625,
    1.0039062500000002,
    3.3961775292304957e38,
    127.5,
    -128.5,
    -129.0,
    32767.9,
    -32769.0,
    65536.0,
    2147483647.0,
    2147483648.0,
    -2147483648.0,
    -2147483649.0,
    4294967295.0,
    4294967296.0,
    9223372036854775807.0,
    -9.3e18,
    1e300,
    -1e300,
    1e-40,
    5e-324,
    1e-310,
    8388607.5,
    4503599627370495.5,
    16777217.0,
    3.4028235e38,
    -1e38,
    1.0000001,
    0.333333333333,
    7.0,
    3.0,
];
const INTEGERS: [i64; 30] = [
    0,
    1,
    -1,
    2,
    3,
    7,
    -7,
    31,
    32,
    33,
    63,
    64,
    -31,
    100,
    255,
    256,
    -128,
    -129,
    32767,
    32768,
    -32769,
    65536,
    16777217,
    i32::MIN as i64,
    i32::MAX as i64,
    (1 << 32) - 1,
    1 << 32,
    (1 << 53) + 1,
    i64::MIN,
    i64::MAX,
];

/// Divisors and counts that are constants.
const CONSTANTS: [i64; 8] = [1, -1, 2, 7, -7, 31, 33, 64];

/// Values at which operators go wrong.
pub fn corners(ty: Ty) -> Vec<Lit> {
    match ty {
        Ty::Bool => [false, true].map(Lit::bool).to_vec(),
        ty if ty.is_float() => distinct(FLOATS.map(|x| eval_cast(ty, Lit::f64(x)))),
        ty => integers(ty, &INTEGERS),
    }
}

/// Integers cut to a type, and its ends.
fn integers(ty: Ty, values: &[i64]) -> Vec<Lit> {
    let cut = values.iter().map(|x| eval_cast(ty, Lit::i64(*x)));
    distinct(cut.chain([Lit::least(ty), Lit::greatest(ty)]))
}

fn distinct(values: impl IntoIterator<Item = Lit>) -> Vec<Lit> {
    let mut all: Vec<Lit> = values.into_iter().collect();
    all.sort();
    all.dedup();
    all
}

/// What is computed of %a and %b, with its type.
fn bodies(ty: Ty) -> Vec<(Ty, String)> {
    let mut all = Vec::new();
    for op in UnaryOp::ALL.iter().filter(|o| o.accepts(ty) && o.is_exact()) {
        all.push((op.result(ty), format!("%c = {op} %a yield %c")));
    }
    for op in BinaryOp::ALL.iter().filter(|o| o.accepts(ty) && o.is_exact()) {
        let result = op.result(ty);
        let divides = matches!(op, BinaryOp::Div | BinaryOp::Rem) && !ty.is_float();
        // no record where the divisor is 0: the quotient is computed all the same
        all.push((
            result,
            match divides {
                true => format!("%z = ne %b, 0{ty} %d = {op} %a, %b %c = select %z, %d, 3{ty} yield %c"),
                false => format!("%c = {op} %a, %b yield %c"),
            },
        ));
        let shifts = matches!(op, BinaryOp::Shl | BinaryOp::Shr);
        if divides || shifts {
            let constants = integers(ty, &CONSTANTS).into_iter().filter(|k| k.bits != 0);
            all.extend(constants.map(|k| (result, format!("%c = {op} %a, {k} yield %c"))));
        }
    }
    let casts = Ty::ALL.into_iter().filter(|to| *to != ty);
    all.extend(casts.map(|to| (to, format!("%c = cast {to} %a yield %c"))));
    if ty != Ty::Bool {
        all.push((ty, "%c = mul_add %a, %b, %a %d = neg %c yield %d".into()));
    }
    all.push((ty, "%c = ne %a, %b %d = select %c, %a, %b yield %d".into()));
    all
}

/// Functions `ops_TYPE_I(x, y)` of two vectors of corner values.
pub fn functions() -> Vec<Function> {
    let mut text = String::new();
    for ty in Ty::ALL {
        for (i, group) in bodies(ty).chunks(TOGETHER).enumerate() {
            let results: Vec<String> =
                group.iter().enumerate().map(|(r, b)| format!("r{r}: [{}]", b.0)).collect();
            let _ =
                writeln!(text, "func @ops_{ty}_{i}(%x: [{ty}], %y: [{ty}]) -> ({}) {{", results.join(", "));
            let _ = writeln!(text, "  %0 = len %x\n  %1 = len %y\n  require same %0, %1 \"zip_with: x, y\"");
            for (r, (_, body)) in group.iter().enumerate() {
                let _ = writeln!(text, "  %{} = map (%a: {ty}, %b: {ty}) over %x, %y {{ {body} }}", r + 2);
            }
            let names: Vec<String> = (0..group.len()).map(|r| format!("%{}", r + 2)).collect();
            let _ = writeln!(text, "  return {}\n}}", names.join(", "));
        }
    }
    for (i, index) in INDICES.iter().enumerate() {
        let _ = writeln!(
            text,
            "func @index_{i}(%x: [f32], %ks: [i64]) -> (result: [f32], total: f32) {{
  %n = len %x
  %0 = map (%k: i64) over %ks {{
    {index} %low = ge %j, 0i64 %high = lt %j, %n %in = and %low, %high
    %v = at %x, %j %w = select %in, %v, -1f32 yield %w
  }}
  %1 = reduce (%a: f32, %b: f32) from 0f32 over %0 {{ %c = add %a, %b yield %c }}
  return %0, %1
}}"
        );
    }
    text += "func @bytes(%x: [bool], %y: [bool]) -> (moved: [bool], both: [bool], equal: [bool], number: [u8], count: i32) {
  %0 = len %x %1 = len %y require same %0, %1 \"zip_with: x, y\"
  %2 = map (%a: bool) over %x { yield %a }
  %3 = map (%a: bool, %b: bool) over %x, %y { %c = and %a, %b yield %c }
  %4 = map (%a: bool, %b: bool) over %x, %y { %c = eq %a, %b yield %c }
  %5 = map (%a: bool) over %x { %c = cast u8 %a yield %c }
  %6 = map (%a: bool) over %x { %c = cast i32 %a yield %c }
  %7 = reduce (%a: i32, %b: i32) from 0i32 over %6 { %c = add %a, %b yield %c }
  return %2, %3, %4, %5, %7
}
";
    halves(&mut text);
    parse::parse(&text).unwrap()
}

/// Casts of halves: of all their values, and to them at and beside every tie.
fn halves(text: &mut String) {
    for ty in [Ty::F16, Ty::Bf16] {
        for (from, to) in [(ty, Ty::F32), (ty, Ty::F64), (Ty::F32, ty), (Ty::F64, ty)] {
            let _ = writeln!(
                text,
                "func @half_{from}_{to}(%x: [{from}]) -> (result: [{to}]) {{
  %0 = map (%a: {from}) over %x {{ %b = cast {to} %a yield %b }}
  return %0
}}"
            );
        }
    }
}

/// All values of a half; or the numbers of another type where casts to the half change their mind.
fn ties(f: &Function) -> Vec<Lit> {
    let (from, to) = (f.params[0].ty.elem, f.graph.ty(f.results[0].value).elem);
    let all = |ty: Ty| (0..=u64::from(u16::MAX)).map(move |bits| Lit { ty, bits });
    if from.is_half() {
        return all(from).collect();
    }
    let value = |l: Lit| l.as_float().filter(|x| x.is_finite());
    let neighbours = all(to).zip(all(to).skip(1)).filter_map(|(a, b)| Some((value(a)?, value(b)?)));
    let at = |(a, b): (f64, f64)| {
        let tie = Lit::float(from, (a + b) / 2.0).bits;
        [tie.saturating_sub(1), tie, tie + 1, Lit::float(from, a).bits].map(|bits| Lit { ty: from, bits })
    };
    neighbours.flat_map(at).collect()
}

/// Indices %j made of %k.
const INDICES: [&str; 12] = [
    "%j = add %k, 1048575i64",
    "%j = sub %k, 1048576i64",
    "%j = add %k, -9223372036854775808i64",
    "%j = add %k, 9223372036854775807i64",
    "%p = cast i32 %k %q = sub %p, 2147483647i32 %j = cast i64 %q",
    "%p = cast u32 %k %q = add %p, 77u32 %j = cast i64 %q",
    "%q = mul %k, %k %j = sub 5i64, %q",
    "%q = lt %k, 0i64 %r = neg %k %s = select %q, %r, %k %j = add %s, 3i64",
    "%r = div %k, 3i64 %s = rem %k, 5i64 %j = add %r, %s",
    "%r = shr %k, 1i64 %j = sub %r, 4i64",
    "%p = cast u8 %k %j = cast i64 %p",
    "%r = and %k, 127i64 %j = mul %r, 2i64",
];

/// The arguments of one of the functions.
pub fn arguments(f: &Function) -> Vec<Value> {
    if f.name.starts_with("index") {
        let starts = [0, -1048575, 1048575, i64::MIN + 60, i64::MAX - 60, 1 << 31, -(1 << 31), 1 << 32];
        let k = starts.into_iter().flat_map(|s: i64| (-60..60).map(move |i| Lit::i64(s.wrapping_add(i))));
        return vec![
            Value::Vector((0..2500).map(|i| Lit::f32(i as f32)).collect()),
            Value::Vector(k.collect()),
        ];
    }
    if f.name == "bytes" {
        // whatever byte is there
        let byte = |bits: u64| Lit { ty: Ty::Bool, bits };
        let all = |step| Value::Vector((0..300u64).map(|i| byte(i * step % 256)).collect());
        return vec![all(1), all(64)];
    }
    if f.name.starts_with("half") {
        return vec![Value::Vector(ties(f))];
    }
    let all = corners(f.params[0].ty.elem);
    let pairs = || all.iter().flat_map(|a| all.iter().map(move |b| (*a, *b)));
    vec![Value::Vector(pairs().map(|p| p.0).collect()), Value::Vector(pairs().map(|p| p.1).collect())]
}
