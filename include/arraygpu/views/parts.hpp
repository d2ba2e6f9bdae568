// The parts of which a view's elements consist. Included by arraygpu/views.hpp.
#ifndef ARRAYGPU_VIEWS_PARTS_HPP
#define ARRAYGPU_VIEWS_PARTS_HPP

#include <arraygpu/expr.hpp>

#include <tuple>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {

template <class T> class element_ref;
template <class Part> class window_of;

namespace detail {

constexpr std::int64_t endless = -1;
template <class T> constexpr bool is_below_zero(T x) {
    if constexpr (std::is_signed_v<T>)
        return x < 0;
    else
        return false;
}

/// A function that is being traced over a view: the arrays that it reads, and a variable for an element of each.
class traversal {
public:
    explicit traversal(std::int64_t size) : size_(size) {}
    traversal(const traversal &) = delete;
    traversal &operator=(const traversal &) = delete;

    template <class T> expr<T, 0> element(const expr<T, 1> &array) {
        expr<T, 0> made = variable<T>();
        arrays_.push_back(array.c_node());
        variables_.push_back(made.c_node());
        return made;
    }
    /// The element's position.
    expr<std::int64_t, 0> index() {
        if (!index_) index_ = element(iota(size_)).c_node();
        return expr<std::int64_t, 0>(index_);
    }
    /// The values of a traced element, as an array.
    template <class T> expr<T, 1> values(const node_ptr &body, place at) const { return expr<T, 1>(values(body, type_of<T>::value, at)); }
    node_ptr values(const node_ptr &body, agpu_type type, place at) const {
        const std::size_t n = arrays_.size();
        std::vector<node_ptr> operands(arrays_);
        operands.insert(operands.end(), variables_.begin(), variables_.end());
        operands.push_back(body);
        return close(make_node(op::map, type, 1, operands.data(), std::uint32_t(2 * n + 1), at));
    }
    std::int64_t size() const noexcept { return size_; }

private:
    std::int64_t size_;
    std::vector<node_ptr> arrays_, variables_;
    node_ptr index_;
};

/// An array. Some can be written.
template <class T, bool Writable> struct array_part {
    static constexpr bool has_array = true, endless = false;
    using element = expr<T, 0>;
    expr<T, 1> values;
    agpu_view target; // what is written

    element read(traversal &over) const { return over.element(values); }
    array_part<T, false> sliced(std::int64_t start, std::int64_t stop, std::int64_t stride, place at) const {
        return {expr<T, 1>(detail::sliced(values.c_node(), 0, start, stop, stride, at)), {}};
    }
    array_part<T, false> reversed(std::int64_t, place at) const { return {arraygpu::reverse(values, at), {}}; }
    template <class I> array_part<T, false> gathered(const expr<I, 1> &indices, place at) const {
        const expr<T, 1> &from = values;
        return {map([&from, at](const expr<I> &i) { return arraygpu::at(from, i, at); }, indices, at), {}};
    }
    element at_index(const expr<std::int64_t> &i, place at) const { return arraygpu::at(values, i, at); }
    expr<T, 1> array(std::int64_t, place) const { return values; }
};
/// The same scalar everywhere.
template <class T> struct scalar_part {
    static constexpr bool has_array = false, endless = true;
    using element = expr<T, 0>;
    expr<T, 0> value;

    element read(traversal &) const { return value; }
    scalar_part sliced(std::int64_t, std::int64_t, std::int64_t, place) const { return *this; }
    scalar_part reversed(std::int64_t, place) const { return *this; }
    template <class I> scalar_part gathered(const expr<I, 1> &, place) const { return *this; }
    element at_index(const expr<std::int64_t> &, place) const { return value; }
    expr<T, 1> array(std::int64_t size, place at) const { return repeat(value, size, at); }
};
/// first, first + step, ...
template <class T, bool Endless> struct count_part {
    static constexpr bool has_array = true, endless = Endless;
    using element = expr<T, 0>;
    T first, step;

    expr<T, 0> of(const expr<std::int64_t, 0> &index) const {
        expr<T, 0> made = cast<T>(index);
        if (step != T(1)) made = made * step;
        if (first != T(0)) made = made + first;
        return made;
    }
    /// first + n * step, which wraps as elements do.
    T plus_product(std::int64_t n, T by) const { return T(std::uint64_t(first) + std::uint64_t(n) * std::uint64_t(by)); }
    element read(traversal &over) const { return of(over.index()); }
    count_part<T, false> sliced(std::int64_t start, std::int64_t, std::int64_t stride, place) const {
        return {plus_product(start, step), T(std::uint64_t(step) * std::uint64_t(stride))};
    }
    count_part<T, false> reversed(std::int64_t size, place) const { return {plus_product(size - 1, step), T(std::uint64_t(0) - std::uint64_t(step))}; }
    template <class I> array_part<T, false> gathered(const expr<I, 1> &indices, place at) const {
        return {map([this](const expr<I> &i) { return of(cast<std::int64_t>(i)); }, indices, at), {}};
    }
    element at_index(const expr<std::int64_t> &i, place) const { return of(i); }
    expr<T, 1> array(std::int64_t size, place at) const {
        const count_part &self = *this;
        return generate(
            size, [&self](const expr<std::int64_t> &i) { return self.of(i); }, at);
    }
};
/// Several parts: the elements are tuples.
template <class... P> struct group_part {
    static constexpr bool has_array = (P::has_array || ...), endless = (P::endless && ...);
    using element = std::tuple<typename P::element...>;
    std::tuple<P...> parts;

    element read(traversal &over) const {
        return std::apply([&over](const P &...p) { return element{p.read(over)...}; }, parts);
    }
    template <class F> static auto each(const std::tuple<P...> &parts, const F &f) {
        return std::apply([&f](const P &...p) { return group_part<decltype(f(p))...>{std::tuple<decltype(f(p))...>{f(p)...}}; }, parts);
    }
    auto sliced(std::int64_t start, std::int64_t stop, std::int64_t stride, place at) const {
        return each(parts, [=](const auto &p) { return p.sliced(start, stop, stride, at); });
    }
    auto reversed(std::int64_t size, place at) const {
        return each(parts, [=](const auto &p) { return p.reversed(size, at); });
    }
    template <class I> auto gathered(const expr<I, 1> &indices, place at) const {
        return each(parts, [&indices, at](const auto &p) { return p.gathered(indices, at); });
    }
    element at_index(const expr<std::int64_t> &i, place at) const {
        return std::apply([&i, at](const P &...p) { return element{p.at_index(i, at)...}; }, parts);
    }
};
/// Elements of several values: P are the parts of these.
template <class E, class... P> struct compound_part {
    static constexpr bool has_array = (P::has_array || ...), endless = (P::endless && ...);
    using element = expr<E, 0>;
    std::tuple<P...> parts;

    /// The expression of what f gives for each part.
    template <int Rank, class F> expr<E, Rank> joined(const F &f) const {
        return std::apply(
            [&f](const P &...p) {
                const node_ptr nodes[] = {f(p).c_node()...}, *next = nodes;
                return from_nodes<E, Rank>(next);
            },
            parts);
    }
    template <class F> auto each(const F &f) const {
        return std::apply([&f](const P &...p) { return compound_part<E, decltype(f(p))...>{std::tuple<decltype(f(p))...>{f(p)...}}; }, parts);
    }
    element read(traversal &over) const {
        return joined<0>([&over](const auto &p) { return p.read(over); });
    }
    auto sliced(std::int64_t start, std::int64_t stop, std::int64_t stride, place at) const {
        return each([=](const auto &p) { return p.sliced(start, stop, stride, at); });
    }
    auto reversed(std::int64_t size, place at) const {
        return each([=](const auto &p) { return p.reversed(size, at); });
    }
    template <class I> auto gathered(const expr<I, 1> &indices, place at) const {
        return each([&indices, at](const auto &p) { return p.gathered(indices, at); });
    }
    element at_index(const expr<std::int64_t> &i, place at) const {
        return joined<0>([&i, at](const auto &p) { return p.at_index(i, at); });
    }
    expr<E, 1> array(std::int64_t size, place at) const {
        return joined<1>([size, at](const auto &p) { return p.array(size, at); });
    }
};
template <class Part> struct picked_windows;
/// Neighbours: element i is the elements offset + i * step + j for j = 0 .. width - 1. The step is below 0 where the last one comes first.
template <class Part> struct window_part {
    static constexpr bool has_array = true, endless = false;
    using element = window_of<Part>;
    Part part;
    std::int64_t width, offset, step;

    element read(traversal &over) const { return element(*this, over); }
    window_part sliced(std::int64_t start, std::int64_t, std::int64_t stride, place) const {
        return {part, width, offset + start * step, step * stride};
    }
    window_part reversed(std::int64_t size, place) const { return {part, width, offset + (size - 1) * step, -step}; }
    template <class I> picked_windows<Part> gathered(const expr<I, 1> &indices, place) const;
    element at_index(const expr<std::int64_t> &i, place) const { return element(*this, i); }
};
/// The windows of these numbers.
template <class Part> struct picked_windows {
    static constexpr bool has_array = true, endless = false;
    using element = window_of<Part>;
    window_part<Part> windows;
    array_part<std::int64_t, false> which;

    element read(traversal &over) const { return element(windows, which.read(over)); }
    picked_windows sliced(std::int64_t start, std::int64_t stop, std::int64_t stride, place at) const { return {windows, which.sliced(start, stop, stride, at)}; }
    picked_windows reversed(std::int64_t size, place at) const { return {windows, which.reversed(size, at)}; }
    template <class I> picked_windows gathered(const expr<I, 1> &indices, place at) const { return {windows, which.gathered(indices, at)}; }
    element at_index(const expr<std::int64_t> &i, place at) const { return element(windows, which.at_index(i, at)); }
};
template <class Part> template <class I> picked_windows<Part> window_part<Part>::gathered(const expr<I, 1> &indices, place) const {
    return {*this, {cast<std::int64_t>(indices), {}}};
}

/// Whether a function takes the parts of a tuple as separate arguments.
template <class F, class E> struct takes_parts : std::false_type {};
template <class F, class... E> struct takes_parts<F, std::tuple<E...>> : std::is_invocable<F &, E &...> {};

/// Calls f with an element: with the parts of a tuple if f takes that many arguments, else with the tuple.
template <class F, class E> decltype(auto) call(F &f, E &element) {
    if constexpr (takes_parts<F, E>::value) {
        return std::apply([&f](auto &...parts) -> decltype(auto) { return f(parts...); }, element);
    } else {
        static_assert(std::is_invocable_v<F &, E &>, "the function takes neither the element (of zip: one tuple) nor its parts");
        return f(element);
    }
}
template <class F, class E> using called = std::decay_t<decltype(detail::call(std::declval<F &>(), std::declval<E &>()))>;

} // namespace detail

