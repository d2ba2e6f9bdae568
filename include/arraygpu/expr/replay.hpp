// From the bytes of an expression to a program. Included by arraygpu/expr.hpp.
#ifndef ARRAYGPU_EXPR_REPLAY_HPP
#define ARRAYGPU_EXPR_REPLAY_HPP

#include <arraygpu/expr/key.hpp>
#include <arraygpu/expr/lift.hpp>
#include <arraygpu/expr/program.hpp>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {
namespace detail {

/// Builds core IR from bytes, as a stack machine: each node is pushed, and its user pops it.
class replay {
public:
    explicit replay(const encoder &key) : key_(key), at_(key.bytes().data() + sizeof headers), builder_(created()), elements_(builder_) {}
    /// A function of an iteration, from its parameters, which are pushed in the order of their numbers.
    replay(const replay &outer, const std::vector<value> &args, std::int32_t states)
        : key_(outer.key_), at_(outer.at_), builder_(step_of(outer.builder_, args, states, parameters_)), elements_(builder_), placed_(outer.placed_) {
        for (std::size_t i = 0; i < args.size(); ++i) made_.push_back({parameters_[i], args[i].type, args[i].rank, false});
        made_.push_back({parameters_[args.size()], AGPU_I64, 0, false});
    }
    replay(const replay &) = delete;
    replay &operator=(const replay &) = delete;
    ~replay() { static_cast<void>(agpu_builder_free(builder_)); }

    /// The results of a function of an iteration.
    std::vector<agpu_node> results(std::size_t count) {
        std::vector<agpu_node> all;
        while (all.size() < count) {
            for (; *at_ != 0xff; step()) {}
            ++at_;
            all.push_back(pop());
        }
        return all;
    }
    program compile() {
        parameters();
        const std::uint8_t *end = key_.bytes().data() + key_.bytes().size();
        std::size_t results = 0;
        while (at_ != end) {
            if (*at_ == 0xff) {
                ++at_;
                check(agpu_builder_result(builder_, name_of_result(results).c_str(), pop()));
                ++results;
            } else {
                step();
            }
        }
        program made;
        check(agpu_builder_compile(builder_, made.receive()));
        return made;
    }

private:
    static constexpr std::size_t most_results = 16;
    static std::string name_of_result(std::size_t i) { return "result" + (i ? std::to_string(i) : std::string()); }
    static std::string numbered(const char *letter, std::size_t i) {
        std::string name = letter;
        name += std::to_string(i);
        return name;
    }
    static agpu_builder *created() {
        agpu_builder *made = nullptr;
        check(agpu_builder_create("expression", &made));
        return made;
    }
    static agpu_builder *step_of(agpu_builder *outer, const std::vector<value> &args, std::int32_t states, std::vector<agpu_node> &params) {
        std::vector<agpu_node> nodes;
        for (const value &arg : args) nodes.push_back(arg.node);
        params.resize(args.size() + 1);
        agpu_builder *made = nullptr;
        check(agpu_builder_step(outer, nodes.data(), std::int32_t(nodes.size()), states, &made, params.data()));
        return made;
    }
    void parameters() {
        std::size_t arrays = 0, scalars = 0;
        for (std::size_t i = 0; i < most_results; ++i) names_.push_back(name_of_result(i));
        for (const parameter &p : key_.parameters()) {
            const std::string name = unused(p.name ? std::string(p.name) : p.rank ? numbered("v", arrays) : numbered("s", scalars));
            (p.rank ? arrays : scalars) += 1;
            next_scalar_ = arrays;
            agpu_node made = 0;
            check(agpu_builder_param(builder_, name.c_str(), p.type, p.rank, &made));
            parameters_.push_back(made);
        }
    }
    /// The name, or else name_2, name_3 ..: of two operands with one name, and of operands that are named as results are.
    std::string unused(const std::string &wanted) {
        std::string name = wanted;
        const auto is_used = [this](const std::string &one) {
            for (const std::string &other : names_) {
                if (other == one) return true;
            }
            return false;
        };
        for (int n = 2; is_used(name); ++n) name = wanted + "_" + std::to_string(n);
        names_.push_back(name);
        return name;
    }
    std::uint8_t byte() { return *at_++; }
    std::uint64_t number() {
        std::uint64_t n = 0;
        for (int shift = 0;; shift += 7) {
            const std::uint8_t b = byte();
            n |= std::uint64_t(b & 0x7f) << shift;
            if (b < 0x80) return n;
        }
    }
    value pop_value() {
        const value top = stack_.back();
        stack_.pop_back();
        return top;
    }
    agpu_node pop() { return elements_.node(pop_value()); }
    /// The last `count` operands, in their order; valid until the next take.
    const agpu_node *take(std::size_t count) {
        taken_.clear();
        for (std::size_t i = stack_.size() - count; i < stack_.size(); ++i) taken_.push_back(elements_.node(stack_[i]));
        stack_.resize(stack_.size() - count);
        return taken_.data();
    }
    void step() {
        const auto code = op(byte());
        if (code == op::again) return stack_.push_back(made_[number()]);
        locate(placed_++);
        const std::uint8_t shape = byte();
        type_ = agpu_type(shape >> 2);
        rank_ = shape & 3;
        const value result = is_scalar_operation(code) || code == op::cast ? elementwise(code)
                             : code == op::bind
                                 ? elements_.bind(pop_value())
                             : code >= op::reduce_tuples && code <= op::iterate
                                 ? several(code)
                                 : value{code >= op::sum && code <= op::fold ? reduction(code) : other(code), type_, std::uint8_t(rank_), false};
        made_.push_back(result);
        stack_.push_back(result);
    }
    /// The nodes that follow were written where this operation was.
    void locate(std::size_t operation) {
        const std::vector<place> &places = key_.places();
        if (operation >= places.size()) return;
        written_ = places[operation];
        check(agpu_builder_at_column(builder_, written_.file, written_.line, written_.column));
        elements_.say(written_.word);
    }
    value elementwise(op code) {
        const std::size_t count = code == op::cast || code < op::add ? 1 : code < op::mul_add ? 2 : 3;
        stack_.resize(stack_.size() - count);
        const value *operands = stack_.data() + stack_.size();
        const char *name = code == op::cast ? nullptr : operation_name(code), *word = written_.word ? written_.word : code == op::cast ? name : operation_word(code);
        return elements_.apply({name, word}, operands, count, type_, std::uint8_t(rank_));
    }
    agpu_node apply(const char *name, const agpu_node *operands, int count) {
        agpu_node out = 0;
        check(agpu_builder_apply(builder_, name, operands, count, &out));
        return out;
    }
    agpu_node constant(agpu_type type, const void *value) {
        agpu_node out = 0;
        check(agpu_builder_constant(builder_, type, value, &out));
        return out;
    }
    agpu_node integer(std::int64_t value) { return constant(AGPU_I64, &value); }
    agpu_node length(agpu_node array, int axis) {
        agpu_node out = 0;
        check(agpu_builder_length(builder_, array, axis, &out));
        return out;
    }
    agpu_node cast(agpu_type type, agpu_node x) {
        agpu_node out = 0;
        check(agpu_builder_cast(builder_, type, x, &out));
        return out;
    }
    agpu_node variable(agpu_type type) {
        agpu_node out = 0;
        check(agpu_builder_variable(builder_, type, &out));
        return out;
    }

