//! Iterations: which launches each turn makes, several steps in one launch, and an iteration
//! without memory.

use super::*;

/// Each of k turns doubles the elements five times. It does so by several steps in one launch where
/// the memory of the turn is aligned.
pub fn iterations() {
    let (fake, context) = (Fake::get(), gpu());
    let (x, y) = (Vector::in_context(context, &values(1001)), Vector::in_context(context, &values(1000)));
    let mut version = 0;
    for begin in [0, 1] {
        for k in 0..6i64 {
            let before = fake.launches().len();
            let from = x.slice(begin, begin + 1000, 1);
            ok(call(SCALED_AGAIN, &[input(from), scalar(&k), output(y.view()), out_scalar(&mut version)]));
            let factor = 2f32.powi(5 * k as i32);
            let expected: Vec<f32> = values(1001)[begin as usize..][..1000].iter().map(|x| x * factor).collect();
            assert_eq!(y.get(), expected, "from {begin}, {k} turns");
            // The first turn reads memory that is not aligned, so it makes five launches of one
            // step. The other turns make a launch of four steps and one of one step.
            let launches = fake.launches()[before..].to_vec();
            let count = match k {
                0 => 1,
                _ => 2 * k + 3 * begin,
            };
            assert_eq!(launches.len() as i64, count, "from {begin}, {k} turns");
        }
    }
    // The result may be the initial state of the iteration.
    ok(call(SCALED_AGAIN, &[input(y.view()), scalar(&1i64), output(y.view()), out_scalar(&mut version)]));
    drop((x, y));
    free(context);
    done();
}

/// Nothing is written, and nothing leaks.
pub fn iterations_without_memory() {
    let (fake, context) = (Fake::get(), gpu());
    let (x, y) = (Vector::in_context(context, &values(1000)), Vector::in_context(context, &values(1000)));
    let mut version = 0;
    let used = usage(context).0;
    for failing in 1..3 {
        fake.options(&format!("fail_alloc={failing},fail_alloc_until={}", failing + 1));
        let before = fake.launches().len();
        let arguments = [input(x.view()), scalar(&3i64), output(y.view()), out_scalar(&mut version)];
        assert_eq!(call(SCALED_AGAIN, &arguments), AgpuErrorOutOfMemory, "{failing}: {}", message());
        fake.options("");
        assert_eq!((fake.launches().len(), y.get()), (before, values(1000)));
        wait(context);
        assert_eq!(usage(context).0, used);
    }
    drop((x, y));
    free(context);
    done();
}
