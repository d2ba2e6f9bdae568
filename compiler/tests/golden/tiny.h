/* tiny 0.1.0: made by arraygpu 0.1.0. Do not edit: run the generator again. */

#ifndef TINY_H
#define TINY_H

#include <arraygpu.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * a x + y; holds / * and * / and ends with \
 *
 * @param a float
 * @param x vector of float
 * @param y vector of float, as long as x
 * @param[out] result vector of float, as long as x
 */
agpu_status tiny_saxpy(const agpu_call *call, float a, agpu_view x, agpu_view y, agpu_view result);

/**
 * As saxpy; result is made with the right length and belongs to the caller (agpu_buffer_free).
 */
agpu_status tiny_saxpy_new(const agpu_call *call, float a, agpu_view x, agpu_view y, agpu_buffer **result);

/**
 * @param call vector of float
 * @param options bool
 * @param[out] args int64_t
 * @param[out] half vector of float of 7 elements
 */
agpu_status tiny_both(const agpu_call *call_, agpu_view call, bool options, int64_t *args, agpu_view half);

/**
 * As both; half is made with the right length and belongs to the caller (agpu_buffer_free).
 */
agpu_status tiny_both_new(const agpu_call *call_,
                          agpu_view call,
                          bool options,
                          int64_t *args,
                          agpu_buffer **half);

/**
 * As both; args stays on the device, in a view of one element: nothing waits for it.
 */
agpu_status tiny_both_device(const agpu_call *call_,
                             agpu_view call,
                             bool options,
                             agpu_view args,
                             agpu_view half);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TINY_H */
