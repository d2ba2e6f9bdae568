// The proximal operators of the model's two terms, of one pixel.
#pragma once

#include <arraygpu/views.hpp>
#include <tuple>

namespace composed {

// Of tau / 2 (u - f)^2.
struct fidelity {
    float tau;
    template <class T> T operator()(T u, T f) const { return (u + tau * f) * (1.0f / (1.0f + tau)); }
};

// Of the conjugate of alpha |y|: vectors longer than alpha are cut.
struct total_variation {
    float alpha;
    template <class T> std::tuple<T, T> operator()(T p, T q) const {
        const T length = sqrt(p * p + q * q);
        const T scale = alpha / arraygpu::max(length, alpha);
        return {p * scale, q * scale};
    }
};

} // namespace composed
