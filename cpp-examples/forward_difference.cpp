// result[i] = xs[i + 1] - xs[i]; also of a view of every third element, which nobody copies.
#include "common/check.hpp"
#include "common/data.hpp"
#include <examples.hpp>

int main() {
    for (const std::size_t n : data::lengths) {
        if (n < 1) continue; // of nothing there is no difference: an error, see bad_input.cpp
        const auto x = data::uniform(n, 1);
        const arraygpu::gpu_vector<float> dx(x);
        std::vector<float> want, thirds;
        for (std::size_t i = 1; i < n; ++i) want.push_back(x[i] - x[i - 1]);
        for (std::size_t i = 3; i < n; i += 3) thirds.push_back(x[i] - x[i - 3]);
        CHECK_EXACT(examples::forward_difference(dx).to_host(), want);
        CHECK_EXACT(examples::forward_difference(arraygpu::subview(dx, 0, n, 3)).to_host(), thirds);
    }
    return check::finish("forward_difference");
}
