// The parts of stencils: windows of neighbours, weighted sums of them, margins beyond the edges, and arrays with a
// part replaced. Included by arraygpu/expr.hpp.
#ifndef ARRAYGPU_EXPR_STENCILS_HPP
#define ARRAYGPU_EXPR_STENCILS_HPP

#include <arraygpu/expr/assign.hpp>
#include <arraygpu/expr/moments.hpp>

#include <iterator>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {

/// What lies beyond the edges of an array: `boundary::clamp` repeats the element at the edge (`a a | a b c | c c`),
/// `mirror` mirrors the array there (`b a | a b c | c b`), `wrap` begins it again (`b c | a b c | a b`),
/// `constant(value)` is a value.
namespace boundary {
template <detail::edge Edge> struct known_edge {
    static constexpr detail::edge which = Edge;
};
template <class V> struct constant_edge {
    static constexpr detail::edge which = detail::edge::constant;
    V value;
};
inline constexpr known_edge<detail::edge::clamp> clamp{};
inline constexpr known_edge<detail::edge::mirror> mirror{};
inline constexpr known_edge<detail::edge::wrap> wrap{};
template <class V> constant_edge<V> constant(const V &value) { return {value}; }
} // namespace boundary

/// The windows of an array along one axis, by number: `windows2(m, 3, 3)[r][c]`. A number that is none of them
/// throws.
template <class W> class window_list {
public:
    window_list(std::vector<W> parts, std::string of, const char *axis) : parts_(std::move(parts)), of_(std::move(of)), axis_(axis) {}
    const W &operator[](std::size_t i) const {
        if (i < parts_.size()) return parts_[i];
        throw error(AGPU_ERROR_OUT_OF_BOUNDS, of_ + "[" + std::to_string(i) + "]: the window has " + std::to_string(parts_.size()) + " " + axis_ +
                                                  ", which are numbered from 0");
    }
    std::size_t size() const noexcept { return parts_.size(); }
    auto begin() const noexcept { return parts_.begin(); }
    auto end() const noexcept { return parts_.end(); }

private:
    std::vector<W> parts_;
    std::string of_;
    const char *axis_;
};

namespace detail {

/// Enables what takes arrays of a rank, also of structs and complex numbers.
template <class A, int Rank> using if_rank = std::enable_if_t<(is_operand<A> || is_compound<A>)&&rank_of_any<A>() == Rank, int>;

/// What f gives for the node of each value of an array's elements, as an array of the same elements.
template <class E, int Rank, class F> expr<E, Rank> of_nodes(const expr<E, Rank> &e, const F &f) {
    if constexpr (compound<E>::is)
        return of_values(e, [&f](const auto &value) { return std::decay_t<decltype(value)>(f(value.c_node())); });
    else
        return expr<E, Rank>(f(e.c_node()));
}

/// The windows of an array: how many there are along each axis, and the array's extents, which must be known and
/// large enough.
struct window_shape {
    const char *word;
    int rank;
    extents_in count, array;

