//! Products that tensor cores may compute, for the tests of those.

use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::core::parse;
use arraygpu_compiler::driver::{Compiled, Targets, compile_for};
use arraygpu_compiler::scalar::{Lit, Ty, eval};

use crate::rng::Rng;

/// A product of two matrices of `ty`, each transposed or not, with what is done with an element of the first one
/// (`%x`, to `%xx`) and with a sum (`%9`, to `%r` of `result`).
pub struct Program<'t> {
    pub ty: Ty,
    pub transposed: [bool; 2],
    pub params: &'t str,
    pub before: &'t str,
    pub after: &'t str,
    pub result: Ty,
}

impl Program<'_> {
    /// Returns the product of matrices of a type, which is that of the result.
    pub fn of(ty: Ty) -> Program<'static> {
        let after = match ty {
            Ty::F16 => "%r = cast f16 %9",
            Ty::Bf16 => "%r = cast bf16 %9",
            _ => "%r = cast f32 %9",
        };
        Program { ty, transposed: [false; 2], params: "", before: "%xx = cast f32 %x", after, result: ty }
    }

    /// Compiles it for GPUs.
    pub fn compile(&self) -> Compiled {
        let Program { ty, params, before, after, result, .. } = self;
        let side = |s: usize| {
            let name = ["a", "b"][s];
            let permuted = format!("  %t{name} = permute %{name} to 1, 0\n");
            if self.transposed[s] {
                (permuted, format!("%t{name}"))
            } else {
                (String::new(), format!("%{name}"))
            }
        };
        let ((first, a), (second, b)) = (side(0), side(1));
        let text = format!(
            "func @f(%a: [[{ty}]], %b: [[{ty}]]{params}) -> (c: [[{result}]]) tensor_cores {{
{first}{second}
  %0 = len {a}
  %1 = len {b} axis 1
  %2 = len {a} axis 1
  %3 = len {b}
  require same %2, %3 \"product\"
  %4 = generate %0, %1 (%i: i64, %j: i64) {{
    %5 = pick {a} at %i
    %6 = pick {b} axis 1 at %j
    %7 = map (%x: {ty}) over %5 {{ {before} yield %xx }}
    %8 = map (%y: {ty}) over %6 {{ %yy = cast f32 %y yield %yy }}
    %9 = panel_dot from 0f32 over %7, %8
    {after}
    yield %r
  }}
  return %4
}}"
        );
        let functions = parse::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        compile_for("t", functions, Targets { cpu: false, cuda: true })
            .unwrap_or_else(|e| panic!("{e}\n{text}"))
    }
}

/// Small integers.
pub fn integers(ty: Ty, extents: &[usize], rng: &mut Rng) -> Value {
    let mut element = |_| eval::eval_cast(ty, Lit::i64(rng.below(7) as i64 - 3));
    let all: Vec<Lit> = (0..extents.iter().product()).map(&mut element).collect();
    match extents {
        [_] => Value::Vector(all),
        _ => Value::Array(extents.iter().map(|n| *n as i64).collect(), all),
    }
}

/// The operands of a product of m by k and k by n.
pub fn operands(p: &Program, [m, k, n]: [usize; 3], rng: &mut Rng) -> Vec<Value> {
    let extents = |s: usize, [a, b]: [usize; 2]| if p.transposed[s] { [b, a] } else { [a, b] };
    vec![integers(p.ty, &extents(0, [m, k]), rng), integers(p.ty, &extents(1, [k, n]), rng)]
}

/// Which of the operands are transposed.
pub const DIRECTIONS: [[bool; 2]; 4] = [[false, false], [false, true], [true, false], [true, true]];