    agpu_node other(op code) {
        agpu_node out = 0;
        switch (code) {
        case op::array: {
            const std::uint64_t which = number();
            if (which == next_array_) {
                ++next_array_;
                at_ += number(); // its name
            }
            return parameters_[which];
        }
        case op::literal: return parameters_[next_scalar_++];
        case op::constant:
            out = constant(type_, at_);
            at_ += 8;
            return out;
        case op::variable: return variable(type_);
        case op::materialize: check(agpu_builder_materialize(builder_, pop(), &out)); return out;
        case op::iota: check(agpu_builder_iota(builder_, pop(), &out)); return out;
        case op::fast_math: check(agpu_builder_fast_math(builder_, true)); return pop();
        case op::tensor_cores: check(agpu_builder_tensor_cores(builder_, true)); return pop();
        case op::stencil: check(agpu_builder_stencil(builder_, hint_name(stencil_hint(byte())))); return pop();
        case op::fill: {
            const agpu_node *in = take(2);
            check(agpu_builder_fill(builder_, in[0], in[1], &out));
            return out;
        }
        case op::slice: return slice();
        case op::reverse: {
            const std::uint8_t axis = byte();
            check(agpu_builder_reverse(builder_, pop(), axis, &out));
            return out;
        }
        case op::transpose: {
            const std::uint8_t first = byte(), second = byte();
            check(agpu_builder_transpose(builder_, pop(), first, second, &out));
            return out;
        }
        case op::pad: {
            const std::uint8_t axis = byte();
            const auto beyond = edge(byte());
            const agpu_node value = beyond == edge::constant ? pop() : 0, array = pop();
            const agpu_node before = slice_bound(array, axis), after = slice_bound(array, axis);
            check(agpu_builder_pad(builder_, array, axis, before, after, edge_name(beyond), value, &out));
            return out;
        }
        case op::pad_by: {
            const std::uint8_t axis = byte();
            const auto beyond = edge(byte());
            const agpu_node value = beyond == edge::constant ? pop() : 0, after = pop(), before = pop(), array = pop();
            check(agpu_builder_pad(builder_, array, axis, before, after, edge_name(beyond), value, &out));
            return out;
        }
        case op::replace: {
            const agpu_node part = pop(), array = pop();
            agpu_node start[3];
            for (int axis = 0; axis < rank_; ++axis) start[axis] = slice_bound(array, axis);
            check(agpu_builder_replace(builder_, array, part, start, rank_, &out));
            return out;
        }
        case op::pick:
        case op::spread: {
            const std::uint8_t axis = byte();
            const agpu_node *in = take(2);
            check(code == op::pick ? agpu_builder_pick(builder_, in[0], axis, in[1], &out) : agpu_builder_spread(builder_, in[0], axis, in[1], &out));
            return out;
        }
        case op::length: {
            const std::uint8_t axis = byte();
            return length(pop(), axis);
        }
        case op::read: {
            const std::uint64_t count = number();
            const agpu_node *in = take(count);
            check(agpu_builder_read(builder_, in[0], in + 1, std::int32_t(count - 1), &out));
            return out;
        }
        case op::map: {
            const std::uint64_t count = number(), arrays = count / 2;
            const agpu_node *in = take(count);
            check(agpu_builder_map(builder_, in + arrays, in, std::int32_t(arrays), in[count - 1], &out));
            return out;
        }
        case op::generate: {
            const agpu_node *in = take(std::size_t(2 * rank_ + 1));
            check(agpu_builder_generate(builder_, in, in + rank_, rank_, in[2 * rank_], &out));
            return out;
        }
        case op::matmul: {
            const agpu_node *in = take(2);
            check(agpu_builder_matmul(builder_, in[0], in[1], &out));
            return out;
        }
        case op::component: {
            const std::uint64_t which = number();
            return several_[pop_value().node][which];
        }
        default: throw error(AGPU_ERROR_INTERNAL, "an expression has an unknown operation");
        }
    }
    agpu_node slice() {
        const std::uint8_t axis = byte();
        const agpu_node array = pop();
        const agpu_node start = slice_bound(array, axis), stop = slice_bound(array, axis), stride = slice_bound(array, axis);
        agpu_node out = 0;
        check(agpu_builder_slice(builder_, array, axis, start, stop, stride, &out));
        return out;
    }
    agpu_node slice_bound(agpu_node array, int axis) {
        const auto kind = bound(byte());
        if (kind == bound::parameter) return parameters_[next_scalar_++];
        const agpu_node value = integer(std::int64_t(number()));
        if (kind == bound::constant) return value;
        const agpu_node operands[] = {length(array, axis), value};
        return apply("sub", operands, 2);
    }