    std::string name() const {
        std::string all(word);
        for (int axis = 0; axis < rank; ++axis) all += (axis ? ", " : "(") + std::to_string(count.n[axis]);
        return all + ")";
    }
    void check(place at) const {
        const place nowhere{at.file, at.line, at.column}; // the name has the word
        for (int axis = 0; axis < rank; ++axis) {
            if (count.n[axis] < 1) fail(AGPU_ERROR_INVALID_ARGUMENT, name() + ": a window has an element along each axis", nowhere);
            if (array.n[axis] < 0) fail(AGPU_ERROR_INVALID_ARGUMENT, name() + ": the extents of the array are not known before it is computed", nowhere);
        }
        for (int axis = 0; axis < rank; ++axis) {
            if (count.n[axis] <= array.n[axis]) continue;
            std::string shape;
            for (int k = 0; k < rank; ++k) shape += (k ? " x " : "") + std::to_string(array.n[k]);
            fail(AGPU_ERROR_SHAPE, name() + ": the array " + (rank == 1 ? "has " + number_of(array.n[0], "element") : "is " + shape), nowhere);
        }
    }
};
template <class E> window_shape windows_of(const char *word, const E &e, const extents_in &count, place at) {
    const window_shape all{word, rank_of_any<E>(), count, extents_of(first_node(e))};
    all.check(at);
    return all;
}
/// Window i of an array along an axis.
template <class E> E window(const E &e, const window_shape &all, int axis, std::int64_t i, place at) {
    return of_nodes(e, [&](const node_ptr &array) { return sliced(array, axis, i, i + all.array.n[axis] - (all.count.n[axis] - 1), 1, at); });
}
/// The windows along the axes from one on, nested.
template <int Axis, class E> auto windows_from(const E &e, const window_shape &all, const std::string &of, place at) {
    // an expression of structs has no members but its fields
    constexpr int rank = rank_of_any<E>();
    constexpr const char *names[] = {"planes", "rows", "columns"};
    const char *const name = rank == 1 ? "elements" : names[3 - rank + Axis];
    if constexpr (Axis + 1 == rank) {
        std::vector<E> parts;
        for (std::int64_t i = 0; i < all.count.n[Axis]; ++i) parts.push_back(window(e, all, Axis, i, at));
        return window_list<E>(std::move(parts), of, name);
    } else {
        std::vector<decltype(windows_from<Axis + 1>(e, all, of, at))> parts;
        for (std::int64_t i = 0; i < all.count.n[Axis]; ++i)
            parts.push_back(windows_from<Axis + 1>(window(e, all, Axis, i, at), all, of + "[" + std::to_string(i) + "]", at));
        return window_list<typename decltype(parts)::value_type>(std::move(parts), of, name);
    }
}
template <class E> auto windows(const char *word, const E &e, const extents_in &count, place at) {
    const window_shape all = windows_of(word, e, count, at);
    return windows_from<0>(e, all, all.name(), at);
}

template <class W, class = void> struct is_list : std::false_type {};
template <class W> struct is_list<W, std::void_t<decltype(std::begin(std::declval<const W &>())), decltype(std::size(std::declval<const W &>()))>> : std::true_type {};

/// The weights of a sum, row by row, and how many there are along each axis.
template <class T, int Rank> class weight_list {
public:
    template <class W> weight_list(const W &weights, place at) : at_(at) {
        add<0>(weights);
        if (all_.empty()) fail(AGPU_ERROR_INVALID_ARGUMENT, "it needs a weight", at_);
    }
    const extents_in &count() const noexcept { return count_; }
    const std::vector<expr<T>> &all() const noexcept { return all_; }

private:
    template <int Axis, class W> void add(const W &weights) {
        static_assert(is_list<W>::value, "weights are a list of numbers for a vector, of rows of numbers for a matrix, of planes of rows for an array of three dimensions");
        constexpr const char *names[] = {"planes", "rows", "weights"};
        if constexpr (is_list<W>::value) {
            const auto n = std::int64_t(std::size(weights));
            std::int64_t &count = count_.n[Axis];
            if (count >= 0 && count != n) {
                fail(AGPU_ERROR_INVALID_ARGUMENT, std::string("the ") + names[2 - Rank + Axis] + " of the weights have " + std::to_string(count) + " and " +
                                                       std::to_string(n) + " " + names[3 - Rank + Axis], at_);
            }
            count = n;
            for (const auto &one : weights) {
                if constexpr (Axis + 1 < Rank) add<Axis + 1>(one);
                else all_.emplace_back(node_of<T>(one));
            }
        }
    }
    place at_;
    extents_in count_{{-1, Rank > 1 ? -1 : 1, Rank > 2 ? -1 : 1}};
    std::vector<expr<T>> all_;
};

/// The elements of nested windows, row by row.
template <class E> void flat(const E &e, std::vector<E> &to) { to.push_back(e); }
template <class W, class E> void flat(const window_list<W> &windows, std::vector<E> &to) {
    for (const W &part : windows) flat(part, to);
}
/// The first product is rounded, then follows a chain of multiply-adds. Halves are summed as floats and rounded once.
template <class A, class W> auto weighted(const char *word, const A &a, const W &weights, place at) {
    using T = element_type<A>;
    using Wide = wide_type<T>;
    static_assert(!std::is_same_v<T, bool>, "a weighted sum of truth values: write cast<int>(x)");
    const weight_list<T, rank_of<A>()> list(weights, at);
    const auto e = as_expr(a);
    std::vector<std::decay_t<decltype(e)>> x;
    flat(windows(word, e, list.count(), at), x);
    auto sum = as<Wide>(as<Wide>(list.all()[0]) * as<Wide>(x[0]));
    for (std::size_t i = 1; i < x.size(); ++i) sum = arraygpu::mul_add(as<Wide>(list.all()[i]), as<Wide>(x[i]), sum);
    return as<T>(sum);
}

/// The width of a margin: a number of the host, or a scalar expression, which stays a node of the program.
class width {
public:
    template <class N, std::enable_if_t<is_host<N>, int> = 0> width(const N &n) : known_(static_cast<std::int64_t>(n)) {
        static_assert(!is_real<N>, "the width of a margin is an integer");
    }
    /// What becomes an integer by itself, such as an enumerator.
    template <class N, std::enable_if_t<!is_host<N> && !is_operand<N> && std::is_convertible_v<N, std::int64_t>, int> = 0>
    width(const N &n) : known_(n) {}
    template <class N, std::enable_if_t<is_operand<N>, int> = 0> width(const N &n) : is_node_(true), node_(index_node(n)) {
        const bool is_number = node_->code == op::literal || node_->code == op::constant;
        known_ = is_number ? node_->own.numbers[0] : -1;
    }
    /// The number, or -1 if only the program knows it.
    std::int64_t known() const noexcept { return known_; }
    bool is_node() const noexcept { return is_node_; }
    /// One node for all fields of a struct. A number beside an expression is a part of the program as one alone is.
    const node_ptr &node() const {
        if (!node_) node_ = make_number<std::int64_t>(0 <= known_ && known_ <= 64 ? op::constant : op::literal, known_);
        return node_;
    }

private:
    std::int64_t known_ = -1;
    bool is_node_ = false;
    mutable node_ptr node_;
};
/// The margins before and after an axis.
struct widths {
    widths() : widths(0, 0) {}
    widths(const width &first, const width &second) : before(first), after(second) {}
    template <class N> widths(const std::array<N, 2> &both) : widths(both[0], both[1]) {}
    widths(const std::array<std::int64_t, 2> &both) : widths(both[0], both[1]) {}
    width before, after;
};
template <class B> struct is_boundary : std::false_type {};
template <edge Edge> struct is_boundary<boundary::known_edge<Edge>> : std::true_type {};
template <class V> struct is_boundary<boundary::constant_edge<V>> : std::true_type {};

inline node_ptr padded(node_ptr array, int axis, const widths &margins, edge beyond, const node_ptr &value, place at) {
    const bool is_node = margins.before.is_node() || margins.after.is_node();
    const std::int64_t before = margins.before.known(), after = margins.after.known();
    if (!is_node && before == 0 && after == 0) return array;
    const auto type = agpu_type(array->type);
    const int rank = array->rank;
    extents_in extents = extents_of(*array.get());
    // a length that no array has is refused when the expression is computed
    const std::int64_t most = INT64_MAX / 4;
    const bool is_known = extents.n[axis] >= 0 && before >= 0 && after >= 0 && extents.n[axis] <= most && before <= most && after <= most;
    extents.n[axis] = is_known ? extents.n[axis] + before + after : -1;
    if (is_node) {
        node_ptr operands[] = {std::move(array), margins.before.node(), margins.after.node(), value};
        node_ptr made = make_node(op::pad_by, type, rank, operands, value ? 4 : 3, at);
        made->own.numbers[0] = axis;
        made->own.numbers[1] = std::int64_t(beyond);
        return with_extents(std::move(made), extents);
    }
    node_ptr made = value ? make_node(op::pad, type, rank, std::move(array), value, at) : make_node(op::pad, type, rank, std::move(array), at);
    const std::int64_t numbers[] = {axis, before, after, std::int64_t(beyond)};
    std::memcpy(made->own.numbers, numbers, sizeof numbers);
    return with_extents(std::move(made), extents);
}
/// Margins along the axes, the first one first.
template <class A, class B> auto with_margins(const A &a, std::initializer_list<widths> margins, const B &beyond, place at) {
    static_assert(is_boundary<B>::value, "the boundary is boundary::clamp, boundary::mirror, boundary::wrap or boundary::constant(value)");
    const auto e = as_expr(a);
    using E = typename std::decay_t<decltype(e)>::value_type;
    std::vector<node_ptr> values;
    if constexpr (!is_boundary<B>::value || B::which != edge::constant)
        values.resize(value_count<E>);
    else if constexpr (compound<E>::is)
        layout<E>::each(expr<E>(beyond.value), 0, [&values](const auto &value, std::size_t) { values.push_back(value.c_node()); });
    else
        values.push_back(node_of<E>(beyond.value));
    const node_ptr *value = values.data();
    return of_nodes(e, [&](node_ptr array) {
        if constexpr (is_boundary<B>::value) {
            int axis = 0;
            for (const widths &one : margins) array = padded(std::move(array), axis++, one, B::which, *value, at);
            ++value;
        }
        return array;
    });
}

/// The array with the elements of a part in place of those from `start` on.
template <class A, class P> auto replaced(const A &a, const P &part, const extents_in &start, place at) {
    static_assert(is_operand<P> || is_compound<P>, "the part is an array, a view or an expression");
    const auto e = as_expr(a);
    const auto other = as_expr(part);
    static_assert(rank_of_any<A>() == rank_of_any<P>(), "the part has another rank than the array");
    using E = typename std::decay_t<decltype(e)>::value_type;
    static_assert(std::is_same_v<typename std::decay_t<decltype(other)>::value_type, E>, "the part has another element type than the array: write cast<T>(part)");
    std::vector<node_ptr> parts;
    of_nodes(other, [&parts](const node_ptr &one) { return parts.push_back(one), one; });
    const node_ptr *next = parts.data();
    return of_nodes(e, [&](const node_ptr &array) {
        node_ptr made = make_node(op::replace, agpu_type(array->type), array->rank, array, *next++, at);
        std::memcpy(made->own.numbers, start.n, sizeof start.n);
        return made;
    });
}

} // namespace detail

