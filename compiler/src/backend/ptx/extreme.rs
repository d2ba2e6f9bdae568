//! Minimum and maximum of f64. The PTX instructions ignore a NaN, which the operations of the IR return, and with a
//! test for it they become ten machine instructions. These are five.

use super::Emitter;
use super::regs::Operand;
use crate::scalar::{BinaryOp, Ty};

impl<'a> Emitter<'a> {
    /// Takes the first operand if it is a NaN or beyond the second one, and else the second, which then includes all
    /// its NaNs. Where both are zeros, the second has the sign of the extreme: the operation on signs changes no
    /// other.
    pub fn extreme(&mut self, dest: Operand<'a>, op: BinaryOp, x: Operand<'a>, y: Operand<'a>) {
        let [x, y] = [x, y].map(|v| self.in_register(Ty::F64, v));
        let [x_low, x_high, y_low, y_high, high] = [(); 5].map(|()| self.regs.fresh(Ty::U32));
        let first = self.regs.fresh(Ty::Bool);
        code!(self, "mov.b64 {{{x_low}, {x_high}}}, {x};");
        code!(self, "mov.b64 {{{y_low}, {y_high}}}, {y};");
        let (beyond, [part, sign], rest) = match op {
            BinaryOp::Max => ("gt", ["or", "and"], "0x7fffffff"),
            _ => ("lt", ["and", "or"], "0x80000000"),
        };
        code!(self, "{part}.b32 {high}, {x_high}, {rest};");
        code!(self, "{sign}.b32 {high}, {high}, {y_high};");
        code!(self, "setp.nan.f64 {first}, {x}, {x};");
        code!(self, "setp.{beyond}.or.f64 {first}, {x}, {y}, {first};");
        code!(self, "selp.b32 {x_low}, {x_low}, {y_low}, {first};");
        code!(self, "selp.b32 {x_high}, {x_high}, {high}, {first};");
        code!(self, "mov.b64 {dest}, {{{x_low}, {x_high}}};");
    }
}

#[cfg(test)]
mod tests {
    use crate::core::parse;
    use crate::driver::{Targets, compile_for};
    use crate::scalar::{BinaryOp, Lit, eval::eval_binary};
    use std::collections::HashMap;

    /// Runs instructions that compute an extreme, whose operands are the first numbers of 64 bits that they take
    /// apart.
    fn run(ptx: &[&str], operands: [f64; 2]) -> f64 {
        let mut operands = operands.map(f64::to_bits).into_iter();
        let mut regs: HashMap<&str, u64> = HashMap::new();
        for line in ptx {
            let (name, rest) = line.split_once(' ').unwrap();
            let of: Vec<&str> = rest.split(", ").map(|r| r.trim_matches(['{', '}', ';'])).collect();
            if rest.starts_with('{') {
                let v = *regs.entry(of[2]).or_insert_with(|| operands.next().unwrap());
                regs.extend([(of[0], v & 0xffff_ffff), (of[1], v >> 32)]);
                continue;
            }
            let value = |at: usize| match of[at].strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16).unwrap(),
                None => regs[of[at]],
            };
            let number = |at: usize| f64::from_bits(value(at));
            let result = match name {
                "mov.b64" => return f64::from_bits(value(1) | value(2) << 32),
                "or.b32" => value(1) | value(2),
                "and.b32" => value(1) & value(2),
                "selp.b32" => value(if value(3) != 0 { 1 } else { 2 }),
                "setp.nan.f64" => u64::from(number(1).is_nan() || number(2).is_nan()),
                "setp.gt.or.f64" => u64::from(number(1) > number(2)) | value(3),
                "setp.lt.or.f64" => u64::from(number(1) < number(2)) | value(3),
                name => panic!("{name}"),
            };
            regs.insert(of[0], result);
        }
        panic!("no result");
    }

    #[test]
    fn extremes_of_f64_are_those_of_the_ir() {
        let numbers =
            [0.0, -0.0, 5e-324, -5e-324, 1.0, -1.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -f64::NAN];
        for op in [BinaryOp::Min, BinaryOp::Max] {
            let text = format!(
                "func @f(%x: [f64], %y: [f64]) -> (r: [f64]) {{
  %0 = map (%a: f64, %b: f64) over %x, %y {{
    %1 = {} %a, %b
    yield %1
  }}
  return %0
}}",
                op.name()
            );
            let targets = Targets { cpu: false, cuda: true };
            let compiled = compile_for("t", parse::parse(&text).unwrap(), targets).unwrap();
            let ptx = compiled.gpu_variants().next().unwrap().ptx.clone();
            let lines = ptx.lines().map(str::trim).filter(|line| !line.starts_with("//"));
            let lines: Vec<&str> = lines.skip_while(|line| !line.starts_with("mov.b64 {")).collect();
            for (a, b) in numbers.iter().flat_map(|a| numbers.map(|b| (*a, b))) {
                let expected = eval_binary(op, Lit::f64(a), Lit::f64(b)).0.as_f64();
                let got = run(&lines, [a, b]);
                let same = got.to_bits() == expected.to_bits() || got.is_nan() && expected.is_nan();
                assert!(same, "{} {a} {b}: {got}", op.name());
            }
        }
    }
}
