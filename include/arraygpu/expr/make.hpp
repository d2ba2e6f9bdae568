// Making nodes. Included by arraygpu/expr.hpp.
#ifndef ARRAYGPU_EXPR_MAKE_HPP
#define ARRAYGPU_EXPR_MAKE_HPP

#include <arraygpu/expr/node.hpp>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {
namespace detail {

/// A read at a variable in a function that is traced, of an array that does not depend on the function.
struct noted_read {
    const node *variable;
    node_ptr array;
    int axis;
};
inline std::vector<noted_read> &noted_reads() {
    static thread_local std::vector<noted_read> list;
    return list;
}

/// The functions that are being traced on this thread, one inside of the other.
struct trace_state {
    int depth;
    const char *stack;
    std::int64_t made;
    bool steps[201]; // whether the function at this depth is the step of an iteration, whose variables are arrays
    bool noted; // whether reads were noted
};
inline thread_local trace_state tracing{};

/// While it lives, a function of the author's is called with variables.
class trace {
public:
    explicit trace(bool of_step = false) {
        if (tracing.depth >= 200) runaway("functions are nested 200 deep");
        if (tracing.depth++ == 0) {
            tracing.stack = static_cast<const char *>(__builtin_frame_address(0));
            tracing.made = 0;
            tracing.noted = false;
        }
        tracing.steps[tracing.depth] = of_step;
    }
    trace(const trace &) = delete;
    trace &operator=(const trace &) = delete;
    ~trace() {
        if (--tracing.depth == 0 && tracing.noted) noted_reads().clear();
    }

    static void count() {
        constexpr std::ptrdiff_t deepest = 256 << 10;
        constexpr std::int64_t most = 1 << 20;
        const char *here = static_cast<const char *>(__builtin_frame_address(0));
        if (tracing.stack - here > deepest) runaway("made operations " + std::to_string(deepest >> 10) + " KiB of stack deep");
        if (++tracing.made > most) runaway("made more than " + std::to_string(most) + " operations");
    }

private:
    [[noreturn]] static void runaway(const std::string &what) {
        throw error(AGPU_ERROR_INVALID_ARGUMENT,
                    "a function that is called with traced values " + what + ": does it call itself, or loop on them? Use loop_for or loop_while");
    }
};

/// A number with the word for so many: "1 element", "3 elements".
inline std::string number_of(std::int64_t n, const char *one) { return std::to_string(n) + " " + one + (n == 1 ? "" : "s"); }
/// Throws an error that names the author's word and place, as those of programs do.
[[noreturn]] inline void fail(agpu_status code, const std::string &what, place at) {
    std::string text = at.word ? std::string(at.word) + ": " + what : what;
    if (at.file) {
        text += std::string(" (") + at.file + ":" + std::to_string(at.line);
        if (at.column) text += ":" + std::to_string(at.column);
        text += ")";
    }
    throw error(code, text);
}

/// A node without operands.
inline node_ptr make_leaf(op code, agpu_type type, int rank, place at = {}) {
    if (tracing.depth) trace::count();
    node *n = new_node();
    ::new (&n->uses) std::atomic<std::uint32_t>(1);
    n->code = code;
    n->type = std::uint8_t(type);
    n->rank = std::uint8_t(rank);
    n->level = 0;
    n->count = 0;
    n->written = at;
    n->extent[0] = n->extent[1] = n->extent[2] = rank ? -1 : 1;
    n->operands = n->own.near;
    return node_ptr(n);
}

/// A node with these operands, which it takes. Its level is the highest of theirs, its extents those of the first array of its rank.
inline node_ptr make_node(op code, agpu_type type, int rank, node_ptr *operands, std::uint32_t count, place at = {}) {
    node_ptr made = make_leaf(code, type, rank, at);
    if (count > node::few) made->operands = new node *[count];
    bool sized = rank == 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        node *operand = operands[i].release();
        made->operands[i] = operand;
        if (operand->level > made->level) made->level = operand->level;
        if (!sized && operand->rank == rank) {
            std::memcpy(made->extent, operand->extent, sizeof made->extent);
            sized = true;
        }
    }
    made->count = count;
    return made;
}
inline node_ptr make_node(op code, agpu_type type, int rank, node_ptr a, place at = {}) { return make_node(code, type, rank, &a, 1, at); }
inline node_ptr make_node(op code, agpu_type type, int rank, node_ptr a, node_ptr b, place at = {}) {
    node_ptr operands[] = {std::move(a), std::move(b)};
    return make_node(code, type, rank, operands, 2, at);
}
inline node_ptr make_node(op code, agpu_type type, int rank, node_ptr a, node_ptr b, node_ptr c, place at = {}) {
    node_ptr operands[] = {std::move(a), std::move(b), std::move(c)};
    return make_node(code, type, rank, operands, 3, at);
}

