#ifndef AGPU_PRELUDE
#define AGPU_PRELUDE

/* ---- arithmetic version 1: docs/semantics.md section 2 ----
 * Compile with -ffp-contract=off -fwrapv -fno-builtin and without -ffast-math: what is written is what is rounded. */
#if defined(__GNUC__)
/* what the author's program says, and what the compiler sees of it, is not for the package's user to mend */
#pragma GCC diagnostic ignored "-Wtautological-compare"
#pragma GCC diagnostic ignored "-Wtype-limits"
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wbool-compare"
#pragma GCC diagnostic ignored "-Wbool-operation"
/* constants that wrap around: -fwrapv */
#pragma GCC diagnostic ignored "-Woverflow"
/* gcc sees a loop's last store behind the end of an array whose length it does not know */
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif
#endif
#include <stdbool.h>
#include <stdint.h>

#ifndef AGPU_LEVEL
#define AGPU_LEVEL v2
#endif

typedef struct agpu_kernel_args {
    void *const *arrays;
    const int64_t *strides;
    const uint64_t *scalars;
    void *const *slots;
    void *const *scratch;
    int64_t *records;
    const void *reserved[2];
} agpu_kernel_args;
typedef void (*agpu_kernel_fn)(const agpu_kernel_args *args, int64_t tile_begin, int64_t tile_end);
typedef struct agpu_cpu_kernel {
    agpu_kernel_fn contiguous, in_place, strided, finish;
    const void *reserved[2];
} agpu_cpu_kernel;

/* exact, so the same bits in every libm */
float fmodf(float, float);
double fmod(double, double);

/* The bits of a float, and back. */
#define AGPU_BITS(F, U, f, u) \
    static inline U agpu_to_bits_##f(F x) { U bits; __builtin_memcpy(&bits, &x, sizeof x); return bits; } \
    static inline F agpu_from_bits_##u(U bits) { F x; __builtin_memcpy(&x, &bits, sizeof x); return x; }
AGPU_BITS(float, uint32_t, f32, u32)
AGPU_BITS(double, uint64_t, f64, u64)

/* Sums whose operands the C compiler must not look into. */
static inline float agpu_add_f32(float a, float b) { return a + b; }
static inline float agpu_sub_f32(float a, float b) { return a - b; }
static inline double agpu_add_f64(double a, double b) { return a + b; }
static inline double agpu_sub_f64(double a, double b) { return a - b; }

/* A scalar argument: its bits in the low bytes of a word. And an element that is read only if a condition holds, else 0. */
#define AGPU_SCALAR(T, name) \
    static inline T agpu_scalar_##name(const agpu_kernel_args *args, int i) { T x; __builtin_memcpy(&x, &args->scalars[i], sizeof x); return x; } \
    static inline T agpu_load_if_##name(bool c, const T *element) { return c ? *element : 0; }
AGPU_SCALAR(float, f32)
AGPU_SCALAR(double, f64)
AGPU_SCALAR(int32_t, i32)
AGPU_SCALAR(int64_t, i64)
AGPU_SCALAR(uint32_t, u32)
AGPU_SCALAR(uint64_t, u64)
AGPU_SCALAR(int8_t, i8)
AGPU_SCALAR(int16_t, i16)
AGPU_SCALAR(uint16_t, u16)
AGPU_SCALAR(uint16_t, f16)
AGPU_SCALAR(uint16_t, bf16)
AGPU_SCALAR(uint8_t, u8)
static inline bool agpu_scalar_bool(const agpu_kernel_args *args, int i) { return args->scalars[i] != 0; }

/* The lowest element that left a record, over all threads. */
static inline void agpu_record(int64_t *slot, int64_t element)
{
    int64_t seen = __atomic_load_n(slot, __ATOMIC_RELAXED);
    while (element < seen && !__atomic_compare_exchange_n(slot, &seen, element, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}

/* min, max: NaN wins, -0 < +0. A comparison gives the second operand if both are equal or one is a NaN, so both orders are compared, and differ for
 * zeros and NaN only: "or" of their bits is -0 or a NaN, "and" is +0. In place of isunordered GCC would not vectorise two tests of a NaN within nested
 * choices. */
#define AGPU_MINMAX(T, U, name, nan) \
    static inline T agpu_min_##name(T a, T b) \
    { \
        U x, y; \
        T least = a < b ? a : b, swapped = b < a ? b : a; \
        __builtin_memcpy(&x, &least, sizeof x); \
        __builtin_memcpy(&y, &swapped, sizeof y); \
        x = x | y; \
        __builtin_memcpy(&least, &x, sizeof x); \
        return least; \
    } \
    static inline T agpu_max_##name(T a, T b) \
    { \
        U x, y; \
        T greatest = a > b ? a : b, swapped = b > a ? b : a; \
        __builtin_memcpy(&x, &greatest, sizeof x); \
        __builtin_memcpy(&y, &swapped, sizeof y); \
        x = x & y; \
        __builtin_memcpy(&greatest, &x, sizeof x); \
        return __builtin_isunordered(a, b) ? nan : greatest; \
    }
/* The same with a constant that is no NaN, and for which the operand's sign decides where both are zeros (the backend sees to it): one comparison,
 * whose second operand is the result if one is a NaN. */
#define AGPU_BOUND(T, name) \
    static inline T agpu_min_bound_##name(T x, T bound) { return bound < x ? bound : x; } \
    static inline T agpu_max_bound_##name(T x, T bound) { return bound > x ? bound : x; }
AGPU_BOUND(float, f32)
AGPU_BOUND(double, f64)
AGPU_MINMAX(float, uint32_t, f32, __builtin_nanf(""))
AGPU_MINMAX(double, uint64_t, f64, __builtin_nan(""))

/* Halves away from zero: x - trunc(x) is exact. */
#define AGPU_ROUND(T, name, s) \
    static inline T agpu_round_##name(T x) \
    { \
        T whole = __builtin_trunc##s(x); \
        T up = __builtin_fabs##s(x - whole) >= (T)0.5 ? (T)1 : (T)0; \
        return __builtin_copysign##s(__builtin_fabs##s(whole) + up, x); \
    }
AGPU_ROUND(float, f32, f)
AGPU_ROUND(double, f64, )

/* Integers: total division, masked shifts; sums and products wrap (-fwrapv). */
#define AGPU_INT(T, U, name, bits, lowest) \
    static inline T agpu_min_##name(T a, T b) { return a < b ? a : b; } \
    static inline T agpu_max_##name(T a, T b) { return a > b ? a : b; } \
    static inline T agpu_div_##name(T a, T b) { return b == 0 ? 0 : (lowest != 0 && b == (T)-1) ? (T)(0 - (U)a) : (T)(a / b); } \
    static inline T agpu_rem_##name(T a, T b) { return b == 0 ? 0 : (lowest != 0 && b == (T)-1) ? 0 : (T)(a % b); } \
    static inline T agpu_shl_##name(T a, T b) { return (T)((U)a << ((U)b & (bits - 1))); } \
    static inline T agpu_shr_##name(T a, T b) { return (T)(a >> ((U)b & (bits - 1))); } \
    static inline bool agpu_is_even_##name(T a) { return (T)((U)a << (bits - 1)) >= 0; } \
    static inline T agpu_rem_of_2_##name(T a) { U sign = (U)a >> (bits - 1); return (T)((((U)a + sign) & 1) - sign); } \
    static inline T agpu_abs_##name(T a) { return a < 0 ? (T)(0 - (U)a) : a; }
AGPU_INT(int32_t, uint32_t, i32, 32, INT32_MIN)
AGPU_INT(int64_t, uint64_t, i64, 64, INT64_MIN)
AGPU_INT(int8_t, uint8_t, i8, 8, INT8_MIN)
AGPU_INT(int16_t, uint16_t, i16, 16, INT16_MIN)
#define AGPU_UINT(T, name, bits) \
    static inline T agpu_min_##name(T a, T b) { return a < b ? a : b; } \
    static inline T agpu_max_##name(T a, T b) { return a > b ? a : b; } \
    static inline T agpu_div_##name(T a, T b) { return (T)(b == 0 ? 0 : a / b); } \
    static inline T agpu_rem_##name(T a, T b) { return (T)(b == 0 ? 0 : a % b); } \
    static inline T agpu_shl_##name(T a, T b) { return (T)(a << (b & (bits - 1))); } \
    static inline T agpu_shr_##name(T a, T b) { return (T)(a >> (b & (bits - 1))); }
AGPU_UINT(uint32_t, u32, 32)
AGPU_UINT(uint64_t, u64, 64)
AGPU_UINT(uint8_t, u8, 8)
AGPU_UINT(uint16_t, u16, 16)

/* Float to integer: truncate, saturate, NaN gives 0. `above` is the least float past the greatest integer. */
#define AGPU_TO_INT(F, T, name, least, greatest, below, above) \
    static inline T agpu_##name(F x) \
    { \
        T inside = (T)((x > below && x < above) ? x : (F)0); \
        return x >= above ? greatest : (x <= below ? least : inside); \
    }
AGPU_TO_INT(double, int32_t, i32_of_f64, INT32_MIN, INT32_MAX, -2147483649.0, 2147483648.0)
AGPU_TO_INT(float, uint32_t, u32_of_f32, 0, UINT32_MAX, -1.0f, 4294967296.0f)
AGPU_TO_INT(double, uint32_t, u32_of_f64, 0, UINT32_MAX, -1.0, 4294967296.0)
AGPU_TO_INT(float, uint64_t, u64_of_f32, 0, UINT64_MAX, -1.0f, 18446744073709551616.0f)
AGPU_TO_INT(double, uint64_t, u64_of_f64, 0, UINT64_MAX, -1.0, 18446744073709551616.0)
/* The same for 64 bits, clamped before the cast and completed by bits, so that no choice between integers asks about floats of another width: GCC
 * has no vectors for many of these. `last` is the greatest float below `above`. */
#define AGPU_TO_I64(F, name, last, above) \
    static inline int64_t agpu_##name(F x) \
    { \
        F number = x == x ? x : (F)0; \
        F from = number > -above ? number : -above; \
        int64_t inside = (int64_t)(from < last ? from : last), beyond = (int64_t)(x >= above ? (F)1 : (F)0); \
        return inside | (int64_t)((uint64_t)-beyond >> 1); \
    }
AGPU_TO_I64(float, i64_of_f32, 0x1.fffffep62f, 0x1p63f)
AGPU_TO_I64(double, i64_of_f64, 0x1.fffffffffffffp62, 0x1p63)
/* f32 and 32 bits, clamped before the cast as well: in long loops, GCC has no vectors for a test of both bounds. */
static inline int32_t agpu_i32_of_f32(float x)
{
    float number = x == x ? x : 0.0f;
    float from = number > -0x1p31f ? number : -0x1p31f;
    int32_t inside = (int32_t)(from < 0x1.fffffep30f ? from : 0x1.fffffep30f);
    return x >= 0x1p31f ? INT32_MAX : inside;
}
/* The same where floats have every integer of the type: clamped before the cast, which is two operations of vectors. A
 * NaN is not greater than 0. */
#define AGPU_TO_NARROW(F, T, name, least, greatest) \
    static inline T agpu_##name(F x) \
    { \
        F number = (least == 0 || x == x) ? x : (F)0; \
        F from = number > (F)least ? number : (F)least; \
        return (T)(int32_t)(from < (F)greatest ? from : (F)greatest); \
    }
AGPU_TO_NARROW(float, uint8_t, u8_of_f32, 0, UINT8_MAX)
AGPU_TO_NARROW(double, uint8_t, u8_of_f64, 0, UINT8_MAX)
AGPU_TO_NARROW(float, uint16_t, u16_of_f32, 0, UINT16_MAX)
AGPU_TO_NARROW(double, uint16_t, u16_of_f64, 0, UINT16_MAX)
AGPU_TO_NARROW(float, int8_t, i8_of_f32, INT8_MIN, INT8_MAX)
AGPU_TO_NARROW(double, int8_t, i8_of_f64, INT8_MIN, INT8_MAX)
AGPU_TO_NARROW(float, int16_t, i16_of_f32, INT16_MIN, INT16_MAX)
AGPU_TO_NARROW(double, int16_t, i16_of_f64, INT16_MIN, INT16_MAX)

/* f16 and bf16 from and to float, by bits so that loops become vectors; to nearest even, and NaN gives the canonical one. */
static inline float agpu_of_bits(uint32_t bits) { float x; __builtin_memcpy(&x, &bits, sizeof x); return x; }
static inline uint32_t agpu_bits_of(float x) { uint32_t bits; __builtin_memcpy(&bits, &x, sizeof bits); return bits; }
static inline float agpu_f32_of_bf16(uint16_t h) { return agpu_of_bits((uint32_t)h << 16); }
static inline uint16_t agpu_bf16_of_f32(float x)
{
    uint32_t bits = agpu_bits_of(x), nearest = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    return (uint16_t)(x != x ? 0x7fc0u : nearest);
}
static inline float agpu_f32_of_f16(uint16_t h)
{
    uint32_t size = (uint32_t)(h & 0x7fffu) << 13, sign = (uint32_t)(h & 0x8000u) << 16;
    uint32_t finite = agpu_bits_of(agpu_of_bits(size) * 0x1p112f); /* the bias of the exponent; exact, subnormals included */
    return agpu_of_bits((size >= 0x0f800000u ? size + 0x70000000u : finite) | sign);
}
static inline uint16_t agpu_f16_of_f32(float x)
{
    uint32_t bits = agpu_bits_of(x), size = bits & 0x7fffffffu;
    uint32_t normal = (size - 0x38000000u + 0xfffu + (size >> 13 & 1u)) >> 13;
    uint32_t small = agpu_bits_of(agpu_of_bits(size) + 0.5f) - 0x3f000000u; /* below 2^-14: the addition rounds to steps of 2^-24 */
    uint32_t half = size < 0x38800000u ? small : size >= 0x47800000u ? 0x7c00u : normal;
    return (uint16_t)((size > 0x7f800000u ? 0x7e00u : half) | (size > 0x7f800000u ? 0u : bits >> 16 & 0x8000u));
}

/* A hint: into the second-level cache. */
#define AGPU_PREFETCH(address) __builtin_prefetch(address, 0, 2)
#ifdef __AVX512F__
#define AGPU_PREFETCH_WIDE(address) AGPU_PREFETCH(address)
#else
#define AGPU_PREFETCH_WIDE(address) ((void)(address))
#endif

#define AGPU_JOIN_(name, level) name##level
#define AGPU_JOIN(name, level) AGPU_JOIN_(name, level)

#endif
