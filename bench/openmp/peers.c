/* Careful OpenMP loops: what someone writes for these programs who knows the machine. Sums have any order, and the
 * compiler may use its own exponential on vectors (-ffast-math). A row, or a strip of columns, is read once from
 * memory. */
#include <math.h>
#include <stdint.h>
#include <string.h>

/* The columns that a thread has at once. */
enum { STRIP = 64 };

void peer_softmax_rows(const float *restrict x, float *restrict r, int64_t rows, int64_t columns)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < rows; i++) {
        const float *a = x + i * columns;
        float *e = r + i * columns, top = -INFINITY, sum = 0;
#pragma omp simd reduction(max : top)
        for (int64_t j = 0; j < columns; j++)
            top = a[j] > top ? a[j] : top;
#pragma omp simd reduction(+ : sum)
        for (int64_t j = 0; j < columns; j++) {
            e[j] = expf(a[j] - top);
            sum += e[j];
        }
        float scale = 1 / sum;
#pragma omp simd
        for (int64_t j = 0; j < columns; j++)
            e[j] *= scale;
    }
}

void peer_layer_norm_rows(const float *restrict x, float *restrict r, int64_t rows, int64_t columns)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < rows; i++) {
        const float *a = x + i * columns;
        float *to = r + i * columns, sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t j = 0; j < columns; j++)
            sum += a[j];
        float mean = sum / (float)columns;
#pragma omp simd reduction(+ : squares)
        for (int64_t j = 0; j < columns; j++)
            squares += (a[j] - mean) * (a[j] - mean);
        float scale = 1 / sqrtf(squares / (float)columns);
#pragma omp simd
        for (int64_t j = 0; j < columns; j++)
            to[j] = (a[j] - mean) * scale;
    }
}

void peer_softmax_cols(const float *restrict x, float *restrict r, int64_t rows, int64_t columns)
{
#pragma omp parallel for schedule(static)
    for (int64_t base = 0; base < columns; base += STRIP) {
        int64_t width = columns - base < STRIP ? columns - base : STRIP;
        float top[STRIP], sum[STRIP];
        for (int64_t j = 0; j < width; j++) {
            top[j] = -INFINITY;
            sum[j] = 0;
        }
        for (int64_t i = 0; i < rows; i++) {
            const float *a = x + i * columns + base;
#pragma omp simd
            for (int64_t j = 0; j < width; j++)
                top[j] = a[j] > top[j] ? a[j] : top[j];
        }
        for (int64_t i = 0; i < rows; i++) {
            const float *a = x + i * columns + base;
            float *e = r + i * columns + base;
#pragma omp simd
            for (int64_t j = 0; j < width; j++) {
                e[j] = expf(a[j] - top[j]);
                sum[j] += e[j];
            }
        }
        for (int64_t j = 0; j < width; j++)
            sum[j] = 1 / sum[j];
        for (int64_t i = 0; i < rows; i++) {
            float *e = r + i * columns + base;
#pragma omp simd
            for (int64_t j = 0; j < width; j++)
                e[j] *= sum[j];
        }
    }
}

void peer_layer_norm_cols(const float *restrict x, float *restrict r, int64_t rows, int64_t columns)
{
#pragma omp parallel for schedule(static)
    for (int64_t base = 0; base < columns; base += STRIP) {
        int64_t width = columns - base < STRIP ? columns - base : STRIP;
        float mean[STRIP] = { 0 }, scale[STRIP] = { 0 };
        for (int64_t i = 0; i < rows; i++) {
            const float *a = x + i * columns + base;
#pragma omp simd
            for (int64_t j = 0; j < width; j++)
                mean[j] += a[j];
        }
        for (int64_t j = 0; j < width; j++)
            mean[j] /= (float)rows;
        for (int64_t i = 0; i < rows; i++) {
            const float *a = x + i * columns + base;
#pragma omp simd
            for (int64_t j = 0; j < width; j++)
                scale[j] += (a[j] - mean[j]) * (a[j] - mean[j]);
        }
        for (int64_t j = 0; j < width; j++)
            scale[j] = 1 / sqrtf(scale[j] / (float)rows);
        for (int64_t i = 0; i < rows; i++) {
            const float *a = x + i * columns + base;
            float *to = r + i * columns + base;
#pragma omp simd
            for (int64_t j = 0; j < width; j++)
                to[j] = (a[j] - mean[j]) * scale[j];
        }
    }
}

/* One pass: sums of the numbers and of their squares, from the first number on. */
void peer_deviation(const float *restrict x, float *restrict r, int64_t n)
{
    float from = x[0];
    double sum = 0, squares = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum, squares)
    for (int64_t block = 0; block < n; block += 4096) {
        int64_t end = n - block < 4096 ? n : block + 4096;
        float s = 0, q = 0;
#pragma omp simd reduction(+ : s, q)
        for (int64_t i = block; i < end; i++) {
            float d = x[i] - from;
            s += d;
            q += d * d;
        }
        sum += s;
        squares += q;
    }
    *r = (float)sqrt((squares - sum * sum / (double)n) / (double)n);
}

void peer_grey(const uint8_t *restrict r, const uint8_t *restrict g, const uint8_t *restrict b, uint8_t *restrict out, int64_t n)
{
#pragma omp parallel for simd schedule(static)
    for (int64_t i = 0; i < n; i++)
        out[i] = (uint8_t)(int32_t)rintf((float)r[i] * 0.299f + (float)g[i] * 0.587f + (float)b[i] * 0.114f);
}

/* Sums of three rows, then of three neighbours. */
void peer_box3(const uint8_t *restrict x, uint8_t *restrict out, int64_t rows, int64_t columns)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < rows; i++) {
        const uint8_t *b = x + i * columns, *a = i ? b - columns : b, *c = i + 1 < rows ? b + columns : b;
        uint8_t *to = out + i * columns;
        for (int64_t first = 0; first < columns; first += 1024) {
            int64_t n = columns - first < 1024 ? columns - first : 1024;
            uint16_t sum[1024 + 2];
            int64_t left = first ? first - 1 : 0, right = first + n < columns ? first + n : columns - 1;
            sum[0] = (uint16_t)(a[left] + b[left] + c[left]);
            sum[n + 1] = (uint16_t)(a[right] + b[right] + c[right]);
#pragma omp simd
            for (int64_t j = 0; j < n; j++)
                sum[j + 1] = (uint16_t)(a[first + j] + b[first + j] + c[first + j]);
#pragma omp simd
            for (int64_t j = 0; j < n; j++)
                to[first + j] = (uint8_t)((uint16_t)(sum[j] + sum[j + 1] + sum[j + 2]) / 9);
        }
    }
}

/* A row is multiplied from both sides while it is in a cache; each thread has its own sums of columns. */
void peer_atax(const float *restrict a, const float *restrict x, float *restrict y, int64_t rows, int64_t columns)
{
    memset(y, 0, (size_t)columns * sizeof *y);
#pragma omp parallel for schedule(static) reduction(+ : y[:columns])
    for (int64_t i = 0; i < rows; i++) {
        const float *row = a + i * columns;
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t j = 0; j < columns; j++)
            sum += row[j] * x[j];
#pragma omp simd
        for (int64_t j = 0; j < columns; j++)
            y[j] += row[j] * sum;
    }
}
