// Structs as elements of expressions and views: those of a package, which its header describes, and one of this program.
#include "../bodies.hpp"
#include "../check.hpp"
#include <arraygpu/views.hpp>
#include <cmath>
#include <waves.hpp>

using namespace arraygpu;
using std::get;
using waves::body;
using bodies = gpu_vector<body>;

namespace own {
struct star {
    std::complex<float> at;
    waves::light light[2];
    std::uint8_t size;
};
struct pixel {
    half red;
    agpu_bfloat16 blue;
    bool is_set;
};
} // namespace own
AGPU_RECORD(own::star, at, light, size)
AGPU_RECORD(own::pixel, red, blue, is_set)

template <class A, class B> static bool same(const A &a, const B &b) { return same_bodies(a.to_host(), b.to_host()); }
static auto after(expr<body> b, double dt) {
    b.at[0] = b.at[0] + dt * b.at[1];
    b.light.is_on = !b.light.is_on;
    return b;
}
static const auto brighter = [](auto a, auto b) { return if_else(a.light.bright >= b.light.bright, a, b); };

static void elements() {
    for (const std::size_t n : {0, 1, 7, 3000}) {
        const bodies all(some_bodies<body>(n)), others(reverse(all));
        CHECK(same(bodies(map([](auto b) { return after(b, 0.25); }, all)), waves::moved(all, 0.25)));
        CHECK(same(bodies(map([](auto a, auto b) { return if_else(a.kind > b.kind, a, b); }, all, others)), waves::chosen(all, others)));
        const body first = some_bodies<body>(1)[0];
        CHECK(same_bodies(body(reduce(all, first, brighter)), waves::brightest(all, first)));
        // a loop of an element and an iteration whose states are structs
        const auto step = [](auto b) {
            b.light.bright *= 0.5f;
            b.kind += 1;
            return b;
        };
        const auto is_bright = [](auto b) { return b.light.bright > 1; };
        CHECK(same(bodies(map([&](auto b) { return loop_while(b, is_bright, step); }, all)), waves::dimmed(all)));
        const bodies stepped = iterate_indexed(5, all, [](auto t, auto state) {
            return map([t](auto b) {
                auto next = after(b, 0.125);
                next.kind = next.kind + cast<std::int16_t>(t);
                return next;
            }, state);
        });
        CHECK(same(stepped, waves::stepped(all, 5, 0.125)));
        // an accumulator of another struct; structs of indices
        const waves::light seen = fold(all, waves::light{}, [](auto s, auto b) {
            return make_record<waves::light>(s.bright * 0.5f + b.light.bright, s.is_on ^ b.light.is_on);
        });
        const waves::light want = waves::seen(all);
        CHECK(seen.bright == want.bright && seen.is_on == want.is_on);
        const auto number = [](auto i) { return make_record<waves::light>(sqrt(cast<float>(i)), i % 3 == 1); };
        const std::vector<waves::light> made = gpu_vector<waves::light>(generate(std::int64_t(n), number)).to_host(), plain = waves::scattered(std::int64_t(n)).to_host();
        for (std::size_t i = 0; i < n; ++i) CHECK(made[i].bright == plain[i].bright && made[i].is_on == plain[i].is_on);
    }
}

static void pipelines() {
    const std::vector<body> host = some_bodies<body>(3000);
    bodies all(host);
    const auto moved = all | views::transform([](auto b) { return after(b, 0.25); });
    CHECK(same(bodies(moved), waves::moved(all, 0.25)));
    const bodies few = moved | views::reverse | views::take(5) | views::stride(2);
    CHECK(few.size() == 3 && same_bodies(few.to_host()[1], waves::moved(all, 0.25).to_host()[2997]));
    CHECK(same_bodies(body(moved | arraygpu::reduce(host[0], brighter)), waves::brightest(waves::moved(all, 0.25), host[0])));
    // with positions and numbers; several outputs
    gpu_vector<double> x(3000);
    gpu_vector<waves::light> lights(3000);
    transform(views::zip(all, views::iota(std::int64_t(0))), views::zip(x, lights), [](auto b, auto i) { return std::make_tuple(b.at[0] + cast<double>(i), b.light); });
    CHECK(x.to_host()[7] == 15 && lights.to_host()[8].bright == 4);
    const gpu_vector<float> steps = all | views::window(2) | views::transform([](auto w) { return w[1].light.bright - w[0].light.bright; });
    CHECK(steps.to_host() == std::vector<float>(2999, 0.5f));
    // fields that a function assigns are written, and no others
    for_each(views::zip(all, x), [](auto &b, auto p) { b.at[0] = p, b.light.is_on = b.kind == 0; });
    const std::vector<body> written = all.to_host();
    CHECK(written[7].at[0] == 15 && written[7].light.is_on && !written[8].light.is_on && written[8].at[1] == host[8].at[1]);
    for_each(all, [](auto &b) { b = after(b, 1); });
    CHECK(all.to_host()[7].at[0] == 15 + host[7].at[1]);
}

