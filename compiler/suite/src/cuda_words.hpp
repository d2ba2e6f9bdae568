// What the printed kernels take of CUDA C++, with its types, so that any C++ compiler can check them. Nothing runs.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

#define __global__
#define __device__
#define __shared__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __restrict__ __restrict

struct dim3 {
	unsigned x, y, z;
};
extern const dim3 threadIdx, blockIdx, gridDim;

#define VECTOR(type, name)                                   \
	struct alignas(2 * sizeof(type)) name##2 {           \
		type x, y;                                   \
	};                                                   \
	struct alignas(16) name##4 {                         \
		type x, y, z, w;                             \
	};                                                   \
	name##2 make_##name##2(type, type);                  \
	name##4 make_##name##4(type, type, type, type);
VECTOR(float, float)
VECTOR(double, double)
VECTOR(int, int)
VECTOR(unsigned, uint)
VECTOR(long long, longlong)
VECTOR(unsigned long long, ulonglong)

#define MEMORY(type)           \
	type __ldg(const type *); \
	void __stcs(type *, type);
MEMORY(int8_t)
MEMORY(uint8_t)
MEMORY(int16_t)
MEMORY(uint16_t)
MEMORY(int)
MEMORY(unsigned)
MEMORY(int64_t)
MEMORY(uint64_t)
MEMORY(float)
MEMORY(double)
MEMORY(float2)
MEMORY(float4)
MEMORY(double2)
MEMORY(int2)
MEMORY(int4)
MEMORY(uint2)
MEMORY(uint4)
MEMORY(longlong2)
MEMORY(ulonglong2)

#define SHUFFLE(type)                                  \
	type __shfl_sync(unsigned, type, int);         \
	type __shfl_up_sync(unsigned, type, unsigned); \
	type __shfl_down_sync(unsigned, type, unsigned); \
	type __shfl_xor_sync(unsigned, type, int);
SHUFFLE(int)
SHUFFLE(unsigned)
SHUFFLE(int64_t)
SHUFFLE(uint64_t)
SHUFFLE(float)
SHUFFLE(double)

#define ROUNDED(type, letter, fma)             \
	type __##letter##add_rn(type, type); \
	type __##letter##sub_rn(type, type); \
	type __##letter##mul_rn(type, type); \
	type __##letter##div_rn(type, type); \
	type __##letter##sqrt_rn(type);      \
	type fma(type, type, type);
ROUNDED(float, f, __fmaf_rn)
ROUNDED(double, d, __fma_rn)

#define TRUNCATED(type)                         \
	int __##type##2int_rz(type);            \
	unsigned __##type##2uint_rz(type);      \
	long long __##type##2ll_rz(type);       \
	unsigned long long __##type##2ull_rz(type);
TRUNCATED(float)
TRUNCATED(double)

int min(int, int);
unsigned min(unsigned, unsigned);
int max(int, int);
unsigned max(unsigned, unsigned);
unsigned __float_as_uint(float);
float __uint_as_float(unsigned);
long long __double_as_longlong(double);
double __longlong_as_double(long long);
unsigned __byte_perm(unsigned, unsigned, unsigned);
template <class T> T atomicMin(T *, T);
template <class T> T atomicMax(T *, T);
unsigned atomicAdd(unsigned *, unsigned);
unsigned long long atomicAdd(unsigned long long *, unsigned long long);
float atomicAdd(float *, float);
double atomicAdd(double *, double);
template <class T> T atomicAnd(T *, T);
template <class T> T atomicOr(T *, T);
template <class T> T atomicXor(T *, T);

float __fmul_rn(float, float);
double __dmul_rn(double, double);
float __fsqrt_rn(float);
double __dsqrt_rn(double);
int __popc(unsigned);
unsigned __ballot_sync(unsigned, int);

void __syncthreads();
void __syncwarp();
void __cluster_barrier_arrive();
void __cluster_barrier_arrive_relaxed();
void __cluster_barrier_wait();
void *__cluster_map_shared_rank(const void *, unsigned);
std::size_t __cvta_generic_to_shared(const void *);
void __pipeline_memcpy_async(void *, const void *, std::size_t, std::size_t zeros = 0);
void __pipeline_commit();
void __pipeline_wait_prior(std::size_t);

struct __half {
	uint16_t bits;
};
struct __nv_bfloat16 {
	uint16_t bits;
};
float __half2float(__half);
__half __float2half_rn(float);
__half __ushort_as_half(unsigned short);
unsigned short __half_as_ushort(__half);
__nv_bfloat16 __float2bfloat16_rn(float);
unsigned short __bfloat16_as_ushort(__nv_bfloat16);
