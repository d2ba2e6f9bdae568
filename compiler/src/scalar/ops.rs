//! The scalar operators: their names, and the types that each takes and returns.

use super::Ty;

macro_rules! operators {
    ($(#[$doc:meta])* $name:ident { $($variant:ident $text:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        #[allow(missing_docs)]
        pub enum $name { $($variant),* }
        impl $name {
            /// Every operator of this arity.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];
            /// Returns the name in the text IRs.
            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $text),* }
            }
            /// Returns the operator with that name.
            pub fn parse(name: &str) -> Option<$name> {
                Self::ALL.iter().copied().find(|op| op.name() == name)
            }
        }
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str(self.name()) }
        }
    };
}

operators! {
    /// Operators of one operand.
    UnaryOp {
        Neg "neg", Abs "abs", Not "not",
        Sqrt "sqrt", Floor "floor", Ceil "ceil", Trunc "trunc", Round "round", RoundTiesEven "round_ties_even",
        // parts of elementary functions: a float to its bits (for a NaN, those of any NaN) and
        // back, and a bool that is rarely true
        ToBits "to_bits", FromBits "from_bits", Unlikely "unlikely",
        // approximations by a GPU's hardware, with its own rounding, if `fast_math` allows them
        // (f32 only; precise on a CPU)
        ApproxSqrt "approx_sqrt", ApproxRsqrt "approx_rsqrt", ApproxExp2 "approx_exp2", ApproxLog2 "approx_log2",
        ApproxSin "approx_sin", ApproxCos "approx_cos",
        // approximations of the same kind that take several instructions
        ApproxExp "approx_exp", ApproxLog "approx_log", ApproxLog10 "approx_log10", ApproxTan "approx_tan",
        // the precise root by approximate and refine on a GPU, without a branch; only for 0 and
        // numbers of moderate size (`schedule/element/division.rs`; f32 only)
        SqrtNear "sqrt_near",
        // elementary functions
        Exp "exp", Exp2 "exp2", Expm1 "expm1", Log "log", Log2 "log2", Log10 "log10", Log1p "log1p",
        Sin "sin", Cos "cos", Tan "tan", SinPi "sinpi", CosPi "cospi", Asin "asin", Acos "acos", Atan "atan",
        Sinh "sinh", Cosh "cosh", Tanh "tanh", Cbrt "cbrt", Rsqrt "rsqrt", Erf "erf", Erfc "erfc", Normcdf "normcdf",
        FrexpMantissa "frexp_mantissa", FrexpExponent "frexp_exponent",
    }
}

operators! {
    /// Operators of two operands of one type; comparisons give bool, the others the operands' type.
    BinaryOp {
        Add "add", Sub "sub", Mul "mul", Div "div", Rem "rem", Min "min", Max "max",
        And "and", Or "or", Xor "xor", Shl "shl", Shr "shr",
        Eq "eq", Ne "ne", Lt "lt", Le "le", Gt "gt", Ge "ge",
        // the exact remainder of floats, computed on the slow path
        RemSlow "rem_slow",
        // approximations like `approx_sqrt`: they flush subnormals to zero, and a GPU may contract
        // a product and a sum
        ApproxAdd "approx_add", ApproxSub "approx_sub", ApproxMul "approx_mul", ApproxDiv "approx_div",
        // the precise quotient without a branch, by approximate and refine for numbers of moderate
        // size, and by a GPU's f64 for all numbers (see `sqrt_near`)
        DivNear "div_near", DivWide "div_wide",
        // elementary functions
        Pow "pow", Atan2 "atan2", Hypot "hypot", Fmod "fmod", Copysign "copysign", Ldexp "ldexp",
    }
}

impl UnaryOp {
    /// Returns whether the operator is an elementary function, which `arraygpu-math` defines.
    pub fn is_elementary(self) -> bool {
        self >= UnaryOp::Exp
    }

    /// Returns whether the value is the same on all devices. This excludes approximations of
    /// `fast_math` and the bits of a NaN.
    pub fn is_exact(self) -> bool {
        self.precise().is_none() && self != UnaryOp::ToBits
    }

    /// Returns the operator that a GPU's operator stands for: an approximation of `fast_math`, or
    /// one for a part of the numbers.
    #[inline]
    pub fn precise(self) -> Option<UnaryOp> {
        Some(match self {
            UnaryOp::ApproxSqrt => UnaryOp::Sqrt,
            UnaryOp::ApproxRsqrt => UnaryOp::Rsqrt,
            UnaryOp::ApproxExp2 => UnaryOp::Exp2,
            UnaryOp::ApproxLog2 => UnaryOp::Log2,
            UnaryOp::ApproxSin => UnaryOp::Sin,
            UnaryOp::ApproxCos => UnaryOp::Cos,
            UnaryOp::ApproxExp => UnaryOp::Exp,
            UnaryOp::ApproxLog => UnaryOp::Log,
            UnaryOp::ApproxLog10 => UnaryOp::Log10,
            UnaryOp::ApproxTan => UnaryOp::Tan,
            UnaryOp::SqrtNear => UnaryOp::Sqrt,
            _ => return None,
        })
    }

