// Stencils, sums of rows and columns, and all pairs by hand, behind the functions of peers.h, for shapes.cpp.
// nvcc -O3 -std=c++17 -arch=sm_90 -shared -cudart static -Xcompiler -fPIC -o libarraygpu-shapes.so shapes.cu
#include "peers.h"
#include "products.cuh"
#include <cub/cub.cuh>
#include <cuda_runtime.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

namespace {

using arrays = const peer_arrays *;

cudaStream_t as_stream(void *s) { return static_cast<cudaStream_t>(s); }
int launched() { return cudaGetLastError(); }
unsigned blocks(long n, long a_block) { return unsigned((n + a_block - 1) / a_block); }

// ---- one dimension: m results
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

// ---- two dimensions, 8192 x 8192: results where the middle of the stencil is
constexpr int WIDTH = 8192, HEIGHT = 8192;

// four columns wide, R rows down, three rows in registers; the edges stay
template <int R> __global__ void jacobi_rows(const float *__restrict__ a, float *o) {
    const int x = (blockIdx.x * blockDim.x + threadIdx.x) * 4, y0 = (blockIdx.y * blockDim.y + threadIdx.y) * R;
    const auto row = [&](int y) { return *(const float4 *)(a + long(y) * WIDTH + x); };
    float4 n = row(max(y0 - 1, 0)), c = row(y0);
#pragma unroll
    for (int r = 0; r < R; r++) {
        const int y = y0 + r;
        const float4 s = row(min(y + 1, HEIGHT - 1));
        const float l = x > 0 ? a[long(y) * WIDTH + x - 1] : 0.0f, e = x + 4 < WIDTH ? a[long(y) * WIDTH + x + 4] : 0.0f;
        float4 v = c;
        if (y > 0 && y < HEIGHT - 1) {
            if (x > 0) v.x = 0.25f * ((l + c.y) + (n.x + s.x));
            v.y = 0.25f * ((c.x + c.z) + (n.y + s.y));
            v.z = 0.25f * ((c.y + c.w) + (n.z + s.z));
            if (x + 4 < WIDTH) v.w = 0.25f * ((c.z + e) + (n.w + s.w));
        }
        *(float4 *)(o + long(y) * WIDTH + x) = v;
        n = c;
        c = s;
    }
}
__global__ void jacobi_shared(const float *__restrict__ a, float *o) {
    __shared__ float t[18][34];
    const int tx = threadIdx.x, ty = threadIdx.y, bx = blockIdx.x * 32, by = blockIdx.y * 16, x = bx + tx, y = by + ty;
    for (int j = ty * 32 + tx; j < 18 * 34; j += 512) {
        const int r = j / 34, c = j % 34, gx = bx + c - 1, gy = by + r - 1;
        if (gx >= 0 && gx < WIDTH && gy >= 0 && gy < HEIGHT) t[r][c] = a[long(gy) * WIDTH + gx];
    }
    __syncthreads();
    if (x > 0 && y > 0 && x < WIDTH - 1 && y < HEIGHT - 1)
        o[long(y) * WIDTH + x] = 0.25f * ((t[ty + 1][tx] + t[ty + 1][tx + 2]) + (t[ty][tx + 1] + t[ty + 2][tx + 1]));
}

// T steps at once: a square in shared memory, of which each step spoils a ring
template <int T> __global__ void __launch_bounds__(512) jacobi_steps(const float *__restrict__ a, float *o) {
    __shared__ float s[2][64][64];
    constexpr int B = 64 - 2 * T;
    const int tx = threadIdx.x, ty = threadIdx.y, gx = blockIdx.x * B - T + tx, g0 = blockIdx.y * B - T, cx = min(max(gx, 0), WIDTH - 1);
    const auto inner = [](int x, int y) { return x > 0 && y > 0 && x < WIDTH - 1 && y < HEIGHT - 1; };
#pragma unroll
    for (int r = 0; r < 8; r++) s[0][ty * 8 + r][tx] = a[long(min(max(g0 + ty * 8 + r, 0), HEIGHT - 1)) * WIDTH + cx];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < T; k++) {
        const int xl = max(tx - 1, 0), xr = min(tx + 1, 63);
        float n = s[k & 1][max(ty * 8 - 1, 0)][tx], c = s[k & 1][ty * 8][tx];
#pragma unroll
        for (int r = 0; r < 8; r++) {
            const int y = ty * 8 + r;
            const float d = s[k & 1][min(y + 1, 63)][tx], v = 0.25f * ((s[k & 1][y][xl] + s[k & 1][y][xr]) + (n + d));
            s[(k & 1) ^ 1][y][tx] = inner(gx, g0 + y) ? v : c;
            n = c;
            c = d;
        }
        __syncthreads();
    }
    if (tx >= T && tx < 64 - T && gx < WIDTH)
#pragma unroll
        for (int r = 0; r < 8; r++) {
            const int y = ty * 8 + r, gy = g0 + y;
            if (y >= T && y < 64 - T && gy < HEIGHT) o[long(gy) * WIDTH + gx] = s[T & 1][y][tx];
        }
}

