//! Prints expressions as PTX: each operator becomes one or a few instructions that compute exactly
//! what `scalar::eval` defines.

use super::Emitter;
use super::regs::{Operand, class, operation_type};
use crate::kernel::Expr;
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};

impl<'a> Emitter<'a> {
    /// Returns the value of an expression as a register or an immediate.
    pub fn value(&mut self, e: &Expr) -> Operand<'a> {
        match e {
            Expr::Lit(l) if l.ty != Ty::Bool => Operand::Literal(*l),
            Expr::Reg(r) => self.regs.of(*r),
            Expr::In(i) => Operand::In(*i as usize),
            Expr::Place(g) => Operand::Place(*g),
            e => {
                let dest = self.regs.fresh(self.k.ty(e));
                self.compute(dest, e);
                dest
            }
        }
    }

    /// Computes an expression into a register.
    pub fn compute(&mut self, dest: Operand<'a>, e: &Expr) {
        let ty = self.k.ty(e);
        match e {
            Expr::Lit(l) if ty == Ty::Bool => {
                let which = if l.as_bool() { "eq" } else { "ne" };
                code!(self, "setp.{which}.u32 {dest}, 0, 0;");
            }
            Expr::Lit(_) | Expr::Reg(_) | Expr::In(_) | Expr::Place(_) => {
                let v = self.value(e);
                self.instruction(&["mov.", class(ty)], &[dest, v]);
            }
            Expr::Slot(i) => self.load_slot(dest, *i),
            Expr::Load(m, i) => self.load(dest, *m, i),
            Expr::LoadIf(m, i, c) => self.load_if(dest, *m, i, c),
            Expr::Unary(op, a) => self.unary(dest, *op, a),
            Expr::Binary(op, a, b) => self.binary(dest, *op, a, b),
            Expr::MulAdd(a, b, c) => {
                let (a, b, c) = (self.value(a), self.value(b), self.value(c));
                let op = if ty.is_float() { "fma.rn" } else { "mad.lo" };
                self.instruction(&[op, ".", operation_type(ty)], &[dest, a, b, c]);
                self.wrap(dest, ty);
            }
            Expr::Select(c, a, b) => self.select(dest, ty, c, a, b),
            Expr::Cast(to, a) => self.cast(dest, *to, a),
            Expr::ShuffleDown(a, by) => self.shuffled(dest, ty, a, ("down", *by, 31)),
            Expr::ShuffleUp(a, by) => self.shuffled(dest, ty, a, ("up", *by, 0)),
            Expr::ShuffleXor(a, by) => self.shuffled(dest, ty, a, ("bfly", *by, 31)),
            Expr::Broadcast(a) => {
                let v = self.value(a);
                // The barrier also makes the memory accesses of the lanes visible to one another.
                code!(self, "bar.warp.sync 0xffffffff;");
                self.shuffle(dest, ty, v, ("idx", 0, 31));
            }
            Expr::TileBegin | Expr::TileEnd => unreachable!("verified: a GPU kernel"),
        }
    }

    /// Reduces the result of 8-bit or 16-bit arithmetic, which is done in 32 bits, to its low bits,
    /// and sign-extends it if the type is signed.
    fn wrap(&mut self, dest: Operand<'a>, ty: Ty) {
        if ty.is_int() && ty.size() < 4 {
            match ty.is_signed() {
                true => code!(self, "bfe.s32 {dest}, {dest}, 0, {};", 8 * ty.size()),
                false => code!(self, "and.b32 {dest}, {dest}, {};", Lit::greatest(ty).bits),
            }
        }
    }

    fn select(&mut self, dest: Operand<'a>, ty: Ty, c: &Expr, a: &Expr, b: &Expr) {
        let (c, a, b) = (self.value(c), self.value(a), self.value(b));
        if ty != Ty::Bool {
            return self.instruction(&["selp.", class(ty)], &[dest, a, b, c]);
        }
        let [yes, not, no] = [(); 3].map(|()| self.regs.fresh(Ty::Bool));
        code!(self, "and.pred {yes}, {c}, {a};");
        code!(self, "not.pred {not}, {c};");
        code!(self, "and.pred {no}, {not}, {b};");
        code!(self, "or.pred {dest}, {yes}, {no};");
    }

    fn unary(&mut self, dest: Operand<'a>, op: UnaryOp, a: &Expr) {
        if op == UnaryOp::Unlikely {
            return self.compute(dest, a);
        }
        let ty = self.k.ty(a);
        let (v, t) = (self.value(a), operation_type(ty));
        match op {
            UnaryOp::Neg if !ty.is_float() && !ty.is_signed() => code!(self, "sub.{t} {dest}, 0, {v};"),
            UnaryOp::Neg => self.instruction(&["neg.", t], &[dest, v]),
            UnaryOp::Abs if ty.is_int() => self.magnitude(dest, t, ty, v),
            UnaryOp::Abs => self.instruction(&["abs.", t], &[dest, v]),
            UnaryOp::Not => self.instruction(&["not.", class(ty)], &[dest, v]),
            UnaryOp::Sqrt => self.instruction(&["sqrt.rn.", t], &[dest, v]),
            UnaryOp::Floor => self.instruction(&["cvt.rmi.", t, ".", t], &[dest, v]),
            UnaryOp::Ceil => self.instruction(&["cvt.rpi.", t, ".", t], &[dest, v]),
            UnaryOp::Trunc => self.instruction(&["cvt.rzi.", t, ".", t], &[dest, v]),
            UnaryOp::RoundTiesEven => self.instruction(&["cvt.rni.", t, ".", t], &[dest, v]),
            UnaryOp::Round => return self.round(dest, ty, v),
            UnaryOp::ToBits | UnaryOp::FromBits => code!(self, "mov.b{} {dest}, {v};", 8 * ty.size()),
            UnaryOp::SqrtNear => return self.sqrt_near(dest, v),
            UnaryOp::ApproxSqrt => self.instruction(&["sqrt.approx.ftz.f32"], &[dest, v]),
            UnaryOp::ApproxRsqrt => self.instruction(&["rsqrt.approx.ftz.f32"], &[dest, v]),
            UnaryOp::ApproxExp2 => self.instruction(&["ex2.approx.ftz.f32"], &[dest, v]),
            UnaryOp::ApproxLog2 => self.instruction(&["lg2.approx.ftz.f32"], &[dest, v]),
            UnaryOp::ApproxSin => self.instruction(&["sin.approx.ftz.f32"], &[dest, v]),
            UnaryOp::ApproxCos => self.instruction(&["cos.approx.ftz.f32"], &[dest, v]),
            op => unreachable!("{op} is lowered in core IR"),
        }
        self.wrap(dest, ty);
    }

    /// Computes |x| of an integer. `abs.s32` is not used: NVIDIA's assembler assumes that its
    /// result is not negative and removes a comparison with 0, which is wrong for the least integer
    /// (measured: CUDA 13.0, sm_80, sm_90 and sm_121).
    fn magnitude(&mut self, dest: Operand<'a>, t: &str, ty: Ty, v: Operand<'a>) {
        let (negated, negative) = (self.regs.fresh(ty), self.regs.fresh(Ty::Bool));
        self.instruction(&["neg.", t], &[negated, v]);
        code!(self, "setp.lt.{t} {negative}, {v}, 0;");
        self.instruction(&["selp.", class(ty)], &[dest, negated, v, negative]);
    }

    /// Rounds to the nearest integer, with halves away from zero: |whole| + (|x - whole| >= 0.5),
    /// with the sign of x.
    fn round(&mut self, dest: Operand<'a>, ty: Ty, v: Operand<'a>) {
        let t = operation_type(ty);
        let [whole, rest, up] = [(); 3].map(|()| self.regs.fresh(ty));
        let half = self.regs.fresh(Ty::Bool);
        let number = |x: f32| Operand::Literal(if ty == Ty::F32 { Lit::f32(x) } else { Lit::f64(x.into()) });
        code!(self, "cvt.rzi.{t}.{t} {whole}, {v};");
        code!(self, "sub.rn.{t} {rest}, {v}, {whole};");
        code!(self, "abs.{t} {rest}, {rest};");
        code!(self, "setp.ge.{t} {half}, {rest}, {};", number(0.5));
        code!(self, "selp.{t} {up}, {}, {}, {half};", number(1.0), number(0.0));
        code!(self, "abs.{t} {whole}, {whole};");
        code!(self, "add.rn.{t} {whole}, {whole}, {up};");
        code!(self, "copysign.{t} {dest}, {v}, {whole};");
    }

    fn binary(&mut self, dest: Operand<'a>, op: BinaryOp, a: &Expr, b: &Expr) {
        use BinaryOp::*;
        let ty = self.k.ty(a);
        if ty == Ty::Bool
            && matches!(op, And | Or)
            && (self.compared(dest, op, b, a) || self.compared(dest, op, a, b))
        {
            return;
        }
        let (x, y, t) = (self.value(a), self.value(b), operation_type(ty));
        let rn = if ty.is_float() { ".rn" } else { "" };
        match op {
            Add => self.instruction(&["add", rn, ".", t], &[dest, x, y]),
            Sub => self.instruction(&["sub", rn, ".", t], &[dest, x, y]),
            Mul if ty.is_float() => self.instruction(&["mul", rn, ".", t], &[dest, x, y]),
            // Without a rounding modifier the assembler may contract the operations.
            ApproxAdd => self.instruction(&["add.ftz.f32"], &[dest, x, y]),
            ApproxSub => self.instruction(&["sub.ftz.f32"], &[dest, x, y]),
            ApproxMul => self.instruction(&["mul.ftz.f32"], &[dest, x, y]),
            ApproxDiv => self.instruction(&["div.approx.ftz.f32"], &[dest, x, y]),
            Mul => self.instruction(&["mul.lo.", t], &[dest, x, y]),
            // It rounds alike and has two thirds of the instructions; that of f32 would be longer.
            Div if *a == Expr::Lit(Lit::f64(1.0)) => self.instruction(&["rcp.rn.f64"], &[dest, y]),
            Div if ty.is_float() => self.instruction(&["div.rn.", t], &[dest, x, y]),
            DivNear => self.div_near(dest, x, y),
            DivWide => self.div_wide(dest, x, y),
            Div | Rem => return self.divide(dest, op, ty, x, y, b),
            Min | Max if ty == Ty::F64 => return self.extreme(dest, op, x, y),
            Min | Max if ty == Ty::F32 => self.instruction(&[op.name(), ".NaN.f32"], &[dest, x, y]),
            Min | Max => self.instruction(&[op.name(), ".", t], &[dest, x, y]),
            And | Or | Xor => self.instruction(&[op.name(), ".", class(ty)], &[dest, x, y]),
            Shl | Shr => return self.shift(dest, op, ty, x, b),
            Eq if ty == Ty::Bool => {
                self.instruction(&["xor.pred"], &[dest, x, y]);
                self.instruction(&["not.pred"], &[dest, dest])
            }
            Ne if ty == Ty::Bool => self.instruction(&["xor.pred"], &[dest, x, y]),
            Eq | Ne | Lt | Le | Gt | Ge => {
                self.instruction(&["setp.", comparison(op, ty), ".", t], &[dest, x, y])
            }
            RemSlow => unreachable!("`divide` has made a loop of it"),
            Pow | Atan2 | Hypot | Fmod | Copysign | Ldexp => unreachable!("{op} is lowered in core IR"),
        }
        if matches!(op, Add | Sub | Mul) {
            self.wrap(dest, ty);
        }
    }

    /// If `e` is a comparison, computes it joined with another condition in one instruction and
    /// returns true.
    fn compared(&mut self, dest: Operand<'a>, join: BinaryOp, e: &Expr, other: &Expr) -> bool {
        let Expr::Binary(op, a, b) = e else { return false };
        let ty = self.k.ty(a);
        if !op.is_comparison() || ty == Ty::Bool {
            return false;
        }
        let (other, x, y) = (self.value(other), self.value(a), self.value(b));
        let name = ["setp.", comparison(*op, ty), ".", join.name(), ".", operation_type(ty)];
        self.instruction(&name, &[dest, x, y, other]);
        true
    }

    /// Computes a quotient or remainder, which is defined for all operands: x / 0 = x % 0 = 0, MIN
    /// / -1 = MIN, MIN % -1 = 0.
    fn divide(
        &mut self,
        dest: Operand<'a>,
        op: BinaryOp,
        ty: Ty,
        x: Operand<'a>,
        y: Operand<'a>,
        divisor: &Expr,
    ) {
        let t = operation_type(ty);
        if let Expr::Lit(l) = divisor
            && !matches!(l.as_int(), Some(0 | -1))
        {
            return self.instruction(&[op.name(), ".", t], &[dest, x, y]);
        }
        let [safe, plain] = [(); 2].map(|()| self.regs.fresh(ty));
        let zero = self.regs.fresh(Ty::Bool);
        let (b, y) = (class(ty), self.in_register(ty, y));
        code!(self, "setp.eq.{t} {zero}, {y}, 0;");
        code!(self, "selp.{b} {safe}, 1, {y}, {zero};");
        if !ty.is_signed() {
            code!(self, "{op}.{t} {plain}, {x}, {safe};");
            return code!(self, "selp.{b} {dest}, 0, {plain}, {zero};");
        }
        let (minus, negative) = (self.regs.fresh(Ty::Bool), self.regs.fresh(ty));
        code!(self, "setp.eq.{t} {minus}, {y}, -1;");
        code!(self, "selp.{b} {safe}, 1, {safe}, {minus};");
        code!(self, "{op}.{t} {plain}, {x}, {safe};");
        if op == BinaryOp::Div {
            code!(self, "sub.{t} {negative}, 0, {x};");
            // The negation of MIN wraps.
            self.wrap(negative, ty);
            code!(self, "selp.{b} {plain}, {negative}, {plain}, {minus};");
        }
        // The remainder by -1 is x % 1, which is 0 already.
        code!(self, "selp.{b} {dest}, 0, {plain}, {zero};");
    }

    /// Returns a value in a register, for instructions that take no immediate.
    pub fn in_register(&mut self, ty: Ty, v: Operand<'a>) -> Operand<'a> {
        if v.is_register() {
            return v;
        }
        let r = self.regs.fresh(ty);
        code!(self, "mov.{} {r}, {v};", class(ty));
        r
    }

    /// Computes a shift whose count is taken modulo the width.
    fn shift(&mut self, dest: Operand<'a>, op: BinaryOp, ty: Ty, x: Operand<'a>, count: &Expr) {
        let mask = 8 * ty.size() as u64 - 1;
        let count = match count {
            Expr::Lit(l) => Operand::Literal(Lit { ty: Ty::U64, bits: l.bits & mask }),
            count => {
                let (v, low) = (self.value(count), self.regs.fresh(Ty::U32));
                let cut = if ty.size() == 8 { "cvt.u32.u64" } else { "mov.b32" };
                code!(self, "{cut} {low}, {v};");
                code!(self, "and.b32 {low}, {low}, {mask};");
                low
            }
        };
        if op == BinaryOp::Shl {
            code!(self, "shl.{} {dest}, {x}, {count};", class(ty));
            self.wrap(dest, ty);
        } else {
            code!(self, "shr.{} {dest}, {x}, {count};", operation_type(ty));
        }
    }

    fn cast(&mut self, dest: Operand<'a>, to: Ty, a: &Expr) {
        let from = self.k.ty(a);
        let (v, f, t) = (self.value(a), operation_type(from), operation_type(to));
        let number = Operand::Literal;
        match (from, to) {
            (f, t) if f == t => self.instruction(&["mov.", class(to)], &[dest, v]),
            (from, to) if from.is_half() || to.is_half() => return self.half(dest, from, to, v),
            (Ty::Bool, to) => code!(
                self,
                "selp.{} {dest}, {}, {}, {v};",
                class(to),
                number(Lit::one(to)),
                number(Lit::zero(to))
            ),
            (from, Ty::Bool) if from.is_float() => {
                code!(self, "setp.neu.{f} {dest}, {v}, {};", number(Lit::zero(from)))
            }
            (from, Ty::Bool) => code!(self, "setp.ne.{f} {dest}, {v}, {};", number(Lit::zero(from))),
            (Ty::F32, Ty::F64) => self.instruction(&["cvt.f64.f32"], &[dest, v]),
            (from, to) if to.is_float() && !(from == Ty::F64 && to == Ty::F64) => {
                self.instruction(&["cvt.rn.", t, ".", f], &[dest, v])
            }
            (from, to) if from.is_float() => return self.truncate(dest, from, to, v),
            (from, to) => match (from.size(), to.size()) {
                (8, 8) => self.instruction(&["mov.b64"], &[dest, v]),
                (8, _) => self.instruction(&["cvt.u32.u64"], &[dest, v]),
                (_, 8) if from.is_signed() => self.instruction(&["cvt.s64.s32"], &[dest, v]),
                (_, 8) => self.instruction(&["cvt.u64.u32"], &[dest, v]),
                _ => self.instruction(&["mov.b32"], &[dest, v]),
            },
        }
        let fits = from.size() < to.size() && (to.is_signed() || !from.is_signed());
        if from != to && !from.is_float() && !fits {
            self.wrap(dest, to);
        }
    }

    /// Converts between f32 and a 16-bit float. A bf16 consists of the upper 16 bits of the f32.
    fn half(&mut self, dest: Operand<'a>, from: Ty, to: Ty, v: Operand<'a>) {
        if from == Ty::Bf16 {
            code!(self, "shl.b32 {dest}, {v}, 16;");
            return;
        }
        let short = self.regs.fresh_half();
        if from == Ty::F16 {
            let v = self.in_register(from, v);
            code!(self, "cvt.u16.u32 {short}, {v};");
            code!(self, "cvt.f32.f16 {dest}, {short};");
        } else {
            let v = self.in_register(from, v);
            code!(self, "cvt.rn.{to}.f32 {short}, {v};");
            code!(self, "cvt.u32.u16 {dest}, {short};");
        }
    }

    /// Converts a float to an integer with truncation and saturation. A NaN gives 0; the
    /// instruction itself guarantees this only between 32-bit types.
    fn truncate(&mut self, dest: Operand<'a>, from: Ty, to: Ty, v: Operand<'a>) {
        let (f, t) = (operation_type(from), operation_type(to));
        self.instruction(&["cvt.rzi.", t, ".", f], &[dest, v]);
        if to.size() < 4 {
            code!(self, "min.{t} {dest}, {dest}, {};", Operand::Literal(Lit::greatest(to)));
            if to.is_signed() {
                code!(self, "max.{t} {dest}, {dest}, {};", Operand::Literal(Lit::least(to)));
            }
        }
        if from == Ty::F64 || to.size() == 8 {
            let nan = self.regs.fresh(Ty::Bool);
            code!(self, "setp.nan.{f} {nan}, {v}, {v};");
            code!(self, "selp.{} {dest}, 0, {dest}, {nan};", class(to));
        }
    }

    fn shuffled(&mut self, dest: Operand<'a>, ty: Ty, a: &Expr, how: (&str, u32, u32)) {
        let v = self.value(a);
        self.shuffle(dest, ty, v, how);
    }

    /// Computes a shuffle; the instruction moves 32 bits at a time. `how` is the mode, the lane
    /// distance, and the clamp value.
    fn shuffle(&mut self, dest: Operand<'a>, ty: Ty, v: Operand<'a>, how: (&str, u32, u32)) {
        let (mode, by, end) = how;
        let move_word = |e: &mut Self, from: Operand<'a>| {
            let d = e.regs.fresh(Ty::U32);
            code!(e, "shfl.sync.{mode}.b32 {d}, {from}, {by}, {end}, 0xffffffff;");
            d
        };
        match ty.size() {
            8 => {
                let [low, high] = [(); 2].map(|()| self.regs.fresh(Ty::U32));
                code!(self, "mov.b64 {{{low}, {high}}}, {v};");
                let (low, high) = (move_word(self, low), move_word(self, high));
                code!(self, "mov.b64 {dest}, {{{low}, {high}}};");
            }
            _ if ty == Ty::Bool => {
                let word = self.regs.fresh(Ty::U32);
                code!(self, "selp.b32 {word}, 1, 0, {v};");
                let moved = move_word(self, word);
                code!(self, "setp.ne.u32 {dest}, {moved}, 0;");
            }
            _ => {
                let word = self.regs.fresh(Ty::U32);
                code!(self, "mov.b32 {word}, {v};");
                let moved = move_word(self, word);
                code!(self, "mov.b32 {dest}, {moved};");
            }
        }
    }
}

/// Returns the PTX name of a comparison of this type. A NaN differs from every number.
fn comparison(op: BinaryOp, ty: Ty) -> &'static str {
    if op == BinaryOp::Ne && ty.is_float() { "neu" } else { op.name() }
}
