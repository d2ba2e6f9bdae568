//! Iterations: which launches each turn makes, several steps at once, and an iteration whose memory cannot be had.

use super::*;

/// k times five times twice the elements, by steps at once where the memory of a turn is aligned.
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
            // the first turn reads what is not aligned: five launches of a step; else four steps and one
            let launches = fake.launches()[before..].to_vec();
            let count = match k {
                0 => 1,
                _ => 2 * k + 3 * begin,
            };
            assert_eq!(launches.len() as i64, count, "from {begin}, {k} turns");
        }
    }
    // the result may be what the iteration begins with
    ok(call(SCALED_AGAIN, &[input(y.view()), scalar(&1i64), output(y.view()), out_scalar(&mut version)]));
    drop((x, y));
    free(context);
    done();
}

/// Nothing is written, and nothing is left.
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
