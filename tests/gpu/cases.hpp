// Packages with their cases: arguments, and what the interpreter says (the file's form is in random_packages.rs).
#pragma once

#include <arraygpu.h>
#include <cstdint>
#include <string>
#include <vector>

// Ends the program with the library's message if a call failed.
void check(agpu_status, const std::string &what);

std::size_t size_of(agpu_type);

// A scalar or a vector: its elements' bytes.
struct value {
    agpu_type type;
    bool vector;
    std::vector<unsigned char> bytes;
    std::int64_t count() const { return std::int64_t(bytes.size() / size_of(type)); }
};

struct one_case {
    agpu_status status; // AGPU_OK, AGPU_ERROR_SHAPE, AGPU_ERROR_RECORD
    std::vector<value> arguments, results;
};

struct entry {
    std::string name;
    std::vector<agpu_entry_slot> parameters, results;
    std::vector<one_case> cases;
};

struct package {
    std::string name;
    agpu_loaded_module *loaded = nullptr;
    const agpu_module *module = nullptr;
    std::vector<entry> entries;
    package(const std::string &library, const std::string &cases);
};

// Arguments that are a function of the seed: n elements in each vector (n2 in one that is called w), no infinities or NaN.
std::vector<value> arguments_for(const entry &, std::int64_t n, std::int64_t n2, std::uint64_t seed);
