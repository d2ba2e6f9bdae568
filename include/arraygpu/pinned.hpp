// Pinned host memory. Included by arraygpu.hpp.
#ifndef ARRAYGPU_PINNED_HPP
#define ARRAYGPU_PINNED_HPP

#include <arraygpu/core.hpp>

#include <limits>
#include <new>
#include <vector>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {

/// Host memory that a GPU copies from and to at full speed, and asynchronously.
template <class T> class pinned_allocator {
public:
    using value_type = T;

    pinned_allocator() noexcept = default;
    explicit pinned_allocator(context_ref where) noexcept : context_(where.c_context()) {}
    template <class U> pinned_allocator(const pinned_allocator<U> &other) noexcept : context_(other.c_context()) {}

    T *allocate(std::size_t count) {
        void *memory = nullptr;
        if (count > std::size_t(std::numeric_limits<std::int64_t>::max()) / sizeof(T)) return ::new T[count]; // which fails as new does
        check(agpu_host_alloc(context_, std::int64_t(count * sizeof(T)), &memory));
        // without exceptions the error is kept, and the elements stand in ordinary memory
        return static_cast<T *>(memory ? memory : ::operator new(count * sizeof(T), alignment));
    }
    void deallocate(T *memory, std::size_t) noexcept {
        if (agpu_host_free(memory) == AGPU_ERROR_INVALID_ARGUMENT) ::operator delete(memory, alignment);
    }
    agpu_context *c_context() const noexcept { return context_; }

    template <class U> friend bool operator==(const pinned_allocator &, const pinned_allocator<U> &) noexcept { return true; }
    template <class U> friend bool operator!=(const pinned_allocator &, const pinned_allocator<U> &) noexcept { return false; }

private:
    static constexpr std::align_val_t alignment{64};
    agpu_context *context_ = nullptr;
};

/// A std::vector in pinned memory: `pinned_vector<float> host(n)`, or `host(n, 0, pinned_allocator<float>(context))`.
template <class T> using pinned_vector = std::vector<T, pinned_allocator<T>>;

} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_PINNED_HPP
