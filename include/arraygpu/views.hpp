// Views and algorithms: sequences that are described by composing them, and computed when they are needed, a pipeline in one kernel (docs/online.md).
//
//   namespace gpu = arraygpu;
//   namespace view = arraygpu::views;
//   float dot = view::zip(a, b) | view::transform([](auto x, auto y) { return x * y; }) | gpu::reduce(0.0f);
//   gpu::for_each(view::zip(x, y), [](auto u, auto &v) { v = 2 * u + v; });      // writes y
//   v | gpu::actions::transform([](auto x) { return x * x; }) | gpu::actions::reverse;
#ifndef ARRAYGPU_VIEWS_HPP
#define ARRAYGPU_VIEWS_HPP

#include <arraygpu/expr.hpp>
#include <arraygpu/views/actions.hpp>
#include <arraygpu/views/algorithms.hpp>
#include <arraygpu/views/composites.hpp>
#include <arraygpu/views/upload.hpp>

#endif // ARRAYGPU_VIEWS_HPP
