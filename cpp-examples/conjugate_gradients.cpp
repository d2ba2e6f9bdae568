// Poisson's equation on a square, by conjugate gradients (Hestenes and Stiefel 1952): the matrix of the five-point stencil is in CSR, its product with a
// vector a reduction of segments, and the whole solver one program that stops by itself.
#include "common/check.hpp"
#include <arraygpu/expr.hpp>

namespace gpu = arraygpu;
using std::get;

/// A sparse matrix: the elements of its rows one after the other, their columns, and where each row begins.
struct csr {
    std::vector<double> values;
    std::vector<std::int64_t> columns, offsets{0};
};
/// Minus the Laplacian on side x side inner points, 0 around them.
static csr poisson(std::int64_t side) {
    csr m;
    for (std::int64_t i = 0; i < side; ++i) {
        for (std::int64_t j = 0; j < side; ++j) {
            const auto put = [&](std::int64_t row, std::int64_t col, double value) {
                if (row < 0 || row >= side || col < 0 || col >= side) return;
                m.values.push_back(value);
                m.columns.push_back(row * side + col);
            };
            put(i - 1, j, -1);
            put(i, j - 1, -1);
            put(i, j, 4);
            put(i, j + 1, -1);
            put(i + 1, j, -1);
            m.offsets.push_back(std::int64_t(m.values.size()));
        }
    }
    return m;
}
static std::vector<double> product(const csr &m, const std::vector<double> &x) {
    std::vector<double> y(m.offsets.size() - 1);
    for (std::size_t row = 0; row < y.size(); ++row)
        for (std::int64_t k = m.offsets[row]; k < m.offsets[row + 1]; ++k) y[row] += m.values[std::size_t(k)] * x[std::size_t(m.columns[std::size_t(k)])];
    return y;
}

static void solve(std::int64_t side) {
    const csr host = poisson(side);
    std::vector<double> wanted(std::size_t(side * side));
    for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = std::sin(double(i % 17)) + double(i % 5);
    const std::vector<double> right = product(host, wanted);

    const gpu::gpu_vector<double> values(host.values), b(right);
    const gpu::gpu_vector<std::int64_t> columns(host.columns), offsets(host.offsets);
    const auto times = [&](const auto &p) {
        return gpu::segmented_reduce(gpu::map([&](auto value, auto column) { return value * gpu::at(p, column); }, values, columns), offsets, 0);
    };
    const auto step = [&](const auto &x, const auto &r, const auto &p, const auto &rr) {
        const auto q = gpu::materialize(times(p));
        const auto alpha = rr / dot(p, q);
        const auto rest = r - alpha * q;
        const auto next = dot(rest, rest);
        return std::make_tuple(x + alpha * p, rest, rest + next / rr * p, next);
    };
    const double small = 1e-20;
    const auto begin = std::make_tuple(0 * b, +b, +b, dot(b, b));
    const auto unsolved = [&](const auto &, const auto &, const auto &, const auto &rr) { return rr > small; };
    const auto [x, steps] = gpu::eval(gpu::iterate_while(2 * side * side, begin, unsolved, step).check_every(1));
    const std::vector<double> found = get<0>(x).to_host(), again = product(host, found);
    double residual = 0, error = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
        residual += (again[i] - right[i]) * (again[i] - right[i]);
        error = std::fmax(error, std::fabs(found[i] - wanted[i]));
    }
    std::printf("%lld unknowns, %lld steps: residual %.1e, greatest error %.1e\n", static_cast<long long>(side * side), static_cast<long long>(steps),
                std::sqrt(residual), error);
    CHECK(std::sqrt(residual) < 1e-9 && error < 1e-9 && steps > 1 && steps < 6 * side);
}

int main() {
    solve(4);
    solve(32);
    return check::finish("conjugate_gradients");
}
