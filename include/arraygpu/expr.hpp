// Expressions on vectors, matrices and arrays of three dimensions, compiled while the program runs: operators and
// functions build them, assignment computes all of one in one kernel where that is possible (docs/online.md).
//
//   arraygpu::gpu_vector<float> c = 0.12f * a + 7.54f * b;          // one kernel
//   float r = sqrt(sum((x - y) * (x - y)) / n);                      // one launch, one number comes back
//   c = where(a > 0, sqrt(a), 0);                                    // a branch
//   c = map([](auto u, auto v) { return u * v + 1; }, a, b);         // a function, called once with symbolic values
#ifndef ARRAYGPU_EXPR_HPP
#define ARRAYGPU_EXPR_HPP

#if !defined(__cpp_exceptions) && !defined(_CPPUNWIND)
#error "arraygpu/expr.hpp needs exceptions; packages and arraygpu.hpp do without (-fno-exceptions, arraygpu::take_error())"
#endif

#include <arraygpu.hpp>
#include <arraygpu/expr/assign.hpp>
#include <arraygpu/expr/extremes.hpp>
#include <arraygpu/expr/filters.hpp>
#include <arraygpu/expr/gathers.hpp>
#include <arraygpu/expr/iterate.hpp>
#include <arraygpu/expr/kept.hpp>
#include <arraygpu/expr/lines.hpp>
#include <arraygpu/expr/no_axes.hpp>
#include <arraygpu/expr/scatters.hpp>
#include <arraygpu/expr/stencils.hpp>

#endif // ARRAYGPU_EXPR_HPP
