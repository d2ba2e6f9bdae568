// Complex numbers and fields of structs in C++ expressions, against functions of a package, to the bit.
#include "../check.hpp"
#include "../numbers.hpp"
#include <arraygpu/views.hpp>
#include <cstring>
#include <waves.hpp>

using namespace arraygpu;
using std::get;
using single = std::complex<float>;
using both = std::complex<double>;
using numbers = gpu_vector<single>;

static std::vector<single> some(std::size_t n, float shift) {
    std::vector<single> v(n);
    for (std::size_t i = 0; i < n; ++i) v[i] = {float(i * 7919 % 1000) / 400 - shift, shift - float(i * 104729 % 777) / 300};
    return v;
}
template <class A, class B> static bool equal(const A &a, const B &b) { return same_bits(a.to_host(), b.to_host()); }
static bool equal(single a, single b) { return std::memcmp(&a, &b, sizeof a) == 0; }

static void elements() {
    for (const std::size_t n : {0, 1, 7, 3000}) {
        const numbers a(some(n, 1.25f)), b(some(n, 0.5f));
        CHECK(equal(numbers(a * b), waves::product(a, b)));
        CHECK(equal(numbers(a / b), waves::quotient(a, b)));
        CHECK(equal(numbers(scale(conj(a - b), 0.5f) + single(1, -2)), waves::mixed(a, b)));
        const auto sizes = waves::sizes(a);
        CHECK(equal(gpu_vector<float>(abs(a)), sizes.absolute) && equal(gpu_vector<float>(norm_sqr(a)), sizes.square));
        CHECK(equal(gpu_vector<float>(arg(a)), sizes.angle));
        // functions of elements
        CHECK(equal(numbers(map([](auto x, auto y) { return x * y; }, a, b)), waves::product(a, b)));
        CHECK(equal(gpu_vector<float>(map([](auto x) { return abs(x); }, a)), sizes.absolute));
        CHECK(equal(numbers(map([](auto z) { return loop_for(3, single(1, 0), [&](auto, auto p) { return p * z; }); }, a)), waves::power(a, 3)));
        CHECK(equal(numbers(iterate(4, a, [&](auto z) { return z * z + a; })), waves::mandelbrot(a, 4)));
        const gpu_vector<float> weights(std::vector<float>(n, 0.5f));
        const numbers weighted = map([](auto z, auto w) { return if_else(w > 0, scale(z, w), z); }, a, weights);
        CHECK(equal(weighted, numbers(scale(a, weights))));
        // reductions
        CHECK(equal(single(sum(a)), waves::total(a)));
        CHECK(equal(single(reduce(a, single(1, 0), [](auto x, auto y) { return x * y; })), waves::joined(a, single(1, 0))));
        CHECK(equal(single(fold(a, single(0, 0), [](auto s, auto x) { return scale(s, 0.5f) + x; })), waves::folded(a)));
        // of tuples
        const auto pair = reduce(std::tie(a, weights), std::make_tuple(single(0, 0), 0), [](auto x, auto y) {
            return std::make_tuple(get<0>(x) + get<0>(y), get<1>(x) + get<1>(y));
        });
        CHECK(equal(single(get<0>(pair)), waves::total(a)) && float(get<1>(pair)) == 0.5f * float(n));
    }
    // infinities, NaN, numbers whose squares overflow
    const float large = 1e30f, infinite = __builtin_huge_valf();
    const numbers a{{large, large}, {infinite, 1}, {0, 0}, {1, -infinite}, {large, 1}}, b{{large, -large}, {1, 1}, {0, 0}, {2, infinite}, {0, large}};
    CHECK(equal(numbers(a * b), waves::product(a, b)) && equal(numbers(a / b), waves::quotient(a, b)));
}

static void pipelines() {
    const numbers a(some(3000, 1.25f)), b(some(3000, 0.5f));
    const numbers product = views::zip(a, b) | views::transform([](auto x, auto y) { return x * y; });
    CHECK(equal(product, waves::product(a, b)));
    const numbers turned = a | views::transform([](auto z) { return conj(z); }) | views::reverse | views::take(5);
    CHECK(turned.size() == 5 && turned.to_host()[0] == std::conj(a.to_host()[2999]));
    CHECK(equal(single(a | arraygpu::reduce(single(1, 0), [](auto x, auto y) { return x * y; })), waves::joined(a, single(1, 0))));
    const auto total = views::zip(a, views::iota(std::int64_t(0))) | arraygpu::reduce(std::make_tuple(single(0, 0), std::int64_t(0)), [](auto x, auto y) {
        return std::make_tuple(get<0>(x) + get<0>(y), get<1>(x) + get<1>(y));
    });
    CHECK(equal(single(get<0>(total)), waves::total(a)) && std::int64_t(get<1>(total)) == 2999 * 1500);
    numbers out;
    arraygpu::transform(a, b, out, [](auto x, auto y) { return x / y; });
    CHECK(equal(out, waves::quotient(a, b)));
    const numbers means = a | views::window(2) | views::transform([](auto w) { return scale(w[0] + w[1], 0.5f); });
    CHECK(means.size() == 2999 && means.to_host()[7] == (a.to_host()[7] + a.to_host()[8]) * 0.5f);
    CHECK(equal(numbers((a | views::drop(1)) * (b | views::drop(1))), numbers(slice(waves::product(a, b), 1, 3000))));
}

