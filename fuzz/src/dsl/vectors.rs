//! Vectors: what makes one, and what reads one.

use super::records::{self, particles};
use super::{Constructs, Reader, Readers};
use arraygpu::prelude::*;

/// Every construct that makes a vector, by the name of the method or function.
pub(super) const CONSTRUCTS: Constructs<VExp<f32>> = &[
    ("parameter", |p| p.x),
    ("map", |p| p.x.map(|a| a * a + p.s)),
    ("map_several", |p| p.x.map(|a| (a + 1.0, a * 2.0)).1),
    ("zip_with", |p| p.x.zip_with(p.y, |a, b| a.max(b))),
    ("zip3", |p| p.x.zip3(p.y, p.k, |a, b, k| cond(k.gt(1), a, b))),
    ("zip4", |p| p.x.zip4(p.y, p.k, p.x, |a, b, k, c| cond(k.le(1), a, b) - c)),
    ("zip5", |p| p.x.zip5(p.y, p.k, p.x, p.k, |a, b, k, c, j| cond(k.eq(j), a + c, b))),
    ("zip6", |p| p.x.zip6(p.y, p.k, p.x, p.k, p.y, |a, b, k, c, j, d| cond(k.ne(j), a * c, b / d))),
    ("zip7", |p| p.x.zip7(p.y, p.x, p.y, p.x, p.y, p.x, |a, b, c, d, e, f, g| a + b + c + d + e + f * g)),
    ("zip8", |p| {
        p.x.zip8(p.y, p.x, p.y, p.x, p.y, p.x, p.y, |a, b, c, d, e, f, g, h| a + b + c + d + e + f + g * h)
    }),
    ("zip9", |p| {
        p.x.zip9(p.y, p.x, p.y, p.x, p.y, p.x, p.y, p.x, |a, b, c, d, e, f, g, h, i| {
            a + b + c + d + e + f + g + h * i
        })
    }),
    ("zip10", |p| {
        p.x.zip10(p.y, p.x, p.y, p.x, p.y, p.x, p.y, p.x, p.y, |a, b, c, d, e, f, g, h, i, j| {
            a + b + c + d + e + f + g + h + i * j
        })
    }),
    ("zip11", |p| {
        p.x.zip11(p.y, p.x, p.y, p.x, p.y, p.x, p.y, p.x, p.y, p.x, |a, b, c, d, e, f, g, h, i, j, k| {
            a + b + c + d + e + f + g + h + i + j * k
        })
    }),
    ("zip12", |p| {
        p.x.zip12(
            p.y,
            p.x,
            p.y,
            p.x,
            p.y,
            p.x,
            p.y,
            p.x,
            p.y,
            p.x,
            p.y,
            |a, b, c, d, e, f, g, h, i, j, k, l| a + b + c + d + e + f + g + h + i + j + k * l,
        )
    }),
    ("operators", |p| (p.x + p.y) / 2.0 - p.s),
    ("elementary", |p| (p.x * 0.1).exp().sqrt()),
    ("signs", |p| p.x.map(|a| a.abs().copysign(a - 1.0)).copysign(p.y)),
    ("roundings", |p| {
        p.x.map(|a| a.floor() + a.ceil() * 2.0 + a.trunc() * 4.0 + a.round() * 8.0 + a.round_ties_even())
    }),
    ("exponentials", |p| p.x.map(|a| (a * 0.1).exp2() + (a * 0.1).expm1()).cbrt()),
    ("logarithms", |p| {
        p.x.map(|a| slet(a.abs() + 0.5, |a| a.log() + a.ln() + a.log2() + a.log10() + a.log1p()))
    }),
    ("trigonometric", |p| p.x.map(|a| a.sin() + a.cos() + a.tan() + (a * 0.1).sinpi() + (a * 0.1).cospi())),
    ("inverse_trigonometric", |p| p.x.map(|a| (a * 0.05).asin() + (a * 0.05).acos() + a.atan())),
    ("hyperbolic", |p| p.x.map(|a| slet(a * 0.1, |a| a.sinh() + a.cosh() + a.tanh()))),
    ("of_probabilities", |p| p.x.map(|a| a.erf() + a.erfc() + a.normcdf() + (a * a + 1.0).rsqrt())),
    ("of_two", |p| p.x.zip_with(p.y, |a, b| a.atan2(b) + a.hypot(b) + a.abs().powf(b * 0.1) + a.fmod(b))),
    ("of_two_vectors", |p| p.x.atan2(p.y) + p.x.hypot(p.y) - p.x.fmod(p.y) + p.x.powf(p.y)),
    ("exponents", |p| {
        p.x.map(|a| {
            let (mantissa, exponent) = a.frexp();
            mantissa.ldexp(exponent + 1)
        })
    }),
    ("exponents_of_a_vector", |p| {
        let (mantissa, exponent) = p.x.frexp();
        mantissa.ldexp(exponent - 1)
    }),
    ("cast", |p| p.k.cast()),
    ("narrow", |p| p.x.cast::<f16>().map(|a| a * a).cast()),
    ("gather", |p| p.x.gather(p.k)),
    ("slice", |p| p.x.padded(1, 1, Boundary::Clamp).slice(1, p.x.len() + 1)),
    ("slice_by", |p| p.x.padded(0, p.extra(), Boundary::Constant(0.5)).slice_by(0, p.x.len() * 2 - 1, 2)),
    ("reverse", |p| p.x.reverse()),
    ("materialize", |p| (p.x * p.y).materialize()),
    ("weighted_sum", |p| p.x.padded(1, 1, Boundary::Mirror).weighted_sum(&[0.25, 0.5, 0.25])),
    ("windows", |p| p.x.padded(1, 1, Boundary::Wrap).windows(3).into_iter().sum()),
    ("padded_clamp", |p| p.x.padded(1, 1, Boundary::Clamp).slice(0, p.x.len())),
    ("padded_mirror", |p| p.x.padded(1, 1, Boundary::Mirror).slice(2, p.x.len() + 2)),
    ("padded_wrap", |p| p.x.padded(1, 1, Boundary::Wrap).slice(0, p.x.len())),
    ("padded_constant", |p| p.x.padded(1, 1, Boundary::Constant(9.0)).slice(0, p.x.len())),
    ("padded_by_the_call", |p| {
        p.x.padded(p.m, p.m - 2, Boundary::Clamp).with_slice(p.m, p.x.slice(0, p.m - 1)).slice(0, p.x.len())
    }),
    ("with_slice", |p| p.x.with_slice(1, p.y.slice(0, 1))),
    ("iota", |p| iota(p.x.len()).cast()),
    ("fill", |p| fill(p.x.len(), p.s)),
    ("fill_of_a_sum", |p| fill(p.x.len(), p.y.sum())),
    ("generate", |p| generate(p.x.len(), |i| p.x.at(i) + i.cast())),
    ("generate_neighbours", |p| generate(p.x.len(), |i| p.x.at((i - 1).max(0)) - p.x.at(i))),
    ("row", |p| p.a.row(1)),
    ("row_of_the_call", |p| p.a.row(p.m)),
    ("col", |p| p.a.col(0)),
    ("row_of_a_product", |p| p.a.matmul(p.b).row(0)),
    ("col_of_a_product", |p| p.a.matmul(p.b).col(1)),
    ("row_of_a_transposed", |p| (p.a + 1.0).transpose().row(0)),
    ("map_rows", |p| p.a.map_rows(|r| r.dot(p.x))),
    ("map_cols", |p| p.a.map_cols(|c| c.max())),
    ("reduce_rows", |p| p.a.reduce_rows(0.5, |a, b| a + b)),
    ("reduce_cols", |p| p.a.reduce_cols(1.0, |a, b| a.min(b))),
    ("sum_rows", |p| p.a.sum_rows()),
    ("sum_cols", |p| p.a.sum_cols()),
    ("variance_rows", |p| p.a.variance_rows(1)),
    ("variance_cols", |p| p.a.variance_cols(0)),
    ("std_rows", |p| p.a.std_rows(p.m)),
    ("std_cols", |p| p.a.std_cols(0)),
    ("norm_rows", |p| p.a.norm_rows()),
    ("norm_cols", |p| p.a.norm_cols()),
    ("log_sum_exp_rows", |p| p.a.log_sum_exp_rows()),
    ("log_sum_exp_cols", |p| p.a.log_sum_exp_cols()),
    ("softmax", |p| p.x.softmax()),
    ("normalise", |p| p.x.normalise() * p.x.variance(0)),
    ("map_planes", |p| p.t.map_planes(|m| m.sum()).padded(0, p.extra(), Boundary::Clamp).slice(0, p.x.len())),
    ("iterate", |p| p.x.iterate(2, |x| x * 0.5 + p.y)),
    ("iterate_of_the_call", |p| p.x.iterate(p.m, |x| x / x.dot(x).sqrt())),
    ("iterate_by_a_loop", |p| {
        let s = loop_for(p.m, p.s, |i, s| s * 0.5 + i.cast::<f32>());
        p.x.iterate(2, |x| x * s + [p.s, s].at(p.m - 1))
    }),
    ("iterate_indexed", |p| p.x.iterate_indexed(3, |t, x| x * 0.5 + p.y * t.cast::<f32>())),
    ("iterate_while", |p| {
        iterate_while(20, p.x.sin(), |x| x.abs().max().ge(0.25), |x| x * 0.5).check_every(2).0
    }),
    ("iterate_collect", |p| iterate_collect(3, p.x, |x| x * 0.5 + p.y).sum_cols()),
    ("iterate_two_states", |p| iterate(2, (p.x, p.y), |(x, y)| (y, x + y)).1),
    ("iterate_stencil", |p| {
        p.x.iterate(3, |x| x.padded(1, 1, Boundary::Clamp).weighted_sum(&[0.5, 0.0, 0.5]))
    }),
    ("iterate_lists", |p| {
        let step = |([x, y], v): ([VExp<f32>; 2], Vec<VExp<f32>>)| ([v[0], x + y], vec![y * 0.5]);
        iterate(2, ([p.x, p.y], vec![p.x]), step).0[1]
    }),
    ("iterate_records", |p| particles(p).iterate(3, |b| b.map(records::moved)).map(records::number)),
    ("iterate_while_of_records", |p| {
        let heavy = |b: &VExp<records::Particle>| b.map(|b| b.state.weight.abs()).max().gt(0.25);
        let (b, steps) = iterate_while(40, particles(p), heavy, |b| b.map(records::moved)).check_every(3);
        b.map(|b| records::number(b) + steps.cast::<f32>())
    }),
    ("iterate_collect_of_records", |p| {
        iterate_collect(2, particles(p), |b| b.map(records::moved)).map_cols(|c| c.map(records::number).sum())
    }),
    ("record", |p| particles(p).map(|b| records::number(records::moved(b)))),
    ("fields_of_records", |p| particles(p).at[1] * particles(p).state.weight),
    ("record_of_rows", |p| {
        let b = p.a.map_rows(|r| records::particle(r.max(), r.sum(), r.dot(p.x)));
        b.map(records::number)
    }),
    ("parts_of_records", |p| {
        let b = particles(p).padded(1, 1, Boundary::Constant(records::NONE));
        let w = b.windows(3);
        w[0].zip_with(w[2], records::heavier).reverse().gather(p.k.map(|k| k.max(0))).map(records::number)
    }),
    ("record_in_a_loop", |p| {
        let heavy = |b: SExp<records::Particle>| b.state.weight.abs().gt(0.25);
        particles(p).map(|b| records::number(loop_while(b, heavy, records::moved)))
    }),
    ("complex", |p| {
        let z = records::numbers(p);
        (z * z - z.conj()).zip_with(z, |a, b| {
            let c = a * b.scale(0.5) - Complex::new(0.0, 1.0);
            (a / b).re + c.norm_sqr() * 0.125 + b.arg()
        })
    }),
    ("bits", |p| p.x.map(|a| SExp::<f32>::from_bits(a.to_bits() ^ 0x0010_0000u32))),
    ("bits_as_numbers", |p| (p.x.to_bits() >> 9u32).cast()),
    ("if_else", |p| p.x.zip_with(p.y, |a, b| if_else(a.lt(b), || (b - a, a), || (a * 0.5, b)).0)),
    ("sliced", |p| p.x.padded(1, 2, Boundary::Clamp).sliced(s![1..-2])),
    ("sliced_backwards", |p| (p.x + p.y).sliced(s![..; -1])),
    ("ordered_rows", |p| p.a.map_rows(|r| r.reduce_noncommutative(p.s, |a, b| cond(b.lt(0.0), a - b, b)))),
    ("scan", |p| p.x.scan(p.s, |a, b| a * 0.5 + b)),
    ("scan_exclusive", |p| (p.x + 1.0).scan_exclusive(0.0, |a, b| a.max(b))),
    ("scan_of_a_tuple", |p| {
        let (a, b) = (p.x, p.y).scan((1.0, p.s), |(a, b), (c, d)| (a * c, b * c + d));
        let (k,) = (p.k,).scan_exclusive((3,), |(k,), (l,)| (k + l,));
        a + b - k.cast()
    }),
    ("scan_backwards", |p| p.x.reverse().scan(0.0, |a, b| a + b).reverse()),
    ("sort", |p| p.x.sort()),
    ("sort_descending", |p| (p.x - p.y).sort_descending()),
    ("sort_by_key", |p| p.k.sort_by_key((p.k * 2, (p.x,))).1.1.0),
    ("filter", |p| {
        let kept = p.x.filter(|v| v.gt(0.25)).map(|v| v * 3.0);
        kept.filled(0.5) + kept.reduce(0.0, |a, b| a + b)
    }),
    ("filter_of_a_filter", |p| {
        let kept = p.x.filter(|v| v.lt(1.5)).filter(|v| v.gt(-2.0));
        kept.zip_with(kept.scan(p.s, |a, b| a * 0.5 + b), |v, s| v - s).filled(0.25)
            + kept.len().cast::<f32>()
    }),
    ("filter_of_records", |p| {
        let kept = particles(p).filter(|b| b.at[0].lt(b.at[1]));
        kept.map(records::moved).filled(records::NONE).map(records::number)
    }),
    ("filter_of_a_step", |p| p.x.iterate(2, |x| x.filter(|v| v.gt(-1.0)).map(|v| v * 0.5).filled(0.25))),
    ("places_of_a_filter", |p| p.x.filter(|v| v.gt(p.s)).indices().map(|i| p.y.at(i)).filled(-1.0)),
    ("with_len", |p| {
        let all = iota(p.x.len() * 2).filter(|i| (i & 1).eq(0)).with_len(p.x.len());
        all.map(|i| p.x.at(i / 2))
    }),
    ("partition", |p| p.x.partition(|v| v.le(0.25)).0),
    ("unique", |p| p.x.sort().unique().filled(p.s)),
    ("run_lengths", |p| {
        let (values, lengths) = p.k.run_lengths();
        lengths.filled(0).cast::<f32>() + values.len().cast::<f32>()
    }),
    ("run_lengths_of_a_filter", |p| {
        let (values, lengths) = p.k.filter(|k| k.ne(1)).run_lengths();
        values.zip_with(lengths, |v, n| v * n).filled(3).cast()
    }),
    ("reduce_by_key", |p| {
        let (keys, sums) = (p.k & 3).reduce_by_key(p.x, p.s, |a, b| a + b);
        keys.zip_with(sums, |k, s| s * k.cast::<f32>()).filled(-1.0)
    }),
    ("reduce_by_key_of_a_filter", |p| {
        let kept = p.k.filter(|k| k.ne(1));
        let (keys, sums) = kept.reduce_by_key(kept.indices(), 0, |a, b| a + b);
        sums.filled(-1).cast::<f32>() + keys.len().cast::<f32>()
    }),
    ("argsort", |p| p.x.argsort().argsort_descending().cast()),
    ("segmented_reduce", |p| {
        let offsets = generate(p.x.len() / 3 + 1, |i| i * 3);
        p.x.segmented_reduce(offsets, p.s, |a, b| a + b)
    }),
    ("segmented_scan", |p| {
        let offsets = generate(p.x.len() / 3 + 1, |i| i * 3);
        p.x.segmented_scan(offsets, p.s, |a, b| a * 0.5 + b)
    }),
    ("segmented_scan_exclusive", |p| {
        let offsets = generate(4, |i| (i * p.x.len() + 1) / 4);
        p.x.segmented_scan_exclusive(offsets, 0.5, |a, b| a.max(b) + p.s)
    }),
    ("scatter", |p| p.x.scatter(p.y.len(), (p.k.cast::<i64>() * 3).ignored(), p.s)),
    ("scatter_unique", |p| {
        let apart = generate(p.x.len(), |i| (p.x.len() - i) * 2 + 1);
        p.x.scatter_unique(p.y.len(), apart.ignored(), p.s)
    }),
    ("scatter_reduce", |p| p.x.scatter_reduce(5, p.k.cast::<i64>().clamped(), 0.0, |a, b| a.max(b))),
    ("scatter_reduce_in_order", |p| p.x.scatter_reduce(5, p.k.cast::<i64>().clamped(), 0.0, |a, b| a + b)),
    // whole numbers, whose sums are the same in any order
    ("scatter_reduce_unordered", |p| {
        let i = p.k.cast::<i64>().clamped().unordered();
        p.k.cast::<f32>().scatter_reduce(5, i, 1.0, |a, b| a + b)
    }),
    ("scatter_reduce_of_integers", |p| {
        let i = (p.k.cast::<i64>() & 7).ignored();
        p.k.scatter_reduce(6, i, 1, |a, b| b + a).cast()
    }),
    ("scatter_reduce_of_words", |p| {
        p.k.cast::<u8>().scatter_reduce(p.m, p.k.cast::<i64>().clamped(), 255, |a, b| a & b).cast()
    }),
    ("records_in_groups", records::in_groups),
    ("histogram", |p| (p.k.cast::<i64>() & 3).histogram(4).cast()),
    ("argmin_rows", |p| p.a.argmin_rows().cast()),
    ("argmax_cols", |p| p.a.argmax_cols().cast()),
    ("minmax_rows", |p| {
        let (least, greatest) = p.a.minmax_rows();
        greatest - least
    }),
    ("minmax_cols", |p| p.a.minmax_cols().1),
    ("mean_rows", |p| p.a.mean_rows()),
    ("mean_cols", |p| p.a.mean_cols()),
    ("reduce_rows_of_a_tuple", |p| (p.a, p.b).reduce_rows((0.0, 1.0), |(s, m), (t, n)| (s + t, m.max(n))).0),
    ("reduce_cols_of_a_tuple", |p| {
        let joined = |(m, w): (SExp<f32>, SExp<f32>), (n, v)| (cond(w.lt(v), n, m), w.max(v));
        (p.a, p.b).reduce_cols((0.0, -9.0), joined).0
    }),
    ("map_rows_of_a_tuple", |p| {
        p.a.map_rows(|r| (r, p.x).reduce((0.0, 0.0), |(s, t), (a, b)| (s + a, t + b)).1)
    }),
    ("map_rows_of_a_fold", |p| {
        p.a.map_rows(|r| (r,).fold((lit(0.0f32), p.s), |(s, last), (a,)| (s + a * last, a)).0)
    }),
    ("places_in_closures", |p| p.x.map(|a| p.y.map(|b| (a - b).abs()).argmin().cast())),
    ("loop_for", |p| p.x.map(|a| loop_for(5, a, |i, s| s * 0.5 + i.cast::<f32>()))),
    ("loop_for_of_the_call", |p| p.x.map(|a| loop_for(p.m, (a, 0.0f32), |_, (s, t)| (s + t, s * 0.5)).1)),
    ("loop_for_of_a_length", |p| {
        p.k.map(|k| loop_for(p.x.len(), 0.0f32, |i, s| s + p.x.at(i) * cond(i.lt(k), lit(1.0f32), 0.5)))
    }),
    ("loop_for_of_data", |p| p.k.map(|k| loop_for(k, 1.0f32, |i, s| s + 1.0 / (i + 1).cast::<f32>()))),
    ("loop_for_of_an_index", |p| generate(p.x.len(), |n| loop_for(n, 0.0f32, |i, s| s + p.x.at(i)))),
    ("loop_while", |p| {
        p.x.map(|a| loop_while((a.abs(), 0.0f32), |(v, _)| v.gt(0.25), |(v, k)| (v * 0.5, k + 1.0)).1)
    }),
    ("loop_while_at_most", |p| {
        p.k.map(|k| loop_while_at_most(4, (k, 0.0f32), |(k, _)| k.gt(1), |(k, s)| (k - 1, s + p.s)).1)
    }),
    ("loop_that_reads", |p| {
        p.k.map(|k| {
            loop_while_at_most(
                9,
                (k, 0.0f32),
                |(i, s)| i.gt(0) & s.lt(9.0),
                |(i, s)| (i - 1, s + p.x.at(i).abs()),
            )
            .1
        })
    }),
    ("loop_in_a_loop", |p| {
        p.k.map(|k| {
            loop_for(3, 0.0f32, |i, s| loop_for(k.min(i + 1), s, |j, t| t * 0.5 + (i + j).cast::<f32>()))
        })
    }),
    ("loop_of_sums", |p| {
        p.k.map(|k| loop_for(2, p.s, |i, s| (p.y * s).sum() * 0.125 + (k + i).cast::<f32>()))
    }),
    ("loop_of_an_array", |p| p.x.map(|a| loop_for(3, [a; 4], |_, [q, r, s, t]| [r, s, t, q * 0.5 + t])[2])),
    ("loop_with_an_unneeded_state", |p| {
        p.x.map(|a| loop_for(3, (a, a, 0i64), |i, (s, t, k)| (s * 0.5, t + s, k / i)).1)
    }),
    ("loop_of_no_element", |p| p.x.map(|a| a + loop_for(40, p.s, |i, s| s * 0.5 + i.cast::<f32>()))),
    ("loop_of_no_element_that_reads", |p| {
        p.x.map(|a| cond(a.gt(0.5), a + loop_for(p.m, p.y.at(0), |i, s| s * 0.5 + p.x.at(i)), a))
    }),
    ("nested", |p| p.x.map(|a| p.y.map(|b| a * b).sum())),
    ("nested_in_a_condition", |p| p.k.map(|i| cond(i.ge(0), p.a.row(i).sum().exp(), 0.0))),
    ("nested_twice", |p| p.x.map(|a| p.y.map(|b| p.x.map(|c| a * b + c).sum()).max())),
    ("nested_about_itself", |p| {
        let sums = |x: SExp<f32>| slet(p.y.map(|b| b / x).sum(), |t| cond(t.gt(0.0), t, -t));
        p.x.map(|x| cond(x.ne(0.0), sums(x), 0.0))
    }),
    ("nested_captures_a_read", |p| p.k.map(|i| slet(p.x.at(i), |d| p.y.reduce(1.5, |a, b| a * d + b)))),
    ("nested_fold", |p| p.x.map(|a| p.y.fold(a, |s, b| s * 0.5 + b))),
    ("hoisted", |p| p.x.map(|a| a / p.y.max())),
    ("staged", |p| p.x * stage(p.s)),
    ("staged_with", |p| p.x * stage_with(|s: SExp<f32>| s * s + 1.0, p.s)),
    ("staged_window", |p| {
        let r = stage(p.m);
        let at = |i: SExp<i64>| p.x.at(i.max(0).min(p.x.len() - 1));
        generate(p.x.len(), |i| generate(2 * r + 1, |k| at(i + k - r)).sum())
    }),
    ("many_scalars", |p| {
        let of = |x: VExp<f32>| x / (x.dot(x) + 1.0).sqrt();
        (0..12).fold(p.x, |x, _| of(x) + p.y)
    }),
];

