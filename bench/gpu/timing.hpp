// Times of several implementations, in turns, on one stream.
#pragma once

#include "driver.hpp"
#include <functional>
#include <string>
#include <vector>

struct contender {
    std::string impl;
    int flags; // of peers.h
    bool ours;
    std::function<int(int set)> run; // enqueues a call on the inputs 0, 1 or 2; 0 if that went well
};

// Milliseconds of one call.
struct times {
    double median = -1, least = -1, p90 = -1; // negative: not measured
};

// Each round gives everyone one unmeasured call, so that the device is busy when the measured ones are enqueued, and then `calls`.
std::vector<times> interleaved(cu::stream, const std::vector<contender> &, int calls, int rounds);

// The same with graphs of `calls` calls, replayed; what cannot be captured is not measured.
std::vector<times> replayed(cu::stream, const std::vector<contender> &, int calls, int rounds);
