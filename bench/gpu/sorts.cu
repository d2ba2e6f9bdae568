// Times of CUB's radix sorts on one GPU, in ms, as lines of JSON: the peers of `sort_keys_u32`, `sort_keys_f32`,
// `sort_keys_f64` and `sort_pairs` of `torch_groups.py`.
//
//     nvcc -O3 -std=c++17 -arch=native sorts.cu -o sorts && ./sorts
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cub/cub.cuh>
#include <vector>

// Every bit of a key is random: a multiplication spreads the index over 64 bits.
__global__ void fill(uint32_t *keys, size_t n) {
    const size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    if (i < n) {
        uint64_t z = (i + 1) * 0x9E3779B97F4A7C15ull;
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
        keys[i] = uint32_t((z ^ z >> 27) >> 16);
    }
}

// The median of 15 calls, after three others.
template <class F> float median(F sort) {
    cudaEvent_t begin, end;
    cudaEventCreate(&begin), cudaEventCreate(&end);
    std::vector<float> times;
    for (int i = -3; i < 15; ++i) {
        float ms = 0;
        cudaEventRecord(begin);
        sort();
        cudaEventRecord(end), cudaEventSynchronize(end), cudaEventElapsedTime(&ms, begin, end);
        if (i >= 0) times.push_back(ms);
    }
    cudaEventDestroy(begin), cudaEventDestroy(end);
    std::nth_element(times.begin(), times.begin() + 7, times.end());
    return times[7];
}

int main() {
    for (const int bits : {16, 20, 24, 26}) {
        const size_t n = size_t(1) << bits;
        uint32_t *x, *y, *v, *w;
        for (uint32_t **array : {&x, &y, &v, &w})
            if (cudaMalloc(array, 4 * n) != cudaSuccess) return 1;
        fill<<<unsigned((n + 255) / 256), 256>>>(x, n);
        void *scratch = nullptr;
        size_t bytes = 0;
        cub::DeviceRadixSort::SortPairs(scratch, bytes, x, y, v, w, int(n));
        if (cudaMalloc(&scratch, bytes) != cudaSuccess) return 1;
        const auto *floats = reinterpret_cast<const float *>(x);
        auto *sorted = reinterpret_cast<float *>(y);
        const float keys = median([&] { cub::DeviceRadixSort::SortKeys(scratch, bytes, x, y, int(n)); });
        const float of_floats = median([&] { cub::DeviceRadixSort::SortKeys(scratch, bytes, floats, sorted, int(n)); });
        const float pairs = median([&] { cub::DeviceRadixSort::SortPairs(scratch, bytes, x, y, v, w, int(n)); });
        double *wide, *sorted_wide;
        size_t bytes_of_wide = 0;
        void *scratch_of_wide = nullptr;
        for (double **array : {&wide, &sorted_wide})
            if (cudaMalloc(array, 8 * n) != cudaSuccess) return 1;
        fill<<<unsigned((2 * n + 255) / 256), 256>>>(reinterpret_cast<uint32_t *>(wide), 2 * n);
        cub::DeviceRadixSort::SortKeys(scratch_of_wide, bytes_of_wide, wide, sorted_wide, int(n));
        if (cudaMalloc(&scratch_of_wide, bytes_of_wide) != cudaSuccess) return 1;
        const float of_wide = median([&] { cub::DeviceRadixSort::SortKeys(scratch_of_wide, bytes_of_wide, wide, sorted_wide, int(n)); });
        for (void *array : {(void *)wide, (void *)sorted_wide, scratch_of_wide}) cudaFree(array);
        std::printf("{\"n\": %zu, \"cub_keys_u32\": %.4f, \"cub_keys_f32\": %.4f, \"cub_keys_f64\": %.4f, \"cub_pairs\": %.4f}\n", n, keys, of_floats, of_wide, pairs);
        for (void *array : {(void *)x, (void *)y, (void *)v, (void *)w, scratch}) cudaFree(array);
    }
    return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
