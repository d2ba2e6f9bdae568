//! The package `functions`: every elementary function as a map, `<name>_f32` and `<name>_f64`. Benchmarks time it, and a test compares its bits on CPU and GPU.
//!
//! `FUNCTIONS` (names between spaces) makes a smaller one; `FAST_MATH=1` makes `functions_fast`, with approximations on GPUs.

use arraygpu::prelude::*;

/// A package under construction, and what was asked for.
struct Maker {
    package: Option<Package>,
    wanted: Option<Vec<String>>,
}

impl Maker {
    fn add(&mut self, name: &str, add: impl FnOnce(Package) -> Package) {
        if self.wanted.as_ref().is_none_or(|w| w.iter().any(|w| w == name)) {
            self.package = self.package.take().map(add);
        }
    }
}

/// Both types of each method of one number.
macro_rules! of_one {
    ($maker:ident: $($name:ident)*) => { $(
        $maker.add(stringify!($name), |p| {
            p.function(concat!(stringify!($name), "_f32"), ["x"], "result", |x: VExp<f32>| x.$name())
                .function(concat!(stringify!($name), "_f64"), ["x"], "result", |x: VExp<f64>| x.$name())
        });
    )* };
}

/// Both types of each method of two numbers; the second one's types where they are others.
macro_rules! of_two {
    ($maker:ident: $($name:ident $method:ident $single:ty, $double:ty;)*) => { $(
        $maker.add(stringify!($name), |p| {
            p.function(concat!(stringify!($name), "_f32"), ["x", "y"], "result", |x: VExp<f32>, y: VExp<$single>| x.$method(y))
                .function(concat!(stringify!($name), "_f64"), ["x", "y"], "result", |x: VExp<f64>, y: VExp<$double>| x.$method(y))
        });
    )* };
}

/// `of`, beside a function that has rare numbers (it is positive, or NaN as its argument): so a GPU divides and takes roots without branches.
fn beside(x: SExp<f32>, of: SExp<f32>) -> SExp<f32> {
    let exp = x.exp();
    cond(exp.ge(0.0), of, exp)
}

/// What has no branches on GPUs; their bits are compared, of `near_reciprocal` and `near_sqrt` all.
fn near(p: Package) -> Package {
    p.function("near_reciprocal_f32", ["x"], "result", |x: VExp<f32>| x.map(|x| beside(x, 1.0 / x)))
        .function("near_sqrt_f32", ["x"], "result", |x: VExp<f32>| x.map(|x| beside(x, x.sqrt())))
        .function("near_quotient_f32", ["x", "y"], "result", |x: VExp<f32>, y: VExp<f32>| {
            x.zip_with(y, |x, y| beside(x, x / y))
        })
}

fn main() -> arraygpu::Result<()> {
    let wanted = std::env::var("FUNCTIONS").ok();
    let wanted = wanted.map(|names| names.split_whitespace().map(String::from).collect());
    let fast = std::env::var("FAST_MATH").is_ok_and(|f| f == "1");
    let package = if fast { Package::new("functions_fast").fast_math() } else { Package::new("functions") };
    let mut maker = Maker { package: Some(package), wanted };
    of_one! { maker:
        exp exp2 expm1 log log2 log10 log1p cbrt rsqrt sin cos tan sinpi cospi asin acos atan sinh cosh tanh erf erfc normcdf
    }
    of_two! { maker:
        pow powf f32, f64;
        atan2 atan2 f32, f64;
        hypot hypot f32, f64;
        fmod fmod f32, f64;
        copysign copysign f32, f64;
        ldexp ldexp i32, i32;
    }
    if !fast {
        maker.add("near", near);
    }
    maker.package.map_or(Ok(()), Package::run)
}
