// tiny 0.1.0: made by arraygpu 0.1.0. Do not edit: run the generator again.
#ifndef TINY_HPP
#define TINY_HPP

#include <arraygpu.hpp>
#include <cstdint>
#include <utility>
#include "tiny.h"

namespace tiny {

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

}  // namespace tiny

#endif  // TINY_HPP
