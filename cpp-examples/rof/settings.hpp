// What both versions are told, and what they give.
#pragma once

#include <arraygpu.hpp>
#include <cstdint>

struct settings {
    float alpha = 20;                // the weight of the total variation, above 0: a little less than the deviation of the noise
    float tau = 0.25f, sigma = 0.5f; // 8 tau sigma <= 1
    float enough = 0.05f;            // the residual, in grey levels a pixel, below which it ends
    std::int64_t between = 20;       // iterations from one residual to the next
    std::int64_t most = 1000;        // iterations, or as many more as the next residual is away
};

// An image with its dual field: matrices of the package, or the same elements as vectors.
template <class Array> struct state {
    Array u, p, q;
};

struct outcome {
    std::int64_t iterations;
    float residual;
    bool converged(const settings &s) const { return residual < s.enough; }
};
