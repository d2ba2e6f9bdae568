// Structs of a program in expressions and views, joined with other words: written from docs/online.md alone.
#include "check.hpp"
#include <arraygpu/views.hpp>

namespace gpu = arraygpu;
namespace view = arraygpu::views;
using std::get;
using single = std::complex<float>;

struct light {
    float bright;
    bool on;
};
struct body {
    float x, v;
    light l;
    single z;
    std::int64_t n[2];
};
AGPU_RECORD(light, bright, on)
AGPU_RECORD(body, x, v, l, z, n)

// names that stand for something else around the description
static const float fields = 4;
struct names {
    float R, Rank, fields, S, all, limit;
};
AGPU_RECORD(names, R, Rank, fields, S, all, limit)
// names of arraygpu's own
struct edge {
    int from, to;
};
struct event {
    edge where;
    float time;
};
AGPU_RECORD(edge, from, to)
AGPU_RECORD(event, where, time)

static const std::vector<body> some_bodies = [] {
    std::vector<body> all;
    for (int i = 0; i < 8; ++i) all.push_back({float(i), 1.0f + float(i), {0.5f * float(i), i % 2 == 1}, {1, float(i)}, {i, 10 * i}});
    return all;
}();

static void states() {
    const gpu::gpu_vector<body> bodies(some_bodies);
    const gpu::gpu_vector<float> w(std::vector<float>(8, 2.0f));
    // an iteration of structs, a number and a list
    const std::vector<gpu::expr<float, 1>> list{+w, w * 2};
    const auto [moved, number, last] = gpu::iterate(3, std::make_tuple(+bodies, 1.0f, list), [](auto b, auto s, auto l) {
        b.x = b.x + l[0];
        return std::make_tuple(b, s + 1, decltype(l){l[1], l[0] * s});
    });
    CHECK(eval(moved).to_host()[1].x == 1 + 2 + 4 + 2 && float(number) == 4 && eval(last[0]).to_host()[7] == 8);
    // a loop of a struct and a number
    const auto doubled = [](auto b, auto k) {
        b.x *= 2.0f;
        b.n[1] += k;
        return std::make_tuple(b, k + 1);
    };
    const gpu::gpu_vector<body> grown = gpu::map([&](auto b) {
        auto [r, k] = gpu::loop_while(std::make_tuple(b, std::int64_t(0)), [](auto s, auto n) { return s.x < 10 && n < 5; }, doubled);
        r.n[0] = k;
        return r;
    }, bodies);
    CHECK(grown.to_host()[3].x == 12 && grown.to_host()[3].n[0] == 2 && grown.to_host()[3].n[1] == 31);
    // a staged number of steps
    const auto steps = gpu::stage(3);
    const gpu::gpu_vector<body> later = gpu::map([&](auto b) {
        return gpu::loop_for(steps, b, [](auto, auto s) {
            s.x += s.v;
            return s;
        });
    }, bodies);
    CHECK(later.to_host()[2].x == 11);
}

static void reductions() {
    const gpu::gpu_vector<body> bodies(some_bodies);
    const gpu::gpu_vector<single> z(8);
    const gpu::gpu_vector<float> weights(std::vector<float>(8, 2.0f));
    // structs, complex numbers and numbers in one fold
    const auto all = gpu::fold(std::forward_as_tuple(bodies, z, weights), std::make_tuple(body{}, single(1, 0)), [](auto s, auto e) {
        auto [moved, p] = s;
        auto [b, q, w] = e;
        moved.x += b.x * w;
        moved.z = moved.z + b.z;
        return std::make_tuple(moved, p + q + b.z);
    });
    const body sum = get<0>(all);
    CHECK(sum.x == 56 && sum.z == single(8, 28) && single(get<1>(all)) == single(9, 28));
    // a matrix of structs by its indices, extremes of a field in rows, rows of two matrices
    const gpu::gpu_matrix<body> m = gpu::generate(2, 4, [&](auto i, auto j) {
        auto r = at(bodies, 4 * i + j);
        r.v = r.v - gpu::cast<float>(i);
        return r;
    });
    const gpu::gpu_vector<std::int64_t> brightest = argmax_rows((+m).l.bright);
    CHECK(m.to_host()[6].v == 6 && brightest.to_host() == (std::vector<std::int64_t>{3, 3}));
    const auto [first, second] = eval(gpu::reduce_rows(std::tie(m, m), std::make_tuple(body{}, body{}), [](auto a, auto b) {
        auto [p, q] = a;
        p.x += get<0>(b).x;
        q.v += get<1>(b).v;
        return std::make_tuple(p, q);
    }));
    CHECK(first.to_host()[1].x == 22 && second.to_host()[0].v == 10);
}

