// What the plain loops of this folder get: the arrays of a call, contiguous and in row-major order.
//
// A function PLAIN(name) is the program `name` of tests/programs as a plain C++ loop on one thread:
// what a good C++ programmer writes in a first version, in the program's own element types.
// `arraygpu-programs --plain LIBRARY` checks each against the program's reference and measures it
// beside the compiled program.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

// An argument or a result as it is passed: a scalar is an array of one element.
struct array {
    void *data;
    long extents[3]; // outermost first; 1 where the array has fewer
};

template <class T> struct vector_view {
    T *data;
    long n;
    T &operator[](long i) const { return data[i]; }
};

template <class T> struct matrix_view {
    T *data;
    long rows, cols;
    T *operator[](long i) const { return data + i * cols; }
    // The element nearest to an index that may be outside.
    T &clamped(long i, long j) const { return (*this)[std::clamp(i, 0l, rows - 1)][std::clamp(j, 0l, cols - 1)]; }
};

template <class T> struct tensor_view {
    T *data;
    long planes, rows, cols;
    matrix_view<T> operator[](long k) const { return {data + k * rows * cols, rows, cols}; }
};

struct arrays {
    const array *all;
    template <class T> T &scalar(int k) const { return *static_cast<T *>(all[k].data); }
    template <class T> vector_view<T> vector(int k) const { return {static_cast<T *>(all[k].data), all[k].extents[0]}; }
    template <class T> matrix_view<T> matrix(int k) const {
        return {static_cast<T *>(all[k].data), all[k].extents[0], all[k].extents[1]};
    }
    template <class T> tensor_view<T> tensor(int k) const {
        return {static_cast<T *>(all[k].data), all[k].extents[0], all[k].extents[1], all[k].extents[2]};
    }
};

inline float dot(const float *x, const float *y, long n) {
    float sum = 0;
    for (long i = 0; i < n; ++i) sum += x[i] * y[i];
    return sum;
}

// r += s * x
inline void add_scaled(float *r, float s, const float *x, long n) {
    for (long i = 0; i < n; ++i) r[i] += s * x[i];
}

inline void product(matrix_view<const float> a, matrix_view<const float> b, matrix_view<float> r) {
    for (long i = 0; i < a.rows; ++i) {
        std::fill_n(r[i], r.cols, 0.0f);
        for (long k = 0; k < a.cols; ++k) add_scaled(r[i], a[i][k], b[k], b.cols);
    }
}

// Calls f(i, j, up, down, left, right) with each element's indices and its neighbours' on a torus.
template <class F> void on_torus(long rows, long cols, F f) {
    for (long i = 0; i < rows; ++i) {
        const long up = (i > 0 ? i : rows) - 1, down = i < rows - 1 ? i + 1 : 0;
        f(i, 0, up, down, cols - 1, cols > 1 ? 1 : 0);
        for (long j = 1; j < cols - 1; ++j) f(i, j, up, down, j - 1, j + 1);
        if (cols > 1) f(i, cols - 1, up, down, cols - 2, 0);
    }
}

// Loops of two programs each, whose counts are of different types.
template <class T> void count_values(vector_view<const float> x, vector_view<T> r) {
    std::fill_n(r.data, r.n, 0);
    for (long i = 0; i < x.n; ++i) {
        const long b = std::floor(x[i]);
        if (b >= 0 && b < r.n) ++r[b];
    }
}

template <class T> void count_distances(vector_view<const float> x, vector_view<const float> y, vector_view<T> r) {
    std::fill_n(r.data, r.n, 0);
    r[0] = x.n; // each with itself
    for (long i = 0; i < x.n; ++i)
        for (long j = i + 1; j < x.n; ++j) {
            const long b = std::hypot(x[i] - x[j], y[i] - y[j]);
            if (b < r.n) r[b] += 2;
        }
}

#define PLAIN(name)                                                    \
    static void name(arrays in, arrays out);                           \
    extern "C" void plain_##name(const array *in, const array *out) {  \
        name(arrays{in}, arrays{out});                                 \
    }                                                                  \
    static void name(arrays in, arrays out)
