// Iterations: a step of arrays and scalars that is made again and again on the device (docs/semantics.md 5.11). Included by arraygpu/expr.hpp.
#ifndef ARRAYGPU_EXPR_ITERATE_HPP
#define ARRAYGPU_EXPR_ITERATE_HPP

#include <arraygpu/expr/loops.hpp>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {
namespace detail {

/// What a step gets for a state: an expression, or a tuple, std::array or std::vector of them.
template <class X, class = void> struct begun_state {
    static_assert(is_operand<X> || is_host<X>, "this cannot be the state of an iteration: states are arrays, scalars, and tuples of them");
    using type = expr<typename std::conditional_t<is_operand<X>, elements<void, X>, result<X>>::type, rank_of<X>()>;
    static constexpr std::size_t parts = 0;
    static constexpr bool list = false;
};
template <class X> struct begun_state<X, std::enable_if_t<is_compound<X>>> {
    using type = expr<compound_element<X>, compound_operand<X>::rank>;
    static constexpr std::size_t parts = 0;
    static constexpr bool list = false;
};
template <std::size_t N> struct begun_parts {
    static_assert(N >= 1 && N <= 16, "an iteration has up to 16 states, each of which may be a tuple again");
    static constexpr std::size_t parts = N;
    static constexpr bool list = false;
};
template <class... X> struct begun_state<std::tuple<X...>> : begun_parts<sizeof...(X)> {
    using type = std::tuple<typename begun_state<std::decay_t<X>>::type...>;
};
template <class A, class B> struct begun_state<std::pair<A, B>> : begun_state<std::tuple<A, B>> {};
template <class X, std::size_t N> struct begun_state<std::array<X, N>> : begun_parts<N> {
    using type = std::array<typename begun_state<X>::type, N>;
};
template <class X> struct begun_state<std::vector<X>> {
    static_assert(!is_number<X>, "a std::vector of numbers is in the memory of the host: copy it by gpu_vector<T>(v); a list of states has arrays or expressions");
    using type = std::vector<typename begun_state<X>::type>;
    static constexpr std::size_t parts = 0;
    static constexpr bool list = true;
};

/// States as lists of arrays, in which a scalar is kept as a vector of one element.
template <class E> struct states;
template <class T, int Rank> struct states_of_one {
    using state = expr<T, Rank>;

    /// A value of this type; numbers of the host get the type of their place.
    template <class X> static state of(const X &x) {
        static_assert(is_operand<X> || is_host<X>, "a step gives something else in the place of an array or scalar: the same states go in and out");
        static_assert(rank_of<X>() == Rank, "a step gives a state of another rank than it gets");
        return state(node_of<T>(x));
    }
    static void arrays(const state &e, std::vector<node_ptr> &out) {
        if constexpr (Rank == 0)
            out.push_back(with_extents(make_node(op::fill, type_of<T>::value, 1, make_number<std::int64_t>(op::constant, 1), e.c_node()), 1));
        else
            out.push_back(e.c_node());
    }
    /// The same states with other arrays.
    static state like(const state &, const node_ptr *&in) {
        if constexpr (Rank == 0)
            return state(make_node(op::read, type_of<T>::value, 0, *in++, make_number<std::int64_t>(op::constant, 0)));
        else
            return state(*in++);
    }
    /// The states after each step, whose arrays have one axis more.
    static auto all(const state &, const node_ptr *&in) {
        static_assert(Rank <= 2, "the states of an array of three dimensions cannot be collected: the steps would be a fourth axis");
        if constexpr (Rank == 0)
            return expr<T, 1>(picked(*in++, 1, make_number<std::int64_t>(op::constant, 0), place{}));
        else if constexpr (Rank <= 2)
            return expr<T, Rank + 1>(*in++);
    }
    template <class F> static state each(const state &e, const F &f) { return f(e); }
};
/// Elements of several values: an array for each.
template <class E, int Rank> struct states_of_several {
    using state = expr<E, Rank>;

    template <class X> static state of(const X &x) {
        constexpr bool fits = std::is_same_v<compound_element<X>, E>;
        static_assert(fits || !is_complex_element<E>, "a step gives something else in the place of complex numbers: complex(re, im) makes them");
        static_assert(fits || is_complex_element<E>, "a step gives something else in the place of structs: make_record<T>(..) makes them of their fields");
        if constexpr (fits) return state(x);
    }
    static void arrays(const state &e, std::vector<node_ptr> &out) {
        layout<E>::each(e, 0, [&out](const auto &value, std::size_t) { states<std::decay_t<decltype(value)>>::arrays(value, out); });
    }
    static state like(const state &e, const node_ptr *&in) {
        return of_values(e, [&in](const auto &value) { return states<std::decay_t<decltype(value)>>::like(value, in); });
    }
    static auto all(const state &e, const node_ptr *&in) {
        return of_values(e, [&in](const auto &value) { return states<std::decay_t<decltype(value)>>::all(value, in); });
    }
    template <class F> static state each(const state &e, const F &f) {
        return of_values(e, [&f](const auto &value) { return states<std::decay_t<decltype(value)>>::each(value, f); });
    }
};
template <class T, int Rank> struct states<expr<T, Rank>> : std::conditional_t<compound<T>::is, states_of_several<T, Rank>, states_of_one<T, Rank>> {};
/// A tuple or std::array of states, part by part.
template <class State, class = std::make_index_sequence<std::tuple_size_v<State>>> struct states_of_parts;
template <class State, std::size_t... I> struct states_of_parts<State, std::index_sequence<I...>> {
    using state = State;
    template <std::size_t K> using part = states<std::tuple_element_t<K, State>>;

    template <class X> static State of(const X &x) {
        static_assert(begun_state<X>::parts != 0, "a step gives one array or scalar in the place of several: the same states go in and out");
        static_assert(begun_state<X>::parts == 0 || begun_state<X>::parts == sizeof...(I), "a step gives more or fewer states than it gets");
        if constexpr (begun_state<X>::parts == sizeof...(I)) return State{part<I>::of(std::get<I>(x))...};
    }
    static void arrays(const State &e, std::vector<node_ptr> &out) { (part<I>::arrays(std::get<I>(e), out), ...); }
    static State like(const State &e, const node_ptr *&in) { return State{part<I>::like(std::get<I>(e), in)...}; }
    static auto all(const State &e, const node_ptr *&in) { return std::tuple<decltype(part<I>::all(std::get<I>(e), in))...>{part<I>::all(std::get<I>(e), in)...}; }
    template <class F> static State each(const State &e, const F &f) { return State{part<I>::each(std::get<I>(e), f)...}; }
};
template <class... E> struct states<std::tuple<E...>> : states_of_parts<std::tuple<E...>> {};
template <class E, std::size_t N> struct states<std::array<E, N>> : states_of_parts<std::array<E, N>> {};
/// A list of states, of as many in each step.
template <class E> struct states<std::vector<E>> {
    using state = std::vector<E>;

    template <class X> static state of(const X &x) {
        static_assert(begun_state<X>::list, "a step gives something else in the place of a std::vector: the same states go in and out");
        state made;
        if constexpr (begun_state<X>::list)
            for (const auto &one : x) made.push_back(states<E>::of(one));
        return made;
    }
    static void arrays(const state &e, std::vector<node_ptr> &out) {
        for (const E &one : e) states<E>::arrays(one, out);
    }
    static state like(const state &e, const node_ptr *&in) {
        state made;
        for (const E &one : e) made.push_back(states<E>::like(one, in));
        return made;
    }
    static auto all(const state &e, const node_ptr *&in) {
        std::vector<decltype(states<E>::all(e[0], in))> made;
        for (const E &one : e) made.push_back(states<E>::all(one, in));
        return made;
    }
    template <class F> static state each(const state &e, const F &f) {
        state made;
        for (const E &one : e) made.push_back(states<E>::each(one, f));
        return made;
    }
};

/// Whether an array's elements are those of another in other places, or follow from their indices: to store it would only cost memory.
inline bool moves(op code) noexcept {
    return code == op::iota || code == op::fill || code == op::slice || code == op::reverse || code == op::transpose || code == op::pick ||
           code == op::spread || code == op::pad || code == op::pad_by || code == op::replace;
}
/// The nodes that a step of this level needs from outside: they are computed once. Constants, and what only moves elements, belong to the step.
inline std::vector<node_ptr> outside_of(const std::vector<node_ptr> &bodies, int level) {
    std::vector<node_ptr> found;
    std::vector<node *> seen, waiting;
    numbering numbers;
    for (const node_ptr &body : bodies) waiting.push_back(body.get());
    while (!waiting.empty()) {
        node *n = waiting.back();
        waiting.pop_back();
        const auto fresh = std::uint32_t(seen.size());
        const auto same = [&](std::uint32_t i) { return seen[i] == n; };
        if (n->code == op::constant || numbers.find(mixed(reinterpret_cast<std::uintptr_t>(n)), fresh, same) != fresh) continue;
        seen.push_back(n);
        if (n->level < level && !moves(n->code)) {
            n->uses.fetch_add(1, std::memory_order_relaxed);
            found.emplace_back(n);
            continue;
        }
        waiting.insert(waiting.end(), n->operands, n->operands + n->count);
    }
    return found;
}

/// An iteration of states E. Its operands are the greatest number of steps, the initial states, what the step needs from outside, variables for the
/// states and for the number of the step, the next states, and the condition where there is one.
template <class E, class Step, class Check>
node_ptr iterated(place at, node_ptr most, const E &init, form gives, std::int64_t every, const Step &step, const Check &check) {
    std::vector<node_ptr> operands{std::move(most)};
    states<E>::arrays(init, operands);
    const std::size_t count = operands.size() - 1;
    const trace inside(true);
    const int level = tracing.depth;
    std::vector<node_ptr> variables, bodies;
    for (std::size_t i = 1; i <= count; ++i) {
        const node &before = *operands[i].get();
        node_ptr state = make_variable(agpu_type(before.type));
        state->rank = before.rank;
        variables.push_back(with_extents(std::move(state), extents_of(before)));
    }
    const node_ptr *next = variables.data();
    const E state = states<E>::like(init, next);
    const expr<std::int64_t> number = variable<std::int64_t>();
    variables.push_back(number.c_node());
    states<E>::arrays(step(number, state), bodies);
    if (bodies.size() != count) fail(AGPU_ERROR_INVALID_ARGUMENT, "the step gives " + number_of(std::int64_t(bodies.size()), "state") + " of " + std::to_string(count), at);
    if (gives == form::until) bodies.push_back(check(state).c_node());
    std::vector<node_ptr> outside = outside_of(bodies, level);
    const std::int64_t numbers[] = {std::int64_t(count), std::int64_t(outside.size()), std::int64_t(gives), every};
    for (std::vector<node_ptr> *part : {&outside, &variables, &bodies})
        for (node_ptr &n : *part) operands.push_back(std::move(n));
    // what it depends on is what it gets from outside
    int depends = 0;
    for (std::size_t i = 0; i <= count + std::size_t(numbers[1]); ++i) depends = operands[i]->level > depends ? operands[i]->level : depends;
    if (depends && !tracing.steps[depends]) {
        throw error(AGPU_ERROR_INVALID_ARGUMENT, "an iteration inside of a function of an element cannot depend on the element, because its states are "
                                                 "arrays that are stored: iterate outside of the function, or use loop_for");
    }
    node_ptr made = make_node(op::iterate, AGPU_F32, 0, operands.data(), std::uint32_t(operands.size()), at);
    made->level = std::uint8_t(depends);
    std::memcpy(made->own.numbers, numbers, sizeof numbers);
    return made;
}
/// The arrays that an iteration gives: those of the states, behind them the number of steps where a condition ends it.
inline std::vector<node_ptr> values_of(const node_ptr &iteration, std::int64_t steps) {
    std::vector<node_ptr> values;
    const std::int64_t *numbers = iteration->own.numbers;
    const bool each = form(numbers[2]) == form::each;
    for (std::int64_t i = 0; i < numbers[0]; ++i) {
        const node &before = *iteration->operands[1 + i];
        std::int64_t which = i;
        node_ptr value = component(iteration, which, agpu_type(before.type), before.rank + each);
        values.push_back(with_extents(std::move(value), each ? with(extents_of(before), 0, steps) : extents_of(before)));
    }
    return values;
}
template <class E> E last_states(const node_ptr &iteration, const E &init) {
    const std::vector<node_ptr> values = values_of(iteration, 0);
    const node_ptr *next = values.data();
    return states<E>::like(init, next);
}
/// The states that a step gives, with the types of those it gets.
template <class E, class F, class... First> E stepped(F &f, const E &state, const First &...first) {
    using R = called_with_state<F, E, First...>;
    gives_values<R>();
    if constexpr (!std::is_void_v<R>) return states<E>::of(call_with_state(f, state, first...));
}
struct unchecked {
    template <class E> expr<bool> operator()(const E &) const { return {}; }
};
template <class N, class S, class Step> auto after_steps(place at, const N &k, const S &init, const Step &step) {
    using E = typename begun_state<S>::type;
    const E first = states<E>::of(init);
    return last_states(iterated(at, index_node(k), first, form::last, 0, step, unchecked()), first);
}
template <class N, class S, class Step> auto each_step(place at, const N &k, const S &init, const Step &step) {
    using E = typename begun_state<S>::type;
    const E first = states<E>::of(init);
    const std::vector<node_ptr> all = values_of(iterated(at, index_node(k), first, form::each, 0, step, unchecked()), known_length(k));
    const node_ptr *next = all.data();
    return states<E>::all(first, next);
}

} // namespace detail