static void sequences() {
    gpu::gpu_vector<body> bodies(some_bodies);
    const float total = view::zip(bodies, view::iota(std::int64_t(0))) | view::window(2) | view::transform([](auto w) {
        auto [before, i] = w[0];
        auto [after, j] = w[1];
        return (after.x - before.x) * gpu::cast<float>(i + j) / 2;
    }) | gpu::reduce(0.0f);
    CHECK(total == 24.5f);
    const gpu::gpu_vector<body> chosen = bodies | view::permute(gpu::gpu_vector<int>(std::vector<int>{7, 0, 3}));
    CHECK(chosen.size() == 3 && chosen.to_host()[0].x == 7);
    const auto switched = [](auto b) {
        b.l.on = !b.l.on;
        return b;
    };
    bodies | gpu::actions::transform(switched) | gpu::actions::reverse;
    CHECK(bodies.to_host()[0].x == 7 && !bodies.to_host()[0].l.on);
    gpu::copy(bodies | view::take(2), subview(bodies, 2, 4));
    CHECK(bodies.to_host()[2].x == 7 && bodies.to_host()[3].x == 6);
    gpu::fill(subview(bodies, 0, 2), body{});
    gpu::fill(subview(bodies, 4, 8), at(bodies, 2));
    CHECK(bodies.to_host()[1].x == 0 && bodies.to_host()[7].x == 7);
    // on a stream of its own: structs, and one struct
    auto moved = gpu::async([&](const auto &v) { return gpu::map(switched, v); }, some_bodies);
    auto one = gpu::async([](const auto &v) { return at(v, 5); }, some_bodies);
    CHECK(moved.get().to_host()[4].l.on && one.get().n[1] == 50);
}

// Views of structs whose strides are not 1, read and written, also in place and overlapping.
static void strided() {
    gpu::gpu_vector<body> all(some_bodies);
    const auto faster = [](auto b) {
        b.v = b.v + b.x;
        b.n[0] = b.n[0] + 1;
        return b;
    };
    // every second one in place, by an iteration; the others stay as they are
    const auto step = [](auto b) {
        b.x = 0.5f * b.x;
        b.n[1] = b.n[1] + b.n[0];
        return b;
    };
    subview(all, 1, 8, 2) = gpu::iterate(3, subview(all, 1, 8, 2), step);
    for (std::size_t i = 0; i < 8; ++i) {
        const body was = some_bodies[i], now = all.to_host()[i];
        CHECK(now.x == (i % 2 ? was.x / 8 : was.x) && now.n[1] == was.n[1] + (i % 2 ? 3 * was.n[0] : 0) && now.l.on == was.l.on);
    }
    // from elements that lie between those that are written, reversed
    all.copy_from(some_bodies);
    subview(all, 0, 8, 2) = gpu::map(faster, reverse(subview(all, 1, 8, 2)));
    CHECK(all.to_host()[0].v == 15 && all.to_host()[6].x == 1 && all.to_host()[6].n[0] == 2 && all.to_host()[1].v == 2);
    // fields of some structs, written by a function of elements
    gpu::for_each(view::zip(subview(all, 0, 8, 4), gpu::gpu_vector<single>(2)), [](auto &b, auto z) { b.z = b.z + z + single(1, 0); });
    CHECK(all.to_host()[4].z == single(2, 3) && all.to_host()[4].x == 3 && all.to_host()[2].z == single(1, 5));
    // a column of a matrix as the state of an iteration that ends when it is small; every second row and column of a transposed one
    all.copy_from(some_bodies);
    gpu::gpu_matrix<body> m = gpu::generate(4, 4, [&](auto i, auto j) {
        auto b = at(all, (i + j) % 8);
        b.n[0] = 4 * i + j;
        return b;
    });
    const auto [small, steps] = gpu::eval(gpu::iterate_while(20, m.view().col(2), [](auto c) { return sum(c.x) > 2; }, [&](auto c) {
        c.x = 0.5f * c.x;
        return c;
    }).check_every(1));
    CHECK(steps == 3 && small.to_host()[1].x == 0.375f && small.to_host()[3].n[0] == 14);
    subview(m, 0, 4, 1, 4, 2, 2) = transpose(subview(m, 1, 4, 0, 4, 2, 2));
    const std::vector<body> after = m.to_host();
    CHECK(after[1].n[0] == 4 && after[3].n[0] == 12 && after[9].n[0] == 6 && after[11].n[0] == 14 && after[2].n[0] == 2 && after[5].n[0] == 5);
    // complex numbers two apart
    gpu::gpu_vector<single> z(std::vector<single>{{1, 2}, {3, 4}, {5, 6}, {7, 8}});
    real(subview(z, 0, 4, 2)) = imag(subview(z, 1, 4, 2)) * 2.0f;
    CHECK(z.to_host()[2] == single(16, 6) && single(gpu::reduce(subview(z, 1, 4, 2), single(1, 0), [](auto a, auto b) { return a * b; })) == single(3, 4) * single(7, 8));
}

