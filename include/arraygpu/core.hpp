// Errors, element types, contexts and options of calls. Included by arraygpu.hpp.
#ifndef ARRAYGPU_CORE_HPP
#define ARRAYGPU_CORE_HPP

#include <arraygpu.h>
#include <arraygpu/headers.hpp>

#include <atomic>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace arraygpu {

/// The exception of a failed call: its status, and a message that names function, argument and sizes. It is one type for all headers of a process
/// (arraygpu/headers.hpp), so it stays as it is.
class error : public std::runtime_error {
public:
    error(agpu_status code, const std::string &message) : std::runtime_error(message), code_(code) {}
    explicit error(agpu_status code) : error(code, agpu_status_name(code)) {}

    agpu_status code() const noexcept { return code_; }

private:
    agpu_status code_;
};

inline namespace AGPU_HEADERS(v_) {
namespace detail {
/// False; depends on a template's parameters, so that a static_assert fails only where the template is instantiated.
template <class...> inline constexpr bool never = false;

#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
[[noreturn]] inline void fail(const error &e) { throw e; }
#else
inline error &kept() {
    static thread_local error first(AGPU_OK, "");
    return first;
}
inline void fail(const error &e) {
    if (kept().code() == AGPU_OK) kept() = e;
}
#endif
} // namespace detail

#if !defined(__cpp_exceptions) && !defined(_CPPUNWIND)
/// For programs without exceptions (-fno-exceptions): returns this thread's first error since the last call of this
/// function; its code is AGPU_OK if there was none. A call that failed has changed nothing, and the objects that it
/// returns are empty.
inline error take_error() {
    error taken = detail::kept();
    detail::kept() = error(AGPU_OK, "");
    return taken;
}
#endif

/// Throws the error that a C function reported; without exceptions the error is kept for take_error().
inline void check(agpu_status status) {
    if (status != AGPU_OK) detail::fail(error(status, agpu_last_error_message()));
}

namespace detail {
/// check(), which without exceptions also says whether all is well.
inline bool succeeded(agpu_status status) {
    check(status);
    return status == AGPU_OK;
}
/// The handle of no context: functions of C refuse it, where they take null for the default context.
inline agpu_context *no_context() noexcept { return reinterpret_cast<agpu_context *>(std::uintptr_t(1)); }

inline float float_of(std::uint32_t bits) noexcept {
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}
inline std::uint32_t bits_of(float x) noexcept {
    std::uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}
} // namespace detail

/// An element of type f16 (IEEE 754 binary16), to store numbers in: C++ computes with it as a float. From a float it is rounded to nearest even.
struct half : agpu_half {
    half() = default;
    half(float x) noexcept : agpu_half{rounded(x)} {}
    operator float() const noexcept {
        const std::uint32_t sign = std::uint32_t(bits & 0x8000u) << 16, size = std::uint32_t(bits & 0x7fffu) << 13;
        if (size >= 0x0f800000u) return detail::float_of(sign | (size + 0x70000000u)); // infinity, NaN
        if (size >= 0x00800000u) return detail::float_of(sign | (size + 0x38000000u));
        // a subnormal is a number of steps of 2^-24, and no subnormal float, which the host may flush
        return detail::float_of(sign | detail::bits_of(float(size >> 13) * 0x1p-24f));
    }

private:
    static std::uint16_t rounded(float x) noexcept {
        const std::uint32_t all = detail::bits_of(x), size = all & 0x7fffffffu;
        if (size > 0x7f800000u) return 0x7e00u;
        const std::uint32_t sign = all >> 16 & 0x8000u;
        if (size >= 0x47800000u) return std::uint16_t(sign | 0x7c00u);
        if (size < 0x38800000u) { // a subnormal: a number of steps of 2^-24, rounded by integers, so that no mode of the host matters
            const std::uint32_t steps = (size & 0x7fffffu) | 0x800000u, shift = 126u - (size >> 23);
            if (shift > 24u) return std::uint16_t(sign);
            return std::uint16_t(sign | ((steps + (1u << (shift - 1u)) - 1u + (steps >> shift & 1u)) >> shift));
        }
        return std::uint16_t(sign | ((size - 0x38000000u + 0xfffu + (size >> 13 & 1u)) >> 13));
    }
};

/// An element of type bf16 (the high half of a float), to store numbers in: C++ computes with it as a float. From a float it is rounded to nearest even.
struct bfloat16 : agpu_bfloat16 {
    bfloat16() = default;
    bfloat16(float x) noexcept : agpu_bfloat16{rounded(x)} {}
    operator float() const noexcept { return detail::float_of(std::uint32_t(bits) << 16); }

private:
    static std::uint16_t rounded(float x) noexcept {
        const std::uint32_t all = detail::bits_of(x);
        return std::uint16_t(x != x ? 0x7fc0u : (all + 0x7fffu + (all >> 16 & 1u)) >> 16);
    }
};
static_assert(sizeof(half) == 2 && sizeof(bfloat16) == 2, "halves are two bytes");
static_assert(std::is_trivially_copyable_v<half> && std::is_trivially_copyable_v<bfloat16>, "halves are copied as bytes");

template <class T> class gpu_vector;
template <class T> class gpu_vector_view;
template <class T> class gpu_matrix;
template <class T> class gpu_matrix_view;
template <class T> class gpu_tensor3;
template <class T> class gpu_tensor3_view;
/// An expression that is not computed yet (arraygpu/expr.hpp): a scalar (Rank 0), a vector (1), a matrix (2) or an array of three
/// dimensions (3).
template <class T, int Rank = 0, class = void> class expr;
/// A view that is computed when it is needed (arraygpu/views.hpp).
template <class Part> class range;

namespace detail {

/// Maps an element type to its number in the C interface.
template <class T> struct type_of {
    static constexpr bool known = false;
};
template <agpu_type Number> struct known_type {
    static constexpr bool known = true;
    static constexpr agpu_type value = Number;
};
template <> struct type_of<float> : known_type<AGPU_F32> {};
template <> struct type_of<double> : known_type<AGPU_F64> {};
template <> struct type_of<std::int32_t> : known_type<AGPU_I32> {};
template <> struct type_of<std::int64_t> : known_type<AGPU_I64> {};
template <> struct type_of<std::uint32_t> : known_type<AGPU_U32> {};
template <> struct type_of<std::uint64_t> : known_type<AGPU_U64> {};
template <> struct type_of<std::int8_t> : known_type<AGPU_I8> {};
template <> struct type_of<std::int16_t> : known_type<AGPU_I16> {};
template <> struct type_of<std::uint16_t> : known_type<AGPU_U16> {};
template <> struct type_of<std::uint8_t> : known_type<AGPU_U8> {};
template <> struct type_of<half> : known_type<AGPU_F16> {};
template <> struct type_of<bfloat16> : known_type<AGPU_BF16> {};
template <> struct type_of<bool> : known_type<AGPU_BOOL> {};
static_assert(sizeof(bool) == 1, "a bool is one byte");

/// An element that is a struct of a package, or a complex number: its vectors are buffers of bytes.
template <class T> struct record_type : known_type<AGPU_U8> {
    static_assert(std::is_trivially_copyable_v<T> && std::is_standard_layout_v<T>, "a struct of plain values");
    using record = T;
};
template <> struct type_of<std::complex<float>> : record_type<std::complex<float>> {};
template <> struct type_of<std::complex<double>> : record_type<std::complex<double>> {};
template <class T, class = void> struct is_record : std::false_type {};
template <class T> struct is_record<T, std::void_t<typename type_of<T>::record>> : std::true_type {};
/// The elements of a buffer that one element of T takes.
template <class T> inline constexpr std::int64_t places = is_record<T>::value ? std::int64_t(sizeof(T)) : 1;
/// The value of another type with the same bits.
template <class To, class From> To same_bits(const From &from) {
    static_assert(sizeof(To) == sizeof(From), "the same size");
    To to;
    std::memcpy(&to, &from, sizeof(to));
    return to;
}

/// A view from the beginning of a buffer of T: extents and strides, outermost axis first.
template <class T, std::size_t Rank>
agpu_view view_of(agpu_buffer *buffer, const std::int64_t (&extents)[Rank], const std::int64_t (&strides)[Rank]) noexcept {
    agpu_view view{};
    view.buffer = buffer;
    view.element.kind = type_of<T>::value;
    view.element.size = std::int32_t(sizeof(T));
    view.rank = std::int32_t(Rank);
    for (std::size_t axis = 0; axis < Rank; ++axis) {
        view.extent[axis] = extents[axis];
        view.stride[axis] = strides[axis];
    }
    return view;
}

/// A pointer to elements of T. One to elements of a class derived from T does not become it, because they lie further
/// apart.
template <class T> class pointer_to {
public:
    template <class U, class = std::enable_if_t<std::is_convertible_v<U (*)[], T (*)[]>>> pointer_to(U *elements) noexcept : elements_(elements) {}
    pointer_to(std::nullptr_t) noexcept {}
    operator T *() const noexcept { return elements_; }

private:
    T *elements_ = nullptr;
};

template <class C, class T, class = void> struct has_data : std::false_type {};
template <class C, class T>
struct has_data<C, T, std::void_t<decltype(std::declval<const C &>().data()), decltype(std::declval<const C &>().size())>>
    : std::is_convertible<decltype(std::declval<const C &>().data()), pointer_to<const T>> {};
/// C is a container whose elements lie side by side: std::vector, std::array, std::span, ... Not one of bits: some compilers cannot even ask it for data().
template <class C, class T> struct is_contiguous_of : has_data<C, T> {};
template <class A, class T> struct is_contiguous_of<std::vector<bool, A>, T> : std::false_type {};
template <class T> struct is_ours : std::false_type {};
template <class T> struct is_ours<gpu_vector<T>> : std::true_type {};
template <class T> struct is_ours<gpu_vector_view<T>> : std::true_type {};
template <class T> struct is_ours<gpu_matrix<T>> : std::true_type {};
template <class T> struct is_ours<gpu_matrix_view<T>> : std::true_type {};
template <class T> struct is_ours<gpu_tensor3<T>> : std::true_type {};
template <class T> struct is_ours<gpu_tensor3_view<T>> : std::true_type {};

template <class It, class = void> struct is_iterator : std::false_type {};
template <class It>
struct is_iterator<It, std::void_t<typename std::iterator_traits<It>::iterator_category>> : std::true_type {};

/// `other` is what the host has: the source, or the destination.
inline bool same_length(const char *what, const char *other, std::int64_t here, std::size_t there) {
    if (here >= 0 && std::uint64_t(here) == there) return true;
    detail::fail(error(AGPU_ERROR_SHAPE, std::string(what) + ": the vector has the length " + std::to_string(here) + ", the " + other + " " + std::to_string(there)));
    return false;
}

} // namespace detail

/// The number of GPUs.
inline int device_count() {
    std::int32_t n = 0;
    check(agpu_device_count(&n));
    return n;
}
/// Returns the reason why no GPU can be used; empty if one can.
inline std::string device_problem() {
    const char *message = nullptr;
    check(agpu_device_problem(&message));
    return message;
}

/// Returns the problem of the cache of compiled code on disk; empty if none was found so far. No call fails because of it.
inline std::string cache_problem() {
    const char *message = nullptr;
    check(agpu_cache_problem(&message));
    return message;
}

/// Loads a file that `arraygpu-tune` made: calls of its package on its device run the variants of kernels that were measured to be the fastest, with the same bits.
inline void load_tuning(const std::string &file) { check(agpu_tuning_load(file.c_str())); }

/// Returns why a tuning file is ignored, such as one of another device; empty if none is. No call fails because of it.
inline std::string tuning_problem() {
    const char *message = nullptr;
    check(agpu_tuning_problem(&message));
    return message;
}

/// Whether programs that first run on the CPU from now on are compiled by the system's C compiler, in another process; else they are interpreted, with the same bits.
inline void allow_cpu_compiler(bool allowed) { check(agpu_allow_cpu_compiler(allowed)); }

/// A flag that one thread raises to cancel the calls of another thread (cancel_scope).
class cancel_flag {
public:
    void raise() noexcept { value_.store(1, std::memory_order_release); }
    void lower() noexcept { value_.store(0, std::memory_order_release); }
    bool is_raised() const noexcept { return value_.load(std::memory_order_acquire) != 0; }

private:
    friend class cancel_scope;
    std::atomic<std::int32_t> value_{0};
    static_assert(sizeof(std::atomic<std::int32_t>) == sizeof(std::int32_t), "the library reads the flag as an int32_t");
};

/// Until the scope ends, the calls of this thread throw an error of AGPU_ERROR_CANCELLED soon after the flag is raised;
/// code that they compiled is dropped, and their outputs hold unspecified elements. The flag must outlive the scope.
/// \code
/// arraygpu::cancel_flag stop;            // stop.raise() in another thread, when the user presses a key
/// arraygpu::cancel_scope scope(stop);
/// stats::rmse(x, y, result);
/// \endcode
class cancel_scope {
public:
    explicit cancel_scope(const cancel_flag &flag) {
        check(agpu_set_cancel_flag(reinterpret_cast<const std::int32_t *>(&flag.value_), &previous_));
    }
    ~cancel_scope() { agpu_set_cancel_flag(previous_, nullptr); }
    cancel_scope(const cancel_scope &) = delete;
    cancel_scope &operator=(const cancel_scope &) = delete;

private:
    const std::int32_t *previous_ = nullptr;
};

/// Memory of a context's device, the CPU's if that is the device, in bytes: now, and the most that it ever was.
struct memory_usage {
    std::int64_t in_use;
    std::int64_t peak;
};

/// A device, with its memory, and on the CPU the threads that compute. Most programs need none: the process has a default one.
class context {
public:
    /// @param threads 0: the environment variable ARRAYGPU_THREADS, else all; results never depend on it
    /// @param device AGPU_DEVICE_DEFAULT, AGPU_DEVICE_CPU, AGPU_DEVICE_CUDA + the GPU's number
    explicit context(int threads = 0, int device = AGPU_DEVICE_DEFAULT) {
        agpu_context_options options{};
        options.size = sizeof options;
        options.device = device;
        options.threads = threads;
        check(agpu_context_create(&options, &handle_));
    }
    /// With all options of the C interface: a limit of memory, an allocator, a function that runs tasks. `size` is
    /// set here.
    explicit context(agpu_context_options options) {
        options.size = sizeof options;
        check(agpu_context_create(&options, &handle_));
    }
    /// The CPU.
    static context cpu(int threads = 0) { return context(threads, AGPU_DEVICE_CPU); }
    /// A GPU, counted from 0.
    static context cuda(int number = 0) {
        if (number < 0 || number > 1 << 20) {
            detail::fail(error(AGPU_ERROR_UNAVAILABLE, "there is no CUDA device " + std::to_string(number)));
            number = 1 << 20;
        }
        return context(0, AGPU_DEVICE_CUDA + number);
    }
    context(context &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    context &operator=(context &&other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    /// Vectors may outlive their context: they are read, written and freed then, but not cloned, and make no new vectors.
    ~context() { static_cast<void>(agpu_context_free(handle_)); }

    int threads() const {
        std::int32_t n = 0;
        check(agpu_context_threads(handle_, &n));
        return n;
    }
    /// AGPU_DEVICE_CPU, or AGPU_DEVICE_CUDA plus the GPU's number.
    int device() const {
        std::int32_t n = 0;
        check(agpu_context_device(handle_, &n));
        return n;
    }
    std::string device_name() const {
        const char *name = nullptr;
        check(agpu_context_device_name(handle_, &name));
        return name;
    }
    /// Waits for all calls and copies of this context, on any stream.
    void synchronize() const { check(agpu_context_synchronize(handle_)); }
    /// The context's own stream, a CUstream (or cudaStream_t); null on the CPU.
    void *stream() const {
        void *stream = nullptr;
        check(agpu_context_stream(handle_, &stream));
        return stream;
    }
    /// How many kernels were launched here so far, by packages and programs.
    std::int64_t launches() const {
        std::int64_t n = 0;
        check(agpu_context_launches(handle_, &n));
        return n;
    }
    /// Limits the device memory of this context to `bytes`.
    void set_memory_limit(std::int64_t bytes) const { check(agpu_context_set_memory_limit(handle_, bytes)); }
    memory_usage memory() const {
        memory_usage usage{};
        check(agpu_context_memory(handle_, &usage.in_use, &usage.peak));
        return usage;
    }
    agpu_context *c_context() const noexcept { return handle_; }

private:
    agpu_context *handle_ = nullptr;
};

/// Where a vector is made: in a context, or (left out) in the default one.
class context_ref {
public:
    context_ref() noexcept = default;
    context_ref(const context &c) : handle_(c.c_context()) {
        if (handle_) return;
        detail::fail(error(AGPU_ERROR_INVALID_HANDLE, "the context was moved from"));
        handle_ = detail::no_context(); // without exceptions
    }
    /// The context of a buffer.
    static context_ref of_buffer(agpu_buffer *buffer) {
        context_ref there;
        if (!detail::succeeded(agpu_buffer_context(buffer, &there.handle_))) there.handle_ = detail::no_context();
        return there;
    }
    agpu_context *c_context() const noexcept { return handle_; }

private:
    agpu_context *handle_ = nullptr;
};

/// Waits for all calls and copies of a context, on any stream; left out: of the default one.
inline void synchronize(context_ref where = {}) {
    agpu_context *context = where.c_context();
    if (!context) check(agpu_context_default(&context));
    check(agpu_context_synchronize(context));
}

/// Where and how a call runs: a context, and on a GPU a stream (a CUstream or cudaStream_t of the same device; null: the context's own). Left out: in the context of its first vector.
class call_options {
public:
    call_options() noexcept = default;
    call_options(context_ref where, void *stream = nullptr) noexcept : call_options() {
        call_.context = where.c_context();
        call_.stream = stream;
    }
    call_options(const context &where) : call_options(context_ref(where)) {}

    /// Puts the call's temporaries into this memory on its device, at a multiple of 256 bytes, which nothing else may
    /// use until the call is done: then the call allocates nothing but new results. Too few bytes: an error of status
    /// AGPU_ERROR_OUT_OF_MEMORY, before anything runs.
    call_options &workspace(void *memory, std::size_t bytes) noexcept {
        call_.workspace = memory;
        call_.workspace_bytes = std::int64_t(bytes);
        call_.workspace_needed = nullptr;
        return *this;
    }
    /// The call runs nothing: it only says how many bytes of workspace one with these arguments takes.
    call_options &ask_workspace(std::int64_t &bytes) noexcept {
        call_.workspace_needed = &bytes;
        return *this;
    }
    const agpu_call *c_call() const noexcept { return &call_; }

private:
    agpu_call call_{sizeof(agpu_call), nullptr, nullptr, nullptr, 0, nullptr};
};

} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_CORE_HPP
