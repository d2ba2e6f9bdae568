// The functions that compute expressions: assignments, constructors, eval. Included by arraygpu/expr.hpp.
#ifndef ARRAYGPU_EXPR_ASSIGN_HPP
#define ARRAYGPU_EXPR_ASSIGN_HPP

#include <arraygpu/expr/run.hpp>
#include <arraygpu/expr/stage.hpp>

#include <array>
#include <memory>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {
namespace detail {

template <class T, class U, int Rank, int Want> constexpr void assignable() {
    static_assert(std::is_same_v<T, U>, "the expression has another element type: nothing converts by itself, so write cast<T>(e)");
    static_assert(Rank == Want, "the expression has another rank than what it is assigned to");
}

/// Where a result is written, and what happens after the run.
template <class Out> struct destination;

/// The node of an expression, of several values that of the first.
template <class T, int Rank> node &first_node(const expr<T, Rank> &e) {
    if constexpr (compound<T>::is) {
        node *first = nullptr;
        layout<T>::each(e, 0, [&first](const auto &value, std::size_t) { first = first ? first : value.c_node().get(); });
        return *first;
    } else {
        return *e.c_node().get();
    }
}
/// The values of type M at this place of all elements of a view.
template <class M, class T> agpu_arg to_values(const agpu_view &elements, std::size_t at) {
    return to_view(field_of<M>(elements, std::int64_t(at), std::int64_t(sizeof(T))));
}

/// An array: the result is written into its elements if the extents are the same and it has any, else into a new buffer, in the context of
/// the expression. Elements of several values are as many results.
template <class Array, class T, int Rank> class array_destination {
public:
    template <class U, int R> array_destination(Array &array, const expr<U, R> &e) : array_(array), view_(array.c_view()), fits_(view_.buffer != nullptr) {
        assignable<T, U, R, Rank>();
        const node &root = first_node(e);
        for (int axis = 0; axis < Rank; ++axis) fits_ = fits_ && view_.extent[axis] == root.extent[axis] && view_.extent[axis] != 0;
    }
    array_destination(const array_destination &) = delete;
    array_destination &operator=(const array_destination &) = delete;
    ~array_destination() {
        if (made_) static_cast<void>(agpu_buffer_free(made_));
    }
    agpu_arg to() noexcept { return fits_ ? to_view(view_) : to_new(&made_); }
    template <class M> agpu_arg to_value(std::size_t at) {
        if (fits_) return to_values<M, T>(view_, at);
        agpu_arg field = to_new(&made_);
        field.kind = AGPU_ARG_RESULT_NEW_FIELD;
        field.view.offset = std::int64_t(at);
        field.view.stride[0] = std::int64_t(sizeof(T));
        return field;
    }
    agpu_buffer *beside() const noexcept { return fits_ ? nullptr : view_.buffer; }
    void finish() {
        // a call that only asked for its workspace made nothing
        if (made_) array_ = Array::adopt(std::exchange(made_, nullptr));
    }

private:
    Array &array_;
    agpu_view view_;
    agpu_buffer *made_ = nullptr;
    bool fits_;
};
/// A view: its extents are checked when the program runs.
template <class View, class T, int Rank> struct view_destination {
    static_assert(!std::is_const_v<T>, "this view is not writable");
    template <class U, int R> view_destination(const View &v, const expr<U, R> &) : view(v.c_view()) { assignable<T, U, R, Rank>(); }
    agpu_view view;
    agpu_arg to() const noexcept { return to_view(view); }
    template <class M> agpu_arg to_value(std::size_t at) const { return to_values<M, T>(view, at); }
    agpu_buffer *beside() const noexcept { return nullptr; }
    void finish() const noexcept {}
};
/// A number, complex number or struct of the host.
template <class T> struct host_destination {
    template <class U, int Rank> host_destination(T &to, const expr<U, Rank> &) : value(&to) { assignable<T, U, Rank, 0>(); }
    T *value;
    agpu_arg to() const noexcept { return to_host(value); }
    template <class M> agpu_arg to_value(std::size_t at) const noexcept { return to_host(reinterpret_cast<char *>(value) + at); }
    agpu_buffer *beside() const noexcept { return nullptr; }
    void finish() const noexcept {}
};
template <class T> struct destination<gpu_vector<T>> : array_destination<gpu_vector<T>, T, 1> {
    using array_destination<gpu_vector<T>, T, 1>::array_destination;
};
template <class T> struct destination<gpu_matrix<T>> : array_destination<gpu_matrix<T>, T, 2> {
    using array_destination<gpu_matrix<T>, T, 2>::array_destination;
};
template <class T> struct destination<gpu_tensor3<T>> : array_destination<gpu_tensor3<T>, T, 3> {
    using array_destination<gpu_tensor3<T>, T, 3>::array_destination;
};
template <class T> struct destination<gpu_vector_view<T>> : view_destination<gpu_vector_view<T>, T, 1> {
    using view_destination<gpu_vector_view<T>, T, 1>::view_destination;
};
template <class T> struct destination<gpu_matrix_view<T>> : view_destination<gpu_matrix_view<T>, T, 2> {
    using view_destination<gpu_matrix_view<T>, T, 2>::view_destination;
};
template <class T> struct destination<gpu_tensor3_view<T>> : view_destination<gpu_tensor3_view<T>, T, 3> {
    using view_destination<gpu_tensor3_view<T>, T, 3>::view_destination;
};
template <class T> struct destination<gpu_scalar<T>> : view_destination<gpu_scalar<T>, T, 0> {
    using view_destination<gpu_scalar<T>, T, 0>::view_destination;
};
/// A view that is const itself can be written all the same.
template <class Out> using destination_of =
    std::conditional_t<is_number<Out> || compound<Out>::is, host_destination<Out>, destination<std::remove_const_t<Out>>>;

template <class T, int Rank, class D> void add_outputs(output *&next, const expr<T, Rank> &e, D &d) {
    if constexpr (compound<T>::is) {
        layout<T>::each(e, 0, [&](const auto &value, std::size_t at) {
            *next++ = {value.c_node().get(), d.template to_value<typename std::decay_t<decltype(value)>::value_type>(at)};
        });
    } else {
        *next++ = {e.c_node().get(), d.to()};
    }
}
template <class T> constexpr std::size_t output_count() {
    if constexpr (compound<T>::is) return value_count<T>;
    return 1;
}
/// Computes expressions into as many destinations, in one run.
template <class... E, class... D> void run_results(const agpu_call *call, const std::tuple<E...> &from, D &&...d) {
    output outputs[(output_count<typename std::decay_t<E>::value_type>() + ...)], *end = outputs;
    std::apply([&](const auto &...e) { (add_outputs(end, e, d), ...); }, from);
    agpu_buffer *beside = nullptr;
    ((beside = beside ? beside : d.beside()), ...);
    run(outputs, std::size_t(end - outputs), call, beside);
    (d.finish(), ...);
}
/// Computes an expression into an array or view.
template <class Out, class T, int Rank> void put(Out &out, const expr<T, Rank> &e) {
    run_results(nullptr, std::tie(e), destination_of<Out>(out, e));
}
/// An expression, an array, a view as an expression.
template <class X> auto as_expr(const X &x) {
    if constexpr (is_compound<X>) {
        return expr<compound_element<X>, compound_operand<X>::rank>(x);
    } else {
        static_assert(is_operand<X>, "an expression, an array or a view");
        return expr<element_type<X>, rank_of<X>()>(operand<X>::node(x));
    }
}
template <class Tuple, std::size_t... I, std::size_t... J>
void assign_pairs(const agpu_call *call, const Tuple &all, std::index_sequence<I...>, std::index_sequence<J...>) {
    const auto from = std::make_tuple(as_expr(std::get<2 * I + 1>(all))...);
    run_results(call, from,
             destination_of<std::remove_reference_t<std::tuple_element_t<2 * J, Tuple>>>(std::get<2 * J>(all), std::get<J>(from))...);
}

/// A std::vector, whose length is known when the program runs.
template <class X> inline constexpr bool is_std_vector = false;
template <class X, class A> inline constexpr bool is_std_vector<std::vector<X, A>> = true;
/// Several expressions.
template <class X> inline constexpr bool is_several = is_tuple<X>::value || is_std_vector<X>;
/// Whether there is a std::vector among the parts.
template <class X> struct has_list : std::bool_constant<is_std_vector<X>> {};
template <class... X> struct has_list<std::tuple<X...>> : std::bool_constant<(has_list<std::decay_t<X>>::value || ...)> {};
template <class A, class B> struct has_list<std::pair<A, B>> : has_list<std::tuple<A, B>> {};
template <class X, std::size_t N> struct has_list<std::array<X, N>> : has_list<X> {};

/// A result of a run whose results are counted when the program runs.
struct listed_result {
    listed_result() = default;
    listed_result(const listed_result &) = delete;
    listed_result &operator=(const listed_result &) = delete;
    virtual ~listed_result() = default;
    virtual void add(std::vector<output> &to) = 0;
    virtual agpu_buffer *beside() const = 0;
    virtual void finish() = 0;
};
template <class T, int Rank, class Out> class listed final : public listed_result {
public:
    listed(Out &out, const expr<T, Rank> &e) : from_(e), to_(out, from_) {}
    void add(std::vector<output> &to) override {
        output here[output_count<T>()], *end = here;
        add_outputs(end, from_, to_);
        to.insert(to.end(), here, end);
    }
    agpu_buffer *beside() const override { return to_.beside(); }
    void finish() override { to_.finish(); }

private:
    expr<T, Rank> from_;
    destination_of<Out> to_;
};
using result_list = std::vector<std::unique_ptr<listed_result>>;
/// A result before the run: an array without a buffer, because one of the default context would open that, which may have no device.
template <class R> struct unmade {
    static R of() {
        if constexpr (is_number<R> || compound<R>::is)
            return R();
        else
            return R::adopt(nullptr);
    }
};
template <class T> struct unmade<gpu_scalar<T>> {
    static gpu_scalar<T> of() { return gpu_scalar<T>(); }
};
template <class... R> struct unmade<std::tuple<R...>> {
    static std::tuple<R...> of() { return {unmade<R>::of()...}; }
};
template <class R, std::size_t N> struct unmade<std::array<R, N>> {
    static std::array<R, N> of() { return each(std::make_index_sequence<N>()); }
    template <std::size_t... I> static std::array<R, N> each(std::index_sequence<I...>) { return {{(static_cast<void>(I), unmade<R>::of())...}}; }
};
template <class R> struct unmade<std::vector<R>> {
    static std::vector<R> of() { return {}; }
};
template <class Out, class T, int Rank> void list_one(result_list &all, Out &out, const expr<T, Rank> &e) {
    all.push_back(std::make_unique<listed<T, Rank, Out>>(out, e));
}
template <class Out, class E> void list_results(result_list &all, Out &out, const E &e);
template <class Out, class E, std::size_t... I> void list_parts(result_list &all, Out &out, const E &e, std::index_sequence<I...>) {
    (list_results(all, std::get<I>(out), std::get<I>(e)), ...);
}
/// Adds what is written to `out`, part by part. A std::vector without elements gets as many as there are expressions.
template <class Out, class E> void list_results(result_list &all, Out &out, const E &e) {
    if constexpr (is_std_vector<E>) {
        static_assert(is_std_vector<Out>, "the results of a std::vector of expressions are a std::vector");
        if constexpr (is_std_vector<Out>) {
            if (!out.empty() && out.size() != e.size())
                throw error(AGPU_ERROR_SHAPE, "a std::vector of " + number_of(std::int64_t(out.size()), "result") + " of " + number_of(std::int64_t(e.size()), "expression"));
            while (out.size() < e.size()) out.push_back(unmade<typename Out::value_type>::of());
            for (std::size_t i = 0; i < e.size(); ++i) list_results(all, out[i], e[i]);
        }
    } else if constexpr (is_tuple<E>::value) {
        static_assert(is_tuple<Out>::value, "the results of a tuple of expressions are a tuple");
        if constexpr (is_tuple<Out>::value) {
            constexpr std::size_t count = std::tuple_size_v<E>;
            static_assert(std::tuple_size_v<Out> == count, "as many results as expressions");
            if constexpr (std::tuple_size_v<Out> == count) list_parts(all, out, e, std::make_index_sequence<count>());
        }
    } else {
        list_one(all, out, as_expr(e));
    }
}
inline void run_list(const agpu_call *call, const result_list &all) {
    std::vector<output> outputs;
    agpu_buffer *beside = nullptr;
    for (const auto &one : all) {
        one->add(outputs);
        if (!beside) beside = one->beside();
    }
    if (outputs.empty()) return;
    run(outputs.data(), outputs.size(), call, beside);
    for (const auto &one : all) one->finish();
}

/// References to the leaves of a tuple, which may contain tuples.
template <class X> auto leaves(X &x) {
    if constexpr (is_tuple<std::remove_const_t<X>>::value)
        return std::apply([](auto &...each) { return std::tuple_cat(leaves(each)...); }, x);
    else
        return std::tuple<X &>(x);
}

/// A view, which is a handle: a result may be written through a temporary one.
template <class X> inline constexpr bool is_view = false;
template <class T> inline constexpr bool is_view<gpu_vector_view<T>> = true;
template <class T> inline constexpr bool is_view<gpu_matrix_view<T>> = true;
template <class T> inline constexpr bool is_view<gpu_tensor3_view<T>> = true;

/// The result of tie(): references to the results of a run, and temporary views.
template <class... To> class results {
public:
    explicit results(To... to) : out_(static_cast<To &&>(to)...) {}
    template <class E, std::enable_if_t<is_several<E>, int> = 0> void operator=(const E &e) const {
        if constexpr (is_std_vector<E>) {
            set_list(e);
        } else {
            const auto all = detail::leaves(e);
            constexpr bool fits = std::tuple_size_v<decltype(all)> == sizeof...(To);
            static_assert(fits, "as many results as expressions");
            if constexpr (!fits) return;
            else if constexpr (has_list<E>::value) set_parts(all);
            else set(nullptr, all, std::index_sequence_for<To...>());
        }
    }
    template <class Tuple, std::size_t... I> void set(const agpu_call *call, const Tuple &e, std::index_sequence<I...>) const {
        const auto from = std::make_tuple(as_expr(std::get<I>(e))...);
        run_results(call, from, destination_of<std::remove_reference_t<To>>(std::get<I>(out_), std::get<I>(from))...);
    }

private:
    template <class E> void set_parts(const E &e) const {
        result_list all;
        list_parts(all, out_, e, std::index_sequence_for<To...>());
        run_list(nullptr, all);
    }
    /// A list goes to a list, or has an expression for each result.
    template <class E> void set_list(const E &list) const {
        if constexpr (sizeof...(To) == 1 && (is_std_vector<std::remove_reference_t<To>> && ...)) {
            set_parts(std::tuple<const E &>(list));
        } else {
            if (list.size() != sizeof...(To))
                throw error(AGPU_ERROR_SHAPE, number_of(sizeof...(To), "result") + " of " + number_of(std::int64_t(list.size()), "expression"));
            result_list all;
            std::size_t next = 0;
            std::apply([&](auto &...out) { (list_results(all, out, list[next++]), ...); }, out_);
            run_list(nullptr, all);
        }
    }

    std::tuple<To...> out_;
};

/// The type of eval's result: an array, or a number.
template <class T, int Rank> struct evaluated {
    using type = T;
};
template <class T> struct evaluated<T, 1> {
    using type = gpu_vector<T>;
};
template <class T> struct evaluated<T, 2> {
    using type = gpu_matrix<T>;
};
template <class T> struct evaluated<T, 3> {
    using type = gpu_tensor3<T>;
};

template <class T, int Rank> typename evaluated<T, Rank>::type evaluate(const expr<T, Rank> &e, const agpu_call *call) {
    if constexpr (compound<T>::is) {
        auto made = unmade<typename evaluated<T, Rank>::type>::of();
        run_results(call, std::tie(e), destination_of<decltype(made)>(made, e));
        return made;
    } else if constexpr (Rank == 0) {
        T value{};
        const output out{e.c_node().get(), to_host(&value)};
        run(&out, 1, call);
        return value;
    } else {
        agpu_buffer *made = nullptr;
        const output out{e.c_node().get(), to_new(&made)};
        run(&out, 1, call);
        return evaluated<T, Rank>::type::adopt(made);
    }
}

/// What eval gives for an expression; for a tuple of them it is the tuple of the values, nested alike.
template <class E, class = void> struct evaluated_as {
    static_assert(is_operand<E>, "an expression, an array or a view");
    using type = typename evaluated<element_type<E>, rank_of<E>()>::type;
};
template <class E> struct evaluated_as<E, std::enable_if_t<is_compound<E>>> {
    using type = typename evaluated<compound_element<E>, compound_operand<E>::rank>::type;
};
template <class... E> struct evaluated_as<std::tuple<E...>> {
    using type = std::tuple<typename evaluated_as<std::decay_t<E>>::type...>;
};
template <class A, class B> struct evaluated_as<std::pair<A, B>> : evaluated_as<std::tuple<A, B>> {};
template <class E, std::size_t N> struct evaluated_as<std::array<E, N>> {
    using type = std::array<typename evaluated_as<E>::type, N>;
};
template <class E> struct evaluated_as<std::vector<E>> {
    using one = typename evaluated_as<E>::type;
    static_assert(!std::is_same_v<one, bool>, "a std::vector of truth values has no references to its elements: write cast<int>(e)");
    using type = std::vector<one>;
};
template <class E> typename evaluated_as<E>::type evaluate_all(const E &e, const agpu_call *call) {
    auto made = unmade<typename evaluated_as<E>::type>::of();
    if constexpr (has_list<E>::value) {
        result_list all;
        list_results(all, made, e);
        run_list(call, all);
    } else {
        const auto all = leaves(e);
        std::apply([&](auto &...to) { results<decltype(to)...>(to...).set(call, all, std::index_sequence_for<decltype(to)...>()); }, leaves(made));
    }
    return made;
}

} // namespace detail

