// gpu::async: a function of arguments that it brings to the device. Included by arraygpu/views.hpp.
#ifndef ARRAYGPU_VIEWS_UPLOAD_HPP
#define ARRAYGPU_VIEWS_UPLOAD_HPP

#include <arraygpu/async.hpp>
#include <arraygpu/views/algorithms.hpp>

namespace arraygpu {
namespace detail {

template <class X> struct host_array : std::false_type {};
template <class T, class A> struct host_array<std::vector<T, A>> : std::true_type {};

/// Copies containers of the host to vectors on the device; returns every other argument unchanged.
template <class X> decltype(auto) uploaded(X &&x) {
    if constexpr (host_array<std::decay_t<X>>::value)
        return arraygpu::copy(x);
    else
        return static_cast<X &&>(x);
}

/// Arrays that own their memory.
template <class R> inline constexpr bool is_owned = false;
template <class T> inline constexpr bool is_owned<gpu_vector<T>> = true;
template <class T> inline constexpr bool is_owned<gpu_matrix<T>> = true;
template <class T> inline constexpr bool is_owned<gpu_tensor3<T>> = true;
/// Maps the result of a function to the value of a future: views and expressions are computed to arrays or numbers, other results stay as they are.
template <class R, bool = (is_operand<R> || is_compound<R>)&&!compound<R>::is && !is_owned<R>> struct computed {
    static_assert(!std::is_void_v<R>, "the function returns nothing: return a view, an expression, an array or a number");
    using type = R;
    static future<R> of(R &&value) { return future<R>(static_cast<R &&>(value), context_of(value)); }

private:
    static call_options context_of(const R &value) {
        if constexpr (is_host<R> || compound<R>::is)
            return {};
        else
            return context_ref::of_buffer(value.c_buffer());
    }
};
template <class R> struct computed<R, true> {
    using type = typename evaluated_as<R>::type;
    /// Computes it on a stream of its own, in the context of the arrays that it reads.
    static future<type> of(R &&value) {
        const auto e = as_expr(value);
        const context_ref where = context_of(e);
        stream on(where);
        if constexpr (!is_owned<type>) {
            gpu_scalar<type> made(where);
            run_results(call_options(on).c_call(), std::tie(e), destination<gpu_scalar<type>>(made, e));
            return future<type>(std::move(made), std::move(on));
        } else {
            type made = eval(on, e);
            return future<type>(std::move(made), std::move(on));
        }
    }

private:
    template <class T, int Rank> static context_ref context_of(const expr<T, Rank> &e) {
        encoder &key = this_threads_encoder();
        std::vector<output> outputs;
        add_roots(outputs, e);
        encode(key, outputs.data(), outputs.size());
        for (const agpu_arg &argument : key.arguments()) {
            if (argument.kind == AGPU_ARG_VIEW) return context_ref::of_buffer(argument.view.buffer);
        }
        return {};
    }
};

} // namespace detail

/// Calls f(args..) after copying every std::vector among the arguments to the device of the default context, on that context's own stream. The result is computed on a stream of its own; a view becomes
/// a gpu_vector. Errors are thrown by get().
template <class F, class... X> auto async(F &&f, X &&...x) {
    using R = std::decay_t<decltype(f(detail::uploaded(static_cast<X &&>(x))...))>;
    using Future = future<typename detail::computed<R>::type>;
    try {
        return detail::computed<R>::of(R(f(detail::uploaded(static_cast<X &&>(x))...)));
    } catch (const error &e) {
        return Future::failed(e);
    }
}

} // namespace arraygpu

#endif // ARRAYGPU_VIEWS_UPLOAD_HPP
