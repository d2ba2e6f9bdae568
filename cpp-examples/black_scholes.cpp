// Call and put prices from one pass, beside the formula in double.
#include "common/check.hpp"
#include "common/data.hpp"
#include <examples.hpp>

static double cdf(double d) { return 0.5 * std::erfc(-d * std::sqrt(0.5)); }

int main() {
    const float rate = 0.02f, volatility = 0.3f;
    for (const std::size_t n : data::lengths) {
        // the ranges of the CUDA SDK's example
        const auto price = data::uniform(n, 1, 5, 30), strike = data::uniform(n, 2, 1, 100), years = data::uniform(n, 3, 0.25f, 10);
        std::vector<double> calls(n), puts(n), parity(n);
        for (std::size_t i = 0; i < n; ++i) {
            const double s = price[i], x = strike[i], t = years[i], r = rate, v = volatility;
            const double d1 = (std::log(s / x) + (r + 0.5 * v * v) * t) / (v * std::sqrt(t)), d2 = d1 - v * std::sqrt(t);
            const double discounted = x * std::exp(-r * t);
            calls[i] = s * cdf(d1) - discounted * cdf(d2);
            puts[i] = discounted * cdf(-d2) - s * cdf(-d1);
            parity[i] = s - discounted; // call - put, whatever the model
        }
        using vector = arraygpu::gpu_vector<float>;
        const auto [call, put] = examples::black_scholes(vector(price), vector(strike), vector(years), rate, volatility);
        const auto c = call.to_host(), p = put.to_host();
        std::vector<float> difference(n);
        for (std::size_t i = 0; i < n; ++i) difference[i] = c[i] - p[i];
        // A price is a difference of two terms of up to 100, each good to some 10 roundings of 2^-24: 1.2e-4; in truth 2e-5.
        CHECK_NEAR(c, calls, 0, 5e-5);
        CHECK_NEAR(p, puts, 0, 5e-5);
        CHECK_NEAR(difference, parity, 0, 1e-4);
    }
    return check::finish("black_scholes");
}
