// The dot product: close to the sum in double, and exactly the sum in arraygpu's order.
#include "common/check.hpp"
#include "common/data.hpp"
#include "common/reference.hpp"
#include <examples.hpp>

int main() {
    std::vector<std::size_t> lengths = data::lengths;
    lengths.push_back(2048 * 2048 + 5); // the order has three levels from here on
    for (const std::size_t n : lengths) {
        const auto x = data::uniform(n, 1), y = data::uniform(n, 2);
        double exact = 0, magnitude = 0;
        for (std::size_t i = 0; i < n; ++i) {
            exact += double(x[i]) * y[i];
            magnitude += std::fabs(double(x[i]) * y[i]);
        }
        const float got = examples::sdot(arraygpu::gpu_vector<float>(x), arraygpu::gpu_vector<float>(y));
        CHECK_EXACT_VALUE(got, reference::dot(x, y));
        // A term passes through at most 16 + 7 additions on each level, each off by a relative 2^-24.
        CHECK_NEAR_VALUE(got, exact, 0, 3 * 23 * 0x1p-24 * magnitude);
    }
    return check::finish("sdot");
}
