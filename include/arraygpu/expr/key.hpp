// Expressions as bytes: equal bytes, equal programs. Included by arraygpu/expr.hpp.
#ifndef ARRAYGPU_EXPR_KEY_HPP
#define ARRAYGPU_EXPR_KEY_HPP

#include <arraygpu/expr/make.hpp>
#include <arraygpu/expr/numbering.hpp>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {
namespace detail {

/// Keys begin with it, because two libraries of one process may have been compiled with different headers, in which the same bytes are other programs.
inline constexpr std::uint32_t headers = AGPU_HEADERS(0x);

/// A parameter of a program: arrays first, then scalars, each in the order of their appearance. So it is the same program whether a function was
/// given a scalar before or behind its arrays.
struct parameter {
    agpu_type type;
    std::int32_t rank;
    const char *name; // null: it is numbered
};

/// How a bound of a slice stands in a key.
enum class bound : std::uint8_t { constant, parameter, below_length };

/// Bytes that grow: room is asked for once for several.
class byte_list {
public:
    byte_list() = default;
    byte_list(const byte_list &) = delete;
    byte_list &operator=(const byte_list &) = delete;
    void clear() noexcept { at_ = bytes_.data(); }
    const std::uint8_t *data() const noexcept { return bytes_.data(); }
    std::size_t size() const noexcept { return std::size_t(at_ - bytes_.data()); }
    /// Returns where `count` more bytes may be written; end() takes the end of what was written.
    std::uint8_t *room(std::size_t count) {
        if (std::size_t(limit_ - at_) < count) grow(count);
        return at_;
    }
    void end(std::uint8_t *at) noexcept { at_ = at; }

private:
    [[gnu::noinline]] void grow(std::size_t count) {
        const std::size_t used = size();
        bytes_.resize(2 * bytes_.size() + count + 64);
        at_ = bytes_.data() + used;
        limit_ = bytes_.data() + bytes_.size();
    }
    std::vector<std::uint8_t> bytes_;
    std::uint8_t *at_ = nullptr, *limit_ = nullptr;
};

/// Encodes the expressions of one run: the bytes, the arguments, and the author's place of each node. The thread's next run uses it again.
class encoder {
public:
    void clear() {
        bytes_.clear();
        std::uint8_t *at = bytes_.room(sizeof headers);
        std::memcpy(at, &headers, sizeof headers);
        bytes_.end(at + sizeof headers);
        arguments_.clear();
        scalars_.clear();
        parameters_.clear();
        scalar_types_.clear();
        shared_.clear();
        stack_.clear();
        seen_.clear();
        views_.clear();
        places_.clear();
        emitted_ = 0;
        steps_ = 0;
    }
    /// One result: the nodes it needs, operands before what uses them.
    void add(node *root) { visit(root, 0); }
    /// Ends a result.
    void end_result() { byte(0xff); }
    /// Ends the program.
    void end() {
        std::size_t at = arguments_.size();
        arguments_.resize(at + scalars_.size());
        for (const void *value : scalars_) {
            arguments_[at].kind = AGPU_ARG_SCALAR;
            arguments_[at++].scalar = value;
        }
        if (!placed_) return;
        for (const agpu_type type : scalar_types_) parameters_.push_back({type, 0, nullptr});
    }

    const byte_list &bytes() const noexcept { return bytes_; }
    const std::vector<parameter> &parameters() const noexcept { return parameters_; }
    /// The arguments of the parameters; those of results are put behind them.
    std::vector<agpu_arg> &arguments() noexcept { return arguments_; }
    /// Where nodes were written, by number.
    const std::vector<place> &places() const noexcept { return places_; }
    /// Whether it also keeps the places, which only a new program needs.
    void keep_places(bool keep) { placed_ = keep; }

private:
    struct frame {
        node *at;
        std::uint32_t next;
        std::uint32_t which; // of the nodes with several uses, or alone
    };
    static constexpr std::uint32_t alone = UINT32_MAX, emitted = UINT32_MAX - 1;
    static constexpr int deepest = 200;
    struct known {
        node *at;
        std::uint32_t number; // of the nodes that were emitted
    };

