//! The list of passes over GPU kernels, in order. For CPU kernels the C compiler does the same optimisations; they
//! have only passes that help it to vectorise loops, or save steps of searches, which are not in this list:
//! `split_rows.rs`, `records_apart.rs`, `neighbour_searches.rs`, `quotients.rs`, `lanes.rs`, `lockstep/`, `clamps.rs`,
//! `ordered_bits.rs`, `idle_divisions.rs`. `unswitch.rs` serves both.

use super::{
    Kernel, address_sums, avoid_negated_min, cse, dce, divide, if_conversion, narrow, remainders, unswitch,
    verify, widen,
};
use crate::error::{Error, Result};
use crate::without;

/// A pass over a kernel.
pub struct Pass {
    /// Its name in reports.
    pub name: &'static str,
    /// Whether it runs only on kernels whose indices fit in 32 bits.
    only_narrow: bool,
    run: fn(&mut Kernel),
}

const fn pass(name: &'static str, run: fn(&mut Kernel)) -> Pass {
    Pass { name, only_narrow: false, run }
}

impl Pass {
    /// Runs this pass alone over a GPU kernel. The result is verified.
    pub fn run(&self, k: &mut Kernel) -> Result<()> {
        (self.run)(k);
        verified(k, self.name)
    }
}

/// All passes. Dead code is dropped before `cse`, so that it does not count as a use, and again at the end.
pub const PASSES: [Pass; 11] = [
    // comes before branches become selects
    pass("unswitch", unswitch::run),
    pass("if_conversion", if_conversion::run),
    Pass { only_narrow: true, ..pass("narrow", narrow::run) },
    pass("widen", widen::run),
    pass("dce", dce::run),
    pass("remainders", remainders::run),
    // what stands before a loop takes registers, and 64-bit addresses take two each
    Pass { only_narrow: true, ..pass("address_sums", address_sums::run) },
    pass("cse", cse::run),
    pass("divide", divide::run),
    pass("avoid_negated_min", avoid_negated_min::run),
    pass("dce", dce::run),
];

/// Runs all passes over a kernel. If `narrow`, its indices fit in 32 bits. The result is verified; in debug builds,
/// after each pass.
pub fn run(k: &mut Kernel, narrow: bool) -> Result<()> {
    if !narrow {
        k.in_space.clear();
        k.bounded.clear();
        k.last_indices.clear();
    }
    for (i, pass) in PASSES.iter().enumerate() {
        if pass.only_narrow && !narrow || without::is_pass_left_out(pass.name) {
            continue;
        }
        (pass.run)(k);
        if cfg!(debug_assertions) || i + 1 == PASSES.len() {
            verified(k, pass.name)?;
        }
    }
    Ok(())
}

fn verified(k: &Kernel, after: &str) -> Result<()> {
    verify::verify(k).map_err(|e| Error { message: format!("after {after}: {}", e.message), ..e })
}