__device__ float weight(int dx, int dy) { return 0.02f + 0.01f * (dx + 3 * dy); }

template <int R> __device__ float square(const float *x, long at) {
    float s = 0;
#pragma unroll
    for (int dy = -R; dy <= R; dy++)
#pragma unroll
        for (int dx = -R; dx <= R; dx++) s = fmaf(weight(dx, dy), x[at + long(dy) * WIDTH + dx], s);
    return s;
}
template <int R> __global__ void square_direct(const float *x, float *y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    const long at = long(j) * WIDTH + i;
    if (i >= R && j >= R && i < WIDTH - R && j < HEIGHT - R) y[at] = square<R>(x, at);
}
// 32 x 8 threads, each four columns and ROWS rows: a tile of 128 columns in shared memory, with 4 more on both sides
template <int R, int ROWS> __global__ void __launch_bounds__(256) square_tile(const float *x, float *y) {
    constexpr int TW = 128, TH = 8 * ROWS, SW = TW + 8;
    __shared__ __align__(16) float s[TH + 2 * R][SW];
    const int bx = blockIdx.x * TW, by = blockIdx.y * TH, tx = threadIdx.x, ty = threadIdx.y;
    for (int k = ty * 32 + tx; k < (TH + 2 * R) * (SW / 4); k += 256) {
        const int r = k / (SW / 4), q = k % (SW / 4), gy = by + r - R, gx = bx - 4 + q * 4;
        float4 v = make_float4(0, 0, 0, 0);
        if (gy >= 0 && gy < HEIGHT && gx >= 0 && gx + 3 < WIDTH) v = __ldg((const float4 *)(x + long(gy) * WIDTH + gx));
        *(float4 *)&s[r][q * 4] = v;
    }
    __syncthreads();
#pragma unroll
    for (int rr = 0; rr < ROWS; rr++) {
        const int ly = ty * ROWS + rr, gy = by + ly, gx = bx + tx * 4;
        float o[4] = {};
#pragma unroll
        for (int dy = 0; dy <= 2 * R; dy++) {
            float v[12];
#pragma unroll
            for (int k = 0; k < 3; k++) *(float4 *)(v + 4 * k) = *(float4 *)&s[ly + dy][tx * 4 + 4 * k];
#pragma unroll
            for (int dx = -R; dx <= R; dx++)
#pragma unroll
                for (int j = 0; j < 4; j++) o[j] = fmaf(weight(dx, dy - R), v[4 + j + dx], o[j]);
        }
        if (gy < R || gy >= HEIGHT - R) continue;
        if (gx >= 4 && gx + 8 <= WIDTH) {
            *(float4 *)(y + long(gy) * WIDTH + gx) = make_float4(o[0], o[1], o[2], o[3]);
        } else {
            for (int j = 0; j < 4; j++)
                if (gx + j >= R && gx + j < WIDTH - R) y[long(gy) * WIDTH + gx + j] = o[j];
        }
    }
}
// four columns a thread, ROWS rows: each input row is loaded once and goes into all the sums that it belongs to
template <int R, int ROWS> __global__ void __launch_bounds__(256) square_rows(const float *x, float *y) {
    const int gx = (blockIdx.x * blockDim.x + threadIdx.x) * 4, by = (blockIdx.y * blockDim.y + threadIdx.y) * ROWS;
    if (gx < 4 || gx + 8 > WIDTH) {
        for (int gy = max(by, R); gy < min(by + ROWS, HEIGHT - R); gy++)
            for (int g = max(gx, R); g < min(gx + 4, WIDTH - R); g++) y[long(gy) * WIDTH + g] = square<R>(x, long(gy) * WIDTH + g);
        return;
    }
    float sums[ROWS][4] = {};
#pragma unroll
    for (int q = 0; q < ROWS + 2 * R; q++) {
        const int gy = by + q - R;
        if (gy < 0 || gy >= HEIGHT) continue;
        float v[12];
#pragma unroll
        for (int k = 0; k < 3; k++) *(float4 *)(v + 4 * k) = __ldg((const float4 *)(x + long(gy) * WIDTH + gx - 4) + k);
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const int dy = q - R - r;
            if (dy < -R || dy > R) continue;
#pragma unroll
            for (int dx = -R; dx <= R; dx++)
#pragma unroll
                for (int j = 0; j < 4; j++) sums[r][j] = fmaf(weight(dx, dy), v[4 + j + dx], sums[r][j]);
        }
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        if (by + r >= R && by + r < HEIGHT - R) *(float4 *)(y + long(by + r) * WIDTH + gx) = make_float4(sums[r][0], sums[r][1], sums[r][2], sums[r][3]);
}