/// Computes an expression now: a gpu_vector, a gpu_matrix, a gpu_tensor3, or a number on the host.
template <class T, int Rank> auto eval(const expr<T, Rank> &e) { return detail::evaluate(e, nullptr); }
template <class T, int Rank> auto eval(const call_options &options, const expr<T, Rank> &e) { return detail::evaluate(e, options.c_call()); }
/// Computes all expressions of a std::tuple, std::pair, std::array or std::vector in one run: a std::tuple, std::array or std::vector of their values.
template <class E, std::enable_if_t<detail::is_several<E>, int> = 0> auto eval(const E &e) { return detail::evaluate_all(e, nullptr); }
template <class E, std::enable_if_t<detail::is_several<E>, int> = 0> auto eval(const call_options &options, const E &e) {
    return detail::evaluate_all(e, options.c_call());
}

/// out1, e1, out2, e2 ..: several results of one run. Each out is a gpu_vector, gpu_matrix, gpu_tensor3, gpu_scalar, a view, or a number on the host.
template <class Out, class... Rest, std::enable_if_t<!std::is_same_v<Out, const call_options>, int> = 0> void assign(Out &&out, Rest &&...rest) {
    static_assert(sizeof...(Rest) % 2 == 1, "assign(out1, e1, out2, e2 ..): an expression for each result");
    using pairs = std::make_index_sequence<(1 + sizeof...(Rest)) / 2>;
    detail::assign_pairs(nullptr, std::forward_as_tuple(out, rest...), pairs(), pairs());
}
/// `tie(c, p) = std::make_tuple(e1, e2)` computes several results in one run; so do a std::pair, std::array or std::vector of expressions.
template <class... Out> detail::results<Out &...> tie(Out &...out) { return detail::results<Out &...>(out...); }
/// The same where some are temporary views: `tie(real(z), imag(z)) = ..`.
template <class... Out, std::enable_if_t<(!std::is_lvalue_reference_v<Out> || ...), int> = 0> auto tie(Out &&...out) {
    constexpr bool are_kept = ((std::is_lvalue_reference_v<Out> || detail::is_view<std::remove_const_t<Out>>) && ...);
    static_assert(are_kept, "a temporary that is no view would be gone together with the result in it: only views may be temporary here");
    if constexpr (are_kept) return detail::results<std::remove_const_t<Out>...>(static_cast<Out &&>(out)...);
}