static void several() {
    const numbers a(some(100, 1));
    const auto sizes = waves::sizes(a);
    // several results of one run; into arrays that are there and new ones
    const auto [total, largest] = eval(std::make_tuple(sum(a), max(abs(a))));
    CHECK(equal(total, waves::total(a)) && largest == eval(max(sizes.absolute)));
    numbers square(100), twice;
    gpu_vector<float> sizes_too;
    arraygpu::tie(square, sizes_too) = std::make_tuple(a * a, norm_sqr(a));
    single first;
    assign(twice, a + a, first, at(a, 0));
    CHECK(equal(square, waves::product(a, a)) && equal(sizes_too, sizes.square));
    CHECK(twice.size() == 100 && equal(twice, numbers(scale(a, 2.0f))) && first == a.to_host()[0]);
    CHECK(equal(numbers(let(a * a, [](auto s) { return s + s; })), numbers(square + square)));
    // rows, operators that do not commute, numbers of indices
    const gpu_matrix<both> m(std::vector<both>(6, both(1, 1)), 2, 3);
    const gpu_vector<both> products = reduce_rows(m, both(1, 0), [](auto x, auto y) { return x * y; });
    CHECK(products.to_host() == std::vector<both>(2, both(-2, 2)));
    const gpu_vector<both> turns = generate(4, [](auto i) { return complex(cospi(cast<double>(i) / 2), sinpi(cast<double>(i) / 2)); });
    CHECK(turns.to_host() == (std::vector<both>{{1, 0}, {0, 1}, {-1, 0}, {0, -1}}));
    CHECK(both(reduce_noncommutative(turns, both(1, 0), [](auto x, auto y) { return x * conj(y); })) == both(-1, 0));
    // states of an iteration with an end: complex numbers and a number
    const auto [state, steps] = iterate_while(50, std::make_tuple(+turns, 1.0), [](auto z, auto s) { return sum(norm_sqr(z)) > 1e-3 && s > 0; },
                                              [](auto z, auto s) { return std::make_tuple(scale(z, 0.5) * both(0, 1), s * 0.5); }).check_every(3);
    CHECK(eval(steps) == 6 && eval(get<0>(state)).to_host()[0] == both(-1.0 / 64, 0) && eval(get<1>(state)) == 1.0 / 64);
}

static void arrays() {
    const numbers a(some(10, 1));
    const std::vector<single> host = a.to_host();
    numbers out(10);
    // into an array that is there, into parts of one, in place, over itself
    out = a + a;
    CHECK(out.to_host()[3] == host[3] + host[3]);
    subview(out, 0, 3) = slice(a, 7, 10);
    CHECK(out.to_host()[0] == host[7] && out.to_host()[3] == host[3] + host[3]);
    out = +a;
    out = reverse(out);
    CHECK(out.to_host()[0] == host[9] && out.to_host()[9] == host[0]);
    out *= a;
    CHECK(out.size() == 10);
    out = slice(a, 2, 6);
    CHECK(out.size() == 4 && out.to_host()[0] == host[2]);
    // parts
    real(out) = 0 * real(out);
    CHECK(out.to_host()[1] == single(0, host[3].imag()));
    const numbers made = complex(real(a), 2 * imag(a));
    CHECK(made.to_host()[4] == single(host[4].real(), 2 * host[4].imag()) && eval(at(a, 4)) == host[4]);
    CHECK(eval(a == conj(conj(a))).to_host() == std::vector<bool>(10, true));
    const gpu_vector<std::complex<double>> wide = cast<double>(a);
    CHECK(wide.to_host()[5] == both(host[5]));
    // matrices
    const std::vector<both> elements(12, both(1.5, -2));
    const gpu_matrix<both> m(elements, 3, 4), k(elements, 4, 3);
    CHECK(equal(gpu_matrix<both>(matmul(m, k)), waves::matrix_product(m, k)));
    CHECK(equal(gpu_vector<both>(sum_rows(m)), waves::rows(m)));
    CHECK(gpu_matrix<both>(transpose(m) + k).to_host()[0] == both(3, -4));
    // collected states
    const gpu_matrix<single> all = iterate_collect(3, a, [](auto z) { return z * z; });
    CHECK(all.rows() == 3 && equal(all.view().row(0), numbers(a * a)));
    const auto [last, steps] = iterate_while(20, a, [](auto z) { return max(norm_sqr(z)) > 1e-2f; }, [](auto z) { return scale(z, 0.5f); }).check_every(1);
    CHECK(eval(steps) > 2 && eval(last).to_host()[0] == host[0] * std::ldexp(1.0f, -int(eval(steps))));
    // an error comes where it is computed
    const numbers longer(some(11, 1));
    CHECK_THROWS(AGPU_ERROR_SHAPE, "10", numbers(a * longer));
}