    /// Returns the approximation of this operator under `fast_math`.
    pub fn approximate(self) -> Option<UnaryOp> {
        Self::ALL.iter().copied().find(|op| op.precise() == Some(self) && *op != UnaryOp::SqrtNear)
    }

    /// Returns whether the operator takes this type. `not` takes bool and integers (bitwise).
    pub fn accepts(self, ty: Ty) -> bool {
        match self {
            UnaryOp::Neg => ty != Ty::Bool,
            UnaryOp::Abs => ty.is_signed(),
            UnaryOp::Not => !ty.is_float(),
            UnaryOp::ToBits => matches!(ty, Ty::F32 | Ty::F64),
            UnaryOp::FromBits => matches!(ty, Ty::U32 | Ty::U64),
            UnaryOp::Unlikely => ty == Ty::Bool,
            op if op.precise().is_some() => ty == Ty::F32,
            _ => ty.is_float(),
        }
    }

    /// Returns the type of the result for an operand of type `ty`.
    #[inline]
    pub fn result(self, ty: Ty) -> Ty {
        match (self, ty) {
            (UnaryOp::ToBits, Ty::F32) => Ty::U32,
            (UnaryOp::ToBits, Ty::F64) => Ty::U64,
            (UnaryOp::FromBits, Ty::U32) => Ty::F32,
            (UnaryOp::FromBits, Ty::U64) => Ty::F64,
            _ => ty,
        }
    }
}

impl BinaryOp {
    /// See [`UnaryOp::is_elementary`].
    pub fn is_elementary(self) -> bool {
        self >= BinaryOp::Pow
    }

    /// See [`UnaryOp::is_exact`].
    pub fn is_exact(self) -> bool {
        self.precise().is_none()
    }

    /// See [`UnaryOp::precise`].
    #[inline]
    pub fn precise(self) -> Option<BinaryOp> {
        Some(match self {
            BinaryOp::ApproxAdd => BinaryOp::Add,
            BinaryOp::ApproxSub => BinaryOp::Sub,
            BinaryOp::ApproxMul => BinaryOp::Mul,
            BinaryOp::ApproxDiv | BinaryOp::DivNear | BinaryOp::DivWide => BinaryOp::Div,
            _ => return None,
        })
    }

    /// See [`UnaryOp::approximate`].
    pub fn approximate(self) -> Option<BinaryOp> {
        Self::ALL.iter().copied().find(|op| op.precise() == Some(self))
    }

    /// Returns whether the result is bool because the operator compares.
    pub fn is_comparison(self) -> bool {
        matches!(
            self,
            BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge
        )
    }

    /// Returns the order (`Lt`, `Le`, `Gt` or `Ge`) of integers that holds where this one does not.
    pub fn opposite(self) -> BinaryOp {
        match self {
            BinaryOp::Lt => BinaryOp::Ge,
            BinaryOp::Le => BinaryOp::Gt,
            BinaryOp::Gt => BinaryOp::Le,
            BinaryOp::Ge => BinaryOp::Lt,
            op => unreachable!("{op:?} is no order"),
        }
    }

    /// Returns this order with its operands swapped.
    pub fn swapped(self) -> BinaryOp {
        match self {
            BinaryOp::Lt => BinaryOp::Gt,
            BinaryOp::Le => BinaryOp::Ge,
            BinaryOp::Gt => BinaryOp::Lt,
            BinaryOp::Ge => BinaryOp::Le,
            op => unreachable!("{op:?} is no order"),
        }
    }

    /// Returns whether f(a, b) and f(b, a) have the same bits (NaN payloads aside, which cannot be
    /// observed).
    pub fn is_commutative(self) -> bool {
        use BinaryOp::*;
        matches!(self, Add | Mul | Min | Max | And | Or | Xor | Eq | Ne | ApproxAdd | ApproxMul)
    }

    /// Returns whether the operator takes this type.
    pub fn accepts(self, ty: Ty) -> bool {
        use BinaryOp::*;
        match self {
            Add | Sub | Mul | Div | Min | Max => ty != Ty::Bool,
            Rem | Shl | Shr => ty.is_int(),
            And | Or | Xor => !ty.is_float(),
            Eq | Ne => true,
            Lt | Le | Gt | Ge => ty != Ty::Bool,
            ApproxAdd | ApproxSub | ApproxMul | ApproxDiv | DivNear | DivWide => ty == Ty::F32,
            RemSlow | Pow | Atan2 | Hypot | Fmod | Copysign | Ldexp => ty.is_float(),
        }
    }

    /// Returns the type of the result for operands of type `ty`.
    #[inline]
    pub fn result(self, ty: Ty) -> Ty {
        if self.is_comparison() { Ty::Bool } else { ty }
    }
}
