//! What filters keep, beside everything else (semantics 5.22): other filters, scans, sorts, groups, iterations,
//! stencils, products, and vectors of as many elements.

mod common;

use arraygpu_compiler::core::interp;
use arraygpu_compiler::core::print::print;
use arraygpu_dsl::eval;
use arraygpu_dsl::prelude::*;
use common::{call, everywhere, literals, lower, recorded, refused, rules, scalar, vector};

fn numbers(n: usize) -> Vec<i64> {
    (0..n as i64).map(|i| (i * 7919) % 101 - 40).collect()
}

/// The elements, and then a default up to the length.
fn filled<T: Copy>(kept: &[T], n: usize, default: T) -> Vec<T> {
    kept.iter().copied().chain(std::iter::repeat(default)).take(n).collect()
}

#[test]
fn elements_of_one_filter_join() {
    let f = |x: VExp<i64>| {
        let kept = x.filter(|v| v.gt(0));
        let sums = kept.scan(5, |a, b| a + b);
        let all =
            kept.map(|v| v * 2).zip_with(sums, |v, s| v - s).zip_with(kept.indices(), |v, i| v * 1000 + i);
        let (values, lengths) = x.run_lengths();
        (all.filled(-1), values.zip_with(lengths, |v, n| v * n).reduce(0, |a, b| a + b))
    };
    let lowered = lower(["x"], ["all", "sum"], f);
    for n in [0, 1, 2, 70, 300] {
        let x = numbers(n);
        let (all, sum) = eval(f, (&x,)).expect("it runs");
        let mut running = 5;
        let kept = x.iter().enumerate().filter(|(_, v)| **v > 0).map(|(i, v)| {
            running += v;
            (2 * v - running) * 1000 + i as i64
        });
        assert_eq!(all, filled(&kept.collect::<Vec<_>>(), n, -1), "{n}");
        assert_eq!(sum, x.iter().sum::<i64>(), "{n}");
        if n <= 70 {
            everywhere(&lowered, &[vector(&x)]);
        }
    }
}

/// What vectors have, with the bits of a vector of the kept elements alone.
#[test]
fn words_of_vectors() {
    let f = |x: VExp<f32>| {
        let kept = x.filter(|v| v.ne(0.0));
        let words = |v: SExp<f32>| (v * 2.0, v.gt(-3.0), [v, -v]);
        let (double, above, [same, negated]) = kept.map(words);
        let last = |a: SExp<f32>, b: SExp<f32>| cond(b.gt(1.0), b, a);
        let numbers = (kept.sum(), kept.product(), kept.minmax(), kept.mean(), kept.argmin(), kept.argmax());
        let folds = (kept.fold(0.5, |a, v| a * 0.5 + v), kept.reduce_noncommutative(9.0, last));
        let vectors = (double.zip_with(negated, |a, b| (a - b, a)).0.filled(7.0), above.any(), above.all());
        let sums = kept.scan_exclusive(0.25, |a, b| a + b).filled(-1.0);
        (numbers, folds, vectors, sums, same.max())
    };
    let of_vector = |x: VExp<f32>| {
        let last = |a: SExp<f32>, b: SExp<f32>| cond(b.gt(1.0), b, a);
        let numbers = (x.sum(), x.product(), x.minmax(), x.mean(), x.argmin(), x.argmax());
        let folds = (x.fold(0.5, |a, v| a * 0.5 + v), x.reduce_noncommutative(9.0, last));
        let vectors = (x.map(|v| 3.0 * v), x.gt(-3.0).any(), x.gt(-3.0).all());
        (numbers, folds, vectors, x.scan_exclusive(0.25, |a, b| a + b), x.max())
    };
    let names: Vec<String> = (0..14).map(|i| format!("r{i}")).collect();
    let [kept, alone] = [lower(["x"], names.clone(), f), lower(["x"], names, of_vector)];
    for n in [0, 1, 5, 300, 2500] {
        let numbers: Vec<f32> =
            (0..n).map(|i| [0.0, 1.37, -2.5, 0.0, 0.011, -0.0][i % 6] * (i % 97) as f32).collect();
        let only: Vec<f32> = numbers.iter().copied().filter(|v| *v != 0.0).collect();
        let [found, expected] = [(&kept, &numbers), (&alone, &only)].map(|(f, x)| call(f, &[vector(x)]));
        for (k, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let front = literals(expected);
            assert_eq!(literals(found)[..front.len()], front[..], "r{k} of {n}");
        }
    }
    everywhere(&kept, &[vector(&[0.0f32, 2.5, -1.0, 0.0, 4.0])]);
}

