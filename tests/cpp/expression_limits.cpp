// Expressions at their edges: overlapping and resized results, arrays that are gone, several results, contexts, threads, size, and what is refused.
#include "check.hpp"
#include <arraygpu/expr.hpp>
#include <cstring>
#include <string>
#include <thread>

using namespace arraygpu;

static std::vector<float> counted(std::size_t n) {
    std::vector<float> v(n);
    for (std::size_t i = 0; i < n; ++i) v[i] = float(i);
    return v;
}

static void overlaps() {
    gpu_vector<float> a(counted(5000));
    a = a * a;
    CHECK(a.to_host()[70] == 4900);
    a = reverse(a);
    CHECK(a.to_host()[0] == 4999.0f * 4999.0f && a.to_host()[4999] == 0);
    a = iota<float>(5000);
    subview(a, 1, 5000) = slice(a, 0, 4999) + slice(a, 1, 5000); // shifted by one: reads what was there before
    CHECK(a.to_host()[1] == 1 && a.to_host()[4999] == 9997);
    a = slice(a, 0, 10); // another size: a new buffer
    CHECK(a.size() == 10 && a.to_host()[9] == 17);
    gpu_matrix<float> m{{1, 2}, {3, 4}};
    m = m + transpose(m);
    CHECK((m.to_host() == std::vector<float>{2, 5, 5, 8}));
}

template <class F> static auto made_by(F f) { return f(); }

static void lifetimes() {
    // the expression keeps what it was made from
    auto e = made_by([] {
        const gpu_vector<float> a{1, 2, 3}, b{10, 20, 30};
        return a + b;
    });
    CHECK((eval(e).to_host() == std::vector<float>{11, 22, 33}));
    auto of_temporary = gpu_vector<float>{1, 2} * 2.0f;
    CHECK((eval(of_temporary).to_host() == std::vector<float>{2, 4}));
    gpu_vector<float> a{1, 2, 3};
    const auto twice = a * 2.0f;
    a = a + 1.0f; // the same memory: read when it is computed
    CHECK((eval(twice).to_host() == std::vector<float>{4, 6, 8}));
    a = slice(a, 0, 2); // other memory: it reads the old
    CHECK((eval(twice).to_host() == std::vector<float>{4, 6, 8}));
    gpu_vector<float> moved = std::move(a);
    CHECK((eval(moved + 0.0f).to_host() == std::vector<float>{2, 3}));
    CHECK_THROWS(AGPU_ERROR_INVALID_HANDLE, "buffer", eval(a + 1.0f));
    // views do not keep: their vector is gone
    const auto dangling = made_by([] {
        gpu_vector<float> b{1, 2, 3};
        return subview(b, 0, 2) + 1.0f;
    });
    CHECK_THROWS(AGPU_ERROR_INVALID_HANDLE, "buffer", eval(dangling));
}

static void several() {
    const gpu_vector<float> a{1, 2, 3}, b{4, 5, 6};
    gpu_vector<float> c, p;
    tie(c, p) = std::make_tuple(a + b, a - b);
    CHECK((c.to_host() == std::vector<float>{5, 7, 9} && p.to_host() == std::vector<float>{-3, -3, -3}));
    CHECK(kernels(a + b, a - b) == 1);
    float s = 0;
    gpu_scalar<float> d;
    assign(c, a * b, s, sum(a), d, max(b), p, a);
    CHECK((c.to_host() == std::vector<float>{4, 10, 18} && s == 6 && d.get() == 6 && p.to_host() == std::vector<float>{1, 2, 3}));
    // swapped in one run, each from what was there before
    tie(c, p) = std::make_tuple(+p, +c);
    CHECK((c.to_host() == std::vector<float>{1, 2, 3} && p.to_host() == std::vector<float>{4, 10, 18}));
    CHECK_THROWS(AGPU_ERROR_OVERLAP, "", (tie(c, c) = std::make_tuple(+a, +b)));
}

