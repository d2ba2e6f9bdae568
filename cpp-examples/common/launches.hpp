// How many kernels something launches, in the context of the default device.
#pragma once

#include <arraygpu.hpp>

namespace check {

inline std::int64_t launched() {
    agpu_context *context = nullptr;
    std::int64_t n = 0;
    arraygpu::check(agpu_context_default(&context));
    arraygpu::check(agpu_context_launches(context, &n));
    return n;
}
template <class F> std::int64_t launches(F f) {
    const std::int64_t before = launched();
    f();
    return launched() - before;
}

} // namespace check