#[test]
fn reads_of_what_is_kept() {
    let f = |x: VExp<i64>, i: SExp<i64>| x.filter(|v| v.gt(0)).at(i);
    let lowered = lower(["x", "i"], "r", f);
    let x = vector(&[-1i64, 5, 0, 7]);
    assert_eq!(everywhere(&lowered, &[x.clone(), scalar(1i64)]), [scalar(7i64)]);
    for outside in [2i64, -1] {
        let record = recorded(&lowered, &[x.clone(), scalar(outside)]);
        assert!(record.contains("a read of a computed vector is out of range"), "{record}");
    }
}

#[test]
fn elements_of_two_filters_do_not_join() {
    let line = line!() + 2;
    let both = |x: VExp<f32>, y: VExp<f32>| {
        x.filter(|v| v.gt(0.0)).zip_with(y.filter(|v| v.gt(0.0)), |a, b| a + b).filled(0.0)
    };
    let error = refused(["x", "y"], both);
    assert_eq!(error.code(), Some("E0212"));
    let text = error.to_string();
    assert!(text.contains("kept by two filters") && text.contains(&format!("filtered.rs:{line}")), "{text}");
    // equal conditions are two filters, too
    let twice = |x: VExp<f32>| {
        let of = || x.filter(|v| v.gt(0.0));
        of().zip_with(of(), |a, b| a + b).reduce(0.0, |a, b| a + b)
    };
    assert_eq!(refused(["x"], twice).code(), Some("E0212"));
}

#[test]
fn filters_of_filters_go_on_where_the_first_one_ends() {
    let f = |x: VExp<i64>| {
        let some = x.filter(|v| v.ne(0)).filter(|v| (60 / v).gt(-30));
        let (values, lengths) = x.filter(|v| (v & 7).ne(3)).map(|v| v >> 4).run_lengths();
        let unique = x.filter(|v| v.gt(-20)).map(|v| v >> 5).unique();
        let runs = (values.filled(-99), lengths.filled(0), values.indices().filled(-1));
        (some.filled(-99), some.indices().filled(-1), some.len(), runs.0, runs.1, runs.2, unique.filled(-99))
    };
    let names = ["some", "at", "count", "values", "lengths", "begins", "unique"];
    let lowered = lower(["x"], names, f);
    for n in [0, 1, 2, 90, 300] {
        let x = numbers(n);
        let (some, at, count, values, lengths, begins, unique) = eval(f, (&x,)).expect("it runs");
        let kept: Vec<(i64, i64)> =
            (0..n as i64).zip(x.iter().copied()).filter(|(_, v)| *v != 0 && 60 / v > -30).collect();
        let [indices, elements] =
            [0, 1].map(|k| kept.iter().map(|p| if k == 0 { p.0 } else { p.1 }).collect::<Vec<_>>());
        assert_eq!((some, at), (filled(&elements, n, -99), filled(&indices, n, -1)), "{n}");
        assert_eq!(count, kept.len() as i64);
        let mut runs: Vec<(i64, i64, i64)> = Vec::new();
        for (i, v) in (0..).zip(&x).filter(|(_, v)| **v & 7 != 3).map(|(i, v)| (i, v >> 4)) {
            match runs.last_mut() {
                Some(run) if run.0 == v => run.1 += 1,
                _ => runs.push((v, 1, i)),
            }
        }
        let of = |k: fn(&(i64, i64, i64)) -> i64| runs.iter().map(k).collect::<Vec<_>>();
        assert_eq!(values, filled(&of(|r| r.0), n, -99), "{n}");
        assert_eq!(lengths, filled(&of(|r| r.1), n, 0), "{n}");
        assert_eq!(begins, filled(&of(|r| r.2), n, -1), "{n}");
        let mut wanted: Vec<i64> = x.iter().filter(|v| **v > -20).map(|v| v >> 5).collect();
        wanted.dedup();
        assert_eq!(unique, filled(&wanted, n, -99), "{n}");
        if n <= 90 {
            everywhere(&lowered, &[vector(&x)]);
        }
    }
}

