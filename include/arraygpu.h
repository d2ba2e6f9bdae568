/*
 * libarraygpu, the runtime of arraygpu. Made from capi/src by cbindgen: do not edit.
 *
 * Every function returns a status (or is a plain getter), leaves its outputs untouched on error, and may be called from any
 * thread; two threads must not use one buffer at the same time if one of them writes. Handles are checked: a freed or
 * invented one is an error. No function prints, ends the process, or throws.
 */

#ifndef ARRAYGPU_H
#define ARRAYGPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Version of this interface. A package carries the version that it was made for, and a library
 * runs packages of the versions AGPU_ABI_OLDEST to AGPU_ABI_VERSION.
 */
#define AGPU_ABI_VERSION 8

/**
 * The oldest version of packages that this library runs. It is also the number in the library's
 * name, libarraygpu.so.5.
 */
#define AGPU_ABI_OLDEST 5

/**
 * The number of dimensions that an agpu_view has room for. Arrays have at most 3 so far.
 */
#define AGPU_MAX_RANK 6

/**
 * The device that the environment variable ARRAYGPU_DEVICE names (cpu, cuda, cuda:1). If the
 * variable is not set, it is the first GPU that the library supports, or else the CPU.
 */
#define AGPU_DEVICE_DEFAULT 0

/**
 * The CPU.
 */
#define AGPU_DEVICE_CPU 1

/**
 * The first GPU of the CUDA driver. The next number is the second GPU, and so on.
 */
#define AGPU_DEVICE_CUDA 2

/**
 * What a function returns; 0 is success. agpu_last_error_message() describes the error.
 */
enum agpu_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * Success.
     */
    AGPU_OK = 0,
    /**
     * An argument is not valid: a null pointer where a value is needed, an unknown enum value, a
     * bad option.
     */
    AGPU_ERROR_INVALID_ARGUMENT = 1,
    /**
     * A handle is null, was freed, or is not of the expected kind.
     */
    AGPU_ERROR_INVALID_HANDLE = 2,
    /**
     * A view has another element type than the function takes.
     */
    AGPU_ERROR_TYPE_MISMATCH = 3,
    /**
     * Extents differ, a view has the wrong rank, an output has the wrong shape, or a slice inside
     * the function does not fit.
     */
    AGPU_ERROR_SHAPE = 4,
    /**
     * A view or a copy reaches past the end of a buffer.
     */
    AGPU_ERROR_OUT_OF_BOUNDS = 5,
    /**
     * Two outputs of one call overlap, or an output overlaps itself.
     */
    AGPU_ERROR_OVERLAP = 6,
    /**
     * Memory could not be allocated.
     */
    AGPU_ERROR_OUT_OF_MEMORY = 7,
    /**
     * The arguments belong to different contexts.
     */
    AGPU_ERROR_WRONG_CONTEXT = 8,
    /**
     * The function read out of range or divided an integer by zero. Its outputs are unspecified.
     */
    AGPU_ERROR_RECORD = 9,
    /**
     * This library cannot use the package, for example because of its version or because code is
     * missing.
     */
    AGPU_ERROR_MODULE = 10,
    /**
     * There is no such device, or no driver that the library supports.
     */
    AGPU_ERROR_UNAVAILABLE = 11,
    /**
     * This is a bug of arraygpu; please report it.
     */
    AGPU_ERROR_INTERNAL = 12,
    /**
     * The GPU or its driver failed. After some errors nothing runs on that GPU any more in this
     * process.
     */
    AGPU_ERROR_DEVICE = 13,
    /**
     * The program cancelled the call; see agpu_set_cancel_flag().
     */
    AGPU_ERROR_CANCELLED = 14,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum agpu_status agpu_status;
#else
typedef int32_t agpu_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * An element type.
 */
enum agpu_type
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * float
     */
    AGPU_F32 = 0,
    /**
     * double
     */
    AGPU_F64 = 1,
    /**
     * int32_t
     */
    AGPU_I32 = 2,
    /**
     * int64_t
     */
    AGPU_I64 = 3,
    /**
     * uint32_t
     */
    AGPU_U32 = 4,
    /**
     * uint8_t
     */
    AGPU_U8 = 5,
    /**
     * bool: one byte, 0 or 1
     */
    AGPU_BOOL = 6,
    /**
     * uint64_t
     */
    AGPU_U64 = 7,
    /**
     * int8_t
     */
    AGPU_I8 = 8,
    /**
     * int16_t
     */
    AGPU_I16 = 9,
    /**
     * uint16_t
     */
    AGPU_U16 = 10,
    /**
     * agpu_half
     */
    AGPU_F16 = 11,
    /**
     * agpu_bfloat16
     */
    AGPU_BF16 = 12,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum agpu_type agpu_type;
#else
typedef int32_t agpu_type;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * The kind of an argument of agpu_invoke(). For packages.
 */
enum agpu_arg_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * A scalar parameter.
     */
    AGPU_ARG_SCALAR = 0,
    /**
     * An array parameter.
     */
    AGPU_ARG_VIEW = 1,
    /**
     * A scalar result, written to host memory.
     */
    AGPU_ARG_RESULT_SCALAR = 2,
    /**
     * An array result that is written to a view, or a scalar result that is written to a view of
     * one element.
     */
    AGPU_ARG_RESULT_VIEW = 3,
    /**
     * An array result that is written to a new buffer with the right extents.
     */
    AGPU_ARG_RESULT_NEW = 4,
    /**
     * A field of an array result of structs, which is written to a new buffer of bytes with an axis more, the bytes
     * of a struct. The fields with the same `made` share it; they have the same extents.
     */
    AGPU_ARG_RESULT_NEW_FIELD = 5,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum agpu_arg_kind agpu_arg_kind;
#else
typedef int32_t agpu_arg_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * An array in memory. The pointer is an opaque number, which is checked at every use.
 */
typedef struct agpu_buffer agpu_buffer;

/**
 * A function under construction. Only one thread at a time may use it.
 */
typedef struct agpu_builder agpu_builder;

/**
 * A device with its threads. The pointer is an opaque number, which is checked at every use.
 */
typedef struct agpu_context agpu_context;

/**
 * A point of a stream to wait for. The pointer is an opaque number, which is checked at every use.
 */
typedef struct agpu_event agpu_event;

/**
 * A package loaded by agpu_module_load(). The pointer is an opaque number, which is checked at
 * every use.
 */
typedef struct agpu_loaded_module agpu_loaded_module;

/**
 * A compiled function.
 */
typedef struct agpu_program agpu_program;

/**
 * A launch of a kernel, as agpu_context_launch_times() writes it.
 */