    /// A construct with several nodes, by its number among those; only its components use it.
    value several(op code) {
        std::vector<agpu_node> nodes;
        if (code == op::iterate) {
            nodes = iteration();
        } else if (code == op::composite) {
            const auto which = composite(number());
            const std::uint64_t operands = number(), components = number();
            nodes.resize(number());
            const agpu_node *in = take(operands + 3 * components), *variables = in + operands;
            check(agpu_builder_composite(builder_, composite_name(which), in, std::int32_t(operands), variables, variables + 2 * components,
                                    std::int32_t(components), nodes.data(), std::int32_t(nodes.size())));
        } else if (code == op::loop) {
            const std::uint64_t states = number();
            nodes.resize(states + 1);
            const agpu_node *most = take(3 * states + 3), *init = most + 1, *step = init + states, *condition = step + 1 + states;
            check(agpu_builder_loop(builder_, *most, *step, step + 1, *condition, condition + 1, init, std::int32_t(states), nodes.data()));
        } else {
            const std::uint64_t operands = number(), count = number();
            const std::size_t arrays = (operands - 3 * count) / 2;
            nodes.resize(count);
            const agpu_node *in = take(operands), *init = in + arrays, *first = init + count, *second = first + count, *body = second + arrays;
            const auto reduce = code == op::reduce_tuples ? agpu_builder_reduce_tuples : agpu_builder_reduce_noncommutative;
            check(code != op::fold_tuples
                      ? reduce(builder_, in, first, second, body, init, std::int32_t(count), nodes.data())
                      : agpu_builder_fold_tuples(builder_, in, second, std::int32_t(arrays), first, body, init, std::int32_t(count), nodes.data()));
        }
        several_.push_back(std::move(nodes));
        return {several_.size() - 1, type_, 0, false};
    }

