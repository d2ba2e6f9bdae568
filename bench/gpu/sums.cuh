// Sums of rows and columns by hand, for shapes.cu, in arraygpu's order: tiles of 128 lanes and 16 rows, trees of neighbours.
#pragma once
#include <cuda_runtime.h>

namespace {

__device__ float4 add(float4 a, float4 b) { return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }
__device__ float warp_tree(float4 a, int width = 32) {
    float v = (a.x + a.y) + (a.z + a.w);
    for (int o = 1; o < width; o <<= 1) v += __shfl_xor_sync(~0u, v, o);
    return v;
}
// C * 128 floats from p: a warp's tile
template <int C> __device__ float tile(const float *x) {
    const float4 *p = (const float4 *)x + (threadIdx.x & 31);
    float4 v[C];
#pragma unroll
    for (int k = 0; k < C; k++) v[k] = __ldcs(p + k * 32);
    float4 a = v[0];
#pragma unroll
    for (int k = 1; k < C; k++) a = add(a, v[k]);
    return warp_tree(a);
}
// rows of M <= 2048: a warp a row
template <int M> __global__ void __launch_bounds__(256) rows_warp(const float *x, float *y) {
    const long r = blockIdx.x * 8l + (threadIdx.x >> 5);
    const float s = tile<M / 128>(x + r * M);
    if ((threadIdx.x & 31) == 0) y[r] = s;
}
// rows of 64: two a load of a warp, K loads in flight
template <int K> __global__ void __launch_bounds__(256) rows_half_warp(const float *x, float *y) {
    const int lane = threadIdx.x & 31;
    const long r0 = (blockIdx.x * 8l + (threadIdx.x >> 5)) * 2 * K;
    const float4 *p = (const float4 *)(x + r0 * 64) + lane;
    float4 v[K];
#pragma unroll
    for (int k = 0; k < K; k++) v[k] = __ldcs(p + k * 32);
#pragma unroll
    for (int k = 0; k < K; k++) {
        const float s = warp_tree(v[k], 16);
        if ((lane & 15) == 0) y[r0 + 2 * k + (lane >> 4)] = s;
    }
}
// rows of up to 32 tiles of 2048: a block a row
template <int tiles> __global__ void __launch_bounds__(256) rows_block(const float *x, float *y) {
    __shared__ float part[32];
    const int lane = threadIdx.x & 31, w = threadIdx.x >> 5;
    const float *row = x + blockIdx.x * long(tiles) * 2048;
    for (int t = w; t < tiles; t += 8) {
        const float s = tile<16>(row + t * 2048l);
        if (lane == 0) part[t] = s;
    }
    __syncthreads();
    if (w) return;
    float v = lane < tiles ? part[lane] : -0.0f;
    for (int o = 1; o < 32; o <<= 1) v += __shfl_xor_sync(~0u, v, o);
    if (lane == 0) y[blockIdx.x] = v;
}
// long rows: a block 16 tiles, the last one of a row joins the tiles' sums (a multiple of 128)
__global__ void __launch_bounds__(256) rows_long(const float *x, float *y, float *part, unsigned *arrived, int tiles) {
    __shared__ bool last;
    const int lane = threadIdx.x & 31, w = threadIdx.x >> 5, of_row = tiles / 16, b = blockIdx.x % of_row;
    const long r = blockIdx.x / of_row;
    for (int k = 0; k < 2; k++) {
        const long t = r * tiles + b * 16 + k * 8 + w;
        const float s = tile<16>(x + t * 2048);
        if (lane == 0) part[t] = s;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(arrived + r, 1u) == unsigned(of_row) - 1;
        if (last) arrived[r] = 0;
    }
    __syncthreads();
    if (!last || w) return;
    __threadfence();
    const float4 *p = (const float4 *)(part + r * tiles) + lane;
    float4 a = __ldcg(p);
    for (int q = 1; q < tiles / 128; q++) a = add(a, __ldcg(p + q * 32));
    const float s = warp_tree(a);
    if (lane == 0) y[r] = s;
}

// Sums of the eight warps, joined as neighbours.
__device__ float4 eight(float4 (*sums)[32], int lane) {
    const auto s = [&](int k) { return add(sums[k][lane], sums[k + 1][lane]); };
    return add(add(s(0), s(2)), add(s(4), s(6)));
}
// Puts the h-th of eight values into a tree of neighbours; the last of them leaves their sum in tree[3].
__device__ void push(float4 (&tree)[4], float4 s, int h) {
    bool done = false;
#pragma unroll
    for (int k = 0; k < 3; k++) {
        if (done) continue;
        if ((h >> k) & 1) {
            s = add(tree[k], s);
        } else {
            tree[k] = s;
            done = true;
        }
    }
    if (!done) tree[3] = s;
}
// a block: 128 columns of one tile of 128 R rows, of which a part of 128 / S "lanes" (rows of the tile's first 128)
template <int R, int S> __global__ void __launch_bounds__(256) cols_split(const float *x, float *part, long cols) {
    __shared__ float4 sums[8][32];
    constexpr int G = 128 / S / 8;
    const int lane = threadIdx.x & 31, w = threadIdx.x >> 5, strips = int(cols / 128), strip = blockIdx.x % strips, q = blockIdx.x / strips % S;
    const long t = blockIdx.x / strips / S, ld = cols / 4;
    const float4 *p = (const float4 *)(x + t * (128l * R) * cols + strip * 128) + lane;
    float4 acc[G];
#pragma unroll
    for (int g = 0; g < G; g++) {
        const int c = q * (128 / S) + w * G + g;
        float4 v[R];
#pragma unroll
        for (int r = 0; r < R; r++) v[r] = __ldcs(p + (r * 128l + c) * ld);
        acc[g] = v[0];
#pragma unroll
        for (int r = 1; r < R; r++) acc[g] = add(acc[g], v[r]);
    }
#pragma unroll
    for (int k = G / 2; k; k >>= 1)
#pragma unroll
        for (int g = 0; g < k; g++) acc[g] = add(acc[2 * g], acc[2 * g + 1]);
    sums[w][lane] = acc[0];
    __syncthreads();
    if (w == 0) ((float4 *)(part + (t * S + q) * cols + strip * 128))[lane] = eight(sums, lane);
}
// joins S parts of each of up to 32 tiles: 32 x 32 threads for 32 columns
template <int S> __global__ void cols_join(const float *part, float *y, int tiles, long cols) {
    __shared__ float s[32][33];
    const int jx = threadIdx.x, ty = threadIdx.y;
    const long j = blockIdx.x * 32l + jx;
    float v = -0.0f;
    if (ty < tiles) {
        float t[S];
#pragma unroll
        for (int k = 0; k < S; k++) t[k] = part[(long(ty) * S + k) * cols + j];
#pragma unroll
        for (int k = S / 2; k; k >>= 1)
#pragma unroll
            for (int g = 0; g < k; g++) t[g] = t[2 * g] + t[2 * g + 1];
        v = t[0];
    }
    s[ty][jx] = v;
    __syncthreads();
    v = s[jx][ty];
    for (int o = 1; o < 32; o <<= 1) v += __shfl_xor_sync(~0u, v, o);
    if (jx == 0) y[blockIdx.x * 32l + ty] = v;
}
// one tile of 128 R rows: a block 128 columns of all of it
template <int R, long cols> __global__ void __launch_bounds__(256) cols_strip(const float *x, float *y) {
    __shared__ float4 sums[8][32];
    const int lane = threadIdx.x & 31, w = threadIdx.x >> 5;
    constexpr long ld = cols / 4;
    const float4 *p = (const float4 *)(x + blockIdx.x * 128l) + lane;
    float4 tree[4];
#pragma unroll 1
    for (int g = 0; g < 16; g += 2) {
        float4 v[2][R];
#pragma unroll
        for (int r = 0; r < R; r++) {
            v[0][r] = __ldcs(p + (r * 128l + w * 16 + g) * ld);
            v[1][r] = __ldcs(p + (r * 128l + w * 16 + g + 1) * ld);
        }
        float4 a = v[0][0], b = v[1][0];
#pragma unroll
        for (int r = 1; r < R; r++) {
            a = add(a, v[0][r]);
            b = add(b, v[1][r]);
        }
        push(tree, add(a, b), g >> 1);
    }
    sums[w][lane] = tree[3];
    __syncthreads();
    if (w == 0) ((float4 *)y)[blockIdx.x * 32 + lane] = eight(sums, lane);
}
// 64 columns: two rows a load of a warp, a tile of 2048 rows a block
__global__ void __launch_bounds__(256) cols_narrow(const float *x, float *part) {
    __shared__ float4 sums[8][32];
    const int lane = threadIdx.x & 31, w = threadIdx.x >> 5;
    const float4 *p = (const float4 *)(x + blockIdx.x * 2048l * 64) + lane;
    float4 tree[4];
#pragma unroll 1
    for (int g = 0; g < 8; g++) {
        float4 v[16];
#pragma unroll
        for (int r = 0; r < 16; r++) v[r] = __ldcs(p + (r * 128l + w * 16 + g * 2) * 16);
        float4 a = v[0], o;
#pragma unroll
        for (int r = 1; r < 16; r++) a = add(a, v[r]);
        o.x = __shfl_down_sync(~0u, a.x, 16);
        o.y = __shfl_down_sync(~0u, a.y, 16);
        o.z = __shfl_down_sync(~0u, a.z, 16);
        o.w = __shfl_down_sync(~0u, a.w, 16);
        push(tree, add(a, o), g);
    }
    sums[w][lane] = tree[3];
    __syncthreads();
    if (threadIdx.x < 16) ((float4 *)(part + blockIdx.x * 64l))[threadIdx.x] = eight(sums, threadIdx.x);
}
// joins a multiple of 128 tiles of 64 columns: a block four columns
__global__ void __launch_bounds__(128) cols_narrow_join(const float *part, float *y, int tiles) {
    __shared__ float4 sums[4];
    const int t = threadIdx.x;
    const float4 *p = (const float4 *)part + blockIdx.x;
    float4 a = p[t * 16l];
    for (int r = 1; r * 128 < tiles; r++) a = add(a, p[(r * 128l + t) * 16]);
    for (int o = 1; o < 32; o <<= 1) {
        float4 u;
        u.x = __shfl_xor_sync(~0u, a.x, o);
        u.y = __shfl_xor_sync(~0u, a.y, o);
        u.z = __shfl_xor_sync(~0u, a.z, o);
        u.w = __shfl_xor_sync(~0u, a.w, o);
        a = add(a, u);
    }
    if ((t & 31) == 0) sums[t >> 5] = a;
    __syncthreads();
    if (t == 0) ((float4 *)y)[blockIdx.x] = add(add(sums[0], sums[1]), add(sums[2], sums[3]));
}
// 64 rows: a thread owns four columns
template <long cols> __global__ void __launch_bounds__(256) cols_of_few(const float *x, float *y) {
    const long j = blockIdx.x * 256l + threadIdx.x, ld = cols / 4;
    const float4 *p = (const float4 *)x + j;
    float4 tree[4];
#pragma unroll 1
    for (int g = 0; g < 8; g++) {
        float4 v[8];
#pragma unroll
        for (int k = 0; k < 8; k++) v[k] = __ldcs(p + (g * 8 + k) * ld);
        push(tree, add(add(add(v[0], v[1]), add(v[2], v[3])), add(add(v[4], v[5]), add(v[6], v[7]))), g);
    }
    ((float4 *)y)[j] = tree[3];
}
// a warp a row, in a plain order
__global__ void __launch_bounds__(256) matvec_warp(const float *a, const float *x, float *y, int cols) {
    const int lane = threadIdx.x & 31;
    const long r = blockIdx.x * 8l + (threadIdx.x >> 5);
    const float4 *p = (const float4 *)(a + r * cols), *q = (const float4 *)x;
    float s = 0;
#pragma unroll 8
    for (int j = lane; j < cols / 4; j += 32) {
        const float4 u = __ldcs(p + j), v = q[j];
        s += (u.x * v.x + u.y * v.y) + (u.z * v.z + u.w * v.w);
    }
    for (int o = 16; o; o >>= 1) s += __shfl_down_sync(~0u, s, o);
    if (lane == 0) y[r] = s;
}

} // namespace