typedef struct agpu_launch_time {
    /**
     * Name of the kernel.
     */
    const char *kernel;
    /**
     * Name of the kernel's variant on a GPU; on a CPU that of the kernel.
     */
    const char *variant;
    /**
     * When it began, in seconds after the first launch.
     */
    double start;
    /**
     * How long it took, in seconds; on a GPU with what the two events take.
     */
    double seconds;
    /**
     * The class of its sizes in tuning files, such as "2^20"; "" on a CPU. NULL from earlier libraries.
     */
    const char *sizes;
    /**
     * All 0.
     */
    uint64_t reserved[3];
} agpu_launch_time;

/**
 * Options of agpu_context_create().
 */
typedef struct agpu_context_options {
    /**
     * sizeof(agpu_context_options)
     */
    size_t size;
    /**
     * AGPU_DEVICE_DEFAULT, AGPU_DEVICE_CPU, or AGPU_DEVICE_CUDA plus the number of the GPU.
     */
    int32_t device;
    /**
     * The number of threads to compute with. 0 means the environment variable ARRAYGPU_THREADS, or
     * else all processors. Results never depend on it.
     */
    int32_t threads;
    /**
     * The limit that agpu_context_set_memory_limit() sets, in bytes; 0: no limit.
     */
    int64_t memory_limit;
    /**
     * Returns `bytes` bytes of memory at a multiple of `alignment` for arrays, temporaries and
     * scratch on the CPU, or NULL if there is no memory; the call then fails with
     * AGPU_ERROR_OUT_OF_MEMORY. It must not throw. If `allocate` is NULL, the system's
     * allocator is used.
     */
    void *(*allocate)(void *user, size_t bytes, size_t alignment);
    /**
     * Takes the memory back, and must not throw. It must be given if and only if `allocate` is. Any
     * thread may call both functions until the context, its last buffer and its last memory of
     * agpu_host_alloc() are freed, whichever comes last.
     */
    void (*release)(void *user, void *memory, size_t bytes);
    /**
     * Runs task(data, i) once for each i from 0 to `tasks` - 1, on any threads, and returns when
     * all of them have returned. A program sets it to use its own thread pool. It must not throw:
     * where the pool does, it catches that, waits for the tasks that were started, and calls the
     * others itself. Threads that wait in it may call the library for other contexts. If it is
     * NULL, the library starts worker threads. `threads` is the largest number of tasks. Results
     * have the same bits whoever runs the tasks.
     */
    void (*run_tasks)(void *user, int64_t tasks, void (*task)(void *data, int64_t i), void *data);
    /**
     * The first argument of these functions. They must not throw, because an exception would end
     * the process, or call functions of this context.
     */
    void *user;
} agpu_context_options;

/**
 * The type and size of an element. If all fields are 0, they are those of the buffer.
 */
typedef struct agpu_element {
    /**
     * An agpu_type.
     */
    int32_t kind;
    /**
     * Size of one element in bytes; 0 if it is not specified.
     */
    int32_t size;
} agpu_element;

/**
 * A part of a buffer. It is a plain value and may be copied. All counts are in elements. The
 * outermost axis comes first, so element (i, j) of a matrix is at
 * `offset + i * stride[0] + j * stride[1]`.
 */
typedef struct agpu_view {
    /**
     * The buffer.
     */
    struct agpu_buffer *buffer;
    /**
     * The index in the buffer of element 0 of the view.
     */
    int64_t offset;
    /**
     * Number of dimensions, 1 to 3; of bytes that are structs, one more.
     */
    int64_t rank;
    /**
     * Number of elements along each dimension. Entries beyond `rank` are not read.
     */
    int64_t extent[AGPU_MAX_RANK];
    /**
     * Distance of neighbours along each dimension, in elements.
     */
    int64_t stride[AGPU_MAX_RANK];
    /**
     * The type and size of an element. If they are specified, those of the buffer must be the
     * same.
     */
    struct agpu_element element;
    /**
     * NULL. Reserved for a length that only the device knows.
     */
    const int64_t *length;
    /**
     * All 0.
     */
    uint64_t reserved[2];
} agpu_view;

/**
 * Options of one call of a package's function.
 */
typedef struct agpu_call {
    /**
     * sizeof(agpu_call)
     */
    size_t size;
    /**
     * Where to run. NULL: in the context of the first array, or else in the process's default
     * context.
     */
    struct agpu_context *context;
    /**
     * NULL: the context's own stream. Otherwise a CUstream of the device's primary context.
     */
    void *stream;
    /**
     * Memory for the call's temporaries on its device, at a multiple of 256 bytes. Nothing else
     * may use it until the call is done. The call then allocates only its new results. NULL: the
     * library allocates the temporaries.
     */
    void *workspace;
    /**
     * Size of the workspace in bytes. If it is too small, the call fails with
     * AGPU_ERROR_OUT_OF_MEMORY before anything runs.
     */
    int64_t workspace_bytes;
    /**
     * If it is not NULL, nothing runs, and it receives the number of bytes of workspace that such
     * a call needs.
     */
    int64_t *workspace_needed;
} agpu_call;

/**
 * The arguments of a kernel. For packages.
 */
typedef struct agpu_kernel_args {
    /**
     * The address of element 0 of each array, in the kernel's order.
     */
    void *const *arrays;
    /**
     * One stride in elements for each array; that of a matrix is the stride of its last axis.
     */
    const int64_t *strides;
    /**
     * The bits of each "in" scalar, zero-extended. Strides of matrices are among the scalars.
     */
    const uint64_t *scalars;
    /**
     * The address of each slot.
     */
    void *const *slots;
    /**
     * The address of each scratch array, which has one value for each tile.
     */
    void *const *scratch;
    /**
     * For each site the lowest index of an element that left an error record, or INT64_MAX for
     * none. Kernels update it by an atomic minimum.
     */
    int64_t *records;
    /**
     * NULL.
     */
    const void *reserved[2];
} agpu_kernel_args;

/**
 * A kernel: it computes the tiles from tile_begin to tile_end - 1. A tile is the launch's grain:
 * 2048 elements, or fewer if the launch specifies fewer. For packages.
 */
typedef void (*agpu_kernel_fn)(const struct agpu_kernel_args *args, int64_t tile_begin, int64_t tile_end);

/**
 * The variants of one kernel. The first three are NULL in a kernel without an index space. For
 * packages.
 */
typedef struct agpu_cpu_kernel {
    /**
     * Every last stride is 1, arrays that must be dense are dense, and no output overlaps an
     * input.
     */
    agpu_kernel_fn contiguous;
    /**
     * The strides are as in `contiguous`. An output may be exactly an input that is read at the
     * same index.
     */
    agpu_kernel_fn in_place;
    /**
     * The strides are arbitrary; otherwise as in `in_place`.
     */
    agpu_kernel_fn strided;
    /**
     * Runs once after all tiles with (0, number of tiles); NULL if there is nothing to finish.
     */
    agpu_kernel_fn finish;
    /**
     * NULL.
     */
    const void *reserved[2];
} agpu_cpu_kernel;

