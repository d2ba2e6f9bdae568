// Root mean square error, in one pass and with temporary vectors: the same bits.
#include "common/check.hpp"
#include "common/data.hpp"
#include "common/reference.hpp"
#include <examples.hpp>

int main() {
    for (const std::size_t n : data::lengths) {
        const auto x = data::uniform(n, 1), y = data::uniform(n, 2);
        std::vector<float> squares(n);
        double sum = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const float d = x[i] - y[i];
            squares[i] = d * d;
            sum += (double(x[i]) - y[i]) * (double(x[i]) - y[i]);
        }
        const arraygpu::gpu_vector<float> dx(x), dy(y);
        const float got = examples::rmse(dx, dy);
        CHECK_EXACT_VALUE(examples::rmse_unfused(dx, dy), got);
        if (n == 0) {
            CHECK(std::isnan(got)); // 0 / 0
            continue;
        }
        CHECK_EXACT_VALUE(got, std::sqrt(reference::sum(squares) / float(n)));
        // All terms are positive, so the sum's relative error is at most (2 * 23 + 3) * 2^-24; the root halves it.
        CHECK_NEAR_VALUE(got, std::sqrt(sum / double(n)), 26 * 0x1p-24, 0);
    }
    return check::finish("rmse");
}
