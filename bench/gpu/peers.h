/* What else a C++ programmer would call, as functions of one shape: libarraygpu-peers.so (peers.cu), loaded by the benchmark. */
#pragma once

#include <stddef.h>

/* Device memory of one call: n elements each of a, b, c and out, one of scalar. */
struct peer_arrays {
    const float *a, *b, *c;
    float *out, *scalar;
    float *host; /* a synchronous peer's result, on the host */
    size_t n;    /* a multiple of 4 */
};

/* Enqueues the work on a stream (a cudaStream_t); 0, or an error code of its library. */
typedef int (*peer_run)(const struct peer_arrays *, void *stream);

/* name: what it computes
     copy       out = a                    sum   scalar = sum(a)
     vadd       out = a + b                dot   scalar = sum(a b)
     expr2      out = 0.12 a + 7.54 b      rmse  scalar = sqrt(sum((a - b)^2) / n)
     saxpy      out = a / 1024 + out       normalise  out = a / |a|
     expr3      out = (b - (out + 3.75 c) + c - 0.24 b) / 27.51 + out - 0.25 b
   and in shapes.cu, whose names have the shapes, matrices row by row:
     difference       out[i] = a[i + 1] - a[i]
     averageK         out[i] = w[0] a[i] + .. + w[K - 1] a[i + K - 1]
     jacobi           out = the mean of the four neighbours in a, 8192 x 8192
     jacobi K steps   out = a after K such steps, its border kept
     squareK          out = a weighted sum over the K x K neighbours in a, 8192 x 8192
     row_sums RxC, col_sums RxC    out[i] = the sum of row or column i of a
     matvec RxC       out[i] = row i of a times b[0 .. C]
     matmul MxKxN     out = a, M x K, times b, K x N
     bodies           the accelerations of 65536 bodies: b[4 i] x, y, z and mass of body i, as floats in groups of four; so is out */
struct peer {
    const char *name, *impl;
    int flags;
    peer_run run;
};
enum {
    PEER_SYNC = 1,    /* returns when the result is on the host: no graph */
    PEER_SQUARES = 2, /* rmse without division and root */
    PEER_SCALES = 4,  /* normalise of out, in place */
    PEER_CENTRE = 8,  /* a stencil's result lies where its middle is, not from the beginning of out */
    PEER_GROUPS = 16, /* bodies: out in groups of four */
};

#ifdef __cplusplus
extern "C" {
#endif
/* Once, with the benchmark's context current; says what it found and did not find. */
const char *peers_prepare(void);
/* All of them; the list ends with a name of NULL. */
const struct peer *peers_list(void);
/* A kernel with saxpy's parameters that does nothing, launched by the runtime's <<<>>>. */
int peers_launch_nothing(const struct peer_arrays *, void *stream);
#ifdef __cplusplus
}
#endif