#[test]
fn a_scan_of_what_is_kept_has_the_bits_of_these_alone() {
    let kept = |x: VExp<f32>| x.filter(|v| v.gt(-0.3));
    let f = move |x: VExp<f32>| kept(x).scan(0.25, |a, b| a * 0.5 + b).filled(-7.0);
    let lowered = lower(["x"], "scan", f);
    for n in [0, 1, 5, 129, 300] {
        let x: Vec<f32> = numbers(n).iter().map(|v| *v as f32 * 0.013).collect();
        let some: Vec<f32> = x.iter().copied().filter(|v| *v > -0.3).collect();
        let alone = eval(|x: VExp<f32>| x.scan(0.25, |a, b| a * 0.5 + b), (&some,)).expect("it runs");
        assert_eq!(eval(f, (&x,)).expect("it runs"), filled(&alone, n, -7.0), "{n}");
        everywhere(&lowered, &[vector(&x)]);
    }
    // what is left out leaves no record in an operator
    let step = |a, b: SExp<i64>| a + b + (60 / b).min(0);
    let f = lower(["x"], "scan", move |x: VExp<i64>| x.filter(|v| v.ne(0)).scan(7, step).filled(0));
    assert_eq!(everywhere(&f, &[vector(&[2i64, 0, 3, 0, 0])]), [vector(&[9i64, 12, 0, 0, 0])]);
}

#[test]
fn a_length_is_checked_by_the_device() {
    let f = |x: VExp<f32>, y: VExp<f32>| {
        let kept = x.filter(|v| v.gt(0.0)).with_len(y.len());
        (kept * y, kept.dot(y))
    };
    let f = lower(["x", "y"], ["product", "sum"], f);
    let x = vector(&[1.0f32, -1.0, 2.0, 0.0, 3.0]);
    let found = everywhere(&f, &[x.clone(), vector(&[10.0f32, 20.0, 30.0])]);
    assert_eq!(found, [vector(&[10.0f32, 40.0, 90.0]), scalar(140.0f32)]);
    assert_eq!(rules(&f), ["stop with_len of x: y"]);
    for y in [&[][..], &[1.0f32], &[1.0, 2.0], &[1.0; 4], &[1.0; 5]] {
        let record = recorded(&f, &[x.clone(), vector(y)]);
        let said =
            record.starts_with("element 0: with_len: the number of elements that are kept is {}, not {} (");
        assert!(said && record.contains("filtered.rs"), "{record}");
    }
    let error = interp::run(&f, &[x, vector(&[1.0f32; 6])]).expect_err("6 of 5 elements").to_string();
    assert!(error.contains("with_len"), "{error}");
    everywhere(&f, &[vector::<f32>(&[]), vector::<f32>(&[])]);
    everywhere(&f, &[vector(&[-1.0f32, -2.0]), vector::<f32>(&[])]);
    // records, and indices, of a number that the caller gives
    let f = lower(["z", "n"], ["kept", "at"], |z: VExp<Complex<f32>>, n: SExp<i64>| {
        let kept = z.filter(|z| z.re.gt(z.im));
        (kept.with_len(n), kept.indices().with_len(n))
    });
    let z = [vector(&[1.0f32, 2.0, 3.0]), vector(&[2.0f32, 1.0, 0.0])];
    everywhere(&f, &[&z[..], &[scalar(2i64)]].concat());
    recorded(&f, &[&z[..], &[scalar(1i64)]].concat());
    interp::run(&f, &[&z[..], &[scalar(-1i64)]].concat()).expect_err("a length below 0");
}

#[test]
fn what_is_kept_is_scanned_sorted_and_grouped() {
    let f = |x: VExp<i64>| {
        let kept = x.filter(|v| v.gt(0));
        let front = kept.filled(0);
        let counts = kept.map(|v| v % 5).filled(-1).ignored().histogram(5);
        let sums = front.scatter_reduce(3, kept.map(|v| v % 3).filled(-1).ignored(), 0, |a, b| a + b);
        let groups = front.segmented_reduce(generate(3, |i| i * kept.len() / 2), 0, |a, b| a + b);
        (front.scan(0, |a, b| a + b), front.sort_descending(), counts, sums, groups)
    };
    let lowered = lower(["x"], ["scan", "sorted", "counts", "sums", "groups"], f);
    for n in [1, 2, 80] {
        let x = numbers(n);
        let (scan, sorted, counts, sums, groups) = eval(f, (&x,)).expect("it runs");
        let mut kept: Vec<i64> = x.iter().copied().filter(|v| *v > 0).collect();
        let half = kept.len() / 2;
        assert_eq!(groups, [kept[..half].iter().sum::<i64>(), kept[half..].iter().sum()], "{n}");
        assert_eq!(scan[n - 1], kept.iter().sum::<i64>());
        for k in 0..5i64 {
            assert_eq!(counts[k as usize], kept.iter().filter(|v| **v % 5 == k).count() as i64);
        }
        for k in 0..3i64 {
            assert_eq!(sums[k as usize], kept.iter().filter(|v| **v % 3 == k).sum::<i64>());
        }
        kept.sort_unstable_by_key(|v| -v);
        assert_eq!(sorted, filled(&kept, n, 0));
        everywhere(&lowered, &[vector(&x)]);
    }
}