template <class T> template <class E, class> gpu_vector<T>::gpu_vector(const E &e) : gpu_vector(detail::evaluate(e, nullptr)) {}
template <class T> template <class E, class> gpu_matrix<T>::gpu_matrix(const E &e) : gpu_matrix(detail::evaluate(e, nullptr)) {}
template <class T> template <class E, class> gpu_tensor3<T>::gpu_tensor3(const E &e) : gpu_tensor3(detail::evaluate(e, nullptr)) {}
template <class T> template <class U, int Rank> gpu_vector<T> &gpu_vector<T>::operator=(const expr<U, Rank> &e) {
    detail::put(*this, e);
    return *this;
}
template <class T> template <class U, int Rank> gpu_matrix<T> &gpu_matrix<T>::operator=(const expr<U, Rank> &e) {
    detail::put(*this, e);
    return *this;
}
template <class T> template <class U, int Rank> gpu_tensor3<T> &gpu_tensor3<T>::operator=(const expr<U, Rank> &e) {
    detail::put(*this, e);
    return *this;
}
template <class T> template <class U, int Rank> const gpu_vector_view<T> &gpu_vector_view<T>::operator=(const expr<U, Rank> &e) const {
    detail::put(*this, e);
    return *this;
}
template <class T> template <class U, int Rank> const gpu_matrix_view<T> &gpu_matrix_view<T>::operator=(const expr<U, Rank> &e) const {
    detail::put(*this, e);
    return *this;
}
template <class T> template <class U, int Rank> const gpu_tensor3_view<T> &gpu_tensor3_view<T>::operator=(const expr<U, Rank> &e) const {
    detail::put(*this, e);
    return *this;
}
template <class T> template <class U, int Rank> gpu_scalar<T> &gpu_scalar<T>::operator=(const expr<U, Rank> &e) {
    detail::put(*this, e);
    return *this;
}

