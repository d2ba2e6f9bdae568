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

    /// An operation: its name in docs/ir.md, or null for a cast, and the author's word for it.
    struct named {
        const char *name, *word;
    };
    /// Sets the author's word for the nodes that follow.
    void say(const char *word) {
        if (word != word_) check(agpu_builder_word(builder_, word));
        word_ = word;
    }
    value apply(named what, const value *operands, std::size_t count, agpu_type type, std::uint8_t rank) {
        if (rank == 0) {
            agpu_node nodes[3] = {};
            for (std::size_t i = 0; i < count; ++i) nodes[i] = operands[i].node;
            return {operation(what.name, nodes, count, type), type, 0, false};
        }
        shorten(operands, count);
        std::vector<std::uint32_t> columns;
        agpu_node nodes[3] = {};
        for (std::size_t i = 0; i < count; ++i) nodes[i] = element(operands[i], columns);
        return lift(operation(what.name, nodes, count, type), what.word, std::move(columns), operands, count, type, rank);
    }
    /// Computed once where it is used several times.
    value bind(const value &x) {
        std::vector<std::uint32_t> columns;
        agpu_node made = 0;
        check(agpu_builder_bind(builder_, x.lifted ? element(x, columns) : x.node, &made));
        return x.lifted ? lift(made, nullptr, std::move(columns), &x, 1, x.type, x.rank) : value{made, x.type, x.rank, false};
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
        // what needs the array may be another word
        const char *needed_by = word_;
        if (has_several_words(w)) require_shapes(w);
        say(w.joins.empty() ? needed_by : w.joins.front().word);
        check(agpu_builder_map(builder_, variables.data(), arrays.data(), std::int32_t(arrays.size()), w.body, &w.array));
        say(needed_by);
        return w.array;
    }

private:
    // arrays that one function takes, and operations: what is longer is built of several, which the compiler can store
    static constexpr std::size_t most_arrays = 64, most_operations = 250;

    struct column {
        agpu_node array, variable;
    };
    /// That an operation joins two arrays, by the author's word for it.
    struct joined {
        std::uint32_t low, high;
        const char *word;
        bool joins(const joined &other) const { return low == other.low && high == other.high; }
    };
    struct waiting {
        agpu_node body;
        agpu_node array;                    // 0: not built yet
        std::vector<std::uint32_t> columns; // ascending
        std::size_t operands[3], count;     // those that its body is computed from
        std::size_t size;                   // its operations, or more
        std::vector<joined> joins;          // all of its arrays
    };

    agpu_node operation(const char *name, const agpu_node *operands, std::size_t count, agpu_type type) {
        agpu_node made = 0;
        check(name ? agpu_builder_apply(builder_, name, operands, std::int32_t(count), &made)
                   : agpu_builder_cast(builder_, type, operands[0], &made));
        return made;
    }
    value lift(agpu_node body, const char *word, std::vector<std::uint32_t> &&columns, const value *operands, std::size_t count, agpu_type type, std::uint8_t rank) {
        waiting made{body, 0, std::move(columns), {}, 0, 1, {}};
        for (std::size_t i = 0; i < count; ++i) {
            if (!is_waiting(operands[i])) continue;
            const waiting &w = waiting_[operands[i].node];
            made.operands[made.count++] = operands[i].node;
            made.size += w.size;
            for (const joined &j : w.joins) add_join(made.joins, j);
        }
        if (word) {
            for (std::size_t i = 1; i < count; ++i) {
                const std::uint32_t low = first_column(operands[0], made.columns), high = first_column(operands[i], made.columns);
                if (low != high) add_join(made.joins, {std::min(low, high), std::max(low, high), word});
            }
        }
        if (made.size > most_operations) made.size = operations_of(made);
        waiting_.push_back(std::move(made));
        return {waiting_.size() - 1, type, rank, true};
    }
    static void add_join(std::vector<joined> &list, const joined &more) {
        for (const joined &j : list)
            if (j.joins(more)) return;
        list.push_back(more);
    }
    /// The first of the arrays that an operand is computed from; of a scalar, the first of all.
    std::uint32_t first_column(const value &x, const std::vector<std::uint32_t> &all) {
        if (x.rank == 0) return all.front();
        return is_waiting(x) ? waiting_[x.node].columns.front() : column_of({node(x), x.type, x.rank, false});
    }
    static bool has_several_words(const waiting &w) {
        for (const joined &j : w.joins)
            if (std::strcmp(j.word, w.joins.front().word) != 0) return true;
        return false;
    }
    /// Adds the shape rule of each operation by its own word, before those of the whole function. The map that has the
    /// rule is used by nobody.
    void require_shapes(const waiting &w) {
        for (const joined &j : w.joins) {
            const column &low = columns_[j.low], &high = columns_[j.high];
            const agpu_node variables[] = {low.variable, high.variable}, arrays[] = {low.array, high.array};
            agpu_node unused = 0;
            say(j.word);
            check(agpu_builder_map(builder_, variables, arrays, 2, low.variable, &unused));
        }
    }
    bool is_waiting(const value &x) const { return x.lifted && !waiting_[x.node].array; }
    /// The operations of a function, what is shared once; what is longer than a function may be ends the count.
    std::size_t operations_of(const waiting &from) {
        counted_.resize(waiting_.size());
        const std::uint32_t mark = ++counts_;
        std::size_t size = 1;
        std::vector<std::size_t> stack(from.operands, from.operands + from.count);
        while (!stack.empty() && size <= most_operations) {
            const std::size_t at = stack.back();
            stack.pop_back();
            const waiting &w = waiting_[at];
            if (w.array || counted_[at] == mark) continue;
            counted_[at] = mark;
            ++size;
            stack.insert(stack.end(), w.operands, w.operands + w.count);
        }
        return size;
    }
    /// Builds the longest operands if a function of all of them would be too long.
    void shorten(const value *operands, std::size_t count) {
        std::size_t columns = 0;
        waiting all{0, 0, {}, {}, 0, 1, {}};
        for (std::size_t i = 0; i < count; ++i) {
            if (!is_waiting(operands[i])) continue;
            const waiting &w = waiting_[operands[i].node];
            all.operands[all.count++] = operands[i].node;
            all.size += w.size;
            columns += w.columns.size();
        }
        const bool is_long = all.size > most_operations && operations_of(all) > most_operations, has_many = columns > most_arrays;
        for (std::size_t i = 0; i < count && (is_long || has_many); ++i) {
            if (!is_waiting(operands[i])) continue;
            const waiting &w = waiting_[operands[i].node];
            if ((is_long && w.size > most_operations / 2) || (has_many && w.columns.size() > most_arrays / 4)) node(operands[i]);
        }
    }
    /// The operand's element; `columns` then has what it is computed from, too.
    agpu_node element(const value &x, std::vector<std::uint32_t> &columns) {
        if (x.rank == 0) return x.node;
        if (is_waiting(x)) {
            const waiting &w = waiting_[x.node];
            merge(columns, w.columns.data(), w.columns.size());
            return w.body;
        }
        const std::uint32_t c = column_of({node(x), x.type, x.rank, false});
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
    std::vector<std::uint32_t> counted_; // the last count that each of those had a part in
    std::uint32_t counts_ = 0;
    numbering by_node_;
    const char *word_ = nullptr; // of the builder
};

} // namespace detail
} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_EXPR_LIFT_HPP
