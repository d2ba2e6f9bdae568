//! Writes packages of random programs, with arguments and what the interpreter makes of them: `random_bits.cpp` runs them where there is
//! a GPU, and no compiler. And one of functions with `fast_math`, for `fast_math.cpp`.
//!
//! `random-packages --out DIR [--cubin sm_90] [--ptxas FILE] [--only PACKAGE]` makes `DIR/<package>/` and `DIR/<package>.cases`, for each package:
//!
//! ```text
//! "AGPUCASE"  u32 entries  { u32 length, name  u32 cases { case } }          all little-endian; entries in the package's order
//! case = u32 status  { parameter }  { result }                              AGPU_OK, AGPU_ERROR_SHAPE, AGPU_ERROR_RECORD; results only if OK
//! parameter, result = the scalar's bytes, or: u64 elements and their bytes  types are the package's
//! ```

use arraygpu_compiler::core::interp::{self, Value};
use arraygpu_compiler::core::{Function, parse};
use arraygpu_compiler::driver::{self, Compiled, CompiledFunction, Targets};
use arraygpu_compiler::package::{self, Options, names, ptxas::Arch};
use arraygpu_compiler::scalar::{BinaryOp, Lit, Ty, UnaryOp};
use arraygpu_fuzz::case::Case;
use arraygpu_fuzz::check::precise;
use arraygpu_fuzz::generate;
use arraygpu_suite::{operators, rng::Rng, semantics, values};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::slice;

/// Programs of a package.
const PROGRAMS: usize = 40;
/// Packages of random programs; the first has no machine code: there the driver compiles.
const PACKAGES: u64 = 3;
/// For the programs that are there for the edges of the reduction tree.
const EDGES: [usize; 10] = [0, 1, 3, 127, 128, 129, 2047, 2048, 2049, 4097];

const OK: u32 = 0;
const SHAPE: u32 = 4;
const RECORD: u32 = 9;

struct Asked {
    out: PathBuf,
    cubin: Vec<Arch>,
    ptxas: Option<PathBuf>,
    only: Option<String>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let asked = arguments()?;
    for p in 0..PACKAGES {
        let name = format!("random{p}");
        let (functions, calls): (Vec<Function>, Vec<_>) = programs(p * 1000 + 10).into_iter().unzip();
        let compiled = compile(&name, functions)?;
        write(&asked, &compiled, p > 0, &|i, _, _| calls[i].clone())?;
    }
    let compiled = compile("edges", edges()?)?;
    let cases =
        |_: usize, f: &Function, rng: &mut Rng| EDGES.iter().map(|&n| finite(f, n, rng)).collect::<Vec<_>>();
    write(&asked, &compiled, true, &cases)?;
    let compiled = compile("operators", operators::functions())?;
    write(&asked, &compiled, true, &|_, f, _| vec![operators::arguments(f)])?;
    let compiled = compile("fast_math", fast_math()?)?;
    write(&asked, &compiled, true, &|_, f, _| vec![ordinary(f)])?;
    // what is said of matrices runs in the simulator
    let statements = semantics::statements().into_iter().filter(|(f, _)| is_flat(f));
    let (functions, calls): (Vec<Function>, Vec<_>) = statements.unzip();
    let compiled = compile("semantics", functions)?;
    write(&asked, &compiled, true, &|i, _, _| calls[i].iter().map(|c| c.args.clone()).collect())
}

fn arguments() -> Result<Asked, Box<dyn Error>> {
    let mut asked = Asked { out: "random".into(), cubin: Vec::new(), ptxas: None, only: None };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} wants a value"))?;
        match word.as_str() {
            "--out" => asked.out = value.into(),
            "--cubin" => asked.cubin.push(value.parse()?),
            "--only" => asked.only = Some(value),
            "--ptxas" => asked.ptxas = Some(value.into()),
            _ => return Err(format!("unknown option {word}").into()),
        }
    }
    Ok(asked)
}

fn compile(name: &str, functions: Vec<Function>) -> Result<Compiled, Box<dyn Error>> {
    Ok(driver::compile_for(name, functions, Targets { cpu: true, cuda: true })?)
}

/// Random programs of scalars and vectors that compile, from that seed on, with the arguments of their calls.
fn programs(seed: u64) -> Vec<(Function, Vec<Vec<Value>>)> {
    let case = |seed| {
        let mut case = Case::of(&generate::program(seed));
        precise(&mut case.function);
        case
    };
    let wanted = |case: &Case| {
        let f = case.function.clone();
        // core IR allows a parameter and a result of one name; packages do not
        let fits = is_flat(&f) && case.refused.is_none() && names::check("t", slice::from_ref(&f)).is_ok();
        fits && driver::compile("t", vec![f]).is_ok()
    };
    let args = |case: Case| (case.function, case.calls.into_iter().map(|c| c.args).collect());
    (seed..).map(case).filter(wanted).take(PROGRAMS).map(args).collect()
}

/// Cases have scalars and vectors.
fn is_flat(f: &Function) -> bool {
    let results = f.results.iter().map(|r| f.graph.ty(r.value));
    f.params.iter().map(|p| p.ty).chain(results).all(|ty| ty.rank < 2)
}

/// Maps and reductions of every shape, for each type of numbers.
fn edges() -> Result<Vec<Function>, Box<dyn Error>> {
    let mut out = Vec::new();
    for ty in ["f32", "f64", "i32", "i64", "u32", "u64", "u8", "i8", "i16", "u16"] {
        out.extend(parse::parse(&include_str!("../../tests/gpu/edges.core").replace("TYPE", ty))?);
    }
    Ok(out)
}

