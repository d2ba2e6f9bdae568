// Loops inside of an element as a careful CUDA programmer writes them: the peers of `bench/torch_loops.py`, with the formulas of
// `cpp-examples/generators/src/loops.rs`. One thread is one element; what it needs again stays in its registers.
// nvcc -O3 -std=c++17 -arch=native -shared -cudart static -Xcompiler -fPIC -o loops.so loops.cu
// With -fmad=false nothing is contracted, and each operation rounds as in our kernels. The caller tries several block sizes.
#include <cuda_runtime.h>

namespace {

constexpr int RATES = 80, STEPS = 40, UNKNOWNS = 8, CENTRES = 8, DIMENSIONS = 16;
constexpr int MAX_SEGMENT_BLOCKS = 1 << 17;

__global__ void mandelbrot(const float *cx, const float *cy, int *out, int rows, int cols) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= rows || j >= cols) return;
    const float x0 = cx[j], y0 = cy[i];
    float x = 0, y = 0;
    int k = 0;
    while (x * x + y * y <= 4.0f && k < 256) {
        const float next = x * x - y * y + x0;
        y = 2.0f * x * y + y0;
        x = next;
        k++;
    }
    out[size_t(i) * cols + j] = k;
}

__device__ float portfolio(const float *rates) {
    float bond = 1, annuity = 0, value = 0;
#pragma unroll
    for (int k = 1; k <= RATES - STEPS; k++) {
        bond /= 1.0f + 0.25f * rates[STEPS + k - 1];
        annuity += 0.25f * bond;
        if (k == 4 || k == 8 || k == 20 || k == 28 || k == 40) {
            value += 100.0f * fmaxf(1.0f - bond - 0.045f * annuity, 0.0f);
            value += 100.0f * fmaxf(1.0f - bond - 0.05f * annuity, 0.0f);
            value += 100.0f * fmaxf(1.0f - bond - 0.055f * annuity, 0.0f);
        }
    }
#pragma unroll
    for (int k = 0; k < STEPS; k++) value /= 1.0f + 0.25f * rates[k];
    return value;
}

// The rates in local memory: the loop over them is a loop.
__global__ void libor(const float *z, const float *sigma, float *out, int paths) {
    const int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= paths) return;
    float rates[RATES];
    for (int i = 0; i < RATES; i++) rates[i] = 0.05f;
    for (int n = 0; n < STEPS; n++) {
        const float noise = 0.5f * z[size_t(n) * paths + p];
        float drift = 0;
        for (int i = n + 1; i < RATES; i++) {
            const float lambda = __ldg(sigma + i - 1 - n), by = 0.25f * lambda;
            drift += by * rates[i] / (1.0f + 0.25f * rates[i]);
            rates[i] *= expf(by * drift + lambda * (noise - 0.5f * by));
        }
    }
    out[p] = portfolio(rates);
}

// The rates in registers: the loop over them is written out.
__global__ void __launch_bounds__(256) libor_registers(const float *z, const float *sigma, float *out, int paths) {
    const int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= paths) return;
    float rates[RATES];
#pragma unroll
    for (int i = 0; i < RATES; i++) rates[i] = 0.05f;
#pragma unroll 1
    for (int n = 0; n < STEPS; n++) {
        const float noise = 0.5f * z[size_t(n) * paths + p];
        float drift = 0;
#pragma unroll
        for (int i = 1; i < RATES; i++) {
            if (i <= n) continue;
            const float lambda = __ldg(sigma + i - 1 - n), by = 0.25f * lambda;
            drift += by * rates[i] / (1.0f + 0.25f * rates[i]);
            rates[i] *= expf(by * drift + lambda * (noise - 0.5f * by));
        }
    }
    out[p] = portfolio(rates);
}

struct populations { const float *from[9]; float *to[9]; };