/// The state after k steps, f(f(.. f(init))). A state is an array, a scalar, a std::tuple of up to 16 states, a std::array or std::vector of states; f
/// takes it as one argument or component by component, and gives the next one, of the same types and extents. k follows from numbers of the host,
/// lengths and scalars; 0 gives `init`. f is called once. What it reads from outside is computed once, before the first step.
template <class N, class S, class F>
auto iterate(const N &k, const S &init, F &&f, detail::place here = ARRAYGPU_HERE) {
    using E = typename detail::begun_state<S>::type;
    return detail::after_steps(here.of("iterate"), k, init, [&f](const expr<std::int64_t> &, const E &state) { return detail::stepped(f, state); });
}
/// iterate with a step f(t, state) that gets its number, an int64_t which is 0 first. No length, bound or number of steps follows from it.
template <class N, class S, class F>
auto iterate_indexed(const N &k, const S &init, F &&f, detail::place here = ARRAYGPU_HERE) {
    using E = typename detail::begun_state<S>::type;
    return detail::after_steps(here.of("iterate_indexed"), k, init, [&f](const expr<std::int64_t> &t, const E &state) { return detail::stepped(f, state, t); });
}
/// The states after each of k steps, without the one before the first: those of a vector are the rows of a matrix, those of a matrix the planes of an
/// array of three dimensions, those of a scalar the elements of a vector.
template <class N, class S, class F>
auto iterate_collect(const N &k, const S &init, F &&f, detail::place here = ARRAYGPU_HERE) {
    using E = typename detail::begun_state<S>::type;
    return detail::each_step(here.of("iterate_collect"), k, init, [&f](const expr<std::int64_t> &, const E &state) { return detail::stepped(f, state); });
}
/// iterate_collect with a step f(t, state) that gets its number.
template <class N, class S, class F>
auto iterate_collect_indexed(const N &k, const S &init, F &&f, detail::place here = ARRAYGPU_HERE) {
    using E = typename detail::begun_state<S>::type;
    return detail::each_step(here.of("iterate_collect_indexed"), k, init, [&f](const expr<std::int64_t> &t, const E &state) { return detail::stepped(f, state, t); });
}

