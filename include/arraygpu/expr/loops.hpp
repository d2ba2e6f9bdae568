// Loops of an element: loop_for, loop_while, loop_while_at_most (docs/semantics.md 5.16). Included by arraygpu/expr.hpp.
#ifndef ARRAYGPU_EXPR_LOOPS_HPP
#define ARRAYGPU_EXPR_LOOPS_HPP

#include <arraygpu/expr/stage.hpp>
#include <arraygpu/expr/tuples.hpp>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {

/// The number of steps after which loop_while ends in any case: 2^24.
inline constexpr std::int64_t loop_limit = std::int64_t(1) << 24;

namespace detail {

/// Whether a function takes the components of a state, behind what comes first, in place of the state.
template <class F, class S, class... First> struct takes_components : std::false_type {};
template <class F, class... E, class... First> struct takes_components<F, std::tuple<E...>, First...>
    : std::bool_constant<(sizeof...(E) > 1) && std::is_invocable_v<F &, const First &..., const E &...>> {};

/// Calls a function of a state: with its components, if it takes that many arguments.
template <class F, class S, class... First> decltype(auto) call_with_state(F &f, const S &state, const First &...first) {
    if constexpr (takes_components<F, S, First...>::value) {
        return std::apply([&](const auto &...e) -> decltype(auto) { return f(first..., e...); }, state);
    } else {
        static_assert(std::is_invocable_v<F &, const First &..., const S &>,
                      "the function takes neither the state of the loop or iteration (of several values: one tuple) nor its components");
        return f(first..., state);
    }
}
template <class F, class S, class... First> using called_with_state =
    std::decay_t<decltype(detail::call_with_state(std::declval<F &>(), std::declval<const S &>(), std::declval<const First &>()...))>;

/// A loop over states S. Its operands are the greatest number of steps, the initial states, a variable for the number of steps, variables for the
/// states, and what `body` adds: the condition, and the next states.
template <class S, class I, class Body> node_ptr looped(node_ptr most, const I &init, const Body &body, place at) {
    constexpr std::size_t states = parts<S>::count;
    const trace inside;
    std::array<node_ptr, 3 * states + 3> operands;
    node_ptr *next = operands.data();
    *next++ = std::move(most);
    parts<S>::nodes(init, next);
    const expr<std::int64_t> step = parts<expr<std::int64_t>>::variables(next);
    const S state = parts<S>::variables(next);
    body(step, state, next);
    node_ptr made = close(make_node(op::loop, AGPU_F32, 0, operands.data(), std::uint32_t(operands.size()), at));
    made->own.numbers[0] = states;
    return made;
}
/// Adds the values of a step, with the types of the state.
template <class S, class F, class... First> void next_states(F &f, const S &state, node_ptr *&out, const First &...first) {
    using R = called_with_state<F, S, First...>;
    gives_values<R>();
    if constexpr (!std::is_void_v<R>) parts<S>::nodes(call_with_state(f, state, first...), out);
}
template <class R> constexpr bool is_truth() {
    if constexpr (is_operand<R> || is_host<R>)
        return std::is_same_v<typename result<R>::type, bool>;
    else
        return false;
}
/// A loop that leaves an error record if it takes more steps than its limit. It makes one step more to know, but of the greatest limit, which
/// no loop exceeds.
template <class S, class I, class C, class F> S limited(const expr<std::int64_t> &limit, const I &init, C &condition, F &step, place at) {
    static_assert(is_truth<called_with_state<C, S>>(),
                  "the condition of a loop is a truth value: compare the numbers first; the condition stands before the step");
    const auto number = [](std::int64_t n) { return expr<std::int64_t>(make_number<std::int64_t>(op::constant, n)); };
    const expr<std::int64_t> most = arraygpu::min(limit, number(INT64_MAX - 1)) + number(1);
    const auto body = [&](const expr<std::int64_t> &, const S &state, node_ptr *&out) {
        *out++ = node_of<bool>(call_with_state(condition, state));
        next_states(step, state, out);
    };
    const node_ptr all = looped<S>(most.c_node(), init, body, at);
    std::int64_t which = 0;
    const S last = parts<S>::components(all, which);
    const expr<std::int64_t> steps = parts<expr<std::int64_t>>::components(all, which);
    const expr<bool> ends(make_node(op::within, AGPU_BOOL, 0, steps.c_node(), most.c_node(), at));
    return parts<S>::each(last, [&ends](const auto &e) { return arraygpu::select(ends, e, std::decay_t<decltype(e)>()); });
}

} // namespace detail

/// The state after n steps, each of which is f(i, state) with i = 0, 1, .. n - 1: a loop in the code of an element. A state is a scalar or a
/// std::tuple of up to 12 scalars and tuples, which f takes as one argument or component by component. n may be any integer that the element
/// knows; of 0 steps and fewer the state is `init`.
template <class N, class S, class F>
auto loop_for(const N &n, const S &init, F &&f, detail::place here = ARRAYGPU_HERE) {
    using State = typename detail::begun<S>::type;
    using Step = expr<std::int64_t>;
    if constexpr (detail::staged_type<N>::is) {
        // a fold over the numbers of the steps: if they are few, it becomes straight code
        const std::int64_t steps = static_cast<std::int64_t>(n.value());
        const staged<std::int64_t> turns(steps < 0 ? 0 : steps);
        std::array<detail::node_ptr, 1> all{arraygpu::iota(turns, here.of("loop_for")).c_node()};
        const auto next = [&f](const State &state, const Step &i) { return detail::call_with_state(f, state, i); };
        const detail::trace inside;
        return detail::joined_values<State, Step>(detail::op::fold_tuples, here.of("loop_for"), std::move(all), init, next);
    } else {
        const auto body = [&f](const Step &i, const State &state, detail::node_ptr *&out) {
            *out++ = detail::make_number<bool>(detail::op::constant, true);
            detail::next_states(f, state, out, i);
        };
        const detail::node_ptr all = detail::looped<State>(detail::index_node(n), init, body, here.of("loop_for"));
        std::int64_t which = 0;
        return detail::parts<State>::components(all, which);
    }
}
/// The first state for which the condition does not hold, beginning with `init`, each from the one before by step(state). A loop ends after 2^24
/// steps in any case: if it would go on then, its value is 0 (or false), and an error record with this line is left.
template <class S, class C, class F>
auto loop_while(const S &init, C &&condition, F &&step, detail::place here = ARRAYGPU_HERE) {
    const expr<std::int64_t> limit(detail::make_number(detail::op::constant, loop_limit));
    return detail::limited<typename detail::begun<S>::type>(limit, init, condition, step, here.of("loop_while"));
}
/// loop_while with another limit on the steps, which may be any integer that the element knows.
template <class N, class S, class C, class F>
auto loop_while_at_most(const N &limit, const S &init, C &&condition, F &&step, detail::place here = ARRAYGPU_HERE) {
    return detail::limited<typename detail::begun<S>::type>(expr<std::int64_t>(detail::index_node(limit)), init, condition, step, here.of("loop_while_at_most"));
}

/// x = f(x, i) for i = 0, 1, .. n - 1, beginning with init.
template <class N, class I, class F>
[[deprecated("write loop_for(n, init, f), whose f takes the number of the step first: f(i, x)")]] auto
loop(const N &n, const I &init, F &&f, detail::place here = ARRAYGPU_HERE) {
    return detail::counted(n, init, f, here.of("loop"));
}

} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_EXPR_LOOPS_HPP