// ---- sums of rows and columns, in arraygpu's order: tiles of 128 lanes and 16 rows, trees of neighbours
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

// Memory between two kernels, and of CUB: made at the first call.
struct scratch_memory {
    float *part = nullptr;
    unsigned *arrived = nullptr; // zeros, and zeros again after each call
    char *cub = nullptr;
    static constexpr std::size_t CUB = std::size_t(64) << 20;
    cudaError_t make() {
        if (arrived) return cudaSuccess;
        if (cudaError_t e = cudaMalloc(&part, std::size_t(4) << 20)) return e;
        if (cudaError_t e = cudaMalloc(&cub, CUB)) return e;
        if (cudaError_t e = cudaMalloc(&arrived, 4096)) return e;
        return cudaMemset(arrived, 0, 4096);
    }
} scratch;

struct row_begins {
    long long cols;
    __host__ __device__ long long operator()(long long i) const { return i * cols; }
};
int cub_rows(arrays x, void *s, long long rows, long long cols) {
    if (cudaError_t e = scratch.make()) return e;
    const auto begin = thrust::make_transform_iterator(thrust::make_counting_iterator(0ll), row_begins{cols});
    std::size_t bytes = 0;
    if (cudaError_t e = cub::DeviceSegmentedReduce::Sum(nullptr, bytes, x->a, x->out, int(rows), begin, begin + 1, as_stream(s))) return e;
    if (bytes > scratch.CUB) return cudaErrorMemoryAllocation;
    return cub::DeviceSegmentedReduce::Sum(scratch.cub, bytes, x->a, x->out, int(rows), begin, begin + 1, as_stream(s));
}

// ---- all pairs
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

