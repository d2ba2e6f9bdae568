// Eigen's expressions. Eigen runs array expressions on one thread; on several, each thread gets a part of the arrays, as a user would do it.
#include "bench.hpp"

#include <Eigen/Core>
#include <cmath>
#include <omp.h>

namespace eigen {

using input = Eigen::Map<const Eigen::ArrayXf>;
using output = Eigen::Map<Eigen::ArrayXf>;

// Calls f(begin, length) for each thread's part of 0..n.
template <class F> static void parts(std::size_t n, int threads, F f) {
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        const auto t = std::size_t(omp_get_thread_num()), all = std::size_t(omp_get_num_threads());
        const std::size_t begin = n * t / all, end = n * (t + 1) / all;
        f(begin, Eigen::Index(end - begin));
    }
}

template <class F> static float sum_of_parts(std::size_t n, int threads, F f) {
    double total = 0;
    parts(n, threads, [&](std::size_t begin, Eigen::Index length) {
        const double part = double(f(begin, length));
#pragma omp atomic
        total += part;
    });
    return float(total);
}

void saxpy(arrays &d, int threads) {
    parts(d.n, threads, [&](std::size_t i, Eigen::Index m) { output(d.out + i, m) = alpha * input(d.x + i, m) + input(d.y + i, m); });
}

void expr3(arrays &d, int threads) {
    parts(d.n, threads, [&](std::size_t i, Eigen::Index m) {
        const input a(d.x + i, m), b(d.y + i, m), c(d.z + i, m);
        output(d.out + i, m) = (b - (a + 3.75f * c) + c - 0.24f * b) / 27.51f + a - 0.25f * b;
    });
}

void average(arrays &d, int threads) {
    parts(d.n - 14, threads, [&](std::size_t i, Eigen::Index m) {
        const auto term = [&](std::size_t k) { return (spencer[k] / 320) * input(d.x + i + k, m); };
        output(d.out + i, m) = term(0) + term(1) + term(2) + term(3) + term(4) + term(5) + term(6) + term(7) + term(8) + term(9) +
                               term(10) + term(11) + term(12) + term(13) + term(14);
    });
}

void sum(arrays &d, int threads) {
    d.scalar = sum_of_parts(d.n, threads, [&](std::size_t i, Eigen::Index m) { return input(d.x + i, m).sum(); });
}

void dot(arrays &d, int threads) {
    d.scalar = sum_of_parts(d.n, threads, [&](std::size_t i, Eigen::Index m) {
        return input(d.x + i, m).matrix().dot(input(d.y + i, m).matrix());
    });
}

void rmse(arrays &d, int threads) {
    const float squares = sum_of_parts(d.n, threads, [&](std::size_t i, Eigen::Index m) {
        return (input(d.x + i, m) - input(d.y + i, m)).square().sum();
    });
    d.scalar = std::sqrt(squares / float(d.n));
}

} // namespace eigen
