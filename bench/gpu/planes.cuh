// Stencils of matrices of 8192 x 8192 by hand, for shapes.cu: Jacobi steps and squares of (2 R + 1)^2 neighbours. Results are where the middle of the stencil is.
#pragma once
#include <cuda_runtime.h>

namespace {

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

} // namespace
