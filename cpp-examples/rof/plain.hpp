// The same in plain C++, element by element in the order of operations of the other versions, to the bit (-ffp-contract=off).
#pragma once

#include "../common/reference.hpp"
#include "settings.hpp"

#include <cmath>
#include <vector>

namespace plain {

using image = std::vector<float>;

inline state<image> begin(const image &f) { return {f, image(f.size()), image(f.size())}; }

struct field {
    image x, y;
};

inline field gradient(const image &u, std::size_t cols) {
    field d{image(u.size()), image(u.size())};
    for (std::size_t k = 0; k < u.size(); ++k) {
        if (k % cols + 1 < cols) d.x[k] = u[k + 1] - u[k];
        if (k + cols < u.size()) d.y[k] = u[k + cols] - u[k];
    }
    return d;
}

inline image divergence(const image &p, const image &q, std::size_t cols) {
    image d(p.size());
    for (std::size_t k = 0; k < p.size(); ++k) d[k] = (p[k] - (k % cols ? p[k - 1] : 0)) + (q[k] - (k >= cols ? q[k - cols] : 0));
    return d;
}

// One iteration; gives the residual.
inline float iterate(const image &f, std::size_t cols, state<image> &s, const settings &by) {
    const std::size_t n = f.size();
    state<image> next{image(n), image(n), image(n)};
    image ahead(n), back(n), p(n), q(n), each(n);
    const image along = divergence(s.p, s.q, cols);
    for (std::size_t k = 0; k < n; ++k) {
        next.u[k] = ((s.u[k] + by.tau * along[k]) + by.tau * f[k]) * (1 / (1 + by.tau));
        ahead[k] = 2 * next.u[k] - s.u[k];
        back[k] = s.u[k] - next.u[k];
    }
    const field up = gradient(ahead, cols), slope = gradient(back, cols);
    for (std::size_t k = 0; k < n; ++k) {
        const float x = s.p[k] + by.sigma * up.x[k], y = s.q[k] + by.sigma * up.y[k];
        const float scale = by.alpha / std::max(std::sqrt(x * x + y * y), by.alpha);
        next.p[k] = x * scale;
        next.q[k] = y * scale;
        p[k] = s.p[k] - next.p[k];
        q[k] = s.q[k] - next.q[k];
    }
    const image moved = divergence(p, q, cols);
    for (std::size_t k = 0; k < n; ++k) {
        const float dual = std::fabs(p[k] / by.sigma - slope.x[k]) + std::fabs(q[k] / by.sigma - slope.y[k]);
        each[k] = std::fabs(back[k] / by.tau + moved[k]) + dual;
    }
    s = std::move(next);
    return reference::sum(each) / float(n);
}

} // namespace plain
