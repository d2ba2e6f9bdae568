#include "shape_cases.hpp"
#include <algorithm>
#include <cmath>

namespace {

constexpr std::size_t SIDE = 8192;
constexpr float EPSILON2 = 1e-4f;

agpu_arg view(agpu_buffer *b, std::size_t offset, std::size_t n, bool result = false) {
    agpu_arg a{};
    a.kind = result ? AGPU_ARG_RESULT_VIEW : AGPU_ARG_VIEW;
    a.view = {b, std::int64_t(offset), 1, {std::int64_t(n), 1, 1}, {1, 1, 1}};
    return a;
}
agpu_arg view(agpu_buffer *b, std::size_t offset, std::size_t rows, std::size_t cols, std::size_t pitch, bool result = false) {
    agpu_arg a = view(b, offset, rows, result);
    a.view.rank = 2;
    a.view.extent[1] = std::int64_t(cols);
    a.view.stride[0] = std::int64_t(pitch);
    return a;
}

// The stencil cached, and with every element loaded where it is used.
std::vector<variant> with_and_without(const char *function, const char *direct) {
    return {{"", function, function, place::start}, {" direct", direct, function, place::start}};
}

shape_case along(const char *name, const char *direct, const std::vector<double> &w) {
    const std::size_t k = w.size(), n = ELEMENTS - (k - 1);
    const auto expected = [w](const inputs &x, std::size_t, std::size_t j) {
        right r{0, 0};
        for (std::size_t i = 0; i < w.size(); ++i) {
            r.value += w[i] * x.a[i + j];
            r.magnitude += std::fabs(w[i] * x.a[i + j]);
        }
        return r;
    };
    const auto arguments = [n](const arrays &d, place) { return std::vector<agpu_arg>{view(d.a, 0, ELEMENTS), view(d.out, 0, n, true)}; };
    return {name, with_and_without(name, direct), {1, n, n, 0}, arguments, expected, k, 8.0 * ELEMENTS, 2.0 * double(k) * ELEMENTS, 1e-5};
}

std::vector<double> spencer() {
    std::vector<double> w = {-3, -6, -5, 3, 21, 46, 67, 74, 67, 46, 21, 3, -5, -6, -3};
    for (double &x : w) x /= 320;
    return w;
}
std::vector<double> triangle(std::size_t k) {
    const std::size_t middle = (k + 1) / 2;
    std::vector<double> w(k);
    for (std::size_t i = 0; i < k; ++i) w[i] = double(std::min(i + 1, k - i)) / double(middle * (k + 1 - middle));
    return w;
}

// A stencil of 2 margin + 1 rows and columns over a matrix; `weight` of an element so far from the middle.
shape_case over_plane(const char *name, std::vector<variant> ours, std::size_t margin, double flops, double (*weight)(int dx, int dy)) {
    const std::size_t side = SIDE - 2 * margin;
    const auto expected = [margin, weight](const inputs &x, std::size_t i, std::size_t j) {
        right r{0, 0};
        const int m = int(margin);
        for (int dy = -m; dy <= m; ++dy)
            for (int dx = -m; dx <= m; ++dx) {
                const double term = weight(dx, dy) * x.a[(i + margin + std::size_t(dy)) * SIDE + j + margin + std::size_t(dx)];
                r.value += term;
                r.magnitude += std::fabs(term);
            }
        return r;
    };
    const auto arguments = [side, margin](const arrays &d, place at) {
        const std::size_t offset = at == place::centre ? margin * (SIDE + 1) : 0;
        return std::vector<agpu_arg>{view(d.a, 0, SIDE, SIDE, SIDE), view(d.out, offset, side, side, SIDE, true)};
    };
    const std::size_t work = (2 * margin + 1) * (2 * margin + 1);
    return {name, std::move(ours), {side, side, SIDE, margin}, arguments, expected, work, 8.0 * ELEMENTS, flops * ELEMENTS, 1e-5};
}

double of_square(int dx, int dy) { return 0.02 + 0.01 * (dx + 3 * dy); }
double of_neighbours(int dx, int dy) { return (dx == 0) != (dy == 0) ? 0.25 : 0; }

// As large as its input: the edges go through the comparison of bits only.
shape_case clamped() {
    shape_case c = over_plane("jacobi_clamped", {{"", "jacobi_clamped", "jacobi_clamped", place::centre}}, 1, 4, of_neighbours);
    c.arguments = [](const arrays &d, place) {
        return std::vector<agpu_arg>{view(d.a, 0, SIDE, SIDE, SIDE), view(d.out, 0, SIDE, SIDE, SIDE, true)};
    };
    return c;
}

double binomial(int n, int k) {
    double c = 1;
    for (int i = 0; i < k; ++i) c = c * (n - i) / (i + 1);
    return k < 0 || k > n ? 0 : c;
}
// So many ways lead there in K steps, each a quarter of the step before; how far from the middle is what is left and right of a diagonal.
template <int K> double of_walks(int dx, int dy) {
    if ((dx + dy + K) % 2 != 0) return 0;
    return binomial(K, (K + dx + dy) / 2) * binomial(K, (K + dx - dy) / 2) * std::pow(0.25, K);
}

// K steps that keep the border: of these, too, the edges go through the comparison of bits only.
template <int K> shape_case steps() {
    const std::string name = "jacobi " + std::to_string(K) + " steps";
    shape_case c = over_plane(name.c_str(), {{"", "jacobi_steps", "jacobi_steps", place::centre}}, K, 4 * K, of_walks<K>);
    static const std::int64_t count = K;
    c.arguments = [](const arrays &d, place) {
        agpu_arg k{};
        k.kind = AGPU_ARG_SCALAR;
        k.scalar = &count;
        return std::vector<agpu_arg>{view(d.a, 0, SIDE, SIDE, SIDE), k, view(d.out, 0, SIDE, SIDE, SIDE, true)};
    };
    c.bytes *= K; // as if a step were a pass
    return c;
}

shape_case sums(bool of_rows, std::size_t rows, std::size_t cols) {
    const char *function = of_rows ? "row_sums" : "col_sums";
    const std::size_t n = of_rows ? rows : cols, work = of_rows ? cols : rows;
    const auto expected = [=](const inputs &x, std::size_t, std::size_t k) {
        right r{0, 0};
        for (std::size_t i = 0; i < work; ++i) {
            const double e = x.a[of_rows ? k * cols + i : i * cols + k];
            r.value += e;
            r.magnitude += std::fabs(e);
        }
        return r;
    };
    const auto arguments = [=](const arrays &d, place) { return std::vector<agpu_arg>{view(d.a, 0, rows, cols, cols), view(d.out, 0, n, true)}; };
    const std::string name = std::string(function) + " " + std::to_string(rows) + "x" + std::to_string(cols);
    return {name, {{"", function, function, place::start}}, {1, n, n, 0}, arguments, expected, work, 4.0 * double(ELEMENTS + n), 0, 1e-5};
}

shape_case matvec(std::size_t rows, std::size_t cols) {
    const auto expected = [=](const inputs &x, std::size_t, std::size_t k) {
        right r{0, 0};
        for (std::size_t i = 0; i < cols; ++i) {
            const double e = double(x.a[k * cols + i]) * x.b[i];
            r.value += e;
            r.magnitude += std::fabs(e);
        }
        return r;
    };
    const auto arguments = [=](const arrays &d, place) {
        return std::vector<agpu_arg>{view(d.a, 0, rows, cols, cols), view(d.b, 0, cols), view(d.out, 0, rows, true)};
    };
    const std::string name = "matvec " + std::to_string(rows) + "x" + std::to_string(cols);
    return {name, {{"", "matvec", "matvec", place::start}}, {1, rows, rows, 0}, arguments, expected, cols, 4.0 * double(ELEMENTS + rows + cols), 0, 1e-5};
}

// m x k times k x n.
shape_case matmul(std::size_t m, std::size_t k, std::size_t n) {
    const auto expected = [=](const inputs &x, std::size_t i, std::size_t j) {
        right r{0, 0};
        for (std::size_t p = 0; p < k; ++p) {
            const double e = double(x.a[i * k + p]) * x.b[p * n + j];
            r.value += e;
            r.magnitude += std::fabs(e);
        }
        return r;
    };
    const auto arguments = [=](const arrays &d, place) {
        return std::vector<agpu_arg>{view(d.a, 0, m, k, k), view(d.b, 0, k, n, n), view(d.out, 0, m, n, n, true)};
    };
    const std::string name = "matmul " + std::to_string(m) + "x" + std::to_string(k) + "x" + std::to_string(n);
    const double bytes = 4.0 * double(m * k + k * n + m * n), flops = 2.0 * double(m) * double(n) * double(k);
    return {name, {{"", "matmul", "matmul", place::start}}, {m, n, n, 0}, arguments, expected, k, bytes, flops, 1e-5};
}

// One pass against three with two vectors stored between them.
shape_case rmse() {
    const auto expected = [](const inputs &x, std::size_t, std::size_t) {
        double squares = 0;
        for (std::size_t i = 0; i < ELEMENTS; ++i) squares += (double(x.a[i]) - x.b[i]) * (double(x.a[i]) - x.b[i]);
        const double root = std::sqrt(squares / ELEMENTS);
        return right{root, root};
    };
    const auto arguments = [](const arrays &d, place) {
        return std::vector<agpu_arg>{view(d.a, 0, ELEMENTS), view(d.b, 0, ELEMENTS), view(d.scalar, 0, 1, true)};
    };
    const std::vector<variant> ours = {{"", "rmse", "rmse", place::start}, {" unfused", "rmse_unfused", "rmse", place::start}};
    return {"rmse", ours, {0, 0, 0, 0}, arguments, expected, ELEMENTS, 8.0 * ELEMENTS, 0, 1e-5};
}

// The bodies' coordinates and masses are the beginning of a, one after another, and for the peers of b, in groups of four.
shape_case bodies() {
    const auto expected = [](const inputs &x, std::size_t k, std::size_t i) {
        const auto of = [&](std::size_t component, std::size_t body) { return double(x.a[component * BODIES + body]); };
        double sum = 0, most[3] = {};
        for (std::size_t j = 0; j < BODIES; ++j) {
            double d[3], square = EPSILON2;
            for (std::size_t t = 0; t < 3; ++t) {
                d[t] = of(t, j) - of(t, i);
                square += d[t] * d[t];
            }
            const double s = of(3, j) / (square * std::sqrt(square));
            sum += s * d[k];
            for (std::size_t t = 0; t < 3; ++t) most[t] += std::fabs(s * d[t]);
        }
        return right{sum, std::max({most[0], most[1], most[2]})};
    };
    static const float epsilon2 = EPSILON2;
    const auto arguments = [](const arrays &d, place) {
        std::vector<agpu_arg> all;
        for (std::size_t k = 0; k < 4; ++k) all.push_back(view(d.a, k * BODIES, BODIES));
        all.emplace_back();
        all.back().kind = AGPU_ARG_SCALAR;
        all.back().scalar = &epsilon2;
        for (std::size_t k = 0; k < 3; ++k) all.push_back(view(d.out, k * BODIES, BODIES, true));
        return all;
    };
    const std::vector<variant> ours = {{"", "bodies_fast", nullptr, place::start},
                                       {" in order", "bodies_fast_in_order", nullptr, place::start},
                                       {" precise", "bodies", "bodies", place::start}};
    const double n = BODIES;
    return {"bodies", ours, {3, BODIES, BODIES, 0}, arguments, expected, BODIES, 28 * n, 20 * n * n, 1e-5};
}

} // namespace

