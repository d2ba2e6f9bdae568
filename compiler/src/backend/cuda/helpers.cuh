// A parameter of less than 8 bytes, which takes 8.
template <class T> struct agpu_scalar {
	alignas(8) T value;
};

// Both values are computed, because all lanes take part in shuffles.
template <class T> __device__ T agpu_select(bool c, T a, T b)
{
	return c ? a : b;
}

template <class T> __device__ T agpu_min(T a, T b)
{
	return b < a ? b : a;
}

template <class T> __device__ T agpu_max(T a, T b)
{
	return a < b ? b : a;
}

// A NaN is returned; CUDA's minimum of floats ignores it.
__device__ inline float agpu_min_f32(float a, float b)
{
	float r;
	asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
	return r;
}

__device__ inline float agpu_max_f32(float a, float b)
{
	float r;
	asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
	return r;
}

__device__ inline double agpu_min_f64(double a, double b)
{
	return a != a || b != b ? __longlong_as_double(0x7ff8000000000000) : fmin(a, b);
}

__device__ inline double agpu_max_f64(double a, double b)
{
	return a != a || b != b ? __longlong_as_double(0x7ff8000000000000) : fmax(a, b);
}

// The magnitude of the least integer wraps.
__device__ inline int agpu_abs_i32(int a)
{
	return a < 0 ? (int)(0u - a) : a;
}

__device__ inline int64_t agpu_abs_i64(int64_t a)
{
	return a < 0 ? (int64_t)(UINT64_C(0) - a) : a;
}

// Quotients and remainders are defined for all operands: x / 0 = x % 0 = 0, MIN / -1 = MIN, MIN % -1 = 0.
template <class T> __device__ T agpu_div(T a, T b)
{
	if (T(-1) < T(0) && b == T(-1))
		return (T)(UINT64_C(0) - a);
	return b == 0 ? T(0) : T(a / b);
}

template <class T> __device__ T agpu_rem(T a, T b)
{
	return b == 0 || (T(-1) < T(0) && b == T(-1)) ? T(0) : T(a % b);
}

// CUDA guarantees that a NaN becomes 0 only between types of 32 bits.
template <class F, class T> __device__ T agpu_if_number(F x, T converted)
{
	return x == x ? converted : T(0);
}

__device__ inline float agpu_f32_of_f16(uint16_t a)
{
	return __half2float(__ushort_as_half(a));
}

__device__ inline uint16_t agpu_f16_of_f32(float a)
{
	return __half_as_ushort(__float2half_rn(a));
}

__device__ inline float agpu_f32_of_bf16(uint16_t a)
{
	return __uint_as_float((unsigned)a << 16);
}

__device__ inline uint16_t agpu_bf16_of_f32(float a)
{
	return __bfloat16_as_ushort(__float2bfloat16_rn(a));
}

__device__ inline float agpu_approximate_reciprocal(float a)
{
	float r;
	asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
	return r;
}

__device__ inline float agpu_approx_rsqrt(float a)
{
	float r;
	asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
	return r;
}

__device__ inline float agpu_approx_sqrt(float a)
{
	float r;
	asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
	return r;
}

__device__ inline float agpu_approx_exp2(float a)
{
	float r;
	asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
	return r;
}

__device__ inline float agpu_approx_log2(float a)
{
	float r;
	asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
	return r;
}

