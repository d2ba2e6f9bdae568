// What the parts of the benchmark share.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

// The arrays of a case: inputs x, y, z, the output of a vector case, the result of a scalar one. All implementations use this memory.
struct arrays {
    std::size_t n;
    const float *x, *y, *z;
    float *out;
    float scalar;
};

using runner = void (*)(arrays &, int threads);

struct implementation {
    const char *name;
    runner run;
};

// A case: its name, how many arrays of n it reads and writes, whether the result is a scalar, and what it should be at i.
struct test_case {
    const char *name;
    int reads, writes;
    double (*expected)(const arrays &, std::size_t i); // of a scalar case: once, of the whole
    std::vector<implementation> rivals;
    runner ours;
};

const std::vector<test_case> &cases();

// The constant of saxpy.
constexpr float alpha = 2.5f;
// Spencer's weights, 320ths.
extern const float spencer[15];

namespace ours {
void saxpy(arrays &, int), expr3(arrays &, int), sum(arrays &, int), dot(arrays &, int), rmse(arrays &, int), average(arrays &, int);
// Makes the contexts and wraps the arrays, outside of what is timed.
void prepare(arrays &);
void release();
} // namespace ours

namespace hand { // gcc -O3 -march=native, OpenMP
void saxpy(arrays &, int), expr3(arrays &, int), sum(arrays &, int), dot(arrays &, int), rmse(arrays &, int), average(arrays &, int);
// Sums in one accumulator for each lane of several vectors, not one.
void sum_wide(arrays &, int), dot_wide(arrays &, int), rmse_wide(arrays &, int);
void saxpy_of_one(float a, const float *x, const float *y, float *out); // a direct C call, for the overhead
void rmse_of_one(const float *x, const float *y, std::size_t n, float *out);
} // namespace hand

namespace eigen {
void saxpy(arrays &, int), expr3(arrays &, int), sum(arrays &, int), dot(arrays &, int), rmse(arrays &, int), average(arrays &, int);
} // namespace eigen

// A measured row.
struct row {
    std::string name, impl;
    std::size_t n;
    int threads;
    double ms, gbps, best_ms; // median, its throughput, least
    bool ok;
};

// The table of one case and thread count, with each rival's time over ours; a JSON line for each row.
void report(const std::vector<row> &rows, int threads_asked, std::FILE *json);
// NumPy's and numexpr's rows, from bench/python_rows.py; none if Python has neither.
std::vector<row> python_rows(const test_case &, std::size_t n, int threads);

// Peak memory beyond inputs and outputs, in KiB, of one call; negative if the system does not tell.
long extra_memory(const test_case &, arrays &, int threads);
// Nanoseconds of calls at n = 1 beyond direct C calls, as table and JSON lines.
void call_overhead(std::FILE *json);

// OpenMP's threads spin after each region, on the cores that the next row is measured on, unless the environment says otherwise before main: begins the program anew.
void let_openmp_sleep(char **arguments);

double median(std::vector<double> values);
double now_ms();