/**
 * Code for GPUs: one variant of one kernel. For packages.
 */
typedef struct agpu_image {
    /**
     * The number of the kernel.
     */
    int32_t kernel;
    /**
     * The number of the variant in the order of the module's `gpu` text.
     */
    int32_t version;
    /**
     * 0 for PTX; 90 for machine code for sm_90.
     */
    int32_t arch;
    /**
     * Size of the code in bytes, without a NUL.
     */
    int64_t size;
    /**
     * The code. If it is not compressed, PTX ends with a NUL.
     */
    const void *data;
    /**
     * Size of the code in bytes as a Zstandard frame at `data`; 0 if it is not compressed. Not 0
     * in packages of AGPU_ABI_VERSION 6 or later only.
     */
    int64_t packed;
    /**
     * 0, or 1 + the index of the image whose code is the prefix with which the frame was made.
     * That image has no such prefix itself.
     */
    int64_t base;
} agpu_image;

/**
 * The contents of a package. For packages.
 */
typedef struct agpu_module {
    /**
     * sizeof(agpu_module)
     */
    size_t size;
    /**
     * AGPU_ABI_VERSION of the header that the package was compiled with.
     */
    int32_t abi_version;
    /**
     * The package's name.
     */
    const char *name;
    /**
     * Text (docs/ir.md) of the plans; entry i is the i-th plan.
     */
    const char *plans;
    /**
     * Length of `plans` in bytes.
     */
    int64_t plans_length;
    /**
     * The number of kernels.
     */
    int32_t kernels;
    /**
     * Table of the kernels for x86-64-v2. On other processors it is the only table.
     */
    const struct agpu_cpu_kernel *cpu_v2;
    /**
     * Table of the kernels for x86-64-v3 (AVX2, FMA).
     */
    const struct agpu_cpu_kernel *cpu_v3;
    /**
     * Table of the kernels for x86-64-v4 (AVX-512).
     */
    const struct agpu_cpu_kernel *cpu_v4;
    /**
     * Text (docs/ir.md) that says how the variants of each kernel are launched on a GPU; NULL if
     * there is no code for GPUs.
     */
    const char *gpu;
    /**
     * Length of `gpu` in bytes.
     */
    int64_t gpu_length;
    /**
     * Code for GPUs, in any order.
     */
    const struct agpu_image *images;
    /**
     * The number of images.
     */
    int32_t image_count;
    /**
     * A zeroed word that belongs to the runtime.
     */
    void **state;
    /**
     * Text (docs/ir.md) of the functions that stage scalars, as the author wrote them; NULL if
     * there are none.
     */
    const char *staged;
    /**
     * Length of `staged` in bytes.
     */
    int64_t staged_length;
} agpu_module;

/**
 * A parameter or result of a package's function.
 */
typedef struct agpu_entry_slot {
    /**
     * Name of the parameter or result; it is valid as long as the loaded module.
     */
    const char *name;
    /**
     * Type of the scalar, or of the elements of the array.
     */
    agpu_type type;
    /**
     * 0 for a scalar, 1 for a vector, 2 for a matrix, 3 for an array of rank 3.
     */
    int32_t rank;
    /**
     * Size of one element in bytes.
     */
    int32_t element_size;
    /**
     * All 0.
     */
    int32_t reserved[5];
} agpu_entry_slot;

/**
 * An argument of agpu_invoke(). Parameters come first, then results. For packages.
 */
typedef struct agpu_arg {
    /**
     * Selects which of the following fields are used.
     */
    agpu_arg_kind kind;
    /**
     * SCALAR: points to the value. RESULT_SCALAR: receives the value, in host memory.
     */
    const void *scalar;
    /**
     * VIEW, RESULT_VIEW: the array. RESULT_NEW_FIELD: `offset` is that of the field in a struct, and `stride[0]` the
     * size of a struct, both in bytes.
     */
    struct agpu_view view;
    /**
     * RESULT_NEW, RESULT_NEW_FIELD: receives the buffer, which belongs to the caller.
     */
    struct agpu_buffer **made;
    /**
     * All 0.
     */
    uint64_t reserved[2];
} agpu_arg;

/**
 * A node of a builder's function: a scalar, a vector, a matrix and so on. 0 is no node.
 */
typedef uint64_t agpu_node;

/**
 * A scalar of type AGPU_F16 in calls of a package, given by its bits. C++ has arraygpu::half.
 */
typedef struct agpu_half {
    /**
     * The bits of an IEEE 754 binary16 number.
     */
    uint16_t bits;
} agpu_half;

/**
 * A scalar of type AGPU_BF16 in calls of a package, given by its bits. C++ has arraygpu::bfloat16.
 */
typedef struct agpu_bfloat16 {
    /**
     * The upper 16 bits of a float.
     */
    uint16_t bits;
} agpu_bfloat16;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Returns the message of this thread's last failing call, or "" if there is none. It is valid
 * until this thread's next failing call.
 */
const char *agpu_last_error_message(void);

/**
 * Returns the name of a status as in this header, or "unknown status" for any other number. The
 * string is never freed.
 */
const char *agpu_status_name(agpu_status status);

/**
 * Returns AGPU_ABI_VERSION of the library.
 */
int32_t agpu_abi_version(void);

/**
 * Returns the library's version, for example "0.1.0". The string is never freed.
 */
const char *agpu_version(void);

/**
 * Writes the number of GPUs that the CUDA driver has, which is 0 without a driver. Thread-safe.
 */
agpu_status agpu_device_count(int32_t *cuda_devices);

/**
 * Writes a sentence that says why no GPU can be used, or why a context for which the program named
 * no device is on the CPU. It is "" if there is no problem. The text is never freed. Thread-safe.
 */
agpu_status agpu_device_problem(const char **message);

/**
 * Writes a sentence about what is wrong with the cache of compiled code on disk, or with the C
 * compiler that fills it: the first problem that was found in this process. It is "" if there was
 * none. Such a problem never makes a call fail. The text is never freed. Thread-safe.
 */
agpu_status agpu_cache_problem(const char **message);

/**
 * Writes the device of a context: AGPU_DEVICE_CPU, or AGPU_DEVICE_CUDA plus the GPU's number.
 * Thread-safe.
 */
agpu_status agpu_context_device(struct agpu_context *context, int32_t *device);

/**
 * Writes the name of a context's device. The text is never freed. Thread-safe.
 */
agpu_status agpu_context_device_name(struct agpu_context *context, const char **name);

/**
 * Writes the context's own stream, a CUstream on which calls without a stream run. It is NULL on
 * the CPU. The stream does not wait for the legacy default stream, and lives as long as the
 * context or one of its buffers. Thread-safe.
 */
agpu_status agpu_context_stream(struct agpu_context *context, void **stream);

/**
 * Waits until all calls and copies of this context are done, on all its streams. The result is
 * AGPU_ERROR_RECORD if one of them left an error record. Thread-safe.
 */