static void repeated() {
    const gpu::gpu_vector<body> bodies(some_bodies);
    // a struct of the host, one that is computed, a complex number, an element on the device
    const gpu::gpu_vector<body> same = gpu::repeat(some_bodies[3], 4);
    const gpu::gpu_vector<body> last = gpu::repeat(at(bodies, 7), 3);
    const gpu::gpu_vector<single> turn = gpu::repeat(single(0, 1), 3);
    CHECK(same.size() == 4 && same.to_host()[2].n[1] == 30 && same.to_host()[3].z == single(1, 3));
    CHECK(last.to_host()[1].x == 7 && turn.to_host()[2] == single(0, 1));
    gpu::gpu_scalar<body> one;
    one = at(bodies, 2);
    CHECK(eval(gpu::repeat(one, 2)).to_host()[1].v == 3 && eval(gpu::repeat(one, 0)).empty());
    const gpu::gpu_vector<float> moved = view::zip(bodies, view::repeat(body{1, 2, {}, {}, {}})) | view::transform([](auto a, auto b) { return a.x + b.v; });
    CHECK(moved.to_host()[7] == 9);
    CHECK(view::repeat(single(0, 1), 4).to_vector().to_host()[3] == single(0, 1));
    gpu::gpu_vector<body> out(8);
    gpu::copy(view::repeat(some_bodies[2], 8), out);
    CHECK(out.to_host()[7].n[1] == 20);
    const auto summed = [](auto a, auto b) {
        a.x += b.x;
        return a;
    };
    CHECK(body(gpu::reduce(view::repeat(some_bodies[2], 8), body{}, summed)).x == 16);
    const auto both = view::zip(bodies, view::repeat(some_bodies[1])) | gpu::reduce(std::make_tuple(body{}, body{}), [&](auto a, auto b) {
        return std::make_tuple(summed(get<0>(a), get<0>(b)), summed(get<1>(a), get<1>(b)));
    });
    CHECK(body(get<0>(both)).x == 28 && body(get<1>(both)).x == 8);
    // rows and columns of structs and complex numbers
    const gpu::gpu_matrix<body> rows = gpu::spread_rows(bodies, 2), cols = gpu::spread_cols(bodies, 2);
    CHECK(rows.rows() == 2 && rows.to_host()[11].x == 3 && cols.cols() == 2 && cols.to_host()[11].x == 5);
    const gpu::gpu_matrix<single> phases = gpu::spread_cols(turn, 2) * gpu::spread_cols(turn, 2);
    CHECK(phases.to_host()[5] == single(-1, 0));
}

