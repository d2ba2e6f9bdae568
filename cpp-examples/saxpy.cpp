// a * x + y. Both forms of a call: a new vector as result, and an output given by the caller.
#include "common/check.hpp"
#include "common/data.hpp"
#include <examples.hpp>

int main() {
    for (const std::size_t n : data::lengths) {
        const auto x = data::uniform(n, 1), y = data::uniform(n, 2);
        const arraygpu::gpu_vector<float> dx(x), dy(y);
        std::vector<float> want(n); // two roundings, as written: so the bits are known
        for (std::size_t i = 0; i < n; ++i) want[i] = 2.5f * x[i] + y[i];

        CHECK_EXACT(examples::saxpy(2.5f, dx, dy).to_host(), want);

        arraygpu::gpu_vector<float> out(n);
        examples::saxpy(2.5f, dx, dy, out);
        CHECK_EXACT(out.to_host(), want);
    }
    return check::finish("saxpy");
}