__global__ void d2q9(populations f, int rows, int cols) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y;
    if (j >= cols) return;
    const int up = i > 0 ? i - 1 : rows - 1, down = i < rows - 1 ? i + 1 : 0;
    const int left = j > 0 ? j - 1 : cols - 1, right = j < cols - 1 ? j + 1 : 0;
    const auto at = [&](int k, int i, int j) { return f.from[k][size_t(i) * cols + j]; };
    const float f0 = at(0, i, j), f1 = at(1, i, left), f2 = at(2, up, j), f3 = at(3, i, right), f4 = at(4, down, j);
    const float f5 = at(5, up, left), f6 = at(6, up, right), f7 = at(7, down, right), f8 = at(8, down, left);
    const float density = f0 + f1 + f2 + f3 + f4 + f5 + f6 + f7 + f8;
    const float vy = (f2 - f4 + f5 + f6 - f7 - f8) / density, vx = (f1 - f3 + f5 - f6 - f7 + f8) / density;
    const float still = 1.0f - 1.5f * (vy * vy + vx * vx);
    const auto relaxed = [&](int k, float now, float weight, float along) {
        const float rest = density * weight * (still + 3.0f * along + 4.5f * along * along);
        f.to[k][size_t(i) * cols + j] = now + 0.625f * (rest - now);
    };
    const float w0 = 4.0f / 9.0f, w = 1.0f / 9.0f, d = 1.0f / 36.0f;
    relaxed(0, f0, w0, 0.0f), relaxed(1, f1, w, vx), relaxed(2, f2, w, vy), relaxed(3, f3, w, -vx), relaxed(4, f4, w, -vy);
    relaxed(5, f5, d, vy + vx), relaxed(6, f6, d, vy - vx), relaxed(7, f7, d, -vy - vx), relaxed(8, f8, d, vx - vy);
}

__global__ void tridiagonal(const float *a, const float *b, const float *c, const float *d, float *x, int systems) {
    const int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= systems) return;
    const auto at = [&](const float *m, int k) { return m[size_t(k) * systems + s]; };
    float upper[UNKNOWNS], right[UNKNOWNS];
    upper[0] = at(c, 0) / at(b, 0), right[0] = at(d, 0) / at(b, 0);
#pragma unroll
    for (int k = 1; k < UNKNOWNS; k++) {
        const float pivot = at(b, k) - at(a, k) * upper[k - 1];
        upper[k] = at(c, k) / pivot;
        right[k] = (at(d, k) - at(a, k) * right[k - 1]) / pivot;
    }
#pragma unroll
    for (int k = UNKNOWNS - 2; k >= 0; k--) right[k] -= upper[k] * right[k + 1];
#pragma unroll
    for (int k = 0; k < UNKNOWNS; k++) x[size_t(k) * systems + s] = right[k];
}

__global__ void kmeans_assign(const float *x, const float *centres, long long *out, int points) {
    __shared__ float4 c[CENTRES * DIMENSIONS / 4];
    for (int k = threadIdx.x; k < CENTRES * DIMENSIONS / 4; k += blockDim.x) c[k] = reinterpret_cast<const float4 *>(centres)[k];
    __syncthreads();
    const int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= points) return;
    float4 at[DIMENSIONS / 4];
#pragma unroll
    for (int q = 0; q < DIMENSIONS / 4; q++) at[q] = reinterpret_cast<const float4 *>(x)[size_t(p) * (DIMENSIONS / 4) + q];
    float least = 0;
    int nearest = -1;
#pragma unroll
    for (int k = 0; k < CENTRES; k++) {
        float sum = 0;
#pragma unroll
        for (int q = 0; q < DIMENSIONS / 4; q++) {
            const float4 e = c[k * (DIMENSIONS / 4) + q];
            const float dx = at[q].x - e.x, dy = at[q].y - e.y, dz = at[q].z - e.z, dw = at[q].w - e.w;
            sum += dx * dx, sum += dy * dy, sum += dz * dz, sum += dw * dw;
        }
        if (nearest < 0 || sum < least) least = sum, nearest = k;
    }
    out[p] = nearest;
}

// The greatest sum of consecutive elements, in index order: a thread folds 16 neighbours, which its block has brought through
// shared memory, then lanes, warps and blocks are joined. The last block joins the blocks' results.
struct segment { int most, begin, end, all; };

__device__ segment join(segment a, segment b) {
    return {max(max(a.most, b.most), a.end + b.begin), max(a.begin, a.all + b.begin), max(b.end, a.end + b.all), a.all + b.all};
}

__device__ segment of_warp(segment s) {
    for (int by = 1; by < 32; by *= 2) {
        const segment other = {__shfl_down_sync(~0u, s.most, by), __shfl_down_sync(~0u, s.begin, by),
                               __shfl_down_sync(~0u, s.end, by), __shfl_down_sync(~0u, s.all, by)};
        if ((threadIdx.x & 31) % (2 * by) == 0) s = join(s, other);
    }
    return s;
}

