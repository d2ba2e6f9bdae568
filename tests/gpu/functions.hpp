// Comparing the elementary functions of a package on two devices, chunk by chunk.
#pragma once

#include <arraygpu.h>
#include <cstdint>
#include <string>
#include <vector>

// What a function takes: one number, two, or a number and an integer.
enum class kind { f32, f64, f32_pair, f64_pair, f32_integer, f64_integer };
const char *name_of(kind);

struct function {
    std::string name;
    int entry;
    kind of;
    std::size_t different = 0; // results with other bits
    std::string first;         // the first input that has one, for people
};

// Those of the package that take vectors of floats.
std::vector<function> functions_of(agpu_loaded_module *);

struct place {
    agpu_context *context;
    const agpu_module *module;
};

// Memory of both places for chunks of inputs and results.
class comparison {
  public:
    comparison(place a, place b, std::size_t chunk);
    ~comparison();
    comparison(const comparison &) = delete;
    // The inputs of one chunk. f32: the bits first * step, (first + 1) * step, ...; others: random, some of every size, from the first-th on.
    void inputs(kind, std::uint64_t first, std::uint64_t step);
    // One function of these inputs.
    void run(function &);

  private:
    // Host memory (`x`, `y`, `out`) that both places can reach fast, and a place's own buffers.
    struct side {
        place at;
        bool wrapped; // its buffers are the host memory
        agpu_buffer *x = nullptr, *y = nullptr, *out = nullptr;
        void *result = nullptr;
        agpu_type type{}, second{};
    } sides[2];
    std::size_t n;
    void *x = nullptr, *y = nullptr;
    kind of = kind::f32;

    void prepare(side &);
    void release(side &);
};
