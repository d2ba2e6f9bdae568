// Spencer's 15-point average: exact bits, and the property that the formula is known for: it reproduces a cubic.
#include "common/check.hpp"
#include "common/data.hpp"
#include "common/reference.hpp"
#include <examples.hpp>

static std::vector<float> average(const std::vector<float> &x) {
    const auto w = reference::spencer();
    std::vector<float> result(x.size() - 14);
    for (std::size_t i = 0; i < result.size(); ++i) {
        float s = w[0] * x[i];
        for (std::size_t k = 1; k < 15; ++k) s = s + w[k] * x[i + k];
        result[i] = s;
    }
    return result;
}

int main() {
    for (const std::size_t n : data::lengths) {
        if (n < 14) continue; // shorter inputs are an error: bad_input.cpp
        const auto x = data::uniform(n, 1);
        CHECK_EXACT(examples::wmavg(arraygpu::gpu_vector<float>(x)).to_host(), average(x));
    }
    CHECK(examples::wmavg(arraygpu::gpu_vector<float>(std::vector<float>(14))).size() == 0);

    std::vector<float> cubic(200);
    std::vector<double> middle;
    for (std::size_t i = 0; i < cubic.size(); ++i) {
        const double t = (double(i) - 100) / 100;
        cubic[i] = float(1 + t - 2 * t * t + 3 * t * t * t);
        if (i >= 7 && i < cubic.size() - 7) middle.push_back(cubic[i]);
    }
    // The weights' absolute values sum to 1.35, the values are below 5: 30 roundings of at most 7 * 2^-24 each.
    CHECK_NEAR(examples::wmavg(arraygpu::gpu_vector<float>(cubic)).to_host(), middle, 0, 30 * 7 * 0x1p-24);
    return check::finish("wmavg");
}
