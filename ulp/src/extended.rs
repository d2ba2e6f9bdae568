//! The judge of f64 functions, which computes in the extended precision of x87: see `extended.c`.

/// Returns the error of the result `ours` for x and y, in ulps.
pub type Judge = fn(x: f64, y: f64, ours: f64) -> f64;

/// Maximum error of a judgement, in ulps of f64: eight ulps of extended precision.
pub const TOLERANCE: f64 = 1.0 / 256.0;

macro_rules! judges {
    ($($name:literal $function:ident)*) => {
        // SAFETY: these functions of `extended.c` take three doubles and have no state.
        unsafe extern "C" {
            $(safe fn $function(x: f64, y: f64, ours: f64) -> f64;)*
        }

        /// Returns the judge of the function `name`, if there is one.
        pub fn judge(name: &str) -> Option<Judge> {
            match name {
                $($name => Some(|x, y, ours| $function(x, y, ours)),)*
                _ => None,
            }
        }
    };
}

judges! {
    "exp" extended_exp
    "exp2" extended_exp2
    "expm1" extended_expm1
    "log" extended_log
    "log2" extended_log2
    "log10" extended_log10
    "log1p" extended_log1p
    "cbrt" extended_cbrt
    "rsqrt" extended_rsqrt
    "sin" extended_sin
    "cos" extended_cos
    "tan" extended_tan
    "sinpi" extended_sinpi
    "cospi" extended_cospi
    "asin" extended_asin
    "acos" extended_acos
    "atan" extended_atan
    "sinh" extended_sinh
    "cosh" extended_cosh
    "tanh" extended_tanh
    "erf" extended_erf
    "erfc" extended_erfc
    "normcdf" extended_normcdf
    "pow" extended_pow
    "atan2" extended_atan2
    "hypot" extended_hypot
    "fmod" extended_fmod
    "copysign" extended_copysign
    "ldexp" extended_ldexp
}