agpu_status agpu_context_synchronize(struct agpu_context *context);

/**
 * Limits the bytes of this context's arrays, temporaries and scratch, on the device and on the CPU
 * each; INT64_MAX is no limit. An allocation above the limit is AGPU_ERROR_OUT_OF_MEMORY. Nothing
 * is freed. Temporaries of up to 64 KiB on the CPU do not count. Thread-safe.
 */
agpu_status agpu_context_set_memory_limit(struct agpu_context *context, int64_t bytes);

/**
 * Writes the bytes that this context has allocated now, and the most that it ever had: of the
 * device's memory, which is the CPU's if that is the device. Either pointer may be NULL.
 * Thread-safe.
 */
agpu_status agpu_context_memory(struct agpu_context *context, int64_t *in_use, int64_t *peak);

/**
 * Writes the number of kernels that calls of packages and programs have launched in this context
 * so far; on the CPU, of those that have run. Thread-safe.
 */
agpu_status agpu_context_launches(struct agpu_context *context, int64_t *launches);

/**
 * Starts (`on`) or ends the timing of the launches of this context, and forgets those that were
 * timed. A timed call on a GPU has an event before and behind each launch; calls that are being
 * captured are not timed. Without this call nothing is timed, and a launch tests one word. Thread-safe.
 */
agpu_status agpu_context_profile(struct agpu_context *context, bool on);

/**
 * Waits for the calls of this context, and writes the times of the launches since
 * agpu_context_profile(), in their order: at most `room` of them to `times`, and how many there
 * are to `count`. `times` may be NULL if `room` is 0. The names are valid until the next call of
 * this function for the context. Thread-safe.
 */
agpu_status agpu_context_launch_times(struct agpu_context *context,
                                      struct agpu_launch_time *times,
                                      int64_t room,
                                      int64_t *count);

/**
 * Makes a context. If `options` is NULL, the context is on the default device and uses all
 * threads. Thread-safe.
 */
agpu_status agpu_context_create(const struct agpu_context_options *options, struct agpu_context **out);

/**
 * Returns the process's default context, which is made at its first use. It must not be freed.
 * Thread-safe.
 */
agpu_status agpu_context_default(struct agpu_context **out);

/**
 * Frees a context. NULL is allowed. Buffers may outlive the context, and calls on them still run.
 * Thread-safe.
 */
agpu_status agpu_context_free(struct agpu_context *context);

/**
 * Writes the number of threads that a context computes with. Thread-safe.
 */
agpu_status agpu_context_threads(struct agpu_context *context, int32_t *out);

/**
 * Makes a buffer of `count` zeros in a context (NULL: the default context). Thread-safe.
 */
agpu_status agpu_buffer_create(struct agpu_context *context,
                               agpu_type type,
                               int64_t count,
                               struct agpu_buffer **out);

/**
 * Makes a buffer of zeros for an array of rank 1 to 3 with these extents, outermost first. Bytes may
 * also have rank 4: they are structs in an array of three dimensions. agpu_buffer_view() returns it
 * as such an array: its rows follow each other without gaps. Thread-safe.
 */
agpu_status agpu_buffer_create_array(struct agpu_context *context,
                                     agpu_type type,
                                     int32_t rank,
                                     const int64_t *extents,
                                     struct agpu_buffer **out);

/**
 * Makes a buffer over memory of the caller. The memory must stay valid until the buffer is freed,
 * and be aligned for the type. Thread-safe.
 */
agpu_status agpu_buffer_wrap(struct agpu_context *context,
                             agpu_type type,
                             void *data,
                             int64_t count,
                             struct agpu_buffer **out);

/**
 * Frees a buffer; of wrapped memory only the handle is freed. NULL is allowed. A second free is
 * AGPU_ERROR_INVALID_HANDLE. Thread-safe: a call that is using the buffer keeps its memory.
 */
agpu_status agpu_buffer_free(struct agpu_buffer *buffer);

/**
 * Writes the number of elements of a buffer. Thread-safe.
 */
agpu_status agpu_buffer_count(struct agpu_buffer *buffer, int64_t *out);

/**
 * Writes the element type of a buffer. Thread-safe.
 */
agpu_status agpu_buffer_type(struct agpu_buffer *buffer, agpu_type *out);

/**
 * Writes the context of a buffer, or returns AGPU_ERROR_INVALID_HANDLE if the context was freed.
 * Thread-safe.
 */
agpu_status agpu_buffer_context(struct agpu_buffer *buffer, struct agpu_context **out);

/**
 * Writes the device address of element 0. On the CPU it is host memory, aligned to 64 bytes unless
 * the buffer wraps memory of the caller. It is NULL if the buffer is empty. Thread-safe.
 */
agpu_status agpu_buffer_data(struct agpu_buffer *buffer, void **out);

/**
 * Writes a view of the whole buffer: a vector, or the array that the buffer was made as.
 * Thread-safe.
 */
agpu_status agpu_buffer_view(struct agpu_buffer *buffer, struct agpu_view *out);

/**
 * Makes a view of the elements of a view at the indices start, start + stride, ... below stop
 * along an axis. A vector has axis 0; axis 0 of a matrix goes from row to row. Requires 0 <= start
 * <= stop <= the extent, else AGPU_ERROR_OUT_OF_BOUNDS, and stride >= 1. Thread-safe.
 */
agpu_status agpu_view_slice(struct agpu_view view,
                            int32_t axis,
                            int64_t start,
                            int64_t stop,
                            int64_t stride,
                            struct agpu_view *out);

/**
 * Makes a view of the same elements with two axes exchanged; those of a matrix are 0 and 1.
 * Thread-safe.
 */
agpu_status agpu_view_transpose(struct agpu_view view, int32_t first, int32_t second, struct agpu_view *out);

/**
 * Makes a view of the elements at one index along an axis, which has one axis less. Of a matrix it
 * is row `index` for axis 0 and column `index` for axis 1. Requires 0 <= index < the extent, else
 * AGPU_ERROR_OUT_OF_BOUNDS. Thread-safe.
 */
agpu_status agpu_view_pick(struct agpu_view view, int32_t axis, int64_t index, struct agpu_view *out);

/**
 * Copies `count` elements from host memory to the first elements of a view. For a matrix, `count`
 * is the number of all its elements, which are copied row by row. No other thread may use the
 * buffer at the same time.
 */
agpu_status agpu_copy_from_host(struct agpu_view dst, const void *src, int64_t count);

/**
 * Copies the first `count` elements of a view to host memory. For a matrix, `count` is the number
 * of all its elements, which are copied row by row. A bool arrives as 0 or 1. No other thread may
 * write to the buffer at the same time.
 */
agpu_status agpu_copy_to_host(void *dst, struct agpu_view src, int64_t count);

