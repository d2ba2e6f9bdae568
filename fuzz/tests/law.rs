//! The laws of work and of copies in random programs.

use arraygpu_compiler::budget::Budget;
use arraygpu_compiler::counts::{copies, law};
use arraygpu_compiler::driver::{self, Targets};
use arraygpu_fuzz::generate::program;

/// Programs whose work is checked.
const SEEDS: u64 = 1500;
/// Programs whose kernels are checked, which takes longer.
const COMPILED: u64 = 100;

/// Almost all programs keep the law. The others fold arrays whose elements are all equal, which the
/// counts take for one value.
#[test]
fn nearly_all_random_programs_keep_the_law() {
    let mut broken = Vec::new();
    for seed in 1..=SEEDS {
        let f = program(seed).function;
        let Ok(fused) = driver::fuse(&f) else { continue };
        broken.extend(law::excess(&f, &fused).unwrap());
    }
    assert!(broken.len() as u64 <= SEEDS / 60, "{} of {SEEDS}:\n{}", broken.len(), broken.join("\n"));
}

#[test]
fn no_kernel_of_a_random_program_has_many_copies_of_it() {
    let both = Targets { cpu: true, cuda: true };
    let mut broken = Vec::new();
    for seed in 1..=COMPILED {
        let f = program(seed).function;
        let Ok(out) = driver::compile_within(Budget::default(), "random", vec![f], both) else { continue };
        let program = copies::of_program(&out.functions[0].fused);
        let found = out.kernels.iter().flat_map(|kernel| kernel.excess(program));
        broken.extend(found.map(|what| format!("program {seed}: {what}")));
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
