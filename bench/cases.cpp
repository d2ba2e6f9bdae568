// The cases, each with the result in double.
#include "bench.hpp"

#include <cmath>

const float spencer[15] = {-3, -6, -5, 3, 21, 46, 67, 74, 67, 46, 21, 3, -5, -6, -3};

namespace {

double saxpy(const arrays &d, std::size_t i) { return double(alpha) * d.x[i] + d.y[i]; }

double expr3(const arrays &d, std::size_t i) {
    const double a = d.x[i], b = d.y[i], c = d.z[i];
    return (b - (a + 3.75 * c) + c - 0.24 * b) / 27.51 + a - 0.25 * b;
}

double average(const arrays &d, std::size_t i) {
    double s = 0;
    for (std::size_t k = 0; k < 15; ++k) s += double(spencer[k]) / 320 * d.x[i + k];
    return s;
}

template <class Term> double total(std::size_t n, Term term) {
    double s = 0;
    for (std::size_t i = 0; i < n; ++i) s += term(i);
    return s;
}

double sum(const arrays &d, std::size_t) {
    return total(d.n, [&](std::size_t i) { return double(d.x[i]); });
}

double dot(const arrays &d, std::size_t) {
    return total(d.n, [&](std::size_t i) { return double(d.x[i]) * d.y[i]; });
}

double rmse(const arrays &d, std::size_t) {
    return std::sqrt(total(d.n, [&](std::size_t i) { return (double(d.x[i]) - d.y[i]) * (double(d.x[i]) - d.y[i]); }) / double(d.n));
}

#ifdef BENCH_EIGEN
#define EIGEN(f) , {"eigen", eigen::f}
#else
#define EIGEN(f)
#endif

} // namespace

const std::vector<test_case> &cases() {
    static const std::vector<test_case> all = {
        {"saxpy", 2, 1, saxpy, {{"c++", hand::saxpy} EIGEN(saxpy)}, ours::saxpy},
        {"expr3", 3, 1, expr3, {{"c++", hand::expr3} EIGEN(expr3)}, ours::expr3},
        {"sum", 1, 0, sum, {{"c++", hand::sum}, {"c++ 64 acc.", hand::sum_wide} EIGEN(sum)}, ours::sum},
        {"dot", 2, 0, dot, {{"c++", hand::dot}, {"c++ 64 acc.", hand::dot_wide} EIGEN(dot)}, ours::dot},
        {"rmse", 2, 0, rmse, {{"c++", hand::rmse}, {"c++ 64 acc.", hand::rmse_wide} EIGEN(rmse)}, ours::rmse},
        {"average", 1, 1, average, {{"c++", hand::average} EIGEN(average)}, ours::average},
    };
    return all;
}
