// arraygpu's side: packages by path, memory on a device, prepared calls.
#pragma once

#include "cases.hpp"
#include <arraygpu.h>
#include <string>
#include <vector>

// Ends the program with the library's message if a call failed.
void check(agpu_status, const char *what);
#define AGPU(call) check(call, #call)

// A context on a device: AGPU_DEVICE_CPU, or AGPU_DEVICE_CUDA for the first GPU.
agpu_context *context_on(int device);

struct package {
    std::string name;
    const agpu_module *module = nullptr;
    agpu_loaded_module *loaded = nullptr;
    explicit package(const std::string &path);
    int entry(const char *function) const; // -1: it has none
};

// Where the package lies that this program is linked with.
std::string linked_package();

// a, b, c, out of n floats and one scalar, in a context's memory.
struct arrays {
    agpu_context *context;
    agpu_buffer *a, *b, *c, *out, *scalar;
    peer_arrays raw;
    arrays(agpu_context *, std::size_t n);
    ~arrays();
    arrays(const arrays &) = delete;
};

agpu_view all_of(agpu_buffer *);

// A call with its arguments; scalar results stay on the device.
struct prepared {
    const agpu_module *module = nullptr;
    int entry = -1;
    agpu_call call{};
    std::vector<agpu_arg> arguments;
    prepared(const package &, const test_case &, arrays &, void *stream);
    agpu_status run() const { return agpu_invoke(module, entry, &call, arguments.data(), int(arguments.size())); }
};