/// A number of the host: a parameter of the program (literal), or a part of it (constant).
template <class T> node_ptr make_number(op code, T value) {
    node_ptr made = make_leaf(code, type_of<T>::value, 0);
    made->own.numbers[0] = 0;
    std::memcpy(made->own.numbers, &value, sizeof value);
    return made;
}
inline node_ptr make_count(std::int64_t n) { return make_number<std::int64_t>(op::literal, n); }

/// An array that is read.
inline node_ptr make_array(const agpu_view &view, agpu_type type, int rank, buffer_owner::block *share, const char *name = nullptr) {
    node_ptr made;
    try {
        made = make_leaf(op::array, type, rank);
    } catch (...) {
        buffer_owner::drop(share);
        throw;
    }
    made->leaf = {view, share, nullptr};
    for (int axis = 0; axis < 3; ++axis) made->extent[axis] = axis < rank ? view.extent[axis] : 1;
    if (name) {
        const std::size_t size = std::strlen(name) + 1;
        made->leaf.name = new char[size];
        std::memcpy(made->leaf.name, name, size);
    }
    return made;
}

/// A variable of the innermost function that is traced.
inline node_ptr make_variable(agpu_type type) {
    node_ptr made = make_leaf(op::variable, type, 0);
    made->level = std::uint8_t(tracing.depth);
    return made;
}
/// A node that binds variables of the innermost function: it does not depend on them any more.
inline node_ptr close(node_ptr made) {
    if (made->level >= tracing.depth) made->level = std::uint8_t(tracing.depth - 1);
    return made;
}

/// Notes the first read at a variable for each extent; the index may be a clamped sum with variables in it.
inline void note_read(const node_ptr &array, int axis, const node *index, int depth = 0) {
    constexpr int deepest = 8;
    if (tracing.depth == 0 || index->level == 0 || array->level != 0 || array->extent[axis] < 0 || depth == deepest) return;
    if (index->code == op::add || index->code == op::sub || index->code == op::min || index->code == op::max)
        for (std::uint32_t k = 0; k < index->count; ++k) note_read(array, axis, index->operands[k], depth + 1);
    if (index->code != op::variable) return;
    for (const noted_read &r : noted_reads())
        if (r.variable == index && r.array->extent[r.axis] == array->extent[axis]) return;
    noted_reads().push_back({index, array, axis});
    tracing.noted = true;
}

/// The extents of an array, outermost first; those that it has not are 1.
struct extents_in {
    std::int64_t n[3];
};
inline node_ptr with_extents(node_ptr made, const extents_in &extents) {
    std::memcpy(made->extent, extents.n, sizeof made->extent);
    return made;
}
inline node_ptr with_extents(node_ptr made, std::int64_t first, std::int64_t second = 1, std::int64_t third = 1) {
    return with_extents(std::move(made), extents_in{{first, second, third}});
}
inline extents_in extents_of(const node &array) { return {{array.extent[0], array.extent[1], array.extent[2]}}; }
/// The extents without an axis.
inline extents_in without(const extents_in &all, int axis) {
    extents_in left{{1, 1, 1}};
    for (int from = 0, to = 0; from < 3; ++from)
        if (from != axis) left.n[to++] = all.n[from];
    return left;
}
/// The extents of an array of rank 1 or 2 with a new axis.
inline extents_in with(const extents_in &all, int axis, std::int64_t n) {
    extents_in more{{1, 1, 1}};
    for (int from = 0, to = 0; to < 3; ++to) more.n[to] = to == axis ? n : all.n[from++];
    return more;
}

} // namespace detail
} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_EXPR_MAKE_HPP