std::vector<shape_case> shape_cases() {
    std::vector<variant> jacobi = with_and_without("jacobi", "jacobi_direct");
    jacobi.push_back({" into the middle", "jacobi", "jacobi", place::centre}); // as a solver that keeps the edges
    std::vector<shape_case> all = {
        along("difference", "difference_direct", {-1, 1}),
        along("average15", "average15_direct", spencer()),
        along("average31", "average31_direct", triangle(31)),
        along("average63", "average63_direct", triangle(63)),
        over_plane("jacobi", jacobi, 1, 4, of_neighbours),
        clamped(),
        steps<4>(),
        steps<8>(),
        over_plane("square3", with_and_without("square3", "square3_direct"), 1, 18, of_square),
        over_plane("square5", with_and_without("square5", "square5_direct"), 2, 50, of_square),
        over_plane("square7", with_and_without("square7", "square7_direct"), 3, 98, of_square),
        over_plane("square9", with_and_without("square9", "square9_direct"), 4, 162, of_square),
    };
    for (const bool of_rows : {true, false})
        for (const std::size_t rows : {65536, 1024, 64, 1 << 20}) all.push_back(sums(of_rows, rows, ELEMENTS / rows));
    all.push_back(matvec(65536, 1024));
    all.push_back(matmul(4096, 4096, 4096));
    all.push_back(matmul(64, 1 << 20, 64));
    all.push_back(matmul(65536, 1024, 1));
    all.push_back(matmul(1, 65536, 1024));
    all.push_back(rmse());
    all.push_back(bodies());
    return all;
}

std::size_t position(const results &r, place at, std::size_t i, std::size_t j) {
    if (at == place::groups) return 4 * j + i;
    return at == place::centre ? (i + r.margin) * r.pitch + j + r.margin : i * r.pitch + j;
}

double error_of(const shape_case &c, const inputs &x, const float *out, place at) {
    const bool scalar = c.out.rows == 0; // it lies in out[0]
    const std::size_t rows = scalar ? 1 : c.out.rows, cols = scalar ? 1 : c.out.cols, count = rows * cols;
    const std::size_t samples = std::min(count, std::max<std::size_t>(16, (std::size_t(1) << 23) / c.work));
    double most = 0;
    for (std::size_t s = 0; s < samples; ++s) {
        // the first and the last ones, and some anywhere
        const std::size_t k = samples == count ? s : s < 4 ? s : s < 8 ? count - 1 - (s - 4) : (s * UINT64_C(0x9E3779B97F4A7C15)) % count;
        const right r = c.expected(x, k / cols, k % cols);
        const double e = std::fabs(out[position(c.out, at, k / cols, k % cols)] - r.value) / std::max(r.magnitude, 1e-30);
        if (std::isnan(e)) return e;
        most = std::max(most, e);
    }
    return most;
}
