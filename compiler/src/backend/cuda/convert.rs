//! Prints casts, and what lanes of a warp exchange.

use super::expr::{Printer, put};
use super::types::{ctype, moved};
use crate::kernel::Expr;
use crate::scalar::{Lit, Ty};
use std::fmt::Write;

impl Printer<'_> {
    pub fn cast(&mut self, to: Ty, a: &Expr) {
        let from = self.k.ty(a);
        match (from, to) {
            (from, to) if to == from => self.expr(a),
            (from, to) if from.is_half() || to.is_half() => {
                self.call(format_args!("agpu_{to}_of_{from}"), &[a])
            }
            (_, Ty::Bool) => {
                self.atom(a);
                self.text(" != 0");
            }
            (from, to) if from.is_float() && to.is_int() => self.truncate(from, to, a),
            _ => {
                put(write!(self.out, "({})", ctype(to)));
                self.atom(a);
            }
        }
    }

    /// Converts a float to an integer with truncation and saturation. A NaN gives 0.
    fn truncate(&mut self, from: Ty, to: Ty, a: &Expr) {
        let source = if from == Ty::F32 { "float" } else { "double" };
        let name = match (to.is_signed(), to.size()) {
            (true, 8) => "ll",
            (false, 8) => "ull",
            (true, _) => "int",
            (false, _) => "uint",
        };
        let begin = self.out.len();
        self.call(format_args!("__{source}2{name}_rz"), &[a]);
        if to.size() < 4 {
            let literal =
                |l: Lit| format!("{}{}", l.as_int().unwrap_or(0), if to.is_signed() { "" } else { "u" });
            self.out.insert_str(begin, "min(");
            put(write!(self.out, ", {})", literal(Lit::greatest(to))));
            if to.is_signed() {
                self.out.insert_str(begin, "max(");
                put(write!(self.out, ", {})", literal(Lit::least(to))));
            }
        }
        if from == Ty::F64 || to.size() == 8 {
            let converted = self.out.split_off(begin);
            self.text("agpu_if_number(");
            self.expr(a);
            put(write!(self.out, ", {converted})"));
        }
        self.out.insert_str(begin, &format!("({})", ctype(to)));
    }

    /// Prints a shuffle; CUDA moves integers from 32 bits on, and floats.
    pub fn shuffle(&mut self, name: &str, a: &Expr, by: u32) {
        let ty = self.k.ty(a);
        if moved(ty) != ctype(ty) {
            put(write!(self.out, "({})", ctype(ty)));
        }
        put(write!(self.out, "{name}(0xffffffff, "));
        if moved(ty) != ctype(ty) {
            put(write!(self.out, "({})", moved(ty)));
        }
        self.typed(a);
        put(write!(self.out, ", {by})"));
    }
}
