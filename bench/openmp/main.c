/* Times of the programs' kernels beside those of `peers.c`: the least of some calls, in one process, by turns.
 * Used as: bench-openmp [CALLS [SHRINK [WORD]]], for arrays of a part of the size, and programs with that word.
 * Prints a line for each: program, extents, threads, ms of ours, of the launches that are replaced, of the peer, and
 * of a copy of as many bytes; peer / ours; the greatest difference between both results. */
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DRIVER(name) void run_##name(void **arrays, const int64_t extents[][3], int instead);
DRIVER(softmax_rows)
DRIVER(softmax_cols)
DRIVER(softmax_planes)
DRIVER(layer_norm_rows)
DRIVER(layer_norm_cols)
DRIVER(deviation)
DRIVER(grey)
DRIVER(box3)
DRIVER(atax)
void peer_softmax_rows(const float *, float *, int64_t, int64_t);
void peer_softmax_cols(const float *, float *, int64_t, int64_t);
void peer_layer_norm_rows(const float *, float *, int64_t, int64_t);
void peer_layer_norm_cols(const float *, float *, int64_t, int64_t);
void peer_deviation(const float *, float *, int64_t);
void peer_grey(const uint8_t *, const uint8_t *, const uint8_t *, uint8_t *, int64_t);
void peer_box3(const uint8_t *, uint8_t *, int64_t, int64_t);
void peer_atax(const float *, const float *, float *, int64_t, int64_t);

enum { MOST = 1 << 26 };
static float *x, *ours, *theirs, *vector;

typedef struct {
    const char *name;
    void (*run)(void **, const int64_t[][3], int);
    int64_t n, k;
    int kind;
} test;

enum { ROWS, PLANES, VECTOR, GREY, BOX, ATAX };

static void peer(const test *t, float *to)
{
    int64_t n = t->n, k = t->k;
    uint8_t *bytes = (uint8_t *)x;
    if (t->run == run_softmax_rows)
        peer_softmax_rows(x, to, n, k);
    else if (t->run == run_softmax_cols || t->run == run_softmax_planes)
        peer_softmax_cols(x, to, n, k);
    else if (t->run == run_layer_norm_rows)
        peer_layer_norm_rows(x, to, n, k);
    else if (t->run == run_layer_norm_cols)
        peer_layer_norm_cols(x, to, n, k);
    else if (t->kind == VECTOR)
        peer_deviation(x, to, n);
    else if (t->kind == GREY)
        peer_grey(bytes, bytes + n * k, bytes + 2 * n * k, (uint8_t *)to, n * k);
    else if (t->kind == BOX)
        peer_box3(bytes, (uint8_t *)to, n, k);
    else
        peer_atax(x, vector, to, n, k);
}

static void own(const test *t, int instead)
{
    int64_t n = t->n, k = t->k;
    uint8_t *bytes = (uint8_t *)x;
    switch (t->kind) {
    case ROWS: case BOX: case VECTOR: {
        void *arrays[] = { x, ours };
        t->run(arrays, (int64_t[][3]){ { n, k, 1 } }, instead);
        break;
    }
    case PLANES: {
        void *arrays[] = { x, ours };
        t->run(arrays, (int64_t[][3]){ { n, 64, k / 64 } }, instead);
        break;
    }
    case GREY: {
        void *arrays[] = { bytes, bytes + n * k, bytes + 2 * n * k, ours };
        t->run(arrays, (int64_t[][3]){ { n, k, 1 }, { n, k, 1 }, { n, k, 1 } }, instead);
        break;
    }
    default: {
        void *arrays[] = { x, vector, ours };
        t->run(arrays, (int64_t[][3]){ { n, k, 1 }, { k, 1, 1 } }, instead);
    }
    }
}

/* The bytes that must move, and the elements of the result. */
static int64_t moved(const test *t)
{
    int64_t all = t->n * t->k;
    return t->kind <= PLANES ? 8 * all : t->kind == GREY ? 4 * all : t->kind == BOX ? 2 * all : 4 * all;
}

static double difference(const test *t)
{
    int64_t all = t->kind == VECTOR ? 1 : t->kind == ATAX ? t->k : t->n * t->k;
    double most = 0;
    int narrow = t->kind == GREY || t->kind == BOX;
    for (int64_t i = 0; i < all; i++) {
        double a = narrow ? ((uint8_t *)ours)[i] : ours[i], b = narrow ? ((uint8_t *)theirs)[i] : theirs[i];
        double d = fabs(a - b) / fmax(1, fabs(b));
        most = d > most || d != d ? d : most;
    }
    return most;
}

static void copy(int64_t bytes)
{
    int64_t n = bytes / 8;
#pragma omp parallel for simd schedule(static)
    for (int64_t i = 0; i < n; i++)
        theirs[i] = x[i];
}

