//! Expressions: an instruction or a few for each operator, exactly as `scalar::eval` defines it.

use super::Emitter;
use super::regs::{class, operation_type, place};
use crate::kernel::Expr;
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};

impl Emitter<'_> {
    /// The value of an expression: a register or an immediate.
    pub fn value(&mut self, e: &Expr) -> String {
        match e {
            Expr::Lit(l) if l.ty != Ty::Bool => literal(*l),
            Expr::Reg(r) => self.regs.of(*r),
            Expr::In(i) => self.in_reg(*i as usize),
            Expr::Place(g) => place(*g),
            e => {
                let dest = self.regs.fresh(self.k.ty(e));
                self.compute(&dest, e);
                dest
            }
        }
    }

    /// Computes an expression into a register.
    pub fn compute(&mut self, dest: &str, e: &Expr) {
        let ty = self.k.ty(e);
        match e {
            Expr::Lit(l) if ty == Ty::Bool => {
                let which = if l.as_bool() { "eq" } else { "ne" };
                self.line(&format!("setp.{which}.u32 {dest}, 0, 0;"));
            }
            Expr::Lit(_) | Expr::Reg(_) | Expr::In(_) | Expr::Place(_) => {
                let v = self.value(e);
                self.line(&format!("mov.{} {dest}, {v};", class(ty)));
            }
            Expr::Slot(i) => self.load_slot(dest, *i),
            Expr::Load(m, i) => self.load(dest, *m, i),
            Expr::LoadIf(m, i, c) => self.load_if(dest, *m, i, c),
            Expr::Unary(op, a) => self.unary(dest, *op, a),
            Expr::Binary(op, a, b) => self.binary(dest, *op, a, b),
            Expr::MulAdd(a, b, c) => {
                let (a, b, c) = (self.value(a), self.value(b), self.value(c));
                let op = if ty.is_float() { "fma.rn" } else { "mad.lo" };
                self.line(&format!("{op}.{} {dest}, {a}, {b}, {c};", operation_type(ty)));
                self.wrap(dest, ty);
            }
            Expr::Select(c, a, b) => self.select(dest, ty, c, a, b),
            Expr::Cast(to, a) => self.cast(dest, *to, a),
            Expr::ShuffleDown(a, by) => {
                let v = self.value(a);
                self.shuffle(dest, ty, &v, &format!("down.b32 {{d}}, {{a}}, {by}, 31, 0xffffffff;"));
            }
            Expr::ShuffleUp(a, by) => {
                let v = self.value(a);
                self.shuffle(dest, ty, &v, &format!("up.b32 {{d}}, {{a}}, {by}, 0, 0xffffffff;"));
            }
            Expr::Broadcast(a) => {
                let v = self.value(a);
                // the lanes also see each other's memory accesses from here on
                self.line("bar.warp.sync 0xffffffff;");
                self.shuffle(dest, ty, &v, "idx.b32 {d}, {a}, 0, 31, 0xffffffff;");
            }
            Expr::TileBegin | Expr::TileEnd => unreachable!("verified: a GPU kernel"),
        }
    }

    /// Arithmetic of 8 and 16 bits is done in 32: takes the low ones, with the sign of a signed type.
    fn wrap(&mut self, dest: &str, ty: Ty) {
        if ty.is_int() && ty.size() < 4 {
            let text = match ty.is_signed() {
                true => format!("bfe.s32 {dest}, {dest}, 0, {};", 8 * ty.size()),
                false => format!("and.b32 {dest}, {dest}, {};", Lit::greatest(ty).bits),
            };
            self.line(&text);
        }
    }

    fn select(&mut self, dest: &str, ty: Ty, c: &Expr, a: &Expr, b: &Expr) {
        let (c, a, b) = (self.value(c), self.value(a), self.value(b));
        if ty != Ty::Bool {
            return self.line(&format!("selp.{} {dest}, {a}, {b}, {c};", class(ty)));
        }
        let [yes, not, no] = [(); 3].map(|()| self.regs.fresh(Ty::Bool));
        self.line(&format!("and.pred {yes}, {c}, {a};"));
        self.line(&format!("not.pred {not}, {c};"));
        self.line(&format!("and.pred {no}, {not}, {b};"));
        self.line(&format!("or.pred {dest}, {yes}, {no};"));
    }

    fn unary(&mut self, dest: &str, op: UnaryOp, a: &Expr) {
        if op == UnaryOp::Unlikely {
            return self.compute(dest, a);
        }
        let ty = self.k.ty(a);
        let (v, t) = (self.value(a), operation_type(ty));
        let text = match op {
            UnaryOp::Neg if !ty.is_float() && !ty.is_signed() => format!("sub.{t} {dest}, 0, {v};"),
            UnaryOp::Neg => format!("neg.{t} {dest}, {v};"),
            UnaryOp::Abs => format!("abs.{t} {dest}, {v};"),
            UnaryOp::Not => format!("not.{} {dest}, {v};", class(ty)),
            UnaryOp::Sqrt => format!("sqrt.rn.{t} {dest}, {v};"),
            UnaryOp::Floor => format!("cvt.rmi.{t}.{t} {dest}, {v};"),
            UnaryOp::Ceil => format!("cvt.rpi.{t}.{t} {dest}, {v};"),
            UnaryOp::Trunc => format!("cvt.rzi.{t}.{t} {dest}, {v};"),
            UnaryOp::RoundTiesEven => format!("cvt.rni.{t}.{t} {dest}, {v};"),
            UnaryOp::Round => return self.round(dest, ty, &v),
            UnaryOp::ToBits | UnaryOp::FromBits => format!("mov.b{} {dest}, {v};", 8 * ty.size()),
            UnaryOp::SqrtNear => return self.sqrt_near(dest, &v),
            UnaryOp::ApproxSqrt => format!("sqrt.approx.ftz.f32 {dest}, {v};"),
            UnaryOp::ApproxRsqrt => format!("rsqrt.approx.ftz.f32 {dest}, {v};"),
            UnaryOp::ApproxExp2 => format!("ex2.approx.ftz.f32 {dest}, {v};"),
            UnaryOp::ApproxLog2 => format!("lg2.approx.ftz.f32 {dest}, {v};"),
            UnaryOp::ApproxSin => format!("sin.approx.ftz.f32 {dest}, {v};"),
            UnaryOp::ApproxCos => format!("cos.approx.ftz.f32 {dest}, {v};"),
            op => unreachable!("{op} is lowered in core IR"),
        };
        self.line(&text);
        self.wrap(dest, ty);
    }

    /// To the nearest, halves away from zero: |whole| + (|x - whole| >= 0.5), with the sign of x.
    fn round(&mut self, dest: &str, ty: Ty, v: &str) {
        let t = operation_type(ty);
        let [whole, rest, up] = [(); 3].map(|()| self.regs.fresh(ty));
        let half = self.regs.fresh(Ty::Bool);
        let number = |x: f32| literal(if ty == Ty::F32 { Lit::f32(x) } else { Lit::f64(x.into()) });
        self.line(&format!("cvt.rzi.{t}.{t} {whole}, {v};"));
        self.line(&format!("sub.rn.{t} {rest}, {v}, {whole};"));
        self.line(&format!("abs.{t} {rest}, {rest};"));
        self.line(&format!("setp.ge.{t} {half}, {rest}, {};", number(0.5)));
        self.line(&format!("selp.{t} {up}, {}, {}, {half};", number(1.0), number(0.0)));
        self.line(&format!("abs.{t} {whole}, {whole};"));
        self.line(&format!("add.rn.{t} {whole}, {whole}, {up};"));
        self.line(&format!("copysign.{t} {dest}, {v}, {whole};"));
    }

    fn binary(&mut self, dest: &str, op: BinaryOp, a: &Expr, b: &Expr) {
        use BinaryOp::*;
        let ty = self.k.ty(a);
        let (x, y, t) = (self.value(a), self.value(b), operation_type(ty));
        let rn = if ty.is_float() { ".rn" } else { "" };
        let text = match op {
            Add => format!("add{rn}.{t} {dest}, {x}, {y};"),
            Sub => format!("sub{rn}.{t} {dest}, {x}, {y};"),
            Mul if ty.is_float() => format!("mul{rn}.{t} {dest}, {x}, {y};"),
            // without a rounding the assembler may contract
            ApproxAdd => format!("add.ftz.f32 {dest}, {x}, {y};"),
            ApproxSub => format!("sub.ftz.f32 {dest}, {x}, {y};"),
            ApproxMul => format!("mul.ftz.f32 {dest}, {x}, {y};"),
            ApproxDiv => format!("div.approx.ftz.f32 {dest}, {x}, {y};"),
            Mul => format!("mul.lo.{t} {dest}, {x}, {y};"),
            Div if ty.is_float() => format!("div.rn.{t} {dest}, {x}, {y};"),
            DivNear => return self.div_near(dest, &x, &y),
            DivWide => return self.div_wide(dest, &x, &y),
            Div | Rem => return self.divide(dest, op, ty, &x, &y, b),
            Min | Max if ty == Ty::F64 => return self.extreme(dest, op, &x, &y),
            Min | Max if ty == Ty::F32 => format!("{op}.NaN.f32 {dest}, {x}, {y};"),
            Min | Max => format!("{op}.{t} {dest}, {x}, {y};"),
            And | Or | Xor => format!("{op}.{} {dest}, {x}, {y};", class(ty)),
            Shl | Shr => return self.shift(dest, op, ty, &x, b),
            Eq if ty == Ty::Bool => {
                self.line(&format!("xor.pred {dest}, {x}, {y};"));
                format!("not.pred {dest}, {dest};")
            }
            Ne if ty == Ty::Bool => format!("xor.pred {dest}, {x}, {y};"),
            Ne if ty.is_float() => format!("setp.neu.{t} {dest}, {x}, {y};"),
            Eq | Ne | Lt | Le | Gt | Ge => format!("setp.{op}.{t} {dest}, {x}, {y};"),
            RemSlow => unreachable!("`divide` has made a loop of it"),
            Pow | Atan2 | Hypot | Fmod | Copysign | Ldexp => unreachable!("{op} is lowered in core IR"),
        };
        self.line(&text);
        if matches!(op, Add | Sub | Mul) {
            self.wrap(dest, ty);
        }
    }

    /// `min` and `max` of f64 ignore a NaN; ours do not.
    fn extreme(&mut self, dest: &str, op: BinaryOp, x: &str, y: &str) {
        let (plain, nan) = (self.regs.fresh(Ty::F64), self.regs.fresh(Ty::Bool));
        self.line(&format!("{op}.f64 {plain}, {x}, {y};"));
        self.line(&format!("setp.nan.f64 {nan}, {x}, {y};"));
        self.line(&format!("selp.f64 {dest}, {}, {plain}, {nan};", literal(Lit::f64(f64::NAN).canonical())));
    }

    /// Total: x / 0 = x % 0 = 0, MIN / -1 = MIN, MIN % -1 = 0.
    fn divide(&mut self, dest: &str, op: BinaryOp, ty: Ty, x: &str, y: &str, divisor: &Expr) {
        let t = operation_type(ty);
        if let Expr::Lit(l) = divisor
            && !matches!(l.as_int(), Some(0 | -1))
        {
            return self.line(&format!("{op}.{t} {dest}, {x}, {y};"));
        }
        let [safe, plain] = [(); 2].map(|()| self.regs.fresh(ty));
        let zero = self.regs.fresh(Ty::Bool);
        let (b, y) = (class(ty), self.in_register(ty, y));
        self.line(&format!("setp.eq.{t} {zero}, {y}, 0;"));
        self.line(&format!("selp.{b} {safe}, 1, {y}, {zero};"));
        if !ty.is_signed() {
            self.line(&format!("{op}.{t} {plain}, {x}, {safe};"));
            return self.line(&format!("selp.{b} {dest}, 0, {plain}, {zero};"));
        }
        let (minus, negative) = (self.regs.fresh(Ty::Bool), self.regs.fresh(ty));
        self.line(&format!("setp.eq.{t} {minus}, {y}, -1;"));
        self.line(&format!("selp.{b} {safe}, 1, {safe}, {minus};"));
        self.line(&format!("{op}.{t} {plain}, {x}, {safe};"));
        if op == BinaryOp::Div {
            self.line(&format!("sub.{t} {negative}, 0, {x};"));
            // -MIN wraps
            self.wrap(&negative, ty);
            self.line(&format!("selp.{b} {plain}, {negative}, {plain}, {minus};"));
        }
        // x % 1 is 0 already
        self.line(&format!("selp.{b} {dest}, 0, {plain}, {zero};"));
    }

    /// A value as a register, where an instruction takes no immediate.
    fn in_register(&mut self, ty: Ty, v: &str) -> String {
        if v.starts_with('%') {
            return v.into();
        }
        let r = self.regs.fresh(ty);
        self.line(&format!("mov.{} {r}, {v};", class(ty)));
        r
    }

    /// The count is taken modulo the width.
    fn shift(&mut self, dest: &str, op: BinaryOp, ty: Ty, x: &str, count: &Expr) {
        let mask = 8 * ty.size() as u64 - 1;
        let count = match count {
            Expr::Lit(l) => (l.bits & mask).to_string(),
            count => {
                let (v, low) = (self.value(count), self.regs.fresh(Ty::U32));
                let from = if ty.size() == 8 {
                    format!("cvt.u32.u64 {low}, {v};")
                } else {
                    format!("mov.b32 {low}, {v};")
                };
                self.line(&from);
                self.line(&format!("and.b32 {low}, {low}, {mask};"));
                low
            }
        };
        if op == BinaryOp::Shl {
            self.line(&format!("shl.{} {dest}, {x}, {count};", class(ty)));
            self.wrap(dest, ty);
        } else {
            self.line(&format!("shr.{} {dest}, {x}, {count};", operation_type(ty)));
        }
    }

    fn cast(&mut self, dest: &str, to: Ty, a: &Expr) {
        let from = self.k.ty(a);
        let (v, f, t) = (self.value(a), operation_type(from), operation_type(to));
        let number = |l: Lit| literal(l);
        let text = match (from, to) {
            (f, t) if f == t => format!("mov.{} {dest}, {v};", class(to)),
            (from, to) if from.is_half() || to.is_half() => return self.half(dest, from, to, &v),
            (Ty::Bool, to) => format!(
                "selp.{} {dest}, {}, {}, {v};",
                class(to),
                number(Lit::one(to)),
                number(Lit::zero(to))
            ),
            (from, Ty::Bool) if from.is_float() => {
                format!("setp.neu.{f} {dest}, {v}, {};", number(Lit::zero(from)))
            }
            (from, Ty::Bool) => format!("setp.ne.{f} {dest}, {v}, {};", number(Lit::zero(from))),
            (Ty::F32, Ty::F64) => format!("cvt.f64.f32 {dest}, {v};"),
            (from, to) if to.is_float() && !(from == Ty::F64 && to == Ty::F64) => {
                format!("cvt.rn.{t}.{f} {dest}, {v};")
            }
            (from, to) if from.is_float() => return self.truncate(dest, from, to, &v),
            (from, to) => match (from.size(), to.size()) {
                (8, 8) => format!("mov.b64 {dest}, {v};"),
                (8, _) => format!("cvt.u32.u64 {dest}, {v};"),
                (_, 8) if from.is_signed() => format!("cvt.s64.s32 {dest}, {v};"),
                (_, 8) => format!("cvt.u64.u32 {dest}, {v};"),
                _ => format!("mov.b32 {dest}, {v};"),
            },
        };
        self.line(&text);
        let fits = from.size() < to.size() && (to.is_signed() || !from.is_signed());
        if from != to && !from.is_float() && !fits {
            self.wrap(dest, to);
        }
    }

    /// Between f32 and a half. A bf16 is the high half of its f32.
    fn half(&mut self, dest: &str, from: Ty, to: Ty, v: &str) {
        if from == Ty::Bf16 {
            self.line(&format!("shl.b32 {dest}, {v}, 16;"));
            return;
        }
        let short = self.regs.fresh_half();
        if from == Ty::F16 {
            let v = self.in_register(from, v);
            self.line(&format!("cvt.u16.u32 {short}, {v};"));
            self.line(&format!("cvt.f32.f16 {dest}, {short};"));
        } else {
            let v = self.in_register(from, v);
            self.line(&format!("cvt.rn.{to}.f32 {short}, {v};"));
            self.line(&format!("cvt.u32.u16 {dest}, {short};"));
        }
    }

    /// Float to integer: truncates and saturates; NaN gives 0, which the instruction gives only between 32-bit types.
    fn truncate(&mut self, dest: &str, from: Ty, to: Ty, v: &str) {
        let (f, t) = (operation_type(from), operation_type(to));
        self.line(&format!("cvt.rzi.{t}.{f} {dest}, {v};"));
        if to.size() < 4 {
            self.line(&format!("min.{t} {dest}, {dest}, {};", literal(Lit::greatest(to))));
            if to.is_signed() {
                self.line(&format!("max.{t} {dest}, {dest}, {};", literal(Lit::least(to))));
            }
        }
        if from == Ty::F64 || to.size() == 8 {
            let nan = self.regs.fresh(Ty::Bool);
            self.line(&format!("setp.nan.{f} {nan}, {v}, {v};"));
            self.line(&format!("selp.{} {dest}, 0, {dest}, {nan};", class(to)));
        }
    }

    /// A shuffle moves 32 bits: `text` has places for destination and source.
    fn shuffle(&mut self, dest: &str, ty: Ty, v: &str, text: &str) {
        let move_word = |e: &mut Self, from: &str| {
            let d = e.regs.fresh(Ty::U32);
            let text = text.replace("{d}", &d).replace("{a}", from);
            e.line(&format!("shfl.sync.{text}"));
            d
        };
        match ty.size() {
            8 => {
                let [low, high] = [(); 2].map(|()| self.regs.fresh(Ty::U32));
                self.line(&format!("mov.b64 {{{low}, {high}}}, {v};"));
                let (low, high) = (move_word(self, &low), move_word(self, &high));
                self.line(&format!("mov.b64 {dest}, {{{low}, {high}}};"));
            }
            _ if ty == Ty::Bool => {
                let word = self.regs.fresh(Ty::U32);
                self.line(&format!("selp.b32 {word}, 1, 0, {v};"));
                let moved = move_word(self, &word);
                self.line(&format!("setp.ne.u32 {dest}, {moved}, 0;"));
            }
            _ => {
                let word = self.regs.fresh(Ty::U32);
                self.line(&format!("mov.b32 {word}, {v};"));
                let moved = move_word(self, &word);
                self.line(&format!("mov.b32 {dest}, {moved};"));
            }
        }
    }
}

/// A constant with exactly its bits.
pub fn literal(l: Lit) -> String {
    match l.ty {
        Ty::F32 => format!("0f{:08X}", l.bits),
        Ty::F64 => format!("0d{:016X}", l.bits),
        Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 => l.as_int().unwrap_or(0).to_string(),
        Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64 | Ty::F16 | Ty::Bf16 | Ty::Bool => l.bits.to_string(),
    }
}
