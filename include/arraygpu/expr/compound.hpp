// Elements of several values in expressions, which have an expression for each: complex numbers (complex.hpp) and described structs. Included by
// arraygpu/expr.hpp.
#ifndef ARRAYGPU_EXPR_COMPOUND_HPP
#define ARRAYGPU_EXPR_COMPOUND_HPP

#include <arraygpu/expr/arrays.hpp>
#include <arraygpu/field.hpp>

#include <cstring>
#include <string>
#include <vector>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {
namespace detail {

template <class... M> std::tuple<typename field_type<M>::type...> types_behind(std::tuple<M &...>);

/// Described structs.
template <class S> struct compound<S, true> {
    static constexpr bool is = true;
    /// The types of the fields in memory, and their places.
    using fields = decltype(types_behind(record<S>::agpu_all(std::declval<S &>())));
    static constexpr std::size_t place(std::size_t field) { return record<S>::agpu_places[field]; }
    static std::string name(std::size_t field) {
        // the names are one text, `x_agpu_ , v_agpu_`
        const std::string all(record<S>::agpu_names);
        for (std::size_t begin = 0;;) {
            begin = all.find_first_not_of(", ", begin);
            const std::size_t found = all.find_first_of(", ", begin), end = found == std::string::npos ? all.size() : found;
            if (field-- == 0) return all.substr(begin, end - begin - std::strlen("_agpu_"));
            begin = end;
        }
    }
    /// References to the expressions of the fields, and the struct of other ones.
    template <int Rank> static auto all(const expr<S, Rank> &e) { return record<S>::agpu_all(static_cast<const typename record<S>::template in_expressions<Rank> &>(e)); }
    template <int Rank, class... X> static expr<S, Rank> made(X &&...x) {
        return expr<S, Rank>(typename record<S>::template in_expressions<Rank>{std::move(x)...});
    }
};

/// The values of which an element of type M consists, in the order of memory: their types, how many they are, and the expression that is made of as
/// many nodes, which f gives for each value's type and place.
template <class T> struct value_type_of {
    using type = T;
};
template <class M, bool = compound<M>::is> struct layout {
    using types = std::tuple<M>;
    template <int Rank, class F> static auto made(std::size_t at, const F &f) { return expr<M, Rank>(f(value_type_of<M>(), at)); }
    template <int Rank, class F> static void each(const expr<M, Rank> &e, std::size_t at, const F &f) { f(e, at); }
    /// Adds the names of the values of an element that has this name, as the language names them: `bodies_at_0`.
    static void names(const std::string &name, std::vector<std::string> &out) { out.push_back(name); }
};
template <class M, std::size_t N> struct layout<M[N], false> {
    template <std::size_t> using one = typename layout<M>::types;
    template <std::size_t... I> static auto all_types(std::index_sequence<I...>) -> decltype(std::tuple_cat(std::declval<one<I>>()...));
    using types = decltype(all_types(std::make_index_sequence<N>()));
    template <int Rank, class F> static auto made(std::size_t at, const F &f) { return list<Rank>(at, f, std::make_index_sequence<N>()); }
    template <class X, class F> static void each(const std::array<X, N> &all, std::size_t at, const F &f) {
        for (std::size_t i = 0; i < N; ++i) layout<M>::each(all[i], at + i * sizeof(M), f);
    }
    static void names(const std::string &name, std::vector<std::string> &out) {
        for (std::size_t i = 0; i < N; ++i) layout<M>::names(name + "_" + std::to_string(i), out);
    }

private:
    // braces keep the order
    template <int Rank, class F, std::size_t... I> static auto list(std::size_t at, const F &f, std::index_sequence<I...>) {
        return typename field_expr<M[N], Rank>::type{{layout<M>::template made<Rank>(at + I * sizeof(M), f)...}};
    }
};
/// The elements of structs and complex numbers; `Fields` are their types.
template <class E, class Fields, class = std::make_index_sequence<std::tuple_size_v<Fields>>> struct layout_of_fields;
template <class E, class... M, std::size_t... I> struct layout_of_fields<E, std::tuple<M...>, std::index_sequence<I...>> {
    using types = decltype(std::tuple_cat(std::declval<typename layout<M>::types>()...));
    template <int Rank, class F> static expr<E, Rank> made(std::size_t at, const F &f) {
        using All = std::tuple<decltype(layout<M>::template made<Rank>(at, f))...>;
        All all{layout<M>::template made<Rank>(at + compound<E>::place(I), f)...};
        return compound<E>::template made<Rank>(std::get<I>(std::move(all))...);
    }
    template <int Rank, class F> static void each(const expr<E, Rank> &e, std::size_t at, const F &f) {
        const auto all = compound<E>::all(e);
        (layout<M>::each(std::get<I>(all), at + compound<E>::place(I), f), ...);
    }
    static void names(const std::string &name, std::vector<std::string> &out) { (layout<M>::names(name + "_" + compound<E>::name(I), out), ...); }
};
template <class E> struct layout<E, true> : layout_of_fields<E, typename compound<E>::fields> {};
template <class E> inline constexpr std::size_t value_count = std::tuple_size_v<typename layout<E>::types>;

/// The expression whose values are the next nodes of a list.
template <class E, int Rank> auto from_nodes(const node_ptr *&in) {
    return layout<E>::template made<Rank>(0, [&in](auto, std::size_t) { return *in++; });
}

/// What f gives for each value, expressions of its type and of one rank.
template <class E, int Rank, class F> auto of_values(const expr<E, Rank> &e, const F &f) {
    std::array<node_ptr, value_count<E>> nodes;
    node_ptr *next = nodes.data();
    layout<E>::each(e, 0, [&](const auto &value, std::size_t) { *next++ = f(value).c_node(); });
    using First = expr<std::tuple_element_t<0, typename layout<E>::types>, Rank>;
    const node_ptr *in = nodes.data();
    return from_nodes<E, decltype(f(std::declval<const First &>()))::rank>(in);
}

/// Operands whose elements have several values: the element, the rank, and the operand as an expression.
template <class E, int Rank> struct compound_operand_of {
    static constexpr bool is = true;
    static constexpr int rank = Rank;
    using element = E;
};
struct no_compound {
    static constexpr bool is = false;
    using element = void;
};
template <class E, int Rank> struct compound_expr : compound_operand_of<E, Rank> {
    static const expr<E, Rank> &of(const expr<E, Rank> &e) { return e; }
};
/// A value of the host.
template <class E> struct compound_number : compound_operand_of<E, 0> {
    static expr<E> of(const E &value) {
        return layout<E>::template made<0>(0, [&value](auto which, std::size_t at) {
            typename decltype(which)::type number;
            std::memcpy(&number, reinterpret_cast<const char *>(&value) + at, sizeof number);
            return make_number(op::literal, number);
        });
    }
};
/// An array or view: its fields are views of the same memory, which they keep if the array owns it.
template <class A, class E, int Rank> struct compound_array : compound_operand_of<E, Rank> {
    static expr<E, Rank> of(const A &a, const char *name = nullptr) {
        std::vector<std::string> names;
        if (name) layout<E>::names(name, names);
        std::size_t field = 0;
        return layout<E>::template made<Rank>(0, [&](auto which, std::size_t at) {
            using T = typename decltype(which)::type;
            const char *called = name ? names[field++].c_str() : nullptr;
            return make_array(field_of<T>(a.c_view(), std::int64_t(at), std::int64_t(sizeof(E))), type_of<T>::value, Rank, share(a, 0), called);
        });
    }
};
template <class E> struct compound_scalar : compound_operand_of<E, 0> {
    static expr<E> of(const gpu_scalar<E> &s, const char *name = nullptr) {
        return of_values(compound_array<gpu_scalar<E>, E, 1>::of(s, name), [](const auto &value) { return arraygpu::at(value, 0); });
    }
};
template <class E, class Operand> using if_several = std::conditional_t<compound<E>::is, Operand, no_compound>;
template <class X> struct compound_operand : if_several<X, compound_number<X>> {};
template <class E, int Rank> struct compound_operand<expr<E, Rank>> : if_several<E, compound_expr<E, Rank>> {};
template <class E> struct compound_operand<gpu_vector<E>> : if_several<E, compound_array<gpu_vector<E>, E, 1>> {};
template <class E> struct compound_operand<gpu_vector_view<E>> : if_several<std::remove_const_t<E>, compound_array<gpu_vector_view<E>, std::remove_const_t<E>, 1>> {};
template <class E> struct compound_operand<gpu_matrix<E>> : if_several<E, compound_array<gpu_matrix<E>, E, 2>> {};
template <class E> struct compound_operand<gpu_matrix_view<E>> : if_several<std::remove_const_t<E>, compound_array<gpu_matrix_view<E>, std::remove_const_t<E>, 2>> {};
template <class E> struct compound_operand<gpu_tensor3<E>> : if_several<E, compound_array<gpu_tensor3<E>, E, 3>> {};
template <class E> struct compound_operand<gpu_tensor3_view<E>> : if_several<std::remove_const_t<E>, compound_array<gpu_tensor3_view<E>, std::remove_const_t<E>, 3>> {};
template <class E> struct compound_operand<gpu_scalar<E>> : if_several<E, compound_scalar<E>> {};

template <class X> using compound_element = typename compound_operand<X>::element;
/// The rank of an operand of one value or of several.
template <class A> constexpr int rank_of_any() {
    if constexpr (is_compound<A>) return compound_operand<A>::rank;
    else return rank_of<A>();
}
/// A scalar of several values.
template <class X> constexpr bool is_compound_scalar() {
    if constexpr (is_compound<X>) return compound_operand<X>::rank == 0;
    return false;
}
/// Enables what takes operands of several values, at least one of which is no value of the host.
template <class... X> using if_compound = std::enable_if_t<(is_compound<X> && ...) && (!compound<X>::is || ...), int>;
template <class X> using if_compound_array = std::enable_if_t<is_compound<X> && (sizeof(compound_operand<X>) > 0) && (compound_operand<X>::rank > 0), int>;

/// The arrays, each as a function of all: so the program knows that they have one shape, and where a read of one is in bounds.
template <std::size_t N> void say_one_shape(std::array<node_ptr, N> &arrays, place at) {
    const trace inside;
    std::array<node_ptr, 2 * N + 1> all;
    std::uint8_t depends = 0;
    for (std::size_t i = 0; i < N; ++i) {
        all[i] = arrays[i], all[N + i] = make_variable(agpu_type(arrays[i]->type));
        depends = arrays[i]->level > depends ? arrays[i]->level : depends;
    }
    for (std::size_t i = 0; i < N; ++i) {
        std::array<node_ptr, 2 * N + 1> operands = all;
        operands[2 * N] = all[N + i];
        arrays[i] = make_node(op::map, agpu_type(arrays[i]->type), arrays[i]->rank, operands.data(), std::uint32_t(2 * N + 1), at);
        arrays[i]->level = depends;
    }
}
/// An array of several values that is read in a function of an element.
template <class A> auto in_one_shape(const A &a, place at) {
    using E = compound_element<A>;
    const expr<E, compound_operand<A>::rank> e(a);
    if (tracing.depth == 0 || value_count<E> == 1) return e;
    std::array<node_ptr, value_count<E>> arrays;
    node_ptr *out = arrays.data();
    layout<E>::each(e, 0, [&out](const auto &value, std::size_t) { *out++ = value.c_node(); });
    say_one_shape(arrays, at);
    const node_ptr *next = arrays.data();
    return from_nodes<E, compound_operand<A>::rank>(next);
}
template <class A, class F> auto of_parts(const A &a, const F &f) { return of_values<compound_element<A>, compound_operand<A>::rank>(compound_operand<A>::of(a), f); }

} // namespace detail

