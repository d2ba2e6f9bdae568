// arraygpu for C++17: owning vectors, views and errors over the C interface in arraygpu.h. Header only.
//
//   arraygpu::gpu_vector<float> x(host);                        // copies a std::vector
//   auto middle = arraygpu::view(x, 1, 9);                      // elements 1 .. 8, not copied
//   std::vector<float> y = stats::smooth(middle).to_host();     // a package's function
//
// Vectors live in the memory of a device: a GPU if there is one, else the CPU; the environment variable ARRAYGPU_DEVICE, or a context, chooses.
// On a GPU a call returns when its work is queued, and what brings values to the host waits for it.
//
// What goes wrong is thrown as arraygpu::error. No destructor throws. Objects may be used from any thread, one vector by one
// thread at a time if it is written.
#ifndef ARRAYGPU_HPP
#define ARRAYGPU_HPP

#include <arraygpu.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace arraygpu {

/// What a failed call throws: its status, and a message that names function, argument and sizes.
class error : public std::runtime_error {
public:
    error(agpu_status code, const std::string &message) : std::runtime_error(message), code_(code) {}
    explicit error(agpu_status code) : error(code, agpu_status_name(code)) {}

    agpu_status code() const noexcept { return code_; }

private:
    agpu_status code_;
};

/// Throws what a C function reported.
inline void check(agpu_status status) {
    if (status != AGPU_OK) throw error(status, agpu_last_error_message());
}

namespace detail {
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
        return detail::float_of(sign | detail::bits_of(detail::float_of(size) * 0x1p112f));
    }

