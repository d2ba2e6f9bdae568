// Denoising by the functions of the package, which were generated ahead of time.
#pragma once

#include "settings.hpp"
#include <rof.hpp>

namespace package {

using image = arraygpu::gpu_matrix<float>;

// Where the iteration begins: the noisy image, and no dual field.
inline state<image> begin(const image &f) { return {f.clone(), image(f.rows(), f.cols()), image(f.rows(), f.cols())}; }

// Iterates until the residual is small enough: one call is several iterations, and the residual of the last.
inline outcome denoise(const image &f, state<image> &s, const settings &by) {
    outcome r{0, 0};
    do {
        rof::steps(f, s.u, s.p, s.q, by.alpha, by.tau, by.sigma, by.between, s.u, s.p, s.q, r.residual);
        r.iterations += by.between;
    } while (!r.converged(by) && r.iterations < by.most);
    return r;
}

} // namespace package