/// An expression of structs that is not computed yet. It has a member for each field, by its name: an expression, a std::array of them for a field that
/// is an array. Members may be assigned: a function of an element may change the fields of its copy, and return it.
template <class S, int Rank> class expr<S, Rank, std::enable_if_t<record<S>::described>> : public record<S>::template in_expressions<Rank> {
public:
    using value_type = S;

    explicit expr(typename record<S>::template in_expressions<Rank> all_agpu_) : record<S>::template in_expressions<Rank>(std::move(all_agpu_)) {}
    /// An array or view of structs, a struct of the host.
    template <class X, std::enable_if_t<detail::is_compound<X> && !std::is_same_v<X, expr>, int> = 0> expr(const X &x_agpu_) : expr(detail::compound_operand<X>::of(x_agpu_)) {
        static_assert(std::is_same_v<detail::compound_element<X>, S>, "these are other structs");
        static_assert(detail::compound_operand<X>::rank == Rank, "an expression of another rank");
    }
    /// Zeros.
    template <int R = Rank, std::enable_if_t<R == 0, int> = 0> expr() : record<S>::template in_expressions<Rank>() {}

    /// Computes a scalar and brings it to the host: one run, which waits.
    template <class U, std::enable_if_t<Rank == 0 && std::is_same_v<U, S>, int> = 0> operator U() const;
};