static void fields() {
    std::vector<waves::body> host(20);
    for (std::size_t i = 0; i < host.size(); ++i) {
        host[i].at[0] = 1.0 + double(i), host[i].at[1] = -0.5 * double(i);
        host[i].light.bright = 0.5f * float(i), host[i].light.is_on = i % 3 != 0, host[i].kind = std::int16_t(i % 7);
    }
    gpu_vector<waves::body> bodies(host);
    const auto want = waves::moved(bodies, 0.25).to_host();
    field(bodies, &waves::body::at, 0) += 0.25 * field(bodies, &waves::body::at, 1);
    const auto light = field(bodies, &waves::body::light);
    field(light, &waves::light::is_on) = !field(light, &waves::light::is_on);
    const auto after = bodies.to_host();
    for (std::size_t i = 0; i < host.size(); ++i) {
        CHECK(after[i].at[0] == want[i].at[0] && after[i].at[1] == want[i].at[1] && after[i].kind == host[i].kind);
        CHECK(after[i].light.is_on == want[i].light.is_on && after[i].light.bright == host[i].light.bright);
    }
    // reductions, tuples and views of fields; every third struct
    const gpu_vector<waves::body> &seen = bodies;
    CHECK(float(max(field(field(seen, &waves::body::light), &waves::light::bright))) == 9.5f);
    const auto part = subview(seen, 1, 20, 3);
    CHECK(eval(argmax(field(part, &waves::body::kind))) == 4 && field(part, &waves::body::kind).to_host()[4] == 6);
    const auto joined = reduce(std::make_tuple(field(seen, &waves::body::at, 0), field(seen, &waves::body::kind)), std::make_tuple(0, 0), [](auto a, auto b) {
        return std::make_tuple(max(get<0>(a), get<0>(b)), get<1>(a) + get<1>(b));
    });
    CHECK(double(get<0>(joined)) == 17.625 && std::int16_t(get<1>(joined)) == 57);
    const double dots = views::zip(field(seen, &waves::body::at, 0), field(seen, &waves::body::at, 1)) | views::transform([](auto x, auto y) { return x * y; }) | reduce(0.0);
    CHECK(dots < 0);
    // fields as the states of an iteration, and written by a function of elements
    const auto x = field(bodies, &waves::body::at, 0), v = field(bodies, &waves::body::at, 1);
    std::vector<double> hx = x.to_host(), hv = v.to_host();
    const auto [nx, nv] = iterate(10, std::make_tuple(+x, +v), [](auto p, auto q) { return std::make_tuple(p + 0.1 * q, q - 0.1 * p); });
    assign(x, nx, v, nv);
    for_each(views::zip(x, field(bodies, &waves::body::kind)), [](auto &p, auto kind) { p = if_else(kind == 0, -p, p); });
    for (std::size_t i = 0; i < hx.size(); ++i) {
        for (int k = 0; k < 10; ++k) {
            const double p = hx[i] + 0.1 * hv[i];
            hv[i] = hv[i] - 0.1 * hx[i], hx[i] = p;
        }
        hx[i] = host[i].kind == 0 ? -hx[i] : hx[i];
    }
    CHECK(x.to_host() == hx && v.to_host() == hv);
    // matrices of structs; an array without elements; what is no whole struct
    gpu_matrix<waves::body> square(host, 4, 5);
    const auto row = square.view().row(2);
    field(row, &waves::body::kind).fill(9);
    CHECK(gpu_matrix<std::int16_t>(field(square, &waves::body::kind) + std::int16_t(0)).to_host()[11] == 9);
    CHECK(field(square, &waves::body::kind).col(1).to_host() == (std::vector<std::int16_t>{1, 6, 9, 2}));
    gpu_vector<waves::body> none;
    CHECK(field(none, &waves::body::kind).size() == 0 && eval(sum(field(none, &waves::body::at, 1))) == 0);
    CHECK_THROWS(AGPU_ERROR_OUT_OF_BOUNDS, "no element 2 of 2", field(bodies, &waves::body::at, 2));
    agpu_view wrong = bodies.c_view();
    wrong.extent[1] -= 1;
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "no view of whole structs", field(gpu_vector_view<waves::body>(wrong), &waves::body::kind));
}

int main() {
    elements();
    pipelines();
    several();
    arrays();
    fields();
    std::printf("records: %s\n", failures == 0 ? "ok" : "FAILED");
    return failures;
}
