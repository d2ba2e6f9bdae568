// Structs as elements whose fields have names in expressions. Included by arraygpu.hpp.
#ifndef ARRAYGPU_RECORD_HPP
#define ARRAYGPU_RECORD_HPP

#include <arraygpu/core.hpp>

#include <array>
#include <cstddef>
#include <tuple>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {

/// The fields of a struct: AGPU_RECORD describes one, and so do the headers of packages with theirs.
template <class S> struct record {
    static constexpr bool described = false;
};
/// The element type of a field, whose type in C may be another.
template <class M> struct field_type {
    using type = M;
};
template <class M, std::size_t N> struct field_type<M[N]> {
    using type = typename field_type<M>::type[N];
};
template <> struct field_type<agpu_half> : field_type<half> {};
template <> struct field_type<agpu_bfloat16> : field_type<bfloat16> {};
/// What stands for a field of type M in an expression: an expression; of a field that is an array, a std::array of them.
template <class M, int Rank> struct field_expr {
    using type = expr<typename field_type<M>::type, Rank>;
};
template <class M, std::size_t N, int Rank> struct field_expr<M[N], Rank> {
    using type = std::array<typename field_expr<M, Rank>::type, N>;
};

namespace detail {
template <std::size_t N> constexpr bool ascending(const std::size_t (&places)[N]) {
    for (std::size_t i = 1; i < N; ++i)
        if (places[i] <= places[i - 1]) return false;
    return true;
}
} // namespace detail
} // namespace AGPU_HEADERS
} // namespace arraygpu

/// Describes a struct by its fields, all of them, in their order: `AGPU_RECORD(sky::body, x, y, mass)`, outside of namespaces and behind the struct. It is then
/// an element of gpu_vector, gpu_matrix and gpu_tensor3, and arraygpu::expr<sky::body> has members x, y and mass. Fields are numbers, truth values, complex
/// numbers, described structs, and arrays of these; there are up to 16, of any names but value_type.
#define AGPU_RECORD(S, ...) AGPU_RECORD_NAMED(AGPU_RECORD_JOINED(agpu_described_, __COUNTER__), S, __VA_ARGS__)

/// The description under a name of its own: that of the struct may be one of arraygpu's, too, such as `event` or `shape`.
#define AGPU_RECORD_NAMED(name, S, ...) \
    using name = S;                     \
    AGPU_RECORD_DESCRIBED(name, __VA_ARGS__)
#define AGPU_RECORD_DESCRIBED(S, ...)                                                                                            \
    template <> struct arraygpu::detail::type_of<S> : arraygpu::detail::record_type<S> {};                                       \
    AGPU_RECORD_FIELDS(S, (AGPU_RECORD_EACH(AGPU_RECORD_FIELD, S, __VA_ARGS__)), (AGPU_RECORD_EACH(AGPU_RECORD_PLACE, S, __VA_ARGS__)),                 \
                       AGPU_RECORD_EACH(AGPU_RECORD_NAME, S, __VA_ARGS__))

/// The description without the element type; `Fields` and `Places` are lists of AGPU_RECORD_FIELD and AGPU_RECORD_PLACE in parentheses, the rest is one of
/// AGPU_RECORD_NAME. Fields have names here that end in `_agpu_`, so that they hide nothing.
#define AGPU_RECORD_FIELDS(S, Fields, Places, ...)                                                                               \
    template <> struct arraygpu::record<S> {                                                                                     \
        static constexpr bool described = true;                                                                                  \
        template <int agpu_rank> struct in_expressions {                                                                         \
            AGPU_RECORD_LIST Fields                                                                                              \
        };                                                                                                                       \
        static constexpr std::size_t agpu_places[] = {AGPU_RECORD_LIST Places};                                                  \
        static constexpr const char *agpu_names = AGPU_RECORD_TEXT(AGPU_RECORD_REST(__VA_ARGS__));                               \
        static_assert(arraygpu::detail::ascending(agpu_places), "AGPU_RECORD names the fields in another order than the struct");\
        /* structured bindings name all fields of a struct, or do not compile */                                                 \
        static void agpu_complete(S &agpu_whole) { [[maybe_unused]] auto &[AGPU_RECORD_REST(__VA_ARGS__)] = agpu_whole; }        \
        template <class agpu_struct> static auto agpu_all(agpu_struct &agpu_whole) {                                             \
            auto &[AGPU_RECORD_REST(__VA_ARGS__)] = agpu_whole;                                                                  \
            return std::tie(AGPU_RECORD_REST(__VA_ARGS__));                                                                      \
        }                                                                                                                        \
    };