namespace detail {
/// The rank of a value of a field.
template <class X> constexpr int rank_of_value(const X *) {
    if constexpr (is_compound<X>) return compound_operand<X>::rank;
    else return rank_of<X>();
}
template <class X, std::size_t N> constexpr int rank_of_value(const std::array<X, N> *) { return rank_of_value(static_cast<const X *>(nullptr)); }
template <class S, int Rank, class... M, class... X> expr<S, Rank> made_record(std::tuple<M...> *, const X &...x) {
    static_assert(sizeof...(X) == sizeof...(M), "make_record: a value for each field, in their order");
    if constexpr (sizeof...(X) == sizeof...(M)) {
        static_assert((std::is_constructible_v<typename field_expr<M, Rank>::type, const X &> && ...), "make_record: a value has another type or rank than its field");
        return compound<S>::template made<Rank>(typename field_expr<M, Rank>::type(x)...);
    }
}
} // namespace detail

/// The struct, or the array of structs, with these values of its fields, in their order.
template <class S, class First, class... X> auto make_record(const First &first, const X &...x) {
    static_assert(record<S>::described, "make_record of a struct that is not described: AGPU_RECORD(T, ..) names its fields");
    constexpr int rank = detail::rank_of_value(static_cast<const First *>(nullptr));
    if constexpr (record<S>::described) return detail::made_record<S, rank>(static_cast<typename detail::compound<S>::fields *>(nullptr), first, x...);
}