/**
 * Does what agpu_copy_from_host() does, on the call's stream (NULL: the context's own). From
 * pinned memory it returns before the copy is done, and the memory must not change until then.
 */
agpu_status agpu_copy_from_host_async(struct agpu_view dst,
                                      const void *src,
                                      int64_t count,
                                      const struct agpu_call *call);

/**
 * Does what agpu_copy_to_host() does, on the call's stream (NULL: the context's own). To pinned
 * memory it returns before the copy is done, and does not report error records;
 * agpu_context_synchronize() does.
 */
agpu_status agpu_copy_to_host_async(void *dst,
                                    struct agpu_view src,
                                    int64_t count,
                                    const struct agpu_call *call);

/**
 * Copies a view to another one of the same type and extents, which may be in another context; the
 * views may overlap. Between GPUs it returns when the copy is queued. No other thread may use the
 * buffers at the same time.
 */
agpu_status agpu_copy(struct agpu_view dst, struct agpu_view src);

/**
 * Sets every element of a view to the value at `value`, which has the view's type. No other thread
 * may use the buffer at the same time.
 */
agpu_status agpu_fill(struct agpu_view dst, const void *value);

/**
 * Allocates host memory of this many bytes. It is not cleared, and is aligned to 64 bytes. In the
 * context of a GPU (NULL: the default context) it is pinned: copies from and to it are faster, and
 * asynchronous where the caller asks for that. Thread-safe.
 */
agpu_status agpu_host_alloc(struct agpu_context *context, int64_t bytes, void **memory);

/**
 * Frees memory of agpu_host_alloc(). NULL is allowed. Copies from and to the memory must be done.
 * Thread-safe.
 */
agpu_status agpu_host_free(void *memory);

/**
 * Makes a stream in a context (NULL: the default context). It is a CUstream that calls of this
 * context and other CUDA code may use, and it does not wait for the legacy default stream. On the
 * CPU, where a call returns when its work is done, the stream is NULL. Thread-safe.
 */
agpu_status agpu_stream_create(struct agpu_context *context, void **stream);

/**
 * Frees a stream of agpu_stream_create() of the same context (NULL: the default context). A NULL
 * stream is allowed. The work on the stream goes on, and nothing waits. A later call on the stream
 * is an error. Freeing the context frees its streams, too. Thread-safe.
 */
agpu_status agpu_stream_free(struct agpu_context *context, void *stream);

/**
 * Waits until the work that was queued on a stream of a context (NULL: the default context) is
 * done. A NULL stream is the context's own one. The result is AGPU_ERROR_RECORD if a call on the
 * stream left an error record. Thread-safe.
 */
agpu_status agpu_stream_synchronize(struct agpu_context *context, void *stream);

/**
 * Lets the host call `f` with `data` when the work that is queued on the call's stream is done.
 * Work that is queued there later waits for `f`. On a GPU `f` runs in a thread of the driver, and
 * never if the device fails before; on the CPU it runs at once, in this thread. `f` must call
 * neither this library nor CUDA, must not throw, and should be short. If `call` is NULL, the
 * context is the default one. Thread-safe.
 */
agpu_status agpu_stream_callback(const struct agpu_call *call, void (*f)(void *data), void *data);

/**
 * Does what agpu_stream_callback() does, for a function that may run only once, such as one that
 * frees `data`: on a stream that is being captured it is an error, because the graph would run the
 * function each time. Thread-safe.
 */
agpu_status agpu_stream_callback_once(const struct agpu_call *call, void (*f)(void *data), void *data);

/**
 * Makes an event in a context (NULL: the default context). It is done until it is recorded.
 * Thread-safe.
 */
agpu_status agpu_event_create(struct agpu_context *context, struct agpu_event **out);

/**
 * Frees an event. NULL is allowed. What waits for the event still does. Thread-safe.
 */
agpu_status agpu_event_free(struct agpu_event *event);

/**
 * Records an event: it is done when the work that is queued on the call's stream by now is done.
 * An earlier record no longer counts. The call must be of the event's context; a NULL call is that
 * context's own stream. Thread-safe.
 */
agpu_status agpu_event_record(struct agpu_event *event, const struct agpu_call *call);

/**
 * Lets the work that is queued on the call's stream from now on wait for the event as it was
 * recorded last. The host does not wait, unless the call's context is the CPU. A NULL call is the
 * own stream of the event's context. Thread-safe.
 */
agpu_status agpu_event_wait(struct agpu_event *event, const struct agpu_call *call);

/**
 * Waits until an event is done. The result is AGPU_ERROR_RECORD if a call on its stream left an
 * error record. Thread-safe.
 */
agpu_status agpu_event_synchronize(struct agpu_event *event);

/**
 * Writes whether an event is done. It reports no error records. Thread-safe.
 */
agpu_status agpu_event_query(struct agpu_event *event, bool *done);

/**
 * Loads a package's shared library, lib<name>.so, by its path. agpu_invoke() runs its functions.
 * Thread-safe.
 */
agpu_status agpu_module_load(const char *path, struct agpu_loaded_module **out);

/**
 * Unloads a package; NULL is allowed. Nothing of the package may be used afterwards, including
 * graphs that hold its calls. If other threads are in calls, which may use the package, it stays
 * in memory until they return. Waits for the work on GPUs that uses the package's code.
 */
agpu_status agpu_loaded_module_free(struct agpu_loaded_module *module);

/**
 * Writes the address of the module for agpu_invoke() to `out`; it is valid as long as `module`.
 * Thread-safe.
 */
agpu_status agpu_module_get(struct agpu_loaded_module *module, const struct agpu_module **out);

/**
 * Writes the number of functions of a package to `out`. Thread-safe.
 */
agpu_status agpu_module_entry_count(struct agpu_loaded_module *module, int32_t *out);

/**
 * Writes the number of the function with that name, for agpu_invoke(), to `out`;
 * AGPU_ERROR_INVALID_ARGUMENT if there is none. Thread-safe.
 */
agpu_status agpu_module_find(struct agpu_loaded_module *module, const char *name, int32_t *out);

/**
 * Writes the name of a function to `out`; it is valid as long as `module`. Thread-safe.
 */
agpu_status agpu_module_entry_name(struct agpu_loaded_module *module, int32_t entry, const char **out);

/**
 * Writes the numbers of parameters and results of a function to `params` and `results`.
 * agpu_invoke() takes the parameters first, then the results. Thread-safe.
 */
agpu_status agpu_module_entry_shape(struct agpu_loaded_module *module,
                                    int32_t entry,
                                    int32_t *params,
                                    int32_t *results);

/**
 * Writes the description of parameter `index` of a function to `out`. Thread-safe.
 */
agpu_status agpu_module_entry_param(struct agpu_loaded_module *module,
                                    int32_t entry,
                                    int32_t index,
                                    struct agpu_entry_slot *out);