/// An element of a window or chunk: neighbours.
template <class Part> class window_of {
public:
    /// The one at the position of the traversal, or of this number.
    window_of(const detail::window_part<Part> &from, detail::traversal &over) : from_(from), over_(&over) {}
    window_of(const detail::window_part<Part> &from, const expr<std::int64_t> &number) : from_(from), number_(number) {}

    std::int64_t size() const noexcept { return from_.width; }
    /// The j-th of them; 0 <= j < size().
    typename Part::element operator[](std::int64_t j) const {
        if (j < 0 || j >= from_.width) {
            throw error(AGPU_ERROR_OUT_OF_BOUNDS, "a window of " + detail::number_of(from_.width, "element") + " has no element " + std::to_string(j));
        }
        if (!over_) return from_.part.at_index(start() + j, {});
        // of no windows there are no elements to slice
        const std::int64_t n = over_->size();
        if (n == 0) return from_.part.sliced(0, 0, 1, {}).read(*over_);
        const std::int64_t first = from_.offset + j, last = first + (n - 1) * from_.step;
        if (from_.step > 0) return from_.part.sliced(first, last + 1, from_.step, {}).read(*over_);
        return from_.part.sliced(last, first + 1, -from_.step, {}).reversed(n, {}).read(*over_);
    }
    /// Element at a traced index; an index outside of the array reads 0 and leaves an error.
    template <class I, detail::if_operands<I> = 0> typename Part::element operator[](const I &j) const {
        return from_.part.at_index(start() + cast<std::int64_t>(j), {});
    }
    /// The sum of the elements, added from left to right.
    auto sum(detail::place here = ARRAYGPU_HERE) const {
        constexpr std::int64_t unrolled = 64;
        if (from_.width <= unrolled) {
            auto all = (*this)[0];
            for (std::int64_t j = 1; j < size(); ++j) all = all + (*this)[j];
            return all;
        }
        const expr<std::int64_t, 0> begin = start();
        const auto &part = from_.part;
        const detail::place at = here.of("sum");
        const auto add = [&](const auto &all, const auto &j) { return all + part.at_index(begin + (j + 1), at); };
        return detail::counted(from_.width - 1, part.at_index(begin, at), add, at);
    }

private:
    expr<std::int64_t, 0> start() const {
        expr<std::int64_t, 0> at = over_ ? over_->index() : number_;
        if (from_.step != 1) at = at * from_.step;
        if (from_.offset != 0) at = at + from_.offset;
        return at;
    }

    detail::window_part<Part> from_;
    detail::traversal *over_ = nullptr; // null: the window of a number
    expr<std::int64_t> number_;
};

} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_VIEWS_PARTS_HPP
