// Staged functions beside themselves without `stage`: the same bits, whatever value they were compiled for last.
#include "common/check.hpp"
#include "common/data.hpp"
#include <examples.hpp>

using vector = arraygpu::gpu_vector<float>;
using host = std::vector<float>;

// Values that change, and more of them than are kept.
static void convolutions() {
    const host x = data::uniform(3000, 1);
    const vector xs(x);
    for (const int round : {0, 1}) {
        for (std::int64_t radius = 0; radius < 20; ++radius) {
            const host want = examples::convolution(xs, radius).to_host();
            CHECK(want.size() == x.size() - 2 * std::size_t(radius));
            CHECK_EXACT(examples::convolution_staged(xs, radius).to_host(), want);
            // the one that it was compiled for a moment ago
            if (round == 1) CHECK_EXACT(examples::convolution_staged(xs, radius).to_host(), want);
        }
    }
    CHECK_EXACT(examples::convolution_staged(xs, 0).to_host(), x);
}

// Windows that do not fit are the same error with and without.
static void too_wide() {
    const vector xs(data::uniform(10, 1));
    std::string messages[2];
    for (int staged = 0; staged < 2; ++staged) {
        try {
            (void)(staged ? examples::convolution_staged(xs, 6) : examples::convolution(xs, 6));
        } catch (const arraygpu::error &e) {
            messages[staged] = e.what();
        }
        CHECK(messages[staged].find("the length -2 is negative") != std::string::npos);
    }
}

static void lengths() {
    for (const std::size_t n : data::lengths) {
        const vector x(data::uniform(n, 2));
        CHECK_EXACT_VALUE(examples::total_staged(x), examples::total(x));
    }
    for (const std::size_t n : {0, 1, 2, 63, 64, 128, 129, 500, 128}) {
        const vector x(data::uniform(n, 1)), y(data::uniform(n, 2)), z(data::uniform(n, 3)), mass(data::uniform(n, 4, 0, 1));
        const auto got = examples::accelerations_staged(x, y, z, mass, 0.01f);
        const auto want = examples::accelerations(x, y, z, mass, 0.01f);
        CHECK_EXACT(got.ax.to_host(), want.ax.to_host());
        CHECK_EXACT(got.ay.to_host(), want.ay.to_host());
        CHECK_EXACT(got.az.to_host(), want.az.to_host());
    }
}

int main() {
    convolutions();
    too_wide();
    lengths();
    return check::finish("staged");
}