// Messages name the fields of a struct as those of the language do.
static void transformed() {
    // of what is no array
    gpu::gpu_vector<body> out;
    gpu::transform(view::repeat(some_bodies[3], 5), out, [](auto b) {
        b.x = b.x + 1;
        return b;
    });
    CHECK(out.size() == 5 && out.to_host()[4].x == 4 && out.to_host()[4].n[1] == 30);
    gpu::gpu_vector<float> x;
    gpu::transform(view::repeat(some_bodies[3], 5), x, [](auto b) { return b.x * 2; });
    CHECK(x.to_host() == std::vector<float>(5, 6));
    gpu::transform(view::repeat(some_bodies[2], 5), view::zip(out, x), [](auto b) { return std::make_tuple(b, b.v); });
    CHECK(out.to_host()[4].x == 2 && x.to_host() == std::vector<float>(5, 3));
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "endless", gpu::transform(view::repeat(some_bodies[3]), out, [](auto b) { return b; }));
}

static void names_in_messages() {
    const gpu::gpu_vector<body> bodies(some_bodies), others(7);
    const gpu::gpu_vector<single> z(8), w(7);
    gpu::gpu_vector<body> out(8);
    const auto heavier = [](auto a, auto b) { return gpu::if_else(a.n[1] > b.n[1], a, b); };
    CHECK_THROWS(AGPU_ERROR_SHAPE, "stars_x", out = gpu::map(heavier, gpu::named("bodies", bodies), gpu::named("stars", others)));
    const auto counted = [](auto a, auto b) {
        a.n[1] += b.n[1];
        return a.n[1];
    };
    CHECK_THROWS(AGPU_ERROR_SHAPE, "stars_n_1", eval(gpu::map(counted, gpu::named("bodies", bodies), gpu::named("stars", others))));
    const auto brighter = [](auto a, auto b) { return a.l.bright > b.l.bright; };
    CHECK_THROWS(AGPU_ERROR_SHAPE, "bodies_l_bright", eval(gpu::map(brighter, gpu::named("bodies", bodies), gpu::named("stars", others))));
    CHECK_THROWS(AGPU_ERROR_SHAPE, "wave_re", eval(gpu::named("wave", z) + gpu::named("other", w)));
    CHECK(eval(gpu::named("wave", z) + z).size() == 8);
    const gpu::gpu_scalar<single> one(single(2, 3));
    CHECK(single(gpu::named("one", one)) == single(2, 3));
}

static void parts_of_matrices() {
    std::vector<body> all;
    for (int i = 0; i < 12; ++i) all.push_back(some_bodies[std::size_t(i) % 8]), all.back().x = float(i);
    const gpu::gpu_matrix<body> m(all, 3, 4);
    const auto part = slice(m, 1, 3, 0, 4, 1, 2);
    CHECK(rows(part) == 2 && cols(part) == 2 && rows(m) == 3 && cols(+m) == 4);
    const gpu::gpu_matrix<body> made = part;
    CHECK(made.rows() == 2 && made.to_host()[1].x == 6 && made.to_host()[3].x == 10 && made.to_host()[2].n[1] == some_bodies[0].n[1]);
    const gpu::gpu_matrix<float> r(std::vector<float>{1, 2, 3, 4, 5, 6}, 2, 3);
    const auto z = gpu::complex(r, -r);
    CHECK(rows(z) == 2 && cols(r) == 3 && rows(r.view()) == 2);
    CHECK(eval(slice(z, 0, 2, 1, 2)).to_host() == std::vector<single>{{2, -2}, {5, -5}});
    const auto volume = spread_planes(m, 5);
    CHECK(planes(volume) == 5 && rows(volume) == 3 && cols(volume) == 4);
    const gpu::gpu_tensor3<float> t(2, 3, 4);
    CHECK(planes(t) == 2 && rows(t) == 3 && cols(t.view()) == 4);
    CHECK(eval(slice(+gpu::gpu_vector<body>(some_bodies), 2, 8, 3)).to_host()[1].x == 5);
}