/**
 * Writes the description of result `index` of a function to `out`. Thread-safe.
 */
agpu_status agpu_module_entry_result(struct agpu_loaded_module *module,
                                     int32_t entry,
                                     int32_t index,
                                     struct agpu_entry_slot *out);

/**
 * Loads a tuning file, which `arraygpu-tune` made (docs/tuning.md): from now on, calls of its package on its device
 * run the variants of kernels that were measured to be the fastest. No bit of a result changes, but for the
 * products of tensor cores, which `arraygpu-tune` leaves out. It comes before the
 * files that were loaded earlier, the one that ARRAYGPU_TUNING names, and the one beside the package's library; the
 * same path replaces what was read from it before. NULL forgets the files that were loaded. A file that cannot be
 * read or is damaged is AGPU_ERROR_INVALID_ARGUMENT; one for another package or device is ignored by its calls
 * (agpu_tuning_problem()). Thread-safe.
 */
agpu_status agpu_tuning_load(const char *path);

/**
 * Writes a sentence about why a tuning file is ignored: the first such problem that a call of this process found. It
 * is "" if there was none. Such a problem never makes a call fail. The text is never freed. Thread-safe.
 */
agpu_status agpu_tuning_problem(const char **message);

/**
 * Runs entry `entry` of a module. Packages call this function. The arguments are the parameters
 * followed by the results. `call` may be NULL. Thread-safe as long as no buffer that a call writes
 * is used elsewhere at the same time.
 */
agpu_status agpu_invoke(const struct agpu_module *module,
                        int32_t entry,
                        const struct agpu_call *call,
                        const struct agpu_arg *args,
                        int32_t count);

/**
 * From now on the calls of this thread that compile or run read `flag`, and end with
 * AGPU_ERROR_CANCELLED once it is not 0. Any thread may set it by an atomic store; only the
 * program resets it to 0. If `flag` is NULL, which is the initial state, the calls read no flag.
 * The flag must stay valid until another one is set or the thread ends. `previous` may be NULL;
 * otherwise it receives the previous flag.
 *
 * A cancelled call has compiled nothing, or leaves unspecified elements in its outputs. It ends
 * after at most one pass of the compiler, one launch on a GPU, or some milliseconds of a launch on
 * the CPU; a sequential fold on the CPU runs to its end. Work that is queued on a stream is not
 * cancelled.
 */
agpu_status agpu_set_cancel_flag(const int32_t *flag, const int32_t **previous);

/**
 * Begins a function. Messages and the generated code contain `name`. Thread-safe.
 */
agpu_status agpu_builder_create(const char *name, struct agpu_builder **builder);

/**
 * Frees a builder; NULL is allowed. Programs that it made are kept.
 */
agpu_status agpu_builder_free(struct agpu_builder *builder);

/**
 * Lets GPUs use approximations, contract operations and flush subnormal numbers: this is faster,
 * and changes bits.
 */
agpu_status agpu_builder_fast_math(struct agpu_builder *builder, bool on);

/**
 * Lets GPUs of compute capability 8.0 and above compute matrix products with tensor cores: products
 * of f16 and bf16, and of f32 rounded to TF32, are added in f32 in an order that is not promised.
 */
agpu_status agpu_builder_tensor_cores(struct agpu_builder *builder, bool on);

/**
 * Adds a parameter: a scalar if the rank is 0, else an array. Parameters come before all other
 * nodes. Those whose name is NULL are named v0, v1 .. by their position.
 */
agpu_status agpu_builder_param(struct agpu_builder *builder,
                               const char *name,
                               agpu_type type,
                               int32_t rank,
                               agpu_node *node);

/**
 * Adds a constant, which becomes part of the code.
 */
agpu_status agpu_builder_constant(struct agpu_builder *builder,
                                  agpu_type type,
                                  const void *value,
                                  agpu_node *node);

/**
 * Adds a variable, to be bound by agpu_builder_map(), _generate(), _reduce(), _fold() or _loop().
 */
agpu_status agpu_builder_variable(struct agpu_builder *builder, agpu_type type, agpu_node *node);

/**
 * Sets the source line of the nodes that are made from now on, which messages and reports name. If
 * `file` is NULL, they have none.
 */
agpu_status agpu_builder_at(struct agpu_builder *builder, const char *file, int32_t line);

/**
 * Does the same as agpu_builder_at() with the column of the line, from 1 on; 0 is a column that is not known.
 */
agpu_status agpu_builder_at_column(struct agpu_builder *builder,
                                   const char *file,
                                   int32_t line,
                                   int32_t column);

/**
 * Sets the word that messages name in place of the constructs of the nodes that are made from now on: what the
 * author of a program wrote, where a caller makes it of several constructs. If it is NULL, they name the constructs.
 */
agpu_status agpu_builder_word(struct agpu_builder *builder,
                              const char *word);

/**
 * Adds a scalar operation, by its name in docs/ir.md: add, exp, mul_add, select and others. If
 * operands are arrays, it is elementwise: the arrays must have the same extents (a shape rule),
 * and scalars are repeated.
 */
agpu_status agpu_builder_apply(struct agpu_builder *builder,
                               const char *op,
                               const agpu_node *operands,
                               int32_t count,
                               agpu_node *node);

/**
 * Converts a value to another type, as docs/semantics.md defines; arrays are converted
 * elementwise.
 */
agpu_status agpu_builder_cast(struct agpu_builder *builder, agpu_type type, agpu_node value, agpu_node *node);

/**
 * Adds an array whose elements are a function of the elements of other arrays: `body`, in which
 * `variables` stand for them. The arrays must have the same extents (a shape rule).
 */
agpu_status agpu_builder_map(struct agpu_builder *builder,
                             const agpu_node *variables,
                             const agpu_node *arrays,
                             int32_t count,
                             agpu_node body,
                             agpu_node *node);

/**
 * Adds an array with these extents whose elements are a function of their indices: `body`, in
 * which `variables`, of i64, stand for them.
 */
agpu_status agpu_builder_generate(struct agpu_builder *builder,
                                  const agpu_node *extents,
                                  const agpu_node *variables,
                                  int32_t rank,
                                  agpu_node body,
                                  agpu_node *node);

/**
 * Reduces all elements of an array by an associative, commutative operator: `body`, in which the
 * variables `left` and `right` stand for its operands. The order is the fixed one of
 * docs/semantics.md 5.1; `init` is joined last.
 */
agpu_status agpu_builder_reduce(struct agpu_builder *builder,
                                agpu_node left,
                                agpu_node right,
                                agpu_node body,
                                agpu_node init,
                                agpu_node array,
                                agpu_node *node);

/**
 * Reduces an array along one axis, for each index of the other axes, as agpu_builder_reduce()
 * does.
 */
