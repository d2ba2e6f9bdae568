// What both benchmarks need: OpenMP kept quiet, rows printed and fetched from Python.
#include "bench.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <unistd.h>

void let_openmp_sleep(char **arguments) {
    if (std::getenv("OMP_WAIT_POLICY")) return;
    setenv("OMP_WAIT_POLICY", "passive", 1);
    execv("/proc/self/exe", arguments);
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

double now_ms() {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void report(const std::vector<row> &rows, int threads_asked, std::FILE *json) {
    const double ours = rows.front().ms;
    for (const row &r : rows) {
        char threads[16];
        std::snprintf(threads, sizeof threads, threads_asked == 1 ? "1" : "all (%d)", r.threads);
        std::printf("%-8s %-8s %-12s %9.3f ms %7.2f GB/s  best %8.3f ms", r.name.c_str(), threads, r.impl.c_str(), r.ms, r.gbps, r.best_ms);
        if (&r != &rows.front()) std::printf("   %5.2f of it, best %5.2f", r.ms / ours, r.best_ms / rows.front().best_ms);
        std::printf("%s\n", r.ok ? "" : "   WRONG");
        std::fprintf(json, "{\"name\":\"%s\",\"impl\":\"%s\",\"n\":%zu,\"threads\":%d,\"ms\":%.4f,\"gbps\":%.3f,\"best_ms\":%.4f,\"ok\":%s}\n", r.name.c_str(),
                     r.impl.c_str(), r.n, r.threads, r.ms, r.gbps, r.best_ms, r.ok ? "true" : "false");
    }
    std::fflush(stdout);
}

std::vector<row> python_rows(const test_case &c, std::size_t n, int threads) {
    std::vector<row> rows;
    // the system's own Python where the first in the path has no NumPy
    const std::string command = "python=python3; $python -c 'import numpy' 2>/dev/null || python=/usr/bin/python3; $python \"" PYTHON_ROWS
                                "\" " + std::string(c.name) + " " + std::to_string(n) + " " + std::to_string(threads);
    std::FILE *out = popen(command.c_str(), "r");
    if (!out) return rows;
    char impl[32];
    double ms = 0, best = 0;
    int ok = 0;
    while (std::fscanf(out, " %31s %lf %lf %d", impl, &ms, &best, &ok) == 4) {
        rows.push_back({c.name, impl, n, threads, ms, double(c.reads + c.writes) * double(n) * 4e-6 / ms, best, ok != 0});
    }
    pclose(out);
    return rows;
}
