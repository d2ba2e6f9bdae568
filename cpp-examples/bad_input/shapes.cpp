// Shapes that do not fit: an error that names function, argument and sizes; the outputs do not change.
#include "expect.hpp"
#include <checks.hpp>
#include <examples.hpp>
#include <limits>

using vector = arraygpu::gpu_vector<float>;

static vector filled(std::size_t n, float value = 1) { return vector(std::vector<float>(n, value)); }

static void lengths_that_differ() {
    const vector x = filled(5), y = filled(7);
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"add", "x", "y", "5", "7"}), checks::add(x, y));
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"rmse", "x", "y", "5", "7"}), examples::rmse(x, y));
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"sdot", "x", "y", "5", "7"}), examples::sdot(x, y));

    float result = -1;
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"rmse"}), examples::rmse(x, y, result));
    CHECK(result == -1);
    vector out = filled(5, -1);
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"add", "5", "7"}), checks::add(x, y, out));
    CHECK_EXACT(out.to_host(), std::vector<float>(5, -1));
}

static void outputs_of_the_wrong_length() {
    const vector x = filled(20), y = filled(20);
    vector out = filled(19, -1);
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"add", "result", "19", "20"}), checks::add(x, y, out));
    CHECK_EXACT(out.to_host(), std::vector<float>(19, -1));
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"wmavg", "result", "19", "6"}), examples::wmavg(x, out));
    CHECK_EXACT(out.to_host(), std::vector<float>(19, -1));

    // Several results: the error in one of them leaves the others alone.
    float mean = -1, deviation = -1;
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"standardise", "scores", "19", "20"}), examples::standardise(x, mean, deviation, out));
    CHECK(mean == -1 && deviation == -1);
    CHECK_EXACT(out.to_host(), std::vector<float>(19, -1));
}

static void too_short_an_input() {
    // n - 14 elements for 15 weights: of 13 elements the slices would stop at -1
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"wmavg", "xs", "-1", "len(xs) = 13"}), examples::wmavg(filled(13)));
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"wmavg", "xs", "-14"}), examples::wmavg(vector(0)));
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"forward_difference", "xs", "0", "1"}), examples::forward_difference(vector(0)));
    CHECK(examples::wmavg(filled(14)).size() == 0);
    CHECK(examples::forward_difference(filled(1)).size() == 0);
}

static void slices_by_scalar_arguments() {
    const vector x(std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
    const auto max = std::numeric_limits<std::int64_t>::max(), min = std::numeric_limits<std::int64_t>::min();
    CHECK_EXACT(checks::window(x, 2, 5).to_host(), (std::vector<float>{2, 3, 4}));
    CHECK(checks::window(x, 10, 10).size() == 0);
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"window", "x", "-1"}), checks::window(x, -1, 5));
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"window", "x", "11", "10"}), checks::window(x, 2, 11));
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"window", "x", "6", "5"}), checks::window(x, 6, 5));
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"window", "x", "9223372036854775807"}), checks::window(x, 0, max));
    // stop - start overflows: still an error, not a length
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"window", "x", "-9223372036854775808"}), checks::window(x, min, max));
    CHECK_ERROR(AGPU_ERROR_SHAPE, ({"window", "x"}), checks::window(x, max, min));
}

static void views_past_the_end() {
    vector x(std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
    CHECK_EXACT(checks::twice(arraygpu::subview(x, 1, 10, 4)).to_host(), (std::vector<float>{2, 10, 18}));
    CHECK_ERROR(AGPU_ERROR_OUT_OF_BOUNDS, ({"11", "10"}), arraygpu::subview(x, 0, 11));
    CHECK_ERROR(AGPU_ERROR_OUT_OF_BOUNDS, ({"-1"}), arraygpu::subview(x, -1, 5));
    CHECK_ERROR(AGPU_ERROR_OUT_OF_BOUNDS, ({"7", "6"}), arraygpu::subview(x, 7, 6));
    // a view of a view cannot reach what its parent does not show
    const auto middle = arraygpu::subview(x, 2, 8);
    CHECK_EXACT(checks::twice(arraygpu::subview(middle, 4, 6)).to_host(), (std::vector<float>{12, 14}));
    CHECK_ERROR(AGPU_ERROR_OUT_OF_BOUNDS, ({"7", "6"}), arraygpu::subview(middle, 4, 7));
}

int main() {
    lengths_that_differ();
    outputs_of_the_wrong_length();
    too_short_an_input();
    slices_by_scalar_arguments();
    views_past_the_end();
    return check::finish("shapes");
}
