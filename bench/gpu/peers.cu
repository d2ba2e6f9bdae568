// CUB, Thrust, cuBLAS, copies, and kernels written by hand, behind the functions of peers.h.
// nvcc -O3 -std=c++17 -arch=sm_90 -shared -cudart static -Xcompiler -fPIC -o libarraygpu-peers.so peers.cu
// cuBLAS is loaded at run time (CUBLAS_SO may name the file); without it its rows are left out.
#include "peers.h"
#include <cstdio>
#include <cstdlib>
#include <cub/cub.cuh>
#include <cuda/std/functional>
#include <cuda/std/tuple>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <glob.h>
#include <string>
#include <thrust/execution_policy.h>
#include <thrust/inner_product.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/reduce.h>
#include <thrust/system/cuda/execution_policy.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>
#include <thrust/zip_function.h>
#include <vector>

namespace {

using arrays = const peer_arrays *;
constexpr float alpha = 1.0f / 1024;
int processors = 132;

cudaStream_t as_stream(void *s) { return static_cast<cudaStream_t>(s); }
int launched() { return cudaGetLastError(); }
unsigned blocks(std::size_t n, std::size_t a_block) { return unsigned((n + a_block - 1) / a_block); }

// Scratch that is kept: allocations are not what is measured. The first call of each peer, outside of graphs, makes it large enough.
struct memory {
    char *data = nullptr;
    std::size_t size = 0;
    cudaError_t need(std::size_t bytes) {
        if (bytes <= size) return cudaSuccess;
        cudaDeviceSynchronize();
        cudaFree(data);
        size = bytes + bytes / 8 + 1024;
        return cudaMalloc(&data, size);
    }
} scratch, partials;

template <class F> int cub_run(F f) { // f(temporary storage, its size)
    std::size_t bytes = 0;
    if (cudaError_t e = f(nullptr, bytes)) return e;
    if (cudaError_t e = scratch.need(bytes)) return e;
    bytes = scratch.size;
    return f(scratch.data, bytes);
}

// Thrust's scratch from one block.
struct thrust_memory {
    typedef char value_type;
    memory block;
    std::size_t used = 0;
    int live = 0;
    char *allocate(std::ptrdiff_t bytes) {
        const std::size_t at = (used + 255) & ~std::size_t(255);
        if (block.need(std::size_t(64) << 20) != cudaSuccess || at + bytes > block.size) std::abort();
        used = at + bytes;
        ++live;
        return block.data + at;
    }
    void deallocate(char *, std::size_t) {
        if (--live == 0) used = 0;
    }
} thrust_scratch;

auto nosync(void *s) { return thrust::cuda::par_nosync.on(as_stream(s)); }
auto pooled(void *s) { return thrust::cuda::par(thrust_scratch).on(as_stream(s)); }

// ---- what is computed
struct add {
    __host__ __device__ float operator()(float a, float b) const { return a + b; }
};
struct weighted {
    __host__ __device__ float operator()(float b, float c) const { return 0.12f * b + 7.54f * c; }
};
struct axpy {
    __host__ __device__ float operator()(float x, float y) const { return alpha * x + y; }
};
struct expression {
    __host__ __device__ float operator()(float a, float b, float c) const {
        return (b - (a + 3.75f * c) + c - 0.24f * b) / 27.51f + a - 0.25f * b;
    }
};
struct reciprocal { // the division as a multiplication: other bits
    __host__ __device__ float operator()(float a, float b, float c) const {
        return (b - (a + 3.75f * c) + c - 0.24f * b) * (1.0f / 27.51f) + a - 0.25f * b;
    }
};
struct product_of {
    template <class T> __host__ __device__ float operator()(const T &t) const { return thrust::get<0>(t) * thrust::get<1>(t); }
};
struct square_of_difference {
    template <class T> __host__ __device__ float operator()(const T &t) const {
        const float d = thrust::get<0>(t) - thrust::get<1>(t);
        return d * d;
    }
};

// ---- by hand: each thread V times 16 bytes of each array, all loads before the first use
template <int V, class F, class... T> __global__ void map(F f, float4 *out, std::size_t n4, const T *...in) {
    constexpr int k = sizeof...(T);
    const float4 *from[k] = {in...};
    float4 x[V][k];
    const std::size_t base = blockIdx.x * std::size_t(blockDim.x * V) + threadIdx.x;
#pragma unroll
    for (int v = 0; v < V; v++)
#pragma unroll
        for (int j = 0; j < k; j++)
            if (base + v * blockDim.x < n4) x[v][j] = from[j][base + v * blockDim.x];
#pragma unroll
    for (int v = 0; v < V; v++) {
        if (base + v * blockDim.x >= n4) continue;
        float4 r;
        if constexpr (k == 1) r = make_float4(f(x[v][0].x), f(x[v][0].y), f(x[v][0].z), f(x[v][0].w));
        if constexpr (k == 2)
            r = make_float4(f(x[v][0].x, x[v][1].x), f(x[v][0].y, x[v][1].y), f(x[v][0].z, x[v][1].z), f(x[v][0].w, x[v][1].w));
        if constexpr (k == 3)
            r = make_float4(f(x[v][0].x, x[v][1].x, x[v][2].x), f(x[v][0].y, x[v][1].y, x[v][2].y),
                            f(x[v][0].z, x[v][1].z, x[v][2].z), f(x[v][0].w, x[v][1].w, x[v][2].w));
        out[base + v * blockDim.x] = r;
    }
}
struct same {
    __host__ __device__ float operator()(float a) const { return a; }
};

template <int V, class F, class... T> int hand_map(void *s, F f, float *out, std::size_t n, const T *...in) {
    map<V><<<blocks(n / 4, 256 * V), 256, 0, as_stream(s)>>>(f, (float4 *)out, n / 4, (const float4 *)in...);
    return launched();
}

// One pass; the last block to finish adds the blocks' sums.
enum reduction { SUM, DOT, RMSE, SQUARES };
__device__ unsigned ticket;

template <reduction R> __device__ float term(float4 x, float4 y) {
    if (R == SUM) return (x.x + x.y) + (x.z + x.w);
    if (R == DOT) return (x.x * y.x + x.y * y.y) + (x.z * y.z + x.w * y.w);
    if (R == SQUARES) return (x.x * x.x + x.y * x.y) + (x.z * x.z + x.w * x.w);
    const float a = x.x - y.x, b = x.y - y.y, c = x.z - y.z, d = x.w - y.w;
    return (a * a + b * b) + (c * c + d * d);
}

__device__ float block_sum(float v) {
    __shared__ float warps[32];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
    __syncthreads();
    if (lane == 0) warps[warp] = v;
    __syncthreads();
    v = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : 0.0f;
    for (int o = 16; warp == 0 && o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
    return v;
}

template <reduction R, int U>
__global__ void reduce(const float4 *__restrict__ a, const float4 *__restrict__ b, std::size_t n4, float *part, float *out, float n) {
    constexpr bool two = R == DOT || R == RMSE;
    const float4 zero = make_float4(0, 0, 0, 0);
    float sums[U] = {};
    const std::size_t step = std::size_t(gridDim.x) * blockDim.x;
    std::size_t i = blockIdx.x * std::size_t(blockDim.x) + threadIdx.x;
    for (; i + (U - 1) * step < n4; i += U * step) {
        float4 x[U], y[U];
#pragma unroll
        for (int u = 0; u < U; u++) {
            x[u] = a[i + u * step];
            y[u] = two ? b[i + u * step] : zero;
        }
#pragma unroll
        for (int u = 0; u < U; u++) sums[u] += term<R>(x[u], y[u]);
    }
    for (; i < n4; i += step) sums[0] += term<R>(a[i], two ? b[i] : zero);
    float s = 0;
#pragma unroll
    for (int u = 0; u < U; u++) s += sums[u];
    s = block_sum(s);
    __shared__ bool last;
    if (threadIdx.x == 0) {
        part[blockIdx.x] = s;
        __threadfence();
        last = atomicAdd(&ticket, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    float t = 0;
    for (int j = threadIdx.x; j < gridDim.x; j += blockDim.x) t += __ldcg(part + j);
    t = block_sum(t);
    if (threadIdx.x == 0) {
        *out = R == RMSE ? sqrtf(t / n) : t;
        ticket = 0;
    }
}

template <reduction R> int hand_reduce(arrays x, void *s) {
    if (cudaError_t e = partials.need(1 << 20)) return e;
    reduce<R, 4><<<processors * 8, 256, 0, as_stream(s)>>>((const float4 *)x->a, (const float4 *)x->b, x->n / 4, (float *)partials.data,
                                                           x->scalar, float(x->n));
    return launched();
}

// out = a / sqrt(*squares), from the end: there the second pass finds in the cache what the first has read last
__global__ void scale_reversed(const float4 *a, float4 *out, const float *squares, std::size_t n4) {
    const float r = rsqrtf(*squares);
    std::size_t i = blockIdx.x * std::size_t(blockDim.x) + threadIdx.x;
    if (i >= n4) return;
    i = n4 - 1 - i;
    const float4 x = a[i];
    out[i] = make_float4(x.x * r, x.y * r, x.z * r, x.w * r);
}
__global__ void invert(const float *x, float *out) { *out = 1.0f / *x; }
__global__ void nothing(const float *, const float *, float *, float) {}

// ---- cuBLAS, without its headers
struct {
    void *handle = nullptr;
    int (*Create)(void **);
    int (*SetStream)(void *, cudaStream_t);
    int (*SetPointerMode)(void *, int);
    int (*Saxpy)(void *, int, const float *, const float *, int, float *, int);
    int (*Scopy)(void *, int, const float *, int, float *, int);
    int (*Sdot)(void *, int, const float *, int, const float *, int, float *);
    int (*Snrm2)(void *, int, const float *, int, float *);
    int (*Sscal)(void *, int, const float *, float *, int);
} blas;
float *blas_alpha;

std::string load_blas() {
    std::vector<std::string> names;
    if (const char *given = std::getenv("CUBLAS_SO")) names.push_back(given);
    for (const char *n : {"libcublas.so.13", "libcublas.so.12"}) names.push_back(n);
    for (const char *pattern : {"/usr/local/cuda*/lib64/libcublas.so.1*", "/usr/local/cuda*/targets/x86_64-linux/lib/libcublas.so.1*",
                                "/opt/*/.venv/lib/python3*/site-packages/nvidia/*/lib/libcublas.so.1*",
                                "/usr/local/lib/python3*/*-packages/nvidia/*/lib/libcublas.so.1*"}) {
        glob_t found;
        if (glob(pattern, 0, nullptr, &found) == 0)
            for (std::size_t i = 0; i < found.gl_pathc; i++) names.push_back(found.gl_pathv[i]);
        globfree(&found);
    }
    for (const std::string &name : names) {
        std::string lt = name; // cuBLAS needs its companion, which lies beside it
        const std::size_t at = lt.find("libcublas.so");
        if (at != std::string::npos && lt.find('/') != std::string::npos)
            dlopen(lt.replace(at, 12, "libcublasLt.so").c_str(), RTLD_NOW | RTLD_GLOBAL);
        void *library = dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL);
        if (!library) continue;
        bool all = true;
        auto load = [&](auto &f, const char *symbol) { all &= (f = reinterpret_cast<std::decay_t<decltype(f)>>(dlsym(library, symbol))) != nullptr; };
        load(blas.Create, "cublasCreate_v2");
        load(blas.SetStream, "cublasSetStream_v2");
        load(blas.SetPointerMode, "cublasSetPointerMode_v2");
        load(blas.Saxpy, "cublasSaxpy_v2");
        load(blas.Scopy, "cublasScopy_v2");
        load(blas.Sdot, "cublasSdot_v2");
        load(blas.Snrm2, "cublasSnrm2_v2");
        load(blas.Sscal, "cublasSscal_v2");
        if (!all || blas.Create(&blas.handle) != 0) continue;
        blas.SetPointerMode(blas.handle, 1); // scalars on the device
        return name;
    }
    blas.handle = nullptr;
    return "";
}

template <class F> int blas_run(void *s, F f) {
    if (!blas.handle) return -1;
    if (int e = blas.SetStream(blas.handle, as_stream(s))) return e;
    return f();
}

auto pairs(arrays x) { return thrust::make_zip_iterator(thrust::make_tuple(x->a, x->b)); }
auto triples(arrays x) { return thrust::make_zip_iterator(thrust::make_tuple((const float *)x->out, x->b, x->c)); }
template <class F, class... T> int transform(void *s, arrays x, F f, T... in) {
    return cub::DeviceTransform::Transform(cuda::std::make_tuple((const float *)in...), x->out, int(x->n), f, as_stream(s));
}
template <class F> int transform_reduce(void *s, arrays x, F f) {
    return cub_run([=](void *t, std::size_t &size) {
        return cub::DeviceReduce::TransformReduce(t, size, pairs(x), x->scalar, int(x->n), cuda::std::plus<>{}, f, 0.0f, as_stream(s));
    });
}

#define PEER(name, impl, flags, ...) \
    {name, impl, flags, [](arrays x, void *s) -> int { __VA_ARGS__ }}
#define MAP2(name, f, first, second)                                                                                              \
    PEER(name, "cub_DeviceTransform", 0, return transform(s, x, f{}, x->first, x->second);),                                      \
        PEER(name, "hand_float4", 0, return hand_map<1>(s, f{}, x->out, x->n, x->first, x->second);),                            \
        PEER(name, "hand_float4x2", 0, return hand_map<2>(s, f{}, x->out, x->n, x->first, x->second);),                          \
        PEER(name, "hand_float4x4", 0, return hand_map<4>(s, f{}, x->out, x->n, x->first, x->second);),                          \
        PEER(name, "thrust_transform", 0, thrust::transform(nosync(s), x->first, x->first + x->n, x->second, x->out, f{}); return 0;)

const peer list[] = {
    PEER("copy", "cudaMemcpyAsync_d2d", 0, return cudaMemcpyAsync(x->out, x->a, x->n * 4, cudaMemcpyDeviceToDevice, as_stream(s));),
    PEER("copy", "hand_float4", 0, return hand_map<1>(s, same{}, x->out, x->n, x->a);),
    PEER("copy", "cublasScopy", 0, return blas_run(s, [&] { return blas.Scopy(blas.handle, int(x->n), x->a, 1, x->out, 1); });),
    MAP2("vadd", add, a, b),
    MAP2("expr2", weighted, a, b),
    MAP2("saxpy", axpy, a, out),
    PEER("saxpy", "cublasSaxpy", 0, return blas_run(s, [&] { return blas.Saxpy(blas.handle, int(x->n), blas_alpha, x->a, 1, x->out, 1); });),
    PEER("expr3", "cub_DeviceTransform", 0, return transform(s, x, expression{}, x->out, x->b, x->c);),
    PEER("expr3", "hand_float4", 0, return hand_map<1>(s, expression{}, x->out, x->n, (const float *)x->out, x->b, x->c);),
    PEER("expr3", "hand_float4x2", 0, return hand_map<2>(s, expression{}, x->out, x->n, (const float *)x->out, x->b, x->c);),
    PEER("expr3", "hand_float4_reciprocal", 0, return hand_map<1>(s, reciprocal{}, x->out, x->n, (const float *)x->out, x->b, x->c);),
    PEER("expr3", "thrust_zip_transform", 0, const auto z = triples(x);
         thrust::transform(nosync(s), z, z + x->n, x->out, thrust::make_zip_function(expression())); return 0;),
    PEER("sum", "cub_DeviceReduce", 0, return cub_run([=](void *t, std::size_t &size) {
             return cub::DeviceReduce::Sum(t, size, x->a, x->scalar, int(x->n), as_stream(s));
         });),
    PEER("sum", "hand_onepass", 0, return hand_reduce<SUM>(x, s);),
    PEER("sum", "thrust_reduce(sync)", PEER_SYNC, *x->host = thrust::reduce(pooled(s), x->a, x->a + x->n, 0.0f); return 0;),
    PEER("dot", "cub_TransformReduce_zip", 0, return transform_reduce(s, x, product_of{});),
    PEER("dot", "hand_onepass", 0, return hand_reduce<DOT>(x, s);),
    PEER("dot", "cublasSdot", 0, return blas_run(s, [&] { return blas.Sdot(blas.handle, int(x->n), x->a, 1, x->b, 1, x->scalar); });),
    PEER("dot", "thrust_inner_product(sync)", PEER_SYNC,
         *x->host = thrust::inner_product(pooled(s), x->a, x->a + x->n, x->b, 0.0f); return 0;),
    PEER("rmse", "cub_TransformReduce_zip(no_sqrt)", PEER_SQUARES, return transform_reduce(s, x, square_of_difference{});),
    PEER("rmse", "hand_onepass", 0, return hand_reduce<RMSE>(x, s);),
    PEER("rmse", "thrust_transform_reduce_zip(sync)", PEER_SYNC, const auto z = pairs(x);
         *x->host = sqrtf(thrust::transform_reduce(pooled(s), z, z + x->n, square_of_difference(), 0.0f, cuda::std::plus<float>()) / x->n);
         return 0;),
    PEER("normalise", "hand_2kernels_reversed", 0, if (int e = hand_reduce<SQUARES>(x, s)) return e;
         scale_reversed<<<blocks(x->n / 4, 256), 256, 0, as_stream(s)>>>((const float4 *)x->a, (float4 *)x->out, x->scalar, x->n / 4);
         return launched();),
    PEER("normalise", "cublas_nrm2_scal", PEER_SCALES, return blas_run(s, [&] {
             if (int e = blas.Snrm2(blas.handle, int(x->n), x->out, 1, x->scalar)) return e;
             invert<<<1, 1, 0, as_stream(s)>>>(x->scalar, blas_alpha + 1);
             return blas.Sscal(blas.handle, int(x->n), blas_alpha + 1, x->out, 1);
         });),
    {nullptr, nullptr, 0, nullptr},
};

} // namespace

extern "C" {

const char *peers_prepare() {
    static std::string said;
    int device = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    if (cudaMalloc(&blas_alpha, 8) != cudaSuccess || cudaMemcpy(blas_alpha, &alpha, 4, cudaMemcpyHostToDevice) != cudaSuccess)
        return "the CUDA runtime does not work here";
    const std::string used = load_blas();
    char text[64];
    std::snprintf(text, sizeof text, "CUDA runtime %d, CCCL %d, ", CUDART_VERSION, CUB_VERSION);
    said = text + (used.empty() ? std::string("no cuBLAS (CUBLAS_SO may name it)") : "cuBLAS " + used);
    return said.c_str();
}

const peer *peers_list() { return list; }

int peers_launch_nothing(const peer_arrays *x, void *stream) {
    nothing<<<1, 256, 0, as_stream(stream)>>>(x->a, x->b, x->out, alpha);
    return launched();
}
}