__device__ inline float agpu_approx_sin(float a)
{
	float r;
	asm("sin.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
	return r;
}

__device__ inline float agpu_approx_cos(float a)
{
	float r;
	asm("cos.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
	return r;
}

// Under `fast_math` a product and a sum may be contracted.
__device__ inline float agpu_approx_add(float a, float b)
{
	float r;
	asm("add.ftz.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
	return r;
}

__device__ inline float agpu_approx_sub(float a, float b)
{
	float r;
	asm("sub.ftz.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
	return r;
}

__device__ inline float agpu_approx_mul(float a, float b)
{
	float r;
	asm("mul.ftz.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
	return r;
}

__device__ inline float agpu_approx_div(float a, float b)
{
	float r;
	asm("div.approx.ftz.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
	return r;
}

// The quotient of numbers of moderate size, to the bit and without a branch: one step of Newton's method for
// the reciprocal and one for the quotient.
__device__ inline float agpu_div_near(float a, float b)
{
	float y = agpu_approximate_reciprocal(b);
	y = __fmaf_rn(y, __fmaf_rn(-b, y, 1.0f), y);
	const float q = __fmul_rn(a, y);
	return __fmaf_rn(__fmaf_rn(-b, q, a), y, q);
}

__device__ inline float agpu_reciprocal_near(float b)
{
	float y = agpu_approximate_reciprocal(b);
	y = __fmaf_rn(y, __fmaf_rn(-b, y, 1.0f), y);
	return __fmaf_rn(__fmaf_rn(-b, y, 1.0f), y, y);
}

// The quotient of any two floats, in f64.
__device__ inline float agpu_div_wide(float a, float b)
{
	const double x = a, z = b;
	double y;
	asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(z));
	const double plain = __dmul_rn(x, y);
	y = __fma_rn(y, __fma_rn(-z, y, 1.0), y);
	y = __fma_rn(y, __fma_rn(-z, y, 1.0), y);
	double q = __dmul_rn(x, y);
	q = __fma_rn(__fma_rn(-z, q, x), y, q);
	const double size = fabs(plain);
	return (float)(size > 0.0 && size < __longlong_as_double(0x7ff0000000000000) ? q : plain);
}

// The root of 0 or of a number of moderate size, to the bit and without a branch.
__device__ inline float agpu_sqrt_near(float a, float least)
{
	const float y = agpu_approx_rsqrt(fmaxf(a, least));
	const float s = __fmul_rn(a, y);
	return __fmaf_rn(__fmaf_rn(-s, s, a), __fmul_rn(y, 0.5f), s);
}

// The value of lane 0; what the lanes wrote to memory is visible to one another.
template <class T> __device__ T agpu_broadcast(T a)
{
	__syncwarp();
	return __shfl_sync(0xffffffff, a, 0);
}

// Leaves the lowest failing element, as the maximum of the complements.
__device__ inline void agpu_record(unsigned long long *record, int64_t at)
{
	const unsigned long long value = ~(unsigned long long)at;
	if (value > *(volatile unsigned long long *)record)
		atomicMax(record, value);
}

// One more arrival at a counter, which is 0 again after the last one.
__device__ inline bool agpu_arrive(unsigned *counter, unsigned total)
{
	unsigned old;
	asm volatile("atom.release.gpu.global.inc.u32 %0, [%1], %2;" : "=r"(old) : "l"(counter), "r"(total - 1) : "memory");
	if (old != total - 1)
		return false;
	asm volatile("fence.acq_rel.gpu;" ::: "memory");
	return true;
}

// Takes the next ticket at a counter.
__device__ inline int agpu_ticket(unsigned *counter)
{
	unsigned old;
	asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], 1;" : "=r"(old) : "l"(counter) : "memory");
	return (int)old;
}

// Publishes a value in words at counters: 4 bytes of it in each word, with a number that says that they are there.
template <class T> __device__ void agpu_publish(unsigned *counters, T value)
{
	unsigned parts[sizeof(T) / 4];
	memcpy(parts, &value, sizeof value);
	for (unsigned i = 0; i < sizeof(T) / 4; ++i) {
		const unsigned long long word = 1ull << 32 | parts[i];
		asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(counters + 2 * i), "l"(word) : "memory");
	}
}

// Waits for a value in words at counters; 0 if it is not given.
template <class T> __device__ T agpu_await(const unsigned *counters, bool given)
{
	T value = 0;
	if (given) {
		unsigned parts[sizeof(T) / 4];
		for (unsigned i = 0; i < sizeof(T) / 4; ++i) {
			unsigned long long word;
			do {
				asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(counters + 2 * i) : "memory");
			} while (word >> 32 == 0);
			parts[i] = (unsigned)word;
		}
		memcpy(&value, parts, sizeof value);
	}
	return value;
}

// Counts at an element of shared memory that the index names, one lane of the warp after the other; the indices of a warp differ in so many low bits.
template <int bits> __device__ inline unsigned agpu_count(unsigned *element, int index)
{
	unsigned peers = 0xffffffff, before;
#pragma unroll
	for (int bit = 0; bit < bits; ++bit) {
		const bool one = index >> bit & 1;
		peers &= __ballot_sync(0xffffffff, one) ^ (one ? 0 : 0xffffffff);
	}
	asm("mov.u32 %0, %%lanemask_lt;" : "=r"(before));
	const unsigned rank = (unsigned)__popc(peers & before);
	__syncwarp();
	const unsigned old = *element;
	__syncwarp();
	if (rank == 0)
		*element = old + (unsigned)__popc(peers);
	return old + rank;
}

__device__ inline void agpu_prefetch(const void *at)
{
	asm volatile("prefetch.global.L2 [%0];" :: "l"(at));
}

__device__ inline unsigned agpu_halves(unsigned low, unsigned high)
{
	return __byte_perm(low, high, 0x5410);
}

__device__ inline unsigned agpu_bytes(unsigned a, unsigned b, unsigned c, unsigned d)
{
	return agpu_halves(__byte_perm(a, b, 0x40), __byte_perm(c, d, 0x40));
}

__device__ inline unsigned agpu_tf32(float a)
{
	unsigned r;
	asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(a));
	return r;
}

// What describes a matrix in shared memory to a product of a warpgroup, with the distance between chunks of 64 columns, in units of 16 bytes.
__device__ inline unsigned long long agpu_matrix(const void *first, unsigned long long of_chunk)
{
	return __cvta_generic_to_shared(first) >> 4 | of_chunk << 16 | 64ull << 32 | 1ull << 62;
}
