// Shared ownership of buffers. Included by arraygpu.hpp.
#ifndef ARRAYGPU_OWNER_HPP
#define ARRAYGPU_OWNER_HPP

#include <arraygpu/core.hpp>

#include <atomic>
#include <new>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {
namespace detail {

/// A share of a buffer. An array has one, and so has every expression that reads the array, which therefore can be computed after the array's end.
class buffer_owner {
public:
    /// The first share. The buffer is freed with the last one, or at once if there is no memory to count them.
    explicit buffer_owner(agpu_buffer *buffer) : block_(new (std::nothrow) block{{1}, buffer}) {
        if (block_) return;
        static_cast<void>(agpu_buffer_free(buffer));
        detail::fail(error(AGPU_ERROR_OUT_OF_MEMORY, "no memory for the handle of an array"));
    }
    buffer_owner(buffer_owner &&other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
    buffer_owner &operator=(buffer_owner &&other) noexcept {
        std::swap(block_, other.block_);
        return *this;
    }
    ~buffer_owner() { drop(block_); }

    agpu_buffer *buffer() const noexcept { return block_ ? block_->buffer : nullptr; }
    /// Where a C function stores a new buffer, before there are other shares; null, which it refuses, if there was no memory
    /// for the first share.
    agpu_buffer **receive() noexcept { return block_ ? &block_->buffer : nullptr; }
    /// Gives the buffer away: no share frees it any more.
    agpu_buffer *release() noexcept { return block_ ? std::exchange(block_->buffer, nullptr) : nullptr; }

    struct block {
        std::atomic<std::int64_t> shares;
        agpu_buffer *buffer;
    };
    /// Another share, given back with drop(); null if the array was moved from.
    block *share() const noexcept {
        if (block_) block_->shares.fetch_add(1, std::memory_order_relaxed);
        return block_;
    }
    static void drop(block *b) noexcept {
        if (!b || b->shares.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
        static_cast<void>(agpu_buffer_free(b->buffer));
        delete b;
    }

private:
    block *block_;
};

} // namespace detail
} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_OWNER_HPP