#[test]
fn what_is_kept_is_read_by_stencils_products_and_closures() {
    let f = |x: VExp<f32>, a: MExp<f32>| {
        let kept = x.filter(|v| v.gt(0.5));
        let front = kept.filled(0.25);
        let smooth = front.padded(1, 1, Boundary::Clamp).weighted_sum(&[0.25, 0.5, 0.25]);
        let scaled = generate(x.len(), |i| cond(i.lt(kept.len()), front.at(i) / kept.len().cast(), -1.0));
        let product = a.matmul(front.broadcast_cols(2));
        (smooth, scaled, product, a.map_rows(|r| r.dot(front)), kept.len() * 3 - 1)
    };
    let f = lower(["x", "a"], ["smooth", "scaled", "product", "dots", "number"], f);
    for n in [1usize, 3, 40] {
        let x: Vec<f32> = numbers(n).iter().map(|v| *v as f32 * 0.1).collect();
        let rows: Vec<Vec<f32>> = (0..3).map(|i| x.iter().map(|v| v * 0.5 + i as f32).collect()).collect();
        let rows: Vec<&[f32]> = rows.iter().map(|r| &r[..]).collect();
        let a = arraygpu_compiler::core::interp::Value::Array(
            vec![3, n as i64],
            rows.concat().into_iter().map(arraygpu_compiler::scalar::Lit::f32).collect(),
        );
        everywhere(&f, &[vector(&x), a]);
    }
}

#[test]
fn the_steps_of_iterations_filter_their_states() {
    // the sieve: each step takes the first number that is left out of all its multiples
    let f = |n: SExp<i64>| {
        let numbers = generate(n, |i| i + 2);
        let (_, primes) = iterate(4, (numbers, fill(n, 0i64)), |(left, primes)| {
            let first = left.at(0);
            let found = cond(first.gt(0), first, 0);
            let rest = left.filter(|v| v.gt(0) & (v % found.max(1)).ne(0)).filled(0);
            (rest, primes + fill(n, found))
        });
        primes.at(0)
    };
    let f = lower(["n"], "sum", f);
    assert_eq!(everywhere(&f, &[scalar(30i64)]), [scalar(2i64 + 3 + 5 + 7)]);
    // runs of a sorted state
    let f = lower(["x"], ["last", "runs"], |x: VExp<f32>| {
        let step = |x: VExp<f32>| {
            let (values, lengths) = x.sort().run_lengths();
            values.zip_with(lengths, |v, n| v * 0.5 + n.cast()).filled(1.0)
        };
        let x = iterate(3, x, step);
        (x, x.sort().unique().len())
    });
    let x: Vec<f32> = numbers(40).iter().map(|v| (*v % 4) as f32).collect();
    everywhere(&f, &[vector(&x)]);
    call(&f, &[vector::<f32>(&[])]);
}

#[test]
fn several_filters_are_several_results() {
    let f = |x: VExp<f32>, y: VExp<i64>| {
        let (low, high) = (x.filter(|v| v.lt(0.0)), x.filter(|v| v.ge(0.0)));
        let beside = high.indices().map(|i| y.at(i));
        let most = low.reduce(-9.0, |a, b| a.max(b)) + high.reduce(9.0, |a, b| a.min(b));
        (low.filled(0.0), high.filled(0.0), beside.filled(-1), low.len(), high.len(), most)
    };
    let f = lower(["x", "y"], ["low", "high", "beside", "lows", "highs", "most"], f);
    for n in [0, 1, 66] {
        let x: Vec<f32> = numbers(n).iter().map(|v| *v as f32 * 0.5).collect();
        everywhere(&f, &[vector(&x), vector(&numbers(n))]);
    }
}

/// The examples of docs/language.md.
#[test]
fn examples_of_the_documentation() {
    let shares = |x: VExp<u32>| {
        let (values, counts) = x.sort().run_lengths();
        let n = x.len();
        (values.filled(0), counts.filled(0), counts.map(|k| k.cast::<f32>() / n.cast()).filled(0.0))
    };
    let f = lower(["x"], ["values", "counts", "shares"], shares);
    let found = everywhere(&f, &[vector(&[7u32, 3, 7, 9])]);
    let wanted = [vector(&[3u32, 7, 9, 0]), vector(&[1i64, 2, 1, 0]), vector(&[0.25f32, 0.5, 0.25, 0.0])];
    assert_eq!(found, wanted);
    let weighted = |x: VExp<f32>, w: VExp<f32>| x.filter(|v| v.gt(0.0)).with_len(w.len()).dot(w);
    let f = lower(["x", "w"], "sum", weighted);
    assert_eq!(everywhere(&f, &[vector(&[2.0f32, -1.0, 3.0]), vector(&[10.0f32, 1.0])]), [scalar(23.0f32)]);
}

