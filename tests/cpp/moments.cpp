// Variances, norms, softmax of expressions: values, special numbers, halves; how many kernels.
#include "check.hpp"
#include <arraygpu/expr.hpp>
#include <cmath>
#include <vector>

using namespace arraygpu;

static const float inf = INFINITY;

template <class E> static bool is(const E &e, float want) {
    const float found = float(eval(e));
    return found == want || (std::isnan(found) && std::isnan(want));
}
static bool same(const std::vector<float> &found, const std::vector<float> &want) {
    bool equal = found.size() == want.size();
    for (std::size_t i = 0; equal && i < want.size(); ++i)
        equal = found[i] == want[i] || (std::isnan(found[i]) && std::isnan(want[i]));
    return equal;
}
template <class E> static std::vector<float> vector_of(const E &e) { return gpu_vector<float>(e).to_host(); }
template <class E> static std::vector<float> matrix_of(const E &e) { return gpu_matrix<float>(e).to_host(); }

static void moments() {
    const gpu_vector<float> x{1, 2, 3, 4}, one{7}, none;
    CHECK(is(variance(x), 1.25f) && is(variance(x, 1), 5.0f / 3) && is(stddev(x + x), std::sqrt(5.0f)));
    CHECK(std::isnan(float(variance(none))) && is(variance(one), 0) && std::isnan(float(variance(one, 1))) && is(variance(x, 5), inf));
    CHECK(kernels(variance(x)) == 1);
    CHECK(is(variance(subview(x, 1, 4)), 2.0f / 3));
    std::vector<float> large(5000);
    for (std::size_t i = 0; i < large.size(); ++i) large[i] = 1e6f + float(i % 4);
    CHECK(std::fabs(float(variance(gpu_vector<float>(large))) - 1.25f) < 1e-5f);
    const gpu_vector<half> small{half(300), half(400)};
    CHECK(float(eval(variance(small))) == 2500 && float(eval(at(normalise(small), 0))) == float(half(0.6f)));
    const gpu_matrix<float> m{{1, 2}, {5, 4}};
    CHECK(is(variance(m), 2.5f) && is(norm(m), std::sqrt(46.0f)));
    CHECK(same(vector_of(variance_rows(m, 1)), {0.5f, 0.5f}) && same(vector_of(variance_cols(m)), {4, 1}));
    CHECK(same(vector_of(stddev_rows(m)), {0.5f, 0.5f}) && same(vector_of(stddev_cols(m)), {2, 1}));
    const gpu_matrix<float> n{{3, 4}, {0, 0}};
    CHECK(same(vector_of(norm_rows(n)), {5, 0}) && same(vector_of(norm_cols(n)), {3, 4}));
    CHECK(same(matrix_of(normalise_rows(n)), {0.6f, 0.8f, NAN, NAN}) && same(matrix_of(normalise_cols(n)), {1, 1, 0, 0}));
    CHECK(same(vector_of(normalise(row(n, 0))), {0.6f, 0.8f}));
}

static void exponents() {
    const gpu_vector<float> none, nothing{-inf, -inf}, some{-inf, 3}, all{inf, 3}, great{1000, 0};
    CHECK(is(log_sum_exp(none), -inf) && is(log_sum_exp(nothing), -inf) && is(log_sum_exp(some), 3) && is(log_sum_exp(all), inf));
    CHECK(is(log_sum_exp(great), 1000));
    CHECK(same(vector_of(softmax(nothing)), {NAN, NAN}) && same(vector_of(softmax(some)), {0, 1}) && same(vector_of(softmax(all)), {NAN, 0}));
    CHECK(same(vector_of(softmax(great)), {1, 0}));
    const gpu_matrix<float> m{{0, 0}, {1000, 0}};
    CHECK(same(matrix_of(softmax_rows(m)), {0.5f, 0.5f, 1, 0}) && same(matrix_of(softmax_cols(m)), {0, 0.5f, 1, 0.5f}));
    // one that keeps a row, and those that run where a row is too long
    CHECK(kernels(softmax_rows(m)) == 1 + 3 && kernels(log_sum_exp_rows(m)) == 1 + 2 && kernels(normalise_rows(m)) == 1 + 2);
    CHECK(same(vector_of(log_sum_exp_rows(m)), {std::log(2.0f), 1000}));
    CHECK(same(vector_of(log_sum_exp_cols(m)), {1000, std::log(2.0f)}));
}

int main() {
    moments();
    exponents();
    std::printf("moments: %s\n", failures == 0 ? "ok" : "FAILED");
    return failures;
}