/// The k parts of size - (k - 1) elements, of which part i begins at element i: the neighbours of a stencil.
template <class A, detail::if_rank<A, 1> = 0>
auto windows(const A &a, std::int64_t k, detail::place here = ARRAYGPU_HERE) {
    return detail::windows("windows", detail::as_expr(a), {{k, 1, 1}}, here.of("windows"));
}
/// The parts of rows - (kr - 1) rows and cols - (kc - 1) columns: `windows2(m, kr, kc)[r][c]` begins in row r, column
/// c.
template <class A, detail::if_rank<A, 2> = 0>
auto windows2(const A &a, std::int64_t kr, std::int64_t kc, detail::place here = ARRAYGPU_HERE) {
    return detail::windows("windows2", detail::as_expr(a), {{kr, kc, 1}}, here.of("windows2"));
}
/// The parts of planes - (kp - 1) planes, rows - (kr - 1) rows and cols - (kc - 1) columns: `windows3(x, kp, kr,
/// kc)[p][r][c]` begins in plane p, row r, column c.
template <class A, detail::if_rank<A, 3> = 0>
auto windows3(const A &a, std::int64_t kp, std::int64_t kr, std::int64_t kc, detail::place here = ARRAYGPU_HERE) {
    return detail::windows("windows3", detail::as_expr(a), {{kp, kr, kc}}, here.of("windows3"));
}

