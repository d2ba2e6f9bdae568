// Views: sequences that are computed when they are needed. Included by arraygpu/views.hpp.
#ifndef ARRAYGPU_VIEWS_RANGE_HPP
#define ARRAYGPU_VIEWS_RANGE_HPP

#include <arraygpu/views/parts.hpp>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {

/// A view: a sequence that is not stored. It keeps the arrays that it reads, and can be stored in variables, passed and returned. Its elements are
/// scalars, tuples (of zip), or windows.
template <class Part> class range {
public:
    range(Part part, std::int64_t size) : part_(std::move(part)), size_(Part::endless ? detail::endless : size) {}
    /// Limits endless parts to a number of elements.
    struct bounded {};
    range(Part part, std::int64_t size, bounded) : part_(std::move(part)), size_(size) {}

    bool is_endless() const noexcept { return size_ == detail::endless; }
    /// The number of elements; throws for the endless iota(x) and repeat(x).
    std::size_t size() const { return std::size_t(finite("size")); }
    std::int64_t finite(const char *what) const {
        if (is_endless()) throw error(AGPU_ERROR_INVALID_ARGUMENT, std::string(what) + ": the view is endless, or its length is computed with it; views::take(n) ends it");
        return size_;
    }
    const Part &part() const noexcept { return part_; }
    /// -1: endless, or computed with the elements.
    std::int64_t length() const noexcept { return size_; }

    /// The elements as an expression.
    auto array(detail::place at = {}) const { return part_.array(finite("the elements"), at); }
    /// The elements, computed: of scalars a gpu_vector, in one kernel where that is possible.
    auto to_vector() const { return eval(array()); }
    auto to_host() const { return to_vector().to_host(); }
    template <class T, class P = Part, std::enable_if_t<std::is_same_v<typename P::element, expr<T, 0>>, int> = 0> operator gpu_vector<T>() const {
        return to_vector();
    }
    template <class T, class P = Part, std::enable_if_t<std::is_same_v<typename P::element, expr<T, 0>>, int> = 0> operator expr<T, 1>() const {
        return array();
    }

private:
    Part part_;
    std::int64_t size_;
};

/// One of the views that a view of tuples is made of: `get<0>(view)`.
template <std::size_t I, class... P> auto get(const range<detail::group_part<P...>> &zipped) {
    using One = std::tuple_element_t<I, std::tuple<P...>>;
    return range<One>(std::get<I>(zipped.part().parts), zipped.length(), typename range<One>::bounded());
}