// ---- launches of each kind
int one_dimension(void (*kernel)(const float *, float *, long), long a_block, arrays x, void *s) {
    const long m = long(x->n) - 1;
    kernel<<<blocks(m, a_block), 256, 0, as_stream(s)>>>(x->a, x->out, m);
    return launched();
}
template <int K> int one_dimension(void (*kernel)(const float *, float *, long, weights<K>), long a_block, arrays x, void *s) {
    const long m = long(x->n) - (K - 1);
    kernel<<<blocks(m, a_block), 256, 0, as_stream(s)>>>(x->a, x->out, m, weights_of<K>());
    return launched();
}
int two_dimensions(void (*kernel)(const float *, float *), int across, int down, dim3 threads, arrays x, void *s) {
    kernel<<<dim3(WIDTH / across, HEIGHT / down), threads, 0, as_stream(s)>>>(x->a, x->out);
    return launched();
}
template <int T> int steps(arrays x, void *s) {
    constexpr int B = 64 - 2 * T;
    jacobi_steps<T><<<dim3((WIDTH + B - 1) / B, (HEIGHT + B - 1) / B), dim3(64, 8), 0, as_stream(s)>>>(x->a, x->out);
    return launched();
}
int reduction(void (*kernel)(const float *, float *), unsigned count, arrays x, void *s) {
    kernel<<<count, 256, 0, as_stream(s)>>>(x->a, x->out);
    return launched();
}
int all_pairs(void (*kernel)(const float4 *, float4 *), unsigned count, arrays x, void *s) {
    kernel<<<count, 256, 0, as_stream(s)>>>((const float4 *)x->b, (float4 *)x->out);
    return launched();
}
template <int S> int cols_parts(arrays x, void *s) { // 65536 x 1024
    if (cudaError_t e = scratch.make()) return e;
    cols_split<16, S><<<8 * 32 * S, 256, 0, as_stream(s)>>>(x->a, scratch.part, 1024);
    cols_join<S><<<32, dim3(32, 32), 0, as_stream(s)>>>(scratch.part, x->out, 32, 1024);
    return launched();
}

#define PEER(name, impl, flags, ...) \
    {name, impl, flags, [](arrays x, void *s) -> int { __VA_ARGS__ }}
#define AVERAGE(name, K)                                                                              \
    PEER(name, "hand_direct", 0, return one_dimension<K>(taps_direct<K>, 256, x, s);),                \
        PEER(name, "hand_window4", 0, return one_dimension<K>(taps_window<K, 1>, 1024, x, s);),       \
        PEER(name, "hand_window8", 0, return one_dimension<K>(taps_window<K, 2>, 2048, x, s);),       \
        PEER(name, "hand_window16", 0, return one_dimension<K>(taps_window<K, 4>, 4096, x, s);),      \
        PEER(name, "hand_tile1024", 0, return one_dimension<K>(taps_tile<K, 1>, 1024, x, s);),        \
        PEER(name, "hand_tile2048", 0, return one_dimension<K>(taps_tile<K, 2>, 2048, x, s);),        \
        PEER(name, "hand_tile4096", 0, return one_dimension<K>(taps_tile<K, 4>, 4096, x, s);)
#define PLANE(name, impl, across, down, threads, ...) \
    PEER(name, impl, PEER_CENTRE, return two_dimensions(__VA_ARGS__, across, down, threads, x, s);)
#define SQUARE(name, R)                                                              \
    PLANE(name, "hand_direct", 32, 8, dim3(32, 8), square_direct<R>),                \
        PLANE(name, "hand_tile_rows1", 128, 8, dim3(32, 8), square_tile<R, 1>),      \
        PLANE(name, "hand_tile_rows4", 128, 32, dim3(32, 8), square_tile<R, 4>),     \
        PLANE(name, "hand_rows4", 128, 32, dim3(32, 8), square_rows<R, 4>),          \
        PLANE(name, "hand_rows8", 128, 64, dim3(32, 8), square_rows<R, 8>)
#define CUB_ROWS(name, rows, cols) PEER(name, "cub_DeviceSegmentedReduce", 0, return cub_rows(x, s, rows, cols);)