#define AGPU_RECORD_FIELD(S, f) typename arraygpu::field_expr<decltype(S::f), agpu_rank>::type f;
#define AGPU_RECORD_PLACE(S, f) offsetof(S, f),
#define AGPU_RECORD_NAME(S, f) , f##_agpu_
#define AGPU_RECORD_LIST(...) __VA_ARGS__
#define AGPU_RECORD_TEXT(...) AGPU_RECORD_AS_TEXT(__VA_ARGS__)
#define AGPU_RECORD_AS_TEXT(...) #__VA_ARGS__
#define AGPU_RECORD_REST(...) AGPU_RECORD_WITHOUT_FIRST(__VA_ARGS__)
#define AGPU_RECORD_WITHOUT_FIRST(first, ...) __VA_ARGS__
#define AGPU_RECORD_COUNT(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, n, ...) n
#define AGPU_RECORD_JOIN(a, b) a##b
#define AGPU_RECORD_JOINED(a, b) AGPU_RECORD_JOIN(a, b)
#define AGPU_RECORD_FOR(n) AGPU_RECORD_JOIN(AGPU_RECORD_EACH_, n)
#define AGPU_RECORD_EACH(m, S, ...) AGPU_RECORD_FOR(AGPU_RECORD_COUNT(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, ))(m, S, __VA_ARGS__)
#define AGPU_RECORD_EACH_1(m, S, f) m(S, f)
#define AGPU_RECORD_EACH_2(m, S, f, ...) m(S, f) AGPU_RECORD_EACH_1(m, S, __VA_ARGS__)
#define AGPU_RECORD_EACH_3(m, S, f, ...) m(S, f) AGPU_RECORD_EACH_2(m, S, __VA_ARGS__)
#define AGPU_RECORD_EACH_4(m, S, f, ...) m(S, f) AGPU_RECORD_EACH_3(m, S, __VA_ARGS__)
#define AGPU_RECORD_EACH_5(m, S, f, ...) m(S, f) AGPU_RECORD_EACH_4(m, S, __VA_ARGS__)
#define AGPU_RECORD_EACH_6(m, S, f, ...) m(S, f) AGPU_RECORD_EACH_5(m, S, __VA_ARGS__)
#define AGPU_RECORD_EACH_7(m, S, f, ...) m(S, f) AGPU_RECORD_EACH_6(m, S, __VA_ARGS__)
#define AGPU_RECORD_EACH_8(m, S, f, ...) m(S, f) AGPU_RECORD_EACH_7(m, S, __VA_ARGS__)
#define AGPU_RECORD_EACH_9(m, S, f, ...) m(S, f) AGPU_RECORD_EACH_8(m, S, __VA_ARGS__)
#define AGPU_RECORD_EACH_10(m, S, f, ...) m(S, f) AGPU_RECORD_EACH_9(m, S, __VA_ARGS__)
#define AGPU_RECORD_EACH_11(m, S, f, ...) m(S, f) AGPU_RECORD_EACH_10(m, S, __VA_ARGS__)
#define AGPU_RECORD_EACH_12(m, S, f, ...) m(S, f) AGPU_RECORD_EACH_11(m, S, __VA_ARGS__)
#define AGPU_RECORD_EACH_13(m, S, f, ...) m(S, f) AGPU_RECORD_EACH_12(m, S, __VA_ARGS__)
#define AGPU_RECORD_EACH_14(m, S, f, ...) m(S, f) AGPU_RECORD_EACH_13(m, S, __VA_ARGS__)
#define AGPU_RECORD_EACH_15(m, S, f, ...) m(S, f) AGPU_RECORD_EACH_14(m, S, __VA_ARGS__)
#define AGPU_RECORD_EACH_16(m, S, f, ...) m(S, f) AGPU_RECORD_EACH_15(m, S, __VA_ARGS__)

#endif // ARRAYGPU_RECORD_HPP