/// weights[0] * x[i] + weights[1] * x[i + 1] + ..: the first product is rounded, then follows a chain of
/// multiply-adds. The result has one element less for each weight but the first. Weights are a std::array,
/// std::vector, C array or list in braces; staged ones are a part of the program.
template <class A, class W, detail::if_vector<A> = 0>
auto weighted_sum(const A &a, const W &weights, detail::place here = ARRAYGPU_HERE) {
    return detail::weighted("weighted_sum", a, weights, here.of("weighted_sum"));
}
template <class A, class W, std::size_t N, detail::if_vector<A> = 0>
auto weighted_sum(const A &a, const W (&weights)[N], detail::place here = ARRAYGPU_HERE) {
    return detail::weighted("weighted_sum", a, weights, here.of("weighted_sum"));
}
/// The sum of weights[r][c] * m[i + r, j + c], row by row of the weights, likewise.
template <class A, class W, detail::if_matrix<A> = 0>
auto weighted_sum2(const A &a, const W &weights, detail::place here = ARRAYGPU_HERE) {
    return detail::weighted("weighted_sum2", a, weights, here.of("weighted_sum2"));
}
template <class A, class W, std::size_t R, std::size_t C, detail::if_matrix<A> = 0>
auto weighted_sum2(const A &a, const W (&weights)[R][C], detail::place here = ARRAYGPU_HERE) {
    return detail::weighted("weighted_sum2", a, weights, here.of("weighted_sum2"));
}
/// The sum of weights[p][r][c] * x[k + p, i + r, j + c], plane by plane of the weights, likewise.
template <class A, class W, detail::if_volume<A> = 0>
auto weighted_sum3(const A &a, const W &weights, detail::place here = ARRAYGPU_HERE) {
    return detail::weighted("weighted_sum3", a, weights, here.of("weighted_sum3"));
}
template <class A, class W, std::size_t P, std::size_t R, std::size_t C, detail::if_volume<A> = 0>
auto weighted_sum3(const A &a, const W (&weights)[P][R][C], detail::place here = ARRAYGPU_HERE) {
    return detail::weighted("weighted_sum3", a, weights, here.of("weighted_sum3"));
}