static void refused() {
    const gpu_vector<float> a{1, 2, 3}, b{1, 2, 3, 4};
    gpu_vector<float> c{7, 7, 7};
    CHECK_THROWS(AGPU_ERROR_SHAPE, "v0", c = a + b);
    CHECK_THROWS(AGPU_ERROR_SHAPE, "v1", c = a + b);
    CHECK_THROWS(AGPU_ERROR_SHAPE, "speed", c = named("speed", a) * named("mass", b));
    CHECK_THROWS(AGPU_ERROR_SHAPE, "3", subview(c, 0, 2) = +a);
    CHECK_THROWS(AGPU_ERROR_SHAPE, "", c = slice(a, 2, 5));
    CHECK((c.to_host() == std::vector<float>{7, 7, 7}));
    context other = context::cpu(1);
    const gpu_vector<float> there({1, 2, 3}, other);
    CHECK_THROWS(AGPU_ERROR_WRONG_CONTEXT, "v1", c = a + there);
    // results without elements are where their operands are
    const gpu_vector<float> nothing(std::size_t(0), other);
    const auto [more, twice] = eval(std::make_tuple(nothing + 1.0f, nothing * 2.0f));
    CHECK(more.size() == 0 && twice.size() == 0);
    // names that are there already get a number
    CHECK((eval(named("v1", a) + a).to_host() == std::vector<float>{2, 4, 6}));
    CHECK((eval(named("x", a) + named("x", c)).to_host() == std::vector<float>{8, 9, 10}));
    CHECK((eval(named("result", a) * 2.0f).to_host() == std::vector<float>{2, 4, 6}));
    CHECK_THROWS(AGPU_ERROR_SHAPE, "x_2", c = named("x", a) * named("x", b));
    CHECK_THROWS(AGPU_ERROR_RECORD, "", static_cast<void>(float(at(a, 3))));
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "", eval(named("no name", a) + 1.0f));
    // traced values have no value
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "select", static_cast<void>(map([](auto x) { return float(x) + x; }, a)));
    expr<float> escaped;
    CHECK(map([&](auto x) { return escaped = x; }, a).size() == 3);
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "traced", eval(escaped + 1.0f));
    struct endless {
        bool forever;
        expr<float> operator()(const expr<float> &x) const { return forever ? (*this)(x * 0.5f) + 1.0f : x; }
    };
    CHECK_THROWS(AGPU_ERROR_INVALID_ARGUMENT, "does it call itself", map(endless{true}, a));
    CHECK((eval(map([](auto x) { return x; }, a)).to_host() == std::vector<float>{1, 2, 3}));
}

static void large() {
    const gpu_vector<float> a{1, 2, 3};
    expr<float, 1> e = a;
    for (int i = 0; i < 100000; ++i) e = e + 1.0f; // only built, and ended, without recursion
    CHECK(e.size() == 3);
    e = a;
    const std::size_t many = 12000;
    for (std::size_t i = 0; i < many; ++i) e = e + a * float(i % 3);
    CHECK((eval(e).to_host() == std::vector<float>{float(1 + many), float(2 + 2 * many), float(3 + 3 * many)}));
    std::vector<gpu_vector<float>> inputs;
    for (int i = 0; i < 600; ++i) inputs.push_back(gpu_vector<float>{float(i), 1});
    e = inputs[0];
    for (int i = 1; i < 600; ++i) e = e + inputs[std::size_t(i)];
    CHECK((eval(e).to_host() == std::vector<float>{599 * 300, 600}));
}

static void threads() {
    const gpu_vector<float> a{1, 2, 3};
    const auto shared = a * 2.0f;
    std::vector<std::thread> all;
    std::atomic<int> right{0};
    for (int t = 0; t < 4; ++t) {
        all.emplace_back([&, t] {
            for (int i = 0; i < 50; ++i) {
                const auto e = shared + float(t) + float(i % 7) * shared;
                right += eval(e).to_host()[2] == 6 + float(t) + float(i % 7) * 6;
            }
        });
    }
    for (std::thread &t : all) t.join();
    CHECK(right == 200);
}

static void other_headers() {
    const gpu_vector<float> a{1, 2, 3};
    const auto e = a * 5.0f - 4.0f;
    float made = 0;
    const auto of_sum = sum(e);
    const detail::output out{of_sum.c_node().get(), detail::to_host(&made)};
    detail::run(&out, 1, nullptr);
    CHECK(made == 18);
    detail::encoder key;
    detail::encode(key, &out, 1);
    std::vector<std::uint8_t> bytes(key.bytes().data(), key.bytes().data() + key.bytes().size());
    const auto is_known = [&] {
        std::vector<agpu_arg> list = key.arguments();
        list.push_back(out.to);
        bool known = false;
        check(agpu_run_remembered(bytes.data(), std::int64_t(bytes.size()), nullptr, list.data(), std::int32_t(list.size()), &known));
        return known;
    };
    CHECK(std::memcmp(bytes.data(), &detail::headers, sizeof detail::headers) == 0);
    CHECK(is_known());
    bytes[0] ^= 1; // what headers of another version would write
    CHECK(!is_known());
}

static void elsewhere() {
    context two = context::cpu(2);
    gpu_vector<float> c({1, 2, 3}, two);
    c = iota<float>(5); // where c was
    agpu_context *where = nullptr;
    check(agpu_buffer_context(c.c_buffer(), &where));
    CHECK(where == two.c_context() && c.size() == 5);
    CHECK(eval({two}, sum(c)) == 10);
    const gpu_vector<float> made = c * 2.0f;
    check(agpu_buffer_context(made.c_buffer(), &where));
    CHECK(where == two.c_context());
    CHECK(explain(c + 1.0f).find("1 launch") != std::string::npos);
    CHECK(program_text(c + 1.0f, "fused") == program_text(c + 2.0f, "fused"));
}

int main() {
    overlaps();
    lifetimes();
    several();
    refused();
    large();
    threads();
    other_headers();
    elsewhere();
    std::printf("expression_limits: %s\n", failures == 0 ? "ok" : "FAILED");
    return failures;
}
