// Algorithms: they compute, at once. Included by arraygpu/views.hpp.
#ifndef ARRAYGPU_VIEWS_ALGORITHMS_HPP
#define ARRAYGPU_VIEWS_ALGORITHMS_HPP

#include <arraygpu/views/adaptors.hpp>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {
namespace detail {

/// The assignments that a function makes through its arguments.
class writes {
public:
    std::size_t add(const node_ptr &value, const agpu_view &target, agpu_type type) {
        slots_.push_back({value, target, type, false});
        return slots_.size() - 1;
    }
    const node_ptr &value(std::size_t i) const { return slots_[i].value; }
    void set(std::size_t i, node_ptr value) {
        slots_[i].value = std::move(value);
        slots_[i].written = true;
    }
    /// Computes all assignments in one run.
    void run(const traversal &over, place at) const;

private:
    struct slot {
        node_ptr value;
        agpu_view target;
        agpu_type type;
        bool written;
    };
    std::vector<slot> slots_;
};

/// Where the value of an element is stored: in a slot, or by itself.
template <class T> struct element_place {
    writes *to;
    std::size_t slot;
    node_ptr own;
};

} // namespace detail

/// An element that can be written: what for_each gives for the elements of a vector that is not const. It reads as expr<T>; the value
/// that is assigned to it is stored in the vector. A copy is a variable of its own, with the value that the element has then.
template <class T> class element_ref {
public:
    using value_type = T;

    element_ref(detail::element_place<T> at) noexcept : at_(std::move(at)) {}
    element_ref(const element_ref &other) : at_{nullptr, 0, other.node()} {}
    element_ref &operator=(const element_ref &other) { return *this = other.get(); }
    template <class X> element_ref &operator=(const X &x) {
        detail::node_ptr value = detail::node_of<T>(x);
        if (at_.to) at_.to->set(at_.slot, std::move(value));
        else at_.own = std::move(value);
        return *this;
    }
    expr<T, 0> get() const { return expr<T, 0>(node()); }
    const detail::element_place<T> &place() const { return at_; }

private:
    const detail::node_ptr &node() const { return at_.to ? at_.to->value(at_.slot) : at_.own; }

    detail::element_place<T> at_;
};