/// The same value. GPUs keep stencils by this strategy, where that is possible, in the whole program that contains the
/// expression; an outer hint counts before those inside of it, and without one the compiler chooses. `explain(e)` says what was
/// done. No bit changes.
template <class A, detail::if_operands<A> = 0> auto stencil(const A &a, stencil_hint strategy) {
    constexpr int rank = detail::rank_of<A>();
    using T = detail::element_type<A>;
    detail::node_ptr made = detail::make_node(detail::op::stencil, detail::type_of<T>::value, rank, detail::operand<A>::node(a));
    made->own.numbers[0] = std::int64_t(strategy);
    return expr<T, rank>(std::move(made));
}
template <class A, detail::if_compound<A> = 0> auto stencil(const A &a, stencil_hint strategy) {
    return detail::of_parts(a, [&](const auto &part) { return arraygpu::stencil(part, strategy); });
}

/// The vector with more elements in front and behind, as the boundary says. Margins that are mirrored or wrapped are
/// at most as wide as the array, the others need an array with an element. Reading a margin leaves no error record.
/// A width is a number, which up to 64 is a part of the program, or an expression that is made of lengths and numbers:
/// `expr<std::int64_t>(k)` is a parameter, so that one program serves all widths.
template <class A, class B, detail::if_rank<A, 1> = 0>
auto padded(const A &a, const detail::width &before, const detail::width &after, const B &boundary, detail::place here = ARRAYGPU_HERE) {
    return detail::with_margins(a, {{before, after}}, boundary, here.of("padded"));
}
/// The matrix with more rows, `{above, below}`, and more columns, `{left, right}`. Rows are added first, so that
/// corners continue the rows' margins.
template <class A, class B, detail::if_rank<A, 2> = 0>
auto padded(const A &a, const detail::widths &rows, const detail::widths &cols, const B &boundary,
            detail::place here = ARRAYGPU_HERE) {
    return detail::with_margins(a, {rows, cols}, boundary, here.of("padded"));
}
/// The array with more planes, `{front, behind}`, rows and columns, added in this order.
template <class A, class B, detail::if_rank<A, 3> = 0>
auto padded(const A &a, const detail::widths &planes, const detail::widths &rows, const detail::widths &cols,
            const B &boundary, detail::place here = ARRAYGPU_HERE) {
    return detail::with_margins(a, {planes, rows, cols}, boundary, here.of("padded"));
}

/// The vector with the elements of `part` in place of those from `start` on. All of the part lies inside, and it has
/// an element.
template <class A, class P, detail::if_rank<A, 1> = 0>
auto with_slice(const A &a, std::int64_t start, const P &part, detail::place here = ARRAYGPU_HERE) {
    return detail::replaced(a, part, {{start, 0, 0}}, here.of("with_slice"));
}
/// A matrix, or an array of three dimensions, with the elements from this row and column, or plane, row and column, on
/// replaced by those of an array.
template <class A, class P, detail::if_rank<A, 2> = 0>
auto with_block(const A &a, std::int64_t row, std::int64_t col, const P &part, detail::place here = ARRAYGPU_HERE) {
    return detail::replaced(a, part, {{row, col, 0}}, here.of("with_block"));
}
template <class A, class P, detail::if_rank<A, 3> = 0>
auto with_block(const A &a, std::int64_t plane, std::int64_t row, std::int64_t col, const P &part, detail::place here = ARRAYGPU_HERE) {
    return detail::replaced(a, part, {{plane, row, col}}, here.of("with_block"));
}

} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_EXPR_STENCILS_HPP
