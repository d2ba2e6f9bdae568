// ARRAYGPU_CHECK=1: where a number that is none arises, with the author's line. On the default device and on the CPU.
#include "check.hpp"
#include <arraygpu/expr.hpp>
#include <cmath>
#include <cstdlib>
#include <examples.hpp>
#include <limits>

using namespace arraygpu;

static void checked(const context &c) {
    const gpu_vector<float> zeros(std::vector<float>(5000, 0.0f), c), ones(std::vector<float>(5000, 1.0f), c);
    // 0 / |0|: the norm is a number, the quotient is not
    CHECK_THROWS(AGPU_ERROR_RECORD, "result at 0 is NaN", examples::et_normalise(zeros));
    CHECK_THROWS(AGPU_ERROR_RECORD, "expression_templates.rs:", examples::et_normalise(zeros));
    CHECK(examples::et_normalise(ones).to_host()[4999] == 1.0f / std::sqrt(5000.0f));
    // expressions have no line, but a kernel
    gpu_vector<float> out(5000, c);
    CHECK_THROWS(AGPU_ERROR_RECORD, "is NaN, and nothing that the kernel", out = (zeros / zeros) + ones);
    std::vector<float> some(5000, 1.0f);
    some[4321] = std::numeric_limits<float>::quiet_NaN();
    const gpu_vector<float> bad(some, c);
    out = bad * ones;
    CHECK(std::isnan(out.to_host()[4321]));
}

int main() {
    setenv("ARRAYGPU_CHECK", "1", 1);
    checked(context());
    checked(context::cpu());
    return failures;
}