// The result of the block is in its first thread.
template <int SEGMENT_THREADS> __device__ segment of_block(segment s, segment *warps) {
    s = of_warp(s);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x < 32) s = of_warp(threadIdx.x < SEGMENT_THREADS / 32 ? warps[threadIdx.x] : segment{});
    return s;
}

__device__ segment parts[MAX_SEGMENT_BLOCKS];
__device__ unsigned arrived;

template <int SEGMENT_THREADS> __global__ void __launch_bounds__(SEGMENT_THREADS) mss(const int *x, int *out, int n, int per_block) {
    __shared__ int4 tile[SEGMENT_THREADS * 5];
    __shared__ segment warps[SEGMENT_THREADS / 32];
    __shared__ bool is_last;
    segment block = {};
    for (int first = blockIdx.x * per_block; first < min(n, (blockIdx.x + 1) * per_block); first += SEGMENT_THREADS * 16) {
        __syncthreads();
#pragma unroll
        for (int q = 0; q < 4; q++) {
            const int v = q * SEGMENT_THREADS + threadIdx.x, at = first + 4 * v;
            tile[v / 4 * 5 + v % 4] = at < n ? reinterpret_cast<const int4 *>(x)[at / 4] : int4{};
        }
        __syncthreads();
        segment s = {};
#pragma unroll
        for (int q = 0; q < 4; q++) {
            const int4 e = tile[threadIdx.x * 5 + q];
            for (int y : {e.x, e.y, e.z, e.w}) s = join(s, {max(y, 0), max(y, 0), max(y, 0), y});
        }
        s = of_block<SEGMENT_THREADS>(s, warps);
        block = join(block, s);
    }
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = block;
        __threadfence();
        is_last = atomicAdd(&arrived, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last) return;
    segment s = {};
    const int each = (gridDim.x + SEGMENT_THREADS - 1) / SEGMENT_THREADS;
    for (int k = threadIdx.x * each; k < min(int(gridDim.x), int(threadIdx.x + 1) * each); k++) s = join(s, parts[k]);
    s = of_block<SEGMENT_THREADS>(s, warps);
    if (threadIdx.x == 0) *out = s.most, arrived = 0;
}

unsigned blocks(int n, int block) { return unsigned((n + block - 1) / block); }

}  // namespace

extern "C" {

int peer_mandelbrot(const float *cx, const float *cy, int *out, int rows, int cols, int threads, cudaStream_t stream) {
    const int high = threads / 32;
    mandelbrot<<<dim3(blocks(cols, 32), blocks(rows, high)), dim3(32, unsigned(high)), 0, stream>>>(cx, cy, out, rows, cols);
    return cudaGetLastError();
}
int peer_libor(const float *z, const float *sigma, float *out, int paths, int threads, cudaStream_t stream) {
    libor<<<blocks(paths, threads), threads, 0, stream>>>(z, sigma, out, paths);
    return cudaGetLastError();
}
int peer_libor_registers(const float *z, const float *sigma, float *out, int paths, int threads, cudaStream_t stream) {
    libor_registers<<<blocks(paths, threads), threads, 0, stream>>>(z, sigma, out, paths);
    return cudaGetLastError();
}
int peer_d2q9(const float *const *from, float *const *to, int rows, int cols, int threads, cudaStream_t stream) {
    populations f;
    for (int k = 0; k < 9; k++) f.from[k] = from[k], f.to[k] = to[k];
    d2q9<<<dim3(blocks(cols, threads), unsigned(rows)), threads, 0, stream>>>(f, rows, cols);
    return cudaGetLastError();
}
int peer_tridiagonal(const float *a, const float *b, const float *c, const float *d, float *x, int systems, int threads, cudaStream_t stream) {
    tridiagonal<<<blocks(systems, threads), threads, 0, stream>>>(a, b, c, d, x, systems);
    return cudaGetLastError();
}
int peer_kmeans_assign(const float *x, const float *centres, long long *out, int points, int threads, cudaStream_t stream) {
    kmeans_assign<<<blocks(points, threads), threads, 0, stream>>>(x, centres, out, points);
    return cudaGetLastError();
}
// n is a multiple of 4.
int peer_mss(const int *x, int *out, int n, int threads, cudaStream_t stream) {
    const int per_block = threads * 16 * 8;
    const auto kernel = threads == 512 ? mss<512> : threads == 256 ? mss<256> : mss<128>;
    kernel<<<blocks(n, per_block), threads, 0, stream>>>(x, out, n, per_block);
    return cudaGetLastError();
}
}