    static constexpr std::size_t most_digits = 10;
    void byte(std::uint8_t b) {
        std::uint8_t *at = bytes_.room(1);
        *at++ = b;
        bytes_.end(at);
    }
    void number(std::uint64_t n) { bytes_.end(digits(bytes_.room(most_digits), n)); }
    static std::uint8_t *digits(std::uint8_t *at, std::uint64_t n) noexcept {
        while (n >= 0x80) {
            *at++ = std::uint8_t(n | 0x80);
            n >>= 7;
        }
        *at++ = std::uint8_t(n);
        return at;
    }
    /// A node's operands, then the node. It calls itself, which is twice as fast as a stack of ours, but not down the longest chains.
    void visit(node *n, int depth) {
        const std::uint32_t which = enter(n);
        if (which == emitted) return;
        if (depth == deepest) {
            descend(n);
        } else {
            for (std::uint32_t i = 0, count = before(n); i < count; ++i) visit(n->operands[i], depth + 1);
            emit(n);
        }
        if (which != alone) shared_[which].number = emitted_ - 1;
    }
    /// The number of operands that stand before a node; the others of an iteration belong to its step.
    static std::uint32_t before(const node *n) noexcept {
        return n->code == op::iterate ? std::uint32_t(1 + n->own.numbers[0] + n->own.numbers[1]) : n->count;
    }
    void descend(node *root) {
        const std::size_t others = stack_.size();
        stack_.push_back({root, 0, alone});
        while (stack_.size() > others) {
            frame &top = stack_.back();
            if (top.next < before(top.at)) {
                node *next = top.at->operands[top.next++];
                if (const std::uint32_t which = enter(next); which != emitted) stack_.push_back({next, 0, which});
            } else {
                const frame done = top;
                stack_.pop_back();
                emit(done.at);
                if (done.which != alone) shared_[done.which].number = emitted_ - 1;
            }
        }
    }
    /// Returns the number of a node with several uses, or `alone`. A node that was emitted already is referred to by its number.
    std::uint32_t enter(node *n) { return n->uses.load(std::memory_order_relaxed) == 1 ? alone : enter_shared(n); }
    std::uint32_t enter_shared(node *n) {
        const std::uint32_t fresh = std::uint32_t(shared_.size());
        const std::uint32_t which =
            seen_.find(mixed(reinterpret_cast<std::uintptr_t>(n)), fresh, [&](std::uint32_t i) { return shared_[i].at == n; });
        if (which == fresh) {
            shared_.push_back({n, 0});
            return which;
        }
        // a node that is still waiting for its operands cannot be an operand of them
        std::uint8_t *at = bytes_.room(1 + most_digits);
        *at++ = std::uint8_t(op::again);
        bytes_.end(digits(at, shared_[which].number));
        return emitted;
    }
    void emit(node *n) {
        std::uint8_t *at = bytes_.room(2);
        at[0] = std::uint8_t(n->code);
        at[1] = std::uint8_t(n->type << 2 | n->rank);
        bytes_.end(at + 2);
        if (placed_) places_.push_back(n->written);
        // most are operations on elements, or numbers
        if (n->code == op::literal)
            scalar(n->own.numbers, agpu_type(n->type));
        else if (!is_scalar_operation(n->code))
            emit_rest(n);
        ++emitted_;
    }
    [[gnu::noinline]] void emit_rest(node *n) {
        switch (n->code) {
        case op::array: array(n); break;
        case op::constant: {
            std::uint8_t *at = bytes_.room(8);
            std::memcpy(at, n->own.numbers, 8);
            bytes_.end(at + 8);
            break;
        }
        case op::reverse:
        case op::pick:
        case op::spread:
        case op::length:
        case op::stencil: byte(std::uint8_t(n->own.numbers[0])); break;
        case op::loop:
        case op::component: number(std::uint64_t(n->own.numbers[0])); break;
        case op::reduce_tuples:
        case op::reduce_noncommutative:
        case op::fold_tuples:
            number(n->count);
            number(std::uint64_t(n->own.numbers[0]));
            break;
        case op::composite:
            for (const std::int64_t one : n->own.numbers) number(std::uint64_t(one));
            break;
        case op::iterate: iteration(n); break;
        case op::slice: slice(n); break;
        case op::transpose:
        case op::pad_by:
            byte(std::uint8_t(n->own.numbers[0]));
            byte(std::uint8_t(n->own.numbers[1]));
            break;
        case op::pad:
            byte(std::uint8_t(n->own.numbers[0]));
            byte(std::uint8_t(n->own.numbers[3]));
            for (int side = 1; side <= 2; ++side) distance(n->own.numbers + side);
            break;
        case op::replace:
            for (int axis = 0; axis < n->rank; ++axis) distance(n->own.numbers + axis);
            break;
        case op::read:
        case op::map: number(n->count); break;
        default: break;
        }
    }
    /// An iteration and its functions: the step, and the check if a condition ends it. Both have the same parameters.
    void iteration(node *n) {
        const std::int64_t states = n->own.numbers[0];
        for (const std::int64_t one : n->own.numbers) number(std::uint64_t(one));
        node *const *bodies = n->operands + before(n) + states + 1;
        function(n, bodies, states);
        if (bodies + states != n->operands + n->count) function(n, bodies + states, 1);
    }
    /// A function has numbers of its own for its nodes, the first of which are its parameters: the states, what comes from outside, and the step.
    void function(node *iteration, node *const *results, std::int64_t count) {
        std::vector<known> shared;
        numbering seen;
        std::swap(shared, shared_);
        std::swap(seen, seen_);
        const std::uint32_t emitted_before = std::exchange(emitted_, 0);
        ++steps_;
        const std::int64_t states = iteration->own.numbers[0];
        node *const *outside = iteration->operands + 1 + states, *const *variables = iteration->operands + before(iteration);
        for (std::int64_t i = 0; i < states; ++i) enter_parameter(variables[i]);
        for (; outside != variables; ++outside) enter_parameter(*outside);
        enter_parameter(variables[states]);
        for (std::int64_t i = 0; i < count; ++i) {
            visit(results[i], 0);
            byte(0xff);
        }
        --steps_;
        emitted_ = emitted_before;
        std::swap(shared, shared_);
        std::swap(seen, seen_);
    }
    void enter_parameter(node *n) {
        const std::uint32_t fresh = std::uint32_t(shared_.size());
        seen_.find(mixed(reinterpret_cast<std::uintptr_t>(n)), fresh, [&](std::uint32_t i) { return shared_[i].at == n; });
        shared_.push_back({n, emitted_++});
    }
    void scalar(const void *value, agpu_type type) {
        scalars_.push_back(value);
        if (placed_) scalar_types_.push_back(type);
    }
    /// The same part of the same buffer is the same parameter.
    void array(node *n) {
        const agpu_view &view = n->leaf.view;
        const std::uint32_t fresh = std::uint32_t(arguments_.size());
        const std::uint64_t hash = mixed(reinterpret_cast<std::uintptr_t>(view.buffer)) ^ std::uint64_t(view.offset) ^ std::uint64_t(view.extent[0]);
        const auto same = [&](std::uint32_t i) {
            const agpu_view &other = arguments_[i].view;
            bool equal = other.buffer == view.buffer && other.offset == view.offset && other.rank == view.rank && other.element.kind == view.element.kind;
            for (int axis = 0; equal && axis < n->rank; ++axis)
                equal = other.extent[axis] == view.extent[axis] && other.stride[axis] == view.stride[axis];
            return equal;
        };
        const std::uint32_t which = views_.find(mixed(hash), fresh, same);
        number(which);
        if (which != fresh) return;
        agpu_arg argument{};
        argument.kind = AGPU_ARG_VIEW;
        argument.view = view;
        arguments_.push_back(argument);
        if (placed_) parameters_.push_back({agpu_type(n->type), n->rank, n->leaf.name});
        const std::size_t size = n->leaf.name ? std::strlen(n->leaf.name) : 0;
        number(size);
        if (size == 0) return;
        std::uint8_t *at = bytes_.room(size);
        std::memcpy(at, n->leaf.name, size);
        bytes_.end(at + size);
    }
    /// Bounds near the ends are constants, so that neighbours are seen to be neighbours; others are parameters, so that the program fits them all,
    /// but in the steps of iterations, which have no parameters of the program.
    void slice(node *n) {
        const std::int64_t axis = n->own.numbers[0], stop = n->own.numbers[2], stride = n->own.numbers[3];
        const std::int64_t length = n->operands[0]->extent[axis];
        byte(std::uint8_t(axis));
        distance(n->own.numbers + 1);
        if (length >= 0 && stop <= length && length - stop <= near_end)
            constant(bound::below_length, length - stop);
        else
            bounded(false, n->own.numbers + 2);
        bounded(stride > 0 && stride <= near_end, n->own.numbers + 3);
    }
    static constexpr std::int64_t near_end = 64;
    /// How far something is from the beginning of an axis.
    void distance(const std::int64_t *value) { bounded(*value >= 0 && *value <= near_end, value); }
    void bounded(bool near, const std::int64_t *value) {
        if (near || steps_) return constant(bound::constant, *value);
        byte(std::uint8_t(bound::parameter));
        scalar(value, AGPU_I64);
    }
    void constant(bound kind, std::int64_t value) {
        byte(std::uint8_t(kind));
        number(std::uint64_t(value));
    }

    byte_list bytes_;
    std::vector<agpu_arg> arguments_;
    std::vector<const void *> scalars_;
    std::vector<parameter> parameters_;
    std::vector<agpu_type> scalar_types_;
    std::vector<frame> stack_;
    std::vector<place> places_;
    std::vector<known> shared_;
    numbering seen_, views_;
    std::uint32_t emitted_ = 0;
    int steps_ = 0; // how many steps of iterations are around
    bool placed_ = false;
};

} // namespace detail
} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_EXPR_KEY_HPP