/// An array as an expression.
template <class A, detail::if_compound_array<A> = 0> auto operator+(const A &a) {
    return detail::of_parts(a, [](const auto &x) { return x; });
}
template <class C, class A, class B, std::enable_if_t<detail::is_compound<A> && detail::is_compound<B> && (detail::is_operand<C> || !detail::compound<A>::is || !detail::compound<B>::is), int> = 0>
auto select(const C &condition, const A &x, const B &y) {
    static_assert(std::is_same_v<detail::compound_element<A>, detail::compound_element<B>>,
                  "the element types differ: nothing converts by itself, so write cast<T>(z) around one of them");
    using E = detail::compound_element<B>;
    constexpr int rank = detail::compound_operand<B>::rank;
    std::array<detail::node_ptr, detail::value_count<E>> others;
    detail::node_ptr *out = others.data();
    const expr<E, rank> other(y);
    detail::layout<E>::each(other, 0, [&](const auto &value, std::size_t) { *out++ = value.c_node(); });
    const detail::node_ptr *next = others.data();
    return detail::of_parts(x, [&](const auto &value) {
        using T = typename std::decay_t<decltype(value)>::value_type;
        return arraygpu::select(condition, value, expr<T, rank>(*next++));
    });
}

/// select() for structs and complex numbers of the host.
template <class A, std::enable_if_t<detail::compound<A>::is, int> = 0> A select(bool condition, const A &x, const A &y) { return condition ? x : y; }
/// The same as select(condition, a, b).
template <class C, class A, class B, std::enable_if_t<detail::is_operand<C> || detail::is_host<C>, int> = 0>
auto where(const C &condition, const A &a, const B &b) {
    auto made = arraygpu::select(condition, a, b);
    if constexpr (detail::is_operand<decltype(made)>)
        return detail::worded(std::move(made), "where");
    else
        return made;
}