const peer list[] = {
    PEER("difference", "hand_direct", 0, return one_dimension(difference, 256, x, s);),
    PEER("difference", "hand_shared", 0, return one_dimension(difference_shared, 256, x, s);),
    PEER("difference", "hand_float4", 0, return one_dimension(difference4, 1024, x, s);),
    AVERAGE("average15", 15),
    AVERAGE("average31", 31),
    AVERAGE("average63", 63),
    PLANE("jacobi", "hand_shared_32x16", 32, 16, dim3(32, 16), jacobi_shared),
    PLANE("jacobi", "hand_float4_rows4", 128, 16, dim3(32, 4), jacobi_rows<4>),
    PLANE("jacobi", "hand_float4_rows8", 128, 32, dim3(32, 4), jacobi_rows<8>),
    PEER("jacobi 4 steps", "hand_square64", PEER_CENTRE, return steps<4>(x, s);),
    PEER("jacobi 8 steps", "hand_square64", PEER_CENTRE, return steps<8>(x, s);),
    SQUARE("square3", 1),
    SQUARE("square5", 2),
    SQUARE("square7", 3),
    SQUARE("square9", 4),
    PEER("row_sums 65536x1024", "hand_warp_a_row", 0, return reduction(rows_warp<1024>, 65536 / 8, x, s);),
    CUB_ROWS("row_sums 65536x1024", 65536, 1024),
    PEER("row_sums 1024x65536", "hand_block_a_row", 0, return reduction(rows_block<32>, 1024, x, s);),
    CUB_ROWS("row_sums 1024x65536", 1024, 65536),
    PEER("row_sums 64x1048576", "hand_blocks_a_row", 0, if (cudaError_t e = scratch.make()) return e;
         rows_long<<<64 * 32, 256, 0, as_stream(s)>>>(x->a, x->out, scratch.part, scratch.arrived, 512); return launched();),
    CUB_ROWS("row_sums 64x1048576", 64, 1 << 20),
    PEER("row_sums 1048576x64", "hand_half_warp_8_loads", 0, return reduction(rows_half_warp<8>, (1 << 20) / 128, x, s);),
    PEER("row_sums 1048576x64", "hand_half_warp_4_loads", 0, return reduction(rows_half_warp<4>, (1 << 20) / 64, x, s);),
    CUB_ROWS("row_sums 1048576x64", 1 << 20, 64),
    PEER("col_sums 65536x1024", "hand_split4", 0, return cols_parts<4>(x, s);),
    PEER("col_sums 65536x1024", "hand_split8", 0, return cols_parts<8>(x, s);),
    PEER("col_sums 1024x65536", "hand_strip", 0, return reduction(cols_strip<8, 65536>, 512, x, s);),
    PEER("col_sums 64x1048576", "hand_thread_4_columns", 0, return reduction(cols_of_few<(1 << 20)>, 1024, x, s);),
    PEER("col_sums 1048576x64", "hand_tile_a_block", 0, if (cudaError_t e = scratch.make()) return e;
         cols_narrow<<<512, 256, 0, as_stream(s)>>>(x->a, scratch.part);
         cols_narrow_join<<<16, 128, 0, as_stream(s)>>>(scratch.part, x->out, 512); return launched();),
    PEER("matvec 65536x1024", "hand_warp_a_row", 0, matvec_warp<<<65536 / 8, 256, 0, as_stream(s)>>>(x->a, x->b, x->out, 1024); return launched();),
    PEER("matmul 65536x1024x1", "hand_warp_a_row", 0, matvec_warp<<<65536 / 8, 256, 0, as_stream(s)>>>(x->a, x->b, x->out, 1024); return launched();),
    PEER("matmul 4096x4096x4096", "hand_tile128_8x8", 0, matmul_tile<<<dim3(32, 32), 256, 0, as_stream(s)>>>(x->a, x->b, x->out, 4096, 4096); return launched();),
    PEER("bodies", "hand_tile256_1_body", PEER_GROUPS, return all_pairs(bodies<1>, BODIES / 256, x, s);),
    PEER("bodies", "hand_tile256_2_bodies", PEER_GROUPS, return all_pairs(bodies<2>, BODIES / 512, x, s);),
    PEER("bodies", "hand_tile256_4_bodies", PEER_GROUPS, return all_pairs(bodies<4>, BODIES / 1024, x, s);),
    {nullptr, nullptr, 0, nullptr},
};

} // namespace

extern "C" const peer *shapes_list() { return list; }
