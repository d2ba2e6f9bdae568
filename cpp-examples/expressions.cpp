// The four tests of "Simplified usage of parallel graphics hardware for vector calculus with expression templates" (WSCG 2011), written as there:
// nothing was generated before, each assignment is compiled when it first runs. The results are those of the functions that were generated ahead of
// time, to the bit.
#include "common/check.hpp"
#include "common/data.hpp"
#include "common/launches.hpp"
#include <arraygpu/expr.hpp>
#include <examples.hpp>

using cudaVec = arraygpu::gpu_vector<float>;

int main() {
    for (const std::size_t n : data::lengths) {
        cudaVec a(data::uniform(n, 1));
        const cudaVec b(data::uniform(n, 2)), c(data::uniform(n, 3));
        const cudaVec expr3 = examples::et_expr3(a, b, c), unit = examples::et_normalise(a);

        // one kernel; of nothing it need not be launched
        const auto one = [n](auto f) { return check::launches(f) == 1 || n == 0; };

        // test 1
        cudaVec sum(n);
        CHECK(one([&] { sum = b + c; }));
        CHECK_EXACT(sum.to_host(), examples::et_add(b, c).to_host());
        // test 2
        CHECK(one([&] { sum = 0.12f * b + 7.54f * c; }));
        CHECK_EXACT(sum.to_host(), examples::et_axpby(b, c).to_host());
        // test 3: reads what it writes
        cudaVec d = a.clone();
        CHECK(one([&] { d = (b - (d + 3.75f * c) + c - 0.24f * b) / 27.51f + d - 0.25f * b; }));
        CHECK_EXACT(d.to_host(), expr3.to_host());
        // test 4: the norm is a pass of its own, as there
        CHECK(check::launches([&] { a = a / norm(a); }) <= 2);
        CHECK_EXACT(a.to_host(), unit.to_host());

        // a scalar: one launch, one number comes back
        if (n > 0) {
            float r = 0;
            CHECK(check::launches([&] { r = sqrt(arraygpu::sum((b - c) * (b - c)) / n); }) == 1);
            CHECK_EXACT_VALUE(r, examples::rmse(b, c));
        }
    }
    return check::finish("expressions");
}