static double seconds(const test *t, int which)
{
    double start = omp_get_wtime();
    if (which < 2)
        own(t, which == 0);
    else if (which == 2)
        peer(t, theirs);
    else
        copy(moved(t));
    return omp_get_wtime() - start;
}

int main(int count, char **words)
{
    int calls = count > 1 ? atoi(words[1]) : 7, shrink = count > 2 ? atoi(words[2]) : 1;
    const char *wanted = count > 3 ? words[3] : "";
    float **all[] = { &x, &ours, &theirs, &vector };
    for (int i = 0; i < 4; i++)
        *all[i] = aligned_alloc(64, (size_t)(i < 3 ? MOST : 1 << 20) * sizeof(float));
#pragma omp parallel for
    for (int64_t i = 0; i < MOST; i++) {
        uint32_t bits = (uint32_t)i * 2654435761u;
        x[i] = (float)(bits >> 8) / (1 << 22) - 2;
        ours[i] = theirs[i] = 0;
    }
    for (int64_t i = 0; i < 1 << 20; i++)
        vector[i] = x[i];
    static const test tests[] = {
        { "softmax_rows", run_softmax_rows, 65536, 1024, ROWS },
        { "softmax_rows", run_softmax_rows, 8192, 8192, ROWS },
        { "softmax_rows", run_softmax_rows, 1 << 20, 64, ROWS },
        { "softmax_rows", run_softmax_rows, 1 << 19, 128, ROWS },
        { "softmax_rows", run_softmax_rows, 1 << 18, 256, ROWS },
        { "layer_norm_rows", run_layer_norm_rows, 65536, 1024, ROWS },
        { "layer_norm_rows", run_layer_norm_rows, 8192, 8192, ROWS },
        { "layer_norm_rows", run_layer_norm_rows, 1 << 20, 64, ROWS },
        { "layer_norm_rows", run_layer_norm_rows, 1 << 19, 128, ROWS },
        { "layer_norm_rows", run_layer_norm_rows, 1 << 18, 256, ROWS },
        { "softmax_cols", run_softmax_cols, 64, 1 << 20, ROWS },
        { "softmax_cols", run_softmax_cols, 256, 1 << 18, ROWS },
        { "softmax_cols", run_softmax_cols, 512, 1 << 17, ROWS },
        { "softmax_cols", run_softmax_cols, 1024, 65536, ROWS },
        { "softmax_cols", run_softmax_cols, 1024, 65000, ROWS },
        { "softmax_cols", run_softmax_cols, 8192, 8192, ROWS },
        { "softmax_planes", run_softmax_planes, 128, 1 << 19, PLANES },
        { "layer_norm_cols", run_layer_norm_cols, 64, 1 << 20, ROWS },
        { "layer_norm_cols", run_layer_norm_cols, 256, 1 << 18, ROWS },
        { "layer_norm_cols", run_layer_norm_cols, 512, 1 << 17, ROWS },
        { "layer_norm_cols", run_layer_norm_cols, 1024, 65536, ROWS },
        { "layer_norm_cols", run_layer_norm_cols, 1024, 65000, ROWS },
        { "layer_norm_cols", run_layer_norm_cols, 8192, 8192, ROWS },
        { "deviation", run_deviation, MOST, 1, VECTOR },
        { "grey", run_grey, 8192, 8192, GREY },
        { "box3", run_box3, 8192, 8192, BOX },
        { "atax", run_atax, 8192, 8192, ATAX },
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        test now = tests[i];
        const test *t = &now;
        if (!strstr(t->name, wanted))
            continue;
        // columns keep their length, and so do rows
        if (strstr(t->name, "cols") || t->kind == PLANES)
            now.k /= shrink;
        else
            now.n /= shrink;
        double best[4] = { INFINITY, INFINITY, INFINITY, INFINITY };
        for (int call = 0; call < calls; call++)
            for (int which = 3; which >= 0; which--) {
                double s = seconds(t, which);
                best[which] = s < best[which] ? s : best[which];
            }
        own(t, 1);
        peer(t, theirs);
        printf("{\"program\": \"%s\", \"n\": %lld, \"k\": %lld, \"threads\": %d, \"ms\": %.3f, \"replaced\": %.3f, "
               "\"openmp\": %.3f, \"copy\": %.3f, \"ratio\": %.2f, \"difference\": %.1e}\n",
            t->name, (long long)t->n, (long long)t->k, omp_get_max_threads(), 1e3 * best[0], 1e3 * best[1],
            1e3 * best[2], 1e3 * best[3], best[2] / best[0], difference(t));
        fflush(stdout);
    }
}