namespace detail {

/// An iteration that a condition ends; check_every makes it.
template <class E, class C, class F> class [[nodiscard]] while_iteration {
public:
    while_iteration(place at, expr<std::int64_t> limit, E init, C condition, F step)
        : at_(at), limit_(std::move(limit)), init_(std::move(init)), condition_(std::move(condition)), step_(std::move(step)) {}

    /// The first checked states for which the condition does not hold, and the number of steps that were made, an int64_t: the states before every
    /// n-th step are checked, the first ones too, and those after the last step.
    std::tuple<E, expr<std::int64_t>> check_every(std::int64_t n) {
        if (n < 1 || n > INT32_MAX) throw error(AGPU_ERROR_INVALID_ARGUMENT, "check_every: a check is made every 1 or more steps, not every " + std::to_string(n));
        const auto step = [this](const expr<std::int64_t> &, const E &state) { return stepped(step_, state); };
        const auto check = [this](const E &state) {
            using R = called_with_state<C, E>;
            static_assert(rank_of<R>() == 0, "the condition of an iteration is one truth value: any(..) or all(..) makes one of an array");
            static_assert(is_truth<R>() || rank_of<R>() != 0,
                          "the condition of an iteration is a truth value: compare the numbers first; the condition stands before the step");
            if constexpr (is_truth<R>()) return expr<bool>(node_of<bool>(call_with_state(condition_, state)));
            else return expr<bool>();
        };
        const node_ptr all = iterated(at_, limit_.c_node(), init_, form::until, n, step, check);
        std::int64_t which = all->own.numbers[0];
        const node_ptr steps = with_extents(component(all, which, AGPU_I64, 1), 1);
        const expr<std::int64_t> number = arraygpu::at(expr<std::int64_t, 1>(steps), 0, at_);
        // it is -1 if no check has ended the iteration
        const expr<std::int64_t> above(make_number<std::int64_t>(op::constant, std::numeric_limits<std::int64_t>::max()));
        const expr<bool> ended(make_node(op::within, AGPU_BOOL, 0, number.c_node(), above.c_node(), at_));
        const auto known = [&ended](const auto &e) { return arraygpu::select(ended, e, expr<element_type<std::decay_t<decltype(e)>>>()); };
        return {states<E>::each(last_states(all, init_), known), known(number)};
    }

private:
    place at_;
    expr<std::int64_t> limit_;
    E init_;
    C condition_;
    F step_;
};

} // namespace detail

/// Steps while the condition of the states holds, at most `limit`: `iterate_while(limit, init, condition, step).check_every(n)` gives a std::tuple of
/// the states and of the number of steps. The device decides. If the condition still holds after `limit` steps, all of these are 0 (or false), and an
/// error record with this line is left.
template <class N, class S, class C, class F>
auto iterate_while(const N &limit, const S &init, C condition, F step, detail::place here = ARRAYGPU_HERE) {
    using E = typename detail::begun_state<S>::type;
    return detail::while_iteration<E, C, F>(here.of("iterate_while"), expr<std::int64_t>(detail::index_node(limit)), detail::states<E>::of(init), std::move(condition),
                                            std::move(step));
}

} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_EXPR_ITERATE_HPP
