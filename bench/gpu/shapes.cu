// Stencils, sums of rows and columns, and all pairs by hand, behind the functions of peers.h, for shapes.cpp.
// nvcc -O3 -std=c++17 -arch=sm_90 -shared -cudart static -Xcompiler -fPIC -o libarraygpu-shapes.so shapes.cu
#include "pairs.cuh"
#include "peers.h"
#include "planes.cuh"
#include "products.cuh"
#include "sums.cuh"
#include "windows.cuh"
#include <cub/cub.cuh>
#include <cuda_runtime.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

namespace {

using arrays = const peer_arrays *;

cudaStream_t as_stream(void *s) { return static_cast<cudaStream_t>(s); }
int launched() { return cudaGetLastError(); }
unsigned blocks(long n, long a_block) { return unsigned((n + a_block - 1) / a_block); }

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