/// Every way to read a vector.
pub(super) const READERS: Readers<VExp<f32>> = &[
    ("result", Reader::Vector(|v, _| v)),
    ("at_constant", Reader::Scalar(|v, _| v.at(0))),
    ("at_of_the_call", Reader::Scalar(|v, p| v.at(p.m))),
    ("at_of_data", Reader::Vector(|v, p| p.k.map(|i| v.at(i)))),
    ("at_in_a_condition", Reader::Vector(|v, p| p.k.map(|i| cond(i.lt(v.len()), v.at(i), -1.0)))),
    ("at_neighbours", Reader::Vector(|v, _| generate(v.len() - 1, |i| v.at(i + 1) - v.at(i)))),
    ("gather", Reader::Vector(|v, p| v.gather(p.k))),
    ("slice", Reader::Vector(|v, _| v.slice(1, v.len()))),
    ("slice_by", Reader::Vector(|v, _| v.slice_by(0, v.len(), 2))),
    ("reverse", Reader::Vector(|v, _| v.reverse())),
    ("sum", Reader::Scalar(|v, _| v.sum())),
    ("max_of_half", Reader::Scalar(|v, _| v.slice(0, v.len() / 2).max())),
    ("fold", Reader::Scalar(|v, _| v.fold(1.0, |a, b| a * 0.5 - b))),
    ("reduce", Reader::Scalar(|v, _| v.reduce(2.0, |a, b| a.mul_add(0.5, b)))),
    ("any", Reader::Scalar(|v, _| v.map(|a| a.gt(3.0)).any().cast())),
    ("all", Reader::Scalar(|v, _| v.map(|a| a.gt(-3.0)).all().cast())),
    ("argmin", Reader::Scalar(|v, _| v.argmin().cast())),
    ("argmax", Reader::Scalar(|v, _| v.argmax().cast())),
    (
        "minmax",
        Reader::Vector(|v, _| {
            let (least, greatest) = v.minmax();
            (v - least) / (greatest - least)
        }),
    ),
    ("mean", Reader::Scalar(|v, _| v.mean())),
    (
        "reduce_a_tuple",
        Reader::Two(|v, p| {
            let (sum, greatest) = (v, v * p.s).reduce((0.0, -9.0), |(a, b), (c, d)| (a + c, b.max(d)));
            (sum, v - greatest)
        }),
    ),
    (
        "reduce_noncommutative",
        Reader::Scalar(|v, p| v.reduce_noncommutative(p.s, |a, b| cond(b.lt(0.0), a - b, b))),
    ),
    (
        "ordered_tuple",
        Reader::Scalar(|v, _| {
            let p = v.map(|a| a.max(0.0));
            let zero = (0.0, 0.0, 0.0, 0.0);
            (p, p, p, v)
                .reduce_noncommutative(zero, |(a, first, last, all), (b, next, end, more)| {
                    let best = a.max(b).max(last + next);
                    (best, first.max(all + next), end.max(more + last), all + more)
                })
                .0
        }),
    ),
    (
        "ordered_records",
        Reader::Scalar(|v, p| {
            let b = v.map(|a| records::particle(a, p.s, a * p.s));
            records::number(b.reduce_noncommutative(records::NONE, records::heavier))
        }),
    ),
    (
        "fold_to_a_record",
        Reader::Scalar(|v, _| {
            let step =
                |b, (a,): (SExp<f32>,)| records::heavier(records::moved(b), records::particle(a, a, a));
            records::number((v,).fold(records::NONE, step))
        }),
    ),
    ("bits", Reader::Vector(|v, _| (v.to_bits() >> 8u32).cast())),
    ("if_else", Reader::Vector(|v, p| v.map(|a| if_else(a.gt(p.s), || (a, 1i64), || (a * 0.5, 2)).0))),
    (
        "iterate_while",
        Reader::Scalar(|v, _| {
            iterate_while(30, v.sin(), |x| x.abs().max().ge(0.25), |x| x * 0.5).check_every(2).1.cast()
        }),
    ),
    ("iterate_collect", Reader::Matrix(|v, _| iterate_collect(2, v, |x| x * 0.5))),
    (
        "fold_a_tuple",
        Reader::Scalar(|v, _| {
            (v,).fold((lit(0.0f32), lit(0.0f32)), |(most, run), (a,)| {
                let run = cond(a.gt(0.0), run + 1.0, 0.0);
                (most.max(run), run)
            })
            .0
        }),
    ),
    ("in_a_loop", Reader::Vector(|v, p| p.x.map(|a| loop_for(2, a, |_, s| s * 0.5 + v.sum())))),
    (
        "at_in_a_loop",
        Reader::Vector(|v, p| {
            p.k.map(|k| loop_for(v.len(), 0.0f32, |i, s| cond(i.eq(k), s, s * 0.5 + v.at(i))))
        }),
    ),
    (
        "at_of_states",
        Reader::Vector(|v, p| {
            p.k.map(|k| loop_while_at_most(5, (k, 0.0f32), |(i, _)| i.ge(0), |(i, s)| (i - 2, s + v.at(i))).1)
        }),
    ),
    (
        "filter",
        Reader::Two(|v, p| {
            let kept = v.filter(|a| a.lt(p.s));
            (kept.map(|a| a * 0.5).reduce(p.s, |a, b| a.max(b)), kept.filled(-1.0))
        }),
    ),
    ("partition", Reader::Vector(|v, p| v.partition(|a| a.ge(p.s)).0)),
    ("runs", Reader::Vector(|v, _| v.run_lengths().1.filled(0).cast())),
    ("scan", Reader::Vector(|v, p| v.scan(p.s, |a, b| a * 0.5 + b))),
    (
        "reduce_by_key",
        Reader::Vector(|v, p| (p.k / 3).sort_by_key(p.k).0.reduce_by_key(v, 0.5, |a, b| a + b).1.filled(p.s)),
    ),
    ("sort", Reader::Vector(|v, _| v.sort_descending())),
    (
        "scatter_unique",
        Reader::Vector(|v, p| v.scatter_unique(p.x.len(), generate(v.len(), |i| i * 3 - 1).ignored(), p.s)),
    ),
    (
        "scatter_reduce",
        Reader::Vector(|v, _| v.scatter_reduce(3, generate(v.len(), |i| i % 4).ignored(), 0.5, |a, b| a + b)),
    ),
    (
        "segmented_reduce",
        Reader::Vector(|v, _| v.segmented_reduce(generate(3, |i| i * v.len() / 2), 0.5, |a, b| a + b)),
    ),
    (
        "segmented_scan",
        Reader::Vector(|v, _| v.segmented_scan(generate(3, |i| i * v.len() / 2), 0.5, |a, b| a + b)),
    ),
    ("product", Reader::Scalar(|v, _| (v * 0.5).product())),
    ("sum_in_order", Reader::Scalar(|v, _| v.sum_in_order())),
    ("dot", Reader::Scalar(|v, p| v.dot(p.x))),
    ("variance", Reader::Scalar(|v, _| v.variance(1))),
    ("std", Reader::Scalar(|v, p| v.std(p.m))),
    ("norm", Reader::Scalar(|v, _| v.norm())),
    ("log_sum_exp", Reader::Scalar(|v, _| v.log_sum_exp())),
    ("softmax", Reader::Vector(|v, _| v.softmax())),
    ("map", Reader::Vector(|v, p| v.map(|a| a + p.s))),
    ("zip_with", Reader::Vector(|v, p| v.zip_with(p.y, |a, b| a - b))),
    ("narrow", Reader::Vector(|v, _| v.cast::<u8>().map(|a| a.min(9)).cast())),
    ("materialize", Reader::Vector(|v, _| v.materialize().map(|a| a + 1.0))),
    ("iterate", Reader::Vector(|v, _| v.iterate(2, |x| x * 0.5))),
    ("iterate_beside", Reader::Vector(|v, p| p.x.iterate(2, |x| x + v))),
    ("iterate_by_its_sum", Reader::Vector(|v, p| p.x.iterate(2, |x| x / (v.sum() + x.sum())))),
    ("weighted_sum", Reader::Vector(|v, _| v.weighted_sum(&[0.5, 0.5]))),
    ("padded", Reader::Vector(|v, _| v.padded(1, 1, Boundary::Clamp))),
    ("with_slice", Reader::Vector(|v, p| v.with_slice(0, p.y.slice(0, 1)))),
    ("part_of_with_slice", Reader::Vector(|v, p| p.y.with_slice(0, v.slice(0, 1)))),
    ("broadcast_rows", Reader::Matrix(|v, p| v.broadcast_rows(p.m))),
    ("broadcast_cols", Reader::Matrix(|v, _| v.broadcast_cols(2))),
    ("outer", Reader::Matrix(|v, p| v.outer(p.y, |a, b| a * b))),
    ("matmul", Reader::Matrix(|v, p| v.broadcast_rows(2).matmul(p.a))),
    ("in_a_closure", Reader::Vector(|v, p| p.x.map(|a| (v * a).sum()))),
    ("in_a_condition", Reader::Vector(|v, p| p.x.map(|a| cond(a.gt(1.0), v.sum() + a, v.at(0))))),
    ("twice", Reader::Vector(|v, _| v / v.max())),
    ("second_result", Reader::Two(|v, _| (v.sum(), v * 2.0))),
];