namespace detail {

template <class T> struct operand<element_ref<T>> : operand_of<T, 0> {
    static node_ptr node(const element_ref<T> &e) { return e.get().c_node(); }
};
template <class T> struct writable<element_ref<T>> : writable<gpu_vector<T>> {};

/// A tuple of elements. A copy has the same elements, as that of a tuple of references has.
template <class... X> class element_tuple : public std::tuple<X...> {
public:
    template <class... P> explicit element_tuple(std::tuple<P...> places) : std::tuple<X...>(std::move(places)) {}
    element_tuple(const element_tuple &other) : std::tuple<X...>(other.places()) {}
    element_tuple &operator=(const element_tuple &) = default;
    auto places() const {
        return std::apply([](const X &...x) { return std::tuple<decltype(places_of(x))...>(places_of(x)...); }, *this);
    }

private:
    template <class T> static element_place<T> places_of(const element_ref<T> &x) { return x.place(); }
    template <class... T> static auto places_of(const element_tuple<T...> &x) { return x.places(); }
    template <class T> static T places_of(const T &x) { return x; }
};

/// The elements that for_each gives, made of what refer() returns. They are made in place, because a copy is no reference.
template <class X> struct element_of {
    using type = X;
};
template <class T> struct element_of<element_place<T>> {
    using type = element_ref<T>;
};
template <class... X> struct element_of<std::tuple<X...>> {
    using type = element_tuple<typename element_of<X>::type...>;
};
template <class... X> struct is_tuple<element_tuple<X...>> : std::true_type {};
template <class F, class... X> struct takes_parts<F, element_tuple<X...>> : takes_parts<F, std::tuple<X...>> {};

/// What for_each gives for the elements of a part: places for those that can be written.
template <class P> auto refer(const P &part, traversal &over, writes &) { return part.read(over); }
template <class T> auto refer(const array_part<T, true> &part, traversal &over, writes &to) {
    return element_place<T>{&to, to.add(part.read(over).c_node(), part.target, type_of<T>::value), {}};
}
/// Of several values the expression, whose values are compared with these slots afterwards.
template <class E, class... T> expr<E, 0> refer(const compound_part<E, array_part<T, true>...> &part, traversal &over, writes &to) {
    return part.template joined<0>([&](const auto &p) { return element_ref(refer(p, over, to)).get(); });
}
template <class... P> auto refer(const group_part<P...> &group, traversal &over, writes &to) {
    return std::apply([&](const P &...p) { return std::tuple<decltype(refer(p, over, to))...>{refer(p, over, to)...}; }, group.parts);
}
/// Sets the slots of values that the function changed; `slot` is the first one of the part.
template <class P, class X> void collect(const P &, const X &, std::size_t &, writes &) {}
template <class T, class X> void collect(const array_part<T, true> &, const X &, std::size_t &slot, writes &) { ++slot; }
template <class E, class... T> void collect(const compound_part<E, array_part<T, true>...> &, const expr<E, 0> &e, std::size_t &slot, writes &to) {
    layout<E>::each(e, 0, [&](const auto &value, std::size_t) {
        if (value.c_node().get() != to.value(slot).get()) to.set(slot, value.c_node());
        ++slot;
    });
}
template <class... P, class... X> void collect(const group_part<P...> &group, const element_tuple<X...> &elements, std::size_t &slot, writes &to) {
    std::apply([&](const X &...x) { std::apply([&](const P &...p) { (collect(p, x, slot, to), ...); }, group.parts); }, elements);
}
template <class P> struct can_write : std::false_type {};
template <class T> struct can_write<array_part<T, true>> : std::true_type {};
template <class... P> struct can_write<group_part<P...>> : std::bool_constant<(can_write<P>::value || ...)> {};
template <class E, class... T> struct can_write<compound_part<E, array_part<T, true>...>> : std::true_type {};

inline void writes::run(const traversal &over, place at) const {
    std::vector<node_ptr> roots;
    std::vector<output> outputs;
    for (const slot &s : slots_) {
        if (!s.written) continue;
        roots.push_back(over.values(s.value, s.type, at));
        outputs.push_back({roots.back().get(), to_view(s.target)});
    }
    if (!outputs.empty()) detail::run(outputs.data(), outputs.size(), nullptr);
}

/// The elements of a range as an array. The length of one that is stored may be known to the device only.
template <class P> auto array_of(const range<P> &r) {
    if constexpr (P::endless) return r.array();
    else return r.part().array(r.length(), {});
}
/// Results of parts that go to parts.
struct part_results {
    std::int64_t size;
    std::vector<node_ptr> roots;
    std::vector<output> outputs;
};
template <class P, class U, bool W> void add_results(const P &from, const array_part<U, W> &to, part_results &out) {
    static_assert(W, "the outputs are vectors that are not const, or their views");
    constexpr bool is_same = std::is_same_v<typename P::element, expr<U, 0>>;
    static_assert(is_same, "an output has another element type: nothing converts by itself, so write cast<T>(x)");
    if constexpr (is_same) {
        out.roots.push_back(from.array(out.size, {}).c_node());
        out.outputs.push_back({out.roots.back().get(), to_view(to.target)});
    }
}
template <class P, class Q> void add_all_results(const P &from, const Q &to, part_results &out);
template <class... P, class... Q> void add_results(const group_part<P...> &from, const group_part<Q...> &to, part_results &out) { add_all_results(from, to, out); }
template <class E, class... P, class G, class... Q> void add_results(const compound_part<E, P...> &from, const compound_part<G, Q...> &to, part_results &out) { add_all_results(from, to, out); }
template <class P, class Q> void add_all_results(const P &from, const Q &to, part_results &out) {
    std::apply([&](const auto &...p) { std::apply([&](const auto &...q) {
        static_assert(sizeof...(p) == sizeof...(q), "as many outputs as the function gives values");
        if constexpr (sizeof...(p) == sizeof...(q)) (add_results(p, q, out), ...);
    }, to.parts); }, from.parts);
}
/// Computes the arrays of a range of scalars or tuples into the same number of outputs.
template <class P, class Out> void compute(const range<P> &from, Out &out) {
    if constexpr (is_range<std::remove_const_t<Out>>) {
        part_results made{P::endless ? from.finite("transform") : from.length(), {}, {}};
        add_results(from.part(), out.part(), made);
        detail::run(made.outputs.data(), made.outputs.size(), nullptr);
    } else {
        put(out, array_of(from));
    }
}

template <class X> inline constexpr bool is_scalar_argument = is_host<X> || (is_operand<X> && rank_of<X>() == 0);
/// What a reduction may begin with: a scalar, or a tuple of scalars and tuples.
template <class X> struct begins : std::bool_constant<is_scalar_argument<X> || is_compound_scalar<X>()> {};
template <class... X> struct begins<std::tuple<X...>> : std::bool_constant<(begins<std::decay_t<X>>::value && ...)> {};
template <class A, class B> struct begins<std::pair<A, B>> : begins<std::tuple<A, B>> {};
/// What is reduced: of scalars an expression, of tuples the view itself.
template <class P> auto reducible(const range<P> &r) {
    if constexpr (is_tuple<typename P::element>::value)
        return r;
    else
        return r.array();
}
/// The left operand of `|` as what words are called with: what a filter keeps stays what it is.
template <class X> decltype(auto) in_words(X &&x) {
    if constexpr (is_filtered<std::decay_t<X>>::value)
        return static_cast<const std::decay_t<X> &>(x);
    else
        return reducible(as_range(static_cast<X &&>(x)));
}

} // namespace detail

