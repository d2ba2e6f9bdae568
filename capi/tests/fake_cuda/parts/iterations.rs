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

fn read_number(of: &Vector) -> i64 {
    let mut number = 0i64;
    // SAFETY: the vector has one number.
    ok(unsafe { agpu_copy_to_host((&raw mut number).cast(), of.view(), 1) });
    number
}

/// Every six steps a check asks for the first element; it ends the iteration on the device. The host queues some
/// checks and steps behind the end, which change nothing and leave no record.
pub fn iterations_until() {
    let (fake, context) = (Fake::get(), gpu());
    let (y, steps) = (Vector::in_context(context, &values(1000)), number(context));
    for (first, limit) in [0.5, 16.0, 900.0, 1000.0, 5000.0]
        .into_iter()
        .flat_map(|first| [0, 1, 5, 6, 7, 11, 12, 600].map(|limit| (first, limit)))
    {
        for begin in [0usize, 1] {
            let mut all = values(1001);
            all[begin] = first;
            let x = Vector::in_context(context, &all);
            let before = fake.launches().len();
            let from = x.slice(begin as i64, begin as i64 + 1000, 1);
            let arguments = [input(from), scalar(&limit), output(y.view()), output(steps.view())];
            ok(call(DOUBLED_UNTIL, &arguments));
            wait(context);
            let is_checked = |t: &i64| *t == limit || t % 6 == 0;
            let value = |t: i64| first * 2f32.powi(t as i32);
            let ended = (0..=limit).filter(is_checked).find(|t| value(*t) >= REACHED);
            let made = ended.unwrap_or(limit);
            let expected: Vec<f32> = all[begin..][..1000].iter().map(|x| x * 2f32.powi(made as i32)).collect();
            assert_eq!((y.get(), read_number(&steps)), (expected, ended.unwrap_or(-1)), "{first}, {limit}, {begin}");
            let launches = fake.launches()[before..].to_vec();
            let checks = launches.iter().filter(|l| l.entry() == "reached").count() as i64;
            let needed = (0..=made).filter(is_checked).count() as i64;
            assert!((needed..=needed + 3).contains(&checks), "{checks} checks, {needed} of them needed");
            // four steps and two of them at once, where the memory of all runs is aligned
            if begin == 0 && limit >= 600 {
                assert!(launches.iter().all(|l| l.entry() != "doubled_any"), "{first}, {limit}");
            }
        }
    }
    // behind another launch
    let mut all = values(1000);
    all[0] = 900.0;
    let (x, turned) = (Vector::in_context(context, &all), Vector::in_context(context, &[0.0; 1000]));
    let outputs = [output(y.view()), output(steps.view()), output(turned.view())];
    ok(call(DOUBLED_BEHIND, &[&[input(x.view()), scalar(&60i64)][..], &outputs].concat()));
    wait(context);
    assert_eq!((y.get()[0], read_number(&steps)), (57600.0, 6));
    assert_eq!((turned.get()[999], turned.get()[0]), (900.0, all[999]));
    drop(turned);
    // what fails leaves nothing behind, and the next call does what it says
    let x = Vector::in_context(context, &values(1000));
    let arguments = [input(x.view()), scalar(&60i64), output(y.view()), output(steps.view())];
    let used = usage(context).0;
    for failing in 1..3 {
        fake.options(&format!("fail_alloc={failing},fail_alloc_until={}", failing + 1));
        let status = call(DOUBLED_UNTIL, &arguments);
        fake.options("");
        assert!(matches!(status, AgpuErrorOutOfMemory | AgpuOk), "{status:?}: {}", message());
        wait(context);
        assert_eq!(usage(context).0, used);
    }
    drop((x, y, steps));
    free(context);
    done();
}
