// Denoising by the functions of the package, which were generated ahead of time.
#pragma once

#include "settings.hpp"
#include <rof.hpp>
#include <utility>

namespace package {

using image = arraygpu::gpu_matrix<float>;

// Where the iteration begins: the noisy image, and no dual field.
inline state<image> begin(const image &f) { return {f.clone(), image(f.rows(), f.cols()), image(f.rows(), f.cols())}; }

// Iterates until the residual is small enough: one call is several iterations, and the residual of the last.
inline outcome denoise(const image &f, state<image> &s, const settings &by) {
    state<image> next = begin(f);
    outcome r{0, 0};
    do {
        rof::steps(f, s.u, s.p, s.q, by.alpha, by.tau, by.sigma, by.between, next.u, next.p, next.q, r.residual);
        std::swap(s, next);
        r.iterations += by.between;
    } while (!r.converged(by) && r.iterations < by.most);
    return r;
}

} // namespace package