/// out = f of each element of in. `out` is a gpu_vector, which gets in's size, or a view of as many elements. If f returns a tuple, `out` is
/// views::zip of an output for each part, which has as many elements already: in a zip vectors are views, which keep their sizes.
template <class In, class Out, class F> void transform(In &&in, Out &&out, F &&f, detail::place here = ARRAYGPU_HERE) {
    const auto made = views::transform(static_cast<In &&>(in), f, here.of("transform"));
    detail::compute(made, out);
}
/// out = f of each pair of elements of two ranges.
template <class In, class Second, class Out, class F, std::enable_if_t<!std::is_same_v<std::decay_t<F>, detail::place>, int> = 0>
void transform(In &&in, Second &&second, Out &&out, F &&f, detail::place here = ARRAYGPU_HERE) {
    arraygpu::transform(detail::zipped(here.of("transform"), detail::as_range(in), detail::as_range(second)), out, f, here.of("transform"));
}
/// Calls f for the elements, so that it assigns to its arguments: those of the zipped ranges that are not const. All assignments are one run, in
/// which f reads the values from before the run.
template <class X, class F> void for_each(X &&x, F &&f, detail::place here = ARRAYGPU_HERE) {
    using Range = detail::range_of<X>;
    using Part = std::decay_t<decltype(std::declval<Range>().part())>;
    static_assert(detail::can_write<Part>::value, "for_each writes through its arguments, and none of these can be written");
    const Range r = detail::as_range(static_cast<X &&>(x));
    const detail::trace inside;
    detail::traversal over(r.length());
    detail::writes to;
    auto places = detail::refer(r.part(), over, to);
    typename detail::element_of<decltype(places)>::type element(std::move(places));
    static_cast<void>(detail::call(f, element));
    std::size_t first = 0;
    detail::collect(r.part(), element, first, to);
    to.run(over, here.of("for_each"));
}
/// Computes the elements of a view into a vector, which gets its size, or into a view of the same size.
template <class In, class Out, std::enable_if_t<detail::is_operand<std::decay_t<In>> || detail::is_compound<std::decay_t<In>>, int> = 0> void copy(In &&in, Out &&out) {
    detail::put(out, detail::as_expr(in));
}
/// Copies a std::vector, std::array, .. to the device.
template <class C, class T = typename C::value_type, std::enable_if_t<detail::is_contiguous_of<C, T>::value && !detail::is_operand<C>, int> = 0>
gpu_vector<T> copy(const C &host, context_ref where = {}) {
    return gpu_vector<T>(host, where);
}
inline gpu_vector<bool> copy(const std::vector<bool> &host, context_ref where = {}) { return gpu_vector<bool>(host, where); }
/// Every element becomes the value: a number, or a scalar expression.
template <class Out, class V, std::enable_if_t<detail::is_operand<std::decay_t<Out>> && detail::is_scalar_argument<V>, int> = 0>
void fill(Out &&out, const V &value) {
    using T = detail::element_type<std::decay_t<Out>>;
    if constexpr (detail::is_number<V>) {
        detail::beside<T, V>();
        if (out.size()) out.fill(detail::number_as<T>(value));
    } else {
        arraygpu::copy(repeat(expr<T, 0>(value), std::int64_t(out.size())), out);
    }
}

