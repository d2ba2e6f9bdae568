// A few lines instead of a test framework: a failed check says where and what, and the program's exit status says how many.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace check {

inline int failures = 0;

inline void fail(const char *file, int line, const std::string &what) {
    std::fprintf(stderr, "%s:%d: %s\n", file, line, what.c_str());
    ++failures;
}

// The exit status of main.
inline int finish(const char *name) {
    std::printf("%s: %s\n", name, failures == 0 ? "ok" : "FAILED");
    return failures == 0 ? 0 : 1;
}

// Equal to the bit: -0 is not +0, a NaN is equal to itself.
template <class T> bool same_bits(const T &a, const T &b) { return std::memcmp(&a, &b, sizeof(T)) == 0; }

template <class T> void exact(const char *file, int line, const std::vector<T> &got, const std::vector<T> &want) {
    if (got.size() != want.size()) {
        fail(file, line, "length " + std::to_string(got.size()) + ", expected " + std::to_string(want.size()));
        return;
    }
    for (std::size_t i = 0; i < got.size(); ++i) {
        if (!same_bits(got[i], want[i])) {
            char text[160];
            std::snprintf(text, sizeof text, "element %zu is %.9g, expected exactly %.9g", i, double(got[i]), double(want[i]));
            fail(file, line, text);
            return;
        }
    }
}

template <class T> void exact_value(const char *file, int line, T got, T want) { exact(file, line, std::vector<T>{got}, std::vector<T>{want}); }

// |got - want| <= absolute + relative * |want|, for every element; `want` was computed in double.
inline void near(const char *file, int line, const std::vector<float> &got, const std::vector<double> &want, double relative,
                 double absolute) {
    if (got.size() != want.size()) {
        fail(file, line, "length " + std::to_string(got.size()) + ", expected " + std::to_string(want.size()));
        return;
    }
    for (std::size_t i = 0; i < got.size(); ++i) {
        const double error = std::fabs(got[i] - want[i]);
        if (!(error <= absolute + relative * std::fabs(want[i]))) {
            char text[160];
            std::snprintf(text, sizeof text, "element %zu is %.9g, expected about %.9g", i, double(got[i]), want[i]);
            fail(file, line, text);
            return;
        }
    }
}

} // namespace check

#define CHECK(condition)                                                                                                             \
    do {                                                                                                                             \
        if (!(condition)) check::fail(__FILE__, __LINE__, "not so: " #condition);                                                    \
    } while (0)
#define CHECK_EXACT(got, want) check::exact(__FILE__, __LINE__, got, want)
#define CHECK_EXACT_VALUE(got, want) check::exact_value(__FILE__, __LINE__, got, want)
#define CHECK_NEAR(got, want, relative, absolute) check::near(__FILE__, __LINE__, got, want, relative, absolute)
#define CHECK_NEAR_VALUE(got, want, relative, absolute)                                                                              \
    check::near(__FILE__, __LINE__, std::vector<float>{got}, std::vector<double>{want}, relative, absolute)
