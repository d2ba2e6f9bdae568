// Expressions as bytes: equal bytes, equal programs. Included by arraygpu/expr.hpp.
#ifndef ARRAYGPU_EXPR_KEY_HPP
#define ARRAYGPU_EXPR_KEY_HPP

#include <arraygpu/expr/make.hpp>
#include <arraygpu/expr/numbering.hpp>

namespace arraygpu {
namespace detail {

/// A parameter of a program: arrays first, then scalars, each in the order of their appearance. So it is the same program whether a function was
/// given a scalar before or behind its arrays.
struct parameter {
    agpu_type type;
    std::int32_t rank;
    const char *name; // null: it is numbered
};

/// How a bound of a slice stands in a key.
enum class bound : std::uint8_t { constant, parameter, below_length };

/// What is computed in one run: its bytes, its arguments, and where each node was written. Reused by the next run of the thread.
class encoder {
public:
    void clear() {
        bytes_.clear();
        arguments_.clear();
        scalars_.clear();
        parameters_.clear();
        scalar_types_.clear();
        shared_.clear();
        seen_.clear();
        views_.clear();
        places_.clear();
        emitted_ = 0;
    }
    /// One result: the nodes it needs, operands before what uses them.
    void add(node *root) {
        stack_.clear();
        enter(root);
        while (!stack_.empty()) {
            frame &top = stack_.back();
            if (top.next < top.at->count) {
                enter(top.at->operands[top.next++]);
            } else {
                const frame done = top;
                stack_.pop_back();
                emit(done.at);
                if (done.shared != alone) shared_[done.shared].number = emitted_ - 1;
            }
        }
    }
    /// Ends a result.
    void end_result() { byte(0xff); }
    /// Ends the program.
    void end() {
        arguments_.insert(arguments_.end(), scalars_.begin(), scalars_.end());
        if (!placed_) return;
        for (const agpu_type type : scalar_types_) parameters_.push_back({type, 0, nullptr});
    }

    const std::vector<std::uint8_t> &bytes() const noexcept { return bytes_; }
    const std::vector<parameter> &parameters() const noexcept { return parameters_; }
    /// The arguments of the parameters; those of results are put behind them.
    std::vector<agpu_arg> &arguments() noexcept { return arguments_; }
    /// Where nodes were written, by number.
    const std::vector<place> &places() const noexcept { return places_; }
    /// Whether it keeps what only a new program needs.
    void keep_places(bool keep) { placed_ = keep; }

private:
    struct frame {
        node *at;
        std::uint32_t next;
        std::uint32_t shared; // its number among the nodes with several uses
    };
    static constexpr std::uint32_t alone = UINT32_MAX;
    struct known {
        node *at;
        std::uint32_t number; // of the nodes that were emitted
    };

    void byte(std::uint8_t b) { bytes_.push_back(b); }
    void number(std::uint64_t n) {
        while (n >= 0x80) {
            byte(std::uint8_t(n | 0x80));
            n >>= 7;
        }
        byte(std::uint8_t(n));
    }
    void enter(node *n) {
        if (n->uses.load(std::memory_order_relaxed) == 1) {
            // most leaves; they need no frame
            if (n->count == 0)
                emit(n);
            else
                stack_.push_back({n, 0, alone});
            return;
        }
        const std::uint32_t fresh = std::uint32_t(shared_.size());
        const std::uint32_t which =
            seen_.find(mixed(reinterpret_cast<std::uintptr_t>(n)), fresh, [&](std::uint32_t i) { return shared_[i].at == n; });
        if (which == fresh) {
            shared_.push_back({n, 0});
            stack_.push_back({n, 0, which});
        } else {
            // it was emitted: what is still on the stack is no operand of its own operands
            byte(std::uint8_t(op::again));
            number(shared_[which].number);
        }
    }
    void emit(node *n) {
        byte(std::uint8_t(n->code));
        byte(std::uint8_t(n->type << 2 | n->rank));
        switch (n->code) {
        case op::array: array(n); break;
        case op::literal: scalar(n->own.numbers, agpu_type(n->type)); break;
        case op::constant: raw(n->own.numbers, 8); break;
        case op::slice: slice(n); break;
        case op::reverse:
        case op::pick:
        case op::spread:
        case op::length: byte(std::uint8_t(n->own.numbers[0])); break;
        case op::read:
        case op::map: number(n->count); break;
        default: break;
        }
        if (placed_) places_.push_back({n->file, n->line});
        ++emitted_;
    }
    void raw(const void *data, std::size_t size) {
        const auto *from = static_cast<const std::uint8_t *>(data);
        bytes_.insert(bytes_.end(), from, from + size);
    }
    void scalar(const void *value, agpu_type type) {
        agpu_arg argument{};
        argument.kind = AGPU_ARG_SCALAR;
        argument.scalar = value;
        scalars_.push_back(argument);
        if (placed_) scalar_types_.push_back(type);
    }
    /// The same part of the same buffer is the same parameter.
    void array(node *n) {
        const agpu_view &view = n->leaf.view;
        const std::uint32_t fresh = std::uint32_t(arguments_.size());
        std::uint64_t hash = mixed(reinterpret_cast<std::uintptr_t>(view.buffer)) ^ std::uint64_t(view.offset);
        for (int axis = 0; axis < n->rank; ++axis) hash = mixed(hash ^ std::uint64_t(view.extent[axis])) ^ std::uint64_t(view.stride[axis]);
        const auto same = [&](std::uint32_t i) {
            const agpu_view &other = arguments_[i].view;
            bool equal = other.buffer == view.buffer && other.offset == view.offset && other.rank == view.rank;
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
        raw(n->leaf.name, size);
    }
    /// Bounds near the ends are constants, so that neighbours are seen to be neighbours; others are parameters, so that the program fits them all.
    void slice(node *n) {
        constexpr std::int64_t most = 64;
        const std::int64_t axis = n->own.numbers[0], start = n->own.numbers[1], stop = n->own.numbers[2], stride = n->own.numbers[3];
        const std::int64_t length = n->operands[0]->extent[axis];
        byte(std::uint8_t(axis));
        if (start >= 0 && start <= most)
            constant(bound::constant, start);
        else
            count(n->own.numbers + 1);
        if (length >= 0 && stop <= length && length - stop <= most)
            constant(bound::below_length, length - stop);
        else
            count(n->own.numbers + 2);
        if (stride > 0 && stride <= most)
            constant(bound::constant, stride);
        else
            count(n->own.numbers + 3);
    }
    void constant(bound kind, std::int64_t value) {
        byte(std::uint8_t(kind));
        byte(std::uint8_t(value));
    }
    void count(const std::int64_t *value) {
        byte(std::uint8_t(bound::parameter));
        scalar(value, AGPU_I64);
    }

    std::vector<std::uint8_t> bytes_;
    std::vector<agpu_arg> arguments_, scalars_;
    std::vector<parameter> parameters_;
    std::vector<agpu_type> scalar_types_;
    std::vector<frame> stack_;
    std::vector<place> places_;
    std::vector<known> shared_;
    numbering seen_, views_;
    std::uint32_t emitted_ = 0;
    bool placed_ = false;
};

} // namespace detail
} // namespace arraygpu

#endif // ARRAYGPU_EXPR_KEY_HPP
