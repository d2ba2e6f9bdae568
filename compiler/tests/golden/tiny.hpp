// tiny 0.1.0: made by arraygpu 0.1.0. Do not edit: run the generator again.
#ifndef TINY_HPP
#define TINY_HPP

#include <arraygpu.hpp>
#include <arraygpu/misuse.hpp>
#include <cstdint>
#include <utility>
#include "tiny.h"

namespace tiny {
inline namespace AGPU_HEADERS(v_) {

/// As below, with options: context and stream.
inline void saxpy(
        const arraygpu::call_options& options,
        float a,
        arraygpu::gpu_vector_view<const float> x,
        arraygpu::gpu_vector_view<const float> y,
        arraygpu::gpu_vector_view<float> result)
{
    arraygpu::check(::tiny_saxpy(options.c_call(), a, x.c_view(), y.c_view(), result.c_view()));
}

/// a x + y; holds /* and */ and ends with
/// @param a float
/// @param x vector of float
/// @param y vector of float, as long as x
/// @param[out] result vector of float, as long as x
inline void saxpy(
        float a,
        arraygpu::gpu_vector_view<const float> x,
        arraygpu::gpu_vector_view<const float> y,
        arraygpu::gpu_vector_view<float> result)
{
    ::tiny::saxpy(arraygpu::call_options(), a, x, y, result);
}

/// As below, with options: context and stream.
inline arraygpu::gpu_vector<float> saxpy(
        const arraygpu::call_options& options,
        float a,
        arraygpu::gpu_vector_view<const float> x,
        arraygpu::gpu_vector_view<const float> y)
{
    agpu_buffer* result = nullptr;
    arraygpu::check(::tiny_saxpy_new(options.c_call(), a, x.c_view(), y.c_view(), &result));
    return arraygpu::gpu_vector<float>::adopt(result);
}

/// a x + y; holds /* and */ and ends with
/// @param a float
/// @param x vector of float
/// @param y vector of float, as long as x
/// @return vector of float, as long as x
inline arraygpu::gpu_vector<float> saxpy(
        float a,
        arraygpu::gpu_vector_view<const float> x,
        arraygpu::gpu_vector_view<const float> y)
{
    return ::tiny::saxpy(arraygpu::call_options(), a, x, y);
}

/// A call that fits none of the functions above.
template <class... Args, arraygpu::detail::if_misused<arraygpu::detail::overloads<
        arraygpu::detail::takes<const arraygpu::call_options&, float, arraygpu::gpu_vector_view<const float>, arraygpu::gpu_vector_view<const float>, arraygpu::gpu_vector_view<float>>,
        arraygpu::detail::takes<float, arraygpu::gpu_vector_view<const float>, arraygpu::gpu_vector_view<const float>, arraygpu::gpu_vector_view<float>>,
        arraygpu::detail::takes<const arraygpu::call_options&, float, arraygpu::gpu_vector_view<const float>, arraygpu::gpu_vector_view<const float>>,
        arraygpu::detail::takes<float, arraygpu::gpu_vector_view<const float>, arraygpu::gpu_vector_view<const float>>>,
    Args...> = 0>
arraygpu::detail::nothing saxpy(Args&&...)
{
    static_assert(!arraygpu::detail::has_host_array<Args...>,
        "tiny::saxpy: an argument is in the memory of the host: copy it by arraygpu::gpu_vector<T>(array)");
    static_assert(arraygpu::detail::has_host_array<Args...> || arraygpu::detail::never<Args...>,
        "an argument is missing, too many, or of another type; the call is tiny::saxpy(a (float), x (arraygpu::gpu_vector<float>), y (arraygpu::gpu_vector<float>)), or with the results behind: tiny::saxpy(a (float), x (arraygpu::gpu_vector<float>), y (arraygpu::gpu_vector<float>), result (arraygpu::gpu_vector<float>)); call_options may come first");
    return {};
}

/// The results of both.
struct both_result {
    std::int64_t args;  ///< int64_t
    arraygpu::gpu_vector<float> half;  ///< vector of float of 7 elements
};

/// As below, with options: context and stream.
inline void both(
        const arraygpu::call_options& options_,
        arraygpu::gpu_vector_view<const float> call,
        bool options,
        std::int64_t& args,
        arraygpu::gpu_vector_view<float> half)
{
    arraygpu::check(::tiny_both(options_.c_call(), call.c_view(), options, &args, half.c_view()));
}

/// @param call vector of float
/// @param options bool
/// @param[out] args int64_t
/// @param[out] half vector of float of 7 elements
inline void both(
        arraygpu::gpu_vector_view<const float> call,
        bool options,
        std::int64_t& args,
        arraygpu::gpu_vector_view<float> half)
{
    ::tiny::both(arraygpu::call_options(), call, options, args, half);
}

/// As below, with options: context and stream.
inline void both(
        const arraygpu::call_options& options_,
        arraygpu::gpu_vector_view<const float> call,
        bool options,
        arraygpu::gpu_scalar<std::int64_t>& args,
        arraygpu::gpu_vector_view<float> half)
{
    arraygpu::check(::tiny_both_device(options_.c_call(), call.c_view(), options, args.c_view(), half.c_view()));
}

/// @param call vector of float
/// @param options bool
/// @param[out] args int64_t, stays on the device
/// @param[out] half vector of float of 7 elements
inline void both(
        arraygpu::gpu_vector_view<const float> call,
        bool options,
        arraygpu::gpu_scalar<std::int64_t>& args,
        arraygpu::gpu_vector_view<float> half)
{
    ::tiny::both(arraygpu::call_options(), call, options, args, half);
}

/// As below, with options: context and stream.
inline both_result both(
        const arraygpu::call_options& options_,
        arraygpu::gpu_vector_view<const float> call,
        bool options)
{
    std::int64_t args{};
    agpu_buffer* half = nullptr;
    arraygpu::check(::tiny_both_new(options_.c_call(), call.c_view(), options, &args, &half));
    return {args, arraygpu::gpu_vector<float>::adopt(half)};
}

/// @param call vector of float
/// @param options bool
/// @return args: int64_t
/// @return half: vector of float of 7 elements
inline both_result both(arraygpu::gpu_vector_view<const float> call, bool options)
{
    return ::tiny::both(arraygpu::call_options(), call, options);
}

/// A call that fits none of the functions above.
template <class... Args, arraygpu::detail::if_misused<arraygpu::detail::overloads<
        arraygpu::detail::takes<const arraygpu::call_options&, arraygpu::gpu_vector_view<const float>, bool, std::int64_t&, arraygpu::gpu_vector_view<float>>,
        arraygpu::detail::takes<arraygpu::gpu_vector_view<const float>, bool, std::int64_t&, arraygpu::gpu_vector_view<float>>,
        arraygpu::detail::takes<const arraygpu::call_options&, arraygpu::gpu_vector_view<const float>, bool, arraygpu::gpu_scalar<std::int64_t>&, arraygpu::gpu_vector_view<float>>,
        arraygpu::detail::takes<arraygpu::gpu_vector_view<const float>, bool, arraygpu::gpu_scalar<std::int64_t>&, arraygpu::gpu_vector_view<float>>,
        arraygpu::detail::takes<const arraygpu::call_options&, arraygpu::gpu_vector_view<const float>, bool>,
        arraygpu::detail::takes<arraygpu::gpu_vector_view<const float>, bool>>,
    Args...> = 0>
arraygpu::detail::nothing both(Args&&...)
{
    static_assert(!arraygpu::detail::has_host_array<Args...>,
        "tiny::both: an argument is in the memory of the host: copy it by arraygpu::gpu_vector<T>(array)");
    static_assert(arraygpu::detail::has_host_array<Args...> || arraygpu::detail::never<Args...>,
        "an argument is missing, too many, or of another type; the call is tiny::both(call (arraygpu::gpu_vector<float>), options (bool)), or with the results behind: tiny::both(call (arraygpu::gpu_vector<float>), options (bool), args (std::int64_t), half (arraygpu::gpu_vector<float>)); call_options may come first");
    return {};
}

}  // namespace AGPU_HEADERS
}  // namespace tiny

#endif  // TINY_HPP
