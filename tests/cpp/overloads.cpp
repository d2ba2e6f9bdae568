// The forms of a generated function: results returned, written, or left on the device, with and without options; and how errors arrive.
#include <cstdio>
#include <examples.hpp>
#include <string>
#include <type_traits>

using arraygpu::gpu_vector;
using view = arraygpu::gpu_vector_view<const float>;
using out = arraygpu::gpu_vector_view<float>;
const arraygpu::call_options *options = nullptr;

static_assert(std::is_same_v<decltype(examples::rmse(std::declval<view>(), std::declval<view>())), float>);
static_assert(std::is_same_v<decltype(examples::wmavg(std::declval<view>())), gpu_vector<float>>);
static_assert(std::is_same_v<decltype(examples::wmavg(std::declval<view>(), std::declval<out>())), void>);
static_assert(std::is_same_v<decltype(examples::standardise(*options, std::declval<view>())), examples::standardise_result>);
static_assert(std::is_same_v<decltype(examples::standardise_result::scores), gpu_vector<float>>);
// a view of constants cannot be written
static_assert(!std::is_convertible_v<view, out>);

static int failures = 0;
#define CHECK(condition)                                                   \
    do {                                                                   \
        if (!(condition)) {                                                \
            std::fprintf(stderr, "%d: not so: %s\n", __LINE__, #condition); \
            ++failures;                                                    \
        }                                                                  \
    } while (0)

int main() {
    const gpu_vector<float> x{1, 2, 3, 4};
    gpu_vector<float> y{1, 2, 3, 8}, scores(4);
    float r = 0, mean = 0, deviation = 0;

    examples::rmse(x, y, r);
    CHECK(r == 2);
    CHECK(examples::rmse(x, y) == r);

    arraygpu::context two(2);
    examples::rmse(arraygpu::call_options(), x, y, r = 0);
    CHECK(r == 2);
    const gpu_vector<float> there({1, 2, 3, 4}, two), there_too({1, 2, 3, 8}, two);
    CHECK(examples::rmse({two}, there, there_too) == 2);
    CHECK(examples::wmavg(gpu_vector<float>(std::vector<float>(14), two)).empty());

    gpu_vector<float> one(1), two_elements(2);
    CHECK(examples_rmse_device(nullptr, x.c_view(), y.c_view(), one.c_view()) == AGPU_OK);
    CHECK(one.to_host() == std::vector<float>{2});
    CHECK(examples_rmse_device(nullptr, x.c_view(), y.c_view(), two_elements.c_view()) == AGPU_ERROR_SHAPE);

    arraygpu::gpu_scalar<float> kept;
    CHECK(kept.get() == 0);
    examples::rmse(x, y, kept);
    CHECK(kept.get() == 2 && kept.view().to_host() == one.to_host());
    arraygpu::gpu_scalar<float> kept_there{two};
    examples::rmse({two}, there, there_too, kept_there);
    CHECK(kept_there.get() == 2);
    kept_there.set(3);
    kept = std::move(kept_there);
    CHECK(kept.get() == 3);

    auto [m, d, s] = examples::standardise(x);
    arraygpu::gpu_scalar<float> kept_mean, kept_deviation;
    examples::standardise(x, kept_mean, kept_deviation, scores);
    CHECK(m == kept_mean.get() && d == kept_deviation.get() && s.to_host() == scores.to_host());
    scores.fill(0);
    examples::standardise(x, mean, deviation, scores);
    CHECK(m == mean && d == deviation && s.to_host() == scores.to_host());
    examples::saxpy(2, x, y, y);
    CHECK((y.to_host() == std::vector<float>{3, 6, 9, 16}));
    CHECK((examples::saxpy(1, x, arraygpu::subview(y, 0, 4)).to_host() == std::vector<float>{4, 8, 12, 20}));

    try {
        r = -1;
        examples::rmse(x, arraygpu::subview(y, 0, 3), r);
        CHECK(!"an error");
    } catch (const arraygpu::error &e) {
        CHECK(e.code() == AGPU_ERROR_SHAPE && r == -1);
        CHECK(std::string(e.what()).find("rmse") != std::string::npos);
    }
    std::printf("overloads: %s\n", failures == 0 ? "ok" : "FAILED");
    return failures;
}