template <class T, int Rank> template <class U, std::enable_if_t<Rank == 0 && std::is_same_v<U, std::complex<T>>, int>>
expr<std::complex<T>, Rank>::operator U() const {
    return detail::evaluate(*this, nullptr);
}
template <class S, int Rank> template <class U, std::enable_if_t<Rank == 0 && std::is_same_v<U, S>, int>>
expr<S, Rank, std::enable_if_t<record<S>::described>>::operator U() const {
    return detail::evaluate(*this, nullptr);
}

namespace detail {
/// The view that `a += x` writes through.
template <class A> struct writable {
    static constexpr bool is = false;
};
template <class T> struct writable<gpu_vector<T>> {
    static constexpr bool is = true;
};
template <class T> struct writable<gpu_matrix<T>> : writable<gpu_vector<T>> {};
template <class T> struct writable<gpu_tensor3<T>> : writable<gpu_vector<T>> {};
template <class T> struct writable<gpu_vector_view<T>> : writable<gpu_vector<T>> {};
template <class T> struct writable<gpu_matrix_view<T>> : writable<gpu_vector<T>> {};
template <class T> struct writable<gpu_tensor3_view<T>> : writable<gpu_vector<T>> {};
template <class T> struct writable<gpu_scalar<T>> : writable<gpu_vector<T>> {};
template <class A, class B> using if_writable =
    std::enable_if_t<writable<std::decay_t<A>>::is && !std::is_const_v<std::remove_reference_t<A>> && (is_operand<B> || is_host<B> || is_complex<B>), int>;
} // namespace detail

