#include "cases.hpp"

const std::vector<test_case> &cases() {
    using s = source;
    static const std::vector<test_case> all = {
        {"copy", nullptr, {}, false, "", 8, 0},
        {"vadd", "vadd", {s::a, s::b}, false, "", 12, 1e-6},
        {"expr2", "expr2", {s::a, s::b}, false, "", 12, 1e-6},
        {"saxpy", "saxpy", {s::alpha, s::a, s::out}, false, "b", 12, 1e-6},
        {"expr3", "expr3", {s::out, s::b, s::c}, false, "a", 16, 1e-6},
        {"sum", "total", {s::a}, true, "", 4, 1e-5},
        {"dot", "dot", {s::a, s::b}, true, "", 8, 1e-5},
        {"rmse", "rmse", {s::a, s::b}, true, "", 8, 1e-5},
        {"normalise", "normalise", {s::a}, false, "", 12, 1e-5},
    };
    return all;
}
