//! Results over one index space whose elements have loops, on CPUs: the block interpreter and C through the
//! runtime, against the interpreter of core IR.

#[path = "common/mod.rs"]
mod runtime;

use arraygpu_capi::abi::AgpuStatus;
use arraygpu_compiler::core::interp;
use arraygpu_compiler::driver::Targets;
use arraygpu_compiler::scalar::Ty;
use arraygpu_suite::pairs;
use arraygpu_suite::rng::Rng;
use arraygpu_suite::typed::{compiled_for, numbers};
use runtime::{Layout, context, load_blocks, load_highest, shapes};

#[test]
fn random_pairs() {
    for seed in 0..32 {
        let mut rng = Rng::new(seed);
        let (text, _) = pairs::program(&mut rng);
        let ty = rng.pick(&[Ty::F32, Ty::F64, Ty::I32, Ty::U8]);
        // some through the C compiler, too
        let cpu = seed % 8 == 0;
        let c = compiled_for(&text, ty, Targets { cpu, cuda: false });
        let loaded = if cpu { load_highest(&c) } else { load_blocks(&c) };
        for m in [0, 1, 7, 66] {
            let lengths: &[usize] = if m > 10 { &[1, 17, 70] } else { &[0, 1, 3, 17, 130, 600] };
            let [n, k, l] = [0; 3].map(|_| rng.pick(lengths));
            let sizes = [m, n, k, l, m];
            let args: Vec<_> = pairs::extents(sizes).iter().map(|e| numbers(ty, e, &mut rng)).collect();
            let wanted = interp::run(&c.functions[0].fused, &args).unwrap().results;
            for layout in Layout::ALL {
                let called = loaded.call(0, context(2), &args, &shapes(&wanted), layout);
                let what = format!("seed {seed}, {sizes:?} of {ty}, {layout:?}\n{text}");
                assert!(matches!(called.status, AgpuStatus::AgpuOk), "{what}\n{}", called.message);
                assert!(called.results == wanted, "{what}");
            }
        }
    }
}