agpu_status agpu_builder_reduce_axis(struct agpu_builder *builder,
                                     agpu_node left,
                                     agpu_node right,
                                     agpu_node body,
                                     agpu_node init,
                                     agpu_node array,
                                     int32_t axis,
                                     agpu_node *node);

/**
 * Folds the elements of an array strictly from the left, in index order: `body` is the next value,
 * in which the variables `accumulator` and `element` stand for the old value and the element.
 */
agpu_status agpu_builder_fold(struct agpu_builder *builder,
                              agpu_node accumulator,
                              agpu_node element,
                              agpu_node body,
                              agpu_node init,
                              agpu_node array,
                              agpu_node *node);

/**
 * Adds the number of elements along an axis, an i64.
 */
agpu_status agpu_builder_length(struct agpu_builder *builder, agpu_node array, int32_t axis, agpu_node *node);

/**
 * Adds the sum of the products of two vectors' elements, by multiply-adds in the fixed order of
 * docs/semantics.md 5.3.
 */
agpu_status agpu_builder_dot(struct agpu_builder *builder, agpu_node x, agpu_node y, agpu_node *node);

/**
 * Adds the sum of the squared deviations of an array's elements, f32 or f64, from their mean, in one
 * pass (docs/semantics.md 5.12).
 */
agpu_status agpu_builder_squared_deviations(struct agpu_builder *builder, agpu_node array, agpu_node *node);

/**
 * Adds the matrix product of docs/semantics.md 5.7; of two arrays of rank 3, that of each plane with the
 * same plane.
 */
agpu_status agpu_builder_matmul(struct agpu_builder *builder, agpu_node x, agpu_node y, agpu_node *node);

/**
 * Adds an element of an array, by an i64 index for each axis. An element outside of the array is 0
 * and leaves an error record.
 */
agpu_status agpu_builder_read(struct agpu_builder *builder,
                              agpu_node array,
                              const agpu_node *index,
                              int32_t rank,
                              agpu_node *node);

/**
 * Adds the elements start, start + stride .. below stop along one axis. All three are i64 scalars
 * that the host can compute; 0 <= start <= stop <= length and 1 <= stride are shape rules. A
 * stride that is no node (0) means 1.
 */
agpu_status agpu_builder_slice(struct agpu_builder *builder,
                               agpu_node array,
                               int32_t axis,
                               agpu_node start,
                               agpu_node stop,
                               agpu_node stride,
                               agpu_node *node);

/**
 * Adds the array with its elements in reverse order along an axis.
 */
agpu_status agpu_builder_reverse(struct agpu_builder *builder,
                                 agpu_node array,
                                 int32_t axis,
                                 agpu_node *node);

/**
 * Adds the array with two axes exchanged.
 */
agpu_status agpu_builder_transpose(struct agpu_builder *builder,
                                   agpu_node array,
                                   int32_t first,
                                   int32_t second,
                                   agpu_node *node);

/**
 * Adds the part of an array at an index of one axis, which the part does not have: a row or a
 * column, say. If the host can compute the index, a shape rule checks that it is inside; otherwise
 * elements are read as by agpu_builder_read().
 */
agpu_status agpu_builder_pick(struct agpu_builder *builder,
                              agpu_node array,
                              int32_t axis,
                              agpu_node index,
                              agpu_node *node);

/**
 * Adds an array that repeats another one n times along a new axis.
 */
agpu_status agpu_builder_spread(struct agpu_builder *builder,
                                agpu_node array,
                                int32_t axis,
                                agpu_node n,
                                agpu_node *node);

/**
 * Adds the vector 0, 1, .. n-1 of i64.
 */
agpu_status agpu_builder_iota(struct agpu_builder *builder, agpu_node n, agpu_node *node);

/**
 * Adds a vector that repeats a value n times.
 */
agpu_status agpu_builder_fill(struct agpu_builder *builder, agpu_node n, agpu_node value, agpu_node *node);

/**
 * Adds the same value, which is computed once even if it is used several times, and named in the
 * generated code (slet).
 */
agpu_status agpu_builder_bind(struct agpu_builder *builder, agpu_node value, agpu_node *node);

/**
 * Adds the same value, which becomes a constant of the code: a program is compiled for each value
 * that it has in calls (at most 16 are kept). It must be made of lengths, constants and scalar
 * parameters.
 */
agpu_status agpu_builder_stage(struct agpu_builder *builder, agpu_node value, agpu_node *node);

/**
 * Adds the same array, which is stored before it is used.
 */
agpu_status agpu_builder_materialize(struct agpu_builder *builder, agpu_node array, agpu_node *node);

/**
 * Reduces the tuples of the elements of `count` arrays of one shape (a shape rule) by an associative,
 * commutative operator of tuples (docs/semantics.md 5.14): the variables `left` and `right` stand for the
 * components of its operands, `body` is its result. `nodes` receives the components of the reduction.
 */
agpu_status agpu_builder_reduce_tuples(struct agpu_builder *builder,
                                       const agpu_node *arrays,
                                       const agpu_node *left,
                                       const agpu_node *right,
                                       const agpu_node *body,
                                       const agpu_node *init,
                                       int32_t count,
                                       agpu_node *nodes);

/**
 * Does the same as agpu_builder_reduce_tuples with an operator that need not be commutative: it always joins a part
 * of the arrays with the part that follows it (docs/semantics.md 5.17).
 */
agpu_status agpu_builder_reduce_noncommutative(struct agpu_builder *builder,
                                               const agpu_node *arrays,
                                               const agpu_node *left,
                                               const agpu_node *right,
                                               const agpu_node *body,
                                               const agpu_node *init,
                                               int32_t count,
                                               agpu_node *nodes);

/**
 * Folds the tuples of the elements of arrays of one shape (a shape rule) strictly from the left, in index
 * order: `body` is the next accumulator of `count` components, in which the variables `accumulator` and
 * `element` stand for the components of the old one and for the elements. `nodes` receives the components
 * of the fold.
 */
agpu_status agpu_builder_fold_tuples(struct agpu_builder *builder,
                                     const agpu_node *arrays,
                                     const agpu_node *element,
                                     int32_t array_count,
                                     const agpu_node *accumulator,
                                     const agpu_node *body,
                                     const agpu_node *init,
                                     int32_t count,
                                     agpu_node *nodes);

/**
 * Adds a loop of one element (docs/semantics.md 5.16) over `count` states: while the number of steps is
 * below `most`, an i64, and `condition` holds (no node, 0, always holds), all states become `next` at once.
 * In both the variables `step`, of i64, and `states` stand for the number of steps so far and the states.
 * `nodes` receives count + 1 nodes: the last states, and the number of steps that were made.
 */
agpu_status agpu_builder_loop(struct agpu_builder *builder,
                              agpu_node most,
                              agpu_node step,
                              const agpu_node *states,
                              agpu_node condition,
                              const agpu_node *next,
                              const agpu_node *init,
                              int32_t count,
                              agpu_node *nodes);