/// Updates an array, or a view (which may be temporary), in place in one run.
template <class A, class B, detail::if_writable<A, B> = 0> A &&operator+=(A &&a, const B &b) { return a = a + b, static_cast<A &&>(a); }
template <class A, class B, detail::if_writable<A, B> = 0> A &&operator-=(A &&a, const B &b) { return a = a - b, static_cast<A &&>(a); }
template <class A, class B, detail::if_writable<A, B> = 0> A &&operator*=(A &&a, const B &b) { return a = a * b, static_cast<A &&>(a); }
template <class A, class B, detail::if_writable<A, B> = 0> A &&operator/=(A &&a, const B &b) { return a = a / b, static_cast<A &&>(a); }
template <class A, class B, detail::if_writable<A, B> = 0> A &&operator%=(A &&a, const B &b) { return a = a % b, static_cast<A &&>(a); }
template <class A, class B, detail::if_writable<A, B> = 0> A &&operator&=(A &&a, const B &b) { return a = (a & b), static_cast<A &&>(a); }
template <class A, class B, detail::if_writable<A, B> = 0> A &&operator|=(A &&a, const B &b) { return a = (a | b), static_cast<A &&>(a); }
template <class A, class B, detail::if_writable<A, B> = 0> A &&operator^=(A &&a, const B &b) { return a = (a ^ b), static_cast<A &&>(a); }
template <class A, class B, detail::if_writable<A, B> = 0> A &&operator<<=(A &&a, const B &b) { return a = (a << b), static_cast<A &&>(a); }
template <class A, class B, detail::if_writable<A, B> = 0> A &&operator>>=(A &&a, const B &b) { return a = (a >> b), static_cast<A &&>(a); }

} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_EXPR_ASSIGN_HPP
