// Running expressions. Included by arraygpu/expr.hpp.
#ifndef ARRAYGPU_EXPR_RUN_HPP
#define ARRAYGPU_EXPR_RUN_HPP

#include <arraygpu/expr/compound.hpp>
#include <arraygpu/expr/replay.hpp>

#include <memory>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {
namespace detail {

/// A result of a run: its expression, and its destination.
struct output {
    node *root;
    agpu_arg to;
};
inline agpu_arg to_host(const void *scalar) {
    agpu_arg to{};
    to.kind = AGPU_ARG_RESULT_SCALAR;
    to.scalar = scalar;
    return to;
}
inline agpu_arg to_view(const agpu_view &view) {
    agpu_arg to{};
    to.kind = AGPU_ARG_RESULT_VIEW;
    to.view = view;
    return to;
}
inline agpu_arg to_new(agpu_buffer **made) {
    agpu_arg to{};
    to.kind = AGPU_ARG_RESULT_NEW;
    to.made = made;
    return to;
}

inline void encode(encoder &into, const output *outputs, std::size_t count) {
    into.clear();
    for (std::size_t i = 0; i < count; ++i) {
        if (outputs[i].root->level) {
            throw error(
                AGPU_ERROR_INVALID_ARGUMENT,
                "a traced value has no value yet, so it cannot be computed, or be made a number, inside of the function that is traced: let the "
                "function take auto or expr<T>, use the functions of arraygpu (sqrt(x), not std::sqrt(x)), select for branches, loop_for and "
                "loop_while for loops");
        }
        into.add(outputs[i].root);
        into.end_result();
    }
    into.end();
}
/// The program of these expressions, whether it is known or not; `into` holds its bytes and arguments.
inline program compiled(encoder &into, const output *outputs, std::size_t count) {
    into.keep_places(true);
    struct done {
        encoder &of;
        ~done() { of.keep_places(false); }
    } const done{into};
    encode(into, outputs, count);
    return replay(into).compile();
}

/// The encoder that a thread's runs use one after another. The host's function that runs tasks may start a run while an outer one waits in it, whose
/// arguments are read to its end: such a run gets an encoder of its own.
class lent_encoder {
public:
    lent_encoder() : kept_(this_threads()) {
        if (kept_.is_lent) own_ = std::make_unique<encoder>();
        kept_.is_lent = true;
    }
    lent_encoder(const lent_encoder &) = delete;
    lent_encoder &operator=(const lent_encoder &) = delete;
    ~lent_encoder() {
        if (!own_) kept_.is_lent = false;
    }
    encoder &get() noexcept { return own_ ? *own_ : kept_.one; }

private:
    struct kept {
        encoder one;
        bool is_lent = false;
    };
    static kept &this_threads() {
        static thread_local kept all;
        return all;
    }
    kept &kept_;
    std::unique_ptr<encoder> own_;
};

/// Computes all outputs in one run. For a structure that was run before, the only cost is to encode its bytes. New arrays are made in the context
/// of the arrays that are read or of the call; without these, in that of the buffer `beside`.
inline void run(const output *outputs, std::size_t count, const agpu_call *call, agpu_buffer *beside = nullptr) {
    lent_encoder lent;
    encoder &key = lent.get();
    encode(key, outputs, count);
    std::vector<agpu_arg> &list = key.arguments();
    agpu_call there{sizeof(agpu_call), nullptr, nullptr, nullptr, 0, nullptr};
    if (beside && !call) {
        bool arrays = false;
        for (const agpu_arg &argument : list) arrays = arrays || argument.kind == AGPU_ARG_VIEW;
        if (!arrays) check(agpu_buffer_context(beside, &there.context));
        call = &there;
    }
    const auto add_results = [&] {
        for (std::size_t i = 0; i < count; ++i) list.push_back(outputs[i].to);
        return std::int32_t(list.size());
    };
    std::int32_t all = add_results();
    bool known = false;
    const agpu_status status = agpu_run_remembered(key.bytes().data(), std::int64_t(key.bytes().size()), call, list.data(), all, &known);
    // sizes that do not fit: the message has the places and words of the first expression of this structure, not those of this one
    const bool is_misfit = status == AGPU_ERROR_SHAPE;
    if (!is_misfit) {
        check(status);
        if (known) return;
    }
    const program made = compiled(key, outputs, count);
    if (!is_misfit) check(agpu_program_remember(made.get(), key.bytes().data(), std::int64_t(key.bytes().size())));
    all = add_results();
    check(agpu_program_run(made.get(), call, list.data(), all));
}

template <class T> T run_scalar(const node_ptr &node) {
    T value{};
    const output out{node.get(), to_host(&value)};
    run(&out, 1, nullptr);
    return value;
}

/// The results of an expression, which is to be compiled only.
template <class T, int Rank> void add_roots(std::vector<output> &to, const expr<T, Rank> &e) {
    if constexpr (compound<T>::is)
        layout<T>::each(e, 0, [&to](const auto &value, std::size_t) { to.push_back({value.c_node().get(), {}}); });
    else
        to.push_back({e.c_node().get(), {}});
}

} // namespace detail

/// Returns how many kernels are launched to compute the expressions in one run.
template <class... T, int... Rank> int kernels(const expr<T, Rank> &...e) {
    detail::encoder key;
    std::vector<detail::output> outputs;
    (detail::add_roots(outputs, e), ...);
    const detail::program made = detail::compiled(key, outputs.data(), outputs.size());
    std::int32_t n = 0;
    check(agpu_program_kernels(made.get(), &n));
    return n;
}
/// Returns the text of a stage of the compiler: core, fused, plan, kernel, c, ptx, cuda, explain.
template <class T, int Rank> std::string program_text(const expr<T, Rank> &e, const char *stage) {
    detail::encoder key;
    std::vector<detail::output> outputs;
    detail::add_roots(outputs, e);
    const detail::program made = detail::compiled(key, outputs.data(), outputs.size());
    const char *text = nullptr;
    check(agpu_program_text(made.get(), stage, &text));
    return text;
}
/// What the compiler made of an expression: kernels, strategies, costs (docs/explain.md).
template <class T, int Rank> std::string explain(const expr<T, Rank> &e) { return arraygpu::program_text(e, "explain"); }

} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_EXPR_RUN_HPP