/// The number of elements, known on the host.
template <class A, detail::if_compound_array<A> = 0> std::size_t size(const A &a) {
    std::size_t n = 0;
    const auto &e = detail::compound_operand<A>::of(a);
    detail::layout<detail::compound_element<A>>::each(e, 0, [&n](const auto &value, std::size_t) { n = value.size(); });
    return n;
}
/// Gives the array a name for messages and explanations; its fields are `bodies_x`, `bodies_v`, as in the language.
template <class X, detail::if_compound<X> = 0> auto named(const char *name, const X &x) {
    static_assert(std::is_invocable_v<decltype(detail::compound_operand<X>::of), const X &, const char *>, "named: arrays, views and gpu_scalar have names; an expression is none of them");
    return detail::compound_operand<X>::of(x, name);
}
/// n times the value: a struct or a complex number of the host, or a scalar expression.
template <class V, class N, std::enable_if_t<detail::is_compound<V>, int> = 0>
auto repeat(const V &value, const N &n, detail::place here = ARRAYGPU_HERE) {
    static_assert(detail::is_compound_scalar<V>(), "repeat a scalar; spread_rows and spread_cols repeat a vector");
    return detail::of_parts(value, [&](const auto &part) { return arraygpu::repeat(part, n, here.of("repeat")); });
}
// parts of arrays, as of real ones
template <class A, detail::if_compound_array<A> = 0, std::enable_if_t<detail::compound_operand<A>::rank == 1, int> = 0>
auto slice(const A &a, std::int64_t start, std::int64_t stop, std::int64_t stride = 1, detail::place here = ARRAYGPU_HERE) {
    return detail::of_parts(a, [&](const auto &part) { return arraygpu::slice(part, start, stop, stride, here.of("slice")); });
}
template <class A, detail::if_compound_array<A> = 0, std::enable_if_t<detail::compound_operand<A>::rank == 2, int> = 0>
auto slice(const A &a, std::int64_t row_start, std::int64_t row_stop, std::int64_t col_start, std::int64_t col_stop, std::int64_t row_stride = 1,
           std::int64_t col_stride = 1, detail::place here = ARRAYGPU_HERE) {
    return detail::of_parts(a, [&](const auto &part) { return arraygpu::slice(part, row_start, row_stop, col_start, col_stop, row_stride, col_stride, here.of("slice")); });
}
template <class A, detail::if_compound_array<A> = 0>
auto slice_rows(const A &a, std::int64_t start, std::int64_t stop, std::int64_t stride = 1, detail::place here = ARRAYGPU_HERE) {
    return detail::of_parts(a, [&](const auto &part) { return arraygpu::slice_rows(part, start, stop, stride, here.of("slice_rows")); });
}
template <class A, detail::if_compound_array<A> = 0>
auto slice_cols(const A &a, std::int64_t start, std::int64_t stop, std::int64_t stride = 1, detail::place here = ARRAYGPU_HERE) {
    return detail::of_parts(a, [&](const auto &part) { return arraygpu::slice_cols(part, start, stop, stride, here.of("slice_cols")); });
}
template <class A, detail::if_compound_array<A> = 0>
auto slice_planes(const A &a, std::int64_t start, std::int64_t stop, std::int64_t stride = 1, detail::place here = ARRAYGPU_HERE) {
    return detail::of_parts(a, [&](const auto &part) { return arraygpu::slice_planes(part, start, stop, stride, here.of("slice_planes")); });
}
template <class A, detail::if_compound_array<A> = 0> auto reverse(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::of_parts(a, [&](const auto &part) { return arraygpu::reverse(part, here.of("reverse")); });
}
template <class A, detail::if_compound_array<A> = 0> auto reverse_planes(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::of_parts(a, [&](const auto &part) { return arraygpu::reverse_planes(part, here.of("reverse_planes")); });
}
template <class A, detail::if_compound_array<A> = 0> auto reverse_rows(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::of_parts(a, [&](const auto &part) { return arraygpu::reverse_rows(part, here.of("reverse_rows")); });
}
template <class A, detail::if_compound_array<A> = 0> auto reverse_cols(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::of_parts(a, [&](const auto &part) { return arraygpu::reverse_cols(part, here.of("reverse_cols")); });
}
template <class A, detail::if_compound_array<A> = 0> auto transpose(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::of_parts(a, [&](const auto &part) { return arraygpu::transpose(part, here.of("transpose")); });
}
template <int First, int Second, int Third, class A, detail::if_compound_array<A> = 0>
auto permute(const A &a, detail::place here = ARRAYGPU_HERE) {
    return detail::of_parts(a, [&](const auto &part) { return arraygpu::permute<First, Second, Third>(part, here.of("permute")); });
}
template <class A, class N, detail::if_compound_array<A> = 0>
auto spread_planes(const A &a, const N &n, detail::place here = ARRAYGPU_HERE) {
    return detail::of_parts(a, [&](const auto &part) { return arraygpu::spread_planes(part, n, here.of("spread_planes")); });
}
template <class A, class N, detail::if_compound_array<A> = 0>
auto spread_rows(const A &a, const N &n, detail::place here = ARRAYGPU_HERE) {
    return detail::of_parts(a, [&](const auto &part) { return arraygpu::spread_rows(part, n, here.of("spread_rows")); });
}
template <class A, class N, detail::if_compound_array<A> = 0>
auto spread_cols(const A &a, const N &n, detail::place here = ARRAYGPU_HERE) {
    return detail::of_parts(a, [&](const auto &part) { return arraygpu::spread_cols(part, n, here.of("spread_cols")); });
}
template <class A, class I, detail::if_compound_array<A> = 0> auto plane(const A &a, const I &k, detail::place here = ARRAYGPU_HERE) {
    return detail::of_parts(a, [&](const auto &part) { return arraygpu::plane(part, k, here.of("plane")); });
}
template <class A, class I, detail::if_compound_array<A> = 0> auto row(const A &a, const I &i, detail::place here = ARRAYGPU_HERE) {
    return detail::of_parts(a, [&](const auto &part) { return arraygpu::row(part, i, here.of("row")); });
}
template <class A, class I, detail::if_compound_array<A> = 0> auto col(const A &a, const I &j, detail::place here = ARRAYGPU_HERE) {
    return detail::of_parts(a, [&](const auto &part) { return arraygpu::col(part, j, here.of("col")); });
}
template <class A, class I, detail::if_compound_array<A> = 0, std::enable_if_t<detail::compound_operand<A>::rank == 1, int> = 0>
auto at(const A &a, const I &i, detail::place here = ARRAYGPU_HERE) {
    return detail::of_parts(detail::in_one_shape(a, here.of("at")), [&](const auto &part) { return arraygpu::at(part, i, here.of("at")); });
}
template <class A, class I, class J, detail::if_compound_array<A> = 0, std::enable_if_t<detail::compound_operand<A>::rank == 2, int> = 0>
auto at(const A &a, const I &i, const J &j, detail::place here = ARRAYGPU_HERE) {
    return detail::of_parts(detail::in_one_shape(a, here.of("at")), [&](const auto &part) { return arraygpu::at(part, i, j, here.of("at")); });
}
template <class A, class K, class I, class J, detail::if_compound_array<A> = 0, std::enable_if_t<detail::compound_operand<A>::rank == 3, int> = 0>
auto at(const A &a, const K &k, const I &i, const J &j, detail::place here = ARRAYGPU_HERE) {
    return detail::of_parts(detail::in_one_shape(a, here.of("at")), [&](const auto &part) { return arraygpu::at(part, k, i, j, here.of("at")); });
}
template <class A, detail::if_compound<A> = 0> auto fast_math(const A &a) {
    return detail::of_parts(a, [](const auto &part) { return arraygpu::fast_math(part); });
}
template <class A, detail::if_compound_array<A> = 0> auto materialize(const A &a) {
    return detail::of_parts(a, [](const auto &part) { return arraygpu::materialize(part); });
}

} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_EXPR_COMPOUND_HPP
