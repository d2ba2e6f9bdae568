// Denoising by views, compiled while the program runs. The iteration is written for any operators (gradient.hpp) and proximal operators (proximal.hpp),
// as FlexBox's is; where these views meet, they are one kernel.
#pragma once

#include "gradient.hpp"
#include "proximal.hpp"
#include "settings.hpp"
#include <utility>

namespace composed {

using pixels = gpu::gpu_vector<float>;

struct next_state {
    image u;
    field y;
};

// One iteration, not computed yet.
inline next_state iteration(const image &f, const image &u, const field &y, const extents &size, const settings &by) {
    const auto moved = view::zip(u, divergence(y, size)) | view::transform([&](auto value, auto along) { return value + by.tau * along; });
    const image next = view::zip(moved, f) | view::transform(fidelity{by.tau});
    const image ahead = view::zip(next, u) | view::transform([](auto after, auto before) { return 2.0f * after - before; });
    const auto ascend = [&](auto value, auto along) { return value + by.sigma * along; };
    const field slope = gradient(ahead, size);
    const auto cut = view::zip(view::zip(y.x, slope.x) | view::transform(ascend), view::zip(y.y, slope.y) | view::transform(ascend)) |
                     view::transform(total_variation{by.alpha});
    return {next, {gpu::get<0>(cut).array(), gpu::get<1>(cut).array()}};
}

// The primal-dual residual between an iterate and the next, a pixel.
inline gpu::expr<float> residual(const image &u, const field &y, const image &v, const field &z, const extents &size, const settings &by) {
    const field moved{y.x - z.x, y.y - z.y}, slope = gradient(u - v, size);
    const auto primal = view::zip(u - v, divergence(moved, size)) | view::transform([&](auto d, auto along) { return abs(d / by.tau + along); });
    const auto part = [&](auto d, auto along) { return abs(d / by.sigma - along); };
    const auto dual = view::zip(view::zip(moved.x, slope.x) | view::transform(part), view::zip(moved.y, slope.y) | view::transform(part)) |
                      view::transform([](auto x, auto y) { return x + y; });
    const auto both = view::zip(primal, dual) | view::transform([](auto p, auto d) { return p + d; });
    return (both | gpu::reduce(0.0f)) / float(size.pixels());
}

inline state<pixels> begin(const pixels &f) { return {f.clone(), pixels(f.size()), pixels(f.size())}; }

// As package::denoise. The new state goes into the arrays of the state before the last.
inline outcome denoise(const pixels &f, std::size_t cols, state<pixels> &s, const settings &by) {
    const extents size{std::int64_t(f.size() / cols), gpu::stage(std::int64_t(cols))};
    state<pixels> spare{pixels(f.size()), pixels(f.size()), pixels(f.size())};
    outcome r{0, 0};
    do {
        for (std::int64_t k = 1; k <= by.between; ++k) {
            const field y{+s.p, +s.q};
            const next_state next = iteration(+f, +s.u, y, size, by);
            if (k < by.between) {
                gpu::tie(spare.u, spare.p, spare.q) = std::make_tuple(next.u, next.y.x, next.y.y);
            } else {
                const auto last = residual(+s.u, y, next.u, next.y, size, by);
                gpu::tie(spare.u, spare.p, spare.q, r.residual) = std::make_tuple(next.u, next.y.x, next.y.y, last);
            }
            std::swap(s, spare);
        }
        r.iterations += by.between;
    } while (!r.converged(by) && r.iterations < by.most);
    return r;
}

} // namespace composed
