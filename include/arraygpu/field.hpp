// Fields of arrays of structs as arrays. Included by arraygpu.hpp.
#ifndef ARRAYGPU_FIELD_HPP
#define ARRAYGPU_FIELD_HPP

#include <arraygpu/tensor3.hpp>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {
namespace detail {

/// What lies `at` bytes behind the beginning of each struct, which has `record` bytes: structs are bytes with an axis more.
template <class M> agpu_view field_of(const agpu_view &structs, std::int64_t at, std::int64_t record) {
    agpu_view field = structs;
    const std::int64_t last = structs.rank - 1, size = is_record<M>::value ? 1 : std::int64_t(sizeof(M));
    agpu_type type = agpu_type(structs.element.kind);
    if (structs.element.kind == 0 && structs.element.size == 0) check(agpu_buffer_type(structs.buffer, &type));
    bool whole = type == AGPU_U8 && structs.element.size <= 1 && last >= 1 && last < AGPU_MAX_RANK, empty = false;
    whole = whole && structs.extent[last] == record && structs.stride[last] == 1;
    for (std::int64_t axis = 0; whole && axis < last; ++axis) empty = empty || structs.extent[axis] == 0;
    const std::int64_t offset = structs.offset + (empty ? 0 : at);
    whole = whole && offset % size == 0;
    for (std::int64_t axis = 0; whole && axis < last; ++axis) {
        // without elements, and of one, strides do not matter
        whole = structs.stride[axis] % size == 0 || empty || structs.extent[axis] == 1;
        field.stride[axis] = structs.stride[axis] / size;
    }
    if (!whole) {
        fail(error(AGPU_ERROR_INVALID_ARGUMENT, "field: this is no view of whole structs, or its fields are not aligned"));
        return agpu_view{};
    }
    field.offset = offset / size;
    if (is_record<M>::value) {
        field.extent[last] = std::int64_t(sizeof(M));
    } else {
        field.element.kind = type_of<M>::value;
        field.element.size = std::int32_t(size);
        field.rank = last;
        field.extent[last] = field.stride[last] = 1;
    }
    return field;
}
template <class S, class M> std::int64_t place_of(M S::*member) noexcept {
    static const S any{};
    return reinterpret_cast<const char *>(&(any.*member)) - reinterpret_cast<const char *>(&any);
}
template <class T> gpu_vector_view<T> viewed(gpu_vector<T> &v) { return v; }
template <class T> gpu_vector_view<const T> viewed(const gpu_vector<T> &v) { return v; }
template <class T> gpu_vector_view<T> viewed(const gpu_vector_view<T> &v) { return v; }
template <class T> gpu_matrix_view<T> viewed(gpu_matrix<T> &m) { return m; }
template <class T> gpu_matrix_view<const T> viewed(const gpu_matrix<T> &m) { return m; }
template <class T> gpu_matrix_view<T> viewed(const gpu_matrix_view<T> &m) { return m; }
template <class T> gpu_tensor3_view<T> viewed(gpu_tensor3<T> &t) { return t; }
template <class T> gpu_tensor3_view<const T> viewed(const gpu_tensor3<T> &t) { return t; }
template <class T> gpu_tensor3_view<T> viewed(const gpu_tensor3_view<T> &t) { return t; }

template <class M, class S, template <class> class View> auto field_view(const View<S> &structs, std::int64_t at) {
    static_assert(type_of<M>::known, "a field is a number, a truth value, or a struct of the package");
    return View<std::conditional_t<std::is_const_v<S>, const M, M>>(field_of<M>(structs.c_view(), at, std::int64_t(sizeof(S))));
}

} // namespace detail

/// A field of all structs of an array, `field(bodies, &sky::body::mass)`: a view, which can be written if the array can. It is valid as long as
/// the array; nothing is copied.
template <class A, class M, class S> auto field(A &&structs, M S::*member) {
    const auto all = detail::viewed(structs);
    static_assert(std::is_same_v<typename decltype(all)::value_type, S>, "this is a field of another struct");
    static_assert(!std::is_array_v<M>, "a field that is an array: say which element, field(structs, &S::member, i)");
    return detail::field_view<M>(all, detail::place_of(member));
}
/// Element i of a field that is an array.
template <class A, class M, class S, std::size_t N> auto field(A &&structs, M (S::*member)[N], std::size_t i) {
    const auto all = detail::viewed(structs);
    static_assert(std::is_same_v<typename decltype(all)::value_type, S>, "this is a field of another struct");
    if (i < N) return detail::field_view<M>(all, detail::place_of(member) + std::int64_t(i * sizeof(M)));
    detail::fail(error(AGPU_ERROR_OUT_OF_BOUNDS, "field: there is no element " + std::to_string(i) + " of " + std::to_string(N)));
    return decltype(detail::field_view<M>(all, 0))(agpu_view{});
}
/// The real and the imaginary parts of complex numbers: views, as of fields.
template <class A, class C = typename decltype(detail::viewed(std::declval<A &>()))::value_type, class T = typename C::value_type,
          std::enable_if_t<std::is_same_v<C, std::complex<T>>, int> = 0>
auto real(A &&numbers) {
    return detail::field_view<T>(detail::viewed(numbers), 0);
}
template <class A, class C = typename decltype(detail::viewed(std::declval<A &>()))::value_type, class T = typename C::value_type,
          std::enable_if_t<std::is_same_v<C, std::complex<T>>, int> = 0>
auto imag(A &&numbers) {
    return detail::field_view<T>(detail::viewed(numbers), std::int64_t(sizeof(T)));
}

} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_FIELD_HPP
