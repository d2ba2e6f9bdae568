// CUDA's precise functions in the kernel that a CUDA programmer writes for a map: 16 bytes a load, all loads before the first use.
// nvcc -O3 -std=c++17 -arch=sm_90 -shared -cudart static -Xcompiler -fPIC -o libarraygpu-functions.so functions.cu
#include "function_peers.h"
#include "function_list.h"
#include <cstdint>
#include <cuda_runtime.h>

namespace {

template <class T, int W> struct alignas(W * sizeof(T)) pack {
    T at[W];
};

// TWO: there is a second argument, of type Y.
template <int V, bool TWO, class T, class Y, class F> __global__ void map(F f, const T *x, const Y *y, T *out, std::size_t packs) {
    constexpr int W = 16 / sizeof(T);
    using xs = pack<T, W>;
    using ys = pack<Y, W>;
    xs a[V];
    ys b[V] = {};
    const std::size_t base = blockIdx.x * std::size_t(blockDim.x * V) + threadIdx.x;
#pragma unroll
    for (int v = 0; v < V; v++) {
        const std::size_t i = base + v * blockDim.x;
        if (i >= packs) continue;
        a[v] = reinterpret_cast<const xs *>(x)[i];
        if (TWO) b[v] = reinterpret_cast<const ys *>(y)[i];
    }
#pragma unroll
    for (int v = 0; v < V; v++) {
        const std::size_t i = base + v * blockDim.x;
        if (i >= packs) continue;
        xs r;
#pragma unroll
        for (int w = 0; w < W; w++) r.at[w] = f(a[v].at[w], b[v].at[w]);
        reinterpret_cast<xs *>(out)[i] = r;
    }
}

template <int V, bool TWO, class T, class Y, class F> int run(const void *x, const void *y, void *out, std::size_t n, void *stream) {
    const std::size_t packs = n / (16 / sizeof(T)), block = 256 * V;
    map<V, TWO><<<unsigned((packs + block - 1) / block), 256, 0, static_cast<cudaStream_t>(stream)>>>(
        F{}, static_cast<const T *>(x), static_cast<const Y *>(y), static_cast<T *>(out), packs);
    return cudaGetLastError();
}

#define OF_ONE(name, from, to)                                                                                                       \
    struct name##_32 { __device__ float operator()(float x, float) const { return name##f(x); } };                                   \
    struct name##_64 { __device__ double operator()(double x, double) const { return name(x); } };
#define OF_TWO(name, from, to, from_y, to_y)                                                                                         \
    struct name##_32 { __device__ float operator()(float x, float y) const { return name##f(x, y); } };                              \
    struct name##_64 { __device__ double operator()(double x, double y) const { return name(x, y); } };
FUNCTIONS_OF_ONE(OF_ONE)
FUNCTIONS_OF_TWO(OF_TWO)
struct ldexp_32 { __device__ float operator()(float x, int n) const { return ldexpf(x, n); } };
struct ldexp_64 { __device__ double operator()(double x, int n) const { return ldexp(x, n); } };

#define KERNELS(TWO, T, Y, F) run<1, TWO, T, Y, F>, run<2, TWO, T, Y, F>, run<4, TWO, T, Y, F>
#define ROW_ONE(name, from, to)                                                                                                      \
    {#name, 0, 0, from, to, 0, 0, KERNELS(false, float, float, name##_32)},                                                          \
    {#name, 1, 0, from, to, 0, 0, KERNELS(false, double, double, name##_64)},
#define ROW_TWO(name, from, to, from_y, to_y)                                                                                        \
    {#name, 0, 1, from, to, from_y, to_y, KERNELS(true, float, float, name##_32)},                                                   \
    {#name, 1, 1, from, to, from_y, to_y, KERNELS(true, double, double, name##_64)},
const function_peer list[] = {
    FUNCTIONS_OF_ONE(ROW_ONE) FUNCTIONS_OF_TWO(ROW_TWO)
    {"ldexp", 0, 2, LDEXP_RANGE, KERNELS(true, float, int, ldexp_32)},
    {"ldexp", 1, 2, LDEXP_RANGE, KERNELS(true, double, int, ldexp_64)},
    {},
};

} // namespace

extern "C" const function_peer *function_peers() { return list; }
