// A package's function, an expression that is compiled here, and an error, in a program that is optimised when it is
// linked.
#include "../check.hpp"
#include <arraygpu/expr.hpp>
#include <examples.hpp>

extern "C" agpu_status saxpy_of_three(float a, float *x, float *y);

int main() {
    float x[3] = {1, 2, 3}, y[3] = {10, 20, 30};
    CHECK(saxpy_of_three(2, x, y) == AGPU_OK);
    CHECK(y[0] == 12 && y[1] == 24 && y[2] == 36);

    const arraygpu::gpu_vector<float> a{1, 2, 3}, b{4, 5, 6, 7};
    arraygpu::gpu_vector<float> out(3);
    out = 2.0f * a + 1.0f;
    CHECK(out.to_host() == std::vector<float>{3, 5, 7});
    CHECK_THROWS(AGPU_ERROR_SHAPE, "examples::rmse", examples::rmse(a, b));
    return failures == 0 ? 0 : 1;
}