/**
 * Adds a construct that is made of others, by its name: scan, scan_exclusive, scan_rows, scan_cols,
 * scan_planes and these with _exclusive, argsort, argsort_descending, sort, sort_descending,
 * segmented_reduce, segmented_scan, segmented_scan_exclusive, filter, unique, run_lengths,
 * reduce_by_key, filled, destinations, destinations_ignored, destinations_clamped, histogram,
 * scatter, scatter_unique, scatter_reduce or scatter_reduce_unordered (docs/c-abi.md has their
 * operands and values, docs/semantics.md 5.18 to 5.22 their meaning). Some take an operator of so many components: `variables` stand for those of its
 * left operand, then for those of its right one, `body` is its result. `nodes` receives the values, of which there
 * must be `count`.
 */
agpu_status agpu_builder_composite(struct agpu_builder *builder,
                                   const char *name,
                                   const agpu_node *operands,
                                   int32_t operand_count,
                                   const agpu_node *variables,
                                   const agpu_node *body,
                                   int32_t components,
                                   agpu_node *nodes,
                                   int32_t count);

/**
 * Adds the array with `before` more elements in front and `after` behind along an axis. The boundary
 * says what they are: `clamp` the element at the edge, `mirror` the array mirrored there, `wrap` the
 * array again, `constant` the value, which is no node (0) for the others. Both widths are i64 scalars
 * that the host can compute; it is a shape rule that they are not negative, and at most the array's
 * length where it is mirrored or repeated (docs/semantics.md has the others).
 */
agpu_status agpu_builder_pad(struct agpu_builder *builder,
                             agpu_node array,
                             int32_t axis,
                             agpu_node before,
                             agpu_node after,
                             const char *boundary,
                             agpu_node value,
                             agpu_node *node);

/**
 * Adds the array with the elements of `part` in place of those from `start` on, an i64 index for each
 * axis that the host can compute. All of the part lies inside, and it has an element: both are shape
 * rules.
 */
agpu_status agpu_builder_replace(struct agpu_builder *builder,
                                 agpu_node array,
                                 agpu_node part,
                                 const agpu_node *start,
                                 int32_t rank,
                                 agpu_node *node);

/**
 * Chooses how GPUs keep the program's stencils, where that is possible: `direct`, `window`, `tile`, `rows` or
 * `planes`. If the name is NULL, the compiler chooses. No bit of a result changes.
 */
agpu_status agpu_builder_stencil(struct agpu_builder *builder, const char *strategy);

/**
 * Begins the function of a step of an iteration, or of the check that ends one: a builder of its own, in which all
 * nodes of the step are made. Its parameters stand for `count` nodes of `builder`: the first `states` of them are the
 * initial states, which are arrays, the others are what the step reads from outside, computed once. `params` receives
 * count + 1 nodes of the step: one for each, and the number of the step, an i64 that is 0 first. The caller frees the
 * step's builder.
 */
agpu_status agpu_builder_step(struct agpu_builder *builder,
                              const agpu_node *args,
                              int32_t count,
                              int32_t states,
                              struct agpu_builder **step,
                              agpu_node *params);

/**
 * Adds an iteration of at most `most` steps, an i64 that the host can compute and that is 0 or more (a shape rule).
 * `next` are the next states, as many nodes of `step` as that has states; each keeps its extents (a shape rule).
 * `nodes` receives a node for each state: that after the last step or, if `collect`, the states after all steps, along a
 * new first axis. If `check` is not NULL, it is a builder that agpu_builder_step() began with the arguments of `step`,
 * and `condition` a bool of it: the iteration ends where that does not hold for the states before a step whose number is
 * a multiple of `every`, or for those after the last one. `nodes` then receives one node more: a vector of one i64, the
 * number of steps, or -1 if the condition still holds at the end.
 */
agpu_status agpu_builder_iterate(struct agpu_builder *builder,
                                 agpu_node most,
                                 struct agpu_builder *step,
                                 const agpu_node *next,
                                 int32_t states,
                                 bool collect,
                                 struct agpu_builder *check,
                                 agpu_node condition,
                                 int32_t every,
                                 agpu_node *nodes);

/**
 * Adds a result, an array or a scalar. Results whose name is NULL are named r0, r1 .. by their
 * position.
 */
agpu_status agpu_builder_result(struct agpu_builder *builder, const char *name, agpu_node value);

/**
 * Makes the program of the function. Functions that compute the same in the same way are one
 * program, compiled once in this process. The builder may be used further.
 */
agpu_status agpu_builder_compile(struct agpu_builder *builder, struct agpu_program **program);

/**
 * Runs a program, as agpu_invoke() does. What its device needs is compiled at its first run there.
 * Thread-safe, as long as no buffer that a call writes is used elsewhere at the same time.
 */
agpu_status agpu_program_run(struct agpu_program *program,
                             const struct agpu_call *call,
                             const struct agpu_arg *args,
                             int32_t count);

/**
 * Frees a program; NULL is allowed. What it compiled is kept for equal programs, up to a bounded
 * number of them. Thread-safe.
 */
agpu_status agpu_program_free(struct agpu_program *program);

/**
 * Writes the number of kernels that a run launches; of an iteration, the kernels of one step
 * count. Thread-safe.
 */
agpu_status agpu_program_kernels(struct agpu_program *program, int32_t *count);

/**
 * Writes the text of a stage of the compiler: core, fused, plan, kernel, c, ptx, cuda, or explain; or
 * first_ptx, which is the PTX that a first call with short contiguous arrays launches on a GPU,
 * and is made as fast. The text is valid until this thread's next call of this function.
 * Thread-safe.
 */
agpu_status agpu_program_text(struct agpu_program *program, const char *stage, const char **text);

/**
 * Keeps a program under a key of the caller's own, which encodes the program's structure, for
 * agpu_run_remembered(); it replaces a program that was kept under the key before. A bounded number of
 * programs is kept; the least recently used one is dropped first. Thread-safe.
 */
agpu_status agpu_program_remember(struct agpu_program *program, const void *key, int64_t length);

/**
 * Runs the program that was remembered under a key, as agpu_program_run() does. If there is none,
 * `known` becomes false and nothing is done. Thread-safe.
 */
agpu_status agpu_run_remembered(const void *key,
                                int64_t length,
                                const struct agpu_call *call,
                                const struct agpu_arg *args,
                                int32_t count,
                                bool *known);

/**
 * Sets whether programs that first run on the CPU from now on are compiled by the system's C
 * compiler, which then runs as another process. Without this call the environment variable
 * ARRAYGPU_CPU_CC decides. Programs that are not compiled, or for which no compiler works
 * (agpu_cache_problem() says why), run in the block interpreter, with the same bits. Thread-safe.
 */
agpu_status agpu_allow_cpu_compiler(bool allowed);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* ARRAYGPU_H */
