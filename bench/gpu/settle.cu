// A loop that ends when no element is 1 or more, in the three ways of CUDA: the host reads the answer of each check; launches that look at the answer
// themselves are queued ahead; a while node of a graph. The peer of `scaled_until` in `bench/torch_settle.py`. Prints microseconds a check.
// nvcc -O3 -std=c++17 -arch=native -rdc=true -o settle settle.cu -lcudadevrt
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

#define OK(call)                                                                                                  \
    if (const cudaError_t status_ = (call)) {                                                                     \
        std::fprintf(stderr, "%s: %s, line %d\n", #call, cudaGetErrorString(status_), __LINE__);                  \
        std::exit(1);                                                                                             \
    }

constexpr int THREADS = 256, READS = 4;

__device__ unsigned arrived;
__device__ float partial[1024];

__device__ float block_max(float m) {
    __shared__ float warps[THREADS / 32];
    for (int o = 16; o; o /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = m;
    __syncthreads();
    m = warps[threadIdx.x % (THREADS / 32)];
    for (int o = THREADS / 64; o; o /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
    __syncthreads();
    return m;
}

// A step, four elements a thread. `guard` may be NULL.
__global__ void step(float *y, const float *x, long n, float factor, const long *guard) {
    if (guard && *guard >= 0) return;
    long i = (blockIdx.x * long(THREADS) + threadIdx.x) * 4;
    if (i + 3 < n) {
        float4 v = *reinterpret_cast<const float4 *>(x + i);
        v.x *= factor, v.y *= factor, v.z *= factor, v.w *= factor;
        *reinterpret_cast<float4 *>(y + i) = v;
    } else {
        for (; i < n; ++i) y[i] = x[i] * factor;
    }
}

// Whether the greatest element of x is 1 or more, said by the last block to arrive.
__device__ bool check(const float *x, long n, bool &goes_on) {
    float m = -INFINITY;
    for (long i = blockIdx.x * long(THREADS) + threadIdx.x; i < n; i += long(gridDim.x) * THREADS) m = fmaxf(m, x[i]);
    m = block_max(m);
    __shared__ bool last;
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = m;
        __threadfence();
        last = atomicAdd(&arrived, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return false;
    m = -INFINITY;
    for (unsigned i = threadIdx.x; i < gridDim.x; i += THREADS) m = fmaxf(m, __ldcg(partial + i));
    goes_on = block_max(m) >= 1;
    if (threadIdx.x == 0) arrived = 0;
    return threadIdx.x == 0;
}

// Writes -1 or the number of steps.
__global__ void check_number(const float *x, long n, long turn, long *number, bool guarded) {
    if (guarded && *number >= 0) return;
    bool goes_on;
    if (check(x, n, goes_on)) *number = goes_on ? -1 : turn;
}

__global__ void check_node(const float *x, long n, long *steps, long every, cudaGraphConditionalHandle handle) {
    bool goes_on;
    if (check(x, n, goes_on)) {
        if (goes_on) *steps += every;
        cudaGraphSetConditional(handle, goes_on);
    }
}

struct loop {
    long n;
    int every;
    float factor;
    cudaStream_t stream;
    float *x[2];
    long *number, *host;
    int blocks, check_blocks;

    void steps(cudaStream_t to, const long *guard) {
        for (int k = 0; k < every; ++k) {
            step<<<blocks, THREADS, 0, to>>>(x[1], x[0], n, factor, guard);
            std::swap(x[0], x[1]);
        }
    }
    void by_host() {
        for (long turn = 0;; turn += every) {
            check_number<<<check_blocks, THREADS, 0, stream>>>(x[0], n, turn, number, false);
            OK(cudaMemcpyAsync(host, number, 8, cudaMemcpyDeviceToHost, stream));
            OK(cudaStreamSynchronize(stream));
            if (*host >= 0) return;
            steps(stream, nullptr);
        }
    }
    // The host reads one number of `share` checks, and is READS - 1 reads ahead.
    void predicated(int share, cudaEvent_t *events) {
        for (long turn = 0, queued = 0, known = 0, c = 1;; turn += every, ++c) {
            check_number<<<check_blocks, THREADS, 0, stream>>>(x[0], n, turn, number, true);
            if (c % share == 0) {
                OK(cudaMemcpyAsync(host + queued % READS, number, 8, cudaMemcpyDeviceToHost, stream));
                OK(cudaEventRecord(events[queued++ % READS], stream));
                for (; queued - known == READS; ++known) {
                    OK(cudaEventSynchronize(events[known % READS]));
                    if (host[known % READS] >= 0) return;
                }
            }
            steps(stream, number);
        }
    }
};

double now() {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Makes the loop as a graph: a check, and a while node of steps and a check. Steps are made in place if their number is odd.
cudaGraphExec_t graph_of(loop l) {
    cudaGraph_t graph;
    OK(cudaGraphCreate(&graph, 0));
    cudaGraphConditionalHandle handle;
    OK(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
    cudaGraphNodeParams params = {};
    params.type = cudaGraphNodeTypeConditional;
    params.conditional.handle = handle;
    params.conditional.type = cudaGraphCondTypeWhile;
    params.conditional.size = 1;
    cudaGraphNode_t node;
    OK(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &params));
    cudaStream_t capture;
    OK(cudaStreamCreate(&capture));
    OK(cudaStreamBeginCaptureToGraph(capture, params.conditional.phGraph_out[0], nullptr, nullptr, 0, cudaStreamCaptureModeRelaxed));
    if (l.every % 2) l.x[1] = l.x[0];
    l.steps(capture, nullptr);
    check_node<<<l.check_blocks, THREADS, 0, capture>>>(l.x[0], l.n, l.number, l.every, handle);
    OK(cudaStreamEndCapture(capture, nullptr));
    cudaGraphExec_t made;
    OK(cudaGraphInstantiate(&made, graph, 0));
    OK(cudaGraphUpload(made, l.stream));
    return made;
}

template <class F> void report(loop l, const char *what, bool is_graph, F run) {
    const std::vector<float> twos(l.n, 2);
    double best = INFINITY;
    long steps = 0;
    for (int k = 0; k < 4; ++k) {
        loop now_of = l;
        OK(cudaMemcpy(l.x[0], twos.data(), l.n * 4, cudaMemcpyHostToDevice));
        OK(cudaMemset(l.number, is_graph ? 0 : 0xff, 8));
        OK(cudaDeviceSynchronize());
        const double before = now();
        run(now_of);
        OK(cudaStreamSynchronize(l.stream));
        best = std::min(best, now() - before);
        OK(cudaMemcpy(&steps, l.number, 8, cudaMemcpyDeviceToHost));
    }
    const long checks = steps / l.every + 1;
    std::printf("%9ld elements, a check of %2d steps, %4ld checks, %-26s %8.2f us a check\n", l.n, l.every, checks, what, best / checks);
    std::fflush(stdout);
}

} // namespace

int main() {
    cudaDeviceProp device;
    OK(cudaGetDeviceProperties(&device, 0));
    std::printf("%s\n", device.name);
    cudaEvent_t events[READS];
    for (auto &e : events) OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    for (long n : {1000L, 100000L, 1000000L, 1L << 24})
        for (int every : {1, 10})
            for (long checks : {n > 1000000 ? 300L : 1000L, 3L}) {
                loop l{n, every};
                l.factor = exp2f(-1.0f / (checks * every));
                OK(cudaStreamCreate(&l.stream));
                for (auto &x : l.x) OK(cudaMalloc(&x, n * 4));
                OK(cudaMalloc(&l.number, 8));
                OK(cudaMallocHost(&l.host, 8 * READS));
                l.blocks = int((n + THREADS * 4 - 1) / (THREADS * 4)), l.check_blocks = int(std::min((n + 1023) / 1024, 528L));
                report(l, "host", false, [](loop &l) { l.by_host(); });
                for (int share : {1, 4, 16, 64}) {
                    char what[40];
                    std::snprintf(what, sizeof what, "predicated, read each %d", share);
                    report(l, what, false, [&](loop &l) { l.predicated(share, events); });
                }
                const cudaGraphExec_t graph = graph_of(l);
                report(l, "while node", true, [&](loop &l) { OK(cudaGraphLaunch(graph, l.stream)); });
                for (auto &x : l.x) OK(cudaFree(x));
            }
}
