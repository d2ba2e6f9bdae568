// gpu::async: a function of arguments that it brings to the device. Included by arraygpu/views.hpp.
#ifndef ARRAYGPU_VIEWS_UPLOAD_HPP
#define ARRAYGPU_VIEWS_UPLOAD_HPP

#include <arraygpu/views/algorithms.hpp>

namespace arraygpu {
namespace detail {

template <class X> struct host_array : std::false_type {};
template <class T, class A> struct host_array<std::vector<T, A>> : std::true_type {};

/// Containers of the host as vectors on the device, everything else as it is.
template <class X> decltype(auto) uploaded(X &&x) {
    if constexpr (host_array<std::decay_t<X>>::value) return arraygpu::copy(x);
    else return static_cast<X &&>(x);
}
/// What a function gave, computed: a view or an expression as a vector, a scalar as a number.
template <class R> auto computed(R &&r) {
    using V = std::decay_t<R>;
    if constexpr (is_container<V>::value || is_host<V>) {
        return static_cast<R &&>(r);
    } else {
        static_assert(is_operand<V>, "the function gives a view of scalars, an expression, a gpu_vector or a number");
        return eval(as_expr(r));
    }
}

} // namespace detail

/// f(args..), where every std::vector among the arguments is on the device; the result is computed, so of a view it is a gpu_vector.
template <class F, class... X> auto async(F &&f, X &&...x) { return detail::computed(f(detail::uploaded(static_cast<X &&>(x))...)); }

} // namespace arraygpu

#endif // ARRAYGPU_VIEWS_UPLOAD_HPP
