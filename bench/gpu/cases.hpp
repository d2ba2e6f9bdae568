// What is measured: as in peers.h, and how arraygpu's function of it is called.
#pragma once

#include "peers.h"
#include <cstddef>
#include <string>
#include <vector>

// Where an argument of our function comes from.
enum class source { alpha, a, b, c, out };

struct test_case {
    const char *name;  // as in peers.h
    const char *entry; // the function in the package; null: there is none, as for a copy
    std::vector<source> parameters;
    bool scalar;            // the result: peer_arrays::scalar, or out
    const char *starts_as;  // what out holds before a call: "a", "b", or nothing that is read
    double bytes;           // the fewest that must be moved, an element
    double allowed;         // the greatest error
};

constexpr float alpha = 1.0f / 1024;

const std::vector<test_case> &cases();
