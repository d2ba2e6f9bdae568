// Calls of a package's function that fit none of its overloads: one line that says what to do, in place of a list of
// candidates.
#ifndef ARRAYGPU_MISUSE_HPP
#define ARRAYGPU_MISUSE_HPP

#include <arraygpu/core.hpp>

#include <array>
#include <cstddef>
#include <type_traits>
#include <vector>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {
namespace detail {

/// The parameters of an overload.
template <class... Parameters> struct takes {
    static constexpr std::size_t count = sizeof...(Parameters);

    template <class... Args> static constexpr bool from() {
        if constexpr (sizeof...(Args) == count) {
            return (std::is_convertible_v<Args, Parameters> && ...);
        } else {
            return false;
        }
    }
};

/// All overloads of a function.
template <class... Each> struct overloads {
    template <class... Args> static constexpr bool fit() { return (Each::template from<Args...>() || ...); }
    static constexpr bool has_count(std::size_t n) { return ((Each::count == n) || ...); }
};

/// A parameter of the template that is there for calls that fit nothing.
template <class Overloads, class... Args> using if_misused = std::enable_if_t<!Overloads::template fit<Args...>(), int>;

template <class> struct is_of_the_host : std::false_type {};
template <class T, class A> struct is_of_the_host<std::vector<T, A>> : std::true_type {};
template <class T, std::size_t N> struct is_of_the_host<std::array<T, N>> : std::true_type {};
template <class T, std::size_t N> struct is_of_the_host<T[N]> : std::true_type {};
template <class T> struct is_of_the_host<T *> : std::true_type {};

/// Whether an argument is an array in the host's memory.
template <class... Args>
inline constexpr bool has_host_array = (is_of_the_host<std::remove_cv_t<std::remove_reference_t<Args>>>::value || ...);

/// The result of such a call, so that the compiler reports no second error.
struct nothing {
    template <class T> operator T() const;
};

} // namespace detail
} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif
