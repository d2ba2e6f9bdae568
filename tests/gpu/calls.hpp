// Calls of a package's function in a context, with its arrays laid out in memory in one way or another.
#pragma once

#include "cases.hpp"

// How the arrays of a call lie: each way makes the GPU take another version of a kernel.
enum class layout {
    aligned,   // stride 1 from the start of a buffer
    offset,    // stride 1 from element 1: not at a multiple of 16 bytes
    mixed,     // one array aligned, the next from element 1, ...
    strided,   // every second element, from element 3
    backwards, // stride -1
    in_place,  // as aligned; each vector result is the first argument of its type and length, if there is one
    far,       // elements so far apart that an index needs more than 31 bits (much memory)
};
const char *name_of(layout);

struct outcome {
    agpu_status status = AGPU_OK;
    std::string message;
    std::vector<value> results; // of a call that went well
};

// Calls entry `i`. The lengths of vector results are those of `like`; without it the call makes them.
outcome call(agpu_context *, const package &, std::size_t i, const std::vector<value> &arguments, layout, const std::vector<value> *like);