static void any_names() {
    const gpu::gpu_vector<names> v(std::vector<names>(3, {1, 2, 3, 4, 5, 6}));
    const gpu::gpu_vector<names> changed = gpu::map([](auto o) {
        o.fields = o.R + o.Rank * o.limit;
        return o;
    }, v);
    CHECK(changed.to_host()[2].fields == 13 && changed.to_host()[2].all == 5 && changed.to_host()[2].limit > fields);
    const gpu::gpu_vector<event> events(std::vector<event>{{{1, 2}, 0.5f}, {{3, 5}, 1.5f}});
    const gpu::gpu_vector<float> lengths = gpu::map([](auto e) { return gpu::cast<float>(e.where.to - e.where.from) * e.time; }, events);
    CHECK(lengths.to_host() == std::vector<float>{0.5f, 3});
}

// The x of structs, in order.
template <class Array> static std::vector<float> places(const Array &all) {
    std::vector<float> x;
    for (const body &b : all.to_host()) x.push_back(b.x);
    return x;
}
// The struct whose fields all say which element it is.
static const auto numbered = [](auto i) { return gpu::make_record<body>(gpu::cast<float>(i), 2.0f, gpu::make_record<light>(0.5f, i > 3), single(1, 2), std::array{i, 10 * i}); };

static void windows_of_structs() {
    const gpu::gpu_vector<body> bodies(some_bodies);
    const auto pairs = gpu::windows(bodies, 2);
    CHECK(pairs.size() == 2);
    const gpu::gpu_vector<body> second = pairs[1];
    CHECK(places(second) == std::vector<float>{1, 2, 3, 4, 5, 6, 7} && second.to_host()[3].n[1] == 40 && second.to_host()[0].l.on);
    const gpu::gpu_vector<float> steps = pairs[1].x * pairs[1].x - pairs[0].x * pairs[0].x;
    CHECK(steps.to_host() == std::vector<float>{1, 3, 5, 7, 9, 11, 13});
    // with margins there are as many windows as elements
    const auto wrapped = gpu::windows(gpu::padded(bodies, 1, 1, gpu::boundary::wrap), 3);
    CHECK(eval(wrapped[0].x + wrapped[2].x).to_host() == std::vector<float>{8, 2, 4, 6, 8, 10, 12, 6});
    const gpu::gpu_vector<body> behind = gpu::windows(gpu::padded(bodies, 0, 2, gpu::boundary::constant(some_bodies[1])), 3)[2];
    CHECK(behind.size() == 8 && behind.to_host()[5].x == 7 && behind.to_host()[7].n[1] == 10 && behind.to_host()[6].z == single(1, 1));
    CHECK_THROWS(AGPU_ERROR_SHAPE, "windows(9): the array has 8 elements", gpu::windows(bodies, 9));
    CHECK_THROWS(AGPU_ERROR_OUT_OF_BOUNDS, "windows(2)[2]: the window has 2 elements", gpu::windows(bodies, 2)[2]);
    // a step of an iteration: each element moves halfway to the mean of its neighbours
    const gpu::gpu_vector<body> relaxed = gpu::iterate(2, bodies, [](auto all) {
        const auto w = gpu::windows(gpu::padded(all, 1, 1, gpu::boundary::clamp), 3);
        all.x = 0.5f * w[1].x + 0.25f * (w[0].x + w[2].x);
        all.n[0] = w[2].n[0];
        return all;
    });
    std::vector<float> want(8), last(8);
    for (std::size_t i = 0; i < 8; ++i) want[i] = float(i);
    for (int step = 0; step < 2; ++step) {
        last = want;
        for (std::size_t i = 0; i < 8; ++i) want[i] = 0.5f * last[i] + 0.25f * (last[i ? i - 1 : 0] + last[i < 7 ? i + 1 : 7]);
    }
    CHECK(places(relaxed) == want && relaxed.to_host()[2].n[0] == 4 && relaxed.to_host()[7].n[0] == 7 && relaxed.to_host()[5].v == 6);
    // of matrices and arrays of three dimensions
    const gpu::gpu_matrix<body> m = gpu::generate(3, 4, [](auto i, auto j) { return numbered(4 * i + j); });
    const gpu::gpu_matrix<body> lower = gpu::windows2(m, 2, 2)[1][0];
    CHECK(lower.rows() == 2 && places(lower) == std::vector<float>{4, 5, 6, 8, 9, 10} && lower.to_host()[4].n[1] == 90);
    CHECK_THROWS(AGPU_ERROR_OUT_OF_BOUNDS, "windows2(2, 2)[2]: the window has 2 rows", gpu::windows2(m, 2, 2)[2]);
    const auto around = gpu::windows2(gpu::padded(m, {1, 1}, {1, 1}, gpu::boundary::mirror), 3, 3);
    CHECK(eval(around[0][1].x + around[2][1].x).to_host() == std::vector<float>{4, 6, 8, 10, 8, 10, 12, 14, 12, 14, 16, 18});
    const gpu::gpu_tensor3<body> t = gpu::generate(2, 2, 3, [](auto k, auto i, auto j) { return numbered((2 * k + i) * 3 + j); });
    const gpu::gpu_tensor3<body> corner = gpu::windows3(t, 2, 1, 2)[1][0][1];
    CHECK(corner.extent(0) == 1 && corner.extent(1) == 2 && places(corner) == std::vector<float>{7, 8, 10, 11} && corner.to_host()[3].l.on);
    const auto beside = gpu::windows3(gpu::padded(t, {1, 0}, {0, 0}, {0, 0}, gpu::boundary::constant(body{})), 2, 1, 1);
    CHECK(eval(beside[1][0][0].x - beside[0][0][0].x).to_host() == std::vector<float>{0, 1, 2, 3, 4, 5, 6, 6, 6, 6, 6, 6});
}

