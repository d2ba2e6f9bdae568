// Rows of a run: JSON lines, and a table.
#pragma once

#include "timing.hpp"
#include <cstdio>

struct row {
    std::string name, impl;
    std::size_t n;
    bool ours, graph;
    times t;
    double bytes; // of the whole call
    double error;
    bool ok;
    double flops = 0; // of the whole call; 0: not counted
};

// The rows of one case, in one way of running it. `copy_gbps`: what a copy of the same run moves, 0 if unknown.
void report(const std::vector<row> &, double copy_gbps, std::FILE *json);

// The table of everything reported, ours beside the best peer; gives how many rows were wrong.
int summary();
