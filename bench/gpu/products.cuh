// Matrix product by hand, for shapes.cu: squares of 128 by 256 threads, which have 8 x 8 results each in four groups of 4 x 4; eight inner indices at a time through shared memory,
// the next ones on their way meanwhile. Row-major, whole squares; k is a multiple of 8.
#pragma once
#include <cuda_runtime.h>

__global__ void __launch_bounds__(256) matmul_tile(const float *__restrict__ a, const float *__restrict__ b, float *c, int n, int k) {
    __shared__ float rows[2][8][132], cols[2][8][128];
    const int t = threadIdx.x, ty = t / 16 * 4, tx = t % 16 * 4;
    const float *from_a = a + (blockIdx.y * 128l + t / 2) * k + t % 2 * 4;
    const float *from_b = b + t / 32 * long(n) + blockIdx.x * 128l + t % 32 * 4;
    float4 next_a = *(const float4 *)from_a, next_b = *(const float4 *)from_b;
    float sum[8][8] = {};
    const auto put = [&](int buffer) {
        const float of_a[4] = {next_a.x, next_a.y, next_a.z, next_a.w};
        for (int i = 0; i < 4; ++i) rows[buffer][t % 2 * 4 + i][t / 2] = of_a[i];
        *(float4 *)&cols[buffer][t / 32][t % 32 * 4] = next_b;
    };
    put(0);
    __syncthreads();
    for (int step = 0; step < k / 8; ++step) {
        const int buffer = step & 1;
        if (step + 1 < k / 8) {
            next_a = *(const float4 *)(from_a + (step + 1) * 8);
            next_b = *(const float4 *)(from_b + (step + 1) * 8l * n);
        }
#pragma unroll
        for (int p = 0; p < 8; ++p) {
            float x[8], y[8];
            *(float4 *)x = *(const float4 *)&rows[buffer][p][ty];
            *(float4 *)(x + 4) = *(const float4 *)&rows[buffer][p][ty + 64];
            *(float4 *)y = *(const float4 *)&cols[buffer][p][tx];
            *(float4 *)(y + 4) = *(const float4 *)&cols[buffer][p][tx + 64];
#pragma unroll
            for (int i = 0; i < 8; ++i)
#pragma unroll
                for (int j = 0; j < 8; ++j) sum[i][j] = fmaf(x[i], y[j], sum[i][j]);
        }
        put(buffer ^ 1);
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        float *to = c + (blockIdx.y * 128l + ty + i % 4 + i / 4 * 64) * n + blockIdx.x * 128l + tx;
        *(float4 *)to = make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
        *(float4 *)(to + 64) = make_float4(sum[i][4], sum[i][5], sum[i][6], sum[i][7]);
    }
}
