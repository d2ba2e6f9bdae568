//! The law of work in random programs.

use arraygpu_compiler::{counts::law, driver};
use arraygpu_fuzz::generate::program;

/// Programs that are checked.
const SEEDS: u64 = 1500;

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
