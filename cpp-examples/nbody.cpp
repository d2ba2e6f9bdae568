// All pairs: accelerations beside double, and a system that must not move: the pulls on it cancel to the bit.
#include "common/check.hpp"
#include "common/data.hpp"
#include <examples.hpp>

using vector = arraygpu::gpu_vector<float>;
using host = std::vector<float>;

static void beside_double(std::size_t n) {
    const host x = data::uniform(n, 1), y = data::uniform(n, 2), z = data::uniform(n, 3), mass = data::uniform(n, 4, 0, 1);
    const float epsilon2 = 0.01f;
    const auto got = examples::accelerations(vector(x), vector(y), vector(z), vector(mass), epsilon2);
    const host found[3] = {got.ax.to_host(), got.ay.to_host(), got.az.to_host()};
    const host *const at[3] = {&x, &y, &z};
    CHECK(found[0].size() == n);
    for (std::size_t i = 0; i < n; ++i) {
        double sum[3] = {}, magnitude[3] = {};
        for (std::size_t j = 0; j < n; ++j) {
            double d[3], square = epsilon2;
            for (int k = 0; k < 3; ++k) {
                d[k] = double((*at[k])[j]) - (*at[k])[i];
                square += d[k] * d[k];
            }
            for (int k = 0; k < 3; ++k) {
                const double pull = mass[j] * d[k] / (square * std::sqrt(square));
                sum[k] += pull;
                magnitude[k] += std::fabs(pull);
            }
        }
        // A pull is good to some ten roundings; a sum of up to 2048 adds at most 23 more to each.
        for (int k = 0; k < 3; ++k) CHECK_NEAR_VALUE(found[k][i], sum[k], 0, 40 * 0x1p-24 * magnitude[k]);
    }
}

// Two equal bodies pull each other by the same amount; a body between them, not at all.
static void three_in_a_row() {
    const vector x(host{-1, 0, 1}), y(host{0, 0, 0}), z(host{0, 0, 0}), mass(host{2, 5, 2});
    const auto [ax, ay, az] = examples::accelerations(x, y, z, mass, 0.0f + 0x1p-10f);
    const host a = ax.to_host();
    CHECK(a[1] == 0 && a[0] > 0 && a[0] == -a[2]);
    CHECK_EXACT(ay.to_host(), (host{0, 0, 0}));
    CHECK_EXACT(az.to_host(), (host{0, 0, 0}));
}

int main() {
    for (const std::size_t n : {0, 1, 2, 3, 64, 127, 128, 129, 300, 1500}) beside_double(n);
    three_in_a_row();
    return check::finish("nbody");
}
