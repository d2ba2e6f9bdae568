/* The elementary functions of CUDA as kernels over arrays: libarraygpu-functions.so (functions.cu), loaded by the benchmark. */
#pragma once

#include <stddef.h>

/* out = f(x) or f(x, y) of n elements, a multiple of 8, on a stream (a cudaStream_t); 0 or an error of CUDA. Memory of the device, aligned to 16 bytes. */
typedef int (*function_run)(const void *x, const void *y, void *out, size_t n, void *stream);

struct function_peer {
    const char *name;             /* exp */
    int is_f64;                   /* of f32, or of f64 */
    int second;                   /* 0: of one number; 1: the second of the same type; 2: an int */
    double from, to;              /* the range of the argument */
    double from_y, to_y;          /* of the second */
    function_run one, two, four;  /* a thread loads one, two or four times 16 bytes of x */
};

#ifdef __cplusplus
extern "C" {
#endif
/* All of them; the list ends with a name of NULL. */
const struct function_peer *function_peers(void);
#ifdef __cplusplus
}
#endif