namespace detail {


/// The expressions of the values of an operand of several.
template <class E, int Rank, std::size_t... I> auto values_of(const expr<E, Rank> &e, std::index_sequence<I...>) {
    node_ptr nodes[sizeof...(I)], *out = nodes;
    layout<E>::each(e, 0, [&out](const auto &value, std::size_t) { *out++ = value.c_node(); });
    return std::make_tuple(expr<std::tuple_element_t<I, typename layout<E>::types>, Rank>(nodes[I])...);
}
template <class X> auto values_of(const X &x) {
    using E = compound_element<X>;
    return values_of(expr<E, compound_operand<X>::rank>(x), std::make_index_sequence<value_count<E>>());
}
/// Their parts, which f makes.
template <class E, class Values, class F> auto part_of_values(const Values &values, const F &f) {
    return std::apply([&f](const auto &...value) { return compound_part<E, decltype(f(value))...>{std::tuple<decltype(f(value))...>{f(value)...}}; }, values);
}

/// The results of a function for all elements, as parts.
template <bool HasArray, class R> auto traced_part(const traversal &over, const R &r, place at);
template <bool HasArray, class Tuple, std::size_t... I>
auto traced_parts(const traversal &over, const Tuple &r, place at, std::index_sequence<I...>) {
    using std::get;
    return group_part<decltype(traced_part<HasArray>(over, get<I>(r), at))...>{{traced_part<HasArray>(over, get<I>(r), at)...}};
}
template <bool HasArray, class R> auto traced_part(const traversal &over, const R &r, place at) {
    if constexpr (is_tuple<R>::value) {
        return traced_parts<HasArray>(over, r, at, std::make_index_sequence<std::tuple_size_v<R>>());
    } else if constexpr (is_compound<R>) {
        return part_of_values<compound_element<R>>(values_of(r), [&](const auto &value) { return traced_part<HasArray>(over, value, at); });
    } else {
        using T = typename result<R>::type;
        if constexpr (HasArray)
            return array_part<T, false>{over.values<T>(node_of<T>(r), at), {}};
        else
            return scalar_part<T>{expr<T, 0>(node_of<T>(r))};
    }
}
template <class Part, class F> auto transformed(const range<Part> &from, F &f, place at);

/// A function of the elements of an endless view, which is applied when the view gets a size.
template <class Part, class F> struct deferred_part {
    static constexpr bool has_array = true, endless = true;
    using element = typename results_in<called<F, typename Part::element>>::type;
    Part part;
    F f;

    element applied(typename Part::element e) const {
        F copy = f;
        return element(detail::call(copy, e));
    }
    /// The elements of a part that has an end.
    template <class P> auto of(P &&some, std::int64_t size, place at) const {
        F copy = f;
        return transformed(range<std::decay_t<P>>(static_cast<P &&>(some), size), copy, at).part();
    }
    element read(traversal &over) const { return applied(part.read(over)); }
    auto sliced(std::int64_t start, std::int64_t stop, std::int64_t stride, place at) const {
        return of(part.sliced(start, stop, stride, at), (stop - start) / stride + ((stop - start) % stride != 0), at);
    }
    auto reversed(std::int64_t size, place at) const { return sliced(0, size, 1, at).reversed(size, at); }
    template <class I> auto gathered(const expr<I, 1> &indices, place at) const {
        return of(part.gathered(indices, at), indices.c_node()->extent[0], at);
    }
    element at_index(const expr<std::int64_t> &i, place at) const { return applied(part.at_index(i, at)); }
    auto array(std::int64_t size, place at) const { return sliced(0, size, 1, at).array(size, at); }
};

template <class Part, class F> auto transformed(const range<Part> &from, F &f, place at) {
    if constexpr (Part::endless && Part::has_array) {
        using Deferred = deferred_part<Part, std::decay_t<F>>;
        return range<Deferred>(Deferred{from.part(), f}, from.length(), typename range<Deferred>::bounded());
    } else {
        using R = called<F, typename Part::element>;
        static_assert(!std::is_void_v<R>, "the function returns nothing: return the new element (for_each writes through its arguments)");
        const trace inside;
        traversal over(from.length());
        typename Part::element element = from.part().read(over);
        const R r = detail::call(f, element);
        auto part = traced_part<Part::has_array>(over, r, at);
        return range<decltype(part)>(std::move(part), from.length(), typename range<decltype(part)>::bounded());
    }
}

template <class X> inline constexpr bool is_range = false;
template <class P> inline constexpr bool is_range<range<P>> = true;
template <class E, class... P> struct compound_operand<range<compound_part<E, P...>>> : compound_operand_of<E, 1> {
    static expr<E, 1> of(const range<compound_part<E, P...>> &r) { return r.array(); }
};
/// Converts an array, a view of one, or a range to a range. Parts that can be written keep their target.
template <class X, class = void> struct to_range {
    static_assert(
        is_operand<X> && rank_of<X>() == 1,
        "views are of vectors on the device, of their views, of expressions and of views; arraygpu::copy(v) brings a std::vector to the device");
    using T = element_type<X>;
    static auto of(const X &x) {
        expr<T, 1> values(operand<X>::node(x));
        const std::int64_t size = values.c_node()->extent[0];
        return range<array_part<T, false>>({std::move(values), {}}, size);
    }
    static auto of(X &x) {
        if constexpr (std::is_same_v<X, gpu_vector<T>> || std::is_same_v<X, gpu_vector_view<T>>) {
            return range<array_part<T, true>>({expr<T, 1>(operand<X>::node(x)), x.c_view()}, std::int64_t(x.size()));
        } else {
            return of(static_cast<const X &>(x));
        }
    }
};
/// A view can be written even if it is temporary.
template <class T> struct to_range<gpu_vector_view<T>, std::enable_if_t<operand<gpu_vector_view<T>>::ours>> {
    static auto of(const gpu_vector_view<T> &x) {
        using V = std::remove_const_t<T>;
        constexpr bool writable = !std::is_const_v<T>;
        return range<array_part<V, writable>>({expr<V, 1>(operand<gpu_vector_view<T>>::node(x)), x.c_view()}, std::int64_t(x.size()));
    }
};
template <class P> struct to_range<range<P>, void> {
    static const range<P> &of(const range<P> &r) { return r; }
};
template <class X> struct to_range<X, std::enable_if_t<is_compound<X> && !is_range<X>>> {
    using E = compound_element<X>;
    static constexpr bool view = std::is_same_v<X, gpu_vector_view<E>>;
    static auto of(const X &x) { return ranged<view>(x); }
    static auto of(X &x) { return ranged<view || std::is_same_v<X, gpu_vector<E>>>(x); }

private:
    template <bool Writable> static auto ranged(const X &x) {
        static_assert(compound_operand<X>::rank == 1, "views are of vectors");
        const expr<E, 1> all(x);
        std::vector<agpu_view> targets;
        layout<E>::each(all, 0, [&](const auto &value, std::size_t at) {
            using T = typename std::decay_t<decltype(value)>::value_type;
            if constexpr (Writable) targets.push_back(field_of<T>(x.c_view(), std::int64_t(at), std::int64_t(sizeof(E))));
        });
        targets.resize(value_count<E>);
        std::size_t next = 0;
        auto part = part_of_values<E>(values_of(all), [&](const auto &value) {
            return array_part<typename std::decay_t<decltype(value)>::value_type, Writable>{value, targets[next++]};
        });
        return range<decltype(part)>(std::move(part), std::int64_t(arraygpu::size(all)));
    }
};
template <class X> decltype(auto) as_range(X &&x) { return to_range<std::decay_t<X>>::of(static_cast<X &&>(x)); }
template <class X> using range_of = std::decay_t<decltype(as_range(std::declval<X>()))>;

/// Lets ranges of scalars be operands of expressions.
template <class P> struct single {
    static constexpr bool is = false;
};
template <class T, bool W> struct single<array_part<T, W>> : operand_of<T, 1> {
    static constexpr bool is = true;
};
template <class T> struct single<scalar_part<T>> : operand_of<T, 1> {
    static constexpr bool is = true;
};
template <class T, bool E> struct single<count_part<T, E>> : operand_of<T, 1> {
    static constexpr bool is = true;
};
template <class E> struct single_element {
    static constexpr bool is = false;
};
template <class T> struct single_element<expr<T, 0>> : operand_of<T, 1> {
    static constexpr bool is = !compound<T>::is;
};
template <class P, class F> struct single<deferred_part<P, F>> : single_element<typename deferred_part<P, F>::element> {};
template <class P> struct operand<range<P>, std::enable_if_t<single<P>::is>> : single<P> {
    static node_ptr node(const range<P> &r) { return r.array().c_node(); }
};

/// Lets the views of which a view of tuples is made be reduced together.
template <class P, class E = typename P::element> struct joint_part {
    static constexpr bool is = false;
};
template <class P, class T> struct joint_part<P, expr<T, 0>> {
    static constexpr bool is = true;
    static void arrays(const P &part, std::int64_t size, node_ptr *&out, place at) { *out++ = part.array(size, at).c_node(); }
};
template <class E, class... P> struct joint_part<compound_part<E, P...>, expr<E, 0>> {
    static constexpr bool is = true;
    static void arrays(const compound_part<E, P...> &several, std::int64_t size, node_ptr *&out, place at) {
        std::apply([&](const P &...p) { ((*out++ = p.array(size, at).c_node()), ...); }, several.parts);
    }
};
template <class... P> struct joint_part<group_part<P...>, std::tuple<typename P::element...>> {
    static constexpr bool is = (joint_part<P>::is && ...);
    static void arrays(const group_part<P...> &group, std::int64_t size, node_ptr *&out, place at) {
        std::apply([&](const P &...p) { (joint_part<P>::arrays(p, size, out, at), ...); }, group.parts);
    }
};
template <class P, class F, class... X> struct joint_part<deferred_part<P, F>, std::tuple<X...>> {
    using finite = decltype(std::declval<const deferred_part<P, F> &>().sliced(0, 0, 1, place()));
    static constexpr bool is = joint_part<finite>::is;
    static void arrays(const deferred_part<P, F> &part, std::int64_t size, node_ptr *&out, place at) {
        joint_part<finite>::arrays(part.sliced(0, size, 1, at), size, out, at);
    }
};
template <class P> struct joint<range<P>, std::enable_if_t<is_tuple<typename P::element>::value && joint_part<P>::is>> {
    static constexpr bool is = true;
    static constexpr int rank = 1;
    using elements = typename P::element;
    static void arrays(const range<P> &r, node_ptr *&out, place at) { joint_part<P>::arrays(r.part(), r.finite("the elements"), out, at); }
};

} // namespace detail

template <class T> template <class Part> gpu_vector<T> &gpu_vector<T>::operator=(const range<Part> &r) { return *this = r.array(); }
template <class T> template <class Part> const gpu_vector_view<T> &gpu_vector_view<T>::operator=(const range<Part> &r) const {
    return *this = r.array();
}

} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_VIEWS_RANGE_HPP
