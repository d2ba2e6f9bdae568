// A failed check says where and what; the program's exit status says whether all held.
#pragma once

#include <cstdio>

inline int failures = 0;

#define CHECK(...)                                                                                                                \
    do {                                                                                                                          \
        if (!(__VA_ARGS__)) {                                                                                                     \
            std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #__VA_ARGS__);                                        \
            ++failures;                                                                                                           \
        }                                                                                                                         \
    } while (false)

// The statement throws an arraygpu::error of this code, whose message has this text.
#define CHECK_THROWS(code_, text, ...)                                                                                            \
    do {                                                                                                                          \
        try {                                                                                                                     \
            __VA_ARGS__;                                                                                                          \
            std::fprintf(stderr, "%s:%d: no error: %s\n", __FILE__, __LINE__, #__VA_ARGS__);                                      \
            ++failures;                                                                                                           \
        } catch (const arraygpu::error &thrown) {                                                                                 \
            CHECK(thrown.code() == code_);                                                                                        \
            CHECK(std::string(thrown.what()).find(text) != std::string::npos);                                                    \
            if (failures) std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, thrown.what());                                 \
        }                                                                                                                         \
    } while (false)