template <class Out, class V, std::enable_if_t<detail::is_compound<std::decay_t<Out>> && detail::is_compound_scalar<V>(), int> = 0> void fill(Out &&out, const V &value) {
    arraygpu::copy(repeat(value, std::int64_t(out.size())), out);
}

/// `view | reduce_noncommutative(init, f)`: see reduce_noncommutative(x, init, f).
template <class I, class F, std::enable_if_t<!detail::joint<I>::is, int> = 0>
auto reduce_noncommutative(const I &init, F f, detail::place here = ARRAYGPU_HERE) {
    return detail::adaptor{[=](auto &&x) { return arraygpu::reduce_noncommutative(detail::reducible(detail::as_range(x)), init, f, here.of("reduce_noncommutative")); }};
}
/// `view | reduce(init)`, `view | reduce(init, f)`: see reduce(x, init, f). A scalar that is computed when it becomes a number.
template <class I, std::enable_if_t<detail::is_scalar_argument<I>, int> = 0>
auto reduce(const I &init, detail::place here = ARRAYGPU_HERE) {
    return detail::adaptor{[=](auto &&x) {
        if constexpr (detail::is_filtered<std::decay_t<decltype(x)>>::value)
            return arraygpu::reduce(x, init, here.of("reduce"));
        else
            return arraygpu::reduce(detail::as_range(x).array(), init, here.of("reduce"));
    }};
}
template <class I, class F,
          std::enable_if_t<detail::begins<I>::value && !detail::begins<F>::value && !std::is_same_v<std::decay_t<F>, detail::place>, int> = 0>
auto reduce(const I &init, F f, detail::place here = ARRAYGPU_HERE) {
    return detail::adaptor{[=](auto &&x) {
        return arraygpu::reduce(detail::in_words(x), init, f, here.of("reduce"));
    }};
}
/// `view | fold(init, f)`: see fold(x, init, f).
template <class I, class F,
          std::enable_if_t<detail::begins<I>::value && !detail::begins<F>::value && !std::is_same_v<std::decay_t<F>, detail::place>, int> = 0>
auto fold(const I &init, F f, detail::place here = ARRAYGPU_HERE) {
    return detail::adaptor{[=](auto &&x) { return arraygpu::fold(detail::reducible(detail::as_range(x)), init, f, here.of("fold")); }};
}

} // namespace AGPU_HEADERS
} // namespace arraygpu

template <class... X> struct std::tuple_size<arraygpu::detail::element_tuple<X...>> : std::tuple_size<std::tuple<X...>> {};
template <std::size_t I, class... X> struct std::tuple_element<I, arraygpu::detail::element_tuple<X...>> : std::tuple_element<I, std::tuple<X...>> {};

#endif // ARRAYGPU_VIEWS_ALGORITHMS_HPP
