// Scalars and a vector from one function, by name.
#include "common/check.hpp"
#include "common/data.hpp"
#include "common/reference.hpp"
#include <examples.hpp>

int main() {
    for (const std::size_t n : data::lengths) {
        if (n < 2) continue; // the deviation of one value is 0, its score 0 / 0
        const auto x = data::uniform(n, 1, 10, 20);
        const float want_mean = reference::sum(x) / float(n);
        std::vector<float> squares(n), want(n);
        for (std::size_t i = 0; i < n; ++i) {
            const float d = x[i] - want_mean;
            squares[i] = d * d;
        }
        const float want_deviation = std::sqrt(reference::sum(squares) / float(n));
        for (std::size_t i = 0; i < n; ++i) want[i] = (x[i] - want_mean) / want_deviation;

        const arraygpu::gpu_vector<float> dx(x);
        const auto [mean, deviation, scores] = examples::standardise(dx);
        CHECK_EXACT_VALUE(mean, want_mean);
        CHECK_EXACT_VALUE(deviation, want_deviation);
        CHECK_EXACT(scores.to_host(), want);

        float m = 0, d = 0; // the same into what the caller has
        arraygpu::gpu_vector<float> s(n);
        examples::standardise(dx, m, d, s);
        CHECK_EXACT_VALUE(m, want_mean);
        CHECK_EXACT_VALUE(d, want_deviation);
        CHECK_EXACT(s.to_host(), want);
    }
    return check::finish("standardise");
}
