//! Results over one index space whose elements have loops, on a simulated GPU: all bits are the interpreter's, and no
//! result loses its strategy because of another one.

use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::driver::Compiled;
use arraygpu_compiler::scalar::Ty;
use arraygpu_compiler::schedule::strategy::Strategy;
use arraygpu_suite::pairs;
use arraygpu_suite::rng::Rng;
use arraygpu_suite::typed::{compiled, numbers};
use arraygpu_suite::versions;

/// The number of launches whose elements are loops of one thread each, whatever the call.
fn plain_loops(c: &Compiled) -> usize {
    let is_plain = |k: &arraygpu_compiler::driver::CompiledKernel| {
        k.gpu_variants().iter().all(|v| v.strategy == Strategy::ElementLoops)
    };
    c.kernels.iter().filter(|k| is_plain(k)).count()
}

fn arguments(ty: Ty, sizes: [usize; 5], rng: &mut Rng) -> Vec<Value> {
    pairs::extents(sizes).iter().map(|e| numbers(ty, e, rng)).collect()
}

#[test]
fn random_pairs() {
    let (mut launches, mut results) = (0, 0);
    for seed in 0..24 {
        let mut rng = Rng::new(seed);
        let (text, names) = pairs::program(&mut rng);
        let ty = rng.pick(&[Ty::F32, Ty::F64, Ty::I32, Ty::U8]);
        let c = compiled(&text, ty);
        assert_eq!(plain_loops(&c), 0, "seed {seed} of {ty}\n{text}");
        launches += c.kernels.len();
        results += names.len();
        for m in [0, 1, 5] {
            let [n, k, l] = [0; 3].map(|_| rng.pick(&[0, 1, 3, 17, 130]));
            // what is read at any index may be too short
            let sizes = [m, n.min(20), k, l, m + rng.below(2)];
            let args = arguments(ty, sizes, &mut rng);
            versions::check(&c, &args, &format!("seed {seed}, {sizes:?} of {ty}\n{text}"));
        }
    }
    // some share a launch
    assert!(launches < results && launches > results / 2, "{launches} launches of {results} results");
}