static void several() {
    const std::vector<body> host = some_bodies<body>(20);
    bodies all(host), out(20);
    // into a part, over itself, into an element that stays on the device, several in one run
    subview(out, 0, 3) = slice(all, 7, 10);
    CHECK(same_bodies(out.to_host()[2], host[9]));
    all = reverse(all);
    CHECK(same_bodies(all.to_host()[0], host[19]));
    gpu_scalar<body> last;
    last = at(all, 0);
    CHECK(same_bodies(last.get(), host[19]) && std::int16_t(expr<body>(last).kind) == host[19].kind);
    double far;
    body one;
    arraygpu::tie(far, one) = std::make_tuple(max((+all).at[0]), reduce(all, host[0], brighter));
    CHECK(far == 20 && same_bodies(one, host[19]));
    const auto [chosen, count] = eval(std::make_tuple(map([](auto b) { return after(b, 2); }, all), sum(cast<std::int64_t>((+all).kind))));
    CHECK(same(chosen, waves::moved(all, 2)) && count == 57);
    // the arrays of fields as structs, and a constant
    const expr<body, 1> e = all;
    expr<body, 1> changed = e;
    changed.kind = e.kind * std::int16_t(2);
    CHECK(bodies(changed).to_host()[3].kind == 2 * all.to_host()[3].kind);
    const auto lights = make_record<waves::light>(2 * e.light.bright, e.kind > 3);
    CHECK(gpu_vector<waves::light>(lights).to_host()[1].bright == 18);
    CHECK(bodies(map([&](auto b) { return if_else(b.kind > 3, b, expr<body>(host[1])); }, all)).to_host()[0].kind == 5);
    // one kernel for all fields
    CHECK(kernels(map([](auto b) { return after(b, 2); }, all)) == 1 && kernels(reduce(all, host[0], brighter)) == 1);
    CHECK(explain(map([](auto b) { return after(b, 2); }, all)).find("1 launch") != std::string::npos);
    // matrices, collected states, an iteration with an end
    const gpu_matrix<body> m(host, 4, 5);
    CHECK(same_bodies(gpu_matrix<body>(transpose(m)).to_host()[1], host[5]));
    CHECK(same_bodies(bodies(reduce_rows(m, host[0], brighter)).to_host()[1], host[9]));
    CHECK(same_bodies(bodies(row(m, 2)).to_host()[1], host[11]) && same_bodies(bodies(col(m, 3)).to_host()[2], host[13]));
    CHECK(same_bodies(bodies(let(materialize(slice_rows(m, 1, 3)), [](auto part) { return reduce_cols(part, body{}, brighter); })).to_host()[4], host[14]));
    const gpu_matrix<body> orbit = iterate_collect(3, all, [](auto b) { return map([](auto one) { return after(one, 1); }, b); });
    CHECK(orbit.rows() == 3 && same(orbit.view().row(1), waves::moved(waves::moved(all, 1), 1)));
    const auto half_way = [](auto b) { return map([](auto one) { one.light.bright *= 0.5f; return one; }, b); };
    const auto [dim, steps] = iterate_while(50, all, [](auto b) { return max(b.light.bright) > 1; }, half_way).check_every(1);
    CHECK(eval(steps) == 4 && eval(dim).to_host()[0].light.bright == 9.5f / 16);
    CHECK_THROWS(AGPU_ERROR_SHAPE, "20", bodies(map(brighter, all, bodies(some_bodies<body>(19)))));
    // reads that the extent keeps in bounds need no test; others name their line
    const auto reads = generate(all.size(), [&](auto i) { return at(all, i); });
    CHECK(program_text(reads, "fused").find("elem") != std::string::npos && program_text(reads, "fused").find(" at ") == std::string::npos);
    CHECK_THROWS(AGPU_ERROR_RECORD, "described.cpp:" + std::to_string(__LINE__), eval(generate(21, [&](auto i) { return at(all, i); })).to_host());
    CHECK_THROWS(AGPU_ERROR_SHAPE, "19", gpu_vector<waves::light>(make_record<waves::light>(slice(e.light.bright, 1, 20), e.light.is_on)));
}

// Structs of this program: complex numbers, arrays of structs and halves in them.
static void structs_of_the_program() {
    std::vector<own::star> host(6);
    for (std::size_t i = 0; i < host.size(); ++i) host[i] = {{float(i), 1}, {{0.5f, i % 2 == 0}, {float(i), true}}, std::uint8_t(i)};
    gpu_vector<own::star> stars(host);
    const gpu_vector<own::star> turned = map([](auto s) {
        s.at = s.at * std::complex<float>(0, 1);
        s.light[1].bright = s.light[0].bright + s.light[1].bright;
        s.light[0] = make_record<waves::light>(abs(s.at), s.size > 2);
        return s;
    }, stars);
    const std::vector<own::star> after = turned.to_host();
    CHECK(after[3].at == std::complex<float>(-1, 3) && after[3].light[1].bright == 3.5f && after[3].light[0].is_on && after[3].size == 3);
    CHECK(after[4].light[0].bright == std::hypot(1.0f, 4.0f) && !after[2].light[0].is_on);
    // an element of a field that is an array, at an index that only the struct knows
    const gpu_vector<float> shining = map([](auto s) {
        const auto changed = with_at(s.light, s.size % 2, waves::light{7, false});
        return changed[0].bright + at(s.light, s.size % 2).bright;
    }, stars);
    CHECK(shining.to_host() == std::vector<float>({7.5f, 1.5f, 7.5f, 3.5f, 7.5f, 5.5f}));
    const own::star none = expr<own::star>();
    CHECK(none.at == std::complex<float>() && none.light[1].bright == 0 && none.size == 0);
    const auto longest = [](auto a, auto b) { return if_else(abs(a.at) > abs(b.at), a, b); };
    CHECK(own::star(reduce_noncommutative(stars, own::star{}, longest)).size == 5);
    const gpu_vector<own::pixel> pixels = generate(3, [](auto i) { return make_record<own::pixel>(cast<half>(i), cast<bfloat16>(2 * i), i == 1); });
    const own::pixel p = pixels.to_host()[2];
    CHECK(float(p.red) == 2 && p.blue.bits == 0x4080 && !p.is_set && pixels.to_host()[1].is_set);
}

int main() {
    elements();
    pipelines();
    several();
    structs_of_the_program();
    std::printf("described: %s\n", failures == 0 ? "ok" : "FAILED");
    return failures;
}