/// Every operator and function of f32, and a sum of products, as a map `<name>_<type>` of two vectors in which GPUs may approximate; of the other floats those that
/// are approximated in f32.
fn fast_math() -> Result<Vec<Function>, Box<dyn Error>> {
    let mut text = String::new();
    for ty in [Ty::F32, Ty::F64, Ty::F16, Ty::Bf16] {
        let wanted = |approximated: bool| ty == Ty::F32 || approximated;
        let unary = UnaryOp::ALL.iter().filter(|op| op.is_exact() && op.accepts(ty) && op.result(ty) == ty);
        let unary = unary.filter(|op| wanted(op.approximate().is_some()));
        let unary = unary.map(|op| (op.name(), format!("%r = {op} %a")));
        let binary = BinaryOp::ALL.iter().filter(|op| op.is_exact() && op.accepts(ty) && op.result(ty) == ty);
        let binary = binary.filter(|op| wanted(op.approximate().is_some()));
        let binary = binary.map(|op| (op.name(), format!("%r = {op} %a, %b")));
        let sum = ("product_sum", "%p = mul %a, %b %r = add %p, %a".into());
        for (name, body) in unary.chain(binary).chain([sum]) {
            text += &format!(
                "func @{name}_{ty}(%x: [{ty}], %y: [{ty}]) -> (result: [{ty}]) fast {{
  %0 = len %x %1 = len %y require same %0, %1 \"zip_with: x, y\"
  %2 = map (%a: {ty}, %b: {ty}) over %x, %y {{ {body} yield %r }}
  return %2
}}
"
            );
        }
    }
    Ok(parse::parse(&text)?)
}

/// Numbers where the approximations promise something.
fn ordinary(f: &Function) -> Vec<Value> {
    let (op, ty) = (f.name.rsplit_once('_').map_or("", |n| n.0), f.params[0].ty.elem);
    let (least, most) = match op {
        "sqrt" | "rsqrt" | "log" | "log2" | "log10" => (1e-3, 6e4),
        "exp" | "exp2" => (-8.0, 10.0),
        "sin" | "cos" => (-3.1, 3.1),
        "tan" => (-1.5, 1.5),
        _ => (-4.0, 5.0),
    };
    let between = |least: f64, most: f64, step: u64| {
        let at = move |i: u64| least + (most - least) * ((i * step % 2048) as f64 / 2047.0);
        Value::Vector((0..2048).map(|i| Lit::float(ty, at(i))).collect())
    };
    vec![between(least, most, 1), between(0.5, 8.0, 1031)]
}

/// Arguments without infinities and NaN, which would hide every other number of a sum.
fn finite(f: &Function, n: usize, rng: &mut Rng) -> Vec<Value> {
    let mut args = values::arguments(f, n, n, rng);
    let odd = |l: &Lit| match l.ty {
        ty if ty.is_float() => l.is_nan() || l.as_float().is_some_and(|x| x.abs() >= 1e6),
        _ => false,
    };
    for a in &mut args {
        let Value::Vector(v) = a else { continue };
        v.iter_mut().filter(|l| odd(l)).for_each(|l| *l = Lit::one(l.ty));
    }
    args
}

/// The arguments of each call of a function.
type Cases<'a> = dyn Fn(usize, &Function, &mut Rng) -> Vec<Vec<Value>> + 'a;

/// The package and its cases.
fn write(
    asked: &Asked,
    compiled: &Compiled,
    machine_code: bool,
    cases: &Cases,
) -> Result<(), Box<dyn Error>> {
    if asked.only.as_ref().is_some_and(|only| *only != compiled.name) {
        return Ok(());
    }
    let mut options = Options::new(asked.out.join(&compiled.name));
    if machine_code {
        options.cubin = asked.cubin.clone();
        options.ptxas = asked.ptxas.clone();
    }
    package::write(compiled, &options)?;
    let mut file = b"AGPUCASE".to_vec();
    number(&mut file, compiled.functions.len());
    for (i, CompiledFunction { source: f, fused, .. }) in compiled.functions.iter().enumerate() {
        number(&mut file, f.name.len());
        file.extend(f.name.as_bytes());
        let cases = cases(i, f, &mut Rng::new(i as u64 + 77));
        number(&mut file, cases.len());
        cases.iter().for_each(|args| case(&mut file, f, fused, args));
    }
    save(&asked.out.join(format!("{}.cases", compiled.name)), &file)
}

/// Results are those of the program as it was written. Whether a record is left is asked of the fused function: a
/// record may go with a value that no result needs.
fn case(file: &mut Vec<u8>, source: &Function, fused: &Function, args: &[Value]) {
    let recorded = interp::run(fused, args).is_ok_and(|o| o.recorded);
    let (status, results) = match interp::run(source, args) {
        Ok(_) if recorded => (RECORD, Vec::new()),
        Ok(o) => (OK, o.results),
        Err(_) => (SHAPE, Vec::new()),
    };
    number(file, status as usize);
    args.iter().chain(&results).for_each(|v| value(file, v));
}

fn value(file: &mut Vec<u8>, value: &Value) {
    let lit = |l: &Lit, file: &mut Vec<u8>| {
        let mut bytes = [0; 8];
        l.to_bytes(&mut bytes);
        file.extend(&bytes[..l.ty.size()]);
    };
    match value {
        Value::Scalar(l) => lit(l, file),
        Value::Array(..) => unreachable!("random programs are about vectors"),
        Value::Vector(v) => {
            file.extend((v.len() as u64).to_le_bytes());
            v.iter().for_each(|l| lit(l, file));
        }
    }
}

fn number(file: &mut Vec<u8>, n: usize) {
    file.extend((n as u32).to_le_bytes());
}

fn save(path: &Path, bytes: &[u8]) -> Result<(), Box<dyn Error>> {
    std::fs::write(path, bytes).map_err(|e| format!("cannot write {}: {e}", path.display()).into())
}