private:
    static std::uint16_t rounded(float x) noexcept {
        const std::uint32_t all = detail::bits_of(x), size = all & 0x7fffffffu;
        if (size > 0x7f800000u) return 0x7e00u;
        const std::uint32_t sign = all >> 16 & 0x8000u;
        if (size >= 0x47800000u) return std::uint16_t(sign | 0x7c00u);
        if (size < 0x38800000u) // a subnormal: the addition rounds to steps of 2^-24
            return std::uint16_t(sign | (detail::bits_of(detail::float_of(size) + 0.5f) - 0x3f000000u));
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

namespace detail {

/// The element types: their number in the C interface.
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

/// C is a container whose elements lie side by side: std::vector, std::array, std::span, ...
template <class C, class T, class = void> struct is_contiguous_of : std::false_type {};
template <class C, class T>
struct is_contiguous_of<C, T,
                        std::void_t<decltype(std::declval<const C &>().data()), decltype(std::declval<const C &>().size())>>
    : std::is_convertible<decltype(std::declval<const C &>().data()), const T *> {};
template <class T> struct is_ours : std::false_type {};
template <class T> struct is_ours<gpu_vector<T>> : std::true_type {};
template <class T> struct is_ours<gpu_vector_view<T>> : std::true_type {};

template <class It, class = void> struct is_iterator : std::false_type {};
template <class It>
struct is_iterator<It, std::void_t<typename std::iterator_traits<It>::iterator_category>> : std::true_type {};

inline void same_length(const char *what, std::int64_t here, std::size_t there) {
    if (here < 0 || std::uint64_t(here) != there) {
        throw error(AGPU_ERROR_SHAPE, std::string(what) + ": the vector has the length " + std::to_string(here) + ", the source " +
                                          std::to_string(there));
    }
}

} // namespace detail

/// The number of GPUs.
inline int device_count() {
    std::int32_t n = 0;
    check(agpu_device_count(&n));
    return n;
}
/// Why no GPU can be used; empty if one can.
inline std::string device_problem() {
    const char *message = nullptr;
    check(agpu_device_problem(&message));
    return message;
}

/// Device memory of a context, in bytes; zeros on the CPU.
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
        const agpu_context_options options{sizeof options, device, threads};
        check(agpu_context_create(&options, &handle_));
    }
    /// The CPU.
    static context cpu(int threads = 0) { return context(threads, AGPU_DEVICE_CPU); }
    /// A GPU, counted from 0.
    static context cuda(int number = 0) {
        if (number < 0 || number > 1 << 20) throw error(AGPU_ERROR_UNAVAILABLE, "there is no CUDA device " + std::to_string(number));
        return context(0, AGPU_DEVICE_CUDA + number);
    }
    context(context &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    context &operator=(context &&other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    /// Vectors may outlive their context.
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
    /// At most so many bytes of device memory.
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
        if (!handle_) throw error(AGPU_ERROR_INVALID_HANDLE, "the context was moved from");
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
    call_options(context_ref where, void *stream = nullptr) noexcept : call_{sizeof(agpu_call), where.c_context(), stream} {}
    call_options(const context &where) : call_options(context_ref(where)) {}
    const agpu_call *c_call() const noexcept { return &call_; }

private:
    agpu_call call_{sizeof(agpu_call), nullptr, nullptr};
};

/// A part of a gpu_vector, not owned: cheap to copy, valid as long as the vector. `gpu_vector_view<const T>` cannot be written.
/// Every gpu_vector is implicitly a view of all its elements.
template <class T> class gpu_vector_view {
public:
    using value_type = std::remove_const_t<T>;
    static_assert(detail::type_of<value_type>::known, "elements are float, double, half, bfloat16, int8_t .. int64_t, uint8_t .. uint64_t or bool");

    /// A view from C; it is checked when it is used.
    explicit gpu_vector_view(const agpu_view &view) noexcept : view_(view) {}
    gpu_vector_view(std::conditional_t<std::is_const_v<T>, const gpu_vector<value_type>, gpu_vector<value_type>> &vector)
        : view_(vector.c_view()) {}
    template <class U, class = std::enable_if_t<std::is_const_v<T> && std::is_same_v<U, value_type>>>
    gpu_vector_view(gpu_vector_view<U> writable) noexcept : view_(writable.c_view()) {}

    std::size_t size() const noexcept { return std::size_t(view_.extent[0]); }
    bool empty() const noexcept { return view_.extent[0] == 0; }
    std::int64_t stride() const noexcept { return view_.stride[0]; }
    const agpu_view &c_view() const noexcept { return view_; }

    /// The elements.
    std::vector<value_type> to_host() const {
        if (view_.extent[0] < 0) throw error(AGPU_ERROR_OUT_OF_BOUNDS, "a view of " + std::to_string(view_.extent[0]) + " elements");
        if constexpr (std::is_same_v<value_type, bool>) {
            const std::unique_ptr<bool[]> bytes(new bool[size()]);
            copy_to(bytes.get(), size());
            return std::vector<bool>(bytes.get(), bytes.get() + size());
        } else {
            std::vector<value_type> host(size());
            copy_to(host.data(), host.size());
            return host;
        }
    }
    /// The elements, into memory for `count` of them; `count` is the view's size.
    void copy_to(value_type *host, std::size_t count) const {
        detail::same_length("copy_to", view_.extent[0], count);
        check(agpu_copy_to_host(host, view_, view_.extent[0]));
    }

    /// The same on a GPU's stream: to pinned memory it returns at once, and the memory is filled when the stream is there.
    void copy_to_async(value_type *host, std::size_t count, const call_options &options = {}) const {
        detail::same_length("copy_to_async", view_.extent[0], count);
        check(agpu_copy_to_host_async(host, view_, view_.extent[0], options.c_call()));
    }

    /// Writes all elements from host memory; `count` is the view's size.
    void copy_from(const value_type *host, std::size_t count) const {
        writable();
        detail::same_length("copy_from", view_.extent[0], count);
        check(agpu_copy_from_host(view_, host, view_.extent[0]));
    }
    /// The same on a GPU's stream: from pinned memory it returns at once, and the memory must stay as it is until the stream is there.
    void copy_from_async(const value_type *host, std::size_t count, const call_options &options = {}) const {
        writable();
        detail::same_length("copy_from_async", view_.extent[0], count);
        check(agpu_copy_from_host_async(view_, host, view_.extent[0], options.c_call()));
    }
    /// Writes all elements from a std::vector, std::array, std::span, ... of the same size.
    template <class C, class = std::enable_if_t<detail::is_contiguous_of<C, value_type>::value && !detail::is_ours<C>::value>>
    void copy_from(const C &host) const {
        copy_from(host.data(), host.size());
    }
    template <class V = value_type, class = std::enable_if_t<std::is_same_v<V, bool>>>
    void copy_from(const std::vector<bool> &host) const {
        const std::unique_ptr<bool[]> bytes(new bool[host.size()]);
        for (std::size_t i = 0; i < host.size(); ++i) bytes[i] = host[i];
        copy_from(bytes.get(), host.size());
    }
    /// Writes all elements from a vector or view of the same size, which may overlap this one.
    void copy_from(gpu_vector_view<const value_type> source) const {
        writable();
        check(agpu_copy(view_, source.c_view()));
    }
    /// Sets every element.
    void fill(value_type value) const {
        writable();
        check(agpu_fill(view_, &value));
    }

private:
    static constexpr void writable() { static_assert(!std::is_const_v<T>, "this view is not writable"); }

    agpu_view view_;
};

/// A vector in the memory of a device, owned: moved, never copied by accident (see clone). Elements are not read one by one:
/// to_host() brings all. A vector that was moved from is empty and can only be destroyed or assigned to.
template <class T> class gpu_vector {
    static_assert(detail::type_of<T>::known, "elements are float, double, half, bfloat16, int8_t .. int64_t, uint8_t .. uint64_t or bool");

public:
    using value_type = T;

    /// Empty.
    gpu_vector() : gpu_vector(std::size_t(0)) {}
    /// So many zeros.
    explicit gpu_vector(std::size_t size, context_ref where = {}) : size_(size) {
        if (size > std::size_t(INT64_MAX)) throw error(AGPU_ERROR_INVALID_ARGUMENT, "a vector cannot have " + std::to_string(size) + " elements");
        check(agpu_buffer_create(where.c_context(), detail::type_of<T>::value, std::int64_t(size), &buffer_));
    }
    /// A copy of a std::vector, std::array, std::span, ...
    template <class C, class = std::enable_if_t<detail::is_contiguous_of<C, T>::value && !detail::is_ours<C>::value>>
    explicit gpu_vector(const C &host, context_ref where = {}) : gpu_vector(host.size(), where) {
        copy_from(host);
    }
    template <class V = T, class = std::enable_if_t<std::is_same_v<V, bool>>>
    explicit gpu_vector(const std::vector<bool> &host, context_ref where = {}) : gpu_vector(host.size(), where) {
        copy_from(host);
    }
    gpu_vector(std::initializer_list<T> host, context_ref where = {}) : gpu_vector(host.size(), where) {
        view().copy_from(host.begin(), host.size());
    }
    /// A copy of the elements from first up to last.
    template <class It, class = std::enable_if_t<detail::is_iterator<It>::value>>
    gpu_vector(It first, It last, context_ref where = {}) : gpu_vector(std::vector<T>(first, last), where) {}
    /// A copy of a view.
    explicit gpu_vector(gpu_vector_view<const T> source, context_ref where = {}) : gpu_vector(source.size(), where) {
        copy_from(source);
    }

    /// Takes over a buffer made in C.
    static gpu_vector adopt(agpu_buffer *buffer) {
        gpu_vector vector(buffer, adopted{});
        agpu_type type{};
        std::int64_t count = 0;
        check(agpu_buffer_type(buffer, &type));
        if (type != detail::type_of<T>::value) throw error(AGPU_ERROR_TYPE_MISMATCH, "adopt: the buffer has another element type");
        check(agpu_buffer_count(buffer, &count));
        vector.size_ = std::size_t(count);
        return vector;
    }
    /// A vector over memory of the caller, which must stay valid as long as the vector; for a GPU's context, memory of that GPU, managed, or
    /// pinned.
    static gpu_vector wrap(T *data, std::size_t size, context_ref where = {}) {
        agpu_buffer *buffer = nullptr;
        check(agpu_buffer_wrap(where.c_context(), detail::type_of<T>::value, data, std::int64_t(size), &buffer));
        return adopt(buffer);
    }

    gpu_vector(gpu_vector &&other) noexcept
        : buffer_(std::exchange(other.buffer_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    gpu_vector &operator=(gpu_vector &&other) noexcept {
        gpu_vector moved(std::move(other));
        swap(moved);
        return *this;
    }
    gpu_vector(const gpu_vector &) = delete;
    gpu_vector &operator=(const gpu_vector &) = delete;
    ~gpu_vector() { static_cast<void>(agpu_buffer_free(buffer_)); }

    void swap(gpu_vector &other) noexcept {
        std::swap(buffer_, other.buffer_);
        std::swap(size_, other.size_);
    }
    friend void swap(gpu_vector &a, gpu_vector &b) noexcept { a.swap(b); }

    /// A copy in the same context.
    gpu_vector clone() const {
        agpu_context *where = nullptr;
        check(agpu_buffer_context(buffer_, &where));
        agpu_buffer *buffer = nullptr;
        check(agpu_buffer_create(where, detail::type_of<T>::value, std::int64_t(size_), &buffer));
        gpu_vector copy = adopt(buffer);
        copy.copy_from(*this);
        return copy;
    }
    /// Gives the buffer away; the caller frees it.
    agpu_buffer *release() noexcept {
        size_ = 0;
        return std::exchange(buffer_, nullptr);
    }

    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    /// The device address of element 0; null when empty. On the CPU it can be read and written; on a GPU by what comes after the calls
    /// on this vector, on their stream or after a wait.
    T *data() { return static_cast<T *>(address()); }
    const T *data() const { return static_cast<const T *>(address()); }
    agpu_buffer *c_buffer() const noexcept { return buffer_; }
    agpu_view c_view() const noexcept { return {buffer_, 0, 1, {std::int64_t(size_), 1, 1}, {1, 1, 1}}; }

    gpu_vector_view<T> view() { return *this; }
    gpu_vector_view<const T> view() const { return *this; }
    std::vector<T> to_host() const { return view().to_host(); }
    void copy_to(T *host, std::size_t count) const { view().copy_to(host, count); }
    void copy_from(const T *host, std::size_t count) { view().copy_from(host, count); }
    void copy_to_async(T *host, std::size_t count, const call_options &options = {}) const { view().copy_to_async(host, count, options); }
    void copy_from_async(const T *host, std::size_t count, const call_options &options = {}) { view().copy_from_async(host, count, options); }
    /// Writes all elements from a container, vector or view of the same size.
    template <class C> void copy_from(const C &source) { view().copy_from(source); }
    void fill(T value) { view().fill(value); }

private:
    struct adopted {};
    gpu_vector(agpu_buffer *buffer, adopted) noexcept : buffer_(buffer) {}

    void *address() const {
        void *data = nullptr;
        check(agpu_buffer_data(buffer_, &data));
        return data;
    }

    agpu_buffer *buffer_ = nullptr;
    std::size_t size_ = 0;
};

/// One element in the memory of a device: a scalar result that need not come to the host, and a view for calls that read it. Move only.
template <class T> class gpu_scalar {
public:
    using value_type = T;

    /// Zero.
    explicit gpu_scalar(context_ref where = {}) : element_(1, where) {}
    explicit gpu_scalar(T value, context_ref where = {}) : element_(1, where) { set(value); }

    /// The value; waits for the calls that write it.
    T get() const {
        T value{};
        element_.copy_to(&value, 1);
        return value;
    }
    void set(T value) { element_.fill(value); }

    gpu_vector_view<T> view() { return element_; }
    gpu_vector_view<const T> view() const { return element_; }
    operator gpu_vector_view<T>() { return element_; }
    operator gpu_vector_view<const T>() const { return element_; }
    T *data() { return element_.data(); }
    const T *data() const { return element_.data(); }
    agpu_buffer *c_buffer() const noexcept { return element_.c_buffer(); }
    agpu_view c_view() const noexcept { return element_.c_view(); }

private:
    gpu_vector<T> element_;
};

/// Host memory that a GPU copies from and to at full speed, and asynchronously.
template <class T> class pinned_allocator {
public:
    using value_type = T;

    pinned_allocator() noexcept = default;
    explicit pinned_allocator(context_ref where) noexcept : context_(where.c_context()) {}
    template <class U> pinned_allocator(const pinned_allocator<U> &other) noexcept : context_(other.c_context()) {}

    T *allocate(std::size_t count) {
        void *memory = nullptr;
        if (count > std::size_t(std::numeric_limits<std::int64_t>::max()) / sizeof(T)) throw std::bad_alloc();
        check(agpu_host_alloc(context_, std::int64_t(count * sizeof(T)), &memory));
        return static_cast<T *>(memory);
    }
    void deallocate(T *memory, std::size_t) noexcept { static_cast<void>(agpu_host_free(memory)); }
    agpu_context *c_context() const noexcept { return context_; }

    template <class U> friend bool operator==(const pinned_allocator &, const pinned_allocator<U> &) noexcept { return true; }
    template <class U> friend bool operator!=(const pinned_allocator &, const pinned_allocator<U> &) noexcept { return false; }

private:
    agpu_context *context_ = nullptr;
};

/// A std::vector in pinned memory: `pinned_vector<float> host(n)`, or `host(n, 0, pinned_allocator<float>(context))`.
template <class T> using pinned_vector = std::vector<T, pinned_allocator<T>>;

/// The elements start, start + stride, ... below stop; 0 <= start <= stop <= size, stride >= 1.
template <class T>
gpu_vector_view<T> view(gpu_vector_view<T> v, std::int64_t start, std::int64_t stop, std::int64_t stride = 1) {
    agpu_view slice{};
    check(agpu_view_slice(v.c_view(), 0, start, stop, stride, &slice));
    return gpu_vector_view<T>(slice);
}
template <class T>
gpu_vector_view<T> view(gpu_vector<T> &v, std::int64_t start, std::int64_t stop, std::int64_t stride = 1) {
    return arraygpu::view(v.view(), start, stop, stride);
}
template <class T>
gpu_vector_view<const T> view(const gpu_vector<T> &v, std::int64_t start, std::int64_t stop, std::int64_t stride = 1) {
    return arraygpu::view(v.view(), start, stop, stride);
}
/// A view of a vector that is about to go would dangle.
template <class T>
gpu_vector_view<T> view(gpu_vector<T> &&v, std::int64_t start, std::int64_t stop, std::int64_t stride = 1) = delete;

} // namespace arraygpu

#endif // ARRAYGPU_HPP