static void replaced_parts() {
    gpu::gpu_vector<body> bodies(some_bodies);
    const gpu::gpu_vector<body> part(std::vector<body>{some_bodies[7], some_bodies[6]});
    const gpu::gpu_vector<body> replaced = gpu::with_slice(bodies, 2, part);
    CHECK(places(replaced) == std::vector<float>{0, 1, 7, 6, 4, 5, 6, 7} && replaced.to_host()[2].n[1] == 70 && !replaced.to_host()[3].l.on);
    const gpu::gpu_vector<body> moved = gpu::with_slice(+bodies, 5, gpu::slice(bodies, 0, 3));
    CHECK(places(moved) == std::vector<float>{0, 1, 2, 3, 4, 0, 1, 2} && moved.to_host()[7].z == single(1, 2));
    bodies = gpu::with_slice(bodies, 0, gpu::reverse(gpu::subview(bodies, 0, 4)));
    CHECK(places(bodies) == std::vector<float>{3, 2, 1, 0, 4, 5, 6, 7});
    CHECK_THROWS(AGPU_ERROR_SHAPE, "", eval(gpu::with_slice(bodies, 7, part)));
    // what a step has replaced the next one reads
    const gpu::gpu_vector<body> spread = gpu::iterate(3, bodies, [](auto all) { return gpu::with_slice(all, 1, gpu::slice(all, 0, 7)); });
    CHECK(places(spread) == std::vector<float>{3, 3, 3, 3, 2, 1, 0, 4} && spread.to_host()[6].n[1] == 0);
    const gpu::gpu_matrix<body> m = gpu::generate(3, 3, [](auto i, auto j) { return numbered(3 * i + j); });
    const gpu::gpu_matrix<body> first = gpu::with_block(m, 0, 1, gpu::slice(m, 1, 3, 0, 2));
    CHECK(places(first) == std::vector<float>{0, 3, 4, 3, 6, 7, 6, 7, 8} && first.to_host()[4].n[1] == 60 && first.to_host()[2].l.on);
    const gpu::gpu_tensor3<body> t = gpu::generate(2, 2, 2, [](auto k, auto i, auto j) { return numbered(4 * k + 2 * i + j); });
    const gpu::gpu_tensor3<body> upper = gpu::with_block(t, 0, 0, 0, gpu::slice_planes(t, 1, 2));
    CHECK(places(upper) == std::vector<float>{4, 5, 6, 7, 4, 5, 6, 7} && upper.to_host()[0].n[1] == 40);
}

int main() {
    states();
    windows_of_structs();
    replaced_parts();
    any_names();
    parts_of_matrices();
    strided();
    repeated();
    names_in_messages();
    transformed();
    reductions();
    sequences();
    std::printf("struct words: %s\n", failures == 0 ? "ok" : "FAILED");
    return failures;
}
