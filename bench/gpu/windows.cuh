// Stencils of vectors by hand, for shapes.cu: differences and weighted averages of K neighbours.
#pragma once
#include <cuda_runtime.h>

namespace {

// All kernels have m results.
template <int K> struct weights {
    float w[K];
};
template <int K> weights<K> weights_of() {
    const int spencer[15] = {-3, -6, -5, 3, 21, 46, 67, 74, 67, 46, 21, 3, -5, -6, -3};
    const int middle = (K + 1) / 2;
    weights<K> w;
    for (int i = 0; i < K; ++i) {
        const int height = i + 1 < K - i ? i + 1 : K - i;
        w.w[i] = K == 15 ? spencer[i % 15] / 320.0f : float(height) / float(middle * (K + 1 - middle));
    }
    return w;
}

__global__ void difference(const float *__restrict__ x, float *y, long m) {
    const long i = blockIdx.x * long(blockDim.x) + threadIdx.x;
    if (i < m) y[i] = x[i + 1] - x[i];
}
__global__ void difference_shared(const float *__restrict__ x, float *y, long m) {
    __shared__ float s[257];
    const long i = blockIdx.x * 256l + threadIdx.x;
    if (i <= m) s[threadIdx.x] = x[i];
    if (threadIdx.x == 255 && i + 1 <= m) s[256] = x[i + 1];
    __syncthreads();
    if (i < m) y[i] = s[threadIdx.x + 1] - s[threadIdx.x];
}
__global__ void difference4(const float *__restrict__ x, float *y, long m) {
    long i = (blockIdx.x * long(blockDim.x) + threadIdx.x) * 4;
    if (i + 4 <= m) {
        const float4 v = *(const float4 *)(x + i);
        const float w = x[i + 4];
        *(float4 *)(y + i) = make_float4(v.y - v.x, v.z - v.y, v.w - v.z, w - v.w);
    } else {
        for (; i < m; i++) y[i] = x[i + 1] - x[i];
    }
}

template <int K> __device__ float taps(const float *x, const weights<K> &w) {
    float s = 0;
#pragma unroll
    for (int k = 0; k < K; k++) s = fmaf(w.w[k], x[k], s);
    return s;
}
template <int K> __device__ float4 four_taps(const float *x, const weights<K> &w) {
    return make_float4(taps<K>(x, w), taps<K>(x + 1, w), taps<K>(x + 2, w), taps<K>(x + 3, w));
}

template <int K> __global__ void taps_direct(const float *x, float *y, long m, weights<K> w) {
    const long i = blockIdx.x * long(blockDim.x) + threadIdx.x;
    if (i < m) y[i] = taps<K>(x + i, w);
}
// Q times four results a thread, their window in registers
template <int K, int Q> __global__ void __launch_bounds__(256) taps_window(const float *x, float *y, long m, weights<K> w) {
    constexpr int V = Q + (K + 2) / 4;
    const long i = (blockIdx.x * 256l + threadIdx.x) * (4 * Q);
    if (i + V * 4 <= m + K - 1 && i + 4 * Q <= m) {
        float v[V * 4];
#pragma unroll
        for (int k = 0; k < V; k++) *(float4 *)(v + 4 * k) = __ldg((const float4 *)(x + i) + k);
#pragma unroll
        for (int q = 0; q < Q; q++) *(float4 *)(y + i + 4 * q) = four_taps<K>(v + 4 * q, w);
    } else {
        for (long j = i; j < i + 4 * Q && j < m; j++) y[j] = taps<K>(x + j, w);
    }
}
// a tile of a block in shared memory, filled and read by 16 bytes
template <int K, int U> __global__ void __launch_bounds__(256) taps_tile(const float *x, float *y, long m, weights<K> w) {
    constexpr int TILE = 256 * 4 * U, H = (K - 1 + 3) / 4 * 4, V = (K + 6) / 4;
    __shared__ __align__(16) float s[TILE + H];
    const long b = blockIdx.x * long(TILE);
    const int t = threadIdx.x;
    if (b + TILE + H <= m + K - 1) {
#pragma unroll
        for (int u = 0; u < U; u++) *(float4 *)(s + (u * 256 + t) * 4) = __ldg((const float4 *)(x + b) + u * 256 + t);
        if (t < H / 4) *(float4 *)(s + TILE + t * 4) = __ldg((const float4 *)(x + b + TILE) + t);
        __syncthreads();
#pragma unroll
        for (int u = 0; u < U; u++) {
            float v[V * 4];
#pragma unroll
            for (int k = 0; k < V; k++) *(float4 *)(v + 4 * k) = *(float4 *)(s + (u * 256 + t) * 4 + 4 * k);
            *(float4 *)(y + b + (u * 256 + t) * 4) = four_taps<K>(v, w);
        }
    } else {
        for (long i = b + t; i < b + TILE && i < m; i += 256) y[i] = taps<K>(x + i, w);
    }
}

} // namespace
