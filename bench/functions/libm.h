/* The system's functions as loops, for each type: what ours are compared with. */
#pragma once
#include <stddef.h>

struct libm_loop {
    const char *name;         /* exp */
    int is_f64;               /* of f32, or of f64 */
    int second;               /* 0: of one number; 1: the second of the same type; 2: an int */
    double from, to;          /* the range of the argument */
    double from_y, to_y;      /* of the second */
    void (*run)(const void *x, const void *y, void *out, size_t n);
};

#ifdef __cplusplus
extern "C" {
#endif
/* Ends with a name of NULL. */
extern const struct libm_loop libm_loops[];
#ifdef __cplusplus
}
#endif
