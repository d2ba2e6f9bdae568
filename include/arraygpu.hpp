// arraygpu for C++17: owning vectors, views and errors over the C interface in arraygpu.h. Header only.
//
//   arraygpu::gpu_vector<float> x(host);                        // copies a std::vector
//   auto middle = arraygpu::subview(x, 1, 9);                   // elements 1 .. 8, not copied
//   std::vector<float> y = stats::smooth(middle).to_host();     // a package's function
//
//   arraygpu::gpu_matrix<float> m(host, 3, 4);                  // 3 rows of 4, one after another
//   auto block = arraygpu::subview(m, 0, 2, 1, 4);              // rows 0 and 1, columns 1 .. 3
//   auto column = m.view().col(2);                              // a gpu_vector_view
//
// Arrays live in the memory of a device: a GPU if there is one, else the CPU; the environment variable ARRAYGPU_DEVICE, or a context, chooses.
// On a GPU a call returns when its work is queued; functions that bring values to the host wait for it.
//
// Errors are thrown as arraygpu::error. No destructor throws. Objects may be used from any thread; while one thread writes an
// array, no other thread may use it.
#ifndef ARRAYGPU_HPP
#define ARRAYGPU_HPP

#include <arraygpu/async.hpp>
#include <arraygpu/core.hpp>
#include <arraygpu/field.hpp>
#include <arraygpu/matrix.hpp>
#include <arraygpu/pinned.hpp>
#include <arraygpu/record.hpp>
#include <arraygpu/tensor3.hpp>
#include <arraygpu/vector.hpp>

#endif // ARRAYGPU_HPP
