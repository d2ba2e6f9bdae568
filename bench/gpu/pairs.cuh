// All pairs by hand, for shapes.cu: accelerations of bodies.
#pragma once
#include <cuda_runtime.h>

namespace {

constexpr int BODIES = 65536;
constexpr float EPSILON2 = 1e-4f;

__device__ float rsqrt_ftz(float x) {
    float r;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}
// Q bodies a thread, 256 others at a time in shared memory, added in order
template <int Q> __global__ void __launch_bounds__(256) bodies(const float4 *__restrict__ p, float4 *out) {
    __shared__ float4 t[256];
    float4 me[Q];
    float ax[Q] = {}, ay[Q] = {}, az[Q] = {};
    const int base = blockIdx.x * 256 * Q + threadIdx.x;
#pragma unroll
    for (int q = 0; q < Q; q++) me[q] = p[base + q * 256];
    for (int j0 = 0; j0 < BODIES; j0 += 256) {
        t[threadIdx.x] = p[j0 + threadIdx.x];
        __syncthreads();
#pragma unroll 16
        for (int j = 0; j < 256; j++) {
            const float4 b = t[j];
#pragma unroll
            for (int q = 0; q < Q; q++) {
                const float dx = b.x - me[q].x, dy = b.y - me[q].y, dz = b.z - me[q].z;
                const float r = rsqrt_ftz(fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, EPSILON2)))), f = b.w * (r * r * r);
                ax[q] = fmaf(dx, f, ax[q]);
                ay[q] = fmaf(dy, f, ay[q]);
                az[q] = fmaf(dz, f, az[q]);
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int q = 0; q < Q; q++) out[base + q * 256] = make_float4(ax[q], ay[q], az[q], 0);
}

} // namespace
