// The operations of expression nodes. Included by arraygpu/expr.hpp.
#ifndef ARRAYGPU_EXPR_OPERATION_HPP
#define ARRAYGPU_EXPR_OPERATION_HPP

#include <cstdint>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {
/// How GPUs keep the elements that neighbours share: `stencil(e, stencil_hint::tile)`. docs/explain.md has the strategies.
enum class stencil_hint : std::int64_t { direct, window, tile, rows, planes };

namespace detail {

/// The operation of a node. Keys of programs consist of these numbers; no key outlives the process.
enum class op : std::uint8_t {
    // scalar operations, in the order of `operation_name`; of arrays, element by element
    neg, abs, not_, sqrt, floor, ceil, trunc, round, round_ties_even,
    exp, exp2, expm1, log, log2, log10, log1p, sin, cos, tan, sinpi, cospi, asin, acos, atan, sinh, cosh, tanh,
    cbrt, rsqrt, erf, erfc, normcdf, frexp_mantissa, frexp_exponent, to_bits, from_bits,
    add, sub, mul, div, rem, min, max, and_, or_, xor_, shl, shr, eq, ne, lt, le, gt, ge,
    pow, atan2, hypot, fmod, copysign, ldexp,
    within, // i, n: whether 0 <= i < n, with an error record if not
    within_small_read, within_small_update, // the same, where the record speaks of a small array
    mul_add, select,
    // values
    array, literal, constant, variable, cast, bind, materialize,
    // arrays; the operands are in brackets, and the names after them are fields of the node's numbers
    iota,      // [n]
    fill,      // [n, value]
    slice,     // [array] axis, start, stop, stride
    reverse,   // [array] axis
    transpose, // [array] axis, axis
    pick,      // [matrix, index] axis
    spread,    // [array, n] axis
    read,      // [array, index ..]
    length,    // [array] axis
    map,       // [array .., variable .., body]
    generate,  // [extent .., variable .., body]
    matmul,    // [matrix, matrix] or of two arrays of planes
    pad,       // [array], with edge::constant [array, value] axis, before, after, edge
    pad_by,    // [array, before, after], with edge::constant [array, before, after, value] axis, edge
    replace,   // [array, part] start ..
    // reductions of [array]
    sum, product, least, greatest, any, all,
    row_sums, col_sums,
    dot,       // [array, array]
    squared_deviations,
    reduce,    // [array, init, left, right, body]
    fold,      // [array, init, accumulator, element, body]
    // several values; the field is the number of components of the accumulator, or of states
    reduce_tuples, // [array .., init .., left .., right .., body ..]
    reduce_noncommutative, // the same
    fold_tuples,   // [array .., init .., accumulator .., element .., body ..]
    loop,          // [most, init .., step, state .., condition, next ..]
    composite,     // [operand .., left .., right .., body ..] which, operands, components of the operator, values
    iterate,       // [most, state .., outside .., variable of a state or the step .., next .., condition] states, outside, form, every
    component,     // [one of these] which
    // of a whole program
    fast_math,    // [expression]
    tensor_cores, // [expression]
    stencil,      // [expression] stencil_hint
    again         // only in keys: a node that was there before
};

/// The composites that expressions have, in the order of `composite_name`.
enum class composite : std::int64_t {
    scan, scan_exclusive, scan_rows, scan_rows_exclusive, scan_cols, scan_cols_exclusive, scan_planes, scan_planes_exclusive, argsort, argsort_descending, sort, sort_descending, segmented_reduce, segmented_scan, segmented_scan_exclusive,
    filter, unique, run_lengths, reduce_by_key, filled,
    destinations, destinations_ignored, destinations_clamped, histogram, scatter, scatter_unique, scatter_reduce, scatter_reduce_unordered
};

/// The name of a composite in the C ABI.
inline const char *composite_name(composite which) noexcept {
    static constexpr const char *names[] = {"scan", "scan_exclusive", "scan_rows", "scan_rows_exclusive", "scan_cols", "scan_cols_exclusive", "scan_planes", "scan_planes_exclusive", "argsort", "argsort_descending",
                                            "sort", "sort_descending", "segmented_reduce", "segmented_scan", "segmented_scan_exclusive", "filter", "unique", "run_lengths", "reduce_by_key", "filled", "destinations", "destinations_ignored", "destinations_clamped", "histogram", "scatter", "scatter_unique", "scatter_reduce", "scatter_reduce_unordered"};
    static_assert(sizeof names / sizeof *names == std::size_t(composite::scatter_reduce_unordered) + 1, "a name for each composite");
    return names[std::size_t(which)];
}

/// What lies beyond the edge of an array, in the order of `edge_name`.
enum class edge : std::int64_t { clamp, mirror, wrap, constant };
/// The name of an edge in the C ABI.
inline const char *edge_name(edge which) noexcept {
    static constexpr const char *names[] = {"clamp", "mirror", "wrap", "constant"};
    return names[std::size_t(which)];
}

/// The name of a strategy in the C ABI.
inline const char *hint_name(stencil_hint which) noexcept {
    static constexpr const char *names[] = {"direct", "window", "tile", "rows", "planes"};
    return names[std::size_t(which)];
}

/// What an iteration gives: the last states, those after each step, or the first that a condition stops.
enum class form : std::int64_t { last, each, until };

/// The name of a scalar operation in docs/ir.md.
inline const char *operation_name(op code) noexcept {
    static constexpr const char *names[] = {
        "neg", "abs", "not", "sqrt", "floor", "ceil", "trunc", "round", "round_ties_even",
        "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinpi", "cospi", "asin", "acos", "atan", "sinh", "cosh", "tanh",
        "cbrt", "rsqrt", "erf", "erfc", "normcdf", "frexp_mantissa", "frexp_exponent", "to_bits", "from_bits",
        "add", "sub", "mul", "div", "rem", "min", "max", "and", "or", "xor", "shl", "shr", "eq", "ne", "lt", "le", "gt", "ge",
        "pow", "atan2", "hypot", "fmod", "copysign", "ldexp",
        "within", "within_small_read", "within_small_update",
        "mul_add", "select"};
    static_assert(sizeof names / sizeof *names == std::size_t(op::select) + 1, "a name for each scalar operation");
    return names[std::size_t(code)];
}
/// What an author writes for a scalar operation of several operands.
inline const char *operation_word(op code) noexcept {
    static constexpr const char *operators[] = {"+", "-", "*", "/", "%", "min", "max", "&", "|", "^", "<<", ">>", "==", "!=", "<", "<=", ">", ">="};
    static_assert(sizeof operators / sizeof *operators == std::size_t(op::ge) - std::size_t(op::add) + 1, "a word for each operator");
    return code >= op::add && code <= op::ge ? operators[std::size_t(code) - std::size_t(op::add)] : operation_name(code);
}
constexpr bool is_scalar_operation(op code) noexcept { return code <= op::select; }

} // namespace detail
} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_EXPR_OPERATION_HPP
