//! The laws of work and of copies in random programs.

use arraygpu_compiler::budget::Budget;
use arraygpu_compiler::counts::law::{self, Skipped};
use arraygpu_compiler::counts::{copies, structure};
use arraygpu_compiler::driver::{self, Targets};
use arraygpu_fuzz::generate::program;

/// Programs whose work is checked.
const SEEDS: u64 = 1500;
/// Programs whose kernels are checked, which takes longer.
const COMPILED: u64 = 100;

/// What only the elements of an array without any need is computed in any case; the program asks for none of it.
const EMPTY: &str = "what nobody needs, because an array is empty, has a launch of its own";
/// The like in a loop.
const NO_STEPS: &str = "what only the steps of a loop without any need has a launch of its own";
/// Arrays of which parts are read.
const WHOLE: &str = "a stored array is computed whole, though only some of its elements are read";
/// The counts take an array whose elements are equal for one value.
const EQUAL: &str = "elements that are all equal are joined one by one, and asked for once";
/// The program is asked for a value of an index once for that index, the launches make it for each element.
const INDEX: &str = "a value of one index is computed for all others: storing it takes a launch";
/// Scans whose elements or operators read.
const SCAN: &str = "each launch of a scan computes the elements again, and what its operator reads";
/// Few elements.
const TILES: &str = "few elements take a whole tile";
/// Copies along another axis.
const SPREAD: &str = "an element of few operations is computed again for each of its copies";
/// A bound that is no count of the call.
const UNKNOWN: &str = "a length follows from a scalar that the check does not know";

/// Operands as those of `x ^ x`.
const NOTHING: &str =
    "an operand that decides nothing is computed for each element, because it may leave a record";

/// Programs that make more operations or loads than the law allows, each with the cause. One that keeps the law
/// fails the test: its cause can go.
const MORE: &[(u64, &str)] = &[
    (1, EMPTY),
    (8, EMPTY),
    (54, SCAN),
    (71, NO_STEPS),
    (130, WHOLE),
    (151, NOTHING),
    (186, EQUAL),
    (227, INDEX),
    (321, NO_STEPS),
    (327, WHOLE),
    (379, EMPTY),
    (437, TILES),
    (579, EMPTY),
    (642, INDEX),
    (702, SPREAD),
    (712, SCAN),
    (880, NOTHING),
    (889, INDEX),
    (920, INDEX),
    (935, INDEX),
    (965, INDEX),
    (1018, INDEX),
    (1157, TILES),
    (1170, INDEX),
    (1206, EMPTY),
    (1223, INDEX),
    (1242, SCAN),
    (1260, UNKNOWN),
    (1335, EMPTY),
    (1430, INDEX),
];

/// Programs in which something stands in a loop over an index that it does not depend on, each with the cause.
const REPEATED: &[(u64, &str)] = &[];

/// The programs that are asked for work at one size at least, and the sizes of all programs together. Shape rules
/// refuse the other sizes.
const ASKED: (usize, usize) = (1300, 3900);

#[test]
fn random_programs_keep_the_law() {
    let (mut more, mut repeated, mut found) = (Vec::new(), Vec::new(), Vec::new());
    let (mut programs, mut sizes, mut refused, mut long) = (0, 0, 0, 0);
    for seed in 1..=SEEDS {
        let f = program(seed).function;
        // the compiler refuses some programs
        let Ok(fused) = driver::fuse(&f) else { continue };
        let checked = law::check(&f, &fused).unwrap();
        programs += usize::from(!checked.extents.is_empty());
        sizes += checked.extents.len();
        refused += checked.skipped.iter().filter(|s| s.1 == Skipped::Refused).count();
        long += checked.skipped.iter().filter(|s| s.1 == Skipped::Long).count();
        if let Some(what) = checked.excess {
            more.push(seed);
            found.push(format!("{seed}: {what}"));
        }
        if let Some(what) = structure::excess(&fused).unwrap() {
            repeated.push(seed);
            found.push(format!("{seed}: {what}"));
        }
    }
    let said = format!(
        "{programs} programs at {sizes} sizes; {refused} sizes are refused, {long} are of long programs\n{}",
        found.join("\n")
    );
    println!("{said}");
    let seeds = |known: &[(u64, &str)]| known.iter().map(|k| k.0).collect::<Vec<_>>();
    assert_eq!(more, seeds(MORE), "{said}");
    assert_eq!(repeated, seeds(REPEATED), "{said}");
    assert!(programs >= ASKED.0 && sizes >= ASKED.1, "{said}");
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