    std::vector<agpu_node> iteration() {
        const std::uint64_t states = number(), outside = number(), gives = number(), every = number(), count = states + outside;
        std::vector<value> args(stack_.end() - std::ptrdiff_t(count), stack_.end());
        const agpu_node *given = take(1 + count), most = *given;
        for (value &arg : args) arg.node = *++given;
        const bool checked = form(gives) == form::until;
        const std::size_t place = placed_ - 1;
        replay step(*this, args, std::int32_t(states));
        const std::vector<agpu_node> next = step.results(states);
        at_ = step.at_;
        placed_ = step.placed_;
        std::unique_ptr<replay> check_of;
        agpu_node condition = 0;
        if (checked) {
            check_of = std::make_unique<replay>(*this, args, std::int32_t(states));
            condition = check_of->results(1)[0];
            at_ = check_of->at_;
            placed_ = check_of->placed_;
        }
        locate(place);
        std::vector<agpu_node> nodes(states + checked);
        check(agpu_builder_iterate(builder_, most, step.builder_, next.data(), std::int32_t(states), form(gives) == form::each,
                                   checked ? check_of->builder_ : nullptr, condition, std::int32_t(every), nodes.data()));
        return nodes;
    }

    agpu_node reduction(op code) {
        agpu_node out = 0;
        if (code == op::reduce || code == op::fold) {
            const agpu_node *in = take(5); // array, init, left, right, body
            check(code == op::reduce ? agpu_builder_reduce(builder_, in[2], in[3], in[4], in[1], in[0], &out)
                                     : agpu_builder_fold(builder_, in[2], in[3], in[4], in[1], in[0], &out));
            return out;
        }
        if (code == op::dot) {
            const agpu_node *in = take(2);
            check(agpu_builder_dot(builder_, in[0], in[1], &out));
            return out;
        }
        if (code == op::squared_deviations) {
            check(agpu_builder_squared_deviations(builder_, pop(), &out));
            return out;
        }
        // sums of halves are sums of floats, rounded once (docs/semantics.md 5.6)
        const agpu_type type = type_;
        const bool wide = (type == AGPU_F16 || type == AGPU_BF16) && (code == op::sum || code == op::row_sums || code == op::col_sums);
        if (wide) type_ = AGPU_F32;
        const agpu_node array = pop();
        out = reduced(code, wide ? cast(AGPU_F32, array) : array);
        type_ = type;
        return wide ? cast(type, out) : out;
    }
    agpu_node reduced(op code, agpu_node array) {
        const bool rows = code == op::row_sums, lines = rows || code == op::col_sums;
        const char *name = lines || code == op::sum ? "add"
                           : code == op::product    ? "mul"
                           : code == op::least      ? "min"
                           : code == op::greatest   ? "max"
                           : code == op::any        ? "or"
                                                    : "and";
        const agpu_node operands[] = {variable(type_), variable(type_)};
        const agpu_node body = apply(name, operands, 2), init = neutral(code);
        agpu_node out = 0;
        check(lines ? agpu_builder_reduce_axis(builder_, operands[0], operands[1], body, init, array, rows ? 1 : 0, &out)
                    : agpu_builder_reduce(builder_, operands[0], operands[1], body, init, array, &out));
        return out;
    }
    /// The neutral element of a reduction.
    agpu_node neutral(op code) {
        if (code == op::any || code == op::all) {
            const bool value = code == op::all;
            return constant(AGPU_BOOL, &value);
        }
        const double value = code == op::product ? 1 : code == op::least ? __builtin_huge_val() : code == op::greatest ? -__builtin_huge_val() : 0;
        const float single = float(value);
        if (type_ == AGPU_F32) return constant(AGPU_F32, &single);
        // casts saturate: the ends of the integers
        return type_ == AGPU_F64 ? constant(AGPU_F64, &value) : cast(type_, constant(AGPU_F64, &value));
    }

    const encoder &key_;
    const std::uint8_t *at_;
    std::vector<agpu_node> parameters_;
    std::vector<std::string> names_;
    agpu_builder *builder_;
    lifting elements_;
    place written_;
    agpu_type type_ = AGPU_F32;
    int rank_ = 0;
    std::size_t next_array_ = 0, next_scalar_ = 0;
    std::size_t placed_ = 0; // operations so far
    std::vector<agpu_node> taken_;
    std::vector<value> made_, stack_;
    std::vector<std::vector<agpu_node>> several_;
};

} // namespace detail
} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_EXPR_REPLAY_HPP
