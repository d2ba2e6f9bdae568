// Element-wise operations on arrays as operations on elements. Included by arraygpu/expr.hpp.
#ifndef ARRAYGPU_EXPR_LIFT_HPP
#define ARRAYGPU_EXPR_LIFT_HPP

#include <arraygpu/expr/make.hpp>
#include <arraygpu/expr/numbering.hpp>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {
namespace detail {

/// A node of the program that is built; if it is lifted, an array that is not built yet, by its number among those.
struct value {
    agpu_node node;
    agpu_type type;
    std::uint8_t rank;
    bool lifted;
};

/// Arrays that are element-wise functions of others. `a * b + c` is one function of three arrays, not one of two and then another: the compiler then
/// has one to fuse, and takes linear time for the longest chain. What an element is computed from are variables, one for each array, until the array
/// is needed.
class lifting {
public:
    explicit lifting(agpu_builder *builder) : builder_(builder) {}

    /// An operation, by its name in docs/ir.md; null: a cast to the type.
    value apply(const char *name, const value *operands, std::size_t count, agpu_type type, std::uint8_t rank) {
        if (rank == 0) {
            agpu_node nodes[3] = {};
            for (std::size_t i = 0; i < count; ++i) nodes[i] = operands[i].node;
            return {operation(name, nodes, count, type), type, 0, false};
        }
        std::vector<std::uint32_t> columns;
        agpu_node nodes[3] = {};
        for (std::size_t i = 0; i < count; ++i) nodes[i] = element(operands[i], columns);
        std::size_t size = 1;
        for (std::size_t i = 0; i < count; ++i) size += operands[i].lifted ? waiting_[operands[i].node].size : 0;
        return lift(operation(name, nodes, count, type), std::move(columns), size, type, rank);
    }
    /// Computed once where it is used several times.
    value bind(const value &x) {
        std::vector<std::uint32_t> columns;
        agpu_node made = 0;
        check(agpu_builder_bind(builder_, x.lifted ? element(x, columns) : x.node, &made));
        return x.lifted ? lift(made, std::move(columns), waiting_[x.node].size, x.type, x.rank) : value{made, x.type, x.rank, false};
    }
    /// The node; of an array that is lifted, built now.
    agpu_node node(const value &x) {
        if (!x.lifted) return x.node;
        waiting &w = waiting_[x.node];
        if (w.array) return w.array;
        std::vector<agpu_node> variables, arrays;
        for (const std::uint32_t c : w.columns) {
            variables.push_back(columns_[c].variable);
            arrays.push_back(columns_[c].array);
        }
        check(agpu_builder_map(builder_, variables.data(), arrays.data(), std::int32_t(arrays.size()), w.body, &w.array));
        return w.array;
    }

private:
    // arrays that one function takes, and operations: what is longer the compiler can cut between functions
    static constexpr std::size_t most_arrays = 64, most_operations = 250;

    struct column {
        agpu_node array, variable;
    };
    struct waiting {
        agpu_node body;
        agpu_node array;                    // 0: not built yet
        std::vector<std::uint32_t> columns; // ascending
        std::size_t size;                   // operations, what is shared several times
    };

    agpu_node operation(const char *name, const agpu_node *operands, std::size_t count, agpu_type type) {
        agpu_node made = 0;
        check(name ? agpu_builder_apply(builder_, name, operands, std::int32_t(count), &made)
                   : agpu_builder_cast(builder_, type, operands[0], &made));
        return made;
    }
    value lift(agpu_node body, std::vector<std::uint32_t> &&columns, std::size_t size, agpu_type type, std::uint8_t rank) {
        waiting_.push_back({body, 0, std::move(columns), size});
        const value made{waiting_.size() - 1, type, rank, true};
        if (waiting_.back().columns.size() > most_arrays || size > most_operations) return {node(made), type, rank, false};
        return made;
    }
    /// The operand's element; `columns` then has what it is computed from, too.
    agpu_node element(const value &x, std::vector<std::uint32_t> &columns) {
        if (x.rank == 0) return x.node;
        if (x.lifted) {
            const waiting &w = waiting_[x.node];
            merge(columns, w.columns.data(), w.columns.size());
            return w.body;
        }
        const std::uint32_t c = column_of(x);
        merge(columns, &c, 1);
        return columns_[c].variable;
    }
    static void merge(std::vector<std::uint32_t> &into, const std::uint32_t *from, std::size_t count) {
        std::vector<std::uint32_t> both;
        both.reserve(into.size() + count);
        std::size_t i = 0, j = 0;
        while (i < into.size() || j < count) {
            const std::uint32_t next = j == count || (i < into.size() && into[i] < from[j]) ? into[i] : from[j];
            i += i < into.size() && into[i] == next;
            j += j < count && from[j] == next;
            both.push_back(next);
        }
        into.swap(both);
    }
    std::uint32_t column_of(const value &x) {
        const auto fresh = std::uint32_t(columns_.size());
        const std::uint32_t which = by_node_.find(mixed(x.node), fresh, [&](std::uint32_t c) { return columns_[c].array == x.node; });
        if (which == fresh) {
            column made{x.node, 0};
            check(agpu_builder_variable(builder_, x.type, &made.variable));
            columns_.push_back(made);
        }
        return which;
    }

    agpu_builder *builder_;
    std::vector<column> columns_;
    std::vector<waiting> waiting_;
    numbering by_node_;
};

} // namespace detail
} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_EXPR_LIFT_HPP
