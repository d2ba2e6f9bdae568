// Programs that the library has compiled. Included by arraygpu/expr.hpp.
#ifndef ARRAYGPU_EXPR_PROGRAM_HPP
#define ARRAYGPU_EXPR_PROGRAM_HPP

#include <arraygpu/core.hpp>

#include <utility>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {
namespace detail {

/// A compiled program.
class program {
public:
    program() = default;
    program(program &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    program &operator=(program &&other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~program() { static_cast<void>(agpu_program_free(handle_)); }
    agpu_program *get() const noexcept { return handle_; }
    agpu_program **receive() noexcept { return &handle_; }

private:
    agpu_program *handle_ = nullptr;
};

} // namespace detail
} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_EXPR_PROGRAM_HPP