/// Lines of matrices, which are read with two indices, are filtered as vectors are.
#[test]
fn lines_of_matrices_are_filtered() {
    let f = |m: MExp<f32>| {
        let column = m.col(0).filter(|v| v.gt(0.0)).reduce(0.0, |a, b| a + b);
        let row = m.transpose().row(1).filter(|v| v.lt(2.0)).reduce(0.0, |a, b| a + b);
        let (parted, _) = m.col(1).partition(|v| v.gt(1.0));
        let looped = m.col(0).filter(|v| v.gt(-1.0)).map(|v| loop_for(2, v, |_, s| s * 0.5)).filled(9.0);
        let of_sums = m.sum_rows().zip_with(m.col(2), |s, v| s - v).filter(|v| v.gt(0.0)).filled(7.0);
        (column, row, parted.slice(0, 2), looped, of_sums)
    };
    let f = lower(["m"], ["column", "row", "parted", "looped", "sums"], f);
    let numbers = |rows: i64| {
        let m = (0..rows * 3).map(|i| ((i * 7 % 11) as f32 - 4.0).lit()).collect();
        interp::Value::Array(vec![rows, 3], m)
    };
    everywhere(&f, &[numbers(2)]);
    everywhere(&f, &[numbers(40)]);
}

/// A quotient, and what it is divided by.
#[derive(Clone, Copy, Record)]
#[record(crate = arraygpu_dsl)]
struct Quotient {
    value: i64,
    by: i64,
}

/// What a filter leaves out is not computed by a reduction or scan of the rest, and leaves no record.
#[test]
fn what_is_left_out_leaves_no_records() {
    type Item = SExp<Quotient>;
    let f = |a: VExp<i64>, b: VExp<i64>| {
        let join = |x: Item, y: Item| QuotientFields { value: x.value + y.value, by: x.by + y.by }.pack();
        let all = a.zip_with(b, |a, b| QuotientFields { value: a / b, by: b }.pack()).filter(|q| q.by.ne(0));
        let none = Quotient { value: 0, by: 0 };
        (all.reduce(none, join).value, all.scan(none, join).map(|q| q.value).filled(-1))
    };
    let f = lower(["a", "b"], ["sum", "scan"], f);
    let found = everywhere(&f, &[vector(&[8i64, 5, 9]), vector(&[2i64, 0, 3])]);
    assert_eq!(found, [scalar(7i64), vector(&[4i64, 7, -1])]);
}

/// What the words of a filter are made of has the author's line. Each word stands in a function of its own, because
/// equal nodes of one function have one line.
#[test]
fn every_part_of_a_word_has_the_line_of_its_author() {
    type V = VExp<f32>;
    type Kept = Filtered<f32>;
    let vectors: [fn(Kept) -> V; 4] = [
        |kept| kept.map(|v| (v * 0.5, v * 2.0)).1.filled(0.0),
        |kept| kept.zip_with(kept, |v, w| v * w).filled(0.0),
        |kept| kept.scan(0.0, |a, b| a + b).filled(0.0),
        |kept| kept.scan_exclusive(0.0, |a, b| a + b).filled(0.0),
    ];
    let numbers: [fn(Kept) -> SExp<f32>; 10] = [
        |kept| kept.reduce(0.0, |a, b| a + b),
        |kept| kept.reduce_noncommutative(0.0, |_, b| b),
        |kept| kept.fold(0.0, |a, v| a * 0.5 + v),
        |kept| kept.sum(),
        |kept| kept.product(),
        |kept| kept.mean(),
        |kept| kept.minmax().0,
        |kept| kept.at(2),
        |kept| kept.argmax().cast(),
        |kept| kept.map(|v| v.gt(1.0)).all().cast(),
    ];
    let kept = |x: V| x.filter(|v| v.gt(0.0));
    let first = line!() + 1;
    let vectors = vectors.map(|f| lower(["x"], "r", move |x: V| f(kept(x))));
    let numbers = numbers.map(|f| lower(["x"], "r", move |x: V| f(kept(x))));
    for f in vectors.iter().chain(&numbers) {
        let text = print(f, true);
        // a part without a line has that of the call around the word
        for around in [first, first + 1] {
            assert!(!text.contains(&format!("filtered.rs:{around}:")), "{text}");
        }
    }
}
